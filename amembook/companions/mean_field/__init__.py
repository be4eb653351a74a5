"""`mean-field`: how near a network of finite width stays to the infinitely wide one, for as long as a flat start takes.

A study of Glasgow, Wu and Bruna, arXiv:2504.13110.

Claim: polynomially many neurons are sufficient to closely approximate the mean-field dynamics throughout training,
although convergence times grow polynomially in the dimension (abstract).

Caveats: gaps are m times their mean square. An exponent of the neurons' distance above −3/4 is not that of the
networks' gap. Muon is compared at a mark that both kinds of steps have, or not at all.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.mean_field.dynamics import FAR, follow
from amembook.companions.mean_field.judge import judge, summarise
from amembook.run.base import Chances, Config, Dims, Experiment, Grid, Natural, Several, draws
from amembook.run.studies import headline
from amemlib.checks import check_dims


@dataclass(frozen=True)
class MeanFieldConfig(Config):
    """Dimensions and widths, and how much of the teacher the infinite network has captured where they are compared."""

    dims: Annotated[Dims, partial(check_dims, least=4)] = (8, 16, 32)  # d
    widths: Annotated[Dims, partial(check_dims, least=4)] = (32, 64, 128, 256)  # m
    marks: Chances = (0.1, 0.5, 0.7, 0.9)  # of gradient flow, whose last mark is its end
    polar_marks: Chances = (0.1, 0.5)  # of Muon
    seeds: Several = 32
    first_seed: Natural = 0

    def limits(self):
        for name, marks in (("marks", self.marks), ("polar_marks", self.polar_marks)):
            if list(marks) != sorted(set(marks)):
                raise ValueError(f"{name} must increase, got {list(marks)}")


def grids(config: MeanFieldConfig) -> dict[str, Grid]:
    """Gradient flow and Muon by dimension and width, all draws of a size in one cell."""
    sizes, seeds = {"dim": config.dims, "width": config.widths}, list(draws(config))
    kinds = {"flow": config.marks, "polar": config.polar_marks}
    return {
        kind: Grid(follow, sizes, kind=kind, until=m[-1], marks=m, seeds=seeds, far=FAR) for kind, m in kinds.items()
    }


EXPERIMENT = Experiment(
    name="mean-field",
    purpose=headline(__doc__),
    profiles={
        "smoke": MeanFieldConfig(dims=(6, 8), widths=(8, 16), marks=(0.1, 0.3), polar_marks=(0.1,), seeds=2),
        "cpu": MeanFieldConfig(),
        # until one half alone, which takes a small part of the time, for Muon beside the flow
        "half": MeanFieldConfig(marks=(0.5,), polar_marks=(0.5,), seeds=120, first_seed=75_040),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=5600,
)
