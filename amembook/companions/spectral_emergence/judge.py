"""Measured numbers beside predicted ones, and the verdicts."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from amembook.companions.spectral_emergence import expected
from amembook.laws import descent_iterates, mean_field_iterates
from amembook.run.base import Results, slope, standard_error
from amembook.run.claims import DIFFERENCE, EXPONENT, SIZES, SMALL, equivalence, numbers
from amembook.run.study import above, law
from amemlib.problem import Problem

TURN = 1 / 3
"""The power at which all directions are learnt at the same time."""
TIMES_BAND = SIZES
"""The band of mean times at powers up to a third, and of those of facts."""
SHARE_BAND = SMALL
"""That of the share of directions that per-neuron steps miss, as a difference."""
LEAST_SAMPLES = 8
"""Samples a dimension from which on they are judged."""
STREAMS = 2


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By case of `grids`: `times` (geometric means) with `times_error` (of their logarithm), `exponent` of T_p in p and
    `exponent_error`, `missed`. search[power]: T by d and its exponent. norm, few, batch, facts, crowd: in the same
    words. alone, by power: exponents of T_p `together` and `alone`, and `late`, the mean of the logarithm of one time
    over the other, by draw. predicted: the same where it can be. Of the parts that were measured.
    """
    parts = {part.__name__[1:]: part for part in (_flow, _search, _norm, _few, _batch, _facts, _crowd, _alone)}
    measured, predicted = {}, {}
    for name in config.parts:
        measured[name], predicted[name] = parts[name](config, results)
    return measured, predicted


def _flow(config, results: Results) -> tuple[dict, dict]:
    measured, predicted = {}, {}
    for case, flow in results.grids["flow"].axes["case"].items():
        power, degree, exponent = (flow[name] for name in ("power", "degree", "exponent"))
        losses = results.array("flow", "loss", case=case)
        measured[case] = _by_rank(results.array("flow", "times", case=case)) | {"loss": losses.mean()}
        a = expected.amplitudes(exponent, config.n_teachers)
        law = expected.decoupled(a, config.dim, config.width, config.init, degree, power, config.law_draws)["times"]
        limit = expected.time_exponent(exponent, power)
        predicted[case] = _with_exponent(np.exp(np.log(law).mean(0))) | {"limit": limit}
    return _by_name(measured), _by_name(predicted)


def _search(config, results: Results) -> tuple[dict, dict]:
    measured, predicted, dims = {}, {}, config.search_dims
    sizes = config.search_width, config.search_init, config.degree
    a = expected.amplitudes(config.exponent, config.search_teachers)
    x = np.log(dims) - np.mean(np.log(dims))
    for power in config.search_powers:
        logs = np.log(results.array("search", "aligned", power=power)[..., 0])
        times, error = np.exp(logs.mean(1)), np.atleast_1d(standard_error(logs))
        measured[f"{power:.3f}"] = {"times": times, "times_error": error, "exponent": slope(dims, times)}
        # starts of different d are independent
        measured[f"{power:.3f}"]["exponent_error"] = np.sqrt((x**2 * error**2).sum()) / (x**2).sum()
        runs = [expected.decoupled(a, d, *sizes, power, config.law_draws)["aligned"][:, 0] for d in dims]
        law = np.exp([np.log(run).mean() for run in runs])
        limit = expected.search_exponent(config.degree, power)
        predicted[f"{power:.3f}"] = {"times": law, "exponent": slope(dims, law), "limit": limit}
    return _by_name(measured), _by_name(predicted)


def _norm(config, results: Results) -> tuple[dict, dict]:
    a = expected.amplitudes(config.exponent, config.n_teachers)
    lengths = expected.arc_times(a, config.dim, config.width, config.init, config.degree, max(2, config.law_draws // 4))
    return _by_rank(results.array("norm", "times")), _with_exponent(np.exp(np.log(lengths).mean(0)))


def _few(config, results: Results) -> tuple[dict, dict]:
    neuron, polar = results.array("few", "times")[0], results.array("few_polar", "times")
    a = expected.amplitudes(config.exponent, config.n_teachers)
    never = np.isinf(expected.row_times(a, config.dim, config.few_width, config.degree, 400))
    missed = np.isnan(neuron)
    measured = {"missed": missed.mean(), "missed_error": standard_error(missed.mean(1), 0), "by_rank": missed.mean(0)}
    measured |= {"polar_missed": np.isnan(polar).mean(), "polar_times": _by_rank(polar)["times"]}
    return measured, {"missed": never.mean(), "by_rank": never.mean(0)}


def _batch(config, results: Results) -> tuple[dict, dict]:
    a = expected.amplitudes(config.exponent, config.batch_teachers)
    batches = results.grids["batch"].axes["case"]
    measured = {case: _by_rank(results.array("batch", "times", case=case)) for case in batches}
    law = lambda batch: expected.batch_times(a, batch["dim"], config.degree, batch["batch"])
    return _by_name(measured), _by_name({case: _with_exponent(law(batch)) for case, batch in batches.items()})


def _facts(config, results: Results) -> tuple[dict, dict]:
    p = np.arange(1.0, config.n_facts + 1) ** -config.fact_exponent
    names, times = [f"{power:.3f}" for power in config.powers], results.array("facts", "times")
    laws = [expected.fact_times(p / p.sum(), power) for power in config.powers]
    return tuple(_by_name(dict(zip(names, map(_with_exponent, rows), strict=True))) for rows in (times, laws))


def _crowd(config, results: Results) -> tuple[dict, dict]:
    problem = Problem.power_law(n_items=config.n_items, dim=config.crowd_dim, alpha=config.crowd_alpha)
    counts = {name: results.array("crowd", name) for name in ("sgd", "polar")}
    measured = {name: {"items": own.mean(0), "error": standard_error(own, 0)} for name, own in counts.items()}
    laws = {"sgd": descent_iterates, "polar": mean_field_iterates}
    return measured, {
        name: np.asarray(solve(problem, 1.0, config.crowd_steps, streams=STREAMS).counts, dtype=float)
        for name, solve in laws.items()
    }


def _alone(config, results: Results) -> tuple[dict, dict]:
    measured, predicted = {}, {}
    a, ranks = expected.amplitudes(config.exponent, config.n_teachers), _ranks(range(config.n_teachers))
    for power in config.alone_powers:
        together, alone = (results.array("alone", name, power=power) for name in ("together", "alone"))
        measured[f"{power:.3f}"] = {
            "together": [slope(ranks, times) for times in together],
            "alone": [slope(ranks, times) for times in alone],
            "late": np.log(together / alone).mean(1),
            "latest": (together / alone).max(),
        }
        sizes = config.dim, config.width, config.init, config.degree
        law = expected.decoupled(a, *sizes, power, config.law_draws)["times"]
        predicted[f"{power:.3f}"] = _with_exponent(np.exp(np.log(law).mean(0)))
    return measured, predicted


def _by_name(cases: dict[str, dict]) -> dict[str, dict]:
    """{name: {case: value}} of {case: {name: value}}."""
    return {name: {case: own[name] for case, own in cases.items()} for name in next(iter(cases.values()))}


def _with_exponent(times) -> dict:
    return {"times": times, "exponent": slope(_ranks(times), times)}


def _ranks(values) -> np.ndarray:
    return np.arange(1, len(values) + 1)


def _by_rank(times: np.ndarray) -> dict:
    """Geometric means over the runs by rank, their errors, and the exponent, each run's own where it is complete."""
    with np.errstate(all="ignore"):
        logs = np.log(times)
    known = np.isfinite(logs)
    seen = known.sum(0)
    mean = np.where(known, logs, 0).sum(0) / np.where(seen, seen, np.nan)
    spread = np.where(known, logs - mean, 0)
    ranks = _ranks(times[0])
    exponents = np.array([slope(ranks[row], one[row]) for one, row in zip(times, known, strict=True)])
    return {
        "times": np.exp(mean),
        "times_error": np.sqrt((spread**2).sum(0) / np.maximum(seen - 1, 1) / np.maximum(seen, 1)),
        "exponent": exponents.mean(),
        "exponent_error": standard_error(exponents, 0),
        "missed": 1 - known.mean(),
    }


def judge(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """times: exponents of T_p at every γ, k and β, beside the law's for these sizes and β(3γ − 1)/2; up to γ = 1/3 the
    times too. turn: at γ = 1/3 all directions are learnt at the same time. search: the time of alignment by d. norm:
    steps along G/‖G‖ learn at the length of the flow's path. neuron: steps of length one a neuron miss directions that
    polar steps learn. batch: exponents of T_p by batch, on the law and the same at every d. facts: T_i ∝ p_i^{−γ} in a
    memory of N = d. alone: a direction by itself follows the decoupled law. late: in company it is later, and higher
    ranks more so.
    """
    judges = {
        "flow": (("times", _judge_times), ("turn", lambda config, measured, _: _judge_turn(config, measured))),
        "search": (("search", _judge_search),),
        "norm": (("norm", _judge_norm),),
        "few": (("neuron", _judge_neuron),),
        "batch": (("batch", _judge_batch),),
        "facts": (("facts", _judge_facts),),
        "alone": (("alone", _judge_alone), ("late", _judge_late)),
    }
    for part, own in judges.items():
        if part in config.parts:
            for name, of_part in own:
                yield name, of_part(config, measured[part], predicted[part])


def _judge_alone(config, measured: dict, predicted: dict) -> dict:
    """The decoupled law where it must hold, one direction after the other, each by itself."""
    keys = list(predicted)
    laws = np.array([predicted[key]["exponent"] for key in keys])
    rivals = {"as together": np.array([np.mean(measured[key]["together"]) for key in keys])}
    powers = np.array([float(key) for key in keys])
    shift = laws - expected.time_exponent(config.exponent, powers)
    rivals["β(2γ − 1)"] = config.exponent * (2 * powers - 1) + shift
    own = {key: measured[key]["alone"] for key in keys}
    return law("exponent of T_p alone,", own, law=laws, band=EXPONENT, scale=DIFFERENCE, rivals=rivals)


def _judge_late(config, measured: dict, predicted: dict) -> dict:
    """In company directions are later, and the more so the higher their rank."""
    made = {f"mean lateness, {key}": own["late"] for key, own in measured.items()}
    made |= {f"exponent together less alone, {key}": own["together"] - own["alone"] for key, own in measured.items()}
    return above("more than none,", made)


def _at(table: dict, keys) -> np.ndarray:
    """The values of some cases, in their order."""
    return np.array([table[key] for key in keys])


def _exponents(name: str, measured: dict, keys, draws: int, law, limit, rivals: dict) -> list[dict]:
    """The numbers of the exponents of some cases; rivals are other laws at the same places."""
    exponents, error = _at(measured["exponent"], keys), np.nan_to_num(_at(measured["exponent_error"], keys))
    held_to = {"law": law, "limit": limit, "rivals": rivals, "band": EXPONENT, "scale": DIFFERENCE, "at": keys}
    return numbers(name, exponents, error, draws, **held_to)


def _judge_times(config, measured: dict, predicted: dict) -> dict:
    cases = list(predicted["limit"])
    power, beta = (np.array([float(case.split()[place]) for case in cases]) for place in (0, 2))
    law, limit = (_at(predicted[key], cases) for key in ("exponent", "limit"))
    # as far from the law at these sizes as in the limit
    shift = law - limit
    others = {"β(2γ − 1)": beta * (2 * power - 1), "β(3γ − 1)/2 at γ + 1/10": beta * (3 * power - 0.7) / 2}
    rivals = {name: values + shift for name, values in others.items()}
    made = _exponents("exponent of T_p,", measured, cases, config.seeds, law, limit, rivals)
    early = [case for case, one in zip(cases, power, strict=True) if one <= TURN + 1e-3]
    times, expected_times = (_at(side["times"], early) for side in (measured, predicted))
    error = times * np.nan_to_num(_at(measured["times_error"], early))
    means = np.exp(np.log(times).mean(1)), np.exp(np.log(expected_times).mean(1))
    spread = means[0] * (error / times).mean(1)
    held_to = {"law": means[1], "band": TIMES_BAND, "at": early}
    return equivalence(made + numbers("mean time,", means[0], spread, config.seeds, **held_to))


def _judge_turn(config, measured: dict) -> dict:
    flat = [case for case in measured["times"] if abs(float(case.split()[0]) - TURN) < 1e-3]
    times, beta = _at(measured["times"], flat), np.array([[float(case.split()[2])] for case in flat])
    error = np.nan_to_num(_at(measured["times_error"], flat))
    ranks = _ranks(times[0])

    def shape(power: float) -> np.ndarray:
        law = ranks ** expected.time_exponent(beta, power)
        return law / np.exp(np.log(law).mean(1, keepdims=True))

    level = times / np.exp(np.log(times).mean(1, keepdims=True))
    rivals = {"γ = ¼": shape(0.25), "γ = 0.3": shape(0.3), "γ = ½": shape(0.5)}
    at = [f"{case}, T_{p}" for case in flat for p in ranks]
    held_to = {"law": 1.0, "band": TIMES_BAND, "rivals": rivals, "at": at}
    return equivalence(numbers("time over their mean,", level, level * error, config.seeds, **held_to))


def _judge_search(config, measured: dict, predicted: dict) -> dict:
    keys, k = list(predicted["limit"]), config.degree
    power = np.array([float(key) for key in keys])
    law, limit = (_at(predicted[key], keys) for key in ("exponent", "limit"))
    others = {"k/2 − 1 at any γ": 0 * power + k / 2 - 1, "0 at any γ": 0 * power, "γ(k/2 − 1)": power * (k / 2 - 1)}
    rivals = {name: values + law - limit for name, values in others.items()}
    return equivalence(_exponents("exponent of d,", measured, keys, config.search_draws, law, limit, rivals))


def _judge_norm(config, measured: dict, predicted: dict) -> dict:
    a, law = expected.amplitudes(config.exponent, config.n_teachers), predicted["times"]
    rivals = {
        "√(a/2), as Muon": np.sqrt(a / 2),
        "1/a, as the flow": law[0] * a[0] / a,
        "all at once": np.full_like(law, law.mean()),
    }
    times = measured["times"]
    held_to = {"law": law, "band": TIMES_BAND, "rivals": rivals, "at": _ranks(law)}
    return equivalence(
        numbers("length until direction", times, times * measured["times_error"], config.seeds, **held_to)
    )


def _judge_neuron(config, measured: dict, predicted: dict) -> dict:
    rivals = {"none, as Muon": 0.0, "neurons spread evenly": (1 - 1 / config.n_teachers) ** config.few_width}
    held_to = {"law": predicted["missed"], "band": SHARE_BAND, "scale": DIFFERENCE, "rivals": rivals}
    made = numbers("share of directions missed", measured["missed"], measured["missed_error"], config.seeds, **held_to)
    none = {"law": 0.0, "band": SHARE_BAND, "scale": DIFFERENCE}
    return equivalence(made + numbers("missed by polar steps", measured["polar_missed"], draws=config.seeds, **none))


def _judge_batch(config, measured: dict, predicted: dict) -> dict:
    """On the law, and the same at every d: differences of exponents at one number of samples a dimension."""
    keys = [key for key in predicted["exponent"] if int(key.split()[1]) >= LEAST_SAMPLES]
    beta, law = config.exponent, _at(predicted["exponent"], keys)
    rivals = {"β, as SGD": beta + 0 * law, "−β/2 at any batch": -beta / 2 + 0 * law, "0 at any batch": 0 * law}
    made = _exponents("exponent,", measured, keys, config.seeds, law, None, rivals)
    exponents, error = (np.nan_to_num(_at(measured[name], keys)) for name in ("exponent", "exponent_error"))
    for j, k in combinations(range(len(keys)), 2):
        if keys[j].split()[1] == keys[k].split()[1]:
            width = max(np.hypot(error[j], error[k]), 1e-12)
            held_to = {"law": 0.0, "band": EXPONENT, "scale": DIFFERENCE, "guard": True}
            made += numbers(f"{keys[j]} less {keys[k]}", exponents[j] - exponents[k], width, config.seeds, **held_to)
    return equivalence(made)


def _judge_facts(config, measured: dict, predicted: dict) -> dict:
    """Exact: nothing is drawn but the outputs, whose crosstalk the band leaves room for."""
    keys, beta = list(predicted["times"]), config.fact_exponent
    power = np.array([float(key) for key in keys])[:, None]
    times, law = (_at(numbers["times"], keys) for numbers in (measured, predicted))
    ranks = _ranks(times[0])
    rivals = {
        "as features": law[:, :1] * ranks ** expected.time_exponent(beta, power),
        "1/p at any γ": law[:, :1] * ranks**beta,
    }
    at = [f"{key}, i = {i}" for key in keys for i in ranks]
    return equivalence(numbers("time of a fact,", times, law=law, band=TIMES_BAND, rivals=rivals, at=at))
