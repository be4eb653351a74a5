"""`fusing`: items of fused and of separate polar factors, by what the matrices' items have in common.

A question of practice, ours: one polar factor for matrices that read the same inputs (query, key, value; heads), or one
for each? It is a choice of arXiv:2502.16982 and of those who ship Muon.

Claim: fusing matrices that read the same inputs pays where their items are the same, costs h^(1−1/(2α)) times more
where each has its own or its own order of them, and is predicted in between.

Caveats: one step on the population, counts held to 5 %, since the law interpolates the length of what a frequent item
is mapped to. Groups of heads are judged where a tenth or a fifth of the items is common: both reasons count there.
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amembook.practice.fusing.expected import common_over_private, expected_items
from amembook.run import runtime
from amembook.run.base import (
    Config,
    Count,
    Counts,
    Experiment,
    Grid,
    Natural,
    Positives,
    Results,
    Several,
    Shares,
    SteepAlpha,
    SteepAlphas,
    draws,
    standard_error,
)
from amembook.run.claims import SMALL, equivalence, numbers, order
from amembook.run.studies import headline
from amemlib.equivalents.fixed_point import binned
from amemlib.problem import Problem
from amemlib.spectral import polar

_BIN_WIDTH = 0.02
FEW_IN_COMMON = 0.1, 0.2
"""Shares of common items at which groups of heads are judged: both reasons count there."""


@dataclass(frozen=True)
class FusingConfig(Config):
    """One population step on h matrices, fused to one polar factor or apart."""

    alphas: SteepAlphas = (1.25, 1.5, 2.0)
    alpha: SteepAlpha = 1.5  # of what is measured at one α: overlaps, scales, heads
    n_items: Several = 2048  # of each part
    dim: Several = 192  # rows and columns of a square part
    parts: Counts = (2, 3)
    overlaps: Shares = (0.2, 0.5, 0.8)  # shares of items that three parts have in common
    scales: Positives = (0.3, 0.1)  # size of the first of three gradients beside the others'
    head_items: Several = 2048
    head_rows: Several = 32
    head_columns: Several = 192
    heads: Count = 6
    groups: Counts = (1, 2, 3, 6)  # neighbouring heads that share a polar factor
    head_overlaps: Shares = (0.0, 0.1, 0.2, 0.5, 1.0)
    seeds: Count = 6
    first_seed: Natural = 0

    def limits(self) -> None:
        for size in self.groups:
            if self.heads % size:
                raise ValueError(f"groups must divide heads = {self.heads}, got {size}")


def sample_stack(
    kind: str, share: float, n_items: int, rows: int, columns: int, parts: int, seed: int, device: str
) -> tuple[Float[Tensor, "h N m"], Float[Tensor, "h N n"]]:
    """Outputs of `rows` dimensions and inputs of each part's items, most frequent first, float64.

    private: every part has inputs of its own. common: a share of the ranks, by chance, has one input for all parts.
    permuted: every part has the same inputs, in an order of its own.
    """
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64) / shape[-1] ** 0.5
    U, V = draw(parts, n_items, rows), draw(parts, n_items, columns)
    if kind == "permuted":
        V = torch.stack([V[0][torch.randperm(n_items, generator=generator)] for _ in range(parts)])
    elif kind == "common":
        one = torch.rand(n_items, generator=generator, dtype=torch.float64) < share
        V[:, one] = V[0, one].clone()
    return U.to(runtime.device(device)), V.to(runtime.device(device))


def recovered_items(W: Float[Tensor, "m n"], U: Float[Tensor, "N m"], V: Float[Tensor, "N n"]) -> int:
    """How many items of one part have the largest logit of its outputs."""
    logits = (V @ W.mT @ U.mT).float()
    return int((logits.argmax(1) == torch.arange(len(U), device=U.device)).sum())


def measure_stack(
    n_items: int,
    rows: int,
    columns: int,
    alpha: float,
    parts: int,
    kind: str,
    share: float,
    scale: float,
    groups: Sequence[int],
    seed: int,
    device: str,
) -> dict:
    """Items of all parts, and of the first, whose gradient is times `scale`, by how many share a polar factor.

    total, first: one number for each of `groups`, sizes that divide the number of parts.
    """
    U, V = sample_stack(kind, share, n_items, rows, columns, parts, seed, device)
    p = Problem.power_law(n_items, 1, alpha).frequencies.to(U.device)
    G = (p[:, None] * (U - U.mean(1, keepdim=True))).mT @ V
    G[0] *= scale
    counts = []
    for size in groups:
        W = polar(G.reshape(parts // size, size * rows, columns)).reshape(parts, rows, columns)
        counts.append([recovered_items(W[b], U[b], V[b]) for b in range(parts)])
    return {"total": [sum(row) for row in counts], "first": [row[0] for row in counts]}


def grids(config: FusingConfig) -> dict[str, Grid]:
    """Square parts by kind, their overlap, and the size of the first one's gradient; heads by overlap."""
    seeds = {"seed": draws(config)}
    square = {"rows": config.dim, "columns": config.dim}
    three = square | {"parts": 3, "groups": (1, 3)}
    kinds = {name: {"kind": name, "share": float(name == "common")} for name in ("common", "private", "permuted")}
    weak = {
        f"{name} {scale:g}": {"kind": name, "share": float(name == "common"), "scale": scale}
        for name in ("common", "private")
        for scale in config.scales
    }
    sizes = {h: {"parts": h, "groups": (1, h)} for h in config.parts}
    heads = {"n_items": config.head_items, "rows": config.head_rows, "columns": config.head_columns}
    heads |= {"parts": config.heads, "kind": "common", "scale": 1.0}
    return {
        "kinds": Grid(measure_stack, {"alpha": config.alphas, "of": sizes, "kind": kinds} | seeds, **square, scale=1.0),
        "overlaps": Grid(measure_stack, {"share": config.overlaps} | seeds, **three, kind="common", scale=1.0),
        "scales": Grid(measure_stack, {"of": weak} | seeds, **three),
        "heads": Grid(measure_stack, {"share": config.head_overlaps} | seeds, **heads),
    }


def summarise(config, results: Results) -> tuple[dict, dict]:
    """fused, apart, ratio: (α, h, kind) means of all parts' items and of fused over apart, `…_error` beside.

    common_over_private, permuted_over_private: (α, h). overlaps, scales: fused items of all parts, and of the first.
    heads: (overlap, group) items over those of heads apart. predicted: the same numbers by the law.
    """
    kinds = results.array("kinds", "total").astype(float)
    fused = kinds[..., 1]
    names = list(results.grids["kinds"].axes["kind"])
    private = fused[:, :, names.index("private")]
    measured = {"kinds": names} | _means("fused", fused) | _means("apart", kinds[..., 0])
    for name in ("common", "permuted"):
        measured |= _means(f"{name}_over_private", fused[:, :, names.index(name)] / private)
    measured |= _means("overlaps", results.array("overlaps", "total").astype(float)[..., 1])
    measured |= _means("scales", results.array("scales", "first").astype(float)[..., 1])
    measured["scale_names"] = list(results.grids["scales"].axes["of"])
    heads = results.array("heads", "total").astype(float)
    measured |= _means("heads", heads / heads[..., :1], axis=1)
    small = heads[..., [1 < size < config.heads for size in config.groups]].mean(-1)
    measured |= _means("small_over_single", small / heads[..., 0])
    measured |= _means("small_over_all", small / heads[..., -1])
    return measured, predict(config)


def _means(name: str, values: np.ndarray, axis: int = -1) -> dict:
    return {name: values.mean(axis), f"{name}_error": standard_error(values, axis)}


def predict(config) -> dict:
    """Everything that has a prediction, from the config alone."""

    @functools.cache
    def items(alpha, parts, common, scales=None, n_items=config.n_items, rows=config.dim, columns=config.dim):
        values, counts = binned(Problem.power_law(n_items, 1, alpha).frequencies, _BIN_WIDTH)
        return expected_items(np.stack([values, counts], 1), (rows,) * parts, columns, common, scales)

    grid = [[[items(alpha, h, common).sum() for common in (1, 0)] for h in config.parts] for alpha in config.alphas]
    apart = [[h * items(alpha, 1, 1)[0] for h in config.parts] for alpha in config.alphas]
    common, private = np.moveaxis(np.array(grid), -1, 0)
    weak = {
        f"{name} {scale:g}": items(config.alpha, 3, share, (scale, 1, 1))[0]
        for name, share in (("common", 1.0), ("private", 0.0))
        for scale in config.scales
    }
    of_heads = {"n_items": config.head_items, "rows": config.head_rows, "columns": config.head_columns}
    heads = np.array(
        [
            [items(config.alpha, size, share if size > 1 else 1, **of_heads).sum() / size for size in config.groups]
            for share in config.head_overlaps
        ]
    )
    return {
        "fused": {"common": common, "private": private},
        "apart": apart,
        "common_over_private": common / private,
        "limit": [[common_over_private(h, alpha) for h in config.parts] for alpha in config.alphas],
        "overlaps": [items(config.alpha, 3, share).sum() for share in config.overlaps],
        "extremes": [items(config.alpha, 3, share).sum() for share in (0, 1)],
        "alone": items(config.alpha, 1, 1)[0],
        "scales": weak,
        "heads": heads / heads[:, :1],
    }


def judge(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """common, private: items of all parts, fused. ratio: common over private, at these sizes and in the limit.

    permuted: as if private. overlaps: in between. weak: the first part's items, of a smaller gradient than the others'.
    Bands: `SMALL`, since the law interpolates the length of what a frequent item is mapped to. groups: pairs and
    triples of heads, their mean, over single heads and over all heads fused.
    """
    at = [f"α = {alpha:g}, {h} parts" for alpha in config.alphas for h in config.parts]

    def held(name: str, key: str, law, rivals: dict, at=at, part=..., **limit) -> dict:
        """Numbers of the record, or a part of them, beside their law."""
        mean, error = measured[key][part], measured[f"{key}_error"][part]
        return equivalence(numbers(name, mean, error, config.seeds, law=law, band=SMALL, rivals=rivals, at=at, **limit))

    laws = predicted["fused"] | {"permuted": predicted["fused"]["private"]}
    for name, other in (("common", "private"), ("private", "common"), ("permuted", "common")):
        rivals = {"as apart": predicted["apart"], f"as {other}": laws[other]}
        yield name, held(name, "fused", laws[name], rivals, part=(..., measured["kinds"].index(name)))

    parts, alphas = np.array(config.parts, float), np.array(config.alphas)[:, None]
    rivals = {
        "h^(1 − 1/2(α + 1/2))": parts ** (1 - 1 / (2 * alphas + 1)),
        "h^(1 − 1/2(α − 1/2))": parts ** (1 - 1 / (2 * alphas - 1)),
        "h": parts + 0 * alphas,
    }
    ratio = "common_over_private"
    yield "ratio", held("common over private", ratio, predicted[ratio], rivals, limit=predicted["limit"])

    private, common = predicted["extremes"]
    rivals = {"as private": private, "as common": common, "as apart": 3 * predicted["alone"]}
    yield "overlaps", held("overlap", "overlaps", predicted["overlaps"], rivals, config.overlaps)

    names = measured["scale_names"]
    equal = [(common if "common" in name else private) / 3 for name in names]
    rivals = {"as apart": predicted["alone"], "as with equal gradients": equal}
    yield "weak", held("first", "scales", [predicted["scales"][name] for name in names], rivals, names)

    asked = [k for k, share in enumerate(config.head_overlaps) if share in FEW_IN_COMMON]
    at, judged = np.array(config.head_overlaps)[asked], []
    for name in ("single", "all"):
        ratio, error = (measured[f"small_over_{name}{end}"][asked] for end in ("", "_error"))
        judged += numbers(f"small groups over {name}", ratio, error, config.seeds, limit=1, at=at)
    yield "groups", order(judged)


TINY = {"alphas": (1.5,), "n_items": 48, "dim": 8, "parts": (2,), "overlaps": (0.5,), "scales": (0.3,), "seeds": 2}
TINY |= {"head_items": 32, "head_rows": 4, "head_columns": 8, "heads": 4, "groups": (1, 2, 4), "head_overlaps": (0.1,)}
EXPERIMENT = Experiment(
    name="fusing",
    purpose=headline(__doc__),
    profiles={
        "smoke": FusingConfig(**TINY),
        "cpu": FusingConfig(),
        "confirm": FusingConfig(first_seed=6200),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6200,
)
