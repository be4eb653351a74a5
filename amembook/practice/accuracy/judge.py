"""Shares kept by step, the two laws of the momentum, times and losses of networks."""

import math
from collections.abc import Iterator

import numpy as np
from scipy.stats import t as student_t

from amembook.practice.accuracy.memory import EXACT, SHIPPED, SHIPPED_SLOPE, remembered_median, share_at, share_curve
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
        measured["text"] = _text(results)
    return measured, predicted


def _memory(config, results: Results) -> tuple[dict, dict]:
    measured, predicted, curves = {}, {}, {}
    for case, arguments in results.grids["memory"].axes["case"].items():
        alpha, beta = arguments["alpha"], arguments["momentum"]
        probes = [t for t in config.probes if t <= arguments["steps"]]
        read = lambda key, case=case: {
            name: results.array("memory", key, case=case, schedule=name).astype(float) for name in (EXACT, SHIPPED)
        }
        mean = lambda key, read=read: {name: values.mean(0) for name, values in read(key).items()}
        count, loss = read("count"), read("loss")
        measured[case] = {
            "count": mean("count"),
            "error": {name: standard_error(values, 0) for name, values in count.items()},
            "left": mean("left"),
            "reach": {name: _reach(values) for name, values in read("median").items()},
            "below": mean("below"),
            **_interval(count[SHIPPED] / count[EXACT], "share"),
            "extra_loss": _interval(loss[SHIPPED] - loss[EXACT]),
            "probes": probes,
        }
        problem = Problem.power_law(config.n_items, config.dim, alpha)
        if alpha not in curves:
            curves[alpha] = share_curve(problem)
        predicted[case] = {"share": share_at(measured[case]["reach"][SHIPPED], curves[alpha])}
        if beta:
            predicted[case]["reach"] = {
                name: [SHIPPED_SLOPE * remembered_median(problem, probes, left, beta, t) for t in probes]
                for name, left in measured[case]["left"].items()
            }
    return measured, predicted


def _recall(config, results: Results, momentum: float) -> dict:
    steps = results.draws["recall"].flat[0]["step"]
    curves = {"ood": {}, "recall": {}, "half_time": {}, "reach": {}, "below": {}}
    for name in (EXACT, SHIPPED):
        at = {"momentum": momentum, "schedule": name}
        stored = results.array("recall", "recall", **at)
        curves["recall"][name] = stored.mean(0)
        curves["ood"][name] = results.array("recall", "ood", **at).mean(0)
        curves["half_time"][name] = [_half_time(steps, row) for row in stored]
        curves["reach"][name], curves["below"][name] = _spectra(results, "recall", at)
    pairs = list(zip(*curves["half_time"].values(), strict=True))
    log_ratio = _interval(np.array([math.log(shipped / exact) for exact, shipped in pairs]))
    ratio = {key: math.exp(value) for key, value in log_ratio.items()}
    late = [pair for pair in pairs if max(pair) >= steps[-1]]
    return curves | {"step": steps, "ratio": ratio, "late": len(late)}


def _text(results: Results) -> dict:
    (momentum,) = results.grids["text"].axes["momentum"]
    curves = {"test": {}, "by_group": {}, "hits": {}, "reach": {}, "below": {}}
    read = lambda key, name: results.array("text", key, momentum=momentum, schedule=name)
    for name in (EXACT, SHIPPED):
        curves["test"][name] = read("test", name).mean(0)
        for key in ("by_group", "hits"):
            curves[key][name] = read(key, name)[:, -1].mean(0)
        curves["reach"][name], curves["below"][name] = _spectra(
            results, "text", {"momentum": momentum, "schedule": name}
        )
    difference = lambda key: _interval(read(key, SHIPPED) - read(key, EXACT))
    curves["extra_loss"] = difference("test")
    curves |= {f"extra_{key}": {k: v[-1] for k, v in difference(key).items()} for key in ("by_group", "hits")}
    first = results.draws["text"].flat[0]
    return curves | {key: first[key] for key in ("step", "unigram", "bigram", "origin")}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """plain: without momentum the share ends at 1. momentum: with it the loss is noticed while it remembers. law: the
    share is ρ of the momentum's reach. clock: that reach is that of the items not learnt. remedy: a longer schedule
    loses nothing. recall: the ratio of the times until W_V stores half of the outputs is 1. text: the extra loss is 0,
    to `SAME_LOSS`, and the model beats the bigrams. All are statements for these sizes.
    """
    parts = ("plain", "momentum", "law", "clock", "remedy", "recall", "text")
    verdicts = {name: equivalence([]) for name in parts}
    if "memory" in config.parts:
        verdicts |= _judge_memory(config, measured["memory"], predicted["memory"])
        worst = measured["memory"][f"{config.alphas[-1]:g} {config.momenta[-1]:g}"]["share"]
        sizes = {"law": 1.0, "band": SIZES, "rivals": {"five steps": worst}}
        verdicts["remedy"] = equivalence(
            _between("share of the remedy, probe", measured["remedy"], config.seeds, **sizes)
        )
    if "recall" in config.parts:
        verdicts["recall"] = _judge_recall(config, measured["recall"])
    if "text" in config.parts:
        verdicts["text"] = _judge_text(config, measured["text"])
    return verdicts


def _judge_memory(config, memory: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    steepest = f"{config.alphas[-1]:g}"

    def shares(case: str, keep=slice(None), **held_to) -> list[dict]:
        run = {key: memory[case][key][keep] for key in ("share", "low", "high", "probes")}
        at = run["probes"].astype(int)
        return _between(f"share, {case}, step", run, config.seeds, "share", at=at, **held_to)

    plain = []
    for alpha in config.alphas:
        first = {"the first step's share": memory[f"{alpha:g} 0"]["share"][0]}
        plain += shares(f"{alpha:g} 0", slice(-1, None), law=1.0, band=SIZES, rivals=first)
    yield "plain", equivalence(plain)

    remembers = {f"{steepest} {beta:g}": 1 / (1 - beta) for beta in config.momenta[1:]}
    remembers[f"{steepest} {config.momenta[-1]:g} Nesterov"] = 1 / (1 - config.momenta[-1])
    noticed = []
    for case, steps in remembers.items():
        run = memory[case]
        keep = run["probes"] <= steps * (1 + 1e-9)
        lost = {key: 1 - run[of][keep] for key, of in (("share", "share"), ("low", "high"), ("high", "low"))}
        held_to = {"limit": 1 - NOTICED, "scale": DIFFERENCE, "at": run["probes"][keep].astype(int)}
        noticed += _between(f"share lost, {case}, step", lost, config.seeds, "share", **held_to)
    yield "momentum", order(noticed)

    law, clock = [], []
    for case in (case for case in memory if "reach" in predicted[case]):
        run, step, beta = memory[case], memory[case]["probes"], float(case.split()[1])
        rivals = {
            "no loss": 1.0,
            "the first step's share": run["share"][0],
            "in proportion to the reach": np.minimum(1.0, run["reach"][SHIPPED]),
        }
        law += shares(case, law=predicted[case]["share"], band=LAW_BAND, rivals=rivals)
        for name, reach in run["reach"].items():
            grown, keep = (1 - beta**step) / (1 - beta), reach <= EXACT_FROM
            rivals = {
                "it stays as it was": reach[0] + 0 * reach,
                "the head alone is forgotten": reach[0] * beta ** (1.0 - step),
                "nothing else is learnt": reach[0] * grown * beta ** (1.0 - step),
            }
            kept = {rival: values[keep] for rival, values in rivals.items()}
            held_to = {"law": predicted[case]["reach"][name][keep], "band": CLOCK_BAND, "rivals": kept}
            at = step[keep].astype(int)
            clock += numbers(f"reach, {case}, {name}, step", reach[keep], draws=config.seeds, at=at, **held_to)
    yield "law", equivalence(law)
    yield "clock", equivalence(clock)


def _judge_recall(config, measured: dict) -> dict:
    """Every seed must have got to one half, or its time is only a bound."""
    if any(run["late"] for run in measured.values()):
        return equivalence([])
    held_to = {"law": 1.0, "band": NETWORK, "rivals": {"a quarter more": 1.25, "a fifth less": 0.8}}
    made = []
    for beta, run in measured.items():
        made += _between(f"time with five steps over exact, {beta}", run["ratio"], config.network_seeds, **held_to)
    return equivalence(made)


def _judge_text(config, measured: dict) -> dict:
    """A model that knows no more than bigrams has learnt nothing that could be judged."""
    if max(values[-1] for values in measured["test"].values()) >= measured["bigram"]:
        return equivalence([])
    low, high, exact = *(measured["extra_loss"][end][-1] for end in ("low", "high")), measured["test"][EXACT][-1]
    rivals = {
        "a tenth of what is learnt": (measured["unigram"] - exact) / 10,
        "what is learnt beyond bigrams": measured["bigram"] - exact,
    }
    extra = {"mean": (low + high) / 2, "low": low, "high": high}
    held_to = {"law": 0.0, "band": SAME_LOSS, "scale": DIFFERENCE, "rivals": rivals}
    return equivalence(_between("extra loss in nats", extra, config.network_seeds, **held_to))


def _between(name: str, values: dict, seeds: int, key: str = "mean", **held_to) -> list[dict]:
    """The numbers of what `_interval` made, on which a claim rests."""
    return numbers(name, values[key], low=values["low"], high=values["high"], draws=seeds, **held_to)


def _interval(values: np.ndarray, name: str = "mean") -> dict:
    """Mean over the draws, the first axis, and its 95 % interval by Student's t; NaN for a single draw."""
    count, mean = len(values), values.mean(0)
    half = student_t.ppf(0.975, count - 1) * standard_error(values, 0) if count > 1 else np.full(mean.shape, np.nan)
    return {name: mean, "low": mean - half, "high": mean + half}


def _half_time(steps, shares) -> float:
    """The step at which a share first reaches one half, linear between two probes; the last one if never."""
    k = next((k for k, value in enumerate(shares) if value >= STORED), None)
    if not k:
        return float(steps[-1] if k is None else steps[0] or 1)
    part = (STORED - shares[k - 1]) / (shares[k] - shares[k - 1])
    return float(steps[k - 1] + part * (steps[k] - steps[k - 1]))


def _reach(medians: np.ndarray) -> np.ndarray:
    """The geometric mean over the draws, the first axis, of the reach of the shipped schedule."""
    return SHIPPED_SLOPE * np.exp(np.log(medians).mean(0))


def _spectra(results: Results, part: str, at: dict) -> tuple[dict, dict]:
    """By matrix the reach and the share below, by probe."""
    names = results.draws[part].flat[0]["spectra"]["median"]
    read = lambda key, name: results.array(part, "spectra", key, name, **at)
    reach = {name: _reach(read("median", name)) for name in names}
    return reach, {name: read("below", name).mean(0) for name in names}
