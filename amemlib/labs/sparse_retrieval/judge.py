"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import math

import numpy as np

from amemlib.equivalents import expected_capacity
from amemlib.experiments.base import Results, standard_error
from amemlib.labs.sparse_retrieval import expected
from amemlib.labs.sparse_retrieval.measure import MAPS
from amemlib.problem import Problem
from amemlib.verdicts import consistency, refuse, verdict

MEMORY_BAND = 0.02
"""How far a memory's risk may lie from its law, and a softmax's from 0."""
NEEDED_BAND, MANY_BAND = 0.3, 0.4
"""How far a number of labels may lie from its law, relative and beyond two standard errors: rivals count as
independent, which short codes are not, and scores are no Gaussians where few sequences hold many labels."""
SPREAD = math.log(1.4)
"""How far the ratio to a law may lie from its geometric mean over all sizes, as a logarithm."""
FREE = 0.5
"""Below what exponent of N the number of sequences with N labels each counts as nearly free of N."""
GROWTH, FEWER = (0.75, 2.0), 4.0
"""Between which exponents of N the labels that trained attention needs, one a sequence, are not free of N; how many
times fewer the sequences with N labels each are."""
HEAD_BAND = 0.06
"""How far a risk may lie from the floor of its heads."""
EASY, HARD = 4, 8
"""Labels over N d from which attention has a low risk; up to which a feed-forward network has not."""
APART = 10.0
"""From which ratio of risks on a recurrent network that is asked after it reads counts as failing where it need not."""
RARE, INDEPENDENT_BAND, INDEPENDENT_SLACK = 0.4, 0.2, 2.0
"""Below what share of the positions SGD's step counts as a caricature at α = 1.5; how far counts with independent codes
may lie from the core's."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Risks of memories; labels needed by case; trained networks; heads; counts under a power law, by map.

    predicted: the same where there is a law; `laws`, what each says of every case of one step.
    """
    measured, predicted = {}, {}
    for key in ("linear", "softmax"):
        measured.setdefault("memory", {})[key] = results.array("memory", key).mean(1).tolist()
    predicted["memory"] = [expected.memory_risk(N, config.memory_dim) for N in config.memory_positions]

    sizes = [list(case.values()) for case in results.grids["needed"].axes["case"].values()]
    measured["cases"] = sizes
    for name, grid in (("needed", "needed"), ("many", "needed-many")):
        found = results.array(grid, "needed")
        measured[name], measured[f"{name}_error"] = found.mean(1).tolist(), standard_error(found).tolist()
    N, m = np.transpose(sizes).astype(float)
    predicted["needed"] = [expected.needed(int(n), int(code), config.level, n) for n, code in sizes]
    predicted["many"] = [expected.needed(n, config.base_code, config.level, 2.0) for n in config.positions]
    predicted["laws"] = {
        "ours": predicted["needed"],
        "2 N log N": (2 * N * np.log(N)).tolist(),
        "2 log N (N + m)": (2 * np.log(N) * (N + m)).tolist(),
        "N + m": (N + m).tolist(),
        "N m": (N * m).tolist(),
        "log N": np.log(N).tolist(),
    }
    slope = lambda x, y: float(np.polyfit(np.log(x), np.log(y), 1)[0])  # noqa: E731
    measured["many_slope"] = slope(config.positions, measured["many"])

    told = results.array("attention", "needed")
    measured["attention"] = {key: np.median(told[k], 1).tolist() for k, key in enumerate(("one", "many"))}
    measured["attention_slope"] = {key: slope(config.lengths, found) for key, found in measured["attention"].items()}

    for key in ("feed_forward", "attention"):
        found = results.array("small", key)
        measured.setdefault("small", {})[key] = np.median(found, 1).tolist()
        measured.setdefault("small_least", {})[key] = found.min(1).tolist()
    predicted["small"] = [expected.span_floor(n, config.small_positions, config.dim) for n in config.small_samples]

    risks = results.array("recurrent", "risk")
    measured["recurrent"] = {key: np.median(risks[k], 1).tolist() for k, key in enumerate(("before", "after"))}
    measured["recurrent_draws"] = {key: risks[k].tolist() for k, key in enumerate(("before", "after"))}

    pairs = list(results.grids["heads"].axes["heads"].values())
    measured["pairs"] = [[pair["heads"], pair["targets"]] for pair in pairs]
    measured["heads"] = results.array("heads", "risk").mean(1).tolist()
    predicted["heads"] = [expected.heads_floor(*pair) for pair in measured["pairs"]]

    for codes in ("shared", "independent"):
        counts = {key: results.array("power", codes, key) for key in MAPS}
        measured[codes] = {key: found.mean(2).tolist() for key, found in counts.items()}
        measured[f"{codes}_least"] = {key: found.min(2).tolist() for key, found in counts.items()}
    problems = [
        [Problem.power_law(n, config.step_code, alpha) for n in config.step_positions] for alpha in config.alphas
    ]
    predicted["independent"] = {
        key: [[float(expected_capacity(problem, key)) for problem in row] for row in problems] for key in MAPS
    }
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """memory: a linear state leaves the law's risk, a softmax none; one answer to both questions.
    one_step: labels are the law's; limit: over all sizes proportional to it, so N log N and free of m.
    many: with N labels a sequence, sequences are the law's; limit: nearly free of N.
    attention: trained, it needs labels about as N, one a sequence; limit: and far fewer sequences with N labels each.
    forward: attention learns from few labels where a feed-forward network does not; its floor holds.
    recurrent: asked after it reads, a gated network fails where it does not when asked before.
    heads: H heads leave 1 − H/q.
    shared: a polar step finds every position; limit: and SGD's few, under α = 1.5.
    independent: with independent codes counts are the core's; one answer to both.
    """
    draws = config.seeds
    risk, soft = (np.array(measured["memory"][key]) for key in ("linear", "softmax"))
    is_risk = lambda law: bool((np.abs(risk - law) <= MEMORY_BAND).all())  # noqa: E731
    N = np.array(config.memory_positions)
    near = is_risk(predicted["memory"]) and bool((soft <= MEMORY_BAND).all())
    rivals = {"full from N = m on": np.maximum(0, 1 - config.memory_dim / N), "s": (N - 1) / config.memory_dim}
    verdicts = {"memory": verdict(near, near, refuse(is_risk, {name: np.array(law) for name, law in rivals.items()}))}

    found, error = _numbers(measured["needed"]), _errors(measured["needed_error"])
    laws = {name: _numbers(law) for name, law in predicted["laws"].items()}
    near = bool((np.abs(found - laws["ours"]) <= NEEDED_BAND * laws["ours"] + 2 * error).all())

    def is_proportional(law) -> bool:
        ratio = np.log(found / law)
        return bool((np.abs(ratio - ratio.mean()) <= SPREAD).all())

    # ours for infinitely long codes is 2 N log N to leading order: it is the same law, no rival
    others = {name: law for name, law in laws.items() if name not in ("ours", "2 N log N")}
    verdicts["one_step"] = verdict(near, is_proportional(laws["ours"]), refuse(is_proportional, others), draws)

    found, error = _numbers(measured["many"]), _errors(measured["many_error"])
    positions = np.array(config.positions, dtype=float)
    is_many = lambda law: bool((np.abs(found - law) <= MANY_BAND * law + 2 * error).all())  # noqa: E731
    rivals = {"one label's": np.array(predicted["needed"][: len(positions)]), "N": positions, "one": 1 + 0 * positions}
    law = _numbers(predicted["many"])
    verdicts["many"] = verdict(is_many(law), measured["many_slope"] < FREE, refuse(is_many, rivals), draws)

    slopes = measured["attention_slope"]
    grows = lambda x: GROWTH[0] <= x <= GROWTH[1]  # noqa: E731
    one, many = (_numbers(measured["attention"][key]) for key in ("one", "many"))
    rivals = {"free of N": 0.0, "√N": 0.5, "N³": 3.0}
    verdicts["attention"] = verdict(
        grows(slopes["one"]), bool((FEWER * many <= one).all()), refuse(grows, rivals), draws
    )

    least = config.small_positions * config.dim
    at = np.array(config.small_samples)
    forward, attention = (np.array(measured["small"][key]) for key in ("feed_forward", "attention"))
    learns = bool((attention[at >= EASY * least] <= config.solved).all())
    fails = lambda risks: bool((risks[at <= HARD * least] > config.solved).all())  # noqa: E731
    held = bool((np.array(measured["small_least"]["feed_forward"]) >= predicted["small"]).all())
    verdicts["forward"] = verdict(held, learns and fails(forward), refuse(fails, {"as attention": attention}), draws)

    before, after = (np.array(measured["recurrent"][key]) for key in ("before", "after"))
    harder = lambda risks: bool(risks[-1] >= APART * before[-1])  # noqa: E731
    able = bool((before <= config.solved).all())
    verdicts["recurrent"] = verdict(None, able and harder(after), refuse(harder, {"as asked before": before}), draws)

    off = np.array(measured["heads"]) - predicted["heads"]
    verdicts["heads"] = consistency(bool((np.abs(off) <= HEAD_BAND).all()), draws=draws * len(off))

    counts = {key: np.array(measured["shared_least"][key]) for key in ("sgd", "polar")}
    every = np.broadcast_to(np.array(config.step_positions), counts["polar"].shape)
    finds = lambda found: bool((found == every).all())  # noqa: E731
    few = None
    if 1.5 in config.alphas:
        k = config.alphas.index(1.5)
        few = bool((np.array(measured["shared"]["sgd"])[k] <= RARE * every[k]).all())
    independent = np.array(predicted["independent"]["polar"])
    rivals = {"as SGD": counts["sgd"], "as many as codes have entries": np.minimum(every, config.step_code)}
    rivals["as independent codes"] = independent
    verdicts["shared"] = verdict(finds(counts["polar"]), few, refuse(finds, rivals), draws)

    found = {key: np.array(measured["independent"][key]) for key in ("sgd", "polar")}

    def is_core(laws) -> bool:
        return all(
            bool((np.abs(found[key] - law) <= INDEPENDENT_BAND * np.array(law) + INDEPENDENT_SLACK).all())
            for key, law in laws.items()
        )

    rivals = {"as shared codes": measured["shared"], "Muon as SGD": predicted["independent"] | {"polar": found["sgd"]}}
    core = is_core(predicted["independent"])
    verdicts["independent"] = verdict(core, core, refuse(is_core, rivals), draws)
    return verdicts


def _numbers(values) -> np.ndarray:
    """A record's numbers as floats: None, which stands for NaN there, is NaN again."""
    return np.array(values, dtype=float)


def _errors(values) -> np.ndarray:
    """Standard errors, 0 where a single draw has none."""
    return np.nan_to_num(_numbers(values))
