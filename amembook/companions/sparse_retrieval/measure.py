"""What the study measures: memories, labels that one step needs, trained networks, heads, and a Muon step."""

import numpy as np
import torch

from amembook.companions.sparse_retrieval import networks
from amembook.companions.sparse_retrieval.codes import first_moments, found_share, sample_codes
from amembook.companions.sparse_retrieval.recurrent import recurrent_risk
from amembook.run.base import MAPS
from amemlib.problem import Problem

_SHARPNESS, GROWTH, FEWEST, _MOST = 100.0, 1.3, 4, 2**17
_MEMORY, _STEP, _TRAINED, _HEADS, _POWER = range(5)


def measure_memory(n_positions: int, memory_dim: int, seed: int) -> dict:
    """Risks of answering from a state Σ_j x_j ω_jᵀ, at its best scale, and by a sharp softmax, given the codes."""
    codes = sample_codes(n_positions, memory_dim, np.random.default_rng([seed, n_positions, _MEMORY]))
    overlaps = codes @ codes.mT
    weights = (_SHARPNESS * overlaps).softmax(1)
    eye = torch.eye(n_positions, dtype=torch.float64)
    return {
        "linear": (1 - 1 / overlaps.square().sum(1).mean()).item(),
        "softmax": (weights - eye).square().sum(1).mean().item(),
    }


def measure_needed(n_positions: int, code_dim: int, many: int, level: float, repeats: int, seed: int) -> dict:
    """The n at which one gradient step finds the share `level` of the positions; one label a sequence, or N if `many`.

    By steps of three tenths, the share averaged over `repeats` samples, then between the last two.
    """
    generator = np.random.default_rng([seed, n_positions, code_dim, many, _STEP])
    codes = sample_codes(n_positions, code_dim, generator)
    labels = n_positions if many else 1

    def share(n: int) -> float:
        draws = (codes.mT @ first_moments(n_positions, n, labels, generator) @ codes for _ in range(repeats))
        return float(np.mean([found_share(W, codes, codes) for W in draws]))

    low, low_share, high = 0, 0.0, FEWEST
    while (reached := share(high)) < level:
        low, low_share, high = high, reached, int(np.ceil(GROWTH * high))
        if high > _MOST:
            return {"needed": float("nan")}
    return {"needed": low * (high / low) ** ((level - low_share) / (reached - low_share)) if low else float(high)}


def measure_attention(
    n_positions: int, dim: int, attention_code: int, many: int, steps: int, lr: float, solved: float, seed: int
) -> dict:
    """The number of sequences, doubled from 4 on, from which trained attention has a risk below `solved`."""
    labels, n = (n_positions if many else 1), FEWEST
    while n <= _MOST:
        if _attention_risk(n_positions, dim, attention_code, n, labels, steps, lr, seed) < solved:
            return {"needed": n}
        n *= 2
    return {"needed": float("nan")}


def measure_small(
    small_positions: int, dim: int, small_code: int, small_samples: int, width: int, steps: int, lr: float,
    forward_lr: float, seed: int,
) -> dict:  # fmt: skip
    """Risks of trained attention and of a trained feed-forward network from the same number of labels, one each."""
    generator = np.random.default_rng([seed, small_samples, _TRAINED])
    codes = sample_codes(small_positions, small_code, generator)[None]
    draw = lambda count: networks.sample_task(1, count, 1, small_positions, dim, generator)
    start = networks.start_feed_forward(1, small_positions * dim + small_code, width, generator)
    weights = networks.train(networks.feed_forward, start, draw(small_samples), codes, steps, forward_lr)
    risk = networks.risks(networks.feed_forward, weights, draw(2000), codes).item()
    attention = _attention_risk(small_positions, dim, small_code, small_samples, 1, steps, lr, seed)
    return {"feed_forward": risk, "attention": attention}


def measure_recurrent(
    read_positions: int, read_width: int, read_steps: int, read_batch: int, read_lr: float, before: int, seed: int
) -> dict:
    """The risk of a trained gated recurrent network that is asked before it reads, or after."""
    generator = np.random.default_rng([seed, read_positions, before, _TRAINED])
    code = max(8, 2 * read_positions.bit_length())
    risk = recurrent_risk(read_positions, 1, code, read_width, read_steps, read_batch, read_lr, bool(before), generator)
    return {"risk": risk}


def measure_heads(heads: int, targets: int, head_samples: int, seed: int) -> dict:
    """What the best quadratic read-out of H random averages of q targets leaves of y = Σ_i He₂(x_i)/√(2q)."""
    generator = np.random.default_rng([seed, heads, targets, _HEADS])
    V = generator.standard_normal((targets, heads))
    left, right = np.triu_indices(heads)

    def features(x):
        read = x @ V
        return np.column_stack([np.ones(len(x)), read[:, left] * read[:, right]])

    answer = lambda x: (x**2 - 1).sum(1) / np.sqrt(2 * targets)
    seen, fresh = (generator.standard_normal((head_samples, targets)) for _ in range(2))
    coefficients = np.linalg.lstsq(features(seen), answer(seen), rcond=None)[0]
    return {"risk": float(np.mean((answer(fresh) - features(fresh) @ coefficients) ** 2) / np.mean(answer(fresh) ** 2))}


def measure_power(step_positions: int, step_code: int, alpha: float, seed: int) -> dict:
    """Positions asked with p_t ∝ t^−α: how many one step finds, from all data, with shared and independent codes."""
    generator = np.random.default_rng([seed, step_positions, round(1000 * alpha), _POWER])
    keys, others = (sample_codes(step_positions, step_code, generator) for _ in range(2))
    p = Problem.power_law(step_positions, step_code, alpha).frequencies
    counts = {}
    for name, queries in (("shared", keys), ("independent", others)):
        G = queries.mT @ (p[:, None] * keys)
        counts[name] = {key: step_positions * found_share(f(G), queries, keys) for key, f in MAPS.items()}
    return counts


def _attention_risk(
    n_positions: int, dim: int, code_dim: int, n: int, labels: int, steps: int, lr: float, seed: int
) -> float:
    generator = np.random.default_rng([seed, n_positions, n, labels, _TRAINED])
    codes = sample_codes(n_positions, code_dim, generator)[None]
    draw = lambda count, asked: networks.sample_task(1, count, asked, n_positions, dim, generator)
    start = networks.start_attention(1, dim, code_dim, generator)
    weights = networks.train(networks.attend, start, draw(n, labels), codes, steps, lr)
    return networks.risks(networks.attend, weights, draw(2000, 1), codes).item()
