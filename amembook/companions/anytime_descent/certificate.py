"""Upper bounds on the worst case of gradient descent over all smooth convex functions: semidefinite certificates.

The worst case over functions is a semidefinite programme in the Gram matrix of x₀ and the gradients (Drori and
Teboulle; Taylor, Hendrickx and Glineur). A feasible point of its dual is a proof, which `residuals` checks without
knowing how it was found; an interior-point method of a few lines finds one.
"""

import math
from dataclasses import dataclass

import numpy as np

_GAP, _NEWTON, _RAISE = 1e-7, 60, 4.0


@dataclass(frozen=True)
class Certificate:
    """Multipliers λ ≥ 0 of the interpolation inequalities, one for each pair, and the bound τ that they prove."""

    bound: float
    multipliers: np.ndarray


def interpolation(steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The inequalities f_i ≥ f_j + ⟨g_j, x_i − x_j⟩ + |g_i − g_j|²/2 over all pairs of x_0, …, x_T and the minimizer.

    Returns (m, n, n), the form of each in the basis x_0, g_0, …, g_T, and (T + 1, m), the weights of f_i − f_j.
    """
    n_steps = len(steps)
    n_points, size = n_steps + 2, n_steps + 2
    x, g = np.zeros((n_points, size)), np.zeros((n_points, size))
    for t in range(n_steps + 1):
        g[t, 1 + t] = x[t, 0] = 1
        x[t, 1 : 1 + t] = -steps[:t]
    i, j = np.transpose([(i, j) for i in range(n_points) for j in range(n_points) if i != j])
    change, inner = g[i] - g[j], g[j][:, :, None] * (x[i] - x[j])[:, None, :]
    forms = (change[:, :, None] * change[:, None, :] + inner + inner.transpose(0, 2, 1)) / 2
    weights = np.equal.outer(np.arange(n_steps + 1), i).astype(float) - np.equal.outer(np.arange(n_steps + 1), j)
    return forms, weights


def residuals(steps: np.ndarray, certificate: Certificate) -> dict[str, float]:
    """How far from a proof of f(x_T) − f* ≤ τ |x_0 − x*|²: the least multiplier, the least eigenvalue of

        τ E₀₀ + Σ λ M,   and the largest error in   Σ λ (f_i − f_j) = −f_T.

    The first two must be ≥ 0 and the last 0: then τ |x_0|² − f_T is a sum of terms that are none of them negative.
    """
    forms, weights = interpolation(steps)
    slack = np.tensordot(certificate.multipliers, forms, 1)
    slack[0, 0] += certificate.bound
    flow = weights @ certificate.multipliers
    flow[-1] += 1
    least = float(np.linalg.eigvalsh(slack)[0])
    return {"multiplier": float(certificate.multipliers.min()), "eigenvalue": least, "flow": float(np.abs(flow).max())}


def certify(steps: np.ndarray) -> Certificate:
    """The least bound, to 10⁻⁷, by a barrier method: Newton steps on a scale that each variable sets itself.

    A multiple s of the identity makes the first point feasible. It is paid for with a bound on the trace of the Gram
    matrix, (x₀, g) of a 1-smooth f, which the bound contains: |x − a g − x*| ≤ max(1, a − 1) |x − x*|.
    """
    forms, weights = interpolation(steps)
    m, size, n_steps = len(forms), forms.shape[1], len(steps)
    reach = np.concatenate([[1], np.cumprod(np.maximum(1, steps - 1))])
    # λ, then τ, then s
    rows = np.concatenate([forms.reshape(m, -1), np.zeros((2, size * size))])
    rows[m, 0], rows[m + 1] = 1, np.eye(size).ravel()
    cost = np.concatenate([np.zeros(m), [1, 1 + (reach**2).sum()]])
    equal = np.concatenate([weights, np.zeros((n_steps + 1, 2))], 1)
    y = np.ones(m + 2)
    # the pair (minimizer, x_T), whose weight carries the flow
    y[[k for k in range(m) if weights[n_steps, k] == -1 and not (weights[:, k] == 1).any()]] += 1
    y[-1] = max(1.0, 1 - 2 * np.linalg.eigvalsh((y @ rows).reshape(size, size) - np.eye(size))[0])
    sharpness = (m + size) / (cost @ y)
    while (m + 1 + size) / sharpness > _GAP:
        sharpness *= _RAISE
        try:
            y = _centre(y, sharpness * cost, rows, equal)
        except np.linalg.LinAlgError:
            # the slack is singular to rounding: what the last stage proved stands
            break
    return Certificate(float(cost @ y), y[:m])


def _centre(y: np.ndarray, cost: np.ndarray, rows: np.ndarray, equal: np.ndarray) -> np.ndarray:
    """The least of cost·y − Σ log y − log det(Σ y M) near y, by Newton steps within what `equal` leaves free.

    All of y is positive but the last variable but one, τ, on which nothing but the determinant is a bound.
    """
    size, n_equal = math.isqrt(rows.shape[1]), len(equal)
    positive = np.delete(np.arange(len(y)), len(y) - 2)
    for _ in range(_NEWTON):
        slack = (y @ rows).reshape(size, size)
        inverse = np.linalg.inv(slack)
        curved = (inverse @ rows.reshape(-1, size, size) @ inverse).reshape(len(y), -1)
        slope, hessian = cost - rows @ inverse.ravel(), rows @ curved.T
        slope[positive] -= 1 / y[positive]
        hessian[positive, positive] += 1 / y[positive] ** 2
        # every variable in its own units, and a basis of the free directions: there the Hessian is well conditioned
        scale = np.abs(y)
        free = np.linalg.qr((equal * scale).T, mode="complete")[0][:, n_equal:]
        inner = free.T @ (hessian * scale[:, None] * scale) @ free
        move = scale * (free @ np.linalg.solve(inner, -free.T @ (slope * scale)))
        decrement = -slope @ move
        y = y + _length(y[positive], move[positive], slack, (move @ rows).reshape(size, size), decrement) * move
        if decrement < 0.3:
            break
    return y


def _length(y: np.ndarray, move: np.ndarray, slack: np.ndarray, change: np.ndarray, decrement: float) -> float:
    """How much of a Newton step is taken: all of it near the end, less where it would leave the cone."""
    longest = 1.0
    if (move < 0).any():
        longest = min(longest, 0.99 * float((-y[move < 0] / move[move < 0]).min()))
    whitened = np.linalg.inv(np.linalg.cholesky(slack))
    least = np.linalg.eigvalsh(whitened @ change @ whitened.T)[0]
    if least < 0:
        longest = min(longest, 0.99 / -least)
    if 0.5 < decrement < 25:
        return min(longest, 1 / (1 + math.sqrt(decrement)))
    return longest
