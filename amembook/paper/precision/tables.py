"""The tables of the chapter "What it costs", held to what the chapter says of them."""

import math

from scipy.special import ndtri

from amembook.figures.tables import Table


def decisions(record: dict) -> Table:
    """Items that a format leaves undecided and decisions that it gets wrong, beside the rule for bfloat16."""
    rows, dims, n_items = [], record["config"]["dims"], record["config"]["n_items"]
    best_of = ndtri(0.5 ** (1 / n_items))
    for law, result in record["measured"]["decisions"].items():
        flips, inside = result["flips"], result["undecided"]
        assert sum(flips["float32"]) == 0
        for k, dim in enumerate(dims):
            numbers = [dim, result["counts"][k]]
            for name in ("tf32", "bfloat16"):
                numbers += [inside[name][k], flips[name][k]]
            rule = 4 * 2.0**-8 * math.sqrt(dim) / (record["config"]["alpha"] * best_of) * numbers[1]
            assert law == "equal" or rule / 4 < inside["bfloat16"][k] < 4 * rule
            rows.append([law, *(f"{x:.0f}" for x in numbers), f"{rule:.0f}" if law == "power law" else "–"])
    head = "", "d", "recovered", "TF32: undecided", "flips", "bfloat16: undecided", "flips", "rule"
    return Table(head, rows, {(2, 6)})


def single_precision(record: dict) -> Table:
    """What an SVD in float32 does to the matrix and to the count."""
    rows = []
    for law, result in record["measured"]["single"].items():
        lost, counts = result["svd"], result["counts"]
        assert (lost["flips"][-1] > 0.01 * counts[-1]) == (law == "alpha 2.5")
        for k, dim in enumerate(record["config"]["dims"]):
            numbers = (counts[k], lost["count"][k], lost["flips"][k])
            row = [law, f"{dim}", f"{result['condition'][k]:.0e}", f"{lost['spectral_error'][k]:.0e}"]
            rows.append(row + [f"{x:.0f}" for x in numbers])
    head = "", "d", "condition number", "error, spectral norm", "recovered", "by float32", "other items"
    return Table(head, rows, {(2, 6), (5, 6)})
