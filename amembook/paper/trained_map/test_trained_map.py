"""The mathematics of the study `trained-map`: what it contains, what turns with it, what training moves."""

import pytest
import torch

import amemlib as am
from amembook.paper import trained_map
from amembook.run.claims import NOT_REPRODUCED

PROBLEM = am.Problem.power_law(512, 24, 1.5)
EMB = am.sample_embeddings(PROBLEM, 0, dtype=torch.float64)
Q = PROBLEM.frequencies
G = am.initial_gradient(EMB, Q)


def pure(start):
    """Parameters of the start alone, without noise and other heads."""
    parameters = {name: x.detach().clone() for name, x in trained_map.start_at(start, 0, noise=0).items()}
    parameters["heads"][1:] = 0
    parameters["again"] *= 0
    return parameters


@pytest.mark.parametrize(("start", "own"), [("polar", am.polar(G)), ("matched", am.matched_filter(EMB, Q))])
def test_the_map_contains_what_it_starts_from(start, own):
    W = trained_map.trained_map(pure(start), G, EMB.V, Q)
    assert float((W * own).sum() / (W.norm() * own.norm())) > 1 - 1e-3


def test_a_turn_of_inputs_and_outputs_turns_the_map():
    generator = torch.Generator().manual_seed(1)
    left, right = (torch.linalg.qr(torch.randn(24, 24, generator=generator, dtype=torch.float64)).Q for _ in range(2))
    parameters = {name: x.detach() for name, x in trained_map.start_at("polar", 3, noise=0.3).items()}
    W = trained_map.trained_map(parameters, G, EMB.V, Q)
    turned = trained_map.trained_map(parameters, left @ G @ right.T, EMB.V @ right.T, Q)
    torch.testing.assert_close(turned, left @ W @ right.T, rtol=0, atol=1e-6)


def test_a_cold_smooth_count_is_the_count():
    W = am.polar(G)
    assert float(trained_map.smooth_count(W, EMB.U, EMB.V, 1e-6, 512)) == pytest.approx(am.capacity(W, EMB))


def test_training_raises_the_smooth_count_of_other_draws():
    q = am.Problem.power_law(128, 12, 1.5).frequencies
    parameters, objective = trained_map.train("polar", q, 12, 60, 4, 0.05, 0)
    assert objective[1] > objective[0] + 1
    assert all(bool(x.isfinite().all()) for x in parameters.values())


REFUSED = [("seeds", 21)]
FLAWS = [
    (("over_matched", "matched", 0), 1.2, "none_beats", NOT_REPRODUCED),
    (("over_polar", "polar", 0), 0.5, "learns", NOT_REPRODUCED),
]
