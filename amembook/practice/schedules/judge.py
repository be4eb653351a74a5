"""Every schedule beside its prediction, the law, the formats, torch's own Muon."""

from collections.abc import Iterator

import numpy as np

from amembook.practice.schedules import expected
from amembook.practice.schedules.measure import FORMATS, ROW_MAPS
from amembook.run.base import Results, standard_error
from amembook.run.claims import SHARP_DIM, SIZES, equivalence, family
from amemlib.equivalents import SpectralLaw, expected_capacity
from amemlib.problem import Problem
from amemlib.spectral import SCHEDULES

LAW_BAND = 0.16
"""The band of the law that knows a schedule by its slope alone: by the predictions themselves the shape of a plateau
moves a count by that much."""
MOST_LOST = 0.25
"""Where rounding takes more than this part of float32's items by its own prediction it is no perturbation any more, and
nothing is judged: on exploratory seeds up to a quarter more items were left than predicted."""
LAW_POINTS = 15
"""Points of the law's curve, from a thousandth of the reach to thirty times it."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Means over the draws with standard errors, by α in words and then aligned with `dims`; shares are of polar's.

    counts[format][α][schedule]; polar[α]; rows[map][α]; torch[α]. predicted: counts and polar alike; law[α][schedule],
    what h_λ with λ = ‖G‖_F / Λ recovers; sgd[α]; reach[α][schedule], Λ s_{d/2} / ‖G‖_F; curve[α], reaches and shares of
    h_λ at the largest d; table[format][α][schedule], shares at `table_dims`; and by schedule its slope and products.
    """
    words = {f"{alpha:g}": alpha for alpha in config.alphas}
    read = lambda word, *keys: results.array("schedules", *keys, alpha=words[word]).astype(float)
    by_schedule = lambda name, statistic: {
        word: {key: statistic(read(word, "counts", name, key)) for key in config.schedules} for word in words
    }
    mean = lambda draws: draws.mean(1)
    measured = {
        "counts": {name: by_schedule(name, mean) for name in FORMATS},
        "error": {name: by_schedule(name, standard_error) for name in FORMATS},
    }
    for key in ("polar", "norm", "median", "torch"):
        measured[key] = {word: mean(read(word, key)) for word in words}
    measured["torch_error"] = {word: standard_error(read(word, "torch")) for word in words}
    measured["rows"] = {name: {word: mean(read(word, "rows", name)) for word in words} for name in ROW_MAPS}
    return measured, predict(config)


def predict(config) -> dict:
    """All predictions, from the config alone."""
    tables = {name: SCHEDULES[name] for name in config.schedules}
    slopes = {name: expected.slope(table) for name, table in tables.items()}
    predicted = {"slope": slopes, "products": {name: expected.products(table) for name, table in tables.items()}}
    predicted |= {key: {} for key in ("polar", "sgd", "law", "reach", "curve")}
    predicted |= {key: {name: {} for name in FORMATS} for key in ("counts", "table")}
    for alpha in config.alphas:
        word = f"{alpha:g}"
        problems = [Problem.power_law(config.n_items, dim, alpha) for dim in config.dims]
        tabled = [Problem.power_law(config.table_items, dim, alpha) for dim in config.table_dims]
        laws = {problem: SpectralLaw.solve(problem.frequencies, problem.dim) for problem in (*problems, *tabled)}
        for key in ("polar", "sgd"):
            predicted[key][word] = [expected_capacity(problem, key) for problem in problems]
        predicted["law"][word] = {k: [expected.law_count(p, v) for p in problems] for k, v in slopes.items()}
        predicted["reach"][word] = {k: [expected.reach(p, v, laws[p]) for p in problems] for k, v in slopes.items()}
        predicted["curve"][word] = _curve(problems[-1], laws[problems[-1]])
        full = [expected_capacity(problem, "polar") for problem in tabled]
        for name in FORMATS:
            counted = lambda key, of, name=name, laws=laws: [expected.expected_count(p, key, name, laws[p]) for p in of]
            predicted["counts"][name][word] = {key: counted(key, problems) for key in config.schedules}
            predicted["table"][name][word] = {key: np.array(counted(key, tabled)) / full for key in config.schedules}
    return predicted


def judge(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """From `SHARP_DIM` on, the total of every schedule over α and d.

    counts: every schedule in float32. formats: float16 and bfloat16 with the noise of rounding, while that takes at
    most `MOST_LOST`. torch: its own Muon, beside jordan in bfloat16. law: `LAW_BAND`, a schedule known by its slope
    alone. All are predictions for these sizes.
    """
    words = [f"{alpha:g}" for alpha in config.alphas]
    large = np.array(config.dims) >= SHARP_DIM
    if not large.any():
        yield from dict.fromkeys(("counts", "formats", "torch", "law"), equivalence([])).items()
        return
    by_alpha = lambda values: np.array([values[word] for word in words])[:, large]
    # (schedules, α, d)
    table = lambda values: np.array([by_alpha({w: values[w][key] for w in words}) for key in config.schedules])

    def total(name: str, law: np.ndarray, band: float, rivals: dict, keep=True) -> list[dict]:
        held_to = {"law": law, "band": band, "rivals": rivals, "keep": keep, "at": config.schedules}
        items, error = table(measured["counts"][name]), table(measured["error"][name])
        return family(f"{name} items", items, error, config.seeds, **held_to)

    laws = {name: table(predicted["counts"][name]) for name in FORMATS}
    exact, jordan = laws["float32"], config.schedules.index("jordan")
    full, five = by_alpha(predicted["polar"]), exact[jordan]
    alike = lambda values: np.broadcast_to(values, exact.shape)
    rivals = {"exact Muon's items": alike(full), "five steps are five steps": alike(five)}
    yield "counts", equivalence(total("float32", exact, SIZES, rivals))

    formats = []
    for name in ("float16", "bfloat16"):
        keep = laws[name] >= (1 - MOST_LOST) * exact
        formats += total(name, laws[name], SIZES, {"float32's items": exact} | rivals, keep)
    yield "formats", equivalence(formats)

    slopes = np.array([predicted["slope"][key] for key in config.schedules])[:, None, None]
    rivals |= {"in proportion to the slope": np.minimum(full, five * slopes / slopes[jordan])}
    yield "law", equivalence(total("float32", table(predicted["law"]), LAW_BAND, rivals))

    own, error = by_alpha(measured["torch"]), by_alpha(measured["torch_error"])
    rivals = {"exact Muon's items": full, "jordan in float32": five}
    held_to = {"law": laws["bfloat16"][jordan], "band": SIZES, "rivals": rivals, "at": [f"α = {w}" for w in words]}
    # where torch has no Muon there is nothing to judge
    yield "torch", equivalence(family("items", own, error, config.seeds, **held_to) if own.all() else [])


def _curve(problem: Problem, law: SpectralLaw) -> dict:
    """The law as a curve: reaches x, and the share of polar's items that h_λ with λ = s_{d/2} / x recovers."""
    median = float(law.quantile(0.5))
    reaches, polar = np.geomspace(1e-3, 30, LAW_POINTS), expected_capacity(problem, "polar")
    shares = [expected_capacity(problem, "smoothed_sign", lam=median / x) / polar for x in reaches]
    return {"reach": reaches, "share": shares}
