"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import math
from collections.abc import Sequence

import numpy as np

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.causal_graph.measure import LAWS, MAPS, SAMPLES
from amemlib.verdicts import refuse, verdict

LEVEL = 0.9
"""The share of edges that defines how many sequences are needed."""
Z_BAND = 4.5
"""How many standard errors a score may lie from its exact mean: with some five thousand scores, most of them nearly
independent, 4 are exceeded every third time and 4.5 one time in thirty."""
HITS = 10
"""From how many hits on the central limit theorem is held to its word, as for any count: a score moves where its parent
is in the query's state and its child in the target's, in about n/S² of n sequences. Below, scores are skewed."""
SHARE_BAND = 0.02
"""How far a share of edges may lie from its expectation, beyond three standard errors: the kernels and the covariance
of the expectation are a sample too."""
COUNT_BAND = 0.1
"""The same for the number of sequences needed, relative and beyond two standard errors: that error moves a share near
0.9 as much as a tenth of n does."""
PROFILE_BAND = 0.04
"""How far an extrapolated score may lie from a law, in units of the edge's: the next order in 1/T at T = 256."""
GAP_EXPONENT, GAP_BAND = -2.0, 0.3
"""The sample grows as one over the square of the gap while the noise stays as it is; a third of the way to a rival."""
GAP_RIVALS = {"one over the gap": -1.0, "one over its cube": -3.0, "one over its fourth power": -4.0}
SMALL_GAPS = 3
"""On how many of the smallest gaps the exponent is read: only there is the noise nearly constant."""
ACCURACY_BAND = 0.02
"""How far a trained network may be from counting along the true edges: fixed with the design, before any run."""
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
    by_case = lambda values: dict(zip(names, np.asarray(values).tolist(), strict=True))  # noqa: E731
    mean = lambda measure, *keys: by_case(results.array(measure, *keys).mean(1))  # noqa: E731
    measured, predicted = {}, {}
    for told, measure in ((measured, "recovery"), (predicted, "expected")):
        told["recovered"] = {step: mean(measure, "recovered", step) for step in MAPS}
        told["spread"] = {step: mean(measure, "spread", step) for step in MAPS}
        told["scores" if told is measured else "exact_scores"] = by_case(results.array(measure, "scores")[:, 0])
        told["needed"] = {
            step: {name: sequences_needed(config.n_sequences, curve) for name, curve in curves.items()}
            for step, curves in told["recovered"].items()
        }
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
    for told in (measured, predicted):
        told["gap_slope"] = {"sgd": _gap_slope(predicted["gap"], told["needed"]["sgd"], along)}
    profile = results.array("profile", "scores")
    extrapolated = 2 * profile[-1] - profile[-2]
    measured["profile"] = dict(zip(map(str, config.lengths), profile.mean(1).tolist(), strict=True))
    measured["profile_limit"] = extrapolated.mean(0).tolist()
    measured["profile_error"] = standard_error(extrapolated, 0).tolist()
    predicted["profile"] = {name: results.array("profile", "laws", name).mean((0, 1)).tolist() for name in LAWS}
    trained = results.draws["training"].flat[0]
    read = lambda *keys: results.array("training", *keys).mean(1).tolist()  # noqa: E731
    measured["training"] = {key: read(key) for key in ("recovered", "attention", "least_attention")} | {
        where: {
            quantity: {predictor: read(where, quantity, predictor) for predictor in trained[where][quantity]}
            for quantity in ("accuracy", "loss")
        }
        for where in ("inside", "outside")
    }
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """gradient: every score has its exact mean, and the limit of long contexts is our law and no other.

    edges: the share that the first gradient finds is as expected, and from 16,384 sequences on it is everything. Shares
    and needed samples are held to their expectation from `HITS` hits of a score on.
    sequences: how many are needed is as expected, and grows with the inverse square of the gap.
    muon: the shares after one polar step are as expected; a prediction for these sizes, so both answers are one.
    training, shift: the network finds every edge and is as good as counting along them, on kernels as in training and
    on others; there is no other prediction for these sizes.
    """
    graphs, edge = config.graphs, predicted["profile"]["ours"][1]
    profile, band = _numbers(measured["profile_limit"]), PROFILE_BAND * edge + 2 * _errors(measured["profile_error"])
    is_limit = lambda law: bool((np.abs(profile - _numbers(law)) <= band).all())  # noqa: E731
    others = {name: law for name, law in predicted["profile"].items() if name != "ours"}
    exact = max(measured["worst_score"].values()) <= Z_BAND
    verdicts = {"gradient": verdict(exact, is_limit(predicted["profile"]["ours"]), refuse(is_limit, others))}

    least = HITS * config.n_states**2
    as_measured = {step: _share_rule(config, measured, step, least) for step in MAPS}
    judged = [k for k, n in enumerate(config.n_sequences) if n >= RECOVERED_AT]
    found = np.array([[measured["recovered"]["sgd"][graph][k] for k in judged] for graph in graphs])
    is_found = lambda share: bool((np.abs(found - share) == 0).all())  # noqa: E731
    guesses = {name: np.array([[share[graph]] for graph in graphs]) for name, share in predicted["guesses"].items()}
    verdicts["edges"] = verdict(
        as_measured["sgd"](predicted["recovered"]["sgd"]),
        is_found(1) if judged else None,
        refuse(is_found, guesses) if judged else (),
    )

    needed, expected = (_numbers(list(told["needed"]["sgd"].values())) for told in (measured, predicted))
    error, many = _errors(list(measured["needed_log_error"].values())), expected >= least
    is_needed = (np.abs(np.log(needed / expected)) <= COUNT_BAND + 2 * error)[many].all() if many.any() else None
    slope = _numbers(measured["gap_slope"]["sgd"])
    is_exponent = lambda exponent: bool(np.abs(slope - exponent) <= GAP_BAND)  # noqa: E731
    verdicts["sequences"] = verdict(is_needed, is_exponent(GAP_EXPONENT), refuse(is_exponent, GAP_RIVALS))

    population = {name: [share] * len(config.n_sequences) for name, share in predicted["population"]["polar"].items()}
    rivals = {"the first gradient's shares": predicted["recovered"]["sgd"], "an infinite sample's": population}
    as_expected = as_measured["polar"](predicted["recovered"]["polar"])
    verdicts["muon"] = verdict(as_expected, as_expected, refuse(as_measured["polar"], rivals))

    for name, where in (("training", "inside"), ("shift", "outside")):
        accuracy = measured["training"][where]["accuracy"]
        network = _numbers(accuracy["network"])
        is_rule = lambda rival, network=network: bool(  # noqa: E731
            (np.abs(network - _numbers(rival)) <= ACCURACY_BAND).all()
        )
        learnt = is_rule(accuracy["graph counts"]) and min(measured["training"]["recovered"]) == 1
        peers = {peer: accuracy[peer] for peer in ("unigram counts", "previous counts")}
        verdicts[name] = verdict(None, learnt, refuse(is_rule, peers))
    return verdicts


def _standard_scores(config, results: Results) -> np.ndarray:
    """|measured − exact mean| of every score in standard errors, (cases, draws, T, T); 0 where j > i."""
    variance = results.array("expected", "sequence_variance") / (SAMPLES * max(config.n_sequences))
    variance = variance + results.array("expected", "scores_variance")
    off = np.abs(results.array("recovery", "scores") - results.array("expected", "scores"))
    return off / np.sqrt(np.where(variance > 0, variance, np.inf))


def _gap_slope(gaps: dict[str, float], needed: dict[str, float], names: list[str]) -> float:
    """Slope of log n over log gap on the `SMALL_GAPS` cases of the smallest gaps; NaN where one of them has no n."""
    smallest = sorted(names, key=gaps.get)[:SMALL_GAPS]
    points = np.log([[gaps[name], needed[name]] for name in smallest])
    if len(points) < 2 or not np.isfinite(points).all():
        return math.nan
    return float(np.polyfit(*points.T, 1)[0])


def _share_rule(config, measured: dict, step: str, least: int):
    """Whether shares by case agree with the measured ones of a map, at every sample size from `least` on."""
    shares, errors = measured["recovered"][step], measured["recovered_error"][step]
    judged = np.array(config.n_sequences) >= least

    def rule(curves: dict[str, Sequence[float]]) -> bool:
        off = {name: np.abs(_numbers(shares[name]) - _numbers(curve)) for name, curve in curves.items()}
        return all((off[name] <= SHARE_BAND + 3 * _errors(errors[name]))[judged].all() for name in curves)

    return rule


def _numbers(values) -> np.ndarray:
    """A record's numbers as floats: None, which stands for NaN there, is NaN again."""
    return np.array(values, dtype=float)


def _errors(values) -> np.ndarray:
    """Standard errors, 0 where a single draw has none."""
    return np.nan_to_num(_numbers(values))
