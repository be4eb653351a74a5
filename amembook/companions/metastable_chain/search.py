"""A search for hard steps: walkers explore a neighbourhood, then one of them walks until it sees a new state."""

import math

import numpy as np
from jaxtyping import Bool, Float

from amembook.companions.metastable_chain.chains import Chain


def search_rounds(rounds: float, clusters: int) -> int:
    """`rounds` · K log K, at least one."""
    return math.ceil(rounds * clusters * math.log(clusters))


def explore(
    P: Float[np.ndarray, "S S"], starts: np.ndarray, walkers: int, steps: int, generator: np.random.Generator
) -> Bool[np.ndarray, "R S"]:
    """States that `walkers` walks of `steps` steps see, all from one start a round."""
    rounds = len(starts)
    cumulative = P.cumsum(1)
    cumulative[:, -1] = 1.0
    seen = np.zeros((rounds, len(P)), dtype=bool)
    seen[np.arange(rounds), starts] = True
    at = np.repeat(starts, walkers)
    of = np.repeat(np.arange(rounds), walkers)
    for _ in range(steps):
        at = (cumulative[at] < generator.random(len(at))[:, None]).sum(1)
        seen[of, at] = True
    return seen


def exits(
    P: Float[np.ndarray, "S S"], starts: np.ndarray, seen: Bool[np.ndarray, "R S"], generator: np.random.Generator
) -> tuple[np.ndarray, Float[np.ndarray, " R"]]:
    """The step by which a walk from each start first leaves what was seen, (R, 2), and the steps that it takes.

    The step is drawn from its exact law, visits · P, and the number is its mean: a walk would only add its own noise.
    """
    taken, long = np.empty((len(starts), 2), dtype=int), np.empty(len(starts))
    for k, (start, known) in enumerate(zip(starts, seen, strict=True)):
        inner, outer = np.flatnonzero(known), np.flatnonzero(~known)
        visits = np.linalg.solve(np.eye(len(inner)) - P[np.ix_(inner, inner)].T, (inner == start).astype(float))
        chances = visits[:, None] * P[np.ix_(inner, outer)]
        pick = generator.choice(chances.size, p=chances.ravel() / chances.sum())
        taken[k] = inner[pick // len(outer)], outer[pick % len(outer)]
        long[k] = visits.sum()
    return taken, long


def search(
    chain: Chain, rounds: int, walkers: int, budget: float, generator: np.random.Generator
) -> tuple[np.ndarray, float]:
    """The step that each round reports, (R, 2), and the mean number of steps walked in a round."""
    P, states = chain.transitions(), chain.inside.shape[1]
    # of each walker: all of them together make about budget · M log M
    steps = max(1, round(budget * states * math.log(states) / walkers))
    starts = generator.integers(len(P), size=rounds)
    seen = explore(P, starts, walkers, steps, generator)
    taken, long = exits(P, starts, seen, generator)
    return taken, walkers * steps + float(long.mean())


def kept_edges(taken: np.ndarray, least: int) -> np.ndarray:
    """Distinct steps reported by at least so many rounds, (E, 2)."""
    steps, counts = np.unique(taken, axis=0, return_counts=True)
    return steps[counts >= least]


def hard_steps(chain: Chain, edges: np.ndarray) -> Bool[np.ndarray, " E"]:
    """Which of these steps go from a source to the next cluster's entry."""
    target = np.full(chain.inside.shape[0] * chain.inside.shape[1], -1)
    target[chain.sources] = chain.entries
    return target[edges[:, 0]] == edges[:, 1]
