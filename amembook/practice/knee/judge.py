"""Shares of the gain kept, by arm, beside the lift over its plateau; and the order and the place of the knee."""

from collections.abc import Sequence

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
SHORT_STEPS = 200
SHORT_SHARES = {0.0269: 0.0715, 0.127: 0.565, 0.696: 0.911, 3.14: 0.989, 12.6: 1.0}
"""Share kept by reach after `SHORT_STEPS`, measured: what longer runs are predicted by, on lines in log x between."""
LONG_BAND = 0.15
"""How far a share after more steps may lie from that: as `LIFT_BAND`."""
PLACE_BAND = 1.0
"""The reach that keeps half of the gain may be half of that of the short runs to twice it: a half of the way between
two neighbouring arms, whose reaches are 5 apart."""


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

    Of runs of more than `SHORT_STEPS`: long, the share is that of the short runs at the same reach, to `LONG_BAND`, not
    one of which half is healed nor one that lacks twice as much; place, so is the reach of half of the gain, a factor
    `PLACE_BAND` more or less, not a quarter of it nor four times. Both were written before any share of such a run was
    seen.
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
    verdicts = {
        "lift": equivalence(lift),
        "order": order(of("share,", falls, limit=0)),
        "whole": order(of("share", {arm: share[arm] for arm in arms if slope(arm) > 100}, limit=WHOLE)),
        "part": equivalence(of("share", part, **given)),
        "linear": order(of("room,", {arm: LINEAR - share[arm] for arm in arms if slope(arm) < 2}, limit=0)),
        "twins": order(of("room,", gaps, limit=0)),
        "matters": order(of("nats,", gains, limit=0)),
    }
    if config.steps <= SHORT_STEPS:
        return verdicts
    verdicts |= {"long": equivalence([]), "place": equivalence([])}
    if not dial:
        return verdicts
    x, short = np.log([measured["reach"][arm] for arm in (*dial, FIRST)]), np.array([*SHORT_SHARES.items()]).T
    law = np.interp(x[:-1], np.log(short[0]), short[1])
    rivals = {"half of what is missing": (1 + law) / 2, "twice what is missing": np.maximum(2 * law - 1, 0)}
    verdicts["long"] = equivalence(
        of("share", {arm: share[arm] for arm in dial}, law=law, band=LONG_BAND, rivals=rivals)
    )
    halves = np.array([_half(x, [*row, 1.0]) for row in zip(*(share[arm] for arm in dial), strict=True)])
    law = _half(np.log(short[0]), short[1])
    rivals = {"a quarter of it": law / 4, "four times it": 4 * law}
    error = standard_error(halves, 0)
    made = numbers("reach of half", halves.mean(), error, n, law=law, band=PLACE_BAND, rivals=rivals)
    return verdicts | {"place": equivalence(made)}


def _half(x: np.ndarray, share: np.ndarray | Sequence[float]) -> float:
    """The reach that keeps half, on lines in its logarithm x; the first or the last where none or all keep less."""
    return float(np.exp(np.interp(0.5, np.maximum.accumulate(share), x)))


def _each(name: str, found: dict[str, np.ndarray], draws: int, **given) -> list[dict]:
    values = np.array(list(found.values()))
    return numbers(name, values.mean(1), standard_error(values), draws, scale=DIFFERENCE, at=list(found), **given)
