"""Shares of the gain kept, by arm, beside the lift over its plateau; and the order and the place of the knee."""

import numpy as np

from amembook.practice.knee.measure import TWINS, slope
from amembook.run.base import Results, standard_error
from amembook.run.claims import DIFFERENCE, equivalence, numbers, order
from amemlib.equivalents import SpectralLaw, expected_capacity
from amemlib.problem import Problem

FIRST, LAST = "jordan 1", "normalized"
LIFT_BAND = 0.15
"""How far the share kept may lie from the lift over its plateau: half of the way between two neighbouring arms."""
WHOLE = 0.9
"""The share that is kept at least at a slope of 121 and more, which has a reach of about 3."""
PART, PART_BAND = 0.35, 0.15
"""The share at a slope of 7.6, a reach of about 0.15, and how far it may lie from that."""
LINEAR = 0.1
"""The share at most where the slope is below 2: the map is nearly linear on the whole spectrum."""
TWIN = 0.2
"""How far the shares of two schedules of one slope may lie apart."""
MATTER = 0.12
"""Nats that trained matrices must gain over frozen ones: what they gain where all vectors are trained, by a pilot."""
ALPHA, ITEMS = 1.5, 1024
"""The memory whose share at a reach is told beside."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By arm: test (means), test_draws, rate (geometric mean), and for all but frozen reach, lift, plateau (means);
    share[arm], every seed's (L_inf − L) / (L_inf − L_1), for all but those two and frozen; bigram, origin.

    predicted: lift[arm], every seed's lift over plateau at half time; rho[arm], of the memory at that reach.
    """
    of = lambda key, arm: results.array("runs", key, arm=arm).astype(float)
    test = {arm: of("test", arm) for arm in config.arms}
    measured = {
        "test": {arm: values.mean() for arm, values in test.items()},
        "test_draws": test,
        "rate": {arm: float(np.exp(np.log(of("rate", arm)).mean())) for arm in config.arms},
        "share": {},
        "reach": {},
    }
    predicted = {"lift": {}, "rho": {}}
    problem = Problem.power_law(ITEMS, config.dim, ALPHA)
    median, full = float(SpectralLaw.solve(problem.frequencies, config.dim).quantile(0.5)), None
    for arm in config.arms:
        if arm == "frozen":
            continue
        if arm not in (FIRST, LAST):
            measured["share"][arm] = (test[LAST] - test[arm]) / (test[LAST] - test[FIRST])
            predicted["lift"][arm] = of("lift", arm) / of("plateau", arm)
        if np.isfinite(slope(arm)) and arm != LAST:
            reach = measured["reach"][arm] = float(np.exp(np.log(of("reach", arm)).mean()))
            full = full or expected_capacity(problem, "polar")
            predicted["rho"][arm] = expected_capacity(problem, "smoothed_sign", lam=median / reach) / full
    first = results.draws["runs"].flat[0]
    return measured | {key: first[key] for key in ("bigram", "origin")}, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """lift: the share of every arm is its lift over its plateau, to `LIFT_BAND`. order: shares fall with the slope.
    whole: `WHOLE` at a slope of 121 and more. part: `PART` at 7.6. linear: `LINEAR` below 2. twins: `TWIN`. matters:
    frozen matrices end above every arm, and by `MATTER` above the first. An arm that was not run is not judged.
    """
    share = {arm: np.asarray(values, float) for arm, values in measured["share"].items()}
    arms, n = list(share), config.seeds
    of = lambda name, found, **given: _each(name, found, n, **given) if found else []
    law = np.array([np.mean(predicted["lift"][arm]) for arm in arms])
    lift = of("share", share, law=law, band=LIFT_BAND, rivals={"all of it": 1.0, "none": 0.0})
    dial = [arm for arm in sorted(arms, key=slope) if arm.startswith("jordan")]
    falls = {f"{b} over {a}": share[b] - share[a] for a, b in zip(dial, dial[1:], strict=False)}
    if dial:
        falls |= {f"{dial[0]} over {LAST}": share[dial[0]], f"{FIRST} over {dial[-1]}": 1 - share[dial[-1]]}
    part = {arm: share[arm] for arm in ("jordan 64",) if arm in share}
    given = {"law": PART, "band": PART_BAND, "rivals": {"all of it": 1.0, "none": 0.0}}
    gaps = {}
    for twin, arm in TWINS.items():
        if twin in share and arm in share:
            gap = share[twin] - share[arm]
            gaps |= {f"{twin}, above": TWIN + gap, f"{twin}, below": TWIN - gap}
    test = {arm: np.asarray(values, float) for arm, values in measured["test_draws"].items()}
    gains = {}
    if "frozen" in test:
        gains = {f"{arm} below frozen": test["frozen"] - values for arm, values in test.items() if arm != "frozen"}
        gains |= {"first below frozen, more": test["frozen"] - test[FIRST] - MATTER}
    return {
        "lift": equivalence(lift),
        "order": order(of("share,", falls, limit=0)),
        "whole": order(of("share", {arm: share[arm] for arm in arms if slope(arm) > 100}, limit=WHOLE)),
        "part": equivalence(of("share", part, **given)),
        "linear": order(of("room,", {arm: LINEAR - share[arm] for arm in arms if slope(arm) < 2}, limit=0)),
        "twins": order(of("room,", gaps, limit=0)),
        "matters": order(of("nats,", gains, limit=0)),
    }


def _each(name: str, found: dict[str, np.ndarray], draws: int, **given) -> list[dict]:
    values = np.array(list(found.values()))
    return numbers(name, values.mean(1), standard_error(values), draws, scale=DIFFERENCE, at=list(found), **given)
