"""Validators of arguments: each raises an error that names the argument, its value and what is allowed.

A room of its own, for every other one needs them and none of them states anything of the paper.
"""

import math

import numpy as np


def check_alpha(alpha: float, above: float = 0.5) -> float:
    """Return `alpha` as a float; raise `ValueError` unless it is finite and larger than `above`."""
    try:
        value = float(alpha)
    except (TypeError, ValueError):
        raise TypeError(f"alpha must be a real number, got {alpha!r}") from None
    if not (math.isfinite(value) and value > above):
        raise ValueError(f"alpha must be a finite number > {above:g}, got {alpha!r}")
    return value


def check_count(name: str, value: int, least: int = 1) -> int:
    """Return `value` as an int; raise `TypeError` or `ValueError` unless it is a whole number ≥ `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}")
    return int(value)


def check_positive(name: str, value: float) -> float:
    """Return `value` as a float; raise `ValueError` unless it is finite and > 0."""
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be finite and > 0, got {value!r}")
    return float(value)


def check_non_negative(name: str, value: float) -> float:
    """Return `value` as a float; raise `ValueError` unless it is finite and ≥ 0."""
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be finite and ≥ 0, got {value!r}")
    return float(value)


def check_dims(name: str, dims: tuple[int, ...], count: int = 2, least: int = 1) -> None:
    """Raise `ValueError` or `TypeError` unless a config's field holds `count` or more distinct dimensions ≥ `least`."""
    if len(dims) < count or len(set(dims)) != len(dims):
        raise ValueError(f"{name} must hold distinct dimensions, at least {count}, got {list(dims)}")
    for dim in dims:
        check_count(name, dim, least)
