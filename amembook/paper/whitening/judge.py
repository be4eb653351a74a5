"""The rule of the study `whitening`: counts beside their laws, 3 % with one side and 5 % with two, and orders."""

import numpy as np

from amembook.run.claims import SIZES, SMALL, equivalence, numbers, order

JUDGED = {"kfac": SMALL, "matched": SIZES, "mixed": SIZES}
"""Steps held to their laws, and the bands: a side more is an error more of the first order."""


def judge_whitening(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """Laws of K-FAC, W* and the mix, damped and on batches; who leads in items and in loss; what a polar map undoes."""
    verdicts = {name: _law(config, measured, predicted, name, band) for name, band in JUDGED.items()}
    at = [f"α = {alpha:g}, ϱ = {damping:g}" for alpha in config.alphas for damping in config.dampings]
    damped = []
    for name in ("kfac", "matched"):
        law, counts = (np.ravel(part["damped"][name]) for part in (predicted, measured))
        bare = np.repeat(np.asarray(predicted["damped"][name])[:, 0], len(config.dampings))
        # a damping of nothing is no rival of itself
        rivals = {"no damping": np.where(law == bare, np.nan, bare)}
        error = np.ravel(measured["damped_error"][name])
        damped += numbers(name, counts, error, config.damped_seeds, law=law, band=SMALL, rivals=rivals, at=at)
    verdicts["damped"] = equivalence(damped)
    at = [f"α = {alpha:g}, B = {size}" for alpha in config.alphas for size in config.batch_sizes]
    batches = []
    for name in ("kfac", "matched"):
        ratio, error = (np.ravel(measured["batches"][key][name]) for key in ("ratio", "error"))
        rivals = {"Muon": np.ravel(measured["batches"]["ratio"][f"{name}_polar"])}
        batches += numbers(name, ratio, error, config.batch_seeds, law=1.0, band=SMALL, rivals=rivals, at=at)
    verdicts["batches"] = equivalence(batches)
    places = [f"d = {dim}, α = {alpha:g}" for dim in config.dims for alpha in config.alphas]
    lead = lambda name, over: numbers(
        f"{name} over {over}",
        np.ravel(measured["lead"][f"{name} {over}"]),
        np.ravel(measured["lead_error"][f"{name} {over}"]),
        np.repeat(config.draws_at, len(config.alphas)),
        limit=1,
        at=places,
    )
    verdicts["ahead"] = order([one for name in ("kfac", "matched", "mixed") for one in lead(name, "polar")])
    verdicts["no_polar_after"] = order(
        [one for pair in (("kfac", "polar_kfac"), ("matched", "polar_matched")) for one in lead(*pair)]
    )
    less = lambda name, over: numbers(
        f"loss of {over} over {name}",
        measured["loss_lead"][f"{name} {over}"],
        measured["loss_lead_error"][f"{name} {over}"],
        config.loss_seeds,
        limit=1,
        at=[f"α = {alpha:g}" for alpha in config.alphas],
    )
    verdicts["less_loss"] = order(less("mixed", "polar"))
    verdicts["ruined"] = order([one for name in ("kfac", "matched") for one in less("polar", name)])
    return verdicts


def _law(config, measured: dict, predicted: dict, name: str, band: float) -> dict:
    counts = predicted["counts"]
    rivals = {"Muon": counts["polar"], "the best spectral map": counts["best"], "Newton": counts["newton"]}
    rivals["another α"] = np.roll(counts[name], 1, axis=1)
    at = np.array([[f"d = {dim}, α = {alpha:g}" for alpha in config.alphas] for dim in config.dims])
    draws = np.repeat(np.array(config.draws_at)[:, None], len(config.alphas), axis=1)
    given = {"law": counts[name], "band": band, "rivals": rivals, "at": at}
    return equivalence(numbers(name, measured["counts"][name], measured["error"][name], draws, **given))
