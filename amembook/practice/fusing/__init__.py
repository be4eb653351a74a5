"""`fusing`: items of fused and of separate polar factors, by what the matrices' items have in common.

A question of practice, ours: one polar factor for matrices that read the same inputs (query, key, value; heads), or one
for each? It is a choice of arXiv:2502.16982 and of those who ship Muon.

Claim: fusing matrices that read the same inputs pays where their items are the same, costs h^(1−1/(2α)) times more
where each has its own or its own order of them, and is predicted in between.

Caveats: one step on the population, counts held to 5 %, since the law interpolates the length of what a frequent item
is mapped to. Groups of heads are judged where a tenth or a fifth of the items is common: both reasons count there.
"""

from dataclasses import dataclass

from amembook.practice.fusing.judge import judge, summarise
from amembook.practice.fusing.measure import measure_stack
from amembook.run.base import (
    Config,
    Count,
    Counts,
    Experiment,
    Grid,
    Natural,
    Positives,
    Several,
    Shares,
    SteepAlpha,
    SteepAlphas,
    draws,
)
from amembook.run.studies import headline


@dataclass(frozen=True)
class FusingConfig(Config):
    """One population step on h matrices, fused to one polar factor or apart."""

    alphas: SteepAlphas = (1.25, 1.5, 2.0)
    alpha: SteepAlpha = 1.5  # of what is measured at one α: overlaps, scales, heads
    n_items: Several = 2048  # of each part
    dim: Several = 192  # rows and columns of a square part
    parts: Counts = (2, 3)
    overlaps: Shares = (0.2, 0.5, 0.8)  # shares of items that three parts have in common
    scales: Positives = (0.3, 0.1)  # size of the first of three gradients beside the others'
    head_items: Several = 2048
    head_rows: Several = 32
    head_columns: Several = 192
    heads: Count = 6
    groups: Counts = (1, 2, 3, 6)  # neighbouring heads that share a polar factor
    head_overlaps: Shares = (0.0, 0.1, 0.2, 0.5, 1.0)
    seeds: Count = 6
    first_seed: Natural = 0

    def limits(self) -> None:
        for size in self.groups:
            if self.heads % size:
                raise ValueError(f"groups must divide heads = {self.heads}, got {size}")


def grids(config: FusingConfig) -> dict[str, Grid]:
    """Square parts by kind, their overlap, and the size of the first one's gradient; heads by overlap."""
    seeds = {"seed": draws(config)}
    square = {"rows": config.dim, "columns": config.dim}
    three = square | {"parts": 3, "groups": (1, 3)}
    kinds = {name: {"kind": name, "share": float(name == "common")} for name in ("common", "private", "permuted")}
    weak = {
        f"{name} {scale:g}": {"kind": name, "share": float(name == "common"), "scale": scale}
        for name in ("common", "private")
        for scale in config.scales
    }
    sizes = {h: {"parts": h, "groups": (1, h)} for h in config.parts}
    heads = {"n_items": config.head_items, "rows": config.head_rows, "columns": config.head_columns}
    heads |= {"parts": config.heads, "kind": "common", "scale": 1.0}
    return {
        "kinds": Grid(measure_stack, {"alpha": config.alphas, "of": sizes, "kind": kinds} | seeds, **square, scale=1.0),
        "overlaps": Grid(measure_stack, {"share": config.overlaps} | seeds, **three, kind="common", scale=1.0),
        "scales": Grid(measure_stack, {"of": weak} | seeds, **three),
        "heads": Grid(measure_stack, {"share": config.head_overlaps} | seeds, **heads),
    }


TINY = {"alphas": (1.5,), "n_items": 48, "dim": 8, "parts": (2,), "overlaps": (0.5,), "scales": (0.3,), "seeds": 2}
TINY |= {"head_items": 32, "head_rows": 4, "head_columns": 8, "heads": 4, "groups": (1, 2, 4), "head_overlaps": (0.1,)}
EXPERIMENT = Experiment(
    name="fusing",
    purpose=headline(__doc__),
    profiles={
        "smoke": FusingConfig(**TINY),
        "cpu": FusingConfig(),
        "confirm": FusingConfig(first_seed=6200),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6200,
)
