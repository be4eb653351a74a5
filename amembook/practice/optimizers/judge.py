"""One step beside its predictions, identities, and the ranking of many steps."""

from collections.abc import Callable

import numpy as np

from amembook.practice.optimizers import expected
from amembook.run.base import Results, standard_error
from amembook.run.claims import DIFFERENCE, SHARP_DIM, SIZES, check, equivalence, family, numbers, order
from amemlib.equivalents import SpectralLaw, expected_capacity
from amemlib.problem import Problem

TRACK = {
    "muon": 3250,
    "normuon": 3250,
    "muon_squared": 3325,
    "soap": 3125,
    "one_sided_shampoo": 3375,
    "shampoo": 4100,
    "adam": 5625,
    "muon_without_momentum": 8225,
}
"""Steps to a validation loss of 3.28 in KellerJordan/modded-nanogpt at f411b3d, records/track_3_optimization/README.md:
results 36, 10, 7, 27 (SOAP on a hypersphere), 35 (with Adam's step size), 21, 2 (by its author most likely undertuned)
and 22. Every result there that is one of our optimizers, and of several the fastest without a technique besides."""
POLAR_FIRST = ("muon", "shampoo", "one_sided_shampoo", "soap", "normuon")
"""Optimizers whose first step is the polar factor in exact arithmetic."""
IDENTITY = 0.02
"""How far an entry of a first step may be from its identity: entries of a polar factor are about 1/√d, and SOAP's ε
takes 10⁻³ of the smallest direction."""
CLEAR_SIGNAL = 2.0
"""Signals below two standard deviations of a logit are not judged: there the draws' scatter is all one sees."""
LEAST_FRACTION = 0.25
"""Rank fractions below are not judged: at 1/8 the prediction was 11 % high on exploratory seeds."""
CHANCE = 0.05
"""The one-sided chance above which a rank correlation says nothing."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By α in words: sign[sign, sgd] and logits[signal, rivals] (a list of octaves each), aligned with `dims`, and
    rank[polar, low_rank, dion, warm] (a list of fractions each), with `rank_dims`; `…_error` beside. first[optimizer],
    aligned with `first_dims`, and distance[optimizer], the largest. By batch size in words: loss[optimizer], the least
    over `factors` of the mean over the draws, its error, the factor, and items; correlation[…] with the track.
    predicted: what of it can be.
    """
    measured = {"sign": {}, "sign_error": {}, "logits": {}, "logits_error": {}, "rank": {}, "rank_error": {}}
    for grid, keys, name in (
        ("sign", ("sign", "sgd"), "sign"),
        ("sign", ("signal", "rivals"), "logits"),
        ("rank", ("polar", "low_rank", "dion", "warm"), "rank"),
    ):
        for key in keys:
            read = {f"{alpha:g}": results.array(grid, key, alpha=alpha).astype(float) for alpha in config.alphas}
            measured[name][key] = {word: draws.mean(1) for word, draws in read.items()}
            measured[f"{name}_error"][key] = {word: standard_error(draws) for word, draws in read.items()}
    names = [*config.optimizers, *(["soap in float32"] if "soap" in config.optimizers else [])]
    counts = {name: results.array("first", "counts", name).astype(float) for name in names}
    measured["first"] = {name: draws.mean(1) for name, draws in counts.items()}
    measured["first_error"] = {name: standard_error(draws) for name, draws in counts.items()}
    measured["distance"] = {name: results.array("first", "distance", name).max() for name in names}
    measured |= {key: {} for key in ("loss", "loss_error", "factor", "items")}
    for batch in config.batch_sizes:
        runs = {}
        grid = "runs" if batch else "still"
        for label in results.grids[grid].axes["run"]:
            size, _, name = label.partition(" ")
            if size != f"{batch}":
                continue
            losses, items = (np.atleast_2d(results.array(grid, key, run=label)) for key in ("loss", "items"))
            best = int(losses.mean(1).argmin())
            factor = config.factors[best] if batch else 1.0
            told = losses[best].mean(), standard_error(losses)[best], factor, items[best].mean()
            runs[name] = [float(value) for value in told]
        for k, key in enumerate(("loss", "loss_error", "factor", "items")):
            measured[key][batch_word(batch)] = {name: values[k] for name, values in runs.items()}
    shared = [name for name in TRACK if name in config.optimizers]
    measured["correlation"] = correlations(shared, measured)
    return measured, predict(config)


def batch_word(batch_size: int) -> str:
    """The key of a batch size in a record."""
    return f"batch_{batch_size}" if batch_size else "population"


def correlations(shared: list[str], measured: dict) -> dict[str, float]:
    """Rank correlation with the track: of the items of the first step (fewest last), and of the loss at each batch."""
    track = [TRACK[name] for name in shared]
    if len(shared) < 4:
        return {}
    scores = {"first": [-measured["first"][name][-1] for name in shared]}
    scores |= {batch: [losses[name] for name in shared] for batch, losses in measured["loss"].items()}
    return {name: expected.spearman(values, track) for name, values in scores.items()}


def predict(config) -> dict:
    """Everything that has a prediction, from the config alone; rivals of the sign's law beside it."""
    predicted = {"sign": {}, "logits": {}, "rank": {"low_rank": {}, "polar": {}}}
    for key in ("sign", "sgd", "without_head", "gaussian", "polar"):
        predicted["sign"][key] = {}
    for key in ("signal", "rivals", "gaussian", "gaussian_rivals", "linear"):
        predicted["logits"][key] = {}
    predicted["over_sgd"] = {}
    for alpha in config.alphas:
        word, problems = f"{alpha:g}", [Problem.power_law(config.n_items, dim, alpha) for dim in config.dims]
        told = [_sign(problem) for problem in problems]
        for key, values in predicted["sign"].items():
            values[word] = [one[0][key] for one in told]
        for key, values in predicted["logits"].items():
            values[word] = [one[1][key] for one in told]
        ranked = [Problem.power_law(config.n_items, dim, alpha) for dim in config.rank_dims]
        laws = [SpectralLaw.solve(problem.frequencies, problem.dim) for problem in ranked]
        predicted["rank"]["low_rank"][word] = [
            [expected.low_rank_capacity(problem, fraction, law) for fraction in config.fractions]
            for problem, law in zip(ranked, laws, strict=True)
        ]
        predicted["rank"]["polar"][word] = [expected_capacity(problem, "polar") for problem in ranked]
        predicted["over_sgd"][word] = expected.sign_over_sgd(alpha)
    first = [Problem.power_law(config.n_items, dim, config.first_alpha) for dim in config.first_dims]
    predicted["first"] = {
        "muon": [expected_capacity(problem, "polar") for problem in first],
        "sgd": [expected_capacity(problem, "sgd") for problem in first],
        "sign": [expected.SignLaw.solve(problem.frequencies, problem.dim).capacity() for problem in first],
    }
    n = len([name for name in TRACK if name in config.optimizers])
    predicted["track"] = {name: steps for name, steps in TRACK.items() if name in config.optimizers}
    predicted["least_significant"] = expected.least_significant(n) if n >= 4 else None
    return predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """sign, rank, dion: counts from `SHARP_DIM` on, in total by α; dion: warm.

    logits: signals above `CLEAR_SIGNAL` and deviations of rivals, by the same rule. identities: `IDENTITY`.
    momentum: without it Muon ends at a higher loss at the smallest batch, and at a lower one on the population.
    ranking: at the smallest batch the rank correlation with the track has a chance of at most `CHANCE`.
    """
    exact = [name for name in (*POLAR_FIRST, "adam") if name in measured["distance"]]
    return _judge_sign(config, measured, predicted) | {
        **_judge_rank(config, measured, predicted["rank"]),
        "identities": check(
            max(measured["distance"][name] for name in exact),
            IDENTITY,
            len(config.first_dims) * config.seeds * len(exact),
            "distance of an entry",
        ),
        "momentum": _judge_momentum(config, measured),
        "ranking": _judge_ranking(config, measured),
    }


def _at_large(config, dims: tuple[int, ...]) -> Callable[[dict], np.ndarray]:
    """The table of numbers by α in words, at the dimensions that are judged."""
    large = np.array(dims) >= SHARP_DIM
    return lambda values: np.array([values[f"{alpha:g}"] for alpha in config.alphas])[:, large]


def _totals(config, name: str, found, error, law, draws: int, rivals: dict, keep=True) -> list[dict]:
    """The numbers of counts by α."""
    at = [f"α = {alpha:g}" for alpha in config.alphas]
    return family(name, found, error, draws, law=law, band=SIZES, rivals=rivals, keep=keep, at=at)


def _judge_sign(config, measured: dict, predicted: dict) -> dict[str, dict]:
    if max(config.dims) < SHARP_DIM:
        return {name: equivalence([]) for name in ("sign", "logits")}
    table = _at_large(config, config.dims)
    laws = {key: table(values) for key, values in predicted["sign"].items()}
    names = {"rare rivals alone": "without_head", "Gaussian entries": "gaussian", "Muon's": "polar", "SGD's": "sgd"}
    found, error = table(measured["sign"]["sign"]), table(measured["sign_error"]["sign"])
    others = {name: laws[key] for name, key in names.items()}
    sign = _totals(config, "items", found, error, laws["sign"], config.sign_seeds, others)

    logits, at = (
        {key: table(values) for key, values in predicted["logits"].items()},
        [f"α = {a:g}" for a in config.alphas],
    )
    keep = logits["signal"] >= CLEAR_SIGNAL
    both = []
    for key, kept, others in (
        ("signal", keep, {"Gaussian entries": "gaussian", "in proportion to the frequency": "linear"}),
        ("rivals", True, {"Gaussian entries": "gaussian_rivals"}),
    ):
        rivals = {name: logits[law] for name, law in others.items()}
        rivals |= {"one deviation for all": np.ones_like(logits[key])} if key == "rivals" else {}
        given = {"law": logits[key], "band": SIZES, "rivals": rivals, "keep": kept, "at": at}
        found, error = table(measured["logits"][key]), table(measured["logits_error"][key])
        both += family(f"sum of {key}", found, error, config.sign_seeds, counted=False, **given)
    return {"sign": equivalence(sign), "logits": equivalence(both)}


def _judge_rank(config, measured: dict, predicted: dict) -> dict[str, dict]:
    if max(config.rank_dims) < SHARP_DIM:
        return {name: equivalence([]) for name in ("rank", "dion")}
    table, fractions = _at_large(config, config.rank_dims), np.array(config.fractions)
    law, polar = table(predicted["low_rank"]), table(predicted["polar"])[:, :, None]
    rivals = {
        "in proportion to the rank": polar * fractions,
        "Muon's": polar,
        "by the number of parameters": polar * (fractions * (2 - fractions)),
    }
    keep, n_draws = fractions >= LEAST_FRACTION, config.seeds

    def follows(key: str, others: dict) -> dict:
        found, error = table(measured["rank"][key]), table(measured["rank_error"][key])
        return equivalence(_totals(config, "items", found, error, law, n_draws, others, keep))

    first = {"Dion's first step": table(measured["rank"]["dion"])}
    return {"rank": follows("low_rank", rivals), "dion": follows("warm", rivals | first)}


def _smallest(config) -> int:
    """The smallest batch of the long runs, 0 where there is none but the population."""
    return min((batch for batch in config.batch_sizes if batch), default=0)


def _judge_momentum(config, measured: dict) -> dict:
    pair = ("muon", "muon_without_momentum")
    if 0 not in config.batch_sizes or len(config.batch_sizes) < 2 or not set(pair) <= set(config.optimizers):
        return order([])
    loss, error = (
        np.array([[measured[key][batch_word(batch)][name] for name in pair] for batch in (_smallest(config), 0)])
        for key in ("loss", "loss_error")
    )
    gap, doubt = np.log(loss[:, 1] / loss[:, 0]) * (1, -1), np.sqrt((np.nan_to_num(error) ** 2 / loss**2).sum(1))
    at = ("gained at the smallest batch", "lost on the population")
    return order(numbers("log of the loss", gap, doubt, config.seeds, limit=0.0, scale=DIFFERENCE, at=at))


def _judge_ranking(config, measured: dict) -> dict:
    shared = [name for name in TRACK if name in config.optimizers]
    if len(shared) < 6:
        return order([])
    track = [TRACK[name] for name in shared]
    losses = [measured["loss"][batch_word(_smallest(config))][name] for name in shared]
    chance = expected.spearman_chance(losses, track)
    return order(numbers("share of random orders that agree less", 1 - chance, draws=config.seeds, limit=1 - CHANCE))


def _sign(problem: Problem) -> tuple[dict, dict]:
    """Counts by law, and by octave of rank what the laws say of the logits of sign(G)."""
    q, dim, n_items = problem.frequencies, problem.dim, problem.n_items
    law = expected.SignLaw.solve(q, dim)
    values, gaussian, gaussian_count = expected.gaussian_entries(q, dim)
    counts = {
        "sign": law.capacity(),
        "sgd": expected_capacity(problem, "sgd"),
        "without_head": law.without_head(),
        "gaussian": gaussian_count,
        "polar": expected_capacity(problem, "polar"),
    }
    log_q, log_values = np.log(q.numpy()), np.log(values[::-1])
    at_ranks = lambda curve: np.interp(log_q, log_values, curve[::-1])
    octaves = [slice(2**k - 1, 2 ** (k + 1) - 1) for k in range(int(np.log2(n_items // 2 + 1)))]
    means = lambda curve: [at_ranks(curve)[ranks].mean() for ranks in octaves]
    square = law.counts @ values**2
    logits = {
        "signal": means(law.signal),
        "rivals": np.sqrt(means(law.rivals[-1])),
        "gaussian": means(gaussian),
        "gaussian_rivals": np.sqrt(means(1 + dim * 2 / np.pi * values**2 / square)),
        "linear": means(law.signal[-1] / values[-1] * values),
    }
    return counts, logits
