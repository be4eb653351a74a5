"""How many items one step from W = 0 recovers, how many of them in a row, and how many distinct ones a batch shows."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from torch import Tensor

from amemlib.checks import check_choice, check_instance, check_non_negative
from amemlib.equivalents.fixed_point import binned
from amemlib.equivalents.newton import NewtonEquivalent
from amemlib.equivalents.one_gradient import MatchedFilterEquivalent
from amemlib.equivalents.sgd import sgd_recovery_probabilities
from amemlib.equivalents.smoothed_sign import SpectralEquivalent
from amemlib.equivalents.whitened import KFAC, whitened_recovery_probabilities
from amemlib.problem import Problem, seen_frequencies

_SGD_BIN_WIDTH = 0.05
_LARGEST_RATIO = 1e70
"""The laws square products of two frequencies, and float64 ends at 10³⁰⁸."""


def _solved(law: SpectralEquivalent | NewtonEquivalent | MatchedFilterEquivalent) -> tuple[np.ndarray, np.ndarray]:
    return law.counts, law.recovery_probabilities()


def _sgd_chances(q: Tensor, dim: int) -> tuple[np.ndarray, np.ndarray]:
    values, counts = binned(q, _SGD_BIN_WIDTH)
    return counts, sgd_recovery_probabilities(values, counts, dim)


_CHANCES: dict[str, Callable[[Tensor, int, float], tuple[np.ndarray, np.ndarray]]] = {
    "polar": lambda q, dim, _: _solved(SpectralEquivalent.solve(q, dim)),
    "smoothed_sign": lambda q, dim, lam: _solved(SpectralEquivalent.solve(q, dim, lam)),
    "sgd": lambda q, dim, _: _sgd_chances(q, dim),
    "newton": lambda q, dim, _: _solved(NewtonEquivalent.solve(q, dim)),
    "matched_filter": lambda q, dim, _: _solved(MatchedFilterEquivalent.solve(q, dim)),
    "kfac": lambda q, dim, _: whitened_recovery_probabilities(q, dim, KFAC, KFAC),
}
"""What a step recovers by its name: q, d and λ ↦ how many items share each frequency, and their chances."""


def expected_capacity(
    problem: Problem, spectral_map: str, lam: float = 0.0, frequencies: Float[Tensor, " N"] | None = None
) -> float:
    """Expected number of items that one step from W = 0 recovers, to a few per cent, nothing fitted.

    spectral_map: "polar", "smoothed_sign" (h_λ with λ = `lam`, absolute), "sgd"; or "newton", "matched_filter" and
        "kfac", which are no spectral maps.
    frequencies: the minibatch frequencies q that the gradient saw, (N,); `None` for the population, q = p.

    polar, h_λ: Σ_i E_g Π_{j≠i} Φ((√d φ(q_i) + σ_i g) / σ_ij) with the signal curve φ and the interaction law of
        `SpectralEquivalent`. Within about 4 % of counts for d ≥ 128; below, head items differ from their mean.
    newton: the same product with the leverages and the noise of `NewtonEquivalent`.
    matched_filter: the same with `MatchedFilterEquivalent`, within about 3 % for d ≥ 128.
    kfac: Σ_u⁻¹ G Σ_v⁻¹ of `whitening.kfac`, within about 5 %; other whitenings: `expected_whitened_capacity`.
    sgd: the rivals' own terms q_j ⟨v_j, v_i⟩ are kept one by one, see `sgd_recovery_probabilities`.
    Raises `ValueError` for an unknown map, a λ < 0, a λ ≠ 0 for a map without one, frequencies of the wrong length, or
    numbers so far apart that float64 loses the powers of their ratios.
    """
    counts, chances = _finite_chances(problem, spectral_map, lam, frequencies)
    return float(counts @ chances)


def expected_prefix(
    problem: Problem, spectral_map: str, lam: float = 0.0, frequencies: Float[Tensor, " N"] | None = None
) -> tuple[float, float]:
    """Mean and standard deviation of the longest prefix that one step from W = 0 recovers, items 1…m all of them.

    The items of `expected_capacity` fail almost independently, item i with probability 1 − P_i, so that the prefix is
    at least m with probability S_m = Π_{i≤m} P_i: mean Σ_m S_m, second moment Σ_m (2m − 1) S_m. Nothing is fitted.
    Arguments and errors are those of `expected_capacity`.
    """
    counts, chances = _finite_chances(problem, spectral_map, lam, frequencies)
    q = (problem.frequencies if frequencies is None else frequencies).double().numpy(force=True)
    by_rank = np.empty(problem.n_items)
    # the classes come in decreasing frequency, and those of a minibatch are not in the order of the ranks
    by_rank[np.argsort(-q, kind="stable")] = np.repeat(chances, counts.astype(int))
    survival = np.cumprod(by_rank)
    mean = survival.sum()
    second = (2 * np.arange(1, len(survival) + 1) - 1) @ survival
    return float(mean), float(np.sqrt(max(second - mean**2, 0.0)))


def _finite_chances(
    problem: Problem, spectral_map: str, lam: float, frequencies: Tensor | None
) -> tuple[np.ndarray, np.ndarray]:
    """What `_recovery_chances` says, or a `ValueError` where rounding has the better of it."""
    q = seen_frequencies(problem, frequencies)
    ratio = (q.max() / q[q > 0].min()).item()
    if ratio <= _LARGEST_RATIO or spectral_map == "sgd":
        try:
            # an exp that overflows in a denominator is the zero that it stands for
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                counts, chances = _recovery_chances(problem, spectral_map, lam, frequencies)
            if np.isfinite(chances).all():
                return counts, chances
        except (OverflowError, ZeroDivisionError):
            pass
    allowed = f"a factor of {_LARGEST_RATIO:g} apart at most, less where few items meet a small dim"
    got = f"{ratio:.3g} with dim {problem.dim}, lam {lam!r}"
    raise ValueError(f"frequencies must be {allowed}, for {spectral_map!r} to be solved, got {got}")


def _recovery_chances(
    problem: Problem, spectral_map: str, lam: float, frequencies: Tensor | None
) -> tuple[np.ndarray, np.ndarray]:
    """How many items there are in every class of equal frequencies, in decreasing order, and how likely one is kept."""
    check_choice("spectral_map", spectral_map, tuple(_CHANCES))
    if check_non_negative("lam", lam) and spectral_map != "smoothed_sign":
        raise ValueError(f"lam must be 0 for {spectral_map!r}, which has no λ, got {lam!r}")
    return _CHANCES[spectral_map](seen_frequencies(problem, frequencies), problem.dim, lam)


def expected_distinct_items(problem: Problem, batch_size: float) -> float:
    """Σ_i 1 − (1 − p_i)^B: the expected number of distinct items in a batch of B, exact, for any frequencies."""
    check_instance("problem", problem, Problem)
    batch_size = check_non_negative("batch_size", batch_size)
    with np.errstate(divide="ignore", invalid="ignore"):
        distinct = float(-np.expm1(batch_size * np.log1p(-problem.frequencies.numpy(force=True))).sum())
    # a single item has p = 1, log(1 − p) = −∞, and 0 · ∞ is no number
    return distinct if batch_size else 0.0
