"""Lemmas 14 to 17, what a batch shows, what nobody can recover from it, and the experiment `critical-batch`."""

import copy
import json
import math

import numpy as np
import pytest
import torch

import amemlib as am
from amemlib.equivalents import expected_distinct_items
from amemlib.experiments.critical_batch import EXPERIMENT as CRITICAL_BATCH
from amemlib.experiments.critical_batch import LEMMA_BATCHES, CriticalBatchConfig, measure_lemmas
from amemlib.scaling import first_crossing
from amemlib.verdicts import CONSISTENT, FINITE_SIZE, NOT_REPRODUCED, REPRODUCED, UNDECIDED, word

SEEDS = range(3000, 3004)


def power_law(n_items, dim, alpha=1.5):
    return am.Problem.power_law(n_items, dim, alpha)


def test_expected_distinct_items_are_those_of_draws():
    problem = power_law(500, 8)
    for batch_size in (1, 7, 100, 10_000):
        counts = [int((am.sample_minibatch(problem, batch_size, seed) > 0).sum()) for seed in range(3000, 3200)]
        expected = expected_distinct_items(problem, batch_size)
        assert abs(np.mean(counts) - expected) < 4 * np.std(counts) / math.sqrt(200) + 1e-9
    assert expected_distinct_items(problem, 1) == pytest.approx(1)


@pytest.mark.parametrize("alpha", [1.5, 2.0])
def test_the_number_of_observed_items_has_its_power_law(alpha):
    problem, batch_size = power_law(10**6, 8, alpha), 3000
    exact = expected_distinct_items(problem, batch_size)
    # the law is the leading order for 1 ≪ B ≪ N^α
    assert am.theory.observed_items(alpha, 10**6, batch_size) == pytest.approx(exact, rel=0.03)
    with pytest.raises(ValueError, match="alpha"):
        am.theory.observed_items(1.0, 10, 10)


def test_a_share_of_one_over_alpha_of_the_observed_items_is_seen_once():
    for alpha in (1.5, 2.0):
        problem = power_law(200_000, 8, alpha)
        sightings = (am.sample_minibatch(problem, 20_000, 3000) * 20_000).round()
        assert ((sightings == 1).sum() / (sightings > 0).sum()).item() == pytest.approx(1 / alpha, abs=0.05)


@pytest.mark.parametrize("batch_size", [3, 20])
def test_items_that_were_not_seen_are_recovered_by_luck_alone(batch_size):
    problem, lucky = power_law(100, 12), {"polar": [], "sgd": []}
    for seed in range(3000, 3100):
        emb, q = am.sample_embeddings(problem, seed), am.sample_minibatch(problem, batch_size, seed)
        G = am.initial_gradient(emb, q)
        for name, W in (("polar", am.polar(G, am.gradient_rank(emb, q))), ("sgd", G)):
            lucky[name].append(int((am.recovered(W, emb) & (q == 0)).sum()))
    for counts in map(np.array, lucky.values()):
        assert counts.any()
        for r in (1, 2, 3):
            factorial_moment = np.prod([counts - k for k in range(r)], 0)
            assert factorial_moment.mean() <= 1 + 2 * factorial_moment.std() / 10
            assert (counts >= r).mean() <= 1 / math.factorial(r) + 0.1


@pytest.mark.parametrize("alpha", [1.25, 2.0])
def test_lemma_14_the_bulk_of_every_batch(alpha):
    worst = []
    for dim in (32, 64, 128):
        draws = [measure_lemmas(alpha, 2048, dim, seed, "cpu") for seed in SEEDS[:2]]
        values = np.array([draw["lemma_14"] for draw in draws]) * dim ** (2 * alpha)
        worst.append(values.max())
        assert (values[:, 0] == 0).all(), "d^α/16 samples do not fill half of the dimensions"
        assert (values[:, 3:] > 0).all()
    # bounded: 16 is twice what is seen; and no power of d
    assert max(worst) < 30 and am.fit_exponent((32, 64, 128), worst).slope < 0.3


def test_lemma_14_weighted_sum_of_projections():
    problem, generator = power_law(2000, 50), np.random.default_rng(0)
    V = am.sample_embeddings(problem, 3000, dtype=torch.float64).V
    for w in (generator.random(2000), generator.random(2000) ** 20, np.r_[1.0, np.zeros(1999)]):
        w = torch.from_numpy(w)
        norm = torch.linalg.matrix_norm(V.T @ (w[:, None] * V), 2)
        assert norm <= 4 * w.sum() / 50 + 24 * w.max()


@pytest.mark.parametrize("alpha", [1.25, 1.5, 2.0])
def test_lemma_15_tail_frequencies(alpha):
    for seed in SEEDS:
        draw = measure_lemmas(alpha, 4096, 32, seed, "cpu")
        # with all the constants of the proof, which may fail in one draw of a thousand
        assert max(draw["lemma_15_explicit"]) <= 1
        # and without logarithms: 8 is about ln(N), what one of 4096 Poisson counts of mean 1 may reach
        assert max(draw["lemma_15_max"]) < 8 and max(draw["lemma_15_energy"]) < 8


@pytest.mark.parametrize("alpha", [1.25, 2.0])
def test_lemma_16_a_smoothing_that_dominates_the_tail(alpha):
    for dim in (32, 128):
        draw = measure_lemmas(alpha, 2048, dim, 3000, "cpu")
        assert 0 < max(draw["lemma_16"]) <= 1


@pytest.mark.parametrize("alpha", [1.25, 2.0])
def test_lemma_17_singular_values_of_the_gradient(alpha):
    for dim in (16, 64):
        for seed in SEEDS[:2]:
            ratios = measure_lemmas(alpha, 1024, dim, seed, "cpu")["lemma_17"]
            assert 0.5 < min(ratios) and max(ratios) <= 9


def test_the_median_singular_value_is_of_the_order_of_the_bulk():
    for alpha in (1.25, 2.0):
        medians = [
            np.mean([measure_lemmas(alpha, 2048, d, s, "cpu")["median"][-1] for s in SEEDS[:2]]) for d in (32, 128)
        ]
        # a rival order, such as d^{−α ± 1/2}, is far outside
        assert am.fit_exponent((32, 128), medians).slope == pytest.approx(-alpha, abs=0.15)


def test_first_crossing_finds_planted_crossings():
    x = np.geomspace(1, 1000, 10)
    assert first_crossing(x, 3 * x**0.5, 30) == pytest.approx(100)
    humped = [1.0, 2.0, 8.0, 4.0, 16.0]
    assert 2 < first_crossing([1, 2, 3, 4, 5], humped, 5.0) < 3
    for level in (0.5, 1.0, 20.0):
        with pytest.raises(ValueError, match="span"):
            first_crossing([1, 2, 3, 4, 5], humped, level)
    with pytest.raises(ValueError, match="increasing"):
        first_crossing([2, 1], [1, 2], 1.5)


TINY = CriticalBatchConfig(
    dims=(16, 32),
    n_items=512,
    seeds=2,
    batch_sizes=(2, 8, 32, 128),
    sgd_dims=(512, 2048),
    sgd_items=128,
    sgd_seeds=4,
    sgd_batch_sizes=(2, 4, 8, 16, 32, 64, 128, 512),
    sgd_predicted_seeds=1,
    first_seed=3000,
)


def test_critical_batch_record_has_the_shape_it_promises():
    cells = CRITICAL_BATCH.cells(TINY, "cpu")
    measured, predicted = CRITICAL_BATCH.read(TINY, [cell.function(**cell.arguments) for cell in cells])
    for part in (measured, predicted):
        assert np.shape(part["counts"]["polar"]) == (2, 4) and np.shape(part["counts"]["sgd"]) == (2, 8)
    assert set(measured["slope"]) == {"polar", "sgd"}
    low, high = measured["interval"]["polar"]
    assert low < measured["slope"]["polar"] < high
    assert predicted["slope"] == {"polar": 2.0, "sgd": 0.5, "sgd_at_dims": 0.5}
    counts, distinct = (np.array(measured[field]["polar"]) for field in ("counts", "distinct"))
    # two draws: at most the observed items, and luck
    assert (counts <= distinct + 3).all()
    # one of the four draws of SGD has sharp counts
    assert np.shape(measured["residual"]["sgd"]) == (2, 8) and np.isnan(measured["residual_error"]["sgd"]).all()


LARGE = CriticalBatchConfig(
    dims=(256, 512, 1024),
    n_items=2048,
    seeds=4,
    batch_sizes=tuple(4**k for k in range(2, 13)),
    sgd_dims=(1024, 4096),
    sgd_items=512,
    sgd_seeds=4,
    sgd_batch_sizes=tuple(2**k for k in range(0, 13)),
    sgd_predicted_seeds=4,
    first_seed=3050,
)
CAPACITY = 500.0


def made_up(monkeypatch, factor=1.0, excess=0.0, luck=1.0, config=LARGE, length=0.5, unseen=1):
    """Measured and predicted for a step that stores `factor` times what is predicted.

    Half of `CAPACITY` is reached at d to the limit's exponent plus `excess`; all that is observed and `luck` items more
    are stored, `unseen` of them in no batch. Prefixes are `length` times the count, and predicted to be half of it.
    """
    monkeypatch.setattr("amemlib.experiments.critical_batch.expected_capacity", lambda *_, **__: CAPACITY)

    def fields(arguments, name):
        exponent = am.theory.critical_batch_exponent("sgd" if name == "sgd" else "muon", 1.5) + excess
        share = np.array(arguments["batch_sizes"]) / arguments["dim"] ** exponent
        sharp = CAPACITY * share / (1 + share)
        counts = (factor * (1 + 0.01 * (-1) ** arguments["seed"]) * sharp).tolist()
        found = {"count": counts, "prefix": [length * x for x in counts], "shared": counts, "sharp": sharp.tolist()}
        found |= {"unseen": [unseen] * len(counts), "sharp_prefix": [[x / 2, x / 40] for x in sharp.tolist()]}
        return found, [count - luck for count in counts]

    population = {"count": factor * CAPACITY}
    results = []
    for cell in CRITICAL_BATCH.cells(config, "cpu"):
        a, kind = cell.arguments, cell.function.__name__
        if kind == "measure_lemmas":
            quiet = dict.fromkeys(("lemma_15_max", "lemma_15_energy", "lemma_15_explicit", "lemma_16", "lemma_17"), 0.5)
            values = quiet | {"median": a["dim"] ** -1.5, "lemma_14": a["dim"] ** -3.0}
            results.append({name: [value] * len(LEMMA_BATCHES) for name, value in values.items()})
        elif kind == "measure_sgd_bounds":
            results.append({"lemma_28": 0.5, "loss": 2.0, "loss_bound": 1.0, "loss_at_edge": 0})
        elif kind == "predict_sgd_minibatches":
            results.append({"sharp": fields(a, "sgd")[0]["sharp"]})
        else:
            names = ("sgd",) if kind == "measure_sgd_minibatches" else ("sgd", "polar")
            found = {name: fields(a, name) for name in names}
            result = {name: values for name, (values, _) in found.items()}
            results.append(result | {"distinct": found[names[-1]][1], "population": dict.fromkeys(names, population)})
    return json.loads(json.dumps(CRITICAL_BATCH.read(config, results)))


def words(config, measured, predicted):
    verdicts = CRITICAL_BATCH.verdicts(config, measured, predicted)
    return {name: word(verdict) for name, verdict in verdicts.items()}


def test_what_a_batch_stores_is_held_to_its_own_sharp_count_and_to_the_exponent(monkeypatch):
    measured, predicted = made_up(monkeypatch)
    names = ("polar", "sgd", "observed", "prefix")
    assert [words(LARGE, measured, predicted)[name] for name in names] == [REPRODUCED] * 4
    refused = CRITICAL_BATCH.verdicts(LARGE, measured, predicted)
    assert refused["polar"]["refused"] == ["SGD", "α + 1/2", "α − 1/2", "a sample for each recovered item", "no growth"]
    assert refused["sgd"]["refused"] == ["Muon", "a sample for each recovered item", "no growth"]
    laws = ["luck alone", "two thirds of what is seen", "every sample another item", "a full memory"]
    assert refused["observed"]["refused"] == laws
    assert refused["prefix"]["refused"] == ["as long as the count", "as long as what is seen", "the population's"]
    assert words(LARGE, *made_up(monkeypatch, length=1.0))["prefix"] == NOT_REPRODUCED
    for numbers, said in (
        ({"excess": 0.15}, FINITE_SIZE),
        ({"factor": 0.8}, UNDECIDED),
        ({"factor": 1.2, "excess": -0.15}, NOT_REPRODUCED),
    ):
        off = words(LARGE, *made_up(monkeypatch, **numbers))
        assert (off["polar"], off["sgd"]) == (said, said), numbers


def test_a_batch_far_below_half_the_capacity_stores_what_it_shows(monkeypatch):
    assert words(LARGE, *made_up(monkeypatch, luck=8.0))["observed"] == NOT_REPRODUCED
    measured, predicted = made_up(monkeypatch)
    nothing_seen = measured | {"distinct": {name: np.zeros_like(x) for name, x in measured["distinct"].items()}}
    assert words(LARGE, nothing_seen, predicted)["observed"] == UNDECIDED
    small = CriticalBatchConfig(**vars(LARGE) | {"dims": (32, 64, 128)})
    assert words(small, *made_up(monkeypatch, config=small))["polar"] == UNDECIDED


def test_recovered_items_that_no_batch_holds_are_luck(monkeypatch):
    assert words(LARGE, *made_up(monkeypatch))["luck"] == CONSISTENT
    assert words(LARGE, *made_up(monkeypatch, unseen=5))["luck"] == NOT_REPRODUCED


def test_a_half_capacity_batch_of_another_law_is_refused(monkeypatch):
    for name, rivals in (("polar", {"α + 1/2": 2.5, "α − 1/2": 1.5}), ("sgd", {"Muon": 2.0, "no growth": 0.0})):
        for rival, exponent in rivals.items():
            measured, predicted = made_up(monkeypatch)
            measured["slope"][name], measured["interval"][name] = exponent, [exponent - 0.03, exponent + 0.03]
            said = CRITICAL_BATCH.verdicts(LARGE, measured, predicted)[name]
            assert word(said) == NOT_REPRODUCED and rival not in said["refused"]


def test_every_lemma_of_the_record_can_fail(monkeypatch):
    measured, predicted = made_up(monkeypatch)
    good = words(LARGE, measured, predicted)
    checks = {"lemma_15", "lemma_17", "lemma_28", "sgd_loss"}
    lemma_16 = CRITICAL_BATCH.verdicts(LARGE, measured, predicted)["lemma_16"]
    assert lemma_16["refused"] == ["no logarithm", "half the power of the logarithm", "α + 1/2"]
    assert good["lemma_16"] == FINITE_SIZE and good["lemma_14"] == REPRODUCED
    assert {good[name] for name in checks} == {CONSISTENT}
    worse = copy.deepcopy(measured)
    for name in ("lemma_15_explicit", "lemma_16", "lemma_17", "lemma_28"):
        worse["lemmas"][name][-1] = 10.0
    worse["lemmas"] |= {"loss_margin": [1.0, -1e-9], "median_slope": -1.0}
    assert {words(LARGE, worse, predicted)[name] for name in (*checks, "lemma_14", "lemma_16")} == {NOT_REPRODUCED}


@pytest.mark.parametrize("field, value", [("batch_sizes", (4, 2)), ("sgd_dims", (512,)), ("seeds", 1), ("alpha", 1.0)])
def test_critical_batch_config_checks_its_mathematics(field, value):
    with pytest.raises(ValueError, match=field):
        CriticalBatchConfig(**{field: value})
