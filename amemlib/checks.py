"""Validators of arguments: each raises an error that names the argument, its value and what is allowed.

A room of its own, for every other one needs them and none of them states anything of the paper.
"""

import math
import os

import numpy as np


def check_alpha(alpha: float, above: float = 0.5) -> float:
    """Return `alpha` as a float; raise `ValueError` unless it is finite and larger than `above`."""
    value = check_real("alpha", alpha)
    if not above < value < 1e300:
        raise ValueError(f"alpha must be a finite number > {above:g}, got {shown(alpha)}")
    return value


def check_count(name: str, value: int, least: int = 1, most: int | None = None) -> int:
    """Return `value` as an int; raise `TypeError` or `ValueError` unless it is a whole number in [`least`, 2⁶³).

    most: the largest that is allowed, if there is one.
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be a whole number, got {shown(value)}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {shown(value)}")
    if value >= 2**63:
        raise ValueError(f"{name} must be below 2^63, got {shown(value)}")
    if most is not None and value > most:
        raise ValueError(f"{name} must be at most {most}, got {shown(value)}")
    return int(value)


def check_positive(name: str, value: float) -> float:
    """Return `value` as a float; raise `ValueError` unless it is finite and > 0."""
    number = check_real(name, value)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be finite and > 0, got {shown(value)}")
    return number


def check_non_negative(name: str, value: float) -> float:
    """Return `value` as a float; raise `ValueError` unless it is finite and ≥ 0."""
    number = check_real(name, value)
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(f"{name} must be finite and ≥ 0, got {shown(value)}")
    return number


def check_real(name: str, value: float) -> float:
    """Return `value` as a float, NaN and infinities included; raise `TypeError` unless it is one real number."""
    if not isinstance(value, (bool, str, bytes)):
        try:
            return float(value)
        except OverflowError:
            raise ValueError(f"{name} must be a number that float64 holds, got {shown(value)}") from None
        # a tensor that has no one real number raises RuntimeError or NotImplementedError
        except (TypeError, ValueError, RuntimeError):
            pass
    raise TypeError(f"{name} must be a real number, got {shown(value)}")


def check_numbers(name: str, values) -> np.ndarray:
    """Return `values` as a float64 array; raise `TypeError` unless it holds real numbers, and none of them masked."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name} must be an array without a mask, got {shown(values)}")
    try:
        array = np.asarray(values)
        # strings of digits and the real part of a complex number would be taken for numbers
        if array.dtype.kind in "iufO":
            return array.astype(float)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        pass
    raise TypeError(f"{name} must hold real numbers, got {shown(values)}")


def check_sequence(name: str, values) -> list:
    """Return `values` as a list; raise `TypeError` unless one can go through them."""
    if not isinstance(values, (str, bytes)):
        try:
            return list(values)
        except (TypeError, RuntimeError):
            pass
    raise TypeError(f"{name} must be a sequence, got {shown(values)}")


def check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise `ValueError` unless `value` is one of the strings `allowed`."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {shown(value)}")


def check_instance(name: str, value, kind: type) -> None:
    """Raise `TypeError` unless `value` is a `kind`."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be an instance of {kind.__name__}, got {shown(value)}")


def check_function(name: str, value) -> None:
    """Raise `TypeError` unless `value` can be called."""
    if not callable(value):
        raise TypeError(f"{name} must be a function, got {shown(value)}")


def check_result(names: str, result):
    """Return a number or an array; raise `ValueError` where it is not finite, as the arguments were: out of range."""
    if not np.isfinite(result).all():
        raise ValueError(f"{names} must keep the result within float64, got {shown(result)}")
    return result


def check_memory(name: str, value, n_bytes: int) -> None:
    """Raise `ValueError` unless `n_bytes`, what `value` asks for at once, are within the host's memory."""
    if n_bytes > host_memory():
        most, asked = (f"{n / 2**30:.3g} GiB" for n in (host_memory(), n_bytes))
        raise ValueError(f"{name} must fit in the {most} of this machine, got {shown(value)}, which takes {asked}")


def host_memory() -> float:
    """Bytes of the host's memory; ∞ where the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def shown(value) -> str:
    """A value as an error quotes it: its repr, in one line and not longer than a line."""
    try:
        text = " ".join(repr(value).split())
    # Python refuses to write out integers of more than 4300 digits
    except ValueError:
        text = f"{type(value).__name__} of {value.bit_length()} bits"
    return text if len(text) <= 80 else text[:60] + " … " + text[-16:]


def check_dims(name: str, dims: tuple[int, ...], count: int = 2, least: int = 1) -> None:
    """Raise `ValueError` or `TypeError` unless a config's field holds `count` or more distinct dimensions ≥ `least`."""
    if len(dims) < count or len(set(dims)) != len(dims):
        raise ValueError(f"{name} must hold distinct dimensions, at least {count}, got {list(dims)}")
    for dim in dims:
        check_count(name, dim, least)
