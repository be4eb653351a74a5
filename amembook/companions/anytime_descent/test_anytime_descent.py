"""The mathematics of the study `anytime-descent`: schedules, worst cases, certificates, runs on the memory."""

import dataclasses

import numpy as np
import pytest
import torch

from amembook.companions.anytime_descent import certificate, measure, steps
from amemlib import Problem, gradient, sample_embeddings

RHO = steps.SILVER


def test_the_silver_schedule_is_its_own_join():
    for level in range(1, 7):
        block = steps.silver_block(level)
        assert len(block) == 2**level - 1 and block.sum() == pytest.approx(RHO**level - 1)
        half = steps.silver_block(level - 1)
        assert block == pytest.approx([*half, steps.join(half.sum(), half.sum()), *half])
    assert steps.join(0, 0) == pytest.approx(2**0.5) and steps.join(1e9, 0) == pytest.approx(2)


def test_blocks_are_joined_as_often_as_they_should():
    rates = steps.anytime(31, 5.0)
    assert rates[5:31:2].min() > 1.8 and rates[6:31:2] == pytest.approx(2**0.5)
    assert steps.anytime(1000, 5.0)[:31] == pytest.approx(rates)
    total = 0.0
    for rate in rates[:5]:
        assert rate == pytest.approx(steps.join(total, 0.0))
        total += rate
    with pytest.raises(ValueError, match="schedule"):
        steps.schedule_of("golden", 3, 1.0)


def test_the_closed_forms_are_reached_by_huber_functions():
    rates = steps.silver_block(4)
    total = np.cumsum(rates)
    for t in range(len(rates)):
        for corner, law in (
            (1 / (2 * total[t] + 1), steps.slope_bound(rates)[t]),
            (1 / (total[t] - rates[t] + 1), steps.bounce_bound(rates)[t]),
        ):
            x = 1.0
            for rate in rates[: t + 1]:
                x -= rate * np.clip(x, -10, corner)
            value = x**2 / 2 if abs(x) <= corner or x < 0 else corner * x - corner**2 / 2
            assert value == pytest.approx(law)


def test_silvers_bounce_never_falls():
    bounces = steps.bounce_bound(steps.silver_block(12))[2 ** np.arange(12) - 1][1:]
    assert bounces == pytest.approx(np.full(11, 1 / (2 * RHO**2)))


def test_no_bounce_is_higher_than_the_slope_from_two_rho_on():
    above = [
        (steps.bounce_bound(r) / steps.slope_bound(r)).max() for r in (steps.anytime(2**14, c) for c in (4.5, 5.0))
    ]
    assert above[0] > 1 > above[1]


def test_the_exponent_is_that_of_the_paper_and_the_best_of_its_kind():
    assert pytest.approx(1.119, abs=1e-3) == steps.EXPONENT
    log = np.log2(RHO)
    powers = np.linspace(0.2, 3, 281)
    rates = np.minimum(2 * powers, 1 + powers) * log / (1 + powers * log)
    assert rates.max() == pytest.approx(steps.EXPONENT) and powers[rates.argmax()] == pytest.approx(1)


def test_a_certificate_is_a_proof_and_cannot_be_lowered():
    rates = steps.anytime(3, 5.0)
    proof = certificate.certify(rates)
    assert proof.bound == pytest.approx(steps.slope_bound(rates)[-1], rel=1e-6)
    left = certificate.residuals(rates, proof)
    assert left["multiplier"] >= 0 and left["eigenvalue"] >= 0 and left["flow"] < 1e-9
    low = dataclasses.replace(proof, bound=proof.bound * 0.99)
    assert certificate.residuals(rates, low)["eigenvalue"] < 0


def test_a_certificates_identity_holds_for_a_function_of_many_variables():
    rates = np.array([1.5, 1.8])
    proof = certificate.certify(rates)
    generator = np.random.default_rng(0)
    H = generator.standard_normal((4, 4))
    H = H @ H.T / np.linalg.eigvalsh(H @ H.T)[-1]
    x = [generator.standard_normal(4)]
    for rate in rates:
        x.append(x[-1] - rate * H @ x[-1])
    basis = np.stack([x[0], *(H @ point for point in x)])
    forms, weights = certificate.interpolation(rates)
    values = np.array([point @ H @ point / 2 for point in x])
    slacks = values @ weights - (forms * (basis @ basis.T)).sum((1, 2))
    assert (slacks >= -1e-12).all()
    form = np.tensordot(proof.multipliers, forms, 1)
    form[0, 0] += proof.bound
    left = proof.bound * x[0] @ x[0] - values[-1]
    assert left == pytest.approx(proof.multipliers @ slacks + (form * (basis @ basis.T)).sum(), abs=1e-9) and left >= 0


def test_random_functions_stay_below_the_bound():
    # and some come close: the draw is no easy one
    assert 0.9 < measure.measure_random(40, 5, 5.0, 0)["above"] <= 1


def test_the_memorys_constant_is_a_bound_and_its_steps_are_the_librarys():
    measured = measure.measure_memory(12, 6, 1.5, 3, 5.0, [1], [1.0], 0)
    problem = Problem.power_law(12, 6, 1.5)
    emb = sample_embeddings(problem, 0, dtype=torch.float64)
    q = problem.frequencies
    largest = torch.linalg.eigvalsh((emb.V * q[:, None]).T @ emb.V)[-1]
    L = float(largest * torch.cdist(emb.U, emb.U).square().max() / 4)
    W = torch.zeros(6, 6, dtype=torch.float64)
    for _ in range(7):
        W = W + gradient(W, emb, q) / L
    scores = emb.V @ W.T @ emb.U.T
    loss = ((scores.logsumexp(1) - scores.diagonal()) @ q).item()
    assert measured["loss"]["constant"][-1] == pytest.approx(loss)
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        W, change = (torch.randn(6, 6, generator=generator, dtype=torch.float64) * s for s in (2.0, 1e-4))
        bend = ((gradient(W, emb, q) - gradient(W + change, emb, q)) * change).sum() / change.square().sum()
        assert 0 <= bend <= L


def test_silver_does_not_bounce_on_the_memory():
    """One run: the loss falls at every step, and the longest one is below what the curvature then allows."""
    problem = Problem.power_law(128, 32, 1.5)
    emb = sample_embeddings(problem, 0, dtype=torch.float64)
    U, V, q = emb.U, emb.V, problem.frequencies
    L = float(torch.linalg.eigvalsh((V * q[:, None]).T @ V)[-1] * torch.cdist(U, U).square().max() / 4)
    W, losses, rates = torch.zeros(32, 32, dtype=torch.float64), [], steps.silver_block(8)
    for rate in rates:
        scores = V @ W.T @ U.T
        losses.append(float((scores.logsumexp(1) - scores.diagonal()) @ q))
        if rate == rates.max():
            share, x = scores.softmax(1), torch.ones(32, 32, dtype=torch.float64)
            for _ in range(60):
                spread = share * (V @ (x / x.norm()).T @ U.T)
                x = ((spread - share * spread.sum(1, keepdim=True)) @ U).T @ (q[:, None] * V)
            assert rate == pytest.approx(199, abs=0.1) and 2 * L / x.norm() == pytest.approx(242, abs=1)
        W = W + rate / L * gradient(W, emb, q)
    assert np.diff(losses).max() < 0


FLAWS = [
    (("envelope", "anytime", 1), 0.011, "envelope", "not reproduced"),
    (("exponent", "anytime"), -1.0, "envelope", "not reproduced"),
    (("certified", "anytime", 3), 0.06, "certificate", "not reproduced"),
    (("random",), 1.01, "certificate", "not reproduced"),
    (("least",), -1e-6, "certificate", "not reproduced"),
    (("exponent", "silver"), -0.5, "plain", "not reproduced"),
    (("bounces", "silver", 3), 0.08, "plain", "not reproduced"),
    (("same_sum", "silver", 0), 0.9, "sums", "undecided"),
    (("same_sum", "silver"), [0.8] * 5, "sums", "not reproduced"),
    (("ratio",), [0.5] * 5, "muon", "not reproduced"),
    (("same_sum", "dynamic"), [0.8] * 20, "sums", "not reproduced", "memory"),
    (("ratio",), [0.5] * 20, "muon", "not reproduced", "memory"),
    (("last_items", "dynamic"), [60.0] * 20, "ahead", "not reproduced", "memory"),
]
