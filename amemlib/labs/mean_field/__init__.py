"""`mean-field`: how wide a network must be to follow the infinitely wide one for as long as a flat start takes.

A lab on Glasgow, Wu and Bruna, arXiv:2504.13110.
"""

from dataclasses import dataclass

from amemlib.checks import check_count, check_dims
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.mean_field.judge import judge, summarise
from amemlib.labs.mean_field.measure import measure_flow, measure_polar

PAPER = "arXiv:2504.13110"
CLAIM = (
    "polynomially many neurons are sufficient to closely approximate the mean-field dynamics throughout training, "
    "although convergence times grow polynomially in the dimension (abstract)"
)


@dataclass(frozen=True)
class MeanFieldConfig:
    """Sizes of the lab.

    dims, widths: d and m; polar_widths: those at which Muon runs as well. until: the share of the teacher that the
    infinite network has captured at the end. steps, polar_steps: of the integration up to then, of flow and of Muon.
    """

    dims: tuple[int, ...] = (16, 32, 64)
    widths: tuple[int, ...] = (64, 128, 256, 512)
    polar_widths: tuple[int, ...] = (64, 128, 256)
    until: float = 0.5
    steps: int = 100
    polar_steps: int = 160
    seeds: int = 12
    first_seed: int = 0

    def __post_init__(self):
        check_dims("dims", self.dims, count=2, least=4)
        for name in ("widths", "polar_widths"):
            check_dims(name, getattr(self, name), count=2, least=4)
        if not set(self.polar_widths) <= set(self.widths):
            raise ValueError(f"polar_widths must be among the widths {self.widths!r}, got {self.polar_widths!r}")
        if not 0 < self.until < 1:
            raise ValueError(f"until must be in (0, 1), got {self.until!r}")
        for name in ("steps", "polar_steps", "seeds"):
            check_count(name, getattr(self, name))
        check_count("first_seed", self.first_seed, least=0)


def grids(config: MeanFieldConfig) -> dict[str, Grid]:
    """Gradient flow and Muon, by dimension and width."""
    seeds = {"seed": draws(config)}
    return {
        "flow": Grid(measure_flow, {"dim": config.dims, "width": config.widths} | seeds),
        "polar": Grid(measure_polar, {"dim": config.dims, "width": config.polar_widths} | seeds),
    }


EXPERIMENT = Experiment(
    name="mean-field",
    purpose="how far the neurons of a network of finite width are from their paths in the infinitely wide one",
    profiles={
        "smoke": MeanFieldConfig(dims=(6, 8), widths=(8, 16), polar_widths=(8, 16), steps=10, polar_steps=10, seeds=2),
        "cpu": MeanFieldConfig(),
        "gpu": MeanFieldConfig(
            dims=(16, 32, 64, 128), widths=(64, 128, 256, 512, 1024, 2048), polar_widths=(64, 256, 1024), seeds=20
        ),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=4850,
)
