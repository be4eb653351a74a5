"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import numpy as np

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.emergence import expected
from amemlib.verdicts import refuse, verdict

TIMES_BAND = 0.1
"""How far an exponent of a learning time may lie from its law: a fifth of the least distance of two of the rivals."""
LOSS_BAND = 0.08
"""The same for an exponent of the loss."""
MISSED = 0.02
"""Share of directions that may be left unlearnt in the wide student's runs."""
WIDE = 8
"""The width over the number of directions at which the exponents are judged."""
SGD_BAND = 0.15
"""How far the mean of log T_p of online SGD may lie from the flow's, beyond two standard errors: the noise of a batch
moves the last of several neurons that compete."""
SAMPLES_BAND = 0.2
"""How far an exponent of the sample size may lie from 2: a fifth of the way to the rival 1."""
POLAR_BAND = 0.03
"""How far a time of Muon may lie from √(a_p/2), relative: the start has the length 0.01."""


def lines(config) -> dict[str, list[tuple[float, int]]]:
    """Amplitudes and dimensions of the one neuron's samples, along either; the lines meet in their first point."""
    amplitude, dim = config.chain_amplitudes[0], config.chain_dims[0]
    return {
        "amplitude": [(a, dim) for a in config.chain_amplitudes],
        "dim": [(amplitude, d) for d in config.chain_dims],
    }


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Numbers by case.

    measured: for flow, by exponent (the wide student's, then others in `ratios`): `times`, mean T_p a_p; `exponent` of
    T_p over p ≥ 2 with its standard error; `loss` exponents, raw and with the tail; `missed`; `sharing`. `first[k]`,
    T_1 by d. `floor` by width. `sgd`, `samples`, `muon`. predicted: the same where it can be.
    """
    P, ranks = config.n_teachers, np.arange(1, config.n_teachers + 1)
    flow = results.draws["flow"]
    names = ("times", "exponent", "exponent_error", "loss", "loss_error", "raw", "missed", "sharing", "times_error")
    measured, predicted = {name: {} for name in names}, {"times": {}, "exponent": {}, "loss": {}}
    curves = {"time": {}, "loss": {}, "law": {}}
    for case, runs in zip(results.grids["flow"].axes["case"], flow, strict=True):
        given = results.grids["flow"].axes["case"][case]
        a = expected.amplitudes(given["exponent"], P)
        law = expected.emergence_times(a, config.dim, given["width"], config.init, config.degree)
        mean = law @ expected.quantile_weights()
        tail = expected.loss_tail(given["exponent"], P)
        times = _numbers([run["times"] for run in runs])
        slopes, losses, raws = [], [], []
        for run in runs:
            own = _numbers(run["times"])
            known = np.isfinite(own) & (ranks > 1)
            slopes.append(expected.slope(ranks[known], own[known]))
            at, found = np.array(run["loss_times"]), np.array(run["losses"])
            inside = (at >= mean[1]) & (at <= mean[P // 2 - 1])
            losses.append(expected.slope(at[inside], found[inside] + tail))
            raws.append(expected.slope(at[inside], found[inside]))
        common = min(len(run["losses"]) for run in runs)
        at = np.array(runs[0]["loss_times"][:common])
        additive = expected.additive_loss(a, law, at)
        inside = (at >= mean[1]) & (at <= mean[P // 2 - 1])
        known = np.isfinite(times)
        scaled = np.where(known, times * a, 0)
        seen = np.maximum(known.sum(0), 1)
        centred = np.where(known, scaled - scaled.sum(0) / seen, 0)
        told = {
            "times": scaled.sum(0) / seen,
            "times_error": np.sqrt(np.square(centred).sum(0) / seen / np.maximum(seen - 1, 1)),
            "exponent": np.mean(slopes),
            "exponent_error": standard_error(np.array(slopes), 0),
            "loss": np.mean(losses),
            "loss_error": standard_error(np.array(losses), 0),
            "raw": np.mean(raws),
            "missed": 1 - known.mean(),
            "sharing": np.mean([run["sharing"] for run in runs]),
        }
        for name, value in told.items():
            measured[name][case] = np.asarray(value).tolist()
        predicted["times"][case] = (mean * a).tolist()
        predicted["exponent"][case] = expected.slope(ranks[1:], mean[1:])
        predicted["loss"][case] = expected.slope(at[inside], additive[inside] + tail)
        curves["time"][case], curves["law"][case] = at.tolist(), additive.tolist()
        curves["loss"][case] = np.mean([run["losses"][:common] for run in runs], 0).tolist()
    measured["curves"] = {name: curves[name] for name in ("time", "loss")}
    predicted["curves"] = {"loss": curves["law"]}

    few = expected.amplitudes(config.first_exponent, config.first_teachers)
    measured["first"], measured["first_error"], predicted["first"] = {}, {}, {}
    measured["dim_exponent"], predicted["dim_exponent"] = {}, {}
    for k in config.degrees:
        # T_1 has a heavy tail, from starts without a good neuron: geometric means
        logs = np.log(_numbers(results.array("first", "times", degree=k))[..., 0])
        laws = [expected.emergence_times(few, d, config.first_width, config.init, k)[0] for d in config.dims]
        law = np.exp([np.log(times) @ expected.quantile_weights() for times in laws])
        middle, key = np.exp(logs.mean(1)), str(k)
        measured["first"][key] = middle.tolist()
        measured["first_error"][key] = (middle * standard_error(logs)).tolist()
        predicted["first"][key] = law.tolist()
        measured["dim_exponent"][key] = expected.slope(config.dims, middle)
        predicted["dim_exponent"][key] = expected.slope(config.dims, law)

    floor = results.array("floor", "loss")
    a = expected.amplitudes(config.first_exponent, P)
    races = [expected.race(a, config.floor_dim, m, config.init, config.degree) for m in config.widths]
    tail = expected.loss_tail(config.first_exponent, P)
    measured["floor"], measured["floor_error"] = floor.mean(1).tolist(), standard_error(floor).tolist()
    measured["floor_sharing"] = results.array("floor", "sharing").mean(1).tolist()
    predicted["floor"], predicted["floor_sharing"] = (list(values) for values in zip(*races, strict=True))
    predicted["ideal"] = [float((a[m:] ** 2).sum() / 2) for m in config.widths]
    for told, source in ((measured, measured), (predicted, predicted)):
        told["floor_exponent"] = expected.slope(config.widths, np.array(source["floor"]) + tail)
    predicted["ideal_exponent"] = expected.slope(config.widths, np.array(predicted["ideal"]) + tail)

    times, flows = (_numbers(results.array("sgd", name)) for name in ("times", "flow"))
    a = expected.amplitudes(config.first_exponent, config.sgd_teachers)
    gaps = np.log(times / flows)
    measured["sgd"] = {"times": (times * a).mean(0).tolist(), "times_error": standard_error(times * a, 0).tolist()}
    measured["sgd"]["gap"] = float(gaps.mean())
    measured["sgd"]["gap_error"] = float(standard_error(gaps.mean(1), 0))
    slopes = [expected.slope(np.arange(2, len(a) + 1), row[1:]) for row in times]
    measured["sgd"]["exponent"] = float(np.mean(slopes))
    measured["sgd"]["exponent_error"] = float(standard_error(np.array(slopes), 0))
    predicted["sgd"] = {
        "times": (flows * a).mean(0).tolist(),
        "exponent": float(np.mean([expected.slope(np.arange(2, len(a) + 1), row[1:]) for row in flows])),
    }

    measured["samples"], predicted["samples"] = {}, {}
    xs = {"amplitude": 1 / np.array(config.chain_amplitudes), "dim": config.chain_dims}
    for key, line in lines(config).items():
        x = xs[key]
        found, edge = (
            np.array([results.array("samples", name, point=f"{a} {d}") for a, d in line]) for name in ("n", "edge")
        )
        found = _numbers(found)
        slopes = np.array([expected.slope(x, column) for column in found.T])
        measured["samples"][key] = {
            "n": found.mean(1).tolist(),
            "error": standard_error(found).tolist(),
            "exponent": float(slopes.mean()),
            "exponent_error": float(standard_error(slopes, 0)),
            "edge": float(edge.mean()),
        }
        law = [expected.samples_needed(a, d, config.chain_degree, config.chain_overlap) for a, d in line]
        predicted["samples"][key] = {"n": law, "exponent": expected.slope(x, law)}

    a = expected.amplitudes(config.first_exponent, config.n_teachers)
    times = _numbers(results.array("muon", "times"))
    middle = np.nanmedian(times, axis=-2)
    measured["muon"] = {"times": middle.tolist(), "missed": np.isnan(times).mean((1, 2)).tolist()}
    measured["muon"]["exponent"] = [expected.slope(ranks, row) for row in middle]
    predicted["muon"] = {"times": np.sqrt(a / 2).tolist(), "exponent": -config.first_exponent / 2}
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """times, loss: exponents of the wide student at every β, beside the decoupled law's for these sizes and the limit.
    dimension: T_1 by d at every degree. floor: the final loss of narrow students lies between a direction for each
    neuron and the race, its exponent in the width is 1 − 2β. sgd: online SGD learns when the flow does. samples: at the
    best learning rate, for labels whose noise does not fall, n grows as 1/a² and d^{k−1}. muon: T_p = √(a_p/2), at
    every d.
    """
    wide = {str(beta): f"{beta} {WIDE}" for beta in config.exponents}
    betas, draws = np.array(config.exponents), config.seeds
    verdicts = {}
    found = np.array([measured["exponent"][case] for case in wide.values()], dtype=float)
    law = _numbers([predicted["exponent"][case] for case in wide.values()])
    all_learnt = all(measured["missed"][case] <= MISSED for case in wide.values())
    near = lambda found, law, band: bool((np.abs(found - law) <= band).all())  # noqa: E731
    rivals = {"none, all at once": 0 * betas, "β/2": betas / 2, "2β": 2 * betas, "2β − 1": 2 * betas - 1}
    verdicts["times"] = verdict(
        all_learnt and near(found, law, TIMES_BAND),
        near(found, betas, TIMES_BAND),
        refuse(lambda rival: near(found, rival, TIMES_BAND), rivals),
        draws,
    )
    found = np.array([measured["loss"][case] for case in wide.values()], dtype=float)
    law = _numbers([predicted["loss"][case] for case in wide.values()])
    limit = np.array([expected.loss_exponent(beta) for beta in config.exponents])
    rivals = {"(1 − 2β)/2β": limit / 2, "1 − 2β": 1 - 2 * betas, "−1": 0 * betas - 1}
    verdicts["loss"] = verdict(
        near(found, law, LOSS_BAND),
        near(found, limit, LOSS_BAND),
        refuse(lambda rival: near(found, rival, LOSS_BAND), rivals),
        draws,
    )
    degrees = np.array(config.degrees)
    found, law = (
        np.array([told["dim_exponent"][str(k)] for k in degrees], dtype=float) for told in (measured, predicted)
    )
    rivals = {"any d": 0 * degrees, "d^{(k−1)/2}": (degrees - 1) / 2, "d^{k/2}": degrees / 2, "d^{k−1}": degrees - 1}
    verdicts["dimension"] = verdict(
        near(found, law, TIMES_BAND),
        near(found, degrees / 2 - 1, TIMES_BAND),
        refuse(lambda rival: near(found, rival, TIMES_BAND), rivals),
        draws,
    )

    floor, error = _numbers(measured["floor"]), np.nan_to_num(_numbers(measured["floor_error"]))
    between = (floor >= _numbers(predicted["ideal"]) - 2 * error) & (floor <= _numbers(predicted["floor"]) + 2 * error)
    fall = 1 - 2 * config.first_exponent
    is_fall = lambda law: abs(_number(measured["floor_exponent"]) - law) <= LOSS_BAND  # noqa: E731
    rivals = {"(1 − 2β)/2": fall / 2, "−β/2 − 1/4": -config.first_exponent / 2 - 0.25, "2(1 − 2β)": 2 * fall}
    verdicts["floor"] = verdict(bool(between.all()), is_fall(fall), refuse(is_fall, rivals), draws)

    one = measured["sgd"]
    same = abs(_number(one["gap"])) <= SGD_BAND + 2 * np.nan_to_num(_number(one["gap_error"]))
    is_slope = lambda law: abs(_number(one["exponent"]) - law) <= TIMES_BAND  # noqa: E731
    beta = config.first_exponent
    rivals = {"none, all at once": 0.0, "β/2": beta / 2, "2β": 2 * beta}
    verdicts["sgd"] = verdict(
        same and is_slope(_number(predicted["sgd"]["exponent"])), is_slope(beta), refuse(is_slope, rivals), draws
    )

    found = np.array([measured["samples"][key]["exponent"] for key in ("amplitude", "dim")], dtype=float)
    k, inside = config.chain_degree, max(one["edge"] for one in measured["samples"].values()) == 0
    rivals = {
        "as the flow, 1 and k/2 − 1": np.array([1, k / 2 - 1]),
        "1 and k − 1": np.array([1, k - 1]),
        "2 and k/2": np.array([2, k / 2]),
    }
    law = _numbers([predicted["samples"][key]["exponent"] for key in ("amplitude", "dim")])
    verdicts["samples"] = verdict(
        inside and near(found, law, SAMPLES_BAND),
        inside and near(found, np.array([2, k - 1]), SAMPLES_BAND),
        refuse(lambda rival: near(found, rival, SAMPLES_BAND), rivals),
        draws,
    )

    times, law = np.array(measured["muon"]["times"], dtype=float), np.array(predicted["muon"]["times"])
    a = 2 * law**2
    is_time = lambda law: bool((np.abs(times / law - 1).max(1) <= POLAR_BAND).all())  # noqa: E731
    rivals = {"as SGD, 1/a": law[0] * a[0] / a, "all at once": np.full_like(a, law.mean()), "a": law[0] * a / a[0]}
    verdicts["muon"] = verdict(
        is_time(law),
        bool((np.abs(np.array(measured["muon"]["exponent"], dtype=float) + beta / 2) <= TIMES_BAND).all()),
        refuse(is_time, rivals),
        draws,
    )
    return verdicts


def _numbers(values) -> np.ndarray:
    """A record's numbers as floats: None, which stands for NaN there, is NaN again."""
    return np.array(values, dtype=float)


def _number(value) -> float:
    return float(_numbers(value))
