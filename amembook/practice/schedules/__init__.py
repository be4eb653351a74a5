"""`schedules`: items that the published Newton-Schulz schedules keep of exact Muon's, by format, and the law behind it.

A question of practice, ours; the schedules, all of `spectral.SCHEDULES`, are those of arXiv:2505.16932,
arXiv:2506.10935, arXiv:2606.00371 and of five libraries.

Claim: one number says what a schedule of Newton–Schulz keeps of the items that the exact polar factor stores in one
step: its slope at 0 times the median singular value of the gradient over its Frobenius norm.

Caveats: one step on the population. The number alone is good to 16 %, what the shape of a plateau moves; with the whole
polynomial to 3 %. Formats are judged where rounding takes at most a quarter of the items.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.practice.schedules.judge import judge, summarise
from amembook.practice.schedules.measure import measure_schedules
from amembook.run.base import Alphas, Config, Count, Experiment, Grid, Natural, Several, draws, each
from amembook.run.studies import headline
from amembook.run.study import fixed
from amemlib.checks import check_choice, check_dims
from amemlib.spectral import SCHEDULES


@dataclass(frozen=True)
class SchedulesConfig(Config):
    """One population step with every schedule in every format, beside exact Muon."""

    schedules: Annotated[tuple[str, ...], each(partial(check_choice, allowed=tuple(SCHEDULES)))] = tuple(SCHEDULES)
    alphas: Alphas = (1.25, 1.5, 2.0)
    dims: Annotated[tuple[int, ...], partial(check_dims, count=1, least=2)] = (256, 512, 1024)
    # where torch.optim.Muon itself takes the step too
    torch_dims: Annotated[tuple[int, ...], partial(check_dims, count=0)] = (256, 512, 1024)
    n_items: Several = 8192
    # of the predicted table, which may be empty
    table_dims: Annotated[tuple[int, ...], partial(check_dims, count=0, least=2)] = (512, 1024, 2048, 4096)
    table_items: Several = 32_768
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        if "jordan" not in self.schedules:
            raise ValueError(f"schedules must hold jordan, got {list(self.schedules)}")
        if list(self.alphas) != sorted(set(self.alphas)):
            raise ValueError(f"alphas must ascend, got {list(self.alphas)}")


def grids(config: SchedulesConfig) -> dict[str, Grid]:
    """Every α, d and draw; a cell has all schedules and formats on the same gradient."""
    axes = {"alpha": config.alphas, "dim": config.dims, "seed": draws(config)}
    sizes = fixed(config, "alphas", "dims", "table_dims", "table_items")
    return {"schedules": Grid(measure_schedules, axes, config=sizes)}


TINY = {"schedules": ("jordan", "deepseekv4"), "alphas": (1.5,), "dims": (32,), "n_items": 256, "table_dims": ()}
EXPERIMENT = Experiment(
    name="schedules",
    purpose=headline(__doc__),
    profiles={"smoke": SchedulesConfig(seeds=2, **TINY), "cpu": SchedulesConfig()},
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
