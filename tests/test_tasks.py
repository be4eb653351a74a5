"""The recall task: every sequence meets the definition, and the three laws are the ones that were asked for."""

import dataclasses

import numpy as np
import pytest
import torch

from amembook.networks.tasks import (
    RecallTask,
    definition_errors,
    noise_frequencies,
    output_frequencies,
    sample_sequences,
    trigger_frequencies,
    uniform,
)

TASKS = [
    RecallTask(64, 32, 3, 1.5, 1.5),
    RecallTask(24, 20, 2),
    RecallTask(2, 8, 2, 3.0, 3.0, 2.0),  # nothing but bigrams, and every trigger
    RecallTask(5, 4, 1, 0.0, 2.0, 1.0),
    RecallTask(256, 128, 8, 2.0, 0.0, 1.0),
]


@pytest.mark.parametrize("stream", ["training", "evaluation"])
@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"n{task.n_items}-L{task.length}-K{task.pairs}")
def test_every_sequence_of_a_random_sample_meets_the_definition(task, stream):
    for seed in range(2000, 2004):
        for law in (task, uniform(task)):
            assert definition_errors(law, sample_sequences(law, 100, seed, batch=3, stream=stream)) == []


@pytest.mark.parametrize(
    "part, change, words",
    [
        ("tokens", lambda x, s: x.scatter(1, s.queries + 1, 64), "asks at other places"),
        ("tokens", lambda x, s: x.scatter(1, s.queries[:, :1] + 1, (s.targets[:, :1] - 63) % 64 + 64), "one output"),
        ("tokens", lambda x, s: x.scatter(1, s.queries[:, :1], 70), "twice each"),
        ("tokens", lambda x, s: x + 64 * (x >= 64), "below 128"),
        ("tokens", lambda x, s: x[:, :-1], "32 tokens"),
        ("queries", lambda x, s: x.flip(1) - 1, "other places"),
        ("queries", lambda x, s: s.sources - 1, "other places"),
        ("targets", lambda x, s: x + 1, "other places"),
        ("sources", lambda x, s: x - 1, "other places"),
    ],
)
def test_the_check_sees_what_is_wrong(part, change, words):
    task = TASKS[0]
    sequences = sample_sequences(task, 20, 2000)
    broken = dataclasses.replace(sequences, **{part: change(getattr(sequences, part), sequences)})
    assert any(words in error for error in definition_errors(task, broken))


def test_frequencies_are_the_three_power_laws():
    task = RecallTask(50, 32, 3, trigger_alpha=0.5, output_alpha=2.0, noise_alpha=1.0)
    for frequencies, alpha in ((trigger_frequencies(task), 0.5), (output_frequencies(task), 2.0)):
        ranks = torch.arange(1, 51, dtype=torch.float64)
        assert torch.allclose(frequencies / frequencies[0], ranks**-alpha)
        assert frequencies.sum().item() == pytest.approx(1)
    noise = noise_frequencies(task)
    assert torch.equal(noise.sort(descending=True).values, noise_frequencies(task).sort(descending=True).values)
    assert not torch.equal(noise, noise.sort(descending=True).values), "noise has an order of its own"
    assert torch.allclose(noise_frequencies(uniform(RecallTask(50, 32, 3))), torch.full((50,), 0.02).double())


def test_what_is_drawn_follows_the_laws():
    task = RecallTask(16, 32, 3, trigger_alpha=1.0, output_alpha=1.5, noise_alpha=1.0)
    n_sequences = 20_000
    sequences = sample_sequences(task, n_sequences, 2000)
    outputs = torch.bincount(sequences.targets.flatten() - 16, minlength=16) / (3 * n_sequences)
    p = output_frequencies(task)
    assert ((outputs - p).abs() < 5 * (p / (3 * n_sequences)).sqrt()).all()
    # triggers come without replacement, and Gumbel's trick draws them one after the other: exact by enumeration
    q = trigger_frequencies(task).numpy()
    included = q.copy()
    for a in range(16):
        second = np.delete(q, a) / (1 - q[a])
        others = np.delete(np.arange(16), a)
        for b, share in zip(others, second, strict=True):
            included[b] += q[a] * share
            third = q.copy()
            third[[a, b]] = 0
            included += q[a] * share * third / third.sum()
    triggers = torch.gather(sequences.tokens, 1, sequences.queries)
    counts = np.bincount(triggers.flatten(), minlength=16) / n_sequences
    assert (np.abs(counts - included) < 5 * np.sqrt(included / n_sequences)).all()
    noise = sequences.tokens.clone()
    for places in (sequences.queries, sequences.queries + 1, sequences.sources, sequences.sources - 1):
        noise.scatter_(1, places, -1)
    counts = torch.bincount(noise[noise >= 0] - 16, minlength=16) / (n_sequences * 20)
    assert ((counts - noise_frequencies(task)).abs() < 0.003).all()


def test_places_are_even_and_pairs_fall_on_them_in_any_order():
    task = RecallTask(8, 12, 1)
    sequences = sample_sequences(task, 20_000, 2000)
    # 10 slots, 2 of them bigrams: the first bigram starts at slot a, the second one at slot b > a, one place later
    pairs = torch.stack([sequences.sources[:, 0] - 1, sequences.queries[:, 0]], 1)
    counts = torch.zeros(12, 12).index_put_((pairs[:, 0], pairs[:, 1]), torch.ones(()), accumulate=True)
    allowed = torch.tensor([[a < b - 1 and b < 11 for b in range(12)] for a in range(12)])
    assert (counts[~allowed] == 0).all() and allowed.sum() == 45
    assert ((counts[allowed] / 20_000 - 1 / 45).abs() < 5 * (1 / 45 / 20_000) ** 0.5).all()


def test_a_batch_depends_on_its_number_and_on_nothing_drawn_before():
    task = TASKS[0]
    one = sample_sequences(task, 4, 2000, batch=7)
    again = sample_sequences(task, 4, 2000, batch=7)
    assert torch.equal(one.tokens, again.tokens) and torch.equal(one.queries, again.queries)
    for other in (
        sample_sequences(task, 4, 2000, batch=8),
        sample_sequences(task, 4, 2001, batch=7),
        sample_sequences(task, 4, 2000, batch=7, stream="evaluation"),
    ):
        assert not torch.equal(one.tokens, other.tokens)


def test_the_uniform_task_differs_in_its_two_laws_only():
    task = RecallTask(24, 20, 2, 1.5, 1.0, 0.5)
    assert uniform(task) == RecallTask(24, 20, 2, 0.0, 0.0, 0.5)
