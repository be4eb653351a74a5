"""`mean-field`: how wide a network must be to follow the infinitely wide one for as long as a flat start takes.

A study of Glasgow, Wu and Bruna, arXiv:2504.13110.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.mean_field.judge import judge, summarise
from amembook.companions.mean_field.measure import measure_flow, measure_polar
from amembook.run.base import Chance, Config, Count, Dims, Experiment, Grid, Natural, draws
from amemlib.checks import check_dims

PAPER = "arXiv:2504.13110"
CLAIM = (
    "polynomially many neurons are sufficient to closely approximate the mean-field dynamics throughout training, "
    "although convergence times grow polynomially in the dimension (abstract)"
)


@dataclass(frozen=True)
class MeanFieldConfig(Config):
    """Dimensions, widths, and the integration of flow and Muon."""

    dims: Annotated[Dims, partial(check_dims, least=4)] = (16, 32, 64)  # d
    widths: Annotated[Dims, partial(check_dims, least=4)] = (64, 128, 256, 512)  # m
    polar_widths: Annotated[Dims, partial(check_dims, least=4)] = (64, 128, 256)  # those at which Muon runs as well
    until: Chance = 0.5  # the share of the teacher that the infinite network has captured at the end
    steps: Count = 100  # of the integration up to then
    polar_steps: Count = 160
    seeds: Count = 12
    first_seed: Natural = 0

    def limits(self):
        if not set(self.polar_widths) <= set(self.widths):
            raise ValueError(f"polar_widths must be among the widths {self.widths!r}, got {self.polar_widths!r}")


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
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=4850,
)
