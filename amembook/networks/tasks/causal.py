"""In-context causal graphs: sequences whose tokens depend on earlier ones by a fixed graph and a fresh kernel each.

The task of Nichani, Damian and Lee, arXiv:2402.14735. States are 0 … S − 1. The graph is a tuple `parents`: token i is
drawn from row x_{parents[i]} of the kernel π, a root (parent −1) from π's stationary law. The graph is the same in all
sequences, π is a new one in each.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from amemlib.checks import check_count, check_positive

ROOT = -1
_STREAMS = {"training": 0, "evaluation": 1, "prediction": 2, "graph": 3}
_SMALLEST = 1e-9


@dataclass(frozen=True)
class CausalTask:
    """The task: its graph, the number of states S, and the concentration α of the Dirichlet rows of π.

    parents: for each of the T context tokens the place of its parent, an earlier one, or −1 for a root.
    Raises `ValueError` or `TypeError` for a parent that does not come before its child, S < 2 or α ≤ 0.
    """

    parents: tuple[int, ...]
    n_states: int
    alpha: float

    def __post_init__(self):
        for child, parent in enumerate(self.parents):
            if not ROOT <= parent < child:
                raise ValueError(f"parents must name an earlier token or {ROOT}, got {parent} for token {child}")
        check_count("number of parents", len(self.parents), least=2)
        check_count("n_states", self.n_states, least=2)
        check_positive("alpha", self.alpha)

    @property
    def length(self) -> int:
        """T, the number of context tokens."""
        return len(self.parents)

    @property
    def children(self) -> list[int]:
        """The tokens that have a parent."""
        return [child for child, parent in enumerate(self.parents) if parent != ROOT]


@dataclass(frozen=True, eq=False)
class CausalSequences:
    """B sequences: contexts (B, T), queries (B,) uniform states, targets (B,) drawn from the query's row of π, kernels
    (B, S, S) and their stationary laws (B, S)."""

    contexts: Int[Tensor, "B T"]
    queries: Int[Tensor, " B"]
    targets: Int[Tensor, " B"]
    kernels: Float[Tensor, "B S S"]
    stationary: Float[Tensor, "B S"]


def lagged_graph(length: int, lag: int) -> tuple[int, ...]:
    """Every token depends on the one `lag` places before; lag 1 is a Markov chain. The first `lag` tokens are roots."""
    check_count("lag", lag)
    return tuple(max(child - lag, ROOT) for child in range(check_count("length", length, least=2)))


def random_tree(length: int, seed: int) -> tuple[int, ...]:
    """Token 0 is the root, every other one has a parent drawn uniformly from the tokens before it."""
    generator = np.random.default_rng([check_count("seed", seed, least=0), _STREAMS["graph"], length])
    return (ROOT, *(int(generator.integers(child)) for child in range(1, check_count("length", length, least=2))))


def make_graph(name: str, length: int, seed: int) -> tuple[int, ...]:
    """The graph of that name: "chain", "lag-2", or "tree", a new tree for each seed. `ValueError` for another name."""
    if name == "tree":
        return random_tree(length, seed)
    lags = {"chain": 1, "lag-2": 2}
    if name not in lags:
        raise ValueError(f"graph must be one of {', '.join([*lags, 'tree'])}, got {name!r}")
    return lagged_graph(length, lags[name])


def sample_kernels(n_states: int, alpha: float, n_kernels: int, generator: np.random.Generator) -> np.ndarray:
    """(n, S, S) kernels with independent Dirichlet(α, …, α) rows, float64; entries below 10⁻⁹ are raised to it.

    Without that floor a sparse kernel falls apart into two in floating point, and no stationary law is its own.
    """
    weights = generator.standard_gamma(alpha, size=(n_kernels, n_states, n_states))
    weights = np.maximum(weights / weights.sum(-1, keepdims=True), _SMALLEST)
    return weights / weights.sum(-1, keepdims=True)


def stationary_law(kernels: np.ndarray) -> np.ndarray:
    """(n, S): the law μ with μ π = μ, from the linear system μ (I − π + 𝟏𝟏ᵀ) = 𝟏ᵀ, which is regular for positive π."""
    S = kernels.shape[-1]
    system = np.eye(S) - kernels + 1
    mu = np.linalg.solve(system.swapaxes(-1, -2), np.ones((len(kernels), S, 1)))[..., 0]
    return np.maximum(mu, 0) / np.maximum(mu, 0).sum(-1, keepdims=True)


def sample_causal(
    task: CausalTask, n_sequences: int, seed: int, batch: int = 0, stream: str = "training"
) -> CausalSequences:
    """Draw sequences, each with its own kernel; the query is uniform and independent of the context.

    seed, batch, stream: what is drawn; batch number `batch` of a seed does not depend on what was drawn before it.
    Raises `ValueError` for a negative seed or batch or an unknown stream.
    """
    names = [name for name in _STREAMS if name != "graph"]
    if stream not in names:
        raise ValueError(f"stream must be one of {', '.join(names)}, got {stream!r}")
    n, S = check_count("n_sequences", n_sequences), task.n_states
    key = [check_count("seed", seed, least=0), check_count("batch", batch, least=0), _STREAMS[stream], S, task.length]
    generator = np.random.default_rng(key)
    kernels = sample_kernels(S, task.alpha, n, generator)
    stationary = stationary_law(kernels)
    contexts = np.empty((n, task.length), dtype=np.int64)
    for child, parent in enumerate(task.parents):
        law = stationary if parent == ROOT else kernels[np.arange(n), contexts[:, parent]]
        contexts[:, child] = _draw(law, generator)
    queries = generator.integers(S, size=n)
    targets = _draw(kernels[np.arange(n), queries], generator)
    return CausalSequences(*(torch.from_numpy(part) for part in (contexts, queries, targets, kernels, stationary)))


def kernel_entropy(kernels: Float[Tensor, "*rows S"]) -> float:
    """Mean entropy of a row in nats: the loss of who knows π, the floor for everybody else."""
    return -torch.special.xlogy(kernels, kernels).sum(-1).mean().item()


def graph_counts(sequences: CausalSequences, parents: tuple[int, ...]) -> Float[Tensor, "B S"]:
    """How often each state follows the query along the edges of a graph: Σ_i 1{x_{parents[i]} = query, x_i = ·}."""
    contexts, S = sequences.contexts, sequences.kernels.shape[-1]
    children = [child for child, parent in enumerate(parents) if parent != ROOT]
    matches = contexts[:, [parents[child] for child in children]] == sequences.queries[:, None]
    counts = torch.zeros(len(contexts), S, dtype=torch.float64)
    return counts.scatter_add_(1, contexts[:, children], matches.double())


def state_counts(sequences: CausalSequences) -> Float[Tensor, "B S"]:
    """How often each state is in the context: the unigram counts."""
    return torch.nn.functional.one_hot(sequences.contexts, sequences.kernels.shape[-1]).double().sum(1)


def _draw(law: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """One state for each row of probabilities, by inversion."""
    below = (law.cumsum(-1) < generator.random((len(law), 1))).sum(-1)
    return np.minimum(below, law.shape[-1] - 1)
