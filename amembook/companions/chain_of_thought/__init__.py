"""`chain-of-thought`: a layer of linear attention takes one step of gradient descent, with a chain of thought many.

A study of Huang, Wang and Lee, arXiv:2502.21212.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.chain_of_thought.judge import judge, summarise
from amembook.companions.chain_of_thought.measure import measure_answer, measure_rank, measure_step, measure_thinking
from amembook.run.base import (
    AscendingCounts,
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    NonNegatives,
    Positive,
    Sizes,
    draws,
)
from amemlib.checks import check_count

PAPER = "arXiv:2502.21212"
CLAIM = (
    "while a one-layer linear transformer without CoT can only implement a single step of gradient descent and fails "
    "to recover the ground-truth weight vector, a transformer with CoT prompting can learn to perform multi-step GD "
    "autoregressively, achieving near-exact recovery (abstract)"
)


@dataclass(frozen=True)
class ChainOfThoughtConfig(Config):
    """Sizes without thoughts, of networks that think, of their training, and of one step of V₃₁ (`step_…`)."""

    dim: Count = 8  # d without thoughts
    contexts: AscendingCounts = (8, 16, 32, 128)  # numbers of examples there
    dims: AscendingCounts = (8, 16, 32)  # d with thoughts
    ratio: Count = 2  # n/d there
    rate: Positive = 0.4  # the teacher's η
    thoughts: Count = 20  # the teacher's number of steps, in training
    kept: AscendingCounts = (1, 2, 5, 10, 20, 40)  # thoughts after which errors are kept
    steps: Annotated[int, partial(check_count, least=7)] = 1750  # of the training
    batch_size: Count = 32
    answer_batch: Count = 256
    lr: Positive = 0.01
    scale: Positive = 0.1
    n_prompts: Count = 1000  # fresh ones that errors are measured on
    step_dim: Count = 32
    step_examples: Count = 1024
    step_rate: Positive = 1.0
    exponents: NonNegatives = (0.0, 0.5, 1.0, 1.5)  # of λ_i = i^−a
    chains: AscendingCounts = (1, 20)  # numbers of thoughts in the step's batch
    step_batch: Count = 2048
    step_kept: AscendingCounts = (1, 2, 5, 10, 20, 80)
    few: AscendingCounts = (8, 16, 32, 64)  # prompts in a batch too small for the rank
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self):
        check_count("contexts", self.contexts[0], least=self.dim)
        check_count("step_examples", self.step_examples, least=self.step_dim)


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
        # networks that think, and little of all else
        "thoughts": ChainOfThoughtConfig(
            contexts=(8, 16),
            answer_batch=32,
            n_prompts=4000,
            step_dim=8,
            step_examples=64,
            exponents=(0.0, 1.0),
            step_batch=256,
            few=(4, 8),
            seeds=4,
            first_seed=49_600,
        ),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)
