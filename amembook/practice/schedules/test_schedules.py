"""The mathematics of `schedules`."""

import math

import numpy as np
import pytest
import torch

import amemlib as am
from amembook.practice import schedules
from amembook.practice.schedules import expected
from amemlib.spectral import SCHEDULES

SEEDS = range(3)


FLAWS = [
    (("counts", "float32", "1.5", "cans"), [330.0, 400.0], "counts", "not reproduced"),
    (("counts", "bfloat16", "2", "cans"), [400.0, 900.0], "formats", "not reproduced"),
    (("counts", "float32", "2", "cans"), [300.0, 500.0], "law", "not reproduced"),
    (("torch", "2"), [220.0, 260.0], "torch", "not reproduced"),
]
REFUSED = [("schedules", ("cans",)), ("alphas", (2.0, 1.5))]


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [1.3, pytest.param(1.75, marks=pytest.mark.weekly)])
def test_counts_of_every_schedule_meet_the_prediction_at_sizes_that_no_record_has(alpha):
    problem = am.Problem.power_law(4096, 320, alpha)
    counts = {name: [] for name in SCHEDULES}
    for seed in SEEDS:
        emb = am.sample_embeddings(problem, seed)
        G = am.initial_gradient(emb, problem.frequencies)
        for name, table in SCHEDULES.items():
            counts[name].append(am.capacity(schedules.newton_schulz_in_format(G, table, torch.float32), emb))
    for name, items in counts.items():
        law = expected.expected_count(problem, name)
        error = np.std(items, ddof=1) / math.sqrt(len(items))
        assert abs(np.mean(items) - law) <= 0.05 * law + 2 * error, name


def test_a_float32_iteration_is_the_float64_one_up_to_rounding():
    emb = am.sample_embeddings(am.Problem.power_law(500, 64, 1.5), 0)
    G = am.initial_gradient(emb, am.Problem.power_law(500, 64, 1.5).frequencies)
    for name, table in SCHEDULES.items():
        W = schedules.newton_schulz_in_format(G, table, torch.float32)
        torch.testing.assert_close(W, am.newton_schulz(G, coefficients=name), rtol=0, atol=2e-3)


def test_rounding_to_nearest_has_the_mean_square_error_of_a_log_uniform_significand():
    x = torch.exp(20 * torch.rand(200_000, generator=torch.Generator().manual_seed(0)))
    error = (x.bfloat16().float() - x).double()
    assert (error**2 / x.double() ** 2).mean() == pytest.approx(3 / 8 / math.log(2) / 12 / 4**7, rel=0.01)
    by_energy = (error**2 / 2 ** (2 * x.double().log2().floor())).mean() / (3 / 2 / math.log(2))
    assert by_energy == pytest.approx(expected._ROUNDING / 4**7, rel=0.01)


@pytest.mark.slow
def test_the_shipped_optimizers_do_what_is_predicted_for_their_schedule():
    problem, name = am.Problem.power_law(2048, 256, 1.5), "jordan"
    emb = am.sample_embeddings(problem, 1)
    G = am.initial_gradient(emb, problem.frequencies)
    own = am.capacity(schedules.newton_schulz_in_format(G, SCHEDULES[name], torch.bfloat16), emb)
    if hasattr(torch.optim, "Muon"):
        assert am.capacity(schedules.torch_muon(G), emb) == pytest.approx(own, abs=0.05 * own)
    muon = pytest.importorskip("optax.contrib._muon")
    for name in ("jordan", "you"):
        table = np.array(SCHEDULES[name], dtype=np.float32)
        W = torch.from_numpy(np.array(muon.orthogonalize_via_newton_schulz(G.float().numpy(), table)))
        torch.testing.assert_close(W.double(), am.newton_schulz(G, coefficients=name), rtol=0, atol=2e-3)


def test_other_libraries_do_the_same_where_they_are_installed():
    matrix = pytest.importorskip("pytorch_optimizer.optimizer.utils.matrix")
    G = torch.randn(64, 48, generator=torch.Generator().manual_seed(0))
    W = matrix.zero_power_via_newton_schulz_5(G, num_steps=5, dtype=torch.float32)
    torch.testing.assert_close(W.double(), am.newton_schulz(G, coefficients="jordan"), rtol=0, atol=1e-4)


def test_the_tables_of_gram_newton_schulz_are_ours_where_it_is_installed():
    theirs = pytest.importorskip("gram_newton_schulz.coefficients")
    assert tuple(map(tuple, theirs.YOU_COEFFICIENTS)) == SCHEDULES["you"]
    assert tuple(map(tuple, theirs.POLAR_EXPRESS_COEFFICIENTS)) == SCHEDULES["polar_express_105"]


def test_rescaled_rows_are_the_authors_and_bound_the_norm_and_equal_rows_keep_it():
    muon = pytest.importorskip("optax.contrib._muon")
    emb = am.sample_embeddings(am.Problem.power_law(300, 48, 1.5), 0)
    G = am.initial_gradient(emb, am.Problem.power_law(300, 48, 1.5).frequencies)
    X = schedules.rescaled_rows(G)
    assert 0.5 < torch.linalg.matrix_norm(X, 2) <= 1 + 1e-12
    table = np.array(SCHEDULES["turbo_muon"], dtype=np.float32)
    theirs = muon.orthogonalize_via_newton_schulz(G.float().numpy(), table, preconditioning="aol", eps=0.0)
    f = lambda s: am.spectral.compose_quintics(s.clamp(max=1), SCHEDULES["turbo_muon"])
    torch.testing.assert_close(torch.from_numpy(np.array(theirs)).double(), am.spectral_map(X, f), rtol=0, atol=5e-3)
    W = schedules.equalised_rows(G)
    assert torch.linalg.norm(W).item() == pytest.approx(torch.linalg.norm(G).item())
    lengths = torch.linalg.vector_norm(W, dim=1)
    assert lengths.max().item() == pytest.approx(lengths.min().item())


@pytest.mark.slow
def test_the_law_is_the_limit_of_any_schedule_of_its_slope():
    # a schedule whose reach is large is exact Muon, one whose reach is small is far from it, in the order of the slopes
    problem = am.Problem.power_law(4096, 256, 1.5)
    polar = am.expected_capacity(problem, "polar")
    counts = [expected.law_count(problem, slope) for slope in (100, 485, 1000, 6000, 80_000)]
    assert counts == sorted(counts) and counts[-1] == pytest.approx(polar, rel=0.01)
    assert expected.reach(problem, 485.0) == pytest.approx(485 / 100 * expected.reach(problem, 100.0))
    assert expected.expected_share(problem, "deepseekv4") == pytest.approx(1, abs=0.02)
    assert expected.expected_share(problem, "deepseekv4", "bfloat16") < 0.98


def test_slopes_and_products_of_the_tables():
    slopes = {name: round(expected.slope(table)) for name, table in SCHEDULES.items()}
    assert [slopes[name] for name in ("jordan", "polar_express", "cans", "deepseekv4")] == [485, 976, 1049, 79263]
    assert expected.products(SCHEDULES["jordan"]) == 15 and expected.products(SCHEDULES["cubic5"]) == 10


@pytest.mark.parametrize("alpha", [1.25, 1.5, 2.0])
def test_the_rules_shares_and_the_limit_of_short_reaches(alpha):
    problem = am.Problem.power_law(8192, 1024, alpha)
    unit, polar = expected.reach(problem, 1.0), am.expected_capacity(problem, "polar")
    ranges = {0.01: (0.07, 0.14), 0.1: (0.28, 0.36), 1.0: (0.75, 0.81), 3.0: (0.90, 0.97)}
    for x, (low, high) in ranges.items():
        assert low - 0.005 < expected.law_count(problem, x / unit) / polar < high + 0.005
    median = am.equivalents.SpectralLaw.power_law(alpha).quantile(0.5)
    snr, x = am.equivalents.rare_item_snr, 1e-4
    exact = snr("smoothed_sign", alpha, median / x) / snr("polar", alpha)
    tail = math.pi * (alpha + 1) / 4 * (x / median) ** ((2 * alpha - 1) / (2 * alpha))
    assert exact == pytest.approx(tail, rel=0.03)


def test_a_fixed_schedule_grows_as_sgd_in_wide_memories():
    alpha, dims = 1.5, (4096, 16_384)
    problems = [am.Problem.power_law(100_000, dim, alpha) for dim in dims]
    small, large = (expected.law_count(problem, 485.0) for problem in problems)
    growth = math.log(large / small) / math.log(dims[1] / dims[0])
    # 1 / α, which rare rivals alone would give, is twice as much
    assert growth == pytest.approx(am.theory.recovery_exponent("sgd", alpha), abs=0.03)
