"""What a measurement says of a statement: one rule of equivalence, and the one word that it makes.

A judge makes `numbers`: what was measured, with its 95 % interval over independent draws, beside a law for these sizes
(nothing fitted), a limit, and the rival laws at the same place. The rule: *met* means that the whole interval of
measured over law (or measured less law, on the scale of the number) lies inside the band fixed beforehand, *missed*
that it lies wholly outside; else undecided. A rival is refused where the same rule calls it missed.

    COUNTS_BAND = SIZES   # where it comes from
    judged = numbers("items", counts.mean(1), count_error(counts, law), seeds, law=law, band=count_band(dims), at=dims,
                     rivals={"SGD": other})
    judged += exponents("exponent", slope, interval, sharp_slope, limit, rivals, seeds)
    return {"polar": equivalence(judged), "ahead": order(numbers("Muon over AdamW", ratio, error, seeds, limit=1)),
            "bound": check(ratio.max(), 1, draws=seeds), "nothing to judge by": equivalence([])}

Several comparisons: a law is met where *every* number is inside, and needs no correction for that; it is missed where
*one* is outside, so there, and where a rival is refused, intervals are widened (Bonferroni) to hold all at once. So one
multiplier: Student's t for the draws of the number, at 5 % for one look or shared by all of the claim.

A verdict is plain JSON: `word`, `kind` ("law", "order", "check"), `numbers`, `draws` (the fewest of a number, None if
nothing is random), `refused`, `surviving` and of these the `near`, which lie no further from the law than the band, and
`power`: the smallest error of the law (relative; absolute where every number is a difference) in either direction that
would cost a law its word, or, where the law is not met, that one interval of this width alone would call missed; what
all of them together notice says `noticed`. None for orders and checks. All of it follows from `kind` and `numbers`.
"""

import math
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

import numpy as np
from scipy.special import stdtrit

from amemlib import theory
from amemlib.scaling import fit_exponent

EXPONENT = 0.02
"""The band of an exponent, as a difference: 0.02 of an exponent is four per cent over a factor of eight in d, the error
of the sharp counts at both ends, and a quarter of what α ± 1/2 changes it by."""
SIZES, SMALL, NETWORK = 0.03, 0.05, 0.10
"""The bands of counts, times and losses, as a ratio: what the laws for these sizes leave out, of order 1/√d (3 % at
d = 1000); of small or two-sided measurements (d < 128, where head items differ from their mean); of trained networks,
whose seeds scatter by as much."""
SMALL_DIM = 128
FEWEST_DRAWS = 4
"""A mean, an exponent or an accuracy of fewer draws at a size decides nothing: its scatter is not known."""

RATIO, DIFFERENCE = "ratio", "difference"
REPRODUCED, PREDICTED, OBSERVED, UNDECIDED = "reproduced", "predicted", "observed", "undecided"
NOT_REPRODUCED, OPEN, CONSISTENT = "not reproduced", "open", "consistency check"
WORDS = (CONSISTENT, REPRODUCED, PREDICTED, OBSERVED, UNDECIDED, NOT_REPRODUCED, OPEN)
"""What a measurement can say of a statement, from best to worst. A consistency check is an identity or an inequality:
it is none of the others' rivals, so it stands before them. "open" is no word of a measurement: nobody knows, and counts
at these sizes cannot tell."""
TOO_FEW, RIVAL, LEANING, OUT_OF_REACH = "too few draws", "a rival survives", "leaning out", "out of reach"
WHYS = (TOO_FEW, RIVAL, OUT_OF_REACH, LEANING)
"""Why a verdict is undecided, from the hopeful to what more draws would call a miss."""


def count_band(dims) -> np.ndarray:
    """The band of counts at some dimensions: `SIZES`, below `SMALL_DIM` that of small ones."""
    return np.where(np.asarray(dims) < SMALL_DIM, SMALL, SIZES)


@cache
def multiplier(draws: float | None, looks: int = 1) -> float:
    """How many standard errors hold a mean of so many draws, 95 times of 100; all of `looks` means at once."""
    tail = 1 - 0.025 / looks
    if draws is not None and draws < 2:
        return math.inf
    return float(stdtrit(math.inf if draws is None else draws - 1, tail))


def numbers(
    name: str,
    measured,
    error=None,
    draws=None,
    *,
    law=None,
    limit=None,
    band=None,
    scale: str = RATIO,
    low=None,
    high=None,
    rivals: Mapping[str, object] = MappingProxyType({}),
    at=None,
    guard: bool = False,
    freedom: int | None = None,
) -> list[dict]:
    """The numbers of a claim, one for each entry of `measured`, all else of its shape or broadcast to it.

    error: standard error of the mean over `draws` independent draws; or low, high: a 95 % interval that is there
    already; with neither the number is exact. law, limit: what is judged by, NaN where an entry has none. band: the
    largest measured / law − 1 and law / measured − 1, or |measured − law| on the scale "difference". rivals: values
    at these places, NaN where one says nothing. at: labels of the entries. guard: an entry of a family whose mean is
    judged beside it: it can miss, it need not be inside. freedom: that of the scatter, `draws` less one if not given.
    """
    shape = np.shape(measured)
    measured = np.asarray(measured, dtype=float)
    if error is not None:
        counted = np.broadcast_to(np.asarray(math.nan if draws is None else draws, dtype=float), shape)
        width = np.vectorize(lambda n: multiplier(None if math.isnan(n) else n), otypes=[float])(counted) * error
        low, high = measured - width, measured + width
    spread = lambda values: np.broadcast_to(np.asarray(np.nan if values is None else values, float), shape).ravel()
    table = {key: spread(value) for key, value in {"law": law, "limit": limit, "band": band, "draws": draws}.items()}
    table |= {"low": spread(measured if low is None else low), "high": spread(measured if high is None else high)}
    laws = {rival: spread(values) for rival, values in rivals.items()}
    labels = [""] if shape == () else [f" {label}" for label in (range(measured.size) if at is None else np.ravel(at))]
    return [
        {"name": f"{name}{label}", "measured": _plain(value)}
        | {key: _plain(table[key][k]) for key in ("low", "high", "law", "limit", "band")}
        | {"scale": scale, "draws": None if np.isnan(table["draws"][k]) else int(table["draws"][k])}
        | {"rivals": {rival: _plain(own[k]) for rival, own in laws.items() if not np.isnan(own[k])}}
        | ({"guard": True} if guard else {})
        | ({} if freedom is None else {"freedom": freedom})
        for k, (value, label) in enumerate(zip(measured.ravel(), labels, strict=True))
    ]


def exponents(
    name: str, slope, interval, law, limit, rivals: Mapping[str, object], draws, band=EXPONENT, at=None, points=1
) -> list[dict]:
    """The numbers of exponents, each with its 95 % interval [low, high], fitted to `points` sizes, beside those of the
    sharp counts over the same d and their limits; either is None where it is not known. A rival is an exponent in the
    limit: at these d it is as far from the law as there from the limit.
    """
    low, high = np.moveaxis(np.asarray(interval, dtype=float), -1, 0)
    shift = 0.0 if law is None or limit is None else np.asarray(law, dtype=float) - limit
    others = {rival: np.asarray(value, dtype=float) + shift for rival, value in rivals.items()}
    held_to = {"law": law, "limit": limit, "band": band, "scale": DIFFERENCE, "low": low, "high": high}
    held_to |= {"freedom": points * (draws - 1)} if points > 1 else {}
    return numbers(name, slope, draws=draws, rivals=others, at=at, **held_to)


def growth(
    name: str,
    means: np.ndarray,
    error: np.ndarray,
    draws: int,
    law: np.ndarray,
    dims,
    limit,
    rivals: Mapping[str, object],
    band: float = SIZES,
    exponent_band: float = EXPONENT,
    at=("",),
) -> list[dict]:
    """The numbers of growths: the mean at the largest of `dims` over that at the smallest, beside the law's ratio.

    means, error, law: (rows, dims), the standard errors over as many independent draws; limit and every rival: (rows,)
    exponents in the limit, and at these d a rival is as far from the law as there. at: labels of the rows. The band is
    the smaller of `exponent_band` over this range of d and of `band`, that of the counts, at both ends. The interval is
    Student's for the difference of two logarithms whose scatters differ (Welch and Satterthwaite).
    """
    dims = np.asarray(dims, dtype=float)
    ends, length = [dims.argmin(), dims.argmax()], math.log(dims.max() / dims.min())
    made, reach_of_ratio = [], min(exponent_band * length, 2 * math.log1p(band))
    for row, label in enumerate(at):
        variance = (error[row, ends] / means[row, ends]) ** 2
        freedom = variance.sum() ** 2 / (variance**2).sum() * (draws - 1)
        width = stdtrit(freedom, 0.975) * math.sqrt(variance.sum())
        ratio, of_law = (values[row, ends[1]] / values[row, ends[0]] for values in (means, law))
        shifted = {rival: of_law * math.exp((values[row] - limit[row]) * length) for rival, values in rivals.items()}
        held_to = {"law": of_law, "limit": math.exp(limit[row] * length), "band": math.expm1(reach_of_ratio)}
        held_to |= {"low": ratio * math.exp(-width), "high": ratio * math.exp(width), "freedom": int(freedom)}
        made += numbers(f"{name} {label}".strip(), ratio, draws=draws, rivals=shifted, **held_to)
    return made


def family(
    name: str,
    measured,
    error=None,
    draws=None,
    *,
    law,
    band,
    at,
    rivals: Mapping[str, object] = MappingProxyType({}),
    keep=True,
    counted: bool = True,
) -> list[dict]:
    """The numbers of a table (groups, …) that has one law: the total of each group, with its name in `at`, and every
    entry as a guard. The total is the likeliest factor between counts and law if counts scatter like their root.

    measured: means with their `error` over `draws`; or, without an error, all draws, on a last axis of their own. The
    error of a total is that of the draws' totals, or where these are not known the sum of its entries' errors: they may
    share their draws. counted: items, of which an entry's error is never less than half the root of its law gives: the
    draws of a small count may all agree. keep: which entries count.
    """
    measured, law = np.asarray(measured, dtype=float), np.asarray(law, dtype=float)
    samples = None
    if error is None:
        samples, draws = measured, measured.shape[-1]
        measured, error = samples.mean(-1), standard_error(samples, -1)
    shape = measured.shape
    spread = lambda values: np.broadcast_to(np.asarray(values, dtype=float), shape)
    keep, law, error, draws = np.broadcast_to(keep, shape), spread(law), spread(np.nan_to_num(error)), spread(draws)
    axes = tuple(range(1, len(shape)))
    some = keep.any(axes)
    total = lambda values: np.where(keep, spread(values), 0.0).sum(axes)[some]
    fewest, narrowest = (np.where(keep, spread(values), np.inf).min(axes)[some] for values in (draws, band))
    of_totals = total(error)
    if samples is not None:
        of_totals = standard_error(np.where(keep[..., None], samples, 0.0).sum(axes), -1)[some]
    floor = lambda law, draws: np.sqrt(law / draws) / 2 if counted else 0.0
    of_totals = np.where(of_totals > 0, of_totals, floor(total(law), fewest))
    labels = [label for label, kept in zip(at, some, strict=True) if kept]
    others = {rival: total(values) for rival, values in rivals.items()}
    held_to = {"law": total(law), "band": narrowest, "rivals": others, "at": labels}
    made = numbers(name, total(measured), of_totals, fewest, **held_to)
    error = np.fmax(error, floor(law, draws))
    cells = {rival: spread(values)[keep] for rival, values in rivals.items()}
    held_to = {"law": law[keep], "band": spread(band)[keep], "rivals": cells, "guard": True}
    return made + numbers(f"{name}, entry", measured[keep], error[keep], draws[keep], **held_to)


def standard_error(draws: np.ndarray, axis: int = 1) -> np.ndarray | np.floating:
    """Standard error of the mean over the draws along an axis, NaN for a single draw; of a single row a number."""
    count = draws.shape[axis]
    if count < 2:
        return np.full(draws.mean(axis).shape, np.nan)
    return draws.std(axis, ddof=1) / math.sqrt(count)


def equivalence(judged: list[dict]) -> dict:
    """The verdict on a law for these sizes, a limit, or both; without a number it is undecided."""
    return _verdict("law", judged)


def order(judged: list[dict]) -> dict:
    """The verdict on inequalities, each of them *measured is larger than `limit`*: every interval must lie above."""
    return _verdict("order", judged)


def check(measured, bound=0, draws=None, name: str = "violations") -> dict:
    """The verdict on an identity or an inequality, measured ≤ bound, which no rival law can fail.

    draws: all of them together in the regime of the statement, since every one is a case of its own; fewer than
    `FEWEST_DRAWS` that hold decide nothing, a single one that does not breaks it.
    """
    return _verdict("check", numbers(name, measured, draws=draws, limit=bound, scale=DIFFERENCE))


def seen(verdict: dict) -> dict:
    """The verdict on draws that were looked at before its rule was written: they decide nothing."""
    if verdict["kind"] == "check":
        return verdict
    return _verdict(verdict["kind"], [one | {"draws": 0} for one in verdict["numbers"]])


def word(verdict: dict | str) -> str:
    """The word of a verdict, from its kind and its numbers alone; a record that today's rules cannot judge holds one.

    Reproduced: meets its limit and the law for its sizes, if it has one, and refuses its rivals. Predicted: meets the
    law for its sizes and refuses its rivals; the limit is not met, or there is none. Observed: an order, beyond its
    error. Not reproduced: misses what it is judged by. Undecided: an interval straddles its band, draws are too few, no
    rival is refused, or one survives that lies further from the law than the band.
    """
    if isinstance(verdict, str):
        return verdict
    kind, judged = verdict["kind"], verdict["numbers"]
    few = not judged or any(one["draws"] is not None and one["draws"] < FEWEST_DRAWS for one in judged)
    if kind == "check":
        broken = any(one["measured"] is None or one["measured"] > one["limit"] for one in judged)
        return NOT_REPRODUCED if broken else UNDECIDED if few else CONSISTENT
    if few:
        return UNDECIDED
    if kind == "order":
        if all(one["low"] is not None and one["low"] > one["limit"] for one in judged):
            return OBSERVED
        below = any(_widened(one, len(judged))[1] < one["limit"] for one in judged)
        return NOT_REPRODUCED if below else UNDECIDED
    sizes, limit = (_met(judged, key) for key in ("law", "limit"))
    main = limit if sizes == _NOTHING else sizes
    if main is False:
        return NOT_REPRODUCED
    refused, surviving, near = _rivals(judged)
    if main is not True or not refused or set(surviving) - set(near):
        return UNDECIDED
    return REPRODUCED if limit is True else PREDICTED


def why(verdict: dict) -> str:
    """Why a verdict is undecided, one of `WHYS`; of any other nothing.

    It asks what the rule would say if the means stayed and their intervals were points. Leaning out: it is missed then,
    a mean lies outside its band. A rival survives: it is undecided then. Too few draws: it is met then, or there are
    fewer than `FEWEST_DRAWS`. Out of reach: a check of which no draw lies in the regime that the statement speaks of.
    """
    if word(verdict) != UNDECIDED:
        return ""
    draws = [one["draws"] for one in verdict["numbers"] if one["draws"] is not None]
    if verdict["kind"] == "check":
        return OUT_OF_REACH if draws == [0] else TOO_FEW
    if not verdict["numbers"] or min(draws, default=FEWEST_DRAWS) < FEWEST_DRAWS:
        return TOO_FEW
    endless = word(verdict | {"numbers": [_endless(one) for one in verdict["numbers"]]})
    return {NOT_REPRODUCED: LEANING, UNDECIDED: RIVAL}.get(endless, TOO_FEW)


def _endless(one: dict) -> dict:
    """A number whose interval is its mean; a guard, which need not be inside, only where its interval lies outside."""
    if one.get("guard") and (base(one) is None or not is_missed(one, base(one), 1)):
        return one
    return one | {"low": one["measured"], "high": one["measured"]}


def survivors(verdict: dict) -> list[str]:
    """The rivals further from the law than the band that would survive if intervals were points."""
    _, surviving, near = _rivals([_endless(one) for one in verdict["numbers"]])
    return [name for name in surviving if name not in near]


def inside(verdict: dict) -> tuple[int, int]:
    """Of how many numbers of a verdict on a law it lies inside the 95 % interval, and how many there are."""
    known = [one for one in decisive(verdict["numbers"]) if verdict["kind"] == "law" and one["low"] is not None]
    return sum(one["low"] <= base(one) <= one["high"] for one in known), len(known)


def worst(verdicts: Iterable[dict | str]) -> str:
    """The worst word of several verdicts."""
    return max(map(word, verdicts), key=WORDS.index)


_NOTHING = "nothing to judge by"


def _verdict(kind: str, judged: list[dict]) -> dict:
    refused, surviving, near = _rivals(judged) if kind == "law" else ([], [], [])
    draws = min((one["draws"] for one in judged if one["draws"] is not None), default=None)
    made = {"kind": kind, "numbers": judged, "draws": draws, "refused": refused, "surviving": surviving, "near": near}
    return {"word": word(made)} | made | {"power": _power(judged) if kind == "law" else None}


def _plain(value: float) -> float | None:
    """A number as a record has it: six digits, None for what is not known or infinite."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def off(value: float | None, law: float, scale: str) -> float:
    """How far a value is from a law on its scale: a difference, or the logarithm of their ratio."""
    if value is None or math.isnan(value):
        return math.nan
    if scale == DIFFERENCE:
        return value - law
    if value <= 0 or law <= 0:
        return math.copysign(math.inf, value - law) if value != law else 0.0
    return math.log(value / law)


def reach(one: dict) -> float:
    """The band of a number on its scale."""
    return one["band"] if one["scale"] == DIFFERENCE else math.log1p(one["band"])


def _widened(one: dict, looks: int) -> tuple[float, float]:
    """The interval of a number, as wide as it must be to hold together with those of all `looks` of a claim."""
    if one["low"] is None or one["high"] is None:
        return math.nan, math.nan
    if one["low"] == one["high"]:
        return one["low"], one["high"]
    draws = one["freedom"] + 1 if "freedom" in one else one["draws"]
    factor = multiplier(draws, looks) / multiplier(draws)
    return tuple(one["measured"] + (end - one["measured"]) * factor for end in (one["low"], one["high"]))


def _is_met(one: dict, law: float) -> bool:
    low, high = (off(one[end], law, one["scale"]) for end in ("low", "high"))
    return low >= -reach(one) and high <= reach(one)


def is_missed(one: dict, law: float, looks: int) -> bool:
    low, high = (off(end, law, one["scale"]) for end in _widened(one, looks))
    return low > reach(one) or high < -reach(one)


def _met(judged: list[dict], key: str) -> bool | None | str:
    """Whether all numbers meet their law (or limit): None where that is not known."""
    those = [one for one in judged if one[key] is not None]
    if not those:
        return _NOTHING
    if any(is_missed(one, one[key], len(those)) for one in those):
        return False
    return all(_is_met(one, one[key]) for one in those if not one.get("guard")) or None


def base(one: dict) -> float | None:
    """What a number is judged by first: the law for its sizes, else its limit."""
    return one["limit"] if one["law"] is None else one["law"]


def decisive(judged: list[dict]) -> list[dict]:
    """The numbers that *met* and *missed* speak of: those with a law for these sizes, else those with a limit."""
    return [one for one in judged if one["law"] is not None] or [one for one in judged if one["limit"] is not None]


def noticed(verdict: dict) -> float | None:
    """The error of the law that the rule notices: of twice that, in either direction, a law loses its word.

    That is the `power` of a law that is met. Any other needs a miss, so its intervals are as wide as all comparisons
    ask for; a law that is missed already stays so. None where there is no law, no error is known or draws are too few.
    """
    if verdict["draws"] is not None and verdict["draws"] < FEWEST_DRAWS:
        return None
    if verdict["kind"] != "law" or word(verdict) in (REPRODUCED, PREDICTED):
        return verdict["power"]
    known = decisive(verdict["numbers"])
    those = [one for one in known if not one.get("guard")]
    those = [one for one in those if one["scale"] == RATIO] or those
    least = math.inf
    for one in those:
        low, high = (off(end, base(one), one["scale"]) for end in _widened(one, len(known)))
        least = min(least, reach(one) + (high - low) / 2)
    if not math.isfinite(least):
        return None
    return _plain(math.expm1(least) if those[0]["scale"] == RATIO else least)


def _rivals(judged: list[dict]) -> tuple[list[str], list[str], list[str]]:
    """The rival laws refused, those that survive, and of these the ones no further from the law than the band."""
    names = list(dict.fromkeys(name for one in judged for name in one["rivals"]))
    offered = {name: [one for one in judged if name in one["rivals"]] for name in names}
    refused = [
        name for name, those in offered.items() if any(is_missed(o, o["rivals"][name], len(those)) for o in those)
    ]
    surviving = [name for name in names if name not in refused]
    is_near = lambda one, name: abs(off(one["rivals"][name], base(one), one["scale"])) <= reach(one)
    return refused, surviving, [name for name in surviving if all(is_near(one, name) for one in offered[name])]


def _power(judged: list[dict]) -> float | None:
    those = [one for one in judged if base(one) is not None and not one.get("guard") and one["low"] is not None]
    ratios = [one for one in those if one["scale"] == RATIO]
    those = ratios or those
    if not those:
        return None
    ends = [[off(one[end], base(one), one["scale"]) for end in ("low", "high")] for one in those]
    bands = [reach(one) for one in those]
    if all(_is_met(one, base(one)) for one in those):
        up, down = (min(r + sign * end[k] for r, end in zip(bands, ends, strict=True)) for sign, k in ((1, 0), (-1, 1)))
        noticed = max(up, down)
    else:
        noticed = min(r + (high - low) / 2 for r, (low, high) in zip(bands, ends, strict=True))
    if not math.isfinite(noticed):
        return None
    return _plain(math.expm1(noticed) if ratios else noticed)


MAXIMUM_BAND = 0.1
"""How far the largest interaction may exceed the normal maximum: the maximum of one draw scatters by 3 to 5 %."""
SHARP_DIM = 256
"""From which d on the sharp prediction is held to that: below, the head items differ too much from their mean."""
FRESH_SEEDS = 3050
"""Where the seeds start that nobody had looked at when the rules took their present form."""


def count_error(counts: np.ndarray, expected: np.ndarray, axis: int = 1) -> np.ndarray:
    """Standard error of mean counts, and never less than half the root of an expected count gives.

    A few draws may agree by chance, and one has no scatter; a count of nearly independent events has about half its
    root.
    """
    draws = counts.shape[axis]
    return np.fmax(standard_error(counts, axis), np.sqrt(np.asarray(expected) / draws) / 2)


def luck(means: np.ndarray, draws: int) -> float:
    """The largest mean number of items recovered though nobody taught them, over what it is by luck.

    By luck there is one: every mean stands for `draws` Poisson numbers of mean 1, held to what the largest of all is
    once in forty times.
    """
    from scipy.stats import poisson  # a second to import

    return float(np.max(means) * draws / poisson.isf(0.025 / means.size, draws))


def capacity_verdicts(config, measured: dict, predicted: dict, methods: Mapping[str, str], **dims) -> dict[str, dict]:
    """For each map the level of the counts from `SHARP_DIM` on, and the exponent, beside sharp prediction and limit.

    methods: map ↦ the optimizer whose exponent it has in the limit, "muon" or "sgd"; the rivals are that optimizer's.
    dims: map ↦ its dimensions, where they are not the config's. Without a large one there is no answer.
    """
    verdicts = {}
    for name, method in methods.items():
        at = np.array(dims.get(name, config.dims))
        judged = at >= SHARP_DIM
        if not judged.any():
            verdicts[name] = equivalence([])
            continue
        seed_counts, sharp = np.array(measured["seed_counts"][name], dtype=float), np.array(predicted["counts"][name])
        held_to = {"law": sharp[None, judged], "band": SIZES, "at": [f"d = {at[judged][0]}…{at[-1]}"]}
        made = family("items", seed_counts[None, judged], **held_to)
        made += exponents(
            "exponent",
            measured["slope"][name],
            measured["interval"][name],
            fit_exponent(at, sharp).slope,
            predicted["slope"][name],
            rival_exponents(method, config.alpha),
            seed_counts.shape[1],
            points=len(at),
        )
        verdicts[name] = equivalence(made)
    return verdicts


def rival_exponents(method: str, alpha: float, steps: int = 1) -> dict[str, float]:
    """Laws that a capacity exponent must be told from: the other optimizer's, and those of α ± 1/2."""
    other = {"muon": "sgd", "sgd": "muon"}[method]
    rivals = {
        {"muon": "Muon", "sgd": "SGD"}[other]: theory.recovery_exponent(other, alpha, steps),
        "α + 1/2": theory.recovery_exponent(method, alpha + 0.5, steps),
    }
    if alpha > 1:
        rivals["α − 1/2"] = theory.recovery_exponent(method, alpha - 0.5, steps)
    return rivals


def rival_step_exponents(method: str, alpha: float, steps: int) -> dict[str, list[float]]:
    """Laws that the exponents after 1, …, `steps` steps must be told from: each step's, and the next step's."""
    laws = [rival_exponents(method, alpha, t) for t in range(1, steps + 1)]
    rivals = {name: [law[name] for law in laws] for name in laws[0]}
    return rivals | {"one step more": [theory.recovery_exponent(method, alpha, t) for t in range(2, steps + 2)]}
