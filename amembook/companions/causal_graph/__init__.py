"""`causal-graph`: how a two-layer attention network finds the causal graph of its sequences by gradient descent.

A study of Nichani, Damian and Lee, arXiv:2402.14735.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.causal_graph.judge import judge, summarise
from amembook.companions.causal_graph.measure import (
    expect_recovery,
    measure_profile,
    measure_recovery,
    measure_training,
)
from amembook.networks.tasks.causal import make_graph
from amembook.run.base import (
    AscendingCounts,
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    Positive,
    Positives,
    Several,
    draws,
    each,
)
from amemlib.checks import check_count

PAPER = "arXiv:2402.14735"
CLAIM = (
    "the gradient of the first attention layer encodes the mutual information between tokens, by the data-processing "
    "inequality its largest entries are the edges of the latent causal graph, and gradient descent learns the task by "
    "encoding that graph in the first attention layer (abstract)"
)


AscendingSizes = Annotated[AscendingCounts, each(partial(check_count, least=2))]


@dataclass(frozen=True)
class CausalGraphConfig(Config):
    """Sizes of the sequences, of the samples, of the exact mean, and of training by Adam."""

    graphs: tuple[str, ...] = ("chain", "lag-2", "tree")  # names of `make_graph`; α varies on the first
    n_states: Several = 6  # S
    length: Several = 16  # T
    alpha: Positive = 0.2  # of the rows of the kernels
    ood_alpha: Positive = 0.02  # of those that a trained network is tested on
    gap_alphas: Positives = (0.5, 1.0, 2.0, 5.0)  # the α of the sample-size law
    # of the contexts on which the limit of long sequences is judged, the last two by a factor of two
    lengths: AscendingSizes = (8, 16, 32, 64, 128, 256)
    n_sequences: AscendingSizes = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)  # of the sample
    profile_sequences: Count = 80_000  # sample at each of `lengths`
    n_blocks: Count = 50  # how often a sample size is tried at most
    n_kernels: Several = 400  # of the exact mean
    n_noise: Several = 20_000  # sequences for the covariance
    steps: Count = 300  # of Adam, as batch_size and lr
    batch_size: Count = 512
    lr: Positive = 0.1
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self):
        for graph in self.graphs:
            make_graph(graph, self.length, 0)
        if self.lengths[-1] != 2 * self.lengths[-2]:
            raise ValueError(f"lengths must end with a doubling, got {list(self.lengths)}")


def cases(config: CausalGraphConfig) -> dict[str, dict]:
    """Graph and α of every recovery curve: each graph at `alpha`, then the first one at each of `gap_alphas`."""
    first = config.graphs[0]
    return {graph: {"graph": graph, "alpha": config.alpha} for graph in config.graphs} | {
        f"{first} {alpha:g}": {"graph": first, "alpha": alpha} for alpha in config.gap_alphas
    }


def grids(config: CausalGraphConfig) -> dict[str, Grid]:
    """Recovery measured and expected on the same graphs, the profile of scores by length, and trained networks."""
    axes = {"case": cases(config), "seed": draws(config)}
    return {
        "recovery": Grid(measure_recovery, axes),
        "expected": Grid(expect_recovery, axes),
        "profile": Grid(measure_profile, {"length": config.lengths, "seed": draws(config)}),
        "training": Grid(measure_training, {"graph": config.graphs, "seed": draws(config)}),
    }


EXPERIMENT = Experiment(
    name="causal-graph",
    purpose="edges of a causal graph in the first gradient of attention: scores, sample size, training, a Muon step",
    profiles={
        "smoke": CausalGraphConfig(
            graphs=("chain", "tree"), n_states=4, length=8, gap_alphas=(1.0,), lengths=(8, 16),
            n_sequences=(64, 256, 1024), profile_sequences=1000, n_blocks=2, n_kernels=20, n_noise=1000, steps=20,
            batch_size=64, seeds=2,
        ),
        "cpu": CausalGraphConfig(),
    },
    grids=grids, summarise=summarise, judge=judge, unseen_from=3000,
)  # fmt: skip
