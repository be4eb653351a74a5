"""The singular spectrum of the first gradient, its laws, and what any spectral map makes of it; Eqs. (2) and (21)."""

import math

import numpy as np
import pytest
import torch

import amemlib as am
from amemlib.equivalents import SpectralEquivalent, SpectralLaw, expected_capacity, expected_map_capacity
from amemlib.equivalents.law import _Channel
from amemlib.theory import bulk_scale

FRESH_SEEDS = range(2000, 2004)
QUARTERS = np.array([0.25, 0.5, 0.75])


def quintic(problem, steps=5):
    norm = torch.linalg.vector_norm(problem.frequencies)
    return lambda s: am.spectral.newton_schulz_scalar((s / norm).clamp(max=1), steps, "muon")


@pytest.mark.parametrize("alpha", [0.8, 1.0, 1.25, 1.5, 2.0, 3.0])
def test_the_closed_form_is_a_density_without_a_gap_that_solves_the_fixed_point(alpha):
    law = SpectralLaw.power_law(alpha, scale=0.3)
    assert law.share_below(math.inf) == pytest.approx(1, abs=1e-4)
    assert law.density[0] == pytest.approx(2 / (math.pi * 0.3), rel=1e-4)
    assert (law.density > 0).all() and (np.diff(law.singular_values) > 0).all()
    # μ M = 1 − y with M = y^α / t₀ at μ = −i s; y = 1 + i s M then, and M must be its power
    y = 1 + 1j * law.singular_values * law.resolvent
    np.testing.assert_allclose(y**alpha / 0.3, law.resolvent, rtol=1e-6)


def test_the_medians_that_are_quoted_with_the_bulk_scale():
    medians = [SpectralLaw.power_law(alpha).quantile(0.5) for alpha in (1.25, 1.5, 2.0)]
    assert medians == pytest.approx([1.160, 1.361, 1.902], abs=1e-3)


@pytest.mark.parametrize("alpha", [1.25, 1.5, 2.0])
def test_the_closed_form_is_the_limit_of_the_sum(alpha):
    n_items, dim = 2**18, 2048
    solved = SpectralLaw.solve(am.Problem.power_law(n_items, dim, alpha).frequencies, dim)
    closed = SpectralLaw.power_law(alpha, bulk_scale(n_items, dim, alpha))
    np.testing.assert_allclose(solved.quantile(QUARTERS), closed.quantile(QUARTERS), rtol=5e-3)


@pytest.mark.parametrize("batch_size", [None, 100, 3000])
def test_the_law_of_any_frequencies_solves_its_equation_and_has_the_mass_of_the_rank(batch_size):
    problem = am.Problem.power_law(5000, 64, 1.5)
    q = problem.frequencies if batch_size is None else am.sample_minibatch(problem, batch_size, 2000)
    law = SpectralLaw.solve(q, 64)
    seen = int((q > 0).sum())
    assert 64 * law.share_below(math.inf) == pytest.approx(min(64, seen), rel=2e-3)
    bulk = (law.singular_values > 1e-2 * law.quantile(0.1)) & (law.singular_values < law.quantile(0.9))
    M, s = law.resolvent[bulk], law.singular_values[bulk]
    x2 = (q.numpy()[:, None] * M) ** 2
    np.testing.assert_allclose(-1j * s * M, 1 - (x2 / (1 + x2)).sum(0) / 64, atol=2e-2)


def test_the_law_of_a_gradient_with_noise_is_that_of_many_tiny_items_and_of_a_noisy_matrix():
    problem = am.Problem.power_law(5000, 128, 1.5)
    noise = 4 * SpectralLaw.solve(problem.frequencies, 128).quantile(0.5) ** 2
    law = SpectralLaw.solve(problem.frequencies, 128, noise)
    assert law.share_below(math.inf) == pytest.approx(1, abs=2e-3)
    tiny = torch.full((400_000,), math.sqrt(noise * 128 / 400_000), dtype=torch.float64)
    many = SpectralLaw.solve(torch.cat([problem.frequencies, tiny]), 128)
    np.testing.assert_allclose(law.quantile(QUARTERS), many.quantile(QUARTERS), rtol=1e-3)
    E = math.sqrt(noise / 128) * torch.randn(128, 128, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    G = am.initial_gradient(am.sample_embeddings(problem, 2000), problem.frequencies)
    found = torch.quantile(torch.linalg.svdvals(G + E), torch.from_numpy(QUARTERS))
    np.testing.assert_allclose(found, law.quantile(QUARTERS), rtol=0.05)


@pytest.mark.parametrize("lam_over_t0", [0.3, 3.0])
def test_the_law_gives_the_signal_and_interactions_of_smoothed_sign(lam_over_t0):
    problem = am.Problem.power_law(20_000, 256, 1.5)
    lam = lam_over_t0 * bulk_scale(20_000, 256, 1.5)
    known = SpectralEquivalent.solve(problem.frequencies, 256, lam)
    law, values = SpectralLaw.solve(problem.frequencies, 256), torch.from_numpy(known.values)

    def h(s):
        return s / torch.hypot(s, s.new_tensor(lam))

    # a grid of one per cent resolves the bump of the most frequent item to 1 %
    np.testing.assert_allclose(law.signal(h, values), known.signal, rtol=1e-2)
    np.testing.assert_allclose(law.interaction(h, values), 1 - known.unresolved * known.damping, atol=1e-2)


def test_the_law_of_the_identity_map_is_the_gradient_itself():
    # E u_iᵀ G v_i = q_i, and rare items interact with variance ‖q‖² / d² (the chapter's exact moments, to order 1/d)
    problem = am.Problem.power_law(20_000, 256, 1.5)
    law, q = SpectralLaw.solve(problem.frequencies, 256), problem.frequencies[[5, 50, 500, 5000]]
    np.testing.assert_allclose(law.signal(lambda s: s, q), q, rtol=0.01)
    top = 1.5 * problem.frequencies[0].item()
    # the law is smoothed, and s² would weigh what the smoothing leaves above the largest singular value
    rare = law.interaction(lambda s: s * (s < top), torch.zeros(1, dtype=torch.float64))[0]
    assert rare * 256 == pytest.approx(problem.frequencies.square().sum().item(), rel=0.02)


@pytest.mark.parametrize("alpha", [1.25, 2.0])
def test_singular_values_of_drawn_gradients_follow_the_law(alpha):
    problem = am.Problem.power_law(8192, 128, alpha)
    draws = (am.sample_embeddings(problem, seed) for seed in FRESH_SEEDS)
    s = torch.stack([torch.linalg.svdvals(am.initial_gradient(emb, problem.frequencies)) for emb in draws])
    counted = np.quantile(s, QUARTERS, axis=1).mean(1)
    # four draws of 128 singular values: their quartiles scatter by 2 to 3 %
    np.testing.assert_allclose(counted, SpectralLaw.solve(problem.frequencies, 128).quantile(QUARTERS), rtol=0.06)


def test_the_count_of_any_map_is_that_of_the_maps_known_otherwise():
    problem = am.Problem.power_law(8192, 128, 1.5)
    lam = bulk_scale(8192, 128, 1.5)
    assert expected_map_capacity(problem, torch.ones_like) == pytest.approx(
        expected_capacity(problem, "polar"), rel=5e-3
    )
    smooth = expected_map_capacity(problem, lambda s: s / torch.hypot(s, s.new_tensor(lam)))
    assert smooth == pytest.approx(expected_capacity(problem, "smoothed_sign", lam), rel=5e-3)
    q = am.sample_minibatch(problem, 2048, 2000)
    counted, known = expected_map_capacity(problem, torch.ones_like, q), expected_capacity(problem, "polar", 0.0, q)
    assert counted == pytest.approx(known, rel=5e-3)


def test_a_factor_before_the_polar_map_changes_no_count():
    """A count has no unit, also where rare interactions come to 1 exactly and an overlap has nothing to divide by."""
    problem = am.Problem.power_law(300, 12, 1.5)
    law, nothing = SpectralLaw.solve(problem.frequencies, 12), torch.zeros(1, dtype=torch.float64)
    size = law.interaction(torch.ones_like, nothing)[0] ** -0.5
    scaled = lambda factor: expected_map_capacity(problem, lambda s: torch.full_like(s, factor), law=law)
    assert scaled(size) == pytest.approx(scaled(2.0), rel=1e-6)


@pytest.mark.parametrize("lr", [1.0, 30.0])
def test_the_loss_of_any_map_is_that_of_the_maps_known_otherwise(lr):
    """A step of length η √d: h_λ(G) has the length √(1 − λM(λ)) √d."""
    problem, lam = am.Problem.power_law(400, 16, 1.5), bulk_scale(400, 16, 1.5)
    for f, known in (
        (torch.ones_like, SpectralEquivalent.solve(problem.frequencies, 16)),
        (lambda s: s / torch.hypot(s, s.new_tensor(lam)), SpectralEquivalent.solve(problem.frequencies, 16, lam)),
    ):
        losses = known.expected_losses(lr / math.sqrt(1 - known.unresolved))
        loss = am.equivalents.expected_map_loss(problem, f, lr)
        assert loss == pytest.approx(known.counts * known.values @ losses, rel=0.01)


@pytest.mark.parametrize("falling", [False, True])
def test_two_frequent_items_interact_as_the_two_interpolations_say(falling):
    """v_i + v_j − v₀ − (v_i − v₀)(v_j − v₀) / (1 − v₀), or v_i v_j / v₀ where one is below v₀; a loop over pairs."""
    problem = am.Problem.from_frequencies([1.0] * 2 + [0.1] * 30 + [0.01] * 400, 32)
    law = SpectralLaw.solve(problem.frequencies, 32)
    scale = law.quantile(0.5)
    f = lambda s: (2 * scale * s if falling else s) / (torch.hypot(s, s.new_tensor(scale)) ** (1 + falling))
    channel = _Channel.solve(problem, f, None, law)
    v = law.interaction(f, torch.from_numpy(channel.values))
    (rare,) = law.interaction(f, torch.zeros(1, dtype=torch.float64))
    assert len(v) == 3 and (v.min() < rare) == falling
    for i in range(3):
        for column, j in enumerate(np.argsort(v)):
            mixed = v[i] + v[j] - rare - (v[i] - rare) * (v[j] - rare) / (1 - rare)
            expected = v[i] * v[j] / rare if min(v[i], v[j]) < rare else mixed
            assert channel.rivals[i, column] ** 2 == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("alpha, dim", [(1.25, 256), (1.5, 128), (1.5, 256)])
def test_the_shipped_five_steps_recover_what_is_predicted_and_not_what_polar_does(alpha, dim):
    problem = am.Problem.power_law(8192, dim, alpha)
    counts, polar = [], []
    for seed in FRESH_SEEDS:
        emb = am.sample_embeddings(problem, seed)
        G = am.initial_gradient(emb, problem.frequencies)
        counts.append(am.capacity(am.newton_schulz(G, 5, "muon"), emb))
        polar.append(am.capacity(am.polar(G), emb))
    predicted = expected_map_capacity(problem, quintic(problem))
    error = max(1.0, np.std(counts, ddof=1) / math.sqrt(len(counts)))
    assert abs(np.mean(counts) - predicted) < 0.05 * predicted + 2 * error
    assert np.mean(counts) < 0.9 * np.mean(polar)


def test_a_fixed_number_of_steps_has_the_exponent_of_sgd():
    problems = [am.Problem.power_law(50_000, dim, 2.0) for dim in (2048, 4096)]
    counts = [expected_map_capacity(problem, quintic(problem)) for problem in problems]
    assert math.log2(counts[1] / counts[0]) == pytest.approx(am.theory.recovery_exponent("sgd", 2.0), abs=0.05)


def centring(n_items, dim, seed):
    problem = am.Problem.power_law(n_items, dim, 1.5)
    emb = am.sample_embeddings(problem, seed, dtype=torch.float64)
    G0, G = am.initial_gradient(emb, problem.frequencies), am.thresholded_gradient(emb, problem.frequencies, 0)
    return problem, emb, G0, G


def test_equation_21_the_centring_has_rank_one_and_norm_below_one_over_root_n():
    for n_items in (512, 8192):
        problem, emb, G0, G = centring(n_items, 32, 2000)
        singular = torch.linalg.svdvals(G - G0)
        product = (
            torch.linalg.vector_norm(emb.U.mean(0)) * torch.linalg.vector_norm(problem.frequencies @ emb.V)
        ).item()
        assert singular[0].item() == pytest.approx(product, rel=1e-10) and singular[1] < 1e-12
        # ‖ū‖² N is χ² with d degrees over d, ‖w‖² ≈ ‖q‖² with the scatter of |v_1|²
        assert singular[0] * n_items**0.5 < 1.5 * torch.linalg.vector_norm(problem.frequencies)


def test_equation_21_the_condition_on_n_is_not_needed():
    dim, n_items, changes, totals, moves = 64, 1024, [], [], []
    for seed in range(2000, 2008):
        _, emb, G0, G = centring(n_items, dim, seed)
        masks = [am.recovered(am.polar(A), emb) for A in (G0, G)]
        changes.append(int(masks[0].sum()) - int(masks[1].sum()))
        totals.append(int(masks[0].sum()))
        moves.append((emb.V @ (am.polar(G) - am.polar(G0)).T @ emb.U.T).std().item() * math.sqrt(dim))
    # N is 16 000 times smaller than d^{2α+1}, the bound allows logits a hundred times the interactions
    assert n_items < 1e-4 * dim**4
    assert np.median(moves) * math.sqrt(n_items) == pytest.approx(2, rel=0.6) and max(moves) < 0.5
    assert abs(sum(changes)) < 0.02 * sum(totals) and max(map(abs, changes)) <= 5


def test_the_norm_of_a_gradient_is_that_of_its_weights_and_of_the_first_items():
    problem = am.Problem.power_law(n_items=2048, dim=64, alpha=1.5)
    p = problem.frequencies
    draws = (am.sample_embeddings(problem, seed) for seed in range(100))
    norms = torch.stack([am.thresholded_gradient(emb, p, 0).square().sum() for emb in draws]) / p.square().sum()
    assert abs(norms.mean() - 1) < 4 * norms.std() / 10
    assert (p[:5].square().sum() / p.square().sum()).item() == pytest.approx(0.986, abs=0.001)


def test_below_one_the_closed_form_needs_many_more_items_than_dimensions():
    problem = am.Problem.power_law(1024, 128, alpha=0.8)
    s = torch.linalg.svdvals(am.initial_gradient(am.sample_embeddings(problem, 0), problem.frequencies))
    counted = np.quantile(s / am.theory.bulk_scale(1024, 128, 0.8), QUARTERS)
    assert np.allclose(counted / SpectralLaw.power_law(0.8).quantile(QUARTERS), (0.90, 0.92, 0.93), rtol=0, atol=0.01)
    c = (math.pi / 1.6) / math.sin(math.pi / 1.6)
    assert (128 / 1024) ** 0.6 / (0.6 * c**1.6) == pytest.approx(0.14, abs=0.005)
