"""`semiautomata`: what words of a machine's letters show of the letters, and what the length of words costs.

On Giapitzakis, Fountoulakis, Nichani and Lee, arXiv:2510.04115.

Claim: the first Statistical Query hardness result for semiautomata under the uniform distribution over input words and
initial states, when both the alphabet size and input length are polynomial in the number of states; after a polynomial
number of steps distinct semiautomata become nearly uncorrelated (abstract).

Caveats: two machines are judged by the scatter that they do not share with their law, where a record has it; shares of
connected machines by what the exact law itself gives, as a few draws may scatter half as much by chance. The law of
words is one of many letters. A renamed machine may end 10⁻⁴ from its limit.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.semiautomata import measure
from amembook.companions.semiautomata.judge import PARTS, judge, summarise
from amembook.run.base import Alphas, Config, Count, Experiment, Grid, Natural, Positives, Sizes, draws, some_of
from amembook.run.studies import headline
from amemlib.checks import check_count, check_dims

States = Annotated[tuple[int, ...], partial(check_dims, count=1, least=3)]


@dataclass(frozen=True)
class SemiautomataConfig(Config):
    """Pairs of random machines, words that tell their letters, and a memory of letters."""

    states: States = (6, 12, 24)  # N of pairs whose agreement is followed
    per_state: Count = 128  # letters a state
    turns: Count = 2  # of N letters, that a pair is followed for
    renamed_turns: Count = 12  # and a machine with renamed states
    gap_states: States = (12, 24)  # of what a pair forgets a letter
    gap_per_state: Sizes = (4, 8, 16, 32, 64, 256, 1024)
    few_per_state: Sizes = (1, 2, 3, 4, 5, 6)  # of the share that is connected
    machines: Count = 100
    learn_states: States = (6, 8, 12)  # of the words from which counts tell a share `level` of the letters
    letters: Count = 2048
    turns_learnt: Positives = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)  # words of 1 + turn · (N − 1) letters
    level: float = 0.9
    price_states: Annotated[int, partial(check_count, least=3)] = 8  # of a memory of letters
    price_letters: Count = 512
    price_dim: Count = 128  # of its keys
    price_lengths: Sizes = (8, 12, 18)  # of its words
    price_looks: Positives = (1.0, 3.0, 10.0, 30.0, 100.0)  # looks at a letter that they are worth
    zipf_dim: Count = 96  # of a memory from words of one letter
    zipfs: Alphas = (0.8, 1.2)
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS  # what a record measures
    seeds: Count = 6
    first_seed: Natural = 0

    def limits(self) -> None:
        if not 0.5 < self.level < 1:
            raise ValueError(f"level must be in (1/2, 1): half of the letters are the identity, got {self.level!r}")


def grids(config: SemiautomataConfig) -> dict[str, Grid]:
    """Agreement by N; a pair's factor and connectedness by letters a state; words needed; a memory of letters."""
    seeds, states = {"seed": draws(config)}, {"gap_states": config.gap_states}
    words = {"learn_states": config.learn_states, "turn": config.turns_learnt}
    every = {
        "agreement": Grid(measure.measure_agreement, {"n_states": config.states} | seeds),
        "gap": Grid(measure.measure_gap, states | {"gap_per_state": config.gap_per_state} | seeds),
        "connected": Grid(measure.measure_connected, states | {"few_per_state": config.few_per_state} | seeds),
        "words": Grid(measure.measure_words, words | seeds),
        "price": Grid(measure.measure_price, {"length": config.price_lengths, "looks": config.price_looks} | seeds),
        "zipf": Grid(measure.measure_zipf, {"zipf": config.zipfs} | seeds),
    }
    return {part: every[part] for part in config.parts}


EXPERIMENT = Experiment(
    name="semiautomata",
    purpose=headline(__doc__),
    profiles={
        "smoke": SemiautomataConfig(
            states=(4, 6), per_state=32, renamed_turns=6, gap_states=(5,), gap_per_state=(8, 32), few_per_state=(1, 3),
            machines=10, learn_states=(5,), letters=256, turns_learnt=(0.5, 1.0), price_states=4, price_letters=32,
            price_dim=16, price_lengths=(3, 5), price_looks=(3.0, 30.0), zipf_dim=8, zipfs=(1.2,), seeds=2,
        ),
        "cpu": SemiautomataConfig(),
        # the law of words is one of many letters; little of all else
        "letters": SemiautomataConfig(
            states=(6,), gap_states=(5,), gap_per_state=(8,), few_per_state=(3,), machines=10, letters=16_384,
            price_lengths=(8, 12), price_looks=(3.0,), seeds=8, first_seed=49_000,
        ),
        # the same with the draws that its shortest words ask for
        "words": SemiautomataConfig(
            states=(6,), gap_states=(5,), gap_per_state=(8,), few_per_state=(3,), machines=10, letters=16_384,
            price_lengths=(8, 12), price_looks=(3.0,), seeds=24, first_seed=49_400,
        ),
        # all else, by many draws; little of words
        "machines": SemiautomataConfig(
            states=(6, 12), gap_states=(12,), gap_per_state=(8, 32, 256), learn_states=(6,), letters=512,
            turns_learnt=(1.0, 1.5), price_lengths=(8, 12), seeds=300, first_seed=49_100,
        ),
        # the agreement alone, with the scatter that a pair shares with its law
        "pairs": SemiautomataConfig(parts=("agreement",), seeds=100, first_seed=51_000),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6250,
    added={"parts": PARTS},
)  # fmt: skip
