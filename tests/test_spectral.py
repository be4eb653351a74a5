"""Maps on singular values against scipy, against matrices of chosen singular values, and against each other."""

import inspect
import math

import mpmath
import pytest
import scipy.linalg
import torch

import amemlib as am
from amembook import read_records
from amembook.paper.optimality import slope_maps

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


@pytest.mark.parametrize(("share", "kept"), [(1 / 2, False), (2, True)])
@pytest.mark.parametrize("shape", [(4, 4), (256, 256), (4, 1024), (1024, 4)])
def test_what_rounding_cannot_tell_from_zero_is_dropped_and_no_more(shape, share, kept):
    """The cut is (mn)^{1/4} ε s₁; a diagonal matrix has its singular values without rounding."""
    G = torch.eye(*shape, dtype=torch.float64)
    last = min(shape) - 1
    G[last, last] = share * (shape[0] * shape[1]) ** 0.25 * EPS
    expected = torch.ones(last + 1, dtype=torch.float64)
    expected[-1] = kept
    assert torch.equal(am.polar(G).diagonal(), expected)


def test_rank_zero_keeps_nothing():
    assert torch.equal(am.polar(build(spread(0.1))[2], 0), torch.zeros(24, 24, dtype=torch.float64))


@pytest.mark.parametrize("name", ["smoothed_sign", "bump", "sgd"])
def test_maps_under_assumption_7_come_with_their_derivatives(name):
    f, df, _ = slope_maps(0.3)[name]
    z = torch.linspace(-2, 2, 41, dtype=torch.float64, requires_grad=True)
    derivative = torch.autograd.grad(f(z).sum(), z)[0]
    torch.testing.assert_close(df(z.detach()), derivative, rtol=1e-12, atol=1e-14)
    assert torch.equal(f(-z), -f(z))


@pytest.mark.parametrize("lam", [1e-3, 1e3])
def test_a_divided_difference_is_the_quotient_where_points_are_far_apart_for_the_map(lam):
    h, dh, _ = am.spectral.smoothed_sign_scalars(lam)
    x, y = (lam * torch.tensor(points, dtype=torch.float64) for points in ([-900.0, 3.0, 0.0], [950.0, 2.0, 1.0]))
    quotient = (h(x) - h(y)) / (x - y)
    torch.testing.assert_close(am.spectral.divided_difference(x, y, h, dh, lam), quotient, rtol=1e-12, atol=0)


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
    distances = [torch.linalg.matrix_norm(am.newton_schulz(G, k, "cubic") - am.polar(G), 2).item() for k in (5, 15, 40)]
    # (3/2)^k must lift s_d/‖G‖_F ≈ 4·10⁻⁴ to order one: about twenty steps, then quadratic convergence
    assert distances[0] > 0.9 and distances[1] > 0.5 and distances[2] < 1e-11


@pytest.mark.parametrize("coefficients", ["cubic", "muon", (2.0, -1.5, 0.5)])
@pytest.mark.parametrize("shape", SHAPES)
def test_newton_schulz_does_to_a_matrix_what_its_polynomial_does_to_singular_values(coefficients, shape):
    G = build(spread(1e-4), shape)[2]
    norm = torch.linalg.matrix_norm(G)
    twin = am.spectral_map(G, lambda s: am.spectral.newton_schulz_scalar(s / norm, 5, coefficients))
    torch.testing.assert_close(am.newton_schulz(G, 5, coefficients), twin, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", am.spectral.SCHEDULES)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_published_schedule_is_its_polynomial_by_name_and_as_numbers(name, shape):
    G, table = build(spread(1e-4), shape)[2], am.spectral.SCHEDULES[name]
    norm = torch.linalg.matrix_norm(G)
    twin = am.spectral_map(G, lambda s: am.spectral.compose_quintics(s / norm, table))
    W = am.newton_schulz(G, coefficients=name)
    torch.testing.assert_close(W, twin, rtol=0, atol=1e-11)
    assert torch.equal(W, am.newton_schulz(G, len(table), [list(row) for row in table]))
    assert torch.equal(am.newton_schulz(G), am.newton_schulz(G, 5, "muon"))


@pytest.mark.parametrize("name", am.spectral.SCHEDULES)
def test_a_published_schedule_takes_what_its_slope_reaches_to_one(name):
    """From four over the slope at 0 on, within the 0.35 of Muon's own: a coefficient with a slip leaves it."""
    table = am.spectral.SCHEDULES[name]
    # "aol" is made for rescaled rows, its first quintic is negative from 0.89 on
    s = torch.logspace(math.log10(4 / math.prod(a for a, _, _ in table)), 0, 4001, dtype=torch.float64)
    s = s[s <= 0.8] if name == "aol" else s
    assert (am.spectral.compose_quintics(s, table) - 1).abs().max() < 0.35


def test_schedules_are_those_that_other_libraries_ship():
    muon = pytest.importorskip("optax.contrib._muon")
    assert am.spectral.SCHEDULES["you"] == tuple(muon._DION_NS_COEFFS)
    assert am.spectral.SCHEDULES["jordan"] == (muon._DEFAULT_NS_COEFFS,) * am.spectral.DEFAULT_STEPS


def test_the_table_of_cans_is_polar_express_for_three_decades_without_a_cushion():
    best = torch.tensor(am.spectral.polar_express_coefficients(1e-3, 5))
    torch.testing.assert_close(torch.tensor(am.spectral.SCHEDULES["cans"]), best, rtol=0, atol=5.1e-5)


def test_one_cubic_step_is_the_polynomial_of_lemma_29():
    s = torch.linspace(0, 1, 11, dtype=torch.float64)
    torch.testing.assert_close(am.spectral.newton_schulz_scalar(s, 1, "cubic"), 1.5 * s - 0.5 * s**3)


def test_muon_coefficients_are_those_that_torch_ships():
    if not hasattr(torch.optim, "Muon"):
        pytest.skip("this torch has no Muon")
    defaults = inspect.signature(torch.optim.Muon.__init__).parameters
    assert am.spectral.newton_schulz_coefficients("muon") == defaults["ns_coefficients"].default
    assert am.spectral.DEFAULT_STEPS == defaults["ns_steps"].default


def test_muons_five_steps_reach_order_one_but_do_not_converge():
    s = torch.linspace(0.01, 1, 5000, dtype=torch.float64)
    # the design goal of these coefficients: within about 0.3 of 1, whatever the singular value
    assert (am.spectral.newton_schulz_scalar(s, 5, "muon") - 1).abs().max() < 0.35
    for steps in (5, 20, 100):
        assert (am.spectral.newton_schulz_scalar(s, steps, "muon") - 1).abs().max() > 0.1


def high_precision_smoothed_sign(G, lam):
    """G (GᵀG + λ²)^{−1/2} with 60 digits, by the eigenvalues of GᵀG + λ²."""
    with mpmath.workdps(60):
        X = mpmath.matrix(G.tolist())
        values, Q = mpmath.eigsy(X.T * X + mpmath.mpf(lam) ** 2 * mpmath.eye(X.cols))
        W = X * Q * mpmath.diag([1 / mpmath.sqrt(value) for value in values]) * Q.T
        return torch.tensor([[float(entry) for entry in row] for row in W.tolist()], dtype=torch.float64)


@pytest.mark.parametrize("lam, allowed", [(0.0, 1e-10), (1e-6, 1e-10), (1e-4, 1e-11), (1e-2, 1e-12)])
def test_both_maps_are_right_to_ten_digits_at_condition_number_a_million(lam, allowed):
    G = build(spread(1e-6, 20), (20, 20))[2]
    truth = high_precision_smoothed_sign(G, lam)
    for W in (am.smoothed_sign(G, lam), am.spectral.polar_express(G, lam, smallest=9e-7)):
        assert torch.linalg.matrix_norm(W - truth, 2) < allowed


@pytest.mark.parametrize("shape", SHAPES)
def test_polar_express_is_the_svds_map(shape):
    G = build(spread(1e-3), shape)[2]
    for lam, smallest in ((0.0, 1e-3), (0.0, 1e-9), (1e-2, 0.0), (1e-5, 0.0), (1e-2, 1e-3), (1e4, 0.0)):
        W = am.spectral.polar_express(G, lam, smallest)
        torch.testing.assert_close(W, am.smoothed_sign(G, lam), rtol=0, atol=1e-11)
        torch.testing.assert_close(am.spectral.polar_express(1e-30 * G, 1e-30 * lam, 1e-30 * smallest), W)


@pytest.mark.parametrize("smallest", [1e-4, 1e-6])
def test_polar_express_leaves_null_directions_at_rounding(smallest):
    P, Q, G = build(spread(1e-4, 7))
    W = am.spectral.polar_express(G, smallest=smallest)
    torch.testing.assert_close(W, P @ Q.T, rtol=0, atol=100 * EPS / smallest)
    assert torch.equal(am.spectral.polar_express(0 * G, lam=1.0), 0 * G)
    with pytest.raises(ValueError, match="smallest"):
        am.spectral.polar_express(G)


def test_polar_express_keeps_the_order_of_what_lies_below_its_smallest_value():
    s = spread(1e-9, 100)
    P, Q, G = build(s, (100, 100))
    values = (P.T @ am.spectral.polar_express(G, smallest=1e-3) @ Q).diagonal()
    assert (values[s < 9e-4].diff() < 0).all() and (values[s > 1e-3] - 1).abs().max() < 1e-12
    assert 0 < values[-1] < 1e-4


@pytest.mark.parametrize("lower, upper", [(1e-12, 1.0), (1e-3, 1.0), (0.3, 1.7), (0.9, 1.1), (0.999, 1.001)])
def test_the_best_odd_quintic_equioscillates(lower, upper):
    a, b, c = am.spectral.best_odd_quintic(lower, upper)
    x = torch.linspace(lower, upper, 200_001, dtype=torch.float64)
    error = 1 - (a * x + b * x**3 + c * x**5)
    worst = error.abs().max()
    at_ends_and_turns = torch.cat([error[:1], error[1:-1][error.diff()[:-1] * error.diff()[1:] <= 0], error[-1:]])
    # four points of one size and alternating sign: no odd quintic is closer (Chebyshev)
    signs = at_ends_and_turns[at_ends_and_turns.abs() > (1 - 1e-4) * worst].sign()
    assert (signs.diff() != 0).sum() == 3


def test_short_intervals_join_on_to_taylors_polynomial():
    # the two branches meet at h = 10⁻⁵ m, where the best error is 5/16 h³
    for half in (0.9e-5, 1.1e-5):
        coefficients = am.spectral.best_odd_quintic((1 - half) ** 0.5, (1 + half) ** 0.5)
        assert coefficients == pytest.approx((15 / 8, -10 / 8, 3 / 8), abs=1e-4)
        x = torch.linspace((1 - half) ** 0.5, (1 + half) ** 0.5, 101, dtype=torch.float64)
        assert (am.spectral.newton_schulz_scalar(x, 1, coefficients) - 1).abs().max() < 8 * EPS


@pytest.mark.parametrize("lower", [1e-15, 1e-8, 1e-6, 1e-3, 0.5, 1.0])
def test_polar_express_coefficients_reach_one_on_the_whole_interval(lower):
    coefficients = am.spectral.polar_express_coefficients(lower)
    s = torch.logspace(torch.tensor(lower).log10().item(), 0, 5000, dtype=torch.float64).clamp(lower, 1)
    for a, b, c in coefficients:
        s = a * s + b * s**3 + c * s**5
    assert (s - 1).abs().max() < 20 * EPS
    # each step multiplies a small lower end by 4.26 = 8.51/2, and the last four finish
    assert len(coefficients) <= 4 + torch.tensor(1 / lower).log() / torch.tensor(4.25).log()


def test_no_composition_from_a_search_beats_the_greedy_one():
    lower, x = 0.02, torch.linspace(0.02, 1, 2001, dtype=torch.float64)

    def error(coefficients):
        s = x
        for a, b, c in coefficients:
            s = a * s + b * s**3 + c * s**5
        return (s - 1).abs().max().item()

    greedy = am.spectral.polar_express_coefficients(lower, 2)
    generator = torch.Generator().manual_seed(0)
    for size in (0.1, 0.01, 1e-3):
        for _ in range(300):
            noise = 1 + size * torch.randn(2, 3, dtype=torch.float64, generator=generator)
            assert error((torch.tensor(greedy) * noise).tolist()) > error(greedy) - 1e-6
    assert error(greedy) < error([am.spectral.newton_schulz_coefficients("muon")] * 2)


@pytest.mark.parametrize("name", [*MAPS, "polar_express"])
def test_a_stack_of_matrices_is_mapped_one_by_one(name):
    f = (MAPS | {"polar_express": lambda G: am.spectral.polar_express(G, 1e-3, 1e-2)})[name]
    G = torch.stack([build(spread(1e-2), (40, 24))[2], 7 * build(spread(1e-1), (40, 24))[2]])[:, None]
    G[1, 0, :, 5] = 0
    both = f(G)
    assert both.shape == (2, 1, 40, 24)
    for matrix, mapped in zip(G, both, strict=True):
        torch.testing.assert_close(mapped[0], f(matrix[0]), rtol=0, atol=1e-11)


def test_where_the_shipped_map_reaches_one_half_and_how_it_ripples_above():
    s = torch.logspace(-6, 0, 20_000, dtype=torch.float64)
    f = am.spectral.newton_schulz_scalar(s, 5, "muon")
    knee = s[f >= 0.5][0].item()
    assert knee == pytest.approx(1.06e-3, rel=0.02) and (f[s > knee] > 0.5).all()
    assert knee * 3.4445**5 == pytest.approx(0.5, abs=0.05)
    above = f[s > 2 * knee]
    assert above.min().item() == pytest.approx(0.68, abs=0.01) and above.max().item() == pytest.approx(1.20, abs=0.01)


def test_what_the_chapter_says_of_its_records():
    for record in read_records("spectral-maps", "confirm-alpha-"):
        measured, predicted = record["measured"], record["predicted"]
        far = [d >= 256 for d in record["config"]["dims"]]
        for name in ("polar", "smoothed_sign", "muon5", "muon10", "cubic5", "cubic15"):
            for count, sharp, late in zip(measured["counts"][name], predicted["counts"][name], far, strict=True):
                assert not late or sharp <= 50 or abs(count / sharp - 1) < 0.025, name
        shares = [side["share_below_half"]["muon5"] for side in (measured, predicted)]
        assert all(abs(a - b) < 0.03 for a, b in zip(*shares, strict=True))
        if record["config"]["alpha"] == 1.5:
            assert shares[0][0] == pytest.approx(0.25, abs=0.01) and shares[0][2] == pytest.approx(0.70, abs=0.01)


def test_an_svd_in_float32_turns_the_last_directions_and_keeps_the_count():
    problem = am.Problem.power_law(n_items=16_384, dim=256, alpha=2.0)
    emb = am.sample_embeddings(problem, seed=0)
    G = am.initial_gradient(emb, problem.frequencies)
    U, _, Vh = torch.linalg.svd(G.float())
    single, double = (U @ Vh).double(), am.polar(G)
    before, after = (int(am.recovered(W, emb).sum()) for W in (double, single))
    assert abs(after - before) < 0.03 * before and torch.linalg.matrix_norm(single - double, 2) > 0.1


def test_division_by_the_operator_norm_gains_four_per_cent():
    problem = am.Problem.power_law(16_384, 256, 1.5)
    p = problem.frequencies
    count = lambda norm: am.equivalents.expected_map_capacity(
        problem, lambda s: am.spectral.newton_schulz_scalar((s / norm).clamp(max=1), 5, "muon")
    )
    assert count(p[0]) / count(p.norm()) == pytest.approx(1.044, abs=0.002)
