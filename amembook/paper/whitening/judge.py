"""The rule of the study `whitening`: counts beside their laws, 3 % with one side and 5 % with two, and orders."""

from collections.abc import Iterator

import numpy as np

from amembook.run.claims import SIZES, SMALL, equivalence, numbers, order

JUDGED = {"kfac": SMALL, "matched": SIZES, "mixed": SIZES}
"""Steps held to their laws, and the bands: a side more is an error more of the first order."""


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
