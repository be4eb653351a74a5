"""`knee`: how much of what orthogonalizing gains a language model keeps when five Newton–Schulz steps reach less far.

A question of practice, ours; whether accuracy matters is disputed in arXiv:2606.00371 and arXiv:2606.04058. The slope
of the steps is dialled, their plateau and the size of every update are kept.

Claim: a small language model keeps what orthogonalizing gains down to a reach of 3, a part of it below, nothing where
the whole map is linear, and the part is the lift over its plateau.

Caveats: one small model, d = 64 and inputs that stay fixed, for 200 and 800 steps, at the best rate of a ladder by
one half of the held-out text. Shares are held to 0.15, half of the way between those of two neighbouring arms.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, median
from types import SimpleNamespace
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amembook.networks.language_model import held_out_losses, train_language_model
from amembook.networks.long_runs import ladder
from amembook.networks.text import bigram_loss, documentation
from amembook.run import runtime
from amembook.run.base import Config, Count, Experiment, Grid, Natural, Results, Several, draws, some_of
from amembook.run.claims import DIFFERENCE, equivalence
from amembook.run.studies import headline
from amembook.run.study import above, fixed, law
from amemlib.equivalents import SpectralLaw, expected_capacity
from amemlib.problem import Problem
from amemlib.spectral import SCHEDULES, compose_quintics

MOMENTUM = 0.95
ARMS: dict[str, tuple[str | None, float, float]] = {
    "frozen": (None, 0.0, 0.01),
    "normalized": (None, math.inf, 0.0025),
    "jordan 256": ("jordan", 256.0, 0.0025),
    "jordan 64": ("jordan", 64.0, 0.005),
    "cans 138.5": ("cans", 138.5, 0.005),
    "jordan 16": ("jordan", 16.0, 0.01),
    "cans 34.6": ("cans", 34.6, 0.01),
    "jordan 4": ("jordan", 4.0, 0.02),
    "jordan 1": ("jordan", 1.0, 0.02),
    "exact": (None, 1.0, 0.02),
}
"""By name the schedule, the divisor of its slope and the rate where the ladder starts. Without a schedule: no update,
M / ‖M‖_F, the polar factor."""
FIRST, LAST = "jordan 1", "normalized"
TWINS = {"cans 34.6": "jordan 16", "cans 138.5": "jordan 64"}
"""Arms of one slope: 1049/34.6 = 485/16, 1049/138.5 = 485/64."""
SHORT_STEPS = 200
SHORT_SHARES = {0.0269: 0.0715, 0.127: 0.565, 0.696: 0.911, 3.14: 0.989, 12.6: 1.0}
"""Share kept by reach after `SHORT_STEPS`, measured: what longer runs are predicted by, on lines in log x between."""


@dataclass(frozen=True)
class KneeConfig(Config):
    """Runs of every arm at the best rate of a ladder, chosen for every seed on one half of the held-out text."""

    arms: Annotated[tuple[str, ...], some_of(*ARMS)] = tuple(ARMS)
    steps: Several = 200
    batch: Count = 32  # sequences
    length: Several = 32
    dim: Several = 64
    n_words: Count = 320_000
    vocabulary: Several = 1024
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        for name in (FIRST, LAST):
            if name not in self.arms:
                raise ValueError(f"arms must hold {name}, by which the others are measured, got {self.arms}")


def slope(arm: str) -> float:
    """Λ: the product of the schedule's a over the divisor; infinite for the polar factor, 0 for M / ‖M‖_F."""
    schedule, divisor, _ = ARMS[arm]
    if schedule is None:
        return math.inf if divisor == 1 else 0.0
    return math.prod(a for a, _, _ in SCHEDULES[schedule]) / divisor


def dialled(schedule: Sequence[tuple[float, float, float]], divisor: float) -> tuple[tuple[float, float, float], ...]:
    """The same steps with the slope over `divisor`: the first row (a, b, c) becomes (a/k, b/k³, c/k⁵)."""
    (a, b, c), *rest = schedule
    return ((a / divisor, b / divisor**3, c / divisor**5), *rest)


def mapped(arm: str, M: Float[Tensor, "batch m n"]) -> Float[Tensor, "batch m n"]:
    """What an arm makes of momenta with m ≤ n, before its size is set; in their own precision."""
    schedule, divisor, _ = ARMS[arm]
    X = M / torch.linalg.matrix_norm(M, keepdim=True).clamp_min(torch.finfo(M.dtype).tiny)
    if arm == LAST:
        return X
    if arm == "exact":
        P, s, Qh = torch.linalg.svd(X, full_matrices=False)
        cut = (X.shape[1] * X.shape[2]) ** 0.25 * torch.finfo(X.dtype).eps
        return (P * (s > cut * s[..., :1])[..., None, :]) @ Qh
    # not newton_schulz, which is float64: twice the time of a run, and a slope of 485 needs no more than float32
    for a, b, c in dialled(SCHEDULES[schedule], divisor):
        A = X @ X.mT
        X = a * X + (b * A + c * A @ A) @ X
    return X


def lifts(arm: str, s: Float[Tensor, " k"]) -> dict[str, float]:
    """Of singular values over ‖M‖_F: lift, the mean of f², and plateau, that of the schedule that is not dialled."""
    schedule, divisor, _ = ARMS[arm]
    if schedule is None:
        return {"lift": s.square().mean().item() if arm == LAST else 1.0, "plateau": 1.0}
    of = lambda table: compose_quintics(s, table).square().mean().item()
    return {"lift": of(dialled(SCHEDULES[schedule], divisor)), "plateau": of(SCHEDULES[schedule])}


def muon_of(arm: str, steps: int, half_time: dict) -> Callable[[int, dict[str, Tensor]], dict[str, Tensor]]:
    """Nesterov's average, the arm's map, every update at ‖O‖_F = √min(m, n). Into `half_time` goes by matrix what the
    momenta are there: the median of s/‖M‖_F, lift and plateau."""
    averages = {}

    def update(step: int, G: dict[str, Tensor]) -> dict[str, Tensor]:
        added = {}
        # matrices of one shape are mapped in one stack, tall ones lying
        flat = {name: X.mT if X.shape[0] > X.shape[1] else X for name, X in G.items()}
        for shape in sorted({tuple(X.shape) for X in flat.values()}):
            names = [name for name, X in flat.items() if X.shape == shape]
            X = torch.stack([flat[name] for name in names])
            average = averages[shape] = torch.lerp(X, averages.get(shape, torch.zeros_like(X)), MOMENTUM)
            M = torch.lerp(X, average, MOMENTUM)
            if step == steps // 2:
                for name, s in zip(names, torch.linalg.svdvals(M.double()), strict=True):
                    s = s / torch.linalg.vector_norm(s)
                    half_time[name] = {"median": float(s[len(s) // 2])} | lifts(arm, s)
            O = mapped(arm, M)  # noqa: E741
            O = O * (math.sqrt(shape[0]) / torch.linalg.matrix_norm(O, keepdim=True))  # noqa: E741
            for name, one in zip(names, O, strict=True):
                added[name] = one.mT if G[name].shape[0] > G[name].shape[1] else one
        return added

    return update


def measure(config: SimpleNamespace, arm: str, seed: int, device: str) -> dict:
    """validation, test: losses at the rate that is best on the first; `rate`, and the `ladder` of validation losses.

    At half time of that run: reach, Λ times the median over matrices of s_{k/2}/‖M‖_F (None without a slope); lift and
    plateau, means over matrices. bigram: test loss of two-word frequencies. origin: of the text.
    """
    text, place = documentation(config.n_words, config.vocabulary), runtime.device(device)
    sizes = config.vocabulary, config.length, config.dim, config.batch, config.steps
    tried = {}

    def validation(rate: float) -> float:
        half_time = {}
        update = None if arm == "frozen" else muon_of(arm, config.steps, half_time)
        weights = train_language_model(text, *sizes, rate, update, seed, place)
        if weights is None:
            return math.inf
        tried[rate] = held_out_losses(weights, text, config.length), half_time.values()
        return tried[rate][0]["validation"]

    start = ARMS[arm][2]
    values = {start: validation(start)} if arm == "frozen" else ladder(validation, start)
    rate = min(values, key=values.get)
    losses, rows = tried[rate]
    result = losses | {"rate": rate, "ladder": {f"{key:g}": value for key, value in sorted(values.items())}}
    if rows:
        middle = median(row["median"] for row in rows)
        result |= {"median": middle, "reach": middle * slope(arm) if math.isfinite(slope(arm)) else None}
        result |= {key: mean(row[key] for row in rows) for key in ("lift", "plateau")}
    return result | {"bigram": bigram_loss(text, config.vocabulary)["bigram"], "origin": text.origin}


def grids(config: KneeConfig) -> dict[str, Grid]:
    """Every arm over the seeds."""
    return {"runs": Grid(measure, {"arm": config.arms, "seed": draws(config)}, config=fixed(config, "arms"))}


def summarise(config: KneeConfig, results: Results) -> tuple[dict, dict]:
    """By arm: test (means), test_draws, rate and reach (geometric means); share[arm], every seed's
    (L_inf − L) / (L_inf − L_1), for all but those two and frozen; bigram, origin.

    predicted: lift[arm], every seed's lift over plateau at half time; rho[arm], of a memory at that reach.
    """
    of = lambda key, arm: results.array("runs", key, arm=arm).astype(float)
    geometric = lambda key, arms: {arm: float(np.exp(np.log(of(key, arm)).mean())) for arm in arms}
    test = {arm: of("test", arm) for arm in config.arms}
    inner = [arm for arm in config.arms if arm not in ("frozen", FIRST, LAST)]
    first = results.draws["runs"].flat[0]
    measured = {
        "test": {arm: losses.mean() for arm, losses in test.items()},
        "test_draws": test,
        "rate": geometric("rate", config.arms),
        "share": {arm: (test[LAST] - test[arm]) / (test[LAST] - test[FIRST]) for arm in inner},
        "reach": geometric("reach", [arm for arm in config.arms if ARMS[arm][0]]),
        "bigram": first["bigram"],
        "origin": first["origin"],
    }
    problem = Problem.power_law(1024, config.dim, 1.5)
    middle = float(SpectralLaw.solve(problem.frequencies, config.dim).quantile(0.5))
    full = expected_capacity(problem, "polar")
    rho = {
        arm: expected_capacity(problem, "smoothed_sign", lam=middle / reach) / full
        for arm, reach in measured["reach"].items()
    }
    return measured, {"lift": {arm: of("lift", arm) / of("plateau", arm) for arm in inner}, "rho": rho}


def judge(config: KneeConfig, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """The shares beside the lift over its plateau, their order, their sizes by slope, and what matrices gain at all. An
    arm that was not run is not judged."""
    share, test = measured["share"], measured["test_draws"]
    of = lambda arms: {arm: share[arm] for arm in arms if arm in share}
    dial = [arm for arm in sorted(share, key=slope) if arm.startswith("jordan")]
    # half of the way between the shares of two neighbouring arms
    band = {"band": 0.15, "scale": DIFFERENCE}
    ends = {"all of it": 1.0, "none": 0.0}
    lift = np.array([np.mean(predicted["lift"][arm]) for arm in share])
    yield "lift", law("share", share, law=lift, rivals=ends, **band)

    steps = {f"{b} over {a}": share[b] - share[a] for a, b in zip(dial, dial[1:], strict=False)}
    if dial:
        steps |= {f"{dial[0]} over {LAST}": share[dial[0]], f"{FIRST} over {dial[-1]}": 1 - share[dial[-1]]}
    yield "order", above("share,", steps)

    # a reach of about 3 and more; of about 0.15; nearly linear on the whole spectrum
    yield "whole", above("share", of(arm for arm in share if slope(arm) > 100), limit=0.9)
    yield "part", law("share", of(["jordan 64"]), law=0.35, rivals=ends, **band)
    yield "linear", above("room,", {arm: 0.1 - values for arm, values in share.items() if slope(arm) < 2})

    pairs = {twin: share[twin] - share[arm] for twin, arm in TWINS.items() if {twin, arm} <= set(share)}
    sides = {"above": 1, "below": -1}
    apart = {f"{twin}, {side}": 0.2 + sign * gap for twin, gap in pairs.items() for side, sign in sides.items()}
    yield "twins", above("room,", apart)

    gains = {}
    if "frozen" in test:
        gains = {f"{arm} below frozen": test["frozen"] - losses for arm, losses in test.items() if arm != "frozen"}
        # what matrices gain where all vectors are trained, by a pilot
        gains |= {"first below frozen, more": test["frozen"] - test[FIRST] - 0.12}
    yield "matters", above("nats,", gains)

    if config.steps > SHORT_STEPS:
        # written before any share of such a run was seen
        yield from _after_more_steps(of(dial), np.log([measured["reach"][arm] for arm in (*dial, FIRST)]), band)


def _after_more_steps(share: dict, x: np.ndarray, band: dict) -> Iterator[tuple[str, dict]]:
    """The share is that of the short runs at the same reach, and the reach of half of the gain is within a factor of
    two: a half of the way between two neighbouring arms, whose reaches are 5 apart. x: the logarithms of the reaches.
    """
    if not share:
        yield from {"long": equivalence([]), "place": equivalence([])}.items()
        return
    reach, kept = np.array([*SHORT_SHARES.items()]).T
    short = np.interp(x[:-1], np.log(reach), kept)
    rivals = {"half of what is missing": (1 + short) / 2, "twice what is missing": np.maximum(2 * short - 1, 0)}
    yield "long", law("share", share, law=short, rivals=rivals, **band)

    halves = np.array([reach_of_half(x, [*row, 1.0]) for row in zip(*share.values(), strict=True)])
    place = reach_of_half(np.log(reach), kept)
    rivals = {"a quarter of it": place / 4, "four times it": 4 * place}
    yield "place", law("reach of half", halves, law=place, band=1.0, rivals=rivals)


def reach_of_half(x: np.ndarray, share: np.ndarray | Sequence[float]) -> float:
    """The reach that keeps half, on lines in its logarithm x; the first or the last where none or all keep less."""
    return float(np.exp(np.interp(0.5, np.maximum.accumulate(share), x)))


RUN = ("frozen", LAST, "jordan 256", "jordan 64", "jordan 16", "cans 34.6", "jordan 4", FIRST)
TINY = {"steps": 2, "batch": 2, "length": 8, "dim": 8, "n_words": 4000, "vocabulary": 32, "seeds": 1}
EXPERIMENT = Experiment(
    name="knee",
    purpose=headline(__doc__),
    profiles={
        "smoke": KneeConfig(arms=("frozen", LAST, FIRST), **TINY),
        "cpu": KneeConfig(),
        "confirm": KneeConfig(arms=RUN, first_seed=6900),
        "confirm-800": KneeConfig(
            arms=tuple(arm for arm in RUN if arm != "cans 34.6"), steps=800, seeds=4, first_seed=6910
        ),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6900,
)
