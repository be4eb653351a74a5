"""Sentences that a chapter says on the way, without a cell of their own."""

import itertools

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from scipy.special import beta

import amemlib as am
from amembook import laws, read_records
from amembook.paper.iterates.reference import reference
from amembook.paper.optimality.rotations import sample_rotations
from amemlib import equivalents

PROBLEM = am.Problem.power_law(n_items=4096, dim=128, alpha=1.5)


@pytest.fixture(scope="module")
def emb() -> am.Embeddings:
    return am.sample_embeddings(PROBLEM, seed=0, dtype=torch.float64)


@pytest.fixture(scope="module")
def G(emb) -> torch.Tensor:
    return am.initial_gradient(emb, PROBLEM.frequencies)


@pytest.mark.parametrize("name", ["cubic", "jordan"])
def test_a_spectral_map_turns_with_its_embeddings_and_keeps_its_items(emb, G, name):
    left, right = sample_rotations(128, 2, seed=1)
    turned = am.Embeddings(emb.U @ left.T, emb.V @ right.T)
    W, W_turned = (am.newton_schulz(M, 5, name) for M in (G, am.initial_gradient(turned, PROBLEM.frequencies)))
    assert torch.allclose(W_turned, left @ W @ right.T, rtol=0, atol=1e-9)
    assert torch.equal(am.recovered(W, emb), am.recovered(W_turned, turned))


def test_muons_own_logits_scatter_about_the_signal_like_normals_of_variance_one_over_d(emb, G):
    own = ((emb.V @ am.polar(G).T) * emb.U).sum(1)
    q = PROBLEM.frequencies
    signal = torch.from_numpy(am.equivalents.SpectralEquivalent.solve(q, 128).signal_of(q))
    residual = (128**0.5 * (own - signal))[50:1000]
    assert abs(residual.mean()) < 0.1 and 0.8 < residual.std() < 1.2


def test_the_signal_curves_second_derivative_is_that_of_its_first(emb, G):
    lam, step, at = am.theory.bulk_scale(4096, 128, 1.5), 1e-4, torch.tensor([[-0.1, 0.0, 0.3]], dtype=torch.float64)
    slope = lambda t: am.spectral.signal_curve(G, emb.U[2000:2001], emb.V[2000:2001], t, lam)[1]
    second = am.spectral.signal_curve(G, emb.U[2000:2001], emb.V[2000:2001], at * lam, lam)[2]
    moved = (slope((at + step) * lam) - slope((at - step) * lam)) / (2 * step * lam)
    assert torch.allclose(moved, second, rtol=1e-5, atol=1e-5 * second.abs().max().item())


@pytest.mark.parametrize("factor", [0.01, 1.0, 100.0])
def test_the_smoothed_sign_is_as_near_to_the_polar_map_as_the_least_singular_value_says(emb, G, factor):
    lam = factor * am.theory.bulk_scale(4096, 128, 1.5) / 128
    W, polar, least = am.smoothed_sign(G, lam), am.polar(G), torch.linalg.svdvals(G)[-1]
    distance = torch.linalg.matrix_norm(W - polar, 2)
    assert torch.allclose(distance, 1 - least / torch.hypot(least, torch.tensor(lam)), rtol=1e-6)
    assert distance <= lam**2 / (2 * least**2)
    assert factor > 0.1 or torch.equal(am.recovered(W, emb), am.recovered(polar, emb))


def test_products_recover_the_very_items_that_the_svd_recovers(emb, G):
    lam, least = am.theory.bulk_scale(4096, 128, 1.5), torch.linalg.svdvals(G)[-1].item()
    for W, other in (
        (am.smoothed_sign(G, lam), am.spectral.polar_express(G, lam)),
        (am.polar(G), am.spectral.polar_express(G, smallest=least)),
    ):
        assert torch.equal(am.recovered(W, emb), am.recovered(other, emb))


def test_a_float32_svd_and_a_gram_matrix_lose_what_a_double_svd_and_products_keep():
    errors = []
    P, Q = sample_rotations(64, 2, seed=0).double()
    for cond in (1e4, 1e6):
        G = (P * torch.logspace(0, -np.log10(cond), 64, dtype=torch.float64)) @ Q.T
        values, basis = torch.linalg.eigh(G.T @ G)
        left, _, right = torch.linalg.svd(G.float())
        factors = am.polar(G), am.spectral.polar_express(G, smallest=1 / cond), (left @ right).double()
        factors += (G @ (basis / values.clamp(min=1e-300).sqrt()) @ basis.T,)
        errors.append([torch.linalg.matrix_norm(W - P @ Q.T, 2).item() for W in factors])
    double, products, single, gram = errors[1]
    assert max(double, products) < 1e-9 and single > 1e-3 and gram > 1e-6
    assert 30 < single / errors[0][2] < 300 and gram / errors[0][3] > 1000


def test_autograd_in_float32_loses_the_gradient_of_a_memory_that_holds_everything():
    problem = am.Problem.power_law(n_items=32, dim=64, alpha=1.5)
    p, emb = problem.frequencies, am.sample_embeddings(problem, seed=0)
    W = 16 * torch.linalg.pinv(emb.U.double()) @ torch.linalg.pinv(emb.V.double()).T

    def autograd(W, U, V, p):
        W = W.clone().requires_grad_()
        losses = torch.nn.functional.cross_entropy(V @ W.T @ U.T, torch.arange(32), reduction="none")
        return -torch.autograd.grad(p @ losses, W)[0].double()

    truth = autograd(W, emb.U.double(), emb.V.double(), p)
    naive = autograd(W.float(), emb.U, emb.V, p.float())
    errors = [(torch.linalg.norm(G - truth) / torch.linalg.norm(truth)).item() for G in (naive, am.gradient(W, emb, p))]
    assert errors[0] > 1e-3 and errors[1] < 1e-6


def test_an_exponential_costs_many_multiply_adds_and_a_power_of_two_fewer():
    ratios = read_records("benchmarks", "cpu")[0]["measured"]["products"]["ratios"]
    assert [round(ratios[name]["median"]) for name in ("e^x, float32", "2^x, float32")] == [38, 15]


@pytest.mark.parametrize("alpha, muon, alone", [(1.25, 0.634, 0.70), (1.5, 0.638, 0.70), (2.0, 0.651, 0.72)])
def test_muon_has_nine_tenths_of_what_the_gradient_alone_can_give(alpha, muon, alone):
    law = equivalents.SpectralLaw.power_law(alpha)
    limit = equivalents.tail_snr(law, equivalents.best_map(law)) ** (1 / alpha)
    share = equivalents.rare_item_snr("polar", alpha) ** (1 / alpha)
    assert (round(share, 3), round(limit, 2), round(share / limit, 1)) == (muon, alone, 0.9)


def test_inputs_leave_one_tau_and_the_squares_of_all_means_add_up_to_less_than_nine_d(emb):
    p, tau = PROBLEM.frequencies, am.theory.bulk_scale(4096, 128, 1.5) ** -2
    A = p[:, None] * emb.V
    own = ((A @ torch.linalg.inv(A.T @ A)) * A).sum(1)
    ratio = own / (1 - own) / p**2 / tau
    assert abs(ratio.mean() - 1) < 0.06 and ratio.std() < 0.3
    assert torch.linalg.matrix_norm(A @ am.matched_filter(emb, p).T, 2) < 3


def test_half_of_the_rows_of_the_matched_filter_store_as_two_siblings_do(emb):
    W = am.matched_filter(emb, PROBLEM.frequencies)
    half = torch.where(torch.arange(128)[:, None] < 64, W, 0.0)
    law = equivalents.expected_siblings_capacity(PROBLEM, 2) / am.expected_capacity(PROBLEM, "matched_filter")
    assert am.capacity(half, emb) / am.capacity(W, emb) == pytest.approx(law, abs=0.06)


def test_what_siblings_share_and_how_far_the_sharp_rank_is_below_the_limit():
    (record,) = read_records("gradient-limit", "confirm")
    config, at = record["config"], record["config"]["alphas"].index(1.5)
    gains = {name: round(gain[at], 2) for name, gain in record["measured"]["others"].items()}
    told = {"same": 1.48, "batch": 1.48, "own_batch": 1.46, "flatter": 1.31, "steeper": 1.1}
    assert gains == told | {"eighth_inputs": 1.36, "half_inputs": 1.01}
    counted, laws = record["measured"]["counts"]["matched"], record["predicted"]
    told = counted, laws["counts"]["matched"], laws["matrix_limit"], laws["limit"]
    assert [round(numbers[-1][at]) for numbers in told] == [1356, 1355, 1404, 1411]
    short = []
    for k, (dim, n_items) in enumerate(zip(config["dims"], config["n_items"], strict=True)):
        for a, alpha in enumerate(config["alphas"]):
            problem = am.Problem.power_law(n_items, dim, alpha)
            found = equivalents.MatchedFilterEquivalent.solve(problem.frequencies, dim)
            nats = -dim / 2 * np.log1p(-found.leverage)
            short.append(1 - found.counts[nats >= np.log(n_items)].sum() / laws["limit"][k][a])
    assert 0.075 < min(short) and max(short) < 0.175


@pytest.mark.slow
def test_thresholds_beyond_what_was_stored_beat_the_limit_of_one_gradient():
    problem, first = am.Problem.power_law(2**14, 128, 1.5), 1024
    block, counts = torch.zeros(2**14, dtype=torch.float64), []
    block[first : 2 * first] = problem.frequencies[first : 2 * first]
    for seed in range(4):
        emb = am.sample_embeddings(problem, seed, dtype=torch.float64)
        beyond = [am.thresholded_gradient(emb, problem.frequencies, removed) for removed in (first, 2 * first)]
        W = am.whiten(beyond[0] - beyond[1], right=am.second_moment(emb.V, block.square()))
        counts.append(am.capacity(W, emb))
    assert round(np.mean(counts)) == 469 and round(am.capacity_limit(problem)) == 220


def test_six_of_twelve_cells_have_enough_items_for_the_sharp_theorem():
    (record,) = read_records("gradient-limit", "confirm")
    config = record["config"]
    sizes = list(zip(config["dims"], config["n_items"], strict=True))
    enough = {(d, a) for d, n in sizes for a in config["alphas"] if n >= d ** (1 + a / 2)}
    assert enough == {(64, 1.25), (64, 1.5), (64, 2.0), (128, 1.25), (128, 1.5), (256, 1.25)}


def test_two_records_of_one_gradient_agree_and_a_trained_map_stops_short():
    (record,), (again,) = (read_records("gradient-limit", name) for name in ("confirm", "again"))
    means, errors = (
        [np.array([rows[:3] for rows in r["measured"][key].values()]) for r in (record, again)]
        for key in ("counts", "error")
    )
    gaps = (means[1] - means[0]) / np.hypot(*errors)
    assert gaps.size == 99 and round(abs(gaps).max(), 1) == 2.2
    (trained,) = read_records("trained-map", "confirm")
    over = trained["measured"]["over_matched"]
    assert over["polar"][0] == pytest.approx(0.93, abs=0.005) and over["matched"][0] == pytest.approx(1, abs=0.005)


def test_whitening_on_batches_damped_in_single_precision_and_before_a_polar_map():
    (record,) = read_records("whitening", "confirm")
    measured = record["measured"]
    assert [[round(x, 1) for x in measured["head"][name]] for name in ("uncentred", "centred")] == [
        [8, 6.6, 1.4],
        [8] * 3,
    ]
    ratios = [x for name in ("kfac", "matched") for row in measured["batches"]["ratio"][name] for x in row]
    assert len(ratios) == 12 and max(abs(ratio - 1) for ratio in ratios) < 0.0155
    whole, damped = measured["damped"]["matched"][2][0], measured["damped"]["matched"]
    assert (round(measured["single"][2]), round(whole)) == (72, 201)
    assert [damped[a][2] / damped[a][0] for a in (1, 2)] == pytest.approx([2 / 3, 1 / 3], abs=0.04)
    counts = {name: np.array(rows[1]) for name, rows in measured["counts"].items()}
    over = {name: counts[name] / counts["polar"] for name in ("kfac", "polar_kfac", "matched", "polar_matched")}
    ends = {name: (round(x.min(), 2), round(x.max(), 2)) for name, x in over.items()}
    assert ends["kfac"] == (1.46, 1.48) and ends["polar_kfac"] == (1.12, 1.13)
    assert ends["matched"] == (1.54, 1.56) and ends["polar_matched"] == (1.18, 1.2)


def test_the_law_of_whitening_on_its_lists_and_between_the_powers_of_the_weights():
    far = {}
    for study, names in (("whitening", "kfac matched mixed"), ("two-sided", "matched mixed kfac balanced")):
        (record,) = read_records(study, "confirm")
        sides = ([record[side]["counts"][name] for name in names.split()] for side in ("measured", "predicted"))
        far[study] = np.divide(*sides) - 1
    assert abs(far["whitening"]).max() < 0.0135
    lists = far["two-sided"]
    assert abs(np.delete(lists, 3, axis=1)).max() < 0.0145 and (abs(lists[:, 3] - 0.03) < 0.005).all()
    problem = am.Problem.power_law(8192, 128, 1.5)
    laws = [
        equivalents.expected_whitened_capacity(problem, right=(equivalents.Whitener(lambda q, b=b: q**b),))
        for b in (1, 1.5, 2, 2.5)
    ]
    assert [round(law) for law in laws] == [138, 209, 220, 216]


def test_the_slope_of_the_best_quintic_on_a_long_interval():
    zero = brentq(lambda s: 16 / (25 * 5**0.5) * s**5 - (1 - s**2) ** 2, 0.5, 1)
    slope = 2 * zero**4 / (1 - zero**2) ** 2
    assert (round(zero, 4), round(slope, 3)) == (0.8207, 8.514)
    assert slope == pytest.approx(am.spectral.polar_express_coefficients(1e-9, 1)[0][0], abs=1e-6)


@pytest.mark.slow
def test_momentum_and_the_end_of_many_steps_as_the_chapter_tells_them():
    (record,) = read_records("many-steps", "confirm-extra-")
    config, measured, largest = record["config"], record["measured"], 192
    slope = np.array(measured["momentum_slope"])
    assert np.round(slope[:, -1] - slope[:, 0], 2).tolist() == [0.56, 0.27, 0.16]
    wait = (1.5 * am.theory.recovery_exponent("muon", 1.5, 2) - 2) * np.log(largest)
    assert [round(wait / np.log(1 / beta), 1) for beta in config["momenta"][1:]] == [2.5, 16.6]
    batched = measured["batches"][config["batch_sizes"].index(4096)][:5]
    for dim, found, given in (
        (128, batched, {"batch_size": 4096}),
        (largest, measured["momentum_counts"][-1][-1], {"momentum": 0.9}),
    ):
        problem = am.Problem.power_law(config["small_items"], dim, 1.5)
        law = laws.mean_field_iterates(problem, 1.0, 5, streams=2, **given).counts
        assert abs(found / law - 1).max() < 0.04
    share = measured["horizon_share"]
    assert (round(share[0], 2), round(share[-1], 2), round(measured["horizon_slope"], 2)) == (0.51, 0.6, 2.11)
    assert measured["horizon_steps"]["half"][1:] == [3, 4, 4, 4]


def test_the_median_under_momentum_is_the_larger_of_two_up_to_a_geometric_series():
    problem = am.Problem.power_law(8192, 128, 1.5)
    emb = am.sample_embeddings(problem, seed=0)
    removed = (0, *am.theory.recovery_thresholds("muon", 128, 1.5, 4, 0.5))
    G = [am.thresholded_gradient(emb, problem.frequencies, count) for count in removed]
    median = lambda X: torch.linalg.svdvals(X).median().item()
    for decay, most in ((0.5, 1.85), (0.9, 1.07)):
        A, excess = 0, []
        for t in range(5):
            A = decay * A + G[t]
            excess.append(median(A) / max(decay**t * median(G[0]), median(G[t])))
        assert 0.99 < min(excess) and max(excess) == pytest.approx(most, abs=0.01)


@pytest.mark.parametrize("alpha, said", [(1.25, 0.87), (1.5, 0.97), (2.0, 1.0)])
def test_kfacs_share_of_the_matched_filter_at_a_large_dimension_is_near_its_limit(alpha, said):
    c = lambda a: a / np.pi * np.sin(np.pi / a)
    kappa = np.sqrt(beta(2 + 1 / alpha, 2 - 1 / alpha) / beta(1 / alpha, 1 - 1 / alpha))
    limit = ((c(alpha) / c(2 * alpha)) ** alpha / alpha / kappa) ** (1 / alpha)
    large = am.Problem.power_law(2**20, 4096, alpha)
    share = am.expected_capacity(large, "kfac") / am.expected_capacity(large, "matched_filter")
    assert limit == pytest.approx(said, abs=0.0051) and share == pytest.approx(limit, abs=0.1)


def test_a_split_between_two_sides_climbs_above_the_balanced_pair_and_stores_less():
    dim, odd = 128, np.arange(8192) % 2
    problem = am.Problem.power_law(8192, dim, 1.5)
    q, p = problem.frequencies, problem.frequencies.numpy()

    def sided(weights):
        top = lambda x: (weights / (weights + np.exp(-x))).sum() - dim
        return weights / (weights + np.exp(-brentq(top, -50, 80)))

    def tail(left, right):
        rest = (p * (1 - left) * (1 - right)) ** 2
        return ((dim - left @ left) * (dim - right @ right) / rest.sum()) ** (1 / 3)

    both, left, right = (
        sided(equivalents.balanced_whitener(q, dim).weights(p)),
        sided(odd * p**2),
        sided((1 - odd) * p**2),
    )
    for _ in range(20):
        left = sided((p * (1 - right)) ** 2)
        right = sided((p * (1 - left)) ** 2)
    one = tail(np.zeros(8192), sided(p**2))
    assert [round(tail(*pair) / one, 2) for pair in ((both, both), (left, right))] == [1.07, 1.27]
    emb = am.sample_embeddings(problem, seed=0)
    a = am.second_moment(emb.U, torch.from_numpy(odd * p**2), emb.U.mean(0, dtype=torch.float64))
    b = am.second_moment(emb.V, torch.from_numpy((1 - odd) * p**2))
    found = am.capacity(am.whiten(am.initial_gradient(emb, q), a, b), emb)
    assert found < 0.7 * am.capacity(am.matched_filter(emb, q), emb)


def test_the_record_of_newtons_step_has_the_numbers_that_its_chapter_tells():
    (record,) = read_records("sharp", "confirm-")
    measured, config = record["measured"], record["config"]
    told = [measured["number"]["newton"]]
    told += [round(100 * measured[key][name], 1) for name in ("newton", "batch_newton") for key in ("worst", "noise")]
    assert told == [30, 1.4, 0.8, 1.3, 1.5]
    place = config["batch_dims"].index(128), config["batch_sizes"].index(2048)
    stored = np.array(measured["counts"]["batch_newton"])[place]
    population = am.Problem.power_law(config["batch_items"], 128, 1.5)
    assert (round(stored), round(am.expected_capacity(population, "newton"))) == (219, 135)


@pytest.mark.slow
def test_sgds_count_is_not_its_signal_over_noise():
    problem = am.Problem.power_law(16_384, 256, 1.5)
    first = problem.frequencies[0]
    naive = equivalents.expected_map_capacity(problem, lambda s: s / first)
    assert (round(naive), round(am.expected_capacity(problem, "sgd"))) == (11, 13)


def test_the_capacity_of_a_list_that_bends_grows_with_two_local_exponents():
    # log p = −x − b x²/2 with x = log i has the local exponent 1 + b log i
    x, dims, b = np.log(np.arange(1, 200_001)), (2048, 4096), 0.1
    bent = [am.Problem.from_frequencies(np.exp(-x - b * x**2 / 2), dim) for dim in dims]
    counts = np.array([am.expected_capacity(one, "polar") for one in bent])
    at_dim, at_count = 1 + b * np.log([dims, counts]).mean(1)
    told = np.log2(counts[1] / counts[0]), (at_dim + 0.5) / at_count, 1 + 0.5 / at_dim
    assert [f"{value:.2f}" for value in told] == ["1.21", "1.22", "1.28"]


@pytest.mark.weekly
def test_leaving_one_item_out_of_the_true_iterates_changes_more_in_larger_dimensions():
    def changes(dim: int, seed: int, i: int = 40) -> list[float]:
        problem, moved = am.Problem.power_law(4096, dim, 1.5), []
        draw, q = am.sample_embeddings(problem, seed, dtype=torch.float64), problem.frequencies
        kept = [q, q * (torch.arange(4096) != i)]
        firsts = [am.polar((draw.U * p[:, None]).T @ draw.V) for p in kept]
        for c in (1.0, 2.0):
            weights = [
                p * -torch.expm1(-am.item_losses(c * dim**0.5 * first, draw))
                for p, first in zip(kept, firsts, strict=True)
            ]
            second = [(draw.U * w[:, None]).T @ draw.V for w in weights]
            own = weights[0][i] * torch.outer(draw.U[i], draw.V[i])
            off = torch.linalg.matrix_norm(second[0] - second[1] - own, 2)
            moved.append((off / torch.linalg.svdvals(second[0]).median()).item())
        return moved

    means = np.array([np.mean([changes(dim, seed) for seed in range(4)], axis=0) for dim in (32, 64, 128)])
    assert (np.diff(means, axis=0) > 0).all()


def test_the_exponents_of_the_true_iterates_at_the_largest_sizes_as_the_chapter_tells_them():
    (record,) = read_records("many-steps", "confirm-large-")
    measured, predicted = record["measured"], record["predicted"]
    steps = [f"muon_{t}" for t in range(1, 6)]
    slope, limit, ours = (
        np.array([side[name] for name in steps])
        for side in (measured["slope"], predicted["slope"], predicted["sharp_slope"])
    )
    assert all(measured["interval"][name][0] > x for name, x in zip(steps, limit, strict=True))
    assert np.round([min(slope - limit), max(slope - limit), max(abs(slope - ours))], 2).tolist() == [0.07, 0.2, 0.04]
    assert (slope[-1].round(2), limit[-1].round(2)) == (1.96, 1.87)
    excess = [predicted["trajectory"][name][-1] / measured["counts"][name][-1] - 1 for name in steps]
    assert max(excess[:3]) < 0.04 < min(excess[3:]) and round(max(excess), 2) == 0.06


@pytest.mark.slow
def test_the_recursion_of_the_true_iterates_must_lower_rivals_and_where_its_far_exponents_go():
    problem, last, late = am.Problem.power_law(512, 32, 1.5), 10, slice(5, None)
    q = problem.frequencies.numpy()
    size = [
        np.mean([reference(q, 32, 2.0, last, seed, lowered=kept)[1][late] for seed in range(4)])
        for kept in (True, False)
    ]
    truth = []
    for seed in range(8):
        draw = am.sample_embeddings(problem, seed)
        path = am.trajectory(draw, itertools.repeat(problem.frequencies, last), am.polar, 2 * 32**0.5)
        truth.append([X.norm().item() / 32 for X in list(path)[1:]][late])
    assert np.round([np.mean(truth), *size], 2) == pytest.approx([3.87, 3.87, 3.40], abs=0.011)

    (record,) = read_records("trajectory", "confirm-alpha-1.5")
    counts, limits = np.array(record["predicted"]["far_counts"]), np.array(record["predicted"]["far_slopes"])
    gaps = np.diff(np.log(record["config"]["far_dims"]))
    local = np.diff(np.log(counts), axis=0) / gaps[:, None] - limits
    usable = counts[1:] < record["config"]["far_items"] / 10
    ends = [local[usable[:, t], t] for t in range(4)]
    assert abs(ends[0][-1]) < 0.01 and abs(ends[1][-1]) < 0.05
    assert all(x[0] > 0 > x[-1] for x in ends[2:])
