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
from amemlib.experiments import MANY_STEPS, iterates, many_steps
from amemlib.verdicts import FINITE_SIZE, NOT_REPRODUCED, REPRODUCED

matplotlib.use("Agg")
SMOKE = dataclasses.replace(MANY_STEPS.profiles["smoke"], first_seed=2000)
RECORDS = {record["config"]["alpha"]: record for record in am.read_records("many-steps", "confirm-")}


@pytest.fixture(scope="module")
def summary():
    config = dataclasses.replace(SMOKE, seeds=1, n_items=600, far_items=1024)
    results = [cell.function(**cell.arguments) for cell in MANY_STEPS.cells(config, "cpu")]
    return config, results, MANY_STEPS.summarise(config, results)


def test_a_summary_is_plain_and_holds_every_part(summary):
    config, results, found = summary
    names = [f"muon_{t}" for t in range(1, config.steps + 1)]
    assert list(found.measured["slope"]) == list(found.predicted["slope"]) == names
    assert json.loads(json.dumps(found.measured)) and json.loads(json.dumps(found.predicted))
    assert {"exponents", "first_step", "limit", "mean_field", "trend", "race", "batches", "horizon"} == set(
        found.verdicts
    )
    plain = dataclasses.replace(config, extra_seeds=0)
    few = MANY_STEPS.summarise(plain, results[: len(MANY_STEPS.cells(plain, "cpu"))])
    assert few.measured["counts"] == found.measured["counts"] and "race" not in few.measured


def test_every_figure_draws_its_record_with_labelled_axes(summary):
    config, _, found = summary
    record = {"config": dataclasses.asdict(config), "measured": found.measured, "predicted": found.predicted}
    record = json.loads(json.dumps(record))
    edges = [edge + 1 for edge in (0, *iterates.profile_bins(config.n_items), config.n_items)]
    drawn = [
        am.figures.iterates_capacity_figure([record, record]),
        am.figures.iterates_exponents_figure([record, record], many_steps.LOW, many_steps.HIGH),
        am.figures.residual_profile_figure(record, edges, {24: (5, 9, 12), 48: (9, 20, 30)}),
        *(
            draw(record)
            for draw in (
                am.figures.iterates_trend_figure,
                am.figures.learning_rate_figure,
                am.figures.minibatch_iterates_figure,
                am.figures.momentum_figure,
                am.figures.horizon_figure,
            )
        ),
        am.figures.race_figure(record, 50.0),
        am.figures.pull_figure(record, 48),
    ]
    for figure in drawn:
        figure.canvas.draw()
        assert all(axis.get_xlabel() for axis in figure.axes) and figure.axes[0].get_ylabel()
        plt.close(figure)
    shown = {value for line in drawn[0].axes[0].lines for value in np.ravel(line.get_ydata())}
    assert set(found.measured["counts"]["muon_2"]) <= shown and set(found.predicted["counts"]["muon_2"]) <= shown


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


@pytest.mark.parametrize(
    ("excess", "verdict"),
    [
        ([0.0, 0.05, -0.03], REPRODUCED),
        ([0.15, 0.2, 0.1], FINITE_SIZE),
        ([-0.06, 0.0, 0.0], NOT_REPRODUCED),
        ([0.0, 0.31, 0.1], NOT_REPRODUCED),
        ([0.3, -0.04, 0.0], NOT_REPRODUCED),
    ],
)
def test_the_bars_of_the_conjecture(excess, verdict):
    names = [f"muon_{t}" for t in range(1, 4)]
    exponents = {name: am.theory.recovery_exponent("muon", 1.5, t) for t, name in enumerate(names, start=1)}
    slopes = {name: exponents[name] + extra for name, extra in zip(names, excess, strict=True)}
    assert many_steps.exponent_verdict(slopes, exponents, names) == verdict


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
    measured, config = RECORDS[1.5]["measured"], RECORDS[1.5]["config"]
    muon, descent = (np.array(measured["race"][name]) for name in ("muon", "descent"))
    assert muon[0] > 5 * descent[0] and descent[-1] > 0.8 * muon[-1]
    assert max(measured["literal_loss"]) > 2 * math.log(config["small_items"])
    share = np.array(measured["batches"]) / np.array(RECORDS[1.5]["predicted"]["observed"])
    assert (np.abs(share[0, :2] - 1) < 0.3).all() and (np.diff(share[:, 0]) < 0.1).all()


def test_no_record_passes_the_counting_limit():
    for record in RECORDS.values():
        for counts in record["measured"]["seed_counts"].values():
            assert (np.max(counts, axis=1) <= record["predicted"]["limit"]).all()
