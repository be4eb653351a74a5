"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import math

import numpy as np

from amemlib.experiments.base import Results
from amemlib.labs.position_states.states import STARTS
from amemlib.verdicts import consistency, refuse, verdict

ROUNDING, MOVED = 1e-10, 1e-2
"""How far float64 may be from an identity; how far logits must move, at least, where there is none."""
SOLVED, LONGER = 0.98, 0.9
"""The share of right answers from which a draw counts as solved; at twice the length, of the median draw."""
MOST, FEW = 0.8, 0.2
"""The shares of draws that count as nearly all and as hardly any."""
AT_PLACE, OFF_PLACE = 0.98, 0.35
"""Of fixed positions: the least share of right answers at d = 0, and the largest at any other d."""
APART = 0.1
"""By how much a start at zero is worse than a hop, at twice the length."""
FASTER = math.log(2)
"""How far the logarithm of Muon's steps over Adam's may lie from 0."""


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
    measured["profile"] = results.array("adam", "profile", begin="hop", match=second).mean(0).tolist()
    return measured, {"chance": 1 / (config.length - 1)}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """exact: turning all planes and shifting all positions change nothing, adding a constant does; a hop multiplies.
    fixed: rotary positions find a symbol and do not step from it, whatever the match.
    hop: with a match nearly all draws of a hop are solved; limit: and twice the length is answered as well.
    zero: a start at zero is solved if layer 1 finds already, and not if it does not; limit: at twice the length it is
    worse than a hop.
    muon: Muon takes about as many steps as Adam; limit: and a hop without a match stays unsolved.
    """
    draws = config.seeds
    exact = measured["exact"]
    held = max(exact[key] for key in ("turned", "shifted", "hop")) <= ROUNDING and exact["added"] >= MOVED
    verdicts = {"exact": consistency(held, draws=draws * len(config.exact_lengths))}

    def is_fixed(right) -> bool:
        right = np.array(right, dtype=float)
        return bool((right[:, 0] >= AT_PLACE).all() and (right[:, 1:] <= OFF_PLACE).all())

    told = measured["adam"]
    met = is_fixed(told["fixed"]["right"])
    rivals = {"as a hop with a match": told["hop"]["right"][1:2], "right at every offset": np.ones((1, config.offsets))}
    verdicts["fixed"] = verdict(met, met, refuse(is_fixed, rivals), draws)

    shares = {begin: np.array(told[begin]["solved"], dtype=float) / draws for begin in STARTS}
    nearly_all = lambda share: share >= MOST  # noqa: E731
    longer = {begin: np.mean(told[begin]["right_longer"], 1) for begin in STARTS}
    rivals = {"as fixed positions": shares["fixed"][1], "as a hop without a match": shares["hop"][0]}
    verdicts["hop"] = verdict(
        nearly_all(shares["hop"][1]), bool(longer["hop"][1] >= LONGER), refuse(nearly_all, rivals), draws
    )

    needs_match = lambda share: bool(share[0] <= FEW and share[-1] >= MOST)  # noqa: E731
    rivals = {"whatever the match": np.ones(len(config.matches)), "as fixed positions": shares["fixed"]}
    rivals["as a hop"] = shares["hop"]
    worse = bool(longer["zero"][-1] <= longer["hop"][1] - APART)
    verdicts["zero"] = verdict(needs_match(shares["zero"]), worse, refuse(needs_match, rivals), draws)

    muon = measured["muon"]
    adam = np.array([told["hop"]["steps"][1], told["zero"]["steps"][-1]])
    ratio = np.log(np.array(muon["steps"][1:]) / adam)
    alike = lambda law: bool((np.abs(ratio - law) <= FASTER).all())  # noqa: E731
    rivals = {"five times fewer": -math.log(5), "five times more": math.log(5)}
    stays = muon["solved"][0] / draws <= FEW
    verdicts["muon"] = verdict(alike(0.0), stays, refuse(alike, rivals), draws)
    return verdicts


def _told(told: dict[str, np.ndarray]) -> dict:
    """Of arrays (cases, draws, …)."""
    mean = {key: told[key].mean(-1) for key in ("right", "right_longer")}
    return {
        "right": np.median(told["right"], 1).tolist(),
        "right_longer": np.median(told["right_longer"], 1).tolist(),
        "draws": mean["right"].tolist(),
        "draws_longer": mean["right_longer"].tolist(),
        "solved": (mean["right"] >= SOLVED).sum(1).tolist(),
        "steps": np.median(told["steps"], 1).tolist(),
        "move": np.median(told["move"], 1).tolist(),
    }
