"""Power-law exponents from log–log fits, each with an interval and with its doubts."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from amemlib.checks import check_numbers, check_positive, check_real, shown


@dataclass(frozen=True)
class ExponentFit:
    """y ≈ e^intercept x^slope. [low, high] is the 95 % interval of the slope; doubts says what speaks against the fit.

    local_slopes: slopes between neighbouring points, in the order of x.
    doubts: any of "two points", "curved" (the local slopes move by more than 0.1 from end to end) and "saturated" (a
        point above half the ceiling given to `fit_exponent`).
    """

    slope: float
    low: float
    high: float
    intercept: float
    local_slopes: tuple[float, ...]
    doubts: tuple[str, ...]


def fit_exponent(x, y, ceiling: float = math.inf) -> ExponentFit:
    """Least-squares slope of log y against log x, all points with equal weight.

    x: (n,) positive and distinct, n ≥ 2. y: (n,) positive, or (n, s) with s repetitions at each x, averaged before the
    logarithm. The interval is the 95 % Student interval, with Welch's degrees of freedom, of the sampling error of the
    repetitions where s > 1 (it says how well the slope *over these x* is known, not how far it is from its limit), else
    of the residuals of the fit (infinite for two points).
    ceiling: the largest value that y can take at all, if any.
    Raises `ValueError` for fewer than two distinct x, lengths that differ, or values that are not positive and finite.
    """
    x, y = check_numbers("x", x), check_numbers("y", y)
    if math.isnan(check_real("ceiling", ceiling)):
        raise ValueError(f"ceiling must be a number or infinite, got {ceiling!r}")
    if x.ndim != 1 or len(x) < 2 or len(np.unique(x)) != len(x):
        raise ValueError(f"x must hold at least two distinct values in one dimension, got {x.tolist()}")
    if y.ndim not in (1, 2) or len(y) != len(x) or 0 in y.shape:
        raise ValueError(f"y must have shape ({len(x)},) or ({len(x)}, s) to match x, got {y.shape}")
    repetitions = y.reshape(len(x), -1)
    mean = repetitions.mean(1)
    for name, values in (("x", x), ("y", mean)):
        if not (np.isfinite(values).all() and (values > 0).all()):
            raise ValueError(f"{name} must be positive and finite to have a logarithm, got {values.tolist()}")

    log_x, log_y = np.log(x), np.log(mean)
    weights = (log_x - log_x.mean()) / np.sum((log_x - log_x.mean()) ** 2)
    slope = float(weights @ log_y)
    intercept = float(log_y.mean() - slope * log_x.mean())
    s = repetitions.shape[1]
    if s > 1:
        parts = weights**2 * repetitions.var(1, ddof=1) / s / mean**2
        variance = parts.sum()
        # Welch–Satterthwaite: the scatter of the two ends decides, not that of all points
        freedom = variance**2 / (parts @ parts) * (s - 1) if variance else len(x) * (s - 1)
    else:
        freedom = len(x) - 2
        residuals = log_y - intercept - slope * log_x
        variance = residuals @ residuals * (weights @ weights) / freedom if freedom else math.inf
    half_width = math.sqrt(variance) * stdtrit(max(freedom, 1), 0.975)

    order = np.argsort(log_x)
    local_slopes = np.diff(log_y[order]) / np.diff(log_x[order])
    doubts = {
        "two points": len(x) == 2,
        "curved": abs(local_slopes[-1] - local_slopes[0]) > 0.1,
        "saturated": bool(mean.max() > ceiling / 2),
    }
    return ExponentFit(
        slope,
        float(slope - half_width),
        float(slope + half_width),
        intercept,
        tuple(local_slopes.tolist()),
        tuple(name for name, present in doubts.items() if present),
    )


def first_crossing(x, y, level: float) -> float:
    """The smallest x at which y, interpolated linearly in log–log between its points, rises to `level`.

    x: (n,) positive and increasing. y: (n,) positive; it need not be monotone, and may overshoot the level.
    Raises `ValueError` where y starts at or above the level or never reaches it: the crossing is off the grid.
    """
    x, y, level = check_numbers("x", x), check_numbers("y", y), check_positive("level", level)
    if x.ndim != 1 or len(x) == 0 or x.shape != y.shape:
        raise ValueError(f"x and y must have one shape (n,) with n ≥ 1, got {x.shape} and {y.shape}")
    for name, values in (("x", x), ("y", y)):
        if not (np.isfinite(values).all() and (values > 0).all()):
            raise ValueError(f"{name} must be positive and finite, got {shown(values.tolist())}")
    if not (np.diff(x) > 0).all():
        raise ValueError(f"x must be increasing, got {shown(x.tolist())}")
    reached = y >= level
    if reached[0] or not reached.any():
        raise ValueError(f"x must span the crossing of {level:g}, got y from {y[0]:g} to {y.max():g}")
    k = int(reached.argmax())
    part = math.log(level / y[k - 1]) / math.log(y[k] / y[k - 1])
    return float(x[k - 1] * (x[k] / x[k - 1]) ** part)
