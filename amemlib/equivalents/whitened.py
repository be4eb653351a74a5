"""Gradients whitened by second moments of inputs and outputs: any weights, powers, dampings and sums; K-FAC."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq
from torch import Tensor

from amemlib.checks import check_count, check_function, check_instance, check_non_negative, check_real, check_sequence
from amemlib.equivalents.fixed_point import BIN_WIDTH, GAUSS_HERMITE, beating_all, binned, class_means
from amemlib.problem import Problem, seen_frequencies

_CLASS_WIDTH = 0.2
_POWER_STEP = 1.5
_POWER_TAIL = 9.0
"""Nodes of a power are a factor e^1.5 apart, which errs by 2 in 10⁶, and reach until e^−9 of the integral is left."""


@dataclass(frozen=True)
class Whitener:
    """One term of a side, c (Σ_k a_k x_k x_kᵀ + t)^{−b} with a_k = weights(q_k).

    weights: a ≥ 0, a function of the array q (K,). power: b in (0, 1]. damping: t ≥ 0 in units of the mean eigenvalue,
    Σ_k a_k / d. coefficient: the Frobenius norm of this term on G, in a unit that all terms of the side share.
    """

    weights: Callable[[np.ndarray], np.ndarray]
    power: float = 1.0
    damping: float = 0.0
    coefficient: float = 1.0

    def __post_init__(self):
        check_function("weights", self.weights)
        if not 0 < check_real("power", self.power) <= 1:
            raise ValueError(f"power must lie in (0, 1], got {self.power!r}")
        check_non_negative("damping", self.damping)
        if not math.isfinite(check_real("coefficient", self.coefficient)):
            raise ValueError(f"coefficient must be finite, got {self.coefficient!r}")


KFAC = (Whitener(np.asarray),)
"""Σ_k q_k x_k x_kᵀ to the power −1: both sides of K-FAC, outputs centred as the gradient is; on the right alone
Newton's input side."""
MATCHED = (Whitener(np.square),)
MATCHED_AND_NEWTON = (Whitener(np.square), Whitener(np.asarray, coefficient=0.6))
"""W* and W* + 0.6 G Σ_v⁻¹, each at the same Frobenius norm (`whitening.balanced_sum`), as right sides."""


def balanced_whitener(q: Float[Tensor, " N"], dim: int) -> Whitener:
    """The symmetric stationary weights of both sides, a = q² (1 − λ)² with λ = c q² (1 − λ)³ and Σ λ = d.

    λ is the leverage of these weights. Each side is the best for rare items against the other, and the pair is a
    saddle: items that are split between the sides have more (chapter "What beats Muon").
    Raises `ValueError` where d items or fewer have a weight.
    """
    dim = check_count("dim", dim)
    values, counts = binned(q, BIN_WIDTH)
    if counts[values > 0].sum() <= dim:
        raise ValueError(f"q must have more than dim = {dim} weights > 0, got {counts[values > 0].sum():.0f}")
    # eq-wb-balanced
    excess = lambda log_c: counts @ _cubic(math.exp(log_c) * values**2) - dim
    low = -2 * math.log(values[0]) - 40
    c = math.exp(brentq(excess, low, -2 * math.log(values[values > 0].min()) + 40))
    return Whitener(lambda x: x**2 * (1 - _cubic(c * x**2)) ** 2)


def _cubic(x: np.ndarray) -> np.ndarray:
    """λ in [0, 1) with λ = x (1 − λ)³, by Newton's method for g = 1 − λ, x g³ + g = 1, from above."""
    g = np.minimum(1.0, (1 + x) ** (-1 / 3) * 1.5)
    for _ in range(60):
        g = g - (x * g**3 + g - 1) / (3 * x * g**2 + 1)
    return 1 - g


@dataclass(frozen=True, eq=False)
class _Side:
    """Σ_n c_n (Σ_k a_nk x_k x_kᵀ + t_n)⁻¹ by leaving items out, for (n,) nodes and (K,) classes of equal frequency.

    tau: (n,) τ = x_iᵀ (…)₋ᵢ⁻¹ x_i. rest: (n, K) g = 1 / (1 + a τ). square: (n, n) (1/d) tr of the product of two
    resolvents that x_i is not in, T_nm = τ_n τ_m / (1 − (1/d) Σ_k (1 − g_nk)(1 − g_mk)), of any weights.
    """

    coefficient: np.ndarray
    rest: np.ndarray
    tau: np.ndarray
    square: np.ndarray
    dim: int

    def gain(self) -> np.ndarray:
        """(K,) m_i = E x_iᵀ L x_i."""
        return (self.coefficient * self.tau) @ self.rest

    def pairs(self) -> np.ndarray:
        """(K, n²) z with E (x_iᵀ L x_k)² = Σ z_i T z_k / d for i ≠ k."""
        return (self.rest[:, None] * self.rest[None]).reshape(len(self.tau) ** 2, -1).T

    def traces(self) -> np.ndarray:
        """(n²,) c_n c_m T_nm."""
        return (np.outer(self.coefficient, self.coefficient) * self.square).ravel()


def _solve(name: str, terms: Sequence[Whitener], q: np.ndarray, counts: np.ndarray, dim: int) -> _Side:
    terms = check_sequence(name, terms)
    if not terms:
        return _Side(np.ones(1), np.ones((1, len(q))), np.ones(1), np.ones((1, 1)), dim)
    nodes: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for term in terms:
        check_instance(name, term, Whitener)
        a = np.asarray(term.weights(q), dtype=float)
        if a.shape != q.shape or not (np.isfinite(a).all() and (a >= 0).all() and a.any()):
            raise ValueError(f"weights of {name} must give finite numbers ≥ 0, one for each q and not all 0")
        mean = counts @ a / dim
        if term.damping == 0 and counts[a > 0].sum() <= dim:
            raise ValueError(
                f"damping of {name} must be > 0 where {dim} items or fewer have a weight, "
                f"got {term.damping!r} and {counts[a > 0].sum():.0f} items"
            )
        t, weight = np.array([term.damping * mean]), np.ones(1)
        if term.power != 1:
            # x^{−b} = sin(πb)/π ∫ s^{−b} (x + s)⁻¹ ds, from far below the smallest eigenvalue to far above the largest
            b, least = term.power, 1 / _resolvent(a, t[0], counts, dim)
            low = math.log(least) - _POWER_TAIL / (1 - b)
            log_s = np.arange(low, math.log(a.max() + mean) + _POWER_TAIL / b, _POWER_STEP)
            weight = _POWER_STEP * math.sin(math.pi * b) / math.pi * np.exp((1 - b) * log_s)
            t = t + np.exp(log_s)
        tau = np.array([_resolvent(a, s, counts, dim) for s in t])
        nodes.append((weight, np.repeat(a[None], len(t), 0), tau))
    scale = []
    for term, node in zip(terms, nodes, strict=True):
        side = _side(*node, counts, dim)
        scale.append(term.coefficient / math.sqrt(counts * q**2 @ side.pairs() @ side.traces()))
    scaled = [(s * weight, a, tau) for s, (weight, a, tau) in zip(scale, nodes, strict=True)]
    weight, a, tau = map(np.concatenate, zip(*scaled, strict=True))
    return _side(weight, a, tau, counts, dim)


def _resolvent(a: np.ndarray, t: float, counts: np.ndarray, dim: int) -> float:
    """τ with Σ_k a_k τ / (1 + a_k τ) + d t τ = d."""
    seen = a > 0
    log_a, n = np.log(a[seen]), counts[seen]
    excess = lambda x: n @ (1 / (1 + np.exp(-log_a - x))) + dim * math.exp(min(x + log_t, 700)) - dim
    log_t = math.log(t) if t > 0 else -math.inf
    low = -math.log(2 * (counts @ a / dim + t))
    high = -log_t if t > 0 else math.inf
    if n.sum() > dim:
        high = min(high, math.log(dim / (n.sum() - dim)) - log_a.min() + 1)
    return math.exp(brentq(excess, low, high))


def _side(c: np.ndarray, a: np.ndarray, tau: np.ndarray, counts: np.ndarray, dim: int) -> _Side:
    rest = 1 / (1 + a * tau[:, None])
    leverage = 1 - rest
    # eq-wb-trace
    return _Side(c, rest, tau, np.outer(tau, tau) / (1 - (leverage * counts) @ leverage.T / dim), dim)


def whitened_recovery_probabilities(
    q: Float[Tensor, " N"], dim: int, left: Sequence[Whitener] = (), right: Sequence[Whitener] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """How many items share each frequency (K,), and the probability that L G R recovers one of them (K,).

    L, R: the sums of their terms, I for none; G = Σ_k q_k u_k v_kᵀ, L of the outputs, R of the inputs. An item's own
    logit is q_i m_i m′_i, m = E x_iᵀ L x_i; with ω_ik = E (x_iᵀ L x_k)², primes for inputs, a rival's has the variance

        Σ_{k≠i,j} q_k² ω_jk ω′_ki + (q_j m_j)² ω′_ji + (q_i m′_i)² ω_ji,

    and P = E_g Π_{j≠i} Φ((q_i m_i m′_i + σ_i g) / σ_ji). Every mean leaves the items in question out.
    A G that is centred needs a Σ of outputs that is: about 0 it loses the items that are common enough to move ū.
    """
    dim = check_count("dim", dim)
    values, counts = binned(q, BIN_WIDTH)
    u, v = (_solve(name, terms, values, counts, dim) for name, terms in (("left", left), ("right", right)))
    zu, zv, tu, tv = u.pairs(), v.pairs(), u.traces(), v.traces()
    energy, gains = values**2, (u.gain(), v.gain())
    score = values * gains[0] * gains[1]
    # what all other items carry from one input to one output, (n², n′²)
    carried = tu[:, None] * (zu.T @ ((counts * energy)[:, None] * zv)) * tv / dim**2
    own_u, own_v = ((z**2) @ t / dim for z, t in ((zu, tu), (zv, tv)))
    private = score**2 * 2 * (own_u / gains[0] ** 2 + own_v / gains[1] ** 2)
    own = np.sqrt(np.einsum("kn,nm,km->k", zu, carried, zv) - energy * own_u * own_v + private)
    label = np.full(len(values), -1)
    seen = values > 0
    label[seen] = np.floor(-np.log(values[seen] / values[0]) / _CLASS_WIDTH)
    label = np.unique(label, return_inverse=True)[1]
    mean = lambda x: class_means(label, counts, x.T)[1].T
    loud = mean((energy * (gains[0] ** 2 - own_u))[:, None] * zv)
    variance = zv @ (mean(zu) @ carried + loud * tv / dim).T
    variance += (energy * (gains[1] ** 2 - own_v))[:, None] * (zu * tu / dim @ mean(zu).T)
    logits, number = score[:, None] + own[:, None] * GAUSS_HERMITE[0], class_means(label, counts, score)[0]
    return counts, beating_all(logits, np.sqrt(variance), number)


def expected_whitened_capacity(
    problem: Problem,
    left: Sequence[Whitener] = (),
    right: Sequence[Whitener] = (),
    frequencies: Float[Tensor, " N"] | None = None,
) -> float:
    """Expected number of items that L G R recovers after one step: `whitened_recovery_probabilities`, nothing fitted.

    `KFAC` on both sides, `MATCHED` or `MATCHED_AND_NEWTON` on the right, or terms of your own. Within about 3 % of
    counts with one side and 5 % with two, d ≥ 128, where inputs are whitened fully; a G that is not is too like SGD's.
    frequencies: the minibatch frequencies q that the gradient saw, (N,); `None` for the population.
    Raises `ValueError` for an undamped side of d items or fewer, whose moment has no inverse.
    """
    q = seen_frequencies(problem, frequencies)
    counts, chances = whitened_recovery_probabilities(q, problem.dim, left, right)
    return float(counts @ chances)
