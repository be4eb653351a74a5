"""Where the recursion for Muon's true iterates was compared with drawn counts, inside the box that it is solved in."""

from collections.abc import Iterator

import numpy as np

from amembook.figures.tables import Table
from amembook.run.records import read_records

LEAST_DIM, MOST_DIM, PROMISE = 128, 384, 0.05


def places() -> Table:
    """A row a part of a record: sizes, rates, steps, draws, and the largest error of a mean count at a single place."""
    rows = []
    for sizes, ratio in sorted([*_domain(), *_many_steps()], key=lambda one: one[0]):
        worst = np.abs(ratio - 1).max()
        assert worst < PROMISE, "what the chapter promises of single places"
        n_items, *lists, steps, seeds = sizes
        shown = (", ".join(f"{x:g}" for x in values) for values in lists)
        rows.append([f"{n_items:,}", *shown, f"{steps}", f"{seeds}", f"{worst:.1%}"])
    return Table(["N", "d", "α", "η / √d", "steps", "draws", "largest error"], rows)


def _domain() -> Iterator[tuple[tuple, np.ndarray]]:
    """Sizes, and drawn over predicted counts, of the records of `iterates-domain`."""
    for name in ("confirm", "many-96", "many-192", "many-384", "twenty-384", "many-768"):
        (record,) = read_records("iterates-domain", name)
        config = record["config"]
        drawn = np.array(record["measured"]["counts"], dtype=float).mean(-2)
        sizes = (config[key] for key in ("n_items", "dims", "alphas", "rates"))
        yield (*sizes, config["looks"][-1], config["seeds"]), drawn / np.array(record["predicted"]["counts"])


def _many_steps() -> Iterator[tuple[tuple, np.ndarray]]:
    """The same of `many-steps`, whose rate is √d, from d = 128 on: below, an earlier recursion's numbers are stored."""
    for name in ("confirm-alpha-1.25", "confirm-alpha-1.5", "confirm-alpha-2", "confirm-large-alpha-1.5"):
        (record,) = read_records("many-steps", name)
        yield _part(record, "dims", "n_items", "seeds", "counts", "trajectory")
    (record,) = read_records("many-steps", "confirm-extra-")
    yield _part(record, "trend_dims", "trend_items", "extra_seeds", "trend_counts", "trend_trajectory")


def _part(record: dict, dims: str, n_items: str, seeds: str, drawn: str, law: str) -> tuple[tuple, np.ndarray]:
    config = record["config"]
    inside = [k for k, dim in enumerate(config[dims]) if LEAST_DIM <= dim <= MOST_DIM]
    counts, expected = (np.array([*table.values()]) for table in (record["measured"][drawn], record["predicted"][law]))
    sizes = (config[n_items], [config[dims][k] for k in inside], [config["alpha"]], [config["lr_over_root_dim"]])
    return (*sizes, config["steps"], config[seeds]), (counts / expected)[:, inside]
