"""`trained-map`: one gradient: a map of it and its inputs that is trained to beat the matched filter.

Claim: ours, on the model of arXiv:2603.26554: a map of one gradient and its inputs that is trained on many draws to
recover more items than W* = G (Σ p² v vᵀ)⁻¹ does not exceed it by more than three per cent.

Caveats: d = 32, N = 1024, where the law of W* is 10 % below the limit for any function: one family of maps is trained,
from two starts, and another may do better.
"""

from dataclasses import dataclass

import numpy as np

from amembook.paper.trained_map.training import STARTS, measure_training
from amembook.run.base import Config, Count, Experiment, Grid, Natural, Positive, Results, Several, SteepAlphas
from amembook.run.claims import count_error, numbers, order, standard_error
from amembook.run.studies import headline
from amembook.run.study import fixed

MARGIN = 1.03
"""What a trained map may have over W*."""
BEFORE = 20
"""Seeds from the first one on that are counted on; training draws its own from the next."""


@dataclass(frozen=True)
class TrainedMapConfig(Config):
    """One trained map for every α and every start; all maps of an α are counted on the same held-out draws."""

    alphas: SteepAlphas = (1.5,)
    n_items: Several = 1024
    dim: Several = 32
    steps: Count = 500  # of Adam
    batch: Count = 8  # fresh draws at each step
    learning_rate: Positive = 0.05  # the first one; it falls as a cosine to 0
    seeds: Count = 16  # held-out draws
    first_seed: Natural = 0

    def limits(self) -> None:
        if self.seeds > BEFORE:
            raise ValueError(f"seeds must be at most {BEFORE}, where those of training begin, got {self.seeds}")


def grids(config: TrainedMapConfig) -> dict[str, Grid]:
    """A training for every α and start."""
    axes = {"alpha": config.alphas, "start": STARTS}
    return {"train": Grid(measure_training, axes, config=fixed(config, "alphas"), training_seed=BEFORE)}


def summarise(config: TrainedMapConfig, results: Results) -> tuple[dict, dict]:
    """Items on held-out draws by map, and ratios of those of the same draws.

    counts, error: polar, matched, from_polar, from_matched ↦ [alpha]. over_matched, over_polar and their errors: start
    ↦ [alpha], total items over total items; the error is that of trained − ratio × other, draw by draw. objective:
    start ↦ [alpha], the smooth count in the first and in the last twentieth of the steps.
    """
    items = {name: results.array("train", name)[:, 0].astype(float) for name in STARTS}
    trained = {start: results.array("train", "trained", start=start).astype(float) for start in STARTS}
    items |= {f"from_{start}": counts for start, counts in trained.items()}
    measured = {
        "counts": {name: of.mean(1) for name, of in items.items()},
        "error": {name: count_error(of, of.mean(1)) for name, of in items.items()},
        "objective": {start: results.array("train", "objective", start=start) for start in STARTS},
    }
    for other in STARTS:
        base = items[other].mean(1)
        measured[f"over_{other}"] = {start: of.mean(1) / base for start, of in trained.items()}
        measured[f"over_{other}_error"] = {
            start: standard_error(of - (of.mean(1) / base)[:, None] * items[other]) / base
            for start, of in trained.items()
        }
    return measured, {}


def judge(config: TrainedMapConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """W* with three per cent more is ahead of every trained map; and training helps: it leads the polar map it left."""
    at = [f"α = {alpha:g}" for alpha in config.alphas]
    none_beats = []
    for start in STARTS:
        ratio, error = measured["over_matched"][start], measured["over_matched_error"][start]
        # as W* over the trained map, which every interval must have above 1 / 1.03
        none_beats += numbers(
            f"W* over trained from {start}", 1 / ratio, error / ratio**2, config.seeds, limit=1 / MARGIN, at=at
        )
    ratio, error = measured["over_polar"]["polar"], measured["over_polar_error"]["polar"]
    learns = numbers("trained from Muon over Muon", ratio, error, config.seeds, limit=np.ones_like(ratio), at=at)
    return {"none_beats": order(none_beats), "learns": order(learns)}


EXPERIMENT = Experiment(
    name="trained-map",
    purpose=headline(__doc__),
    profiles={
        "smoke": TrainedMapConfig(n_items=128, dim=12, steps=4, batch=2, seeds=4),
        "cpu": TrainedMapConfig(),
        "confirm": TrainedMapConfig(first_seed=6320),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6320,
)
