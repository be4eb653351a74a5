"""One step beside its predictions, identities, and the ranking of many steps."""

from collections.abc import Callable, Iterator

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
    measured |= {
        key: {batch_word(b): {} for b in config.batch_sizes} for key in ("loss", "loss_error", "factor", "items")
    }
    for grid, factors in (("runs", config.factors), ("still", (1.0,))):
        for label in results.grids[grid].axes["run"]:
            batch, _, name = label.partition(" ")
            losses, items = (results.array(grid, key, run=label) for key in ("loss", "items"))
            best = int(losses.mean(1).argmin())
            for key, value in (
                ("loss", losses[best].mean()),
                ("loss_error", standard_error(losses)[best]),
                ("factor", factors[best]),
                ("items", items[best].mean()),
            ):
                measured[key][batch_word(int(batch))][name] = float(value)
    measured["correlation"] = correlations(measured)
    return measured, predict(config)


def batch_word(batch_size: int) -> str:
    """The key of a batch size in a record."""
    return f"batch_{batch_size}" if batch_size else "population"


def _shared(names) -> list[str]:
    """Optimizers that ran here and on the track."""
    return [name for name in TRACK if name in names]


def correlations(measured: dict) -> dict[str, float]:
    """Rank correlation with the track: of the items of the first step (fewest last), and of the loss at each batch."""
    shared = _shared(measured["first"])
    if len(shared) < 4:
        return {}
    scores = {"first": [-measured["first"][name][-1] for name in shared]}
    scores |= {batch: [losses[name] for name in shared] for batch, losses in measured["loss"].items()}
    return {name: expected.spearman(values, [TRACK[name] for name in shared]) for name, values in scores.items()}


def predict(config) -> dict:
    """Everything that has a prediction, from the config alone; rivals of the sign's law beside it."""
    problems = lambda dims, alpha: [Problem.power_law(config.n_items, dim, alpha) for dim in dims]
    words = {f"{alpha:g}": alpha for alpha in config.alphas}
    signs = {word: [_sign(problem) for problem in problems(config.dims, alpha)] for word, alpha in words.items()}

    def by_law(k: int) -> dict:
        """Of counts, 0, or logits, 1: by law and α in words a list, aligned with `dims`."""
        laws = next(iter(signs.values()))[0][k]
        return {law: {word: [one[k][law] for one in rows] for word, rows in signs.items()} for law in laws}

    low_rank, polar = {}, {}
    for word, alpha in words.items():
        ranked = problems(config.rank_dims, alpha)
        laws = [(problem, SpectralLaw.solve(problem.frequencies, problem.dim)) for problem in ranked]
        low_rank[word] = [[expected.low_rank_capacity(p, share, law) for share in config.fractions] for p, law in laws]
        polar[word] = [expected_capacity(problem, "polar") for problem in ranked]
    first, shared = problems(config.first_dims, config.first_alpha), _shared(config.optimizers)
    return {
        "sign": by_law(0),
        "logits": by_law(1),
        "rank": {"low_rank": low_rank, "polar": polar},
        "over_sgd": {word: expected.sign_over_sgd(alpha) for word, alpha in words.items()},
        "first": {
            "muon": [expected_capacity(problem, "polar") for problem in first],
            "sgd": [expected_capacity(problem, "sgd") for problem in first],
            "sign": [expected.SignLaw.solve(problem.frequencies, problem.dim).capacity() for problem in first],
        },
        "track": {name: TRACK[name] for name in shared},
        "least_significant": expected.least_significant(len(shared)) if len(shared) >= 4 else None,
    }


def judge(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """sign, rank, dion: counts from `SHARP_DIM` on, in total by α; dion: warm.

    logits: signals above `CLEAR_SIGNAL` and deviations of rivals, by the same rule. identities: `IDENTITY`.
    momentum: without it Muon ends at a higher loss at the smallest batch, and at a lower one on the population.
    ranking: at the smallest batch the rank correlation with the track has a chance of at most `CHANCE`.
    """
    yield from _judge_sign(config, measured, predicted)
    yield from _judge_rank(config, measured, predicted["rank"])
    exact = [name for name in (*POLAR_FIRST, "adam") if name in measured["distance"]]
    furthest = max(measured["distance"][name] for name in exact)
    cases = len(config.first_dims) * config.seeds * len(exact)
    yield "identities", check(furthest, IDENTITY, cases, "distance of an entry")
    yield "momentum", _judge_momentum(config, measured)
    yield "ranking", _judge_ranking(config, measured)


def _at_large(config, dims: tuple[int, ...]) -> Callable[[dict], np.ndarray]:
    """The table of numbers by α in words, at the dimensions that are judged."""
    large = np.array(dims) >= SHARP_DIM
    return lambda values: np.array([values[f"{alpha:g}"] for alpha in config.alphas])[:, large]


def _judge_sign(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    if max(config.dims) < SHARP_DIM:
        yield from {"sign": equivalence([]), "logits": equivalence([])}.items()
        return
    table, seeds, at = _at_large(config, config.dims), config.sign_seeds, [f"α = {alpha:g}" for alpha in config.alphas]
    laws, logits = ({law: table(values) for law, values in predicted[name].items()} for name in ("sign", "logits"))
    rivals = {
        "rare rivals alone": laws["without_head"],
        "Gaussian entries": laws["gaussian"],
        "Muon's": laws["polar"],
        "SGD's": laws["sgd"],
    }
    items, error = table(measured["sign"]["sign"]), table(measured["sign_error"]["sign"])
    sign = family("items", items, error, seeds, law=laws["sign"], band=SIZES, rivals=rivals, at=at)
    yield "sign", equivalence(sign)

    signal = {"Gaussian entries": logits["gaussian"], "in proportion to the frequency": logits["linear"]}
    spread = {"Gaussian entries": logits["gaussian_rivals"], "one deviation for all": np.ones_like(logits["rivals"])}
    both = []
    for key, rivals, keep in (("signal", signal, logits["signal"] >= CLEAR_SIGNAL), ("rivals", spread, True)):
        held_to = {"law": logits[key], "band": SIZES, "rivals": rivals, "keep": keep, "at": at}
        mean, error = table(measured["logits"][key]), table(measured["logits_error"][key])
        both += family(f"sum of {key}", mean, error, seeds, counted=False, **held_to)
    yield "logits", equivalence(both)


def _judge_rank(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    if max(config.rank_dims) < SHARP_DIM:
        yield from {"rank": equivalence([]), "dion": equivalence([])}.items()
        return
    table, fractions = _at_large(config, config.rank_dims), np.array(config.fractions)
    law, polar = table(predicted["low_rank"]), table(predicted["polar"])[:, :, None]
    keep, at = fractions >= LEAST_FRACTION, [f"α = {alpha:g}" for alpha in config.alphas]
    rivals = {
        "in proportion to the rank": polar * fractions,
        "Muon's": polar,
        "by the number of parameters": polar * (fractions * (2 - fractions)),
    }
    first = {"Dion's first step": table(measured["rank"]["dion"])}
    for name, key, others in (("rank", "low_rank", rivals), ("dion", "warm", rivals | first)):
        items, error = table(measured["rank"][key]), table(measured["rank_error"][key])
        held_to = {"law": law, "band": SIZES, "rivals": others, "keep": keep, "at": at}
        yield name, equivalence(family("items", items, error, config.seeds, **held_to))


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
    shared = _shared(config.optimizers)
    if len(shared) < 6:
        return order([])
    track = [TRACK[name] for name in shared]
    losses = [measured["loss"][batch_word(_smallest(config))][name] for name in shared]
    chance = expected.spearman_chance(losses, track)
    return order(numbers("share of random orders that agree less", 1 - chance, draws=config.seeds, limit=1 - CHANCE))


def _sign(problem: Problem) -> tuple[dict, dict]:
    """Counts by law, and by octave of rank what the laws say of the logits of sign(G)."""
    q, dim = problem.frequencies, problem.dim
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
    means = lambda curve: [at_ranks(curve)[ranks].mean() for ranks in expected.octaves_of(problem.n_items)]
    square = law.counts @ values**2
    logits = {
        "signal": means(law.signal),
        "rivals": np.sqrt(means(law.rivals[-1])),
        "gaussian": means(gaussian),
        "gaussian_rivals": np.sqrt(means(1 + dim * 2 / np.pi * values**2 / square)),
        "linear": means(law.signal[-1] / values[-1] * values),
    }
    return counts, logits
