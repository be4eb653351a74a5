"""What a schedule keeps, with nothing fitted: its polynomial, its slope at 0, and the noise of its number format."""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from torch import Tensor

from amemlib.equivalents import SpectralLaw, expected_capacity, expected_map_capacity
from amemlib.problem import Problem
from amemlib.spectral import compose_quintics, newton_schulz_schedule

BITS = {"float32": 23, "float16": 10, "bfloat16": 7}
"""Bits of the significand that are stored."""
_ROUNDING = 2 / 3 * math.log(2) / 12
"""E δ² / E x² · 4^bits of a number rounded to nearest, its significand log-uniform: δ is uniform on one unit in the
last place, 2^(exponent − bits), and the mean square of the significand is 3 / (2 log 2)."""


def slope(schedule: Sequence[Sequence[float]]) -> float:
    """Λ, the slope of the composed polynomial at 0: the product of the a."""
    return math.prod(a for a, _, _ in schedule)


def products(schedule: Sequence[Sequence[float]]) -> int:
    """Matrix products of a schedule: three a step, two where c = 0."""
    return sum(3 if c else 2 for _, _, c in schedule)


def schedule_map(schedule: Sequence[Sequence[float]], norm: float) -> Callable[[Tensor], Tensor]:
    """What a schedule does to absolute singular values of a G of Frobenius norm `norm`."""
    return lambda s: compose_quintics((s / norm).clamp(max=1), schedule)


def rounding_noise(schedule: Sequence[Sequence[float]], law: SpectralLaw, norm: float, dim: int, bits: int) -> float:
    """‖E‖_F² / d of the noise that rounding amounts to, as if it were added to G at the start.

    What is stored in step j is rounded, a relative error of mean square `_ROUNDING` / 4^bits, and is still to be
    multiplied by a_{j+1} … a_n in the small singular directions, as the signal there is: seen from the start it counts
    1 / (a_1 … a_j)². The errors of A = XXᵀ and B = bA + cA² reach the next X through the large singular values.
    """
    relative = _ROUNDING / 4.0**bits
    # an item that stands alone is a bump of the law: its upper half lies beyond the norm
    s = np.minimum(law.singular_values / norm, 1)
    total = lambda values: dim * law.integrate(values)
    noise, gained = relative * total(s**2), 1.0
    for a, b, c in schedule:
        of_gram = relative * total(s**4) / dim * total((b * s + c * s**3) ** 2)
        of_polynomial = relative * total((b * s**2 + c * s**4) ** 2) / dim * total(s**2) if c else 0.0
        s, gained = a * s + b * s**3 + c * s**5, gained * a
        noise += (of_gram + of_polynomial + relative * total(s**2)) / gained**2
    return noise * norm**2 / dim


def expected_count(
    problem: Problem, coefficients: str | Iterable, number_format: str = "float32", law: SpectralLaw | None = None
) -> float:
    """Items that one step recovers with a schedule, a name of `spectral.SCHEDULES` or a table, run in a format.

    law: of the exact gradient, if it is at hand. float32 is taken as exact: its noise is 2⁻³² of bfloat16's.
    """
    schedule = newton_schulz_schedule(coefficients)
    norm = problem.frequencies.norm().item()
    law = SpectralLaw.solve(problem.frequencies, problem.dim) if law is None else law
    if BITS[number_format] < BITS["float32"]:
        noise = rounding_noise(schedule, law, norm, problem.dim, BITS[number_format])
        law = SpectralLaw.solve(problem.frequencies, problem.dim, noise)
    return expected_map_capacity(problem, schedule_map(schedule, norm), law=law)


def expected_share(problem: Problem, coefficients: str | Iterable, number_format: str = "float32") -> float:
    """The same as a share of exact Muon's items: what the schedule keeps at this problem's α, d and N."""
    return expected_count(problem, coefficients, number_format) / expected_capacity(problem, "polar")


def law_count(problem: Problem, slope_at_zero: float) -> float:
    """The law: a schedule is h_λ with λ = ‖G‖_F / Λ, whatever else its polynomial does."""
    return expected_capacity(problem, "smoothed_sign", lam=problem.frequencies.norm().item() / slope_at_zero)


def reach(problem: Problem, slope_at_zero: float, law: SpectralLaw | None = None) -> float:
    """x = Λ s_{d/2} / ‖G‖_F: where the schedule would bring the median singular value if it went on in a line."""
    law = SpectralLaw.solve(problem.frequencies, problem.dim) if law is None else law
    return slope_at_zero * float(law.quantile(0.5)) / problem.frequencies.norm().item()
