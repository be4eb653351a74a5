"""The mathematics of `accuracy`."""

import dataclasses
import itertools
import math
import tempfile
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import amemlib as am
from amembook.networks import text, training
from amembook.networks.attention import Network, initial_weights, recall_loss
from amembook.networks.tasks import RecallTask, sample_sequences
from amembook.networks.training import exact_muon
from amembook.practice import accuracy
from amembook.practice.accuracy import memory, network
from amembook.run import cache
from amembook.run.base import profile_bins
from amemlib.spectral import SCHEDULES

CONFIG = accuracy.EXPERIMENT.profiles["cpu"]


def at(share):
    """A run whose share is this at every probe, for sure."""
    return lambda run: run | {key: [share] * len(run[key]) for key in ("share", "low", "high")}


FLAWS = [
    (("memory", "2 0"), at(0.8), "plain", "not reproduced"),
    (("memory", "2 0.95"), at(0.9), "momentum", "not reproduced"),
    (("remedy", "mean", 3), 0.7, "remedy", "not reproduced"),
    (("recall", "0.95", "ratio"), {"mean": 1.4, "low": 1.3, "high": 1.5}, "recall", "not reproduced", "confirm-recall"),
    (("recall", "0", "late"), 1, "recall", "undecided", "confirm-recall"),
    (("text", "extra_loss"), {"low": [0.1], "high": [0.2]}, "text", "not reproduced", "confirm-text"),
    (("text", "bigram"), 4.1, "text", "undecided", "confirm-text"),
]
REFUSED = [("momenta", (0.9, 0.95)), ("probes", (1, 200)), ("remedy", "zz")]


def test_weights_in_the_momentum_are_the_sum_over_its_steps():
    p = am.Problem.power_law(12, 4, 1.5).frequencies.numpy()
    cuts = np.split(np.arange(12), profile_bins(12))
    shares = np.random.default_rng(0).random((4, len(cuts)))
    of_items = np.array(
        [np.concatenate([np.full(len(c), x) for c, x in zip(cuts, row, strict=True)]) for row in shares]
    )
    after = {0: np.ones(12), 1: of_items[0], 2: of_items[1], 3: of_items[1:3].mean(0), 4: of_items[2]}
    for beta in (0.0, 0.6):
        literal = sum(beta ** (4 - s) * p * left for s, left in after.items())
        weights = memory.weights_remembered(p, [1, 2, 4, 6], shares, beta, 5)
        np.testing.assert_allclose(weights, literal, rtol=1e-12)


def test_before_anything_is_learnt_the_momentum_has_the_gradients_spectrum_and_is_flatter_after():
    problem = am.Problem.power_law(1024, 96, 2.0)
    slope = memory.SHIPPED_SLOPE
    assert round(slope) == 485
    bins = len(profile_bins(1024)) + 1
    learnt = lambda share: [[0.0] * int(share * bins) + [1.0] * (bins - int(share * bins))]
    first = memory.remembered_median(problem, [1], learnt(0.5), 0.95, 1)
    emb = am.sample_embeddings(problem, 0)
    s = am.spectral.singular_values(am.initial_gradient(emb, problem.frequencies))
    assert memory.relative_median(s) == pytest.approx(first, rel=0.1)
    shares = learnt(0.5) + learnt(0.8)
    later = [memory.remembered_median(problem, [1, 100], shares, 0.95, t) for t in (20, 60, 100)]
    assert first < later[0] < later[1] < later[2]


@pytest.mark.slow
def test_the_share_is_one_where_the_reach_is_large_and_falls_with_it():
    curve = memory.share_curve(am.Problem.power_law(1024, 96, 2.0))
    shares = memory.share_at([0.01, 0.1, 1.0, 30.0], curve)
    assert (np.diff(shares) > 0).all() and 0.7 < shares[2] < 0.9 and shares[3] == pytest.approx(1, abs=0.02)


def test_shares_below_and_medians_of_a_spectrum():
    s = torch.tensor([10.0, 5.0, 1.0, 0.01])
    assert memory.relative_median(s) == pytest.approx(1 / math.sqrt(126.0001))
    assert memory.share_below(s, 100.0) == 0.25


@pytest.mark.parametrize("lead", [0.0, 1.0])
def test_the_exact_run_is_the_librarys_trajectory_and_nesterov_is_torchs(lead):
    sizes = SimpleNamespace(n_items=80, dim=16, probes=[1, 3])
    run = memory.measure_memory(sizes, "polar", 2.0, 0.9, lead, 1.0, 3, seed=1, device="cpu")
    problem = am.Problem.power_law(80, 16, 2.0)
    emb = am.sample_embeddings(problem, 1)
    W, average = torch.zeros(16, 16, dtype=torch.float64), 0.0
    for _ in range(3):
        G = am.gradient(W, emb, problem.frequencies)
        average = 0.9 * average + 0.1 * G
        W = W + 4 * am.polar(torch.lerp(G, average, 0.9) if lead else average)
    assert run["count"][-1] == pytest.approx(am.capacity(W, emb), abs=1)
    assert run["loss"][-1] == pytest.approx(am.loss(W, emb, problem.frequencies), rel=1e-6)


def test_the_networks_optimizer_is_the_librarys_exact_muon_without_its_decay():
    task = RecallTask(6, 12, 2)
    start = initial_weights(Network(task.vocabulary, 12, 16), 0)
    pairs = [
        (exact_muon, {}),
        (network.muon_with, {"momentum": 0.9, "schedule": "polar", "seen": {}, "vectors_lr": 3e-3}),
    ]
    ends = []
    for optimizer, options in pairs:
        run = training.train(
            start,
            recall_loss,
            lambda weights, optimizer=optimizer, options=options: optimizer(weights, lr=1e-3, **options),
            lambda step: sample_sequences(task, 8, 0, step),
            3,
            3,
            lambda weights: {},
        )
        ends.append(run.weights)
    for name, W in ends[0].items():
        torch.testing.assert_close(ends[1][name], W, rtol=0, atol=3e-3 if name in training.VECTORS else 2e-4)
    assert network.cooled(0, 10) == network.cooled(5, 10) == 1 and network.cooled(9, 10) == pytest.approx(0.2)


def test_both_maps_agree_where_the_spectrum_is_flat_and_not_where_it_is_steep():
    Q = torch.linalg.qr(torch.randn(8, 8, generator=torch.Generator().manual_seed(0)))[0]
    exact, five = (network.orthogonaliser(name) for name in ("polar", "jordan"))
    torch.testing.assert_close(exact(3 * Q), Q.double(), rtol=0, atol=1e-5)
    assert (torch.linalg.svdvals(five(Q)) - 1).abs().max() < 0.35
    steep = Q * torch.logspace(0, -5, 8)
    assert torch.linalg.svdvals(five(steep))[-1] < 0.01 and torch.linalg.svdvals(exact(steep))[-1] > 0.99
    assert math.prod(a for a, _, _ in SCHEDULES["jordan"]) == pytest.approx(memory.SHIPPED_SLOPE)


def test_the_text_is_cut_into_pieces_and_its_groups_carry_equal_shares():
    words = text.documentation(20_000, 128)
    assert len(words.train) + len(words.test) == 20_000 == words.origin["words"]
    assert 0.1 < len(words.test) / 20_000 < 0.15 and max(words.train.max(), words.test.max()) == 127
    counts = np.bincount(words.train, minlength=128)[:-1]
    assert (np.diff(counts) <= 0).all()
    group = text.frequency_groups(words.train, 128, 5)
    shares = [counts[group[:-1] == k].sum() / counts.sum() for k in range(5)]
    assert group[-1] == -1 and max(shares) < 0.3 and min(shares) > 0.1
    losses = text.bigram_loss(words, 128)
    assert losses["bigram"] < losses["unigram"] < math.log(128)


@pytest.mark.slow
def test_the_networks_parts_run_and_are_summarised():
    tiny = {"recall_items": 8, "recall_dim": 16, "recall_steps": 4, "length": 12, "pairs": 2, "batch_size": 8}
    tiny |= {
        "text_dim": 16,
        "text_steps": 4,
        "text_batch": 4,
        "n_words": 8000,
        "vocabulary": 64,
        "groups": 4,
        "text_probe_every": 2,
    }
    config = dataclasses.replace(
        CONFIG, parts=("recall", "text"), network_momenta=(0.0, 0.9), network_seeds=2, probe_every=2, **tiny
    )
    with tempfile.TemporaryDirectory() as folder:
        measured = cache.run(accuracy.EXPERIMENT, config, folder, "cpu")["measured"]
    assert measured["recall"]["0.9"]["late"] == 2 and measured["text"]["step"] == [0, 2, 4]
    for run, count in ((measured["recall"]["0"], 8), (measured["text"], 12)):
        assert len(run["reach"]["jordan"]) == count
        assert all(len(row) == 2 and min(row) > 0 for row in run["reach"]["jordan"].values())
    assert len(measured["text"]["extra_by_group"]["mean"]) == 4
    pairs = itertools.pairwise(measured["text"]["test"]["polar"])
    assert all(after < before for before, after in pairs)


@pytest.mark.slow
def test_it_is_the_median_that_the_pull_of_the_weights_lowers_and_not_the_norm():
    problem = am.Problem.power_law(CONFIG.n_items, 96, 1.5)
    emb = am.sample_embeddings(problem, seed=0)
    p, beta, M, rho = problem.frequencies, 0.95, 0, 0
    W = torch.zeros(96, 96, dtype=torch.float64)
    for _ in range(40):
        M = beta * M + am.gradient(W, emb, p)
        rho = beta * rho - p * torch.expm1(-am.gradients.item_losses(W, emb))
        W = am.step(W, M, lambda M: am.newton_schulz(M, coefficients="jordan"), math.sqrt(96))
    items = (emb.U.double() * rho[:, None]).T @ emb.V.double()
    spectra = [am.spectral.singular_values(X) for X in (M, items)]
    reach, alone = (memory.SHIPPED_SLOPE * (s[48] / s.norm()).item() for s in spectra)
    assert reach == pytest.approx(2.5, abs=0.1) and alone == pytest.approx(7.2, abs=0.2)
    assert (spectra[1].norm() / spectra[0].norm()).item() == pytest.approx(1, abs=0.1)
