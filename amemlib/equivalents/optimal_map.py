"""The spectral map with the largest tail signal-to-noise ratio, and what other maps reach of it."""

import math
from collections.abc import Callable

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from amemlib.checks import check_function, check_instance, check_non_negative
from amemlib.equivalents.law import SpectralLaw


def tail_snr(law: SpectralLaw, f: Callable[[Tensor], Tensor]) -> float:
    """Signal slope over the standard deviation of an interaction, for rare items and W = f(G):

        2 ∫ f f* dμ / √(∫ f² dμ),   f*(s) = s p.v. ∫ dμ(s′) / (s² − s′²) = Im M(0⁺ − i s),

    μ the law of the singular values. A rare item of weight q has the mean margin √d q × this, in standard deviations.
    f: as in `spectral.spectral_map`, on absolute singular values. Units: 1 / (those of the singular values).
    At most 2 √(∫ f*² dμ), attained by f* alone (Cauchy–Schwarz): `best_map`.
    """
    check_instance("law", law, SpectralLaw)
    check_function("f", f)
    values = f(torch.from_numpy(law.singular_values.copy())).numpy()
    try:
        with np.errstate(all="ignore"):
            energy, signal = (law.integrate(values * other) for other in (values, law.resolvent.imag))
    except ValueError:
        energy = math.nan
    if not energy > 0:
        raise ValueError(f"f must have a mean square that is finite and > 0 over the law, got {energy!r}")
    return 2 * signal / math.sqrt(energy)  # eq-bm-snr


def best_map(law: SpectralLaw, floor: float = 0.0) -> Callable[[Tensor], Tensor]:
    """The odd f that maximises `tail_snr`, f*(s) = Im M(0⁺ − i s), scaled to the largest value 1.

    It rises in proportion to s, peaks at the lower bulk and falls like 1/s. For a power law f* = (1 − r cos θ) / s on
    the curve of `SpectralLaw.power_law`.
    floor: beyond its peak f is kept at `floor` or more, so that frequent items keep a margin; 0 is f* itself, 1 a map
        that is linear up to the bulk and flat beyond. Raises `ValueError` for a floor that is not ≥ 0.
    Like f* it acts on absolute singular values: the law must have the units of G.
    """
    check_instance("law", law, SpectralLaw)
    floor = check_non_negative("floor", floor)
    values = law.resolvent.imag / law.resolvent.imag.max()
    peak = int(values.argmax())
    values[peak:] = np.maximum(values[peak:], floor)
    return _interpolated(law.singular_values, values, falling=floor == 0)


def best_monotone_map(law: SpectralLaw) -> Callable[[Tensor], Tensor]:
    """The nondecreasing f that maximises `tail_snr`, scaled to the largest value 1: the projection of f* on that cone.

    f* rises to its peak and falls, so its projection in L²(μ) is f* up to the s₀ where f*(s₀) is the mean of f* over
    all s ≥ s₀, and that constant from there on.
    """
    check_instance("law", law, SpectralLaw)
    s, values = law.singular_values, law.resolvent.imag
    steps = np.diff(s) * (law.density[1:] * values[1:] + law.density[:-1] * values[:-1]) / 2
    sum_beyond = np.cumsum(np.r_[0.0, steps[::-1]])[::-1]
    mass_beyond = law.share_below(s[-1]) - law.share_below(s)
    start = int(np.argmax(values * mass_beyond >= sum_beyond))
    return _interpolated(s, np.where(np.arange(len(s)) < start, values / values[start], 1.0), falling=False)


def best_smoothing(law: SpectralLaw) -> float:
    """The λ > 0 that maximises `tail_snr` of h_λ, in the units of the law; there is one for every law with ρ(0) > 0.

    0.130, 0.088, 0.047 t₀ for power laws with α = 1.25, 1.5, 2.
    """
    check_instance("law", law, SpectralLaw)
    middle = math.log(law.quantile(0.5))
    loss = lambda log_lam: -tail_snr(law, lambda s: s / torch.hypot(s, s.new_tensor(math.exp(log_lam))))
    return math.exp(minimize_scalar(loss, bounds=(middle - 6, middle + 1), method="bounded").x)


def _interpolated(grid: np.ndarray, values: np.ndarray, falling: bool) -> Callable[[Tensor], Tensor]:
    """The function through these points, linear in log s between them and in s below; beyond, 1/s or constant."""
    log_grid = np.log(grid)

    def f(s: Tensor) -> Tensor:
        x = s.detach().cpu().double().numpy()
        inside = np.interp(np.log(np.clip(x, grid[0], grid[-1])), log_grid, values)
        beyond = np.maximum(x / grid[-1], 1) if falling else 1.0
        return torch.from_numpy(inside * np.minimum(x / grid[0], 1) / beyond).to(s)

    return f
