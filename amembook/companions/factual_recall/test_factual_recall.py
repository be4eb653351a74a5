"""The mathematics of `factual-recall`: the cone's capacity, the reduction of the flow, a polar step's paces."""

import math
from itertools import islice

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from amembook.companions.factual_recall import capacity, flow, network
from amembook.networks.adam import adam


def test_adam_is_the_textbooks():
    start = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    slope = lambda W: 4 * W**3 + (W > 0)
    ours = islice(adam([start], lambda _, weights: [slope(*weights).detach()], 0.05), 29, None)
    W, m, v = start.numpy().copy(), 0.0, 0.0
    for t in range(1, 31):
        G = 4 * W**3 + (W > 0)
        m, v = 0.9 * m + 0.1 * G, 0.999 * v + 0.001 * G**2
        W = W - 0.05 * (m / (1 - 0.9**t)) / np.sqrt(v / (1 - 0.999**t))
    assert np.abs(next(ours)[0].numpy() - W).max() < 1e-6
    with pytest.raises(ValueError, match="lr must be"):
        next(adam([start], lambda *_: [], 0.0))


@pytest.mark.parametrize("width", [0, 5])
def test_the_gradient_of_a_memory_is_autograds(width):
    U, V = (capacity.unit_rows(7, 3, 0, stream).double() for stream in (0, 1))
    shapes = [(width, 3), (3, width)] if width else [(3, 3)]
    draw = np.random.default_rng(1)
    weights = [torch.from_numpy(draw.standard_normal(shape)).requires_grad_() for shape in shapes]
    scores = capacity.memory_scores(weights, V, U)
    slopes = torch.autograd.grad(torch.nn.functional.cross_entropy(scores, torch.arange(7)), weights)
    with torch.no_grad():
        ours = capacity.gradients(weights, V, U)
    assert all(torch.allclose(a, b) for a, b in zip(slopes, ours, strict=True))


def test_the_distance_to_the_cone_is_that_of_the_nearest_point():
    g = np.random.default_rng([3, 4]).standard_normal((5, 4))
    direct = []
    for point in g:
        cuts = [{"type": "ineq", "fun": lambda x, j=j: x[0] - x[j]} for j in range(1, 4)]
        direct.append(minimize(lambda x, p=point: ((x - p) ** 2).sum(), point, constraints=cuts, tol=1e-12).fun)
    assert capacity.squared_distance(4, n_draws=5, seed=3) == pytest.approx(np.mean(direct), abs=1e-6)


def test_the_distance_in_few_dimensions_is_that_of_the_nearest_point():
    U = np.random.default_rng([0, 3, 0]).standard_normal((5, 3))
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    e, direct = np.eye(3)[0], 0.0
    for own in range(5):
        cuts = [{"type": "ineq", "fun": lambda y, j=j, own=own: (U[own] - U[j]) @ y} for j in range(5) if j != own]
        direct += minimize(lambda y: ((y - e) ** 2).sum(), np.zeros(3), constraints=cuts, tol=1e-12).fun
    assert capacity.cones_distance(5, 3, 1) == pytest.approx(direct / 3, abs=1e-6)
    # among two items a direction is in one half space and outside of the other
    assert capacity.cones_distance(2, 8, 400) == pytest.approx(1 / 8**2, rel=0.2)


def test_two_rivals_halve_the_line_and_many_cost_twice_the_logarithm():
    # of two items the cone is a half plane: half the draws are outside, at the distance of |N(0, 1)|
    assert capacity.squared_distance(2, n_draws=200_000) == pytest.approx(0.5, abs=0.01)
    ratios = [capacity.squared_distance(n, 2000) / (2 * math.log(n)) for n in (30, 300, 3000)]
    assert ratios == sorted(ratios) and 0.3 < ratios[0] < ratios[-1] < 1
    weights = 900
    n = capacity.cone_capacity(weights)
    assert n * capacity.squared_distance(round(n)) == pytest.approx(weights, rel=0.05)


def test_a_capacity_is_found_where_it_was_planted():
    asked = []
    stored = lambda n: asked.append(n) or n <= 137
    assert capacity.largest_stored(stored, 8, 0.04) == pytest.approx(137, rel=0.04)
    assert capacity.largest_stored(lambda n: n <= 3, 8, 0.04) == pytest.approx(3.5)
    assert len(asked) < 25


def test_a_memory_holds_few_items_and_not_many():
    assert capacity.is_stored(8, 8, 0, 500, 0.1, 0) and capacity.is_stored(20, 8, 16, 500, 0.03, 0)
    assert not capacity.is_stored(64, 8, 0, 300, 0.1, 0)


@pytest.mark.parametrize("sizes", [(8, 3, 2), (4, 6, 4), (16, 5, 4)])
def test_six_numbers_are_the_network(sizes):
    facts = flow.balanced_facts(*sizes, seed=1)
    whole = np.array(list(islice(flow.descend(facts, sizes[2], 0.05, 0.7, 0.4), 300)))
    assert np.abs(whole - list(islice(flow.reduced(*sizes, 0.05, 0.7, 0.4), 300))).max() < 1e-12
    assert whole[0, 0] == pytest.approx(math.log(sizes[1] * sizes[2])) and whole[-1, 0] < whole[0, 0]


def test_descent_follows_autograd():
    facts, lr = flow.balanced_facts(4, 3, 2, 0), 0.3
    V = torch.zeros(6, 7, dtype=torch.float64, requires_grad=True)
    k = torch.full((7,), 0.5, dtype=torch.float64, requires_grad=True)
    said = []
    for _ in range(5):
        logits = torch.stack([k[s] * V[:, s] + k[4 + r] * V[:, 4 + r] for s in range(4) for r in range(3)])
        loss = torch.nn.functional.cross_entropy(logits, facts.flatten())
        said.append(loss.item())
        slopes = torch.autograd.grad(loss, (V, k))
        V, k = ((X - lr * G).detach().requires_grad_() for X, G in zip((V, k), slopes, strict=True))
    assert [loss for loss, *_ in islice(flow.descend(facts, 2, 0.5, lr, lr), 5)] == pytest.approx(said, abs=1e-12)


def test_the_ratio_of_times_is_that_of_the_rates_for_a_small_start_and_small_steps():
    sizes, errors = (32, 8, 4), []
    for start, lr in ((1e-5, 1.0), (1e-5, 0.5)):
        curve = np.array(list(islice(flow.reduced(*sizes, start, lr, lr), round(2000 / lr))))
        relation, answer = flow.stage_times(curve)
        errors.append(abs(answer / relation / flow.time_ratio(*sizes) - 1))
    assert errors[1] < errors[0] < 0.02


def test_the_first_gradient_falls_into_two_orthogonal_parts():
    S, R, D = 16, 5, 4
    facts = flow.balanced_facts(S, R, D, 0)
    B = flow.subject_part(facts, D)
    relations = torch.kron(torch.eye(R).double(), torch.ones(D, 1).double()) - 1 / R
    assert (relations.T @ B).abs().max() < 1e-12
    assert torch.linalg.matrix_norm(B).square().item() == pytest.approx(S * R * (1 - 1 / D))
    assert torch.linalg.svdvals(relations)[: R - 1].tolist() == pytest.approx([math.sqrt(D)] * (R - 1))
    step = flow.level(torch.cat([B / (S * R), relations / (R * D)], 1))
    contrast = (step[:, S] * (relations[:, 0] > 0)).sum() / D - (step[:, S] * (relations[:, 0] < 0)).sum() / (R * D - D)
    assert contrast.item() == pytest.approx(1 / math.sqrt(D))
    assert (step[:, :S] * B).sum().item() == pytest.approx(torch.linalg.matrix_norm(B, "nuc").item())


def test_stage_times_on_a_planted_curve():
    curve = np.array([(0, 0.1, 0), (0, 0.95, 0.3), (0, 0.99, 0.6), (0, 1.0, 0.92)])
    assert flow.stage_times(curve) == (1.0, 3.0)
    assert math.isnan(flow.stage_times(curve[:2])[1])


def test_a_network_learns_a_few_facts_and_attention_that_cannot_store_does_not():
    sizes = 4, 2, 16
    assert network.train_recall(*sizes, 4, 4, 0, 300, 0.02, 0.995, 0) == 1
    assert network.train_recall(*sizes, 0, 4, 0, 300, 0.02, 0.995, 0) < 0.9


def test_every_context_holds_its_fact():
    tokens = next(network.contexts(3, 5, 0))
    for n, row in enumerate(tokens.tolist()):
        assert row.count(n // 5) == 1 and row.count(3 + n % 5) == 1
        assert sum(8 <= token < 8 + network.NOISE for token in row) == network.LENGTH - 2


FLAWS = [
    (("linear", "counts", 4), 150.0, "linear", "not reproduced"),
    (("linear", "exponent"), 0.7, "linear", "not reproduced"),
    (("linear", "counts", 4), 150.0, "linear", "not reproduced", "linear"),
    (("linear", "counts", 4), 150.0, "cones", "not reproduced", "linear"),
    (("mlp", "dim_exponent"), 0.1, "mlp", "not reproduced"),
    (("flow", "difference", 1), 1e-3, "sequence", "not reproduced"),
    (("flow", "learnt", "ratio", 0, 2), 8.0, "sequence", "not reproduced"),
    (("flow", "plateau", 0, 1), 2.0, "plateau", "not reproduced"),
    (("uniform", "polar", 1, 1), 0.5, "uniform", "not reproduced"),
    (("flow", "learnt", "ratio", 0, 2), 8.0, "sequence", "not reproduced", "tables"),
    (("learnt",), [[1.0, 0.0, 0.0]] + [[0.0, 0.0, 0.0]] * 3, "either", "not reproduced"),
]
REFUSED = [("heads", (1, 2)), ("n_subjects", (5,))]


def test_facts_that_do_not_come_out_even_are_refused():
    with pytest.raises(ValueError, match="multiple of n_answers"):
        flow.balanced_facts(5, 3, 2, 0)
