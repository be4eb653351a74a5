"""The table of the published maps, held to what the page says of it."""

from amembook.figures.tables import Table
from amembook.paper.zoo.figures import LABELS


def items_and_losses(record: dict) -> Table:
    """Items over Muon's at the larger d and losses by step and α, counted (predicted)."""
    measured, predicted, alphas = record["measured"], record["predicted"], record["config"]["alphas"]
    most = max(x for of in measured["ratio"].values() for row in of for x in row)
    assert 1.03 < most < 1.04, "a mildly negative power at alpha = 2"
    rows = []
    for name, label in LABELS.items():
        ratios = zip(measured["ratio"][name][1], predicted["ratio"][name][1], strict=True)
        items = [f"{x:.2f} ({law:.2f})" for x, law in ratios]
        laws = predicted["loss"].get(name, [None] * len(alphas))
        pairs = zip(measured["loss"][name], laws, strict=True)
        losses = (f"{x:.3f} ({law:.3f})" if law else f"{x:.3f}" for x, law in pairs)
        rows.append([label.replace("$", ""), *items, *losses])
    head = [f"{x}, α = {alpha:g}" for x in ("items", "loss") for alpha in alphas]
    return Table([f"d = {record['config']['dims'][1]}", *head], rows, {(4, 3)})
