"""Stored laws and the code that ships: `solve RECORD …` solves a record's law anew into the `resolved.json` beside it.

A record holds the law that its draws were judged by. Where the code has another by now, the law of the code stands in
that file with its commit, the ledger shows both, and the draws, older than the law, decide nothing about it.
"""

import json
import sys
from pathlib import Path

from amembook.paper.iterates import many_steps, trajectory
from amembook.run import records, runtime, studies
from amembook.run.base import config_of, plain
from amemlib import fit_exponent

ROOT = Path(__file__).resolve().parents[1]


def record_of(name: str) -> tuple[dict, object]:
    """A stored record and its config."""
    record = records.read_record(records.RECORDS / f"{name}.json")
    return record, config_of(studies.find_experiment(record["experiment"]), record["config"])


def stored(root: Path, name: str) -> dict:
    """What stands beside a record of its law solved anew: the `commit` of the code and `predicted`; nothing mostly."""
    path = root / "amembook" / "records" / name.split("/")[0] / records.RESOLVED
    return json.loads(path.read_text(encoding="utf-8")).get(name.split("/")[1], {}) if path.exists() else {}


def many_steps_law(config) -> dict:
    """The recursion's counts and exponents after every step, and those at the larger d where the record has them."""
    parts = {"": (config.n_items, config.dims)}
    if config.extra_seeds:
        parts["trend_"] = config.trend_items, config.trend_dims
    law = {}
    for prefix, (n_items, dims) in parts.items():
        counts = many_steps.by_step(many_steps._recursion(config, n_items, dims)["counts"])
        law[f"{prefix}trajectory"] = counts
        law[f"{prefix}sharp_slope"] = {name: fit_exponent(dims, row).slope for name, row in counts.items()}
    return law


def trajectory_law(config) -> dict:
    """The recursion's counts and overlaps at every d and η."""
    solve_at = lambda dim, rate: trajectory.solve_trajectory(config.n_items, dim, config.alpha, config.steps, rate)
    solved = [[solve_at(dim, rate) for rate in config.rates] for dim in config.dims]
    return {key: [[one[of] for one in row] for row in solved] for key, of in (("counts", "count"), ("overlaps",) * 2)}


SOLVERS = {"many-steps": many_steps_law, "trajectory": trajectory_law}


def solve(names: list[str]) -> None:
    """Write the laws of these records by today's code beside them."""
    for name in names:
        study, own = name.split("/")
        _, config = record_of(name)
        path = records.RECORDS / study / records.RESOLVED
        before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        law = plain(SOLVERS[study](config))
        before[own] = {"commit": runtime.commit(), "predicted": law}
        runtime.write_whole(json.dumps(before, indent=1, sort_keys=True) + "\n", path)


if __name__ == "__main__":
    if sys.argv[1:2] != ["solve"] or not sys.argv[2:]:
        sys.exit("usage: python tools/laws.py solve STUDY/RECORD …")
    solve(sys.argv[2:])
