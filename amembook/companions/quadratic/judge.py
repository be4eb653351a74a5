"""Measured numbers beside predicted ones, and the verdicts."""

import numpy as np

from amembook.companions.quadratic import expected
from amembook.run.base import Results, slope, slope_error, standard_error
from amembook.run.claims import DIFFERENCE, EXPONENT, NETWORK, SIZES, check, count_band, equivalence, numbers
from amembook.run.study import by_part, claims_by_part, means

PARTS = ("flow", "first", "floor", "sgd", "muon")
FLOOR_BAND = 0.02


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
        times, at, losses = (
            results.array("flow", key, case=case).astype(float) for key in ("times", "loss_times", "losses")
        )
        times, at = times[:, :third], at[0]
        inside = (at >= law[3]) & (at <= law[config.rank // 4 - 1])
        of_time = lambda row, more=0.0, at=at, inside=inside: slope(at[inside], row[inside] + more)
        draws = {"exponent": np.array([slope(ranks[1:], row[1:]) for row in times]), "times": times}
        draws["loss"] = np.array([of_time(row, tail) for row in losses])
        for name, value in (means(draws, 0) | {"raw": np.mean([of_time(row) for row in losses])}).items():
            measured[name][case] = np.asarray(value)
        additive = expected.loss(lam, mass, at)
        laws = {"exponent": slope(ranks[1:], law[1:third]), "loss": of_time(additive, tail), "times": law[:third]}
        for table, row in ((predicted, laws), (curves, {"time": at, "law": additive, "loss": losses.mean(0)})):
            for name, value in row.items():
                table[name][case] = value
    measured["curves"] = {name: curves[name] for name in ("time", "loss")}
    predicted["curves"] = {"loss": curves["law"]}
    return measured, predicted


def _first(config, results: Results) -> tuple[dict, dict]:
    few = expected.coefficients(1.0, config.first_rank)
    starts = [expected.start_mass(d, config.first_width, config.init) for d in config.dims]
    predicted = {"first": [float(expected.learning_times(few, mass)[0]) for mass in starts]}
    measured = means({"first": results.array("first", "times").astype(float)[..., 0]})
    for part in (measured, predicted):
        part["first_slope"] = 4 * few[0] * np.polyfit(np.log(config.dims), part["first"], 1)[0]
    return measured, predicted


def _floor(config, results: Results) -> tuple[dict, dict]:
    measured, best = {"floor": {}, "floor_exponent": {}}, {}
    for alpha, ratios in zip(config.alphas, results.array("floor", "ratio").astype(float).mean(2), strict=True):
        case, lam = str(alpha), expected.coefficients(alpha, config.floor_rank)
        best[case] = [expected.floor(lam, m) for m in config.widths]
        left = ratios * best[case] + expected.loss_tail(alpha, config.floor_rank)
        measured["floor"][case], measured["floor_exponent"][case] = ratios, slope(config.widths, left)
    return measured, {"best": best}


def _sgd(config, results: Results) -> tuple[dict, dict]:
    losses, flows, at, shares = (
        results.array("sgd", name).astype(float) for name in ("losses", "flow", "loss_times", "share")
    )
    gaps = means({"gap": np.log(losses / flows).mean(1)}, 0)
    measured = {"sgd": {"time": at[0], "loss": losses.mean(0)} | gaps} | means({"share": shares}, 0)
    lam = expected.coefficients(1.0, config.sgd_rank)
    start = expected.start_mass(config.sgd_dim, config.sgd_width, config.init)
    end = expected.captured(lam, start, at[0, -1:])[0]
    return measured, {"sgd": {"loss": flows.mean(0)}, "share": expected.largest_share(end)}


def _muon(config, results: Results) -> tuple[dict, dict]:
    lam = expected.coefficients(1.0, config.muon_rank)
    times = results.array("muon", "times").astype(float)
    ratio = results.array("muon", "ratio").astype(float).mean(1)
    # a median of normal numbers scatters by √(π/2) as much as their mean
    error = np.sqrt(np.pi / 2) * standard_error(times)
    muon = {"times": np.nanmedian(times, axis=1), "times_error": error, "ratio": ratio}
    return {"muon": muon}, {"muon": {"times": np.sqrt(lam / 2)}}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """Of the parts that were measured. times, loss: exponents at every α, beside the logistic law's for these sizes and
    the limit. first: T_1 grows with log d alone. floor: a narrow student ends at the best of its rank. sgd: online
    SGD's loss is the flow's. share: neurons stay mixtures. muon: T_j = √(λ_j/2).
    """
    claims = (_judge_flow, _judge_first, _judge_floor, _judge_sgd, _judge_muon)
    return claims_by_part(config, measured, predicted, dict(zip(PARTS, claims, strict=True)))


def _judge_flow(config, measured: dict, predicted: dict) -> dict[str, dict]:
    alphas, names, draws = np.array(config.alphas), [str(alpha) for alpha in config.alphas], config.seeds

    def exponents(key: str, limit, rivals: dict) -> list[dict]:
        fits, error = (np.array([measured[name][case] for case in names]) for name in (key, f"{key}_error"))
        law = np.array([predicted[key][case] for case in names])
        # a rival, an exponent in the limit, is as far from the law at these sizes as there
        held_to = {"rivals": {name: value - limit + law for name, value in rivals.items()}, "at": names}
        held_to |= {"law": law, "limit": limit, "band": EXPONENT, "scale": DIFFERENCE}
        return numbers("exponent at α =", fits, error, draws, **held_to)

    fall = expected.loss_exponent(alphas)
    of_loss = {"(1 − 2α)/2α": fall / 2, "1 − 2α": 1 - 2 * alphas, "−1": 0 * alphas - 1, "1/4 less": fall - 0.25}
    of_times = {"α/2": alphas / 2, "2α": 2 * alphas, "α + 1/4": alphas + 0.25}
    times, loss = exponents("exponent", alphas, of_times), exponents("loss", fall, of_loss)
    return {"times": equivalence(times), "loss": equivalence(loss)}


def _judge_first(config, measured: dict, predicted: dict) -> dict[str, dict]:
    first, error = measured["first"], measured["first_error"]
    held_to = {"law": predicted["first"], "band": count_band(config.dims), "at": config.dims}
    judged = numbers("T_1 at d =", first, error, config.first_draws, **held_to)
    unit, middle = 4 * expected.coefficients(1.0, config.first_rank)[0], first.mean()
    rivals = {"½ log d": 0.5, "5/4 log d": 1.25, "d^(1/4)": unit * middle / 4}
    error = unit * middle * slope_error(config.dims, np.full(len(first), middle), error)
    held_to = {"law": predicted["first_slope"], "limit": 1, "band": SIZES, "rivals": rivals}
    judged += numbers("4λ₁ dT₁/d log d", measured["first_slope"], error, config.first_draws, **held_to)
    return {"first": equivalence(judged)}


def _judge_floor(config, measured: dict, predicted: dict) -> dict[str, dict]:
    off = max(np.abs(np.array(measured["floor"][str(alpha)]) - 1).max() for alpha in config.alphas)
    draws = config.seeds * len(config.alphas)
    return {"floor": check(off, FLOOR_BAND, draws, "loss over the best of its rank, less one")}


def _judge_sgd(config, measured: dict, predicted: dict) -> dict[str, dict]:
    draws = config.seeds
    online, flow = measured["sgd"], predicted["sgd"]["loss"]
    of_sgd = {"the flow in two thirds of its time": _slower(online["time"], flow, 2 / 3), "half the loss": -np.log(2)}
    share = {"a direction each": 1.0, "uniform": 1 / config.sgd_rank, "half a direction more": predicted["share"] * 1.5}
    held_to = {"law": 0, "band": np.log1p(NETWORK), "scale": DIFFERENCE, "rivals": of_sgd}
    sgd = numbers("mean log of the loss over the flow's", online["gap"], online["gap_error"], draws, **held_to)
    held_to = {"law": predicted["share"], "band": NETWORK, "rivals": share}
    share = numbers("largest share", measured["share"], measured["share_error"], draws, **held_to)
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
        held_to = {"law": law[:learnt], "band": SIZES, "at": at, "rivals": rivals}
        judged += numbers("length at m, j =", row[:learnt], error[:learnt], config.seeds, **held_to)
    return {"muon": equivalence(judged)}
