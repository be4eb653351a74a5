"""The two-layer network: its formulas against slow twins, and the head built by hand."""

import math

import pytest
import torch

import amemlib as am
from amembook.networks.attention import (
    Network,
    accuracy,
    dual_vectors,
    forward,
    induction_head,
    initial_weights,
    normalise,
    recall_loss,
    value_gradient,
    value_memory,
)
from amembook.networks.tasks import RecallTask, output_frequencies, sample_sequences, uniform

TASK = RecallTask(12, 16, 2, 1.5, 1.5)
SHAPE = Network(TASK.vocabulary, TASK.length, 16)
BATCH = sample_sequences(TASK, 8, 2000)


def slow_logits(weights, tokens, query):
    """One sequence and one question, position by position, with every matrix applied on its own."""
    d = weights["embedding"].shape[1]
    h = [weights["embedding"][x] + weights["position"][s] for s, x in enumerate(tokens)]
    for block in "12":
        new = []
        for t in range(len(h)):
            q = weights["query" + block] @ normalise(h[t])
            scores = torch.stack([q @ (weights["key" + block] @ normalise(h[s])) / math.sqrt(d) for s in range(t + 1)])
            mixed = sum(a * (weights["value" + block] @ normalise(h[s])) for s, a in enumerate(scores.softmax(0)))
            row = h[t] + weights["output" + block] @ mixed
            if "expand" + block in weights:
                inner = (weights["expand" + block] @ normalise(row)).relu()
                row = row + weights["contract" + block] @ inner
            new.append(row)
        h = new
    return weights["unembedding"] @ normalise(h[query])


@pytest.mark.parametrize("hidden", [0, 24])
def test_the_network_is_its_slow_twin(hidden):
    shape = Network(SHAPE.vocabulary, SHAPE.length, SHAPE.dim, hidden)
    weights = {name: W.double() for name, W in initial_weights(shape, 2000).items()}
    seen = forward(weights, BATCH.tokens, BATCH.queries)
    for row in range(3):
        for k in range(2):
            slow = slow_logits(weights, BATCH.tokens[row], int(BATCH.queries[row, k]))
            torch.testing.assert_close(seen.logits[row, k], slow, rtol=1e-9, atol=1e-9)


def test_attention_is_causal_and_sums_to_one():
    seen = forward(initial_weights(SHAPE, 2000), BATCH.tokens, BATCH.queries)
    for attention in (seen.first_attention, seen.second_attention):
        assert torch.allclose(attention.sum(-1), torch.ones(()))
    assert (seen.first_attention.triu(1) == 0).all()
    later = torch.arange(TASK.length) > BATCH.queries[..., None]
    assert (seen.second_attention[later] == 0).all()


def test_what_comes_after_a_question_does_not_change_its_answer():
    weights = initial_weights(SHAPE, 2000)
    changed = BATCH.tokens.clone()
    after = torch.arange(TASK.length) > BATCH.queries.amax(1, keepdim=True)
    changed[after] = 13
    one, other = (forward(weights, tokens, BATCH.queries).logits for tokens in (BATCH.tokens, changed))
    assert not torch.equal(BATCH.tokens, changed) and torch.equal(one, other)


def test_initial_weights_have_the_stated_scale_and_follow_the_seed():
    weights = initial_weights(Network(500, 300, 100, 400), 2000)
    for name, W in weights.items():
        assert W.dtype == torch.float32
        assert (W.std() * W.shape[1] ** 0.5).item() == pytest.approx(1, abs=0.03), name
    again = initial_weights(Network(500, 300, 100, 400), 2000)
    other = initial_weights(Network(500, 300, 100, 400), 2001)
    assert all(torch.equal(W, again[name]) and not torch.equal(W, other[name]) for name, W in weights.items())


@pytest.mark.slow
@pytest.mark.parametrize("n_items, length, pairs, dim", [(64, 32, 3, 384), (12, 16, 2, 80), (24, 20, 2, 160)])
def test_the_head_built_by_hand_answers_every_question(n_items, length, pairs, dim):
    for seed in range(2000, 2003):
        task = RecallTask(n_items, length, pairs, 1.5, 1.5)
        weights = induction_head(Network(2 * n_items, length, dim), n_items, seed)
        for law in (task, uniform(task)):
            sequences = sample_sequences(law, 300, seed)
            assert accuracy(weights, sequences) == 1.0
            seen = forward(weights, sequences.tokens, sequences.queries)
            assert seen.second_attention.gather(2, sequences.sources[..., None]).min() > 0.9
        assert am.recovered(*value_memory(weights, n_items)).all()


def test_dual_vectors_read_without_crosstalk():
    X = torch.randn(5, 9, generator=torch.Generator().manual_seed(2000), dtype=torch.float64)
    assert torch.allclose(dual_vectors(X) @ X.T, torch.eye(5, dtype=torch.float64), atol=1e-10)


def test_the_value_gradient_is_minus_the_derivative_of_the_loss():
    weights = {name: W.double() for name, W in initial_weights(SHAPE, 2000).items()}
    G = value_gradient(weights, BATCH)
    E = torch.randn(16, 16, generator=torch.Generator().manual_seed(2000), dtype=torch.float64)
    eps = 1e-5
    low, high = (recall_loss(weights | {"value2": weights["value2"] + s * eps * E}, BATCH) for s in (-1, 1))
    assert ((low - high) / (2 * eps)).item() == pytest.approx((G * E).sum().item(), rel=1e-6)


def test_equation_2_is_the_value_gradient_once_the_circuit_stands():
    n, dim = 32, 240
    task = RecallTask(n, 24, 2, output_alpha=1.5)
    p = output_frequencies(task)
    for seed in (2000, 2001):
        weights = induction_head(Network(2 * n, 24, dim), n, seed)
        weights["value2"] = torch.zeros(dim, dim)
        G = sum(value_gradient(weights, sample_sequences(task, 256, seed, k)) for k in range(4)) / 4
        memory = value_memory(weights, n)[1]
        everything = am.Embeddings(weights["unembedding"], normalise(weights["embedding"]))
        G0 = am.initial_gradient(everything, torch.cat([torch.zeros(n, dtype=torch.float64), p]))
        assert (G * G0).sum() / G.norm() / G0.norm() > 0.85
        assert (G * G0).sum() / (G0 * G0).sum() == pytest.approx(math.sqrt(dim) / 4, rel=0.15)
        counts = {name: am.capacity(f(G), memory) for name, f in (("sgd", am.identity), ("polar", am.polar))}
        assert counts["polar"] >= n - 2 > 2 * counts["sgd"]


def test_value_memory_is_the_recall_of_the_paper():
    weights = initial_weights(SHAPE, 2000)
    mask = am.recovered(*value_memory(weights, TASK.n_items))
    E, U = weights["embedding"][12:].double(), weights["unembedding"][12:].double()
    logits = normalise(E) @ weights["value2"].double().T @ weights["output2"].double().T @ U.T
    assert torch.equal(mask, logits.argmax(1) == torch.arange(12))
