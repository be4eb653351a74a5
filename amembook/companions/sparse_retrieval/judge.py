"""Measured numbers beside predicted ones, and the verdicts."""

import numpy as np

from amembook.companions.sparse_retrieval import expected
from amembook.companions.sparse_retrieval.measure import FEWEST, GROWTH
from amembook.run.base import MAPS, Results, scaled, slope, standard_error
from amembook.run.claims import (
    DIFFERENCE,
    EXPONENT,
    SIZES,
    SMALL,
    SMALL_DIM,
    check,
    count_band,
    equivalence,
    numbers,
    order,
)
from amembook.run.study import above, by_part, claims_by_part, means
from amemlib.equivalents import expected_capacity
from amemlib.problem import Problem

PARTS = ("memory", "needed", "needed-many", "attention", "small", "recurrent", "heads", "power")
HEAD_BAND = 0.02
EASY, HARD = 4, 8  # labels over N d from which attention has a low risk; up to which a feed-forward network has not


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Of the parts that were measured: risks of memories; labels needed by case; trained networks; heads; counts under
    a power law, by map.

    predicted: the same where there is a law; `laws`, what each says of every case of one step.
    """
    summaries = (_memory, _needed, _many, _attention, _small, _recurrent, _heads, _power)
    return by_part(config, results, dict(zip(PARTS, summaries, strict=True)))


def _memory(config, results: Results) -> tuple[dict, dict]:
    risks = means({key: results.array("memory", key) for key in ("linear", "softmax")})
    return {"memory": risks}, {"memory": [expected.memory_risk(N, config.memory_dim) for N in config.memory_positions]}


def _needed(config, results: Results) -> tuple[dict, dict]:
    sizes = [list(case.values()) for case in results.grids["needed"].axes["case"].values()]
    N, m = np.transpose(sizes).astype(float)
    ours = [expected.needed(int(n), int(code), config.level, n) for n, code in sizes]
    laws = {
        "ours": ours,
        "2 N log N": 2 * N * np.log(N),
        "2 log N (N + m)": 2 * np.log(N) * (N + m),
        "N + m": N + m,
        "N m": N * m,
        "log N": np.log(N),
    }
    measured = {"cases": sizes} | means({"needed": results.array("needed", "needed")})
    shared = [expected.shared_on_grid(*size, config.level, 1, FEWEST, GROWTH, config.law_draws) for size in sizes]
    return measured, {"needed": ours, "laws": laws, "shared_needed": shared}


def _many(config, results: Results) -> tuple[dict, dict]:
    measured = means({"many": results.array("needed-many", "needed")})
    measured["many_slope"] = slope(config.positions, measured["many"])
    m, level = config.base_code, config.level
    law = lambda n: expected.shared_on_grid(n, m, level, n, FEWEST, GROWTH, config.law_draws)
    return measured, {
        "many": [expected.needed(n, m, level, 2.0) for n in config.positions],
        "shared_many": list(map(law, config.positions)),
    }


def _attention(config, results: Results) -> tuple[dict, dict]:
    medians = dict(zip(("one", "many"), np.median(results.array("attention", "needed"), 2), strict=True))
    slopes = {key: slope(config.lengths, needed) for key, needed in medians.items()}
    return {"attention": medians, "attention_slope": slopes}, {}


def _small(config, results: Results) -> tuple[dict, dict]:
    draws = {key: results.array("small", key) for key in ("feed_forward", "attention")}
    measured = {"small": {key: np.median(risks, 1) for key, risks in draws.items()}}
    measured |= {"small_least": {key: risks.min(1) for key, risks in draws.items()}}
    law = [expected.span_floor(n, config.small_positions, config.dim) for n in config.small_samples]
    return measured, {"small": law}


def _recurrent(config, results: Results) -> tuple[dict, dict]:
    draws = dict(zip(("before", "after"), results.array("recurrent", "risk"), strict=True))
    return {"recurrent": {key: np.median(risks, 1) for key, risks in draws.items()}, "recurrent_draws": draws}, {}


def _heads(config, results: Results) -> tuple[dict, dict]:
    pairs = [[pair["heads"], pair["targets"]] for pair in results.grids["heads"].axes["heads"].values()]
    measured = {"pairs": pairs, "heads": results.array("heads", "risk").mean(1)}
    return measured, {"heads": [expected.heads_floor(*pair) for pair in pairs]}


def _power(config, results: Results) -> tuple[dict, dict]:
    measured = {}
    for codes in ("shared", "independent"):
        counts = {key: results.array("power", codes, key) for key in MAPS}
        of = lambda moment, counts=counts: {key: moment(draws, 2) for key, draws in counts.items()}
        measured |= {codes: of(np.mean), f"{codes}_error": of(standard_error), f"{codes}_least": of(np.min)}
    capacity = lambda key, n, alpha: float(expected_capacity(Problem.power_law(n, config.step_code, alpha), key))
    table = lambda key: [[capacity(key, n, alpha) for n in config.step_positions] for alpha in config.alphas]
    return measured, {"independent": {key: table(key) for key in MAPS}}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """Of the parts that were measured. memory: a linear state leaves the law's risk, a softmax none. one_step: labels
    are the law's. many: with N labels a sequence, sequences are the law's. shared_one, shared_many: the same for the
    law in which signal and noise share their questions, where a record has it; shared_short: of codes below 128.
    attention: trained, how the labels that it needs grow with N, one a sequence; the record keeps medians on a grid of
    powers of two. forward: a feed-forward network's least risk is above attention's where that learns. recurrent: asked
    after it reads, a gated network has a higher risk than asked before. heads: H heads leave 1 − H/q. shared: a polar
    step of shared codes is the identity, so it finds every position. independent: with independent codes counts are the
    main book's.
    """
    claims = (_judge_memory, _judge_needed, _judge_many, _judge_attention, _judge_small, _judge_recurrent)
    claims += (_judge_heads, _judge_power)
    return claims_by_part(config, measured, predicted, dict(zip(PARTS, claims, strict=True)))


def _judge_memory(config, measured: dict, predicted: dict) -> dict[str, dict]:
    N, m, risks = np.array(config.memory_positions), config.memory_dim, measured["memory"]
    rivals = {"full from N = m on": np.maximum(0, 1 - m / N), "N/(N + m/2)": N / (N + m / 2)}
    held_to = {"law": predicted["memory"], "band": SIZES, "at": N, "rivals": rivals}
    error = risks.get("linear_error", np.nan)
    memory = numbers("risk of the state at N =", risks["linear"], error, config.seeds, **held_to)
    memory += numbers(
        "risk of a softmax at N =", risks["softmax"], law=0, band=0.02, scale=DIFFERENCE, at=N, guard=True
    )
    return {"memory": equivalence(memory)}


def _judge_needed(config, measured: dict, predicted: dict) -> dict[str, dict]:
    laws = predicted["laws"]
    at = [f"{n:g}, {m:g}" for n, m in measured["cases"]]
    # ours for infinitely long codes is 2 N log N to leading order: it is the same law, no rival
    others = {name: law for name, law in laws.items() if name not in ("ours", "2 N log N")}
    rivals = {name: scaled(law, measured["needed"]) for name, law in others.items()}
    lengths = np.array([m for _, m in measured["cases"]])
    held_to = {"law": laws["ours"], "band": count_band(lengths), "at": at, "rivals": rivals}
    one_step = numbers("labels at N, m =", measured["needed"], measured["needed_error"], config.seeds, **held_to)
    verdicts = {"one_step": equivalence(one_step)}
    if "shared_needed" in predicted:
        rivals = {"signal and noise independent": laws["ours"], "2 N log N": laws["2 N log N"]}
        held_to = {"law": predicted["shared_needed"], "band": SMALL, "at": at, "rivals": rivals}
        shared = numbers("labels at N, m =", measured["needed"], measured["needed_error"], config.seeds, **held_to)
        for name, own in (("shared_one", lengths >= SMALL_DIM), ("shared_short", lengths < SMALL_DIM)):
            if own.any():
                verdicts[name] = equivalence([one for one, kept in zip(shared, own, strict=True) if kept])
    return verdicts


def _judge_many(config, measured: dict, predicted: dict) -> dict[str, dict]:
    positions = np.array(config.positions)
    rivals = {"one label's over N": predicted["needed"][: len(positions)] / positions, "√N": np.sqrt(positions)}
    held_to = {"law": predicted["many"], "band": count_band(config.base_code), "at": positions, "rivals": rivals}
    many = numbers("sequences at N =", measured["many"], measured["many_error"], config.seeds, **held_to)
    verdicts = {"many": equivalence(many)}
    if "shared_many" in predicted:
        rivals = {"signal and noise independent": predicted["many"], "4 log N": 4 * np.log(positions)}
        held_to = {"law": predicted["shared_many"], "band": SMALL, "at": positions, "rivals": rivals}
        shared = numbers("sequences at N =", measured["many"], measured["many_error"], config.seeds, **held_to)
        verdicts["shared_many"] = equivalence(shared)
    return verdicts


def _judge_attention(config, measured: dict, predicted: dict) -> dict[str, dict]:
    growths = {"N^(3/4)": 0.75, "N^(5/4)": 1.25, "N²": 2.0}
    held_to = {"limit": 1, "band": EXPONENT, "scale": DIFFERENCE, "rivals": growths}
    attention = numbers("exponent of N", measured["attention_slope"]["one"], np.nan, config.seeds, **held_to)
    return {"attention": equivalence(attention)}


def _judge_small(config, measured: dict, predicted: dict) -> dict[str, dict]:
    labels, at = np.array(config.small_samples), config.small_positions * config.dim
    judged = (labels >= EASY * at) & (labels <= HARD * at)
    forward = np.log(measured["small_least"]["feed_forward"] / measured["small"]["attention"])[judged]
    # of some draws the least above the median of others
    held_to = {"draws": config.seeds, "limit": 0, "scale": DIFFERENCE, "at": labels[judged]}
    return {"forward": order(numbers("log of the least risk over attention's at labels =", forward, **held_to))}


def _judge_recurrent(config, measured: dict, predicted: dict) -> dict[str, dict]:
    risks = measured["recurrent_draws"]
    log = np.log(risks["after"][-1] / risks["before"][-1])
    return {"recurrent": above(f"log of the risk after over before at N = {config.read_positions[-1]}", log)}


def _judge_heads(config, measured: dict, predicted: dict) -> dict[str, dict]:
    heads = np.abs(np.array(measured["heads"]) - predicted["heads"]).max()
    draws = config.seeds * len(measured["heads"])
    return {"heads": check(heads, HEAD_BAND, draws, "largest distance from the floor")}


def _judge_power(config, measured: dict, predicted: dict) -> dict[str, dict]:
    every = np.broadcast_to(config.step_positions, measured["shared_least"]["polar"].shape)
    lost = (every - measured["shared_least"]["polar"]).max()
    independent, at = [], [f"{a:g}, {n}" for a in config.alphas for n in config.step_positions]
    for name, other in zip(MAPS, reversed(MAPS), strict=True):
        counts, error = measured["independent"][name], measured.get("independent_error", {}).get(name, np.nan)
        rivals = {"as shared codes": measured["shared"][name], "the other map's": predicted["independent"][other]}
        held_to = {"law": predicted["independent"][name], "band": SMALL, "at": at, "rivals": rivals}
        independent += numbers(f"items by {name} at α, N =", counts, error, config.seeds, **held_to)
    return {
        "independent": equivalence(independent),
        "shared": check(lost, 0, config.seeds * every.size, "positions not found by a polar step"),
    }
