"""The statements of the chapter on the signal, one test each: Lemmas 12 and 13, Eqs. (6) and (17) to (20)."""

import dataclasses
import math

import numpy as np
import pytest
import torch

import amemlib as am
from amembook import read_records
from amembook.paper.lemmas import leave_one_out, nine_point_derivatives, slope_terms
from amembook.paper.lemmas.second_derivative import spectral_second_derivative
from amembook.paper.signal import EXPERIMENT as SIGNAL
from amembook.paper.signal import rank_edges
from amembook.run.claims import CONSISTENT, NOT_REPRODUCED, UNDECIDED
from amemlib import spectral, theory

LAM = 0.6
H, DH, D2H = spectral.smoothed_sign_scalars(LAM)


def normal(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def left_out(dim=48, n_items=400, item=5, seed=2000):
    """G without item i, that item's vectors and frequency, and λ = t₀."""
    return *leave_one_out(n_items, dim, 1.5, item, seed), theory.bulk_scale(n_items, dim, 1.5)


@pytest.mark.parametrize("multiple", [0.0, 1.0, 10.0])
def test_lemma_12_slope_of_the_signal(multiple):
    G, u, v, q, lam = left_out()
    f, df, _ = spectral.smoothed_sign_scalars(lam)
    A = G + multiple * q * torch.outer(u, v)
    along = lambda t: u @ am.smoothed_sign(A + t * torch.outer(u, v), lam) @ v
    difference = nine_point_derivatives(along, 1e-2 * lam)[0]
    by_terms = sum(terms.sum() for terms in slope_terms(A, u, v, f, df, lam))
    assert abs(by_terms - difference) < 1e-8 * difference
    assert abs(spectral.signal_slopes(A, u[None], v[None], f, df, lam)[0][0] - by_terms) < 1e-12 * by_terms


@pytest.mark.parametrize("name", ["smoothed sign", "tanh", "identity", "bump"])
def test_lemma_12_every_term_is_non_negative_for_a_nondecreasing_map(name):
    f, df = {
        "smoothed sign": (H, DH),
        "tanh": (torch.tanh, lambda z: torch.cosh(z) ** -2),
        "identity": (lambda z: z, torch.ones_like),
        "bump": (lambda z: z * (-(z**2)).exp(), lambda z: (1 - 2 * z**2) * (-(z**2)).exp()),
    }[name]
    least = math.inf
    for seed in range(20):
        A, (u, v) = normal(6, 6, seed=seed), normal(2, 6, seed=100 + seed)
        least = min(least, *(terms.min().item() for terms in slope_terms(A, u, v, f, df, 0.5)))
    # the bump is not monotone, and the lemma is not true of it
    assert (least >= -1e-15) == (name != "bump")


def test_eq_6_the_mean_slope_is_the_divergence():
    G, _, _, _, lam = left_out(dim=64)
    f, df, _ = spectral.smoothed_sign_scalars(lam)
    U, V = normal(40_000, 64, seed=1) / 8, normal(40_000, 64, seed=2) / 8
    slopes = spectral.signal_slopes(G, U, V, f, df, lam)[0]
    stein = spectral.stein_slope(torch.linalg.svdvals(G), f, df, lam)
    assert abs(slopes.mean() - stein) < 4 * slopes.std() / 200
    assert 0.2 / lam < stein < 1 / lam


def test_eqs_17_and_18_lower_bound_of_the_slope():
    dim = 40
    for seed in range(30):
        A = normal(dim, dim, seed=seed) * torch.logspace(0, -3, dim, dtype=torch.float64)
        u, v = normal(2, dim, seed=500 + seed)
        P, s, Qh = torch.linalg.svd(A)
        a, b = (P.T @ u)[dim // 2 :], (Qh @ v)[dim // 2 :]
        s_half = s[dim // 2 - 1]
        bound = H(s_half) / (2 * s_half) * ((a @ a) * (b @ b) - (a @ b) ** 2)
        assert spectral.signal_slopes(A, u[None], v[None], H, DH, LAM)[0][0] >= bound > 0


@pytest.mark.parametrize("spectrum", ["random", "repeated", "zero"])
def test_lemma_13_second_derivative_two_roads(spectrum):
    A, (u, v) = normal(7, 7), normal(2, 7, seed=1)
    if spectrum != "random":
        P, s, Qh = torch.linalg.svd(A)
        s = torch.tensor([2, 2, 2, 0.5, 0.5, 0.1, 0.1] if spectrum == "repeated" else [2, 1, 0.5, 0, 0, 0, 0]).double()
        A = (P * s) @ Qh
    E = torch.outer(u, v)
    dilation = u @ spectral_second_derivative(A, E, H, DH, D2H, LAM) @ v
    P, s, Qh = torch.linalg.svd(A)
    X, w, b = (s**2 + LAM**2).sqrt(), s * (P.T @ u), Qh @ v
    moved = torch.outer(w, b) + torch.outer(b, w)
    by_squares = 0.0
    for k in range(7):
        for m in range(7):
            psi = -1 / (X[k] * X[m] * (X[k] + X[m]))
            by_squares += 2 * (u @ u) * psi * (b[k] * moved[k, m] * b[m] + w[k] * b[k] * b[m] * b[m])
            for n in range(7):
                product = X[k] * X[m] * X[n] * (X[k] + X[m]) * (X[m] + X[n]) * (X[n] + X[k])
                by_squares += 2 * w[k] * (X[k] + X[m] + X[n]) / product * moved[k, m] * moved[m, n] * b[n]
    assert abs(dilation - by_squares) < 1e-10 * (u.norm() * v.norm()) ** 3 / LAM**2


def test_lemma_13_second_derivative_bound():
    # power-law gradients, flat and steep spectra, small and large lengths: nothing comes near the proved constant
    largest = 0.0
    for seed in range(40):
        dim = 1 + seed % 12
        decay = torch.logspace(0, -(seed % 5), dim, dtype=torch.float64)
        A = 10 ** (seed % 4 - 2) * normal(dim, dim, seed=seed) * decay
        U, V = normal(30, dim, seed=900 + seed), normal(30, dim, seed=1900 + seed)
        t = torch.logspace(-3, 3, 13, dtype=torch.float64).repeat(30, 1)
        curvature = spectral.signal_curve(A, U, V, t, LAM)[2]
        largest = max(largest, (curvature.abs() * LAM**2 / (U.norm(dim=1) * V.norm(dim=1))[:, None] ** 3).max().item())
    assert 0.1 < largest <= theory.SIGNAL_CURVATURE_BOUND == 4 / math.pi


def test_lemma_13_a_single_direction_shows_how_good_the_constant_is():
    z = torch.linspace(0, 3 * LAM, 30_001, dtype=torch.float64)
    largest = (D2H(z).abs() * LAM**2).max().item()
    assert largest == pytest.approx(48 / (25 * math.sqrt(5)), abs=1e-6)
    one = torch.ones(1, 1, dtype=torch.float64)
    curve = spectral.signal_curve(LAM / 2 * one, one, one, 0 * one, LAM)[2]
    assert curve.item() == pytest.approx(-largest / LAM**2, rel=1e-6)


def test_the_curvature_at_zero_has_mean_zero_and_vanishes_with_the_dimension():
    rms = []
    for dim in (32, 128):
        G, _, _, _, lam = left_out(dim=dim, n_items=800)
        U, V = normal(3000, dim, seed=5) / dim**0.5, normal(3000, dim, seed=6) / dim**0.5
        curvature = spectral.signal_curve(G, U, V, torch.zeros(3000, 1), lam)[2] * lam**2
        assert abs(curvature.mean()) < 4 * curvature.std() / 3000**0.5
        rms.append(curvature.square().mean().sqrt().item() * dim**0.5)
    assert 0.8 < rms[1] / rms[0] < 1.25


def test_eq_20_lower_bound_of_the_signal():
    G, _, _, _, lam = left_out(dim=64, n_items=1000)
    f, df, _ = spectral.smoothed_sign_scalars(lam)
    U, V = normal(100, 64, seed=7) / 8, normal(100, 64, seed=8) / 8
    t = lam * torch.logspace(-2, 2, 25, dtype=torch.float64).repeat(100, 1)
    value, slope, _ = spectral.signal_curve(G, U, V, t, lam)
    start = spectral.signal_curve(G, U, V, torch.zeros(100, 1), lam)[0]
    first = spectral.signal_slopes(G, U, V, f, df, lam)[0][:, None]
    lengths = (U.norm(dim=1) * V.norm(dim=1))[:, None]
    parabola = start + first * t - theory.SIGNAL_CURVATURE_BOUND / 2 * lengths**3 * t**2 / lam**2
    assert (value >= parabola.cummax(1).values - 1e-12).all()
    assert (slope > 0).all()
    # the bound has the right order: a fixed share of min(1, t/λ), up to noise of size d^{-1/2}
    assert ((parabola.cummax(1).values - start) >= 0.01 * (t / lam).clamp(max=1)).all()


def test_the_mean_curve_is_the_sharp_curve():
    dim, n_items = 192, 3000
    problem = am.Problem.power_law(n_items, dim, 1.5)
    G = am.thresholded_gradient(am.sample_embeddings(problem, 2000), problem.frequencies, 0)
    lam = theory.bulk_scale(n_items, dim, 1.5)
    U, V = normal(1500, dim, seed=9) / dim**0.5, normal(1500, dim, seed=10) / dim**0.5
    grid = problem.frequencies[torch.tensor([2, 10, 50, 200, 1000])]
    for width in (0.0, lam):
        mean = spectral.signal_curve(G, U, V, grid.repeat(1500, 1), width)[0]
        sharp = am.equivalents.SpectralEquivalent.solve(problem.frequencies, dim, width).signal_of(grid)
        error = mean.std(0) / 1500**0.5
        assert ((mean.mean(0) - torch.as_tensor(sharp)).abs() < 0.02 * torch.as_tensor(sharp) + 4 * error).all()


def small_run(**changes):
    config = dataclasses.replace(SIGNAL.profiles["smoke"], dims=(32, 48), n_items=200, n_probes=32, **changes)
    return config, [cell.function(**cell.arguments) for cell in SIGNAL.cells(config, "cpu")]


def test_the_experiment_says_what_it_found(words):
    config, results = small_run(first_seed=1000, seeds=4)
    assert words(SIGNAL, config, results) == {
        "polar": UNDECIDED,
        "smoothed_sign": UNDECIDED,
        "slope": CONSISTENT,
        "curvature": CONSISTENT,
    }
    assert len(SIGNAL.read(config, results)[0]["signal"]["polar_48"]) == len(rank_edges(200)) - 1
    for result in results:
        result["curvature"], result["lam_slope"] = 1.3, 2 * result["lam_slope"]
    off = words(SIGNAL, config, results)
    assert off["curvature"] == off["slope"] == NOT_REPRODUCED


@pytest.mark.parametrize("n_items", [5, 64, 100, 16_384])
def test_octaves_of_ranks_hold_every_item_once(n_items):
    edges = rank_edges(n_items)
    assert edges[0] == 1 and edges[-1] == n_items + 1
    assert np.diff(edges).min() >= 1 and np.diff(edges).sum() == n_items


def test_gradient_ascent_finds_no_larger_curvature_than_that_of_one_direction():
    """λ = 1, unit vectors and diagonal A, which lose nothing."""
    log_s = torch.arange(-7.0, 9.0, 0.25, dtype=torch.float64)
    mu2, weights = 1 + log_s.exp() ** 2, 4 / math.pi * 0.25 * log_s.exp()
    for size in (1, 3, 6):
        climbers = [normal(40, size, seed=k).requires_grad_() for k in range(3)]
        optimizer = torch.optim.Adam(climbers, lr=0.05)
        for _ in range(250):
            x, y = (z / z.norm(dim=1, keepdim=True) for z in climbers[:2])
            R = 1 / (climbers[2][:, :, None] ** 2 + mu2)
            a, b, c = (torch.einsum("nk,nks->ns", z, R) for z in (x**2, y**2, climbers[2] * x * y))
            curvature = (c * (c**2 - 3 * mu2 * a * b) @ weights).abs()
            optimizer.zero_grad()
            (-curvature.sum()).backward()
            optimizer.step()
        assert curvature.max().item() == pytest.approx(48 / (25 * math.sqrt(5)), abs=2e-3)


def test_the_signals_of_the_record_are_those_of_the_sharp_curve():
    (record,) = read_records("signal", "confirm-alpha-1.5")
    measured, predicted = record["measured"], record["predicted"]
    start = measured["start_curvature_rms"]["smoothed_sign"]
    assert abs(am.fit_exponent(record["config"]["dims"], start).slope) < 0.05, "times the root of d"
    for side in (measured, predicted):
        assert side["lam_slope"]["smoothed_sign"][-1] == pytest.approx(0.321, abs=5e-4)
    worst = 0.0
    for key, mean in measured["signal"].items():
        if int(key.rpartition("_")[2]) >= 256:
            mean, sharp, error = map(np.array, (mean, predicted["signal"][key], measured["signal_error"][key]))
            assert (np.abs(mean - sharp) <= 0.05 * sharp + 3 * error).all()
            worst = max(worst, np.abs(mean / sharp - 1)[sharp > 0.05].max())
    assert worst == pytest.approx(0.049, abs=5e-4)
