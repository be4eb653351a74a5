"""The mathematics of the study `metastable-chain`: Kac's law, the search, gradients, the polar factor's entry."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from amembook.companions.metastable_chain import chains, expected, learning, search
from amemlib import identity, polar


def some_chain(kind="random", clusters=4, states=10, edge=0.1, degree=4, seed=0):
    return chains.sample_chain(clusters, states, kind, degree, edge, np.random.default_rng(seed))


@pytest.mark.parametrize("kind", chains.KINDS)
def test_times_are_kacs_law(kind):
    chain = some_chain(kind)
    P = chain.transitions()
    assert np.allclose(P.sum(1), 1) and np.allclose(P[chain.sources, chain.entries], 0.1)
    law = expected.crossing_time(chains.inner_times(chain), 10, 0.1)[:-1].sum()
    assert chains.time_to_last(P, 10) == pytest.approx(law, rel=1e-9)
    if kind == "circle":
        assert chains.inner_times(chain) == pytest.approx(np.full(4, 10**2 / 4))


def test_matrices_that_are_not_doubly_stochastic_are_refused():
    with pytest.raises(ValueError, match="inside"):
        chains.Chain(np.array([[[1.0, 0.0], [1.0, 0.0]]]), np.array([0.1]))
    with pytest.raises(ValueError, match="edge"):
        chains.Chain(np.eye(2)[None], np.array([1.0]))


def test_the_exit_is_drawn_as_a_walk_takes_it():
    chain, rng = some_chain(clusters=2, states=5, edge=0.3, degree=3), np.random.default_rng(1)
    P = chain.transitions()
    seen = np.zeros((4000, 10), dtype=bool)
    seen[:, :4] = True
    starts = np.zeros(4000, dtype=int)
    taken, long = search.exits(P, starts, seen, rng)
    walked, steps = [], []
    for _ in range(4000):
        at, step = 0, 0
        while True:
            new = rng.choice(10, p=P[at])
            step += 1
            if new >= 4:
                break
            at = new
        walked.append(at)
        steps.append(step)
    assert np.bincount(taken[:, 0], minlength=4) / 4000 == pytest.approx(
        np.bincount(walked, minlength=4) / 4000, abs=0.04
    )
    assert long[0] == pytest.approx(np.mean(steps), rel=0.1)


def test_a_walk_sees_what_it_visits_and_more_of_it_with_time():
    chain = some_chain("uniform", clusters=3, states=20, edge=1e-6)
    starts = np.full(300, 7)
    few, many = (
        search.explore(chain.transitions(), starts, 2, steps, np.random.default_rng(0)).sum(1) for steps in (10, 40)
    )
    for seen, steps in ((few, 20), (many, 80)):
        assert seen.mean() == pytest.approx(20 - 19 * (1 - 1 / 20) ** steps, rel=0.03)


def test_shares_of_a_search():
    # long enough to see all, too short to leave; then too long
    assert expected.hard_share(3, 1000, 1e-6, 8) == pytest.approx(1, abs=0.02)
    assert expected.hard_share(0.3, 1000, 1e-3, 8) < 1e-3
    # one walker that leaves has no time to leave again
    assert expected.hard_share(2, 24, 1e-3, 1) == pytest.approx(expected.seen_share(153, 24, 1e-3), abs=0.02)
    assert expected.hard_share(4, 24, 0.05, 8) < expected.hard_share(2, 24, 0.05, 8)
    assert expected.missed_chance(1.0, 100, 1, 1) == 0 and expected.missed_chance(0.0, 100, 1, 1) == 1
    taken = np.array([[9, 14], [9, 14], [3, 4], [9, 14]])
    kept = search.kept_edges(taken, 3)
    assert kept.tolist() == [[9, 14]] and search.hard_steps(some_chain(), kept).all()


def test_gradients_are_those_of_the_loss_and_of_the_reward():
    chain = some_chain(clusters=2, states=5, degree=3)
    P = torch.from_numpy(chain.transitions())
    W = torch.zeros(10, 10, dtype=torch.float64, requires_grad=True)
    (-(P.T * W.log_softmax(0)).sum() / 10).backward()
    first = learning.first_gradient(P.numpy(), 0, np.random.default_rng(0))
    assert torch.allclose(-10 * W.grad, first, atol=1e-12)
    logits = torch.randn(10, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    targets = np.array([3, 8])
    logits.softmax(0)[targets, [0, 1]].sum().backward()
    assert torch.allclose(logits.grad, learning.reward_gradient(logits.detach(), targets), atol=1e-12)


def test_sampled_steps_have_the_scatter_that_is_said():
    chain, rng = some_chain("random", clusters=3, states=60, degree=6, edge=0.01), np.random.default_rng(0)
    G = learning.first_gradient(chain.transitions(), 50, rng).numpy()
    block = G[:60, :59] + 1 / 180
    assert ((block - 1 / 60) ** 2).sum(0).mean() == pytest.approx(expected.column_deviation(60, 6, 50) ** 2, rel=0.05)


def test_in_uniform_clusters_a_polar_step_forgets_the_chance():
    for edge in (0.1, 0.001):
        chain = some_chain("uniform", clusters=5, states=24, edge=edge)
        # of full rank otherwise: rounding errors would be levelled too
        W = polar(learning.first_gradient(chain.transitions(), 0, np.random.default_rng(0)), 2 * 5 - 1).numpy()
        hard = W[chain.entries, chain.sources] - np.median(W[:, chain.sources], 0)
        assert hard == pytest.approx(np.full(5, 1 - 1 / 24), rel=0.02)
    assert expected.polar_edge_at(0.01, 24, 0, 0) == pytest.approx(1 - 1 / 24)


def test_the_law_of_a_polar_entry():
    assert expected.polar_edge(1e-3) == pytest.approx(8 / (3 * math.pi) * 1e-3, rel=1e-3)
    assert expected.polar_edge(1.0) == pytest.approx(2 / math.pi) and expected.polar_edge(1e4) == pytest.approx(
        1, abs=1e-3
    )

    def integrand(t, theta):
        square = ((math.sqrt(t**2 + 4) - t) / 2) ** 2
        return theta * square / (1 + theta**2 * square)

    for theta in (0.1, 1.0, 5.0):
        integral = 2 / math.pi * quad(integrand, 0, np.inf, args=(theta,))[0]
        assert integral == pytest.approx(expected.polar_edge(theta), rel=1e-6)
    # many states and samples, small chances: the sizes are the limit
    theta = 0.002 / expected.column_deviation(10**6, 0, 10**6)
    assert expected.polar_edge_at(0.002, 10**6, 0, 10**6) == pytest.approx(expected.polar_edge(theta), rel=0.01)


def test_policy_gradients_take_the_steps_of_the_law():
    edge = np.geomspace(0.2, 0.01, 6)
    chain = some_chain(clusters=6, states=24, edge=edge, degree=8)
    P, edges = chain.transitions(), np.stack([chain.sources, chain.entries], 1)
    for name, f, lr in (("sgd", identity, 1.0), ("polar", polar, 0.1)):
        reached, boosted = learning.steps_to_half(P, edges, f, lr, True)
        assert reached == pytest.approx(expected.reward_steps(edge, 8, 24, lr)[name], rel=0.12)
        assert (boosted[chain.sources, chain.entries] >= 0.5 - 1e-9).all() and np.allclose(boosted.sum(1), 1)


FLAWS = [
    (("time", "steps", 3), 100.0, "time", "not reproduced"),
    (("search", "share", 1, 3), 0.1, "search", "not reproduced"),
    (("pipeline", "after", 2), 900.0, "boosted", "not reproduced"),
    (("reward", "sgd", 9), 40.0, "reward", "not reproduced"),
    (("step", "polar", 4), 0.1, "step", "not reproduced"),
    (("step", "polar", 16), 0.07, "step", "not reproduced"),
    (("step", "polar", 4), 0.1, "rest", "not reproduced"),
    (("step", "polar", 1), 0.2, "step", "not reproduced", "few"),
    (("step", "polar", 3), 0.1, "rest", "not reproduced", "few"),
]
REFUSED = [("reward_lr", (1.0,))]


def test_steps_to_half_are_counted():
    edge = np.array([0.2, 0.01])
    slow = expected.reward_steps(edge, 8, 24, 1e-3)
    for name, counted in expected.counted_steps(edge, 8, 24, 1e-3).items():
        assert counted == pytest.approx(slow[name], rel=2e-3)
    counted = expected.counted_steps(edge, 8, 24, 1.0)
    assert (counted["sgd"] < slow["sgd"] * 1e-3 * 1.06).all() and (counted["sgd"] > slow["sgd"] * 1e-3).all()
    assert expected.overshot(8, 24, 1e-6) == pytest.approx(1) and expected.overshot(8, 24, 0.1) == pytest.approx(
        1 - 0.1 * math.sqrt(1 + 1 / 8 + 7 / 192) / 2, abs=2e-3
    )
