"""`position-states`: positions that attention can move: what such moves may do.

On Zhu, Wang, Cai, Lee, Li and Wang, arXiv:2501.00712.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.position_states.judge import judge, summarise
from amembook.companions.position_states.states import measure_exact
from amembook.run.base import Config, Count, Experiment, Grid, Natural, Positive, draws
from amemlib.checks import check_dims

PAPER = "arXiv:2501.00712"
CLAIM = (
    "positional encodings that a layer updates from content, equivariant under permutations and orthogonal maps, so "
    "that scores depend on relative positions alone"
)


@dataclass(frozen=True)
class PositionStatesConfig(Config):
    """Sizes of random scores of two layers."""

    lengths: Annotated[tuple[int, ...], partial(check_dims, count=1, least=6)] = (8, 12, 16)
    content_planes: Count = 8
    rotary_planes: Count = 8
    top: Positive = 2.0  # the largest angle
    ratio: Positive = 10.0  # that over the smallest
    seeds: Count = 20
    first_seed: Natural = 0


def grids(config: PositionStatesConfig) -> dict[str, Grid]:
    """Identities by length."""
    planes = {name: getattr(config, name) for name in ("content_planes", "rotary_planes", "top", "ratio")}
    return {"exact": Grid(measure_exact, {"length": config.lengths, "seed": draws(config)}, planes=planes)}


EXPERIMENT = Experiment(
    name="position-states",
    purpose="positions that attention moves: their symmetry and the law of a hop",
    profiles={
        "smoke": PositionStatesConfig(lengths=(6,), content_planes=2, rotary_planes=2, seeds=2),
        "cpu": PositionStatesConfig(),
    },
    grids=grids, summarise=summarise, judge=judge, unseen_from=5775,
)  # fmt: skip
