"""The probability that an item beats all its rivals, and how the logits of one input scatter together."""

import math
from dataclasses import dataclass

import numpy as np

from amemlib.equivalents.fixed_point import GAUSS_HERMITE, NOISE_CLASSES, beating_all, class_means

_SPREAD_NODES = np.polynomial.hermite_e.hermegauss(3)
_LEAST_SCALE = 0.05


@dataclass(frozen=True, eq=False)
class InputSpread:
    """How the logits of one input move together with δ = |W v|² / E|W v|² − 1, to first order in δ.

    An input that reaches more of W has larger interactions with all its rivals at once: given δ the rivals are
    independent, without it they are not. All of it is of relative order 1/d, times the spread of W's singular values.
    variance: Var δ. own_noise: (K,) d × variance of the own logit's noise, which grows like 1 + f_i δ.
    signal_gain: (K,) d log φ_i / dδ. private: (K,) d × variance of the signal that δ does not explain (lengths).
    rival_gain: (K,) d log σ_ij² / dδ for rivals of each frequency and a rare i; 1 for rare rivals.
    fading: (K,) f_i in [0, 1], how much of δ reaches item i: a frequent item has fixed where its own input goes.
    """

    variance: float
    own_noise: np.ndarray
    signal_gain: np.ndarray
    private: np.ndarray
    rival_gain: np.ndarray
    fading: np.ndarray


def winning_probabilities(
    score: np.ndarray,
    spread: InputSpread,
    rival_variance: np.ndarray,
    labels: np.ndarray,
    counts: np.ndarray,
) -> np.ndarray:
    """P_i = E_δ E_g Π_{j≠i} Φ((√d φ_i (1 + β_i δ) + σ_i(δ) g) / (σ_ij √(1 + f_i ψ_j δ))) for every frequency, (K,).

    score: (K,) √d φ. rival_variance: (K, C) σ_ij² against each class of rivals. labels: (K,) the class of each
    frequency, counts: (K,) its number of items. σ_i² = own noise × (1 + f_i δ) + private; δ is lognormal (three nodes),
    g standard normal.
    """
    number, gain = class_means(labels, counts, spread.rival_gain)
    nodes, node_weights = _SPREAD_NODES
    log_variance = math.log1p(spread.variance)
    deltas = np.expm1(math.sqrt(log_variance) * nodes - log_variance / 2)
    probabilities = np.zeros(len(score))
    for delta, node_weight in zip(deltas, node_weights / math.sqrt(2 * math.pi), strict=True):
        # eq-sh-full
        noise = np.sqrt(spread.own_noise * (1 + spread.fading * delta) + spread.private)
        centre = score * (1 + spread.signal_gain * delta)
        scale = np.maximum(1 + spread.fading[:, None] * gain * delta, _LEAST_SCALE)
        deviation = np.sqrt(np.maximum(rival_variance * scale, 1e-12))
        own = centre[:, None] + noise[:, None] * GAUSS_HERMITE[0]
        probabilities += node_weight * beating_all(own, deviation, number)
    return probabilities


def classes(share: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(K,) class of every frequency by a share in [0, 1], classes of equal width, and the mean share in each (C,)."""
    label = np.minimum((share * NOISE_CLASSES).astype(int), NOISE_CLASSES - 1)
    return label, class_means(label, counts, share)[1]
