"""Sequence tasks for networks: in-context recall, with its three distributions, a generator and a check (Section 6.2).

Tokens 0 … n − 1 are the triggers, n … 2n − 1 the outputs: two disjoint vocabularies of equal size.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from amemlib.checks import check_count, check_non_negative

_STREAMS = {"training": 0, "evaluation": 1, "noise order": 2}


@dataclass(frozen=True)
class RecallTask:
    """In-context recall: K pairs (trigger, output), each written twice into noise; the second output is the question.

    n_items: n, the number of triggers and also of outputs. length: L tokens. pairs: K.
    trigger_alpha, output_alpha, noise_alpha: exponents of the three power laws, 0 is uniform. Triggers of a sequence
        are drawn without replacement, outputs and noise with. Noise consists of outputs, in a frequency order of its
        own, so that a trigger never occurs but in its two bigrams.

    Raises `ValueError` or `TypeError` for counts that do not fit (4K ≤ L, K ≤ n) or a negative exponent.
    """

    n_items: int
    length: int
    pairs: int
    trigger_alpha: float = 0.0
    output_alpha: float = 0.0
    noise_alpha: float = 0.0

    def __post_init__(self):
        check_count("n_items", self.n_items, least=2)
        check_count("length", self.length, least=4)
        check_count("pairs", self.pairs)
        if 4 * self.pairs > self.length or self.pairs > self.n_items:
            raise ValueError(f"pairs must be at most length / 4 and at most n_items, got {self.pairs} with {self}")
        for name in ("trigger_alpha", "output_alpha", "noise_alpha"):
            check_non_negative(name, getattr(self, name))

    @property
    def vocabulary(self) -> int:
        """2n, the number of tokens."""
        return 2 * self.n_items


@dataclass(frozen=True, eq=False)
class Sequences:
    """B sequences of the recall task, all (B, …) int64 on one device.

    tokens: (B, L). queries: (B, K) positions of the second occurrences of the triggers. targets: (B, K) the tokens that
    follow there. sources: (B, K) where the same token stood the first time, one place after the trigger.
    """

    tokens: Int[Tensor, "B L"]
    queries: Int[Tensor, "B K"]
    targets: Int[Tensor, "B K"]
    sources: Int[Tensor, "B K"]

    def to(self, device) -> "Sequences":
        """The same sequences on another device."""
        return Sequences(*(part.to(device) for part in (self.tokens, self.queries, self.targets, self.sources)))


def uniform(task: RecallTask) -> RecallTask:
    """The same task with uniform triggers and outputs: what the paper tests on out of distribution."""
    return replace(task, trigger_alpha=0.0, output_alpha=0.0)


def trigger_frequencies(task: RecallTask) -> Float[Tensor, " n"]:
    """π_q ∝ i^{−α_q} over the triggers, (n,) float64."""
    return torch.from_numpy(_power_law(task.n_items, task.trigger_alpha))


def output_frequencies(task: RecallTask) -> Float[Tensor, " n"]:
    """π_o ∝ i^{−α_o} over the outputs, (n,) float64: the frequencies of the facts that W_V has to store."""
    return torch.from_numpy(_power_law(task.n_items, task.output_alpha))


def noise_frequencies(task: RecallTask) -> Float[Tensor, " n"]:
    """π_n over the outputs, (n,) float64, in an order of its own that depends on n alone."""
    order = np.random.default_rng([_STREAMS["noise order"], task.n_items]).permutation(task.n_items)
    return torch.from_numpy(_power_law(task.n_items, task.noise_alpha)[order])


def sample_sequences(
    task: RecallTask, n_sequences: int, seed: int, batch: int = 0, stream: str = "training"
) -> Sequences:
    """Draw sequences: K triggers, K outputs, every bigram at two places of a random layout, noise elsewhere.

    A layout has L − 2K slots, one for a noise token or a bigram; 2K of them, chosen uniformly, hold the bigrams, and
    the pairs fall on them in random order. So bigrams never overlap.
    seed, batch, stream: what is drawn. Batch number `batch` of a seed is the same whatever was drawn before it, for
        every network and optimizer; the stream "evaluation" is apart from "training".
    Raises `ValueError` for a negative seed or batch, or an unknown stream.
    """
    if stream not in ("training", "evaluation"):
        raise ValueError(f"stream must be one of 'training', 'evaluation', got {stream!r}")
    B, n, L, K = check_count("n_sequences", n_sequences), task.n_items, task.length, task.pairs
    key = [check_count("seed", seed, least=0), check_count("batch", batch, least=0), _STREAMS[stream]]
    generator = np.random.default_rng(key)
    with_gumbel = np.log(trigger_frequencies(task).numpy()) + generator.gumbel(size=(B, n))
    triggers = np.argsort(-with_gumbel, axis=1)[:, :K]
    outputs = n + generator.choice(n, size=(B, K), p=output_frequencies(task).numpy())
    slots = np.sort(np.argsort(generator.random((B, L - 2 * K)), axis=1)[:, : 2 * K], axis=1)
    starts = slots + np.arange(2 * K)
    pair = np.argsort(generator.random((B, 2 * K)), axis=1) % K
    tokens = n + generator.choice(n, size=(B, L), p=noise_frequencies(task).numpy())
    np.put_along_axis(tokens, starts, np.take_along_axis(triggers, pair, 1), 1)
    np.put_along_axis(tokens, starts + 1, np.take_along_axis(outputs, pair, 1), 1)
    places = np.take_along_axis(starts, np.argsort(pair, axis=1, kind="stable"), 1)
    parts = (tokens, places[:, 1::2], outputs, places[:, ::2] + 1)
    return Sequences(*(torch.from_numpy(np.ascontiguousarray(part, dtype=np.int64)) for part in parts))


def definition_errors(task: RecallTask, sequences: Sequences) -> list[str]:
    """What is wrong with sequences, read off their tokens alone; an empty list if all of them meet the definition.

    A sequence must hold K different triggers, each exactly twice and followed both times by one output, and ask for
    just these outputs at the second places. Slow, token by token.
    """
    errors = []
    parts = (sequences.tokens, sequences.queries, sequences.targets, sequences.sources)
    for row, (tokens, queries, targets, sources) in enumerate(zip(*(part.tolist() for part in parts), strict=True)):
        places = {}
        for position, token in enumerate(tokens):
            if token < task.n_items:
                places.setdefault(token, []).append(position)
        if len(tokens) != task.length or not all(0 <= token < task.vocabulary for token in tokens):
            errors.append(f"sequence {row} is not {task.length} tokens below {task.vocabulary}")
            continue
        if len(places) != task.pairs or any(len(twice) != 2 for twice in places.values()):
            errors.append(f"sequence {row} does not hold {task.pairs} triggers twice each: {places}")
            continue
        asked = {second: (first + 1, tokens[first + 1], tokens[second + 1]) for first, second in places.values()}
        if any(before != after or before < task.n_items for _, before, after in asked.values()):
            errors.append(f"sequence {row} has a trigger that is not followed by one output twice")
        expected = sorted((query, source, target) for query, (source, _, target) in asked.items())
        if expected != sorted(zip(queries, sources, targets, strict=True)):
            errors.append(f"sequence {row} asks at other places than the second occurrences")
    return errors


def _power_law(n: int, alpha: float) -> np.ndarray:
    weights = np.arange(1, n + 1, dtype=np.float64) ** -alpha
    return weights / math.fsum(weights)
