"""Exponents of the momentum's median in the width, between white noise and the first population step."""

import numpy as np

from amembook.run.base import Results, standard_error
from amembook.run.claims import DIFFERENCE, numbers, order

PUBLIC = {"most layers": 0.25, "the steepest late layer": 0.96}
"""arXiv:2606.04058: quantiles of the momentum's singular values fall as M^−e in M parameters, 77 M to 2.8 B."""
PARAMETERS = 2.0, 3.0
"""A network of one shape has M ∝ d^2 at one depth and M ∝ d^3 with the depth in proportion to the width."""
NOISE = 0.5
"""White noise: s_{d/2} / ‖M‖_F = 0.81 / √d."""
EARLIEST = 50
"""Steps from which on a momentum of 0.95 has forgotten W = 0 and is judged."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """batches, population: by field (α, d, step) means over the draws, `…_error` beside. exponent: (α, step) slope of
    log median against log d, its error and every draw's. predicted: public, exponents in d of `PUBLIC`."""
    measured = {}
    for name in ("batches", "population"):
        for key in ("reach", "lifted", "noise", "rank"):
            values = results.array(name, key).astype(float)
            measured[f"{name}_{key}"] = values.mean(2)
            measured[f"{name}_{key}_error"] = standard_error(values, 2)
        logs = np.log(results.array(name, "reach").astype(float))
        x = np.log(np.array(config.dims, float))
        x -= x.mean()
        slopes = np.einsum("d,ads...->as...", x, logs) / (x @ x)
        measured[f"{name}_exponent"] = slopes.mean(1)
        measured[f"{name}_exponent_error"] = standard_error(slopes)
    public = {layer: [-exponent * power for power in PARAMETERS] for layer, exponent in PUBLIC.items()}
    return measured, {"public": public}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """slower: with batches the median falls more slowly than d^−α at every step from `EARLIEST` on. noise: there it
    falls faster than white noise's."""
    late = [k for k, step in enumerate(config.at) if step >= EARLIEST]
    at = [f"α = {alpha:g}, step {config.at[k]}" for alpha in config.alphas for k in late]
    exponent, error = (measured[f"batches_exponent{end}"][:, late] for end in ("", "_error"))
    alphas = np.array(config.alphas)[:, None]
    above, below = exponent + alphas, -NOISE - exponent
    given = {"limit": 0, "scale": DIFFERENCE, "at": at}
    return {
        "slower": order(numbers("exponent over −α", above, error, config.seeds, **given)),
        "noise": order(numbers("exponent under −1/2", below, error, config.seeds, **given)),
    }
