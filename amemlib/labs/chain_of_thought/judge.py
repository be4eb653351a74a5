"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import math

import numpy as np

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.chain_of_thought import expected
from amemlib.labs.chain_of_thought.measure import MAPS
from amemlib.labs.chain_of_thought.prompts import decaying_eigenvalues
from amemlib.verdicts import consistency, refuse, verdict

FLOOR_BAND = 0.03
"""How far an error without thoughts may lie from the floor, relative and beyond two standard errors."""
WEIGHTS_BAND = 1e-3
"""How far trained weights may be from the construction: relative for V₃₁W₁₃, as a share of the energy for the rest."""
APART, APART_LONGER = 0.05, 1e-3
"""How far the trained network's errors may lie from gradient descent's on the same prompts: relative at the length that
it was trained at; in units of ‖w‖² at another, where they fall below any accuracy of the weights."""
THINKING_BAND = 0.15
"""How far errors of a chain may lie from their law, relative and beyond two standard errors."""
COSINE, EQUAL = 0.999, 1e-6
"""From which cosine on a polar step is the identity; how far its errors may then be from gradient descent's, relative.
"""
COSINE_BAND, ERROR_BAND = 0.03, 0.05
"""How far the SGD step's cosine and its errors may lie from the law of infinitely long prompts, absolute: S scatters by
√(d/n), a sixth, and the batch's gradient by less."""
DEAR = 5.0
"""From what ratio of errors on the SGD step counts as a caricature, at λ ∝ 1/i."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """`answer`: errors by number of examples. `thinking`: by d, weights and errors at the kept thoughts. `step`: by
    thoughts and exponent, cosines and errors of each map. predicted: the same, and `laws`, what rivals would say."""
    answers = results.array("answer", "error")
    measured = {"answer": {"error": answers.mean(1).tolist(), "spread": standard_error(answers).tolist()}}
    found = {key: results.array("thinking", key) for key in ("rate", "deviation", "others", "apart", "apart_longer")}
    errors, longer = (results.array("thinking", key) for key in ("errors", "errors_longer"))
    measured["thinking"] = {
        "rate": found["rate"].mean(1).tolist(),
        "errors": errors.mean(1).tolist(),
        "spread": standard_error(errors).tolist(),
        "errors_longer": longer.mean(1).tolist(),
    }
    for key in ("deviation", "others", "apart", "apart_longer"):
        measured["thinking"][key] = found[key].max(1).tolist()
    measured["thinking"]["rate_off"] = np.abs(found["rate"] / config.rate - 1).max(1).tolist()
    measured["step"] = {"exact": {"errors": results.array("step", "exact", "errors").mean(2).tolist()}}
    for name in MAPS:
        cosines, errors = (results.array("step", name, key) for key in ("cosine", "errors"))
        measured["step"][name] = {
            "cosine": cosines.mean(2).tolist(),
            "least_cosine": cosines.min(2).tolist(),
            "errors": errors.mean(2).tolist(),
            "spread": standard_error(errors, 2).tolist(),
        }
    measured["rank"] = results.array("rank", "cosine").mean(1).tolist()

    d, kept, ratio = config.dim, config.kept, config.ratio
    predicted = {"answer": {"error": [expected.floor(n, d) for n in config.contexts]}}
    predicted["thinking"] = {
        "errors": [expected.thinking_errors(ratio * dim, dim, config.rate, kept) for dim in config.dims],
        "limit": expected.thinking_limit(ratio, config.rate, kept),
    }
    rates = [expected.one_step_rate(ratio * dim, dim) for dim in config.dims]
    slowest = 1 - config.rate * (1 - ratio**-0.5) ** 2
    at = np.array(kept)
    predicted["laws"] = {
        "a single step": [[expected.floor(ratio * dim, dim)] * len(kept) for dim in config.dims],
        "as if S were I": [((1 - config.rate) ** (2 * at)).tolist()] * len(config.dims),
        "the slowest direction alone": [(slowest ** (2 * at)).tolist()] * len(config.dims),
    }
    predicted["rates"] = {"the best single step's": rates, "one": [1.0] * len(rates)}
    spectra = [decaying_eigenvalues(config.step_dim, a).numpy() for a in config.exponents]
    k = config.step_kept[-2]
    predicted["step"] = {"cosine": [], "error": [], "exact": []}
    for thoughts in config.chains:
        g = [expected.first_gradient(lam, config.step_examples, config.step_rate, thoughts) for lam in spectra]
        predicted["step"]["cosine"].append([expected.cosine_to_identity(one) for one in g])
        predicted["step"]["error"].append(
            [expected.descent_error(one, lam, k) for one, lam in zip(g, spectra, strict=True)]
        )
        exact = [((1 - config.step_rate * lam) ** (2 * k)).mean().item() for lam in spectra]
        predicted["step"]["exact"].append(exact)
    predicted["rank"] = [math.sqrt(min(few, config.step_dim) / config.step_dim) for few in config.few]
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """floor: without thoughts the error is the floor's; one answer to both questions.
    construction: the trained weights are gradient descent's at the teacher's rate; limit: and the network does what
    gradient descent does, on the same prompts and on longer ones.
    thinking: errors by thoughts are E tr(I − ηS)^{2k}/d; limit: extrapolated in 1/d, Marchenko and Pastur's integral.
    muon: a polar step is the construction, whatever the spectrum and the chain; the identity −I up to the rank.
    sgd: an SGD step's cosine and errors are the law's; limit: at λ ∝ 1/i it is dear.
    """
    draws = config.seeds
    found, spread = np.array(measured["answer"]["error"]), _errors(measured["answer"]["spread"])
    is_floor = lambda law: bool((np.abs(found - law) <= FLOOR_BAND * np.array(law) + 2 * spread).all())  # noqa: E731
    n, d = np.array(config.contexts), config.dim
    rivals = {"exact, for n ≥ d": 0.0 * n, "d/n": d / n, "rate 1: (d + 1)/n": (d + 1) / n, "d/(n + d)": d / (n + d)}
    meets = is_floor(np.array(predicted["answer"]["error"]))
    verdicts = {"floor": verdict(meets, meets, refuse(is_floor, rivals), draws)}

    told = measured["thinking"]
    tight = max(max(told[key]) for key in ("deviation", "others", "rate_off")) <= WEIGHTS_BAND
    does = max(told["apart"]) <= APART and max(told["apart_longer"]) <= APART_LONGER
    rates = np.array(told["rate"])
    is_rate = lambda law: bool((np.abs(rates / law - 1) <= WEIGHTS_BAND).all())  # noqa: E731
    refused = refuse(is_rate, {name: np.array(law) for name, law in predicted["rates"].items()})
    verdicts["construction"] = verdict(tight, does, refused, draws)

    errors, spread = np.array(told["errors"]), _errors(told["spread"])
    is_law = lambda law: bool((np.abs(errors - law) <= THINKING_BAND * np.array(law) + 2 * spread).all())  # noqa: E731
    limit = _extrapolated(config.dims, errors)
    slack = _extrapolated(config.dims, spread, absolute=True)
    far = np.abs(limit - predicted["thinking"]["limit"])
    reaches = bool((far <= THINKING_BAND * np.array(predicted["thinking"]["limit"]) + 2 * slack).all())
    refused = refuse(is_law, predicted["laws"])
    verdicts["thinking"] = verdict(is_law(predicted["thinking"]["errors"]), reaches, refused, draws)

    step = measured["step"]
    muon, exact = (np.array(step[name]["errors"]) for name in ("polar", "exact"))
    same = bool((np.abs(muon - exact) <= EQUAL * exact).all())
    full = bool((np.array(step["polar"]["least_cosine"]) >= COSINE).all())
    rank = bool((np.abs(np.array(measured["rank"]) - predicted["rank"]) <= EQUAL).all())
    verdicts["muon"] = consistency(same and full and rank, draws=draws * len(config.chains) * len(config.exponents))

    sgd, spread = (np.array(step["sgd"]["errors"])[..., -2], _errors(step["sgd"]["spread"])[..., -2])
    cosine = np.array(step["sgd"]["cosine"])
    is_error = lambda law: bool((np.abs(sgd - law) <= ERROR_BAND + 2 * spread).all())  # noqa: E731
    law = np.array(predicted["step"]["error"])
    near = bool((np.abs(cosine - predicted["step"]["cosine"]) <= COSINE_BAND).all())
    rivals = {
        "as Muon": np.array(predicted["step"]["exact"]),
        "one thought, however many there are": np.broadcast_to(law[:1], law.shape),
        "a long chain, however short it is": np.broadcast_to(law[-1:], law.shape),
    }
    dear = None
    if 1.0 in config.exponents:
        at = config.exponents.index(1.0)
        dear = bool((sgd[:, at] >= DEAR * muon[:, at, -2]).all())
    verdicts["sgd"] = verdict(near and is_error(law), dear, refuse(is_error, rivals), draws)
    return verdicts


def _extrapolated(dims: tuple[int, ...], values: np.ndarray, *, absolute: bool = False) -> np.ndarray:
    """values (dims, …) at 1/d → 0, on the line in 1/d through the two largest d; absolute: of their errors."""
    small, large = dims[-2:]
    a, b = large / (large - small), -small / (large - small)
    return np.hypot(a * values[-1], b * values[-2]) if absolute else a * values[-1] + b * values[-2]


def _errors(values) -> np.ndarray:
    """Standard errors, 0 where a single draw has none."""
    return np.nan_to_num(np.array(values, dtype=float))
