"""The mathematics of the study `two-sided`: weights, lists and steps, and what makes each verdict fail."""

import numpy as np
import pytest
import torch

import amemlib as am
from amembook.paper.two_sided import measure
from amembook.run.claims import NOT_REPRODUCED
from amemlib.equivalents import balanced_whitener


def leverages(weights, dim):
    """λ = a τ / (1 + a τ) with Σ λ = d."""
    low, high = 1e-30, 1e30
    for _ in range(300):
        tau = (low * high) ** 0.5
        low, high = (tau, high) if (weights * tau / (1 + weights * tau)).sum() < dim else (low, tau)
    return weights * tau / (1 + weights * tau)


@pytest.mark.parametrize("alpha", [1.25, 2.0])
def test_balanced_weights_are_stationary_and_each_side_is_the_best_against_the_other(alpha):
    dim, p = 16, am.Problem.power_law(400, 16, alpha).frequencies
    a = balanced_whitener(p, dim).weights(p.numpy())
    p, lam = p.numpy(), leverages(a, dim)
    c = lam / (p**2 * (1 - lam) ** 3)
    assert np.allclose(c, c[0], rtol=0.03), "bins of a per cent"
    score = lambda x, y: (dim - (x**2).sum()) * (dim - (y**2).sum()) / (p**2 * (1 - x) ** 2 * (1 - y) ** 2).sum()
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = leverages(a * np.exp(rng.normal(size=len(a)) * 0.3), dim)
        assert score(other, lam) < score(lam, lam) * (1 + 1e-6)
    # both sides together: a saddle, items are split between them
    split = leverages(np.where(np.arange(len(p)) % 2, p**2, 0), dim)
    for _ in range(20):
        other = leverages(p**2 * (1 - split) ** 2, dim)
        split = leverages(p**2 * (1 - other) ** 2, dim)
    assert score(split, other) > 1.1 * score(lam, lam)


def test_lists_are_what_they_are_called():
    assert torch.equal(measure.case_frequencies("power 1.5", 50, 9), am.Problem.power_law(50, 1, 1.5).frequencies)
    assert torch.equal(measure.case_frequencies("flat", 50, 4), torch.full((4,), 0.25, dtype=torch.float64))


def test_the_balanced_step_whitens_both_sides():
    problem = am.Problem.power_law(200, 12, 1.5)
    emb, p = am.sample_embeddings(problem, seed=0), problem.frequencies
    a = torch.from_numpy(balanced_whitener(p, 12).weights(p.numpy()))
    U = emb.U.double() - emb.U.double().mean(0)
    back = (U.T @ (a[:, None] * U)) @ measure.balanced_step(emb, p) @ (emb.V.double().T @ (a[:, None] * emb.V.double()))
    torch.testing.assert_close(back, am.initial_gradient(emb, p), rtol=1e-6, atol=1e-9)


def times(factor):
    return lambda value: value * factor


FLAWS = [
    *(
        (("counts", name, case), times(factor), group, NOT_REPRODUCED)
        for name in ("matched", "mixed", "kfac", "balanced")
        for case, group in ((1, "power"), (3, "flat"), (4, "words"))
        for factor in (0.8, 1.25)
    ),
    (("loss_lead", "mixed", 1), 0.5, "less_loss", NOT_REPRODUCED),
    (("item_lead", "half_floor", 1), 0.5, "half_power", NOT_REPRODUCED),
]
