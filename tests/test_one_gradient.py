"""What one gradient holds given its inputs: the matched filter, siblings, ceilings; identities, slow twins, counts."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy.stats import ncx2

import amemlib as am
from amemlib import equivalents
from amemlib.equivalents import MatchedFilterEquivalent, one_gradient

FRESH_SEEDS = range(2000, 2006)


def instance(n_items=300, dim=20, alpha=1.5, seed=2000):
    problem = am.Problem.power_law(n_items, dim, alpha)
    return problem, am.sample_embeddings(problem, seed, dtype=torch.float64)


def family(problem, matrices, seed):
    """Embeddings that share the inputs of the first: outputs of their own for each of the matrices."""
    many = am.Problem.power_law(problem.n_items * matrices, problem.dim, 1.5)
    emb = am.sample_embeddings(many, seed, dtype=torch.float64)
    return [am.Embeddings(U, emb.V[: problem.n_items]) for U in emb.U.split(problem.n_items)]


def test_a_second_moment_is_its_sum():
    problem, emb = instance(5000, 7)
    p, mean = problem.frequencies, emb.V.mean(0)
    torch.testing.assert_close(am.second_moment(emb.V, p), emb.V.T @ (p[:, None] * emb.V), rtol=0, atol=1e-15)
    centred = (emb.V - mean).T @ (p[:, None] * (emb.V - mean))
    torch.testing.assert_close(am.second_moment(emb.V, p, mean), centred, rtol=0, atol=1e-15)
    assert am.second_moment(emb.V.float(), p).dtype == torch.float64


def test_whitening_solves_its_equation_and_newtons_step_is_one():
    problem, emb = instance()
    p, G = problem.frequencies, am.initial_gradient(emb, problem.frequencies)
    left = am.second_moment(emb.U, torch.full_like(p, 1 / len(p)), emb.U.mean(0))
    right = am.second_moment(emb.V, p)
    torch.testing.assert_close(am.whiten(G, left, right), am.newton_step(emb, p), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(am.whiten(G), G)
    W, eye = am.whiten(G[:5], right=right, damping=0.1), torch.eye(20, dtype=torch.float64)
    torch.testing.assert_close(W @ (right + 0.1 * right.trace() / 20 * eye), G[:5], rtol=0, atol=1e-12)
    torch.testing.assert_close(am.whiten(G, right, damping=0.1).T, am.whiten(G.T, right=right, damping=0.1))


@pytest.mark.parametrize("n_items, dim", [(300, 20), (7000, 8)])
def test_the_matched_filter_is_the_gradient_over_the_moment_of_squares(n_items, dim):
    problem, emb = instance(n_items, dim)
    p = problem.frequencies
    moment = emb.V.T @ (p[:, None] ** 2 * emb.V)
    W = am.matched_filter(emb, p)
    slow = torch.linalg.solve(moment, am.initial_gradient(emb, p).T).T
    torch.testing.assert_close(W, slow, rtol=1e-6, atol=1e-8 * float(slow.abs().max()))
    torch.testing.assert_close(am.whiten(am.initial_gradient(emb, p), right=am.second_moment(emb.V, p**2)), slow)
    fit = torch.linalg.lstsq(p[:, None] * emb.V, emb.U - emb.U.mean(0)).solution.T
    torch.testing.assert_close(W, fit, rtol=1e-6, atol=1e-8 * float(slow.abs().max()))


def test_the_matched_filter_keeps_its_digits_where_the_moment_has_lost_them():
    """α = 7 at d = 6: the moment has the condition number 10¹¹; beside the solution in rational numbers."""
    problem, emb = instance(12, 6, alpha=7.0)
    p = problem.frequencies
    q, V, U = ([[Fraction(float(x)) for x in row] for row in rows] for rows in (p[:, None], emb.V, emb.U))
    means = [sum(column) / 12 for column in zip(*U, strict=True)]
    moment = [[sum(q[k][0] ** 2 * V[k][a] * V[k][b] for k in range(12)) for b in range(6)] for a in range(6)]
    right = [[sum(q[k][0] * V[k][a] * (U[k][b] - means[b]) for k in range(12)) for b in range(6)] for a in range(6)]
    rows = [m + r for m, r in zip(moment, right, strict=True)]
    for a in range(6):
        rows[a] = [x / rows[a][a] for x in rows[a]]
        for b in set(range(6)) - {a}:
            rows[b] = [x - rows[b][a] * y for x, y in zip(rows[b], rows[a], strict=True)]
    exact = torch.tensor([[float(x) for x in row[6:]] for row in rows], dtype=torch.float64).T
    error = lambda W: float((W - exact).norm() / exact.norm())
    assert error(am.matched_filter(emb, p)) < 1e-9
    slow = torch.linalg.solve(am.second_moment(emb.V, p**2), am.initial_gradient(emb, p).T).T
    assert error(slow) > 100 * error(am.matched_filter(emb, p))


@pytest.mark.parametrize("batch_size", [40, 4000])
def test_of_a_batch_it_is_the_fit_of_least_norm_and_exact_up_to_d_items(batch_size):
    problem, emb = instance(500, 32)
    q = am.sample_minibatch(problem, batch_size, 2000)
    W, A, seen = am.matched_filter(emb, q), q[:, None] * emb.V, q > 0
    fit = (torch.linalg.pinv(A, rtol=1e-12) @ (emb.U - emb.U.mean(0))).T
    torch.testing.assert_close(W, fit, rtol=1e-6, atol=1e-8 * float(fit.abs().max()))
    if seen.sum() <= 32:
        torch.testing.assert_close(A[seen] @ W.T, (emb.U - emb.U.mean(0))[seen], rtol=1e-8, atol=1e-8)
        assert am.recovered(W, emb)[seen].all()
    else:
        assert seen.sum() > 64


def test_the_parts_of_a_decoded_output_add_up_exactly():
    """q_i W* v_i = √ℓ_i Σ_k r_k u_k with r_i = √ℓ_i and Σ_{j≠i} r_j² = 1 − ℓ_i, ℓ_i = snr_i / (1 + snr_i)."""
    problem, emb = instance(400, 24)
    p, U = problem.frequencies, emb.U - emb.U.mean(0)
    moment = am.second_moment(emb.V, p**2)
    A = p[:, None] * emb.V
    R = A @ torch.linalg.solve(moment, A.T)
    leverage = R.diagonal()
    torch.testing.assert_close(A @ am.matched_filter(emb, p).T, R @ U, rtol=0, atol=1e-10)
    r = R / leverage.sqrt()[:, None]
    rest = (r**2).sum(1) - r.diagonal() ** 2
    assert (rest - (1 - leverage)).abs().max() < 1e-10
    assert abs(float(leverage.sum()) - 24) < 1e-10
    for i in (0, 5, 60, 399):
        without = torch.arange(400) != i
        snr = A[i] @ torch.linalg.solve(am.second_moment(emb.V[without], p[without] ** 2), A[i])
        assert abs(float(snr / (1 + snr) - leverage[i])) < 1e-10


def test_the_outputs_are_gaussian_about_what_the_matched_filter_says_of_them():
    """Posterior lemma: U − A W*ᵀ has the covariance (I − R) ⊗ I/d and is independent of the gradient AᵀU."""
    problem, emb = instance(40, 5)
    A = problem.frequencies[:, None] * emb.V
    hat = A @ torch.linalg.pinv(A)
    U = torch.from_numpy(np.random.default_rng(2000).standard_normal((40, 20_000)))
    G, residual = A.T @ U, U - hat @ U
    assert (A.T @ residual).abs().max() < 1e-12 * A.norm() * U.norm(), "no gradient in it"
    covariance = residual @ residual.T / 20_000
    assert (covariance - (torch.eye(40) - hat)).abs().max() < 5 / math.sqrt(20_000)
    scale = (G.square().mean(1)[:, None] * residual.square().mean(1)).sqrt()
    assert ((G @ residual.T / 20_000).abs() <= 5 / math.sqrt(20_000) * scale + 1e-12).all()


def test_leverages_solve_their_equation_and_are_those_of_draws():
    problem, _ = instance(8192, 128)
    found = MatchedFilterEquivalent.solve(problem.frequencies, 128)
    assert abs(found.counts @ found.leverage - 128) < 1e-8
    tau = found.leverage / (1 - found.leverage) / found.values**2
    assert np.ptp(tau) < 1e-6 * tau[-1]
    assert tau[-1] * am.theory.bulk_scale(8192, 128, 1.5) ** 2 == pytest.approx(1, abs=0.02), "M(0) = 1/t₀"
    rare = []
    for seed in FRESH_SEEDS:
        A = problem.frequencies[:, None] * am.sample_embeddings(problem, seed, dtype=torch.float64).V
        rare.append(float((torch.linalg.qr(A).Q[640:] ** 2).sum()))
    law = np.repeat(found.leverage, found.counts.astype(int))[640:].sum()
    assert np.mean(rare) == pytest.approx(law, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("snr, dim, n_items", [(0.5, 16, 200), (1.5, 8, 500), (0.05, 60, 50)])
def test_the_ceilings_are_what_decoders_find_among_drawn_codewords(snr, dim, n_items):
    leverage = snr / (1 + snr)
    counts = np.array([float(n_items)])
    found = MatchedFilterEquivalent(np.ones(1), counts, dim, np.array([leverage]), leverage**2)
    rng, draws = np.random.default_rng(2000), 3000
    likeliest = linear = 0
    for _ in range(draws):
        U = rng.standard_normal((n_items, dim)) / math.sqrt(dim)
        y = U[0] + rng.standard_normal(dim) / math.sqrt(dim * snr)
        likeliest += ((U - y) ** 2).sum(1).argmin() == 0
        linear += (U @ y).argmax() == 0
    for hits, law in ((likeliest, found.limit()[0]), (linear, found.matrix_limit()[0])):
        assert abs(hits / draws - law) < 4 * math.sqrt(law * (1 - law) / draws) + 0.01
    assert found.limit()[0] > found.matrix_limit()[0]


def test_ceilings_at_the_sizes_of_the_chapter_and_in_the_limit():
    problem = am.Problem.power_law(8192, 128, 1.5)
    assert am.capacity_limit(problem) == pytest.approx(226.9, rel=0.01)
    assert equivalents.matrix_capacity_limit(problem) == pytest.approx(222.5, rel=0.01)
    values = [f(problem) for f in (am.capacity_limit, equivalents.matrix_capacity_limit)]
    values.append(am.expected_capacity(problem, "matched_filter"))
    values += [equivalents.expected_siblings_capacity(problem, r) for r in (64, 8, 4, 3, 2)]
    values.append(am.expected_capacity(problem, "polar"))
    assert (np.diff(values) < 0).all()
    large = am.Problem.power_law(2**20, 4096, 2.0)
    law = equivalents.capacity_constant("matched_filter", 2**20, 2.0) * 4096**1.25
    assert am.capacity_limit(large) == pytest.approx(law, rel=0.05)
    two = equivalents.expected_siblings_capacity(large, 2) / am.expected_capacity(large, "matched_filter")
    # fewer signals, and frequent rivals that are less loud
    assert 0.5**0.25 < two < 1.03 * 0.5**0.25
    assert am.capacity_limit(problem, am.sample_minibatch(problem, 100, 0)) < 100


@pytest.mark.slow
def test_the_short_way_to_a_noncentral_square_is_as_good_as_the_long_one(monkeypatch):
    problem = am.Problem.power_law(100_000, 128, 1.5)
    short = am.capacity_limit(problem)
    x = np.array([150.0, 300.0, 420.0])
    np.testing.assert_allclose(
        one_gradient._squared_length_cdf(x, 128, np.full(3, 200.0)), ncx2.cdf(x, 128, 200.0), atol=2e-4
    )
    monkeypatch.setattr(one_gradient, "_SANKARAN_DIM", 1000)
    assert short == pytest.approx(am.capacity_limit(problem), rel=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("alpha, n_items, dim", [(1.25, 4096, 128), (1.5, 3000, 160), (2.5, 6000, 128)])
def test_counts_are_the_predicted_ones_and_none_is_above_the_limit(alpha, n_items, dim):
    problem, p = am.Problem.power_law(n_items, dim, alpha), am.Problem.power_law(n_items, dim, alpha).frequencies
    predicted = {"matched": am.expected_capacity(problem, "matched_filter")}
    predicted |= {r: equivalents.expected_siblings_capacity(problem, r) for r in (2, 3)}
    counted = {name: [] for name in (*predicted, "polar")}
    for seed in FRESH_SEEDS:
        embs = family(problem, 3, seed)
        gradients = [am.initial_gradient(emb, p) for emb in embs]
        counted["matched"].append(am.capacity(am.matched_filter(embs[0], p), embs[0]))
        counted["polar"].append(am.capacity(am.polar(gradients[0]), embs[0]))
        for r in (2, 3):
            counted[r].append(am.capacity(am.siblings(gradients[:r])[0], embs[0]))
    limit = am.capacity_limit(problem)
    for name, values in counted.items():
        error = np.std(values, ddof=1) / math.sqrt(len(values))
        assert np.mean(values) <= limit + 3 * error, name
        if name in predicted:
            assert abs(np.mean(values) / predicted[name] - 1) < 0.03 + 2 * error / predicted[name], name
    assert np.mean(counted["polar"]) < 0.75 * np.mean(counted["matched"])


def test_single_precision_embeddings_cost_nothing():
    problem = am.Problem.power_law(4096, 64, 1.5)
    emb = am.sample_embeddings(problem, 2000)
    double = am.Embeddings(emb.U.double(), emb.V.double())
    W, W64 = (am.matched_filter(e, problem.frequencies) for e in (emb, double))
    assert W.dtype == torch.float64
    torch.testing.assert_close(W, W64, rtol=0, atol=1e-9 * float(W64.abs().max()))


def test_one_sibling_is_a_spectral_map_and_more_share_their_squares():
    problem, emb = instance()
    embs = family(problem, 3, 2000)
    gradients = [am.initial_gradient(e, problem.frequencies) for e in embs]
    (alone,) = am.siblings(gradients[:1])
    torch.testing.assert_close(alone, torch.linalg.inv(gradients[0]).T, rtol=1e-6, atol=1e-6)
    moment = sum(G.T @ G for G in gradients)
    for damping in (0.0, 0.01):
        ridge = damping * moment.trace() / 20 * torch.eye(20, dtype=torch.float64)
        for W, G in zip(am.siblings(gradients, damping), gradients, strict=True):
            torch.testing.assert_close(W @ (moment + ridge), G, rtol=0, atol=1e-10)
    cut = [gradients[0][:13], gradients[1], gradients[2][:1]]
    moment = sum(G.T @ G for G in cut)
    for W, G in zip(am.siblings(cut), cut, strict=True):
        torch.testing.assert_close(W @ moment, G, rtol=0, atol=1e-10)


@pytest.mark.parametrize("r", [2, 4])
def test_siblings_stand_at_the_cosine_of_their_number(r):
    problem, cosines = am.Problem.power_law(4096, 64, 1.5), []
    for seed in FRESH_SEEDS:
        embs = family(problem, r, seed)
        W = am.siblings([am.initial_gradient(emb, problem.frequencies) for emb in embs])[0]
        best = am.matched_filter(embs[0], problem.frequencies)
        cosines.append(float((W * best).sum() / W.norm() / best.norm()))
    assert np.mean(cosines) == pytest.approx(math.sqrt(1 - 1 / r), abs=0.02)


def test_theorem_a_is_its_inequality_with_the_best_background():
    for n_items, dim, alpha in ((2000, 16, 1.5), (2001, 30, 1.1)):
        q = am.Problem.power_law(n_items, dim, alpha).frequencies.numpy()
        bound, n = am.theory.one_gradient_bound(q, dim), n_items // 2
        assert (bound[: dim + 3] == 1).all() and (bound <= 1).all() and (bound >= math.e / n).all()
        for i in (dim + 20, 200, n_items - 1):
            rarest = [j for j in range(n_items - 1, -1, -1) if j != i][:n]
            loudest = max(q[j] ** 2 for j in rarest)
            backgrounds = [K for K in range(dim + 3, i + 1) if K < n_items / 2]
            kappa = min(dim**2 * (q[i] ** 2 + loudest) / (q[K - 1] ** 2 * (K - dim - 2)) for K in backgrounds)
            p = bound[i]
            # an item of the rarest half may have a rival one rank louder, which the bound takes for all
            assert p == 1 or p * (math.log(n * p) - 1) == pytest.approx(kappa, rel=0.01)


def test_theorem_a_has_its_order_and_says_nothing_where_nothing_is_seen():
    sums = [
        am.theory.one_gradient_bound(am.Problem.power_law(2**20, dim, 1.5).frequencies.numpy(), dim).sum()
        for dim in (128, 512)
    ]
    assert math.log(sums[1] / sums[0]) / math.log(4) == pytest.approx(4 / 3, abs=0.1)
    assert sums[1] > am.capacity_limit(am.Problem.power_law(2**20, 512, 1.5))
    seen = np.r_[np.ones(10), np.zeros(90)] / 10
    assert (am.theory.one_gradient_bound(seen, 16)[:19] == 1).all()
    assert (am.theory.one_gradient_bound(np.ones(3), 16) == 1).all()
