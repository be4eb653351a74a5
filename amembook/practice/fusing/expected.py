"""Memories with outputs of their own that read one space of inputs, stacked: signals, noise, items, nothing fitted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from amemlib.equivalents.fixed_point import GAUSS_HERMITE

_STEP = 0.02
_SMOOTHING = 1e-4
_CLASSES = 32


@dataclass(frozen=True, eq=False)
class StackLaw:
    """Resolvents of G = [G_1; …; G_h], G_b = Σ_k q_kb u_kb v_kᵀ with u_kb ~ N(0, I/d_b), v_k ~ N(0, I/n).

    With M_b the mean over block b of the diagonal of μ (GGᵀ + μ²)⁻¹, M_v that of μ (GᵀG + μ²)⁻¹ and
    x_k = M_v Σ_b q_kb² M_b,

        μ M_v = 1 − (1/n) Σ_k x_k / (1 + x_k),   μ M_b = 1 − (1/d_b) Σ_k q_kb² M_b M_v / (1 + x_k).

    One part is the law of a rectangle. singular_values: (K,) increasing. input: (K,) complex M_v. outputs: (K, h) M_b.
    """

    weights: np.ndarray
    counts: np.ndarray
    rows: tuple[int, ...]
    columns: int
    singular_values: np.ndarray
    input: np.ndarray
    outputs: np.ndarray

    @classmethod
    def solve(cls, weights: np.ndarray, counts: np.ndarray, rows: tuple[int, ...], columns: int) -> "StackLaw":
        """By Newton's method for the h + 1 resolvents, followed down from large s; smoothed over s / 10⁴.

        weights: (K, h) q_kb. counts: (K,) how many items have them, whole or expected.
        """
        d, q2 = np.array(rows, dtype=float), weights**2
        strength = q2.sum(1)
        edge = math.sqrt(counts @ strength) * (d.min() ** -0.5 + columns**-0.5)
        falling = np.argsort(-strength)
        beyond = np.cumsum(counts[falling]) > min(columns, d.sum())
        tail = falling[beyond]
        bulk = math.sqrt(counts[tail] @ q2[tail].max(1) / columns) if len(tail) else math.sqrt(strength.min())
        s = np.exp(np.arange(math.log(3 * max(math.sqrt(strength.max()), edge)), math.log(1e-3 * bulk), -_STEP))
        M, solved = np.full(len(d) + 1, 1 / (s[0] * (_SMOOTHING - 1j))), []
        for m in s * (_SMOOTHING - 1j):
            for _ in range(200):
                excess, slope, averaged = _residual(M, m, q2, counts, d, columns)
                new = M - np.linalg.solve(slope, excess)
                if (new.real <= 0).any():
                    # as in SpectralLaw: the averaged fixed-point map stays among resolvents
                    new = (M + averaged) / 2
                converged = (np.abs(new - M) < 1e-10 * np.abs(M)).all()
                M = new
                if converged:
                    break
            solved.append(M)
        M = np.array(solved)[::-1]
        return cls(weights, counts, rows, columns, s[::-1], M[:, 0], M[:, 1:])

    def polar(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Of the polar factor W: signals, images, coimages, energies.

        signals: (K, h) mean own logits u_kbᵀ W_b v_k. images: (K,) E |W v_k|². coimages: (K, h) E |W_bᵀ u_kb|².
        energies: (h,) ‖W_b‖²_F / d_b.
        """
        steps = np.diff(self.singular_values) / 2
        ds = 2 / math.pi * (np.r_[steps, 0] + np.r_[0, steps])
        q2 = self.weights**2
        reached = (self.input[:, None] / (1 + self.input[:, None] * (self.outputs @ q2.T))).T
        signals = np.stack([(reached * M).imag @ ds for M in self.outputs.T], 1) * self.weights
        energies = self.outputs.real.T @ ds
        taken = np.stack([(reached * M**2).real @ ds for M in self.outputs.T], 1) * q2
        return signals, reached.real @ ds, energies - taken, energies

    def items(self) -> np.ndarray:
        """(h,) expected items that each part of the polar factor recovers among its own.

        A rival's logit in part b has the variance |W_b v_i|²/d_b + |W_bᵀ u_j|²/n less what a rare pair has, and less
        the product of both excesses over the variance that is left. How much of the image of v_i lies in part b is
        interpolated: what it has by its own signal, and of the rest the share of a rare item.
        """
        signals, images, coimages, energies = self.polar()
        d = np.array(self.rows, dtype=float)
        rest = images - (signals**2).sum(1)
        parts = signals**2 + rest[:, None] * energies * d / (energies @ d)
        outwards, inwards = parts / d, coimages / self.columns
        kept = enumerate(self.weights.T > 0)
        return np.array([self._items(k, signals[k, b], outwards[k, b], inwards[k, b], b, energies[b]) for b, k in kept])

    def _items(self, held, own, outwards, inwards, b: int, energy: float) -> float:
        counts, rare = self.counts[held], energy / self.columns
        excess, rivals = outwards - rare, inwards - rare
        left = 1 / min(self.rows[b], self.columns) - rare
        overlap = 1 / left if left > 1e-3 * rare else 0.0
        label = np.round((_CLASSES - 1) * (rivals - rivals.min()) / max(np.ptp(rivals), 1e-9 * rare)).astype(int)
        number = np.bincount(label, counts)
        louder = np.bincount(label, counts * rivals)[number > 0] / number[number > 0]
        number = number[number > 0]
        noise = lambda mine, other: np.sqrt(np.maximum(rare + mine + other - overlap * mine * other, 1e-3 * rare))
        g, gauss = GAUSS_HERMITE
        total = 0.0
        for mean, count, mine, of_own in zip(own, counts, excess, rivals, strict=True):
            wins = log_ndtr((mean + noise(mine, of_own) * g) / noise(mine, louder)[:, None])
            total += count * (gauss @ np.exp(number @ wins * (1 - 1 / counts.sum()))) / math.sqrt(2 * math.pi)
        return float(total)


def _residual(M, m, q2, counts, d, n):
    """The h + 1 equations at M = (M_v, M_1, …), their derivatives, and the fixed-point map."""
    v, outputs = M[0], M[1:]
    a = q2 @ outputs
    damping = 1 / (1 + v * a)
    seen, seen2 = counts * damping, counts * damping**2
    excess = m * M - 1
    excess[0] += seen @ (v * a) / n
    excess[1:] += (seen @ q2) * outputs * v / d
    slope = np.zeros((len(M), len(M)), complex)
    slope[0, 0] = m + seen2 @ a / n
    slope[0, 1:] = v * (seen2 @ q2) / n
    slope[1:, 0] = (seen2 @ q2) * outputs / d
    slope[1:, 1:] = -((q2 * seen2[:, None]).T @ q2) * (outputs * v**2 / d)[:, None]
    slope[1:, 1:] += np.diag(m + (seen @ q2) * v / d)
    return excess, slope, 1 / np.r_[m + seen @ a / n, m + (seen @ q2) * v / d]


def expected_items(
    q: np.ndarray, rows: tuple[int, ...], columns: int, common: float, scales: Sequence[float] | None = None
) -> np.ndarray:
    """(h,) items of the parts of one polar factor of a stack in which a share `common` of every part's items is common.

    q: (K, 2) weights and how many items have them, the same for every part. Common items have one input and one weight
    for all parts; the rest have inputs of their own. scales: (h,) what the parts' gradients are multiplied by.
    """
    values, counts = q.T
    scales = np.ones(len(rows)) if scales is None else np.asarray(scales, dtype=float)
    blocks, numbers = [], []
    if common > 0:
        blocks.append(values[:, None] * scales)
        numbers.append(common * counts)
    if common < 1:
        for b, scale in enumerate(scales):
            alone = np.zeros((len(values), len(rows)))
            alone[:, b] = scale * values
            blocks.append(alone)
            numbers.append((1 - common) * counts)
    return StackLaw.solve(np.concatenate(blocks), np.concatenate(numbers), rows, columns).items()


def common_over_private(parts: int, alpha: float) -> float:
    """Items of h fused square parts whose items are common over those with private ones, in the limit: h^{1−1/2α}."""
    return parts ** (1 - 1 / (2 * alpha))
