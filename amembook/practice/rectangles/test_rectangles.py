"""The mathematics of `rectangles`."""

import math

import numpy as np
import pytest
import torch

import amemlib as am
from amembook.practice.rectangles import expected, measure
from amemlib.equivalents import SpectralLaw

FLAWS = [
    (("counts", "polar", 2), 500.0, "shapes", "not reproduced", "many"),
    (("tiles", "polar", 1), 900.0, "tiles", "not reproduced", "many"),
    (("head", "polar", 0), 200.0, "head", "not reproduced", "many"),
]
REFUSED = [("shapes", ("64",)), ("tilings", ("3x1",))]


def test_a_square_is_the_librarys_law_and_its_count():
    problem = am.Problem.power_law(4096, 128, 1.5)
    law = expected.RectangleLaw.solve(problem.frequencies, 128, 128)
    known = SpectralLaw.solve(problem.frequencies, 128)
    q = np.array([1e-1, 1e-2, 1e-4])
    np.testing.assert_allclose(
        law.signal(torch.ones_like, q), known.signal(torch.ones_like, torch.from_numpy(q)), rtol=0.01
    )
    count = expected.expected_tiled_capacity(problem.frequencies, 128, 128)
    assert count == pytest.approx(am.expected_capacity(problem, "polar"), rel=0.03)


@pytest.mark.parametrize(("rows", "columns"), [(48, 160), (160, 48)])
def test_the_law_of_a_rectangle_has_its_rank_its_symmetry_and_its_images(rows, columns):
    p = am.Problem.power_law(2000, 8, 1.5).frequencies
    law = expected.RectangleLaw.solve(p, rows, columns)
    weights = law._weights()
    for side, dim in ((law.output, rows), (law.input, columns)):
        assert 2 / math.pi * dim * (side.real @ weights) == pytest.approx(min(rows, columns), rel=0.01)
    q = np.array([0.0, *p[[100, 10]].tolist()])
    images, coimages = law.images(torch.ones_like, q)
    # the smaller side keeps every vector's length, the larger one only the share that G sees of a rare item's
    whole, part = (images, coimages) if rows > columns else (coimages, images)
    np.testing.assert_allclose(whole, 1, atol=0.01)
    assert part[0] == pytest.approx(min(rows, columns) / max(rows, columns), rel=0.01) and part[2] > 0.9


@pytest.mark.slow
def test_counts_of_rectangles_and_tiles_meet_the_prediction_at_sizes_that_no_record_has():
    p = am.Problem.power_law(1500, 8, 1.4).frequencies
    for rows, columns, a, b in ((96, 192, 1, 1), (192, 96, 1, 1), (192, 96, 3, 1), (128, 128, 2, 4)):
        counts = []
        for seed in range(4):
            U, V = measure.sample_sides(1500, rows, columns, seed, "cpu")
            W = measure.tiled_polar(measure.first_gradient(U, V, p), a, b)
            counts.append(measure.recovered_items(V @ W.mT @ U.mT))
        law = expected.expected_tiled_capacity(p, rows, columns, a, b)
        assert abs(np.mean(counts) - law) <= 0.07 * law + np.std(counts, ddof=1), (rows, columns, a, b)


def test_tiles_are_polar_factors_and_dense_recovery_is_the_librarys():
    problem = am.Problem.power_law(200, 24, 1.5)
    emb = am.sample_embeddings(problem, 0, dtype=torch.float64)
    G = measure.first_gradient(emb.U, emb.V, problem.frequencies)
    torch.testing.assert_close(G, am.initial_gradient(emb, problem.frequencies))
    W = measure.tiled_polar(G, 1, 1)
    torch.testing.assert_close(W, am.polar(G))
    assert measure.recovered_items(emb.V @ W.mT @ emb.U.mT) == am.capacity(W, emb)
    torch.testing.assert_close(measure.tiled_polar(G, 2, 3)[12:, 8:16], am.polar(G[12:, 8:16]))


def test_the_two_learning_rate_scales_are_one_for_inputs_of_two_lengths():
    for rows, columns in ((64, 256), (256, 64), (128, 128)):
        original, matched = math.sqrt(max(1, rows / columns)), 0.2 * math.sqrt(max(rows, columns))
        # torch's "original" for inputs of length √n is its "match_rms_adamw" for inputs of length one, but for 0.2
        assert original * math.sqrt(columns) == pytest.approx(matched / 0.2)


def test_the_best_rate_is_found_inside_its_grid():
    logits = torch.diag(torch.ones(50)) + 0.1 * torch.randn(50, 50, generator=torch.Generator().manual_seed(0))
    best = measure.best_rate(logits, torch.full((50,), 0.02))
    assert best["loss"] < math.log(50) and best["rate"] >= measure.RATES[0]
