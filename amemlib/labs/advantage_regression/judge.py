"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import numpy as np

from amemlib.experiments.base import Results, standard_error
from amemlib.verdicts import consistency, refuse, verdict

IDENTITY = 1e-12
"""Rounding: how far the two gradients may lie apart, per unit of the larger."""
FLOOR_BAND = 0.08
"""How far a floor may lie from its law, relative and beyond two standard errors: the law is linear in π − π*, and takes
its covariance for isotropic."""
VARIANCE_BAND = 0.05
"""How far a sampled ratio of variances may lie from the exact one, beyond two standard errors."""
NEAR_EVEN = 0.1
"""How near one a ratio of variances is called even: there the rule, for which all scores are equally long, may err."""
WORSE = 1.3
"""By what factor the race must end farther off with 8 offline samples than with 64."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """identity: the largest relative error. floor, by baseline: V* − J by rate. variance: ratio of one generation with
    V* to a group, by β and K. race, by β: V* − J at the best rate of each racer, draw by draw. memory, by offline
    samples: J at the best rate after 16, 64 and 256 generations, draw by draw."""
    identity = results.array("identity", "error") / results.array("identity", "size")
    measured = {"identity": float(identity.max())}
    names = list(results.grids["floor"].axes["baseline"])
    gaps, laws = results.array("floor", "gap"), {key: results.array("floor", key) for key in ("first", "next", "error")}
    measured["floor"] = {name: gaps[:, k].mean(1).tolist() for k, name in enumerate(names)}
    measured["floor_error"] = {name: standard_error(gaps[:, k]).tolist() for k, name in enumerate(names)}
    told = {key: {name: law[:, k].mean(1).tolist() for k, name in enumerate(names)} for key, law in laws.items()}
    predicted = {"first": told["first"], "next": told["next"], "squared_error": told["error"]}
    # the scatter of V̂ is in both: their ratio has less
    offline = [str(count) for count in config.offline]
    places = [names.index(name) for name in offline]
    ratio = gaps[:, places] / laws["next"][:, places]
    measured["floor_ratio"] = ratio.mean(2).tolist()
    measured["floor_ratio_error"] = standard_error(ratio, 2).tolist()

    sampled, exact = results.array("variance", "sampled"), results.array("variance", "exact")
    ratio = sampled[..., 0] / sampled[..., 1]
    measured["variance"] = ratio.mean(2).tolist()
    measured["variance_error"] = standard_error(ratio, 2).tolist()
    predicted["variance"] = (exact[..., 0] / exact[..., 1]).mean(2).tolist()
    predicted["rule"] = (results.array("variance", "gap") / results.array("variance", "allowed")).mean(2).tolist()

    racers = list(results.grids["race"].axes["racer"])
    ends = results.array("race", "gaps")
    measured["race"], measured["race_rate"], measured["race_edge"] = {}, {}, {}
    for i, beta in enumerate(config.race_betas):
        best = {name: int(ends[i, k].mean(0).argmin()) for k, name in enumerate(racers)}
        measured["race"][f"{beta:g}"] = {name: ends[i, k, :, best[name]].tolist() for k, name in enumerate(racers)}
        measured["race_rate"][f"{beta:g}"] = {name: config.race_rates[place] for name, place in best.items()}
        last = len(config.race_rates) - 1
        measured["race_edge"][f"{beta:g}"] = [name for name, place in best.items() if place in (0, last)]
    measured["memory"], measured["memory_rate"] = {}, {}
    for n_offline in results.grids["memory"].axes["n_offline"]:
        label = f"{n_offline}" if n_offline else "exact"
        measured["memory"][label], measured["memory_rate"][label] = {}, {}
        for name, rates in (("sgd", config.sgd_rates), ("polar", config.polar_rates)):
            J = results.array("memory", name, n_offline=n_offline)
            best = J.mean(0).argmax(1)
            measured["memory"][label][name] = [J[:, t, place].tolist() for t, place in enumerate(best)]
            measured["memory_rate"][label][name] = [rates[place] for place in best]
    predicted["best"] = float(results.array("memory", "best").mean())
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """identity: the two gradients are one. floor: V* − J is the law's to next order in η at all rates and errors, to
    first order at the smallest, and nothing for V* and for a group. variance: the ratio at the start is the exact one,
    and the rule tells its side. race: at the first β exact V* ends ahead of the best group, 8 samples behind 64.
    memory: Muon ahead after 16 generations, and hurt more by the errors of V* after 256; no law is known.
    """
    verdicts = {"identity": consistency(measured["identity"] <= IDENTITY)}
    offline = [str(count) for count in config.offline]
    ratio = _numbers(measured["floor_ratio"])
    error = np.nan_to_num(_numbers(measured["floor_ratio_error"]))
    gap, first, following, squared = (
        np.stack([_numbers(told[name]) for name in offline], 1)
        for told in (measured["floor"], predicted["first"], predicted["next"], predicted["squared_error"])
    )
    none = all(np.abs(_numbers(measured["floor"][name])).max() <= 0.01 * gap.min() for name in ("exact", "group"))
    is_law = lambda factor: bool((np.abs(ratio / factor - 1) <= FLOOR_BAND + 2 * error / factor).all())  # noqa: E731
    rates = np.array(config.rates)[:, None]
    rivals = {
        "proportional to |δ|": _level(squared**-0.5),
        "the same at every rate": _level(1 / rates * np.ones_like(gap)),
        "proportional to η²": _level(rates * np.ones_like(gap)),
        "first order, at every rate": first / following,
    }
    # ratios to the smallest rate's first order
    slow = np.abs(gap[0] / first[0] - 1) <= FLOOR_BAND + 2 * error[0]
    verdicts["floor"] = verdict(none and is_law(np.ones_like(gap)), none and bool(slow.all()), refuse(is_law, rivals))

    ratio, error = _numbers(measured["variance"]), np.nan_to_num(_numbers(measured["variance_error"]))
    near = (np.abs(ratio / _numbers(predicted["variance"]) - 1) <= VARIANCE_BAND + 2 * error / ratio).all()
    clear = np.abs(ratio - 1) > NEAR_EVEN
    is_side = lambda told: bool((clear & ((ratio < 1) == (told < 1)) | ~clear).all())  # noqa: E731
    rivals = {"one generation is always better": np.zeros_like(ratio), "never": np.full_like(ratio, 2.0)}
    verdicts["variance"] = verdict(near, is_side(_numbers(predicted["rule"])), refuse(is_side, rivals))

    race = {name: _numbers(gaps) for name, gaps in measured["race"][f"{config.race_betas[0]:g}"].items()}
    groups = np.stack([gaps for name, gaps in race.items() if name.startswith("group")])
    offline_matters = race["star 8"].mean() / race["star 64"].mean()
    ahead = groups[groups.mean(1).argmin()] - race["star 0"]
    won = _above(ahead) and offline_matters >= WORSE
    is_worse = lambda factor: bool(abs(offline_matters / factor - 1) <= 1 - 1 / WORSE)  # noqa: E731
    verdicts["race"] = verdict(None, won, refuse(is_worse, {"offline samples do not matter": 1.0}))

    memory = {label: {name: _numbers(J) for name, J in told.items()} for label, told in measured["memory"].items()}
    ahead = memory["exact"]["polar"][0] - memory["exact"]["sgd"][0]
    hurt = {name: memory["exact"][name][-1] - memory["8"][name][-1] for name in ("sgd", "polar")}
    more = hurt["polar"] - hurt["sgd"]
    both = [_above(ahead), _above(more)]
    is_none = lambda _: not any(both)  # noqa: E731
    verdicts["memory"] = verdict(None, all(both), refuse(is_none, {"no difference": 0.0}))
    return verdicts


def _above(draws: np.ndarray) -> bool:
    """Whether a mean is above 0 by two standard errors of its draws."""
    return bool(draws.mean() > 2 * standard_error(draws, 0)) if len(draws) > 1 else False


def _level(law: np.ndarray) -> np.ndarray:
    """A factor without a scale of its own, its geometric mean one."""
    return law / np.exp(np.log(law).mean())


def _numbers(values) -> np.ndarray:
    """A record's numbers as floats: None, which stands for NaN there, is NaN again."""
    return np.array(values, dtype=float)
