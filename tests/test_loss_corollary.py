"""Corollary 4: what its proof claims of any matrix, the sharp loss against simulation, a scan against single calls."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import amemlib as am
from amembook import read_records
from amembook.paper.loss import EXPERIMENT as LOSS
from amembook.paper.loss import tables
from amembook.run.cache import plain
from amemlib.equivalents import SpectralEquivalent
from amemlib.equivalents.fixed_point import NORMAL_GRID, NORMAL_WEIGHTS
from amemlib.equivalents.smoothed_sign import SCORE_STEP, expected_softplus
from amemlib.gradients import item_losses_along


def one_step(n_items=512, dim=64, seed=2000):
    problem = am.Problem.power_law(n_items, dim, 1.5)
    emb = am.sample_embeddings(problem, seed, dtype=torch.float64)
    return problem, emb, am.polar(am.initial_gradient(emb, problem.frequencies))


@pytest.mark.parametrize("kind", ["polar", "random"])
def test_corollary_4_the_safe_rate_misclassifies_no_item(kind):
    _, emb, W = one_step()
    if kind == "random":
        W = torch.randn(64, 64, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) / 8
    gamma = emb.V @ W.T @ emb.U.T
    own = gamma.diagonal().clone()
    kappa = max(gamma.fill_diagonal_(0).abs().max().item(), -own.min().item())
    losses = item_losses_along(W, emb, [1 / kappa])[0]
    assert losses.max() <= math.log1p(511 * math.e**2) <= math.log(512) + 2


@pytest.mark.parametrize("lr", [1.0, 16.0, 200.0])
def test_corollary_4_a_learnt_item_costs_what_its_margin_allows(lr):
    _, emb, W = one_step()
    losses, margins = item_losses_along(W, emb, [lr])[0], lr * am.margins(W, emb)
    assert (losses <= torch.log1p(511 * torch.exp(-margins)) * (1 + 1e-10)).all()
    assert (losses >= torch.log1p(torch.exp(-margins)) * (1 - 1e-10)).all(), "one rival is that close"


def test_corollary_4_the_best_loss_is_log_n_times_the_unrecovered_mass():
    n_items, dim, rates = 2048, 256, 16 * 2.0 ** np.arange(0, 2.1, 0.5)
    problem, emb, W = one_step(n_items, dim)
    curve = (item_losses_along(W, emb, rates) @ problem.frequencies).numpy()
    mass = problem.frequencies[~am.recovered(W, emb)].sum().item()
    # one draw: its unrecovered mass scatters by a few per cent; without log N the ratio would be 7.6
    assert curve.min() / mass / math.log(n_items) == pytest.approx(1, abs=0.15)
    equivalent = SpectralEquivalent.solve(problem.frequencies, dim)
    sharp = [equivalent.counts * equivalent.values @ equivalent.expected_losses(lr) for lr in rates]
    assert np.abs(curve / sharp - 1).max() < 0.1
    assert 0 < np.argmin(curve) < len(rates) - 1 and abs(np.argmin(curve) - np.argmin(sharp)) <= 1


def test_the_best_spread_is_the_minimum_of_its_leading_order():
    for alpha in (1.25, 1.5, 2.0):
        c = np.linspace(0.1, 5, 200_001)
        objective = c * (math.log(1e6) / c + c / 2) ** (2 - 1 / alpha)
        best = math.sqrt(2 * math.log(1e6) * (alpha - 1) / (3 * alpha - 1))
        assert c[objective.argmin()] == pytest.approx(best, rel=1e-3)


def test_a_scan_is_its_single_calls_and_convex():
    problem, emb, W = one_step()
    rates = [0.1, 1.0, 8.0, 64.0]
    scan = item_losses_along(W, emb, rates)
    assert scan.shape == (4, 512) and scan.dtype == torch.float64
    for lr, losses in zip(rates, scan, strict=True):
        torch.testing.assert_close(losses, am.item_losses(lr * W, emb), rtol=1e-9, atol=1e-12)
    slopes = (scan @ problem.frequencies).diff() / torch.tensor(rates, dtype=torch.float64).diff()
    assert (slopes.diff() > 0).all()
    for bad in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="learning_rates"):
            item_losses_along(W, emb, [1.0, bad])


@pytest.mark.parametrize("spread", [0.3, 2.0, 6.0])
@pytest.mark.parametrize("lam_over_t0", [0.0, 1.0])
def test_expected_losses_are_the_mean_of_their_law(spread, lam_over_t0):
    problem = am.Problem.power_law(400, 32, 1.5)
    lam = lam_over_t0 * am.theory.bulk_scale(400, 32, 1.5)
    equivalent = SpectralEquivalent.solve(problem.frequencies, 32, lam)
    losses = equivalent.expected_losses(spread * math.sqrt(32))
    generator = np.random.default_rng(0)
    members = np.repeat(np.arange(len(equivalent.counts)), equivalent.counts.astype(int))
    for k in (0, 20, len(losses) - 1):
        own = math.sqrt(1 - equivalent.unresolved * equivalent.damping[k])
        rivals = np.sqrt(1 - equivalent.unresolved * equivalent.damping[k] * equivalent.damping[members])[1:]
        score = spread * (math.sqrt(32) * equivalent.signal[k] + own * generator.standard_normal((4000, 1)))
        draws = np.logaddexp(
            0, np.logaddexp.reduce(spread * rivals * generator.standard_normal((4000, 399)) - score, 1)
        )
        # 2 %: rivals get their mean variance
        assert losses[k] == pytest.approx(draws.mean(), rel=0.02, abs=4 * draws.std() / 4000**0.5)


@pytest.mark.parametrize("spread", [0.1, 3.0, 100.0])
def test_the_mean_over_two_rivals_is_its_double_integral(spread):
    """Also where rivals lie hundreds of nats apart, so that the integral over t starts as far below."""
    scores = np.arange(-2, 5) * SCORE_STEP
    one = spread * NORMAL_GRID - scores[:, None]
    slow = NORMAL_WEIGHTS @ np.logaddexp(0, np.logaddexp(one[:, :, None], one[:, None, :])) @ NORMAL_WEIGHTS
    np.testing.assert_allclose(expected_softplus(scores, spread, 2), slow, rtol=1e-6)


def test_expected_losses_start_at_log_n_and_refuse_a_rate_of_zero():
    equivalent = SpectralEquivalent.solve(am.Problem.power_law(1000, 64, 1.5).frequencies, 64)
    np.testing.assert_allclose(equivalent.expected_losses(1e-6), math.log(1000), rtol=1e-5)
    for bad in (0.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="lr"):
            equivalent.expected_losses(bad)


def test_the_loss_experiment_measures_beside_its_prediction():
    config = replace(LOSS.profiles["smoke"], dims=(16, 32), n_items=128, lr_over_root_dim=(0.1, 0.5, 2.0, 8.0))
    results = [plain(cell.function(**cell.arguments)) for cell in LOSS.cells(config, "cpu")]
    measured, predicted = LOSS.read(config, results)
    for name in ("polar", "smoothed_sign", "sgd"):
        assert len(measured["best_loss"][name]) == 2
        assert min(measured["loss"][f"{name}_32"]) == measured["best_loss"][name][1]
    assert LOSS.verdicts(config, measured, predicted).keys() == {"polar", "smoothed_sign", "one_lr"}


def test_what_the_chapter_says_of_the_record():
    [record] = read_records("loss", "confirm-alpha-1.5")
    measured, predicted, dims = record["measured"], record["predicted"], record["config"]["dims"]
    rates, curve = np.array(record["config"]["lr_over_root_dim"]), np.array(measured["loss"]["polar_256"])
    broad = rates[curve <= 1.1 * curve.min()]
    assert broad[0] == pytest.approx(1.41, abs=0.01) and broad[-1] == pytest.approx(2.83, abs=0.01)
    slopes = measured["slope"]["polar"], predicted["slope"]["polar"]
    assert slopes == pytest.approx((-1.28, -0.67), abs=0.01)
    ratio = measured["over_mass"]["polar"]
    assert (ratio[0], ratio[-1]) == pytest.approx((1.08, 0.84), abs=0.01)
    assert [record["words"][k] for k in ("polar", "smoothed_sign", "one_lr")] == ["predicted", "undecided", "undecided"]
    b, log_n = am.equivalents.typical_maximum(2048), math.log(2048)
    assert math.sqrt(b**2 + 2) - b == pytest.approx(0.28, abs=0.005)
    assert (b * log_n) ** 2 == pytest.approx(672, abs=1) and dims[-1] < 672
    assert (400 / 2048) ** 0.5 == pytest.approx(0.44, abs=0.005)


def test_muon_descends_twice_as_fast_as_sgd_of_its_norm():
    problem = am.Problem.power_law(2048, 128, 1.5)
    G = am.initial_gradient(am.sample_embeddings(problem, 0), problem.frequencies)
    s = torch.linalg.svdvals(G)
    assert (s.sum() * s[0] / (s**2).sum()).item() == pytest.approx(2.0, abs=0.1)


def ratio_limit(alpha: float) -> float:
    """Best loss over log N times the unrecovered mass, to leading order: eq-loss-ratio."""
    beta = (alpha - 1) / (3 * alpha - 1)
    x_star = (beta**-0.5 + beta**0.5) / 2  # in units of √(2 log N)
    return (1 + beta) * alpha / (2 * alpha - 1) * x_star ** (1 - 1 / alpha)


@pytest.mark.slow
def test_the_leading_order_and_the_price_of_safety_that_the_chapter_tells():
    assert [round(ratio_limit(alpha), 2) for alpha in (1.25, 1.5, 2.0)] == [1.02, 0.98, 0.93]
    far = tables.price_of_safety()
    dearest = int(np.argmax(far["ratio"]))
    assert (far["dims"][dearest], round(far["ratio"][dearest])) == (2048, 34)
    assert (far["dims"][-1], round(far["ratio"][-1], 1)) == (16_384, 2.4)


@pytest.mark.parametrize("c, told", [(2.0, 9.6), (16.0, 55.3)])
def test_an_unlearnt_item_pays_the_mean_below_the_freezing_and_the_largest_term_above(c, told):
    equivalent = SpectralEquivalent.solve(am.Problem.power_law(2048, 128, 1.5).frequencies, 128)
    lr, edge = c * math.sqrt(128), math.sqrt(2 * math.log(2048))
    price = equivalent.expected_losses(lr)[-1] + lr * equivalent.signal[-1]
    mean, largest = math.log(2048) + c**2 / 2, c * edge
    # b_N is 12 % below the root of 2 log N
    assert round(price, 1) == told and abs(price / (mean if c < edge else largest) - 1) < 0.2
    assert c < edge or (round(mean, 1), round(largest, 1)) == (135.6, 62.5)
