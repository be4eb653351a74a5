"""`sparse-retrieval`: what attention, feed-forward and recurrent networks need to fetch the tokens that are asked for.

On Mousavi-Hosseini, Sanford, Wu and Erdogdu, arXiv:2503.11272.

Claim: a single-layer Transformer can learn this model if and only if its number of attention heads is at least q, in
which case it achieves a sample complexity almost independent of N, while recurrent networks require N^Ω(1) samples on
the same problem; of a simplified model, feedforward networks still require N samples (abstract).

Caveats: the labels that trained attention needs are medians on a grid of powers of two. 20,000 samples leave 0.02
between a risk and the floor of its heads. A feed-forward network is compared from 4 N d labels on, where attention
learns, up to 8 N d, where it does not. A record may lack the errors of memory and of independent. The law of shared
questions was seen to hold from N = 64 on; there, and at N = 16 and 32, records of their own hold it to the band of
small measurements, for n goes by steps of three tenths, and N and m are few.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.sparse_retrieval import measure
from amembook.companions.sparse_retrieval.judge import PARTS, judge, summarise
from amembook.run.base import (
    Alphas,
    Chance,
    Config,
    Count,
    Dims,
    Experiment,
    Grid,
    Natural,
    Positive,
    Sizes,
    draws,
    some_of,
)
from amembook.run.studies import headline
from amemlib.checks import check_dims

AtLeastTwo = Annotated[tuple[int, ...], partial(check_dims, count=1, least=2)]


@dataclass(frozen=True)
class SparseRetrievalConfig(Config):
    """Memories, one step and trained networks that fetch what a position points to."""

    memory_positions: Dims = (8, 32, 128, 512)  # N and m of the memories
    memory_dim: Count = 16
    positions: Sizes = (16, 32, 64, 128, 256)  # N and m of one step, each varied at the other's base
    code_dims: Sizes = (64, 128, 256, 512)
    base_positions: Count = 64
    base_code: Count = 128
    level: Chance = 0.9  # the share of positions that counts as all
    repeats: Count = 6  # samples that a share is averaged over
    lengths: Dims = (8, 16, 32)  # N, d and m of trained attention
    dim: Count = 4
    attention_code: Count = 16
    steps: Count = 400
    lr: Positive = 0.05
    solved: Chance = 0.1  # the risk that counts as solved
    small_positions: Count = 4  # of attention and the feed-forward network beside it
    small_code: Count = 8
    small_samples: Dims = (8, 16, 32, 64, 128, 256, 512)
    width: Count = 128  # of the feed-forward network
    forward_lr: Positive = 0.005
    read_positions: Dims = (4, 16)  # of the recurrent network
    read_width: Count = 32
    read_steps: Count = 800
    read_batch: Count = 128
    read_lr: Positive = 0.01
    head_targets: AtLeastTwo = (2, 3, 4)  # q, and the samples of its regression
    head_samples: Count = 20_000
    step_positions: AtLeastTwo = (64, 256)  # of one step under a power law
    step_code: Count = 48
    alphas: Alphas = (1.0, 1.5)
    law_draws: Count = 20_000  # that the law of shared questions averages over
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS  # what a record measures
    seeds: Count = 5
    first_seed: Natural = 0


def cases(config: SparseRetrievalConfig) -> dict[str, dict]:
    """Every N and m of one step once, by name."""
    sizes = [(N, config.base_code) for N in config.positions] + [(config.base_positions, m) for m in config.code_dims]
    return {f"{N} {m}": {"n_positions": N, "code_dim": m} for N, m in dict.fromkeys(sizes)}


def grids(config: SparseRetrievalConfig) -> dict[str, Grid]:
    """Memories; labels of one step by case, and with N of them a sequence; trained networks; heads; a power law."""
    seeds = {"seed": draws(config)}
    heads = {f"{H} of {q}": {"heads": H, "targets": q} for q in config.head_targets for H in range(1, q + 1)}
    long = {str(N): {"n_positions": N, "code_dim": config.base_code} for N in config.positions}
    every = {
        "memory": Grid(measure.measure_memory, {"n_positions": config.memory_positions} | seeds),
        "needed": Grid(measure.measure_needed, {"case": cases(config)} | seeds, many=0),
        "needed-many": Grid(measure.measure_needed, {"case": long} | seeds, many=1),
        "attention": Grid(measure.measure_attention, {"many": (0, 1), "n_positions": config.lengths} | seeds),
        "small": Grid(measure.measure_small, {"small_samples": config.small_samples} | seeds),
        "recurrent": Grid(
            measure.measure_recurrent, {"before": (1, 0), "read_positions": config.read_positions} | seeds
        ),
        "heads": Grid(measure.measure_heads, {"heads": heads} | seeds),
        "power": Grid(measure.measure_power, {"alpha": config.alphas, "step_positions": config.step_positions} | seeds),
    }
    return {part: every[part] for part in config.parts}


EXPERIMENT = Experiment(
    name="sparse-retrieval",
    purpose=headline(__doc__),
    profiles={
        "smoke": SparseRetrievalConfig(
            memory_positions=(4, 8), memory_dim=8, positions=(4, 8), code_dims=(16, 32), base_positions=8, base_code=32,
            repeats=2, lengths=(2, 3), dim=2, attention_code=8, steps=20, solved=0.9, small_samples=(8, 16), width=8,
            read_positions=(2, 3), read_width=8, read_steps=8, read_batch=16, head_targets=(2,), head_samples=500,
            step_positions=(16,), step_code=8, alphas=(1.5,), law_draws=50, seeds=2,
        ),
        "cpu": SparseRetrievalConfig(),
        # memories and the counts of one step, with their errors
        "errors": SparseRetrievalConfig(
            parts=("memory", "power"), memory_positions=(8, 32, 128), seeds=300, first_seed=51_400
        ),
        # ten times the draws, which three hundred left undecided
        "many": SparseRetrievalConfig(
            parts=("memory", "power"), memory_positions=(8, 32, 128), seeds=3000, first_seed=60_000
        ),
        # one step from 64 positions on, beside the law of shared questions
        "questions": SparseRetrievalConfig(
            parts=("needed", "needed-many"), positions=(64, 128, 256), code_dims=(64, 256, 512), seeds=24,
            first_seed=66_400,
        ),
        # the one place that 24 draws left undecided
        "short": SparseRetrievalConfig(
            parts=("needed",), positions=(64,), base_code=64, code_dims=(64,), seeds=300, first_seed=70_400,
        ),
        # few positions, by the same rule, of which confirm has five draws
        "small": SparseRetrievalConfig(
            parts=("needed", "needed-many"), positions=(16, 32), base_positions=16, code_dims=(128,), seeds=100,
            first_seed=77_000,
        ),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
    added={"parts": PARTS, "law_draws": 20_000},
)  # fmt: skip
