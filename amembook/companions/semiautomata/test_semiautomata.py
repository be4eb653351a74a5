"""The mathematics of `semiautomata`: agreement, factors, alphabets, what words count, a memory's gradient."""

import itertools

import numpy as np
import pytest
import torch

from amembook.companions.semiautomata import expected, machines, measure


def machine(n=5, letters=40, seed=0):
    return machines.sample_machine(n, letters, np.random.default_rng(seed))


def matrices(P):
    return np.eye(P.shape[1])[P].transpose(0, 2, 1)


def test_letters_are_lazy_transpositions():
    P = machine(6, 4000)
    moved = (P != np.arange(6)).sum(1)
    assert set(moved) == {0, 2} and (moved > 0).mean() == pytest.approx(0.5, abs=0.03)
    standard = machines.mean_letter(P) - 1 / 6
    assert np.linalg.eigvalsh(standard)[1:] == pytest.approx(np.full(5, expected.letter_factor(6)), abs=0.03)
    # exactly: half identity, half the mean of all transpositions
    all_letters = matrices(machines.lazy_transpositions(6))
    mean = (all_letters[0] + all_letters[1:].mean(0)) / 2 - 1 / 6
    assert np.linalg.eigvalsh(mean)[1:] == pytest.approx(np.full(5, expected.letter_factor(6)))


def test_agreement_is_that_of_all_words():
    P, other = machine(4, 3, 1), machine(4, 3, 2)
    for T in (1, 2, 3):
        agree = 0
        for word in itertools.product(range(3), repeat=T):
            s, t = np.arange(4), np.arange(4)
            for letter in word:
                s, t = P[letter][s], other[letter][t]
            agree += (s == t).mean()
        assert machines.agreements(P, other, T)[-1] == pytest.approx(agree / 3**T - 1 / 4)


def test_many_letters_agree_as_the_law():
    P, other = machine(5, 20_000, 1), machine(5, 20_000, 2)
    assert machines.agreements(P, other, 6) == pytest.approx(expected.excess(5, np.arange(1, 7)), abs=0.01)


def test_a_renamed_machine_agrees_for_ever():
    P, names = machine(6, 200), np.array([0, 1, 3, 4, 5, 2])
    same = machines.renamed(P, names)
    # it does to π(s) what the first does to s
    assert (same[:, names] == names[P]).all()
    assert machines.agreements(P, same, 80)[-1] == pytest.approx(expected.renamed_excess(2, 6), abs=1e-4)
    assert machines.pair_factor(P, same) == pytest.approx(1)


def test_factors_are_eigenvalues():
    P, other = machine(4, 30, 3), machine(4, 30, 4)
    M = np.mean([np.kron(a, b) for a, b in zip(matrices(P), matrices(other), strict=True)], 0)
    keep = np.kron(np.eye(4) - 1 / 4, np.eye(4) - 1 / 4)
    assert machines.pair_factor(P, other) == pytest.approx(np.linalg.eigvalsh(keep @ M @ keep)[-1])
    stuck = np.tile(np.arange(4), (3, 1))
    assert machines.own_factor(stuck) == pytest.approx(1)


@pytest.mark.parametrize("per_state", [2, 3])
def test_the_share_of_connected_machines_is_exact(per_state):
    rng = np.random.default_rng(0)
    connected = [machines.own_factor(machines.sample_machine(5, 5 * per_state, rng)) < 1 - 1e-9 for _ in range(3000)]
    assert np.mean(connected) == pytest.approx(expected.connected_share(5, 5 * per_state), abs=0.03)
    # two states are connected by any transposition
    assert expected.connected_share(2, 4) == pytest.approx(1 - 0.5**4)


def test_counts_have_the_mean_that_is_said():
    P, T, n = machine(4, 6, 5), 3, 200_000
    C = machines.count_words(P, n, T, np.random.default_rng(0))
    assert C.sum() == n * T
    mean, letters = machines.mean_letter(P), matrices(P)
    power = lambda k: np.linalg.matrix_power(mean, k)
    law = sum(power(T - t) @ letters @ power(t - 1) for t in range(1, T + 1)) / (4 * 6)
    assert C / n == pytest.approx(law, abs=0.002)


def test_letters_are_read_off_their_matrices():
    P = machine(6, 50)
    assert (machines.best_letters(matrices(P) - 1 / 6) == P).all()


def test_the_law_of_words():
    assert expected.right_share(0.01, 8, 0.5) < 0.2 and expected.right_share(1e4, 8, 0.5) == pytest.approx(1)
    # long words: the price of a letter is λ^−2, but for the 1/T
    long = [expected.words_needed(8, 1000, T, 0.9) * T for T in (60, 61)]
    assert long[1] / long[0] == pytest.approx(expected.letter_factor(8) ** -2, rel=2e-3)
    looks = [expected.evidence(8, 1000, T, expected.words_needed(8, 1000, T, 0.9)) for T in (60, 80)]
    assert looks[0] == pytest.approx(looks[1], rel=0.01)
    # leads that share counts are right together
    assert expected.words_needed(8, 1000, 8, 0.9) < expected.independent_words(8, 1000, 8, 0.9)


@pytest.mark.parametrize(("N", "rho", "places"), [(4, 0.5, 12.0), (5, 0.2, 150.0)])
def test_the_share_of_letters_is_that_of_poisson_cells(N, rho, places):
    rng, letters = np.random.default_rng(0), 40_000
    high, low = expected.chances(N, rho)
    P = machine(N, letters)
    C = rng.poisson(places * (low + (high - low) * matrices(P)))
    # equal scores are told apart at random
    right = (machines.best_letters(C + 1e-6 * rng.random(C.shape)) == P).all(1).mean()
    assert right == pytest.approx(expected.right_share(places, N, rho), abs=0.01)


def test_rival_gaps():
    for letters in (4000, 40_000):
        assert expected.free_gap(8, letters) == pytest.approx(expected.semicircle_gap(8, letters), abs=0.01)
    # free projections, drawn: random involutions of trace λ² in a large space
    rng, size, letters = np.random.default_rng(0), 300, 30
    tau = (1 - expected.letter_factor(8) ** 2) / 2
    total = np.zeros((size, size))
    for _ in range(letters):
        Q = np.linalg.qr(rng.standard_normal((size, round(tau * size))))[0]
        total += Q @ Q.T
    gap = np.linalg.eigvalsh(total)[0] / letters / tau
    assert gap == pytest.approx(expected.free_gap(8, letters), abs=0.03)


def test_the_step_of_a_memory_is_the_gradient_of_its_loss():
    n, letters, d, T, rng = 3, 5, 4, 2, np.random.default_rng(0)
    P, keys = machine(n, letters), rng.standard_normal((letters, d))
    first, words = rng.integers(n, size=7), rng.integers(letters, size=(7, T))
    last = first
    for t in range(T):
        last = P[words[:, t], last]
    W = torch.zeros(n * n, d, dtype=torch.float64, requires_grad=True)
    logits = (torch.from_numpy(keys)[words] @ W.T).sum(1).reshape(7, n, n)[torch.arange(7), :, first]
    torch.nn.functional.cross_entropy(logits, torch.from_numpy(last), reduction="sum").backward()
    C = np.zeros((letters, n, n))
    for word, start, end in zip(words, first, last, strict=True):
        for letter in word:
            C[letter, end, start] += 1
    G = (C - C.mean(1, keepdims=True)).reshape(letters, -1).T @ keys
    assert np.allclose(-W.grad.numpy(), G)


def test_the_learner_tells_ties_alike_for_all_letters_and_without_that_the_law_holds():
    n_states, length, letters = 8, 5, 16_384
    n = round(expected.words_needed(n_states, letters, length, 0.9))
    candidates, shares = machines.lazy_transpositions(n_states), []
    for seed in range(4):
        generator = np.random.default_rng([seed, 77])
        P = machines.sample_machine(n_states, letters, generator)
        C = machines.count_words(P, n, length, generator)
        totals = np.stack([C[:, g, np.arange(n_states)].sum(1) for g in candidates], 1)
        told = candidates[(totals + 0.9 * generator.random(totals.shape)).argmax(1)]
        shares.append([measure.right_letters(C, P, length), (told == P).all(1).mean()])
    learner, by_letter = np.array(shares).T
    assert by_letter == pytest.approx(0.9, abs=0.008) and by_letter.std() < 0.004 < learner.std()


FLAWS = [
    (("agreement", 1, "excess", 10), 0.5, "agreement", "not reproduced"),
    (("agreement", 0, "renamed", 3), 0.05, "renamed", "not reproduced"),
    (("connected", "share", 0, 2), 0.3, "connected", "not reproduced"),
    (("price", "polar", 1, 2), 0.9, "price", "not reproduced"),
    (("zipf", "polar", 1), 0.1, "zipf", "undecided"),
    (("gap", "pair", 0, 2), 0.99, "gap", "not reproduced"),
    (("zipf", "polar", 1), 0.0, "zipf", "not reproduced"),
    (("agreement", 0, "excess", 11), 0.1, "agreement", "not reproduced", "pairs"),
]
