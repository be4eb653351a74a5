"""Schedules of stepsizes, and what they guarantee: for a 1-smooth convex f with a minimizer at distance 1.

All rates are in units of 1/L. The join and the blocks are found in the literature that the chapter names; how often a
block is repeated, and the closed forms of the worst case, are derived in the chapter.
"""

import math

import numpy as np

SILVER = 1 + math.sqrt(2)
"""ρ."""
EXPONENT = 2 * math.log2(SILVER) / (1 + math.log2(SILVER))
"""ϑ = 1.119 of the paper's second version."""
SCHEDULES = ("constant", "dynamic", "silver", "anytime")
"""All rates one; single steps joined; the silver schedule; silver blocks joined."""


def join(left: float, right: float) -> float:
    """φ(x, y) = (−x − y + √((x + y + 2)² + 4 (x + 1)(y + 1)))/2: the step between schedules of sums x and y."""
    return (-left - right + math.sqrt((left + right + 2) ** 2 + 4 * (left + 1) * (right + 1))) / 2


def silver_block(level: int) -> np.ndarray:
    """The silver schedule of 2^level − 1 steps and sum ρ^level − 1: 1 + ρ^(ν − 1), 2^ν the even part of a place."""
    places = range(1, 2**level)
    return np.array([1 + SILVER ** ((i & -i).bit_length() - 2) for i in places], dtype=float)


def anytime(n_steps: int, repeats: float) -> np.ndarray:
    """Silver blocks joined: for k = 0, 1, 2, … ⌈c ρ^k⌉ times the join step and then the block k. (n_steps,)."""
    steps, total, level = [], 0.0, 0
    while len(steps) < n_steps:
        block = silver_block(level)
        for _ in range(math.ceil(repeats * SILVER**level)):
            steps += [join(total, block.sum()), *block]
            total += steps[-len(block) - 1] + block.sum()
        level += 1
    return np.array(steps[:n_steps])


def schedule_of(name: str, n_steps: int, repeats: float) -> np.ndarray:
    """The first n_steps of "constant", "dynamic" (single steps joined), "silver" or "anytime"."""
    if name == "constant":
        return np.ones(n_steps)
    if name == "dynamic":
        steps, total = [], 0.0
        for _ in range(n_steps):
            steps.append(join(total, 0.0))
            total += steps[-1]
        return np.array(steps)
    if name == "silver":
        return silver_block(n_steps.bit_length())[:n_steps]
    if name == "anytime":
        return anytime(n_steps, repeats)
    raise ValueError(f"schedule must be constant, dynamic, silver or anytime, got {name!r}")


def slope_bound(steps: np.ndarray) -> np.ndarray:
    """1/(2(2S + 1)) after each step, S the sum so far: what the Huber function that is never left behind still has."""
    return 1 / (2 * (2 * np.cumsum(steps) + 1))


def bounce_bound(steps: np.ndarray) -> np.ndarray:
    """((a − 1)/(S + 1))²/2 after a step a, S the sum before: the Huber function whose corner the step starts from."""
    before = np.cumsum(steps) - steps
    return ((steps - 1) / (before + 1)) ** 2 / 2


def envelope(worst: np.ndarray) -> np.ndarray:
    """The worst at any later stopping time: sup over t ≥ T."""
    return np.maximum.accumulate(worst[::-1])[::-1]


def checkpoints(n_steps: int) -> np.ndarray:
    """Stopping times at which worst cases are stored: four in an octave, ascending."""
    grid = 2 ** np.arange(0, math.log2(n_steps) + 1e-9, 0.25)
    return np.unique(np.clip(np.round(grid).astype(int), 1, n_steps))
