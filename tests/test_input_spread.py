"""The corrections of order 1/d to one step's logits, each against a drawn gradient: the chapter "Sharp constants".

Over a fresh Gaussian input v the quadratic forms vᵀBv have Cov(vᵀBv, vᵀCv) = 2 tr BC / d², so that each field of
`InputSpread` is a ratio of traces of a step W that was drawn. None of the laws' own integrals is used here.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import ndtr

import amemlib as am
from amemlib.equivalents import NewtonEquivalent, SpectralEquivalent
from amemlib.equivalents.sgd import OWN_LENGTHS
from amemlib.equivalents.winning import InputSpread, winning_probabilities

GROUPS = ((0, 3), (10, 30), (100, 300), (2000, 4000))


def memories(dim, n_items, draws):
    problem = am.Problem.power_law(n_items, dim, 1.5)
    return problem.frequencies, [am.sample_embeddings(problem, seed, dtype=torch.float64) for seed in range(draws)]


def rival_gains(steps, embeddings):
    """Regression of log (u_jᵀWv)² on |Wv|² over v, a mean for each of `GROUPS`."""
    above = below = 0
    for W, emb in zip(steps, embeddings, strict=True):
        C, w = W.T @ W, emb.U @ W
        above = above + ((w @ C) * w).sum(1) * C.trace()
        below = below + (w**2).sum(1) * (C**2).sum()
    return [float(above[a:b].sum() / below[a:b].sum()) for a, b in GROUPS]


def of_items(field, counts):
    each = np.repeat(field, counts.astype(int))
    return [each[a:b].mean() for a, b in GROUPS]


@pytest.fixture(scope="module")
def drawn():
    return memories(256, 4000, 4)


@pytest.mark.slow
@pytest.mark.parametrize("lam_over_t0", [0.5, 2.0])
def test_a_smoothed_step_spreads_as_its_law_says(drawn, lam_over_t0):
    p, embeddings = drawn
    lam = lam_over_t0 * am.theory.bulk_scale(4000, 256, 1.5)
    law = SpectralEquivalent.solve(p, 256, lam)
    gradients = [(emb.U * p[:, None]).T @ emb.V for emb in embeddings]
    square, fourth, signals, gains, private = [], [], [], [], []
    for seed, G in enumerate(gradients):
        s = torch.linalg.svdvals(G)
        h = s / torch.hypot(s, torch.tensor(lam))
        square.append((h**2).mean())
        fourth.append((h**4).mean())
        # u ↦ E uᵀ Dh[u vᵀ] v by Daleckii and Krein, in the singular bases of G
        gap = (s[:, None] - s).fill_diagonal_(1)
        plus = (h[:, None] - h) / gap + torch.diag(lam**2 / torch.hypot(s, torch.tensor(lam)) ** 3)
        minus = (h[:, None] + h) / (s[:, None] + s)
        g = torch.Generator().manual_seed(seed)
        u, v = (torch.randn(10_000, 256, dtype=torch.float64, generator=g) / 16 for _ in range(2))
        own = ((u**2 @ (plus + minus)) * v**2 + ((u * v) @ (plus - minus)) * (u * v)).sum(1) / 2
        delta = v**2 @ h**2
        delta = delta / delta.mean() - 1
        slope = (own * delta).mean() / (delta**2).mean()
        signals.append(own.mean())
        gains.append(slope / own.mean())
        private.append((own - slope * delta).var() * 256)
    mean = lambda values: float(torch.stack(values).mean())
    resolved, q = 1 - law.unresolved, law.values[-1]
    assert resolved == pytest.approx(mean(square), rel=0.01)
    assert law.spread.variance == pytest.approx(2 / 256 * mean(fourth) / mean(square) ** 2, rel=0.01)
    assert law.signal[-1] == pytest.approx(q * mean(signals), rel=0.02)
    assert law.spread.own_noise[-1] == pytest.approx(mean(square), rel=0.01)
    assert law.spread.signal_gain[-1] == pytest.approx(mean(gains), rel=0.04)
    assert law.spread.private[-1] == pytest.approx(q**2 * mean(private), rel=0.04)
    measured = rival_gains([am.smoothed_sign(G, lam) for G in gradients], embeddings)
    assert of_items(law.spread.rival_gain, law.counts) == pytest.approx(measured, rel=0.01)


@pytest.mark.slow
def test_a_newton_step_spreads_as_its_law_says():
    # many items for one dimension: the law drops what is of order d/N but the factor 1 − d/N
    p, embeddings = memories(96, 16_000, 8)
    law = NewtonEquivalent.solve(p, 96)
    spread, leverage = law.spread(), law.leverage[-1]
    steps = [am.newton_step(emb, p) for emb in embeddings]
    variances, shares, rest = [], [], []
    for W, emb in zip(steps, embeddings, strict=True):
        C, K = W.T @ W, torch.linalg.inv((emb.V * p[:, None]).T @ emb.V)
        variance = 2 * (C**2).sum() / C.trace() ** 2
        shared = 2 * (K * C).sum() / (K.trace() * C.trace())
        variances.append(float(variance))
        shares.append(float(shared / variance))
        rest.append(float(2 * (K**2).sum() / K.trace() ** 2 - shared**2 / variance))
    assert spread.variance == pytest.approx(np.mean(variances), rel=0.04)
    assert spread.signal_gain[-1] == pytest.approx((1 - leverage) * np.mean(shares), rel=0.03)
    left = (spread.private[-1] - 2 * law.whitening * leverage**2) / 96 / (leverage * (1 - leverage)) ** 2
    assert left == pytest.approx(np.mean(rest), rel=0.01)
    measured = rival_gains(steps, embeddings)
    assert of_items(spread.rival_gain, law.counts)[1:] == pytest.approx(measured[1:], rel=0.03)


def test_the_own_logit_of_sgd_scatters_by_its_two_lengths():
    for dim in (100, 1000):
        mean_length = math.sqrt(2 / dim) * math.exp(math.lgamma((dim + 1) / 2) - math.lgamma(dim / 2))
        relative_variance = (1 + 2 / dim) / mean_length**2 - 1
        assert dim * relative_variance == pytest.approx(OWN_LENGTHS, abs=3 / dim)


def test_a_chance_is_the_mean_over_an_inputs_scatter_and_its_own_noise():
    """Loops over δ, g and rivals, by Gauss rules of forty nodes: the formula of `winning_probabilities`."""
    score, labels, counts = np.array([3.0, 2.0, 1.0]), np.array([0, 1, 1]), np.array([1.0, 2.0, 5.0])
    rival_variance = np.array([[0.8, 1.0], [0.9, 1.1], [1.0, 1.2]])
    spread = InputSpread(
        variance=0.03,
        own_noise=np.array([0.3, 0.6, 1.0]),
        signal_gain=np.array([0.9, 0.5, 0.2]),
        private=np.array([0.5, 0.3, 0.1]),
        rival_gain=np.array([0.4, 0.7, 1.0]),
        fading=np.array([0.2, 0.6, 1.0]),
    )
    gains = spread.rival_gain[0], (2 * spread.rival_gain[1] + 5 * spread.rival_gain[2]) / 7
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    log_variance = math.log1p(spread.variance)
    expected = np.zeros(3)
    for i in range(3):
        for x, w in zip(nodes, weights, strict=True):
            delta = math.exp(math.sqrt(log_variance) * x - log_variance / 2) - 1
            noise = math.sqrt(spread.own_noise[i] * (1 + spread.fading[i] * delta) + spread.private[i])
            own = score[i] * (1 + spread.signal_gain[i] * delta) + noise * nodes
            wins = np.ones(40)
            for number, variance, gain in zip((1, 7), rival_variance[i], gains, strict=True):
                wins *= ndtr(own / math.sqrt(variance * (1 + spread.fading[i] * gain * delta))) ** number
            # an item is no rival of its own: seven of eight factors
            expected[i] += w * (wins ** (7 / 8) @ weights)
    found = winning_probabilities(score, spread, rival_variance, labels, counts)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    still = winning_probabilities(score, replace(spread, variance=0.0), rival_variance, labels, counts)
    assert (np.abs(still / expected - 1) > 1e-3).any(), "the common scatter matters here"
