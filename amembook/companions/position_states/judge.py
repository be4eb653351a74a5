"""Measured numbers beside predicted ones, and the verdicts."""

import numpy as np

from amembook.companions.position_states.states import STARTS
from amembook.run.base import Results, standard_error
from amembook.run.claims import DIFFERENCE, NETWORK, check, equivalence, numbers, order

ROUNDING, MOVED = 1e-10, 1e-2
"""How far float64 may be from an identity; how far logits must move, at least, where there is none."""
SOLVED = 0.98
"""The share of right answers from which a draw counts as solved."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """`exact`: the largest deviations, and the least where there must be one. By start and match: medians by offset at
    the length and at twice it, all draws' shares, how many are solved, steps. predicted: chance."""
    exact = {key: results.array("exact", key) for key in ("turned", "shifted", "added", "hop")}
    measured = {"exact": {key: (value.min() if key == "added" else value.max()).item() for key, value in exact.items()}}
    measured["adam"] = {}
    for begin in STARTS:
        told = {key: results.array("adam", key, begin=begin) for key in ("right", "right_longer", "steps", "move")}
        measured["adam"][begin] = _told(told)
    told = {key: results.array("muon", key) for key in ("right", "right_longer", "steps", "move")}
    measured["muon"] = _told(told)
    second = config.matches[1]
    measured["profile"] = results.array("adam", "profile", begin="hop", match=second).mean(0)
    return measured, {"chance": 1 / (config.length - 1)}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """exact: turning all planes and shifting all positions change nothing, adding a constant does; a hop multiplies.
    fixed: rotary positions answer fewer than half of the questions, as who finds a symbol and does not step from it,
    whatever the match. hop: with a match a hop is right more often than fixed positions, at the length and at twice it.
    zero: a start at zero is right more often if layer 1 finds already, and at twice the length less often than a hop.
    muon: Muon takes as many steps as Adam; a record may keep medians alone.
    """
    draws, exact, told = config.seeds, measured["exact"], measured["adam"]
    off = max(exact[key] for key in ("turned", "shifted", "hop")) / ROUNDING
    over = max(off, MOVED / exact["added"])
    verdicts = {"exact": check(over, 1, draws * len(config.exact_lengths), "deviation over rounding's")}

    def above(name: str, more: np.ndarray, at=None) -> list[dict]:
        given = {"limit": 0, "scale": DIFFERENCE, "at": at}
        return numbers(name, more.mean(-1), standard_error(more, -1), draws, **given)

    share = {begin: {key: np.array(told[begin][key]) for key in ("draws", "draws_longer")} for begin in STARTS}
    verdicts["fixed"] = order(
        above("a half less the share right at match", 0.5 - share["fixed"]["draws"], config.matches)
    )
    hop = [share["hop"][key][1] - share["fixed"][key][1] for key in ("draws", "draws_longer")]
    verdicts["hop"] = order(above("hop less fixed at", np.array(hop), ("the length", "twice the length")))
    zero = above("match less none", share["zero"]["draws"][-1] - share["zero"]["draws"][0])
    worse = share["hop"]["draws_longer"][1] - share["zero"]["draws_longer"][-1]
    verdicts["zero"] = order(zero + above("hop less zero at twice the length", worse))

    adam = np.array([told["hop"]["steps"][1], told["zero"]["steps"][-1]])
    given = {
        "law": 1,
        "band": NETWORK,
        "at": (config.matches[1], config.matches[-1]),
        "rivals": {"half as many": 0.5, "half more": 1.5},
    }
    ratio, error = np.array(measured["muon"]["steps"])[[1, -1]] / adam, np.nan
    if "seed_steps" in measured["muon"]:
        draws_of = np.array([told["hop"]["seed_steps"][1], told["zero"]["seed_steps"][-1]])
        # the same starts; a median of normal numbers scatters by √(π/2) as much as their mean
        error = np.sqrt(np.pi / 2) * standard_error(np.array(measured["muon"]["seed_steps"])[[1, -1]] / draws_of)
    return verdicts | {"muon": equivalence(numbers("Muon's steps over Adam's at match", ratio, error, draws, **given))}


def _told(told: dict[str, np.ndarray]) -> dict:
    """Of arrays (cases, draws, …)."""
    mean = {key: told[key].mean(-1) for key in ("right", "right_longer")}
    return {
        "right": np.median(told["right"], 1),
        "right_longer": np.median(told["right_longer"], 1),
        "draws": mean["right"],
        "draws_longer": mean["right_longer"],
        "solved": (mean["right"] >= SOLVED).sum(1),
        "steps": np.median(told["steps"], 1),
        "seed_steps": told["steps"],
        "move": np.median(told["move"], 1),
    }
