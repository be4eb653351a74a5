"""Theorem 3 assembled: the two bounds on an own logit, the race lemma, the first two degrees, equal frequencies."""

import math

import numpy as np
import pytest
import torch

import amemlib as am
from amembook.paper.lemmas.expansions import LeadingBlock
from amemlib.equivalents import expected_prefix


@pytest.mark.parametrize("batch_size", [math.inf, 2048])
def test_an_own_logit_lies_between_its_two_bounds(batch_size):
    problem = am.Problem.power_law(n_items=600, dim=48, alpha=1.5)
    emb = am.sample_embeddings(problem, seed=0, dtype=torch.float64)
    q = problem.frequencies if batch_size == math.inf else am.sample_minibatch(problem, batch_size, seed=0)
    G, lam = am.thresholded_gradient(emb, q, 0), 2 * am.theory.bulk_scale(600, 48, 1.5)
    own = ((emb.V @ am.smoothed_sign(G, lam).T) * emb.U).sum(1)
    start, slope, _ = (x[:, 0] for x in am.spectral.signal_curve(G, emb.U, emb.V, -q[:, None], lam))
    sizes = emb.U.norm(dim=1) * emb.V.norm(dim=1)
    curvature = am.theory.SIGNAL_CURVATURE_BOUND / 2 * sizes**3 / lam**2
    t = torch.minimum(q, slope / (2 * curvature))
    assert (start + slope * t - curvature * t**2 <= own + 1e-10).all()
    assert (own <= start + sizes**2 * q / lam + 1e-10).all()
    # the upper bound is attained to first order by rare items, so half of it would fail
    assert not (own <= start + sizes**2 * q / (4 * lam)).all()


def test_a_small_advantage_over_many_normals_is_worth_a_constant():
    x = torch.linspace(-4, 9, 100_001, dtype=torch.float64)
    normal = (-(x**2) / 2).exp() / math.sqrt(2 * math.pi)
    for n in (1, 30, 10_000):
        density = n * torch.special.ndtr(x) ** (n - 1) * normal
        for r in (1.0, 3.0, 6.0):
            chance = torch.trapezoid(torch.special.ndtr(1 / (1 + r) - x) * density, x).item()
            assert 1 / (n + 1) < chance <= math.e / (n + 1) + n * math.exp(-(r**2) / 2)


def test_the_first_degree_of_the_expansion_is_four_weighted_letters():
    problem = am.Problem.power_law(n_items=400, dim=32, alpha=1.2)
    emb = am.sample_embeddings(problem, seed=1, dtype=torch.float64)
    part, k = LeadingBlock.split(emb, problem.frequencies, 4), 4
    lam, step = 0.05, 1e-4

    def at(x):
        return LeadingBlock(part.weights, x * part.X, x * part.Y, x * part.Z).interactions(lam)

    slope = (at(step) - at(-step)) / (2 * step)
    s = torch.logspace(-14, 12, 4000, dtype=torch.float64)
    ds, mu2, q = torch.gradient(s)[0] * 2 / math.pi, lam**2 + s**2, part.weights
    inverse = 1 / (q[:, None] ** 2 + mu2)
    pair, cross = (torch.einsum("as,bs,s->ab", inverse, inverse, w * ds) for w in (mu2, torch.ones_like(mu2)))
    Z = part.Z[:k, :k]
    first = pair * (part.X * q + q[:, None] * part.Y + Z) - q[:, None] * q * cross * Z.T
    off = 1 - torch.eye(k)
    assert ((slope - first) * off).abs().max() < 1e-3 * (first * off).abs().max()
    assert ((slope - pair * (part.X * q + q[:, None] * part.Y + Z)) * off).abs().max() > 1e-2 * first.abs().max()


def test_at_equal_frequencies_muon_has_eight_over_three_pi_of_the_signal_to_noise_of_sgd():
    dim, n_items = 64, 64 * 400
    q = am.Problem.from_frequencies(np.ones(n_items), dim).frequencies
    phi = am.equivalents.SpectralEquivalent.solve(q, dim).signal[0]
    ratio = math.sqrt(dim) * phi * math.sqrt((n_items - 2) / dim**2 + 2 * (1 + 2 / dim) / dim)
    # corrections of order d / N
    assert ratio == pytest.approx(8 / (3 * math.pi), rel=0.01)
    assert 4 / (math.pi * (0.5 + 1)) == pytest.approx(8 / (3 * math.pi)), "the polar constant at alpha = 1/2"


@pytest.mark.slow
def test_the_fixed_point_has_one_root_in_the_right_half_plane():
    q = torch.arange(1, 300, dtype=torch.float64).numpy() ** -1.5
    rng = np.random.default_rng(0)
    for mu in (0.02 + 0.3j, 0.2 - 1j, 1 + 0j):
        roots = []
        for _ in range(6):
            M = complex(rng.exponential(3), rng.normal(0, 3))
            for _ in range(4000):
                M = 0.5 * M + 0.5 / (mu + np.mean(q**2 / (1 / M + q**2 * M)) * len(q) / 32)
            assert M.real > 0 and abs(mu * M - 1 + np.sum(q**2 * M**2 / (1 + q**2 * M**2)) / 32) < 1e-9
            roots.append(M)
        assert np.ptp(np.real(roots)) < 1e-8 and np.ptp(np.imag(roots)) < 1e-8


@pytest.mark.parametrize(("alpha", "share", "formula"), [(1.25, 0.64, 0.61), (1.5, 0.70, 0.67), (2.0, 0.77, 0.74)])
def test_a_prefix_is_a_constant_share_of_the_count(alpha, share, formula):
    problem = am.Problem.power_law(50_000, 1024, alpha)
    count = am.expected_capacity(problem, "polar")
    assert expected_prefix(problem, "polar")[0] / count == pytest.approx(share, abs=0.006)
    limit = (1 + (math.log(count) / math.log(50_000)) ** 0.5) ** (-1 / alpha)
    assert limit == pytest.approx(formula, abs=0.006)


def test_with_few_items_centring_changes_nothing_either():
    problem = am.Problem.power_law(n_items=8192, dim=256, alpha=1.5)
    emb, p = am.sample_embeddings(problem, seed=0), problem.frequencies
    both = am.initial_gradient(emb, p), am.thresholded_gradient(emb, p, 0)
    centred, plain = (am.recovered(am.polar(G), emb) for G in both)
    assert [int(x.sum()) for x in (centred, plain, centred ^ plain)] == [352, 353, 3]
