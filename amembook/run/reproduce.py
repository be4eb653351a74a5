"""One statement again, in minutes, on draws of one's own and at small sizes: what a referee runs in an afternoon."""

import re
import time
from dataclasses import dataclass, replace
from functools import reduce
from operator import getitem

import numpy as np

from amembook.run import cache, claims, records, studies
from amembook.run.base import config_of, standard_error
from amemlib import plain
from amemlib.checks import check_count


@dataclass(frozen=True)
class Again:
    """A statement's record, the minutes on one core, and how it is drawn again.

    keys: the verdicts of a study that are asked for, and `sizes` the fields of its config that are made small. Without
    keys plain torch counts Muon's iterates at these sizes, and `steps` is where the record has its counts.
    """

    record: str
    sizes: dict
    keys: tuple[str, ...]
    minutes: float
    steps: tuple[tuple, ...] = ()


ONE_STEP = (
    "one-step/confirm-alpha-1.5",
    {"dims": (128, 256, 512), "seeds": 6, "sgd_dims": (1024, 4096), "sgd_seeds": 32},
)
STEPS = "deflation/confirm-large-alpha-1.5", {"dims": (128, 256), "seeds": 8}
BATCH = "critical-batch/confirm-alpha-1.5", {"dims": (64, 128, 256), "sgd_dims": (1024, 4096)}
SCHEDULE = "schedules/confirm", {"alphas": (1.5, 2.0), "dims": (256,), "torch_dims": (256,), "seeds": 8}
MANY, PLAIN = tuple((f"muon_{step}", 2) for step in range(1, 6)), tuple((0, 1, step) for step in range(4))
STATEMENTS = {
    "Sharp capacity": Again(
        "sharp/confirm-grid", {"n_items": 5000, "dim": 256, "draws": 8}, (), 0.5, (("polar", 1, 0, 2),)
    ),
    "Conjecture": Again("many-steps/confirm-alpha-1.5", {"n_items": 8192, "dim": 96, "draws": 8}, (), 3, MANY),
    "A recursion for the true iterates": Again(
        "trajectory/confirm-alpha-1.5", {"n_items": 4096, "dim": 192, "draws": 12}, (), 0.7, PLAIN
    ),
    "Theorem 1": Again(*ONE_STEP, ("polar", "sgd"), 3),
    "Theorem 3": Again(*ONE_STEP, ("smoothed_sign", "prefix_smoothed_sign"), 3),
    "Theorem 5": Again(*ONE_STEP, ("sgd",), 3),
    "Theorem 9": Again(*STEPS, ("smoothed_sign", "polar"), 2),
    "Theorem 10": Again(*STEPS, ("sgd",), 2),
    "Corollary 4": Again("loss/confirm-alpha-1.5", {"dims": (64, 128, 256)}, ("polar", "smoothed_sign"), 2),
    "Proposition 18": Again("interactions/confirm-alpha-1.5", {"dims": (128, 256)}, ("smoothed_sign", "polar"), 0.5),
    "Lemma 14": Again(*BATCH, ("lemma_14",), 2),
    "Figure 3": Again(*BATCH, ("polar", "sgd"), 2),
    "Optimizers, the sign": Again("optimizers/confirm", {"dims": (128, 256)}, ("sign", "logits"), 1),
    "Optimizers, low rank": Again("optimizers/confirm", {"dims": (128, 256)}, ("rank", "dion"), 1),
    "Schedules, items kept": Again(*SCHEDULE, ("counts",), 1),
    "Schedules, as shipped": Again(*SCHEDULE, ("torch",), 1),
    "Rectangles": Again("rectangles/confirm", {}, ("shapes",), 3),
    "Semiautomata, the price of a letter": Again("semiautomata/confirm", {}, ("words",), 2),
    "Token retrieval, sample size": Again("token-retrieval/confirm", {}, ("samples", "multiplicative"), 2),
    "Weak to strong, what is inherited": Again("weak-to-strong/confirm", {}, ("inherited",), 2),
}
# a study that somebody deletes is not missed
STATEMENTS = {name: one for name, one in STATEMENTS.items() if (records.RECORDS / f"{one.record}.json").exists()}
ALPHA = 1.5
"""The power law of what is counted in plain torch."""
LAWS = {"a law a tenth higher": 1.1, "a law a tenth lower": 1 / 1.1}
"""What these counts must be told from."""


def find(name: str) -> str:
    """The statement of that name, in any case, with any marks between its words; `ValueError` with all names."""
    bare = lambda text: re.sub(r"\W+", "", text.lower())
    for statement in STATEMENTS:
        if bare(statement) == bare(name):
            return statement
    raise ValueError(f"statement must be one of {'; '.join(STATEMENTS)}, got {name!r}")


def reproduce(name: str, seed: int, results: str = "results", device: str = "auto") -> dict:
    """Stored, fresh and predicted numbers of a statement, on draws from `seed` on, and the verdict on the fresh."""
    check_count("seed", seed, least=0)
    statement, began = find(name), time.perf_counter()
    again = STATEMENTS[statement]
    record = records.read_record(records.RECORDS / f"{again.record}.json")
    if again.keys:
        experiment = studies.find_experiment(record["experiment"])
        config = replace(config_of(experiment, record["config"]), first_seed=seed, **again.sizes)
        fresh = cache.run(experiment, config, results, device)
        old, new = ({key: source["verdicts"][key] for key in again.keys} for source in (record, fresh))
    else:
        fresh = {"config": {"alpha": ALPHA, "first_seed": seed} | again.sizes, "device": "cpu"}
        old, new = _count(again, record, seed)
    by_name = lambda source: {f"{key}: {one['name']}": one for key in source for one in source[key]["numbers"]}
    stored, numbers = by_name(old), by_name(new)
    return {
        "statement": statement,
        "experiment": record["experiment"],
        "config": fresh["config"],
        "stored": {name: stored[name]["measured"] if name in stored else None for name in numbers},
        "measured": {name: one["measured"] for name, one in numbers.items()},
        "interval": {name: [one["low"], one["high"]] for name, one in numbers.items()},
        "predicted": {name: claims.base(one) for name, one in numbers.items()},
        "verdict": claims.worst(new.values()),
        "device": fresh["device"],
        "seconds": round(time.perf_counter() - began, 1),
    }


def _count(again: Again, record: dict, seed: int) -> tuple[dict, dict]:
    """The record's counts after each step, and those of plain torch, judged."""
    n_items, dim, draws = again.sizes.values()
    stored, law = (
        np.array([reduce(getitem, path, record[of]["counts"]) for path in again.steps])
        for of in ("measured", "predicted")
    )
    p, counts = plain.frequencies(n_items, ALPHA), []
    for draw in range(seed, seed + draws):
        U, V = plain.embeddings(n_items, dim, draw)
        iterates = plain.muon_iterates(U, V, p, dim**0.5, len(law))
        counts.append([int(plain.recovered(W, U, V).sum()) for W in iterates])
    given = {"law": law, "band": claims.count_band([dim]), "at": range(1, len(law) + 1)}
    given["rivals"] = {rival: law * factor for rival, factor in LAWS.items()}
    fresh = claims.numbers("items after step", np.mean(counts, 0), standard_error(np.array(counts), 0), draws, **given)
    before = claims.numbers("items after step", stored, **given)
    return {"Muon": {"numbers": before}}, {"Muon": claims.equivalence(fresh)}


def table(found: dict) -> str:
    """Stored, fresh and predicted, a line a number, then the verdict."""
    form = lambda value: "–" if value is None else f"{value:.4g}"
    lines = [str(found["config"]), "", f"{'':40s} {'stored':>9s} {'fresh':>9s}   95 % interval    predicted"]
    for name, fresh in found["measured"].items():
        low, high = map(form, found["interval"][name])
        stored, predicted = form(found["stored"][name]), form(found["predicted"][name])
        lines.append(f"{name:40s} {stored:>9s} {form(fresh):>9s}   {f'[{low}, {high}]':16s} {predicted:>9s}")
    return "\n".join([*lines, "", f"verdict: {found['verdict']}", f"device: {found['device']}, {found['seconds']} s"])
