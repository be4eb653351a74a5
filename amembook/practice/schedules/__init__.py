"""`schedules`: items that the published Newton-Schulz schedules keep of exact Muon's, by format, and the law behind it.

A question of practice, ours; the schedules, all of `spectral.SCHEDULES`, are those of arXiv:2505.16932,
arXiv:2506.10935, arXiv:2606.00371 and of five libraries.

Claim: one number says what a schedule of Newton–Schulz keeps of the items that the exact polar factor stores in one
step: its slope at 0 times the median singular value of the gradient over its Frobenius norm.

Caveats: one step on the population. The number alone is good to 16 %, what the shape of a plateau moves; with the whole
polynomial to 3 %. Formats are judged where rounding takes at most a quarter of the items.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amembook.practice.schedules import expected
from amembook.run import runtime
from amembook.run.base import (
    Alphas,
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    Results,
    Several,
    draws,
    each,
    standard_error,
)
from amembook.run.claims import SHARP_DIM, SIZES, equivalence, family
from amembook.run.studies import headline
from amembook.run.study import fixed
from amemlib.checks import check_choice, check_dims
from amemlib.equivalents import SpectralLaw, expected_capacity
from amemlib.gradients import gradient_rank, initial_gradient
from amemlib.problem import Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings
from amemlib.spectral import SCHEDULES, compose_quintics, newton_schulz, singular_values, spectral_map

FORMATS = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
ROW_MAPS = ("polar of rescaled rows", "turbo_muon, rows rescaled", "polar, rows equalised", "jordan, rows equalised")
"""What is done to rows besides: AOL's rescaling before the iteration, NorMuon's equal rows after it."""
LAW_BAND = 0.16
"""The band of the law that knows a schedule by its slope alone: by the predictions themselves the shape of a plateau
moves a count by that much."""
MOST_LOST = 0.25
"""Where rounding takes more than this part of float32's items by its own prediction it is no perturbation any more, and
nothing is judged: on exploratory seeds up to a quarter more items were left than predicted."""
LAW_POINTS = 15
"""Points of the law's curve, from a thousandth of the reach to thirty times it."""


@dataclass(frozen=True)
class SchedulesConfig(Config):
    """One population step with every schedule in every format, beside exact Muon."""

    schedules: Annotated[tuple[str, ...], each(partial(check_choice, allowed=tuple(SCHEDULES)))] = tuple(SCHEDULES)
    alphas: Alphas = (1.25, 1.5, 2.0)
    dims: Annotated[tuple[int, ...], partial(check_dims, count=1, least=2)] = (256, 512, 1024)
    # where torch.optim.Muon itself takes the step too
    torch_dims: Annotated[tuple[int, ...], partial(check_dims, count=0)] = (256, 512, 1024)
    n_items: Several = 8192
    # of the predicted table, which may be empty
    table_dims: Annotated[tuple[int, ...], partial(check_dims, count=0, least=2)] = (512, 1024, 2048, 4096)
    table_items: Several = 32_768
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        if "jordan" not in self.schedules:
            raise ValueError(f"schedules must hold jordan, got {list(self.schedules)}")
        if list(self.alphas) != sorted(set(self.alphas)):
            raise ValueError(f"alphas must ascend, got {list(self.alphas)}")


def newton_schulz_in_format(
    G: Float[Tensor, "m n"], schedule: Iterable[Sequence[float]], dtype: torch.dtype
) -> Float[Tensor, "m n"]:
    """`newton_schulz` as a tensor core runs it: products add up in float32, every stored matrix is rounded to `dtype`.

    G is divided by ‖G‖_F before it is rounded, as NVIDIA's library does; torch.optim.Muon rounds first, which is the
    same up to the last bit of the norm. Returns float64.
    """
    rounded = lambda X: X.to(dtype).float()
    X = rounded((G / torch.linalg.norm(G)).float())
    for a, b, c in schedule:
        A = rounded(X @ X.mT)
        B = rounded(b * A + c * (A @ A)) if c else b * A
        X = rounded(a * X + B @ X)
    return X.double()


def rescaled_rows(G: Float[Tensor, "m n"]) -> Float[Tensor, "m n"]:
    """Row i of G over the root of Σ_j |GGᵀ|_ij, AOL's bound (arXiv:2208.03160): no singular value exceeds 1 then.

    Turbo-Muon iterates on it instead of on G / ‖G‖_F. It is no spectral map: polar factors of the two differ.
    """
    return G / (G @ G.mT).abs().sum(1, keepdim=True).sqrt()


def equalised_rows(W: Float[Tensor, "m n"]) -> Float[Tensor, "m n"]:
    """Rows of W brought to one length, ‖W‖_F kept: what NorMuon adds after the iteration, in its first step."""
    lengths = torch.linalg.vector_norm(W, dim=1, keepdim=True)
    return W / lengths * (torch.linalg.norm(W) / len(W) ** 0.5)


def torch_muon(G: Float[Tensor, "m n"]) -> Float[Tensor, "m n"]:
    """The first step of `torch.optim.Muon` as shipped, momentum, Nesterov and bfloat16 included, from W = 0."""
    W = torch.nn.Parameter(torch.zeros_like(G, dtype=torch.float32))
    W.grad = -G.float()
    torch.optim.Muon([W], lr=1.0, weight_decay=0.0).step()
    return W.detach().double()


def measure_schedules(config: SimpleNamespace, alpha: float, dim: int, seed: int, device: str) -> dict:
    """Recovered items: `polar`; `counts[format][schedule]`; `rows[…]` of `ROW_MAPS`; `torch`, its own Muon.

    torch: 0 where it is not run. norm: ‖G‖_F over the root of Σ p². median: s_{d/2} / ‖G‖_F.
    """
    problem = Problem.power_law(config.n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    G = initial_gradient(emb, problem.frequencies)
    norm, rank = torch.linalg.norm(G), gradient_rank(emb, problem.frequencies)
    exact, rescaled = (spectral_map(X, torch.ones_like, rank) for X in (G, rescaled_rows(G)))
    turbo = spectral_map(rescaled_rows(G), lambda s: compose_quintics(s.clamp(max=1), SCHEDULES["turbo_muon"]), rank)
    rows = (rescaled, turbo, equalised_rows(exact), equalised_rows(newton_schulz(G, coefficients="jordan")))
    count = lambda name, dtype: capacity(newton_schulz_in_format(G, SCHEDULES[name], dtype), emb)
    own = dim in config.torch_dims and hasattr(torch.optim, "Muon")
    return {
        "norm": (norm / problem.frequencies.norm()).item(),
        "median": (singular_values(G)[dim // 2] / norm).item(),
        "polar": capacity(exact, emb),
        "counts": {name: {key: count(key, dtype) for key in config.schedules} for name, dtype in FORMATS.items()},
        "rows": {name: capacity(W, emb) for name, W in zip(ROW_MAPS, rows, strict=True)},
        "torch": capacity(torch_muon(G), emb) if own else 0,
    }


def grids(config: SchedulesConfig) -> dict[str, Grid]:
    """Every α, d and draw; a cell has all schedules and formats on the same gradient."""
    axes = {"alpha": config.alphas, "dim": config.dims, "seed": draws(config)}
    sizes = fixed(config, "alphas", "dims", "table_dims", "table_items")
    return {"schedules": Grid(measure_schedules, axes, config=sizes)}


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Means over the draws with standard errors, by α in words and then aligned with `dims`; shares are of polar's.

    counts[format][α][schedule]; polar[α]; rows[map][α]; torch[α]. predicted: counts and polar alike; law[α][schedule],
    what h_λ with λ = ‖G‖_F / Λ recovers; sgd[α]; reach[α][schedule], Λ s_{d/2} / ‖G‖_F; curve[α], reaches and shares of
    h_λ at the largest d; table[format][α][schedule], shares at `table_dims`; and by schedule its slope and products.
    """
    words = {f"{alpha:g}": alpha for alpha in config.alphas}
    read = lambda word, *keys: results.array("schedules", *keys, alpha=words[word]).astype(float)
    by_schedule = lambda name, statistic: {
        word: {key: statistic(read(word, "counts", name, key)) for key in config.schedules} for word in words
    }
    mean = lambda draws: draws.mean(1)
    measured = {
        "counts": {name: by_schedule(name, mean) for name in FORMATS},
        "error": {name: by_schedule(name, standard_error) for name in FORMATS},
    }
    for key in ("polar", "norm", "median", "torch"):
        measured[key] = {word: mean(read(word, key)) for word in words}
    measured["torch_error"] = {word: standard_error(read(word, "torch")) for word in words}
    measured["rows"] = {name: {word: mean(read(word, "rows", name)) for word in words} for name in ROW_MAPS}
    return measured, predict(config)


def predict(config) -> dict:
    """All predictions, from the config alone."""
    tables = {name: SCHEDULES[name] for name in config.schedules}
    slopes = {name: expected.slope(table) for name, table in tables.items()}
    predicted = {"slope": slopes, "products": {name: expected.products(table) for name, table in tables.items()}}
    predicted |= {key: {} for key in ("polar", "sgd", "law", "reach", "curve")}
    predicted |= {key: {name: {} for name in FORMATS} for key in ("counts", "table")}
    for alpha in config.alphas:
        word = f"{alpha:g}"
        problems = [Problem.power_law(config.n_items, dim, alpha) for dim in config.dims]
        tabled = [Problem.power_law(config.table_items, dim, alpha) for dim in config.table_dims]
        laws = {problem: SpectralLaw.solve(problem.frequencies, problem.dim) for problem in (*problems, *tabled)}
        for key in ("polar", "sgd"):
            predicted[key][word] = [expected_capacity(problem, key) for problem in problems]
        predicted["law"][word] = {k: [expected.law_count(p, v) for p in problems] for k, v in slopes.items()}
        predicted["reach"][word] = {k: [expected.reach(p, v, laws[p]) for p in problems] for k, v in slopes.items()}
        predicted["curve"][word] = _curve(problems[-1], laws[problems[-1]])
        full = [expected_capacity(problem, "polar") for problem in tabled]
        for name in FORMATS:
            counted = lambda key, of, name=name, laws=laws: [expected.expected_count(p, key, name, laws[p]) for p in of]
            predicted["counts"][name][word] = {key: counted(key, problems) for key in config.schedules}
            predicted["table"][name][word] = {key: np.array(counted(key, tabled)) / full for key in config.schedules}
    return predicted


def judge(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """From `SHARP_DIM` on, the total of every schedule over α and d.

    counts: every schedule in float32. formats: float16 and bfloat16 with the noise of rounding, while that takes at
    most `MOST_LOST`. torch: its own Muon, beside jordan in bfloat16. law: `LAW_BAND`, a schedule known by its slope
    alone. All are predictions for these sizes.
    """
    words = [f"{alpha:g}" for alpha in config.alphas]
    large = np.array(config.dims) >= SHARP_DIM
    if not large.any():
        yield from dict.fromkeys(("counts", "formats", "torch", "law"), equivalence([])).items()
        return
    by_alpha = lambda values: np.array([values[word] for word in words])[:, large]
    # (schedules, α, d)
    table = lambda values: np.array([by_alpha({w: values[w][key] for w in words}) for key in config.schedules])

    def total(name: str, law: np.ndarray, band: float, rivals: dict, keep=True) -> list[dict]:
        held_to = {"law": law, "band": band, "rivals": rivals, "keep": keep, "at": config.schedules}
        items, error = table(measured["counts"][name]), table(measured["error"][name])
        return family(f"{name} items", items, error, config.seeds, **held_to)

    laws = {name: table(predicted["counts"][name]) for name in FORMATS}
    exact, jordan = laws["float32"], config.schedules.index("jordan")
    full, five = by_alpha(predicted["polar"]), exact[jordan]
    alike = lambda values: np.broadcast_to(values, exact.shape)
    rivals = {"exact Muon's items": alike(full), "five steps are five steps": alike(five)}
    yield "counts", equivalence(total("float32", exact, SIZES, rivals))

    formats = []
    for name in ("float16", "bfloat16"):
        keep = laws[name] >= (1 - MOST_LOST) * exact
        formats += total(name, laws[name], SIZES, {"float32's items": exact} | rivals, keep)
    yield "formats", equivalence(formats)

    slopes = np.array([predicted["slope"][key] for key in config.schedules])[:, None, None]
    rivals |= {"in proportion to the slope": np.minimum(full, five * slopes / slopes[jordan])}
    yield "law", equivalence(total("float32", table(predicted["law"]), LAW_BAND, rivals))

    own, error = by_alpha(measured["torch"]), by_alpha(measured["torch_error"])
    rivals = {"exact Muon's items": full, "jordan in float32": five}
    held_to = {"law": laws["bfloat16"][jordan], "band": SIZES, "rivals": rivals, "at": [f"α = {w}" for w in words]}
    # where torch has no Muon there is nothing to judge
    yield "torch", equivalence(family("items", own, error, config.seeds, **held_to) if own.all() else [])


def _curve(problem: Problem, law: SpectralLaw) -> dict:
    """The law as a curve: reaches x, and the share of polar's items that h_λ with λ = s_{d/2} / x recovers."""
    median = float(law.quantile(0.5))
    reaches, polar = np.geomspace(1e-3, 30, LAW_POINTS), expected_capacity(problem, "polar")
    shares = [expected_capacity(problem, "smoothed_sign", lam=median / x) / polar for x in reaches]
    return {"reach": reaches, "share": shares}


TINY = {"schedules": ("jordan", "deepseekv4"), "alphas": (1.5,), "dims": (32,), "n_items": 256, "table_dims": ()}
EXPERIMENT = Experiment(
    name="schedules",
    purpose=headline(__doc__),
    profiles={"smoke": SchedulesConfig(seeds=2, **TINY), "cpu": SchedulesConfig()},
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
