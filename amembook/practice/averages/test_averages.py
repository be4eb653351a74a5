"""The mathematics of `averages`."""

import pytest
import torch

import amemlib as am
from amembook.networks import long_runs
from amembook.practice import averages
from amembook.run.study import fixed

CONFIG = fixed(averages.EXPERIMENT.profiles["smoke"], "batch_sizes", "betas", "horizon")

LOW, HIGH = ([level + 0.01 * k for k in range(6)] for level in (0.01, 9.0))
FLAWS = [
    (("loss", "256 plain 0.9"), HIGH, "little", "not reproduced"),
    (("loss", "256 plain 0.95"), LOW, "sign", "not reproduced"),
    (("loss", "256 raised"), HIGH, "late", "not reproduced"),
    (("loss", "256 raised"), LOW, "rule", "not reproduced"),
]
REFUSED = [("betas", (0.8, 0.85, 0.95)), ("steps", 480, "betas")]


@pytest.mark.parametrize("kind", averages.KINDS)
def test_a_run_is_the_librarys_optimizer_with_an_exact_map(kind):
    problem = am.Problem.power_law(CONFIG.n_items, CONFIG.dim, CONFIG.alpha)
    emb = am.sample_embeddings(problem, 3)

    def run(rate):
        W = torch.nn.Parameter(torch.zeros(8, 8, dtype=torch.float64))
        settings = {"momentum": 0.75, "nesterov": kind == "nesterov", "weight_decay": 0.0, "schedule": am.polar}
        muon = am.Muon([W], lr=rate, **settings)
        for t in range(CONFIG.steps):
            q = am.sample_minibatch(problem, 4, long_runs.BATCHES * 4 + t)
            W.grad = -long_runs.dense_gradient(W.detach(), emb, q)
            muon.param_groups[0]["lr"] = rate * (1 - t / CONFIG.steps)
            muon.step()
        return am.loss(W.detach(), emb, problem.frequencies)

    values = long_runs.ladder(run, 60 / CONFIG.steps)
    told = averages.measure(CONFIG, 4, kind, 0.75, 3, "cpu")["loss"]
    # the parabola lies below its three points, by less than they differ
    assert min(values.values()) - 0.2 < told <= min(values.values()) * (1 + 1e-6)


def test_the_run_with_a_momentum_that_changes_has_none_of_the_constant_ones():
    losses = [averages.measure(CONFIG, 4, "nesterov", beta, 0, "cpu")["loss"] for beta in (0.25, 0.75, None)]
    assert len(set(losses)) == 3
