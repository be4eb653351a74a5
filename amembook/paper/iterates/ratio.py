"""`iterates-ratio`: counts of Muon's true iterates over those of the thresholded ones, by dimension (Conjecture).

Caveats: a local exponent is held to 0.03, over the last octave to d = 768 or more; d² / N = 18, so that two fifths of
the items are recovered at most.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from amembook.laws import power_law_iterates
from amembook.run import runtime
from amembook.run.base import Ascending, Config, Count, Experiment, Grid, Natural, Positive, Results, SteepAlpha, draws
from amembook.run.claims import DIFFERENCE, equivalence, multiplier, numbers, order, standard_error
from amembook.run.studies import headline
from amemlib import theory
from amemlib.equivalents import ManyStepEquivalent, half_recovered_schedule, thresholded_weights
from amemlib.gradients import thresholded_gradient
from amemlib.optim import trajectory
from amemlib.problem import Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings
from amemlib.spectral import polar

BAND = 0.03
"""The band of a local exponent of R, as a difference: less than half of the smallest gap between the exponents of two
numbers of steps up to five, κ_5 − κ_4 = 0.07 at α = 3/2."""
JUDGED_DIM, FIRST = 768, 2
"""The last octave of a record must end at this d at least. After one step both are the same but for the mean output."""


@dataclass(frozen=True)
class RatioConfig(Config):
    """R_T(d), the two counts of one draw over each other, at d twice as large from one to the next and N ∝ d²."""

    alpha: SteepAlpha = 1.5
    dims: Ascending = (192, 384, 768)
    dims_squared_per_item: Positive = 18.0  # d² / N, so that two fifths of the items are recovered at most
    steps: Count = 5  # T
    seeds: Count = 16  # draws below the largest d
    last_seeds: Count = 8  # draws at the largest d, each of them eight times and more as dear
    first_seed: Natural = 0

    def limits(self) -> None:
        if any(large != 2 * small for small, large in itertools.pairwise(self.dims)):
            raise ValueError(f"dims must double from one to the next, got {list(self.dims)}")

    def items(self, dim: int) -> int:
        """N at a dimension."""
        return round(dim**2 / self.dims_squared_per_item)


def measure_ratio(n_items: int, dim: int, alpha: float, steps: int, seed: int, device: str) -> dict:
    """Counts after 1, …, T steps of one draw: true iterates at η = √d, and polar maps of Eq. (7)'s gradients, each
    thresholded at what is recovered by then.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb, p = sample_embeddings(problem, seed, runtime.device(device)), problem.frequencies
    course = itertools.islice(trajectory(emb, itertools.repeat(p, steps), polar, math.sqrt(dim)), 1, None)
    true, thresholded, W = [capacity(W, emb) for W in course], [], 0
    for removed in (0, *half_recovered_schedule(p, dim, steps).thresholds[:-1]):
        W = W + polar(thresholded_gradient(emb, p, removed))
        thresholded.append(capacity(W, emb))
    return {"true": true, "thresholded": thresholded}


def solve_ratio(n_items: int, dim: int, alpha: float, steps: int) -> dict:
    """What predicts both, with nothing fitted, and the standard error of the true iterates' solution."""
    law = power_law_iterates(n_items, dim, alpha, 1.0, steps)
    p = Problem.power_law(n_items, dim, alpha).frequencies
    weights = thresholded_weights(p, (0, *half_recovered_schedule(p, dim, steps).thresholds[:-1]))
    sharp = ManyStepEquivalent.solve(weights, dim, [0.0] * steps)
    return {"true": law.counts, "error": law.errors, "thresholded": sharp.recovery_probabilities() @ sharp.counts}


def ratio_grids(config: RatioConfig) -> dict[str, Grid]:
    """Draws below the largest d, draws there, and the laws at all d."""
    sizes = lambda dims: {f"d = {dim}": {"dim": dim, "n_items": config.items(dim)} for dim in dims}
    return {
        "below": Grid(measure_ratio, {"size": sizes(config.dims[:-1]), "seed": draws(config)}),
        "last": Grid(measure_ratio, {"size": sizes(config.dims[-1:]), "seed": draws(config, config.last_seeds)}),
        "laws": Grid(solve_ratio, {"size": sizes(config.dims)}),
    }


def ratio_summary(config: RatioConfig, results: Results) -> tuple[dict, dict]:
    """Both counts of every draw, by "below" (dims − 1, draws, T) and "last" (1, draws, T); of the laws (dims, T)."""
    measured, predicted = {}, {}
    for part in ("below", "last"):
        true, thresholded = (results.array(part, key) for key in ("true", "thresholded"))
        measured |= {f"{part}_true": true, f"{part}_thresholded": thresholded}
    for key in ("true", "error", "thresholded"):
        predicted[key] = results.array("laws", key)
    return measured, predicted


def local_exponents(measured: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log₂ R(2d) / R(d) and its standard error over the octaves, (octaves, T); the draws of each d, (dims,)."""
    logs = []
    for part in ("below", "last"):
        true, thresholded = (np.asarray(measured[f"{part}_{key}"], dtype=float) for key in ("true", "thresholded"))
        logs += list(np.log2(true / thresholded))
    means, errors = (np.array([f(one) for one in logs]) for f in (lambda x: x.mean(0), lambda x: standard_error(x, 0)))
    return np.diff(means, axis=0), np.hypot(errors[1:], errors[:-1]), np.array([len(one) for one in logs])


def predicted_exponents(predicted: dict) -> tuple[np.ndarray, np.ndarray]:
    """The same of the laws, and the errors of the true iterates' solution."""
    true, thresholded, error = (np.asarray(predicted[key]) for key in ("true", "thresholded", "error"))
    relative = error / true / math.log(2)
    return np.diff(np.log2(true / thresholded), axis=0), np.hypot(relative[1:], relative[:-1])


def power(config: RatioConfig, scatter: float) -> float:
    """Half the 95 % interval of the last local exponent, if one draw's log R scatters by `scatter` at either end.

    Where it is no less than `BAND` no draw can meet the Conjecture's rule.
    """
    error = scatter / math.log(2) * math.sqrt(1 / config.seeds + 1 / config.last_seeds)
    return multiplier(min(config.seeds, config.last_seeds)) * error


def judge_ratio(config: RatioConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """The Conjecture, for counts: R_T = d^{o(1)}. Of every T from `FIRST` on:

    last: the local exponent of R over the last octave is 0; that of one step less, or more, is a rival. falling: over
    the octaves its size falls, by the slope of one line through the local exponents. recursion: over the last octave it
    is what the recursion says.
    """
    names = "last", "falling", "recursion"
    steps = np.arange(FIRST, config.steps + 1)
    if config.dims[-1] < JUDGED_DIM or len(config.dims) < 3 or len(steps) == 0:
        return {name: equivalence([]) for name in names}
    slopes, errors, counts = local_exponents(measured)
    law, law_errors = predicted_exponents(predicted)
    here, kept = [f"T = {step}" for step in steps], slice(FIRST - 1, None)
    kappa = np.array([theory.recovery_exponent("muon", config.alpha, t) for t in range(1, config.steps + 2)])
    gaps = np.diff(kappa)
    rivals = {"one step less": -gaps[:-1], "one step more": gaps[1:]}
    last, error, fewest = slopes[-1, kept], errors[-1, kept], counts[-2:].min()
    held_to = {"band": BAND, "scale": DIFFERENCE, "at": here}
    of_law = {rival: law[-1, kept] + value for rival, value in rivals.items()}
    conjecture = numbers("local exponent of R,", last, error, fewest, limit=0.0, rivals=rivals, **held_to)
    spread = np.hypot(error, law_errors[-1, kept])
    recursion = numbers("local exponent of R,", last, spread, fewest, law=law[-1, kept], rivals=of_law, **held_to)
    # one line through the octaves; neighbours share the draws of the d between them, so the weights are those of log R
    octaves = np.arange(len(slopes)) - (len(slopes) - 1) / 2
    line = octaves / (octaves @ octaves)
    of_logs = np.diff(line, prepend=0.0, append=0.0)
    each = _errors_of_logs(measured)[:, kept]
    falls = -np.sign(slopes[:, kept].mean(0)) * (line @ slopes[:, kept])
    made = numbers("fall an octave,", falls, np.sqrt(of_logs**2 @ each**2), counts.min(), limit=0.0, at=here)
    return {"last": equivalence(conjecture), "falling": order(made), "recursion": equivalence(recursion)}


def _errors_of_logs(measured: dict) -> np.ndarray:
    """Standard errors of the mean log₂ R at every d, (dims, T)."""
    rows = []
    for part in ("below", "last"):
        true, thresholded = (np.asarray(measured[f"{part}_{key}"], dtype=float) for key in ("true", "thresholded"))
        rows += [standard_error(one, 0) for one in np.log2(true / thresholded)]
    return np.array(rows)


EXPERIMENT = Experiment(
    name="iterates-ratio",
    purpose=headline(__doc__),
    profiles={
        "smoke": RatioConfig(dims=(24, 48), dims_squared_per_item=2.0, steps=3, seeds=2, last_seeds=2),
        # below d = 192 five steps need more items than d² / 18 to have rivals left
        "cpu": RatioConfig(dims=(48, 96, 192), dims_squared_per_item=4.5, seeds=8),
        # a draw at 768 costs some twenty minutes of one core
        "confirm": RatioConfig(first_seed=42_000),
        # another octave: N = 131,072, some five hours of one core a draw
        "far": RatioConfig(dims=(384, 768, 1536), seeds=6, last_seeds=4, first_seed=42_100),
        "gpu": RatioConfig(dims=(192, 384, 768, 1536), first_seed=29_500),
    },
    grids=ratio_grids,
    summarise=ratio_summary,
    judge=judge_ratio,
    unseen_from=3000,
)
