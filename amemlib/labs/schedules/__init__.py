"""`schedules`: how many items every published Newton–Schulz schedule keeps of exact Muon's, in three formats.

A question of practice; the schedules are those of `spectral.SCHEDULES`.
"""

from dataclasses import dataclass

from amemlib.checks import check_alpha, check_count, check_dims
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.schedules.judge import judge, summarise
from amemlib.labs.schedules.measure import measure_schedules
from amemlib.spectral import SCHEDULES

PAPER = "ours; the schedules are those of arXiv:2505.16932, arXiv:2506.10935, arXiv:2606.00371 and of five libraries"
CLAIM = (
    "one number says what a schedule of Newton–Schulz keeps of the items that the exact polar factor stores in one "
    "step: its slope at 0 times the median singular value of the gradient over its Frobenius norm"
)


@dataclass(frozen=True)
class SchedulesConfig:
    """One population step with every schedule in every format, beside exact Muon.

    schedules: names of `spectral.SCHEDULES`, "jordan" among them. alphas, dims, n_items: the power laws, d and N.
    torch_dims: the d at which torch.optim.Muon itself takes the step too.
    table_dims, table_items: d and N of the predicted table, which may be empty.
    """

    schedules: tuple[str, ...] = tuple(SCHEDULES)
    alphas: tuple[float, ...] = (1.25, 1.5, 2.0)
    dims: tuple[int, ...] = (256, 512, 1024)
    torch_dims: tuple[int, ...] = (256, 512, 1024)
    n_items: int = 8192
    table_dims: tuple[int, ...] = (512, 1024, 2048, 4096)
    table_items: int = 32_768
    seeds: int = 5
    first_seed: int = 0

    def __post_init__(self):
        if "jordan" not in self.schedules or not set(self.schedules) <= set(SCHEDULES):
            names = ", ".join(SCHEDULES)
            raise ValueError(f"schedules must be among {names}, with jordan, got {list(self.schedules)}")
        if not self.alphas or list(self.alphas) != sorted(set(self.alphas)):
            raise ValueError(f"alphas must hold ascending exponents, got {list(self.alphas)}")
        for alpha in self.alphas:
            check_alpha(alpha)
        check_dims("dims", self.dims, count=1, least=2)
        check_dims("torch_dims", self.torch_dims, count=0)
        check_dims("table_dims", self.table_dims, count=0, least=2)
        for name in ("n_items", "table_items"):
            check_count(name, getattr(self, name), least=2)
        check_count("seeds", self.seeds)
        check_count("first_seed", self.first_seed, least=0)


def grids(config: SchedulesConfig) -> dict[str, Grid]:
    """Every α, d and draw; a cell has all schedules and formats on the same gradient."""
    return {"schedules": Grid(measure_schedules, {"alpha": config.alphas, "dim": config.dims, "seed": draws(config)})}


EXPERIMENT = Experiment(
    name="schedules",
    purpose="items that the published Newton-Schulz schedules keep of exact Muon's, by format, and the law behind it",
    profiles={
        "smoke": SchedulesConfig(
            schedules=("jordan", "deepseekv4"),
            alphas=(1.5,),
            dims=(32,),
            n_items=256,
            table_dims=(),
            seeds=2,
        ),
        "cpu": SchedulesConfig(),
        "gpu": SchedulesConfig(dims=(256, 512, 1024, 2048), n_items=32_768, seeds=8),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
