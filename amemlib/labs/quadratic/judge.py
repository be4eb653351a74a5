"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import numpy as np

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.quadratic import expected
from amemlib.verdicts import refuse, verdict

BAND = 0.08
"""How far an exponent may lie from its law: the bar that this lab was given before it was run."""
FLOOR_BAND = 0.02
"""How far a narrow student's final loss may lie from the best of its rank, relative."""
FIRST_BAND = 0.1
"""How far 4λ_1 dT_1/d log d lies from 1 and T_1 from its law, relative: starts of 32 neurons scatter by a quarter."""
SGD_BAND = 0.15
"""How far the mean of log loss of online SGD may lie from the flow's, beyond two standard errors."""
SHARE_BAND = 0.1
"""How far a neuron's largest squared overlap may lie from that of a random mixture."""
POLAR_BAND = 0.03
"""How far a time of Muon may lie from √(λ_j/2), relative, and its final loss from its floor."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By α: `exponent` of T_j over 2 ≤ j ≤ r/3, `loss` exponents between T_4 and T_{r/4} with the tail, and without it
    as `raw`; `curves`. `first`, T_1 by d, and `first_slope`, 4λ_1 dT_1/d log d. `floor[α]` by width over the best.
    `sgd`, `share`, `muon`. predicted: the same where it can be.
    """
    names = ("exponent", "exponent_error", "loss", "loss_error", "raw", "times", "times_error")
    measured, predicted = {name: {} for name in names}, {"exponent": {}, "loss": {}, "times": {}}
    curves = {"time": {}, "loss": {}, "law": {}}
    mass, third = expected.start_mass(config.dim, config.width, config.init), config.rank // 3
    ranks = np.arange(1, config.rank + 1)[:third]
    for alpha in config.alphas:
        case, lam = str(alpha), expected.coefficients(alpha, config.rank)
        law, tail = expected.learning_times(lam, mass), expected.loss_tail(alpha, config.rank)
        times = _numbers(results.array("flow", "times", case=case))[:, :third]
        at = _numbers(results.array("flow", "loss_times", case=case))[0]
        found = _numbers(results.array("flow", "losses", case=case))
        inside = (at >= law[3]) & (at <= law[config.rank // 4 - 1])
        slopes = np.array([expected.slope(ranks[1:], row[1:]) for row in times])
        losses = np.array([expected.slope(at[inside], row[inside] + tail) for row in found])
        told = {
            "exponent": slopes.mean(),
            "exponent_error": standard_error(slopes, 0),
            "loss": losses.mean(),
            "loss_error": standard_error(losses, 0),
            "raw": np.mean([expected.slope(at[inside], row[inside]) for row in found]),
            "times": times.mean(0),
            "times_error": standard_error(times, 0),
        }
        for name, value in told.items():
            measured[name][case] = np.asarray(value).tolist()
        additive = expected.loss(lam, mass, at)
        predicted["exponent"][case] = expected.slope(ranks[1:], law[1:third])
        predicted["loss"][case] = expected.slope(at[inside], additive[inside] + tail)
        predicted["times"][case] = law[:third].tolist()
        curves["time"][case], curves["law"][case] = at.tolist(), additive.tolist()
        curves["loss"][case] = found.mean(0).tolist()
    measured["curves"] = {name: curves[name] for name in ("time", "loss")}
    predicted["curves"] = {"loss": curves["law"]}

    few = expected.coefficients(1.0, config.first_rank)
    times = _numbers(results.array("first", "times"))[..., 0]
    laws = [
        expected.learning_times(few, expected.start_mass(d, config.first_width, config.init))[0] for d in config.dims
    ]
    measured["first"], measured["first_error"] = times.mean(1).tolist(), standard_error(times).tolist()
    predicted["first"] = [float(law) for law in laws]
    for told in (measured, predicted):
        told["first_slope"] = float(4 * few[0] * np.polyfit(np.log(config.dims), told["first"], 1)[0])

    ratios = _numbers(results.array("floor", "ratio"))
    measured["floor"] = {str(alpha): row.mean(1).tolist() for alpha, row in zip(config.alphas, ratios, strict=True)}
    measured["floor_exponent"], best = {}, {}
    for alpha, row in zip(config.alphas, ratios, strict=True):
        lam = expected.coefficients(alpha, config.floor_rank)
        best[str(alpha)] = [expected.floor(lam, m) for m in config.widths]
        left = row.mean(1) * best[str(alpha)] + expected.loss_tail(alpha, config.floor_rank)
        measured["floor_exponent"][str(alpha)] = expected.slope(config.widths, left)
    predicted["best"] = best

    losses, flows = (_numbers(results.array("sgd", name)) for name in ("losses", "flow"))
    gaps = np.log(losses / flows).mean(1)
    at = _numbers(results.array("sgd", "loss_times"))[0]
    shares = _numbers(results.array("sgd", "share"))
    measured["sgd"] = {"time": at.tolist(), "loss": losses.mean(0).tolist(), "gap": float(gaps.mean())}
    measured["sgd"]["gap_error"] = float(standard_error(gaps, 0))
    measured["share"], measured["share_error"] = float(shares.mean()), float(standard_error(shares, 0))
    lam = expected.coefficients(1.0, config.sgd_rank)
    end = expected.captured(lam, expected.start_mass(config.sgd_dim, config.sgd_width, config.init), at[-1:])[0]
    predicted["sgd"], predicted["share"] = {"loss": flows.mean(0).tolist()}, expected.largest_share(end)

    lam = expected.coefficients(1.0, config.muon_rank)
    times = np.nanmedian(_numbers(results.array("muon", "times")), axis=1)
    ratio = _numbers(results.array("muon", "ratio")).mean(1)
    measured["muon"] = {"times": times.tolist(), "ratio": ratio.tolist()}
    predicted["muon"] = {"times": np.sqrt(lam / 2).tolist()}
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """times, loss: exponents at every α, beside the logistic law's for these sizes and the limit. first: T_1 grows with
    log d alone. floor: a narrow student ends at the best of its rank, and that is m^{1 − 2α}. sgd: online SGD's loss is
    the flow's. share: neurons stay mixtures. muon: T_j = √(λ_j/2), and a narrow student ends at its floor too.
    """
    alphas, names, draws = np.array(config.alphas), [str(alpha) for alpha in config.alphas], config.seeds
    near = lambda found, law: bool((np.abs(found - law) <= BAND).all())  # noqa: E731
    verdicts = {}
    limits = {"times": ("exponent", alphas), "loss": ("loss", expected.loss_exponent(alphas))}
    rivals = {
        "times": {"none, all at once": 0 * alphas, "α/2": alphas / 2, "2α": 2 * alphas},
        "loss": {"(1 − 2α)/2α": limits["loss"][1] / 2, "1 − 2α": 1 - 2 * alphas, "−1": 0 * alphas - 1},
    }
    for name, (key, limit) in limits.items():
        found, law = (_numbers([told[key][case] for case in names]) for told in (measured, predicted))
        refused = refuse(lambda rival, found=found: near(found, rival), rivals[name])
        verdicts[name] = verdict(near(found, law), near(found, limit), refused, draws)

    ratio = _numbers(measured["first"]) / _numbers(predicted["first"])
    is_slope = lambda law: abs(_numbers(measured["first_slope"]) - law) <= FIRST_BAND  # noqa: E731
    middle = 4 * expected.coefficients(1.0, config.first_rank)[0] * _numbers(measured["first"]).mean()
    rivals = {"any d": 0.0, "½ log d": 0.5, "2 log d": 2.0, "√d": middle / 2, "d, as for k = 4": middle}
    sizes = bool((np.abs(ratio - 1) <= FIRST_BAND).all()) and is_slope(predicted["first_slope"])
    verdicts["first"] = verdict(sizes, is_slope(1.0), refuse(is_slope, rivals), config.first_draws)

    widths = np.array(config.widths)
    floor = {case: _numbers(measured["floor"][case]) * _numbers(predicted["best"][case]) for case in names}

    def is_floor(ranks) -> bool:
        lams = {case: expected.coefficients(float(case), config.floor_rank) for case in names}
        laws = {case: np.array([expected.floor(lam, int(m)) for m in ranks]) for case, lam in lams.items()}
        return all(bool((np.abs(floor[case] / laws[case] - 1) <= FLOOR_BAND).all()) for case in names)

    rivals = {"half the width": widths // 2, "one direction fewer": widths - 1, "one direction more": widths + 1}
    slopes = _numbers([measured["floor_exponent"][case] for case in names])
    verdicts["floor"] = verdict(is_floor(widths), near(slopes, 1 - 2 * alphas), refuse(is_floor, rivals), draws)

    gap, error = _numbers(measured["sgd"]["gap"]), np.nan_to_num(_numbers(measured["sgd"]["gap_error"]))
    is_gap = lambda law: bool(abs(gap - law) <= SGD_BAND + 2 * error)  # noqa: E731
    flow = _numbers(predicted["sgd"]["loss"])
    rivals = {"no learning": float(np.log(flow[0] / flow).mean()), "twice the loss": float(np.log(2))}
    verdicts["sgd"] = verdict(is_gap(0.0), is_gap(0.0), refuse(is_gap, rivals), draws)

    share, error = _numbers(measured["share"]), np.nan_to_num(_numbers(measured["share_error"]))
    is_share = lambda law: bool(abs(share - law) <= SHARE_BAND + 2 * error)  # noqa: E731
    rivals = {"a direction each": 1.0, "uniform": 1 / config.sgd_rank}
    mixed = is_share(predicted["share"])
    verdicts["share"] = verdict(mixed, mixed, refuse(is_share, rivals), draws)

    times, law = _numbers(measured["muon"]["times"]), _numbers(predicted["muon"]["times"])
    lam = 2 * law**2
    learnt = [min(m, config.muon_rank) // 2 for m in config.muon_widths]

    def is_time(law) -> bool:
        pairs = zip(times, learnt, strict=True)
        return all(bool((np.abs(row[:k] / law[:k] - 1) <= POLAR_BAND).all()) for row, k in pairs)

    ends = _numbers(measured["muon"]["ratio"])
    narrow = np.array(config.muon_widths) < config.muon_rank
    rivals = {
        "as the flow": law[0] * lam[0] / lam,
        "all at once": np.full_like(lam, law[0]),
        "λ": law[0] * lam / lam[0],
    }
    verdicts["muon"] = verdict(
        is_time(law), bool((np.abs(ends[narrow] - 1) <= POLAR_BAND).all()), refuse(is_time, rivals), draws
    )
    return verdicts


def _numbers(values) -> np.ndarray:
    """A record's numbers as floats: None, which stands for NaN there, is NaN again."""
    return np.array(values, dtype=float)
