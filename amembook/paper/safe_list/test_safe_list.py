"""The mathematics of the study `safe-list`: what is safe, and that no list is the plan's or the paper's step."""

import numpy as np
import torch

import amemlib as am
from amembook.paper import safe_list
from amembook.run.claims import NOT_REPRODUCED
from amemlib.recovery import margins

PROBLEM = am.Problem.power_law(512, 24, 1.5)
EMB = am.sample_embeddings(PROBLEM, 0, dtype=torch.float64)
P = PROBLEM.frequencies
W = am.polar(am.thresholded_gradient(EMB, P, 0))


def test_safe_is_recalled_by_the_margin():
    for margin in (0.0, 2.0):
        listed = safe_list.safe(W, EMB, margin, 300)
        assert torch.equal(listed[:300], (margins(W, EMB) > margin / 24**0.5)[:300])
        assert listed.sum() <= am.capacity(W, EMB)
        assert not listed[300:].any()


def test_a_step_of_sgd_leaks_by_one():
    w = P.clone()
    w[:40] = 0
    G = am.thresholded_gradient(EMB, w, 0)
    step = safe_list.move("sgd", G, w)
    torch.testing.assert_close(step, G * float(step.norm() / G.norm()))
    schedule = am.equivalents.half_recovered_sgd_schedule(P, 24, 3)
    left = P * (torch.arange(512) >= schedule.removed[2])
    G = am.thresholded_gradient(EMB, left, 0)
    torch.testing.assert_close(safe_list.move("sgd", G, left), schedule.learning_rates[2] * G)


REFUSED = [("asked", 40_000)]
FLAWS = [
    (("counts", "muon safe"), lambda old: (np.array(old) / 2).tolist(), "further", NOT_REPRODUCED),
    (("counts", "muon safe"), lambda old: np.flip(old, 2).tolist(), "goes_on", NOT_REPRODUCED),
    (("counts", "sgd plan"), lambda old: np.sort(old, 2).tolist(), "stops", NOT_REPRODUCED),
]
