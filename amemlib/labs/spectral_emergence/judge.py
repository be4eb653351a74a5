"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import numpy as np

from amemlib.equivalents import descent_iterates
from amemlib.equivalents.mean_field import mean_field_iterates
from amemlib.experiments.base import Results, standard_error
from amemlib.labs.spectral_emergence import expected
from amemlib.problem import Problem
from amemlib.verdicts import refuse, verdict

TURN = 1 / 3
"""The power at which all directions are learnt at the same time."""
EXPONENT_BAND = 0.05
"""How far an exponent of T_p may lie from its law, beyond two standard errors: a tenth of the way from the polar factor
to the flow is 0.15."""
TIMES_BAND = 0.05
"""How far a mean time may lie from its law, relative, at powers up to a third."""
SEARCH_BAND = 0.1
"""The band for exponents in d: neurons that two directions pull at are not in the law."""
ARC_BAND = 0.15
"""How far a time of normalised steps may lie from its law, relative, beyond two standard errors."""
MISSED_BAND = 0.08
"""How far the share of directions that per-neuron steps miss may lie from its law, beyond two standard errors: one of
twelve directions."""
BATCH_BAND = 0.12
"""The band for exponents on batches: the law leaves out the search, which noise makes longer."""
LEAST_SAMPLES = 8
"""Samples a dimension from which on they are judged: at two, exploration showed the search to be most of the time."""
FACTS_BAND = 0.08
"""How far T_i of a fact may lie from its law, relative: outputs of N facts are not quite at right angles, by 1/N."""
STREAMS = 2


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By case of `grids`: `times` (geometric means) with `times_error` (of their logarithm), `exponent` of T_p in p and
    `exponent_error`, `missed`. search[power]: T by d and its exponent. norm, few, batch, facts, crowd: in the same
    words. predicted: the same where it can be.
    """
    ranks = np.arange(1, config.n_teachers + 1)
    names = ("times", "times_error", "exponent", "exponent_error", "missed", "loss")
    measured, predicted = {"flow": {name: {} for name in names}}, {"flow": {"times": {}, "exponent": {}, "limit": {}}}
    for case, given in results.grids["flow"].axes["case"].items():
        power, degree, exponent = (given[name] for name in ("power", "degree", "exponent"))
        told = _by_rank(results.array("flow", "times", case=case))
        for name in names[:-1]:
            measured["flow"][name][case] = told[name]
        measured["flow"]["loss"][case] = float(results.array("flow", "loss", case=case).mean())
        a = expected.amplitudes(exponent, config.n_teachers)
        law = expected.decoupled(a, config.dim, config.width, config.init, degree, power, config.law_draws)["times"]
        law = np.exp(np.log(law).mean(0))
        predicted["flow"]["times"][case] = law.tolist()
        predicted["flow"]["exponent"][case] = expected.slope(ranks, law)
        predicted["flow"]["limit"][case] = expected.time_exponent(exponent, power)

    measured["search"] = {name: {} for name in ("times", "times_error", "exponent", "exponent_error")}
    predicted["search"] = {name: {} for name in ("times", "exponent", "limit")}
    few = expected.amplitudes(config.exponent, config.search_teachers)
    x = np.log(config.search_dims) - np.mean(np.log(config.search_dims))
    for power in config.search_powers:
        key = f"{power:.3f}"
        logs = np.log(_numbers(results.array("search", "aligned", power=power))[..., 0])
        mean, error = logs.mean(1), np.atleast_1d(standard_error(logs))
        measured["search"]["times"][key] = np.exp(mean).tolist()
        measured["search"]["times_error"][key] = error.tolist()
        measured["search"]["exponent"][key] = expected.slope(config.search_dims, np.exp(mean))
        # starts of different d are independent
        measured["search"]["exponent_error"][key] = float(np.sqrt((x**2 * error**2).sum()) / (x**2).sum())
        width, init, k = config.search_width, config.search_init, config.degree
        laws = [
            expected.decoupled(few, d, width, init, k, power, config.law_draws)["aligned"][:, 0]
            for d in config.search_dims
        ]
        law = np.exp([np.log(times).mean() for times in laws])
        predicted["search"]["times"][key] = law.tolist()
        predicted["search"]["exponent"][key] = expected.slope(config.search_dims, law)
        predicted["search"]["limit"][key] = expected.search_exponent(k, power)

    a = expected.amplitudes(config.exponent, config.n_teachers)
    size = (config.dim, config.width, config.init, config.degree)
    measured["norm"] = _by_rank(results.array("norm", "times"))
    law = np.exp(np.log(expected.arc_times(a, *size, max(2, config.law_draws // 4))).mean(0))
    predicted["norm"] = {"times": law.tolist(), "exponent": expected.slope(ranks, law)}

    neuron, polar = (_numbers(results.array("few", "times"))[0], _numbers(results.array("few_polar", "times")))
    law = expected.row_times(a, config.dim, config.few_width, config.degree, 400)
    missed = np.isnan(neuron).mean(1)
    measured["few"] = {
        "missed": float(missed.mean()),
        "missed_error": float(standard_error(missed, 0)),
        "by_rank": np.isnan(neuron).mean(0).tolist(),
        "polar_missed": float(np.isnan(polar).mean()),
        "polar_times": _by_rank(polar)["times"],
    }
    predicted["few"] = {"missed": float(np.isinf(law).mean()), "by_rank": np.isinf(law).mean(0).tolist()}

    a = expected.amplitudes(config.exponent, config.batch_teachers)
    measured["batch"] = {name: {} for name in names[:-1]}
    predicted["batch"] = {name: {} for name in ("times", "exponent")}
    for case, given in results.grids["batch"].axes["case"].items():
        told = _by_rank(results.array("batch", "times", case=case))
        for name in names[:-1]:
            measured["batch"][name][case] = told[name]
        law = expected.batch_times(a, given["dim"], config.degree, given["batch"])
        predicted["batch"]["times"][case] = law.tolist()
        predicted["batch"]["exponent"][case] = expected.slope(np.arange(1, len(a) + 1), law)

    p = np.arange(1.0, config.n_facts + 1) ** -config.fact_exponent
    p, facts = p / p.sum(), np.arange(1, config.n_facts + 1)
    times = _numbers(results.array("facts", "times"))
    measured["facts"], predicted["facts"] = {"times": {}, "exponent": {}}, {"times": {}, "exponent": {}}
    for power, row in zip(config.powers, times, strict=True):
        key, law = f"{power:.3f}", expected.fact_times(p, power)
        measured["facts"]["times"][key], predicted["facts"]["times"][key] = row.tolist(), law.tolist()
        measured["facts"]["exponent"][key] = expected.slope(facts, row)
        predicted["facts"]["exponent"][key] = expected.slope(facts, law)

    problem = Problem.power_law(n_items=config.n_items, dim=config.crowd_dim, alpha=config.crowd_alpha)
    measured["crowd"], predicted["crowd"] = {}, {}
    for name, solve in (("sgd", descent_iterates), ("polar", mean_field_iterates)):
        counts = results.array("crowd", name)
        measured["crowd"][name] = {"items": counts.mean(0).tolist(), "error": standard_error(counts, 0).tolist()}
        predicted["crowd"][name] = np.asarray(
            solve(problem, 1.0, config.crowd_steps, streams=STREAMS).counts, dtype=float
        ).tolist()
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """times: exponents of T_p at every γ, k and β, beside the law's for these sizes and β(3γ − 1)/2; up to γ = 1/3 the
    times too. turn: at γ = 1/3 all directions are learnt at the same time. search: the time of alignment by d. norm:
    steps along G/‖G‖ learn at the length of the flow's path. neuron: steps of length one a neuron miss directions that
    polar steps learn. batch: exponents of T_p by batch and d, from eight samples a dimension on. facts: T_i ∝ p_i^{−γ}
    in a memory of N = d.
    """
    draws, cases, verdicts = config.seeds, list(predicted["flow"]["limit"]), {}
    power = np.array([float(case.split()[0]) for case in cases])
    beta = np.array([float(case.split()[2]) for case in cases])
    found, error, law, limit = (
        np.array([told["flow"][name][case] for case in cases], dtype=float)
        for told, name in (
            (measured, "exponent"),
            (measured, "exponent_error"),
            (predicted, "exponent"),
            (predicted, "limit"),
        )
    )
    room = EXPONENT_BAND + 2 * np.nan_to_num(error)
    near = lambda law: bool((np.abs(found - law) <= room).all())  # noqa: E731
    early = [case for case, one in zip(cases, power, strict=True) if one <= TURN + 1e-3]
    ratio = np.log([_numbers(measured["flow"]["times"][c]) / predicted["flow"]["times"][c] for c in early])
    on_time = bool((np.abs(ratio.mean(1)) <= TIMES_BAND).all())
    rivals = {"β, as the flow": beta, "−β/2, as Muon": -beta / 2, "βγ, no growth": beta * power}
    rivals["β(2γ − 1)"] = beta * (2 * power - 1)
    verdicts["times"] = verdict(near(law) and on_time, near(limit), refuse(near, rivals), draws)

    flat = [c for c, one in zip(cases, power, strict=True) if abs(one - TURN) < 1e-3]
    rows = np.array([_numbers(measured["flow"]["times"][case]) for case in flat])
    betas = np.array([float(case.split()[2]) for case in flat])[:, None]
    ranks = np.arange(1, rows.shape[1] + 1)

    def at_once(shape) -> bool:
        straight = rows / shape
        return bool((np.abs(straight / straight.mean(1, keepdims=True) - 1) <= TIMES_BAND).all())

    rivals = {f"γ = {one}": ranks ** expected.time_exponent(betas, number) for one, number in (("¼", 0.25), ("½", 0.5))}
    met = at_once(np.ones_like(rows))
    verdicts["turn"] = verdict(met, met, refuse(at_once, rivals), draws)

    keys, k = list(predicted["search"]["limit"]), config.degree
    power = np.array([float(key) for key in keys])
    found, error, law, limit = (
        np.array([told["search"][name][key] for key in keys], dtype=float)
        for told, name in (
            (measured, "exponent"),
            (measured, "exponent_error"),
            (predicted, "exponent"),
            (predicted, "limit"),
        )
    )
    room_d = SEARCH_BAND + 2 * np.nan_to_num(error)
    near_d = lambda law: bool((np.abs(found - law) <= room_d).all())  # noqa: E731
    rivals = {"k/2 − 1 at any γ": 0 * power + k / 2 - 1, "0 at any γ": 0 * power, "γ(k/2 − 1)": power * (k / 2 - 1)}
    verdicts["search"] = verdict(near_d(law), near_d(limit), refuse(near_d, rivals), config.search_draws)

    times, error = (_numbers(measured["norm"][name]) for name in ("times", "times_error"))
    a = expected.amplitudes(config.exponent, config.n_teachers)
    law = _numbers(predicted["norm"]["times"])
    is_arc = lambda law: bool((np.abs(np.log(times / law)) <= ARC_BAND + 2 * np.nan_to_num(error)).all())  # noqa: E731
    rivals = {"√(a/2), as Muon": np.sqrt(a / 2), "1/a, as the flow": law[0] * a[0] / a}
    rivals["all at once"] = np.full_like(law, law.mean())
    verdicts["norm"] = verdict(is_arc(law), is_arc(law), refuse(is_arc, rivals), draws)

    few = measured["few"]
    room_missed = MISSED_BAND + 2 * np.nan_to_num(_numbers(few["missed_error"]))
    is_share = lambda share: bool(abs(_numbers(few["missed"]) - share) <= room_missed)  # noqa: E731
    met = is_share(predicted["few"]["missed"]) and few["polar_missed"] == 0
    spread = (1 - 1 / config.n_teachers) ** config.few_width
    rivals = {"none, as Muon": 0.0, "neurons spread evenly": spread}
    verdicts["neuron"] = verdict(met, met, refuse(is_share, rivals), draws)

    keys = [key for key in predicted["batch"]["exponent"] if int(key.split()[1]) >= LEAST_SAMPLES]
    found, error, law = (
        np.array([told["batch"][name][key] for key in keys], dtype=float)
        for told, name in ((measured, "exponent"), (measured, "exponent_error"), (predicted, "exponent"))
    )
    room_b = BATCH_BAND + 2 * np.nan_to_num(error)
    near_b = lambda law: bool((np.abs(found - law) <= room_b).all())  # noqa: E731
    rivals = {"β, as SGD": config.exponent, "−β/2 at any batch": -config.exponent / 2, "0 at any batch": 0.0}
    verdicts["batch"] = verdict(near_b(law), near_b(law), refuse(near_b, rivals), draws)

    keys = list(predicted["facts"]["times"])
    power = np.array([float(key) for key in keys])[:, None]
    times, law = (
        np.array([told["facts"]["times"][key] for key in keys], dtype=float) for told in (measured, predicted)
    )
    is_fact = lambda law: bool((np.abs(times / law - 1) <= FACTS_BAND).all())  # noqa: E731
    ranks = np.arange(1, times.shape[1] + 1)
    bend = config.fact_exponent
    rivals = {
        "as features": law[:, :1] * ranks ** expected.time_exponent(bend, power),
        "1/p at any γ": law[:, :1] * ranks**bend,
        "all at once": law[:, :1] * np.ones_like(law),
    }
    verdicts["facts"] = verdict(is_fact(law), is_fact(law), refuse(is_fact, rivals))
    return verdicts


def _by_rank(times) -> dict:
    """Geometric means over the runs by rank, their errors, and the exponent, each run's own where it is complete."""
    times = _numbers(times)
    with np.errstate(all="ignore"):
        logs = np.log(times)
    known = np.isfinite(logs)
    seen = known.sum(0)
    mean = np.where(known, logs, 0).sum(0) / np.where(seen, seen, np.nan)
    spread = np.where(known, logs - mean, 0)
    ranks = np.arange(1, times.shape[1] + 1)
    slopes = [expected.slope(ranks[row], one[row]) for one, row in zip(times, known, strict=True)]
    return {
        "times": np.exp(mean).tolist(),
        "times_error": np.sqrt((spread**2).sum(0) / np.maximum(seen - 1, 1) / np.maximum(seen, 1)).tolist(),
        "exponent": float(np.mean(slopes)),
        "exponent_error": float(standard_error(np.array(slopes), 0)),
        "missed": float(1 - known.mean()),
    }


def _numbers(values) -> np.ndarray:
    """A record's numbers as floats: None, which stands for NaN there, is NaN again."""
    return np.array(values, dtype=float)
