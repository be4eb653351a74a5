"""The statements of the chapter on interactions, one test each: Proposition 18, Lemmas 19 to 27, Eq. (51)."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
import torch

import amemlib as am
from amembook import read_records
from amembook.paper.interactions import EXPERIMENT as INTERACTIONS
from amembook.paper.interactions import PredictedVariances, typical_absolute_maximum
from amembook.paper.lemmas import (
    binomial_series_ratio,
    expansion_error,
    measure_lemma_24,
    measure_lemma_25,
    measure_lemma_27,
    measure_norms,
    measure_proposition_26,
    oddness_error,
    own_pair_gradient,
    path_monomials,
    remainder_ratio,
)
from amembook.paper.lemmas.expansions import LeadingBlock
from amembook.paper.lemmas.gaussian import gaussian_expectation
from amembook.run.claims import CONSISTENT, NOT_REPRODUCED, UNDECIDED
from amemlib import theory
from amemlib.equivalents import SpectralEquivalent, interaction_variances


def normal(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def norm(A):
    return torch.linalg.matrix_norm(A, 2)


def drawn(dim, n_items=1500, alpha=1.5, seed=2000):
    problem = am.Problem.power_law(n_items, dim, alpha)
    emb = am.sample_embeddings(problem, seed, dtype=torch.float64)
    return emb, problem.frequencies, am.thresholded_gradient(emb, problem.frequencies, 0)


@pytest.mark.parametrize("width", [0.0, 1.0])
def test_proposition_18_interactions_are_normal_of_size_one_over_root_d(width):
    sizes = []
    for dim in (64, 256):
        # N in proportion to d, so that head, middle and tail have the same shares of the pairs
        emb, q, G = drawn(dim, 8 * dim)
        W = am.smoothed_sign(G, width * theory.bulk_scale(len(q), dim, 1.5), dim)
        gamma = dim**0.5 * (emb.V @ W.T @ emb.U.T).fill_diagonal_(0)
        z = typical_absolute_maximum(gamma.numel())
        assert gamma.abs().max() < 1.1 * z * (1 + z**2 / (2 * dim))
        sizes.append(gamma.square().mean().sqrt().item())
    # a factor d^{0.05} would already show
    assert abs(math.log(sizes[1] / sizes[0]) / math.log(4)) < 0.03 and sizes[1] < 1.02


def test_proposition_26_is_lipschitz_with_constant_one_over_lambda():
    # 1 is attained in the limit of small matrices, so no smaller constant is true
    assert 0.999 < measure_proposition_26(300, 2000)["proposition_26"] <= 1 + 1e-9


def test_proposition_26_fails_for_the_polar_map():
    A, B = torch.diag(torch.tensor([1, 1e-6])).double(), torch.diag(torch.tensor([1, -1e-6])).double()
    assert norm(am.polar(A) - am.polar(B)) > 1e5 * norm(A - B)


def test_lemma_27_an_interaction_is_odd_in_either_pair():
    emb, q, _ = drawn(48, 300)
    for item in (0, 17, 250):
        assert oddness_error(emb, q, item, theory.bulk_scale(300, 48, 1.5)) < 100


def test_lemma_27_lipschitz_constant_in_the_own_pair():
    emb, q, G = drawn(48, 300)
    lam, j, ratios = theory.bulk_scale(300, 48, 1.5), 20, []
    for i in (0, 3, 30, 100, 299):
        u, v, uj = emb.U[i], emb.V[i], emb.U[j]
        gradient, bound = own_pair_gradient(emb, q, i, j, lam)
        step = 1e-6 * normal(2, 48, seed=i)
        rest = G - q[i] * torch.outer(u, v)
        ends = [(u + s * step[0], v + s * step[1]) for s in (1, -1)]
        ahead, behind = (uj @ am.smoothed_sign(rest + q[i] * torch.outer(a, b), lam) @ b for a, b in ends)
        assert abs((ahead - behind) / 2 - gradient @ step.flatten()) < 1e-6 * gradient.norm() * step.norm()
        ratios.append(gradient.norm().item() / bound)
    assert 0.5 < max(ratios) <= 1


def test_eq_51_bound_of_the_interactions():
    assert 0.5 < measure_lemma_27(1500, 128, 1.5, 1.0, 2000)["eq_51"] < 1.1


@pytest.mark.parametrize("alpha", [1.25, 2.0])
def test_lemma_19_overlap_matrix(alpha):
    for dim in (64, 256, 512):
        draws = [measure_norms(600, dim, alpha, seed) for seed in range(2000, 2004)]
        assert max(draw["lemma_19"] for draw in draws) <= 1
        # the edge of a Wishart matrix, 2√(k/d) + k/d, as k → ∞; at k = 4 the largest eigenvalue is far inside
        assert 0.6 < np.mean([draw["lemma_19_order"] for draw in draws]) / 2.25 < 1.2


@pytest.mark.parametrize("alpha", [1.25, 2.0])
def test_lemma_20_tail_matrix(alpha):
    for dim in (64, 256):
        draw = measure_norms(2000, dim, alpha, 2000)
        assert draw["lemma_20"] <= 1
        assert 0.5 < draw["lemma_20_order"] < 1.5


def test_lemma_21_binomial_series():
    M = normal(12, 12)
    M = 0.4 * (M + M.T) / norm(M + M.T)
    # attained by the exponent −1 at the eigenvalue −ρ
    assert 0.5 < max(binomial_series_ratio(M, 0.4, exponent) for exponent in (0.5, -0.5, -1.0)) <= 1 + 1e-8
    coefficients = {e: np.cumprod([(e - n + 1) / n for n in range(1, 60)]) for e in (0.5, -0.5, -1.0)}
    assert np.abs(coefficients[0.5]).max() == 0.5
    assert all(np.abs(c).max() <= 1 for c in coefficients.values())


@pytest.mark.parametrize("over_tail", [0.2, 1.0, 8.0])
def test_eq_28_block_resolvent_identity(over_tail):
    emb, q, G = drawn(64)
    block = LeadingBlock.split(emb, q, 5)
    lam = over_tail * norm(block.Z).item()
    direct = emb.U[:5] @ am.smoothed_sign(G, lam) @ emb.V[:5].T
    torch.testing.assert_close(block.interactions(lam), direct, rtol=0, atol=2e-14)


def test_the_parts_of_the_block_identity_are_what_they_are_said_to_be():
    emb, q, G = drawn(32, 200)
    block = LeadingBlock.split(emb, q, 4)
    torch.testing.assert_close(norm(block.Z), norm(am.thresholded_gradient(emb, q, 4)), rtol=1e-12, atol=0)
    with pytest.raises(ValueError, match="k must be below"):
        LeadingBlock.split(emb, q, 32)
    N, D, E = block.resolvent_parts(0.1, torch.tensor([0.0, 0.5], dtype=torch.float64))
    assert N.shape == (4, 32) and D.shape == (2, 32) and E.shape == (2, 32, 32)
    torch.testing.assert_close(D[1, 4:], torch.full((28,), 0.26, dtype=torch.float64))
    torch.testing.assert_close(E, E.mT, rtol=0, atol=1e-12)


def test_lemma_22_relative_size_of_the_remainder():
    for seed in range(2000, 2006):
        emb, q, _ = drawn(256, seed=seed)
        block = LeadingBlock.split(emb, q, 3)
        lam = 4 * norm(block.Z).item()
        assert block.smallness(lam) < 0.5
        assert 0.05 < remainder_ratio(block, lam) <= 1


def test_lemma_23_truncated_expansion():
    emb, q, _ = drawn(64)
    block = LeadingBlock.split(emb, q, 2)
    errors = {}
    for over_tail in (1.0, 6.0):
        lam = over_tail * norm(block.Z).item()
        errors[over_tail] = [expansion_error(block, lam, T) for T in (4, 8, 12, 16)]
    rates = np.array(errors[6.0][1:]) / np.array(errors[6.0][:-1])
    assert rates.max() < 0.3, "geometric, where λ is large"
    assert errors[1.0][-1] > 0.1 * errors[1.0][0], "and not where λ is the size of the tail"


def test_lemma_24_path_coefficient():
    draw = measure_lemma_24(1000, 2000)
    assert 0.99 < draw["lemma_24"] <= 1 + 1e-12
    assert 0.9 < draw["lemma_24_integral"] <= 1.002


@pytest.mark.slow
def test_lemma_25_positive_path_correlation():
    draw = measure_lemma_25(1200, 0)
    assert draw["lemma_25"] == 0 and draw["positive"] > 20


@pytest.mark.slow
def test_lemma_25_needs_its_hypotheses():
    assert min(gaussian_expectation(factors) for factors in path_monomials(1200, 0, centre=3)) < 0


def test_exact_gaussian_moments_are_those_of_the_textbook():
    g, h = ("g",), ("h",)
    assert gaussian_expectation([[(1, g)]] * 6) == 15
    assert gaussian_expectation([[(1, g)]] * 5) == 0
    assert gaussian_expectation([[(1, g + g), (-1, ())]] * 2) == 2
    assert gaussian_expectation([[(3, g), (Fraction(1, 2), h)]] * 2) == 9 + Fraction(1, 4)
    overlap = [(1, (("x", a), ("y", a))) for a in range(3)]
    assert gaussian_expectation([overlap] * 4) / gaussian_expectation([overlap] * 2) ** 2 == 5


@pytest.mark.parametrize("lam_over_t0", [0.0, 1.0])
def test_the_law_of_the_interactions_at_its_ends(lam_over_t0):
    dim, problem = 256, am.Problem.power_law(20_000, 256, 1.5)
    lam = lam_over_t0 * theory.bulk_scale(20_000, dim, 1.5)
    at = problem.frequencies[torch.tensor([0, 3, 30, 300, 19_999])]
    law = interaction_variances(problem.frequencies, dim, lam, at)
    np.testing.assert_allclose(law, law.T, rtol=1e-10)
    equivalent = SpectralEquivalent.solve(problem.frequencies, dim, lam)
    damping = np.ones(5) if lam == 0 else 1 / (1 + (at.numpy() * equivalent.unresolved / lam) ** 2)
    np.testing.assert_allclose(law[-1], 1 - equivalent.unresolved * damping, atol=1e-3)
    head = (at[0] ** 2 + at[1] ** 2) / (at[0] + at[1]) ** 2
    assert law[0, 1] == pytest.approx(head.item(), abs=0.01)


def test_the_law_of_the_interactions_in_simulation():
    dim, head, draws = 128, 16, 30
    problem = am.Problem.power_law(1500, dim, 1.5)
    law = PredictedVariances.solve(problem, 0.0)
    squares = []
    for seed in range(2000, 2000 + draws):
        emb = am.sample_embeddings(problem, seed, dtype=torch.float64)
        W = am.polar(am.thresholded_gradient(emb, problem.frequencies, 0), dim)
        block = dim * (emb.V[:head] @ W.T @ emb.U[:head].T).square().fill_diagonal_(0)
        squares.append(block.sum().item() / (head * (head - 1)))
    expected = law.rms(slice(0, head), slice(0, head)) ** 2
    error = np.std(squares, ddof=1) / math.sqrt(draws)
    assert abs(np.mean(squares) - expected) < 3 * error + 0.03 * expected
    assert np.mean(squares) + 3 * error < 0.9, "the formula for rare items would say 1"


def test_the_maximum_of_normals():
    draws = np.abs(np.random.default_rng(0).standard_normal((4001, 500))).max(1)
    assert typical_absolute_maximum(500) == pytest.approx(np.median(draws), abs=0.03)


def small_run():
    config = dataclasses.replace(INTERACTIONS.profiles["smoke"], dims=(32, 256), n_items=600, seeds=4, first_seed=1000)
    return config, [cell.function(**cell.arguments) for cell in INTERACTIONS.cells(config, "cpu")]


@pytest.mark.slow
def test_the_experiment_says_what_it_found(words):
    config, results = small_run()
    counts = [entry["count"] for entry in results[0]["polar"].values()]
    assert sum(counts) == 600 * 599
    assert set(words(INTERACTIONS, config, results).values()) == {UNDECIDED, CONSISTENT}, "four draws at these sizes"
    small = dataclasses.replace(config, dims=(32,))
    assert set(words(INTERACTIONS, small, results[:4]).values()) == {UNDECIDED}
    for result in results:
        result["polar"]["tail-tail"]["square"] *= 1.3
    assert words(INTERACTIONS, config, results)["polar"] == NOT_REPRODUCED


def test_the_interactions_of_the_record_are_normal():
    (record,) = read_records("interactions", "confirm-alpha-1.5")
    assert all(abs(values[-1] - 3) < 0.02 for values in record["measured"]["z_kurtosis"].values())


@pytest.mark.slow
def test_at_the_polylog_of_the_theorem_muon_is_hardly_better_than_sgd():
    problem = am.Problem.power_law(4096, 1024, 1.5)
    lam = theory.bulk_scale(4096, 1024, 1.5) * math.log(1024) ** 4
    assert int((problem.frequencies > lam).sum()) == 4
    maps = ("smoothed_sign", lam), ("polar",), ("sgd",)
    assert [am.expected_capacity(problem, *one) for one in maps] == pytest.approx([54, 2424, 24], abs=0.6)
