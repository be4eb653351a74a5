"""The mathematics of the study `two-sided`: weights, lists and steps, and what makes each verdict fail."""

from types import SimpleNamespace

import torch

import amemlib as am
from amembook.paper import two_sided
from amembook.run.claims import NOT_REPRODUCED
from amemlib.equivalents import balanced_whitener


def test_lists_are_what_they_are_called():
    sizes = SimpleNamespace(n_items=50, flat_items=4)
    assert torch.equal(two_sided.case_frequencies("power 1.5", sizes), am.Problem.power_law(50, 1, 1.5).frequencies)
    assert torch.equal(two_sided.case_frequencies("flat", sizes), torch.full((4,), 0.25, dtype=torch.float64))


def test_the_balanced_step_whitens_both_sides():
    problem = am.Problem.power_law(200, 12, 1.5)
    emb, p = am.sample_embeddings(problem, seed=0), problem.frequencies
    a = torch.from_numpy(balanced_whitener(p, 12).weights(p.numpy()))
    U = emb.U.double() - emb.U.double().mean(0)
    back = (
        (U.T @ (a[:, None] * U)) @ two_sided.balanced_step(emb, p) @ (emb.V.double().T @ (a[:, None] * emb.V.double()))
    )
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
