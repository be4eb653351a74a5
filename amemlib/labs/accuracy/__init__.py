"""`accuracy`: whether a training run notices that five Newton–Schulz steps are no polar factor, and how one can tell.

A question of practice about the momentum that Muon orthogonalises: the memory's true iterates, the recall network, and
a small language model on Python's documentation.
"""

from dataclasses import dataclass

from amemlib.checks import check_alpha, check_choice, check_count, check_dims, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.accuracy.judge import judge, summarise
from amemlib.labs.accuracy.memory import EXACT, SHIPPED, measure_memory
from amemlib.labs.accuracy.network import measure_recall, measure_text
from amemlib.spectral import SCHEDULES

PAPER = "ours; whether accuracy matters is disputed in arXiv:2606.00371 and arXiv:2606.04058"
CLAIM = (
    "what five Newton-Schulz steps lose against the polar factor after any number of steps is what one step would lose "
    "on the spectrum of the present momentum, which stays steep for the time that the momentum remembers"
)
PARTS = ("memory", "recall", "text")


@dataclass(frozen=True)
class AccuracyConfig:
    """Runs with the exact polar factor and with five steps as shipped, in pairs of one seed.

    parts: of `PARTS`, what is run. alphas, momenta, n_items, dim, rate: the memory, c = η/√d; the steepest α with every
    momentum, the others with none and the largest; `steps` with momentum, `plain_steps` without; probes: where it is
    measured. slow_rate: c of a run without momentum, to `slow_steps`. remedy: a longer schedule.
    network_momenta, network_seeds: of both networks. recall_…: the recall network. text_…, n_words, vocabulary: the
    language model and its text; groups: of words by frequency. length, pairs, batch_size, probe_every: as in `recall`.
    """

    parts: tuple[str, ...] = PARTS
    alphas: tuple[float, ...] = (1.5, 2.0)
    momenta: tuple[float, ...] = (0.0, 0.9, 0.95)
    n_items: int = 1024
    dim: int = 96
    rate: float = 1.0
    slow_rate: float = 0.1
    steps: int = 100
    plain_steps: int = 30
    slow_steps: int = 60
    probes: tuple[int, ...] = (1, 2, 5, 10, 20, 30, 40, 60, 80, 100)
    remedy: str = "deepseekv4"
    seeds: int = 5
    first_seed: int = 0
    network_momenta: tuple[float, ...] = (0.0, 0.95)
    network_seeds: int = 8
    recall_items: int = 64
    recall_alpha: float = 1.5
    recall_dim: int = 64
    recall_steps: int = 400
    recall_lr: float = 0.01
    recall_vectors_lr: float = 3e-3
    length: int = 32
    pairs: int = 3
    batch_size: int = 64
    text_dim: int = 64
    text_steps: int = 400
    text_batch: int = 32
    text_lr: float = 0.01
    text_vectors_lr: float = 0.01
    text_probe_every: int = 50
    n_words: int = 320_000
    vocabulary: int = 1024
    groups: int = 10
    probe_every: int = 25

    def __post_init__(self):
        if not self.parts:
            raise ValueError(f"parts must be of {', '.join(PARTS)}, got none")
        for part in self.parts:
            check_choice("parts", part, PARTS)
        check_choice("remedy", self.remedy, tuple(SCHEDULES))
        if not self.alphas or list(self.alphas) != sorted(set(self.alphas)):
            raise ValueError(f"alphas must hold ascending exponents, got {list(self.alphas)}")
        for alpha in self.alphas:
            check_alpha(alpha)
        for name in ("momenta", "network_momenta"):
            values = getattr(self, name)
            if list(values) != sorted(set(values)) or len(values) < 2 or values[0] != 0 or values[-1] >= 1:
                raise ValueError(f"{name} must ascend from 0 and stay below 1, got {list(values)}")
        check_dims("probes", self.probes, count=1)
        if list(self.probes) != sorted(set(self.probes)) or self.probes[-1] > self.steps:
            raise ValueError(f"probes must ascend to steps = {self.steps} at most, got {list(self.probes)}")
        for name in ("rate", "slow_rate", "recall_lr", "recall_vectors_lr", "text_lr", "text_vectors_lr"):
            check_positive(name, getattr(self, name))
        for name in ("n_items", "dim", "recall_items", "recall_dim", "text_dim", "length", "vocabulary"):
            check_count(name, getattr(self, name), least=2)
        for name in ("steps", "plain_steps", "slow_steps", "recall_steps", "text_steps", "pairs"):
            check_count(name, getattr(self, name))
        for name in (
            "probe_every",
            "text_probe_every",
            "batch_size",
            "text_batch",
            "n_words",
            "groups",
            "seeds",
            "network_seeds",
        ):
            check_count(name, getattr(self, name))
        check_count("first_seed", self.first_seed, least=0)


def cases(config: AccuracyConfig) -> dict[str, dict]:
    """The memory's cases by name, "α β" and what is special: Nesterov's average as shipped, a slow rate."""
    steepest, largest = config.alphas[-1], config.momenta[-1]
    of = lambda alpha, momentum, **other: (  # noqa: E731
        {"alpha": alpha, "momentum": momentum, "lead": 0.0, "lr_over_root_dim": config.rate}
        | {"steps": config.steps if momentum else config.plain_steps}
        | other
    )
    found = {
        f"{alpha:g} {momentum:g}": of(alpha, momentum)
        for alpha in config.alphas
        for momentum in config.momenta
        if alpha == steepest or momentum in (0.0, largest)
    }
    found[f"{steepest:g} {largest:g} Nesterov"] = of(steepest, largest, lead=1.0)
    slow = of(steepest, 0.0, lr_over_root_dim=config.slow_rate, steps=config.slow_steps)
    return found | {f"{steepest:g} 0 slow": slow}


def grids(config: AccuracyConfig) -> dict[str, Grid]:
    """The memory's cases under both maps, the remedy at the steepest; networks under both maps by momentum."""
    maps, seeds = {"schedule": (EXACT, SHIPPED)}, {"seed": draws(config)}
    steepest = f"{config.alphas[-1]:g} {config.momenta[-1]:g}"
    networks = {"momentum": config.network_momenta} | maps | {"seed": draws(config, config.network_seeds)}
    text = networks | {"momentum": config.network_momenta[-1:]}
    by_part = {
        "memory": {
            "memory": Grid(measure_memory, {"case": cases(config)} | maps | seeds),
            "remedy": Grid(
                measure_memory, {"case": {steepest: cases(config)[steepest]}} | seeds, schedule=config.remedy
            ),
        },
        "recall": {"recall": Grid(measure_recall, networks)},
        "text": {"text": Grid(measure_text, text)},
    }
    return {name: grid for part in config.parts for name, grid in by_part[part].items()}


EXPERIMENT = Experiment(
    name="accuracy",
    purpose="exact polar factor against five Newton-Schulz steps over a whole run: memory, recall network, text",
    profiles={
        "smoke": AccuracyConfig(
            parts=("memory",),
            alphas=(2.0,),
            momenta=(0.0, 0.9),
            n_items=64,
            dim=24,
            steps=2,
            plain_steps=2,
            slow_steps=2,
            probes=(2,),
            seeds=2,
        ),
        "cpu": AccuracyConfig(),
        "gpu": AccuracyConfig(dim=512, n_items=8192, seeds=8),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
