"""The mathematics of `whitened-runs`: its updates at the first step, a batch's errors, its ladder."""

from functools import partial
from types import SimpleNamespace

import pytest
import torch

import amemlib as am
from amembook.networks import whitened
from amembook.networks.long_runs import batch_errors, best_half_octave, dense_gradient, family, loss_after
from amembook.networks.updates import averaged
from amembook.paper import whitened_runs
from amembook.run.claims import NOT_REPRODUCED, UNDECIDED
from amemlib.whitening import balanced_sum

PROBLEM = am.Problem.power_law(300, 12, 1.5)


def first_passes():
    embs = family(300, 12, 3, 0, "cpu")
    q = am.sample_minibatch(PROBLEM, 4096, 1)
    W = torch.zeros(12, 12, dtype=torch.float64)
    shown = [batch_errors(W, emb, q) for emb in embs]
    gradients = [dense_gradient(W, emb, q) for emb in embs]
    shared = sum(G.mT @ G for G in gradients)
    return embs, q, [whitened.Pass(G, *seen, shared) for G, seen in zip(gradients, shown, strict=True)]


def test_first_steps_are_those_of_one_gradient():
    embs, q, (seen, *others) = first_passes()
    kept = am.Embeddings(embs[0].U.double(), embs[0].V.double())
    step = lambda name, **damping: whitened.UPDATES[name]({}, seen, beta=0.5, **damping)[1]
    same = partial(torch.testing.assert_close, rtol=1e-4, atol=1e-4)
    same(step("sgd"), am.initial_gradient(kept, q))
    for name in ("muon", "soap"):
        same(step(name), am.polar(seen.G))
    with_floor = lambda W: balanced_sum([W, am.polar(seen.G)], [1, whitened.FLOOR])
    same(step("kfac_polar", damping=1e-9), with_floor(am.whitening.kfac(kept, q)))
    same(step("siblings_polar", damping=0.0), with_floor(am.siblings([seen.G, *(one.G for one in others)])[0]))
    newton = am.whiten(seen.G, right=am.second_moment(kept.V, q))
    same(step("newton_muon", damping=0.0), am.polar(newton))


def test_the_matched_step_is_the_matched_filter_where_errors_have_one_length():
    embs, q, (seen, *_) = first_passes()
    level = seen._replace(errors=seen.errors / seen.errors.norm(dim=1, keepdim=True))
    moment = am.second_moment(embs[0].V, q**2)
    W = whitened.matched_polar({}, level, beta=0.0, damping=0.0)[1]
    expected = balanced_sum([am.whiten(seen.G, right=moment), am.polar(seen.G)], [1, whitened.FLOOR])
    torch.testing.assert_close(W, expected, rtol=1e-6, atol=1e-6)


def test_a_plain_run_is_that_of_the_other_studies():
    (emb,) = family(300, 12, 1, 3, "cpu")
    arguments = {"problem": PROBLEM, "n_steps": 4, "batch_size": 64, "rate": 2.0, "seed": 3}
    end, items = whitened_runs.run(partial(whitened.sgd, beta=0.5), [emb], plain=True, **arguments)
    assert end == pytest.approx(loss_after(lambda state, G: averaged(state, G, 0.5), emb, **arguments))
    assert 0 < items <= 300


def test_steps_have_one_length():
    (emb,) = family(300, 12, 1, 0, "cpu")
    arguments = {"problem": PROBLEM, "n_steps": 3, "batch_size": 64, "rate": 1.0, "seed": 0}
    longer = lambda state, seen, beta: (state, 7 * seen.G)
    once = lambda state, seen, beta: (state, seen.G)
    ends = [whitened_runs.run(partial(update, beta=0.0), [emb], **arguments) for update in (once, longer)]
    assert ends[0] == pytest.approx(ends[1])


def test_the_best_rate_has_both_neighbours_tried():
    tried = {}
    assert best_half_octave(lambda k: tried.setdefault(k, abs(k - 7))) == 7
    assert {6, 7, 8} <= set(tried) and len(tried) < 12


def test_after_one_step_items_do_not_hang_on_the_rate():
    sizes = SimpleNamespace(alpha=1.5, horizon=24.0, batch_size=512, tuning_seeds=1)
    runs = whitened_runs.measure_method(sizes, 8, 96, 1, "muon", 2, 0, "cpu")
    assert runs["loss"]["items"] == runs["items"]["items"] and runs["items"]["rate"] == 8.0
    best = min(loss for _, loss, _ in runs["tried"])
    assert any(rate == runs["loss"]["rate"] and loss == best for rate, loss, _ in runs["tried"])


FLAWS = [
    (("correlation", "64 3"), [0.1] * 5, "early", NOT_REPRODUCED),
    (("correlation", "64 100"), [0.9] * 5, "late", NOT_REPRODUCED),
    (("loss", "64 100", "muon"), [0.5] * 5, "loss", UNDECIDED),
    (("items", "64 10", "matched_polar"), [900.0] * 5, "falls", NOT_REPRODUCED),
    (("loss", "64 30", "sgd"), [0.7] * 5, "sgd", NOT_REPRODUCED),
    (("loss", "64 30", "plain_sgd"), [0.3] * 5, "length", NOT_REPRODUCED),
]
REFUSED = [
    ("n_items", (2048,), "n_items must hold 2"),
    ("steps", (2, 3), "steps must begin with 1"),
    ("more_steps", 30, "more_steps"),
]
