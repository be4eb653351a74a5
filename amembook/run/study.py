"""What a study needs to say each thing once: the config for its measures, and claims on draws.

    def measure(config, dim, seed): ...      # what varies by name, the rest is config.steps, config.batch
    grids = lambda c: {"runs": Grid(measure, {"dim": c.dims, "seed": draws(c)}, config=fixed(c, "dims"))}

    def judge(config, measured, predicted):  # a claim a statement, or the dict of all
        yield "share", law("share", measured["share"], law=predicted["share"], band=0.1, rivals={"none": 0.0})
        yield "order", above("loss,", {"SGD less Muon": measured["loss"]["sgd"] - measured["loss"]["muon"]})

*Draws* are {label: one value a seed}, or the values of a single number. Their mean, its standard error and how many
there are is worked out here, so a record stores draws and no errors. The rule is that of `amembook.run.claims`.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np

from amembook.run.base import Results, plain
from amembook.run.claims import DIFFERENCE, RATIO, equivalence, numbers, order, standard_error

Draws = Mapping[str, np.ndarray] | np.ndarray


def fixed(config, *varying: str) -> SimpleNamespace:
    """A config as its measures are given it: all fields, tuples as lists, but for the seeds and those that `varying`
    names, because an axis goes over them or because the measure does not read them.

    A finished cell is found by its arguments, this among them: it outlives more seeds and other values on an axis. The
    price is that any other field computes it again, a younger one too. To read a field that is left out is an
    `AttributeError`; `ValueError` for a name that is no field.
    """
    fields = asdict(config)
    if odd := sorted(set(varying) - set(fields)):
        raise ValueError(f"varying must be among {', '.join(fields)}, got {', '.join(odd)}")
    left_out = {"seeds", "first_seed", *varying}
    return SimpleNamespace(**{name: plain(value) for name, value in fields.items() if name not in left_out})


def of_part(config, part: str, *names: str, **others: str) -> dict:
    """The fields `<part>_<name>` of a config, which a grid of that part holds fixed; under `key` for `key=name`."""
    names = {name: name for name in names} | others
    return {key: getattr(config, f"{part}_{name}") for key, name in names.items()}


def by_part(config, results: Results, summaries: Mapping[str, Callable]) -> tuple[dict, dict]:
    """Measured and predicted numbers of the parts that a config measures, from the summary of each part."""
    measured, predicted = {}, {}
    for part, summary in summaries.items():
        if part in config.parts:
            of_part, law_of_part = summary(config, results)
            measured, predicted = measured | of_part, predicted | law_of_part
    return measured, predicted


def claims_by_part(config, measured: dict, predicted: dict, claims: Mapping[str, Callable]) -> dict[str, dict]:
    """The verdicts on the parts that a config measures, from the claims of each part: a dict, or pairs."""
    own = [dict(judge(config, measured, predicted)) for part, judge in claims.items() if part in config.parts]
    return {name: verdict for verdicts in own for name, verdict in verdicts.items()}


def means(draws: Mapping[str, np.ndarray], axis: int = 1) -> dict[str, np.ndarray]:
    """Means over an axis of draws by name, each with its standard error as `<name>_error`."""
    pairs = {name: (values.mean(axis), standard_error(values, axis)) for name, values in draws.items()}
    return {
        key: value for name, pair in pairs.items() for key, value in zip((name, f"{name}_error"), pair, strict=True)
    }


def law(name: str, draws: Draws, *, scale: str = RATIO, **held_to) -> dict:
    """The verdict on a law for these sizes or a limit: `law`, `limit`, `band` and `rivals` as in `claims.numbers`.

    Without draws it is undecided.
    """
    return equivalence(_numbers(name, draws, scale=scale, **held_to))


def above(name: str, draws: Draws, *, limit=0, scale: str = DIFFERENCE) -> dict:
    """The verdict on inequalities: the mean of every label is larger than `limit`. Without draws it is undecided."""
    return order(_numbers(name, draws, scale=scale, limit=limit))


def _numbers(name: str, draws: Draws, **held_to) -> list[dict]:
    if not isinstance(draws, Mapping):
        draws = np.asarray(draws, dtype=float)
        return numbers(name, draws.mean(), standard_error(draws, 0), len(draws), **held_to)
    rows = [np.asarray(row, dtype=float) for row in draws.values()]
    error = np.array([standard_error(row, 0) for row in rows])
    return numbers(name, [row.mean() for row in rows], error, list(map(len, rows)), at=list(draws), **held_to)
