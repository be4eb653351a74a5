"""The many-steps experiment: what its cells measure, what its records promise, and when a verdict is which."""

import dataclasses
import json
import math

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

import amemlib as am
from amemlib.experiments import iterates, many_steps
from amemlib.experiments.base import rival_step_exponents
from amemlib.experiments.many_steps import EXPERIMENT
from amemlib.verdicts import CONSISTENT, FINITE_SIZE, NOT_REPRODUCED, REPRODUCED, UNDECIDED, word

matplotlib.use("Agg")
SMOKE = dataclasses.replace(EXPERIMENT.profiles["smoke"], first_seed=2000)
RECORDS = {record["config"]["alpha"]: record for record in am.read_records("many-steps", "confirm-alpha-")}
(EXTRA,) = am.read_records("many-steps", "confirm-extra-")


@pytest.fixture(scope="module")
def summary():
    config = dataclasses.replace(SMOKE, seeds=1, n_items=600, far_items=1024)
    results = [cell.function(**cell.arguments) for cell in EXPERIMENT.cells(config, "cpu")]
    return config, results, *json.loads(json.dumps(EXPERIMENT.read(config, results)))


def test_a_summary_is_plain_and_holds_every_part(summary):
    config, results, measured, predicted = summary
    names = [f"muon_{t}" for t in range(1, config.steps + 1)]
    assert list(measured["slope"]) == list(predicted["slope"]) == names
    parts = {"exponents", "first_step", "limit", "mean_field"}
    verdicts = EXPERIMENT.verdicts(config, measured, predicted)
    assert set(verdicts) == parts | {"trend", "race", "batches", "horizon"}
    plain = dataclasses.replace(config, extra_seeds=0)
    few, expected = EXPERIMENT.read(plain, results[: len(EXPERIMENT.cells(plain, "cpu"))])
    assert few["counts"] == measured["counts"] and "race" not in few
    assert EXPERIMENT.verdicts(plain, few, expected) == {name: verdicts[name] for name in parts}


def test_every_figure_draws_its_record_with_labelled_axes(summary):
    config, _, measured, predicted = summary
    record = json.loads(json.dumps({"config": dataclasses.asdict(config)}))
    record |= {"measured": measured, "predicted": predicted}
    edges = [edge + 1 for edge in (0, *iterates.profile_bins(config.n_items), config.n_items)]
    drawn = [
        am.figures.iterates_capacity_figure([record, record]),
        am.figures.iterates_exponents_figure([record, record], many_steps.LOW, many_steps.HIGH),
        am.figures.residual_profile_figure(record, edges, {24: (5, 9, 12), 48: (9, 20, 30)}),
        *(
            draw(record)
            for draw in (
                am.figures.learning_rate_figure,
                am.figures.minibatch_iterates_figure,
                am.figures.momentum_figure,
                am.figures.horizon_figure,
            )
        ),
        am.figures.race_figure(record, 50.0),
    ]
    for figure in drawn:
        figure.canvas.draw()
        assert all(axis.get_xlabel() for axis in figure.axes) and figure.axes[0].get_ylabel()
        plt.close(figure)
    shown = {value for line in drawn[0].axes[0].lines for value in np.ravel(line.get_ydata())}
    assert set(measured["counts"]["muon_2"]) <= shown


def test_the_residual_weights_and_overlaps_are_those_of_the_iterates():
    cell = iterates.measure_iterates(1.5, 300, 16, 3, 1.0, 0.5, 2000, "cpu")
    problem = am.Problem.power_law(300, 16, 1.5)
    emb, p = am.sample_embeddings(problem, 2000), problem.frequencies
    W = torch.zeros(16, 16, dtype=torch.float64)
    updates = []
    for t in range(3):
        updates.append(am.polar(am.gradient(W, emb, p)))
        W = W + 4 * updates[-1]
        softmax = torch.softmax(emb.V.double() @ W.T @ emb.U.double().T, 1).diagonal()
        assert cell["count"][t] == am.capacity(W, emb)
        assert cell["learnt"][t] == int((softmax > 0.5).sum())
        assert cell["profile"][t][0] == pytest.approx(1 - float(softmax[0]), rel=1e-4)
        assert cell["loss"][t] == pytest.approx(-float(p @ softmax.log()), rel=1e-4)
        assert cell["interaction_sd"][t] == pytest.approx(float(W.norm()) / 16, rel=1e-6)
    overlap = float((updates[0] * updates[2]).sum()) / 16
    assert cell["overlaps"][0][2] == pytest.approx(overlap, abs=1e-4)


def test_half_of_the_limit_is_predicted_where_the_exponents_recursion_lacks_a_factor_two(summary):
    config, _, _, predicted = summary
    for dim, steps in zip(config.horizon_dims, predicted["horizon_steps"]["half"], strict=True):
        # κ_t = 2 − (1 − 1/2α)^t, and d^{κ_t} = d²/2 at half of the limit
        assert dim ** -((1 - 1 / (2 * config.alpha)) ** steps) == pytest.approx(0.5, rel=1e-12)


def test_literal_descent_steps_by_the_theorems_own_rates():
    found = iterates.measure_literal_descent(1.5, 300, 16, 2, 0.5, 2000, "cpu")
    problem = am.Problem.power_law(300, 16, 1.5)
    emb, p = am.sample_embeddings(problem, 2000), problem.frequencies
    W = torch.zeros(16, 16, dtype=torch.float64)
    for t, threshold in enumerate(am.theory.recovery_thresholds("sgd", 1.5, 16, 2, 0.5)):
        # η_t = ζ d_{t+1}^α with ζ = Σ_i i^{−α}
        W = W + (torch.arange(1, 301.0) ** -1.5).sum().item() * threshold**1.5 * am.gradient(W, emb, p)
        assert found["count"][t] == am.capacity(W, emb)
        assert found["loss"][t] == pytest.approx(am.loss(W, emb, p), rel=1e-4)


def test_one_step_ahead_of_zero_is_the_sharp_count_of_one_step():
    problem = am.Problem.power_law(4096, 128, 1.5)
    emb = am.sample_embeddings(problem, 2000)
    zero = torch.zeros(128, 128, dtype=torch.float64)
    found = iterates.one_step_ahead(zero, emb, problem.frequencies, math.sqrt(128), 1.0)
    assert found == pytest.approx(am.expected_capacity(problem, "polar"), rel=0.02)


def test_the_pull_is_none_at_the_first_step_and_lowers_every_later_overlap():
    w = am.Problem.power_law(2000, 32, 1.5).frequencies.repeat(3, 1)
    equivalent = am.equivalents.thresholded.ManyStepEquivalent.solve(w, 32, [0.0] * 3)
    pulled = iterates.pulled_overlaps(equivalent, math.sqrt(32))
    np.testing.assert_allclose(equivalent.overlaps, 1.0, atol=0.01)
    pull = math.sqrt(32) * (equivalent.signals[1] @ equivalent.counts) / 32**2
    assert pulled[0, 0] == equivalent.overlaps[0, 0]
    assert pulled[0, 1] == pytest.approx(equivalent.overlaps[0, 1] - pull * equivalent.overlaps[0, 0])
    assert pulled[1, 2] == pytest.approx(equivalent.overlaps[1, 2] - pull * (pulled[0, 1] + pulled[1, 1]))


JUDGED = dataclasses.replace(
    SMOKE,
    dims=(128, 192, 288),
    n_items=20_000,
    seeds=4,
    steps=3,
    extra_seeds=4,
    trend_dims=(128, 256, 512),
    batch_sizes=(8, 64, 4096),
    batch_steps=6,
    first_seed=3300,
)
KAPPA = {f"muon_{t}": am.theory.recovery_exponent("muon", JUDGED.alpha, t) for t in (1, 2, 3)}


def law(dims, shift=0.0, scale=3.0):
    """Counts by step of a law whose exponents are κ_T + shift, one shift a step or one for all."""
    shifts = np.broadcast_to(shift, len(KAPPA))
    return {
        name: [scale * dim ** (k + more) for dim in dims] for (name, k), more in zip(KAPPA.items(), shifts, strict=True)
    }


def four(counts):
    """Four draws of every count, which scatter by a per cent."""
    return {
        name: [[0.99 * count, 1.01 * count, 0.995 * count, 1.005 * count] for count in row]
        for name, row in counts.items()
    }


def made_up(excess=0.0, sharp_excess=0.0, closed=True, **changes):
    """Numbers of `JUDGED` at which everything is met; changes: of what is measured.

    excess, sharp_excess: how much steeper than κ_T the measured law and the closed recursion are.
    """
    counts, expected = law(JUDGED.dims, excess), law(JUDGED.dims, sharp_excess)
    slope = {name: k + more for (name, k), more in zip(KAPPA.items(), np.broadcast_to(excess, 3), strict=True)}
    seen = np.outer(JUDGED.batch_sizes, np.arange(1.0, JUDGED.batch_steps + 1)) ** 0.7
    margin = np.array(JUDGED.horizon_dims) ** 2 / (2 * math.log(JUDGED.small_items))
    measured = {
        "slope": slope,
        "interval": {name: [k - 0.04, k + 0.04] for name, k in slope.items()},
        "counts": counts,
        "seed_counts": four(counts),
        "seed_descent": [[20] * JUDGED.seeds] * 3,
        "horizon": [[0.1 * most, 0.55 * most] for most in margin],
        "horizon_share": [0.55] * len(margin),
        "horizon_slope": 2.05,
        "trend_seed_counts": four(law(JUDGED.trend_dims, excess)),
        "race": {
            "muon": [40.0, 60.0, 70.0, *[80.0] * 6],
            "descent": [9.0, 20.0, 40.0, 60.0, *[80.0] * 5],
            "literal": [8.0, 30.0, 60.0],
        },
        "literal_loss": [5.0, 4.0, None],
        "batches": seen.tolist(),
    }
    predicted = {
        "slope": KAPPA,
        "counts": expected,
        "thresholded": law(JUDGED.dims, 0.25, scale=1.0),
        "limit": [50_000, 60_000, 90_000],
        "large_margin": [20_000.0, 40_000.0, 90_000.0],
        "observed": seen.tolist(),
    }
    if closed:
        predicted |= {"trajectory": expected, "trend_trajectory": law(JUDGED.trend_dims, sharp_excess)}
    return measured | changes, predicted


def words_of(measured, predicted, config=JUDGED):
    return {name: word(verdict) for name, verdict in EXPERIMENT.verdicts(config, measured, predicted).items()}


@pytest.mark.parametrize(
    ("excess", "sharp_excess", "said"),
    [
        (0.0, 0.0, REPRODUCED),
        (0.15, 0.15, FINITE_SIZE),
        ([0.0, 0.15, 0.25], [0.0, 0.15, 0.25], FINITE_SIZE),
        (0.0, 0.15, UNDECIDED),  # the limit, where the prediction for these sizes is missed
        (-0.2, 0.15, NOT_REPRODUCED),
        ([0.0, 0.31, 0.1], 0.0, NOT_REPRODUCED),
        ([0.3, -0.04, -0.05], 0.0, NOT_REPRODUCED),
        # where the closed recursion itself is far from the theorem, meeting it says nothing of the Conjecture
        (0.5, 0.5, UNDECIDED),
    ],
)
def test_the_conjecture_is_judged_against_the_closed_recursion(excess, sharp_excess, said):
    assert words_of(*made_up(excess, sharp_excess))["exponents"] == said


def test_without_the_closed_recursion_the_conjecture_is_undecided():
    said = words_of(*made_up(closed=False))
    assert said["exponents"] == said["trend"] == UNDECIDED
    few = dataclasses.replace(JUDGED, seeds=3, extra_seeds=3)
    decided = {name for name, one in words_of(*made_up(), few).items() if one != UNDECIDED}
    assert decided == {"first_step", "limit"}, "inequalities, held on nine draws"


def changed(key, factor, at=...):
    """A measured array times a factor at some places."""
    values = np.array(made_up()[0][key], dtype=float)
    values[at] *= factor
    return {key: values.tolist()}


def race(**curves):
    return {"race": made_up()[0]["race"] | curves}


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("first_step", {}, CONSISTENT),
        ("first_step", {"seed_descent": [[20, 20, 20, 20], [20, 20, 20, 20], [20, 20, 20, 90_000]]}, NOT_REPRODUCED),
        ("limit", {}, CONSISTENT),
        ("limit", {"seed_counts": four(law(JUDGED.dims, 0.5))}, NOT_REPRODUCED),
        ("mean_field", {}, REPRODUCED),
        ("mean_field", {"counts": law(JUDGED.dims, 0.05)}, NOT_REPRODUCED),
        ("horizon", {}, REPRODUCED),
        ("horizon", {"horizon_slope": 2.11}, FINITE_SIZE),
        ("horizon", {"horizon_share": [0.55] * (len(SMOKE.horizon_dims) - 1) + [0.40]}, NOT_REPRODUCED),
        ("horizon", {"horizon_share": [0.0] * len(SMOKE.horizon_dims)}, NOT_REPRODUCED),
        ("horizon", changed("horizon", 10, np.s_[0, 1]), NOT_REPRODUCED),
        ("trend", {}, FINITE_SIZE),
        ("trend", {"trend_seed_counts": four(law(JUDGED.trend_dims, 0.25))}, NOT_REPRODUCED),
        ("race", {}, REPRODUCED),
        ("race", {"literal_loss": [5.0, 4.0, 5.0]}, NOT_REPRODUCED),
        ("race", race(muon=[8.0, 60.0, 70.0, *[80.0] * 6]), NOT_REPRODUCED),
        ("race", race(descent=[9.0, 20.0, 40.0, *[60.0] * 6]), NOT_REPRODUCED),
        ("batches", {}, REPRODUCED),
        ("batches", changed("batches", 0.5, np.s_[1, 4:]), FINITE_SIZE),
        ("batches", changed("batches", 0.5, np.s_[1, 3]), NOT_REPRODUCED),
    ],
)
def test_every_word_of_the_judge_can_be_reached(name, change, said):
    assert words_of(*made_up(**change))[name] == said


def test_rival_laws_are_refused_by_the_rules_of_the_law():
    verdicts = EXPERIMENT.verdicts(JUDGED, *made_up())
    laws = {"SGD", "α + 1/2", "α − 1/2", "a full memory", "one step more", "no growth"}
    assert set(verdicts["exponents"]["refused"]) == laws | {"the thresholded iterates"}
    assert {"SGD", "α − 1/2", "a full memory", "one step more", "no growth"} <= set(verdicts["trend"]["refused"])
    assert set(verdicts["mean_field"]["refused"]) == {"the thresholded iterates", "no growth", "a full memory"}
    memories = {"an empty memory", "one step", "an item a dimension", "an item a parameter"}
    assert set(verdicts["horizon"]["refused"]) == memories
    assert set(verdicts["batches"]["refused"]) == {
        "what one batch shows",
        "every sample",
        "batches without limit",
        "half of what is seen",
    }
    assert len(verdicts["race"]["refused"]) == 4


@pytest.mark.parametrize("rival", ["SGD", "α + 1/2", "α − 1/2", "one step more", "no growth"])
def test_iterates_that_follow_a_rival_law_are_not_reproduced(rival):
    laws = rival_step_exponents("muon", JUDGED.alpha, 3)
    shift = np.array(laws[rival]) - np.array(list(KAPPA.values()))
    verdicts = EXPERIMENT.verdicts(JUDGED, *made_up(shift))
    assert word(verdicts["exponents"]) == NOT_REPRODUCED and rival not in verdicts["exponents"]["refused"]


@pytest.mark.parametrize("rival", ["descent is ahead", "no difference", "Muon keeps its lead"])
def test_another_race_is_not_the_papers(rival):
    muon, descent = (np.array(made_up()[0]["race"][name]) for name in ("muon", "descent"))
    other = {
        "descent is ahead": (descent, muon),
        "no difference": (muon, muon),
        "Muon keeps its lead": (muon, muon * descent[0] / muon[0]),
    }[rival]
    curves = dict(zip(("muon", "descent"), (list(x) for x in other), strict=True))
    assert words_of(*made_up(**race(**curves)))["race"] == NOT_REPRODUCED


def test_dimensions_too_small_for_the_recursion_decide_nothing(summary):
    config, _, measured, predicted = summary
    assert words_of(measured, predicted, config)["mean_field"] == UNDECIDED


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"alpha": 1.0}, ["alpha", "> 1"]),
        ({"steps": 1}, ["steps", "at least 2"]),
        ({"momenta": (0.5, 0.9)}, ["momenta", "include 0"]),
        ({"momenta": (0.0, 1.0)}, ["momenta", "[0, 1)"]),
        ({"lr_over_root_dim": 0.0}, ["lr_over_root_dim", "> 0"]),
        ({"rates": (1.0, -1.0)}, ["rates", "-1.0"]),
        ({"dims": (64,)}, ["dims", "at least 2"]),
        ({"n_items": 64}, ["n_items", "last threshold", "64"]),
    ],
)
def test_a_bad_config_is_refused(change, words):
    with pytest.raises(ValueError) as caught:
        dataclasses.replace(SMOKE, **change)
    assert all(word in str(caught.value) for word in words)


def test_conjecture_and_figure_4_the_exponents_of_the_true_iterates():
    assert set(RECORDS) >= {1.25, 1.5, 2.0}
    for record in RECORDS.values():
        slopes, limits = (np.array(list(record[key]["slope"].values())) for key in ("measured", "predicted"))
        assert (slopes > limits - many_steps.LOW).all() and (slopes < limits + many_steps.HIGH).all()
        assert (np.diff(slopes) > -many_steps.DROP).all() and slopes[-1] - slopes[0] > 0.3
        muon, sgd = record["measured"]["counts"]["muon_1"], record["measured"]["descent"]
        assert (np.array(muon) > sgd).all()
    late = [record["measured"]["slope"]["muon_1"] for _, record in sorted(RECORDS.items())]
    assert late == sorted(late, reverse=True), "a steeper law, a smaller exponent"


def test_figure_5_gradient_descent_catches_up_and_its_literal_schedule_diverges():
    measured, config = EXTRA["measured"], EXTRA["config"]
    muon, descent = (np.array(measured["race"][name]) for name in ("muon", "descent"))
    assert muon[0] > 5 * descent[0] and descent[-1] > 0.8 * muon[-1]
    assert max(measured["literal_loss"]) > 2 * math.log(config["small_items"])
    share = np.array(measured["batches"]) / np.array(EXTRA["predicted"]["observed"])
    assert (np.abs(share[0, :2] - 1) < 0.3).all() and (np.diff(share[:, 0]) < 0.1).all()


def test_no_record_passes_the_counting_limit():
    for record in (*RECORDS.values(), EXTRA):
        for counts in record["measured"]["seed_counts"].values():
            assert (np.max(counts, axis=1) <= record["predicted"]["limit"]).all()
