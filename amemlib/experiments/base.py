"""What every experiment is made of: cells, summaries, verdicts, and configs that are read from text."""

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields

import numpy as np

REPRODUCED, FINITE_SIZE, NOT_REPRODUCED, OPEN = "reproduced", "finite-size", "not reproduced", "open"
VERDICTS = (REPRODUCED, FINITE_SIZE, NOT_REPRODUCED, OPEN)
"""What a measurement can say of a statement, from best to worst; "open" is a statement nobody has measured yet."""

SLOPE_BAND = 0.08
"""How far a fitted exponent may lie from its limit: Muon's and SGD's differ by 1, and at d = 128…1024 the sharp count
itself is up to 0.06 steeper than its limit."""
COUNT_BAND = 0.05
"""How far a mean count may lie from its sharp prediction, beyond two standard errors."""
SHARP_DIM = 256
"""From which d on the sharp prediction is held to that: below, the head items differ too much from their mean."""


@dataclass(frozen=True)
class Cell:
    """One call of a sweep: `function(**arguments)`, arguments plain values, the result a plain dict."""

    function: Callable[..., dict]
    arguments: dict


@dataclass(frozen=True)
class Summary:
    """What an experiment found: nested plain dicts of measured and predicted numbers, and the verdicts by map."""

    measured: dict
    predicted: dict
    verdicts: dict

    @property
    def verdict(self) -> str:
        """The worst of the verdicts."""
        return max(self.verdicts.values(), key=VERDICTS.index)


@dataclass(frozen=True)
class Experiment:
    """A named experiment. `cells(config, device)` lists its calls, `summarise(config, results)` reads their results.

    sharded: whether a cell is the work of all ranks of torchrun together (`sharding`).
    """

    name: str
    purpose: str
    profiles: dict
    cells: Callable[..., Iterable[Cell]]
    summarise: Callable[..., Summary]
    sharded: bool = False


def configure(experiment: Experiment, profile: str, overrides: dict[str, str]):
    """The config of a profile with some of its fields replaced by the texts of `KEY=VALUE` options.

    A tuple field takes comma-separated values. Raises `ValueError` for an unknown profile or key or a value of the
    wrong kind; the config itself checks the mathematics.
    """
    if profile not in experiment.profiles:
        raise ValueError(f"profile must be one of {', '.join(experiment.profiles)}, got {profile!r}")
    base = experiment.profiles[profile]
    types = {field.name: field.type for field in fields(base)}
    values = asdict(base)
    for key, text in overrides.items():
        if key not in types:
            raise ValueError(f"key must be one of {', '.join(types)}, got {key!r}")
        values[key] = _parse(key, text, types[key])
    return type(base)(**values)


def capacity_verdict(dims, seed_counts: np.ndarray, sharp, slope: float, exponent: float) -> str:
    """Reproduced: counts meet the sharp prediction, the slope its limit. Finite-size: the counts, not yet the slope."""
    judged = np.array(dims) >= SHARP_DIM
    mean, sharp = seed_counts.mean(1), np.array(sharp)
    repetitions = seed_counts.shape[1]
    error = seed_counts.std(1, ddof=1) / math.sqrt(repetitions) if repetitions > 1 else np.sqrt(mean)
    if (np.abs(mean - sharp) > COUNT_BAND * sharp + 2 * error)[judged].any():
        return NOT_REPRODUCED
    return REPRODUCED if judged.any() and abs(slope - exponent) <= SLOPE_BAND else FINITE_SIZE


def _parse(key: str, text: str, kind):
    element = {float: float, int: int, tuple[int, ...]: int, tuple[float, ...]: float, tuple[str, ...]: str}[kind]
    word = {float: "a number", int: "a whole number", str: "a word"}[element]
    try:
        if kind in (float, int):
            return element(text)
        return tuple(element(part) for part in text.split(","))
    except ValueError:
        allowed = word if kind in (float, int) else f"{word} or several with commas between"
        raise ValueError(f"{key} must be {allowed}, got {text!r}") from None
