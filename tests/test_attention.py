"""The two-layer network: its formulas against slow twins, the head built by hand, optimizers, training that resumes."""

import functools
import math

import pytest
import torch

import amemlib as am
from amemlib.attention import (
    OPTIMIZERS,
    Network,
    accuracy,
    dual_vectors,
    exact_muon,
    forward,
    induction_head,
    initial_weights,
    muon,
    normalise,
    recall_loss,
    train,
    value_gradient,
    value_memory,
)
from amemlib.tasks import RecallTask, output_frequencies, sample_sequences, uniform

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


def gradients(weights, steps):
    """The same gradients for every optimizer, step by step."""
    generator = torch.Generator().manual_seed(2000)
    for _ in range(steps):
        for W in weights.values():
            W.grad = torch.randn(W.shape, generator=generator)
        yield


@pytest.mark.parametrize(
    "optimizer, orthogonalise, tolerance",
    [
        (exact_muon, am.polar, 1e-5),
        (muon, lambda M: am.newton_schulz(M, 5, "muon"), 0.02),  # torch's runs in bfloat16
    ],
)
def test_muon_is_the_spectral_map_of_the_momentum(optimizer, orthogonalise, tolerance):
    lr, steps = 0.1, 4
    weights = initial_weights(Network(10, 8, 6, 9), 2000)
    start = {name: W.clone() for name, W in weights.items()}
    for W in weights.values():
        W.requires_grad_()
    optimizers = optimizer(weights, lr)
    average = {name: torch.zeros_like(W) for name, W in start.items()}
    for _ in gradients(weights, steps):
        raw = {name: W.grad.clone() for name, W in weights.items()}
        for optimizer in optimizers:
            optimizer.step()
        for name, grad in raw.items():
            average[name] = 0.9 * average[name] + 0.1 * grad
            M = 0.1 * grad + 0.9 * average[name]
            rows, columns = M.shape
            start[name] = (1 - 0.01 * lr) * start[name] - lr * max(1, rows / columns) ** 0.5 * orthogonalise(M)
    for name in ("query1", "value2", "expand1", "contract2"):
        torch.testing.assert_close(weights[name].detach().double(), start[name].double(), rtol=0, atol=tolerance)


def test_exact_muon_keeps_out_of_directions_without_gradient():
    weights = {name: W.requires_grad_() for name, W in initial_weights(Network(10, 8, 6), 2000).items()}
    before = {name: W.detach().clone() for name, W in weights.items()}
    optimizers = exact_muon(weights, 0.1)
    for W in weights.values():
        W.grad = torch.outer(torch.ones(W.shape[0]), torch.arange(1.0, W.shape[1] + 1))
    for optimizer in optimizers:
        optimizer.step()
    change = (weights["value1"].detach() - (1 - 0.001) * before["value1"]).double()
    s = torch.linalg.svdvals(change)
    assert s[0].item() == pytest.approx(0.1, rel=1e-4) and s[1] < 1e-6


def test_muon_without_torchs_says_what_is_needed(monkeypatch):
    monkeypatch.delattr(torch.optim, "Muon")
    with pytest.raises(ImportError, match="needs torch 2.9 or newer, here is .*exact_muon"):
        muon(initial_weights(SHAPE, 0), 0.01)


def start_run(name, lr, steps=12, checkpoint=None, probe=None):
    return train(
        initial_weights(SHAPE, 2000),
        functools.partial(OPTIMIZERS[name], lr=lr),
        lambda step: sample_sequences(TASK, 8, 2000, step),
        steps,
        4,
        probe or (lambda weights: {"accuracy": accuracy(weights, BATCH)}),
        checkpoint,
    )


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_is_deterministic_and_leaves_its_start_alone(name):
    one, other = start_run(name, 0.01), start_run(name, 0.01)
    assert one.history == other.history and one.diverged is None
    assert [row["step"] for row in one.history] == [0, 4, 8, 12]
    start = initial_weights(SHAPE, 2000)
    for key, W in one.weights.items():
        assert torch.equal(W, other.weights[key]) and not torch.equal(W, start[key])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_run_stopped_half_way_resumes_to_the_same_numbers(name, tmp_path):
    whole = start_run(name, 0.01)
    probes = []

    def stops(weights):
        probes.append(1)
        if len(probes) == 3:
            raise KeyboardInterrupt
        return {"accuracy": accuracy(weights, BATCH)}

    checkpoint = tmp_path / "run" / "state.pt"
    with pytest.raises(KeyboardInterrupt):
        start_run(name, 0.01, checkpoint=checkpoint, probe=stops)
    assert checkpoint.exists()
    seen = []

    def counts(weights):
        seen.append(1)
        return {"accuracy": accuracy(weights, BATCH)}

    resumed = start_run(name, 0.01, checkpoint=checkpoint, probe=counts)
    assert len(seen) == 2, "steps 8 and 12 only: the first four steps were not run again"
    assert resumed.history == whole.history
    assert all(torch.equal(W, whole.weights[key]) for key, W in resumed.weights.items())
    assert not checkpoint.exists() and not list(checkpoint.parent.iterdir())


def test_a_diverging_run_says_so():
    for lr in (1e3, 1e30):
        run = start_run("sgd", lr)
        assert run.diverged == 4 and [row["step"] for row in run.history] == [0]


def test_a_network_learns_the_task():
    task = RecallTask(6, 12, 1)
    run = train(
        initial_weights(Network(12, 12, 24), 2000),
        functools.partial(muon, lr=0.01),
        lambda step: sample_sequences(task, 32, 2000, step),
        150,
        150,
        lambda weights: {"accuracy": accuracy(weights, sample_sequences(task, 256, 2000, 0, "evaluation"))},
    )
    assert run.history[-1]["accuracy"] > 0.9 > 0.4 > run.history[0]["accuracy"]
