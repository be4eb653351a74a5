"""What the study measures: trained networks with and without a chain of thought, and what one step of V₃₁ makes."""

from collections.abc import Sequence

import numpy as np
import torch

from amembook.companions.chain_of_thought import network
from amembook.companions.chain_of_thought.prompts import (
    decaying_eigenvalues,
    descend,
    residuals,
    sample_prompts,
    teacher_path,
)
from amembook.run.base import MAPS
from amemlib.spectral import polar

_SCALES = np.geomspace(0.7, 1.95, 12)
"""Rates of the SGD step that are tried, in units of the inverse of its largest singular value."""
_ANSWER, _THINK, _STEP = range(3)


def measure_answer(
    dim: int, n_examples: int, steps: int, answer_batch: int, lr: float, scale: float, n_prompts: int, seed: int
) -> dict:
    """The relative error on fresh prompts of a network that was trained to answer at once."""
    generator = np.random.default_rng([seed, dim, n_examples, _ANSWER])
    V, W = network.train(network.answer_loss, dim, n_examples, steps, answer_batch, lr, scale, generator)
    fresh = sample_prompts(10 * n_prompts, n_examples, dim, generator)
    return {"error": network.relative_errors(fresh, network.think(V, W, fresh, 1))[1].item()}


def measure_thinking(
    dim: int, ratio: int, rate: float, thoughts: int, kept: Sequence[int], steps: int, batch_size: int, lr: float,
    scale: float, n_prompts: int, seed: int,
) -> dict:  # fmt: skip
    """A network trained on the teacher's chain: its weights, and its errors on fresh prompts when it thinks alone.

    apart: the largest relative distance of an error from that of gradient descent on the same prompts.
    apart_longer: the largest distance, in units of ‖w‖², on prompts of four times the examples, of which it saw none.
    """
    generator = np.random.default_rng([seed, dim, ratio, _THINK])
    n_examples = ratio * dim
    loss = network.thinking_loss(rate, thoughts)
    V, W = network.train(loss, dim, n_examples, steps, batch_size, lr, scale, generator)
    measured = network.construction(V, W)
    for name, length in (("", n_examples), ("_longer", 4 * n_examples)):
        fresh = sample_prompts(n_prompts, length, dim, generator)
        own = network.relative_errors(fresh, network.think(V, W, fresh, max(kept)))[list(kept)]
        exact = network.relative_errors(fresh, teacher_path(fresh, rate, max(kept)))[list(kept)]
        unit = 1 if name else exact
        measured |= {f"errors{name}": own.tolist(), f"apart{name}": ((own - exact).abs() / unit).max().item()}
    return measured


def measure_step(
    step_dim: int, step_examples: int, step_rate: float, exponent: float, thoughts: int, step_batch: int,
    step_kept: Sequence[int], n_prompts: int, seed: int,
) -> dict:  # fmt: skip
    """One step of V₃₁ from 0, W by hand, and the errors of the chain that follows: by map, and of gradient descent.

    The rate of the SGD step is the best of twelve, in hindsight, at `step_kept[-2]` thoughts; that of the polar step is
    the teacher's η.
    """
    generator = np.random.default_rng([seed, step_dim, thoughts, round(1000 * exponent), _STEP])
    eigenvalues = decaying_eigenvalues(step_dim, exponent)
    draw = lambda count: sample_prompts(count, step_examples, step_dim, generator, eigenvalues)
    batch = draw(step_batch)
    path = teacher_path(batch, step_rate, thoughts)
    G = sum((F.mT @ F for F in (residuals(batch, path[:, i]) for i in range(thoughts))), start=0 * batch.S[0])
    fresh = draw(n_prompts)
    at = [k - 1 for k in step_kept]
    eye = torch.eye(step_dim, dtype=torch.float64)
    steps = {"exact": {"errors": descend(fresh, step_rate * eye, max(step_kept))[at].tolist()}}
    for name, spectral_map in MAPS.items():
        M = spectral_map(G)
        top = torch.linalg.matrix_norm(M, 2).item()
        scales = _SCALES / top if name == "sgd" else [step_rate]
        errors = min((descend(fresh, s * M, max(step_kept))[at].tolist() for s in scales), key=lambda e: e[-2])
        steps[name] = {"cosine": (M.trace() / M.norm() / step_dim**0.5).item(), "errors": errors}
    return steps


def measure_rank(step_dim: int, step_examples: int, few: int, seed: int) -> dict:
    """The cosine of the polar factor to I when the batch has `few` prompts of one thought each, Λ = I."""
    generator = np.random.default_rng([seed, step_dim, few, _STEP])
    batch = sample_prompts(few, step_examples, step_dim, generator)
    F = residuals(batch, torch.zeros_like(batch.w))
    M = polar(F.mT @ F)
    return {"cosine": (M.trace() / M.norm() / step_dim**0.5).item()}
