"""`one-shot`: a public task of 10¹³ flops: losses of Adam, SGD in steps of one length and Muon, predicted and run once.

A question of practice, ours. Inputs x of a Zipf law, targets p(y | x) of random entropies, softmax(W x) with inputs of
any dimension: who has the least loss after 10¹³ flops, runs for tuning among them? The task is task.md of
github.com/NicolasZucchet/Tutorial-scaling-laws, the updates are those of arXiv:1412.6980 and arXiv:2502.16982.

Claim: the excess loss of the best memory at a budget of flops falls as its power −(γ − 1)/(γ + 1), for Adam, SGD with
steps of one length and Muon, so that small runs predict a large one.

Caveats: the law's constant is the least of a screening at 10¹¹ flops (`amembook/tables`). Five draws at 10¹² flops
carry the claim; the one run at 9·10¹² can break it and not make it. The band is 5 %, the power −1/11.
"""

from dataclasses import dataclass

from amembook.practice.one_shot.expected import BUDGET, recipe, spent
from amembook.practice.one_shot.judge import judge, summarise
from amembook.practice.one_shot.measure import OPTIMIZERS, measure_run
from amembook.run.base import Config, Count, Experiment, Grid, Natural, Positive, Several, draws
from amembook.run.studies import headline
from amembook.run.study import fixed


@dataclass(frozen=True)
class OneShotConfig(Config):
    """Runs of `rung` flops over the draws, and one run of `shot` flops on the first of them."""

    rung: Positive = 1e12
    shot: Positive = 9e12
    head: Several = 8192  # inputs whose loss is summed one by one
    rare: Several = 16384  # draws of the others
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        most = BUDGET - max(map(spent, OPTIMIZERS))
        if self.shot > most:
            raise ValueError(f"shot must be at most {most:.3g}, what the screening leaves, got {self.shot:g}")
        if self.rung >= self.shot:
            raise ValueError(f"rung must be less than shot, got {self.rung:g}")


def entries(flops: float) -> dict[str, dict]:
    """By optimizer its arguments at a budget."""
    return {name: {"optimizer": name, "flops": flops} | recipe(name, flops) for name in OPTIMIZERS}


def grids(config: OneShotConfig) -> dict[str, Grid]:
    """Both budgets; the shot has one draw."""
    sizes = fixed(config, "rung", "shot")
    return {
        "shot": Grid(measure_run, {"entry": entries(config.shot), "seed": draws(config, 1)}, config=sizes),
        "rung": Grid(measure_run, {"entry": entries(config.rung), "seed": draws(config)}, config=sizes),
    }


EXPERIMENT = Experiment(
    name="one-shot",
    purpose=headline(__doc__),
    profiles={
        "smoke": OneShotConfig(rung=1e8, shot=2e8, head=64, rare=64, seeds=2),
        "cpu": OneShotConfig(rung=1e11, shot=1e12),
        "confirm": OneShotConfig(first_seed=3250),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3250,
)
