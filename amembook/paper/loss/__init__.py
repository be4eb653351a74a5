"""`loss`: the loss after one population step against the learning rate, beside its sharp prediction (Corollary 4)."""

import math
from dataclasses import dataclass

import numpy as np

from amembook.run import runtime
from amembook.run.base import (
    Config,
    Count,
    Dims,
    Experiment,
    Grid,
    Natural,
    NonNegative,
    Positives,
    Results,
    Several,
    SteepAlpha,
    draws,
    standard_error,
)
from amembook.run.claims import SHARP_DIM, SIZES, equivalence, numbers
from amemlib import theory
from amemlib.equivalents import SpectralEquivalent
from amemlib.gradients import gradient_rank, initial_gradient, item_losses_along
from amemlib.problem import Problem
from amemlib.recovery import recovered
from amemlib.sampling import sample_embeddings
from amemlib.scaling import fit_exponent
from amemlib.spectral import polar, singular_values, smoothed_sign

MISCLASSIFIED = 1.0
"""An item counts as significantly misclassified if p̂(i | i) < e^{−1} / N: one nat more than knowing nothing."""
AT_ONCE = 2.0
"""Both halves of Corollary 4 hold at one learning rate if the loss there is within this factor of the best loss."""
MAPS = ("polar", "smoothed_sign", "sgd")


@dataclass(frozen=True)
class LossConfig(Config):
    """The loss of W = η f(G₀) against η (Corollary 4)."""

    alpha: SteepAlpha = 1.5
    dims: Dims = (64, 128, 256, 512)
    n_items: Several = 2048
    seeds: Count = 6
    lam_over_t0: NonNegative = 1.0  # λ of h_λ in units of the bulk scale t₀
    # η, increasing, in units of √d / ‖f(G₀)‖_op: for the polar map the standard deviation of a logit
    lr_over_root_dim: Positives = tuple(
        round(float(2.0**k), 4) for k in [*np.arange(-4, 0, 0.5), *np.arange(0, 2, 0.25), *np.arange(2, 6.1, 0.5)]
    )
    first_seed: Natural = 0

    def limits(self) -> None:
        rates = self.lr_over_root_dim
        if len(rates) < 3 or list(rates) != sorted(set(rates)):
            raise ValueError(f"lr_over_root_dim must hold three or more increasing numbers, got {list(rates)}")


def measure_loss(
    n_items: int,
    dim: int,
    alpha: float,
    lam_over_t0: float,
    lr_over_root_dim: list[float],
    seed: int,
    device: str,
) -> dict:
    """For each map: the loss and min_i log(N p̂(i | i)) at every learning rate, and the mass that is not recovered."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    p = problem.frequencies.to(emb.U.device)
    G = initial_gradient(emb, p)
    rank = gradient_rank(emb, p)
    lam = lam_over_t0 * theory.bulk_scale(n_items, dim, alpha)
    rates = [c * math.sqrt(dim) for c in lr_over_root_dim]
    result = {}
    for name, W in zip(MAPS, (polar(G, rank), smoothed_sign(G, lam, rank), G), strict=True):
        W = W / singular_values(W)[0]
        losses = item_losses_along(W, emb, rates)
        result[name] = {
            "loss": losses @ p,
            "least_log": math.log(n_items) - losses.amax(1),
            "unrecovered": float(p[~recovered(W, emb)].sum()),
        }
    return result


def loss_grids(config: LossConfig) -> dict[str, Grid]:
    """Every draw, small dimensions first."""
    return {"loss": Grid(measure_loss, {"dim": config.dims, "seed": draws(config)})}


def loss_summary(config: LossConfig, results: Results) -> tuple[dict, dict]:
    """Loss curves, best and safe learning rates beside the sharp prediction; lists by map are aligned with `dims`.

    `loss`, `loss_error` and `least_log` are curves, keyed by map and dimension, "polar_256", one entry per learning
    rate; `seed_loss` has every draw on a second axis. best: the η of the smallest mean loss. safe: the largest η at
    which no item of any draw is significantly misclassified, 0 with the loss log N if even the smallest is not.
    `over_mass` is L / (log N Σ_unrecovered p_i) at
    the best η. SGD has no sharp loss.
    """
    rates, log_n, at = np.array(config.lr_over_root_dim), math.log(config.n_items), np.arange(len(config.dims))
    measured, predicted, safe_rates = {}, {}, {}
    curves = {key: {} for key in ("loss", "seed_loss", "loss_error", "least_log")}
    for name in MAPS:
        # (d, seeds, rates), the last (d, seeds)
        losses, least, mass = (results.array("loss", name, key) for key in ("loss", "least_log", "unrecovered"))
        mean = losses.mean(1)
        best, safe = mean.argmin(1), _last_safe(least)
        for k, dim in enumerate(config.dims):
            key = f"{name}_{dim}"
            curves["loss"][key], curves["least_log"][key] = mean[k], least[k].mean(0)
            curves["seed_loss"][key] = losses[k].T
            if config.seeds > 1:
                curves["loss_error"][key] = standard_error(losses[k], 0)
        best_losses = losses[at, :, best]
        fit = fit_exponent(config.dims, best_losses)
        _put(
            measured,
            name,
            best_lr=rates[best],
            best_loss=mean[at, best],
            over_mass=(best_losses / mass).mean(1) / log_n,
            least_log_at_best=least[at, :, best].mean(1),
            safe_lr=np.where(safe < 0, 0.0, rates[safe]),
            safe_loss=np.where(safe < 0, log_n, mean[at, safe]),
            slope=fit.slope,
            interval=[fit.low, fit.high],
            doubts=fit.doubts,
        )
        exponent = theory.recovery_exponent("sgd" if name == "sgd" else "muon", config.alpha)
        _put(predicted, name, slope=(1 - config.alpha) * exponent)
        safe_rates[name] = safe
    sharp = {}
    for name in MAPS[:2]:
        pairs = [_sharp_curve(config, name, dim) for dim in config.dims]
        losses, unrecovered = (np.array(column) for column in zip(*pairs, strict=True))
        sharp |= {f"{name}_{dim}": curve for dim, curve in zip(config.dims, losses, strict=True)}
        best, safe = losses.min(1), safe_rates[name]
        _put(
            predicted,
            name,
            best_lr=rates[losses.argmin(1)],
            best_loss=best,
            over_mass=best / unrecovered / log_n,
            safe_loss=np.where(safe < 0, log_n, losses[at, safe]),
            sharp_slope=fit_exponent(config.dims, best).slope,
        )
    return measured | curves, predicted | {"loss": sharp}


def _put(side: dict, name: str, **values) -> None:
    for key, value in values.items():
        side.setdefault(key, {})[name] = value


def _last_safe(least: np.ndarray) -> np.ndarray:
    """(d, seeds, rates) ↦ (d,) the place of the largest rate at which nobody is misclassified, −1 for none."""
    safe = least.min(1) >= -MISCLASSIFIED
    return np.where(safe.any(1), safe.shape[1] - 1 - safe[:, ::-1].argmax(1), -1)


def _sharp_curve(config: LossConfig, name: str, dim: int) -> tuple[np.ndarray, float]:
    """The expected loss at every learning rate, and the expected mass of what is not recovered."""
    p = Problem.power_law(config.n_items, dim, config.alpha).frequencies
    lam = 0.0 if name == "polar" else config.lam_over_t0 * theory.bulk_scale(config.n_items, dim, config.alpha)
    equivalent = SpectralEquivalent.solve(p, dim, lam)
    weights = equivalent.counts * equivalent.values
    # ‖h_λ(G)‖ at the leading singular value, which is near the leading frequency
    norm = 1 / math.hypot(1, lam / float(p[0]))
    rates = (c * math.sqrt(dim) / norm for c in config.lr_over_root_dim)
    losses = np.array([weights @ equivalent.expected_losses(rate) for rate in rates])
    return losses, weights @ (1 - equivalent.recovery_probabilities())


def judge_loss(config: LossConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """The best loss beside its sharp value and its limit, log N times the unrecovered mass; the loss of a safe rate."""
    verdicts = {name: _best_loss_verdict(config, measured, predicted, name) for name in MAPS[:2]}
    return verdicts | {"one_lr": _one_lr_verdict(config, measured, predicted)}


def _errors(config: LossConfig, measured: dict, name: str, rates: str) -> np.ndarray:
    """Standard errors of the loss by d, each at its own learning rate, "best_lr" or "safe_lr"."""
    places = [config.lr_over_root_dim.index(rate) for rate in measured[rates][name]]
    curves = [measured["loss_error"][f"{name}_{dim}"] for dim in config.dims]
    return np.array([curve[k] for curve, k in zip(curves, places, strict=True)])


def _best_loss_verdict(config: LossConfig, measured: dict, predicted: dict, name: str) -> dict:
    dims, log_n = np.array(config.dims), math.log(config.n_items)
    judged = dims >= SHARP_DIM
    if not judged.any() or config.seeds < 2:
        return equivalence([])
    limit = measured["best_loss"][name] / measured["over_mass"][name]
    rivals = {"SGD": measured["best_loss"]["sgd"][judged], "the mass without log N": limit[judged] / log_n}
    given = {"law": predicted["best_loss"][name][judged], "limit": limit[judged], "band": SIZES, "rivals": rivals}
    mean, error = measured["best_loss"][name][judged], _errors(config, measured, name, "best_lr")[judged]
    return equivalence(numbers("best loss, d =", mean, error, config.seeds, at=dims[judged], **given))


def _one_lr_verdict(config: LossConfig, measured: dict, predicted: dict) -> dict:
    """At the largest d the loss at the safe η beside its prediction; its limit is the best loss, to a factor `AT_ONCE`.

    Judged for the polar map.
    """
    if config.seeds < 2:
        return equivalence([])
    best, error = measured["best_loss"]["polar"][-1], _errors(config, measured, "polar", "safe_lr")[-1]
    safe, sharp = (side["safe_loss"]["polar"][-1] for side in (measured, predicted))
    made = numbers("safe loss", safe, error, config.seeds, law=sharp, band=SIZES, rivals={"the best loss": best})
    return equivalence(made + numbers("safe loss", safe, error, config.seeds, limit=best, band=AT_ONCE - 1))


EXPERIMENT = Experiment(
    name="loss",
    purpose="the loss after one population step against the learning rate (Corollary 4)",
    profiles={
        "smoke": LossConfig(
            dims=(32, 64), n_items=512, seeds=2, lr_over_root_dim=(0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
        ),
        "cpu": LossConfig(),
        # the best rates, two that misclassify nobody, and SGD's best one
        "large": LossConfig(
            dims=(256, 512),
            n_items=8192,
            seeds=60,
            lr_over_root_dim=(0.125, 0.25, 1.6818, 2.0, 2.3784, 2.8284, 8.0),
            first_seed=46_000,
        ),
        "safe": LossConfig(
            dims=(256, 512),
            seeds=120,
            lr_over_root_dim=(0.1768, 0.25, 0.3536, 0.5, 2.0, 2.3784, 2.8284, 8.0),
            first_seed=46_100,
        ),
        "gpu": LossConfig(dims=(64, 128, 256, 512, 1024, 2048), n_items=16_384, seeds=6, first_seed=27_500),
    },
    grids=loss_grids,
    summarise=loss_summary,
    judge=judge_loss,
)
