"""Predictions for a public speed run beside what its table says: hits and misses."""

import csv
from importlib.resources import files

from amembook.figures.tables import Table

SAME = 0.01
"""The largest share of the steps that counts as no change."""
NATS_A_STEP = 8e-5
"""The slope of the table's baseline near its end, fixed with the predictions."""


def read(name: str) -> list[dict]:
    """The rows of speedrun-predictions or speedrun-outcomes, README.md beside them."""
    text = (files("amembook.tables") / f"speedrun-{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def outcomes() -> list[dict]:
    """The rows of outcomes with `share`, the steps more over those before, the word `found`, `predicted` and `seen`."""
    said = {row["change"]: row for row in read("predictions")}
    rows = []
    for row in read("outcomes"):
        steps = int(row["steps"])
        share = (int(row["after"]) - steps if row["after"] else float(row["loss"]) / NATS_A_STEP) / steps
        outcome = "same" if abs(share) <= SAME else "more" if share > 0 else "fewer"
        rows.append(row | said[row["change"]] | {"share": share, "found": outcome})
    return rows


def show() -> Table:
    """The table."""
    shown = []
    for row in outcomes():
        change = row["change"].split(" in place")[0].replace("SOAP or Shampoo or KL-Shampoo", "both sides")
        change = change.replace("fewer than seven Newton–Schulz steps", "Newton–Schulz, fewer")
        marks = ["known"] * (row["seen"] == "yes") + ["recipe differs"] * (row["equal"] == "no")
        shown.append([change, row["pair"], f"{row['share']:+.1%}", row["found"], row["predicted"], ", ".join(marks)])
    return Table(["change", "pair", "steps", "found", "predicted", ""], shown)
