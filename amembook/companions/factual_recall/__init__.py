"""`factual-recall`: how many facts a memory holds for its parameters, and in which order a network learns them.

A study of Nichani, Lee and Bietti, arXiv:2412.06538.

Claim: linear and MLP associative memories store a number of facts proportional to their parameters; attention followed
by an MLP recalls all facts once the parameters of either are proportional to the facts, up to logarithms; and gradient
flow of linear attention learns in stages (abstract).

Caveats: exponents are of N log N. In the flow nothing is random, and it is its reduction up to the rounding of
thousands of steps; there is a plateau where one time is three times the other. A record may lack the error of Muon's
ratio.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from amembook.companions.factual_recall import measure
from amembook.run.base import (
    MAPS,
    Config,
    Count,
    Counts,
    Dims,
    Experiment,
    Grid,
    Natural,
    Positive,
    Positives,
    Results,
    Several,
    Sizes,
    draws,
    slope,
    slope_error,
    some_of,
    standard_error,
)
from amembook.run.claims import DIFFERENCE, EXPONENT, SIZES, count_band, equivalence, numbers, order
from amembook.run.studies import headline
from amembook.run.study import by_part, claims_by_part
from amemlib.checks import check_count

LOGGED = {"band": EXPONENT, "scale": DIFFERENCE}
CONES_FROM = 16
"""From which d on a memory is held to its cones: below, the first record is up to a tenth under them."""
PARTS = ("linear", "mlp", "uniform", "recall", "flow")
"""Linear memories, MLP memories, one step on equally frequent items, networks on facts, the order of learning."""


def _check_from_zero(name: str, sizes: tuple[int, ...]) -> None:
    if len(sizes) < 2 or sizes[0] != 0 or list(sizes) != sorted(set(sizes)):
        raise ValueError(f"{name} must ascend from 0, got {list(sizes)}")


@dataclass(frozen=True)
class FactualRecallConfig(Config):
    """Sizes of linear and MLP memories, of one step on equally frequent items, of networks that recall S² facts
    (`recall_…`), and of the flow.
    """

    dims: Dims = (8, 11, 16, 23, 32)  # of linear memories
    mlp_dim: Count = 8
    mlp_widths: Dims = (16, 32, 64)  # at mlp_dim
    mlp_width: Count = 32
    mlp_dims: Dims = (8, 12, 16)  # at mlp_width
    memory_steps: Annotated[int, partial(check_count, least=10)] = 3000  # of Adam, as the two rates
    linear_lr: Positive = 0.1
    mlp_lr: Positive = 0.03
    resolution: Positive = 0.04  # of a capacity
    uniform_dims: Sizes = (128, 256)  # of one step
    loads: Positives = (0.05, 0.1, 0.2)  # N/d² of one step
    recall_subjects: Count = 12  # S
    recall_answers: Several = 4
    recall_dim: Count = 32
    heads: Annotated[tuple[int, ...], _check_from_zero] = (0, 1, 2, 8)  # no heads is one that cannot store
    head_dim: Count = 8
    widths: Annotated[tuple[int, ...], _check_from_zero] = (0, 16, 64)
    recall_steps: Count = 1000
    recall_lr: Positive = 0.01
    n_subjects: Sizes = (16, 32, 64)  # S of the flow
    n_relations: Several = 8  # R
    n_answers: Counts = (4, 8)  # D
    start: Positive = 1e-3  # initial attention
    flow_lr: Positive = 1.0  # where attention is learnt
    value_lr: Positive = 8.0  # where it is not
    muon_lr: Positive = 0.05  # of a polar step there
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS  # what a record measures
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self):
        for subjects, answers in ((self.n_subjects, self.n_answers), ((self.recall_subjects,), (self.recall_answers,))):
            if any(S % D for S in subjects for D in answers):
                raise ValueError(f"n_subjects must be multiples of n_answers, got {list(subjects)} and {list(answers)}")


def shapes(config: FactualRecallConfig) -> dict[str, dict]:
    """Every MLP memory once, by name."""
    pairs = {(config.mlp_dim, width) for width in config.mlp_widths} | {(d, config.mlp_width) for d in config.mlp_dims}
    return {f"{dim} {width}": {"dim": dim, "width": width} for dim, width in sorted(pairs)}


def grids(config: FactualRecallConfig) -> dict[str, Grid]:
    """Capacities by dimension and shape, one step, networks by heads and width, the flow by subjects and answers."""
    seeds = {"seed": draws(config)}
    uniform = {"dim": config.uniform_dims, "load": config.loads}
    flow = {"n_answers": config.n_answers, "n_subjects": config.n_subjects}
    every = {
        "linear": {
            "linear": Grid(measure.measure_linear, {"dim": config.dims} | seeds),
            "expected linear": Grid(measure.expect_linear, {"dim": config.dims}),
            "expected cones": Grid(measure.expect_cones, {"dim": config.dims}),
        },
        "mlp": {"mlp": Grid(measure.measure_mlp, {"shape": shapes(config)} | seeds)},
        "uniform": {
            "uniform": Grid(measure.measure_uniform, uniform | seeds),
            "expected uniform": Grid(measure.expect_uniform, uniform),
        },
        "recall": {"recall": Grid(measure.measure_recall, {"n_heads": config.heads, "width": config.widths} | seeds)},
        "flow": {
            "flow": Grid(measure.measure_flow, flow | seeds),
            "expected flow": Grid(measure.expect_flow, flow | seeds),
        },
    }
    return {name: grid for part in PARTS if part in config.parts for name, grid in every[part].items()}


def summarise(config, results: Results) -> tuple[dict, dict]:
    """measured: `linear` and `mlp` hold counts, their errors and exponents; `uniform[map]`, (dims, loads), and errors;
    `accuracy`, (heads, widths), and `learnt`, the share of draws in which all facts are; `flow`, (answers, subjects).
    predicted: the same where there is a prediction."""
    reads = _read_linear, _read_mlp, _read_uniform, _read_recall, _read_flow
    return by_part(config, results, dict(zip(PARTS, reads, strict=True)))


def judge(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """linear, cones, mlp: capacities. uniform: one step on equal items recovers the core's shares. either: attention
    that stores, and an MLP, each recall more draws' facts than neither. sequence, plateau, muon: of the flow."""
    claims = dict(zip(PARTS, (_linear, _mlp, _uniform, _either, _flow), strict=True))
    yield from claims_by_part(config, measured, predicted, claims).items()


def _read_linear(config, results: Results) -> tuple[dict, dict]:
    counts, cone = results.array("linear", "count"), results.array("expected linear", "count")
    weights = np.square(config.dims)
    measured = _counts(counts) | {"exponent": _exponent(weights, counts.mean(1))}
    predicted = {"counts": cone, "exponent": _exponent(weights, cone)}
    return {"linear": measured}, {"linear": predicted | {"cones": results.array("expected cones", "count")}}


def _linear(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """linear: the count is the cone's of independent scores, and N log N grows as d². cones: from `CONES_FROM` on the
    count is that of the cones in d dimensions (not in the first record)."""
    linear, cone = measured["linear"], predicted["linear"]
    counts, error, sharp, weights = linear["counts"], linear["error"], cone["exponent"], np.square(config.dims)
    of_power = lambda power: _exponent(weights, counts[0] * (weights / weights[0]) ** power) - 1 + sharp
    rivals = {"N ~ d² without the logarithm": of_power(1), "N ~ d³": of_power(1.5)}
    held_to = {"law": cone["counts"], "band": count_band(config.dims), "at": config.dims}
    judged = numbers("items at d =", counts, error, config.seeds, **held_to)
    error, held_to = _exponent_error(weights, counts, error), {"law": sharp, "limit": 1, "rivals": rivals} | LOGGED
    judged += numbers("exponent of N log N in d²", linear["exponent"], error, config.seeds, **held_to)
    yield "linear", equivalence(judged)
    if "cones" in cone:
        large = np.array(config.dims) >= CONES_FROM
        rivals = {f"N ~ d^{2 * power:g}": counts[0] * (weights / weights[0]) ** power for power in (1, 1.5)}
        held_to = {
            "law": cone["cones"][large],
            "band": count_band(config.dims)[large],
            "at": np.array(config.dims)[large],
        }
        held_to |= {"rivals": {name: law[large] for name, law in rivals.items()}}
        yield (
            "cones",
            equivalence(numbers("items at d =", counts[large], linear["error"][large], config.seeds, **held_to)),
        )


def _read_mlp(config, results: Results) -> tuple[dict, dict]:
    counts = results.array("mlp", "count")
    shapes = np.array([[shape["dim"], shape["width"]] for shape in results.grids["mlp"].axes["shape"].values()])
    measured = _counts(counts) | {"shapes": shapes}
    for axis, (along, sizes) in _lines(config, shapes).items():
        held = counts.mean(1)[along]
        measured |= {f"{axis}_exponent": _exponent(sizes, held), f"{axis}_raw": slope(sizes, held)}
    return {"mlp": measured}, {}


def _mlp(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """N log N grows as m d, along both."""
    mlp = measured["mlp"]
    counts, lines = mlp["counts"], _lines(config, mlp["shapes"])
    errors = [_exponent_error(sizes, counts[along], mlp["error"][along]) for along, sizes in lines.values()]
    without = [_exponent(sizes, counts[along][0] * sizes / sizes[0]) for along, sizes in lines.values()]
    rivals = {"the width alone": (1.0, 0.0), "the dimension alone": (0.0, 1.0)}
    rivals |= {"N ~ m d without the logarithm": without}
    held_to = {"limit": 1, "at": ("width", "dimension"), "rivals": rivals} | LOGGED
    exponents = [mlp[f"{axis}_exponent"] for axis in lines]
    yield "mlp", equivalence(numbers("exponent of N log N in the", exponents, errors, config.seeds, **held_to))


def _read_uniform(config, results: Results) -> tuple[dict, dict]:
    shares = {name: results.array("uniform", name) for name in MAPS}
    measured = {
        "uniform": {name: draws.mean(2) for name, draws in shares.items()},
        "uniform_error": {name: standard_error(draws, 2) for name, draws in shares.items()},
    }
    return measured, {"uniform": {name: results.array("expected uniform", name) for name in MAPS}}


def _uniform(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """One step on equally frequent items recovers the core's shares."""
    shares, error = (np.array([measured[key][name] for name in MAPS]) for key in ("uniform", "uniform_error"))
    law = np.array([predicted["uniform"][name] for name in MAPS])
    rivals = {"as many as SGD": law[[0, 0]], "Muon ahead by as much": law[::-1]}
    at = [f"{name}, {d}, {load:g}" for name in MAPS for d in config.uniform_dims for load in config.loads]
    # the band is `SIZES` of two thirds of the items
    held_to = {"law": law, "band": 0.02, "scale": DIFFERENCE, "at": at, "rivals": rivals}
    yield "uniform", equivalence(numbers("share at map, d, N/d² =", shares, error, config.seeds, **held_to))


def _read_recall(config, results: Results) -> tuple[dict, dict]:
    accuracy = results.array("recall", "accuracy")
    return {"accuracy": accuracy.mean(2), "learnt": (accuracy >= 0.99).mean(2)}, {}


def _either(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """Attention that stores, and an MLP, each recall all facts in more draws than neither."""
    learnt, n = np.asarray(measured["learnt"]), config.seeds
    lead = np.array([learnt[-1, 0], learnt[0, -1]]) - learnt[0, 0]
    # a share of a few draws of which all agree: its standard error is that of one draw that does not
    error = np.sqrt(1 / n * (1 - 1 / n) / n) * np.sqrt(2)
    held_to = {"limit": 0, "scale": DIFFERENCE, "at": ("attention", "MLP")}
    yield "either", order(numbers("draws with all facts, more than with neither:", lead, error, n, **held_to))


def _read_flow(config, results: Results) -> tuple[dict, dict]:
    stages = ("ratio", "mixed", "relation", "answer")
    means = lambda grid, who, keys=stages: {key: results.array(grid, who, key).mean(2) for key in keys}
    measured = {name: means("flow", name) for name in ("sgd", "polar", "learnt")}
    measured["polar"]["ratio_error"] = standard_error(results.array("flow", "polar", "ratio"), 2)
    measured["plateau"] = results.array("flow", "plateau").mean(2)
    measured["difference"] = results.array("flow", "difference").max((1, 2))
    predicted = {name: means("expected flow", name) for name in ("sgd", "polar")}
    return {"flow": measured}, {"flow": predicted | {"learnt": means("expected flow", "learnt", ("ratio",))}}


def _flow(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """sequence: relation and fact are learnt at times of the law's ratio, and the flow is its reduction. plateau: the
    loss between the times is log D, to a band fixed with the design. muon: steps of constant pace give the ratio."""
    flow, reduced = measured["flow"], predicted["flow"]
    S, D, R = np.array(config.n_subjects), np.array(config.n_answers)[:, None], config.n_relations
    limit = reduced["learnt"]["ratio"]
    at = np.array([[f"{d}, {s}" for s in config.n_subjects] for d in config.n_answers])
    rivals = {"S/D, attention that does not learn": S / D, "S/R": S / R, "a tenth more": 1.1 * limit}
    times, apart = flow["learnt"]["ratio"], max(flow["difference"])
    judged = numbers("ratio of times at D, S =", times, limit=limit, band=SIZES, at=at, rivals=rivals)
    judged += numbers("flow less its reduction", apart, limit=0, band=1e-9, scale=DIFFERENCE, guard=True)
    yield "sequence", equivalence(judged)

    long = S / np.sqrt(R * D) * np.sqrt((1 - 1 / R) / (1 - 1 / D)) >= 3
    log = lambda x: np.log(np.broadcast_to(x, long.shape))[long]
    held_to = {"limit": log(D), "band": 0.02, "rivals": {"log R": log(R), "log (D + 1)": log(D + 1)}}
    yield "plateau", equivalence(numbers("plateau at D, S =", flow["plateau"][long], at=at[long], **held_to))

    ratio, error = flow["polar"]["ratio"], flow["polar"].get("ratio_error", np.nan)
    rivals = {"gradient descent's ratio": reduced["sgd"]["ratio"]}
    held_to = {"law": reduced["polar"]["ratio"], "band": SIZES, "at": at, "rivals": rivals}
    yield "muon", equivalence(numbers("Muon's ratio of times at D, S =", ratio, error, config.seeds, **held_to))


def _lines(config, shapes: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Which shapes (d, m) differ in one size alone, and those sizes."""
    dim, width = shapes.T
    lines = {"width": (dim == config.mlp_dim, width), "dim": (width == config.mlp_width, dim)}
    return {axis: (along, sizes[along]) for axis, (along, sizes) in lines.items()}


def _counts(draws: np.ndarray) -> dict:
    return {"counts": draws.mean(1), "error": standard_error(draws)}


def _exponent(sizes: np.ndarray, counts: np.ndarray) -> float:
    return slope(sizes, counts * np.log(counts))


def _exponent_error(sizes: np.ndarray, counts: np.ndarray, error: np.ndarray) -> float:
    """d log(N log N) = (1 + 1/log N) d log N."""
    return slope_error(sizes, counts, error * (1 + 1 / np.log(counts)))


EXPERIMENT = Experiment(
    name="factual-recall",
    purpose=headline(__doc__),
    profiles={
        "smoke": FactualRecallConfig(
            dims=(4, 6), mlp_dim=4, mlp_widths=(8, 12), mlp_width=8, mlp_dims=(4, 5), memory_steps=50,
            uniform_dims=(16,), loads=(0.2,), recall_subjects=4, recall_answers=2, recall_dim=8, heads=(0, 1),
            head_dim=4, widths=(0, 8), recall_steps=10, n_subjects=(4,), n_relations=3, n_answers=(2,), seeds=2,
        ),
        "cpu": FactualRecallConfig(),
        # linear memories, with more draws, a finer law for independent scores, and the cones as they are; not made yet
        "linear": FactualRecallConfig(parts=("linear",), seeds=12, first_seed=72_020),
        # the order of learning, with the error of Muon's ratio over tables, which the first record lacks
        "tables": FactualRecallConfig(parts=("flow",), seeds=12, first_seed=72_000),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
    added={"parts": PARTS},
)  # fmt: skip
