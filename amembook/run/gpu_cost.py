"""What gpu profiles cost: operations by precision, bytes, what the host does, and seconds by a model.

Nothing here was measured on a GPU. A cell is counted as the draws, products and spectral maps that it calls for; what
it does beside them, and the wait between one kernel and the next, are left out. A study is modelled where the model's
seconds on one core suit its stored records.
"""

import numpy as np

from amembook.figures.tables import Table
from amembook.run import studies
from amemlib.equivalents import capacity_constant
from amemlib.theory import recovery_exponent

KINDS = ("double", "single", "cubes", "moved", "normals", "host")
"""Float64 and float32 operations of products, Σ d³ over spectral maps, bytes moved beside the products; and what the
host does alone, normals and float64 operations."""
CARDS = {
    "H100": (67e12, 67e12, 3.35e12, 80e9),
    "H200": (67e12, 67e12, 4.8e12, 141e9),
    "T4": (0.25e12, 8.1e12, 0.32e12, 16e9),
    "RTX 4060 Laptop": (0.18e12, 11.6e12, 0.256e12, 8e9),
}
"""Peak rates of data sheets: float64 and float32 operations and bytes a second; bytes of memory. H100, H200: SXM."""
EFFICIENCY = 0.5
"""The share of a peak rate that is reached: assumed."""
CORE = np.array([43e9, 83e9, 25e9 / 20, np.inf, 1 / 13e-9, 43e9])
"""What one core does in a second, of each kind: measured (AVX-512), an SVD as 20 d³."""
MAP_FLOPS, MAP_BYTES = 131, 8 / 3
"""Of a spectral map on a card, over d³: an inverse and 20 quintic steps, 122; eigenvalues, 9, a pass over G a row."""
STRAY_RIVALS = 128
"""Rivals that an item meets before it loses."""


def _work(**amounts: float) -> np.ndarray:
    return np.array([amounts.get(kind, 0.0) for kind in KINDS])


def _test(a: dict, method: str = "muon", steps: int = 1) -> np.ndarray:
    """The recovery test after so many steps: what is recovered meets every rival."""
    n, d, alpha = a["n_items"], a["dim"], a["alpha"]
    constant = capacity_constant("polar", n, alpha) if method == "muon" else 1
    met = min(n, constant * d ** recovery_exponent(method, alpha, steps) + STRAY_RIVALS)
    return _work(single=2.0 * n * d * (d + met), moved=12 * n * met)


def _step(a: dict, method: str = "muon", steps: int = 1) -> np.ndarray:
    """One gradient at W = 0, its map, and the test."""
    n, d = a["n_items"], a["dim"]
    own = _work(double=2.0 * n * d**2, moved=48 * n * d, cubes=d**3 if method == "muon" else 0)
    return own + _test(a, method, steps)


def _draw(a: dict) -> np.ndarray:
    return _work(normals=2 * a["n_items"] * a["dim"])


def _newton(a: dict) -> np.ndarray:
    return _work(double=6.0 * a["n_items"] * a["dim"] ** 2, cubes=2 * a["dim"] ** 3) + _test(a)


def _grams(a: dict, problems: int) -> np.ndarray:
    n, rank = a["n_items"], min(a["n_items"], a["dim"])
    return _work(normals=2 * n * rank, host=4.0 * n**2 * rank + 2 * n**3 * problems)


def _thresholded(a: dict) -> np.ndarray:
    # the rules share a draw, and this one has each of `dims` first
    drawn = _draw(a) if a["rule"] == "smoothed_sign" else 0
    return drawn + sum(_step(a, "sgd" if "sgd" in a["rule"] else "muon", t + 1) for t in range(a["steps"]))


CELLS = {
    "one-step": {
        "measure_one_step": lambda a: _draw(a) + _step(a) + _step(a, "sgd") + _test(a) + _work(cubes=a["dim"] ** 3),
        "measure_sgd_step": lambda a: 2 * _grams(a, 1),
    },
    "sharp": {
        "measure_population": lambda a: _draw(a) + _step(a) + _newton(a) + len(a["lam_over_t0"]) * _test(a),
        "measure_batches": lambda a: _draw(a) + len(a["batch_sizes"]) * (_step(a) + _newton(a)),
        "measure_sgd": lambda a: _grams(a, len(a["alphas"])),
    },
    "spectral-maps": {"measure_spectral_maps": lambda a: _draw(a) + _step(a) + (9 + 3 * len(a["steps"])) * _test(a)},
    "deflation": {"measure_deflation": _thresholded},
}
"""What the cells of a study do, by the names of their functions; a cell of another function is not modelled."""


def study_work(name: str, config) -> tuple[np.ndarray, float, int]:
    """What a study's cells do, of each of `KINDS`; the bytes that the largest holds; how many are not modelled."""
    cells, modelled = studies.find_experiment(name).cells(config, "cuda"), CELLS[name]
    mine = [cell for cell in cells if cell.function.__name__ in modelled]
    total = sum((modelled[cell.function.__name__](cell.arguments) for cell in mine), _work())
    held = [8 * a["n_items"] * a["dim"] + 80 * a["dim"] ** 2 for a in (x.arguments for x in mine) if "device" in a]
    return total, max(held, default=0) + 2**30, len(cells) - len(mine)


def core_seconds(work: np.ndarray) -> float:
    """All of it on one core."""
    return float((work / CORE).sum())


def card_seconds(work: np.ndarray, card: str) -> float:
    """The card's part after the host's: two cores draw, a side each, and one does the rest."""
    cubes, (double, single, moved, _) = work[2], CARDS[card]
    on_card = (work[0] + MAP_FLOPS * cubes) / double + work[1] / single + (work[3] + MAP_BYTES * cubes) / moved
    return float(on_card / EFFICIENCY + work[4] / CORE[4] / 2 + work[5] / CORE[5])


def table() -> Table:
    """A column a modelled study: amounts of its gpu profile, then seconds on one core and with each card."""
    columns = []
    for name in CELLS:
        work, held, left_out = study_work(name, studies.find_experiment(name).profiles["gpu"])
        cards = {card: f"{card_seconds(work, card):,.0f}" for card in CARDS}
        cards |= {card: "too large" for card, rates in CARDS.items() if held > rates[-1]}
        amounts = [*(np.array([work[0] + MAP_FLOPS * work[2], work[1], work[3]]) / 1e12), held / 1e9]
        amounts += [core_seconds(work * [0, 0, 0, 0, 1, 1]), core_seconds(work)]
        columns.append([f"{left_out}", *(f"{x:,.0f}" for x in amounts), *cards.values()])
    rows = "cells not modelled", "float64, Tflop", "float32, Tflop", "TB moved", "GB held", "host, s", "one core, s"
    return Table(["", *CELLS], list(zip([*rows, *(f"{card}, s" for card in CARDS)], *columns, strict=True)))
