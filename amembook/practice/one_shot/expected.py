"""The loss law of the task, from a few lines of theory and one rung of the screening, and the recipe of a run.

An input is stored if it is among the first K ∝ n of the memory, which has 512 n weights, and among the first
S ∝ D^{1/γ}, which D samples show often enough. What is lost is the mass beyond: n^{−(γ−1)} and D^{−(γ−1)/γ}. At
C ∝ n D flops the sum is least where n ∝ C^{1/(γ+1)}, and falls as C^{−(γ−1)/(γ+1)} = C^{−1/11}.
"""

import csv
from functools import cache
from pathlib import Path

import numpy as np

from amembook.practice.one_shot.measure import GAMMA, OUTPUTS, flops_of_step
from amembook.run.base import slope

TABLE = Path(__file__).parents[2] / "tables" / "one-shot-screening.csv"
BUDGET = 1e13
EXPONENT = -(GAMMA - 1) / (GAMMA + 1)
DATA_ALONE = -(GAMMA - 1) / GAMMA
"""The rival: what samples alone would give if the memory held everything."""
ANCHOR = 1e11
"""The top rung of the screening."""
DIMS = {"adam": 336, "sgd": 320, "muon": 256}
"""Near the best n at `ANCHOR`; it grows as C^{1/(γ+1)}."""
BATCHES = {"adam": 64, "sgd": 64, "muon": 2048}
ADAM_RATE, ADAM_EXPONENT = 0.036, -0.28
"""Adam's best rate at `ANCHOR`; the exponent is that of REPORT.md of the task's repository, ours is −0.3 ± 0.05."""
SGD_PATH, SGD_EXPONENT = 2300.0, 0.28
"""Rate times steps: the length that SGD walks at a constant rate, by the three rungs."""
MUON_PATH = 180.0
"""The same for Muon, at all rungs and n ≤ 512; where n is larger ‖W‖ grows with √n and a step does not."""


@cache
def screening() -> tuple[dict, ...]:
    """Every run of the screening: round, optimizer, flops, dim, batch_size, rate, steps, seed, excess, error."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return tuple({key: value if key == "optimizer" else float(value) for key, value in row.items()} for row in rows)


def spent(optimizer: str) -> float:
    """Flops of the screening of an optimizer."""
    return sum(row["flops"] for row in screening() if row["optimizer"] == optimizer)


def best(optimizer: str) -> dict[float, float]:
    """The least excess of the screening by its budget."""
    own = [row for row in screening() if row["optimizer"] == optimizer]
    budgets = sorted({row["flops"] for row in own})
    return {flops: min(row["excess"] for row in own if row["flops"] == flops) for flops in budgets}


def law(optimizer: str, flops, exponent: float = EXPONENT):
    """Excess at a budget: the least of the top rung, and from there on the power."""
    top, excess = list(best(optimizer).items())[-1]
    return excess * (np.asarray(flops, dtype=float) / top) ** exponent


def fitted(optimizer: str) -> float:
    """The exponent of the rungs themselves, a rival."""
    rungs = best(optimizer)
    return slope(list(rungs), list(rungs.values()))


def recipe(optimizer: str, flops: float) -> dict:
    """dim, batch_size and rate of an optimizer at a budget of so many flops, by the screening.

    All exponents were chosen before the runs that they are for.
    """
    growth = flops / ANCHOR
    dim = max(8, 8 * round(DIMS[optimizer] * growth ** (1 / (GAMMA + 1)) / 8))
    batch = BATCHES[optimizer]
    steps = max(1, flops // flops_of_step(optimizer, dim, batch))
    rate = {
        "adam": ADAM_RATE * growth**ADAM_EXPONENT,
        "sgd": SGD_PATH * growth**SGD_EXPONENT / steps,
        "muon": MUON_PATH * max(1.0, dim / OUTPUTS) ** 0.5 / steps,
    }
    return {"dim": dim, "batch_size": batch, "rate": float(f"{rate[optimizer]:.3g}")}
