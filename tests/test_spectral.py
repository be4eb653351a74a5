"""Maps on singular values against scipy, against matrices of chosen singular values, and against each other."""

import inspect

import pytest
import scipy.linalg
import torch

import amemlib as am

EPS = torch.finfo(torch.float64).eps
SHAPES = [(24, 24), (40, 24), (24, 40)]


def orthonormal(rows, columns, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.linalg.qr(torch.randn(rows, columns, dtype=torch.float64, generator=generator))[0]


def build(s, shape=(24, 24)):
    """P, Q and G = P diag(s) Qᵀ with exactly these singular values."""
    P, Q = orthonormal(shape[0], len(s), 1), orthonormal(shape[1], len(s), 2)
    return P, Q, (P * s) @ Q.T


def spread(smallest, n=24):
    return torch.logspace(0, torch.tensor(smallest).log10().item(), n, dtype=torch.float64)


MAPS = {
    "identity": am.identity,
    "polar": am.polar,
    "smoothed_sign": lambda G: am.smoothed_sign(G, 0.03),
    "cubic": lambda G: am.newton_schulz(G, 5, "cubic"),
    "muon": lambda G: am.newton_schulz(G, 5, "muon"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_polar_is_scipys_polar_factor(shape):
    G = build(spread(0.1), shape)[2]
    expected = torch.from_numpy(scipy.linalg.polar(G.numpy())[0])
    torch.testing.assert_close(am.polar(G), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("smallest", [1.0, 1e-3, 1e-6])
def test_polar_sends_chosen_singular_values_to_one(smallest, shape):
    P, Q, G = build(spread(smallest), shape)
    # a backward-stable factorisation turns the smallest direction by about ε s₁ / s_d
    torch.testing.assert_close(am.polar(G), P @ Q.T, rtol=0, atol=50 * EPS / smallest)
    torch.testing.assert_close(am.polar(1e-30 * G), am.polar(G), rtol=0, atol=100 * EPS / smallest)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("lam", [1e-2, 1.0, 100.0])
def test_smoothed_sign_is_its_formula_twice(lam, shape):
    G = build(spread(1e-6), shape)[2]
    W = am.smoothed_sign(G, lam)
    P, s, Qh = map(torch.from_numpy, scipy.linalg.svd(G.numpy(), full_matrices=False))
    torch.testing.assert_close(W, (P * (s / (s**2 + lam**2).sqrt())) @ Qh, rtol=0, atol=1e-13)
    squares, Q = torch.linalg.eigh(G.T @ G)
    inverse_root = (Q / (squares.clamp(min=0) + lam**2).sqrt()) @ Q.T
    torch.testing.assert_close(W, G @ inverse_root, rtol=0, atol=1e-11)


@pytest.mark.parametrize("lam", [1.0, 1e-1, 1e-2, 1e-4])
def test_smoothed_sign_tends_to_polar_at_the_rate_of_its_smallest_singular_value(lam):
    G = build(spread(1e-2))[2]
    distance = torch.linalg.matrix_norm(am.polar(G) - am.smoothed_sign(G, lam), 2).item()
    assert distance == pytest.approx(1 - 1e-2 / (1e-4 + lam**2) ** 0.5, abs=1e-11)
    assert torch.equal(am.smoothed_sign(G, 0.0), am.polar(G))


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_spectral_map_commutes_with_rotations_and_transposition(name, shape):
    f, G = MAPS[name], build(spread(1e-2), shape)[2]
    O1, O2 = orthonormal(shape[0], shape[0], 3), orthonormal(shape[1], shape[1], 4)
    torch.testing.assert_close(f(O1 @ G @ O2), O1 @ f(G) @ O2, rtol=0, atol=1e-11)
    torch.testing.assert_close(f(G.T), f(G).T, rtol=0, atol=1e-11)
    torch.testing.assert_close(f(-G), -f(G), rtol=0, atol=1e-11)


def test_the_identity_map_changes_nothing():
    G = build(spread(1e-6))[2]
    assert torch.equal(am.identity(G), G)
    assert torch.equal(am.identity(G.float()), G.float().double())
    torch.testing.assert_close(am.spectral_map(G, lambda s: s), G, rtol=0, atol=1e-14)


@pytest.mark.parametrize("rank", [1, 7, 23])
@pytest.mark.parametrize("known", [True, False])
def test_polar_of_a_rank_deficient_matrix_is_a_partial_isometry_on_its_rows(rank, known):
    P, Q, G = build(spread(1e-3, rank))
    W = am.polar(G, rank if known else None)
    torch.testing.assert_close(W, P @ Q.T, rtol=0, atol=1e-11)
    s = torch.linalg.svdvals(W)
    torch.testing.assert_close(s[:rank], torch.ones(rank, dtype=torch.float64), rtol=0, atol=1e-12)
    assert s[rank:].max() < 1e-12


@pytest.mark.parametrize("n_items, batch_size", [(40, None), (64, None), (500, 3), (500, 2000)])
def test_polar_of_a_gradient_keeps_as_many_directions_as_items_were_seen(n_items, batch_size):
    problem = am.Problem.power_law(n_items, 64, 1.5)
    emb = am.sample_embeddings(problem, 0)
    q = problem.frequencies if batch_size is None else am.sample_minibatch(problem, batch_size, 0)
    G, rank = am.initial_gradient(emb, q), am.gradient_rank(emb, q)
    assert rank < 64 or batch_size == 2000
    for W in (am.polar(G), am.polar(G, rank)):
        assert torch.linalg.svdvals(W).round(decimals=6).tolist() == [1.0] * rank + [0.0] * (64 - rank)


def test_polar_of_a_steep_population_gradient_keeps_every_direction():
    # s_d / s_1 ≈ d^{−α} = 2·10⁻⁷, where a relative cut or float32 would lose directions
    problem = am.Problem.power_law(4096, 512, 2.5)
    G = am.initial_gradient(am.sample_embeddings(problem, 0), problem.frequencies)
    s = torch.linalg.svdvals(am.polar(G))
    torch.testing.assert_close(s, torch.ones(512, dtype=torch.float64), rtol=0, atol=1e-12)


def test_maps_of_zero_are_zero():
    zero = torch.zeros(5, 5, dtype=torch.float64)
    for name, f in MAPS.items():
        assert torch.equal(f(zero), zero), name


@pytest.mark.parametrize("shape", SHAPES)
def test_cubic_newton_schulz_converges_to_polar(shape):
    G = build(spread(1e-3), shape)[2]
    distances = [torch.linalg.matrix_norm(am.newton_schulz(G, k) - am.polar(G), 2).item() for k in (5, 15, 40)]
    # (3/2)^k must lift s_d/‖G‖_F ≈ 4·10⁻⁴ to order one: about twenty steps, then quadratic convergence
    assert distances[0] > 0.9 and distances[1] > 0.5 and distances[2] < 1e-11


@pytest.mark.parametrize("coefficients", ["cubic", "muon", (2.0, -1.5, 0.5)])
@pytest.mark.parametrize("shape", SHAPES)
def test_newton_schulz_does_to_a_matrix_what_its_polynomial_does_to_singular_values(coefficients, shape):
    G = build(spread(1e-4), shape)[2]
    norm = torch.linalg.matrix_norm(G)
    twin = am.spectral_map(G, lambda s: am.spectral.newton_schulz_scalar(s / norm, 5, coefficients))
    torch.testing.assert_close(am.newton_schulz(G, 5, coefficients), twin, rtol=0, atol=1e-12)


def test_one_cubic_step_is_the_polynomial_of_lemma_29():
    s = torch.linspace(0, 1, 11, dtype=torch.float64)
    torch.testing.assert_close(am.spectral.newton_schulz_scalar(s, 1, "cubic"), 1.5 * s - 0.5 * s**3)


def test_muon_coefficients_are_those_that_torch_ships():
    if not hasattr(torch.optim, "Muon"):
        pytest.skip("this torch has no Muon")
    defaults = inspect.signature(torch.optim.Muon.__init__).parameters
    assert am.spectral.newton_schulz_coefficients("muon") == defaults["ns_coefficients"].default
    assert inspect.signature(am.newton_schulz).parameters["steps"].default == defaults["ns_steps"].default


def test_muons_five_steps_reach_order_one_but_do_not_converge():
    s = torch.linspace(0.01, 1, 5000, dtype=torch.float64)
    # the design goal of these coefficients: within about 0.3 of 1, whatever the singular value
    assert (am.spectral.newton_schulz_scalar(s, 5, "muon") - 1).abs().max() < 0.35
    for steps in (5, 20, 100):
        assert (am.spectral.newton_schulz_scalar(s, steps, "muon") - 1).abs().max() > 0.1
