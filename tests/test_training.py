"""Training: optimizers against their formulas, runs that are deterministic, that resume, that diverge, that learn."""

import functools
import math

import pytest
import torch

import amemlib as am
from amembook.networks.attention import Network, accuracy, initial_weights, recall_loss
from amembook.networks.tasks import RecallTask, sample_sequences
from amembook.networks.training import (
    OPTIMIZERS,
    VECTORS,
    exact_muon,
    muon,
    train,
)

TASK = RecallTask(12, 16, 2, 1.5, 1.5)
SHAPE = Network(TASK.vocabulary, TASK.length, 16)
BATCH = sample_sequences(TASK, 8, 2000)


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
        recall_loss,
        functools.partial(OPTIMIZERS[name], lr=lr),
        lambda step: sample_sequences(TASK, 8, 2000, step),
        steps,
        4,
        probe or (lambda weights: {"accuracy": accuracy(weights, BATCH)}),
        checkpoint,
        ceiling=3 * math.log(SHAPE.vocabulary),
    )


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_is_deterministic_and_leaves_its_start_alone(name):
    one, other = start_run(name, 0.01), start_run(name, 0.01)
    assert one.history == other.history and one.diverged is None
    assert [row["step"] for row in one.history] == [0, 4, 8, 12]
    start = initial_weights(SHAPE, 2000)
    for key, W in one.weights.items():
        stays = name.endswith("_fixed") and key in VECTORS
        assert torch.equal(W, other.weights[key]) and torch.equal(W, start[key]) == stays


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


def interrupted(checkpoint):
    """Leave the checkpoint of a run that was stopped at its third probe."""
    probes = []

    def stops(weights):
        probes.append(1)
        if len(probes) == 3:
            raise KeyboardInterrupt
        return {"accuracy": 0.5}

    with pytest.raises(KeyboardInterrupt):
        start_run("sgd", 0.01, checkpoint=checkpoint, probe=stops)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_checkpoint_that_cannot_be_read_is_named_and_the_run_begun_anew(share, tmp_path, capsys):
    checkpoint = tmp_path / "run" / "state.pt"
    interrupted(checkpoint)
    content = checkpoint.read_bytes()
    checkpoint.write_bytes(content[: int(share * len(content))])
    assert start_run("sgd", 0.01, checkpoint=checkpoint).history == start_run("sgd", 0.01).history
    assert str(checkpoint) in capsys.readouterr().err


def test_a_whole_checkpoint_of_other_weights_is_refused_and_left(tmp_path):
    checkpoint = tmp_path / "state.pt"
    interrupted(checkpoint)
    whole = checkpoint.read_bytes()
    with pytest.raises(ValueError, match="checkpoint must hold this run, got .*delete it"):
        start_run("adamw", 0.01, checkpoint=checkpoint)
    assert checkpoint.read_bytes() == whole


def test_a_diverging_run_says_so():
    for lr in (1e3, 1e30):
        run = start_run("sgd", lr)
        assert run.diverged == 4 and [row["step"] for row in run.history] == [0]


@pytest.mark.slow
def test_a_network_learns_the_task():
    task = RecallTask(6, 12, 1)
    run = train(
        initial_weights(Network(12, 12, 24), 2000),
        recall_loss,
        functools.partial(muon, lr=0.01),
        lambda step: sample_sequences(task, 32, 2000, step),
        150,
        150,
        lambda weights: {"accuracy": accuracy(weights, sample_sequences(task, 256, 2000, 0, "evaluation"))},
    )
    assert run.history[-1]["accuracy"] > 0.9 > 0.4 > run.history[0]["accuracy"]
