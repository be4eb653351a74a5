"""`position-states`: positions that attention can move: what such moves may do, and what one polar step writes.

On Zhu, Wang, Cai, Lee, Li and Wang, arXiv:2501.00712.

Claim: positional encodings that a layer updates from content, equivariant under permutations and orthogonal maps, so
that scores depend on relative positions alone.

Caveats: identities of random scores hold to 10⁻¹⁰; a constant that is added must move a score by 10⁻² or more. Polar
steps are of sums over random vectors, full rank or not, whose weights follow power laws.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.position_states.associations import measure_polar
from amembook.companions.position_states.states import measure_exact
from amembook.run.base import (
    Alphas,
    Config,
    Count,
    Dims,
    Experiment,
    Grid,
    Natural,
    Positive,
    Results,
    draws,
    some_of,
)
from amembook.run.claims import check
from amembook.run.studies import headline
from amembook.run.study import by_part, claims_by_part
from amemlib.checks import check_dims

PARTS = "exact", "polar"
ROUNDING, MOVED = 1e-10, 1e-2
"""How far float64 may be from an identity; how far scores must move, at least, where there is none."""


@dataclass(frozen=True)
class PositionStatesConfig(Config):
    """Sizes of random scores of two layers; of sums over `counts` random vectors in `dim` dimensions."""

    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS  # what a record measures
    lengths: Annotated[tuple[int, ...], partial(check_dims, count=1, least=6)] = (8, 12, 16)
    content_planes: Count = 8
    rotary_planes: Count = 8
    top: Positive = 2.0  # the largest angle
    ratio: Positive = 10.0  # that over the smallest
    dim: Count = 32
    counts: Dims = (16, 128, 512)
    alphas: Alphas = (0.75, 1.5)  # weights i^(−α)
    seeds: Count = 20
    first_seed: Natural = 0


def grids(config: PositionStatesConfig) -> dict[str, Grid]:
    """Identities by length; polar steps by number of vectors and α."""
    planes = {name: getattr(config, name) for name in ("content_planes", "rotary_planes", "top", "ratio")}
    polar = {"count": config.counts, "alpha": config.alphas, "seed": draws(config)}
    every = {
        "exact": Grid(measure_exact, {"length": config.lengths, "seed": draws(config)}, planes=planes),
        "polar": Grid(measure_polar, polar, dim=config.dim),
    }
    return {part: every[part] for part in config.parts}


def summarise(config, results: Results) -> tuple[dict, dict]:
    """The largest deviations, and the least where there must be one; of polar steps, and the vectors that they lose."""
    return by_part(config, results, {"exact": _exact, "polar": _polar})


def _exact(config, results: Results) -> tuple[dict, dict]:
    off = {key: results.array("exact", key) for key in ("turned", "shifted", "added", "hop")}
    return {"exact": {key: value.min() if key == "added" else value.max() for key, value in off.items()}}, {}


def _polar(config, results: Results) -> tuple[dict, dict]:
    measured = {name: results.array("polar", name).max() for name in ("off", "lost")}
    # by number of vectors and α
    return {"polar": measured | {"sgd": results.array("polar", "sgd").mean(2)}}, {}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """Of the parts that were measured. exact: turning all planes and shifting all positions change nothing, adding a
    constant does; a hop multiplies. polar: the polar factor is QP; found: it finds every unit vector."""
    return claims_by_part(config, measured, predicted, {"exact": _judge_exact, "polar": _judge_polar})


def _judge_exact(config, measured: dict, predicted: dict) -> dict[str, dict]:
    exact = measured["exact"]
    off = max(max(exact[key] for key in ("turned", "shifted", "hop")) / ROUNDING, MOVED / exact["added"])
    name = "deviation over its bound, or the least that must move over what moves"
    return {"exact": check(off, 1, config.seeds * len(config.lengths), name)}


def _judge_polar(config, measured: dict, predicted: dict) -> dict[str, dict]:
    runs, polar = config.seeds * len(config.counts) * len(config.alphas), measured["polar"]
    return {
        "polar": check(polar["off"] / ROUNDING, 1, runs, "distance of the polar factor from QP over its bound"),
        "found": check(polar["lost"], 0, runs, "unit vectors that a polar step does not find"),
    }


EXPERIMENT = Experiment(
    name="position-states",
    purpose=headline(__doc__),
    profiles={
        "smoke": PositionStatesConfig(
            lengths=(6,), content_planes=2, rotary_planes=2, dim=8, counts=(4, 16), alphas=(1.5,), seeds=2
        ),
        "cpu": PositionStatesConfig(),
        "identity": PositionStatesConfig(parts=("polar",), first_seed=65_800),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=5775,
    added={"parts": PARTS[:1], "dim": 32, "counts": (16, 32), "alphas": (1.5,)},
)
