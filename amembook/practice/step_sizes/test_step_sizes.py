"""The mathematics of `step-sizes`."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import amemlib as am
from amembook.practice import step_sizes

FLAWS = [
    (("shapes", "64x1024"), [4.0] * 5, "third", "not reproduced"),
    (("widths", 0), [5.0] * 5, "widths", "not reproduced"),
    (("batches", 4), [5.0, 5.0, 5.01, 5.0, 5.0], "batches", "not reproduced"),
    (("batches", 0), [2.0] * 5, "flat", "not reproduced"),
    (("power",), [0.5, 0.5, 0.51, 0.5, 0.5], "root", "not reproduced"),
    (("carried",), [[0.1, 0.1, 0.1]] * 5, "carried", "not reproduced"),
]
REFUSED = [("run_steps", 10), ("run_steps", 12)]


def test_the_vertex_of_a_parabola_is_found_and_an_end_is_none():
    x = np.arange(5.0)
    assert step_sizes.vertex(x, (x - 1.7) ** 2) == pytest.approx(1.7)
    assert np.isnan(step_sizes.vertex(x, x))


def test_the_law_of_all_items_is_that_of_the_population_and_its_minimum_is_one():
    problem = am.Problem.power_law(256, 32, 1.5)
    best, least = step_sizes.best_step(problem)
    assert step_sizes.best_step(problem, problem.frequencies)[0] == pytest.approx(best, abs=1e-3)
    law = am.equivalents.SpectralEquivalent.solve(problem.frequencies, 32)
    loss = lambda log_rate: float((law.values * law.counts) @ law.expected_losses(2.0**log_rate))
    assert least == pytest.approx(loss(best), rel=1e-3)
    assert min(loss(best - 0.2), loss(best + 0.2)) > least


def test_one_step_at_its_best_rate_has_the_least_loss_of_the_library():
    problem = am.Problem.power_law(200, 24, 1.5)
    emb = am.sample_embeddings(problem, 0)
    W = am.polar(am.initial_gradient(emb, problem.frequencies))
    best = step_sizes.best_log_rate(W, emb.U, emb.V, problem.frequencies)
    losses = [am.loss(2.0 ** (best + shift) * W, emb, problem.frequencies) for shift in (-0.4, 0, 0.4)]
    assert np.argmin(losses) == 1


def test_a_square_shape_is_the_step_of_a_memory_of_all_items():
    config = SimpleNamespace(n_items=256, alpha=1.5)
    shapes = [step_sizes.measure_shape(config, 32, 32, seed, "cpu")["best"] for seed in range(6)]
    steps = [step_sizes.measure_step(config, 32, 0, seed, "cpu")["best"] for seed in range(6)]
    assert np.mean(shapes) == pytest.approx(np.mean(steps), abs=0.15)


def test_scaling_the_inputs_scales_the_best_rate_of_a_polar_step_by_its_inverse():
    """Why rates for inputs of length √n are those for length one over √n."""
    problem = am.Problem.power_law(200, 24, 1.5)
    emb = am.sample_embeddings(problem, 0, dtype=torch.float64)
    p = problem.frequencies
    W = am.polar(am.initial_gradient(emb, p))
    best = [step_sizes.best_log_rate(W, emb.U, emb.V * scale, p) for scale in (1, 2)]
    assert best[0] - best[1] == pytest.approx(1, abs=1e-6)
