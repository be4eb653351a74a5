"""`causal-graph`: how a two-layer attention network finds the causal graph of its sequences by gradient descent.

A study of Nichani, Damian and Lee, arXiv:2402.14735.

Claim: the gradient of the first attention layer encodes the mutual information between tokens, by the data-processing
inequality its largest entries are the edges of the latent causal graph, and gradient descent learns the task by
encoding that graph in the first attention layer (abstract).

Caveats: a score may lie 4.5 standard errors from its exact mean: of some five thousand, most of them nearly
independent, one exceeds that one time in thirty (4, every third time). Shares are held to 0.02, from ten hits of a
score on: it moves where its parent is in the query's state and its child in the target's, in n/S² of n sequences, and
is skewed below. Their errors, like those of the needed samples, are of the difference between a draw and its own
expectation (the first record, `confirm`, has those of the draws alone). The sample grows as one over the square of the
gap while the noise stays as it is, so that exponent is read on the three smallest gaps.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from amembook.companions.causal_graph import measure
from amembook.networks.tasks.causal import make_graph
from amembook.run.base import (
    MAPS,
    AscendingCounts,
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    Positive,
    Positives,
    Results,
    Several,
    draws,
    each,
    first_reached,
    slope,
    slope_error,
    some_of,
    standard_error,
)
from amembook.run.claims import DIFFERENCE, EXPONENT, NETWORK, SIZES, equivalence, numbers
from amembook.run.studies import headline
from amembook.run.study import by_part, claims_by_part
from amemlib.checks import check_count

LEVEL = 0.9
"""The share of edges that defines how many sequences are needed."""
Z_BAND = 4.5  # standard errors of a score from its exact mean
HITS = 10
SHARE_BAND = 0.02  # of a share of edges, as a difference
GAP_EXPONENT = -2.0
GAP_RIVALS = {"one over the gap": -1.0, "gap^(−7/4)": -1.75, "one over its cube": -3.0}
SMALL_GAPS = 3
RECOVERED_AT = 16_384  # the sample from which on every edge must be found, fixed with the design
PARTS = ("recovery", "profile", "training")
"""Edges that the first gradient finds, measured and expected; scores by length; trained networks."""

AscendingSizes = Annotated[AscendingCounts, each(partial(check_count, least=2))]


@dataclass(frozen=True)
class CausalGraphConfig(Config):
    """Sizes of the sequences, of the samples, of the exact mean, and of training by Adam."""

    graphs: tuple[str, ...] = ("chain", "lag-2", "tree")  # names of `make_graph`; α varies on the first
    n_states: Several = 6  # S
    length: Several = 16  # T
    alpha: Positive = 0.2  # of the rows of the kernels
    ood_alpha: Positive = 0.02  # of those that a trained network is tested on
    gap_alphas: Positives = (0.5, 1.0, 2.0, 5.0)  # the α of the sample-size law
    # of the contexts on which the limit of long sequences is judged, the last two by a factor of two
    lengths: AscendingSizes = (8, 16, 32, 64, 128, 256)
    n_sequences: AscendingSizes = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)  # of the sample
    profile_sequences: Count = 80_000  # sample at each of `lengths`
    n_blocks: Count = 50  # how often a sample size is tried at most
    n_kernels: Several = 400  # of the exact mean
    n_noise: Several = 20_000  # sequences for the covariance
    steps: Count = 300  # of Adam, as batch_size and lr
    batch_size: Count = 512
    lr: Positive = 0.1
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS  # what a record measures
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self):
        for graph in self.graphs:
            make_graph(graph, self.length, 0)
        if self.lengths[-1] != 2 * self.lengths[-2]:
            raise ValueError(f"lengths must end with a doubling, got {list(self.lengths)}")
        if "profile" in self.parts and "recovery" not in self.parts:
            raise ValueError(f"parts must hold recovery, judged beside profile, got {list(self.parts)}")


def cases(config: CausalGraphConfig) -> dict[str, dict]:
    """Graph and α of every recovery curve: each graph at `alpha`, then the first one at each of `gap_alphas`."""
    graphs, first = {graph: {"graph": graph, "alpha": config.alpha} for graph in config.graphs}, config.graphs[0]
    return graphs | {f"{first} {alpha:g}": {"graph": first, "alpha": alpha} for alpha in config.gap_alphas}


def grids(config: CausalGraphConfig) -> dict[str, Grid]:
    """Recovery measured and expected on the same graphs, the profile of scores by length, and trained networks."""
    axes = {"case": cases(config), "seed": draws(config)}
    every = {
        "recovery": {"recovery": Grid(measure.measure_recovery, axes), "expected": Grid(measure.expect_recovery, axes)},
        "profile": {"profile": Grid(measure.measure_profile, {"length": config.lengths, "seed": draws(config)})},
        "training": {"training": Grid(measure.measure_training, {"graph": config.graphs, "seed": draws(config)})},
    }
    return {name: grid for part in PARTS if part in config.parts for name, grid in every[part].items()}


def sequences_needed(n_sequences: Sequence[int], share, level: float = LEVEL) -> float:
    """The sample size at which the share of edges first reaches `level`, linear in log n between two; NaN if never."""
    x = np.log(n_sequences)
    return math.exp(first_reached(x, share, level, start=x[0]))


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
    return by_part(config, results, dict(zip(PARTS, (_recovery, _profile, _training), strict=True)))


def _recovery(config, results: Results) -> tuple[dict, dict]:
    names = list(results.grids["recovery"].axes["case"])
    by_case = lambda values: dict(zip(names, values, strict=True))
    mean = lambda grid, *keys: by_case(results.array(grid, *keys).mean(1))
    measured, predicted = {}, {}
    for part, grid in ((measured, "recovery"), (predicted, "expected")):
        for key in ("recovered", "spread"):
            part[key] = {step: mean(grid, key, step) for step in MAPS}
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
    # a draw's expectation is of its own graph: what both share is no error of their difference
    laws = {step: results.array("expected", "recovered", step) for step in MAPS}
    paired = {step: by_case(standard_error(curves[step] - laws[step])) for step in MAPS}
    expected = [[sequences_needed(config.n_sequences, draw) for draw in case] for case in laws["sgd"]]
    measured["paired_error"] = paired
    measured["needed_paired_log_error"] = by_case(standard_error(np.log(needed) - np.log(expected)))
    measured["worst_score"] = by_case(_standard_scores(config, results).max((1, 2, 3)))
    for key in ("population", "guesses"):
        labels = results.draws["expected"].flat[0][key]
        predicted[key] = {label: mean("expected", key, label) for label in labels}
    predicted["gap"] = mean("expected", "gap")
    gaps = _smallest_gaps(config, predicted["gap"])
    for part in (measured, predicted):
        part["gap_slope"] = {"sgd": slope(list(gaps.values()), [part["needed"]["sgd"][name] for name in gaps])}
    return measured, predicted


def _profile(config, results: Results) -> tuple[dict, dict]:
    profile = results.array("profile", "scores")
    extrapolated = 2 * profile[-1] - profile[-2]
    measured = {"profile": dict(zip(map(str, config.lengths), profile.mean(1), strict=True))}
    measured |= {"profile_limit": extrapolated.mean(0), "profile_error": standard_error(extrapolated, 0)}
    return measured, {"profile": {name: results.array("profile", "laws", name).mean((0, 1)) for name in measure.LAWS}}


def _training(config, results: Results) -> tuple[dict, dict]:
    trained = results.draws["training"].flat[0]
    read = lambda *keys: results.array("training", *keys)
    training = {key: read(key).mean(1) for key in ("recovered", "attention", "least_attention")}
    for where in ("inside", "outside"):
        means = lambda key, where=where: {peer: read(where, key, peer).mean(1) for peer in trained[where][key]}
        ratio = read(where, "accuracy", "network") / read(where, "accuracy", "graph counts")
        training[where] = {key: means(key) for key in ("accuracy", "loss")} | {"ratio_error": standard_error(ratio)}
    return {"training": training}, {}


def _smallest_gaps(config, gaps: dict) -> dict:
    """The smallest ones of the first graph, by case."""
    along = [name for name in gaps if name.startswith(config.graphs[0])]
    return {name: gaps[name] for name in sorted(along, key=gaps.get)[:SMALL_GAPS]}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """gradient: every score has its exact mean, and the limit of long contexts is our law and no other.

    edges: the share that the first gradient finds is as expected, and from 16,384 sequences on it is everything. Shares
    and needed samples are held to their expectation from `HITS` hits of a score on.
    sequences: how many are needed is as expected, and grows with the inverse square of the gap.
    muon: the shares after one polar step are as expected.
    training, shift: the network is as good as counting along the true edges, on kernels as in training and on others;
    the record may lack the error of that. It must find every edge.
    """
    claims = dict(zip(PARTS, (_judge_recovery, _judge_profile, _judge_training), strict=True))
    return claims_by_part(config, measured, predicted, claims)


def _judge_profile(config, measured: dict, predicted: dict) -> dict[str, dict]:
    draws, laws = config.seeds, predicted["profile"]
    edge, others = laws["ours"][1], {name: law for name, law in laws.items() if name != "ours"}
    lags = range(len(laws["ours"]))
    beside = {"limit": laws["ours"] / edge, "band": SIZES, "scale": DIFFERENCE, "at": lags}
    beside |= {"rivals": {name: law / edge for name, law in others.items()}}
    ratio, error = (measured[key] / edge for key in ("profile_limit", "profile_error"))
    profile = numbers("score over the edge's at lag", ratio, error, draws, **beside)
    beside = {"limit": 0, "band": Z_BAND, "scale": DIFFERENCE, "guard": True}
    worst = numbers("largest |score − its mean| in standard errors", max(measured["worst_score"].values()), **beside)
    return {"gradient": equivalence(profile + worst)}


def _judge_recovery(config, measured: dict, predicted: dict) -> dict[str, dict]:
    draws, least = config.seeds, HITS * config.n_states**2
    large = [k for k, n in enumerate(config.n_sequences) if n >= RECOVERED_AT]
    edges = _shares(config, measured, "sgd", least, predicted["recovered"]["sgd"], {})
    for graph in config.graphs if large else ():
        share, error = (measured[key]["sgd"][graph][large] for key in ("recovered", "recovered_error"))
        held_to = {"limit": 1, "band": SHARE_BAND, "scale": DIFFERENCE, "at": [config.n_sequences[k] for k in large]}
        rivals = {name: guess[graph] for name, guess in predicted["guesses"].items()}
        edges += numbers(f"every edge of the {graph}, n =", share, error, draws, rivals=rivals, **held_to)

    names = [name for name, law in predicted["needed"]["sgd"].items() if law >= least]
    needed, law = (np.array([of["needed"]["sgd"][name] for name in names]) for of in (measured, predicted))
    of_needed = measured.get("needed_paired_log_error", measured["needed_log_error"])
    error = np.array([of_needed[name] for name in names]) * needed
    sequences = numbers("sequences needed,", needed, error, draws, law=law, band=SIZES, at=names)
    gaps = _smallest_gaps(config, predicted["gap"])
    spread = [of_needed[name] for name in gaps]
    error = slope_error(list(gaps.values()), np.ones(len(gaps)), spread)
    fit, law = (of["gap_slope"]["sgd"] for of in (measured, predicted))
    rivals = {name: value - GAP_EXPONENT + law for name, value in GAP_RIVALS.items()}
    held_to = {"law": law, "limit": GAP_EXPONENT, "band": EXPONENT, "scale": DIFFERENCE, "rivals": rivals}
    sequences += numbers("exponent of the gap", fit, error, draws, **held_to)

    infinite = {name: [share] * len(config.n_sequences) for name, share in predicted["population"]["polar"].items()}
    rivals = {"the first gradient's shares": predicted["recovered"]["sgd"], "an infinite sample's": infinite}
    polar = _shares(config, measured, "polar", least, predicted["recovered"]["polar"], rivals)
    return {"edges": equivalence(edges), "sequences": equivalence(sequences), "muon": equivalence(polar)}


def _judge_training(config, measured: dict, predicted: dict) -> dict[str, dict]:
    verdicts = {}
    for name, where in (("training", "inside"), ("shift", "outside")):
        accuracy, recovered = measured["training"][where]["accuracy"], measured["training"]["recovered"]
        rivals = {peer: accuracy[peer] for peer in ("unigram counts", "previous counts")}
        held_to = {"law": accuracy["graph counts"], "band": NETWORK, "at": config.graphs, "rivals": rivals}
        error = measured["training"][where].get("ratio_error", np.nan) * accuracy["graph counts"]
        verdicts[name] = numbers("accuracy,", accuracy["network"], error, config.seeds, **held_to)
        held_to = {"law": 1, "band": 0, "scale": DIFFERENCE, "at": config.graphs, "guard": True}
        verdicts[name] += numbers("share of the edges found,", recovered, **held_to)
    return {name: equivalence(judged) for name, judged in verdicts.items()}


def _shares(config, measured: dict, step: str, least: int, laws: dict, rivals: dict) -> list[dict]:
    """Shares of edges by case that a map finds, at every sample size from `least` on, beside their expectation."""
    judged, large = [], np.array(config.n_sequences) >= least
    errors = measured.get("paired_error", measured["recovered_error"])
    at = np.array(config.n_sequences)[large]
    for case, law in laws.items():
        share, error = (np.asarray(of[step][case])[large] for of in (measured["recovered"], errors))
        others = {name: np.asarray(of[case])[large] for name, of in rivals.items()}
        held_to = {"law": np.asarray(law)[large], "band": SHARE_BAND, "scale": DIFFERENCE, "at": at, "rivals": others}
        judged += numbers(f"share of the edges, {case}, n =", share, error, config.seeds, **held_to)
    return judged


def _standard_scores(config, results: Results) -> np.ndarray:
    """|measured − exact mean| of every score in standard errors, (cases, draws, T, T); 0 where j > i."""
    variance = results.array("expected", "sequence_variance") / (measure.SAMPLES * max(config.n_sequences))
    variance = variance + results.array("expected", "scores_variance")
    off = np.abs(results.array("recovery", "scores") - results.array("expected", "scores"))
    return off / np.sqrt(np.where(variance > 0, variance, np.inf))


EXPERIMENT = Experiment(
    name="causal-graph",
    purpose=headline(__doc__),
    profiles={
        "smoke": CausalGraphConfig(
            graphs=("chain", "tree"), n_states=4, length=8, gap_alphas=(1.0,), lengths=(8, 16),
            n_sequences=(64, 256, 1024), profile_sequences=1000, n_blocks=2, n_kernels=20, n_noise=1000, steps=20,
            batch_size=64, seeds=2,
        ),
        "cpu": CausalGraphConfig(),
        # trained networks, with the error of their accuracy, which the first record lacks
        "training": CausalGraphConfig(parts=("training",), seeds=6, first_seed=69_900),
        # ten times the draws of the edges found, with errors of differences, asked and not made yet
        "many": CausalGraphConfig(parts=("recovery",), seeds=50, first_seed=72_100),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
    added={"parts": PARTS},
)  # fmt: skip
