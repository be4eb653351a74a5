"""`whitening`: what beats Muon in one step: whitened gradients, their items and their loss, beside laws.

Claim: ours, on the model of arXiv:2603.26554: G whitened by second moments of its inputs or of both sides stores what
leaving items out predicts, half as much again as Muon, and W* + 0.6 Newton has less loss as well.

Caveats: one population step at d = 128 and 256; counts are held to 3 % with one side whitened and to 5 % with two, with
a damping or on a batch. W* and K-FAC alone have more items and more loss than Muon, at the best of seven rates.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from amembook.paper.whitening.expected import PREDICTED, expected_counts, expected_damped
from amembook.paper.whitening.measure import (
    DAMPED,
    STEPS,
    measure_batches,
    measure_damping,
    measure_losses,
    measure_steps,
)
from amembook.run.base import (
    Config,
    Count,
    Counts,
    Experiment,
    Grid,
    Natural,
    NonNegatives,
    Positives,
    Results,
    Several,
    Sizes,
    SteepAlphas,
    draws,
    standard_error,
)
from amembook.run.claims import SIZES, SMALL, count_error, equivalence, numbers, order
from amembook.run.studies import headline
from amembook.run.study import fixed
from amemlib.problem import Problem

JUDGED = {"kfac": SMALL, "matched": SIZES, "mixed": SIZES}
"""Steps held to their laws, and the bands: a side more is an error more of the first order."""


LEADS = (
    *((name, "polar") for name in ("kfac", "matched", "mixed")), ("kfac", "polar_kfac"), ("matched", "polar_matched"),
)  # fmt: skip


LOSS_LEADS = (("mixed", "polar"), ("polar", "kfac"), ("polar", "matched"))


@dataclass(frozen=True)
class WhiteningConfig(Config):
    """One population step on power laws, every step on the same draws; then losses, dampings and batches."""

    alphas: SteepAlphas = (1.25, 1.5, 2.0)
    dims: Sizes = (128, 256)
    n_items: Counts = (8192, 8192)  # at each of `dims`
    draws_at: Counts = (16, 8)  # at each of `dims`
    loss_dim: Several = 128
    loss_items: Several = 2048
    loss_seeds: Several = 4
    rates: Positives = (1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)  # η/√d at the Frobenius norm √d
    damped_dim: Several = 128
    damped_items: Several = 4096
    damped_seeds: Several = 12
    dampings: NonNegatives = (0.0, 0.0001, 0.001, 0.01)  # of the mean eigenvalue
    batch_sizes: Counts = (30_000, 300_000)  # each shows more than d items
    batch_seeds: Several = 6
    first_seed: Natural = 0

    def limits(self) -> None:
        if not len(self.n_items) == len(self.draws_at) == len(self.dims):
            raise ValueError(f"n_items and draws_at must hold {len(self.dims)} numbers, as dims does")
        if self.dampings[0] != 0:
            raise ValueError(f"dampings must begin with 0, got {list(self.dampings)}")


def grids(config: WhiteningConfig) -> dict[str, Grid]:
    """Every draw, all α on the draws of a seed."""
    own = fixed(config, "dims", "n_items", "draws_at", "loss_seeds", "damped_seeds", "batch_seeds")
    sizes, seeds = zip(config.dims, config.n_items, config.draws_at, strict=True), lambda n: {"seed": draws(config, n)}
    return {
        **{f"d{dim}": Grid(measure_steps, seeds(n), config=own, dim=dim, n_items=n_items) for dim, n_items, n in sizes},
        "damping": Grid(measure_damping, seeds(config.damped_seeds), config=own),
        "batches": Grid(measure_batches, seeds(config.batch_seeds), config=own),
        "losses": Grid(measure_losses, seeds(config.loss_seeds), config=own),
    }


def summarise(config: WhiteningConfig, results: Results) -> tuple[dict, dict]:
    """Items and loss at the best rate by step, leads on the same draws, items by damping, batches over their laws.

    counts, error: step ↦ [dim][alpha]. loss, loss_error, best_rate: step ↦ [alpha]. lead, loss_lead: "step over" ↦.
    damped: step ↦ [alpha][damping]; head: commonest items that K-FAC keeps with Σ_u about 0 and centred, [alpha].
    """
    problems = [
        [Problem.power_law(n_items, dim, alpha) for alpha in config.alphas]
        for dim, n_items in zip(config.dims, config.n_items, strict=True)
    ]
    laws = [[expected_counts(p, a) for p, a in zip(row, config.alphas, strict=True)] for row in problems]
    damped = [Problem.power_law(config.damped_items, config.damped_dim, alpha) for alpha in config.alphas]
    predicted = {
        "counts": {name: np.array([[one[name] for one in row] for row in laws]) for name in PREDICTED},
        "damped": {n: np.array([[expected_damped(p, n, x) for x in config.dampings] for p in damped]) for n in DAMPED},
    }
    measured = {key: {} for key in ("counts", "error", "lead", "lead_error", "loss_lead", "loss_lead_error")}
    by_dim = {n: [results.array(f"d{dim}", "counts", n).astype(float) for dim in config.dims] for n in STEPS}
    for name, counts in by_dim.items():
        floor = predicted["counts"].get(name, np.zeros((len(config.dims), len(config.alphas))))
        measured["counts"][name] = [c.mean(0) for c in counts]
        measured["error"][name] = [count_error(c, law, 0) for c, law in zip(counts, floor, strict=True)]
    for name, over in LEADS:
        ratios = [a / b for a, b in zip(by_dim[name], by_dim[over], strict=True)]
        measured["lead"][f"{name} {over}"] = [r.mean(0) for r in ratios]
        measured["lead_error"][f"{name} {over}"] = [standard_error(r, 0) for r in ratios]
    losses = {name: results.array("losses", "losses", name) for name in STEPS}
    best = {name: of.min(-1) for name, of in losses.items()}
    measured["loss"] = {name: of.mean(0) for name, of in best.items()}
    measured["loss_error"] = {name: standard_error(of, 0) for name, of in best.items()}
    measured["best_rate"] = {n: np.array(config.rates)[of.mean(0).argmin(-1)] for n, of in losses.items()}
    for name, over in LOSS_LEADS:
        ratio = best[over] / best[name]
        measured["loss_lead"][f"{name} {over}"] = ratio.mean(0)
        measured["loss_lead_error"][f"{name} {over}"] = standard_error(ratio, 0)
    of_damping = {name: results.array("damping", name).astype(float) for name in DAMPED}
    measured["damped"] = {name: of.mean(0) for name, of in of_damping.items()}
    measured["damped_error"] = {n: count_error(of, predicted["damped"][n], 0) for n, of in of_damping.items()}
    measured["head"] = {name: results.array("damping", name).mean(0) for name in ("uncentred", "centred")}
    measured["single"] = results.array("damping", "single").mean(0)
    measured["batches"] = {"ratio": {}, "error": {}, "counts": {}}
    of_batch = {n: results.array("batches", n).astype(float) for n in ("polar", *DAMPED, "law_kfac", "law_matched")}
    for name in DAMPED:
        ratio = of_batch[name] / of_batch[f"law_{name}"]
        measured["batches"]["ratio"][name] = ratio.mean(0)
        measured["batches"]["ratio"][f"{name}_polar"] = (of_batch["polar"] / of_batch[f"law_{name}"]).mean(0)
        measured["batches"]["error"][name] = standard_error(ratio, 0)
    measured["batches"]["counts"] = {name: of_batch[name].mean(0) for name in ("polar", *DAMPED)}
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """Laws of K-FAC, W* and the mix, damped and on batches; who leads in items and in loss; what a polar map undoes."""
    laws, at_alpha = predicted["counts"], [f"α = {alpha:g}" for alpha in config.alphas]
    places = np.array([[f"d = {dim}, {alpha}" for alpha in at_alpha] for dim in config.dims])
    draws = np.repeat(np.array(config.draws_at)[:, None], len(config.alphas), axis=1)
    for name, band in JUDGED.items():
        rivals = {"Muon": laws["polar"], "the best spectral map": laws["best"], "Newton": laws["newton"]}
        rivals["another α"] = np.roll(laws[name], 1, axis=1)
        held_to = {"law": laws[name], "band": band, "rivals": rivals, "at": places}
        yield name, equivalence(numbers(name, measured["counts"][name], measured["error"][name], draws, **held_to))

    at, damped = [[f"{alpha}, ϱ = {damping:g}" for damping in config.dampings] for alpha in at_alpha], []
    for name in ("kfac", "matched"):
        law, bare = predicted["damped"][name], predicted["damped"][name][:, :1]
        # a damping of nothing is no rival of itself
        held_to = {"law": law, "band": SMALL, "rivals": {"no damping": np.where(law == bare, np.nan, bare)}, "at": at}
        error = measured["damped_error"][name]
        damped += numbers(name, measured["damped"][name], error, config.damped_seeds, **held_to)
    yield "damped", equivalence(damped)

    at, batches = [[f"{alpha}, B = {size}" for size in config.batch_sizes] for alpha in at_alpha], []
    ratio, error = measured["batches"]["ratio"], measured["batches"]["error"]
    for name in ("kfac", "matched"):
        held_to = {"law": 1.0, "band": SMALL, "rivals": {"Muon": ratio[f"{name}_polar"]}, "at": at}
        batches += numbers(name, ratio[name], error[name], config.batch_seeds, **held_to)
    yield "batches", equivalence(batches)

    def more(name: str, over: str) -> list[dict]:
        lead, error = (measured[key][f"{name} {over}"] for key in ("lead", "lead_error"))
        return numbers(f"{name} over {over}", lead, error, draws, limit=1, at=places)

    def less(name: str, over: str) -> list[dict]:
        lead, error = (measured[key][f"{name} {over}"] for key in ("loss_lead", "loss_lead_error"))
        return numbers(f"loss of {over} over {name}", lead, error, config.loss_seeds, limit=1, at=at_alpha)

    yield "ahead", order(more("kfac", "polar") + more("matched", "polar") + more("mixed", "polar"))
    yield "no_polar_after", order(more("kfac", "polar_kfac") + more("matched", "polar_matched"))
    yield "less_loss", order(less("mixed", "polar"))
    yield "ruined", order(less("polar", "kfac") + less("polar", "matched"))


TINY = {"alphas": (1.5,), "dims": (32, 40), "n_items": (256, 256), "draws_at": (4, 4), "loss_dim": 16}
TINY |= {"loss_items": 128, "damped_dim": 32, "damped_items": 256, "damped_seeds": 4, "batch_sizes": (4096,)}
EXPERIMENT = Experiment(
    name="whitening",
    purpose=headline(__doc__),
    profiles={
        "smoke": WhiteningConfig(batch_seeds=4, **TINY),
        "cpu": WhiteningConfig(),
        "confirm": WhiteningConfig(first_seed=6300),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=6300,
)
