"""What the sign of a gradient and a low-rank polar factor store in one step, in closed form; rank correlations.

Derived in the chapter `optimizers`; nothing is fitted.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import log_ndtr, zeta
from scipy.stats import rankdata

from amemlib.checks import check_count, check_positive
from amemlib.equivalents import SpectralLaw, expected_map_capacity
from amemlib.equivalents.fixed_point import GAUSS_HERMITE, binned
from amemlib.problem import Problem

_BIN_WIDTH = 0.02
_STEP = 0.05
_LEAST, _MOST = 1e-8, 1e12
_HEAD = 2000


@dataclass(frozen=True, eq=False)
class SignLaw:
    """Logits of W = sign(G), G = Σ_k q_k u_k v_kᵀ, for classes of items of equal weight.

    Given the inputs, a column of G is a Gaussian vector whose variance Σ_k q_k² v_kb² the head items dominate; so with
    h_k standard normal, S = Σ_k q_k² h_k² and w_k = q_k² h_k² / S,

        signal of item i   E u_iᵀ W v_i = d √(2/π) E[q_i h_i² / √S],
        variance of the logit of rival j ≠ i   1 + (2d/π) (E[h_j² w_i] + E[h_i² w_j]),
        of the own logit   1 + 2 (2d/π) E[h_i² w_i] − 2 signal²/d.

    All are one-dimensional integrals against Θ(s) = E e^{−sS} = Π_k (1 + 2 s q_k²)^{−1/2}.
    values, counts: (K,) weights, decreasing, and how many items have each. signal, own: (K,). rivals: (K, K) variances,
    symmetric.
    """

    values: np.ndarray
    counts: np.ndarray
    signal: np.ndarray
    own: np.ndarray
    rivals: np.ndarray

    @classmethod
    def solve(cls, q: torch.Tensor, dim: int) -> "SignLaw":
        """For frequencies q (N,), zeros allowed."""
        check_count("dim", dim)
        values, counts = binned(q, _BIN_WIDTH)
        s, weights = _partition(values, counts)
        shrunk = values / (1 + 2 * s[:, None] * values**2)
        signal = dim * math.sqrt(2) / math.pi * (weights / np.sqrt(s)) @ shrunk
        own = 1 + 12 * dim / math.pi * weights @ shrunk**2 - 2 * signal**2 / dim
        cross = 2 * dim / math.pi * (shrunk * values * weights[:, None]).T @ (1 / (1 + 2 * s[:, None] * values**2))
        return cls(values, counts, signal, np.maximum(own, 0), 1 + cross + cross.T)

    def capacity(self) -> float:
        """Expected number of recovered items, Σ_i E_g Π_j Φ((signal + σ_own g) / σ_ij)."""
        return capacity(self.signal, self.own, self.rivals, self.counts)

    def without_head(self) -> float:
        """The same if all rivals were rare, as if the sign knew no head: a rival law."""
        return capacity(self.signal, np.ones_like(self.own), np.ones_like(self.rivals), self.counts)


def capacity(signal: np.ndarray, own: np.ndarray, rivals: np.ndarray, counts: np.ndarray) -> float:
    """Σ_i E_g Π_{j≠i} Φ((signal_i + √own_i g) / √rivals_ij) over classes of `counts` items."""
    g, gauss = GAUSS_HERMITE
    chances = np.zeros(len(signal))
    for i in range(len(signal)):
        score = signal[i] + math.sqrt(own[i]) * g
        wins = log_ndtr(score[:, None] / np.sqrt(rivals[i])) @ counts * (1 - 1 / counts.sum())
        chances[i] = gauss @ np.exp(wins) / math.sqrt(2 * math.pi)
    return float(counts @ chances)


def gaussian_entries(q: torch.Tensor, dim: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Classes, signal and capacity if G's entries were Gaussian of variance Σ q² / d², another rival law: every entry
    of its own, S replaced by its mean."""
    values, counts = binned(q, _BIN_WIDTH)
    size = counts @ values**2
    signal = dim * math.sqrt(2 / math.pi) * values / math.sqrt(size)
    m2 = 2 / math.pi * values**2 / size
    own = 1 + 4 * dim * m2 - 2 * np.minimum(signal**2 / dim, dim)
    return values, signal, capacity(signal, np.maximum(own, 0), 1 + dim * (m2[:, None] + m2), counts)


def low_rank_capacity(problem: Problem, fraction: float, law: SpectralLaw | None = None) -> float:
    """Expected items of Σ_{k ≤ r} p_k q_kᵀ, the polar factor of the `fraction` = r/d of largest singular values."""
    if check_positive("fraction", fraction) > 1:
        raise ValueError(f"fraction must be at most 1, got {fraction!r}")
    law = SpectralLaw.solve(problem.frequencies, problem.dim) if law is None else law
    cut = float(law.quantile(1 - fraction)) if fraction < 1 else 0.0
    return expected_map_capacity(problem, lambda s: (s >= cut).to(s.dtype), law=law)


def sign_over_sgd(alpha: float) -> float:
    """The limit d → ∞ of the items of sign(G) over those of G, for p_i ∝ i^{−α}, N = ∞.

    Both counts are d^{1/2α} ∫ Π_j Φ(x / a_j) dn(x), n(x) the number of items with √d p_i > x: only head rivals matter.
    SGD has a_j = p_j, the sign a_j = m_j / c with m_j² = (2/π) E w_j and c = √(2/π) E S^{−1/2}.
    """
    head = np.arange(1.0, _HEAD + 1) ** -alpha / zeta(alpha)
    s, weights = _partition(head, np.ones_like(head))
    slope = math.sqrt(2) / math.pi * weights @ (1 / np.sqrt(s))
    m = np.array([math.sqrt(2 / math.pi * weights @ (q**2 / (1 + 2 * s * q**2))) for q in head])
    x = np.exp(np.arange(-9, 6, _STEP))
    beats = lambda a: np.array([np.exp(log_ndtr(v / a).sum()) for v in x]) @ x ** (-1 / alpha)
    return float(beats(m / slope) / beats(head))


def octaves_of(n_items: int) -> list[slice]:
    """Ranks 1, 2–3, 4–7, … of the more frequent half of the items."""
    return [slice(2**k - 1, 2 ** (k + 1) - 1) for k in range(int(math.log2(n_items // 2 + 1)))]


def spearman(a, b) -> float:
    """Spearman's rank correlation, ties at their mean rank."""
    return float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])


def spearman_chance(a, b) -> float:
    """The share of all orders of b whose correlation with a is at least that of b: exact, one-sided."""
    a, b = rankdata(a), rankdata(b)
    a, b = a - a.mean(), b - b.mean()
    orders = np.array(list(itertools.permutations(b)))
    return float((orders @ a >= a @ b - 1e-9).mean())


def least_significant(n: int, level: float = 0.05) -> float:
    """The smallest rank correlation of n things without ties that `spearman_chance` puts at or below `level`."""
    ranks = np.arange(n) - (n - 1) / 2
    every = np.sort(np.array(list(itertools.permutations(ranks))) @ ranks)[::-1] / (ranks @ ranks)
    at = int(level * len(every))
    # all orders of one correlation stand or fall together
    values, ends = np.unique(-every.round(9), return_index=True)
    ends = np.append(ends[1:], len(every))
    return float(-values[np.flatnonzero(ends <= at)[-1]])


def _partition(values: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """s on a logarithmic grid, (n,), and the weights Θ(s) ds."""
    s = np.exp(np.arange(math.log(_LEAST), math.log(_MOST), _STEP)) / values.max() ** 2
    log_theta = np.array([-np.log1p(2 * x * values**2) @ counts / 2 for x in s])
    return s, s * _STEP * np.exp(log_theta)
