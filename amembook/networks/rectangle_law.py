"""A memory with m outputs and n inputs, whole or in tiles: signal, noise and capacity of any map, nothing fitted."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.special import log_ndtr
from torch import Tensor

from amemlib.equivalents.fixed_point import GAUSS_HERMITE, binned

_STEP = 0.01
_SMOOTHING = 1e-4
_BIN_WIDTH = 0.02
_RIVAL_CLASSES = 32


@dataclass(frozen=True, eq=False)
class RectangleLaw:
    """Singular values of G = Σ_k q_k u_k v_kᵀ with u_k ~ N(0, I/m), v_k ~ N(0, I/n), and what an odd map f makes of it.

    With M_u = (1/m) tr μ (GGᵀ + μ²)⁻¹, M_v = (1/n) tr μ (GᵀG + μ²)⁻¹ and P = M_u M_v,

        μ M_u = 1 − Y/m,   μ M_v = 1 − Y/n,   Y = Σ_k q_k² P / (1 + q_k² P),

    one equation for P at every μ; m = n is `equivalents.SpectralLaw`. At μ = 0⁺ − i s:

        signal of weight q    E u_iᵀ f(G) v_i = (2/π) ∫ f(s) Im[q P / (1 + q² P)] ds,
        its image             E |f(G) v_i|² = (2/π) ∫ f(s)² Re[M_v / (1 + q² P)] ds, and with M_u that of f(G)ᵀ u_i.

    singular_values: (K,) increasing. output, input: (K,) complex, M_u and M_v.
    """

    rows: int
    columns: int
    singular_values: np.ndarray
    output: np.ndarray
    input: np.ndarray

    @classmethod
    def solve(cls, q: Float[Tensor, " N"], rows: int, columns: int) -> "RectangleLaw":
        """By Newton's method for M on the smaller side, followed down from large s; smoothed over s / 10⁴.

        The other side's is (1 − r)/μ + r M with r the ratio of the sides: it has the null space.
        """
        values, counts = binned(q, _BIN_WIDTH / 2)
        v, c = values[values > 0], counts[values > 0]
        small, large = sorted((rows, columns))
        ratio = small / large
        edge = math.sqrt(c @ v**2) * (small**-0.5 + large**-0.5)
        # the least singular values of a square are about the size of what is left beyond its d largest items
        beyond = np.repeat(v, c.astype(int))[small:]
        bulk = math.sqrt(beyond @ beyond / large) if len(beyond) else v[-1]
        s = np.exp(np.arange(math.log(3 * max(v[0], edge)), math.log(1e-3 * bulk), -_STEP))
        mu = s * (_SMOOTHING - 1j)
        solved, M = np.empty(len(s), complex), 1 / mu[0]
        for k, m in enumerate(mu):
            for _ in range(200):
                other = (1 - ratio) / m + ratio * M
                x = v**2 * M * other
                excess = m * M + c @ (x / (1 + x)) / small - 1
                update = M - excess / (m + (c @ (v**2 / (1 + x) ** 2)) * (other + ratio * M) / small)
                if update.real <= 0:
                    # as in SpectralLaw: the averaged fixed-point map stays among resolvents
                    update = (M + 1 / (m + (c @ (v**2 / (1 + x))) * other / small)) / 2
                converged = abs(update - M) < 1e-11 * abs(M)
                M = update
                if converged:
                    break
            solved[k] = M
        sides = solved[::-1], ((1 - ratio) / mu + ratio * solved)[::-1]
        return cls(rows, columns, s[::-1], *(sides if rows <= columns else sides[::-1]))

    @property
    def product(self) -> np.ndarray:
        """P = M_u M_v, (K,) complex."""
        return self.output * self.input

    def signal(self, f: Callable[[Tensor], Tensor], q: np.ndarray) -> np.ndarray:
        """(n,) mean own logit of items of weights q."""
        P = self.product
        return 2 / math.pi * (q[:, None] * P / (1 + q[:, None] ** 2 * P)).imag @ (self._weights() * self._values(f))

    def images(self, f: Callable[[Tensor], Tensor], q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n,) E |f(G) v_i|² and (n,) E |f(G)ᵀ u_i|² of items of weights q."""
        weights = self._weights() * self._values(f) ** 2
        damping = 1 / (1 + q[:, None] ** 2 * self.product)
        return tuple(2 / math.pi * (M * damping).real @ weights for M in (self.input, self.output))

    def _values(self, f: Callable[[Tensor], Tensor]) -> np.ndarray:
        return f(torch.as_tensor(self.singular_values.copy())).numpy(force=True)

    def _weights(self) -> np.ndarray:
        steps = np.diff(self.singular_values) / 2
        return np.r_[steps, 0] + np.r_[0, steps]


def expected_tiled_capacity(
    q: Float[Tensor, " N"],
    rows: int,
    columns: int,
    row_blocks: int = 1,
    column_blocks: int = 1,
    f: Callable[[Tensor], Tensor] = torch.ones_like,
) -> float:
    """Items that W recovers, f(G) of every tile of G by itself: a × b tiles of m/a × n/b; 1 × 1 is f of the whole.

    A tile is a memory of its own with embeddings shorter by √a and √b, so the own logit is √(ab) φ of a tile. The image
    of v_i adds up over the b tiles of a row: along u_i coherently, else not, a (A + (b − 1) φ²) with A = |f v_i|² of a
    tile; that of u_j likewise, b (B + (a − 1) φ²). A rival's logit has the variance of the first over m plus that of
    the second over n, less what a rare pair has, and less the product of both excesses over the room that is left, as
    in `equivalents.expected_map_capacity`.
    f: as in `spectral.spectral_map`, on the singular values of √(ab) times a tile.
    """
    if rows % row_blocks or columns % column_blocks:
        raise ValueError(f"row_blocks and column_blocks must divide {rows} and {columns}")
    law = RectangleLaw.solve(q, rows // row_blocks, columns // column_blocks)
    values, counts = binned(q, _BIN_WIDTH)
    weights = np.r_[values, 0.0]
    images, coimages = law.images(f, weights)
    coherent = law.signal(f, weights)
    own = math.sqrt(row_blocks * column_blocks) * coherent[:-1]
    outwards = (images + (column_blocks - 1) * coherent**2) * row_blocks / rows
    inwards = (coimages + (row_blocks - 1) * coherent**2) * column_blocks / columns
    rare = outwards[-1]
    excess, rivals = outwards[:-1] - rare, inwards[:-1] - inwards[-1]
    left = 1 / min(rows, columns) - rare
    overlap = 1 / left if row_blocks * column_blocks == 1 and left > 1e-3 * rare else 0.0
    label = np.round((_RIVAL_CLASSES - 1) * (rivals - rivals.min()) / max(np.ptp(rivals), 1e-9 * rare)).astype(int)
    number = np.bincount(label, counts)
    classes = np.bincount(label, counts * rivals)[number > 0] / number[number > 0]
    number = number[number > 0]
    g, gauss = GAUSS_HERMITE
    total = 0.0
    for i, (count, more) in enumerate(zip(counts, excess, strict=True)):
        mine = np.sqrt(max(rare + more + rivals[i] - overlap * more * rivals[i], 1e-3 * rare))
        sd = np.sqrt(np.maximum(rare + more + classes - overlap * more * classes, 1e-3 * rare))
        log_wins = number @ log_ndtr((own[i] + mine * g) / sd[:, None]) * (1 - 1 / counts.sum())
        total += count * (gauss @ np.exp(log_wins)) / math.sqrt(2 * math.pi)
    return float(total)


def law_of_shapes(rows: int, columns: int, alpha: float) -> float:
    """min(m, n) · max(m, n)^{1/2α}: the capacity of a rectangle up to a constant where m ≤ n, d^{1+1/2α} for a square.

    The items that fill the smaller side set the scale of P, and the larger side's root is what rivals' noise falls by.
    Where m > n only rare rivals are as quiet as that: frequent ones have the variance 1/n, and the count stops growing.
    """
    return min(rows, columns) * max(rows, columns) ** (1 / (2 * alpha))
