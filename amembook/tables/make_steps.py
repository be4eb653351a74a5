"""Make amembook/tables/muon-steps.json: the counts of Muon's true iterates that the explorer interpolates.

    python -m amembook.tables.make_steps

Each entry is `amemlib.equivalents.power_law_iterates`: p_i ∝ i^−α, the population, η = √d, `STEPS` steps. That
takes seconds an entry, an hour in all, so the file is committed and what it holds already is kept: stop and go on.
Remove it to make it anew.
"""

import itertools
import json
import os
from pathlib import Path

import numpy as np
from tqdm import tqdm

from amemlib.equivalents import power_law_iterates

TARGET = Path(__file__).with_name("muon-steps.json")
ALPHAS = (0.7, 0.85, 1.0, 1.15, 1.3, 1.5, 1.75, 2.0, 2.5, 3.0)
DIMS = tuple(2**k for k in range(5, 13))
N_ITEMS = tuple(round(10 ** (k / 2)) for k in range(5, 13))
STEPS, STREAMS = 5, 4


def entry(alpha: float, dim: int, n_items: int) -> list[float | None]:
    """Expected counts after 1 … `STEPS` steps, to five digits; None beyond the range of the recursion."""
    for steps in range(STEPS, 0, -1):
        try:
            counts = power_law_iterates(alpha, n_items, dim, 1.0, steps, STREAMS).counts
        except ValueError:
            continue
        return [float(f"{count:.5g}") for count in counts] + [None] * (STEPS - steps)
    return [None] * STEPS


def name(alpha: float, dim: int, n_items: int) -> str:
    return f"{alpha:g},{dim},{n_items}"


def grid() -> list[tuple[float, int, int]]:
    return list(itertools.product(ALPHAS, DIMS, N_ITEMS))


def stored() -> dict[str, list[float | None]]:
    return json.loads(TARGET.read_text(encoding="utf-8")) if TARGET.exists() else {}


def counts() -> np.ndarray:
    """The whole table, (exponents, dimensions, numbers of items, steps), NaN beyond the range of the recursion."""
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
