"""Measured numbers beside predicted ones, and the verdicts."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from amembook.companions.token_retrieval import expected
from amembook.run.base import MAPS, Results, scaled, slope, slope_error, standard_error
from amembook.run.claims import DIFFERENCE, EXPONENT, NETWORK, SIZES, count_band, equivalence, numbers, order
from amembook.run.study import by_part, claims_by_part, law, means
from amemlib.scaling import fit_exponent


def summarise(config, results: Results) -> tuple[dict, dict]:
    """By case: `samples[map]` and `one_hot["sgd"]`; by samples of a label: `attention[quantity]` and `gain["polar"]`;
    with their errors. predicted: the same where it can be, and `laws[name]`, what each law says of every case.
    """
    parts = {"cross": _of_cases, "grid": _grid, "shared": _shared, "one-hot": _one_hot}
    return by_part(config, results, parts | {"level": _level, "attention": _attention})


def _of_cases(config, results: Results) -> tuple[dict, dict]:
    sizes = list(results.grids["samples"].axes["case"].values())
    measured = {"cases": [[size[key] for key in ("n_tokens", "dim", "length")] for size in sizes]}
    counts = {name: results.array("samples", name) for name in MAPS}
    measured |= means({"ratio": counts["polar"] / counts["sgd"]})
    pairs = list(results.grids["one-hot"].axes["size"].values())
    place = [pairs.index({key: size[key] for key in ("n_tokens", "length")}) for size in sizes]
    one_hot = results.array("one-hot", "count")[place]
    gain = results.array("gain", "gain")
    every = {"samples": counts, "one_hot": {"sgd": one_hot}, "gain": {"polar": gain}}
    for key, draws in every.items():
        measured[key] = {name: values.mean(1) for name, values in draws.items()}
        measured[f"{key}_error"] = {name: standard_error(values) for name, values in draws.items()}

    V, d, L = np.transpose(measured["cases"]).astype(float)
    needed = [expected.samples_needed(*map(int, case), config.level) for case in measured["cases"]]
    single = [expected.one_hot_needed(int(v), int(length), config.level) for v, length in zip(V, L, strict=True)]
    leading = 2 * np.log(V) * (L - 1)
    noise = np.sqrt((config.length - 1) / np.array(config.gain_per_label))
    predicted = {
        "laws": {
            "ours": needed,
            "orthogonal vectors": single,
            "L (1 + V/d), one factor": leading * (1 + V / d),
            "L + (V/d)², a sum": L + (V / d) ** 2,
            "L d": L * d,
            "without crosstalk": leading * (1 + V / d) * (1 + 2 * V / d),
        },
        "samples": {"sgd": needed},
        "one_hot": {"sgd": single},
        "noise": noise,
        "gain": {"polar": [expected.polar_gain(r) for r in noise]},
    }
    with np.errstate(invalid="ignore"):
        at = np.sqrt(V * (L - 1) / measured["samples"]["sgd"])
    predicted["one_hot_ratio"] = [1 / expected.polar_gain(r) if np.isfinite(r) else math.nan for r in at]
    along = [k for k, case in enumerate(measured["cases"]) if case[:2] == [config.n_tokens, config.dim]]
    for part in (measured, predicted):
        part["length_exponent"] = {"sgd": slope(L[along] - 1, np.array(part["samples"]["sgd"])[along])}
    read, law = _attention(config, results)
    return measured | read, predicted | law


def _attention(config, results: Results) -> tuple[dict, dict]:
    """By samples of a label: `attention[quantity]` and its error; predicted: the mark's weight."""
    read = {key: results.array("attention", key) for key in ("hits", "weight")}
    measured = {"attention": {name: values.mean(1) for name, values in read.items()}}
    measured |= {"attention_error": {name: standard_error(values) for name, values in read.items()}}
    return measured, {"attention": {"weight": [(1 - 1 / config.length) * (n - 1) for n in config.per_label]}}


def _level(config, results: Results) -> tuple[dict, dict]:
    """`level`: by case and draw the N at which the mean share of named tokens is the level, with what the draw adds to
    it to first order; so its mean over draws is the N of the mean share. predicted: the N of three laws, `independent`,
    `by_lengths` and `by_counts`, from their shares at the same two numbers of samples."""
    cases = list(results.grids["level"].axes["case"].values())
    shares = {end: results.array("level", end) for end in ("low", "high")}
    needed = [_on_a_chord(config.level, *one) for one in zip(cases, shares["low"], shares["high"], strict=True)]
    by_lengths = partial(expected.recall_by_lengths, draws=config.law_draws)
    laws = {"independent": expected.recall_probability, "by_lengths": by_lengths}
    laws["by_counts"] = partial(expected.recall_by_counts, log2_draws=config.law_log2_draws)
    solved = {name: [] for name in laws}
    for case in cases:
        V, d, L = (case[key] for key in ("n_tokens", "dim", "length"))
        for name, chance in laws.items():
            ends = (np.array([chance(V, d, L, V * case[end])]) for end in ("low", "high"))
            solved[name].append(_on_a_chord(config.level, case, *ends)[0])
    return {"level": needed, "level_shares": {end: values.mean(1) for end, values in shares.items()}}, {"level": solved}


def _one_hot(config, results: Results) -> tuple[dict, dict]:
    """One-hot vectors alone, every V and L once; the dimension is that of the rival."""
    sizes, counts = results.grids["one-hot"].axes["size"].values(), results.array("one-hot", "count")
    cases = [[size["n_tokens"], config.dim, size["length"]] for size in sizes]
    measured = {"cases": cases, "one_hot": {"sgd": counts.mean(1)}, "one_hot_error": {"sgd": standard_error(counts)}}
    random = [expected.samples_needed(*case, config.level) for case in cases]
    single = [expected.one_hot_needed(V, L, config.level) for V, _, L in cases]
    return measured, {"laws": {"ours": random}, "one_hot": {"sgd": single}}


def _on_a_chord(level: float, case: dict, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The N at which the mean of the shares is the level, linear in log N between the ends of a case, by draw."""
    step, width = math.log(case["high"] / case["low"]), high.mean() - low.mean()
    at = (level - low.mean()) / width
    moved = (1 - at) * (low - low.mean()) + at * (high - high.mean())
    return case["n_tokens"] * case["low"] * math.exp(at * step) * (1 - step * moved / width)


def _grid(config, results: Results) -> tuple[dict, dict]:
    """`product`: the samples that naming needs by (V, L) and their error; `product_exponent`: of L − 1, by V, with its
    interval. `finding`: the samples of a label that finding needs, geometric means by case, and their error; over the
    law, of all cases, `finding_level`. predicted: `product`, `finding`, and `sum_exponent`, that of the best sum of a
    function of L and one of V.
    """
    named, lengths = results.array("product", "count").astype(float), np.array(config.product_lengths)
    finding = np.log(results.array("finding", "per_label").astype(float))
    fits = [fit_exponent(lengths - 1, row) if np.isfinite(row).all() else None for row in named]
    sizes = [(V, config.product_dim, L) for V in config.product_vocabularies for L in lengths]
    whole = np.isfinite(named).all((1, 2))
    kept = np.repeat(whole, len(lengths))
    summed = np.full(named.shape[:2], np.nan)
    if whole.sum() > 1:
        summed[whole] = sum_of_functions(named.mean(2).ravel()[kept], np.array(sizes)[kept]).reshape(-1, len(lengths))
    measured = means({"product": named}, 2)
    measured |= {"product_exponent": [fit.slope if fit else np.nan for fit in fits]}
    measured |= {"product_interval": [[fit.low, fit.high] if fit else [np.nan, np.nan] for fit in fits]}
    measured |= {"finding": np.exp(finding.mean(1))}
    measured |= {"finding_error": measured["finding"] * standard_error(finding)}
    cases = zip(config.find_tokens, config.find_dims, config.find_lengths, strict=True)
    law = np.array([expected.finding_needed(*case, config.level) for case in cases])
    level = np.log(np.exp(finding) / law[:, None]).mean(0)
    measured |= {"finding_level": math.exp(level.mean()), "finding_level_error": standard_error(np.exp(level), 0)}
    needed = [expected.samples_needed(V, d, int(L), config.level) for V, d, L in sizes]
    return measured, {
        "product": np.reshape(needed, named.shape[:2]),
        "sum_exponent": [slope(lengths - 1, row) for row in summed],
        "finding": law,
    }


def _shared(config, results: Results) -> tuple[dict, dict]:
    """`shared`: the samples that naming needs by case and draw; predicted: with lengths that signal and noise share,
    `by_lengths`, and as if both were `independent`."""
    sizes = [tuple(case.values()) for case in results.grids["shared"].axes["case"].values()]
    by_lengths = partial(expected.recall_by_lengths, draws=config.law_draws)
    laws = {"by_lengths": by_lengths, "independent": expected.recall_probability}
    needed = {name: [expected.samples_needed(*size, config.level, law) for size in sizes] for name, law in laws.items()}
    return {"shared": results.array("shared", "count")}, {"shared": needed}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """samples: the sample size is the law's, and grows as L. multiplicative: over all sizes it is proportional to the
    law and to no rival, a sum of a function of L and one of V and d among them. orthogonal: with one-hot vectors it is
    the exact one. attention: the mark's weight is the law's, and the place is found from two samples of a label on.
    gain: on one-hot vectors a polar step changes signal over noise as predicted. muon: with random vectors a polar step
    needs fewer samples than the gradient at all sizes; no law is known. product: the exponent of L − 1 is one at every
    load at which all draws arrive, as that of a product is and that of a sum is not. finding: the samples of a label
    that finding needs are the law's in their mean over all sizes, and at no size beyond the band. shared: the samples
    that naming needs are the law's of shared lengths, in the same words. counts, lengths: the N at which the mean share
    of named tokens is the level is the law's, with a rival's count as Poisson and with shared lengths alone, in the
    same words. proportional: at every size it is the count of independent Gaussians times one number, and no rival.
    exponents: that of L − 1 is one at every V and d
    with two lengths from `level_from` on, as for a product, not a sum.
    """
    grid = lambda *parts: {"product": _product(*parts), "finding": _finding(*parts)}
    claims = {"cross": _cross, "grid": grid, "shared": _judge_shared, "one-hot": _orthogonal}
    claims |= {"level": _judge_level, "attention": _judge_attention}
    return claims_by_part(config, measured, predicted, claims)


def _product(config, measured: dict, predicted: dict) -> dict:
    kept = np.isfinite(measured["product_exponent"])
    rivals = {"of the best sum": predicted["sum_exponent"][kept], "√L": 0.5, "L^(3/4)": 0.75, "L^(5/4)": 1.25}
    low, high = measured["product_interval"][kept].T
    held_to = {"limit": 1, "band": EXPONENT, "scale": DIFFERENCE, "rivals": rivals, "low": low, "high": high}
    at = [f"{V}, {config.product_dim}" for V in np.array(config.product_vocabularies)[kept]]
    fits = measured["product_exponent"][kept]
    return equivalence(numbers("exponent of L − 1 at V, d =", fits, draws=config.seeds, at=at, **held_to))


def _finding(config, measured: dict, predicted: dict) -> dict:
    cases = np.transpose([config.find_tokens, config.find_dims, config.find_lengths]).astype(float)
    samples, error, (V, d, L) = measured["finding"], measured["finding_error"], cases.T
    shapes = {"∝ L": L, "∝ L (1 + V/d)": L * (1 + V / d), "∝ L/V, no d": L / V}
    rivals = {"two": 2.0} | {name: scaled(shape, samples) for name, shape in shapes.items()}
    held_to = {"law": predicted["finding"], "band": NETWORK, "rivals": rivals, "at": _labels(cases), "guard": True}
    judged = numbers("samples of a label at V, d, L =", samples, error, config.seeds, **held_to)
    level, error = (measured[f"finding_level{end}"] for end in ("", "_error"))
    return equivalence(judged + numbers("over the law, all sizes", level, error, config.seeds, law=1, band=NETWORK))


def _judge_shared(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    at = _labels(zip(config.shared_tokens, config.shared_dims, config.shared_lengths, strict=True))
    laws = {name: np.array(values) for name, values in predicted["shared"].items()}
    rivals = {"signal and noise independent": laws["independent"]}
    yield "shared", _over(measured["shared"], laws["by_lengths"], rivals, at)


def _cross(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    draws, laws, at = config.seeds, predicted["laws"], _labels(measured["cases"])
    needed, error = measured["samples"]["sgd"], measured["samples_error"]["sgd"]
    V, d, L = np.transpose(measured["cases"]).astype(float)
    band = count_band(np.minimum(V, d))
    samples = numbers("samples at V, d, L =", needed, error, draws, law=laws["ours"], band=band, at=at)
    along = (V == config.n_tokens) & (d == config.dim)
    law, spread = predicted["length_exponent"]["sgd"], slope_error(L[along] - 1, needed[along], error[along])
    rivals = {"L^(3/4)": law - 0.25, "√L": law - 0.5, "L²": law + 1}
    held_to = {"law": law, "limit": 1, "band": EXPONENT, "scale": DIFFERENCE, "rivals": rivals}
    samples += numbers("exponent of L", measured["length_exponent"]["sgd"], spread, draws, **held_to)
    yield "samples", equivalence(samples)

    others = {name: law for name, law in laws.items() if name != "ours" and (law > 0).all()}
    others["any sum"] = sum_of_functions(needed, measured["cases"])
    rivals = {name: scaled(np.abs(law), needed) for name, law in others.items()}
    held_to = {"law": scaled(laws["ours"], needed), "band": band, "at": at, "rivals": rivals}
    yield "multiplicative", equivalence(numbers("samples at V, d, L =", needed, error, draws, **held_to))

    yield from _orthogonal(config, measured, predicted)

    yield from _judge_attention(config, measured, predicted)

    gain, error = measured["gain"]["polar"], measured["gain_error"]["polar"]
    rivals = {"one in its rest": 1 + 0 * gain, "(8/3π)²": (8 / (3 * np.pi)) ** 2}
    held_to = {"law": predicted["gain"]["polar"], "band": SIZES, "at": config.gain_per_label, "rivals": rivals}
    yield "gain", equivalence(numbers("gain at samples of a label =", gain, error, draws, **held_to))
    fewer, error = 1 / measured["ratio"], measured["ratio_error"] / measured["ratio"] ** 2
    yield "muon", order(numbers("gradient's over polar's samples at V, d, L =", fewer, error, draws, limit=1, at=at))


def _judge_attention(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    draws = config.seeds
    some = np.array(config.per_label) > 1
    counts, law = np.array(config.per_label)[some], predicted["attention"]["weight"][some]
    (hits, weight), errors = (
        [measured[part][key][some] for key in ("hits", "weight")] for part in ("attention", "attention_error")
    )
    held_to = {"law": law, "band": count_band(config.dim), "at": counts, "rivals": {"as many as samples": counts}}
    attention = numbers("weight of the mark at samples of a label =", weight, errors[1], draws, **held_to)
    held_to = {"law": 1, "band": SIZES, "scale": DIFFERENCE, "at": counts, "rivals": {"three samples": counts >= 3}}
    attention += numbers("share of places found at samples of a label =", hits, errors[0], draws, **held_to)
    yield "attention", equivalence(attention)


def _judge_level(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    names = ("tokens", "dims", "lengths")
    cases = np.transpose([getattr(config, f"level_{name}") for name in names]).astype(float)
    at, needed = _labels(cases), measured["level"]
    laws = {name: np.array(values) for name, values in predicted["level"].items()}
    for claim, own, other in (("counts", "by_counts", "independent"), ("lengths", "by_lengths", "independent")):
        yield claim, _over(needed, laws[own], {"signal and noise independent": laws[other]}, at)

    (V, d, L), means = cases.T, needed.mean(1)
    rivals = {
        "orthogonal vectors": [expected.one_hot_needed(int(v), int(n), config.level) for v, n in zip(V, L, strict=True)]
    }
    leading = 2 * np.log(V) * (L - 1)
    rivals |= {"L (1 + V/d), one factor": leading * (1 + V / d), "L + (V/d)², a sum": L + (V / d) ** 2, "L d": L * d}
    rivals |= {"without crosstalk": leading * (1 + V / d) * (1 + 2 * V / d), "any sum": sum_of_functions(means, cases)}
    rivals = {name: scaled(np.abs(law), means) for name, law in rivals.items()}
    held_to = {"law": scaled(laws["independent"], means), "band": count_band(np.minimum(V, d)), "at": at}
    held_to |= {"rivals": rivals}
    error = standard_error(needed)
    yield "proportional", equivalence(numbers("samples at V, d, L =", means, error, config.seeds, **held_to))

    pairs = {}
    for k in (k for k in np.lexsort((L, V, d)) if L[k] >= config.level_from):
        pairs.setdefault((V[k], d[k]), []).append(k)
    pairs = {size: (own[0], own[-1]) for size, own in pairs.items() if len(own) > 1}
    exponents = {}
    for (v, dim), (short, long) in pairs.items():
        span = math.log((L[long] - 1) / (L[short] - 1))
        moved = needed[long] / means[long] - needed[short] / means[short]
        exponents[f"{v:.0f}, {dim:.0f}"] = (math.log(means[long] / means[short]) + moved) / span
    summed = [slope(L[list(own)] - 1, rivals["any sum"][list(own)]) for own in pairs.values()]
    held_to = {"limit": 1, "band": EXPONENT, "scale": DIFFERENCE}
    held_to |= {"rivals": {"of the best sum": np.array(summed), "√L": 0.5, "L^(3/4)": 0.75, "L^(5/4)": 1.25}}
    yield "exponents", law("exponent of L − 1 at V, d =", exponents, **held_to)


def _over(needed: np.ndarray, law: np.ndarray, rivals: dict, at: list[str]) -> dict:
    """A law of the samples held to 3 % in its mean over sizes, and at every size as a guard."""
    over = needed / law[:, None]
    rivals = {name: values / law for name, values in rivals.items()}
    held_to = {"law": 1, "band": SIZES, "at": at, "rivals": rivals, "guard": True}
    made = numbers("samples over the law at V, d, L =", over.mean(1), standard_error(over), over.shape[1], **held_to)
    level = over.mean(0)
    rivals = {name: float(rival.mean()) for name, rival in rivals.items()}
    held_to = {"law": 1, "band": SIZES, "rivals": rivals}
    made += numbers("over the law, all sizes", level.mean(), standard_error(level, 0), len(level), **held_to)
    return equivalence(made)


def _orthogonal(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    (V, _, L), single = np.transpose(measured["cases"]).astype(float), measured["one_hot"]["sgd"]
    rivals = {"V log V, every label seen": V * np.log(V), "2 L log V": 2 * L * np.log(V)}
    rivals |= {"random vectors": predicted["laws"]["ours"]}
    held_to = {"law": predicted["one_hot"]["sgd"], "band": count_band(V), "at": _labels(measured["cases"])}
    held_to, error = held_to | {"rivals": rivals}, measured["one_hot_error"]["sgd"]
    yield "orthogonal", equivalence(numbers("one-hot samples at V, d, L =", single, error, config.seeds, **held_to))


def _labels(cases) -> list[str]:
    return [" ".join(f"{size:.0f}" for size in case) for case in cases]


def sum_of_functions(needed: np.ndarray, cases: np.ndarray) -> np.ndarray:
    """The function of L plus the function of V and d that lies nearest to the sample sizes, relative."""
    parts = [np.unique(part, axis=0, return_inverse=True)[1].ravel() for part in (cases[:, 2:], cases[:, :2])]
    design = np.hstack([np.eye(part.max() + 1)[part] for part in parts])
    return design @ np.linalg.lstsq(design / needed[:, None], np.ones(len(needed)), rcond=None)[0]
