"""The rule of the study `zoo`: items over Muon's and losses beside their laws, by kind of map, and two orders."""

from collections.abc import Iterator

import numpy as np

from amembook.run.claims import SIZES, SMALL, equivalence, numbers, order

KINDS = {
    "powers": (("power_0.25", "power_0.1", "power_-0.1", "power_-0.25", "soft"), SMALL),
    "steep": (("power_-0.5",), SMALL),
    "near": (("contra", "soft_polar", "tempered"), SIZES),
    "clipped": (("clip_0.25", "clip_0.5"), SIZES),
    "chaotic": (("kaon",), SMALL),
    "scattered": (("random_half", "random_exponential"), SMALL),
    "rows": (("rows_half", "rows_half_random"), SMALL),
    "few_rows": (("rows_quarter",), SMALL),
}
"""Kinds of maps and the band of items over Muon's: 3 % where the map is Muon's but for the head or the least quarter,
5 % where a law of first order is asked for more: steep maps, random values, rows."""
LOSSES = ("power_0.1", "power_-0.1", "power_-0.25", "soft", "contra", "soft_polar", "tempered", "clip_0.25", "clip_0.5")
"""The losses that are judged. Exploration had s^(1/4), like SGD's steps, 5 % off, and Kaon's, whose head is chaotic,
30 % and more; they are shown. Rows have no law."""
AHEAD = "power_-0.1"
AHEAD_FROM = 1.5
"""Below this α the law has the mildly negative power level with Muon."""


def judge(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """Items over Muon's by kind; losses at the best rate; a mildly negative power leads; balance changes nothing."""
    at = np.array([f"d = {dim}, α = {alpha:g}" for dim in config.dims for alpha in config.alphas])
    draws = np.repeat(config.draws_at, len(config.alphas))
    over_muon = {name: np.ravel(ratio) for name, ratio in measured["ratio"].items()}
    error = {name: np.ravel(values) for name, values in measured["ratio_error"].items()}
    laws = {name: np.ravel(ratio) for name, ratio in predicted["ratio"].items()}
    for kind, (names, band) in KINDS.items():
        judged = []
        for name in names:
            others = {"Muon": np.ones(len(at)), "the best map": laws["best"]}
            rivals = {rival: np.where(abs(laws[name] / x - 1) > band, x, np.nan) for rival, x in others.items()}
            held_to = {"law": laws[name], "band": band, "rivals": rivals, "at": at}
            judged += numbers(name, over_muon[name], error[name], draws, **held_to)
        yield kind, equivalence(judged)

    losses, at_alpha = [], [f"α = {alpha:g}" for alpha in config.alphas]
    for name in LOSSES:
        law = predicted["loss"][name]
        rivals = {"the loss of SGD": predicted["loss"]["sgd"], "another α": np.roll(law, 1)}
        held_to = {"law": law, "band": SMALL, "rivals": rivals, "at": at_alpha}
        losses += numbers(name, measured["loss"][name], measured["loss_error"][name], config.loss_seeds, **held_to)
    yield "losses", equivalence(losses)

    steep = np.array([alpha >= AHEAD_FROM for _ in config.dims for alpha in config.alphas])
    lead = over_muon[AHEAD][steep], error[AHEAD][steep], draws[steep]
    yield "ahead", order(numbers(f"{AHEAD} over Muon", *lead, limit=1, at=at[steep]))

    tall, rivals = [], {"a tenth more": 1.1, "a tenth less": 0.9}
    held_to = {"law": 1.0, "band": SMALL, "rivals": rivals, "at": at_alpha}
    for name in ("normuon", "aurora"):
        tall += numbers(name, measured["tall"][name], measured["tall_error"][name], config.tall_seeds, **held_to)
    yield "balanced", equivalence(tall)
