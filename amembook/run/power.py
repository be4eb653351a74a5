"""How many draws a claim needs, from the scatter of those that are stored: before a record is made, not after."""

import math

from scipy.special import ndtr

from amembook.run import records
from amembook.run.claims import base, decisive, multiplier, off, reach

CHANCE = 0.9
"""The probability with which a claim shall be decided if its law is exact."""
MOST_DRAWS = 10**7
HALF_OFF = 0.5
"""The other question: a law that is off by this share of its band."""


def scatter(one: dict) -> float | None:
    """Standard deviation of a single draw of a number, on its scale; None where no interval or no law is known."""
    if not one["draws"] or base(one) is None or one["low"] is None or one["low"] == one["high"]:
        return None
    low, high = (off(one[end], base(one), one["scale"]) for end in ("low", "high"))
    freedom = one.get("freedom", one["draws"] - 1)
    return (high - low) / 2 / multiplier(freedom + 1) * math.sqrt(one["draws"])


def chance(band: float, deviation: float, draws: int, shift: float) -> float:
    """How often the whole 95 % interval of so many draws lies inside ± band if the law is off by `shift`."""
    error = deviation / math.sqrt(draws)
    inside = band - multiplier(draws) * error
    if inside <= 0:
        return 0.0
    return float(ndtr((inside - shift) / error) - ndtr((-inside - shift) / error))


def draws_needed(one: dict, share: float = 0.0, numbers: int = 1) -> int | None:
    """The fewest draws that put a number into its band with chance `CHANCE`, shared by `numbers` of a claim.

    share: by how much of its band the law is off. None where that cannot be known.
    """
    deviation = scatter(one)
    if deviation is None:
        return None
    band, wanted, low, high = reach(one), 1 - (1 - CHANCE) / numbers, 1, 4
    while chance(band, deviation, high, share * band) < wanted:
        low, high = high, 2 * high
        if high > MOST_DRAWS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        enough = chance(band, deviation, middle, share * band) >= wanted
        low, high = (low, middle) if enough else (middle, high)
    return high


def plan(record: dict) -> list[dict]:
    """A row for every number that a law of a record is judged by, guards left out.

    draws: what it has. exact, half_off: what it needs if its law is exact, and if it is off by half its band. minutes:
    what the latter two cost, as the whole record does for a draw of this number.
    """
    rows = []
    for claim, verdict in record["verdicts"].items():
        if isinstance(verdict, str) or verdict["kind"] != "law":
            continue
        held = [one for one in decisive(verdict["numbers"]) if not one.get("guard")]
        for one in held:
            needed = [draws_needed(one, share, len(held)) for share in (0.0, HALF_OFF)]
            a_draw = record["seconds"] / 60 / one["draws"] if one["draws"] else math.nan
            minutes = [None if n is None else n * a_draw for n in needed]
            row = {"claim": claim, "number": one["name"], "draws": one["draws"], "band": one["band"]}
            rows.append(row | {"exact": needed[0], "half_off": needed[1], "minutes": minutes})
    return rows


def table(name: str, rows: list[dict]) -> str:
    """The plan of a record as text, the dearest number of each claim last."""
    form = lambda value: "–" if value is None else f"{value:.0f}"
    lines = [name, f"  {'claim and number':52s} {'draws':>6s} {'exact':>7s} {'half off':>8s} {'minutes':>13s}"]
    dear = lambda row: (row["claim"], row["exact"] is None, row["exact"] or 0)
    for row in sorted(rows, key=dear):
        draws, exact, half_off = (form(row[key]) for key in ("draws", "exact", "half_off"))
        label, minutes = f"{row['claim']}: {row['number']}", " to ".join(map(form, row["minutes"]))
        lines.append(f"  {label:52s} {draws:>6s} {exact:>7s} {half_off:>8s} {minutes:>13s}")
    return "\n".join(lines)


def plans(experiment: str, profile: str = "") -> dict[str, list[dict]]:
    """The plans of a study's stored records whose names begin with a profile's; `ValueError` if there is none."""
    return {record["name"]: plan(record) for record in records.read_records(experiment, profile)}
