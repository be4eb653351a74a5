"""The mathematics of the study `whitening`: every step is what its name says, and what makes each verdict fail."""

from types import SimpleNamespace

import pytest
import torch

import amemlib as am
from amembook.paper.whitening import measure
from amembook.run.claims import NOT_REPRODUCED


def test_every_step_is_what_its_name_says():
    embs = [am.Embeddings(emb.U.double(), emb.V.double()) for emb in measure.family(300, 16, 0, "cpu")]
    assert len(embs) == measure.SIBLINGS and all(torch.equal(emb.V, embs[0].V) for emb in embs)
    steps, emb, p = measure.one_gradient_steps(1.5, embs), embs[0], am.Problem.power_law(300, 16, 1.5).frequencies
    assert tuple(steps) == measure.STEPS
    G = am.initial_gradient(emb, p)
    U, inputs = emb.U - emb.U.mean(0), emb.V.T @ (p[:, None] * emb.V)
    torch.testing.assert_close(steps["newton"] @ inputs, G, rtol=0, atol=1e-12)
    torch.testing.assert_close((U.T @ (p[:, None] * U)) @ steps["kfac"] @ inputs, G, rtol=0, atol=1e-11)
    both = steps["matched"] / steps["matched"].norm() + 0.6 * steps["newton"] / steps["newton"].norm()
    torch.testing.assert_close(steps["mixed"] / steps["mixed"].norm(), both / both.norm())
    gram = sum(X.T @ X for X in (am.initial_gradient(one, p) for one in embs))
    torch.testing.assert_close(steps["siblings"] @ gram, G, rtol=0, atol=1e-10)
    root = torch.linalg.solve(G, steps["siblings_half"])
    torch.testing.assert_close(root @ root @ gram, torch.eye(16, dtype=torch.float64), rtol=0, atol=1e-8)
    for name, of in (("polar_kfac", "kfac"), ("polar_matched", "matched"), ("newton_muon", "newton")):
        torch.testing.assert_close(steps[name], am.polar(steps[of]))


def test_losses_fall_from_nothing_known_and_items_are_counts():
    sizes = SimpleNamespace(alphas=[1.5], rates=[0.01, 1.0], loss_items=256, loss_dim=16)
    losses = measure.measure_losses(sizes, 0, "cpu")["losses"]
    counts = measure.measure_steps(sizes, 16, 256, 0, "cpu")["counts"]
    for name in measure.STEPS:
        assert losses[name][0][0] == pytest.approx(torch.tensor(256.0).log().item(), rel=0.05)
        assert 0 <= counts[name][0] <= 256
    assert losses["polar"][0][1] < 0.7 * losses["polar"][0][0]


def times(factor):
    return lambda value: value * factor


FLAWS = [
    *(
        (("counts", name, 1, 1), times(factor), name, NOT_REPRODUCED)
        for name in ("kfac", "matched", "mixed")
        for factor in (0.85, 1.15)
    ),
    (("damped", "matched", 1, 2), times(1.2), "damped", NOT_REPRODUCED),
    (("batches", "ratio", "kfac", 1, 0), times(0.8), "batches", NOT_REPRODUCED),
    (("lead", "mixed polar", 0, 1), 0.8, "ahead", NOT_REPRODUCED),
    (("lead", "kfac polar_kfac", 1, 1), 0.8, "no_polar_after", NOT_REPRODUCED),
    (("loss_lead", "mixed polar", 1), 0.5, "less_loss", NOT_REPRODUCED),
    (("loss_lead", "polar kfac", 1), 0.1, "ruined", NOT_REPRODUCED),
]
