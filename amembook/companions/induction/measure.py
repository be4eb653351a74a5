"""What the study measures: at which scale of the positions the shortcut wins, after one step and after many."""

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import torch

from amembook.companions.induction import expected, sequences
from amembook.companions.induction.sequences import Pretraining, power_lengths
from amemlib.spectral import polar

_TESTS, _LEVEL = 200, 0.5


def _polar(G: np.ndarray) -> np.ndarray:
    # one row more than lengths: rounding must not decide that it adds a direction
    return polar(torch.from_numpy(G), rank=len(G) - 1).numpy()


MAPS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"sgd": lambda G: G, "polar": _polar}
"""What the first step adds to A = 0, by name."""


def measure_transition(
    first_length: int, count: int, power: float, n_tokens: int, n_sequences: int, value_scale: float, scales, seed: int
) -> dict:
    """After one step on a sample: the critical scale by map, at lengths of training and at a new one; and by scale the
    accuracy of the gradient step, at the worst length of training. Triggers stand where none stood in training."""
    training = power_lengths(first_length, count, power)
    generator = np.random.default_rng([seed, first_length, count, int(10 * power) + 1000])
    moments, counts = sequences.sample_moments(training, n_tokens, n_sequences, value_scale, generator)
    tests = _tests(training, n_tokens, generator)
    critical = _critical(moments, tests, n_tokens)
    worst = lambda scale: _accuracies(moments, tests, n_tokens, scale, MAPS["sgd"])[0]
    rates = counts / training.lengths
    return critical | {"accuracy": [worst(scale) for scale in scales], "max_sum": float(rates.max() / rates.sum())}


def expected_transition(first_length: int, count: int, power: float, n_tokens: int) -> dict:
    """The same of all sequences, in closed form: critical scales by map and length, R, the largest q_l, n."""
    training = power_lengths(first_length, count, power)
    moments = expected.population_moments(training, n_tokens)
    shares = {"max_sum": training.max_sum, "largest": float(training.shares.max()), "count": count}
    return shares | _critical(moments, _probes(training, n_tokens), n_tokens)


def exact_cost(first_length: int, scale: float, n_tokens: int) -> dict:
    """The least mean tokens of a sequence with which one step on all sequences finds the head everywhere, of any shares
    of the lengths that R ≤ g⁻⁴ needs and three more; beside it closed forms: of the cheapest shares with R ≤ g⁻⁴, of
    q_l ∝ l and of equal shares on whole lengths."""
    whole = math.ceil(scale**4)
    tokens, ratio = expected.least_tokens(first_length, whole + 3, n_tokens, scale)
    even = expected.fewest_lengths(first_length, 0.0, scale)
    shares = {
        "cheapest": expected.cheapest(first_length, scale**-4),
        "linear": power_lengths(first_length, whole, 1.0),
        "equal": power_lengths(first_length, even, 0.0),
    }
    return {"least": tokens, "max_sum": ratio} | {name: expected.mean_length(one) for name, one in shares.items()}


def measure_samples(
    first_length: int, sample_lengths: int, n_tokens: int, n_sequences: int, value_scale: float, seed: int
) -> dict:
    """The critical scale of the gradient step on few sequences, q_l ∝ l, and the max-sum ratio of the sample itself."""
    run = measure_transition(first_length, sample_lengths, 1.0, n_tokens, n_sequences, value_scale, (), seed)
    return {key: run[key] for key in ("sgd", "max_sum")}


def measure_cost(
    first_length: int, power: float, cost_scale: float, n_tokens: int, n_sequences: int, value_scale: float, seed: int
) -> dict:
    """With q_l ∝ l^power: the fewest lengths that give accuracy 0.99 elsewhere, and the mean tokens of a sequence."""
    sizes = n_tokens, n_sequences, value_scale, (cost_scale,), seed
    for count in itertools.count(1):
        if measure_transition(first_length, count, power, *sizes)["accuracy"][0] >= 0.99:
            return {"count": count, "tokens": expected.mean_length(power_lengths(first_length, count, power))}


def measure_training(first_length: int, train_lengths: int, train_steps: Sequence[int], seed: int) -> dict:
    """Critical scale after some numbers of gradient steps on every length once, with random rates q_l / l."""
    lengths = np.arange(first_length, first_length + train_lengths)
    rates = np.random.default_rng([seed, train_lengths]).dirichlet(np.full(train_lengths, 2.0))
    training = Pretraining(lengths, rates * lengths / (rates @ lengths))

    def critical(steps: int) -> float:
        return expected.critical_scale(lambda g: train_head(training, g, steps)[-1]["head"], _LEVEL)

    return {"sgd": [critical(steps) for steps in train_steps], "max_sum": training.max_sum}


def train_head(
    training: Pretraining, scale: float, steps: int, lr: float = 0.1, value_scale: float = 10.0
) -> list[dict]:
    """Full-batch gradient descent where all tokens of a sequence are different: one sequence a length says all.

    By step the loss, and of the last one whether a first trigger two places before all of training is found at every
    length (1.0).
    """
    lengths, n = training.lengths, len(training.lengths)
    total, place = 2 * lengths[:, None], np.arange(1, 2 * lengths.max() + 1)
    right = (place == lengths[:, None] + 1).astype(float)
    queries = np.concatenate([np.ones((n, 1)), scale * np.eye(n)], 1)
    A = np.zeros((n + 1, 1 + len(place)))
    history = []
    for _ in range(steps):
        scores = queries @ A
        scores = np.where(place <= total, scores[:, :1] * right + scale * scores[:, 1:], -np.inf)
        attention = np.exp(scores - scores.max(1, keepdims=True))
        attention /= attention.sum(1, keepdims=True)
        weights = np.where(place <= total, np.exp(value_scale * attention), 0)
        chances = weights / (weights.sum(1, keepdims=True) + len(place) - total + 1)
        history.append({"loss": float(-training.shares @ np.log((chances * right).sum(1)))})
        pull = right - chances
        pull = attention * (pull - (attention * pull).sum(1, keepdims=True))
        pull *= value_scale * training.shares[:, None]
        A = A + lr * queries.T @ np.concatenate([(pull * right).sum(1, keepdims=True), scale * pull], 1)
    history[-1]["head"] = float(_finds(queries @ A, lengths, scale))
    return history


def _finds(rows: np.ndarray, lengths: np.ndarray, scale: float) -> bool:
    """Whether at each length the induction key, at a place two before all of training, beats every other key."""
    new = lengths.min() - 2
    for row, length in zip(rows, lengths, strict=True):
        scores = scale * row[1 : 2 * length + 1]
        if row[0] + scores[new] <= np.delete(scores, new).max():
            return False
    return True


def _tests(training: Pretraining, n_tokens: int, generator: np.random.Generator) -> list[np.ndarray]:
    """Sequences with the first trigger where none stood in training: at each length of training, then one longer."""
    lengths = training.lengths.tolist()
    places = [generator.choice(sequences.new_places(length, training.lengths), _TESTS) for length in lengths]
    totals = [*(2 * length for length in lengths), 2 * max(lengths) + 1]
    places.append(generator.integers(1, min(lengths), size=_TESTS))
    return [sequences.sample_tokens(T, at, n_tokens, generator) for T, at in zip(totals, places, strict=True)]


def _probes(training: Pretraining, n_tokens: int) -> list[np.ndarray]:
    """The same with one sequence a place, of noise tokens that are all alike and an answer that is not: population
    scores do not tell noise tokens apart."""
    lengths = training.lengths.tolist()
    totals = [*(2 * length for length in lengths), 2 * max(lengths) + 1]
    places = [sequences.new_places(length, training.lengths) for length in lengths]
    probes = []
    for total, at in zip(totals, [*places, np.arange(1, min(lengths))], strict=True):
        tokens = np.zeros((len(at), total), dtype=int)
        rows = np.arange(len(at))
        tokens[rows, at - 1], tokens[rows, at] = n_tokens, 1
        tokens[:, -1] = n_tokens
        probes.append(tokens)
    return probes


def _critical(moments: np.ndarray, tests: list[np.ndarray], n_tokens: int) -> dict:
    """By map: the critical scale at the worst length of training, `seen`, and at a new length, `unseen`."""

    def of(step, which: int) -> float:
        return expected.critical_scale(lambda g: _accuracies(moments, tests, n_tokens, g, step)[which], _LEVEL)

    return {name: {"seen": of(step, 0), "unseen": of(step, 1)} for name, step in MAPS.items()}


def _accuracies(moments, tests, n_tokens: int, scale: float, step) -> tuple[float, float]:
    """Accuracy at the worst length of training, and at the new length."""
    A = sequences.first_update(moments, n_tokens, scale, step)
    rows = [*(A[0] + scale * A[1:]), A[0]]
    shares = []
    for row, tokens in zip(rows, tests, strict=True):
        first = (tokens == n_tokens).argmax(1)
        answers = tokens[np.arange(len(tokens)), first + 1]
        shares.append(float(sequences.hits(row, tokens, answers, n_tokens, scale).mean()))
    return min(shares[:-1]), shares[-1]
