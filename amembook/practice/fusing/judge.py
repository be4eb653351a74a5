"""Items of fused and of separate steps beside the law of a stack."""

import functools
from collections.abc import Iterator

import numpy as np

from amembook.practice.fusing.expected import common_over_private, expected_items
from amembook.run.base import Results, standard_error
from amembook.run.claims import SMALL, equivalence, numbers, order
from amemlib.equivalents.fixed_point import binned
from amemlib.problem import Problem

_BIN_WIDTH = 0.02
FEW_IN_COMMON = 0.1, 0.2
"""Shares of common items at which groups of heads are judged: both reasons count there."""


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

    def held(name: str, key: str, law, rivals: dict, at=at, part=(), **limit) -> dict:
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
