"""One SGD step: its rivals' own terms kept one by one, at finite d and in the limit (Theorem 5, sharpened)."""

import math

import numpy as np
from scipy.integrate import quad
from scipy.special import gammaln, log_ndtr, ndtri, zeta

from amemlib.checks import check_alpha, check_count, check_numbers, check_positive, check_real, shown
from amemlib.equivalents.fixed_point import class_means

# d × the relative variance of |u|²|v|: 2 of the output's length, 1/2 of the input's
OWN_LENGTHS = 2.5
_HEAD = 8
_LOG2_DRAWS = 7
_FACTORS = math.log(1e7)
_LARGEST_BATCH = 1e6
_NORMAL_GRID = np.linspace(-5, 8, 53), 0.25 * np.exp(-(np.linspace(-5, 8, 53) ** 2) / 2) / math.sqrt(2 * math.pi)


def sgd_recovery_probabilities(values: np.ndarray, counts: np.ndarray, dim: int) -> np.ndarray:
    """Probability that one SGD step from W = 0 recovers an item of each frequency, at finite d (Theorem 5, sharpened).

    In units of |v_i|/√d and given g_j = √d ⟨v_j, v_i⟩/|v_i| ~ N(0, 1), with c = (1/d) Σ_{k≠i} q_k² g_k²: the own logit
    is S = √d q_i (1 + ξ √(5/2d)) + √c ξ′, rival j has q_j g_j + √(q_i² + c − q_j² g_j²/d) z_j, and

        P = E_g E_S Π_{j≠i} Φ((S − q_j g_j) / √(q_i² + c − q_j² g_j²/d)).

    Only the leading g_j move c: they are drawn (scrambled Sobol points of a fixed seed). The other g_j are integrated
    out, which makes their factor Φ(S / √(q_i² + c + q_j²)), and so is S, on a grid: a rare item is recovered by a large
    S, which few random draws would hit. values, counts: (K,), values in decreasing order; returns (K,).
    """
    from scipy.stats.qmc import Sobol  # a second to import

    values, counts, dim = check_numbers("values", values), check_numbers("counts", counts), check_count("dim", dim)
    if values.ndim != 1 or values.shape != counts.shape or len(values) == 0:
        raise ValueError(f"values and counts must have one shape (K,), got {values.shape} and {counts.shape}")
    if not ((values >= 0).all() and (np.diff(values) <= 0).all() and 0 < values[0] < math.inf):
        raise ValueError(f"values must be finite, ≥ 0, not all 0 and in decreasing order, got {shown(values)}")
    if not ((counts >= 1).all() and np.isfinite(counts).all()):
        raise ValueError(f"counts must be finite and at least 1, got {shown(counts)}")
    head = np.repeat(values, counts.astype(int))[:_HEAD]
    rest = counts - np.bincount(np.searchsorted(-values, -head), minlength=len(values))
    energy_rest = rest @ values**2
    g = ndtri(Sobol(len(head), rng=np.random.default_rng(0)).random_base2(_LOG2_DRAWS)).T[:, :, None]
    # a small batch may lie in the head altogether, and then nothing sets the scale of the rest
    floor = max(math.sqrt(energy_rest / dim) / 10, 1e-6 * values[0] / math.sqrt(dim))
    rest_classes, rest_counts = _grouped(values, rest, floor)
    first_rank = np.cumsum(counts) - counts
    z, weights = _NORMAL_GRID
    probabilities = np.zeros(len(values))
    for i, q in enumerate(values):
        rivals = np.arange(len(head)) != first_rank[i]
        pull = (head[:, None, None] * g)[rivals]
        pull2 = np.square(pull) / dim
        c = pull2.sum(0) + energy_rest / dim
        score = math.sqrt(dim) * q + np.sqrt(OWN_LENGTHS * q**2 + c) * z  # eq-sgd-finite
        variance = np.maximum(q**2 + c - pull2, 1e-12 * c)
        log_wins = log_ndtr((score - pull) / np.sqrt(variance)).sum(0)
        for rival, count in zip(rest_classes, rest_counts, strict=True):
            log_wins += count * log_ndtr(score / np.sqrt(q**2 + c + rival**2))
        if rivals.all():
            log_wins -= log_ndtr(score / np.sqrt(2 * q**2 + c))
        probabilities[i] = (np.exp(log_wins) @ weights).mean()
    return probabilities


def sgd_limit_probability(r: float, alpha: float) -> float:
    """F(r) = Π_{j≥1} Φ(r j^α): the limit of the probability that one SGD step recovers an item of frequency r p_1 / √d.

    Rival j has the logit p_j g_j / √d with g_j ~ N(0, 1), and all other terms vanish as d → ∞ (Theorem 5, sharpened).
    """
    r, alpha = check_positive("r", r), check_alpha(alpha)
    if math.log(8 / r) / alpha > _FACTORS:
        return 0.0
    # beyond r j^α = 8 a factor differs from 1 by less than 10⁻¹⁵
    ranks = np.arange(1, max(64, int((8 / r) ** (1 / alpha)) + 1) + 1)
    return math.exp(log_ndtr(r * ranks**alpha).sum())  # eq-sgd-limit


def sgd_capacity_constant(alpha: float, batch_over_root_dim: float = math.inf) -> float:
    """C_α(b): one SGD step with batches of b √d recovers C_α(b) d^{1/2α} items as d → ∞ (Theorem 5, sharpened).

    Population, b = ∞: C_α = ∫₀^∞ F(x^{−α}) dx with F of `sgd_limit_probability`. No logarithm: the few most frequent
    rivals matter, not all N.
    Minibatch: (b/ζ)^{1/α} Σ_{m≥1} Γ(m − 1/α) / (α m!) F(m ζ/b), the sum over how often an item was seen; needs α > 1.
    """
    batch_over_root_dim = check_real("batch_over_root_dim", batch_over_root_dim)
    if batch_over_root_dim != math.inf:
        return _sgd_minibatch_constant(check_alpha(alpha, above=1.0), batch_over_root_dim)
    alpha = check_alpha(alpha)
    breaks = np.linspace(0, 64, 65)
    # eq-sgd-constant-again
    wins = lambda x: sgd_limit_probability(x**-alpha, alpha) if x**alpha > 1e-130 else 1.0
    return sum(quad(wins, a, b, epsabs=1e-10)[0] for a, b in zip(breaks[:-1], breaks[1:], strict=True))


def _sgd_minibatch_constant(alpha: float, batch_over_root_dim: float) -> float:
    scaled = check_positive("batch_over_root_dim", batch_over_root_dim) / zeta(alpha)
    if not scaled <= _LARGEST_BATCH:
        raise ValueError(f"batch_over_root_dim must be inf or at most 1e6 zeta(alpha), got {batch_over_root_dim!r}")
    # from m = 8 b/ζ on F is 1 to 10⁻¹⁵, and the remaining weights sum to Γ(m − 1/α) / Γ(m)
    last = int(8 * scaled) + 1
    m = np.arange(1, last)
    # eq-sgd-batch-constant
    weights = np.exp(gammaln(m - 1 / alpha) - gammaln(m + 1)) / alpha
    total = weights @ np.array([sgd_limit_probability(r, alpha) for r in m / scaled]) if last > 1 else 0.0
    return float(scaled ** (1 / alpha) * (total + math.exp(gammaln(last - 1 / alpha) - gammaln(last))))


def _grouped(values: np.ndarray, counts: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Coarser classes, a factor e^0.2 wide, all below `floor` in one: root-mean-square value and number in each."""
    floored = np.maximum(values, floor)
    label = np.floor(-np.log(floored / floored[0]) / 0.2).astype(int)
    number, energy = class_means(label, counts, values**2)
    return np.sqrt(energy), number
