"""Whitened gradients: K-FAC and balanced sums beside slow twins, the law beside sums over items and beside counts."""

import math

import numpy as np
import pytest
import torch
from scipy.special import log_ndtr

import amemlib as am
from amemlib import equivalents
from amemlib.equivalents import KFAC, MATCHED, MATCHED_AND_NEWTON, Whitener, balanced_whitener, whitened
from amemlib.whitening import balanced_sum, kfac

SEEDS = range(2000, 2006)


def power(moment, b):
    s, Q = torch.linalg.eigh(moment)
    return Q * s**-b @ Q.T


def made(emb, p):
    """Matrices by the sides that predict them, each from its definition and not from the library's function."""
    G, U = am.initial_gradient(emb, p), emb.U - emb.U.mean(0)
    outputs, inputs, squares = U.T @ (p[:, None] * U), emb.V.T @ (p[:, None] * emb.V), am.second_moment(emb.V, p**2)
    newton, matched = G @ torch.linalg.inv(inputs), am.matched_filter(emb, p)
    half = (Whitener(np.asarray, power=0.5),)
    ridge = 0.01 * inputs.trace() / emb.dim * torch.eye(emb.dim, dtype=torch.float64)
    return {
        "newton": ((), KFAC, newton),
        "matched": ((), MATCHED, matched),
        "mixed": ((), MATCHED_AND_NEWTON, matched / matched.norm() + 0.6 * newton / newton.norm()),
        "kfac": (KFAC, KFAC, torch.linalg.solve(outputs, newton)),
        "half": (half, MATCHED, power(outputs, 0.5) @ matched),
        "damped": ((), (Whitener(np.asarray, damping=0.01),), G @ torch.linalg.inv(inputs + ridge)),
        "root": ((), (Whitener(np.square, power=0.5),), G @ power(squares, 0.5)),
        "between": ((), (Whitener(lambda q: q**1.5),), G @ torch.linalg.inv(am.second_moment(emb.V, p**1.5))),
    }


@pytest.mark.parametrize("damping", [0.0, 0.02])
def test_kfac_is_its_loop_over_items(damping):
    problem = am.Problem.power_law(300, 12, 1.5)
    emb, p = am.sample_embeddings(problem, 2000, dtype=torch.float64), problem.frequencies
    mean, eye = emb.U.mean(0), torch.eye(12, dtype=torch.float64)
    G, outputs, inputs = (torch.zeros(12, 12, dtype=torch.float64) for _ in range(3))
    for q, u, v in zip(p, emb.U - mean, emb.V, strict=True):
        G, outputs, inputs = G + q * torch.outer(u, v), outputs + q * torch.outer(u, u), inputs + q * torch.outer(v, v)
    outputs, inputs = (S + damping * S.trace() / 12 * eye for S in (outputs, inputs))
    slow = torch.linalg.inv(outputs) @ G @ torch.linalg.inv(inputs)
    W = kfac(emb, p, damping)
    assert (W - slow).norm() <= 1e-10 * slow.norm()
    again = am.whiten(
        am.initial_gradient(emb, p), am.second_moment(emb.U, p, mean), am.second_moment(emb.V, p), damping
    )
    assert (W - again).norm() <= 1e-10 * slow.norm()


def test_a_balanced_sum_has_the_norm_of_the_identity_and_its_parts_in_proportion():
    generator = torch.Generator().manual_seed(0)
    A, B = (scale * torch.randn(5, 9, generator=generator, dtype=torch.float64) for scale in (1.0, 1e-6))
    W = balanced_sum([A, B], [1, 0.6])
    assert float(W.norm()) == pytest.approx(5**0.5, rel=1e-12)
    slow = A / A.square().sum().sqrt() + 0.6 * B / B.square().sum().sqrt()
    assert (W / W.norm() - slow / slow.norm()).norm() < 1e-10
    torch.testing.assert_close(balanced_sum([A], [3]), A * 5**0.5 / A.norm())


def test_centred_outputs_keep_the_commonest_items():
    """Σ_u about 0 beside a centred gradient: at α = 2 it loses items that the gradient has."""
    problem = am.Problem.power_law(4096, 64, 2.0)
    p, kept = problem.frequencies, {"centred": 0, "about 0": 0}
    for seed in SEEDS:
        emb = am.sample_embeddings(problem, seed, dtype=torch.float64)
        G, inputs = am.initial_gradient(emb, p), am.second_moment(emb.V, p)
        for name, W in {
            "centred": kfac(emb, p),
            "about 0": am.whiten(G, am.second_moment(emb.U, p), inputs),
        }.items():
            kept[name] += int(am.recovered(W, emb)[:4].sum())
    assert kept["centred"] >= kept["about 0"] + 6


def test_traces_of_two_resolvents_are_those_of_a_draw():
    problem = am.Problem.power_law(6000, 96, 1.5)
    p = problem.frequencies
    values, counts = p.numpy(), np.ones(6000)
    terms = [Whitener(np.square), Whitener(np.asarray, damping=0.03)]
    side = whitened._solve("right", terms, values, counts, 96)
    V = am.sample_embeddings(problem, 2000, dtype=torch.float64).V
    moments = [am.second_moment(V, p**2), am.second_moment(V, p) + 0.03 / 96 * torch.eye(96, dtype=torch.float64)]
    inverses = [torch.linalg.inv(moment) for moment in moments]
    for n, A in enumerate(inverses):
        assert side.tau[n] == pytest.approx(float(A.trace()) / 96, rel=0.05)
        for m, B in enumerate(inverses):
            assert side.square[n, m] == pytest.approx(float((A @ B).trace()) / 96, rel=0.08)


def test_a_power_is_a_sum_of_inverses():
    x = np.logspace(-8, 0, 9)
    for b in (0.25, 0.5, 0.8):
        low = math.log(x[0]) - whitened._POWER_TAIL / (1 - b)
        log_s = np.arange(low, whitened._POWER_TAIL / b, whitened._POWER_STEP)
        weight = whitened._POWER_STEP * math.sin(math.pi * b) / math.pi * np.exp((1 - b) * log_s)
        np.testing.assert_allclose((weight / (x[:, None] + np.exp(log_s))).sum(1) * x**b, 1, atol=1e-3)


def test_the_law_is_its_sum_over_items_and_rivals():
    """Against the formula written with loops, on classes that hold one item each."""
    problem = am.Problem.power_law(40, 6, 1.5)
    q, dim = problem.frequencies.numpy(), 6
    sides = [whitened._solve(name, KFAC, q, np.ones(40), dim) for name in ("left", "right")]
    u, v = sides
    gain = [c.coefficient[0] * c.tau[0] * c.rest[0] for c in sides]
    omega = lambda s, i, k: s.coefficient[0] ** 2 * s.square[0, 0] * (s.rest[0, i] * s.rest[0, k]) ** 2 / dim
    g, weights = whitened.GAUSS_HERMITE
    total = 0.0
    for i in range(40):
        phi = q[i] * gain[0][i] * gain[1][i]
        noise = sum(q[k] ** 2 * omega(u, i, k) * omega(v, k, i) for k in range(40) if k != i)
        noise += 2 * phi**2 * (omega(u, i, i) / gain[0][i] ** 2 + omega(v, i, i) / gain[1][i] ** 2)
        log_wins = 0.0
        for j in set(range(40)) - {i}:
            variance = sum(q[k] ** 2 * omega(u, j, k) * omega(v, k, i) for k in range(40) if k not in (i, j))
            variance += (q[j] * gain[0][j]) ** 2 * omega(v, j, i) + (q[i] * gain[1][i]) ** 2 * omega(u, j, i)
            log_wins = log_wins + log_ndtr((phi + noise**0.5 * g) / variance**0.5)
        total += np.exp(log_wins) @ weights / math.sqrt(2 * math.pi)
    assert am.expected_capacity(problem, "kfac") == pytest.approx(total, rel=0.01)


def test_laws_agree_where_two_describe_one_map():
    for alpha in (1.25, 2.0):
        problem = am.Problem.power_law(8192, 128, alpha)
        for sides, name, near in ((MATCHED, "matched_filter", 0.01), (KFAC, "newton", 0.04)):
            law = equivalents.expected_whitened_capacity(problem, right=sides)
            assert law == pytest.approx(am.expected_capacity(problem, name), rel=near)
    full = equivalents.expected_whitened_capacity(problem, KFAC, KFAC)
    assert full == am.expected_capacity(problem, "kfac")
    assert equivalents.expected_whitened_capacity(problem, (), (Whitener(np.asarray, coefficient=7.0),) * 2) == (
        pytest.approx(equivalents.expected_whitened_capacity(problem, right=KFAC), rel=1e-9)
    )


@pytest.mark.slow
@pytest.mark.parametrize("alpha, n_items, dim", [(1.3, 3000, 128), (1.7, 5000, 144)])
def test_counts_are_the_predicted_ones(alpha, n_items, dim):
    problem, counted = am.Problem.power_law(n_items, dim, alpha), {}
    for seed in SEEDS:
        emb = am.sample_embeddings(problem, seed, dtype=torch.float64)
        sides = made(emb, problem.frequencies)
        for name, (_, _, W) in sides.items():
            counted.setdefault(name, []).append(am.capacity(W, emb))
    for name, (left, right, _) in sides.items():
        law, mean = equivalents.expected_whitened_capacity(problem, left, right), np.mean(counted[name])
        error = np.std(counted[name], ddof=1) / math.sqrt(len(SEEDS))
        assert abs(mean / law - 1) < (0.05 if left else 0.03) + 2 * error / law, (name, mean, error, law)


def test_counts_of_a_batch_are_those_of_its_frequencies():
    problem, counted, laws = am.Problem.power_law(4096, 128, 1.5), [], []
    for seed in SEEDS:
        emb, q = am.sample_embeddings(problem, seed, dtype=torch.float64), am.sample_minibatch(problem, 20_000, seed)
        counted.append(am.capacity(kfac(emb, q), emb))
        laws.append(am.expected_capacity(problem, "kfac", frequencies=q))
    error = np.std(np.subtract(counted, laws), ddof=1) / math.sqrt(len(SEEDS))
    assert abs(np.mean(counted) - np.mean(laws)) < 0.05 * np.mean(laws) + 2 * error


def leverages(weights, dim):
    """λ = a τ / (1 + a τ) with Σ λ = d."""
    low, high = 1e-30, 1e30
    for _ in range(300):
        tau = (low * high) ** 0.5
        low, high = (tau, high) if (weights * tau / (1 + weights * tau)).sum() < dim else (low, tau)
    return weights * tau / (1 + weights * tau)


@pytest.mark.parametrize("alpha", [1.25, 2.0])
def test_balanced_weights_are_stationary_and_each_side_is_the_best_against_the_other(alpha):
    dim, p = 16, am.Problem.power_law(400, 16, alpha).frequencies
    a = balanced_whitener(p, dim).weights(p.numpy())
    p, lam = p.numpy(), leverages(a, dim)
    c = lam / (p**2 * (1 - lam) ** 3)
    assert np.allclose(c, c[0], rtol=0.03), "bins of a per cent"
    score = lambda x, y: (dim - (x**2).sum()) * (dim - (y**2).sum()) / (p**2 * (1 - x) ** 2 * (1 - y) ** 2).sum()
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = leverages(a * np.exp(rng.normal(size=len(a)) * 0.3), dim)
        assert score(other, lam) < score(lam, lam) * (1 + 1e-6)
    # both sides together: a saddle, items are split between them
    split = leverages(np.where(np.arange(len(p)) % 2, p**2, 0), dim)
    for _ in range(20):
        other = leverages(p**2 * (1 - split) ** 2, dim)
        split = leverages(p**2 * (1 - other) ** 2, dim)
    assert score(split, other) > 1.1 * score(lam, lam)


def test_balanced_weights_need_more_items_than_dimensions():
    with pytest.raises(ValueError, match="q must have more than dim = 8 weights > 0, got 8"):
        balanced_whitener(am.Problem.power_law(8, 8, 1.5).frequencies, 8)


def test_the_loss_of_any_map_is_refused_a_rate_that_is_not_positive():
    with pytest.raises(ValueError, match="lr"):
        am.equivalents.expected_map_loss(am.Problem.power_law(50, 8, 1.5), torch.ones_like, 0.0)
