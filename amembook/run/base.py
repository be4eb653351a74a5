"""What every study is made of: a config, grids of calls, their results as arrays, verdicts."""

import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial, reduce
from operator import getitem
from types import SimpleNamespace
from typing import Annotated, get_args, get_origin, get_type_hints

import numpy as np

from amembook.run.claims import seen
from amembook.run.claims import standard_error as standard_error
from amemlib.checks import check_count, check_dims, check_non_negative, check_positive, check_real
from amemlib.spectral import identity, polar

MAPS = {"sgd": identity, "polar": polar}
"""The two maps that most studies compare: a step of SGD and Muon's."""
PROFILE_BINS = 24
MOST_CELLS = 10**6
"""Calls in one grid: a list of more would fill the memory before the first one begins."""


def each(check: Callable[[str, object], object]) -> Callable[[str, tuple], None]:
    """The check of every value of a tuple, which holds one or more."""

    def check_all(name: str, values: tuple) -> None:
        if not values:
            raise ValueError(f"{name} must hold at least one value, got {values!r}")
        for value in values:
            check(name, value)

    return check_all


def _check_ascending(name: str, values: tuple) -> None:
    if len(values) < 2 or list(values) != sorted(set(values)):
        raise ValueError(f"{name} must hold at least two ascending numbers, got {list(values)}")


def _check_alpha(name: str, value: float, above: float = 0.5) -> None:
    if not above < check_real(name, value) < math.inf:
        raise ValueError(f"{name} must be finite and > {above:g}, got {value!r}")


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {value!r}")


def some_of(*allowed: str) -> Callable[[str, tuple], None]:
    """The check of a tuple that holds some of the `allowed` words: which parts of a study a record measures."""

    def check_parts(name: str, parts: tuple) -> None:
        if not parts or not set(parts) <= set(allowed):
            raise ValueError(f"{name} must be among {', '.join(allowed)}, got {parts!r}")

    return check_parts


def check_chance(name: str, value: float) -> None:
    """Raise `ValueError` unless the value is a share that is neither none nor all."""
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}")


Count = Annotated[int, check_count]
Several = Annotated[int, partial(check_count, least=2)]
Natural = Annotated[int, partial(check_count, least=0)]
Positive = Annotated[float, check_positive]
NonNegative = Annotated[float, check_non_negative]
Share = Annotated[float, _check_share]
Chance = Annotated[float, check_chance]
Alpha = Annotated[float, _check_alpha]
SteepAlpha = Annotated[float, partial(_check_alpha, above=1.0)]
"""Where the theorem or the closed form needs α > 1."""
Counts = Annotated[tuple[int, ...], each(check_count)]
Naturals = Annotated[tuple[int, ...], each(partial(check_count, least=0))]
Positives = Annotated[tuple[float, ...], each(check_positive)]
NonNegatives = Annotated[tuple[float, ...], each(check_non_negative)]
Shares = Annotated[tuple[float, ...], each(_check_share)]
Chances = Annotated[tuple[float, ...], each(check_chance)]
Alphas = Annotated[tuple[float, ...], each(_check_alpha)]
SteepAlphas = Annotated[tuple[float, ...], each(partial(_check_alpha, above=1.0))]
Sizes = Annotated[tuple[int, ...], partial(check_dims, count=1)]
"""Distinct counts, one or more."""
Dims = Annotated[tuple[int, ...], check_dims]
"""At least two distinct counts."""
Ascending = Annotated[tuple[int, ...], _check_ascending]
AscendingCounts = Annotated[Counts, _check_ascending]
AscendingPositives = Annotated[Positives, _check_ascending]


@dataclass(frozen=True)
class Config:
    """A study's sizes: what a field may hold stands in its annotation. Subclasses add `limits` between fields."""

    def __post_init__(self):
        for name, kind in get_type_hints(type(self), include_extras=True).items():
            value = getattr(self, name)
            for check in getattr(kind, "__metadata__", ()):
                check(name, value)
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{name} must be finite, got {value!r}")
        self.limits()

    def limits(self) -> None:
        """Raise `ValueError` where fields contradict each other."""


@dataclass(frozen=True)
class Cell:
    """One call of a sweep: `function(**arguments)`, arguments plain values, the result a plain dict."""

    function: Callable[..., dict]
    arguments: dict


@dataclass(frozen=True, init=False)
class Grid:
    """Calls of one function over the product of some axes, the last one fastest.

    axes: the name of an argument and its values; or any name and {label: arguments that vary together}.
    fixed: arguments that do not vary and are not the config's. Every other parameter of the function is the field of
    the config of that name, and `device` is the run's.
    """

    function: Callable[..., dict]
    axes: Mapping[str, Sequence | Mapping]
    fixed: Mapping

    def __init__(self, function: Callable[..., dict], axes: Mapping[str, Sequence | Mapping], **fixed):
        for name, value in {"function": function, "axes": dict(axes), "fixed": fixed}.items():
            object.__setattr__(self, name, value)

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return tuple(len(values) for values in self.axes.values())

    def cells(self, config, device: str) -> list[Cell]:
        """The calls in the order of the axes; `TypeError` for a parameter that nothing gives a value.

        `ValueError` for more than `MOST_CELLS`.
        """
        count = math.prod(self.shape)
        if count > MOST_CELLS:
            raise ValueError(f"the values of {', '.join(self.axes)} must make at most {MOST_CELLS} cells, got {count}")
        known = {"device": device} | vars(config) | self.fixed
        bundles = [
            list(values.values()) if isinstance(values, Mapping) else [{name: value} for value in values]
            for name, values in self.axes.items()
        ]
        names = inspect.signature(self.function).parameters
        cells = []
        for point in itertools.product(*bundles):
            arguments = known | {name: value for bundle in point for name, value in bundle.items()}
            missing = [name for name in names if name not in arguments]
            if missing:
                raise TypeError(f"{self.function.__name__} needs {missing[0]}: no axis and no field of the config")
            values = ((name, arguments[name]) for name in names)
            cells.append(Cell(self.function, {k: list(v) if isinstance(v, (tuple, range)) else v for k, v in values}))
        return cells


@dataclass(frozen=True)
class Results:
    """What the cells of an experiment gave, by the name of their grid: object arrays of dicts, shaped like its axes."""

    grids: Mapping[str, Grid]
    draws: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, grids: Mapping[str, Grid], results: Sequence[dict]) -> "Results":
        """The results of all cells, grid after grid, taken apart; `ValueError` unless there is one for each cell."""
        sizes = {name: math.prod(grid.shape) for name, grid in grids.items()}
        if len(results) != sum(sizes.values()):
            raise ValueError(f"results must hold one dict for each of {sum(sizes.values())} cells, got {len(results)}")
        draws, start = {}, 0
        for name, grid in grids.items():
            flat = np.empty(sizes[name], dtype=object)
            flat[:] = results[start : start + sizes[name]]
            draws[name], start = flat.reshape(grid.shape), start + sizes[name]
        return cls(grids, draws)

    def array(self, measure: str, *keys, **at) -> np.ndarray:
        """`result[keys[0]][keys[1]]…` of every cell of the grid `measure`: its axes first, then the axes of the value.

        at: an axis and one of its values or labels; that axis is gone from the array.
        """
        grid = self.grids[measure]
        index = tuple(list(values).index(at[axis]) if axis in at else slice(None) for axis, values in grid.axes.items())
        draws = self.draws[measure][index]
        values = [reduce(getitem, keys, result) for result in np.ravel(draws)]
        return np.array(values).reshape(*np.shape(draws), *np.shape(values[0] if values else 0))


@dataclass(frozen=True)
class Experiment:
    """A named study.

    grids(config): what is measured. summarise(config, results): nested plain dicts of measured and predicted numbers.
    judge(config, measured, predicted): the verdicts by name, a function of what a record stores and of nothing else;
        it is given arrays where the record has lists.
    unseen_from: the first seed that nobody had looked at when the rules of `judge` were written.
    added: fields of the config that are younger than some records, and what those did: they are read with these values.
    """

    name: str
    purpose: str
    profiles: dict
    grids: Callable[..., Mapping[str, Grid]]
    summarise: Callable[..., tuple[dict, dict]]
    judge: Callable[..., Mapping[str, dict] | Iterable[tuple[str, dict]]]
    unseen_from: int = 1000
    added: Mapping[str, object] = field(default_factory=dict)

    def cells(self, config, device: str) -> list[Cell]:
        """Every call, grid after grid."""
        return [cell for grid in self.grids(config).values() for cell in grid.cells(config, device)]

    def read(self, config, results: Sequence[dict]) -> tuple[dict, dict]:
        """Measured and predicted numbers of the results of all cells, in their order."""
        return self.summarise(config, Results.of(self.grids(config), results))

    def verdicts(self, config, measured: dict, predicted: dict) -> dict[str, dict]:
        """The judge's verdicts; on seeds that were looked at before its rules were written only checks say anything."""
        verdicts = dict(self.judge(config, arrays(measured), arrays(predicted)))
        if config.first_seed >= self.unseen_from:
            return verdicts
        return {name: seen(verdict) for name, verdict in verdicts.items()}


def draws(config, seeds: int | None = None) -> range:
    """The seeds of a config, `seeds` of them or as many as it says."""
    return range(config.first_seed, config.first_seed + (config.seeds if seeds is None else seeds))


def slope(x, y) -> float:
    """Least-squares exponent of y against x; NaN for fewer than two points, or where y is not known.

    For an exponent with its interval see `amemlib.fit_exponent`.
    """
    x, y = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float))
    if len(x) < 2 or not np.isfinite(y).all():
        return math.nan
    return float(np.polyfit(x, y, 1)[0])


def slope_error(x, y, error) -> float:
    """Standard error of `slope` from independent standard errors of y, to first order."""
    x = np.log(np.asarray(x, dtype=float))
    weights = (x - x.mean()) / np.square(x - x.mean()).sum()
    return float(np.linalg.norm(weights * np.asarray(error, dtype=float) / np.asarray(y, dtype=float)))


def first_reached(x, values, level: float, start: float = math.nan) -> float:
    """The first x at which values, linear between their points, reach a level; `start` where they do from the first on,
    NaN where they never do. (`amemlib.scaling.first_crossing` is linear in logarithms and refuses both.)"""
    values = np.asarray(values, dtype=float)
    above = np.flatnonzero(values >= level)
    if not len(above) or above[0] == 0:
        return start if len(above) else math.nan
    k = above[0]
    return float(x[k - 1] + (x[k] - x[k - 1]) * (level - values[k - 1]) / (values[k] - values[k - 1]))


def scaled(shape: np.ndarray, measured: np.ndarray | float) -> np.ndarray:
    """A shape times the constant that suits the measured numbers best, as a rival may."""
    return shape * np.exp(np.log(measured / shape).mean())


def arrays(value):
    """A record's numbers as a judge wants them: lists of numbers are float arrays, None is NaN; the rest as it is."""
    if isinstance(value, dict):
        return {key: arrays(inner) for key, inner in value.items()}
    if isinstance(value, list):
        try:
            return np.array(value, dtype=float)
        except (TypeError, ValueError):
            # words, or rows of different lengths
            return [arrays(inner) for inner in value]
    return math.nan if value is None else value


def profile_bins(n_items: int) -> list[int]:
    """Where ranks are cut, evenly in their logarithm: interior edges of at most `PROFILE_BINS` + 1 bins."""
    return np.unique(np.geomspace(1, n_items, PROFILE_BINS + 1).round().astype(int))[:-1].tolist()


def configure(experiment: Experiment, profile: str, overrides: dict[str, str]):
    """The config of a profile with some of its fields replaced by the texts of `KEY=VALUE` options.

    A tuple field takes comma-separated values. Raises `ValueError` for an unknown profile or key or a value of the
    wrong kind; the config itself checks the mathematics.
    """
    if profile not in experiment.profiles:
        raise ValueError(f"profile must be one of {', '.join(experiment.profiles)}, got {profile!r}")
    base = experiment.profiles[profile]
    types = get_type_hints(type(base))
    values = asdict(base)
    for key, text in overrides.items():
        if key not in types:
            raise ValueError(f"key must be one of {', '.join(types)}, got {key!r}")
        values[key] = _parse(key, text, types[key])
    return type(base)(**values)


def config_of(experiment: Experiment, values: Mapping):
    """The config that a record stores, as today's class, younger fields with the values of `Experiment.added`.

    `ValueError` where the fields are not today's.
    """
    kind, values = type(next(iter(experiment.profiles.values()))), experiment.added | values
    known = [one.name for one in fields(kind)]
    if set(values) != set(known):
        odd = ", ".join(sorted(set(values) ^ set(known)))
        raise ValueError(f"config must have the fields of today's {experiment.name}, got a difference in {odd}")
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


def _parse(key: str, text: str, kind):
    element = get_args(kind)[0] if get_origin(kind) is tuple else kind
    word = {float: "a number", int: "a whole number", str: "a word"}[element]
    try:
        if element is not str and ("_" in text or not text.isascii()):
            # Python reads 1_5 as 15
            raise ValueError
        return element(text) if element is kind else tuple(element(part) for part in text.split(","))
    except ValueError:
        allowed = word if element is kind else f"{word} or several with commas between"
        raise ValueError(f"{key} must be {allowed}, got {text!r}") from None


def plain(value):
    """Nested dicts, lists and tuples with arrays and tensors as lists, NumPy's numbers as Python's.

    A namespace is a dict of its names.
    """
    if isinstance(value, SimpleNamespace):
        return plain(vars(value))
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(inner) for inner in value]
    return value.tolist() if hasattr(value, "tolist") else value
