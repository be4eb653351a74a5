"""Rotary positions as states, one complex number a plane, which a layer may move by its own attention.

Position l starts as e_lf = exp(iθ_f l); planes with θ_f = 0 compare content alone. With complex functions q and k of
content a head scores Re Σ_f q_f(i) e_if conj(k_f(j) e_jf): rotary embeddings as long as e stays as it is. A layer moves
it by its attention, e_i ← β e_i + γ Σ_j a_ij e_j.
"""

import numpy as np
from jaxtyping import Complex, Float
from scipy.special import softmax


def angles(content_planes: int, rotary_planes: int, top: float, ratio: float) -> Float[np.ndarray, " F"]:
    """0 for content, then from `top` down to top/ratio, evenly in logarithms."""
    return np.r_[np.zeros(content_planes), top * ratio ** (-np.arange(rotary_planes) / max(1, rotary_planes - 1))]


def phases(theta: Float[np.ndarray, " F"], length: int) -> Complex[np.ndarray, "L F"]:
    """The states of positions 0, 1, …"""
    return np.exp(1j * np.arange(length)[:, None] * theta)


def scores(
    q: Complex[np.ndarray, "L F"], k: Complex[np.ndarray, "L F"], e: Complex[np.ndarray, "L F"]
) -> Float[np.ndarray, "L L"]:
    """Of every position (rows) for every other."""
    return ((q * e) @ (k * e).conj().T).real


def moved(
    e: Complex[np.ndarray, "L F"], attention: Float[np.ndarray, "L L"], keep: float, move: float
) -> Complex[np.ndarray, "L F"]:
    """β e + γ (attention e)."""
    return keep * e + move * (attention @ e)


def hop_factors(kernel: Float[np.ndarray, " K"], theta: Float[np.ndarray, " F"]) -> Complex[np.ndarray, " F"]:
    """â(θ) = Σ_δ a(δ) e^{−iθδ}: what a hop (β = 0, γ = 1) with a_ij = a(i − j), δ = 0, 1, …, multiplies planes with."""
    return kernel @ np.exp(-1j * np.arange(len(kernel))[:, None] * theta)


def measure_exact(length: int, planes: dict, seed: int) -> dict:
    """How far scores of a second layer move, after random scores of a first have moved the states, if at the start all
    planes are turned, or all positions shifted, each by an angle of its own; or a constant is added to all states. And
    how far a hop is from its factors. planes: as of `angles`."""
    generator = np.random.default_rng([seed, length])
    theta = angles(**planes)
    draw = lambda *shape: generator.standard_normal((*shape, 2)) @ [1, 1j]
    q, k = draw(2, length, len(theta)), draw(2, length, len(theta))
    keep, move = generator.standard_normal(2)

    def second(e: np.ndarray) -> np.ndarray:
        return scores(q[1], k[1], moved(e, softmax(scores(q[0], k[0], e), 1), keep, move))

    e = phases(theta, length)
    off = lambda other: float(np.abs(second(other) - second(e)).max())
    kernel = generator.random(length // 2)
    rows = sum(weight * np.eye(length, k=-delta) for delta, weight in enumerate(kernel))
    hop = moved(e, rows, 0, 1) - e * hop_factors(kernel, theta)
    return {
        "turned": off(e * np.exp(1j * generator.uniform(0, 2 * np.pi, len(theta)))),
        "shifted": off(phases(theta, length + 5)[5:]),
        "added": off(e + 1),
        "hop": float(np.abs(hop[len(kernel) :]).max()),
    }
