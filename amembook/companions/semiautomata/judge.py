"""Measured numbers beside predicted ones, and the verdicts."""

from collections.abc import Iterator

import numpy as np

from amembook.companions.semiautomata import expected
from amembook.companions.semiautomata.measure import word_length
from amembook.run.base import MAPS, Results, standard_error
from amembook.run.claims import DIFFERENCE, SIZES, SMALL, check, equivalence, numbers, order
from amembook.run.study import means

RENAMED_BAND = 1e-4
PARTS = ("agreement", "gap", "connected", "words", "price", "zipf")
LONGER = 2.0  # turns from which on a word is long enough for an exponent


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Of the parts that were measured. `agreement`: excess by T, for each N, with its own error and with that of the
    excess less what the mean letters of the same pair say. `gap`, `connected`: by N and letters a state. `words`: by N
    and turns. `price`: by length and looks, a map. `zipf`: by exponent, a map. predicted: the same, and rival laws."""
    measured, predicted = {}, {}
    summaries = dict(zip(PARTS, (_agreement, _gap, _connected, _words, _price, _zipf), strict=True))
    for part in config.parts:
        measured[part], law = summaries[part](config, results)
        predicted |= {} if law is None else {part: law}
    return measured, predicted


def _agreement(config, results: Results) -> tuple[list, list]:
    measured, predicted = [], []
    for n in config.states:
        excess, own = (results.array("agreement", key, n_states=n) for key in ("excess", "own"))
        lengths = np.arange(1, excess.shape[1] + 1)
        late = lengths >= n
        rate = -np.polyfit(lengths[late], np.log(np.maximum(excess.mean(0), 1e-300))[late], 1)[0]
        # a pair's scatter is in its law as well: that of their ratio is what judges
        beyond = excess - own * (excess.mean(0) / own.mean(0))
        errors = {"error": standard_error(excess, 0), "paired_error": standard_error(beyond, 0), "rate": float(rate)}
        renamed = results.array("agreement", "renamed", n_states=n)
        measured.append({"excess": excess.mean(0)} | errors | {"renamed": renamed})
        laws = {"rate": -2 * np.log(expected.letter_factor(n)), "renamed": expected.renamed_excess(n // 3, n)}
        predicted.append({"own": own.mean(0), "limit": expected.excess(n, lengths)} | laws)
    return measured, predicted


def _gap(config, results: Results) -> tuple[dict, dict]:
    sizes = [(n, k * n) for n in config.gap_states for k in config.gap_per_state]
    laws = {"free": expected.free_gap, "semicircle": expected.semicircle_gap}
    table = lambda law: np.reshape([law(*size) for size in sizes], (len(config.gap_states), -1))
    return _means(results, "gap", ("pair", "own"), 2), {name: table(law) for name, law in laws.items()}


def _connected(config, results: Results) -> tuple[dict, list]:
    law = [[expected.connected_share(n, k * n) for k in config.few_per_state] for n in config.gap_states]
    return _means(results, "connected", ("share",), 2), law


def _words(config, results: Results) -> tuple[dict, dict]:
    needed = results.array("words", "needed")
    lengths = [[word_length(n, turn) for turn in config.turns_learnt] for n in config.learn_states]
    measured = {"needed": needed.mean(2), "error": standard_error(needed, 2), "lengths": lengths}
    rows = list(zip(config.learn_states, lengths, strict=True))

    def law(power: float) -> list:
        return [[expected.words_needed(n, config.letters, T, config.level, power) for T in row] for n, row in rows]

    independent = [[expected.independent_words(n, config.letters, T, config.level) for T in row] for n, row in rows]
    predicted = {
        "needed": law(1.0),
        "rivals": {"λ^−(T−1)": law(0.5), "λ^−4(T−1)": law(2.0), "independent Gaussian leads": independent},
    }
    late = np.array(config.turns_learnt) >= LONGER
    if late.sum() < 2:
        late[:] = True
    fit = lambda words, row: np.polyfit(np.array(row)[late], np.log(np.multiply(words, row))[late], 1)[0]
    for part in (measured, predicted):
        fits = zip(part["needed"], rows, strict=True)
        part["slopes"] = [fit(words, row) / -np.log(expected.letter_factor(n)) for words, (n, row) in fits]
    return measured, predicted


def _price(config, results: Results) -> tuple[dict, dict]:
    words, T = results.array("price", "words").mean(2), np.array(config.price_lengths)[:, None]
    rho = expected.letter_factor(config.price_states) ** (T - 1)
    return {"words": words} | _means(results, "price", (*MAPS, "centred"), 2), {
        "looks": words * T * rho**2 / config.price_letters,
        "rivals": {"words": words, "letters read": words * T, "λ^(T−1) of them": words * T * rho},
    }


def _zipf(config, results: Results) -> tuple[dict, None]:
    return _means(results, "zipf", (*MAPS, "centred"), 1), None


def _means(results: Results, grid: str, names, axis: int) -> dict:
    return means({name: results.array(grid, name) for name in names}, axis)


def judge(config, measured: dict, predicted: dict) -> Iterator[tuple[str, dict]]:
    """Of the parts that were measured. agreement: two machines agree as their mean letters say, which are drawn with
    them, in the limit of infinitely many letters as λ^{2T}. renamed: a machine with renamed states agrees for ever, as
    π says. gap: a pair forgets a letter as the product of its machines' own factors. connected: so many machines have
    letters that connect all states. words: counts need the words of the law. price: what one step finds from words of
    other lengths is what it finds at as many looks, for SGD and for Muon. zipf: Muon's step finds more letters than
    SGD's.
    """
    judges = {"agreement": _judge_agreement, "gap": _judge_gap, "connected": _judge_connected, "words": _judge_words}
    judges |= {"price": _judge_price, "zipf": _judge_zipf}
    for part in PARTS:
        if part in config.parts:
            yield from judges[part](config, measured[part], predicted.get(part)).items()


def _judge_agreement(config, measured: list, predicted: list) -> dict:
    draws, agreement = config.seeds, []
    for n, one, law in zip(config.states, measured, predicted, strict=True):
        start, at = (n - 1) / n, [f"{n}, {T}" for T in range(1, len(law["limit"]) + 1)]
        powers = {"λ^(3T/2)": 0.75, "λ^(5T/2)": 1.25}
        rivals = {name: start * (law["limit"] / start) ** power for name, power in powers.items()}
        held_to = {"law": law["own"], "limit": law["limit"], "band": SMALL, "at": at, "rivals": rivals}
        error = one.get("paired_error", one["error"])
        agreement += numbers("excess at N, T =", one["excess"], error, draws, **held_to)
    off = [np.abs(one["renamed"] - law["renamed"]).max() for one, law in zip(measured, predicted, strict=True)]
    return {
        "agreement": equivalence(agreement),
        "renamed": check(max(off), RENAMED_BAND, draws * len(off), "largest distance from the limit"),
    }


def _judge_gap(config, gap: dict, law: dict) -> dict:
    rivals = {"free letters": law["free"], "a semicircle": law["semicircle"]}
    at = [f"{n}, {k}" for n in config.gap_states for k in config.gap_per_state]
    held_to = {"law": gap["own"], "band": SIZES, "scale": DIFFERENCE, "at": at, "rivals": rivals}
    error = np.hypot(gap["pair_error"], gap["own_error"])
    return {"gap": equivalence(numbers("gap at N, letters a state =", gap["pair"], error, config.seeds, **held_to))}


def _judge_connected(config, measured: dict, law) -> dict:
    share, law, draws = measured["share"], np.asarray(law), config.machines * config.seeds
    error = np.sqrt(law * (1 - law) / draws)
    at = [f"{n}, {k}" for n in config.gap_states for k in config.few_per_state]
    from_n_log_n = np.array(config.few_per_state) >= np.log(np.array(config.gap_states))[:, None]
    held_to = {"law": law, "band": SIZES, "scale": DIFFERENCE, "at": at}
    held_to |= {"rivals": {"from N log N letters on": from_n_log_n.astype(float)}}
    judged = numbers("share connected at N, letters a state =", share, error, draws, **held_to)
    return {"connected": equivalence(judged)}


def _judge_words(config, measured: dict, law: dict) -> dict:
    at = [f"{n}, {T:g}" for n, row in zip(config.learn_states, measured["lengths"], strict=True) for T in row]
    rivals = {name: own for name, own in law["rivals"].items() if name != "no price"}
    held_to = {"law": law["needed"], "band": SMALL, "at": at, "rivals": rivals}
    judged = numbers("words at N, T =", measured["needed"], measured["error"], config.seeds, **held_to)
    return {"words": equivalence(judged)}


def _judge_price(config, measured: dict, law: dict) -> dict:
    price, coordinates = [], {"looks": law["looks"]} | law["rivals"]
    for name in MAPS:
        share, error = (measured[key] for key in (name, f"{name}_error"))
        collapsed = {key: _at_first(coordinate, share) for key, coordinate in coordinates.items()}
        spread = np.hypot(error[1:], _at_first(law["looks"], error))
        at = [f"{name}, {T}, {looks:g}" for T in config.price_lengths[1:] for looks in config.price_looks]
        rivals = {key: values for key, values in collapsed.items() if key != "looks"}
        held_to = {"law": collapsed["looks"], "band": SIZES, "scale": DIFFERENCE, "at": at, "rivals": rivals}
        price += numbers("share by map, T, looks =", share[1:], spread, config.seeds, **held_to)
    return {"price": equivalence(price)}


def _judge_zipf(config, zipf: dict, law: None) -> dict:
    more, error = zipf["polar"] - zipf["sgd"], np.hypot(zipf["polar_error"], zipf["sgd_error"])
    held_to = {"limit": 0, "scale": DIFFERENCE, "at": config.zipfs}
    return {"zipf": order(numbers("Muon's share less SGD's, rank^−", more, error, config.seeds, **held_to))}


def _at_first(coordinate, values: np.ndarray) -> np.ndarray:
    """Values of the first row, read where the other rows have theirs by a coordinate."""
    x = np.log(np.array(coordinate, dtype=float))
    return np.array([np.interp(row, x[0], values[0]) for row in x[1:]])
