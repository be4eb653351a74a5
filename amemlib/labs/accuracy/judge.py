"""What the lab says of its numbers: shares kept by step, the two laws of the momentum, times and losses of networks."""

import math

import numpy as np
from scipy.stats import t as student_t

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.accuracy import expected
from amemlib.labs.accuracy.memory import EXACT, SHIPPED
from amemlib.problem import Problem
from amemlib.verdicts import refuse, verdict

CLOSED = 0.1
"""How far from 1 the share at the end of a run without momentum may lie."""
NOTICED = 0.8
"""The share below which a loss is called noticed: its 95 % interval lies below it as long as the momentum remembers."""
LAW_BAND = 0.2
"""How far a share may lie from that of one step on the momentum's spectrum, beyond two standard errors: the spectrum of
a momentum has not the shape of the gradient's, and W holds what earlier steps stored."""
CLOCK_BAND = 10**0.5
"""Within which factor the reach of the momentum must lie of that of the items not learnt yet: what W pulls at learnt
items is left out, which on exploratory seeds made it up to 2.9 times too large. It says when, not how much."""
EXACT_FROM = 3.0
"""Beyond this reach nothing is lost, and how large it is does not matter."""
REMEDY_BAND = 0.05
"""How far from 1 the remedy's share may lie, beyond two standard errors."""
SAME_TIME = 1.25
"""Within which factor two times to one half count as one."""
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
        read = lambda key, name, case=case: results.array("memory", key, case=case, schedule=name).astype(float)  # noqa: E731
        told = {key: {} for key in ("count", "error", "left", "reach", "below")}
        for name in (EXACT, SHIPPED):
            told["count"][name] = read("count", name).mean(0).tolist()
            told["error"][name] = standard_error(read("count", name), 0).tolist()
            told["left"][name] = read("left", name).mean(0).tolist()
            told["below"][name] = read("below", name).mean(0).tolist()
            told["reach"][name] = (slope * np.exp(np.log(read("median", name)).mean(0))).tolist()
        told |= _interval(read("count", SHIPPED) / read("count", EXACT), "share")
        told |= {"extra_loss": _interval(read("loss", SHIPPED) - read("loss", EXACT))}
        probes = told["probes"] = [t for t in config.probes if t <= arguments["steps"]]
        problem = Problem.power_law(config.n_items, config.dim, arguments["alpha"])
        curve = curves.setdefault(arguments["alpha"], expected.share_curve(problem))
        of = lambda name, t, problem=problem, told=told, beta=arguments["momentum"]: expected.remembered_median(  # noqa: E731
            problem, told["probes"], told["left"][name], beta, t
        )
        predicted[case] = {"share": expected.share_at(told["reach"][SHIPPED], curve).tolist()}
        if arguments["momentum"]:
            predicted[case]["reach"] = {name: [slope * of(name, t) for t in probes] for name in (EXACT, SHIPPED)}
        measured[case] = told
    return measured, predicted


def _recall(config, results: Results, momentum: float) -> dict:
    times, told = {}, {"ood": {}, "recall": {}, "half_time": {}, "reach": {}, "below": {}}
    (steps,) = {
        tuple(row)
        for row in results.array("recall", "step")
        .reshape(-1, 1 + -(-config.recall_steps // config.probe_every))
        .tolist()
    }
    for name in (EXACT, SHIPPED):
        at = {"momentum": momentum, "schedule": name}
        stored = results.array("recall", "recall", **at)
        told["recall"][name] = stored.mean(0).tolist()
        told["ood"][name] = results.array("recall", "ood", **at).mean(0).tolist()
        times[name] = told["half_time"][name] = [_half_time(steps, row) for row in stored]
        told["reach"][name], told["below"][name] = _spectra(results, "recall", at)
    logs = [math.log(times[SHIPPED][k] / times[EXACT][k]) for k in range(config.network_seeds)]
    found = {key: math.exp(value) for key, value in _interval(np.array(logs)).items()}
    late = [k for k in range(config.network_seeds) if max(times[name][k] for name in times) >= steps[-1]]
    return told | {"step": list(steps), "ratio": found, "late": len(late)}


def _text(config, results: Results) -> dict:
    (momentum,) = results.grids["text"].axes["momentum"]
    told = {"test": {}, "by_group": {}, "hits": {}, "reach": {}, "below": {}}
    read = lambda key, name: results.array("text", key, momentum=momentum, schedule=name)  # noqa: E731
    for name in (EXACT, SHIPPED):
        told["test"][name] = read("test", name).mean(0).tolist()
        for key in ("by_group", "hits"):
            told[key][name] = read(key, name)[:, -1].mean(0).tolist()
        told["reach"][name], told["below"][name] = _spectra(results, "text", {"momentum": momentum, "schedule": name})
    difference = lambda key: _interval(read(key, SHIPPED) - read(key, EXACT))  # noqa: E731
    told["extra_loss"] = difference("test")
    told |= {f"extra_{key}": {k: v[-1] for k, v in difference(key).items()} for key in ("by_group", "hits")}
    first = results.draws["text"].flat[0]
    return told | {key: first[key] for key in ("step", "unigram", "bigram", "origin")}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """plain: without momentum the share ends at 1. momentum: with it the loss is noticed while it remembers. law: the
    share is ρ of the momentum's reach. clock: that reach is that of the items not learnt. remedy: a longer schedule
    loses nothing. recall: the ratio of the times until W_V stores half of the outputs lies within `SAME_TIME`, with its
    interval. text: the extra loss lies within `SAME_LOSS`, alike, and the model beats the bigrams. All are statements
    for these sizes, so both answers are one.
    """
    verdicts = dict.fromkeys(("plain", "momentum", "law", "clock", "remedy", "recall", "text"), verdict(None, None))
    if "memory" in config.parts:
        verdicts |= _judge_memory(config, measured["memory"], predicted["memory"], measured["remedy"])
    if "recall" in config.parts:
        verdicts["recall"] = _judge_recall(config, measured["recall"])
    if "text" in config.parts:
        verdicts["text"] = _judge_text(config, measured["text"])
    return verdicts


def _judge_memory(config, measured: dict, predicted: dict, remedy: dict) -> dict[str, dict]:
    steepest, memory = f"{config.alphas[-1]:g}", 1 / (1 - np.array(config.momenta[1:]))
    plain = [f"{alpha:g} 0" for alpha in config.alphas]
    is_last = lambda law: all(abs(measured[c]["share"][-1] - law[c]) <= CLOSED for c in plain)  # noqa: E731
    first = {c: measured[c]["share"][0] for c in plain}
    ends = is_last(dict.fromkeys(plain, 1.0))
    verdicts = {"plain": (ends, refuse(is_last, {"the first step's share": first}))}

    remembering = [(f"{steepest} {beta:g}", m) for beta, m in zip(config.momenta[1:], memory, strict=True)]
    remembering.append((f"{steepest} {config.momenta[-1]:g} Nesterov", memory[-1]))

    def is_noticed(shares: dict) -> bool:
        return all(
            value < NOTICED
            for case, m in remembering
            for t, value in zip(measured[case]["probes"], shares[case], strict=False)
            if t <= m * (1 + 1e-9)
        )

    ends = is_noticed({case: measured[case]["high"] for case, _ in remembering})
    without = {case: measured[f"{steepest} 0"]["share"] for case, _ in remembering}
    rivals = {
        "as without momentum": without,
        "no loss": {case: [1.0] * len(measured[case]["share"]) for case, _ in remembering},
    }
    verdicts["momentum"] = (ends, refuse(is_noticed, rivals))

    having = [case for case in measured if case in predicted and "reach" in predicted[case]]
    row = lambda key: np.concatenate([np.array(measured[case][key], float) for case in having])  # noqa: E731
    share = row("share")
    half = (row("high") - row("low")) / 2
    is_law = lambda law: bool((np.abs(share - law) <= LAW_BAND + np.nan_to_num(half)).all())  # noqa: E731
    reaches = [measured[case]["reach"][SHIPPED] for case in having]
    rivals = {
        "no loss": np.ones(len(share)),
        "the first step's share": np.concatenate(
            [[measured[c]["share"][0]] * len(measured[c]["share"]) for c in having]
        ),
        "in proportion to the reach": np.minimum(1.0, np.concatenate(reaches)),
    }
    law = np.concatenate([predicted[case]["share"] for case in having])
    verdicts["law"] = (is_law(law), refuse(is_law, rivals))

    pairs = [(case, name) for case in having for name in (EXACT, SHIPPED)]
    found = np.concatenate([measured[case]["reach"][name] for case, name in pairs])
    told = np.concatenate([predicted[case]["reach"][name] for case, name in pairs])

    def is_clock(law) -> bool:
        off = np.abs(np.log(found / np.array(law)))
        return bool((off <= math.log(CLOCK_BAND))[found <= EXACT_FROM].all())

    beta = np.concatenate([[float(c.split()[1])] * len(measured[c]["probes"]) for c, _ in pairs])
    step = np.concatenate([measured[case]["probes"] for case, _ in pairs])
    start = np.concatenate([[measured[c]["reach"][n][0]] * len(measured[c]["probes"]) for c, n in pairs])
    grown = (1 - beta**step) / (1 - beta)
    rivals = {
        "it stays as it was": start,
        "the head alone is forgotten": start * beta ** (1.0 - step),
        "nothing else is learnt": start * grown * beta ** (1.0 - step),
    }
    verdicts["clock"] = (is_clock(told), refuse(is_clock, rivals))

    share, half = (
        np.array(remedy["mean"], float),
        (np.array(remedy["high"], float) - np.array(remedy["low"], float)) / 2,
    )
    is_remedy = lambda law: bool((np.abs(share - law) <= REMEDY_BAND + np.nan_to_num(half)).all())  # noqa: E731
    worst = measured[f"{steepest} {config.momenta[-1]:g}"]["share"]
    verdicts["remedy"] = (is_remedy(1.0), refuse(is_remedy, {"five steps": np.array(worst)}))
    return {name: verdict(met, met, refused, config.seeds) for name, (met, refused) in verdicts.items()}


def _judge_recall(config, measured: dict) -> dict:
    """Every seed must have got to one half, or its time is only a bound."""
    if any(told["late"] for told in measured.values()):
        return verdict(None, None)
    allows = lambda law: all(told["ratio"]["low"] <= law <= told["ratio"]["high"] for told in measured.values())  # noqa: E731
    within = all(
        1 / SAME_TIME <= told["ratio"]["low"] and told["ratio"]["high"] <= SAME_TIME for told in measured.values()
    )
    rivals = {"twice the time": 2.0, "half the time": 0.5, "a quarter more": SAME_TIME, "a fifth less": 1 / SAME_TIME}
    return verdict(within, within, refuse(allows, rivals), config.network_seeds)


def _judge_text(config, measured: dict) -> dict:
    """A model that knows no more than bigrams has learnt nothing that could be judged."""
    if max(values[-1] for values in measured["test"].values()) >= measured["bigram"]:
        return verdict(None, None)
    low, high = (measured["extra_loss"][key][-1] for key in ("low", "high"))
    within = -SAME_LOSS <= low and high <= SAME_LOSS
    gained = measured["unigram"] - measured["test"][EXACT][-1]
    rivals = {"a twentieth of a nat": SAME_LOSS, "a tenth of what is learnt": gained / 10, "better": -SAME_LOSS}
    return verdict(within, within, refuse(lambda law: low <= law <= high, rivals), config.network_seeds)


def _interval(values: np.ndarray, name: str = "mean") -> dict:
    """Mean over the draws, the first axis, and its 95 % interval by Student's t; NaN for a single draw."""
    count, mean = len(values), values.mean(0)
    half = student_t.ppf(0.975, count - 1) * standard_error(values, 0) if count > 1 else np.full(mean.shape, np.nan)
    found = {name: mean, "low": mean - half, "high": mean + half}
    return {key: np.asarray(value).tolist() for key, value in found.items()}


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
    read = lambda key, name: results.array(part, "spectra", key, name, **at)  # noqa: E731
    reach = {name: (slope * np.exp(np.log(read("median", name)).mean(0))).tolist() for name in names}
    return reach, {name: read("below", name).mean(0).tolist() for name in names}
