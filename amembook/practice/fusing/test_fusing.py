"""The mathematics of `fusing`."""

import numpy as np
import pytest
import torch

import amemlib as am
from amembook.practice import fusing
from amembook.practice.fusing import expected
from amemlib.equivalents.fixed_point import binned

FLAWS = [
    (("fused", 1, 0, 0), 200.0, "common", "not reproduced"),
    (("fused", 1, 0, 1), 900.0, "private", "not reproduced"),
    (("fused", 1, 0, 2), 900.0, "permuted", "not reproduced"),
    (("common_over_private", 1, 1), 3.0, "ratio", "not reproduced"),
    (("overlaps", 0), 1500.0, "overlaps", "not reproduced"),
    (("scales", 0), 100.0, "weak", "not reproduced"),
    (("small_over_single", 1), 0.5, "groups", "not reproduced"),
]
REFUSED = [("groups", (1, 4), "groups must divide heads = 6, got 4")]


def power_law(alpha: float, n_items: int) -> np.ndarray:
    return np.stack(binned(am.Problem.power_law(n_items, 1, alpha).frequencies, 0.02), 1)


def test_one_square_part_is_the_librarys_law():
    law = am.expected_capacity(am.Problem.power_law(2048, 128, 1.5), "polar")
    assert expected.expected_items(power_law(1.5, 2048), (128,), 128, 1.0)[0] == pytest.approx(law, rel=0.02)


def test_common_items_are_a_rectangle_cut_after_the_step():
    """h parts with all items in common: one memory of h d outputs, whose rows are read a block at a time."""
    q = power_law(1.5, 1024)
    law = expected.StackLaw.solve(np.repeat(q[:, :1], 3, 1), q[:, 1], (64,) * 3, 64)
    whole = expected.StackLaw.solve(q[:, :1] * np.sqrt(3), q[:, 1], (192,), 64)
    signal, *_, share = law.polar()
    np.testing.assert_allclose(np.sqrt(3) * signal[:, 0], whole.polar()[0][:, 0], rtol=1e-3)
    assert share.sum() == pytest.approx(3 * whole.polar()[-1][0], rel=1e-3)


def test_the_energy_of_the_parts_is_the_rank():
    q = power_law(1.25, 1024)
    weights = np.concatenate([q[:, :1] * [1, 0], q[:, :1] * [0, 0.1]])
    *_, share = expected.StackLaw.solve(weights, np.tile(q[:, 1], 2), (64, 48), 80).polar()
    assert share @ [64, 48] == pytest.approx(80, rel=0.01)


def test_signals_and_energies_are_those_of_a_drawn_stack():
    U, V = fusing.sample_stack("private", 0.0, 600, 48, 64, 2, 0, "cpu")
    p, scales = am.Problem.power_law(600, 1, 1.5).frequencies, (0.3, 1.0)
    G = torch.cat([s * (p[:, None] * U[b]).mT @ V[b] for b, s in enumerate(scales)])
    W = am.polar(G).split(48)
    q = np.stack([p.numpy(), np.ones(600)], 1)
    weights = np.concatenate([q[:, :1] * [0.3, 0], q[:, :1] * [0, 1]])
    signal, images, coimages, share = expected.StackLaw.solve(weights, np.ones(1200), (48, 48), 64).polar()
    for b in range(2):
        own = (U[b] * (V[b] @ W[b].mT)).sum(1).numpy()
        middle = slice(20, 200)
        assert own[middle].mean() == pytest.approx(signal[600 * b : 600 * (b + 1), b][middle].mean(), rel=0.06)
        assert float(W[b].square().sum()) / 48 == pytest.approx(share[b], rel=0.03)
        image = (V[b] @ torch.cat(W).mT).square().sum(1).numpy()
        coimage = (U[b] @ W[b]).square().sum(1).numpy()
        assert image[middle].mean() == pytest.approx(images[600 * b : 600 * (b + 1)][middle].mean(), rel=0.06)
        assert coimage[middle].mean() == pytest.approx(coimages[600 * b : 600 * (b + 1), b][middle].mean(), rel=0.06)


@pytest.mark.slow
def test_in_the_limit_common_is_to_private_as_a_power_of_the_parts():
    """x of h parts with one weight is that of one part with √h times it: P_c = P/h where private has P/h²."""
    q = power_law(1.5, 1024)
    ratio = expected.expected_items(q, (64,) * 3, 64, 1.0)[0] / expected.expected_items(q, (64,) * 3, 64, 0.0)[0]
    assert ratio == pytest.approx(expected.common_over_private(3, 1.5), rel=0.06)


def test_kinds_share_the_inputs_that_they_say():
    _, common = fusing.sample_stack("common", 0.5, 400, 4, 4, 3, 0, "cpu")
    same = (common[0] == common[1]).all(1)
    assert 0.4 < same.double().mean() < 0.6 and (same == (common[0] == common[2]).all(1)).all()
    _, permuted = fusing.sample_stack("permuted", 0.0, 400, 4, 4, 2, 0, "cpu")
    assert not (permuted[0] == permuted[1]).all()
    np.testing.assert_array_equal(*(np.sort(side[:, 0].numpy()) for side in permuted))
    _, private = fusing.sample_stack("private", 0.0, 400, 4, 4, 2, 0, "cpu")
    assert not (private[0] == private[1]).any()


def test_one_part_counts_what_the_library_counts():
    cell = fusing.measure_stack(300, 24, 24, 1.5, 1, "private", 0.0, 1.0, (1,), 0, "cpu")
    U, V = fusing.sample_stack("private", 0.0, 300, 24, 24, 1, 0, "cpu")
    emb = am.Embeddings(U[0], V[0])
    G = am.initial_gradient(emb, am.Problem.power_law(300, 24, 1.5).frequencies)
    assert cell["total"] == cell["first"] == [am.capacity(am.polar(G), emb)]
