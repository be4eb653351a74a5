"""How many items one step from W = 0 recovers, and how many distinct ones a batch shows."""

import numpy as np
from jaxtyping import Float
from torch import Tensor

from amemlib.checks import check_choice, check_instance, check_non_negative, check_result
from amemlib.equivalents.fixed_point import binned, check_span
from amemlib.problem import Problem

_SGD_BIN_WIDTH = 0.05


def expected_capacity(
    problem: Problem, spectral_map: str, lam: float = 0.0, frequencies: Float[Tensor, " N"] | None = None
) -> float:
    """Expected number of items that one step from W = 0 recovers, to a few per cent, nothing fitted.

    spectral_map: "polar", "smoothed_sign" (h_λ with λ = `lam`, absolute), "sgd", or "newton", which is no spectral map.
    frequencies: the minibatch frequencies q that the gradient saw, (N,); `None` for the population, q = p.

    polar, h_λ: Σ_i E_g Π_{j≠i} Φ((√d φ(q_i) + σ_i g) / σ_ij) with the signal curve φ and the interaction law of
        `SpectralEquivalent`. Within about 4 % of counts for d ≥ 128; below, head items differ from their mean.
    newton: the same product with the leverages and the noise of `NewtonEquivalent`.
    sgd: the rivals' own terms q_j ⟨v_j, v_i⟩ are kept one by one, see `sgd_recovery_probabilities`.
    Raises `ValueError` for an unknown map, a λ < 0, or frequencies of the wrong length.
    """
    check_instance("problem", problem, Problem)
    check_choice("spectral_map", spectral_map, ("polar", "smoothed_sign", "sgd", "newton"))
    q = problem.frequencies if frequencies is None else frequencies
    # imported when asked for: a chapter that predicts one map does not rest on the code of the others
    check_span("frequencies", q, problem.n_items)
    if spectral_map == "sgd":
        from amemlib.equivalents.sgd import sgd_recovery_probabilities

        values, counts = binned(q, _SGD_BIN_WIDTH)
        return check_result("frequencies", float(counts @ sgd_recovery_probabilities(values, counts, problem.dim)))
    if spectral_map == "newton":
        from amemlib.equivalents.newton import NewtonEquivalent

        newton = NewtonEquivalent.solve(q, problem.dim)
        return check_result("frequencies", float(newton.counts @ newton.recovery_probabilities()))
    check_non_negative("lam", lam)
    from amemlib.equivalents.smoothed_sign import SpectralEquivalent

    equivalent = SpectralEquivalent.solve(q, problem.dim, 0.0 if spectral_map == "polar" else lam)
    return check_result("frequencies and lam", float(equivalent.counts @ equivalent.recovery_probabilities()))


def expected_distinct_items(problem: Problem, batch_size: float) -> float:
    """Σ_i 1 − (1 − p_i)^B: the expected number of distinct items in a batch of B, exact, for any frequencies."""
    check_instance("problem", problem, Problem)
    batch_size = check_non_negative("batch_size", batch_size)
    with np.errstate(divide="ignore", invalid="ignore"):
        distinct = float(-np.expm1(batch_size * np.log1p(-problem.frequencies.numpy(force=True))).sum())
    # a single item has p = 1, log(1 − p) = −∞, and 0 · ∞ is no number
    return distinct if batch_size else 0.0
