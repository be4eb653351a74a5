"""Measured numbers beside predicted ones, and the verdicts."""

import math
from collections.abc import Sequence

import numpy as np

from amembook.companions.causal_graph.measure import LAWS, SAMPLES
from amembook.run.base import MAPS, Results, slope, slope_error, standard_error
from amembook.run.claims import DIFFERENCE, EXPONENT, NETWORK, SIZES, equivalence, numbers

LEVEL = 0.9
"""The share of edges that defines how many sequences are needed."""
Z_BAND = 4.5
"""How many standard errors a score may lie from its exact mean: with some five thousand scores, most of them nearly
independent, 4 are exceeded every third time and 4.5 one time in thirty."""
HITS = 10
"""From how many hits on the central limit theorem is held to its word, as for any count: a score moves where its parent
is in the query's state and its child in the target's, in about n/S² of n sequences. Below, scores are skewed."""
SHARE_BAND = 0.02
"""The band of a share of edges, as a difference: `SIZES` of half of them, and no wider than the bar fixed with the
design."""
GAP_EXPONENT = -2.0
"""The sample grows as one over the square of the gap while the noise stays as it is."""
GAP_RIVALS = {"one over the gap": -1.0, "gap^(−7/4)": -1.75, "one over its cube": -3.0}
SMALL_GAPS = 3
"""On how many of the smallest gaps the exponent is read: only there is the noise nearly constant."""
RECOVERED_AT = 16_384
"""The sample from which on every edge must be found: fixed with the design."""


def sequences_needed(n_sequences: Sequence[int], share: Sequence[float] | np.ndarray, level: float = LEVEL) -> float:
    """The sample size at which the share of edges first reaches `level`, linear in log n between two; NaN if never."""
    share = np.asarray(share, dtype=float)
    reached = np.flatnonzero(share >= level)
    if not len(reached):
        return math.nan
    k = reached[0]
    if k == 0:
        return float(n_sequences[0])
    at = (level - share[k - 1]) / (share[k] - share[k - 1])
    return float(n_sequences[k - 1] * (n_sequences[k] / n_sequences[k - 1]) ** at)


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Recovery and needed samples by case, scores, profiles by length, training by graph.

    measured and predicted alike: `recovered[map][case]`, a share for each of `n_sequences`; `needed[map][case]`;
    `spread[map][case]`; `gap_slope["sgd"]`, of log needed over log gap.
    measured: `scores[case]` of the first draw, its exact mean predicted as `exact_scores`; `worst_score[case]`, in
    standard errors; `profile[length]`, by lag, and `profile_limit`, extrapolated from the last two lengths;
    `training[quantity]` and `training[where][quantity][predictor]`, an entry for each of `graphs`.
    predicted: `population[map][case]`, the share of an infinite sample; `gap[case]`; `guesses[name][case]`;
    `profile[law]`, by lag.
    """
    names = list(results.grids["recovery"].axes["case"])
    by_case = lambda values: dict(zip(names, values, strict=True))
    mean = lambda measure, *keys: by_case(results.array(measure, *keys).mean(1))
    measured, predicted = {}, {}
    for part, measure in ((measured, "recovery"), (predicted, "expected")):
        part["recovered"] = {step: mean(measure, "recovered", step) for step in MAPS}
        part["spread"] = {step: mean(measure, "spread", step) for step in MAPS}
        part["needed"] = {
            step: {name: sequences_needed(config.n_sequences, curve) for name, curve in curves.items()}
            for step, curves in part["recovered"].items()
        }
    measured["scores"] = by_case(results.array("recovery", "scores")[:, 0])
    predicted["exact_scores"] = by_case(results.array("expected", "scores")[:, 0])
    curves = {step: results.array("recovery", "recovered", step) for step in MAPS}
    measured["recovered_error"] = {step: by_case(standard_error(curve)) for step, curve in curves.items()}
    needed = [[sequences_needed(config.n_sequences, draw) for draw in case] for case in curves["sgd"]]
    measured["needed_log_error"] = by_case(standard_error(np.log(needed)))
    measured["worst_score"] = by_case(_standard_scores(config, results).max((1, 2, 3)))
    for key in ("population", "guesses"):
        labels = results.draws["expected"].flat[0][key]
        predicted[key] = {label: mean("expected", key, label) for label in labels}
    predicted["gap"] = mean("expected", "gap")
    along = [
        name for name, given in results.grids["recovery"].axes["case"].items() if given["graph"] == config.graphs[0]
    ]
    smallest = sorted(along, key=predicted["gap"].get)[:SMALL_GAPS]
    gaps = [predicted["gap"][name] for name in smallest]
    for part in (measured, predicted):
        part["gap_slope"] = {"sgd": slope(gaps, [part["needed"]["sgd"][name] for name in smallest])}
    profile = results.array("profile", "scores")
    extrapolated = 2 * profile[-1] - profile[-2]
    measured["profile"] = dict(zip(map(str, config.lengths), profile.mean(1), strict=True))
    measured["profile_limit"] = extrapolated.mean(0)
    measured["profile_error"] = standard_error(extrapolated, 0)
    predicted["profile"] = {name: results.array("profile", "laws", name).mean((0, 1)) for name in LAWS}
    trained = results.draws["training"].flat[0]
    read = lambda *keys: results.array("training", *keys).mean(1)
    measured["training"] = {key: read(key) for key in ("recovered", "attention", "least_attention")} | {
        where: {
            quantity: {predictor: read(where, quantity, predictor) for predictor in trained[where][quantity]}
            for quantity in ("accuracy", "loss")
        }
        for where in ("inside", "outside")
    }
    for where in ("inside", "outside"):
        network, counts = (results.array("training", where, "accuracy", name) for name in ("network", "graph counts"))
        measured["training"][where]["ratio_error"] = standard_error(network / counts)
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """gradient: every score has its exact mean, and the limit of long contexts is our law and no other.

    edges: the share that the first gradient finds is as expected, and from 16,384 sequences on it is everything. Shares
    and needed samples are held to their expectation from `HITS` hits of a score on.
    sequences: how many are needed is as expected, and grows with the inverse square of the gap.
    muon: the shares after one polar step are as expected.
    training, shift: the network is as good as counting along the true edges, on kernels as in training and on others;
    the record may lack the error of that. It must find every edge.
    """
    draws, laws = config.seeds, predicted["profile"]
    edge, others = laws["ours"][1], {name: law for name, law in laws.items() if name != "ours"}
    lags = range(len(laws["ours"]))
    beside = {"limit": laws["ours"] / edge, "band": SIZES, "scale": DIFFERENCE, "at": lags}
    beside |= {"rivals": {name: law / edge for name, law in others.items()}}
    profile = numbers(
        "score over the edge's at lag",
        measured["profile_limit"] / edge,
        measured["profile_error"] / edge,
        draws,
        **beside,
    )
    beside = {"limit": 0, "band": Z_BAND, "scale": DIFFERENCE, "guard": True}
    worst = numbers("largest |score − its mean| in standard errors", max(measured["worst_score"].values()), **beside)

    least = HITS * config.n_states**2
    found = [k for k, n in enumerate(config.n_sequences) if n >= RECOVERED_AT]
    guesses = {name: {graph: share[graph] for graph in config.graphs} for name, share in predicted["guesses"].items()}
    edges = _shares(config, measured, "sgd", least, predicted["recovered"]["sgd"], {})
    for graph in config.graphs if found else ():
        share, error = (measured[key]["sgd"][graph][found] for key in ("recovered", "recovered_error"))
        given = {"limit": 1, "band": SHARE_BAND, "scale": DIFFERENCE, "at": [config.n_sequences[k] for k in found]}
        rivals = {name: guess[graph] for name, guess in guesses.items()}
        edges += numbers(f"every edge of the {graph}, n =", share, error, draws, rivals=rivals, **given)

    names = [name for name, law in predicted["needed"]["sgd"].items() if law >= least]
    needed, law = (np.array([of["needed"]["sgd"][name] for name in names]) for of in (measured, predicted))
    error = np.array([measured["needed_log_error"][name] for name in names]) * needed
    sequences = numbers("sequences needed,", needed, error, draws, law=law, band=SIZES, at=names)
    gaps = {name: predicted["gap"][name] for name in predicted["gap"] if name.startswith(config.graphs[0])}
    smallest = sorted(gaps, key=gaps.get)[:SMALL_GAPS]
    spread = [measured["needed_log_error"][name] for name in smallest]
    error = slope_error([gaps[name] for name in smallest], np.ones(len(smallest)), spread)
    fit, law = (of["gap_slope"]["sgd"] for of in (measured, predicted))
    rivals = {name: value - GAP_EXPONENT + law for name, value in GAP_RIVALS.items()}
    given = {"law": law, "limit": GAP_EXPONENT, "band": EXPONENT, "scale": DIFFERENCE, "rivals": rivals}
    sequences += numbers("exponent of the gap", fit, error, draws, **given)

    infinite = {name: [share] * len(config.n_sequences) for name, share in predicted["population"]["polar"].items()}
    rivals = {"the first gradient's shares": predicted["recovered"]["sgd"], "an infinite sample's": infinite}
    polar = _shares(config, measured, "polar", least, predicted["recovered"]["polar"], rivals)
    verdicts = {"gradient": profile + worst, "edges": edges, "sequences": sequences, "muon": polar}
    for name, where in (("training", "inside"), ("shift", "outside")):
        accuracy, recovered = measured["training"][where]["accuracy"], measured["training"]["recovered"]
        rivals = {peer: accuracy[peer] for peer in ("unigram counts", "previous counts")}
        given = {"law": accuracy["graph counts"], "band": NETWORK, "at": config.graphs, "rivals": rivals}
        error = measured["training"][where].get("ratio_error", np.nan) * accuracy["graph counts"]
        verdicts[name] = numbers("accuracy,", accuracy["network"], error, draws, **given)
        given = {"law": 1, "band": 0, "scale": DIFFERENCE, "at": config.graphs, "guard": True}
        verdicts[name] += numbers("share of the edges found,", recovered, **given)
    return {name: equivalence(judged) for name, judged in verdicts.items()}


def _shares(config, measured: dict, step: str, least: int, laws: dict, rivals: dict) -> list[dict]:
    """Shares of edges by case that a map finds, at every sample size from `least` on, beside their expectation."""
    judged, large = [], np.array(config.n_sequences) >= least
    at = np.array(config.n_sequences)[large]
    for case, law in laws.items():
        share, error = (np.asarray(measured[key][step][case])[large] for key in ("recovered", "recovered_error"))
        others = {name: np.asarray(of[case])[large] for name, of in rivals.items()}
        given = {"law": np.asarray(law)[large], "band": SHARE_BAND, "scale": DIFFERENCE, "at": at, "rivals": others}
        judged += numbers(f"share of the edges, {case}, n =", share, error, config.seeds, **given)
    return judged


def _standard_scores(config, results: Results) -> np.ndarray:
    """|measured − exact mean| of every score in standard errors, (cases, draws, T, T); 0 where j > i."""
    variance = results.array("expected", "sequence_variance") / (SAMPLES * max(config.n_sequences))
    variance = variance + results.array("expected", "scores_variance")
    off = np.abs(results.array("recovery", "scores") - results.array("expected", "scores"))
    return off / np.sqrt(np.where(variance > 0, variance, np.inf))
