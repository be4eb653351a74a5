"""`position-states`: positions that attention can move: what such moves may do.

On Zhu, Wang, Cai, Lee, Li and Wang, arXiv:2501.00712.

Claim: positional encodings that a layer updates from content, equivariant under permutations and orthogonal maps, so
that scores depend on relative positions alone.

Caveats: identities of random scores hold to 10⁻¹⁰; a constant that is added must move a score by 10⁻² or more.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.position_states.states import measure_exact
from amembook.run.base import Config, Count, Experiment, Grid, Natural, Positive, Results, draws
from amembook.run.claims import check
from amembook.run.studies import headline
from amemlib.checks import check_dims

ROUNDING, MOVED = 1e-10, 1e-2
"""How far float64 may be from an identity; how far scores must move, at least, where there is none."""


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


def summarise(config, results: Results) -> tuple[dict, dict]:
    """The largest deviations, and the least where there must be one."""
    off = {key: results.array("exact", key) for key in ("turned", "shifted", "added", "hop")}
    return {"exact": {key: value.min() if key == "added" else value.max() for key, value in off.items()}}, {}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """exact: turning all planes and shifting all positions change nothing, adding a constant does; a hop multiplies."""
    exact = measured["exact"]
    off = max(max(exact[key] for key in ("turned", "shifted", "hop")) / ROUNDING, MOVED / exact["added"])
    name = "deviation over its bound, or the least that must move over what moves"
    return {"exact": check(off, 1, config.seeds * len(config.lengths), name)}


EXPERIMENT = Experiment(
    name="position-states",
    purpose=headline(__doc__),
    profiles={
        "smoke": PositionStatesConfig(lengths=(6,), content_planes=2, rotary_planes=2, seeds=2),
        "cpu": PositionStatesConfig(),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=5775,
)
