"""`factual-recall`: how many facts a memory holds for its parameters, and in which order a network learns them.

A lab on Nichani, Lee and Bietti, arXiv:2412.06538.
"""

from dataclasses import dataclass

from amemlib.checks import check_count, check_dims, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.factual_recall.judge import judge, summarise
from amemlib.labs.factual_recall.measure import (
    expect_flow,
    expect_linear,
    expect_uniform,
    measure_flow,
    measure_linear,
    measure_mlp,
    measure_recall,
    measure_uniform,
)

PAPER = "arXiv:2412.06538"
CLAIM = (
    "linear and MLP associative memories store a number of facts proportional to their parameters; attention followed "
    "by an MLP recalls all facts once the parameters of either are proportional to the facts, up to logarithms; and "
    "gradient flow of linear attention learns in stages (abstract)"
)


@dataclass(frozen=True)
class FactualRecallConfig:
    """Sizes of the lab.

    dims: of linear memories. mlp_dim, mlp_dims, mlp_width, mlp_widths: MLP memories of `mlp_widths` at `mlp_dim` and
    of `mlp_dims` at `mlp_width`. memory_steps, linear_lr, mlp_lr: of Adam. resolution: of a capacity.
    uniform_dims, loads: dimensions and N/d² of one step on N equally frequent items.
    recall_subjects: S, of S² facts; recall_dim, heads, head_dim, widths, recall_steps, recall_lr: of the networks; no
    heads is one that cannot store.
    n_subjects, n_relations, n_answers: S, R and D of the flow; start: its initial attention; flow_lr: where attention
    is learnt, value_lr: where it is not, muon_lr: of a polar step there.
    """

    dims: tuple[int, ...] = (8, 11, 16, 23, 32)
    mlp_dim: int = 8
    mlp_widths: tuple[int, ...] = (16, 32, 64)
    mlp_width: int = 32
    mlp_dims: tuple[int, ...] = (8, 12, 16)
    memory_steps: int = 3000
    linear_lr: float = 0.1
    mlp_lr: float = 0.03
    resolution: float = 0.04
    uniform_dims: tuple[int, ...] = (128, 256)
    loads: tuple[float, ...] = (0.05, 0.1, 0.2)
    recall_subjects: int = 12
    recall_answers: int = 4
    recall_dim: int = 32
    heads: tuple[int, ...] = (0, 1, 2, 8)
    head_dim: int = 8
    widths: tuple[int, ...] = (0, 16, 64)
    recall_steps: int = 1000
    recall_lr: float = 0.01
    n_subjects: tuple[int, ...] = (16, 32, 64)
    n_relations: int = 8
    n_answers: tuple[int, ...] = (4, 8)
    start: float = 1e-3
    flow_lr: float = 1.0
    value_lr: float = 8.0
    muon_lr: float = 0.05
    seeds: int = 5
    first_seed: int = 0

    def __post_init__(self):
        for name in ("dims", "mlp_widths", "mlp_dims"):
            check_dims(name, getattr(self, name), count=2)
        for name in ("uniform_dims", "n_subjects"):
            check_dims(name, getattr(self, name), count=1)
        for name in ("linear_lr", "mlp_lr", "resolution", "recall_lr", "start", "flow_lr", "value_lr", "muon_lr"):
            check_positive(name, getattr(self, name))
        for load in self.loads:
            check_positive("loads", load)
        for name in ("mlp_dim", "mlp_width", "recall_subjects", "recall_dim", "head_dim", "recall_steps", "seeds"):
            check_count(name, getattr(self, name))
        check_count("memory_steps", self.memory_steps, least=10)
        check_count("first_seed", self.first_seed, least=0)
        for name in ("recall_answers", "n_relations"):
            check_count(name, getattr(self, name), least=2)
        for name in ("heads", "widths"):
            sizes = getattr(self, name)
            if len(sizes) < 2 or sizes[0] != 0 or list(sizes) != sorted(set(sizes)):
                raise ValueError(f"{name} must ascend from 0, got {list(sizes)}")
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
            dims=(4, 6),
            mlp_dim=4,
            mlp_widths=(8, 12),
            mlp_width=8,
            mlp_dims=(4, 5),
            memory_steps=50,
            uniform_dims=(16,),
            loads=(0.2,),
            recall_subjects=4,
            recall_answers=2,
            recall_dim=8,
            heads=(0, 1),
            head_dim=4,
            widths=(0, 8),
            recall_steps=10,
            n_subjects=(4,),
            n_relations=3,
            n_answers=(2,),
            seeds=2,
        ),
        "cpu": FactualRecallConfig(),
        "gpu": FactualRecallConfig(
            dims=(8, 11, 16, 23, 32, 45, 64),
            mlp_widths=(16, 32, 64, 128),
            mlp_dims=(8, 12, 16, 24),
            uniform_dims=(128, 256, 512),
            heads=(0, 1, 2, 4, 8),
            widths=(0, 16, 32, 64),
            seeds=10,
        ),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
