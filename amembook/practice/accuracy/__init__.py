"""`accuracy`: exact polar factor against five Newton-Schulz steps over a whole run: memory, recall network, text.

A question of practice about the momentum that Muon orthogonalises, ours; whether accuracy matters is disputed in
arXiv:2606.00371 and arXiv:2606.04058. Runs are in pairs of one seed, with the exact factor and with five steps.

Claim: what five Newton-Schulz steps lose against the polar factor after any number of steps is what one step would lose
on the spectrum of the present momentum, which stays steep for the time that the momentum remembers.

Caveats: one size of the memory, N = 1024 and d = 96. In the recall network a ratio of times is judged only where every
seed stores half of the outputs. The language model must beat bigrams, and 0.05 nats more loss count as none.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.practice.accuracy.judge import judge, summarise
from amembook.practice.accuracy.memory import EXACT, SHIPPED, measure_memory
from amembook.practice.accuracy.network import measure_recall, measure_text
from amembook.run.base import Alphas, Config, Count, Counts, Experiment, Grid, Natural, Positive, Several, draws, each
from amembook.run.studies import headline
from amembook.run.study import fixed
from amemlib.checks import check_choice
from amemlib.spectral import SCHEDULES

PARTS = ("memory", "recall", "text")


def _check_ascending(name: str, values: tuple) -> None:
    if list(values) != sorted(set(values)):
        raise ValueError(f"{name} must ascend, got {list(values)}")


def _check_momenta(name: str, values: tuple) -> None:
    if list(values) != sorted(set(values)) or len(values) < 2 or values[0] != 0 or values[-1] >= 1:
        raise ValueError(f"{name} must ascend from 0 and stay below 1, got {list(values)}")


Momenta = Annotated[tuple[float, ...], _check_momenta]


@dataclass(frozen=True)
class AccuracyConfig(Config):
    """Runs with the exact polar factor and with five steps as shipped, in pairs of one seed."""

    parts: Annotated[tuple[str, ...], each(partial(check_choice, allowed=PARTS))] = PARTS  # what is run
    alphas: Annotated[Alphas, _check_ascending] = (1.5, 2.0)  # the steepest with every momentum, the others with two
    momenta: Momenta = (0.0, 0.9, 0.95)
    n_items: Several = 1024  # of the memory
    dim: Several = 96
    rate: Positive = 1.0  # c = η/√d
    slow_rate: Positive = 0.1  # of a run without momentum
    steps: Count = 100  # with momentum
    plain_steps: Count = 30  # without
    slow_steps: Count = 60  # of the slow run
    probes: Annotated[Counts, _check_ascending] = (1, 2, 5, 10, 20, 30, 40, 60, 80, 100)  # steps that are measured
    remedy: Annotated[str, partial(check_choice, allowed=tuple(SCHEDULES))] = "deepseekv4"  # a longer schedule
    seeds: Count = 5
    first_seed: Natural = 0
    network_momenta: Momenta = (0.0, 0.95)  # of both networks
    network_seeds: Count = 8
    recall_items: Several = 64  # the recall network
    recall_alpha: float = 1.5
    recall_dim: Several = 64
    recall_steps: Count = 400
    recall_lr: Positive = 0.01
    recall_vectors_lr: Positive = 3e-3
    length: Several = 32  # as in `recall`
    pairs: Count = 3
    batch_size: Count = 64
    text_dim: Several = 64  # the language model
    text_steps: Count = 400
    text_batch: Count = 32
    text_lr: Positive = 0.01
    text_vectors_lr: Positive = 0.01
    text_probe_every: Count = 50
    n_words: Count = 320_000  # of its text
    vocabulary: Several = 1024
    groups: Count = 10  # of words by frequency
    probe_every: Count = 25  # of the recall network

    def limits(self) -> None:
        if self.probes[-1] > self.steps:
            raise ValueError(f"probes must ascend to steps = {self.steps} at most, got {list(self.probes)}")


def cases(config: AccuracyConfig) -> dict[str, dict]:
    """The memory's cases by name, "α β" and what is special: Nesterov's average as shipped, a slow rate."""
    steepest, largest = config.alphas[-1], config.momenta[-1]
    of = lambda alpha, momentum, **other: (
        {"alpha": alpha, "momentum": momentum, "lead": 0.0, "lr_over_root_dim": config.rate}
        | {"steps": config.steps if momentum else config.plain_steps}
        | other
    )
    plain = {
        f"{alpha:g} {momentum:g}": of(alpha, momentum)
        for alpha in config.alphas
        for momentum in config.momenta
        if alpha == steepest or momentum in (0.0, largest)
    }
    return plain | {
        f"{steepest:g} {largest:g} Nesterov": of(steepest, largest, lead=1.0),
        f"{steepest:g} 0 slow": of(steepest, 0.0, lr_over_root_dim=config.slow_rate, steps=config.slow_steps),
    }


def grids(config: AccuracyConfig) -> dict[str, Grid]:
    """The memory's cases under both maps, the remedy at the steepest; networks under both maps by momentum."""
    sizes = fixed(config, "parts", "alphas", "momenta", "network_momenta", "network_seeds")
    maps, seeds = {"schedule": (EXACT, SHIPPED)}, {"seed": draws(config)}
    steepest = f"{config.alphas[-1]:g} {config.momenta[-1]:g}"
    remedied = {"case": {steepest: cases(config)[steepest]}} | seeds
    networks = maps | {"seed": draws(config, config.network_seeds)}
    by_part = {
        "memory": {
            "memory": Grid(measure_memory, {"case": cases(config)} | maps | seeds, config=sizes),
            "remedy": Grid(measure_memory, remedied, schedule=config.remedy, config=sizes),
        },
        "recall": {"recall": Grid(measure_recall, {"momentum": config.network_momenta} | networks, config=sizes)},
        "text": {"text": Grid(measure_text, {"momentum": config.network_momenta[-1:]} | networks, config=sizes)},
    }
    return {name: grid for part in config.parts for name, grid in by_part[part].items()}


TINY = {"n_items": 64, "dim": 24, "steps": 2, "plain_steps": 2, "slow_steps": 2, "probes": (2,), "seeds": 2}
EXPERIMENT = Experiment(
    name="accuracy",
    purpose=headline(__doc__),
    profiles={
        "smoke": AccuracyConfig(parts=("memory",), alphas=(2.0,), momenta=(0.0, 0.9), **TINY),
        "cpu": AccuracyConfig(),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
