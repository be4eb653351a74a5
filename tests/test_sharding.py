"""Several ranks give what one process gives: gradient, loss, recovered set, and a run started by torchrun."""

import json
import os
import subprocess
import sys

import pytest
import torch
import torch.multiprocessing as multiprocessing

import amemlib as am
from amemlib import sharding
from amemlib.__main__ import main

N_ITEMS, DIM, SEED = 501, 24, 2000


def problem():
    return am.Problem.power_law(N_ITEMS, DIM, 1.5)


def everything(rank: int, world_size: int, path: str) -> None:
    """What one rank finds, with float64 embeddings and a minibatch that misses most items."""
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world_size), "LOCAL_RANK": str(rank)}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": os.environ["TEST_PORT"]}
    torch.set_num_threads(1)
    with sharding.process_group():
        shard = sharding.sample_shard(problem(), SEED, dtype=torch.float64)
        taken = sharding.take_shard(am.sample_embeddings(problem(), SEED, dtype=torch.float64), minibatch())
        assert torch.equal(shard.emb.U, taken.emb.U)
        G = sharding.initial_gradient(shard)
        W = am.polar(G)
        found = {"G": G, "batch": sharding.initial_gradient(taken), "mask": sharding.recovered(W, shard)}
        for lr in LEARNING_RATES:
            found[lr] = sharding.loss_and_gradient(lr * W, shard)
        found["count"] = sharding.capacity(W, shard), sharding.capacity(G, shard)
    torch.save(found, f"{path}/{rank}.pt")


LEARNING_RATES = (1.0, 10.0, 1000.0)


def minibatch():
    return am.sample_minibatch(problem(), 16, SEED)


def free_port() -> str:
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


@pytest.mark.process
@pytest.mark.parametrize("world_size", [2, pytest.param(4, marks=pytest.mark.weekly)])
def test_ranks_together_find_what_one_process_finds(world_size, tmp_path, monkeypatch):
    monkeypatch.setenv("TEST_PORT", free_port())
    multiprocessing.spawn(everything, (world_size, str(tmp_path)), nprocs=world_size)
    emb = am.sample_embeddings(problem(), SEED, dtype=torch.float64)
    p = problem().frequencies
    G = am.initial_gradient(emb, p)
    W = am.polar(G)
    mask = torch.empty(N_ITEMS, dtype=torch.bool)
    for rank in range(world_size):
        found = torch.load(tmp_path / f"{rank}.pt")
        mask[rank::world_size] = found["mask"]
        assert (found["G"] - G).norm() <= 1e-12 * G.norm()
        batch = am.initial_gradient(emb, minibatch())
        assert (found["batch"] - batch).norm() <= 1e-12 * batch.norm()
        assert found["count"] == (am.capacity(W, emb), am.capacity(G, emb))
        for lr in LEARNING_RATES:
            loss, gradient = am.loss_and_gradient(lr * W, emb, p)
            assert found[lr][0] == pytest.approx(loss, rel=1e-12)
            assert (found[lr][1] - gradient).norm() <= 1e-12 * gradient.norm()
    assert torch.equal(mask, am.recovered(W, emb))


def test_alone_it_is_the_ordinary_library():
    shard = sharding.sample_shard(problem(), SEED)
    emb = am.sample_embeddings(problem(), SEED)
    assert shard.world_size == 1 and torch.equal(shard.emb.V, emb.V)
    W = am.polar(sharding.initial_gradient(shard))
    assert sharding.capacity(W, shard) == am.capacity(W, emb)
    loss, gradient = sharding.loss_and_gradient(W, shard)
    expected, other = am.loss_and_gradient(W, emb, problem().frequencies)
    assert loss == pytest.approx(expected, rel=1e-7)
    assert (gradient - other).norm() <= 1e-6 * other.norm()


@pytest.mark.weekly
def test_torchrun_runs_a_sharded_experiment(tmp_path):
    sizes = ["dims=24,32,48", "n_items=1000"]
    command = ["-m", "amemlib", "run", "giant", "--profile", "smoke", "--device", "cpu", "--set", *sizes, "--json"]
    alone = run([sys.executable, *command, "--results", str(tmp_path / "one")])
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    together = run([*torchrun, *command, "--results", str(tmp_path / "two")])
    again = run([*torchrun, *command, "--results", str(tmp_path / "two")])
    assert alone["measured"]["seed_counts"] == together["measured"]["seed_counts"] == again["measured"]["seed_counts"]
    assert together["measured"]["loss"]["polar"] == pytest.approx(alone["measured"]["loss"]["polar"], rel=1e-6)
    assert len(list((tmp_path / "two" / "giant").glob("*.json"))) == 3


def run(command: list[str]) -> dict:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_torchrun_refuses_an_experiment_that_does_not_shard(tmp_path, monkeypatch, capsys):
    for name, value in {"WORLD_SIZE": "1", "RANK": "0", "LOCAL_RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    assert main(["run", "one-step", "--profile", "smoke", "--results", str(tmp_path)]) == 2
    assert "shards its rows under torchrun, giant, got 'one-step'" in capsys.readouterr().err
