"""The mathematics of `optimizers`."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

import amemlib as am
from amembook.networks import updates
from amembook.networks.adam import adam as shared_adam
from amembook.practice import optimizers
from amembook.practice.optimizers import expected

FLAWS = [
    (("sign", "sign", "1.5", 1), 32.0, "sign", "not reproduced"),
    (("logits", "signal", "1.5", 2, 0), 400.0, "logits", "not reproduced"),
    (("rank", "low_rank", "1.5", 1, 1), 186.0, "rank", "not reproduced"),
    (("rank", "warm", "1.5", 1, 1), 350.0, "dion", "not reproduced"),
    (("distance", "soap"), 0.5, "identities", "not reproduced"),
    (("loss", "batch_16", "muon"), 1.5, "momentum", "not reproduced"),
]
REFUSED = [("batch_sizes", (100,)), ("fractions", (1.5,))]


def gradients(count, dim=12, seed=0):
    generator = np.random.default_rng(seed)
    return [torch.from_numpy(generator.standard_normal((dim, dim))) for _ in range(count)]


@pytest.mark.parametrize("name", ["muon", "normuon", "shampoo", "one_sided_shampoo", "muon_without_momentum"])
def test_the_first_step_is_the_polar_factor(name):
    (G,) = gradients(1)
    torch.testing.assert_close(updates.UPDATES[name]({}, G)[1], am.polar(G), atol=1e-6, rtol=0)


def test_soaps_first_step_is_the_polar_factor_unless_rounding_is_as_large_as_epsilon():
    (G,) = gradients(1)
    torch.testing.assert_close(updates.soap_at_once(G), am.polar(G), atol=1e-3, rtol=0)
    off = (updates.soap_at_once(G.float(), 1e-12).double() - am.polar(G)).abs().max()
    assert off > 0.1
    state, step = updates.soap({}, G)
    assert not step.any() and not updates.soap(state, G)[1].isnan().any()


def test_adams_first_step_is_the_sign_and_the_next_ones_are_adams():
    many = gradients(3)
    assert torch.equal(updates.adam({}, many[0])[1].round(), many[0].sign())
    state, W = {}, torch.zeros_like(many[0])
    for G in many:
        state, step = updates.adam(state, G)
        W = W + 0.1 * step
    parts = {"M": (updates.ADAM_FIRST, 1), "V": (updates.SECOND, 2)}
    for name, (beta, power) in parts.items():
        slow = sum((1 - beta) * beta ** (2 - k) * G**power for k, G in enumerate(many))
        torch.testing.assert_close(state[name], slow)
    # the library's Adam has the second average's own default; one step of both is the same
    first = next(shared_adam([torch.zeros_like(W)], lambda step, weights: [-many[0]], 0.1))[0]
    torch.testing.assert_close(first, 0.1 * updates.adam({}, many[0])[1], atol=1e-4, rtol=0)


def test_normuon_keeps_the_norm_and_brings_the_rows_to_one_length():
    G = torch.from_numpy(np.random.default_rng(1).standard_normal((20, 6)))
    O, step = am.polar(G), updates.normuon({}, G)[1]  # noqa: E741
    lengths = step.norm(dim=1)
    torch.testing.assert_close(lengths, torch.full_like(lengths, float(O.norm()) / 20**0.5))


def test_dion_at_its_fixed_point_is_the_polar_factor_of_a_low_rank():
    (G,) = gradients(1)
    P, s, Qh = torch.linalg.svd(G)
    state, step = updates.dion({"M": torch.zeros_like(G), "Q": Qh[:3].mT.contiguous()}, G, 0.25)
    torch.testing.assert_close(step, P[:, :3] @ Qh[:3])
    rest = G - (1 - updates.FIRST) * P[:, :3] @ torch.diag(s[:3]) @ Qh[:3]
    torch.testing.assert_close(state["M"], rest)


def test_the_dense_gradient_is_the_librarys():
    problem = am.Problem.power_law(60, 8, 1.5)
    emb = am.sample_embeddings(problem, 0)
    q = am.sample_minibatch(problem, 20, 1)
    W = gradients(1, 8)[0]
    torch.testing.assert_close(optimizers.dense_gradient(W, emb, q), am.gradient(W, emb, q), atol=1e-6, rtol=1e-4)


def test_the_signs_deviations_add_up_and_its_signal_is_that_of_simulated_entries():
    q = am.Problem.power_law(300, 8, 1.5).frequencies
    law = expected.SignLaw.solve(q, 200)
    # Σ_j E w_j = 1: against the rarest item, whose own weight is next to nothing
    assert ((law.rivals[-1] - 1) * law.counts).sum() == pytest.approx(2 * 200 / math.pi, rel=0.01)
    h = np.random.default_rng(0).standard_normal((40_000, 300))
    S = h**2 @ q.numpy() ** 2
    for rank in (0, 3, 30):
        weight = q[rank].item()
        signal = 200 * math.sqrt(2 / math.pi) * np.mean(weight * h[:, rank] ** 2 / np.sqrt(S))
        assert np.interp(weight, law.values[::-1], law.signal[::-1]) == pytest.approx(signal, rel=0.04)
    head = 1 + 4 * 200 / math.pi * np.mean(q[0].item() ** 2 * h[:, 0] ** 4 / S)
    own = head - 2 * law.signal[0] ** 2 / 200
    assert law.own[0] == pytest.approx(own, rel=0.05)


def test_counts_of_the_sign_and_of_low_ranks_meet_the_prediction_at_sizes_that_no_record_has():
    problem = am.Problem.power_law(2000, 256, 1.2)
    sign, low = [], []
    for seed in range(6):
        emb = am.sample_embeddings(problem, seed)
        G = am.initial_gradient(emb, problem.frequencies)
        sign.append(am.capacity(G.sign(), emb))
        if seed < 2:
            P, _, Qh = torch.linalg.svd(G)
            low.append(am.capacity(P[:, :100] @ Qh[:100], emb))
    law = expected.SignLaw.solve(problem.frequencies, 256).capacity()
    assert abs(np.mean(sign) - law) <= 0.05 * law + 2 * np.std(sign, ddof=1) / 6**0.5
    assert np.mean(low) == pytest.approx(expected.low_rank_capacity(problem, 100 / 256), rel=0.08)


def test_the_whole_rank_is_muon():
    problem = am.Problem.power_law(1000, 64, 1.5)
    whole = expected.low_rank_capacity(problem, 1.0)
    assert whole == pytest.approx(am.expected_capacity(problem, "polar"), rel=0.03)
    with pytest.raises(ValueError, match="fraction"):
        expected.low_rank_capacity(problem, 1.1)


def test_rank_correlations_and_their_chance():
    a, b = [1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 6]
    assert expected.spearman(a, b) == pytest.approx(spearmanr(a, b).statistic)
    assert expected.spearman_chance(a, a) == pytest.approx(1 / 720)
    assert expected.spearman_chance(a, a[::-1]) == 1
    # the tables of critical values: 0.829 at six, 0.643 at eight, one-sided at 5 %
    assert expected.least_significant(6) == pytest.approx(0.829, abs=1e-3)
    assert expected.least_significant(8) == pytest.approx(0.643, abs=1e-3)
