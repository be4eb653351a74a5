"""Many steps on the thresholded gradient: schedules, iterates, the sharp count, and what the study reads of them."""

import math

import numpy as np
import pytest
import torch

import amemlib as am
from amembook.paper.deflation import EXPERIMENT, RULES, DeflationConfig, run_schedule, thresholded_trajectory
from amembook.run.cache import plain
from amembook.run.claims import UNDECIDED, word
from amemlib import theory
from amemlib.equivalents import (
    ManyStepEquivalent,
    SpectralEquivalent,
    SpectralLaw,
    evenly_spread_sgd_capacity,
    half_recovered_thresholds,
    sgd_weights,
    thresholded_weights,
    weighted_sgd_capacity,
)

SMALL = DeflationConfig(dims=(16, 24), n_items=600, seeds=1, steps=3, sgd_steps=3, batch_dim=16, batch_sizes=(64, 512))


def drawn(dim=128, n_items=8192, alpha=1.5, seed=2000):
    problem = am.Problem.power_law(n_items, dim, alpha)
    return problem, am.sample_embeddings(problem, seed)


@pytest.mark.parametrize("alpha", [1.25, 1.5, 2.0])
def test_thresholds_have_the_exponents_of_theorems_9_and_10(alpha):
    # dimensions so large that neither rounding nor d^κ ≤ d² matter; they are exact integers, never arrays
    for method in ("muon", "sgd"):
        small, large = (theory.recovery_thresholds(method, dim, alpha, 5) for dim in (10**8, 10**12))
        for t, (a, b) in enumerate(zip(small, large, strict=True), start=1):
            exponent = math.log(b / a) / math.log(10**4)
            assert exponent == pytest.approx(theory.recovery_exponent(method, alpha, t), abs=1e-3)


def test_a_batch_limits_every_threshold():
    free = theory.recovery_thresholds("muon", 1024, 1.5, 4)
    limited = theory.recovery_thresholds("muon", 1024, 1.5, 4, batch_size=10**6)
    assert limited == tuple(min(x, 10**4) for x in free)
    assert theory.recovery_thresholds("sgd", 64, 1.5, 3, constant=1e-9) == (1, 1, 1)


def test_the_smoothing_is_the_bulk_and_the_rate_is_its_inverse():
    alpha, n_items, dim, now = 1.5, 10**6, 1024, 5000
    following = now ** (1 - 1 / (2 * alpha)) * dim ** (1 / alpha)
    lam = theory.muon_smoothing(n_items, dim, alpha, following)
    zeta = theory.power_law_sum(n_items, alpha)
    assert lam == pytest.approx(now ** (0.5 - alpha) * dim**-0.5 / zeta, rel=1e-12)
    assert theory.sgd_learning_rate(n_items, alpha, following) == pytest.approx(math.sqrt(dim) / lam, rel=1e-12)
    first = theory.muon_smoothing(n_items, dim, alpha, theory.recovery_thresholds("muon", dim, alpha, 1)[0])
    assert first == pytest.approx(dim**-alpha / zeta, rel=1e-3)


def test_the_thresholded_trajectory_is_the_sum_of_its_steps():
    problem, emb = drawn(32, 500)
    p, lams = problem.frequencies, (0.02, 0.01)
    maps = [lambda G, lam=lam: am.smoothed_sign(G, lam) for lam in lams]
    first, second = thresholded_trajectory(emb, [p, p], (0, 40), maps, (2.0, 3.0))
    G = [am.thresholded_gradient(emb, p, n) for n in (0, 40)]
    assert torch.equal(first, 2 * am.smoothed_sign(G[0], 0.02))
    assert torch.allclose(second, first + 3 * am.smoothed_sign(G[1], 0.01), rtol=1e-14)


def test_many_sgd_steps_are_one_with_other_weights():
    problem, emb = drawn(32, 500)
    batches = torch.stack([am.sample_minibatch(problem, 300, seed) for seed in range(3)])
    rates = (1.0, 5.0, 30.0)
    x = sgd_weights(thresholded_weights(batches, (0, 4, 20)), rates)
    iterates = thresholded_trajectory(emb, batches, (0, 4, 20), [am.identity] * 3, rates)
    for row, W in zip(x, iterates, strict=True):
        assert torch.allclose(W, am.thresholded_gradient(emb, row, 0), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("width", [0.0, 1.0])
def test_one_step_of_the_many_step_count_is_the_one_step_count(width):
    p, dim = am.Problem.power_law(8192, 128, 1.5).frequencies, 128
    lam = width * theory.bulk_scale(8192, dim, 1.5)
    many, one = ManyStepEquivalent.solve(p[None], dim, [lam]), SpectralEquivalent.solve(p, dim, lam)
    assert many.recovery_probabilities()[0] @ many.counts == pytest.approx(
        one.counts @ one.recovery_probabilities(), rel=0.003
    )
    # the overlap of a step with itself by the ladder, against the diagonal by the fixed point
    twice = ManyStepEquivalent.solve(torch.stack([p, p]), dim, [lam, lam])
    assert twice.overlaps[0, 1] == pytest.approx(many.overlaps[0, 0], rel=2e-3)


def test_overlaps_are_those_of_a_draw_for_nested_tails_and_for_batches():
    problem, emb = drawn(128, 8192)
    p, removed = problem.frequencies, (0, 300, 700)
    batches = torch.stack([am.sample_minibatch(problem, 5000, seed) for seed in range(3)])
    for q in (p, batches):
        w = thresholded_weights(q, removed)
        lams = (2e-4, 1e-4, 0.0) if q is p else (2e-4, 1e-4, 1e-4)
        maps = [am.smoothed_sign(am.thresholded_gradient(emb, row, 0), lam) for row, lam in zip(w, lams, strict=True)]
        drawn_overlaps = np.array([[float((A * B).sum()) / 128 for A in maps] for B in maps])
        assert np.abs(drawn_overlaps - ManyStepEquivalent.solve(w, 128, lams).overlaps).max() < 0.015


def test_the_bulk_is_that_of_a_gaussian_matrix_when_many_items_are_gone():
    p, dim = am.Problem.power_law(60_000, 64, 1.5).frequencies.clone(), 64
    p[: 64 * dim] = 0
    law, edge = SpectralLaw.solve(p, dim), 2 * math.sqrt(float(p @ p) / dim)
    s = np.linspace(0, edge, 2001)
    circle = np.cumsum(np.sqrt(edge**2 - s**2)) * 4 / (math.pi * edge**2) * (s[1] - s[0])
    for share in (0.25, 0.5, 0.75):
        assert law.quantile(share) == pytest.approx(np.interp(share, circle, s), rel=0.01)


@pytest.mark.slow
def test_theorem_9_counts_after_every_step():
    problem, emb = drawn(256, 8192)
    for rule in ("smoothed_sign", "polar"):
        plan = RULES[rule].schedule(8192, 256, 1.5, 3, 0.5)
        w = thresholded_weights(problem.frequencies, plan.removed)
        equivalent = ManyStepEquivalent.solve(w, 256, plan.lams)
        sharp = equivalent.recovery_probabilities() @ equivalent.counts
        counts = [int(mask.sum()) for mask in run_schedule(plan, emb, [problem.frequencies] * 3)]
        # one draw of nearly independent events scatters by about half the root of its mean
        assert (np.abs(counts - sharp) < 0.10 * sharp + 1.0 * np.sqrt(sharp)).all()
        assert counts[2] > 1.4 * counts[0], "more steps, more items"


@pytest.mark.slow
def test_theorem_9_exponents_once_the_thresholds_follow_what_is_recovered():
    dims, counts = (1024, 2048), []
    for dim in dims:
        p = am.Problem.power_law(2**18, dim, 1.5).frequencies
        removed = (0, *half_recovered_thresholds(p, dim, 2))
        equivalent = ManyStepEquivalent.solve(thresholded_weights(p, removed), dim, [0.0] * 3)
        counts.append(equivalent.recovery_probabilities() @ equivalent.counts)
    slopes = np.log2(np.divide(*counts[::-1]))
    limits = [theory.recovery_exponent("muon", 1.5, t) for t in (1, 2, 3)]
    # the steps' limits differ by 0.14 and more
    assert (np.abs(slopes - limits) < 0.06).all()


@pytest.mark.slow
def test_theorem_10_counts_and_what_one_variance_misses():
    counts, x = [], None
    for seed in (2000, 2001):
        problem, emb = drawn(256, 4096, seed=seed)
        plan = theory.sgd_schedule(4096, 256, 1.5, 4, 1.0)
        x = sgd_weights(thresholded_weights(problem.frequencies, plan.removed), plan.learning_rates)
        counts.append([am.capacity(am.thresholded_gradient(emb, row, 0), emb) for row in x])
    mean = np.mean(counts, 0)
    sharp, even = (np.array([f(row, 256) for row in x]) for f in (weighted_sgd_capacity, evenly_spread_sgd_capacity))
    assert (np.abs(mean - sharp) < 0.10 * sharp + 2 * np.sqrt(sharp / 2)).all()
    assert (even > 1.2 * sharp)[1:3].all() and even[3] < 1.25 * sharp[3]


def test_an_item_alone_has_no_rival_in_either_count_of_sgd():
    alone = torch.ones(1, dtype=torch.float64)
    for capacity in (weighted_sgd_capacity, evenly_spread_sgd_capacity):
        assert capacity(alone, 1) == pytest.approx(1, abs=1e-6)


def test_theorem_10_no_schedule_gains_more_new_items():
    problem, emb = drawn(256, 8192)
    plan = theory.sgd_schedule(8192, 256, 1.5, 4, 1.0)
    w, last = thresholded_weights(problem.frequencies, plan.removed), plan.removed[-1]
    new = []
    for power in (0.0, 1.0, 4.0):
        x = sgd_weights(w, [(lr / plan.learning_rates[0]) ** power for lr in plan.learning_rates])[-1]
        new.append(int(am.recovered(am.thresholded_gradient(emb, x, 0), emb)[last:].sum()))
    assert new[0] < new[2] / 2 and new[1] < new[2] + 3 * math.sqrt(new[2])


@pytest.mark.slow
def test_the_cells_and_the_summary_fit_together():
    cells = EXPERIMENT.cells(SMALL, "cpu")
    assert len(cells) == 5 * 2 + 2 * 2 + 2
    measured, predicted = EXPERIMENT.read(SMALL, [plain(cell.function(**cell.arguments)) for cell in cells])
    assert np.shape(measured["counts"]["sgd"]) == (2, 3)
    assert np.shape(measured["batch_counts"]["smoothed_sign"]) == (2, 3)
    assert np.shape(measured["seed_batch_sharp"]["sgd"]) == np.shape(measured["seed_batch_unseen"]["sgd"]) == (2, 1, 3)
    verdicts = EXPERIMENT.verdicts(SMALL, measured, predicted)
    assert word(verdicts["polar"]) == UNDECIDED, "no dimension is large enough to judge"
    assert set(verdicts) == {*RULES, "batches", "luck", *(f"lemma_{n}" for n in range(30, 37))}


@pytest.mark.slow
def test_schedules_without_a_constant_take_thresholds_at_what_is_recovered():
    p, dim = am.Problem.power_law(8192, 128, 1.5).frequencies, 128
    smoothed = am.equivalents.half_recovered_smoothed_schedule(p, dim, 3)
    w = thresholded_weights(p, smoothed.removed)
    # λ_t is the size of the bulk, Theorem 9's without its constant
    assert smoothed.lams[0] == pytest.approx(theory.bulk_scale(8192, dim, 1.5), rel=0.5)
    for last, lam, row in zip(smoothed.removed, smoothed.lams, w, strict=True):
        assert lam == pytest.approx(float(row[last + dim :].norm()) / math.sqrt(dim), rel=1e-12)
    likely = ManyStepEquivalent.solve(w, dim, smoothed.lams)
    chances = likely.recovery_probabilities()[:, likely.classes]
    for row, threshold in zip(chances, smoothed.thresholds, strict=True):
        assert row[threshold - 1] >= 0.5 > row[threshold:].max()

    sgd = am.equivalents.half_recovered_sgd_schedule(p, dim, 4)
    assert list(sgd.thresholds) == sorted(sgd.thresholds) and set(sgd.lams) == {math.inf}
    for lr, row in zip(sgd.learning_rates, thresholded_weights(p, sgd.removed), strict=True):
        noise = max(float(row.max()) / math.sqrt(dim), float(row.norm()) / dim)
        assert lr == pytest.approx(1 / noise, rel=1e-12)
    # an item gained in the last step is one of its rates, not of Theorem 10's constant
    free, theorem = sgd.learning_rates, theory.sgd_schedule(8192, dim, 1.5, 4).learning_rates
    assert 0.1 < (free[2] / free[1]) / (theorem[2] / theorem[1]) < 10


def test_a_config_whose_thresholds_leave_nothing_is_refused():
    with pytest.raises(ValueError, match="n_items must exceed sgd's last threshold, .* got 16384"):
        DeflationConfig(n_items=16_384)
    assert EXPERIMENT.profiles["cpu"].first_seed == 0
