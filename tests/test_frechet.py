"""Derivatives of spectral functions against differences, automatic differentiation and closed forms."""

import pytest
import torch

import amemlib as am
from amembook.paper.lemmas import SPECTRA, derivative_errors
from amembook.paper.lemmas.second_derivative import second_divided_difference, spectral_second_derivative
from amemlib import spectral

LAM = 0.7
SMOOTHED = (*spectral.smoothed_sign_scalars(LAM), LAM)
MAPS = {
    "smoothed sign": SMOOTHED,
    "tanh": (torch.tanh, lambda z: torch.cosh(z) ** -2, lambda z: -2 * torch.tanh(z) * torch.cosh(z) ** -2, 1.0),
    "cubic": (lambda z: 1.5 * z - 0.5 * z**3, lambda z: 1.5 - 1.5 * z**2, lambda z: -3 * z, 1.0),
}


def normal(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def built(s, shape=(6, 6), seed=1):
    P, Q = (torch.linalg.qr(normal(n, n, seed=seed + k)).Q for k, n in enumerate(shape))
    return (P[:, : len(s)] * torch.tensor(s, dtype=torch.float64)) @ Q[:, : len(s)].T


def exact(G, f):
    """f(G) with every direction kept, the null ones too."""
    return am.spectral_map(G, f, rank=min(G.shape))


def direction(shape=(6, 6)):
    E = normal(*shape, seed=5)
    return E / torch.linalg.matrix_norm(E, 2)


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("name", MAPS)
def test_proposition_11_first_order(name, spectrum):
    assert derivative_errors(built(SPECTRA[spectrum]), direction(), *MAPS[name])[0] < 1e-8


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("name", MAPS)
def test_proposition_11_second_order(name, spectrum):
    assert derivative_errors(built(SPECTRA[spectrum]), direction(), *MAPS[name])[1] < 1e-8


@pytest.mark.parametrize("spectrum", SPECTRA)
def test_both_orders_agree_with_automatic_differentiation(spectrum):
    # h_λ(A) = A (AᵀA + λ²)^{−1/2}, the inverse root as an integral of inverses: smooth at every A, no SVD in the graph
    G, E = built(SPECTRA[spectrum]), normal(6, 6, seed=5)
    f, df, d2f, scale = SMOOTHED
    # s = λ tan θ turns (2/π) ∫₀^∞ … ds into an average over θ of a periodic analytic function
    theta = (torch.arange(96, dtype=torch.float64) + 0.5) * torch.pi / 192

    def h(t):
        A = G + t * E
        inverse = torch.linalg.inv(
            A.T @ A * theta.cos()[:, None, None] ** 2 + LAM**2 * torch.eye(6, dtype=torch.float64)
        )
        return LAM * A @ inverse.mean(0)

    zero = torch.zeros((), dtype=torch.float64)
    torch.testing.assert_close(h(zero), exact(G, f), rtol=0, atol=1e-12)
    derivative = torch.func.jacfwd(h)
    for ours, theirs in (
        (spectral.spectral_derivative(G, E, f, df, scale), derivative(zero)),
        (spectral_second_derivative(G, E, f, df, d2f, scale), torch.func.jacfwd(derivative)(zero)),
    ):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-8 * max(1, theirs.abs().max().item()))


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (1, 5)])
def test_rectangular_matrices_have_the_same_derivatives(shape):
    assert max(derivative_errors(normal(*shape, seed=3), direction(shape), *SMOOTHED)) < 1e-8


def test_the_identity_and_a_cubic_have_polynomial_derivatives():
    G, E = normal(5, 5), normal(5, 5, seed=1)
    one, none = torch.ones_like, torch.zeros_like
    torch.testing.assert_close(spectral.spectral_derivative(G, E, lambda z: z, one, 1.0), E, rtol=0, atol=1e-13)
    assert spectral_second_derivative(G, E, lambda z: z, one, none, 1.0).abs().max() < 1e-12
    # (A Aᵀ A)″ along E
    expected = 2 * (E @ E.T @ G + E @ G.T @ E + G @ E.T @ E)
    cube = spectral_second_derivative(G, E, lambda z: z**3, lambda z: 3 * z**2, lambda z: 6 * z, 1.0)
    torch.testing.assert_close(cube, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("gap", [0.0, 1e-12, 1e-6, 1e-2, 0.3, 0.6])
def test_divided_differences_of_the_smoothed_sign_keep_their_digits_at_every_gap(gap):
    # those of ψ(x) = (x + λ²)^{−1/2} have no cancellation, and h_λ(z) = z ψ(z²) has them by Leibniz's rule
    f, df, d2f, scale = SMOOTHED
    x, y, z = (torch.tensor(v, dtype=torch.float64) for v in (0.4, 0.4 + gap, 0.4 - 0.5 * gap))
    X, Y, Z = ((v**2 + LAM**2).sqrt() for v in (x, y, z))
    psi2, psi3 = lambda X, Y: -1 / (X * Y * (X + Y)), (X + Y + Z) / (X * Y * Z * (X + Y) * (Y + Z) * (Z + X))
    of_squares = lambda X, Y, x, y: psi2(X, Y) * (x + y)
    first = 1 / X + y * of_squares(X, Y, x, y)
    # g(z) = ψ(z²): g[x, y, z] from ψ[x², y²] and ψ[x², y², z²]
    g3 = psi3 * (x + y) * (y + z) + psi2(X, Z)
    second = of_squares(X, Y, x, y) + z * g3
    torch.testing.assert_close(spectral.divided_difference(x, y, f, df, scale), first, rtol=1e-12, atol=0)
    derived = second_divided_difference(x, y, z, f, df, d2f, scale)
    torch.testing.assert_close(derived, second, rtol=1e-10, atol=1e-12)


def test_a_second_divided_difference_does_not_care_for_the_order_of_its_points():
    f, df, d2f, scale = SMOOTHED
    points = normal(3, 200)
    values = [second_divided_difference(*points[list(p)], f, df, d2f, scale) for p in ((0, 1, 2), (2, 0, 1))]
    assert torch.equal(*values)


@pytest.mark.parametrize("lam", [0.05, 0.7, 5.0])
def test_the_signal_curve_is_the_spectral_map_and_its_derivatives(lam):
    G, U, V = normal(9, 9), normal(4, 9, seed=1), normal(4, 9, seed=2)
    t = torch.tensor([[-0.4, 0.0, 0.3, 2.0]] * 4, dtype=torch.float64)
    f, df, d2f = spectral.smoothed_sign_scalars(lam)
    curves = spectral.signal_curve(G, U, V, t, lam)
    for i, (u, v) in enumerate(zip(U, V, strict=True)):
        E = torch.outer(u, v)
        for k, step in enumerate(t[i]):
            A = G + step * E
            expected = [
                u @ am.smoothed_sign(A, lam) @ v,
                u @ spectral.spectral_derivative(A, E, f, df, lam) @ v,
                u @ spectral_second_derivative(A, E, f, df, d2f, lam) @ v,
            ]
            for order, (curve, value) in enumerate(zip(curves, expected, strict=True)):
                unit = (u.norm() * v.norm()) * (u.norm() * v.norm() / lam) ** order
                assert abs(curve[i, k] - value) < 1e-9 * unit


def test_the_signal_curve_at_lambda_zero_is_that_of_the_polar_map():
    G, U, V = normal(8, 8), normal(3, 8, seed=1), normal(3, 8, seed=2)
    t = torch.tensor([[0.0, 0.2]] * 3, dtype=torch.float64)
    value, slope, _ = spectral.signal_curve(G, U, V, t, 0.0)
    for i, (u, v) in enumerate(zip(U, V, strict=True)):
        for k, step in enumerate(t[i]):
            A = G + step * torch.outer(u, v)
            assert abs(value[i, k] - u @ am.polar(A) @ v) < 1e-9
            flat = spectral.spectral_derivative(
                A, torch.outer(u, v), torch.sign, torch.zeros_like, torch.linalg.svdvals(A)[-1].item()
            )
            assert abs(slope[i, k] - u @ flat @ v) < 1e-8 * slope[i, k].abs()


def test_the_divergence_of_a_spectral_map_is_the_mean_slope():
    G = normal(7, 7) / 2
    f, df, _, scale = SMOOTHED
    divergence = sum(
        spectral.spectral_derivative(G, E, f, df, scale).flatten() @ E.flatten()
        for E in torch.eye(49, dtype=torch.float64).view(49, 7, 7)
    )
    assert abs(spectral.stein_slope(torch.linalg.svdvals(G), f, df, scale) - divergence / 49) < 1e-13


def test_the_slopes_of_the_signal_are_derivatives_and_that_of_the_identity_is_half_its_bound():
    G, U, V = normal(7, 7), normal(5, 7, seed=1), normal(5, 7, seed=2)
    f, df, _, scale = SMOOTHED
    slopes, bounds = spectral.signal_slopes(G, U, V, f, df, scale)
    for u, v, slope in zip(U, V, slopes, strict=True):
        derivative = spectral.spectral_derivative(G, torch.outer(u, v), f, df, scale)
        assert slope.item() == pytest.approx((u @ derivative @ v).item(), rel=1e-10)
    assert (0 < slopes).all() and (slopes <= bounds).all()
    slopes, bounds = spectral.signal_slopes(G, U, V, lambda z: z, torch.ones_like, 1.0)
    torch.testing.assert_close(slopes, (U**2).sum(1) * (V**2).sum(1))
    torch.testing.assert_close(bounds, 2 * slopes)


POINTS = {
    "simple": normal(5, 5),
    "tall": normal(6, 3),
    "wide": normal(2, 5),
    "repeated": built([2, 2, 1, 1, 1], (5, 6)),
    "orthogonal": torch.eye(4, dtype=torch.float64),
    "stack": torch.stack([torch.eye(3, dtype=torch.float64), normal(3, 3), built([2, 2, 1], (3, 3))]),
}
SINGULAR = {"zero": torch.zeros(3, 4, dtype=torch.float64), "deficient": built([2, 1, 1, 0, 0], (6, 5))}


@pytest.mark.parametrize("lam", [0.0, 1e-2, LAM])
@pytest.mark.parametrize("point", [*POINTS, *SINGULAR])
def test_autograd_gets_the_derivative_that_differences_show(point, lam):
    if point in POINTS or lam > 0:
        G = (POINTS | SINGULAR)[point].clone().requires_grad_()
        assert torch.autograd.gradcheck(lambda G: am.smoothed_sign(G, lam), G, eps=1e-7)


@pytest.mark.parametrize("lam", [0.0, LAM])
@pytest.mark.parametrize("spectrum, rank", [([3, 2, 2, 1, 1], 3), ([2, 2, 0, 0, 0], 2), ([2, 1, 1], 0)])
def test_a_map_of_fixed_rank_has_a_derivative_where_the_next_singular_value_is_smaller(spectrum, rank, lam):
    G = built(spectrum, (6, 5)).requires_grad_()
    assert torch.autograd.gradcheck(lambda G: am.smoothed_sign(G, lam, rank), G, eps=1e-7)


def test_a_stack_of_one_has_the_derivative_of_its_matrix_at_every_rank():
    G, E = built([3, 2, 1], (4, 3)), direction((4, 3))
    for rank in range(4):
        one = spectral.spectral_derivative(G, E, torch.sign, torch.zeros_like, 1e-3, rank)
        many = spectral.spectral_derivative(G[None], E[None], torch.sign, torch.zeros_like, 1e-3, rank)
        torch.testing.assert_close(many, one[None], rtol=0, atol=1e-13)
    with pytest.raises(ValueError, match="^rank must"):
        spectral.spectral_derivative(G[None], E[None], torch.sign, torch.zeros_like, 1e-3, 4)


@pytest.mark.parametrize("lam, rank, point", [(0.0, None, "deficient"), (0.0, 2, "orthogonal"), (LAM, 2, "deficient")])
def test_where_there_is_no_derivative_backward_says_so(lam, rank, point):
    G = (POINTS | SINGULAR)[point].clone().requires_grad_()
    with pytest.raises(ValueError, match=r"G must have s_r > s_\(r\+1\)"):
        am.smoothed_sign(G, lam, rank).sum().backward()


def test_a_second_derivative_is_refused_whatever_the_first_is_multiplied_with():
    G = normal(3, 3).requires_grad_()
    for loss in (am.smoothed_sign(G, LAM).sum(), (am.polar(G) ** 2 * normal(3, 3)).sum()):
        (slope,) = torch.autograd.grad(loss, G, create_graph=True)
        with pytest.raises(NotImplementedError, match="no second"):
            slope.sum().backward()


def test_the_gradient_has_the_precision_of_its_argument_and_the_maps_their_jacobian():
    G = torch.eye(3, requires_grad=True)
    am.polar(G)[0, 1].backward()
    torch.testing.assert_close(G.grad, torch.tensor([[0, 0.5, 0], [-0.5, 0, 0], [0, 0, 0]]))
    J = torch.func.jacrev(am.polar)(torch.eye(2, dtype=torch.float64))
    torch.testing.assert_close(J[0, 1], torch.tensor([[0, 0.5], [-0.5, 0]], dtype=torch.float64))
