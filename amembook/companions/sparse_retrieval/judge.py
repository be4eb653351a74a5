"""Measured numbers beside predicted ones, and the verdicts."""

import numpy as np

from amembook.companions.sparse_retrieval import expected
from amembook.run.base import MAPS, Results, scaled, slope, standard_error
from amembook.run.claims import DIFFERENCE, EXPONENT, SIZES, SMALL, check, count_band, equivalence, numbers, order
from amemlib.equivalents import expected_capacity
from amemlib.problem import Problem

HEAD_BAND = 0.02
"""How far a risk may lie from the floor of its heads: what 20,000 samples leave open."""
EASY, HARD = 4, 8
"""Labels over N d from which attention has a low risk; up to which a feed-forward network has not."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Risks of memories; labels needed by case; trained networks; heads; counts under a power law, by map.

    predicted: the same where there is a law; `laws`, what each says of every case of one step.
    """
    measured, predicted = {}, {}
    for key in ("linear", "softmax"):
        risks = results.array("memory", key)
        measured.setdefault("memory", {})[key] = risks.mean(1)
        measured["memory"][f"{key}_error"] = standard_error(risks)
    predicted["memory"] = [expected.memory_risk(N, config.memory_dim) for N in config.memory_positions]

    sizes = [list(case.values()) for case in results.grids["needed"].axes["case"].values()]
    measured["cases"] = sizes
    for name, grid in (("needed", "needed"), ("many", "needed-many")):
        found = results.array(grid, "needed")
        measured[name], measured[f"{name}_error"] = found.mean(1), standard_error(found)
    N, m = np.transpose(sizes).astype(float)
    predicted["needed"] = [expected.needed(int(n), int(code), config.level, n) for n, code in sizes]
    predicted["many"] = [expected.needed(n, config.base_code, config.level, 2.0) for n in config.positions]
    predicted["laws"] = {
        "ours": predicted["needed"],
        "2 N log N": 2 * N * np.log(N),
        "2 log N (N + m)": 2 * np.log(N) * (N + m),
        "N + m": N + m,
        "N m": N * m,
        "log N": np.log(N),
    }
    measured["many_slope"] = slope(config.positions, measured["many"])

    told = results.array("attention", "needed")
    measured["attention"] = {key: np.median(told[k], 1) for k, key in enumerate(("one", "many"))}
    measured["attention_slope"] = {key: slope(config.lengths, found) for key, found in measured["attention"].items()}

    for key in ("feed_forward", "attention"):
        found = results.array("small", key)
        measured.setdefault("small", {})[key] = np.median(found, 1)
        measured.setdefault("small_least", {})[key] = found.min(1)
    predicted["small"] = [expected.span_floor(n, config.small_positions, config.dim) for n in config.small_samples]

    risks = results.array("recurrent", "risk")
    measured["recurrent"] = {key: np.median(risks[k], 1) for k, key in enumerate(("before", "after"))}
    measured["recurrent_draws"] = {key: risks[k] for k, key in enumerate(("before", "after"))}

    pairs = list(results.grids["heads"].axes["heads"].values())
    measured["pairs"] = [[pair["heads"], pair["targets"]] for pair in pairs]
    measured["heads"] = results.array("heads", "risk").mean(1)
    predicted["heads"] = [expected.heads_floor(*pair) for pair in measured["pairs"]]

    for codes in ("shared", "independent"):
        counts = {key: results.array("power", codes, key) for key in MAPS}
        measured[codes] = {key: found.mean(2) for key, found in counts.items()}
        measured[f"{codes}_error"] = {key: standard_error(found, 2) for key, found in counts.items()}
        measured[f"{codes}_least"] = {key: found.min(2) for key, found in counts.items()}
    problems = [
        [Problem.power_law(n, config.step_code, alpha) for n in config.step_positions] for alpha in config.alphas
    ]
    predicted["independent"] = {
        key: [[float(expected_capacity(problem, key)) for problem in row] for row in problems] for key in MAPS
    }
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """memory: a linear state leaves the law's risk, a softmax none. one_step: labels are the law's. many: with N labels
    a sequence, sequences are the law's. attention: trained, how the labels that it needs grow with N, one a sequence;
    the record keeps medians on a grid of powers of two. forward: a feed-forward network's least risk is above
    attention's where that learns. recurrent: asked after it reads, a gated network has a higher risk than asked before.
    heads: H heads leave 1 − H/q. shared: a polar step of shared codes is the identity, so it finds every position.
    independent: with independent codes counts are the main book's. A record may lack the errors of memory and of
    independent.
    """
    draws, N = config.seeds, np.array(config.memory_positions)
    told = measured["memory"]
    rivals = {
        "full from N = m on": np.maximum(0, 1 - config.memory_dim / N),
        "N/(N + m/2)": N / (N + config.memory_dim / 2),
    }
    given = {"law": predicted["memory"], "band": SIZES, "at": N, "rivals": rivals}
    memory = numbers("risk of the state at N =", told["linear"], told.get("linear_error", np.nan), draws, **given)
    memory += numbers("risk of a softmax at N =", told["softmax"], law=0, band=0.02, scale=DIFFERENCE, at=N, guard=True)

    laws, positions = predicted["laws"], np.array(config.positions)
    at = [f"{n:g}, {m:g}" for n, m in measured["cases"]]
    # ours for infinitely long codes is 2 N log N to leading order: it is the same law, no rival
    others = {name: law for name, law in laws.items() if name not in ("ours", "2 N log N")}
    rivals = {name: scaled(law, measured["needed"]) for name, law in others.items()}
    lengths = np.array([m for _, m in measured["cases"]])
    given = {"law": laws["ours"], "band": count_band(lengths), "at": at, "rivals": rivals}
    one_step = numbers("labels at N, m =", measured["needed"], measured["needed_error"], draws, **given)
    rivals = {"one label's over N": predicted["needed"][: len(positions)] / positions, "√N": np.sqrt(positions)}
    given = {"law": predicted["many"], "band": count_band(config.base_code), "at": positions, "rivals": rivals}
    many = numbers("sequences at N =", measured["many"], measured["many_error"], draws, **given)

    growths = {"N^(3/4)": 0.75, "N^(5/4)": 1.25, "N²": 2.0}
    given = {"limit": 1, "band": EXPONENT, "scale": DIFFERENCE, "rivals": growths}
    attention = numbers("exponent of N", measured["attention_slope"]["one"], np.nan, draws, **given)

    labels, at = np.array(config.small_samples), config.small_positions * config.dim
    judged = (labels >= EASY * at) & (labels <= HARD * at)
    forward = np.log(measured["small_least"]["feed_forward"] / measured["small"]["attention"])[judged]
    # of some draws the least above the median of others
    given = {"draws": draws, "limit": 0, "scale": DIFFERENCE, "at": labels[judged]}
    forward = order(numbers("log of the least risk over attention's at labels =", forward, **given))
    risks = measured["recurrent_draws"]
    log = np.log(risks["after"][-1] / risks["before"][-1])
    given = {"limit": 0, "scale": DIFFERENCE}
    recurrent = numbers(
        f"log of the risk after over before at N = {config.read_positions[-1]}",
        log.mean(),
        standard_error(log, 0),
        draws,
        **given,
    )

    heads = np.abs(measured["heads"] - predicted["heads"]).max()
    every = np.broadcast_to(config.step_positions, measured["shared_least"]["polar"].shape)
    lost = (every - measured["shared_least"]["polar"]).max()
    independent = []
    for name, other in zip(MAPS, reversed(MAPS), strict=True):
        law = predicted["independent"][name]
        at = [f"{a:g}, {n}" for a in config.alphas for n in config.step_positions]
        rivals = {"as shared codes": measured["shared"][name], "the other map's": predicted["independent"][other]}
        given = {"law": law, "band": SMALL, "at": at, "rivals": rivals}
        independent += numbers(
            f"items by {name} at α, N =",
            measured["independent"][name],
            measured.get("independent_error", {}).get(name, np.nan),
            draws,
            **given,
        )
    verdicts = {"memory": memory, "one_step": one_step, "many": many, "attention": attention}
    verdicts = {name: equivalence(judged) for name, judged in (verdicts | {"independent": independent}).items()}
    return verdicts | {
        "forward": forward,
        "recurrent": order(recurrent),
        "heads": check(heads, HEAD_BAND, draws * len(measured["heads"]), "largest distance from the floor"),
        "shared": check(lost, 0, draws * every.size, "positions not found by a polar step"),
    }
