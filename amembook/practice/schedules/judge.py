"""Every schedule beside its prediction, the law, the formats, torch's own Muon."""

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
    words = {alpha: f"{alpha:g}" for alpha in config.alphas}
    read = lambda alpha, *keys: results.array("schedules", *keys, alpha=alpha).astype(float)
    measured = {"counts": {}, "error": {}, "polar": {}, "norm": {}, "median": {}, "torch": {}, "torch_error": {}}
    for name in FORMATS:
        draws = {a: {key: read(a, "counts", name, key) for key in config.schedules} for a in config.alphas}
        measured["counts"][name] = {words[a]: {k: v.mean(1) for k, v in draws[a].items()} for a in draws}
        measured["error"][name] = {words[a]: {k: standard_error(v) for k, v in draws[a].items()} for a in draws}
    for key in ("polar", "norm", "median", "torch"):
        measured[key] = {word: read(alpha, key).mean(1) for alpha, word in words.items()}
    measured["torch_error"] = {word: standard_error(read(alpha, "torch")) for alpha, word in words.items()}
    measured["rows"] = {
        name: {word: read(alpha, "rows", name).mean(1) for alpha, word in words.items()} for name in ROW_MAPS
    }
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


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """From `SHARP_DIM` on, the total of every schedule over α and d.

    counts: every schedule in float32. formats: float16 and bfloat16 with the noise of rounding, while that takes at
    most `MOST_LOST`. torch: its own Muon, beside jordan in bfloat16. law: `LAW_BAND`, a schedule known by its slope
    alone. All are predictions for these sizes.
    """
    words = [f"{alpha:g}" for alpha in config.alphas]
    judged = np.array(config.dims) >= SHARP_DIM
    if not judged.any():
        return {name: equivalence([]) for name in ("counts", "formats", "torch", "law")}
    # (schedules, α, d)
    table = lambda values: np.array([[values[w][k] for w in words] for k in config.schedules])[..., judged]
    alike = lambda values: np.broadcast_to(np.array([values[w] for w in words])[:, judged], exact.shape)

    def follows(names, laws, band, rivals, kept=True) -> dict:
        made = []
        for name, law, keep in zip(names, laws, np.broadcast_to(kept, (len(names), *exact.shape)), strict=True):
            found, error = (table(measured[key][name]) for key in ("counts", "error"))
            given = {"law": law, "band": band, "rivals": rivals, "keep": keep, "at": config.schedules}
            made += family(f"{name} items", found, error, config.seeds, **given)
        return equivalence(made)

    exact = table(predicted["counts"]["float32"])
    jordan = {w: predicted["counts"]["float32"][w]["jordan"] for w in words}
    rivals = {"exact Muon's items": alike(predicted["polar"]), "five steps are five steps": alike(jordan)}
    slopes = np.array([predicted["slope"][key] for key in config.schedules])[:, None, None]
    full, five = rivals.values()
    proportional = {"in proportion to the slope": np.minimum(full, five * slopes / predicted["slope"]["jordan"])}
    low = [name for name in FORMATS if name != "float32"]
    rounded = np.array([table(predicted["counts"][name]) for name in low])
    verdicts = {
        "counts": follows(["float32"], [exact], SIZES, rivals),
        "formats": follows(
            low, rounded, SIZES, {"float32's items": exact} | rivals, rounded >= (1 - MOST_LOST) * exact
        ),
        "law": follows(["float32"], [table(predicted["law"])], LAW_BAND, rivals | proportional),
    }
    own, error = (np.array([measured[key][w] for w in words])[:, judged] for key in ("torch", "torch_error"))
    shipped = np.array([predicted["counts"]["bfloat16"][w]["jordan"] for w in words])[:, judged]
    others = {"exact Muon's items": full[0], "jordan in float32": five[0]}
    given = {"law": shipped, "band": SIZES, "rivals": others, "at": [f"α = {w}" for w in words]}
    made = family("items", own, error, config.seeds, **given)
    # where torch has no Muon there is nothing to judge
    return verdicts | {"torch": equivalence(made if own.all() else [])}


def _curve(problem: Problem, law: SpectralLaw) -> dict:
    """The law as a curve: reaches x, and the share of polar's items that h_λ with λ = s_{d/2} / x recovers."""
    median = float(law.quantile(0.5))
    reaches, polar = np.geomspace(1e-3, 30, LAW_POINTS), expected_capacity(problem, "polar")
    shares = [expected_capacity(problem, "smoothed_sign", lam=median / x) / polar for x in reaches]
    return {"reach": reaches, "share": shares}
