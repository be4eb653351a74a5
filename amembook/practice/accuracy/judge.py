"""Shares kept by step, the two laws of the momentum, times and losses of networks."""

import math

import numpy as np
from scipy.stats import t as student_t

from amembook.practice.accuracy import expected
from amembook.practice.accuracy.memory import EXACT, SHIPPED
from amembook.run.base import Results, standard_error
from amembook.run.claims import DIFFERENCE, NETWORK, SIZES, SMALL, equivalence, numbers, order
from amemlib.problem import Problem

NOTICED = 0.8
"""The share below which a loss is called noticed: its 95 % interval lies below it as long as the momentum remembers."""
LAW_BAND = CLOCK_BAND = SMALL
"""The bands of a share beside that of one step on the momentum's spectrum, and of the momentum's reach beside that of
the items not learnt: both sides are of runs."""
EXACT_FROM = 3.0
"""Beyond this reach nothing is lost, and how large it is does not matter."""
STORED = 0.5
"""The share of the outputs that W_V stores to which times are measured."""
SAME_LOSS = 0.05
"""How far apart, in nats, two losses are that count as one: a twentieth of what the model gains over words alone."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """`memory[case]`, `remedy`, `recall[β]` and `text`, those of the parts that were run.

    memory: by map the mean `count` with its `error`, `left`, `reach` (torch's Λ, geometric mean), `below`; `share`
    of the exact map's items with the 95 % interval `low`, `high` of the mean of the pairs' ratios; `extra_loss` in
    nats, alike. recall, text: curves by map, means over seeds; spectra by matrix; differences by pairs of a seed.
    predicted: memory[case]: `share`, ρ of the shipped map's own measured reach; `reach` of the items not learnt.
    """
    measured, predicted = {}, {}
    if "memory" in config.parts:
        measured["memory"], predicted["memory"] = _memory(config, results)
        (case,) = results.grids["remedy"].axes["case"]
        exact = results.array("memory", "count", case=case, schedule=EXACT)
        measured["remedy"] = _interval(results.array("remedy", "count", case=case) / exact)
    if "recall" in config.parts:
        measured["recall"] = {f"{beta:g}": _recall(config, results, beta) for beta in config.network_momenta}
    if "text" in config.parts:
        measured["text"] = _text(config, results)
    return measured, predicted


def _memory(config, results: Results) -> tuple[dict, dict]:
    slope, grid = expected.slope(SHIPPED), results.grids["memory"]
    measured, predicted, curves = {}, {}, {}
    for case, arguments in grid.axes["case"].items():
        read = lambda key, name, case=case: results.array("memory", key, case=case, schedule=name).astype(float)
        told = {key: {} for key in ("count", "error", "left", "reach", "below")}
        for name in (EXACT, SHIPPED):
            told["count"][name] = read("count", name).mean(0)
            told["error"][name] = standard_error(read("count", name), 0)
            told["left"][name] = read("left", name).mean(0)
            told["below"][name] = read("below", name).mean(0)
            told["reach"][name] = slope * np.exp(np.log(read("median", name)).mean(0))
        told |= _interval(read("count", SHIPPED) / read("count", EXACT), "share")
        told |= {"extra_loss": _interval(read("loss", SHIPPED) - read("loss", EXACT))}
        probes = told["probes"] = [t for t in config.probes if t <= arguments["steps"]]
        problem = Problem.power_law(config.n_items, config.dim, arguments["alpha"])
        curve = curves.setdefault(arguments["alpha"], expected.share_curve(problem))
        of = lambda name, t, problem=problem, told=told, beta=arguments["momentum"]: expected.remembered_median(
            problem, told["probes"], told["left"][name], beta, t
        )
        predicted[case] = {"share": expected.share_at(told["reach"][SHIPPED], curve)}
        if arguments["momentum"]:
            predicted[case]["reach"] = {name: [slope * of(name, t) for t in probes] for name in (EXACT, SHIPPED)}
        measured[case] = told
    return measured, predicted


def _recall(config, results: Results, momentum: float) -> dict:
    times, told = {}, {"ood": {}, "recall": {}, "half_time": {}, "reach": {}, "below": {}}
    (steps,) = {
        tuple(row)
        for row in results.array("recall", "step").reshape(-1, 1 + -(-config.recall_steps // config.probe_every))
    }
    for name in (EXACT, SHIPPED):
        at = {"momentum": momentum, "schedule": name}
        stored = results.array("recall", "recall", **at)
        told["recall"][name] = stored.mean(0)
        told["ood"][name] = results.array("recall", "ood", **at).mean(0)
        times[name] = told["half_time"][name] = [_half_time(steps, row) for row in stored]
        told["reach"][name], told["below"][name] = _spectra(results, "recall", at)
    logs = [math.log(times[SHIPPED][k] / times[EXACT][k]) for k in range(config.network_seeds)]
    found = {key: math.exp(value) for key, value in _interval(np.array(logs)).items()}
    late = [k for k in range(config.network_seeds) if max(times[name][k] for name in times) >= steps[-1]]
    return told | {"step": list(steps), "ratio": found, "late": len(late)}


def _text(config, results: Results) -> dict:
    (momentum,) = results.grids["text"].axes["momentum"]
    told = {"test": {}, "by_group": {}, "hits": {}, "reach": {}, "below": {}}
    read = lambda key, name: results.array("text", key, momentum=momentum, schedule=name)
    for name in (EXACT, SHIPPED):
        told["test"][name] = read("test", name).mean(0)
        for key in ("by_group", "hits"):
            told[key][name] = read(key, name)[:, -1].mean(0)
        told["reach"][name], told["below"][name] = _spectra(results, "text", {"momentum": momentum, "schedule": name})
    difference = lambda key: _interval(read(key, SHIPPED) - read(key, EXACT))
    told["extra_loss"] = difference("test")
    told |= {f"extra_{key}": {k: v[-1] for k, v in difference(key).items()} for key in ("by_group", "hits")}
    first = results.draws["text"].flat[0]
    return told | {key: first[key] for key in ("step", "unigram", "bigram", "origin")}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """plain: without momentum the share ends at 1. momentum: with it the loss is noticed while it remembers. law: the
    share is ρ of the momentum's reach. clock: that reach is that of the items not learnt. remedy: a longer schedule
    loses nothing. recall: the ratio of the times until W_V stores half of the outputs is 1. text: the extra loss is 0,
    to `SAME_LOSS`, and the model beats the bigrams. All are statements for these sizes.
    """
    parts = ("plain", "momentum", "law", "clock", "remedy", "recall", "text")
    verdicts = {name: equivalence([]) for name in parts}
    if "memory" in config.parts:
        verdicts |= _judge_memory(config, measured["memory"], predicted["memory"], measured["remedy"])
    if "recall" in config.parts:
        verdicts["recall"] = _judge_recall(config, measured["recall"])
    if "text" in config.parts:
        verdicts["text"] = _judge_text(config, measured["text"])
    return verdicts


def _judge_memory(config, measured: dict, predicted: dict, remedy: dict) -> dict[str, dict]:
    steepest, memory = f"{config.alphas[-1]:g}", 1 / (1 - np.array(config.momenta[1:]))

    def shares(case: str, keep, **given) -> list[dict]:
        told = {key: np.asarray(measured[case][key])[keep] for key in ("share", "low", "high", "probes")}
        given = {"low": told["low"], "high": told["high"], "at": told["probes"].astype(int)} | given
        return numbers(f"share, {case}, step", told["share"], draws=config.seeds, **given)

    plain = []
    for alpha in config.alphas:
        first = {"the first step's share": measured[f"{alpha:g} 0"]["share"][0]}
        plain += shares(f"{alpha:g} 0", slice(-1, None), law=1.0, band=SIZES, rivals=first)

    remembering = [(f"{steepest} {beta:g}", m) for beta, m in zip(config.momenta[1:], memory, strict=True)]
    remembering.append((f"{steepest} {config.momenta[-1]:g} Nesterov", memory[-1]))
    noticed = []
    for case, m in remembering:
        told = measured[case]
        keep = np.asarray(told["probes"]) <= m * (1 + 1e-9)
        share, low, high = (1 - np.asarray(told[key])[keep] for key in ("share", "high", "low"))
        at = np.asarray(told["probes"])[keep].astype(int)
        given = {"low": low, "high": high, "limit": 1 - NOTICED, "scale": DIFFERENCE, "at": at}
        noticed += numbers(f"share lost, {case}, step", share, draws=config.seeds, **given)

    law, clock = [], []
    for case in (case for case in measured if case in predicted and "reach" in predicted[case]):
        own, reach = measured[case], np.asarray(measured[case]["reach"][SHIPPED])
        rivals = {
            "no loss": 1.0,
            "the first step's share": own["share"][0],
            "in proportion to the reach": np.minimum(1.0, reach),
        }
        law += shares(case, slice(None), law=predicted[case]["share"], band=LAW_BAND, rivals=rivals)
        step, beta = np.asarray(own["probes"]), float(case.split()[1])
        for name in (EXACT, SHIPPED):
            found, told = np.asarray(own["reach"][name]), np.asarray(predicted[case]["reach"][name])
            grown, keep = (1 - beta**step) / (1 - beta), found <= EXACT_FROM
            rivals = {
                "it stays as it was": found[0] + 0 * found,
                "the head alone is forgotten": found[0] * beta ** (1.0 - step),
                "nothing else is learnt": found[0] * grown * beta ** (1.0 - step),
            }
            given = {"law": told[keep], "band": CLOCK_BAND, "rivals": {key: own[keep] for key, own in rivals.items()}}
            at = step[keep].astype(int)
            clock += numbers(f"reach, {case}, {name}, step", found[keep], draws=config.seeds, at=at, **given)

    worst = measured[f"{steepest} {config.momenta[-1]:g}"]["share"]
    given = {"low": remedy["low"], "high": remedy["high"], "law": 1.0, "band": SIZES, "rivals": {"five steps": worst}}
    return {
        "plain": equivalence(plain),
        "momentum": order(noticed),
        "law": equivalence(law),
        "clock": equivalence(clock),
        "remedy": equivalence(numbers("share of the remedy, probe", remedy["mean"], draws=config.seeds, **given)),
    }


def _judge_recall(config, measured: dict) -> dict:
    """Every seed must have got to one half, or its time is only a bound."""
    if any(told["late"] for told in measured.values()):
        return equivalence([])
    made = []
    for name, told in measured.items():
        ratio, rivals = told["ratio"], {"a quarter more": 1.25, "a fifth less": 0.8}
        given = {"low": ratio["low"], "high": ratio["high"], "law": 1.0, "band": NETWORK, "rivals": rivals}
        made += numbers(f"time with five steps over exact, {name}", ratio["mean"], draws=config.network_seeds, **given)
    return equivalence(made)


def _judge_text(config, measured: dict) -> dict:
    """A model that knows no more than bigrams has learnt nothing that could be judged."""
    if max(values[-1] for values in measured["test"].values()) >= measured["bigram"]:
        return equivalence([])
    extra = measured["extra_loss"]
    gained = measured["unigram"] - measured["test"][EXACT][-1]
    rivals = {"a tenth of what is learnt": gained / 10, "what is learnt beyond bigrams": 1.0 * _beyond(measured)}
    given = {"low": extra["low"][-1], "high": extra["high"][-1], "law": 0.0, "band": SAME_LOSS, "scale": DIFFERENCE}
    found = (extra["low"][-1] + extra["high"][-1]) / 2
    return equivalence(numbers("extra loss in nats", found, draws=config.network_seeds, rivals=rivals, **given))


def _beyond(measured: dict) -> float:
    return float(measured["bigram"] - measured["test"][EXACT][-1])


def _interval(values: np.ndarray, name: str = "mean") -> dict:
    """Mean over the draws, the first axis, and its 95 % interval by Student's t; NaN for a single draw."""
    count, mean = len(values), values.mean(0)
    half = student_t.ppf(0.975, count - 1) * standard_error(values, 0) if count > 1 else np.full(mean.shape, np.nan)
    found = {name: mean, "low": mean - half, "high": mean + half}
    return {key: np.asarray(value) for key, value in found.items()}


def _half_time(steps, shares) -> float:
    """The step at which a share first reaches one half, linear between two probes; the last one if never."""
    k = next((k for k, value in enumerate(shares) if value >= STORED), None)
    if not k:
        return float(steps[-1] if k is None else steps[0] or 1)
    part = (STORED - shares[k - 1]) / (shares[k] - shares[k - 1])
    return float(steps[k - 1] + part * (steps[k] - steps[k - 1]))


def _spectra(results: Results, part: str, at: dict) -> tuple[dict, dict]:
    """By matrix the reach, geometric mean over seeds, and the share below, by probe."""
    names = results.draws[part].flat[0]["spectra"]["median"]
    slope = expected.slope(SHIPPED)
    read = lambda key, name: results.array(part, "spectra", key, name, **at)
    reach = {name: slope * np.exp(np.log(read("median", name)).mean(0)) for name in names}
    return reach, {name: read("below", name).mean(0) for name in names}
