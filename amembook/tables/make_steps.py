"""Make amembook/tables/muon-steps.json: the counts of Muon's true iterates that the explorer interpolates.

    python -m amembook.tables.make_steps

Each entry is `amembook.laws.power_law_iterates`: p_i ∝ i^−α, the population, η = √d, `STEPS` steps, inside the
domain of `amembook.laws.expected_trajectory`. That takes seconds an entry, some minutes in all, so the
file is committed and what it holds already is kept: stop and go on. Remove it to make it anew.
"""

import itertools
import json
import os
from pathlib import Path

import numpy as np
from tqdm import tqdm

from amembook.laws import power_law_iterates

TARGET = Path(__file__).with_name("muon-steps.json")
ALPHAS = (1.25, 1.5, 2.0)
DIMS = (128, 181, 256)
N_ITEMS = (2560, 7500, 22_000, 65_536)
ITEMS_PER_DIM = 20
STEPS, STREAMS = 5, 4


def entry(n_items: int, dim: int, alpha: float) -> list[float]:
    """Expected counts after 1 … `STEPS` steps, to five digits."""
    return [float(f"{count:.5g}") for count in power_law_iterates(n_items, dim, alpha, 1.0, STEPS, STREAMS).counts]


def name(n_items: int, dim: int, alpha: float) -> str:
    return f"{alpha:g},{dim},{n_items}"


def grid() -> list[tuple[int, int, float]]:
    return [(n_items, dim, alpha) for alpha, dim, n_items in itertools.product(ALPHAS, DIMS, N_ITEMS)]


def stored() -> dict[str, list[float]]:
    return json.loads(TARGET.read_text(encoding="utf-8")) if TARGET.exists() else {}


def counts() -> np.ndarray:
    """The whole table, (exponents, dimensions, numbers of items, steps)."""
    known = stored()
    rows = np.array([known[name(*place)] for place in grid()], dtype=float)
    return rows.reshape(len(ALPHAS), len(DIMS), len(N_ITEMS), STEPS)


def main() -> None:
    known = stored()
    left = [place for place in grid() if name(*place) not in known]
    for place in tqdm(left, desc="steps"):
        known[name(*place)] = entry(*place)
        rows = ",\n".join(f'"{key}": {json.dumps(row)}' for key, row in known.items())
        unfinished = TARGET.with_suffix(".tmp")
        unfinished.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")
        os.replace(unfinished, TARGET)


if __name__ == "__main__":
    main()
