"""Sentences of the appendix on the counts of many steps that have no cell of their own."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

import amemlib as am
from amembook import read_records
from amembook.paper.deflation.bounds import superconcentration_failure
from amemlib import theory
from amemlib.equivalents import (
    ManyStepEquivalent,
    capacity_constant,
    half_recovered_schedule,
    half_recovered_thresholds,
    thresholded_weights,
    typical_maximum,
)
from amemlib.equivalents.fixed_point import solve_fixed_point

ALPHA, P = 1.5, am.Problem.power_law(4096, 128, 1.5).frequencies
ROOT = Path(__file__).resolve().parents[1]
LARGE = read_records("deflation", "confirm-large-alpha-")


def test_the_cosine_of_two_later_steps_is_the_root_of_the_energy_that_is_left():
    plan = theory.muon_schedule(4096, 128, ALPHA, 3, 0.5)
    solved = ManyStepEquivalent.solve(thresholded_weights(P, plan.removed), 128, plan.lams).overlaps
    cosine = solved[1:, 1:] / np.sqrt(np.outer(np.diag(solved)[1:], np.diag(solved)[1:]))
    now, after = plan.removed[1:]
    share = float(P[after:].square().sum() / P[now:].square().sum())
    assert cosine[0, 1] == pytest.approx(0.54, abs=0.01) == share**0.5
    assert (now / after) ** (ALPHA - 0.5) == pytest.approx(0.54, abs=0.01)
    assert (solved[0, 1:] < 0.1 * np.sqrt(solved[0, 0] * np.diag(solved)[1:])).all()


@pytest.mark.slow
def test_frequent_pairs_share_another_covariance_and_the_last_threshold_hardly_sees_it():
    emb = am.sample_embeddings(am.Problem.power_law(4096, 128, ALPHA), seed=0, dtype=torch.float64)
    free = half_recovered_schedule(P, 128, 3)
    w, mu, logits = thresholded_weights(P, free.removed), np.exp(np.arange(-16, 4, 0.1)), []
    for row in w:
        H = am.polar(am.thresholded_gradient(emb, row, 0))
        logits.append(math.sqrt(128) * emb.V @ H.T @ emb.U[2000:].T)
    left = [row[row > 0].numpy() for row in w]
    M = [solve_fixed_point(mu, row, np.ones(len(row)), 128) for row in left]

    def covariance(s, t, items):
        x, y = (np.outer(w[k], M[k]) for k in (s, t))
        E = (x**2 / (1 + x**2)).T @ (y**2 / (1 + y**2)) / 128
        odd = (x / (1 + x**2)).T @ (y / (1 + y**2)) / 128
        weight = np.outer(M[s] * mu, M[t] * mu) * (0.2 / math.pi) ** 2 / ((1 - E) ** 2 - odd**2)
        damped = lambda a, b: np.outer(1 / (1 + a**2), 1 / (1 + b**2)) * (odd + (1 - E) * np.outer(a, b))
        return np.mean([(weight * damped(a, b)).sum() for a, b in zip(x[items], y[items], strict=True)])

    d_1, d_2, d_3 = free.thresholds
    rare = ManyStepEquivalent.solve(w, 128, free.lams).overlaps
    groups = {"head": (0, 16), "d_1": (d_1, d_1 + 32), "d_2": (d_2, d_2 + 32), "d_3": (d_3 - 16, d_3 + 16)}
    noise = {}
    for name, (low, high) in groups.items():
        items, total = slice(low, high), 3.0
        for s, t in ((0, 1), (0, 2), (1, 2)):
            expected = covariance(s, t, items)
            assert abs(float((logits[s] * logits[t])[items].mean()) - expected) < 0.07
            total += 2 * expected
        noise[name] = math.sqrt(total / rare.sum()) - 1
    assert noise == pytest.approx({"head": -0.068, "d_1": -0.010, "d_2": 0.039, "d_3": 0.014}, abs=0.003)
    assert covariance(0, 1, slice(16)) < 0.1 * rare[0, 1]
    assert covariance(0, 1, slice(d_1, d_1 + 32)) > 1.4 * rare[0, 1]


@pytest.mark.slow
def test_with_a_constant_the_exponents_leave_their_limits_again():
    counts = []
    for dim in (512, 1024):
        q = am.Problem.power_law(2**19, dim, 2.0).frequencies
        plan = theory.muon_schedule(len(q), dim, 2.0, 4, 0.5)
        solved = ManyStepEquivalent.solve(thresholded_weights(q, plan.removed), dim, plan.lams)
        counts.append(solved.recovery_probabilities()[-1] @ solved.counts)
    assert math.log2(counts[1] / counts[0]) == pytest.approx(1.86, abs=0.01)
    assert theory.recovery_exponent("muon", 2.0, 4) == pytest.approx(1.68, abs=0.01)


def test_fitted_exponents_are_those_of_the_sharp_counts():
    for record in LARGE:
        measured, predicted = record["measured"], record["predicted"]
        for rule, band in (("polar", 0.08), ("smoothed_sign", 0.08), ("sgd", 0.10)):
            slope, low = np.array(measured["slope"][rule]), np.array(measured["interval"][rule])[:, 0]
            assert (np.abs(slope - predicted["sharp_slope"][rule]) < band + slope - low).all()
        excess = np.subtract(measured["slope"]["polar"], predicted["slope"]["polar"])
        assert 0.02 < excess.min() < excess.max() < 0.35


def test_counts_are_within_five_per_cent_from_256_dimensions_on():
    for record in LARGE:
        for rule in ("polar", "smoothed_sign"):
            sharp, counts = (np.array(record[side]["counts"][rule]) for side in ("predicted", "measured"))
            assert np.abs(counts / sharp - 1)[np.array(record["config"]["dims"]) >= 256].max() < 0.047
        judged = np.array(record["config"]["dims"])[:, None] >= 256
        sharp, counts = (np.array(record[side]["counts"]["sgd"]) for side in ("predicted", "measured"))
        assert np.abs(counts / sharp - 1)[judged & (sharp > 100)].max() < 0.049
        if record["config"]["alpha"] == ALPHA:
            assert np.array(record["predicted"]["even"]["sgd"])[-1][1] > 1.7 * sharp[-1][1]
            muon = record["measured"]["counts"]["polar"]
            assert all(row[0] > row_sgd[2] for row, row_sgd in zip(muon, counts, strict=True))
        for rule in ("smoothed_sign", "sgd"):
            parts = (np.array(record["measured"][f"batch_{key}"][rule]) for key in ("counts", "sharp", "distinct"))
            counts, sharp, seen = parts
            assert (counts < seen + 6).all(), "what is seen, and luck"
            assert np.abs(counts / sharp - 1)[counts > 100].max() < 0.06


def last_threshold(a, noise, dim, leading):
    n_items = 2**21
    b, zeta = typical_maximum(n_items), theory.power_law_sum(n_items, ALPHA)
    c = capacity_constant("polar", n_items, ALPHA) * dim ** (1 + 0.5 / ALPHA)
    slopes, shared = [4 / (math.pi * (ALPHA + 1) * theory.bulk_scale(n_items, dim, ALPHA))], 0.0
    d_t = c * (a[0] / math.sqrt(noise)) ** (1 / ALPHA)
    for s in range(1, len(a)):
        sigma = d_t ** (0.5 - ALPHA) / zeta / math.sqrt((2 * ALPHA - 1) * dim)
        new = 8 / (3 * math.pi * sigma)
        shared += 2 * a[s] * new * sigma**2 * np.dot(a[:s], slopes)
        slopes.append(new)
        signal = a[s] * new if leading else np.dot(a[: s + 1], slopes)
        d_t = (signal * math.sqrt(dim / noise) / (b * zeta)) ** (1 / ALPHA)
    return d_t, 1 + shared


def after(sizes, leading=False, dim=8192):
    a, noise = np.array(sizes) / np.linalg.norm(sizes), 1.0
    for _ in range(0 if leading else 60):
        noise = (noise + last_threshold(a, noise, dim, False)[1]) / 2
    return last_threshold(a, noise, dim, leading)[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("T", "equal", "geometric"),
    [(2, 0.997, 0.998), (4, 0.992, 0.981), pytest.param(6, 0.993, 0.950, marks=pytest.mark.weekly)],
)
def test_equal_steps_lose_next_to_nothing_to_the_best_split(T, equal, geometric):
    growth = (1 - 0.5 / ALPHA) ** -0.5
    sizes, c = growth ** np.arange(T), growth ** (2 * np.arange(T))
    c = c / c.sum()
    gain = math.exp((1 - growth ** (-2 * T)) * (c @ np.log(T * c)))
    assert after(sizes, True) / after(np.ones(T), True) == pytest.approx(gain, rel=1e-9), "the leading order"
    start, loss = np.log(growth) * np.arange(1, T), lambda x: -math.log(after(np.exp([0, *x])))
    best = math.exp(-minimize(loss, start, method="Nelder-Mead", options={"maxiter": 200}).fun)
    assert [after(np.ones(T)) / best, after(sizes) / best] == pytest.approx([equal, geometric], abs=1e-3)


def thresholds_so_far(sizes, dim=8192, n_items=2**21):
    """d_1 … d_T where an item has to clear the noise of the steps so far, as with equal steps in eq-df-closed."""
    a, b, zeta = np.array(sizes), typical_maximum(n_items), theory.power_law_sum(n_items, ALPHA)
    d_t = [capacity_constant("polar", n_items, ALPHA) * dim ** (1 + 0.5 / ALPHA)]
    slopes, noise = [4 / (math.pi * (ALPHA + 1) * theory.bulk_scale(n_items, dim, ALPHA))], a[0] ** 2
    for s in range(1, len(a)):
        sigma = d_t[-1] ** (0.5 - ALPHA) / zeta / math.sqrt((2 * ALPHA - 1) * dim)
        new = 8 / (3 * math.pi * sigma)
        noise += a[s] ** 2 + 2 * a[s] * new * sigma**2 * np.dot(a[:s], slopes)
        slopes.append(new)
        d_t.append((np.dot(a[: s + 1], slopes) * math.sqrt(dim / noise) / (b * zeta)) ** (1 / ALPHA))
    return np.array(d_t)


@pytest.mark.parametrize(("T", "share"), [(2, 0.82), (4, 0.59), (6, 0.52)])
def test_equal_steps_are_far_from_the_best_if_what_they_store_may_be_lost_again(T, share):
    equal = thresholds_so_far(np.ones(T))[-1]
    assert round(equal / thresholds_so_far(1e4 ** np.arange(T))[-1], 2) == share


@pytest.mark.parametrize("sizes", [np.ones(4), np.geomspace(1, 3, 6), [3, 1, 2]])
def test_every_threshold_of_a_split_stands_above_the_noise_of_all_steps(sizes):
    # the two sides of the formula as the page has it, from the thresholds alone
    text = " ".join((ROOT / "chapters" / "many-step-counts.md").read_text(encoding="utf-8").split())
    assert r"p_{d_{t+1}}\sum_{s\le t}a_s\phi_s'=b_N\sqrt{\mathcal N/d}\qquad\text{for every }t<T." in text
    assert r"\mathcal N=1+2\sum_{r<s<T}a_ra_s\,\phi_r'\phi_s'\sigma_s^2" in text
    dim, n_items, T = 8192, 2**21, len(sizes)
    a, noise = np.array(sizes) / np.linalg.norm(sizes), 1.0
    for _ in range(60):
        noise = (noise + last_threshold(a, noise, dim, False)[1]) / 2
    d_t = np.array([last_threshold(a[: t + 1], noise, dim, False)[0] for t in range(T)])
    zeta = theory.power_law_sum(n_items, ALPHA)
    sigma = d_t[:-1] ** (0.5 - ALPHA) / zeta / math.sqrt((2 * ALPHA - 1) * dim)
    slopes = np.r_[4 / (math.pi * (ALPHA + 1) * theory.bulk_scale(n_items, dim, ALPHA)), 8 / (3 * math.pi * sigma)]
    pairs = [(r, s) for s in range(1, T) for r in range(s)]
    N = 1 + 2 * sum(a[r] * a[s] * slopes[r] * slopes[s] * sigma[s - 1] ** 2 for r, s in pairs)
    left = d_t**-ALPHA / zeta * np.cumsum(a * slopes)
    np.testing.assert_allclose(left, typical_maximum(n_items) * math.sqrt(N / dim), rtol=1e-6)


def test_one_more_equal_step_always_pays_up_to_twenty():
    assert (np.diff([after(np.ones(T)) for T in range(1, 21)]) > 0).all()


@pytest.mark.slow
def test_without_its_price_the_leading_order_is_far_too_high():
    sharp = half_recovered_thresholds(am.Problem.power_law(2**21, 8192, ALPHA).frequencies, 8192, 4)
    leading, extra = [capacity_constant("polar", 2**21, ALPHA) * 8192 ** (1 + 0.5 / ALPHA)], 0.0
    b = typical_maximum(2**21)
    for t in range(1, 4):
        height = 8 * math.sqrt(2 * ALPHA - 1) / (3 * math.pi * b * math.sqrt(t + 1)) * 8192
        leading.append((height * leading[-1] ** (ALPHA - 0.5)) ** (1 / ALPHA))
        extra = (2 / 3) * extra + math.log(t + 1) / 3
    assert leading[-1] / sharp[-1] == pytest.approx(0.75, abs=0.01)
    assert leading[-1] * math.exp(extra) / sharp[-1] == pytest.approx(1.69, abs=0.02)


def test_the_record_says_of_the_seven_lemmas_what_their_chapter_does():
    lemmas = {record["config"]["alpha"]: record["measured"]["lemmas"] for record in LARGE}
    ratios = [lemmas[ALPHA][f"lemma_{number}"] for number in (30, 31, 32, 33, 35, 36)]
    assert ratios == pytest.approx([0.95, 0.72, 0.56, 0.97, 0.44, 0.47], abs=0.006)
    failure = lemmas[ALPHA]["lemma_34_failure"]
    assert all(x <= 10.0**-k for k, x in zip(range(3, 9), failure, strict=True))
    weak = [superconcentration_failure(10.0**k, 1.0) for k in (3, 8)]
    assert weak == pytest.approx([0.24, 0.03], abs=0.006)
    for alpha, found in lemmas.items():
        bulk, energy = (np.array(found[f"lemma_{number}_scale"]["population"]) for number in (35, 36))
        assert (np.ptp(np.log(bulk), 0) < 0.25).all() and (np.diff(bulk, axis=1) < 0).all() and (bulk < 4).all()
        assert (energy * (2 * alpha - 1) < 1.02).all(), "the integral bound"
        if alpha == ALPHA:
            assert bulk[:, 0] == pytest.approx([1.95, 2.08, 2.09], abs=0.006)
            assert bulk[:, 2] == pytest.approx([0.75, 0.75, 0.73], abs=0.006)
