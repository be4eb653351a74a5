"""`factual-recall`: how many facts a memory holds for its parameters, and in which order a network learns them.

A study of Nichani, Lee and Bietti, arXiv:2412.06538.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.factual_recall.judge import judge, summarise
from amembook.companions.factual_recall.measure import (
    expect_flow,
    expect_linear,
    expect_uniform,
    measure_flow,
    measure_linear,
    measure_mlp,
    measure_recall,
    measure_uniform,
)
from amembook.run.base import (
    Config,
    Count,
    Counts,
    Dims,
    Experiment,
    Grid,
    Natural,
    Positive,
    Positives,
    Several,
    Sizes,
    draws,
)
from amemlib.checks import check_count

PAPER = "arXiv:2412.06538"
CLAIM = (
    "linear and MLP associative memories store a number of facts proportional to their parameters; attention followed "
    "by an MLP recalls all facts once the parameters of either are proportional to the facts, up to logarithms; and "
    "gradient flow of linear attention learns in stages (abstract)"
)


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
    return {
        "linear": Grid(measure_linear, {"dim": config.dims} | seeds),
        "expected linear": Grid(expect_linear, {"dim": config.dims}),
        "mlp": Grid(measure_mlp, {"shape": shapes(config)} | seeds),
        "uniform": Grid(measure_uniform, uniform | seeds),
        "expected uniform": Grid(expect_uniform, uniform),
        "recall": Grid(measure_recall, {"n_heads": config.heads, "width": config.widths} | seeds),
        "flow": Grid(measure_flow, flow | seeds),
        "expected flow": Grid(expect_flow, flow | seeds),
    }


EXPERIMENT = Experiment(
    name="factual-recall",
    purpose="facts per parameter of linear and MLP memories and of attention; stages of learning, and Muon's",
    profiles={
        "smoke": FactualRecallConfig(
            dims=(4, 6), mlp_dim=4, mlp_widths=(8, 12), mlp_width=8, mlp_dims=(4, 5), memory_steps=50,
            uniform_dims=(16,), loads=(0.2,), recall_subjects=4, recall_answers=2, recall_dim=8, heads=(0, 1),
            head_dim=4, widths=(0, 8), recall_steps=10, n_subjects=(4,), n_relations=3, n_answers=(2,), seeds=2,
        ),
        "cpu": FactualRecallConfig(),
    },
    grids=grids, summarise=summarise, judge=judge, unseen_from=3000,
)  # fmt: skip
