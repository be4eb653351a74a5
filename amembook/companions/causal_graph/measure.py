"""What the study measures: edges in the first gradient and after a Muon step, scores by distance, trained networks."""

from collections.abc import Iterable

import torch
from torch import Tensor

from amembook.companions.causal_graph import expected, network
from amembook.networks.tasks.causal import (
    CausalSequences,
    CausalTask,
    graph_counts,
    kernel_entropy,
    lagged_graph,
    make_graph,
    sample_causal,
    state_counts,
)
from amembook.run.base import MAPS

LAGS = range(7)
"""Distances along the chain at which scores are compared with laws."""
LAWS = {
    "ours": expected.limit_score,
    "χ² of the pair": expected.pair_chi2,
    "Shannon information of the pair": expected.pair_information,
    "nothing off the edges": lambda *pair: expected.limit_score(*pair) * (pair[2:] == (0, 1)),
}
"""Laws for the score of a pair in long contexts, by name: kernels, stationary laws, steps up, steps down ↦ (n,)."""
SAMPLES = 4
"""How many of the largest sample are drawn."""
_BATCH = 16_384
_GAUSSIANS = 400
_EVALUATED = 8192


def measure_recovery(
    graph: str, n_states: int, length: int, alpha: float, n_sequences: list[int], n_blocks: int, seed: int
) -> dict:
    """Share of edges that the first step finds, by map and by sample size; scores and their spread from all sequences.

    Four times the largest sample is drawn; a smaller sample is one of at most `n_blocks` blocks of it.
    """
    task = CausalTask(make_graph(graph, length, seed), n_states, alpha)
    total = SAMPLES * max(n_sequences)
    starts = range(0, total, _BATCH)
    drawn = (sample_causal(task, min(_BATCH, total - start), seed, start // _BATCH) for start in starts)
    child, parent = map(torch.cat, zip(*map(network.score_factors, drawn), strict=True))
    result = {"scores": network.scores(child, parent).tolist(), "recovered": {name: [] for name in MAPS}}
    for n in n_sequences:
        used = min(total // n, n_blocks) * n
        blocks = zip(child[:used].split(n), parent[:used].split(n), strict=True)
        updates = network.first_gradient(torch.stack([network.scores(*block) for block in blocks]))
        for name, step in MAPS.items():
            result["recovered"][name].append(network.recovered_edges(step(updates), task.parents).mean().item())
    return result | {"spread": _spreads(network.scores(child, parent), task)}


def expect_recovery(
    graph: str, n_states: int, length: int, alpha: float, n_sequences: list[int], n_kernels: int, n_noise: int,
    seed: int,
) -> dict:  # fmt: skip
    """The same from one sequence's mean, exact for each of many kernels, and covariance; nothing comes from the curves.

    scores_variance: of the kernels' mean. sequence_variance: of one sequence's scores. population: the share of edges
    that a step on the exact mean finds. gap: by how much an edge's score exceeds the next one of its row, the mean
    over edges. guesses: the share of edges found by who always names the token itself, the place before, any place.
    """
    task = CausalTask(make_graph(graph, length, seed), n_states, alpha)
    kernels = sample_causal(task, n_kernels, seed, 0, "prediction")
    exact = expected.exact_scores(kernels.kernels, kernels.stationary, task.parents)
    mean = exact.mean(0)
    child, parent = network.score_factors(sample_causal(task, n_noise, seed, 1, "prediction"))
    places = network.causal_mask(length)
    covariance = torch.cov((child[:, :, None] * parent[:, None])[:, places].T)
    variance = torch.zeros_like(mean)
    variance[places] = covariance.diagonal()
    updates = [expected.sample_updates(mean, covariance, n, _GAUSSIANS, seed) for n in n_sequences]
    share = lambda step, update: network.recovered_edges(step(update), task.parents).mean().item()
    return {
        "scores": mean.tolist(),
        "scores_variance": (exact.var(0) / n_kernels).tolist(),
        "sequence_variance": variance.tolist(),
        "recovered": {name: [share(step, update) for update in updates] for name, step in MAPS.items()},
        "population": {name: share(step, network.first_gradient(mean)) for name, step in MAPS.items()},
        "spread": _spreads(mean, task),
        "gap": _mean_gap(mean, task),
        "guesses": {
            "the token itself": 0.0,
            "the place before": _mean(task.parents[child] == child - 1 for child in task.children),
            "any place": _mean(1 / (child + 1) for child in task.children),
        },
    }


def measure_profile(n_states: int, length: int, alpha: float, profile_sequences: int, seed: int) -> dict:
    """Scores on a chain by distance: the mean over pairs of each lag. laws: every law's mean over the first kernels."""
    task = CausalTask(lagged_graph(length, 1), n_states, alpha)
    matrix, laws = torch.zeros(length, length, dtype=torch.float64), {}
    for start in range(0, profile_sequences, _BATCH):
        n = min(_BATCH, profile_sequences - start)
        drawn = sample_causal(task, n, seed, start // _BATCH)
        matrix += network.scores(*network.score_factors(drawn)) * n / profile_sequences
        if not laws:
            chain = drawn.kernels, drawn.stationary
            laws = {name: [law(*chain, 0, lag).mean().item() for lag in LAGS] for name, law in LAWS.items()}
    return {"scores": [matrix.diagonal(-lag).mean().item() for lag in LAGS], "laws": laws}


def measure_training(
    graph: str, n_states: int, length: int, alpha: float, ood_alpha: float, steps: int, batch_size: int, lr: float,
    seed: int,
) -> dict:  # fmt: skip
    """A network trained from scratch: edges found, attention on them, and how well it and its peers predict.

    inside: on kernels as in training; outside: on kernels of concentration `ood_alpha`.
    """
    task = CausalTask(make_graph(graph, length, seed), n_states, alpha)
    P, R = network.train_network(task, steps, batch_size, lr, seed)
    shifted = CausalTask(task.parents, n_states, ood_alpha)
    attention = network.position_attention(P)
    edges = [attention[child, task.parents[child]].item() for child in task.children]
    result = {"recovered": network.recovered_edges(attention, task.parents).mean().item(), "attention": _mean(edges)}
    result |= {"least_attention": min(edges)}
    for batch, (name, other) in enumerate({"inside": task, "outside": shifted}.items()):
        sequences = sample_causal(other, _EVALUATED, seed, batch, "evaluation")
        result[name] = _compare(P, R, other, sequences)
    return result


def _compare(P: Tensor, R: Tensor, task: CausalTask, sequences: CausalSequences) -> dict:
    """Accuracy and loss by predictor, all on the same sequences.

    previous: counts along the chain whatever the graph, the induction head. known kernel: who knows π, the floor.
    """
    states = state_counts(sequences)
    # ties are broken by the states' counts, and where a query has no child in the context these alone speak
    tied = lambda counts: counts + 1e-3 * states
    posterior = graph_counts(sequences, task.parents) + task.alpha
    rows = sequences.kernels[torch.arange(len(sequences.queries)), sequences.queries]
    hard = torch.full_like(P, -torch.inf)
    for child, parent in enumerate(task.parents):
        hard[child, max(parent, 0)] = 0.0
    guesses = {"network": network.predict(P, R, sequences), "graph attention": network.predict(hard, R, sequences)}
    guesses |= {"graph counts": tied(graph_counts(sequences, task.parents))}
    guesses |= {"previous counts": tied(graph_counts(sequences, lagged_graph(task.length, 1)))}
    guesses |= {"unigram counts": states, "known kernel": rows}
    right = lambda guess: (guess.argmax(1) == sequences.targets).double().mean().item()
    accuracy = {name: right(guess) for name, guess in guesses.items()}
    loss = lambda law: -law.gather(1, sequences.targets[:, None]).log().mean().item()
    return {
        "accuracy": accuracy,
        "loss": {
            "network": network.causal_loss(P, R, sequences).item(),
            "graph attention": network.causal_loss(hard, R, sequences).item(),
            "unigram counts": loss(states / states.sum(1, keepdim=True) + network.FLOOR),
            "Bayes on the graph": loss(posterior / posterior.sum(1, keepdim=True)),
            "known kernel": kernel_entropy(rows[:, None]),
        },
    }


def _spreads(matrix: Tensor, task: CausalTask) -> dict[str, float]:
    """Largest over smallest edge entry of the first step, by map."""
    update = network.first_gradient(matrix)
    edges = task.children, [task.parents[child] for child in task.children]
    entries = {name: step(update)[edges] for name, step in MAPS.items()}
    return {name: (entry.max() / entry.min()).item() for name, entry in entries.items()}


def _mean_gap(matrix: Tensor, task: CausalTask) -> float:
    """Mean over edges of the edge's score less the largest other one of its row."""
    gaps = []
    for child in task.children:
        row = matrix[child, : child + 1].tolist()
        gaps.append(row.pop(task.parents[child]) - max(row))
    return _mean(gaps)


def _mean(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / len(values)
