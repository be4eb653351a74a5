"""Measured numbers beside predicted ones, and the verdicts."""

from collections.abc import Iterator

import numpy as np

from amembook.companions.emergence import expected
from amembook.run.base import Results, slope, slope_error, standard_error
from amembook.run.claims import DIFFERENCE, EXPONENT, NETWORK, SIZES, count_band, equivalence, numbers
from amembook.run.study import by_part, means

MISSED = 0.02  # share of directions that may be left unlearnt in the wide student's runs
PARTS = ("flow", "first", "floor", "sgd", "samples", "muon")
ALONE = "one neuron, one direction"
WIDE = 8
"""The width over the number of directions at which the exponents are judged."""


def lines(config) -> dict[str, list[tuple[float, int]]]:
    """Amplitudes and dimensions of the one neuron's samples, along either; the lines meet in their first point."""
    amplitude, dim = config.chain_amplitudes[0], config.chain_dims[0]
    along = [(a, dim) for a in config.chain_amplitudes]
    return {"amplitude": along, "dim": [(amplitude, d) for d in config.chain_dims]}


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Numbers by case.

    measured: for flow, by exponent (the wide student's, then others in `ratios`): `times`, mean T_p a_p; `exponent` of
    T_p over p ≥ 2 with its standard error; `loss` exponents, raw and with the tail; `missed`; `sharing`. `first[k]`,
    T_1 by d. `floor` by width. `sgd`, `samples`, `muon`. predicted: the same where it can be.
    """
    summaries = (_flow, _first, _floor, _sgd, _samples, _muon)
    return by_part(config, results, dict(zip(PARTS, summaries, strict=True)))


def _flow(config, results: Results) -> tuple[dict, dict]:
    measured, predicted = {}, {}
    for (case, flow), runs in zip(results.grids["flow"].axes["case"].items(), results.draws["flow"], strict=True):
        for part, own in zip((measured, predicted), _flow_case(config, flow, runs), strict=True):
            for name, value in own.items():
                part.setdefault(name, {})[case] = value
    measured["curves"] = {"time": measured.pop("curve_time"), "loss": measured.pop("curve_loss")}
    predicted["curves"] = {"loss": predicted.pop("curve_loss")}
    return measured, predicted


def _flow_case(config, flow: dict, runs) -> tuple[dict, dict]:
    """Measured and predicted numbers of the runs at one exponent and width."""
    P, ranks = config.n_teachers, np.arange(1, config.n_teachers + 1)
    a = expected.amplitudes(flow["exponent"], P)
    law = expected.emergence_times(a, config.dim, flow["width"], config.init, config.degree)
    mean, tail = law @ expected.quantile_weights(), expected.loss_tail(flow["exponent"], P)

    def loss_slope(at, losses, tail=0.0) -> float:
        """The loss's exponent in time while the second to the P/2-th direction are learnt."""
        at, losses = np.array(at), np.array(losses)
        inside = (at >= mean[1]) & (at <= mean[P // 2 - 1])
        return slope(at[inside], losses[inside] + tail)

    times = np.array([run["times"] for run in runs])
    known = np.isfinite(times)
    exponents = np.array([slope(ranks[seen], own[seen]) for own, seen in zip(times, known & (ranks > 1), strict=True)])
    losses = np.array([loss_slope(run["loss_times"], run["losses"], tail) for run in runs])
    # runs end at different times
    common = min(len(run["losses"]) for run in runs)
    at = runs[0]["loss_times"][:common]
    additive = expected.additive_loss(a, law, at)
    # means over the runs that learnt a direction
    count = np.maximum(known.sum(0), 1)
    scaled = np.where(known, times * a, 0)
    centred = np.where(known, scaled - scaled.sum(0) / count, 0)
    measured = {
        "times": scaled.sum(0) / count,
        "times_error": np.sqrt(np.square(centred).sum(0) / count / np.maximum(count - 1, 1)),
        **means({"exponent": exponents, "loss": losses}, 0),
        "raw": np.mean([loss_slope(run["loss_times"], run["losses"]) for run in runs]),
        "missed": 1 - known.mean(),
        "sharing": np.mean([run["sharing"] for run in runs]),
        "curve_time": at,
        "curve_loss": np.mean([run["losses"][:common] for run in runs], 0),
    }
    laws = {"times": mean * a, "exponent": slope(ranks[1:], mean[1:]), "loss": loss_slope(at, additive, tail)}
    own, alone = np.array([run["law"]["times"] for run in runs]), np.array([run["alone"] for run in runs])
    both = known & np.isfinite(own) & (ranks > 1)
    fits = np.array([slope(ranks[seen], row[seen]) for row, seen in zip(own, both, strict=True)])
    falls = np.array([loss_slope(run["loss_times"], run["law"]["losses"], tail) for run in runs])
    paired = {"exponent": standard_error(exponents - fits, 0), "loss": standard_error(losses - falls, 0)}
    measured |= {f"{name}_paired_error": error for name, error in paired.items()}
    measured |= _ratio("ratio", times, own)
    laws |= {"own_exponent": fits.mean(), "own_loss": falls.mean(), "alone": _ratio("alone", alone, own)["alone"]}
    return measured, laws | {"curve_loss": additive}


def _ratio(name: str, times: np.ndarray, laws: np.ndarray, axis: int = 0) -> dict:
    """The geometric mean over draws of times over laws of the same draws, and its standard error as `<name>_error`."""
    logs = np.log(times / laws)
    return {name: np.exp(logs.mean(axis)), f"{name}_error": np.exp(logs.mean(axis)) * standard_error(logs, axis)}


def _first(config, results: Results) -> tuple[dict, dict]:
    a = expected.amplitudes(config.first_exponent, config.first_teachers)
    measured = {name: {} for name in ("first", "first_error", "dim_exponent", "first_ratio", "first_ratio_error")}
    predicted = {name: {} for name in ("first", "dim_exponent", "own_dim_exponent", "first_alone")}
    for k in config.degrees:
        logs = np.log(results.array("first", "times", degree=k))[..., 0]
        laws = [expected.emergence_times(a, d, config.first_width, config.init, k)[0] for d in config.dims]
        law = np.exp([np.log(times) @ expected.quantile_weights() for times in laws])
        mean, key = np.exp(logs.mean(1)), str(k)
        measured["first"][key], measured["first_error"][key] = mean, mean * standard_error(logs)
        measured["dim_exponent"][key] = slope(config.dims, mean)
        predicted["first"][key], predicted["dim_exponent"][key] = law, slope(config.dims, law)
        own, alone = (results.array("first", *of, degree=k)[..., 0] for of in (("law", "times"), ("alone",)))
        for name, value in _ratio("first_ratio", np.exp(logs), own, 1).items():
            measured[name][key] = value
        predicted["own_dim_exponent"][key] = slope(config.dims, np.exp(np.log(own).mean(1)))
        predicted["first_alone"][key] = _ratio("alone", alone, own, 1)["alone"]
    return measured, predicted


def _floor(config, results: Results) -> tuple[dict, dict]:
    a = expected.amplitudes(config.first_exponent, config.n_teachers)
    losses, sharing = (results.array("floor", key).mean(1) for key in ("loss", "sharing"))
    races = [expected.race(a, config.floor_dim, m, config.init, config.degree) for m in config.widths]
    floor, shared = np.transpose(races)
    left = lambda losses: slope(config.widths, losses + expected.loss_tail(config.first_exponent, config.n_teachers))
    ideal = np.array([(a[m:] ** 2).sum() / 2 for m in config.widths])
    measured = {"floor": losses, "floor_error": standard_error(results.array("floor", "loss"))}
    measured |= {"floor_sharing": sharing, "floor_exponent": left(losses)}
    predicted = {"floor": floor, "floor_sharing": shared, "floor_exponent": left(floor)}
    own = results.array("floor", "law", "loss")
    measured |= {"floor_paired_error": standard_error(results.array("floor", "loss") - own)}
    predicted |= {"own_floor": own.mean(1), "own_floor_exponent": left(own.mean(1))}
    return measured, predicted | {"ideal": ideal, "ideal_exponent": left(ideal)}


def _sgd(config, results: Results) -> tuple[dict, dict]:
    times, flow = (results.array("sgd", name) for name in ("times", "flow"))
    a = expected.amplitudes(config.first_exponent, config.sgd_teachers)
    exponents, laws = (np.array([slope(np.arange(2, len(a) + 1), row[1:]) for row in rows]) for rows in (times, flow))
    gaps = np.log(times / flow)
    measured = means({"times": times * a, "gap": gaps.mean(1), "exponent": exponents}, 0)
    measured["exponent_paired_error"] = standard_error(exponents - laws, 0)
    return {"sgd": measured}, {"sgd": {"times": (flow * a).mean(0), "exponent": laws.mean()}}


def _samples(config, results: Results) -> tuple[dict, dict]:
    measured, predicted = {}, {}
    sizes = {"amplitude": 1 / np.array(config.chain_amplitudes), "dim": config.chain_dims}
    for key, line in lines(config).items():
        points = [f"{a} {d}" for a, d in line]
        n, edge = (np.array([results.array("samples", name, point=one) for one in points]) for name in ("n", "edge"))
        exponents = np.array([slope(sizes[key], column) for column in n.T])
        law = [expected.samples_needed(a, d, config.chain_degree, config.chain_overlap) for a, d in line]
        measured[key] = {"n": n.mean(1), "error": standard_error(n), "exponent": exponents.mean()}
        measured[key] |= {"exponent_error": standard_error(exponents, 0), "edge": edge.mean()}
        predicted[key] = {"n": law, "exponent": slope(sizes[key], law)}
    return {"samples": measured}, {"samples": predicted}


def _muon(config, results: Results) -> tuple[dict, dict]:
    a, ranks = expected.amplitudes(config.first_exponent, config.n_teachers), np.arange(1, config.n_teachers + 1)
    times = results.array("muon", "times")
    medians = np.nanmedian(times, axis=-2)
    measured = {
        "times": medians,
        # a median of normal numbers scatters by √(π/2) as much as their mean
        "times_error": np.sqrt(np.pi / 2) * standard_error(times, -2),
        "missed": np.isnan(times).mean((1, 2)),
        "exponent": [slope(ranks, row) for row in medians],
    }
    return {"muon": measured}, {"muon": {"times": np.sqrt(a / 2), "exponent": -config.first_exponent / 2}}


def judge(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """Of the parts that were measured. times, loss: exponents of the wide student at every β, beside the decoupled
    law's for these sizes and the limit. dimension: T_1 by d at every degree. floor: the exponent of narrow students'
    final loss in the width is 1 − 2β. sgd: online SGD learns when the flow does. samples: at the best learning rate,
    for labels whose noise does not fall, n grows as 1/a² and d^{k−1}. muon: T_p = √(a_p/2), at every d.

    A record with the law of its own starts (`deflated`) is held to that, by the scatter that the two do not share, in
    every T_p and in every narrow student's loss besides; one neuron and one direction are then a rival.
    """
    claims = {"times": ("flow", _times), "loss": ("flow", _loss), "dimension": ("first", _dimension)}
    claims |= {"floor": ("floor", _width), "sgd": ("sgd", _online), "samples": ("samples", _needed)}
    claims |= {"muon": ("muon", _lengths)}
    for name, (part, claim) in claims.items():
        if part in config.parts:
            yield name, equivalence(claim(config, measured, predicted))


def _of_wide(config, by_case: dict) -> np.ndarray:
    """A number of the wide student's at every β."""
    return np.array([by_case[f"{beta} {WIDE}"] for beta in config.exponents])


def _exponents(name: str, fits, error, draws: int, law, limit, rivals: dict, at=None) -> list[dict]:
    """Numbers of exponents; a rival, an exponent in the limit, is as far from the law at these sizes as there."""
    held_to = {"law": law, "limit": limit, "band": EXPONENT, "scale": DIFFERENCE, "at": at}
    shifted = {rival: np.asarray(value) - limit + law for rival, value in rivals.items()}
    return numbers(name, fits, error, draws, rivals=shifted, **held_to)


def _times(config, measured: dict, predicted: dict) -> list[dict]:
    beta = np.array(config.exponents)
    fits, error, missed = (_of_wide(config, measured[key]) for key in ("exponent", "exponent_error", "missed"))
    rivals = {"β/2": beta / 2, "2β − 1": 2 * beta - 1, "β + 1/4": beta + 0.25}
    law, judged = _of_wide(config, predicted["exponent"]), []
    if "ratio" in measured:
        law, error = _of_wide(config, predicted["own_exponent"]), _of_wide(config, measured["exponent_paired_error"])
        ratio, of_ratio = (_of_wide(config, measured[key]) for key in ("ratio", "ratio_error"))
        at = [f"{one}, {p + 1}" for one in config.exponents for p in range(ratio.shape[1])]
        held_to = {"law": 1, "band": SIZES, "at": at, "rivals": {ALONE: _of_wide(config, predicted["alone"])}}
        judged += numbers("T_p over the law at β, p =", ratio, of_ratio, config.seeds, **held_to)
    judged += _exponents("exponent at β =", fits, error, config.seeds, law, beta, rivals, config.exponents)
    held_to = {"law": 0, "band": MISSED, "scale": DIFFERENCE, "at": config.exponents, "guard": True}
    return judged + numbers("share not learnt at β =", missed, **held_to)


def _loss(config, measured: dict, predicted: dict) -> list[dict]:
    beta = np.array(config.exponents)
    limit = np.array([expected.loss_exponent(one) for one in config.exponents])
    rivals = {"(1 − 2β)/2β": limit / 2, "1 − 2β": 1 - 2 * beta, "−1": 0 * beta - 1, "1/4 less": limit - 0.25}
    fits, error = (_of_wide(config, measured[key]) for key in ("loss", "loss_error"))
    law = _of_wide(config, predicted["loss"])
    if "ratio" in measured:
        law, error = _of_wide(config, predicted["own_loss"]), _of_wide(config, measured["loss_paired_error"])
    return _exponents("exponent at β =", fits, error, config.seeds, law, limit, rivals, config.exponents)


def _dimension(config, measured: dict, predicted: dict) -> list[dict]:
    judged, draws = [], config.first_draws
    for k in config.degrees:
        key, limit = str(k), k / 2 - 1
        times, error = (measured[name][key] for name in ("first", "first_error"))
        band, at = count_band(config.dims), [f"{k}, {d}" for d in config.dims]
        if own := key in measured.get("first_ratio", {}):
            ratio, error = measured["first_ratio"][key], measured["first_ratio_error"][key]
            times, error, law = times, error * times / ratio, times / ratio
            others = {ALONE: law * predicted["first_alone"][key]}
        else:
            law, others = predicted["first"][key], {}
        judged += numbers("T_1 at k, d =", times, error, draws, law=law, band=band, at=at, rivals=others)
        rivals = {"d^{(k−1)/2}": (k - 1) / 2, "d^{k/2}": k / 2, "d^{k/2 − 5/4}": limit - 0.25}
        fit, law = measured["dim_exponent"][key], predicted["own_dim_exponent" if own else "dim_exponent"][key]
        error = slope_error(config.dims, times, error)
        judged += _exponents(f"exponent at k = {k}", fit, error, draws, law, limit, rivals)
    return judged


def _width(config, measured: dict, predicted: dict) -> list[dict]:
    fall = 1 - 2 * config.first_exponent
    left = measured["floor"] + expected.loss_tail(config.first_exponent, config.n_teachers)
    error = slope_error(config.widths, left, measured["floor_error"])
    rivals = {"(1 − 2β)/2": fall / 2, "1/4 more": fall + 0.25, "2(1 − 2β)": 2 * fall}
    held_to = {"limit": fall, "band": EXPONENT, "scale": DIFFERENCE, "rivals": rivals}
    if "own_floor" not in predicted:
        return numbers("exponent in the width", measured["floor_exponent"], error, config.seeds, **held_to)
    law, shift = predicted["own_floor"], predicted["own_floor_exponent"] - fall
    error = slope_error(config.widths, left, measured["floor_paired_error"])
    held_to |= {"law": fall + shift, "rivals": {name: value + shift for name, value in rivals.items()}}
    judged = numbers("exponent in the width", measured["floor_exponent"], error, config.seeds, **held_to)
    others = {"a direction each": predicted["ideal"], "race": predicted["floor"]}
    held_to = {"law": law, "band": SIZES, "at": config.widths, "rivals": others}
    loss, error = measured["floor"], measured["floor_paired_error"]
    return judged + numbers("final loss of m neurons, m =", loss, error, config.seeds, **held_to)


def _online(config, measured: dict, predicted: dict) -> list[dict]:
    beta, sgd, law = config.first_exponent, measured["sgd"], predicted["sgd"]["exponent"]
    held_to = {"law": 0, "band": np.log1p(NETWORK), "scale": DIFFERENCE}
    gap = numbers("mean log T_p less the flow's", sgd["gap"], sgd["gap_error"], config.seeds, **held_to)
    rivals = {"β/2": beta / 2, "β + 1/4": beta + 0.25, "2β": 2 * beta}
    error = sgd.get("exponent_paired_error", sgd["exponent_error"])
    return gap + _exponents("exponent", sgd["exponent"], error, config.seeds, law, beta, rivals)


def _needed(config, measured: dict, predicted: dict) -> list[dict]:
    k, keys = config.chain_degree, ("amplitude", "dim")
    read = lambda part, name: np.array([part["samples"][key][name] for key in keys])
    fits, error, edge = (read(measured, name) for name in ("exponent", "exponent_error", "edge"))
    law = read(predicted, "exponent")
    rivals = {"as the flow, 1 and k/2 − 1": np.array([1, k / 2 - 1]), "2 and k/2": np.array([2, k / 2])}
    rivals |= {"7/4 and k − 1": np.array([1.75, k - 1])}
    judged = _exponents("exponent of the", fits, error, config.seeds, law, np.array([2, k - 1]), rivals, keys)
    held_to = {"law": 0, "band": 0, "scale": DIFFERENCE, "at": keys, "guard": True}
    return judged + numbers("share at an end of the rates, of the", edge, **held_to)


def _lengths(config, measured: dict, predicted: dict) -> list[dict]:
    times, law = measured["muon"]["times"], predicted["muon"]["times"]
    a, ranks = 2 * law**2, range(1, len(law) + 1)
    rivals = {"a^(1/4)": law[0] * (a / a[0]) ** 0.25, "a": law[0] * a / a[0]}
    at = [f"{d}, {p}" for d in config.muon_dims for p in ranks]
    held_to = {"law": law, "band": SIZES, "at": at, "rivals": rivals}
    error = measured["muon"].get("times_error", np.nan)
    return numbers("length at d, p =", times, error, config.seeds, **held_to)
