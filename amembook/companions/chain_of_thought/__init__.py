"""`chain-of-thought`: a layer of linear attention takes one step of gradient descent, with a chain of thought many.

A study of Huang, Wang and Lee, arXiv:2502.21212.

Claim: while a one-layer linear transformer without CoT can only implement a single step of gradient descent and fails
to recover the ground-truth weight vector, a transformer with CoT prompting can learn to perform multi-step GD
autoregressively, achieving near-exact recovery (abstract).

Caveats: a trained network is held to gradient descent on its own prompts, whose errors are known: to 0.005 relative by
thoughts; as a guard to 0.05 at the length that it was trained at and to 0.001 ‖w‖² at another, where errors fall below
any accuracy of the weights. Weights lie within 0.001 of the construction, as a share of the energy for those that
should be 0. A polar step is the identity to a cosine of 0.999.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from amembook.companions.chain_of_thought import expected
from amembook.companions.chain_of_thought.measure import measure_answer, measure_rank, measure_step, measure_thinking
from amembook.companions.chain_of_thought.prompts import decaying_eigenvalues
from amembook.run.base import (
    MAPS,
    AscendingCounts,
    Config,
    Count,
    Experiment,
    Grid,
    Natural,
    NonNegatives,
    Positive,
    Results,
    draws,
    standard_error,
)
from amembook.run.claims import DIFFERENCE, SIZES, check, equivalence, numbers
from amembook.run.studies import headline
from amemlib.checks import check_count

WEIGHTS_BAND = 1e-3
APART, APART_LONGER = (
    0.05,
    1e-3,
)  # of the network's errors from gradient descent's, at the trained length and at another
EXACT = 5e-3  # of its errors by thoughts
COSINE, EQUAL = 0.999, 1e-6  # of a polar step to the identity; how far its errors may then be from gradient descent's


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


def summarise(config, results: Results) -> tuple[dict, dict]:
    """`answer`: errors by number of examples. `thinking`: by d, weights and errors at the kept thoughts. `step`: by
    thoughts and exponent, cosines and errors of each map. predicted: the same, and `laws`, what rivals would say."""
    answers = results.array("answer", "error")
    measured = {"answer": {"error": answers.mean(1), "spread": standard_error(answers)}}
    draws = {key: results.array("thinking", key) for key in ("rate", "deviation", "others", "apart", "apart_longer")}
    errors, longer = (results.array("thinking", key) for key in ("errors", "errors_longer"))
    measured["thinking"] = {"rate": draws["rate"].mean(1), "errors": errors.mean(1), "spread": standard_error(errors)}
    measured["thinking"]["errors_longer"] = longer.mean(1)
    for key in ("deviation", "others", "apart", "apart_longer"):
        measured["thinking"][key] = draws[key].max(1)
    measured["thinking"]["rate_off"] = np.abs(draws["rate"] / config.rate - 1).max(1)
    measured["step"] = {"exact": {"errors": results.array("step", "exact", "errors").mean(2)}}
    for name in MAPS:
        cosines, errors = (results.array("step", name, key) for key in ("cosine", "errors"))
        measured["step"][name] = {"cosine": cosines.mean(2), "least_cosine": cosines.min(2)}
        measured["step"][name] |= {"errors": errors.mean(2), "spread": standard_error(errors, 2)}
    measured["rank"] = results.array("rank", "cosine").mean(1)

    d, kept, ratio = config.dim, config.kept, config.ratio
    predicted = {"answer": {"error": [expected.floor(n, d) for n in config.contexts]}}
    predicted["thinking"] = {
        "errors": [expected.thinking_errors(ratio * dim, dim, config.rate, kept) for dim in config.dims],
        "limit": expected.thinking_limit(ratio, config.rate, kept),
    }
    rates = [expected.one_step_rate(ratio * dim, dim) for dim in config.dims]
    slowest = 1 - config.rate * (1 - ratio**-0.5) ** 2
    at = np.array(kept)
    predicted["laws"] = {
        "a single step": [[expected.floor(ratio * dim, dim)] * len(kept) for dim in config.dims],
        "as if S were I": [((1 - config.rate) ** (2 * at))] * len(config.dims),
        "the slowest direction alone": [(slowest ** (2 * at))] * len(config.dims),
    }
    predicted["rates"] = {"the best single step's": rates, "one": [1.0] * len(rates)}
    spectra = [decaying_eigenvalues(config.step_dim, a).numpy() for a in config.exponents]
    k = config.step_kept[-2]
    first = lambda lam, thoughts: expected.first_gradient(lam, config.step_examples, config.step_rate, thoughts)
    table = lambda law: [[law(lam, thoughts) for lam in spectra] for thoughts in config.chains]
    predicted["step"] = {
        "cosine": table(lambda lam, thoughts: expected.cosine_to_identity(first(lam, thoughts))),
        "error": table(lambda lam, thoughts: expected.descent_error(first(lam, thoughts), lam, k)),
        "exact": table(lambda lam, thoughts: ((1 - config.step_rate * lam) ** (2 * k)).mean()),
    }
    predicted["rank"] = [math.sqrt(min(few, config.step_dim) / config.step_dim) for few in config.few]
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """floor: without thoughts the error is the floor's. construction: the trained weights are gradient descent's at the
    teacher's rate, and the network does what gradient descent does, on the same prompts and on longer ones.
    thinking: the network's errors by thoughts are those of gradient descent on the same prompts, whose means are
    known: E tr(I − ηS)^{2k}/d.
    muon: a polar step is the construction, whatever the spectrum and the chain; the identity −I up to the rank.
    sgd: an SGD step's cosine and errors are the law's.
    """
    draws, n, d = config.seeds, np.array(config.contexts), config.dim
    rivals = {"d/n": d / n, "rate 1: (d + 1)/n": (d + 1) / n, "d/(n + d)": d / (n + d)}
    beside = {"law": predicted["answer"]["error"], "band": SIZES, "at": n, "rivals": rivals}
    floor = numbers("error at n =", measured["answer"]["error"], measured["answer"]["spread"], draws, **beside)

    trained = measured["thinking"]
    off = trained["rate_off"] * config.rate
    # every draw lies within `rate_off` of the teacher's rate
    beside = {"draws": draws, "limit": config.rate, "band": WEIGHTS_BAND, "low": config.rate - off}
    beside |= {"high": config.rate + off, "at": config.dims, "rivals": predicted["rates"]}
    construction = numbers("rate at d =", trained["rate"], **beside)
    bounds = {"deviation": WEIGHTS_BAND, "others": WEIGHTS_BAND, "apart": APART, "apart_longer": APART_LONGER}
    for key, bound in bounds.items():
        held_to = {"limit": 0, "band": bound, "scale": DIFFERENCE, "guard": True}
        construction += numbers(f"largest {key.replace('_', ' ')}", trained[key].max(), **held_to)

    law = np.array(predicted["thinking"]["errors"])
    rivals = {name: np.abs(np.array(rows) / law - 1).max(1) for name, rows in predicted["laws"].items()}
    beside = {"law": 0, "band": EXACT, "scale": DIFFERENCE, "at": config.dims, "rivals": rivals}
    thinking = numbers("largest distance from gradient descent at d =", trained["apart"], draws=draws, **beside)

    step = measured["step"]
    muon, exact = (step[name]["errors"] for name in ("polar", "exact"))
    over = {"errors": (np.abs(muon - exact) / exact).max() / EQUAL}
    over |= {"cosine": (1 - step["polar"]["least_cosine"].min()) / (1 - COSINE)}
    over |= {"rank": np.abs(measured["rank"] - predicted["rank"]).max() / EQUAL}
    same = check(max(over.values()), 1, draws * len(config.chains) * len(config.exponents), "deviation over rounding's")

    law, at = predicted["step"]["error"], [f"{k}, {a:g}" for k in config.chains for a in config.exponents]
    rivals = {"as Muon": predicted["step"]["exact"]}
    rivals |= {"one thought, however many there are": np.broadcast_to(law[:1], law.shape)}
    rivals |= {"a long chain, however short it is": np.broadcast_to(law[-1:], law.shape)}
    held_to = {"band": SIZES, "scale": DIFFERENCE, "at": at}
    errors, spread, cosine = step["sgd"]["errors"][..., -2], step["sgd"]["spread"][..., -2], step["sgd"]["cosine"]
    sgd = numbers("error at thoughts, exponent =", errors, spread, draws, law=law, rivals=rivals, **held_to)
    law = predicted["step"]["cosine"]
    sgd += numbers("cosine at thoughts, exponent =", cosine, law=law, guard=True, **held_to)
    verdicts = {"floor": floor, "construction": construction, "thinking": thinking, "sgd": sgd}
    return {name: equivalence(judged) for name, judged in verdicts.items()} | {"muon": same}


EXPERIMENT = Experiment(
    name="chain-of-thought",
    purpose=headline(__doc__),
    profiles={
        "smoke": ChainOfThoughtConfig(
            dim=3, contexts=(4, 8), dims=(2, 4), kept=(1, 2, 4), thoughts=3, steps=40, batch_size=8, answer_batch=32,
            n_prompts=50, step_dim=6, step_examples=64, exponents=(0.0, 1.0), chains=(1, 3), step_batch=64,
            step_kept=(1, 4, 8), few=(3, 6), seeds=2,
        ),
        "cpu": ChainOfThoughtConfig(),
        # networks that think, and little of all else
        "thoughts": ChainOfThoughtConfig(
            contexts=(8, 16), answer_batch=32, n_prompts=4000, step_dim=8, step_examples=64, exponents=(0.0, 1.0),
            step_batch=256, few=(4, 8), seeds=4, first_seed=49_600,
        ),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)  # fmt: skip
