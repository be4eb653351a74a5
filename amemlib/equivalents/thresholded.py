"""Counts after many steps whose gradients have given weights, sharp and with nothing fitted (Theorems 9 and 10).

On the thresholded gradient of Eq. (7) the weights are known: q_i for the items that are left, 0 for those removed.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import log_ndtr
from torch import Tensor

from amemlib.checks import check_count, check_non_negative, check_positive
from amemlib.equivalents.fixed_point import (
    BIN_WIDTH,
    GAUSS_HERMITE,
    beating_all,
    binned,
    class_means,
    log_quadrature,
    solve_fixed_point,
    typical_scale,
)
from amemlib.equivalents.sgd import sgd_recovery_probabilities
from amemlib.problem import check_frequencies, check_tensor
from amemlib.theory import Schedule

_RIVAL_CLASSES = 24
_SGD_BIN_WIDTH = 0.1


@dataclass(frozen=True, eq=False)
class ManyStepEquivalent:
    """Signal and interactions of W_T = η Σ_{t<T} h_{λ_t}(G_t) with G_t = Σ_i w_ti u_i v_iᵀ, in units of η.

    weights, counts, classes: (T, K), (K,), (N,) the weights, how many items share them (to a per cent, in all steps),
        and the class of every item.
    signals: (T, K) φ_t(w_ti) = E u_iᵀ h_{λ_t}(G_t) v_i, 0 for the items that G_t has not.
    overlaps: (T, T) lim (1/d) tr h_{λ_s}(G_s)ᵀ h_{λ_t}(G_t): d times the covariance of two steps' interactions between
        items that are rare in both.
    damping: (T, K) 1 / (1 + w² M_t(λ_t)²): step t's own interactions have variance (1 − unresolved damping_i
        damping_j) / d, unresolved = 1 − overlaps[t, t], as in `SpectralEquivalent`.
    The weights are given, independent of the embeddings: it is no prediction of a trajectory whose weights are not.
    """

    weights: np.ndarray
    counts: np.ndarray
    classes: np.ndarray
    dim: int
    signals: np.ndarray
    overlaps: np.ndarray
    damping: np.ndarray

    @classmethod
    def solve(cls, w: Float[Tensor, "T N"], dim: int, lams: Sequence[float]) -> "ManyStepEquivalent":
        """Solve the fixed point of every step and the overlap of every pair. w: weights ≥ 0, one row a step.

        lams: (T,) λ_t ≥ 0, absolute. Raises `ValueError` for weights that are negative or a row without any.
        """
        dim = check_count("dim", dim)
        check_tensor("w", w, ("T", "N"))
        if len(lams) != len(w):
            raise ValueError(f"lams must hold one λ for each of the {len(w)} steps, got {len(lams)}")
        for row in w:
            check_frequencies("w", row)
        weights, counts, classes = _grouped_rows(w.double().numpy(force=True))
        steps = [_Step.solve(row, counts, dim, lam) for row, lam in zip(weights, lams, strict=True)]
        overlaps = np.diag([1 - step.unresolved for step in steps])
        for t in range(len(steps)):
            for s in range(t):
                overlaps[s, t] = overlaps[t, s] = _overlap(steps[s], steps[t], counts, dim)
        signals, damping = (np.array([getattr(step, name) for step in steps]) for name in ("signal", "damping"))
        return cls(weights, counts, classes, dim, signals, overlaps, damping)

    def recovery_probabilities(self) -> np.ndarray:
        """(T, K) probability that each class's items are recovered after 1, …, T steps: E_g Π_j Φ((√d S_i + σ g)/σ_ij).

        S_i = Σ_{t<T} φ_t(w_ti), and σ_ij² = Σ_{s≠t} overlap_st + Σ_t (1 − unresolved_t damping_ti damping_tj).
        """
        unresolved = 1 - np.diagonal(self.overlaps)
        result = np.empty(self.signals.shape)
        for t in range(len(self.signals)):
            steps = slice(0, t + 1)
            most = t + 1 + self.overlaps[steps, steps].sum() - np.trace(self.overlaps[steps, steps])
            lost = unresolved[steps, None] * self.damping[steps]
            total = self.damping[steps].sum(0)
            label = np.round((_RIVAL_CLASSES - 1) * (total - total.min()) / max(np.ptp(total), 1e-9)).astype(int)
            number, rivals = class_means(label, self.counts, self.damping[steps])
            # eq-df-count
            own = np.sqrt(np.maximum(most - lost.sum(0), 1e-12))
            sd = np.sqrt(np.maximum(most - lost.T @ rivals, 1e-12))
            score = math.sqrt(self.dim) * self.signals[steps].sum(0)[:, None] + own[:, None] * GAUSS_HERMITE[0]
            result[t] = beating_all(score, sd, number)
        return result


@dataclass(frozen=True, eq=False)
class _Step:
    """One step: x = w M on the grid of μ = √(λ² + s²), the weights of ∫ds, and what one step says of h_λ(G)."""

    occupied: np.ndarray
    crossing: np.ndarray
    resolvent: np.ndarray
    quadrature: np.ndarray
    signal: np.ndarray
    damping: np.ndarray
    unresolved: float

    @classmethod
    def solve(cls, weights: np.ndarray, counts: np.ndarray, dim: int, lam: float) -> "_Step":
        check_non_negative("lams", lam)
        seen = weights > 0
        v, c = weights[seen], counts[seen]
        decreasing = np.argsort(-v)
        least = typical_scale(v[decreasing], c[decreasing], dim)
        largest = max(v.max(), math.sqrt(c @ v**2 / dim))
        s, quadrature = log_quadrature(1e-3 * least, 1e3 * largest)
        M = solve_fixed_point(np.hypot(s, lam), v, c, dim)
        x = weights[:, None] * M
        crossing = x / (1 + x**2)
        signal = 2 / math.pi * (crossing * M) @ quadrature
        if lam > 0:
            own = solve_fixed_point(np.array([lam]), v, c, dim)[0]
            unresolved, damping = lam * own, 1 / (1 + (weights * own) ** 2)
        else:
            unresolved = max(0.0, 1 - c.sum() / dim)
            damping = np.where(seen & (unresolved > 0), 0.0, 1.0)
        return cls(x * crossing, crossing, M, quadrature, signal, damping, float(unresolved))


def _overlap(one: _Step, other: _Step, counts: np.ndarray, dim: int) -> float:
    """lim (1/d) tr h_λ(G)ᵀ h_λ′(G′) for two gradients of the same embeddings, with weights w and w′.

    (4/π²) ∬ M M′ O / ((1 − E)² − O²) ds ds′ with E = (1/d) Σ_k x² x′² / ((1 + x²)(1 + x′²)), O = (1/d) Σ_k x x′ / (…),
    x = w_k M: the ladder of two resolvents, derived in the chapter "Deflation".
    """
    # eq-df-overlap
    E = (one.occupied * counts[:, None]).T @ other.occupied / dim
    O = (one.crossing * counts[:, None]).T @ other.crossing / dim  # noqa: E741
    ladder = one.resolvent[:, None] * other.resolvent * O / ((1 - E) ** 2 - O**2)
    return float(4 / math.pi**2 * one.quadrature @ ladder @ other.quadrature)


def thresholded_weights(q: Float[Tensor, "T N"] | Float[Tensor, " N"], removed: Sequence[int]) -> Float[Tensor, "T N"]:
    """w_ti = q_i for i > d_t and 0 for the rest, (T, N): what the gradients of Eq. (7) weigh the items with.

    q: the frequencies of every step's batch (T, N), or the population's (N,). removed: (T,) d_0, …, d_{T−1}, with
    d_0 = 0 where the first gradient is whole. Raises `ValueError` where a step would have no item left.
    """
    check_tensor("q", q, (...,))
    if q.ndim not in (1, 2) or (q.ndim == 2 and len(q) not in (1, len(removed))) or len(removed) == 0:
        raise ValueError(f"q must have shape (N,) or ({len(removed)}, N), as removed has, got {tuple(q.shape)}")
    w = q.detach().expand(len(removed), -1).clone()
    for row, threshold in zip(w, removed, strict=True):
        row[: check_count("removed", threshold, least=0)] = 0
        if not row.any():
            raise ValueError(f"removed must leave items with q > 0 in every step, got {threshold} of {w.shape[1]}")
    return w


def half_recovered_thresholds(p: Float[Tensor, " N"], dim: int, steps: int) -> tuple[int, ...]:
    """d_1, …, d_steps for the polar map such that d_t is the last item that step t recovers with probability 1/2.

    Each gradient is thresholded at what `ManyStepEquivalent` says is recovered by then: Eq. (7) taken at its word, no
    constant to choose. p: (N,) decreasing. Raises `ValueError` where all N items are recovered, so that none is left.
    """
    return half_recovered_schedule(p, dim, steps).thresholds


def half_recovered_schedule(
    p: Float[Tensor, " N"], dim: int, steps: int, smoothing: Callable[[Tensor], float] = lambda w: 0.0
) -> Schedule:
    """Muon's steps with thresholds at what is recovered, one after the other; the polar map, λ_t = 0, η = √d, here 1.

    smoothing: another λ_t, a function of the weights that are left, in decreasing order.
    """
    dim, steps = _check_schedule(p, dim, steps)
    removed, lams = [0], []
    for _ in range(steps):
        w = _left(p, dim, removed)
        lams.append(smoothing(w[-1][removed[-1] :]))
        equivalent = ManyStepEquivalent.solve(w, dim, lams)
        likely = equivalent.recovery_probabilities()[-1][equivalent.classes] >= 0.5
        removed.append(max(removed[-1], int(np.flatnonzero(likely).max(initial=-1)) + 1, 1))
    return Schedule(tuple(removed[1:]), tuple(lams), (1.0,) * steps)


def half_recovered_smoothed_schedule(p: Float[Tensor, " N"], dim: int, steps: int) -> Schedule:
    """h_{λ_t} with thresholds at what is recovered, and λ_t the size of the bulk that is left: no constant to choose.

    λ_t = ‖w beyond its d largest entries‖₂ / √d with the weights w of step t, of the order of Theorem 9's λ_t: d^{−α}/ζ
    at first, d_t^{1/2−α} d^{−1/2}/ζ once d_t ≫ d.
    """
    return half_recovered_schedule(p, dim, steps, lambda w: float(w[dim:].norm()) / math.sqrt(dim))


def half_recovered_sgd_schedule(p: Float[Tensor, " N"], dim: int, steps: int) -> Schedule:
    """SGD with thresholds at what is recovered, and η_t such that every step adds as much noise: no constant to choose.

    A step's interactions are max{‖w‖_∞/√d, ‖w‖₂/d} in size, so η_t is one over that, of the order of Theorem 10's.
    """
    dim, steps = _check_schedule(p, dim, steps)
    removed, rates = [0], []
    for _ in range(steps):
        w = _left(p, dim, removed)
        rates.append(1 / max(float(w[-1].max()) / math.sqrt(dim), float(w[-1].norm()) / dim))
        values, counts = binned(sgd_weights(w, rates)[-1], _SGD_BIN_WIDTH)
        likely = np.repeat(sgd_recovery_probabilities(values, counts, dim) >= 0.5, counts.astype(int))
        # the weights of an SGD memory need not decrease with the rank
        order = np.argsort(-sgd_weights(w, rates)[-1].double().numpy(force=True), kind="stable")
        removed.append(max(removed[-1], int(order[likely].max(initial=-1)) + 1, 1))
    return Schedule(tuple(removed[1:]), (math.inf,) * steps, tuple(rates))


def _left(p: Tensor, dim: int, removed: list[int]) -> Tensor:
    if removed[-1] >= len(p):
        raise ValueError(f"p must hold more items than d = {dim} recovers in {len(removed) - 1} steps, got {len(p)}")
    return thresholded_weights(p, removed)


def _check_schedule(p: Tensor, dim: int, steps: int) -> tuple[int, int]:
    check_frequencies("p", p)
    return check_count("dim", dim), check_count("steps", steps)


def sgd_weights(w: Float[Tensor, "T N"], learning_rates: Sequence[float]) -> Float[Tensor, "T N"]:
    """x_Ti = Σ_{t<T} η_t w_ti, (T, N): after T steps of SGD the memory is W_T = Σ_i x_Ti u_i v_iᵀ, exactly.

    So it is *one* SGD step for the weights x_T, and what is known of one step holds for T.
    """
    check_tensor("w", w, ("T", "N"))
    rates = w.new_tensor([check_positive("learning_rates", lr) for lr in learning_rates])
    if len(rates) != len(w):
        raise ValueError(f"learning_rates must hold one η for each of the {len(w)} steps, got {len(rates)}")
    return (rates[:, None] * w).cumsum(0)


def weighted_sgd_capacity(x: Float[Tensor, " N"], dim: int) -> float:
    """Expected number of items that W = Σ_i x_i u_i v_iᵀ recovers, for any weights x ≥ 0: one SGD step with x for q.

    By `sgd_recovery_probabilities`: every rival keeps the variance of its own term, (x_j² + Σ x²/d) / d. With one
    variance ‖x‖²/d² for all rivals, which is `evenly_spread_sgd_capacity`, the count is too high wherever few rivals
    carry the noise.
    """
    check_frequencies("x", x)
    values, counts = binned(x, _SGD_BIN_WIDTH)
    return float(counts @ sgd_recovery_probabilities(values, counts, check_count("dim", dim)))


def evenly_spread_sgd_capacity(x: Float[Tensor, " N"], dim: int) -> float:
    """The same with interactions N(0, ‖x‖²/d²) for every rival: right only where many items share the noise evenly."""
    check_frequencies("x", x)
    dim = check_count("dim", dim)
    values, counts = binned(x, BIN_WIDTH)
    g, gauss = GAUSS_HERMITE
    score = dim * values / math.sqrt(counts @ values**2)
    wins = np.exp((counts.sum() - 1) * log_ndtr(score[:, None] + g)) @ gauss / math.sqrt(2 * math.pi)
    return float(counts @ wins)


def _grouped_rows(w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Items whose weights agree to `BIN_WIDTH` in every step: (T, K) mean weights, (K,) numbers, (N,) class of each."""
    classes = np.zeros(w.shape[1], dtype=np.int64)
    for row in w:
        label = np.zeros(len(row), dtype=np.int64)
        label[row > 0] = 1 + np.floor(np.log(row.max() / row[row > 0]) / BIN_WIDTH)
        # unique along an axis would compare rows as byte strings, a hundred times slower
        _, classes, counts = np.unique(classes * (label.max() + 1) + label, return_inverse=True, return_counts=True)
    return np.array([np.bincount(classes, row) for row in w]) / counts, counts.astype(float), classes
