"""`sparse-retrieval`: what attention, feed-forward and recurrent networks need to fetch the tokens that are asked for.

A lab on Mousavi-Hosseini, Sanford, Wu and Erdogdu, arXiv:2503.11272.
"""

from dataclasses import dataclass

from amemlib.checks import check_alpha, check_count, check_dims, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.sparse_retrieval.judge import judge, summarise
from amemlib.labs.sparse_retrieval.measure import (
    measure_attention,
    measure_heads,
    measure_memory,
    measure_needed,
    measure_power,
    measure_recurrent,
    measure_small,
)

PAPER = "arXiv:2503.11272"
CLAIM = (
    "a single-layer Transformer can learn this model if and only if its number of attention heads is at least q, in "
    "which case it achieves a sample complexity almost independent of N, while recurrent networks require N^Ω(1) "
    "samples on the same problem; of a simplified model, feedforward networks still require N samples (abstract)"
)


@dataclass(frozen=True)
class SparseRetrievalConfig:
    """Sizes of the lab.

    memory_positions, memory_dim: N and m of the memories. positions, code_dims: N and m of one step, each varied at the
    other's base_…; level: the share of positions that counts as all; repeats: samples a share is averaged over.
    lengths, dim, attention_code: N, d and m of trained attention; steps, lr: of its training; solved: the risk that
    counts as solved. small_…, width, forward_lr: the feed-forward network beside attention. read_…: the recurrent one.
    head_targets, head_samples: q and the samples of a regression. step_…, alphas: one step under a power law.
    """

    memory_positions: tuple[int, ...] = (8, 32, 128, 512)
    memory_dim: int = 16
    positions: tuple[int, ...] = (16, 32, 64, 128, 256)
    code_dims: tuple[int, ...] = (64, 128, 256, 512)
    base_positions: int = 64
    base_code: int = 128
    level: float = 0.9
    repeats: int = 6
    lengths: tuple[int, ...] = (8, 16, 32)
    dim: int = 4
    attention_code: int = 16
    steps: int = 400
    lr: float = 0.05
    solved: float = 0.1
    small_positions: int = 4
    small_code: int = 8
    small_samples: tuple[int, ...] = (8, 16, 32, 64, 128, 256, 512)
    width: int = 128
    forward_lr: float = 0.005
    read_positions: tuple[int, ...] = (4, 16)
    read_width: int = 32
    read_steps: int = 800
    read_batch: int = 128
    read_lr: float = 0.01
    head_targets: tuple[int, ...] = (2, 3, 4)
    head_samples: int = 20_000
    step_positions: tuple[int, ...] = (64, 256)
    step_code: int = 48
    alphas: tuple[float, ...] = (1.0, 1.5)
    seeds: int = 5
    first_seed: int = 0

    def __post_init__(self):
        for name in ("memory_positions", "positions", "code_dims", "lengths", "small_samples", "read_positions"):
            check_dims(name, getattr(self, name), count=2)
        for name in ("head_targets", "step_positions"):
            check_dims(name, getattr(self, name), count=1, least=2)
        for name in ("dim", "steps", "repeats", "width", "read_width", "read_steps", "read_batch", "head_samples"):
            check_count(name, getattr(self, name))
        for name in ("lr", "forward_lr", "read_lr"):
            check_positive(name, getattr(self, name))
        for name in ("level", "solved"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must be in (0, 1), got {getattr(self, name)!r}")
        for alpha in self.alphas:
            check_alpha(alpha)
        check_count("seeds", self.seeds)
        check_count("first_seed", self.first_seed, least=0)


def cases(config: SparseRetrievalConfig) -> dict[str, dict]:
    """Every N and m of one step once, by name."""
    sizes = [(N, config.base_code) for N in config.positions] + [(config.base_positions, m) for m in config.code_dims]
    return {f"{N} {m}": {"n_positions": N, "code_dim": m} for N, m in dict.fromkeys(sizes)}


def grids(config: SparseRetrievalConfig) -> dict[str, Grid]:
    """Memories; labels of one step by case, and with N of them a sequence; trained networks; heads; a power law."""
    seeds = {"seed": draws(config)}
    heads = {f"{H} of {q}": {"heads": H, "targets": q} for q in config.head_targets for H in range(1, q + 1)}
    long = {str(N): {"n_positions": N, "code_dim": config.base_code} for N in config.positions}
    return {
        "memory": Grid(measure_memory, {"n_positions": config.memory_positions} | seeds),
        "needed": Grid(measure_needed, {"case": cases(config)} | seeds, many=0),
        "needed-many": Grid(measure_needed, {"case": long} | seeds, many=1),
        "attention": Grid(measure_attention, {"many": (0, 1), "n_positions": config.lengths} | seeds),
        "small": Grid(measure_small, {"small_samples": config.small_samples} | seeds),
        "recurrent": Grid(measure_recurrent, {"before": (1, 0), "read_positions": config.read_positions} | seeds),
        "heads": Grid(measure_heads, {"heads": heads} | seeds),
        "power": Grid(measure_power, {"alpha": config.alphas, "step_positions": config.step_positions} | seeds),
    }


EXPERIMENT = Experiment(
    name="sparse-retrieval",
    purpose="labels that attention, feed-forward and recurrent networks need to fetch asked tokens; heads; a Muon step",
    profiles={
        "smoke": SparseRetrievalConfig(
            memory_positions=(4, 8),
            memory_dim=8,
            positions=(4, 8),
            code_dims=(16, 32),
            base_positions=8,
            base_code=32,
            repeats=2,
            lengths=(2, 3),
            dim=2,
            attention_code=8,
            steps=20,
            solved=0.9,
            small_samples=(8, 16),
            width=8,
            read_positions=(2, 3),
            read_width=8,
            read_steps=8,
            read_batch=16,
            head_targets=(2,),
            head_samples=500,
            step_positions=(16,),
            step_code=8,
            alphas=(1.5,),
            seeds=2,
        ),
        "cpu": SparseRetrievalConfig(),
        "gpu": SparseRetrievalConfig(
            positions=(16, 32, 64, 128, 256, 512, 1024),
            lengths=(8, 16, 32, 64, 128),
            read_positions=(4, 8, 16, 32),
            read_steps=2000,
            seeds=10,
        ),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
