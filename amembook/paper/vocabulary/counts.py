"""What the experiment `vocabulary` counts: apart from its predictions, so that these can change and the counts stay."""

import numpy as np
import torch

from amembook import vocabularies
from amembook.run import runtime
from amemlib.gradients import gradient_rank, initial_gradient
from amemlib.optim import newton_step
from amemlib.problem import Embeddings, Problem
from amemlib.recovery import capacity
from amemlib.sampling import power_law_eigenvalues, sample_embeddings, sample_minibatch, with_eigenvalues
from amemlib.spectral import polar

MAPS = ("polar", "sgd", "newton")
SOURCES = ("gaussian", "inputs", "outputs", "shuffled", "table")
"""Where the vectors come from. gaussian: drawn with the table's second moments; inputs, outputs: one side from the
table in random order, the other drawn; shuffled: both from the table in random order; table: the inputs are the words'
own rows and the outputs those of another word."""
SOURCE_MAPS = {source: MAPS if source in ("gaussian", "table") else ("polar",) for source in SOURCES}
"""The maps that are counted: SGD and Newton only for the sources at the two ends."""


def measure_language(language: str, n_items: int, dim: int, seed: int, device: str) -> dict:
    """Items that one population step recovers, by map, with the word frequencies of a language."""
    problem = Problem(vocabularies.words(language, n_items).frequencies, dim)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    return _counts(emb, problem.frequencies)


def measure_language_batches(
    language: str, n_items: int, dim: int, batch_sizes: list[int], seed: int, device: str
) -> dict:
    """Items that one minibatch step of polar and of SGD recovers, for every B."""
    problem = Problem(vocabularies.words(language, n_items).frequencies, dim)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    result = {"polar": [], "sgd": []}
    for batch_size in batch_sizes:
        q = sample_minibatch(problem, batch_size, seed)
        for name, count in _counts(emb, q, ("polar", "sgd")).items():
            result[name].append(count)
    return result


def measure_covariance(n_items: int, dim: int, alpha: float, exponent: float, seed: int, device: str) -> dict:
    """Counts of one population step where both sides have covariance eigenvalues a^{−β}, β = `exponent`."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device), torch.float64)
    return _counts(with_eigenvalues(emb, power_law_eigenvalues(dim, exponent)), problem.frequencies)


def measure_table(language: str, n_items: int, dim: int, seed: int, device: str) -> dict:
    """Counts of one population step on a table of spellings: variant ↦ source ↦ map ↦ count.

    Every fact maps a word to another one: the outputs are the rows of a random permutation. The Gaussian sources are
    drawn with the eigenvalues of the variant's second moment.
    """
    words = vocabularies.words(language, n_items)
    problem = Problem(words.frequencies, dim)
    order = np.random.default_rng([seed, dim]).permuted(np.tile(np.arange(n_items), (2, 1)), axis=1)
    to_output, to_input = torch.from_numpy(order)
    target = runtime.device(device)
    drawn = sample_embeddings(problem, seed, dtype=torch.float64)
    result = {}
    for variant, rows in vocabularies.table_variants(vocabularies.spelling_table(words.inputs, dim)).items():
        gaussian = with_eigenvalues(drawn, vocabularies.second_moment_eigenvalues(rows))
        sides = {
            "gaussian": (gaussian.U, gaussian.V),
            "inputs": (gaussian.U, rows[to_input]),
            "outputs": (rows[to_output], gaussian.V),
            "shuffled": (rows[to_output], rows[to_input]),
            "table": (rows[to_output], rows),
        }
        result[variant] = {
            source: _counts(Embeddings(U.to(target), V.to(target)), problem.frequencies, SOURCE_MAPS[source])
            for source, (U, V) in sides.items()
        }
    return result


def _counts(emb: Embeddings, q: torch.Tensor, maps: tuple[str, ...] = MAPS) -> dict:
    G = initial_gradient(emb, q)
    memories = {
        "polar": lambda: polar(G, gradient_rank(emb, q)),
        "sgd": lambda: G,
        "newton": lambda: newton_step(emb, q),
    }
    return {name: capacity(memories[name](), emb) for name in maps}
