"""How the laws of the counts grow where nobody can draw: `write` solves them into amembook/tables/growth.csv.

A law's own exponent between two large d says how far the exponents that are counted are from their limit; that of
Muon's steps from the smallest d on, where it comes from. Each takes seconds, all of them a few minutes.
"""

import csv
import io
import math
import sys
from itertools import pairwise
from pathlib import Path

from amembook.paper.deflation import RULES
from amemlib import Problem, expected_capacity, theory
from amemlib.equivalents import thresholded_weights

ROOT = Path(__file__).resolve().parents[1]
PATH = Path("amembook", "tables", "growth.csv")
ALPHA = 1.5
LAWS = {
    "polar": (20_000_000, (2**15, 2**16), 1),
    "smoothed_sign": (20_000_000, (2**14, 2**16), 1),
    "sgd": (1_000_000, (2**22, 2**24), 1),
    "polar steps": (4_000_000, (2**7, 2**8, 2**9, 2**10, 2**11, 2**12), 5),
    "sgd steps": (4_000_000, (2**16, 2**18), 3),
}
"""The law, its N, its d, and its steps: d as large as a minute allows, N as the last count needs."""


def exponents(law: str) -> list[float]:
    """The exponents in d of the law's counts after each of its steps, between every two neighbours of its d."""
    n_items, dims, steps = LAWS[law]
    counted = [counts(law, Problem.power_law(n_items, dim, ALPHA), steps) for dim in dims]
    return [
        math.log(b / a) / math.log(high / low)
        for (low, few), (high, many) in pairwise(zip(dims, counted, strict=True))
        for a, b in zip(few, many, strict=True)
    ]


def counts(law: str, problem: Problem, steps: int) -> list[float]:
    """The law's counts after 1, …, T steps: of one, or of the thresholded iterates of Theorems 9 and 10."""
    name, n_items, dim = law.removesuffix(" steps"), problem.n_items, problem.dim
    if name == law:
        lam = theory.bulk_scale(n_items, dim, ALPHA) if law == "smoothed_sign" else 0.0
        return [expected_capacity(problem, law, lam)]
    rule = RULES[name]
    plan = rule.schedule(n_items, dim, ALPHA, steps, 1.0)
    return list(rule.expected(plan, thresholded_weights(problem.frequencies, plan.removed), dim)["counts"])


def places(law: str) -> list[tuple[int, int, int, int]]:
    """N, two neighbouring d and the step of each of the law's exponents."""
    n_items, dims, steps = LAWS[law]
    return [(n_items, *pair, step) for pair in pairwise(dims) for step in range(1, steps + 1)]


def text() -> str:
    """The table: a line a law, two neighbouring d and a step."""
    lines = [["law", "alpha", "n_items", "low", "high", "step", "exponent"]]
    for law in LAWS:
        for place, exponent in zip(places(law), exponents(law), strict=True):
            lines.append([law, ALPHA, *place, f"{exponent:.5f}"])
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(lines)
    return out.getvalue()


def stored(root: Path) -> dict[tuple[str, int], dict]:
    """The lines of the table by law and step, between the law's two largest d."""
    with (root / PATH).open(encoding="utf-8", newline="") as file:
        return {(line["law"], int(line["step"])): line for line in csv.DictReader(file)}


if __name__ == "__main__":
    if sys.argv[1:] != ["write"]:
        sys.exit("usage: python tools/growth.py write")
    (ROOT / PATH).write_text(text(), encoding="utf-8")
