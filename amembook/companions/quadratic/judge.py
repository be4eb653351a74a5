"""Measured numbers beside predicted ones, and the verdicts."""

import numpy as np

from amembook.companions.quadratic import expected
from amembook.run.base import Results, slope, slope_error, standard_error
from amembook.run.claims import DIFFERENCE, EXPONENT, NETWORK, SIZES, check, count_band, equivalence, numbers
from amembook.run.study import by_part

PARTS = ("flow", "first", "floor", "sgd", "muon")
FLOOR_BAND = 0.02
"""How far a narrow student's final loss may lie from the best of its rank, relative: a flow that has nearly ended."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Of the parts that were measured, by α: `exponent` of T_j over 2 ≤ j ≤ r/3, `loss` exponents between T_4 and
    T_{r/4} with the tail, and without it as `raw`; `curves`. `first`, T_1 by d, and `first_slope`, 4λ_1 dT_1/d log d.
    `floor[α]` by width over the best. `sgd`, `share`, `muon`. predicted: the same where it can be.
    """
    return by_part(config, results, dict(zip(PARTS, (_flow, _first, _floor, _sgd, _muon), strict=True)))


def _flow(config, results: Results) -> tuple[dict, dict]:
    names = ("exponent", "exponent_error", "loss", "loss_error", "raw", "times", "times_error")
    measured, predicted = {name: {} for name in names}, {"exponent": {}, "loss": {}, "times": {}}
    curves = {"time": {}, "loss": {}, "law": {}}
    mass, third = expected.start_mass(config.dim, config.width, config.init), config.rank // 3
    ranks = np.arange(1, config.rank + 1)[:third]
    for alpha in config.alphas:
        case, lam = str(alpha), expected.coefficients(alpha, config.rank)
        law, tail = expected.learning_times(lam, mass), expected.loss_tail(alpha, config.rank)
        times = results.array("flow", "times", case=case).astype(float)[:, :third]
        at = results.array("flow", "loss_times", case=case).astype(float)[0]
        found = results.array("flow", "losses", case=case).astype(float)
        inside = (at >= law[3]) & (at <= law[config.rank // 4 - 1])
        slopes = np.array([slope(ranks[1:], row[1:]) for row in times])
        losses = np.array([slope(at[inside], row[inside] + tail) for row in found])
        told = {"exponent": slopes.mean(), "exponent_error": standard_error(slopes, 0), "loss": losses.mean()}
        told |= {"loss_error": standard_error(losses, 0)}
        told |= {"raw": np.mean([slope(at[inside], row[inside]) for row in found]), "times": times.mean(0)}
        told |= {"times_error": standard_error(times, 0)}
        for name, value in told.items():
            measured[name][case] = np.asarray(value)
        additive = expected.loss(lam, mass, at)
        predicted["exponent"][case] = slope(ranks[1:], law[1:third])
        predicted["loss"][case] = slope(at[inside], additive[inside] + tail)
        predicted["times"][case] = law[:third]
        curves["time"][case], curves["law"][case] = at, additive
        curves["loss"][case] = found.mean(0)
    measured["curves"] = {name: curves[name] for name in ("time", "loss")}
    predicted["curves"] = {"loss": curves["law"]}
    return measured, predicted


def _first(config, results: Results) -> tuple[dict, dict]:
    measured, predicted = {}, {}
    few = expected.coefficients(1.0, config.first_rank)
    times = results.array("first", "times").astype(float)[..., 0]
    laws = [
        expected.learning_times(few, expected.start_mass(d, config.first_width, config.init))[0] for d in config.dims
    ]
    measured["first"], measured["first_error"] = times.mean(1), standard_error(times)
    predicted["first"] = [float(law) for law in laws]
    for told in (measured, predicted):
        told["first_slope"] = 4 * few[0] * np.polyfit(np.log(config.dims), told["first"], 1)[0]
    return measured, predicted


def _floor(config, results: Results) -> tuple[dict, dict]:
    measured = {}
    ratios = results.array("floor", "ratio").astype(float)
    measured["floor"] = {str(alpha): row.mean(1) for alpha, row in zip(config.alphas, ratios, strict=True)}
    measured["floor_exponent"], best = {}, {}
    for alpha, row in zip(config.alphas, ratios, strict=True):
        lam = expected.coefficients(alpha, config.floor_rank)
        best[str(alpha)] = [expected.floor(lam, m) for m in config.widths]
        left = row.mean(1) * best[str(alpha)] + expected.loss_tail(alpha, config.floor_rank)
        measured["floor_exponent"][str(alpha)] = slope(config.widths, left)
    return measured, {"best": best}


def _sgd(config, results: Results) -> tuple[dict, dict]:
    measured = {}
    losses, flows = (results.array("sgd", name).astype(float) for name in ("losses", "flow"))
    gaps = np.log(losses / flows).mean(1)
    at = results.array("sgd", "loss_times").astype(float)[0]
    shares = results.array("sgd", "share").astype(float)
    measured["sgd"] = {"time": at, "loss": losses.mean(0), "gap": gaps.mean()}
    measured["sgd"]["gap_error"] = standard_error(gaps, 0)
    measured["share"], measured["share_error"] = shares.mean(), standard_error(shares, 0)
    lam = expected.coefficients(1.0, config.sgd_rank)
    end = expected.captured(lam, expected.start_mass(config.sgd_dim, config.sgd_width, config.init), at[-1:])[0]
    return measured, {"sgd": {"loss": flows.mean(0)}, "share": expected.largest_share(end)}


def _muon(config, results: Results) -> tuple[dict, dict]:
    lam = expected.coefficients(1.0, config.muon_rank)
    times = results.array("muon", "times").astype(float)
    ratio = results.array("muon", "ratio").astype(float).mean(1)
    # a median of normal numbers scatters by √(π/2) as much as their mean
    error = np.sqrt(np.pi / 2) * standard_error(times)
    told = {"times": np.nanmedian(times, axis=1), "times_error": error, "ratio": ratio}
    return {"muon": told}, {"muon": {"times": np.sqrt(lam / 2)}}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """Of the parts that were measured. times, loss: exponents at every α, beside the logistic law's for these sizes and
    the limit. first: T_1 grows with log d alone. floor: a narrow student ends at the best of its rank, an optimum that
    no rival can pass; its power m^{1 − 2α} is then arithmetic. sgd: online SGD's loss is the flow's. share: neurons
    stay mixtures. muon: T_j = √(λ_j/2); the record may lack its error.
    """
    verdicts, judges = {}, (_judge_flow, _judge_first, _judge_floor, _judge_sgd, _judge_muon)
    for part, one in zip(PARTS, judges, strict=True):
        if part in config.parts:
            verdicts |= one(config, measured, predicted)
    return verdicts


def _judge_flow(config, measured: dict, predicted: dict) -> dict[str, dict]:
    alphas, names, draws = np.array(config.alphas), [str(alpha) for alpha in config.alphas], config.seeds

    def exponents(key: str, limit, rivals: dict) -> list[dict]:
        found, error = (np.array([measured[name][case] for case in names]) for name in (key, f"{key}_error"))
        law = np.array([predicted[key][case] for case in names])
        # a rival, an exponent in the limit, is as far from the law at these sizes as there
        given = {"rivals": {name: value - limit + law for name, value in rivals.items()}, "at": names}
        given |= {"law": law, "limit": limit, "band": EXPONENT, "scale": DIFFERENCE}
        return numbers("exponent at α =", found, error, draws, **given)

    fall = expected.loss_exponent(alphas)
    of_loss = {"(1 − 2α)/2α": fall / 2, "1 − 2α": 1 - 2 * alphas, "−1": 0 * alphas - 1, "1/4 less": fall - 0.25}
    of_times = {"α/2": alphas / 2, "2α": 2 * alphas, "α + 1/4": alphas + 0.25}
    times, loss = exponents("exponent", alphas, of_times), exponents("loss", fall, of_loss)
    return {"times": equivalence(times), "loss": equivalence(loss)}


def _judge_first(config, measured: dict, predicted: dict) -> dict[str, dict]:
    first, error = measured["first"], measured["first_error"]
    given = {"law": predicted["first"], "band": count_band(config.dims), "at": config.dims}
    judged = numbers("T_1 at d =", first, error, config.first_draws, **given)
    unit, middle = 4 * expected.coefficients(1.0, config.first_rank)[0], first.mean()
    rivals = {"½ log d": 0.5, "5/4 log d": 1.25, "d^(1/4)": unit * middle / 4}
    error = unit * middle * slope_error(config.dims, np.full(len(first), middle), error)
    given = {"law": predicted["first_slope"], "limit": 1, "band": SIZES, "rivals": rivals}
    judged += numbers("4λ₁ dT₁/d log d", measured["first_slope"], error, config.first_draws, **given)
    return {"first": equivalence(judged)}


def _judge_floor(config, measured: dict, predicted: dict) -> dict[str, dict]:
    off = max(np.abs(np.array(measured["floor"][str(alpha)]) - 1).max() for alpha in config.alphas)
    draws = config.seeds * len(config.alphas)
    return {"floor": check(off, FLOOR_BAND, draws, "loss over the best of its rank, less one")}


def _judge_sgd(config, measured: dict, predicted: dict) -> dict[str, dict]:
    draws = config.seeds
    told, flow = measured["sgd"], predicted["sgd"]["loss"]
    of_sgd = {"the flow in two thirds of its time": _slower(told["time"], flow, 2 / 3), "half the loss": -np.log(2)}
    share = {"a direction each": 1.0, "uniform": 1 / config.sgd_rank, "half a direction more": predicted["share"] * 1.5}
    given = {"law": 0, "band": np.log1p(NETWORK), "scale": DIFFERENCE, "rivals": of_sgd}
    sgd = numbers("mean log of the loss over the flow's", told["gap"], told["gap_error"], draws, **given)
    given = {"law": predicted["share"], "band": NETWORK, "rivals": share}
    share = numbers("largest share", measured["share"], measured["share_error"], draws, **given)
    return {"sgd": equivalence(sgd), "share": equivalence(share)}


def _slower(time, loss, pace: float) -> float:
    """Mean log of the loss of a flow at some pace over that of the flow."""
    late = np.log(time) + np.log(pace) >= np.log(time[time > 0][0]) if (time > 0).any() else time > 0
    own = np.interp(pace * time[late], time, np.log(loss))
    return float((own - np.log(loss[late])).mean())


def _judge_muon(config, measured: dict, predicted: dict) -> dict[str, dict]:
    muon, law = measured["muon"], predicted["muon"]["times"]
    judged, lam = [], 2 * law**2
    errors = muon.get("times_error", np.full_like(muon["times"], np.nan))
    for m, row, error in zip(config.muon_widths, muon["times"], errors, strict=True):
        learnt = min(m, config.muon_rank) // 2
        rivals = {"λ^(1/4)": law[0] * (lam / lam[0])[:learnt] ** 0.25, "λ": law[0] * (lam / lam[0])[:learnt]}
        at = [f"{m}, {j + 1}" for j in range(learnt)]
        given = {"law": law[:learnt], "band": SIZES, "at": at, "rivals": rivals}
        judged += numbers("length at m, j =", row[:learnt], error[:learnt], config.seeds, **given)
    return {"muon": equivalence(judged)}
