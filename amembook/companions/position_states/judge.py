"""Measured numbers and the verdict."""

from amembook.run.base import Results
from amembook.run.claims import check

ROUNDING, MOVED = 1e-10, 1e-2
"""How far float64 may be from an identity; how far scores must move, at least, where there is none."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """The largest deviations, and the least where there must be one."""
    found = {key: results.array("exact", key) for key in ("turned", "shifted", "added", "hop")}
    return {"exact": {key: value.min() if key == "added" else value.max() for key, value in found.items()}}, {}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """exact: turning all planes and shifting all positions change nothing, adding a constant does; a hop multiplies."""
    told = measured["exact"]
    off = max(max(told[key] for key in ("turned", "shifted", "hop")) / ROUNDING, MOVED / told["added"])
    name = "deviation over its bound, or the least that must move over what moves"
    return {"exact": check(off, 1, config.seeds * len(config.lengths), name)}
