"""What a cell of the study measures in networks: the recall network and a small language model under one map."""

import functools
import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from amembook.networks.attention import Network, accuracy, forward, initial_weights, recall_loss, value_memory
from amembook.networks.tasks import RecallTask, sample_sequences, uniform
from amembook.networks.text import bigram_loss, documentation, frequency_groups
from amembook.networks.training import VECTORS, adamw, cooled, train
from amembook.practice.accuracy.memory import EXACT, SHIPPED_SLOPE, relative_median, share_below
from amembook.run import runtime
from amemlib.recovery import recovered
from amemlib.spectral import newton_schulz, spectral_map

EVALUATED = 512
"""Sequences on which a network is measured."""


def polar_of_float32(G: Float[Tensor, "m n"]) -> Float[Tensor, "m n"]:
    """The polar factor of what float32 knows of G: directions below its rounding are dropped and not made 1."""
    cut = (G.shape[0] * G.shape[1]) ** 0.25 * torch.finfo(torch.float32).eps
    return spectral_map(G, lambda s: (s > cut * s[0]).to(s))


def orthogonaliser(schedule: str) -> Callable[[Tensor], Tensor]:
    """The map of a matrix by name, without the rounding of a number format."""
    return polar_of_float32 if schedule == EXACT else functools.partial(newton_schulz, coefficients=schedule)


def muon_with(
    weights: dict[str, Tensor],
    lr: float,
    momentum: float,
    schedule: str,
    seen: dict[str, Tensor],
    vectors_lr: float,
    rate: Callable[[int], float] = lambda step: 1.0,
) -> list:
    """Muon as torch has it but for its map and its momentum β: W ← W − η √max(1, m/n) f(M), M Nesterov's average.

    No weight decay. AdamW for the vectors, at `vectors_lr`. seen: where the M of the last step are put, by the name of
    their weight. rate: factor of both rates by step, counted from 0.
    """
    matrices = {name: W for name, W in weights.items() if name not in VECTORS}
    orthogonalise, averages, steps = orthogonaliser(schedule), {}, itertools.count()
    optimizer = torch.optim.SGD(list(matrices.values()), lr=lr)
    vectors = adamw({name: weights[name] for name in VECTORS}, vectors_lr)[0]

    @torch.no_grad()
    def replace_gradients(optimizer, args, kwargs) -> None:
        factor = rate(next(steps))
        for part, full in ((optimizer, lr), (vectors, vectors_lr)):
            for group in part.param_groups:
                group["lr"] = full * factor
        for name, W in matrices.items():
            average = averages.setdefault(name, torch.zeros_like(W)).lerp_(W.grad, 1 - momentum)
            seen[name] = W.grad.lerp(average, momentum)
            W.grad = (math.sqrt(max(1, W.shape[0] / W.shape[1])) * orthogonalise(seen[name])).to(W)

    optimizer.register_step_pre_hook(replace_gradients)
    return [optimizer, vectors]


def spectra(seen: dict[str, Tensor]) -> dict[str, dict[str, float]]:
    """By matrix the relative median of its momentum, and the share below ‖M‖_F / Λ with torch's Λ."""
    values = {name: torch.linalg.svdvals(M.double()) for name, M in seen.items()}
    of_all = {name: (relative_median(s), share_below(s, SHIPPED_SLOPE)) for name, s in values.items()}
    return {"median": {k: x for k, (x, _) in of_all.items()}, "below": {k: x for k, (_, x) in of_all.items()}}


def measure_recall(config: SimpleNamespace, schedule: str, momentum: float, seed: int, device: str) -> dict:
    """Train the recall network with one map: `step`, `loss`, `ood` accuracy, `recall` of W_V, and `spectra` by matrix.

    Data and start are the seed's, whatever the map. spectra["median"][matrix]: one value a probe, the first probe left
    out, where there is no momentum yet.
    """
    task = RecallTask(config.recall_items, config.length, config.pairs, config.recall_alpha, config.recall_alpha)
    place, seen = runtime.device(device), {}
    test = sample_sequences(uniform(task), EVALUATED, seed, 1, "evaluation").to(place)

    def probe(weights: dict[str, Tensor]) -> dict:
        weights = {name: W.detach() for name, W in weights.items()}
        stored = recovered(*value_memory(weights, config.recall_items)).double().mean().item()
        return {"ood": accuracy(weights, test), "recall": stored} | spectra(seen)

    start = initial_weights(Network(task.vocabulary, config.length, config.recall_dim), seed)
    rates = {"lr": config.recall_lr, "vectors_lr": config.recall_vectors_lr}
    run = train(
        {name: W.to(place) for name, W in start.items()},
        recall_loss,
        functools.partial(muon_with, momentum=momentum, schedule=schedule, seen=seen, **rates),
        lambda step: sample_sequences(task, config.batch_size, seed, step).to(place),
        config.recall_steps,
        config.probe_every,
        probe,
    )
    return _curves(run.history)


def measure_text(config: SimpleNamespace, schedule: str, momentum: float, seed: int, device: str) -> dict:
    """Train a causal language model of two layers with MLPs on Python's documentation, with one map, rates `cooled`.

    test: loss in nats on held-out pieces. by_group, hits: the same and the share of words named right, by groups of
    frequency, the most frequent words first. bigram, unigram: the losses of `bigram_loss`. origin: of the text.
    """
    vocabulary, length, groups = config.vocabulary, config.length, config.groups
    text, place, seen = documentation(config.n_words, vocabulary), runtime.device(device), {}
    words = torch.from_numpy(text.train).to(place)
    whole = len(text.test) // (length + 1) * (length + 1)
    rows = torch.from_numpy(text.test[:whole]).reshape(-1, length + 1)[:EVALUATED].to(place)
    group = torch.from_numpy(frequency_groups(text.train, vocabulary, groups)).to(place)[rows[:, 1:]].flatten()

    def logits(weights: dict[str, Tensor], rows: Int[Tensor, "B L1"]) -> Float[Tensor, "n M"]:
        queries = torch.arange(length, device=rows.device).expand(len(rows), length)
        return forward(weights, rows[:, :-1], queries).logits.flatten(0, 1)

    def batch(step: int) -> Int[Tensor, "B L1"]:
        generator = np.random.default_rng([seed, step])
        starts = torch.from_numpy(generator.integers(0, len(words) - length, config.text_batch)).to(place)
        return words[starts[:, None] + torch.arange(length + 1, device=place)]

    @torch.no_grad()
    def probe(weights: dict[str, Tensor]) -> dict:
        pairs = [(logits(weights, part), part[:, 1:].flatten()) for part in rows.split(64)]
        losses = torch.cat([F.cross_entropy(z, asked, reduction="none") for z, asked in pairs])
        hits = torch.cat([z.argmax(-1) == asked for z, asked in pairs])
        of = lambda values: [values[group == k].double().mean().item() for k in range(groups)]
        return {"test": losses.double().mean().item(), "by_group": of(losses), "hits": of(hits)} | spectra(seen)

    start = initial_weights(Network(vocabulary, length, config.text_dim, 4 * config.text_dim), seed)
    rates = {"lr": config.text_lr, "vectors_lr": config.text_vectors_lr}
    rates |= {"rate": functools.partial(cooled, steps=config.text_steps)}
    run = train(
        {name: W.to(place) for name, W in start.items()},
        lambda weights, rows: F.cross_entropy(logits(weights, rows), rows[:, 1:].flatten()),
        functools.partial(muon_with, momentum=momentum, schedule=schedule, seen=seen, **rates),
        batch,
        config.text_steps,
        config.text_probe_every,
        probe,
    )
    return _curves(run.history) | bigram_loss(text, vocabulary) | {"origin": text.origin}


def _curves(history: list[dict]) -> dict:
    """Values by probe; of the spectra, by matrix, from the second probe on."""
    plain = {key: [row[key] for row in history] for key in history[0] if key not in ("median", "below")}
    names = history[-1]["median"]
    of = {key: {name: [row[key][name] for row in history[1:]] for name in names} for key in ("median", "below")}
    return plain | {"spectra": of}
