"""`semiautomata`: what words of a machine's letters show of the letters, and what the length of words costs.

A lab on Giapitzakis, Fountoulakis, Nichani and Lee, arXiv:2510.04115.
"""

from dataclasses import dataclass

from amemlib.checks import check_alpha, check_count, check_dims, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.semiautomata.judge import judge, summarise
from amemlib.labs.semiautomata.measure import (
    measure_agreement,
    measure_connected,
    measure_gap,
    measure_price,
    measure_words,
    measure_zipf,
)

PAPER = "arXiv:2510.04115"
CLAIM = (
    "the first Statistical Query hardness result for semiautomata under the uniform distribution over input words and "
    "initial states, when both the alphabet size and input length are polynomial in the number of states; after a "
    "polynomial number of steps distinct semiautomata become nearly uncorrelated (abstract)"
)


@dataclass(frozen=True)
class SemiautomataConfig:
    """Sizes of the lab.

    states, per_state: N and letters a state of pairs whose agreement is followed for `turns` · N letters, and for
    `renamed_turns` · N of a renamed machine. gap_states, gap_per_state: of what a pair forgets a letter;
    few_per_state, machines: of the share that is connected. learn_states, letters, turns_learnt, level: words of
    1 + turn · (N − 1) letters from which counts tell a share of the letters. price_…: a memory of letters, lengths of
    its words, looks at a letter that they are worth, dimension of its keys; zipf…: from words of one letter.
    """

    states: tuple[int, ...] = (6, 12, 24)
    per_state: int = 128
    turns: int = 2
    renamed_turns: int = 12
    gap_states: tuple[int, ...] = (12, 24)
    gap_per_state: tuple[int, ...] = (4, 8, 16, 32, 64, 256, 1024)
    few_per_state: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    machines: int = 100
    learn_states: tuple[int, ...] = (6, 8, 12)
    letters: int = 2048
    turns_learnt: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
    level: float = 0.9
    price_states: int = 8
    price_letters: int = 512
    price_dim: int = 128
    price_lengths: tuple[int, ...] = (8, 12, 18)
    price_looks: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0)
    zipf_dim: int = 96
    zipfs: tuple[float, ...] = (0.8, 1.2)
    seeds: int = 6
    first_seed: int = 0

    def __post_init__(self):
        for name in ("states", "gap_states", "learn_states"):
            check_dims(name, getattr(self, name), count=1, least=3)
        for name in ("gap_per_state", "few_per_state", "price_lengths"):
            check_dims(name, getattr(self, name), count=1)
        for name in ("per_state", "turns", "renamed_turns", "machines", "letters", "price_letters", "price_dim"):
            check_count(name, getattr(self, name))
        check_count("price_states", self.price_states, least=3)
        check_count("zipf_dim", self.zipf_dim)
        for name in ("turns_learnt", "price_looks"):
            for value in getattr(self, name):
                check_positive(name, value)
        if not 0.5 < self.level < 1:
            raise ValueError(f"level must be in (1/2, 1): half of the letters are the identity, got {self.level!r}")
        for zipf in self.zipfs:
            check_alpha(zipf)
        check_count("seeds", self.seeds)
        check_count("first_seed", self.first_seed, least=0)


def grids(config: SemiautomataConfig) -> dict[str, Grid]:
    """Agreement by N; a pair's factor and connectedness by letters a state; words needed; a memory of letters."""
    seeds = {"seed": draws(config)}
    return {
        "agreement": Grid(measure_agreement, {"n_states": config.states} | seeds),
        "gap": Grid(measure_gap, {"gap_states": config.gap_states, "gap_per_state": config.gap_per_state} | seeds),
        "connected": Grid(
            measure_connected, {"gap_states": config.gap_states, "few_per_state": config.few_per_state} | seeds
        ),
        "words": Grid(measure_words, {"learn_states": config.learn_states, "turn": config.turns_learnt} | seeds),
        "price": Grid(measure_price, {"length": config.price_lengths, "looks": config.price_looks} | seeds),
        "zipf": Grid(measure_zipf, {"zipf": config.zipfs} | seeds),
    }


EXPERIMENT = Experiment(
    name="semiautomata",
    purpose="machines that read words: how pairs decorrelate, alphabets, words that letters need, a memory of letters",
    profiles={
        "smoke": SemiautomataConfig(
            states=(4, 6),
            per_state=32,
            renamed_turns=6,
            gap_states=(5,),
            gap_per_state=(8, 32),
            few_per_state=(1, 3),
            machines=10,
            learn_states=(5,),
            letters=256,
            turns_learnt=(0.5, 1.0),
            price_states=4,
            price_letters=32,
            price_dim=16,
            price_lengths=(3, 5),
            price_looks=(3.0, 30.0),
            zipf_dim=8,
            zipfs=(1.2,),
            seeds=2,
        ),
        "cpu": SemiautomataConfig(),
        "gpu": SemiautomataConfig(learn_states=(6, 8, 12, 16), letters=8192, seeds=12),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6250,
)
