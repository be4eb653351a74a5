"""`chain-of-thought`: a layer of linear attention takes one step of gradient descent, with a chain of thought many.

A lab on Huang, Wang and Lee, arXiv:2502.21212.
"""

from dataclasses import dataclass

from amemlib.checks import check_count, check_dims, check_non_negative, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.chain_of_thought.judge import judge, summarise
from amemlib.labs.chain_of_thought.measure import measure_answer, measure_rank, measure_step, measure_thinking

PAPER = "arXiv:2502.21212"
CLAIM = (
    "while a one-layer linear transformer without CoT can only implement a single step of gradient descent and fails "
    "to recover the ground-truth weight vector, a transformer with CoT prompting can learn to perform multi-step GD "
    "autoregressively, achieving near-exact recovery (abstract)"
)


@dataclass(frozen=True)
class ChainOfThoughtConfig:
    """Sizes of the lab.

    dim, contexts: d and the numbers of examples without thoughts. dims, ratio: d and n/d with them; rate, thoughts: the
    teacher's η and number of steps, in training. kept: thoughts after which errors are kept. steps, batch_size,
    answer_batch, lr, scale: of the training; n_prompts: fresh ones that errors are measured on.
    step_…: the same for one step of V₃₁; exponents: of λ_i = i^−a there; chains: numbers of thoughts in its batch; few:
    prompts in a batch too small for the rank.
    """

    dim: int = 8
    contexts: tuple[int, ...] = (8, 16, 32, 128)
    dims: tuple[int, ...] = (8, 16, 32)
    ratio: int = 2
    rate: float = 0.4
    thoughts: int = 20
    kept: tuple[int, ...] = (1, 2, 5, 10, 20, 40)
    steps: int = 1750
    batch_size: int = 32
    answer_batch: int = 256
    lr: float = 0.01
    scale: float = 0.1
    n_prompts: int = 1000
    step_dim: int = 32
    step_examples: int = 1024
    step_rate: float = 1.0
    exponents: tuple[float, ...] = (0.0, 0.5, 1.0, 1.5)
    chains: tuple[int, ...] = (1, 20)
    step_batch: int = 2048
    step_kept: tuple[int, ...] = (1, 2, 5, 10, 20, 80)
    few: tuple[int, ...] = (8, 16, 32, 64)
    seeds: int = 5
    first_seed: int = 0

    def __post_init__(self):
        check_count("steps", self.steps, least=7)
        for name in ("dim", "ratio", "thoughts", "batch_size", "answer_batch", "n_prompts", "step_batch"):
            check_count(name, getattr(self, name))
        for name in ("rate", "lr", "scale", "step_rate"):
            check_positive(name, getattr(self, name))
        for name in ("contexts", "dims", "kept", "chains", "step_kept", "few"):
            check_dims(name, getattr(self, name), count=2)
            if list(getattr(self, name)) != sorted(getattr(self, name)):
                raise ValueError(f"{name} must rise, got {list(getattr(self, name))}")
        check_count("contexts", self.contexts[0], least=self.dim)
        check_count("step_examples", self.step_examples, least=self.step_dim)
        for exponent in self.exponents:
            check_non_negative("exponents", exponent)
        check_count("seeds", self.seeds)
        check_count("first_seed", self.first_seed, least=0)


def grids(config: ChainOfThoughtConfig) -> dict[str, Grid]:
    """Errors without thoughts by n; networks that think, by d; one step of V₃₁ by chain and spectrum; its rank."""
    seeds = {"seed": draws(config)}
    return {
        "answer": Grid(measure_answer, {"n_examples": config.contexts} | seeds),
        "thinking": Grid(measure_thinking, {"dim": config.dims} | seeds),
        "step": Grid(measure_step, {"thoughts": config.chains, "exponent": config.exponents} | seeds),
        "rank": Grid(measure_rank, {"few": config.few} | seeds),
    }


EXPERIMENT = Experiment(
    name="chain-of-thought",
    purpose="linear attention on in-context regression: the floor of one step, gradient descent by thoughts; one step "
    "of Muon writes its weights",
    profiles={
        "smoke": ChainOfThoughtConfig(
            dim=3,
            contexts=(4, 8),
            dims=(2, 4),
            kept=(1, 2, 4),
            thoughts=3,
            steps=40,
            batch_size=8,
            answer_batch=32,
            n_prompts=50,
            step_dim=6,
            step_examples=64,
            exponents=(0.0, 1.0),
            chains=(1, 3),
            step_batch=64,
            step_kept=(1, 4, 8),
            few=(3, 6),
            seeds=2,
        ),
        "cpu": ChainOfThoughtConfig(),
        "gpu": ChainOfThoughtConfig(dims=(16, 32, 64), steps=4000, n_prompts=4000, seeds=10),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
