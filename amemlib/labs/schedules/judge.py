"""What the lab says of its numbers: every schedule beside its prediction, the law, the formats, torch's own Muon."""

import numpy as np

from amemlib.equivalents import SpectralLaw, expected_capacity
from amemlib.experiments.base import COUNT_BAND, SHARP_DIM, Results, standard_error
from amemlib.labs.schedules import expected
from amemlib.labs.schedules.measure import FORMATS, ROW_MAPS
from amemlib.problem import Problem
from amemlib.spectral import SCHEDULES
from amemlib.verdicts import refuse, verdict

LAW_BAND = 0.2
"""How far a count may lie from the law that knows a schedule by its slope alone: by the predictions themselves the
shape of a plateau moves a count by up to 16 %."""
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
    read = lambda alpha, *keys: results.array("schedules", *keys, alpha=alpha).astype(float)  # noqa: E731
    measured = {"counts": {}, "error": {}, "polar": {}, "norm": {}, "median": {}, "torch": {}, "torch_error": {}}
    for name in FORMATS:
        draws = {a: {key: read(a, "counts", name, key) for key in config.schedules} for a in config.alphas}
        measured["counts"][name] = {words[a]: {k: v.mean(1).tolist() for k, v in draws[a].items()} for a in draws}
        measured["error"][name] = {words[a]: {k: _error(v) for k, v in draws[a].items()} for a in draws}
    for key in ("polar", "norm", "median", "torch"):
        measured[key] = {word: read(alpha, key).mean(1).tolist() for alpha, word in words.items()}
    measured["torch_error"] = {word: _error(read(alpha, "torch")) for alpha, word in words.items()}
    measured["rows"] = {
        name: {word: read(alpha, "rows", name).mean(1).tolist() for alpha, word in words.items()} for name in ROW_MAPS
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
            counted = lambda key, of, name=name, laws=laws: [expected.expected_count(p, key, name, laws[p]) for p in of]  # noqa: E731
            predicted["counts"][name][word] = {key: counted(key, problems) for key in config.schedules}
            predicted["table"][name][word] = {
                key: (np.array(counted(key, tabled)) / full).tolist() for key in config.schedules
            }
    return predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """From `SHARP_DIM` on, for every α: within `COUNT_BAND` and two standard errors.

    counts: every schedule in float32. formats: float16 and bfloat16 with the noise of rounding, while that takes at
    most `MOST_LOST`. torch: its own Muon, beside jordan in bfloat16. law: `LAW_BAND` instead, a schedule known by its
    slope alone. All are predictions for these sizes, so both answers are one.
    """
    words = [f"{alpha:g}" for alpha in config.alphas]
    judged = np.array(config.dims) >= SHARP_DIM
    if not judged.any():
        return dict.fromkeys(("counts", "formats", "torch", "law"), verdict(None, None))
    table = lambda values: np.array([[values[w][k] for k in config.schedules] for w in words], float)[..., judged]  # noqa: E731

    def rule(names, band, held=True):
        found, error = (np.array([table(measured[key][name]) for name in names]) for key in ("counts", "error"))
        near = lambda law: np.abs(found - law) <= band * np.array(law) + 2 * np.nan_to_num(error)  # noqa: E731
        return lambda law: bool((near(law) | ~np.broadcast_to(held, found.shape)).all())

    exact = table(predicted["counts"]["float32"])
    alike = lambda values: np.broadcast_to(  # noqa: E731
        np.array([values[w] for w in words], float)[:, None, judged], exact.shape
    )
    rivals = {
        "exact Muon's items": alike(predicted["polar"]),
        "five steps are five steps": alike({w: predicted["counts"]["float32"][w]["jordan"] for w in words}),
        "SGD's items": alike(predicted["sgd"]),
    }
    slopes = np.array([predicted["slope"][key] for key in config.schedules])[:, None]
    full = rivals["exact Muon's items"]
    jordan = rivals["five steps are five steps"]
    proportional = np.minimum(full, jordan * slopes / predicted["slope"]["jordan"])
    is_count, is_law = rule(["float32"], COUNT_BAND), rule(["float32"], LAW_BAND)
    low = [name for name in FORMATS if name != "float32"]
    rounded = np.array([table(predicted["counts"][name]) for name in low])
    is_low = rule(low, COUNT_BAND, rounded >= (1 - MOST_LOST) * exact)
    met = {
        "counts": (is_count(exact), refuse(is_count, rivals)),
        "formats": (
            is_low(rounded),
            refuse(is_low, {"float32's items": exact} | rivals),
        ),
        "law": (is_law(table(predicted["law"])), refuse(is_law, rivals | {"in proportion to the slope": proportional})),
    }
    own, error = (np.array([measured[key][w] for w in words], float)[:, judged] for key in ("torch", "torch_error"))
    is_torch = lambda law: bool((np.abs(own - law) <= COUNT_BAND * law + 2 * np.nan_to_num(error)).all())  # noqa: E731
    shipped = np.array([predicted["counts"]["bfloat16"][w]["jordan"] for w in words])[:, judged]
    limits = {"exact Muon's items": full[:, 0], "SGD's items": rivals["SGD's items"][:, 0]}
    # where torch has no Muon there is nothing to judge
    ran = bool(own.all())
    met["torch"] = (is_torch(shipped), refuse(is_torch, limits)) if ran else (None, ())
    return {name: verdict(answer, answer, refused) for name, (answer, refused) in met.items()}


def _curve(problem: Problem, law: SpectralLaw) -> dict[str, list[float]]:
    """The law as a curve: reaches x, and the share of polar's items that h_λ with λ = s_{d/2} / x recovers."""
    median = float(law.quantile(0.5))
    reaches, polar = np.geomspace(1e-3, 30, LAW_POINTS), expected_capacity(problem, "polar")
    shares = [expected_capacity(problem, "smoothed_sign", lam=median / x) / polar for x in reaches]
    return {"reach": reaches.tolist(), "share": shares}


def _error(draws: np.ndarray) -> list[float]:
    return standard_error(draws).tolist()
