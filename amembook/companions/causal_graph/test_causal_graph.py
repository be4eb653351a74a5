"""The mathematics of `causal-graph`: first gradient, scores in closed form, what a polar step makes of them."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch

from amembook.companions.causal_graph import expected, network, sequences_needed
from amembook.networks.tasks import causal as tasks
from amemlib import polar

TREE = (-1, 0, 0, 1, -1, 4)


def kernels(n, n_states=3, alpha=0.5, seed=0):
    drawn = tasks.sample_kernels(n_states, alpha, n, np.random.default_rng(seed))
    return torch.from_numpy(drawn), torch.from_numpy(tasks.stationary_law(drawn))


def test_the_first_gradient_is_that_of_the_network(monkeypatch):
    monkeypatch.setattr(network, "FLOOR", 1e-9)
    task = tasks.CausalTask(TREE, 3, 1.0)
    sequences = tasks.sample_causal(task, 200, 0)
    # where the target is nowhere in the context the network says 0, and the loss without a floor has no gradient
    seen = (sequences.contexts == sequences.targets[:, None]).any(1)
    assert 0.5 < seen.double().mean() < 1
    beta, P = 1e-5, torch.zeros(6, 6, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(network.causal_loss(P, beta * torch.eye(3).double(), sequences), P)
    ours = network.first_gradient(network.scores(*network.score_factors(sequences))) * beta / (3 * 6)
    assert torch.allclose(-slope, ours, atol=1e-4 * ours.abs().max().item())
    assert ours.triu(1).abs().max() == 0


@pytest.mark.slow
def test_exact_scores_against_every_sequence():
    pi, mu = kernels(2)
    T, S, exact = len(TREE), 3, expected.exact_scores(pi, mu, TREE)
    for n in range(2):
        brute = np.zeros((T, T))
        for x in itertools.product(range(S), repeat=T):
            weight = math.prod(mu[n, x[i]] if p < 0 else pi[n, x[p], x[i]] for i, p in enumerate(TREE))
            for t in set(x):
                for i, j in itertools.product(range(T), range(T)):
                    if j <= i:
                        brute[i, j] += weight * pi[n, x[j], t] * (T * (x[i] == t) / x.count(t) - 1)
        assert np.allclose(exact[n], brute, atol=1e-10)


@pytest.mark.slow
def test_long_contexts_bring_the_limit():
    pi, mu = kernels(40, alpha=2.0)
    errors = []
    for length in (8, 16, 32):
        scores = expected.exact_scores(pi, mu, tasks.lagged_graph(length, 1)).mean(0)
        laws = [expected.limit_score(pi, mu, 0, lag).mean() for lag in range(4)]
        errors.append(max(abs(scores.diagonal(-lag).mean() - law) for lag, law in enumerate(laws)))
    assert errors[0] > 1.6 * errors[1] > 1.6**2 * errors[2]


def test_the_score_of_an_edge_is_its_chi2_information_and_no_path_has_more():
    pi, mu = kernels(200, n_states=4, alpha=0.3)
    joint = mu[:, :, None] * pi
    independent = mu[:, :, None] * mu[:, None, :]
    chi2 = ((joint - independent) ** 2 / independent).sum((1, 2))
    assert torch.allclose(expected.limit_score(pi, mu, 0, 1), chi2)
    for up, down in itertools.product(range(4), range(5)):
        if up + down > 0:
            assert (expected.limit_score(pi, mu, up, down).abs() <= chi2 + 1e-9).all()
            assert (expected.pair_chi2(pi, mu, up, down) <= chi2 + 1e-9).all()
    assert (expected.limit_score(pi, mu, 0, 2) < 0.999 * chi2).all()
    assert torch.allclose(expected.pair_chi2(pi, mu, 0, 0), torch.full((200,), 3.0).double())


def test_a_token_scores_the_trace_beside_itself_so_sticky_kernels_defeat_the_rule():
    pi, mu = kernels(50, n_states=4, alpha=0.3)
    assert torch.allclose(expected.limit_score(pi, mu, 0, 0), pi.diagonal(dim1=1, dim2=2).sum(1) - 1)
    sticky = 0.5 * torch.eye(4).double() + 0.5 * pi
    own, edge = (expected.limit_score(sticky, mu, 0, down) for down in (0, 1))
    assert (own > edge).double().mean() > 0.9
    many, law = kernels(20_000, n_states=4, alpha=0.3)
    trace = expected.limit_score(many, law, 0, 0)
    assert abs(trace.mean()) < 4 * trace.std() / 20_000**0.5


def test_shannon_information_of_a_pair():
    pi, mu = kernels(5)
    joint, independent = mu[:, :, None] * (pi @ pi), mu[:, :, None] * mu[:, None, :]
    direct = (joint * (joint / independent).log()).sum((1, 2))
    assert torch.allclose(expected.pair_information(pi, mu, 0, 2), direct)
    assert torch.allclose(expected.pair_information(pi, mu, 0, 0), -(mu * mu.log()).sum(1))


def test_a_polar_step_levels_a_chain_and_divides_a_star():
    update = torch.diag(torch.tensor([0.5, 0.3, 0.2, 0.1]).double(), -1)
    assert torch.allclose(polar(update), (update > 0).double())
    star = torch.zeros(5, 5).double()
    star[1:, 0] = torch.tensor([0.5, 0.3, 0.2, 0.1])
    assert torch.allclose(polar(star)[:, 0], star[:, 0] / star.norm())


def test_samples_of_the_update_have_the_given_moments():
    mean = torch.tensor([[0.0, 0.0], [0.3, -0.2]]).double()
    covariance = torch.tensor([[1.0, 0.0, 0.2], [0.0, 2.0, 0.5], [0.2, 0.5, 1.0]]).double()
    drawn = expected.sample_updates(mean, covariance, 100, 20_000, 0)
    # of two places the difference is left, halved by the softmax and again by the row's length
    assert drawn[:, 1, 0].mean().item() == pytest.approx(0.5 / 4, abs=4 * 0.035 / 20_000**0.5)
    assert drawn[:, 1, 0].std().item() == pytest.approx(math.sqrt(2 + 1 - 2 * 0.5) / 10 / 4, rel=0.03)
    assert torch.allclose(drawn[:, 1, 0], -drawn[:, 1, 1]) and (drawn[:, 0] == 0).all()


def test_sequences_follow_their_graph_and_their_kernel():
    task = tasks.CausalTask(TREE, 3, 0.5)
    sequences = tasks.sample_causal(task, 40_000, 3)
    n = torch.arange(40_000)
    for child, parent in enumerate(TREE):
        law = sequences.kernels[n, sequences.contexts[:, parent]] if parent >= 0 else sequences.stationary
        said = law[n, sequences.contexts[:, child]]
        assert abs((said - law.square().sum(1)).mean()) < 4 * said.std() / 200
    assert torch.allclose((sequences.stationary[:, None] @ sequences.kernels)[:, 0], sequences.stationary, atol=1e-6)
    assert abs(torch.bincount(sequences.queries) / 40_000 - 1 / 3).max() < 0.01
    again = tasks.sample_causal(task, 40_000, 3)
    other = tasks.sample_causal(task, 40_000, 3, stream="evaluation")
    assert torch.equal(again.contexts, sequences.contexts) and not torch.equal(other.contexts, sequences.contexts)


def test_counts_along_a_graph():
    task = tasks.CausalTask((-1, 0, 0, 2), 3, 1.0)
    sequences = dataclasses.replace(
        tasks.sample_causal(task, 1, 0), contexts=torch.tensor([[1, 2, 1, 0]]), queries=torch.tensor([1])
    )
    assert tasks.graph_counts(sequences, task.parents).tolist() == [[1, 1, 1]]
    assert tasks.graph_counts(sequences, tasks.lagged_graph(4, 1)).tolist() == [[1, 0, 1]]
    assert tasks.state_counts(sequences).tolist() == [[1, 2, 1]]


def test_a_network_whose_attention_is_the_graph_counts_along_it():
    task = tasks.CausalTask(tasks.random_tree(8, 1), 3, 0.3)
    sequences = tasks.sample_causal(task, 500, 0, stream="evaluation")
    P = torch.full((8, 8), -torch.inf, dtype=torch.float64)
    for child, parent in enumerate(task.parents):
        P[child, max(parent, 0)] = 0.0
    said = network.predict(P, 30 * torch.eye(3).double(), sequences)
    counts = tasks.graph_counts(sequences, task.parents)
    # the root attends to itself and so answers for its own state: an extra count
    counts[torch.arange(500), sequences.contexts[:, 0]] += (sequences.contexts[:, 0] == sequences.queries).double()
    matched = counts.sum(1) > 0
    assert torch.allclose(said[matched], (counts / counts.sum(1, keepdim=True))[matched], atol=1e-8)


def test_training_finds_a_small_graph():
    task = tasks.CausalTask(tasks.lagged_graph(6, 2), 3, 0.2)
    P, _ = network.train_network(task, 60, 256, 0.1, 0)
    assert network.recovered_edges(network.position_attention(P), task.parents).mean() == 1


def test_how_many_sequences_are_needed_on_planted_shares():
    assert sequences_needed([10, 100, 1000], [0.5, 0.8, 1.0]) == pytest.approx(10**2.5)
    assert sequences_needed([10, 100], [0.95, 1.0]) == pytest.approx(10)
    assert math.isnan(sequences_needed([10, 100], [0.1, 0.2]))


FLAWS = [
    (("worst_score", "chain"), 6.0, "gradient", "not reproduced"),
    (("profile_limit", 2), 0.6, "gradient", "not reproduced"),
    (("recovered", "sgd", "chain", 4), 0.5, "edges", "not reproduced"),
    (("gap_slope", "sgd"), -1.0, "sequences", "not reproduced"),
    (("needed", "sgd", "chain 1"), 5000.0, "sequences", "not reproduced"),
    (("recovered", "polar", "tree", 5), 0.5, "muon", "not reproduced"),
    (("training", "recovered", 1), 0.9, "training", "not reproduced"),
    (("training", "recovered", 1), 0.9, "shift", "not reproduced"),
    (("profile_limit", 1), 0.0, "gradient", "not reproduced"),
    (("recovered", "sgd", "chain", 4), 0.5, "edges", "not reproduced", "many"),
    (("gap_slope", "sgd"), -1.0, "sequences", "not reproduced", "many"),
    (("recovered", "polar", "tree", 5), 0.5, "muon", "not reproduced", "many"),
]
REFUSED = [("graphs", ("ring",), "graph"), ("lengths", (8, 24), "length"), ("n_sequences", (1, 32), "n_sequence")]


def test_a_task_and_a_stream_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="parents must name an earlier token"):
        tasks.CausalTask((-1, 1), 3, 1.0)
    with pytest.raises(ValueError, match="stream must be one of"):
        tasks.sample_causal(tasks.CausalTask((-1, 0), 3, 1.0), 5, 0, stream="graph")
