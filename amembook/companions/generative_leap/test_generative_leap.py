"""The mathematics of the study `generative-leap`: Hermite tensors, the U-statistic, orders of tasks, the spiked law."""

import itertools
import math

import numpy as np
import pytest
import torch

from amembook.companions.generative_leap import expected, measure, tensors
from amembook.companions.generative_leap.tensors import TASKS
from amemlib import Problem, initial_gradient, sample_embeddings


def dense_hermite(x, order):
    """He_k(x) as a tensor, by He_k = x ⊗ He_{k−1} less all contractions of x's new index."""
    d, eye = len(x), np.eye(len(x))
    if order == 0:
        return np.array(1.0)
    T = np.multiply.outer(x, dense_hermite(x, order - 1))
    if order >= 2:
        lower = dense_hermite(x, order - 2)
        for j in range(1, order):
            T = T - np.moveaxis(np.multiply.outer(eye, lower), 1, j)
    return T.reshape((d,) * order)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_the_sums_are_those_of_hermite_tensors(order):
    X = np.random.default_rng(0).standard_normal((7, 4))
    weights = np.linspace(0.5, 2, 7)
    tensors_of = [w * dense_hermite(x, order) for x, w in zip(X, weights, strict=True)]
    if order == 4:
        tensors_of = [np.einsum("abcc->ab", T) for T in tensors_of]
    flat = [T.reshape(4, -1) for T in tensors_of]
    T, D = tensors.hermite_sums(X, order, weights)
    assert pytest.approx(sum(flat) @ sum(flat).T) == T @ T.T
    assert pytest.approx(sum(F @ F.T for F in flat)) == D


def test_the_statistic_has_pairs_of_two_samples_alone_and_can_be_added_up():
    X = np.random.default_rng(1).standard_normal((9, 3))
    bins = np.array([0, 1, 1, 0, 0, 1, 0, 1, 1])
    M = tensors.statistic(tensors.accumulate({}, X, bins, 2))
    pairs = np.zeros((3, 3))
    for i, j in itertools.permutations(range(9), 2):
        if bins[i] == bins[j]:
            pairs += dense_hermite(X[i], 2) @ dense_hermite(X[j], 2) / (bins == bins[i]).sum()
    assert pytest.approx(pairs / 9) == M
    half = tensors.accumulate({}, X[:4], bins[:4], 2)
    assert pytest.approx(M) == tensors.statistic(tensors.accumulate(half, X[4:], bins[4:], 2))


def test_labels_leave_the_orders_that_the_tasks_say():
    """Means over bins: none below k*, some at k*; of the cubic the information exponent is 3 and k* is 1."""
    z = np.random.default_rng(2).standard_normal((200_000, 3))
    for task, (label, directions, order) in TASKS.items():
        y = label(z[:, :directions])
        bins = tensors.bins_of(y, 8)
        # of three directions z₁² − 1 is the order 2 of the leap and z₁z₂z₃ the order 3 of the sign
        values = {1: [z[:, 0]], 2: [z[:, 0] ** 2 - 1], 3: [z[:, 0] ** 3 - 3 * z[:, 0], z.prod(1)]}
        values[4] = [z[:, 0] ** 4 - 6 * z[:, 0] ** 2 + 3]
        means = {
            k: max(np.abs(np.bincount(bins, v) / np.bincount(bins)).max() for v in values[k])
            for k in range(1, order + 1)
        }
        assert means[order] > 0.3, task
        assert all(means[k] < 0.1 for k in range(1, order)), (task, means)
    assert abs((z[:, 0] * TASKS["cubic"].label(z[:, :1])).mean()) < 0.03


def test_the_bump_leaves_nothing_of_order_two():
    """E[z² − 1 | y] ∝ Σ sign(t − 1) t^(−1/2) e^(t/2) over the two roots t of t e^(−t) = y: each term is ± y^(−1/2)."""
    for t in (0.1, 0.5, 0.9):
        y, low, high = t * math.exp(-t), 1.0, 60.0
        while high - low > 1e-13 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if middle * math.exp(-middle) > y else (low, middle)
        terms = [math.copysign(1, s - 1) * s**-0.5 * math.exp(s / 2) for s in (t, low)]
        assert sum(terms) == pytest.approx(0, abs=1e-9) and terms[1] == pytest.approx(y**-0.5)


def test_the_second_pass_of_a_leap_leaves_what_the_first_did_not():
    """E[z₂z₃ | y] = 0, and not so given z₁ as well."""
    z = np.random.default_rng(3).standard_normal((400_000, 3))
    bins = tensors.bins_of(TASKS["leap"].label(z), 8)
    joint = bins * 2 + tensors.bins_of(z[:, 0], 2)
    z23 = z[:, 1] * z[:, 2]
    assert np.abs(np.bincount(bins, z23) / np.bincount(bins)).max() < 0.03
    counts = np.bincount(joint)
    assert (np.bincount(joint, z23)[counts > 0] ** 2 / counts[counts > 0]).sum() / len(z) > 0.05


def test_the_law_is_that_of_a_spiked_gaussian_matrix():
    d, bins, level = 200, 8, 0.5
    n, (strength, count) = expected.samples("quartic", d, bins, level), expected.strength("quartic", bins)
    generator, overlaps = np.random.default_rng(0), []
    for _ in range(6):
        S = generator.standard_normal((d, count * d)) / math.sqrt(n)
        S[0] += math.sqrt(strength / (count * d))
        overlaps.append(np.linalg.svd(S, full_matrices=False)[0][0, 0] ** 2)
    assert np.mean(overlaps) == pytest.approx(level, abs=0.07)


def test_partial_traces_have_the_variance_of_the_law():
    d = 12
    X = np.random.default_rng(4).standard_normal((200_000, d))
    entry = ((X * X).sum(1) - d - 4) * X[:, 0] * X[:, 1]
    assert entry.var() == pytest.approx(expected.shape("bump", d, 8)[1], rel=0.05)


def test_an_overlap_is_one_for_the_subspace_and_nothing_by_chance():
    eye = np.eye(40)
    assert tensors.overlap(eye[:, :3], 3) == pytest.approx(1)
    Q = [np.linalg.qr(np.random.default_rng(k).standard_normal((40, 3)))[0] for k in range(300)]
    assert np.mean([tensors.overlap(V, 3) for V in Q]) == pytest.approx(0, abs=0.01)


def test_the_memorys_gradient_is_the_statistic_of_order_one():
    """−∇L = Σ_b (u_b − ū) T_bᵀ/n: a label is an item, a sample's x its key."""
    problem = Problem.power_law(20, 8, 1.5)
    emb = sample_embeddings(problem, 0, dtype=torch.float64)
    items = np.random.default_rng(5).integers(20, size=50)
    T = np.stack([tensors.hermite_sums(emb.V.numpy()[items[items == b]], 1)[0][:, 0] for b in range(20)])
    q = torch.from_numpy(np.bincount(items, minlength=20) / 50)
    ours = (emb.U - emb.U.mean(0)).T @ torch.from_numpy(T) / 50
    assert torch.allclose(initial_gradient(emb, q), ours)


def test_a_crossing_is_reported_or_said_to_be_missing():
    needed = measure.measure_samples("cubic", 12, 8, 0.5, 0)["samples"]
    assert 0.8 * 12 <= needed <= 25 * 12
    assert math.isnan(measure.measure_samples("cubic", 12, 8, 0.9999, 0)["samples"])


def test_gaussian_tensors_need_what_the_spiked_matrix_says():
    drawn = [measure.gaussian_samples(24, 0.5, seed) for seed in range(12)]
    assert np.mean(drawn) == pytest.approx(expected.samples("sign", 24, 8, 0.5), rel=0.2)


FLAWS = [
    (("slope", "cubic"), 1.3, "cubic", "not reproduced"),
    (("samples", "cubic", 1), 9000.0, "cubic", "not reproduced"),
    (("samples", "bump", 0), 10.0, "bump", "not reproduced"),
    (("controls", "sign, order 3"), -0.5, "controls", "not reproduced"),
    (("interval", "leap"), [1.4, 1.5], "leap", "not reproduced"),
    (("interval", "quartic"), [1.4, 1.5], "quartic", "not reproduced"),
]
