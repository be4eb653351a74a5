"""The true iterates: what a trajectory is, step by step, and the bounds and recursions that it is compared with."""

import itertools
import math

import numpy as np
import pytest
import torch

import amemlib as am
from amembook.paper.optimality.rotations import sample_rotations

PROBLEM = am.Problem.power_law(300, 16, 1.5)
EMB = am.sample_embeddings(PROBLEM, 2000)
P = PROBLEM.frequencies


def test_a_trajectory_is_step_after_step():
    rates = [2.0, 3.0, 1.0]
    found = list(am.trajectory(EMB, itertools.repeat(P, 3), am.polar, rates))
    W = torch.zeros(16, 16, dtype=torch.float64)
    assert len(found) == 4 and torch.equal(found[0], W)
    for rate, iterate in zip(rates, found[1:], strict=True):
        W = am.step(W, am.gradient(W, EMB, P), am.polar, rate)
        torch.testing.assert_close(iterate, W, rtol=0, atol=1e-5)


def test_momentum_is_a_weighted_sum_of_all_gradients():
    beta, found = 0.7, []
    for W in am.trajectory(EMB, itertools.repeat(P, 4), am.identity, 50.0, beta):
        found.append(W)
    gradients = [am.gradient(W, EMB, P) for W in found[:-1]]
    for t in range(4):
        buffer = sum(beta ** (t - s) * G for s, G in enumerate(gradients[: t + 1]))
        torch.testing.assert_close(found[t + 1] - found[t], 50.0 * buffer, rtol=1e-5, atol=1e-6)


def test_gradient_descent_at_a_small_rate_descends_the_loss():
    losses = [am.loss(W, EMB, P) for W in am.trajectory(EMB, itertools.repeat(P, 6), am.identity, 5.0)]
    assert (np.diff(losses) < 0).all()


def test_a_trajectory_takes_its_gradients_when_asked_and_changes_no_iterate():
    asked = []

    def counted(G):
        asked.append(len(asked))
        return am.polar(G)

    iterates = am.trajectory(EMB, itertools.repeat(P), counted, 4.0)
    first = next(iterates)
    second = next(iterates)
    kept = second.clone()
    third = next(iterates)
    assert asked == [0, 1] and torch.equal(second, kept)
    assert not torch.equal(second, third) and not first.any()


def test_a_trajectory_does_not_depend_on_the_basis():
    rotation_u, rotation_v = sample_rotations(16, 2, 2000)
    emb = am.Embeddings(EMB.U.double(), EMB.V.double())
    turned = am.Embeddings(emb.U @ rotation_u.T, emb.V @ rotation_v.T)
    pairs = zip(*(am.trajectory(e, itertools.repeat(P, 3), am.polar, 4.0) for e in (emb, turned)), strict=True)
    for W, W_turned in pairs:
        torch.testing.assert_close(W_turned, rotation_u @ W @ rotation_v.T, rtol=0, atol=1e-7)


def test_batches_are_used_in_their_order_and_give_a_gradient_of_their_own_rank():
    batches = [am.sample_minibatch(PROBLEM, 8, seed) for seed in (2000, 2001)]
    ranks = []

    def watched(G):
        s = torch.linalg.svdvals(G)
        ranks.append(int((s > 1e-12 * s[0]).sum()))
        O = am.polar(G)  # noqa: E741
        assert torch.linalg.matrix_rank(O, tol=0.5) == ranks[-1]
        return O

    list(am.trajectory(EMB, batches, watched, 4.0))
    assert ranks == [int((q > 0).sum()) for q in batches]


def test_too_few_rates_and_a_bad_momentum_are_refused():
    with pytest.raises(ValueError, match="lr must hold a rate for every step"):
        list(am.trajectory(EMB, itertools.repeat(P, 3), am.polar, [1.0, 1.0]))
    for beta in (-0.1, 1.0, math.nan):
        with pytest.raises(ValueError, match="momentum must lie in"):
            list(am.trajectory(EMB, [P], am.polar, 1.0, beta))


def test_the_counting_limit_is_the_first_m_that_its_inequality_excludes():
    for dim, n_items in ((4, 1000), (16, 8192), (32, 8192)):
        limit = am.theory.counting_limit(dim, n_items)
        budget = dim**2 * math.log(math.e * n_items**3 / dim**2) + dim
        assert math.lgamma(limit + 1) >= budget > math.lgamma(limit)
        assert limit < n_items
    assert am.theory.counting_limit(64, 100) == 100


def test_no_ranking_agrees_with_a_random_pairing_more_often_than_the_limit_assumes():
    rng = np.random.default_rng(2000)
    ranking = rng.permutation(6)
    agreements = np.array([(rng.permutation(6) == ranking).sum() for _ in range(20_000)])
    for m in range(1, 5):
        share = (agreements >= m).mean()
        assert share <= 1 / math.factorial(m) + 3 * math.sqrt(share / len(agreements))
