"""Counts beside the law of a rectangle, shares kept by format, and Muon beside Adam by tokens."""

import numpy as np

from amembook.networks.rectangle_law import expected_tiled_capacity
from amembook.practice.variants.measure import FORMATS, ITERATIONS
from amembook.run.base import Results, standard_error
from amembook.run.claims import DIFFERENCE, RATIO, SMALL, count_band, equivalence, family, numbers, order
from amemlib.problem import Problem

SAME = 0.01
"""In float32 the iteration on the Gram matrix keeps the standard one's items to this share."""
KEPT, LOST = 0.97, 0.25
"""With one restart float16 keeps more than the first of float32's items, without one less than the second."""
FEW = 256
"""Tokens from which on Muon stores more than `LEAD` times what Adam's first step does."""
LEAD = 3.0
LIKE_SGD = 1.5
"""Adam's first step stores less than this many times what SGD's does, from `FEW` tokens on."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """rows[top, random, whole, length], a list over dims, fractions and draws; gram[format][iteration], tokens[polar,
    sign, sgd, distinct] by tokens and draws. predicted: rows, whole."""
    measured = {
        "rows": {name: results.array("rows", name) for name in ("top", "random", "whole", "length")},
        "gram": {name: {key: results.array("gram", "counts", name, key) for key in ITERATIONS} for name in FORMATS},
        "tokens": {name: results.array("tokens", name) for name in ("polar", "sign", "sgd", "distinct")},
    }
    p = Problem.power_law(config.n_items, 1, config.alpha).frequencies
    parts = [[max(1, round(f * dim)) for f in config.fractions] for dim in config.dims]
    predicted = {
        "rows": [
            [expected_tiled_capacity(p, rows, dim) for rows in counts]
            for counts, dim in zip(parts, config.dims, strict=True)
        ],
        "whole": [expected_tiled_capacity(p, dim, dim) for dim in config.dims],
    }
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """rows: counts of both choices on the law of a rectangle. alike: the longest over any, 1. gram: `SAME`, `KEPT` and
    `LOST`, and float16 above bfloat16. adam: `LEAD` and `LIKE_SGD` from `FEW` tokens on.
    """
    law, whole = np.array(predicted["rows"], float), np.array(predicted["whole"], float)[:, None]
    fractions = np.array(config.fractions)
    rows = {name: np.array(measured["rows"][name], float) for name in ("top", "random", "length")}
    at = [f"d = {dim}" for dim in config.dims]
    band = count_band(config.dims)[:, None]
    rivals = {
        "in proportion to the rows": whole * fractions,
        "all of the items": whole + 0 * law,
        "a low rank's": whole * fractions * (2 - fractions),
    }
    judged = []
    for name in ("top", "random"):
        judged += family(f"items, {name}", rows[name], law=law, band=band, rivals=rivals, at=at)
    ratio = rows["top"].sum(1) / rows["random"].sum(1)
    longer = np.sqrt(rows["length"].mean((1, 2)))
    alike = numbers(
        "longest over any",
        ratio.mean(1),
        standard_error(ratio),
        config.seeds,
        law=1.0,
        band=SMALL,
        rivals={"as their length": longer},
        at=at,
    )
    return {
        "rows": equivalence(judged),
        "alike": equivalence(alike),
        "gram": order(_gram(measured["gram"])),
        "adam": order(_adam(config, measured["tokens"])),
    }


def _gram(measured: dict) -> list[dict]:
    counts = {name: {key: np.array(v, float) for key, v in told.items()} for name, told in measured.items()}
    full = counts["float32"]["standard"]
    share = {name: {key: np.maximum(v, 0) / full for key, v in told.items()} for name, told in counts.items()}
    room = {
        "float32, no restart, the same": SAME - np.abs(share["float32"]["gram"] - 1),
        "float16, one restart": share["float16"]["gram, one restart"] - KEPT,
        "float16, no restart, lost": LOST - share["float16"]["gram"],
        "bfloat16, no restart, lost": LOST - share["bfloat16"]["gram"],
        "float16 less bfloat16, one restart": share["float16"]["gram, one restart"]
        - share["bfloat16"]["gram, one restart"],
    }
    return _each("room,", room, 0, DIFFERENCE)


def _adam(config, measured: dict) -> list[dict]:
    found = {name: np.array(v, float) for name, v in measured.items()}
    keep = [k for k, tokens in enumerate(config.tokens) if tokens >= FEW]
    lead = {f"{config.tokens[k]} tokens": found["polar"][k] / found["sign"][k] for k in keep}
    like = {f"{config.tokens[k]} tokens": LIKE_SGD * found["sgd"][k] / found["sign"][k] for k in keep}
    return _each("Muon over Adam,", lead, LEAD, RATIO) + _each("SGD's allowed over Adam's,", like, 1, RATIO)


def _each(name: str, found: dict[str, np.ndarray], limit: float, scale: str) -> list[dict]:
    if not found:
        return []
    values = np.array(list(found.values()))
    error = standard_error(values)
    return numbers(name, values.mean(1), error, values.shape[1], limit=limit, scale=scale, at=list(found))
