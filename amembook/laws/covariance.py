"""The fixed point for embeddings with covariances: u_i = Σ_u^{1/2} a_i, v_i = Σ_v^{1/2} b_i; a_i, b_i ~ N(0, I/d)."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.special import log_ndtr
from torch import Tensor

from amemlib.checks import check_non_negative
from amemlib.equivalents.fixed_point import (
    GAUSS_HERMITE,
    beating_all,
    binned,
    class_means,
    log_quadrature,
    quadratic,
    typical_scale,
)
from amemlib.equivalents.smoothed_sign import SpectralEquivalent
from amemlib.problem import Embeddings, Problem, check_embeddings, check_frequencies, check_tensor, seen_frequencies

_BIN_WIDTH = 0.1
_LOG_STEP = 0.2
_RIVAL_CLASSES = 12
_DRAWS = 128
_HALVINGS = 56
_NEWTON_STEPS = 60
_TABLE_ROWS = 512
_XI_EDGES = np.r_[np.linspace(-1, 0.5, 16), np.linspace(0.55, 1.5, 20), np.linspace(1.6, 4, 13)]


def effective_dimension(eigenvalues: Float[Tensor, " d"]) -> float:
    """(tr Σ)² / tr Σ², between 1 and d: 1 / E cos² of the angle between two Gaussian vectors of covariance Σ."""
    sigma = _check_eigenvalues("eigenvalues", eigenvalues)
    return float(sigma.sum() ** 2 / (sigma**2).sum())


@dataclass(frozen=True, eq=False)
class CovarianceEquivalent:
    """Signal and interactions of W = h_λ(G) where the embeddings have the covariances Σ_u / d and Σ_v / d.

    With L_u = μ (G Gᵀ + μ²)^{-1} and L_v = μ (Gᵀ G + μ²)^{-1}, the two unknowns M_u = (1/d) tr Σ_u L_u and
    M_v = (1/d) tr Σ_v L_v solve

        (1/d) tr Σ_u (μ M_u + y Σ_u)^{-1} = 1 = (1/d) tr Σ_v (μ M_v + y Σ_v)^{-1},
        y = (1/d) Σ_k q_k² M_u M_v / (1 + q_k² M_u M_v).

    values, counts: (K,) distinct frequencies (bins a tenth wide) and how many items share each.
    weights: (S,) quadrature weights of (2/π) ∫₀^∞ ds, at μ = √(λ² + s²).
    output_filter, input_filter: (S, d) eigenvalues of Σ_u L_u and Σ_v L_v.
    cross, outputs, inputs: (S, S) limits of (1/d) tr Σ_u X Σ_v X′ᵀ, (1/d) tr Σ_u L_u Σ_u L_u′ and
        (1/d) tr Σ_v L_v Σ_v L_v′, X = G (Gᵀ G + μ²)^{-1}, the prime for a second μ.
    Derived in the chapter "Real embeddings" by leaving one item out; not rigorous. Σ_u = Σ_v = I is
    `SpectralEquivalent`.
    """

    values: np.ndarray
    counts: np.ndarray
    dim: int
    weights: np.ndarray
    output_filter: np.ndarray
    input_filter: np.ndarray
    cross: np.ndarray
    outputs: np.ndarray
    inputs: np.ndarray

    @classmethod
    def solve(
        cls,
        q: Float[Tensor, " N"],
        output_eigenvalues: Float[Tensor, " d"],
        input_eigenvalues: Float[Tensor, " d"],
        lam: float = 0.0,
    ) -> "CovarianceEquivalent":
        """Solve for frequencies q (N,), the eigenvalues of Σ_u and Σ_v (all positive), and λ = `lam` ≥ 0."""
        lam = check_non_negative("lam", lam)
        sigma_u = _check_eigenvalues("output_eigenvalues", output_eigenvalues)
        sigma_v = _check_eigenvalues("input_eigenvalues", input_eigenvalues, len(sigma_u))
        dim = len(sigma_u)
        values, counts = binned(q, _BIN_WIDTH)
        v, c = values[values > 0], counts[values > 0]
        unit = math.sqrt(sigma_u.mean() * sigma_v.mean())
        s, weights = log_quadrature(1e-4 * typical_scale(v, c, dim) * unit, 1e3 * v[0] * unit, _LOG_STEP)
        mu = np.hypot(s, lam)
        M_u, M_v, y = solve_two_sided(mu, v, c, sigma_u, sigma_v)
        F_u = sigma_u / (mu + np.outer(sigma_u, y / M_u)).T
        F_v = sigma_v / (mu + np.outer(sigma_v, y / M_v)).T
        K_u, K_v = F_u @ F_u.T / dim, F_v @ F_v.T / dim
        w = 1 / (1 + np.outer(v**2, M_u * M_v))
        second, fourth = ((w.T * (c * v**k)) @ w / dim for k in (2, 4))
        g_u = 1 - K_u * fourth * np.outer(M_v, M_v)
        g_v = 1 - K_v * fourth * np.outer(M_u, M_u)
        determinant = g_u * g_v - K_u * K_v * second**2
        return cls(
            values,
            counts,
            dim,
            2 / math.pi * weights,
            F_u,
            F_v,
            K_u * K_v * second / determinant,
            K_u * g_v / determinant,
            K_v * g_u / determinant,
        )

    @property
    def signal(self) -> np.ndarray:
        """(K,) φ(q) = E u_iᵀ W v_i = (2/π) ∫ q M_u M_v / (1 + q² M_u M_v) ds."""
        product = self.output_filter.mean(1) * self.input_filter.mean(1)
        return self._signal(product)

    @property
    def variances(self) -> np.ndarray:
        """(K, K) d · E (u_jᵀ W v_i)², row i the input's frequency, column j the rival's, to leading order in d."""
        M_u, M_v = self.output_filter.mean(1), self.input_filter.mean(1)
        P, q2 = M_u * M_v, self.values**2
        damping = 1 / (1 + np.outer(q2, P))
        rows = []
        for own, weight in zip(damping, q2, strict=True):
            x = own * damping * self.weights
            row = quadratic(x, self.cross) + weight * q2 * quadratic(x * P, self.cross)
            rows.append(row + q2 * quadratic(x * M_u, self.inputs) + weight * quadratic(x * M_v, self.outputs))
        return np.array(rows)

    @property
    def rare_variance(self) -> float:
        """d · E (u_jᵀ W v_i)² between two rare items, (1/d) tr Σ_u W Σ_v Wᵀ."""
        return float(self.weights @ self.cross @ self.weights)

    def recovery_probabilities(self) -> np.ndarray:
        """(K,) probability that an item of each frequency beats all its rivals.

        As in the isotropic case, E_g Π_j Φ((√d φ + σ g) / σ_j), but the item's own u_i and v_i are drawn (128 Gaussian
        draws of a fixed seed): with few effective dimensions |u_i| and |v_i| scatter, and with them signal and noise.
        So is W v_i, which is nearly Gaussian and sets the rivals' common noise (W v_i)ᵀ Σ_u (W v_i).
        """
        generator = np.random.default_rng(0)
        M_u, M_v = self.output_filter.mean(1), self.input_filter.mean(1)
        x = self.weights / (1 + np.outer(self.values**2, M_u * M_v))
        # the variance of each item's logits with rivals of every frequency, over that with rare ones
        rare = quadratic(x, self.cross) + self.values**2 * quadratic(x * M_v, self.outputs)
        relative = self.variances / rare[:, None]
        classes = np.minimum(np.arange(len(self.values)) * _RIVAL_CLASSES // len(self.values), _RIVAL_CLASSES - 1)
        number, rivals = class_means(classes, self.counts, relative)
        K_v = self.input_filter @ self.input_filter.T / self.dim
        # what each direction of the output side receives of W v_i for a rare i
        kernel = self.cross / (self.output_filter @ self.output_filter.T)
        received = quadratic(self.output_filter.T * self.weights, kernel)
        received /= received.sum()
        probabilities = np.zeros(len(self.values))
        for _ in range(_DRAWS):
            output, input_, image = generator.standard_normal((3, self.dim)) ** 2
            a, b = self.output_filter @ output / self.dim, self.input_filter @ input_ / self.dim
            x = self.weights / (1 + np.outer(self.values**2, a * b))
            seen = (self.input_filter * input_) @ self.input_filter.T / self.dim
            noise = quadratic(x, self.cross / K_v * seen) + self.values**2 * quadratic(x * b, self.outputs)
            noise *= received @ image
            own = np.sqrt(noise * relative.diagonal())
            score = math.sqrt(self.dim) * self._signal(a * b)[:, None] + own[:, None] * GAUSS_HERMITE[0]
            probabilities += beating_all(score, np.sqrt(noise[:, None] * rivals), number)
        return probabilities / _DRAWS

    def _signal(self, product: np.ndarray) -> np.ndarray:
        q = self.values[:, None]
        return q * product / (1 + q**2 * product) @ self.weights


def expected_covariance_capacity(
    problem: Problem,
    output_eigenvalues: Float[Tensor, " d"],
    input_eigenvalues: Float[Tensor, " d"],
    lam: float = 0.0,
    frequencies: Float[Tensor, " N"] | None = None,
) -> float:
    """Expected number of items that one step of polar (λ = 0) or h_λ recovers, u_i ~ N(0, Σ_u/d), v_i ~ N(0, Σ_v/d).

    frequencies: the minibatch frequencies that the gradient saw, `None` for the population. The scales of Σ_u and Σ_v
    do not matter at λ = 0, their bases never. Good to a few per cent while the effective dimension is above about 20.
    """
    q = seen_frequencies(problem, frequencies)
    _check_eigenvalues("output_eigenvalues", output_eigenvalues, problem.dim)
    equivalent = CovarianceEquivalent.solve(q, output_eigenvalues, input_eigenvalues, lam)
    return float(equivalent.counts @ equivalent.recovery_probabilities())


def expected_table_capacity(emb: Embeddings, q: Float[Tensor, " N"]) -> float:
    """What the geometry of the output vectors leaves of the polar map's count: a reading, not a sharp prediction.

    Isotropic signal and noise at the weights q_i |u_i| |v_i|, but the rivals of i are the vectors that are there: with
    the own logit |u_i| s, s = √d φ + g, in units of |v_i| / √d, rival j at the angle ϑ to u_i has the logit
    |u_j| (s cos ϑ + sin ϑ √(1 − s²/d) z), as W v_i has length √d in these units and s of it along u_i. So

        P_i = E_g Π_{j≠i} Φ(ξ_ij s / √(1 − s²/d)),   ξ_ij = (|u_i| / |u_j| − cos ϑ_ij) / sin ϑ_ij,

    which is 1 for orthogonal vectors of one length. Long rivals and near neighbours have a small ξ. It leaves out the
    covariance and that similar inputs share their signal. Dense: O(N² d), for a few thousand items, q > 0.
    """
    check_embeddings(emb)
    check_frequencies("q", q, emb.n_items)
    U = emb.U.double().numpy(force=True)
    output_lengths, input_lengths = (X.double().cpu().norm(dim=1) for X in (emb.U, emb.V))
    weights = q.cpu() * output_lengths * input_lengths
    if not ((weights > 0) & torch.isfinite(weights)).all():
        raise ValueError("q and emb must give every item a weight q |u| |v| > 0 within float64, got one that is not")
    lengths = output_lengths.numpy(force=True)
    directions = U / lengths[:, None]
    g, gauss = GAUSS_HERMITE
    phi = SpectralEquivalent.solve(weights, emb.dim).signal_of(weights)
    scores = math.sqrt(emb.dim) * phi[:, None] + g
    scores /= np.sqrt(np.maximum(1 - scores**2 / emb.dim, 1e-4))
    centres = np.r_[_XI_EDGES[0], (_XI_EDGES[1:] + _XI_EDGES[:-1]) / 2, _XI_EDGES[-1]]
    total = 0.0
    for start in range(0, len(U), _TABLE_ROWS):
        rows = slice(start, start + _TABLE_ROWS)
        cosines = directions[rows] @ directions.T
        xi = (lengths[rows, None] / lengths - cosines) / np.sqrt(np.maximum(1 - cosines**2, 1e-12))
        item = np.arange(len(xi))
        labels = np.digitize(xi, _XI_EDGES) + len(centres) * item[:, None]
        number = np.bincount(labels.ravel(), minlength=len(centres) * len(item)).reshape(len(item), -1)
        number[item, labels[item, start + item] - len(centres) * item] -= 1
        log_wins = np.einsum("ik,igk->ig", number, log_ndtr(scores[rows, :, None] * centres))
        total += (np.exp(log_wins) @ gauss).sum()
    return float(total / math.sqrt(2 * math.pi))


def solve_two_sided(
    mu: np.ndarray, values: np.ndarray, counts: np.ndarray, sigma_u: np.ndarray, sigma_v: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(M_u, M_v, y) for an array of μ > 0, by bisection on log M_u M_v.

    Given the product P = M_u M_v, y is known, each side's equation gives its own x = μM, and μ = √(x_u x_v / P)
    decreases in P: a pair of equations for every μ is one equation in one unknown.
    """
    low = -2 * np.log(mu) - 60
    high = np.full(len(mu), 120 - 2 * math.log(values[-1]) - np.log(sigma_u.mean() * sigma_v.mean()))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        y = _occupation(np.exp(middle), values, counts, len(sigma_u))
        # beyond y = 1 there is no μ > 0
        inside = y < 1
        x_u, x_v = (_unfilled(np.where(inside, y, 0.5), sigma) for sigma in (sigma_u, sigma_v))
        above = ~inside | (np.log(x_u) + np.log(x_v) - middle < 2 * np.log(mu))
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    y = _occupation(np.exp(low), values, counts, len(sigma_u))
    return _unfilled(y, sigma_u) / mu, _unfilled(y, sigma_v) / mu, y


def _occupation(product: np.ndarray, values: np.ndarray, counts: np.ndarray, dim: int) -> np.ndarray:
    x2 = np.square(values)[:, None] * product
    return counts @ (x2 / (1 + x2)) / dim


def _unfilled(y: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """x with (1/d) Σ_a σ_a / (x + y σ_a) = 1, for 0 < y < 1: 1 − y if all σ are 1.

    Newton's method on the reciprocal of the left side, which is concave and increasing in x: it rises to the root.
    """
    x = np.zeros(len(y))
    for _ in range(_NEWTON_STEPS):
        terms = sigma / (x[:, None] + y[:, None] * sigma)
        mean = terms.mean(1)
        step = (mean - 1) * mean / (terms**2 / sigma).mean(1)
        x = x + np.maximum(step, 0)
        if (step <= 1e-13 * x).all():
            break
    return np.maximum(x, 1e-300)


def _check_eigenvalues(name: str, eigenvalues: Tensor, dim: int | None = None) -> np.ndarray:
    check_tensor(name, eigenvalues, ("d" if dim is None else dim,))
    sigma = eigenvalues.detach().cpu().double().numpy()
    if not (sigma > 0).all():
        raise ValueError(f"{name} must be positive, got {float(sigma.min())!r} … {float(sigma.max())!r}")
    return sigma
