"""The mathematics of the study `zoo`: every map is what its name says, and what makes each verdict fail."""

from types import SimpleNamespace

import pytest
import torch

import amemlib as am
from amembook.paper.zoo import STEPS, measure, speedrun
from amembook.paper.zoo.maps import NAMES, kaon
from amembook.run.claims import NOT_REPRODUCED


def instance():
    problem = am.Problem.power_law(300, 16, 1.5)
    emb = am.sample_embeddings(problem, seed=0)
    return problem, am.initial_gradient(emb, problem.frequencies)


def test_every_step_is_what_its_name_says():
    problem, G = instance()
    moves = measure.steps(G, measure.maps_of(300, 16, 1.5), 0)
    assert tuple(moves) == STEPS
    polar, s = am.polar(G), torch.linalg.svdvals(G)
    torch.testing.assert_close(moves["polar"], polar)
    top = float(problem.frequencies[0])
    inside = s < top
    value = lambda name: torch.linalg.svdvals(moves[name])
    for power in (0.1, 0.25, -0.1, -0.25, -0.5):
        f = measure.maps_of(300, 16, 1.5)[f"power_{power:g}"](s)[inside].log()
        slope = f.diff() / s[inside].log().diff()
        torch.testing.assert_close(slope, torch.full_like(slope, power), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(moves["contra"], 1.25 * polar - 0.25 * G / top, atol=0.25 * 0.3, rtol=0)
    assert value("random_half").min() >= 0.5 and value("random_half").max() <= 1.5
    for name, rows in (("rows_half", 8), ("rows_half_random", 8), ("rows_quarter", 4)):
        kept = moves[name].abs().sum(1) > 0
        assert kept.sum() == rows
        torch.testing.assert_close(moves[name][kept], am.polar(G[kept]))
    assert set(NAMES) == set(measure.maps_of(300, 16, 1.5))


def test_kaon_is_its_matrix_iteration():
    _, G = instance()
    X = G / G.norm()
    for _ in range(5):
        B = torch.eye(16) - X @ X.T
        X = 4.1 * B @ B @ X
    W = am.spectral.spectral_map(G, lambda s: kaon(s / G.norm()))
    torch.testing.assert_close(W, X / 1.175, rtol=1e-6, atol=1e-6)


def test_normuon_and_aurora_are_muon_on_a_square_and_balance_rows_of_a_tall_one():
    _, G = instance()
    for name in measure.BALANCED:
        torch.testing.assert_close(measure.balanced(G, name), am.polar(G), rtol=1e-9, atol=1e-9)
    tall = torch.randn(24, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    spread = {name: torch.linalg.vector_norm(measure.balanced(tall, name), dim=1) for name in measure.BALANCED}
    spread = {name: (rows.std() / rows.mean()).item() for name, rows in spread.items()}
    assert spread["normuon"] < 1e-12 and spread["aurora"] < spread["polar"] / 2
    whole = measure.balanced(tall, "aurora")
    torch.testing.assert_close(whole.T @ whole, torch.eye(6, dtype=torch.float64))


def test_a_tall_memory_counts_what_it_recovers():
    sizes = SimpleNamespace(tall_items=64, tall_rows=40, tall_columns=20, alphas=[1.5])
    counts = measure.measure_tall(sizes, 0, "cpu")["counts"]
    assert set(counts) == set(measure.BALANCED) and all(0 < one[0] <= 64 for one in counts.values())


def test_the_loss_law_is_the_smoothed_signs_where_the_map_is():
    problem = am.Problem.power_law(500, 64, 1.5)
    solved = am.equivalents.SpectralEquivalent.solve(problem.frequencies, 64)
    sharp = float(solved.counts * solved.values @ solved.expected_losses(16.0))
    law = am.equivalents.expected_map_loss(problem, torch.ones_like, 16.0)
    assert law == pytest.approx(sharp, rel=3e-3)


def test_at_equal_recipe_the_law_of_one_step_has_six_hits_of_eleven():
    fair = [row for row in speedrun.outcomes() if row["equal"] == "yes"]
    hits = sum(row["found"] == row["predicted"] for row in fair)
    same, known = (sum(row[key] == word for row in fair) for key, word in (("found", "same"), ("seen", "yes")))
    assert (len(fair), hits, same, known) == (11, 6, 7, 10)


def times(factor):
    return lambda value: value * factor


FLAWS = [
    *(
        (("ratio", name, 1, 1), times(factor), kind, NOT_REPRODUCED)
        for kind, name in (
            ("powers", "power_0.25"), ("near", "contra"), ("clipped", "clip_0.5"), ("scattered", "random_half"),
            ("rows", "rows_half"), ("chaotic", "kaon"), ("few_rows", "rows_quarter"),
        )
        for factor in (0.8, 1.25)
    ),
    (("ratio", "power_-0.5", 1, 1), times(2), "steep", NOT_REPRODUCED),
    (("loss", "contra", 1), times(1.2), "losses", NOT_REPRODUCED),
    (("ratio", "power_-0.1", 1, 1), 0.8, "ahead", NOT_REPRODUCED),
    (("tall", "aurora", 1), 1.2, "balanced", NOT_REPRODUCED),
]  # fmt: skip
