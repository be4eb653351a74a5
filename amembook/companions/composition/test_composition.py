"""The mathematics of `composition`: hops, the network by hand, correlations, samples of one step, training."""

import itertools
import math

import numpy as np
import pytest
import torch

from amembook.companions.composition import expected, measure, network, permutations, transformer
from amemlib import polar


def draw(k, N, seed, n=1):
    return permutations.sample_permutations(n, k, N, np.random.default_rng(seed))


def test_hops_are_compositions_one_by_one():
    k, N = 4, 5
    sigma, pi = draw(k, N, 0, n=3), draw(k, N, 1)[0]
    for length in (1, 2, 3, 4):
        hops = permutations.hops(sigma, pi, length)
        for s, i, j in itertools.product(range(3), range(k), range(N)):
            at = j
            for step in range(length):
                at = sigma[s, (i + step) % k, pi[(i + step) % k, at]]
            assert hops[s, i, j] == at


@pytest.mark.parametrize("k", [2, 4, 8])
def test_the_network_by_hand_is_exact_and_needs_its_last_layer(k):
    built = measure.measure_built(k, 4, 20, seed=0)
    assert built["all"] == 1 and built["one less"] < 0.5 and built["layers"] == math.log2(k) + 1
    with pytest.raises(ValueError, match="power of two"):
        network.depth(6)


def test_correlations_are_products_of_characters_over_all_inputs():
    k, N = 2, 3
    sigmas = np.array(list(itertools.product(itertools.permutations(range(N)), repeat=k)))
    tuples = sigmas
    answers = np.stack([permutations.hops(sigmas, pi, k)[:, 0] for pi in tuples]).reshape(len(tuples), -1)
    alike = (answers[:, None] == answers[None]).mean(-1)
    exact = (alike - 1 / N) / (1 - 1 / N)
    law = expected.correlation(tuples[:, None], tuples[None])
    assert np.allclose(exact, law, atol=1e-12)
    assert (law**2).mean() == pytest.approx(expected.mean_square(k, N))
    # the operator of all functions has one eigenvalue, (N − 1)^(−2k): no query sees more of the hidden tuple
    spectrum = np.linalg.eigvalsh(law) / len(tuples)
    assert np.allclose(spectrum[spectrum > 1e-9], (N - 1.0) ** (-2 * k))


def test_the_mean_square_is_counted_and_follows_from_fixed_points():
    for k, N in ((1, 3), (2, 3), (3, 3), (1, 4), (2, 4)):
        assert measure.exact_correlation(k, N)["square"] == pytest.approx(expected.mean_square(k, N), rel=1e-12)


def test_the_counts_are_the_gradient_at_uniform_attention():
    k, N = 2, 3
    sigma, pi = draw(k, N, 2, n=6), draw(k, N, 3)[0]
    A = torch.zeros(k * N, k * N, dtype=torch.float64, requires_grad=True)
    read = torch.from_numpy(permutations.values(sigma))
    labels = torch.from_numpy(permutations.hops(sigma, pi, 1)).reshape(len(sigma), -1, 1)
    loss = -(A.softmax(-1) @ read).gather(2, labels).log().sum()
    (slope,) = torch.autograd.grad(loss, A)
    counts = permutations.all_answers(sigma, pi)
    # every value stands at k of the k N places
    assert np.allclose(-slope.numpy() * k, counts - counts.mean(1, keepdims=True), atol=1e-12)


def test_keys_are_told_apart_when_no_two_were_always_equal_by_any_step():
    k, N = 4, 4
    for seed in range(6):
        pi, sigma = draw(k, N, seed)[0], draw(k, N, 100 + seed, n=3)
        counts = permutations.all_answers(sigma, pi)
        right = permutations.alone(counts, pi)
        held = sigma.reshape(len(sigma), -1).T
        unique = np.array([(held == column).all(1).sum() == 1 for column in held[permutations.right_keys(pi)]])
        assert (right == unique).all()
        step = polar(torch.from_numpy(counts - len(sigma) / N)).numpy()
        assert (permutations.alone(step, pi) == right).all()


def test_samples_needed_and_shares_against_simulation():
    needed = [measure.measure_dense(4, 4, 100, seed)["needed"] for seed in range(4)]
    assert np.mean(needed) == pytest.approx(expected.samples_needed(4, 4), rel=0.04)
    main = 2 * math.log(64 * 16) / math.log(16)
    assert expected.samples_needed(64, 16) == pytest.approx(main + expected.leading_constant(64, 16), rel=0.02)
    shares = measure.measure_sparse(4, 6, (2, 6), 6, seed=0)
    assert shares["sgd"] == pytest.approx([expected.share_alone(4, 6, per) for per in (2, 6)], abs=0.07)
    assert expected.share_alone(4, 6, 0.1) < 0.05 < expected.share_alone(4, 6, 2) < expected.share_independent(4, 6, 2)
    assert shares["polar"][0] > shares["sgd"][0]


def test_training_climbs_the_stairs_and_the_last_hop_alone_does_not():
    pi = draw(4, 3, 5)[0]
    for regime, optimizer, lr in (("mixture", "adam", 0.05), ("curriculum", "muon", 0.5)):
        history = network.train(pi, regime, optimizer, 200, 32, lr, 0.3, seed=0)
        steps = [network.first_at(history, hop) for hop in range(3)]
        assert steps == sorted(steps) and len(set(steps)) == 3 and min(history[-1]) >= 0.99
    alone = network.train(pi, "k only", "adam", 60, 32, 0.05, 0.3, seed=0)
    assert len(alone) == 60 and math.isnan(network.first_at(alone, 2)) and alone[-1][2] < 0.5


def test_from_a_wider_start_the_last_hop_alone_leaves_chance():
    history = network.train(draw(4, 3, 0)[0], "k only", "adam", 1100, 32, 0.05, 1.0, seed=0)
    assert np.mean(history[-100:], 0)[-1] > 0.36


def test_the_transformer_learns_one_hop():
    pi = draw(2, 2, 6)[0]
    history = transformer.train(pi, "mixture", 40, 64, 16, 2, 5e-3, seed=0)
    assert np.mean(history[-1]) > np.mean(history[0]) and len(history[0]) == 2
    with torch.no_grad():
        weights = transformer.initial_weights(2, 3, 8, 1, np.random.default_rng(0))
        logits = transformer.forward(weights, torch.from_numpy(draw(2, 3, 7, n=5)), 1)
    assert logits.shape == (5, 2, 6, 3)


def test_the_right_key_is_alone_unless_a_key_of_another_block_held_every_answer():
    k, N, generator = 3, 4, np.random.default_rng(8)
    sigma = permutations.sample_permutations(30_000, k, N, generator)
    for m in (1, 2):
        held = sigma.reshape(-1, m, k, N)
        same = (held[:, :, 1:] == held[:, :, :1, :1]).all(1).any((1, 2))
        assert 1 - same.mean() == pytest.approx((1 - N ** (1 - m)) ** (k - 1), abs=0.015)


FLAWS = [
    (("built", "all", 2, 3), 0.99, "built", "not reproduced"),
    (("square", 2), 0.1, "correlation", "not reproduced", "growth"),
    (("growth", "steps", 0, 0, 1), [400.0] * 6, "doubling", "not reproduced", "growth"),
    (("by_k", "accuracy", 0, 0), [0.2] * 6, "shortest", "not reproduced", "growth"),
    (("needed", 3), 9.0, "dense", "not reproduced"),
    (("share", "sgd", 1, 2), 0.1, "sparse", "not reproduced"),
    (("share", "sgd", 0, 0), 0.2184, "sparse", "not reproduced", "share"),
    (("needed", 3), 9.0, "dense", "not reproduced", "share"),
    (("share", "polar"), [[0.0] * 7] * 3, "muon_sparse", "not reproduced", "share"),
    (("net", "steps", 1, 3), 100, "transformer", "not reproduced"),
    (("alone", "steps", 0, 0, 2), 10, "alone", "not reproduced"),
    (("alone", "steps", 1, 0, 2), 10, "muon", "not reproduced"),
    (
        ("easy", "learnt"),
        lambda steps: [[[[run[::-1] for run in size] for size in by] for by in data] for data in steps],
        "easy",
        "not reproduced",
    ),
    (("share", "polar"), [[0.0] * 7] * 3, "muon_sparse", "not reproduced"),
]
REFUSED = [("k", 6), ("built_ks", (3,)), ("net_dim", 10), ("dense_sizes", ("4",))]
