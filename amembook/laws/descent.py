"""Gradient descent's true iterates without the N² softmax, nothing fitted; `mean_field` for a linear map, no theorem.

A polar step is carried by d directions alike, so its overlaps are self-averaging; a gradient step by the few items that
weigh most, so they are not. The matrices keep the dimension d here, and N processes the place of the N² logits.
Derived in the chapter "Beyond the theorem".
"""

import math

import numpy as np

from amembook.laws.stream import (
    MOST_RIVALS,
    MeanFieldIterates,
    Move,
    State,
    Stream,
    averaged,
    check_course,
    strata,
)
from amemlib.checks import check_instance
from amemlib.problem import Problem


def descent_iterates(problem: Problem, lr_over_root_dim: float, steps: int, streams: int = 8) -> MeanFieldIterates:
    """Gradient descent on the population loss, η_t = c √d / ‖G_t‖_op, c = `lr_over_root_dim`, from W = 0:

        z_i(t+1) = z_i(t) + η_t (r_i(t) (1 − (1 − Y_i) z_i/d) − m_t s_i) + c g_i(t),   r_i(t) = p_i (1 − p̂_ii),

    s_i the signal that W_t holds of item i, m_t = (1/d²) Σ_j r_j (1 − Y_j) the pull on it, and g_i the noise of G_t
    itself. Rival j of item i has the logit z_jj ⟨v_j, v_i⟩ beside a Gaussian one: what a memory of few strong items
    answers to every input.
    `streams` independent solutions give `errors`. The time grows as N d² + N², up to N = 65 536.
    Raises `ValueError` for more items and for logits whose standard deviation exceeds 50.
    """
    check_instance("problem", problem, Problem)
    if problem.n_items > MOST_RIVALS:
        raise ValueError(f"problem must have at most {MOST_RIVALS:,} items, got {problem.n_items:,}")
    c, steps, streams = check_course(lr_over_root_dim, steps, streams)
    p = np.sort(problem.frequencies.numpy(force=True))[::-1]
    edges = strata(problem.n_items, problem.dim, problem.dim)
    generators = (np.random.default_rng([stream, problem.n_items, problem.dim]) for stream in range(streams))
    courses = [_Descent(p.__getitem__, edges, problem.dim, c, rng).run(steps)[0] for rng in generators]
    return averaged(courses, edges)


class _Descent(Stream):
    """One solution for gradient descent."""

    def __init__(self, frequency_at, edges, dim: int, c: float, rng: np.random.Generator):
        super().__init__(frequency_at, edges, dim, dim, c, rng)
        self.neighbour = self.rivals.chosen[self.rivals.nearest]
        chosen = self.rivals.chosen
        self.products = self.V[chosen] @ self.V.T
        self.products[np.arange(len(chosen)), chosen] = 0

    def move(self, state: State, residual: np.ndarray, free: np.ndarray, moment: np.ndarray) -> Move:
        G = free - state.outputs @ state.memory @ moment
        rate, pull = 1 / np.linalg.norm(G, 2), np.trace(moment) / self.dim
        root_d, answers = math.sqrt(self.dim), rate * ((self.V @ G.T) * self.U).sum(1)
        # eq-by-descent
        own = rate * (residual * (1 - state.tilt * state.logits / self.dim) - pull * state.signal / root_d)
        return Move(
            update=rate * G,
            answers=answers,
            own=own,
            gain=self.c * root_d * own,
            response=self.c * root_d * rate,
            keep=1 - self.c * rate * pull,
        )

    def scales(self, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        # whoever takes a neighbour's rivals takes its scale with them; a row for many items has no noise of its own
        scale = np.sqrt(self._along_inputs(memory))[self.neighbour]
        return np.where(self.single, 1, scale), scale, scale

    def rival_scales(self, norms: np.ndarray) -> np.ndarray:
        # what a rival answers along its own input is in `rival_answers`; the rest is the mean one for all
        return np.ones_like(norms)

    def rival_answers(self, z: np.ndarray) -> np.ndarray:
        rows = np.repeat(np.arange(len(z)), self.ranks)[: self.n_items - 1]
        return (self.products * np.where(self.single, z, 0)).astype(np.float32)[:, rows]
