"""`causal-graph`: how a two-layer attention network finds the causal graph of its sequences by gradient descent.

A lab on Nichani, Damian and Lee, arXiv:2402.14735.
"""

from dataclasses import dataclass

from amemlib.checks import check_count, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.causal_graph.judge import judge, summarise
from amemlib.labs.causal_graph.measure import expect_recovery, measure_profile, measure_recovery, measure_training
from amemlib.tasks.causal import make_graph

PAPER = "arXiv:2402.14735"
CLAIM = (
    "the gradient of the first attention layer encodes the mutual information between tokens, by the data-processing "
    "inequality its largest entries are the edges of the latent causal graph, and gradient descent learns the task by "
    "encoding that graph in the first attention layer (abstract)"
)


@dataclass(frozen=True)
class CausalGraphConfig:
    """Sizes of the lab.

    graphs: names of `make_graph`; the first is the one on which α varies. n_states: S. length: T. alpha: of the rows
    of the kernels; ood_alpha: of those that a trained network is tested on. gap_alphas: the α of the sample-size law.
    lengths: of the contexts on which the limit of long sequences is judged, the last two by a factor of two.
    n_sequences: sizes of the sample, ascending; profile_sequences: sample at each of `lengths`. n_blocks: how often a
    sample size is tried at most. n_kernels, n_noise: kernels of the exact mean, and sequences for the covariance.
    steps, batch_size, lr: of Adam.
    """

    graphs: tuple[str, ...] = ("chain", "lag-2", "tree")
    n_states: int = 6
    length: int = 16
    alpha: float = 0.2
    ood_alpha: float = 0.02
    gap_alphas: tuple[float, ...] = (0.5, 1.0, 2.0, 5.0)
    lengths: tuple[int, ...] = (8, 16, 32, 64, 128, 256)
    n_sequences: tuple[int, ...] = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
    profile_sequences: int = 80_000
    n_blocks: int = 50
    n_kernels: int = 400
    n_noise: int = 20_000
    steps: int = 300
    batch_size: int = 512
    lr: float = 0.1
    seeds: int = 5
    first_seed: int = 0

    def __post_init__(self):
        for graph in self.graphs:
            make_graph(graph, self.length, 0)
        for name in ("alpha", "ood_alpha", "lr"):
            check_positive(name, getattr(self, name))
        for alpha in self.gap_alphas:
            check_positive("gap_alphas", alpha)
        for name in ("n_states", "length", "n_kernels", "n_noise"):
            check_count(name, getattr(self, name), least=2)
        for name in ("n_blocks", "steps", "batch_size", "seeds", "profile_sequences"):
            check_count(name, getattr(self, name))
        check_count("first_seed", self.first_seed, least=0)
        for name in ("n_sequences", "lengths"):
            sizes = getattr(self, name)
            if len(sizes) < 2 or list(sizes) != sorted(set(sizes)):
                raise ValueError(f"{name} must hold at least two ascending numbers, got {list(sizes)}")
            check_count(name, sizes[0], least=2)
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
            graphs=("chain", "tree"),
            n_states=4,
            length=8,
            gap_alphas=(1.0,),
            lengths=(8, 16),
            n_sequences=(64, 256, 1024),
            profile_sequences=1000,
            n_blocks=2,
            n_kernels=20,
            n_noise=1000,
            steps=20,
            batch_size=64,
            seeds=2,
        ),
        "cpu": CausalGraphConfig(),
        "gpu": CausalGraphConfig(
            n_states=8,
            length=24,
            gap_alphas=(0.5, 1.0, 2.0, 5.0, 10.0),
            lengths=(8, 16, 32, 64, 128, 256, 512),
            n_sequences=(32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072),
            profile_sequences=320_000,
            n_kernels=200,
            n_noise=50_000,
            seeds=10,
        ),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
