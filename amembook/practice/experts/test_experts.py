"""The mathematics of `experts`."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import amemlib as am
from amembook import read_records
from amembook.practice.experts import expected, measure

PROBLEM = am.Problem.power_law(600, 48, 1.5)


FLAWS = [
    (("batch", "polar"), lambda old: [[9.0] * 6] * 2, "batch", "not reproduced"),
    (("layers", "polar", "item", 1), 1500.0, "layers", "not reproduced"),
    (("momentum", 0), [900.0, 900.0, 900.0], "momentum", "not reproduced"),
    (("batch", "sgd", 0), [80.0] * 6, "gain", "not reproduced"),
]
REFUSED = [("layers", ("4/8",)), ("momenta", (1.0,))]


def test_every_token_goes_to_k_experts_and_an_item_to_its_own():
    B = 400
    q = am.sample_minibatch(PROBLEM, B, 3)
    for routing in measure.ROUTINGS:
        seen, read = measure.route(PROBLEM, B, 8, 2, routing, 3)
        torch.testing.assert_close(seen.sum(0), 2 * q)
        assert (seen <= q + 1e-12).all() and (np.diff(np.sort(read, 1)) > 0).all()
        if routing == "item":
            held = torch.zeros_like(seen)
            held[torch.from_numpy(read.T), torch.arange(600)] = 1
            torch.testing.assert_close(seen, held * q)
    with pytest.raises(ValueError, match="routing"):
        measure.route(PROBLEM, B, 8, 2, "hash", 3)


def test_one_expert_is_the_memory_and_experts_are_read_together():
    emb = am.sample_embeddings(PROBLEM, 0)
    seen, read = measure.route(PROBLEM, 500, 1, 1, "random", 0)
    step = measure.step_of(emb, seen[0])
    for W in step.values():
        mask = measure.recovered_by_experts([W], read, emb)
        assert torch.equal(mask, am.recovered(W, emb))
    two = [
        am.polar(torch.randn(48, 48, dtype=torch.float64, generator=torch.Generator().manual_seed(k))) for k in (0, 1)
    ]
    mask = measure.recovered_by_experts(two, np.tile([0, 1], (600, 1)), emb)
    assert torch.equal(mask, am.recovered(two[0] + two[1], emb))


@pytest.mark.slow
@pytest.mark.parametrize(("layer", "routing"), [("4/1", "item"), ("4/2", "item"), ("4/2", "random"), ("8/1", "random")])
def test_layers_meet_their_prediction_at_sizes_that_no_record_has(layer, routing):
    sizes = SimpleNamespace(layer_items=700, layer_dim=64, alpha=1.4, batch_size=2000)
    cells = [measure.measure_experts(sizes, layer, routing, seed, "cpu") for seed in range(3)]
    for name in ("polar", "sgd"):
        counts, law = (np.array([cell[kind][name] for cell in cells], float) for kind in ("counts", "sharp"))
        error = max(np.std(counts - law, ddof=1), math.sqrt(law.mean()) / 2) / math.sqrt(3)
        assert abs((counts - law).mean()) <= 0.08 * law.mean() + 3 * error, name


def test_sgds_experts_add_up_to_sgd_on_their_weights():
    emb = am.sample_embeddings(PROBLEM, 1)
    seen, _ = measure.route(PROBLEM, 300, 4, 1, "random", 1)
    total = sum(measure.step_of(emb, q)["sgd"] for q in seen)
    torch.testing.assert_close(total, am.initial_gradient(emb, seen.sum(0)))


@pytest.mark.parametrize("batch_size", [30, 3000, 100_000])
def test_a_typical_batch_has_the_expected_numbers_of_items(batch_size):
    q = expected.typical_batch(PROBLEM, batch_size)
    assert (q.diff() <= 0).all() and q.sum().item() == pytest.approx(1, abs=0.15 if batch_size < 100 else 0.01)
    p = PROBLEM.frequencies.numpy()
    for times in (1, 2, 5):
        at_least = np.sum(1 - np.array([math.fsum(_poisson(batch_size * one, k) for k in range(times)) for one in p]))
        assert int((q * batch_size > times - 0.5).sum()) == pytest.approx(at_least, abs=1.5)


def _poisson(mean, k):
    return math.exp(k * math.log(mean) - mean - math.lgamma(k + 1))


def test_a_momentum_holds_what_its_batches_weigh():
    q = measure.momentum_frequencies(PROBLEM, 40, 0.9, 200, 0)
    assert q.sum().item() == pytest.approx(1) and q[0].item() == pytest.approx(PROBLEM.frequencies[0].item(), abs=0.1)
    alone = measure.momentum_frequencies(PROBLEM, 40, 0.0, 1, 0)
    torch.testing.assert_close(alone * 40, (alone * 40).round())


@pytest.mark.slow
def test_the_rule_is_one_for_few_tokens_and_the_populations_for_many():
    assert expected.rule_of_gain(5, 143, 9.6) == 1 and expected.rule_of_gain(1000, 143, 10) == pytest.approx(14.3)
    problem = am.Problem.power_law(2000, 64, 1.5)
    half = expected.half_batch(problem)
    whole = am.expected_capacity(problem, "polar")
    assert expected.kept_by_expert(problem, "polar", 16 * half, 32, 2) == pytest.approx(whole / 2, rel=0.05)
    assert am.equivalents.expected_distinct_items(problem, half) == pytest.approx(whole / 2, rel=0.1)
    assert expected.gain(problem, expected.even_batch(problem, 1.2)) == pytest.approx(1.2, rel=0.1)
    assert math.isnan(expected.even_batch(problem, 1e3))


def test_half_of_muons_items_and_sgds_experts_are_nearly_what_their_formulas_say():
    (record,) = read_records("experts", "confirm")
    config, predicted, alpha = record["config"], record["predicted"], record["config"]["alpha"]
    problem = am.Problem.power_law(config["table_items"], 1024, alpha)
    seen = am.expected_capacity(problem, "polar") / 2 / math.gamma(1 - 1 / alpha)
    half = predicted["half"]["1.5"][config["table_dims"].index(1024)]
    assert seen**alpha / problem.frequencies[0].item() / half == pytest.approx(0.94, abs=0.01)
    most, one, ratios = record["measured"]["layers"]["polar"]["item"][-1], predicted["layer_population"]["sgd"], []
    for text, items in zip(config["layers"], record["measured"]["layers"]["sgd"]["item"], strict=True):
        E, k = expected.layer_of("layer", text)
        ratios.append(min(max(E / k**2, 1) * k ** (1 / alpha) * one, most) / items)
    assert 0.9 < min(ratios) and 1.25 < max(ratios) < 1.34
