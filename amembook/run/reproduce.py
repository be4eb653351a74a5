"""One statement again, in minutes, on draws of one's own and at small sizes: what a referee runs in an afternoon."""

import difflib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
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

    keys: the verdicts of a study that are asked for. sizes: the fields of its config that are other than the record's,
    so that minutes give the word where minutes can. idle: those that shrink what these verdicts do not read. entries:
    the config ↦ names of the single entries of a table, in its order. Without keys plain torch counts Muon's iterates
    at `sizes`, and `steps` is where the record has its counts.
    """

    record: str
    sizes: dict
    keys: tuple[str, ...]
    minutes: float
    steps: tuple[tuple, ...] = ()
    idle: dict = field(default_factory=dict)
    entries: Callable[[object], list[str]] | None = None


def _large(dims) -> list[str]:
    return [f"d = {dim}" for dim in dims if dim >= claims.SHARP_DIM]


def _after_steps(steps: str) -> Callable[[object], list[str]]:
    """Names of the entries of `deflation`: at every d after every step."""
    return lambda config: [f"step {t + 1}, {at}" for t in range(getattr(config, steps)) for at in _large(config.dims)]


ONE_STEP, STEPS = "one-step/confirm-alpha-1.5", "deflation/confirm-large-alpha-1.5"
BATCH, LEMMA_8 = "critical-batch/confirm-alpha-1.5", "optimality/confirm-alpha-1.5"
NO_SGD, NO_MUON = {"parts": ("one_step",)}, {"parts": ("sgd_step",)}
MUON_DIMS, SGD_DIMS = {"dims": (128, 256, 512)}, {"sgd_dims": (1024, 4096, 16_384), "sgd_seeds": 40}
BOTH = MUON_DIMS | {"seeds": 24} | SGD_DIMS
FROM_256 = {"dims": (256, 512), "seeds": 24}
SCHEDULE = "schedules/confirm", {"alphas": (1.5, 2.0), "dims": (256,), "torch_dims": (256,), "seeds": 8}
MANY, PLAIN = tuple((f"muon_{step}", 2) for step in range(1, 6)), tuple((0, 1, step) for step in range(4))
at_dims = {"entries": lambda config: _large(config.dims)}
at_sgd_dims = {"entries": lambda config: _large(config.sgd_dims)}
after_steps, after_sgd_steps = ({"entries": _after_steps(name)} for name in ("steps", "sgd_steps"))
STATEMENTS = {
    "Sharp capacity": Again(
        "sharp/confirm-grid", {"n_items": 5000, "dim": 256, "draws": 8}, (), 0.5, (("polar", 1, 0, 2),)
    ),
    "Conjecture": Again("many-steps/confirm-large-alpha-1.5", {"n_items": 8192, "dim": 96, "draws": 8}, (), 3, MANY),
    "Figure 4": Again("many-steps/confirm-alpha-1.5", {"n_items": 8192, "dim": 96, "draws": 8}, (), 3, MANY),
    "A recursion for the true iterates": Again(
        "trajectory/confirm-alpha-1.5", {"n_items": 4096, "dim": 192, "draws": 12}, (), 0.7, PLAIN
    ),
    "Theorem 1": Again(ONE_STEP, BOTH, ("polar", "sgd"), 4),
    "Theorem 2": Again(
        STEPS, FROM_256, ("polar", "sgd"), 5, idle={"parts": ("population",), "rules": ("polar", "sgd")}
    ),
    "Theorem 3": Again(
        ONE_STEP, MUON_DIMS | {"seeds": 48}, ("smoothed_sign", "prefix_smoothed_sign"), 4, idle=NO_SGD, **at_dims
    ),
    "Theorem 5": Again(ONE_STEP, SGD_DIMS | {"sgd_seeds": 64}, ("sgd",), 3, idle=NO_MUON, **at_sgd_dims),
    "Theorem 9": Again(
        STEPS,
        FROM_256,
        ("smoothed_sign", "polar"),
        4,
        idle={"parts": ("population",), "rules": ("smoothed_sign", "polar")},
        **after_steps,
    ),
    "Theorem 10": Again(
        STEPS, FROM_256, ("sgd",), 2, idle={"parts": ("population",), "rules": ("sgd",)}, **after_sgd_steps
    ),
    "Corollary 4": Again(
        "loss/confirm-alpha-1.5", {"dims": (64, 128, 256), "seeds": 24}, ("polar", "smoothed_sign"), 5
    ),
    "Lemma 8": Again(
        LEMMA_8,
        {"spectrum_dims": (32, 64, 128), "spectrum_seeds": 1600},
        ("smallest", "inverse_sum"),
        3,
        idle={"dims": (16,), "n_items": 64, "seeds": 2, "lam_over_t0": (1.0,), "haar_seeds": 2},
    ),
    "Proposition 18": Again("interactions/confirm-alpha-1.5", {"dims": (128, 256)}, ("smoothed_sign", "polar"), 0.5),
    "Lemma 14": Again(
        BATCH, {"dims": (64, 128, 256)}, ("lemma_14",), 1, idle={"sgd_dims": (1024, 4096), "sgd_seeds": 4}
    ),
    "Figure 1": Again(ONE_STEP, BOTH, ("polar", "sgd"), 4),
    "Figure 2": Again("one-step/confirm-alpha-2", MUON_DIMS | {"seeds": 24}, ("polar",), 2, idle=NO_SGD, **at_dims),
    "Figure 3": Again(
        "critical-batch/figures",
        {"dims": (128, 256), "sgd_dims": (4096, 16_384), "sgd_seeds": 40, "sgd_predicted_seeds": 40},
        ("polar", "sgd"),
        6,
    ),
    "Optimizers, the sign": Again("optimizers/confirm", {"dims": (128, 256)}, ("sign", "logits"), 1),
    "Optimizers, low rank": Again("optimizers/many", {}, ("rank", "dion"), 3, idle={"batch_sizes": (0,), "steps": 1}),
    "Schedules, items kept": Again(*SCHEDULE, ("counts",), 1),
    "Schedules, as shipped": Again(*SCHEDULE, ("torch",), 1),
    "Rectangles": Again(
        "rectangles/many",
        {},
        ("shapes",),
        4,
        idle={"tilings": ("1x1",), "part_scales": (1.0,), "one_hot_dims": (16,)},
        entries=lambda config: list(config.shapes),
    ),
    "Semiautomata, the price of a letter": Again(
        "semiautomata/words", {"learn_states": (6, 8), "turns_learnt": (0.5, 1.0, 1.5)}, ("words",), 2
    ),
    "Token retrieval, sample size": Again("token-retrieval/confirm", {}, ("samples", "multiplicative"), 2),
    "Weak to strong, what is inherited": Again("weak-to-strong/many", {"repeats": 300, "seeds": 10}, ("inherited",), 2),
}
# a study that somebody deletes is not missed
STATEMENTS = {name: one for name, one in STATEMENTS.items() if (records.RECORDS / f"{one.record}.json").exists()}
ALPHA = 1.5
"""The power law of what is counted in plain torch."""
LAWS = {"a law a tenth higher": 1.1, "a law a tenth lower": 1 / 1.1}
"""What these counts must be told from."""


def find(name: str) -> str:
    """The statement of that name, in any case, with any marks between its words; `ValueError` with the nearest."""
    bare = lambda text: re.sub(r"\W+", "", text.lower())
    by_bare = {bare(statement): statement for statement in STATEMENTS}
    if bare(name) in by_bare:
        return by_bare[bare(name)]
    nearest = ", ".join(by_bare[one] for one in difflib.get_close_matches(bare(name), by_bare, 3, 0.3)) or "Theorem 1"
    raise ValueError(f"statement must be one that --list names, such as {nearest}; got {name[:60]!r}")


def reproduce(name: str, seed: int, results: str = "results", device: str = "auto", *, full: bool = False) -> dict:
    """Stored, fresh and predicted numbers of a statement, on draws from `seed` on, and the verdict on the fresh.

    full: at the sizes and with the draws of the record, the very number that the book quotes. `ValueError` for seeds
    that were looked at before the rule was written: they decide nothing.
    """
    check_count("seed", seed, least=0)
    statement, began = find(name), time.perf_counter()
    again = STATEMENTS[statement]
    record = records.read_record(records.RECORDS / f"{again.record}.json")
    experiment = studies.find_experiment(record["experiment"])
    if seed < experiment.unseen_from:
        seen = f"at least {experiment.unseen_from} for {statement}"
        raise ValueError(f"seed must be {seen}: those below were seen before its rule was written, got {seed}")
    if full and not again.keys:
        raise ValueError(f"--full must be left out for {statement}, which plain torch counts at one small size")
    if again.keys:
        stored_config = config_of(experiment, record["config"])
        config = replace(stored_config, first_seed=seed, **({} if full else again.sizes), **again.idle)
        fresh = cache.run(experiment, config, results, device)
        old, new = ({key: source["verdicts"][key] for key in again.keys} for source in (record, fresh))
        # a config that was made small for what is not asked for would mislead
        shown = {key: value for key, value in fresh["config"].items() if key not in again.idle}
        rerun = all(getattr(config, key) == getattr(stored_config, key) for key in again.sizes)
    else:
        shown = {"alpha": ALPHA, "first_seed": seed} | again.sizes
        fresh, config, stored_config, rerun = {"device": "cpu"}, None, None, False
        old, new = _count(again, record, seed)
    stored, numbers = _named(again, stored_config, old), _named(again, config, new)
    return {
        "statement": statement,
        "experiment": record["experiment"],
        "record": again.record,
        "config": shown,
        "reruns_the_record": rerun,
        "stored": {name: stored[name]["measured"] if name in stored else None for name in numbers},
        "measured": {name: one["measured"] for name, one in numbers.items()},
        "interval": {name: [one["low"], one["high"]] for name, one in numbers.items()},
        "predicted": {name: claims.base(one) for name, one in numbers.items()},
        "band": {name: [one["band"], one["scale"]] for name, one in numbers.items()},
        "outcome": {
            f"{key}: {name}": outcome(one, len(claims.decisive(verdict["numbers"])))
            for key, verdict in new.items()
            for name, one in zip(_names(again, config, verdict), verdict["numbers"], strict=True)
        },
        "rivals": {key: {of: verdict[of] for of in ("refused", "surviving", "near")} for key, verdict in new.items()},
        "verdict": claims.worst(new.values()),
        "device": fresh["device"],
        "seconds": round(time.perf_counter() - began, 1),
    }


def outcome(one: dict, looks: int) -> str:
    """What the rule says of a number: met, missed, or too wide; of one that need not be inside, allowed.

    looks: the comparisons of its claim, which all hold at once where one of them misses.
    """
    law = claims.base(one)
    if law is None or one["band"] is None or one["low"] is None or one["high"] is None:
        return "not judged"
    if claims.is_missed(one, law, looks):
        return "missed"
    low, high = (claims.off(one[end], law, one["scale"]) for end in ("low", "high"))
    reach = claims.reach(one)
    if low >= -reach and high <= reach:
        return "met"
    return "allowed" if one.get("guard") else "too wide" if abs(low + high) / 2 <= reach else "leans out"


def _names(again: Again, config, verdict: dict) -> list[str]:
    """The names of a verdict's numbers, its table's entries by their sizes where they are known."""
    guards = [one for one in verdict["numbers"] if one.get("guard")]
    labels = again.entries(config) if again.entries and guards else []
    if len(labels) != len(guards):
        return [one["name"] for one in verdict["numbers"]]
    left = iter(labels)
    return [
        f"{one['name'].rpartition(', entry')[0]}, {next(left)}" if one.get("guard") else one["name"]
        for one in verdict["numbers"]
    ]


def _named(again: Again, config, verdicts: dict) -> dict[str, dict]:
    return {
        f"{key}: {name}": one
        for key, verdict in verdicts.items()
        for name, one in zip(_names(again, config, verdict), verdict["numbers"], strict=True)
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
    held_to = {"law": law, "band": claims.count_band([dim]), "at": range(1, len(law) + 1)}
    held_to["rivals"] = {rival: law * factor for rival, factor in LAWS.items()}
    error = standard_error(np.array(counts), 0)
    fresh = claims.numbers("items after step", np.mean(counts, 0), error, draws, **held_to)
    before = claims.numbers("items after step", stored, **held_to)
    return {"Muon": {"numbers": before}}, {"Muon": claims.equivalence(fresh)}


def table(rerun: dict) -> str:
    """Stored, fresh and predicted, a line a number with its band and outcome; then rivals, verdict and its reasons."""
    form = lambda value: "–" if value is None else f"{value:.4g}"
    head = f"{'':44s} {'stored':>9s} {'fresh':>9s}   95 % interval    predicted  band     outcome"
    lines = [str(rerun["config"]), "", head]
    unnamed = {name for name in rerun["measured"] if re.search(r", entry \d+$", name)}
    for name, fresh in rerun["measured"].items():
        if name in unnamed:
            continue
        low, high = map(form, rerun["interval"][name])
        stored, predicted = form(rerun["stored"][name]), form(rerun["predicted"][name])
        band, scale = rerun["band"][name]
        wide = "–" if band is None else f"± {band:.3g}" if scale == claims.DIFFERENCE else f"± {band:.1%}"
        interval = f"[{low}, {high}]"
        line = f"{name:44s} {stored:>9s} {form(fresh):>9s}   {interval:16s} {predicted:>9s}  {wide:8s} "
        lines.append(f"{line}{rerun['outcome'][name]}")
    if unnamed:
        missed = sum(rerun["outcome"][name] == "missed" for name in unnamed)
        lines.append(f"and {len(unnamed)} single entries, of which {missed} miss")
    lines.append("")
    for key, rivals in rerun["rivals"].items():
        said = [f"{of} {', '.join(names)}" for of, names in rivals.items() if names]
        lines.append(f"{key}: rivals {'; '.join(said) or 'none'}")
    kept = lambda word: [name for name, one in rerun["outcome"].items() if one == word]
    for word in ("missed", "leans out", "too wide"):
        if names := kept(word):
            lines.append(f"{word}: {', '.join(names[:6])}{' …' if len(names) > 6 else ''}")
    if kept("too wide"):
        lines.append("too wide: the mean lies in its band, and more draws would narrow the interval")
    lines.append(f"verdict: {rerun['verdict']}")
    again = STATEMENTS[rerun["statement"]]
    same = f"the sizes and the number of draws are those of the record {rerun['record']}, which the book quotes"
    other = f"the book quotes the record {rerun['record']}, which has other sizes or draws"
    if again.keys and not rerun["reruns_the_record"]:
        other += "; --full draws these again"
    lines.append(same if rerun["reruns_the_record"] else other)
    return "\n".join([*lines, f"device: {rerun['device']}, {rerun['seconds']} s"])
