"""What a cell measures: a run of the language model with one map at its best rate."""

import math
from collections.abc import Callable, Sequence
from statistics import mean, median

import torch
from jaxtyping import Float
from torch import Tensor

from amembook.networks.language_model import held_out_losses, train_language_model
from amembook.networks.long_runs import ladder
from amembook.networks.text import bigram_loss, documentation
from amembook.run import runtime
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
TWINS = {"cans 34.6": "jordan 16", "cans 138.5": "jordan 64"}
"""Arms of one slope: 1049/34.6 = 485/16, 1049/138.5 = 485/64."""


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
    if arm == "normalized":
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
    of = lambda table: compose_quintics(s, table).square().mean().item()
    if schedule is None:
        return {"lift": s.square().mean().item() if arm == "normalized" else 1.0, "plateau": 1.0}
    return {"lift": of(dialled(SCHEDULES[schedule], divisor)), "plateau": of(SCHEDULES[schedule])}


def muon_of(arm: str, steps: int, told: dict) -> Callable[[int, dict[str, Tensor]], dict[str, Tensor]]:
    """Nesterov's average, the arm's map, every update at ‖O‖_F = √min(m, n); into `told` goes what the momenta of half
    time were: medians of s/‖M‖_F, lift and plateau by matrix."""
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
                    told[name] = {"median": float(s[len(s) // 2])} | lifts(arm, s)
            O = mapped(arm, M)  # noqa: E741
            O = O * (math.sqrt(shape[0]) / torch.linalg.matrix_norm(O, keepdim=True))  # noqa: E741
            for name, one in zip(names, O, strict=True):
                added[name] = one.mT if G[name].shape[0] > G[name].shape[1] else one
        return added

    return update


def measure_run(
    arm: str,
    steps: int,
    batch: int,
    length: int,
    dim: int,
    n_words: int,
    vocabulary: int,
    seed: int,
    device: str,
) -> dict:
    """validation, test: losses at the rate that is best on the first; `rate`, and the `ladder` of validation losses.

    At half time of that run: reach, Λ times the median over matrices of s_{k/2}/‖M‖_F (None without a slope); lift and
    plateau, means over matrices. bigram: test loss of two-word frequencies. origin: of the text.
    """
    text, place = documentation(n_words, vocabulary), runtime.device(device)
    tried = {}

    def validation(rate: float) -> float:
        told = {}
        update = None if arm == "frozen" else muon_of(arm, steps, told)
        weights = train_language_model(text, vocabulary, length, dim, batch, steps, rate, update, seed, place)
        if weights is None:
            return math.inf
        tried[rate] = held_out_losses(weights, text, length) | {"matrices": told}
        return tried[rate]["validation"]

    start = ARMS[arm][2]
    values = {start: validation(start)} if arm == "frozen" else ladder(validation, start)
    rate = min(values, key=values.get)
    told = tried[rate]
    found = {"rate": rate, "ladder": {f"{key:g}": value for key, value in sorted(values.items())}}
    rows = told.pop("matrices").values()
    if rows:
        found["median"] = median(row["median"] for row in rows)
        found["reach"] = found["median"] * slope(arm) if math.isfinite(slope(arm)) else None
        found |= {key: mean(row[key] for row in rows) for key in ("lift", "plateau")}
    return told | found | {"bigram": bigram_loss(text, vocabulary)["bigram"], "origin": text.origin}
