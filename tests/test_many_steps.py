"""The many-steps experiment: what its cells measure, what its records promise, and when a verdict is which."""

import dataclasses
import math

import numpy as np
import pytest
import torch

import amemlib as am
from amembook import read_records
from amembook.paper.iterates import many_steps
from amembook.paper.iterates import measure as iterates
from amembook.paper.iterates.many_steps import EXPERIMENT
from amembook.run.cache import plain
from amembook.run.claims import UNDECIDED, word

SMOKE = dataclasses.replace(EXPERIMENT.profiles["smoke"], first_seed=2000)
RECORDS = {record["config"]["alpha"]: record for record in read_records("many-steps", "confirm-alpha-")}
(EXTRA,) = read_records("many-steps", "confirm-extra-")


@pytest.fixture(scope="module")
def summary():
    config = dataclasses.replace(SMOKE, seeds=1, n_items=600, far_items=1024)
    results = [plain(cell.function(**cell.arguments)) for cell in EXPERIMENT.cells(config, "cpu")]
    return config, results, *plain(EXPERIMENT.read(config, results))


@pytest.mark.slow
def test_a_summary_holds_every_part(summary):
    config, results, measured, predicted = summary
    names = [f"muon_{t}" for t in range(1, config.steps + 1)]
    assert list(measured["slope"]) == list(predicted["slope"]) == names
    parts = {"exponents", "first_step", "limit", "mean_field"}
    verdicts = EXPERIMENT.verdicts(config, measured, predicted)
    assert set(verdicts) == parts | {"trend", "race", "batches", "horizon"}
    fits = dataclasses.replace(config, extra_seeds=0)
    few, expected = plain(EXPERIMENT.read(fits, results[: len(EXPERIMENT.cells(fits, "cpu"))]))
    assert few["counts"] == measured["counts"] and "race" not in few
    assert EXPERIMENT.verdicts(fits, few, expected) == {name: verdicts[name] for name in parts}


def test_the_residual_weights_and_overlaps_are_those_of_the_iterates():
    cell = iterates.measure_iterates(300, 16, 1.5, 3, 1.0, 0.5, 2000, "cpu")
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


@pytest.mark.slow
def test_half_of_the_limit_is_predicted_where_the_exponents_recursion_lacks_a_factor_two(summary):
    config, _, _, predicted = summary
    for dim, steps in zip(config.horizon_dims, predicted["horizon_steps"]["half"], strict=True):
        # κ_t = 2 − (1 − 1/2α)^t, and d^{κ_t} = d²/2 at half of the limit
        assert dim ** -((1 - 1 / (2 * config.alpha)) ** steps) == pytest.approx(0.5, rel=1e-12)


def test_literal_descent_steps_by_the_theorems_own_rates():
    found = iterates.measure_literal_descent(300, 16, 1.5, 2, 0.5, 2000, "cpu")
    problem = am.Problem.power_law(300, 16, 1.5)
    emb, p = am.sample_embeddings(problem, 2000), problem.frequencies
    W = torch.zeros(16, 16, dtype=torch.float64)
    for t, threshold in enumerate(am.theory.recovery_thresholds("sgd", 16, 1.5, 2, 0.5)):
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


@pytest.mark.slow
def test_dimensions_too_small_for_the_recursion_decide_nothing(summary):
    config, _, measured, predicted = summary
    assert word(EXPERIMENT.verdicts(config, measured, predicted)["mean_field"]) == UNDECIDED


def test_without_the_closed_recursion_or_with_few_draws_the_conjecture_is_undecided():
    config = EXPERIMENT.profiles["confirm-extra"]
    bare = {key: value for key, value in EXTRA["predicted"].items() if not key.endswith("trajectory")}
    verdicts = EXPERIMENT.verdicts(config, EXTRA["measured"], bare)
    assert word(verdicts["exponents"]) == word(verdicts["trend"]) == UNDECIDED
    few = dataclasses.replace(config, seeds=3, extra_seeds=3)
    verdicts = EXPERIMENT.verdicts(few, EXTRA["measured"], EXTRA["predicted"])
    decided = {name for name, verdict in verdicts.items() if word(verdict) != UNDECIDED}
    assert decided == {"first_step", "limit"}, "inequalities, held on every draw"


@pytest.mark.parametrize(
    ("change", "message"),
    [({"momenta": (0.5, 0.9)}, "momenta must .* include 0"), ({"n_items": 64}, "n_items must exceed .* got 64")],
)
def test_a_config_whose_fields_contradict_each_other_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SMOKE, **change)


def test_conjecture_and_figure_4_the_exponents_of_the_true_iterates():
    assert set(RECORDS) >= {1.25, 1.5, 2.0}
    for record in RECORDS.values():
        slopes, limits = (np.array(list(record[key]["slope"].values())) for key in ("measured", "predicted"))
        assert (slopes > limits - many_steps.LOW).all() and (slopes < limits + many_steps.HIGH).all()
        assert (np.diff(slopes) > -many_steps.DROP).all() and slopes[-1] - slopes[0] > 0.3
        assert (np.array(list(record["measured"]["interval"].values()))[:, 0] > limits).all(), "no chance"
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
            assert (np.max(counts, axis=1) < record["predicted"]["large_margin"]).all()


def test_fewer_items_are_learnt_than_recovered_and_than_the_formula_says():
    b = am.equivalents.typical_maximum(8192)
    for alpha, record in RECORDS.items():
        counts = record["measured"]
        share = np.divide(counts["learnt"]["muon_1"], counts["counts"]["muon_1"])
        assert (np.diff(share) > 0).all() and share[-1] < (b / (math.log(8192) + 0.5)) ** (1 / alpha) < 1


def test_a_learning_rate_can_be_too_small_and_too_large():
    scan, head = (np.array(EXTRA["measured"][key]) for key in ("scan_counts", "scan_head"))
    best = int(scan[:, -1].argmax())
    assert EXTRA["config"]["rates"][best] < math.sqrt(2 * math.log(EXTRA["config"]["small_items"])) / 2
    assert np.ptp(scan[:, 0]) == 0, "one step does not see the rate"
    assert abs(scan[0, 1] / scan[0, 0] - 1) < 0.05, "nothing new at step 2"
    assert scan[-1, -1] < 0.6 * scan[best, -1] and head[-1, -1] < 0.9 * head[best, -1], "the head is lost"
    assert scan[6, 1] > scan[4, 1] and scan[6, -1] < scan[4, -1], "2 is ahead of 1 first, then behind"


def test_descent_draws_level_and_is_then_on_muons_curve_three_steps_later():
    muon, descent = (np.array(EXTRA["measured"]["race"][name]) for name in ("muon", "descent"))
    assert muon[0] / descent[0] == pytest.approx(14, abs=0.5) and int((descent >= muon).argmax()) + 1 == 14
    assert (muon[:3] >= descent[:3]).all() and muon[0] > descent[2]
    off = descent[3:10] / muon[:7] - 1
    assert off[:2] == pytest.approx([-0.14, 0.31], abs=0.01) and np.abs(off[2:]).max() < 0.05


def test_fresh_batches_teach_what_they_show_and_forget():
    config, measured = EXTRA["config"], EXTRA["measured"]
    problem = am.Problem.power_law(config["small_items"], config["race_dim"], 1.5)
    first, steps, draws = config["first_seed"], config["batch_steps"], config["extra_seeds"]
    for size, kick in ((16, 0.26), (256, 0.65)):
        seeds = range(first * steps, (first + draws) * steps)
        shown = torch.stack([am.sample_minibatch(problem, size, seed) for seed in seeds]) > 0
        assert float((shown.sum(1) / 128).sqrt().mean()) == pytest.approx(kick, abs=0.01)
        seen = shown.unflatten(0, (draws, steps)).cumsum(1).bool().sum(2).double().mean(0).numpy()
        row = config["batch_sizes"].index(size)
        plain, heavy = (measured[key][row] / seen for key in ("batches", "batches_momentum"))
        assert np.abs(plain[:4] - 1).max() < 0.045
    assert plain[-1] < 0.5 and heavy[-1] == pytest.approx(0.80, abs=0.01), "forgetting, and momentum repeats"


def test_the_memory_is_full_after_a_few_steps():
    measured, dims = EXTRA["measured"], EXTRA["config"]["horizon_dims"]
    share = np.array(measured["horizon_share"])
    assert share[0] == pytest.approx(0.51, abs=0.01) and share[-1] == pytest.approx(0.60, abs=0.01)
    assert measured["horizon_slope"] == pytest.approx(2.11, abs=0.01)
    assert measured["horizon_steps"]["half"][1:] == [3, 4, 4, 4] and dims[1:] == [48, 64, 96, 128]
    bound = [am.theory.counting_limit(dim, EXTRA["config"]["small_items"]) for dim in dims]
    assert (np.max(measured["horizon"], axis=1) <= bound).all()
