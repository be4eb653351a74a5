"""Checks of arguments: each raises an error that names the argument, its value and what is allowed."""

import math

import numpy as np


def check_alpha(alpha: float, above: float = 0.5) -> float:
    """Return `alpha` as a float; raise `ValueError` unless it is finite and larger than `above`."""
    value = check_real("alpha", alpha)
    if not above < value < math.inf:
        raise ValueError(f"alpha must be a finite number > {above:g}, got {shown(alpha)}")
    return value


def check_count(name: str, value: int, least: int = 1, most: int | None = None) -> int:
    """Return `value` as an int; raise `TypeError` or `ValueError` unless it is a whole number in [`least`, `most`].

    most: the largest that is allowed, if there is one.
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be a whole number, got {shown(value)}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {shown(value)}")
    if most is not None and value > most:
        raise ValueError(f"{name} must be at most {most}, got {shown(value)}")
    return int(value)


def check_positive(name: str, value: float) -> float:
    """Return `value` as a float; raise `ValueError` unless it is finite and > 0."""
    number = check_real(name, value)
    if not 0 < number < math.inf:
        raise ValueError(f"{name} must be finite and > 0, got {shown(value)}")
    return number


def check_non_negative(name: str, value: float) -> float:
    """Return `value` as a float; raise `ValueError` unless it is finite and ≥ 0."""
    number = check_real(name, value)
    if not 0 <= number < math.inf:
        raise ValueError(f"{name} must be finite and ≥ 0, got {shown(value)}")
    return number


def check_real(name: str, value: float) -> float:
    """Return `value` as a float, NaN and infinities included; raise `TypeError` unless it is one real number."""
    # float() would read the digits of a string
    if not isinstance(value, (bool, str, bytes)):
        try:
            return float(value)
        # a tensor of several numbers raises RuntimeError
        except (TypeError, ValueError, RuntimeError):
            pass
    raise TypeError(f"{name} must be a real number, got {shown(value)}")


def check_numbers(name: str, values) -> np.ndarray:
    """Return `values` as a float64 array; raise `TypeError` unless it holds real numbers."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold real numbers, got {shown(values)}")
    return array.astype(float)


def check_sequence(name: str, values) -> list:
    """Return `values` as a list; raise `TypeError` unless one can go through them."""
    try:
        return list(values)
    except TypeError:
        raise TypeError(f"{name} must be a sequence, got {shown(values)}") from None


def check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise `ValueError` unless `value` is one of the strings `allowed`."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {shown(value)}")


def check_instance(name: str, value, kind: type) -> None:
    """Raise `TypeError` unless `value` is a `kind`."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be an instance of {kind.__name__}, got {shown(value)}")


def check_function(name: str, value) -> None:
    """Raise `TypeError` unless `value` can be called."""
    if not callable(value):
        raise TypeError(f"{name} must be a function, got {shown(value)}")


def check_dims(name: str, dims: tuple[int, ...], count: int = 2, least: int = 1) -> None:
    """Raise `ValueError` or `TypeError` unless a config's field holds `count` or more distinct dimensions ≥ `least`."""
    if len(dims) < count or len(set(dims)) != len(dims):
        raise ValueError(f"{name} must hold distinct dimensions, at least {count}, got {list(dims)}")
    for dim in dims:
        check_count(name, dim, least)


def shown(value) -> str:
    """A value as an error quotes it: its repr, in one line and not longer than a line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:60] + " … " + text[-16:]
