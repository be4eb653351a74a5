"""The best spectral map, what other maps reach of it, and how many Newton–Schulz steps do Muon's work."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import brentq

import amemlib as am
from amembook import read_records
from amembook.paper.spectral_maps import SCHEDULES, scanned_schedules, tables, update_maps
from amemlib import theory
from amemlib.equivalents import (
    SpectralLaw,
    best_map,
    best_monotone_map,
    best_smoothing,
    expected_map_capacity,
    tail_snr,
)
from amemlib.gradients import item_losses_along
from amemlib.spectral import compose_quintics, newton_schulz_coefficients, newton_schulz_scalar, spectral_maps

ALPHAS = (1.25, 1.5, 2.0)


def laws():
    problem = am.Problem.power_law(4096, 128, 1.5)
    return [*(SpectralLaw.power_law(alpha) for alpha in ALPHAS), SpectralLaw.solve(problem.frequencies, 128)]


def random_map(law, seed, monotone):
    """A piecewise linear function of log s through twelve random values."""
    values = np.random.default_rng(seed).uniform(0, 1, 12)
    values = np.sort(values) if monotone else values
    knots = np.linspace(*np.log(law.quantile(np.array([0.001, 0.999]))), 12)
    return lambda s: torch.from_numpy(np.interp(np.log(s.numpy()), knots, values))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_best_map_of_a_power_law_is_its_closed_form_and_a_hilbert_transform(alpha):
    law = SpectralLaw.power_law(alpha)
    at = np.linspace(500, len(law.singular_values) - 500, 7).astype(int)
    s, conjugate = law.singular_values, law.resolvent.imag
    theta = np.angle(law.resolvent) / alpha
    r = np.abs(law.resolvent) ** (1 / alpha)
    # 1 − r cos θ loses digits near s = 0
    np.testing.assert_allclose(conjugate[at], ((1 - r * np.cos(theta)) / s)[at], rtol=1e-5)
    # the principal value by a law of 4000 equal masses, none of them at s
    masses = law.quantile((np.arange(4000) + 0.5) / 4000)
    for share in (0.2, 0.5, 0.8):
        middle = (masses[int(4000 * share)] + masses[int(4000 * share) + 1]) / 2
        value = np.interp(middle, s, conjugate)
        assert (middle / (middle**2 - masses**2)).mean() == pytest.approx(value, abs=0.02)
    ratio = conjugate / s
    assert (np.diff(ratio) <= 1e-9 * ratio[:-1]).all(), "f*(s)/s is nonincreasing, as Assumption 7 asks"


def test_the_stein_slope_is_linear_in_the_map():
    s = torch.from_numpy(SpectralLaw.power_law(1.5).quantile((np.arange(60) + 0.5) / 60))
    gaps = (s[:, None] ** 2 - s**2).fill_diagonal_(math.inf)
    h, dh, _ = am.spectral.smoothed_sign_scalars(0.7)
    linear = 2 * (h(s) * (s[:, None] / gaps).mean(1)).mean() + dh(s).mean() / len(s)
    assert linear.item() == pytest.approx(am.spectral.stein_slope(s, h, dh, 0.7), rel=1e-10)


@pytest.mark.parametrize("law", laws())
def test_no_map_has_a_larger_ratio_than_the_best(law):
    most = tail_snr(law, best_map(law))
    assert most == pytest.approx(2 * law.integrate(law.resolvent.imag**2) ** 0.5, rel=1e-6)
    for seed in range(200):
        assert tail_snr(law, random_map(law, seed, monotone=False)) < most
    assert all(tail_snr(law, best_map(law, floor)) < most for floor in (0.3, 0.7, 1.0))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_best_ratio_is_the_free_fisher_information(alpha):
    law = SpectralLaw.power_law(alpha)
    fisher = math.pi**2 / 3 * law.integrate(law.density**2)
    assert tail_snr(law, best_map(law)) ** 2 == pytest.approx(fisher, rel=1e-4)
    assert tail_snr(law, torch.ones_like) == pytest.approx(4 / math.pi / (alpha + 1), rel=1e-4)


@pytest.mark.parametrize("law", laws()[:3])
def test_no_nondecreasing_map_beats_the_projection_of_the_best(law):
    f = best_monotone_map(law)
    values = f(torch.from_numpy(law.singular_values.copy())).numpy()
    assert (np.diff(values) >= 0).all() and values[-1] == 1
    most, polar = tail_snr(law, f), tail_snr(law, torch.ones_like)
    assert polar < tail_snr(law, lambda s: s / torch.hypot(s, s.new_tensor(best_smoothing(law)))) < most < 1.03 * polar
    for seed in range(200):
        assert tail_snr(law, random_map(law, seed, monotone=True)) < most


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_best_smoothing_is_an_interior_maximum(alpha):
    """Against the formula on the real axis, (2/π) ∫ M² ds / √(1 − λM), which knows nothing of the spectral law."""
    log_s = np.linspace(-14, 12, 1300)

    def occupied(mu):
        return brentq(lambda y: (1 - y) * y**-alpha - mu, 1e-9, 1)

    def ratio(lam):
        M = np.array([occupied(math.hypot(lam, s)) ** alpha for s in np.exp(log_s)])
        return np.trapezoid(M**2 * np.exp(log_s), log_s) / math.sqrt(occupied(lam))

    law = SpectralLaw.power_law(alpha)
    best = best_smoothing(law)
    assert ratio(best) > max(ratio(0.8 * best), ratio(1.25 * best), ratio(1e-4))
    reference = tail_snr(law, lambda s: s / torch.hypot(s, s.new_tensor(best)))
    assert 2 / math.pi * ratio(best) == pytest.approx(reference, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [1.5, pytest.param(2.0, marks=pytest.mark.weekly)])
def test_the_best_map_recovers_a_tenth_more_as_predicted_and_loses_the_loss_without_a_floor(alpha):
    problem = am.Problem.power_law(2048, 128, alpha)
    law = SpectralLaw.power_law(alpha, theory.bulk_scale(2048, 128, alpha))
    maps = {"polar": torch.ones_like, "best": best_map(law), "floored": best_map(law, 0.3)}
    counts, losses = {name: [] for name in maps}, {name: [] for name in maps}
    rates = 2.0 ** np.arange(0, 10, 0.5) * 128**0.5
    for seed in range(2000, 2004):
        emb = am.sample_embeddings(problem, seed)
        G = am.initial_gradient(emb, problem.frequencies)
        for name, W in zip(maps, spectral_maps(G, maps.values()), strict=True):
            counts[name].append(am.capacity(W, emb))
            if seed < 2001:
                losses[name] = (item_losses_along(W, emb, rates) @ problem.frequencies).min().item()
    mean = {name: np.mean(values) for name, values in counts.items()}
    for name, f in maps.items():
        assert mean[name] == pytest.approx(expected_map_capacity(problem, f), rel=0.05)
    assert 1.05 < mean["best"] / mean["polar"] < 1.2 and 1.05 < mean["floored"] / mean["polar"] < 1.2
    assert losses["best"] > 3 * losses["polar"] and losses["floored"] < 1.5 * losses["polar"]


def test_a_map_keeps_dtype_and_sends_zero_to_zero():
    f = best_map(SpectralLaw.power_law(1.5))
    s = torch.tensor([0.0, 1e-9, 1.0, 1e9], dtype=torch.float32)
    assert f(s).dtype == torch.float32 and f(s)[0] == 0
    ends = f(s.double())
    assert ends[1] == pytest.approx(1e-9 / 1e-8 * f(torch.tensor([1e-8], dtype=torch.float64)).item(), rel=1e-6)
    beyond = f(torch.tensor([1e30, 1e33], dtype=torch.float64))
    assert beyond[0].item() == pytest.approx(1e3 * beyond[1].item()) and beyond[1] > 0, "it falls like 1/s"
    assert best_map(SpectralLaw.power_law(1.5), 0.3)(1e30 * s[2:3].double()).item() == 0.3


def test_best_map_refuses_a_negative_floor():
    with pytest.raises(ValueError, match="floor"):
        best_map(SpectralLaw.power_law(1.5), -0.1)


def test_a_schedule_of_equal_steps_is_newton_schulz():
    s = torch.linspace(0, 1, 50, dtype=torch.float64)
    for name in ("cubic", "muon"):
        schedule = [newton_schulz_coefficients(name)] * 5
        assert torch.equal(compose_quintics(s, schedule), newton_schulz_scalar(s, 5, name))


def test_coefficients_are_those_of_optax():
    muon = pytest.importorskip("optax.contrib._muon")
    assert list(SCHEDULES["muon5"]) == [tuple(muon._DEFAULT_NS_COEFFS)] * 5
    assert SCHEDULES["dion5"] == [tuple(row) for row in muon._DION_NS_COEFFS]


@pytest.mark.slow
@pytest.mark.parametrize("family, slope", [("muon", 3.4445), ("cubic", 1.5)])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_rule_for_the_number_of_steps(alpha, family, slope):
    """At the rule's number the prediction keeps 96 % of polar's count; two quintic steps fewer do not."""
    for dim in (64, 256):
        problem = am.Problem.power_law(8192, dim, alpha)
        norm = problem.frequencies.norm().item()
        steps = theory.newton_schulz_steps(8192, dim, alpha, slope)
        fewer = steps - (2 if family == "muon" else 6)
        polar = expected_map_capacity(problem, torch.ones_like)
        kept = [
            expected_map_capacity(
                problem,
                lambda s, n=n: newton_schulz_scalar((s / norm).clamp(max=1), n, family),  # noqa: B023
            )
            / polar
            for n in (steps, fewer)
        ]
        assert kept[0] > 0.96 and kept[1] < 0.96
    formula = alpha * math.log(4) / math.log(slope)
    grown = theory.newton_schulz_steps(8192, 256, alpha, slope) - theory.newton_schulz_steps(8192, 64, alpha, slope)
    assert abs(grown - formula) <= 1


def test_the_number_of_steps_refuses_a_slope_that_lifts_nothing():
    with pytest.raises(ValueError, match="slope"):
        theory.newton_schulz_steps(1000, 64, 1.5, 1.0)


def test_every_map_of_the_experiment_is_what_its_name_says():
    problem = am.Problem.power_law(512, 32, 1.5)
    G = am.initial_gradient(am.sample_embeddings(problem, 2000), problem.frequencies)
    norm = torch.linalg.norm(G).item()
    maps = update_maps(512, 32, 1.5, norm, 1.0)
    lam = theory.bulk_scale(512, 32, 1.5)
    same = {"polar": am.polar(G), "smoothed_sign": am.smoothed_sign(G, lam), "muon5": am.newton_schulz(G, 5, "muon")}
    for name, W in same.items():
        torch.testing.assert_close(am.spectral_map(G, maps[name]), W, rtol=0, atol=1e-9)
    scans = scanned_schedules(512, 32, 1.5, norm, [2, 4])
    assert [len(schedule) for schedule in scans["cubic"]] == [6, 12]
    assert scans["muon"][1] == [newton_schulz_coefficients("muon")] * 4


@pytest.fixture(scope="module")
def records() -> dict:
    return {record["config"]["alpha"]: record for record in read_records("spectral-maps", "best-")}


def test_counted_gains_of_the_best_map_are_those_that_the_chapter_tells(records):
    told = []
    for record in records.values():
        assert record["config"]["dims"][-1] == 256
        counts, sharp = record["measured"]["seed_counts"], record["predicted"]["counts"]
        for name in ("smoothed_best", "best_monotone", "best"):
            ratio = np.divide(counts[name][-1], counts["polar"][-1])
            gain, expected = ratio.mean() - 1, sharp[name][-1] / sharp["polar"][-1] - 1
            # paired draws, and the predictor's errors largely cancel
            assert abs(gain - expected) < 0.02 + 2 * ratio.std(ddof=1) / len(ratio) ** 0.5
            assert name == "best" or gain < 0.02
        told.append((round(100 * gain, 1), round(100 * expected, 1)))
    assert told == [(11.1, 10.7), (9.7, 11.0), (11.9, 11.6)]


def test_the_commonest_item_gets_a_thousandth_of_the_peak_without_a_floor():
    case, unit = am.Problem.power_law(2048, 256, 1.5), theory.bulk_scale(2048, 256, 1.5)
    assert best_map(SpectralLaw.power_law(1.5, unit))(case.frequencies[:1]).item() < 1e-3
    (record,) = read_records("spectral-maps", "confirm-best-")
    measured, at = record["measured"], record["config"]["loss_dims"].index(256)
    floored = [measured[key]["floor_0.3"][at] / measured[key]["polar"][at] for key in ("floor_counts", "floor_losses")]
    assert (record["config"]["alpha"], *(round(x, 2) for x in floored)) == (1.5, 1.10, 0.93)


def test_schedules_keep_polars_items_beyond_the_knee_and_about_half_below(records):
    least, most, reached = [], [], tables.reach(records)
    for alpha, record in records.items():
        dims, measured, above, below = np.array(record["config"]["scan_dims"]), record["measured"], [], []
        polar, large = np.array(measured["counts"]["polar"])[: len(dims), None], dims >= 128
        for family, counts in measured["counts_by_steps"].items():
            share, x = (np.array(counts) / polar)[large], np.array(reached[alpha][family])[large]
            above += share[x >= 2].tolist()
            below += share[x <= 0.3].tolist()
        least.append(min(above))
        most.append(round(max(below), 2))
    assert min(least) > 0.955 and most == [0.49, 0.53, 0.6]


@pytest.mark.slow
def test_missing_quintic_steps_cost_what_the_chapter_says():
    case = am.Problem.power_law(32_768, 1024, 1.5)
    assert [round(100 * tables.quintic_share(case, n)) for n in (9, 8, 7, 6, 5)] == [101, 87, 56, 30, 15]


@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_cubic_beyond_its_knee_is_one_or_two_per_cent_above_the_polar_map(alpha):
    unit, cubic = SpectralLaw.power_law(alpha), SCHEDULES["cubic5"][:1] * 30
    polar = tail_snr(unit, torch.ones_like)
    for reach in (6, 10, 20):
        bent = tail_snr(unit, lambda s, x=reach: compose_quintics((s * x / 1.5**30).clamp(max=1), cubic))
        assert 1 < bent / polar < 1.03


@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_fifth_of_the_median_as_noise_leaves_95_per_cent(alpha):
    case, unit = am.Problem.power_law(8192, 256, alpha), theory.bulk_scale(8192, 256, alpha)
    median = SpectralLaw.power_law(alpha, unit).quantile(0.5)
    assert tables.kept_after_rounding(case, 0.2 * median) > 0.95
    emb = am.sample_embeddings(case, seed=0)
    G = am.initial_gradient(emb, case.frequencies)
    X = G / G.norm()
    epsilon = [(X.to(dtype).double() - X).norm().item() for dtype in (torch.bfloat16, torch.float16, torch.float32)]
    assert epsilon == pytest.approx([1.7e-3, 2.1e-4, 2.5e-8], rel=0.2)


def test_five_quintic_steps_are_enough_up_to_a_dimension_that_falls_with_alpha():
    enough = []
    for alpha in ALPHAS:
        steps = [theory.newton_schulz_steps(10**6, dim, alpha, 3.4445) for dim in range(8, 400)]
        x, zeta = math.pi / 2 / alpha, theory.power_law_sum(10**6, 2 * alpha)
        formula = x / math.sin(x) * (3.4445**5 / 2 / zeta**0.5) ** (1 / alpha)
        enough.append(7 + sum(number <= 5 for number in steps))
        assert abs(enough[-1] - formula) < 1
    assert enough == [94, 44, 16]


def test_schedules_of_five_steps_keep_what_their_sharp_counts_say(records):
    for record in records.values():
        sharp, kept = record["predicted"]["counts"], record["measured"]["counts"]
        for name in ("muon5", "dion5", "polar_express5"):
            draws = np.array(record["measured"]["seed_counts"][name])[-1]
            error = max(draws.std(ddof=1) / len(draws) ** 0.5, 1)
            assert abs(draws.mean() - sharp[name][-1]) < 0.05 * sharp[name][-1] + 2 * error
        assert kept["polar_express5"][-1] > kept["muon5"][-1]


def test_what_the_scatter_of_ten_quintic_steps_costs(records):
    case = am.Problem.power_law(16_384, 256, 1.5)
    law = SpectralLaw.solve(case.frequencies, 256)
    before = (torch.tensor(law.singular_values.copy()) / case.frequencies.norm()).clamp(max=1)
    values = am.spectral.compose_quintics(before, SCHEDULES["muon5"][:1] * 10).numpy()
    cost = (law.integrate(values**2) / law.integrate(values) ** 2) ** (-1 / 3)
    sharp = records[1.5]["predicted"]["counts"]
    ten = sharp["muon10"][-1] / sharp["polar"][-1]
    assert (round(100 * (1 - cost), 1), round(100 * (1 - ten), 1)) == (1.2, 1.9)
