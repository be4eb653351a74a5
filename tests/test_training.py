"""Training: optimizers against their formulas, runs that are deterministic, that resume, that diverge, that learn."""

import functools
import math
import os

import pytest
import torch

import amemlib as am
from amemlib.attention import Network, accuracy, initial_weights, recall_loss, recall_losses
from amemlib.tasks import RecallTask, sample_sequences
from amemlib.training import (
    OPTIMIZERS,
    VECTORS,
    checkpoint_file,
    checkpoints_in,
    exact_muon,
    muon,
    quintic_in_bfloat16,
    train,
    train_together,
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


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:200]),
        lambda path: path.write_bytes(path.read_bytes()[:-1] + b"?"),
        lambda path: path.write_bytes(path.with_name("other.pt").read_bytes()),
        lambda path: (path.unlink(), path.mkdir()),
    ],
    ids=["empty", "half", "a byte", "another run's", "folder"],
)
def test_a_damaged_checkpoint_is_named_set_aside_and_the_run_begun_again(damage, tmp_path, capsys):
    checkpoint = tmp_path / "run" / "state.pt"
    for path in (checkpoint, checkpoint.with_name("other.pt")):
        interrupted(path)
    damage(checkpoint)
    assert start_run("sgd", 0.01, checkpoint=checkpoint).history == start_run("sgd", 0.01).history
    said = capsys.readouterr().err
    assert str(checkpoint) in said and "state.pt.damaged" in said and said.count("\n") == 1
    assert checkpoint.with_name("state.pt.damaged").exists()


def test_a_checkpoint_is_private_and_nobody_elses_is_read(tmp_path, monkeypatch, capsys):
    checkpoint = tmp_path / "run" / "state.pt"
    interrupted(checkpoint)
    assert checkpoint.stat().st_mode & 0o777 == 0o600 and checkpoint.parent.stat().st_mode & 0o777 == 0o700
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    start_run("sgd", 0.01, checkpoint=checkpoint)
    assert "it is another user's" in capsys.readouterr().err


def test_a_whole_checkpoint_of_other_weights_is_refused_and_left(tmp_path):
    checkpoint = tmp_path / "state.pt"
    interrupted(checkpoint)
    whole = checkpoint.read_bytes()
    with pytest.raises(ValueError, match="checkpoint must hold this run, got .*delete it"):
        start_run("adamw", 0.01, checkpoint=checkpoint)
    assert checkpoint.read_bytes() == whole


def test_checkpoints_stand_in_the_folder_that_is_said(tmp_path):
    assert checkpoint_file("key") is None
    with checkpoints_in(tmp_path):
        assert checkpoint_file("key") == tmp_path / "key.pt"
    assert checkpoint_file("key") is None


def test_a_diverging_run_says_so():
    for lr in (1e3, 1e30):
        run = start_run("sgd", lr)
        assert run.diverged == 4 and [row["step"] for row in run.history] == [0]


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


SEEDS = (2000, 2001, 2002)


def start_stack(name, lr, steps=12, checkpoint=None, probes=None, spoil=lambda k, losses: losses):
    starts = [initial_weights(SHAPE, seed) for seed in SEEDS]
    at = lambda weights, k: {key: W[k] for key, W in weights.items()}  # noqa: E731
    scores = lambda weights: [{"accuracy": accuracy(at(weights, k), BATCH)} for k in range(3)]  # noqa: E731
    return train_together(
        {key: torch.stack([start[key] for start in starts]) for key in starts[0]},
        lambda weights, batch: spoil(batch[0], recall_losses(weights, batch[1])),
        functools.partial(OPTIMIZERS[name], lr=lr),
        lambda step: (step, [sample_sequences(TASK, 8, seed, step) for seed in SEEDS]),
        steps,
        4,
        probes or scores,
        checkpoint,
        ceiling=3 * math.log(SHAPE.vocabulary),
    )


# torch's Muon rounds its products to bfloat16, and a stack rounds elsewhere
@pytest.mark.parametrize("name, tolerance", [("muon", 3e-3), ("exact_muon", 1e-4), ("adamw", 1e-5), ("sgd", 1e-5)])
def test_runs_in_one_tensor_are_the_runs_alone(name, tolerance):
    together = start_stack(name, 0.01)
    for seed, run in zip(SEEDS, together, strict=True):
        alone = train(
            initial_weights(SHAPE, seed),
            recall_loss,
            functools.partial(OPTIMIZERS[name], lr=0.01),
            lambda step, seed=seed: sample_sequences(TASK, 8, seed, step),
            12,
            4,
            lambda weights: {"accuracy": accuracy(weights, BATCH)},
        )
        losses = [[row["loss"] for row in one.history[1:]] for one in (run, alone)]
        assert losses[0] == pytest.approx(losses[1], rel=tolerance) and run.diverged is None
        for key, W in alone.weights.items():
            assert (run.weights[key] - W).norm() <= 20 * tolerance * (W - initial_weights(SHAPE, seed)[key]).norm()


def test_a_stack_of_gradients_goes_through_torchs_quintic():
    generator = torch.Generator().manual_seed(0)
    for shape in ((3, 12, 7), (3, 7, 12), (2, 9, 9)):
        G = torch.randn(shape, generator=generator)
        found = quintic_in_bfloat16(G)
        for one, M in zip(G, found, strict=True):
            W = torch.nn.Parameter(torch.zeros(shape[1:]))
            W.grad = one.clone()
            torch.optim.Muon([W], lr=1.0, momentum=0.0, weight_decay=0.0).step()
            expected = -W.detach() / max(1, shape[1] / shape[2]) ** 0.5
            assert (M.float() - expected).norm() < 0.01 * expected.norm()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_run_that_diverges_in_a_stack_ends_alone(name):
    bad = torch.tensor([1.0, float("nan"), 1.0])
    found = start_stack(name, 0.01, spoil=lambda step, losses: losses * bad if step == 5 else losses)
    assert [run.diverged for run in found] == [None, 8, None]
    assert [len(run.history) for run in found] == [4, 2, 4]
    whole = start_stack(name, 0.01)
    for k in (0, 2):
        for row, other in zip(found[k].history[1:], whole[k].history[1:], strict=True):
            assert row == pytest.approx(other, rel=1e-6)


def test_a_stack_resumes_to_the_same_numbers(tmp_path):
    whole, probes = start_stack("adamw", 0.01, probes=lambda weights: [{}] * 3), []

    def stops(weights):
        probes.append(1)
        if len(probes) == 3:
            raise KeyboardInterrupt
        return [{}] * 3

    with pytest.raises(KeyboardInterrupt):
        start_stack("adamw", 0.01, checkpoint=tmp_path / "state.pt", probes=stops)
    resumed = start_stack("adamw", 0.01, checkpoint=tmp_path / "state.pt", probes=lambda weights: [{}] * 3)
    assert [run.history for run in resumed] == [run.history for run in whole]
    assert not (tmp_path / "state.pt").exists()
