"""Losses and items by setting and method, their order beside the first step's, and leads over Muon."""

import numpy as np
from scipy.stats import spearmanr

from amembook.paper.whitened_runs.measure import METHODS
from amembook.run.base import Results, standard_error
from amembook.run.claims import DIFFERENCE, RATIO, SMALL, equivalence, numbers, order

AGREES = 0.64
"""The rank correlation of eight from which on it is seen above chance at 5 %, one-sided."""
EARLY, LATE, FROM = 10, 30, 10
"""Steps up to which the first step's order is claimed to hold, and from which on to be gone at the first d; losses are
compared from `FROM` steps on."""
LENGTH = 1.5
"""Plain SGD's loss is more than this many times that of SGD with steps of one length."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By "d T", then by method: loss of every draw at the rate best for loss, items of every draw at the rate best for
    items, items_of_loss at the rate best for loss, rate_loss, rate_items, tried (rows of rate, loss, items). By "d T":
    correlation, of the items of every draw with the mean ones after one step, and correlation_loss likewise.

    predicted: the ratio of SGD's loss to Muon's.
    """
    wanted = {
        "loss": ("loss", "loss"),
        "items": ("items", "items"),
        "items_of_loss": ("loss", "items"),
        "rate_loss": ("loss", "rate"),
        "rate_items": ("items", "rate"),
    }
    cells = dict(zip(results.grids["runs"].axes["place"], results.draws["runs"], strict=True))
    by_method = lambda place, read: {name: read(cell) for name, cell in zip(METHODS, cells[place], strict=True)}
    measured = {
        key: {place: by_method(place, lambda cell, one=one, of=of: cell[one][of]) for place in cells}
        for key, (one, of) in wanted.items()
    }
    measured["tried"] = {place: by_method(place, lambda cell: cell["tried"]) for place in cells}
    for key, of in (("correlation", "items"), ("correlation_loss", "loss")):
        measured[key] = {}
        for place in cells:
            first = measured[of][f"{place.split()[0]} 1"]
            reference = [np.mean(first[name]) for name in METHODS]
            table = np.array([measured[of][place][name] for name in METHODS])
            measured[key][place] = [spearmanr(column, reference).statistic for column in table.T]
    return measured, {"sgd_over_muon": 1.0}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """early: after 3 to `EARLY` steps the order of items agrees with the first step's beyond chance. late: at the first
    d it does not from `LATE` steps on. loss: W* with its floor ends below Muon from `FROM` steps on. falls: its lead in
    items falls, from one step to ten and on to the most. sgd: with steps of one length SGD ends as low as Muon, from
    `FROM` steps on. length: without, `LENGTH` times as high.
    """
    steps = lambda place: int(place.split()[1])
    draws = lambda key, place, name: np.asarray(measured[key][place][name], dtype=float)
    long = [place for place in measured["loss"] if steps(place) >= FROM]
    dims = [f"{dim}" for dim in config.dims]
    agrees = {place: np.asarray(rho) for place, rho in measured["correlation"].items()}
    early = {place: rho for place, rho in agrees.items() if 1 < steps(place) <= EARLY}
    late = {
        place: AGREES - rho for place, rho in agrees.items() if place.split()[0] == dims[0] and steps(place) >= LATE
    }
    loss = {place: draws("loss", place, "muon") / draws("loss", place, "matched_polar") for place in long}
    lead = {
        place: np.log(draws("items", place, "matched_polar") / draws("items", place, "muon"))
        for place in measured["items"]
    }
    falls = {}
    for dim in dims:
        last = max((place for place in lead if place.split()[0] == dim), key=steps)
        for one, other in ((f"{dim} 1", f"{dim} {FROM}"), (f"{dim} {FROM}", last)):
            if one in lead and other in lead and one != other:
                falls[f"{one} to {other.split()[1]}"] = lead[one] - lead[other]
    ratio = {place: draws("loss", place, "sgd") / draws("loss", place, "muon") for place in long}
    first = {dim: draws("loss", f"{dim} 1", "sgd") / draws("loss", f"{dim} 1", "muon") for dim in dims}
    rival = [first[place.split()[0]].mean() for place in ratio]
    sgd = []
    if ratio:
        table = np.array(list(ratio.values()))
        law = {"law": predicted["sgd_over_muon"], "band": SMALL, "rivals": {"the first step": rival}}
        sgd = numbers("SGD over Muon", table.mean(1), standard_error(table), config.seeds, at=list(ratio), **law)
    length = {place: draws("loss", place, "plain_sgd") / draws("loss", place, "sgd") for place in long}
    return {
        "early": order(_each("rank correlation", early, AGREES, DIFFERENCE)),
        "late": order(_each("0.64 less the rank correlation", late, 0, DIFFERENCE)),
        "loss": order(_each("Muon's loss over that of W* and floor", loss, 1, RATIO)),
        "falls": order(_each("fall of the log of the lead in items", falls, 0, DIFFERENCE)),
        "sgd": equivalence(sgd),
        "length": order(_each("plain over one length", length, LENGTH, RATIO)),
    }


def _each(name: str, found: dict[str, np.ndarray], limit: float, scale: str) -> list[dict]:
    if not found:
        return []
    values = np.array(list(found.values()))
    error = standard_error(values)
    return numbers(name, values.mean(1), error, values.shape[1], limit=limit, scale=scale, at=list(found))
