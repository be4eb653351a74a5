"""What every experiment is made of: grids of calls, their results as arrays, verdicts, configs read from text."""

import inspect
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields

import numpy as np
from scipy.stats import poisson

from amemlib import theory
from amemlib.scaling import fit_exponent
from amemlib.verdicts import MET, NOT_JUDGED, refuse, verdict

SLOPE_SLACK = 0.03
"""How far a fitted exponent may lie from that of the sharp counts, beyond its interval: two or three per cent of error
in the sharp count at either end of a factor of eight in d."""
REACH = 0.3
"""How far the sharp exponent at these d may be from its limit for them to say anything of it. Beyond, Muon's second
step is as steep as the ceiling d², and whoever meets the sharp counts has not yet met the theorem."""
COUNT_BAND = 0.05
"""How far a mean count may lie from its sharp prediction, beyond two standard errors."""
SHARP_DIM = 256
"""From which d on the sharp prediction is held to that: below, the head items differ too much from their mean."""
FRESH_SEEDS = 3050
"""Where the seeds start that nobody had looked at when the rules took their present form."""
MOST_CELLS = 10**6
"""Calls in one grid: a list of more would fill the memory before the first one begins."""


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
            given = known | {name: value for bundle in point for name, value in bundle.items()}
            missing = [name for name in names if name not in given]
            if missing:
                raise TypeError(f"{self.function.__name__} needs {missing[0]}: no axis and no field of the config")
            cells.append(Cell(self.function, {name: _plain(given[name]) for name in names}))
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
        values = [_at(result, keys) for result in np.ravel(draws)]
        return np.array(values).reshape(*np.shape(draws), *np.shape(values[0] if values else 0))


@dataclass(frozen=True)
class Experiment:
    """A named experiment.

    grids(config): what is measured. summarise(config, results): nested plain dicts of measured and predicted numbers.
    judge(config, measured, predicted): the verdicts by name, a function of what a record stores and of nothing else.
    unseen_from: the first seed that nobody had looked at when the rules of `judge` were written.
    sharded: whether a cell is the work of all ranks of torchrun together (`sharding`).
    added: fields of the config that are younger than some records, and what those did: they are read with these values.
    """

    name: str
    purpose: str
    profiles: dict
    grids: Callable[..., Mapping[str, Grid]]
    summarise: Callable[..., tuple[dict, dict]]
    judge: Callable[..., dict[str, dict]]
    unseen_from: int = 1000
    sharded: bool = False
    added: Mapping[str, object] = field(default_factory=dict)

    def cells(self, config, device: str) -> list[Cell]:
        """Every call, grid after grid."""
        return [cell for grid in self.grids(config).values() for cell in grid.cells(config, device)]

    def read(self, config, results: Sequence[dict]) -> tuple[dict, dict]:
        """Measured and predicted numbers of the results of all cells, in their order."""
        return self.summarise(config, Results.of(self.grids(config), results))

    def verdicts(self, config, measured: dict, predicted: dict) -> dict[str, dict]:
        """The judge's verdicts; on seeds that were looked at before its rules were written no limit counts as met."""
        verdicts = self.judge(config, measured, predicted)
        if config.first_seed >= self.unseen_from:
            return verdicts
        return {name: one | {"limit": NOT_JUDGED} if one["limit"] == MET else one for name, one in verdicts.items()}


def draws(config, seeds: int | None = None) -> range:
    """The seeds of a config, `seeds` of them or as many as it says."""
    return range(config.first_seed, config.first_seed + (config.seeds if seeds is None else seeds))


def standard_error(draws: np.ndarray, axis: int = 1) -> np.ndarray | np.floating:
    """Standard error of the mean over the draws along an axis, NaN for a single draw; of a single row a number."""
    count = draws.shape[axis]
    if count < 2:
        return np.full(draws.mean(axis).shape, np.nan)
    return draws.std(axis, ddof=1) / math.sqrt(count)


def configure(experiment: Experiment, profile: str, overrides: dict[str, str]):
    """The config of a profile with some of its fields replaced by the texts of `KEY=VALUE` options.

    A tuple field takes comma-separated values. Raises `ValueError` for an unknown profile or key or a value of the
    wrong kind; the config itself checks the mathematics.
    """
    if profile not in experiment.profiles:
        raise ValueError(f"profile must be one of {', '.join(experiment.profiles)}, got {profile!r}")
    base = experiment.profiles[profile]
    types = {one.name: one.type for one in fields(base)}
    values = asdict(base)
    for key, text in overrides.items():
        if key not in types:
            raise ValueError(f"key must be one of {', '.join(types)}, got {key!r}")
        values[key] = _parse(key, text, types[key])
    return type(base)(**values)


def count_error(counts: np.ndarray, expected: np.ndarray, axis: int = 1) -> np.ndarray:
    """Standard error of mean counts, and never less than half the root of an expected count gives.

    A few draws may agree by chance, and one has no scatter; a count of nearly independent events has about half its
    root.
    """
    return np.fmax(standard_error(counts, axis), np.sqrt(np.asarray(expected) / counts.shape[axis]) / 2)


def by_luck(means: np.ndarray, draws: int) -> bool:
    """Whether mean numbers of items recovered though nobody taught them are luck: one is expected, or less.

    Every mean stands for `draws` Poisson numbers of mean 1, held to what the largest of all is once in forty times.
    """
    return bool((means <= poisson.isf(0.025 / means.size, draws) / draws).all())


def exponent_verdict(
    counts_meet, slope, interval, sharp_slope, limit, rivals: Mapping[str, object], draws: int, slack=SLOPE_SLACK
) -> dict:
    """The verdict on one exponent, or on one a step, each with its 95 % interval [low, high].

    Sizes: the counts meet their sharp prediction (`counts_meet`), and the exponent that of the sharp counts over the
    same d, to its interval and `slack`. Limit: the interval contains it. A rival exponent is refused where the interval
    leaves it out and the sharp counts, made as much steeper as the rival is, would be missed. Sizes are asked of every
    step; limit and rivals of the first `in_reach`. If these are none, meeting the sizes answers neither question.
    """
    slope, sharp_slope, limit = (np.atleast_1d(np.array(x, dtype=float)) for x in (slope, sharp_slope, limit))
    low, high = np.moveaxis(np.atleast_2d(np.array(interval, dtype=float)), -1, 0)
    half = np.where(np.isfinite(high - low), (high - low) / 2, np.inf)
    steps = in_reach(sharp_slope, limit)

    def follows(law, first: int | None) -> bool:
        return bool((np.abs(slope - sharp_slope - (np.array(law) - limit)) <= half + slack)[:first].all())

    def contains(law, first: int | None) -> bool:
        return bool((np.abs(slope - np.array(law)) <= half)[:first].all())

    judged = steps or None
    refused = refuse(lambda law: follows(law, judged) or contains(law, judged), rivals)
    met = bool(counts_meet) and follows(limit, None)
    if met and not steps:
        return verdict(None, None, refused)
    return verdict(met, contains(limit, judged), refused, draws)


def in_reach(sharp_slope, limit) -> int:
    """How many steps go by before the exponent of the sharp counts is further than `REACH` from its limit."""
    far = np.abs(np.subtract(sharp_slope, limit)) > REACH
    return int(np.argmax(far)) if far.any() else len(far)


def capacity_verdicts(config, measured: dict, predicted: dict, methods: Mapping[str, str], **dims) -> dict[str, dict]:
    """For each map: mean counts against the sharp prediction from `SHARP_DIM` on, and `exponent_verdict`.

    methods: map ↦ the optimizer whose exponent it has in the limit, "muon" or "sgd"; the rivals are that optimizer's.
    dims: map ↦ its dimensions, where they are not the config's. Without one to judge by there is no answer.
    """
    verdicts = {}
    for name, method in methods.items():
        at = dims.get(name, config.dims)
        judged = np.array(at) >= SHARP_DIM
        if not judged.any():
            verdicts[name] = verdict(None, None)
            continue
        seed_counts, sharp = np.array(measured["seed_counts"][name], dtype=float), np.array(predicted["counts"][name])
        off = np.abs(seed_counts.mean(1) - sharp) - 2 * count_error(seed_counts, sharp)
        verdicts[name] = exponent_verdict(
            (off <= COUNT_BAND * sharp)[judged].all(),
            measured["slope"][name],
            measured["interval"][name],
            fit_exponent(at, sharp).slope,
            predicted["slope"][name],
            rival_exponents(method, config.alpha),
            seed_counts.shape[1],
        )
    return verdicts


def rival_exponents(method: str, alpha: float, steps: int = 1) -> dict[str, float]:
    """Laws that a capacity exponent must be told from: the other optimizer's, those of α ± 1/2, and a full memory's."""
    other = {"muon": "sgd", "sgd": "muon"}[method]
    rivals = {
        {"muon": "Muon", "sgd": "SGD"}[other]: theory.recovery_exponent(other, alpha, steps),
        "α + 1/2": theory.recovery_exponent(method, alpha + 0.5, steps),
    }
    if alpha > 1:
        rivals["α − 1/2"] = theory.recovery_exponent(method, alpha - 0.5, steps)
    return rivals | {"a full memory": 0.0}


def rival_step_exponents(method: str, alpha: float, steps: int) -> dict[str, list[float]]:
    """Laws that the exponents after 1, …, `steps` steps must be told from: each step's, the next step's, no growth."""
    laws = [rival_exponents(method, alpha, t) for t in range(1, steps + 1)]
    exponents = [theory.recovery_exponent(method, alpha, t) for t in range(1, steps + 2)]
    rivals = {name: [law[name] for law in laws] for name in laws[0]}
    return rivals | {"one step more": exponents[1:], "no growth": exponents[:1] * steps}


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
    singles = (float, int, str)
    element = kind if kind in singles else next(one for one in singles if kind == tuple[one, ...])
    word = {float: "a number", int: "a whole number", str: "a word"}[element]
    try:
        if element is not str and ("_" in text or not text.isascii()):
            # Python reads 1_5 as 15
            raise ValueError
        if kind in singles:
            return element(text)
        return tuple(element(part) for part in text.split(","))
    except ValueError:
        allowed = word if kind in singles else f"{word} or several with commas between"
        raise ValueError(f"{key} must be {allowed}, got {text!r}") from None


def _plain(value):
    return list(value) if isinstance(value, (tuple, range)) else value


def _at(result: dict, keys: Sequence[str]):
    for key in keys:
        result = result[key]
    return result
