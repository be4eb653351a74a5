"""Chains of thought in a ring of clusters: many easy steps inside a cluster, one hard step from each to the next.

Cluster c has the states c M, …, c M + M − 1. The last is its source, one in the middle its entry. From the source the
walk goes to the entry of the next cluster with probability ε; else, as from all other states, it moves inside, by a
doubly stochastic matrix: the mean of r random permutations, or uniform, or a step to either side on a circle.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from amemlib.checks import check_choice, check_count

KINDS = ("random", "uniform", "circle")


@dataclass(frozen=True, eq=False)
class Chain:
    """inside: one doubly stochastic matrix a cluster, rows where the walk is. edge: ε of every cluster."""

    inside: Float[np.ndarray, "K M M"]
    edge: Float[np.ndarray, " K"]

    def __post_init__(self):
        for axis in (1, 2):
            if not np.allclose(self.inside.sum(axis), 1) or (self.inside < 0).any():
                raise ValueError("inside must hold doubly stochastic matrices")
        if not ((self.edge > 0) & (self.edge < 1)).all():
            raise ValueError(f"edge must hold probabilities in (0, 1), got {self.edge.tolist()}")

    @property
    def sources(self) -> np.ndarray:
        """The states from which the hard steps go, (K,)."""
        K, M, _ = self.inside.shape
        return M * np.arange(K) + M - 1

    @property
    def entries(self) -> np.ndarray:
        """The states to which they go: `entries[c]` is that of cluster c + 1, (K,)."""
        K, M, _ = self.inside.shape
        return M * ((np.arange(K) + 1) % K) + entry(M)

    def transitions(self) -> Float[np.ndarray, "S S"]:
        """P(x, y), rows where the walk is, S = K M."""
        K, M, _ = self.inside.shape
        P = np.zeros((K * M, K * M))
        for c in range(K):
            P[c * M : (c + 1) * M, c * M : (c + 1) * M] = self.inside[c]
        P[self.sources] *= 1 - self.edge[:, None]
        P[self.sources, self.entries] += self.edge
        return P


def sample_chain(n_clusters: int, states: int, kind: str, degree: int, edge, generator: np.random.Generator) -> Chain:
    """A ring of clusters; degree: the number of permutations of a random cluster. edge: ε, or one for each cluster."""
    check_choice("kind", kind, KINDS)
    K, M = check_count("n_clusters", n_clusters, least=2), check_count("states", states, least=2)
    inside = np.full((K, M, M), 1 / M)
    if kind == "random":
        inside = np.zeros((K, M, M))
        at = np.arange(M)
        for cluster in inside:
            for _ in range(check_count("degree", degree, least=2)):
                cluster[at, generator.permutation(M)] += 1 / degree
    elif kind == "circle":
        step = np.roll(np.eye(M), 1, axis=1)
        inside[:] = (step + step.T) / 2
    return Chain(inside, np.broadcast_to(np.asarray(edge, dtype=float), K).copy())


def entry(states: int) -> int:
    """The place of a cluster's entry in it: the one opposite to its source on a circle."""
    return states // 2 - 1


def time_to_last(P: Float[np.ndarray, "S S"], states: int) -> float:
    """Expected steps from the first cluster's entry to the last cluster, by a linear solve."""
    away = P[:-states, :-states]
    return float(np.linalg.solve(np.eye(len(away)) - away, np.ones(len(away)))[entry(states)])


def inner_times(chain: Chain) -> Float[np.ndarray, " K"]:
    """H: expected steps from each cluster's entry to its source, inside."""
    times = []
    for inside in chain.inside:
        away = inside[:-1, :-1]
        times.append(np.linalg.solve(np.eye(len(away)) - away, np.ones(len(away)))[entry(len(inside))])
    return np.array(times)
