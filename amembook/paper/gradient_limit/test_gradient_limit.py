"""The mathematics of the study `gradient-limit`: a family of matrices, its maps, decoding with the outputs in sight."""

from types import SimpleNamespace

import pytest
import torch

import amemlib as am
from amembook.paper.gradient_limit import cancellation, counts
from amembook.run.claims import NOT_REPRODUCED


def test_a_family_shares_its_inputs_and_nothing_else():
    embs = counts.family(300, 16, 5, seed=0, device="cpu")
    assert len(embs) == 5 and all(emb.V is embs[0].V for emb in embs)
    sides = [*(emb.U for emb in embs), embs[0].V]
    for k, one in enumerate(sides):
        assert one.shape == (300, 16)
        assert all(abs(float((one * other).sum())) < 5 * (300 / 16) ** 0.5 for other in sides[:k]), "independent"


def test_every_map_is_what_its_name_says():
    embs = [am.Embeddings(emb.U.double(), emb.V.double()) for emb in counts.family(300, 16, 8, 0, "cpu")]
    memories = counts.made_of_one_gradient(1.5, embs)
    p, emb = am.Problem.power_law(300, 16, 1.5).frequencies, embs[0]
    G = am.initial_gradient(emb, p)
    assert tuple(memories) == counts.MAPS and torch.equal(memories["sgd"], G)
    moment = emb.V.T @ (p[:, None] * emb.V)
    torch.testing.assert_close(memories["newton"] @ moment, G, rtol=0, atol=1e-12)
    torch.testing.assert_close(memories["polar_matched"], am.polar(memories["matched"]))
    s = torch.linalg.svdvals(G)
    shapes = [torch.linalg.svdvals(memories[name]) / s for name in ("polar", "best")]
    assert (shapes[0] * s).sub(1).abs().max() < 1e-9 and shapes[1].argmin() == 0, "f*(s)/s falls"


def test_a_profile_holds_the_counts():
    result = counts.measure_maps(SimpleNamespace(alphas=[1.25, 2.0]), 16, 512, 0, "cpu")
    for name in counts.MAPS:
        assert [sum(profile) for profile in result["profile"][name]] == result["counts"][name]
        assert all(-1 <= cosine <= 1 + 1e-12 for cosine in result["cosine"][name])
    assert result["cosine"]["matched"] == pytest.approx([1, 1])


def test_siblings_that_are_the_same_have_all_of_the_gain():
    sizes = SimpleNamespace(alphas=[1.5], other_items=2048, other_dim=48, other_siblings=4, batch_size=4096)
    result = counts.measure_others(sizes, 0, "cpu")
    assert tuple(result) == counts.OTHERS
    share = {name: items["siblings"][0] / items["polar"][0] for name, items in result.items()}
    assert share["same"] > share["eighth_inputs"] > share["half_inputs"] and share["same"] > 1.15


def test_who_sees_the_outputs_names_more_than_any_other_rule():
    problem = am.Problem.power_law(2000, 32, 1.5)
    emb = am.sample_embeddings(problem, 0, dtype=torch.float64)
    G = am.thresholded_gradient(emb, problem.frequencies, 0)
    named = cancellation.decode_by_cancellation(G, emb, problem.frequencies, 200)
    assert (named == torch.arange(200)).sum() > 2 * am.capacity_limit(problem)
    order = torch.randperm(2000, generator=torch.Generator().manual_seed(0))
    inverse = order.argsort()
    # the list of candidates in another order: the same outputs
    alone = am.matched_filter(emb, problem.frequencies)
    logits = emb.V[:20] @ alone.T @ emb.U[order].T
    assert (inverse[:20] == logits.argmax(1)).float().mean() > 0.9


@pytest.mark.slow
def test_the_counts_of_the_chapter_with_the_outputs_in_sight():
    for alpha, right in ((1.25, 312), (1.5, 369), (2.0, 472)):
        problem = am.Problem.power_law(8192, 64, alpha)
        emb = am.sample_embeddings(problem, 0, dtype=torch.float64)
        G = am.thresholded_gradient(emb, problem.frequencies, 0)
        named = cancellation.decode_by_cancellation(G, emb, problem.frequencies, 500)
        assert (named == torch.arange(500)).sum() == pytest.approx(right, abs=2)
        assert am.capacity_limit(problem) < 91.5


def times(factor):
    return lambda value: value * factor


FLAWS = [
    *(
        (("counts", name, 2, 1), times(factor), name, NOT_REPRODUCED)
        for name in ("matched", *(f"siblings_{r}" for r in counts.SIBLINGS))
        for factor in (0.9, 1.1)
    ),
    (("gain", "siblings_2", 3, 1), 0.9, "ahead", NOT_REPRODUCED),
    (("others", "eighth_inputs", 2), 0.5, "others", NOT_REPRODUCED),
    (("counts", "matched", 1, 0), times(1.3), "limit", NOT_REPRODUCED),
    (("profile", "polar", 2, 1, 20), 1.0, "ranks", NOT_REPRODUCED),
    (("profile", "best", 2, 1, 23), 1.0, "theorem", NOT_REPRODUCED),
]
