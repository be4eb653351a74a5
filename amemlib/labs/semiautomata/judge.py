"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import numpy as np

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.semiautomata import expected
from amemlib.labs.semiautomata.measure import MAPS, word_length
from amemlib.verdicts import consistency, refuse, verdict

AGREE_BAND, RATE_BAND = 0.05, 0.1
"""How far an excess agreement may lie from what the mean letters say, relative and beyond two standard errors, and how
far its rate, of the largest N, from 2 log(1/λ): letters are many, not infinitely many."""
RENAMED_BAND = 1e-4
"""How far a renamed machine's agreement may lie from its limit at the end."""
GAP_BAND, WHOLE = 0.05, 0.9
"""How far a pair's gap may lie from that of the product of the machines' own factors, in units of 1 − λ²; what share of
it the largest alphabet must have."""
CONNECTED_ERRORS = 3.0
"""How many standard errors, which the exact law itself gives, the share of connected machines may lie from it; and one
machine. Not the scatter of the few draws: a first record's was by chance half as large, and missed a bar made of it."""
LONG, LONGER, WORDS_BAND, SLOPE_BAND = 1.5, 2.0, 0.15, 0.15
"""From how many turns on a word is long enough for its law, and for an exponent; how far a number of words may lie from
the law, relative and beyond two standard errors: letters differ from their mean, and Gaussians from counts. How far the
exponent of λ^−(T−1) may lie from two, relative: the law's own is up to a seventh short of it at these lengths."""
PRICE_BAND = 0.08
"""How far shares at one number of looks may lie apart, from words of different lengths, beyond two standard errors."""
ZIPF_RATIO = 3.0
"""From what ratio of shares on Muon's step finds more letters than SGD's, at the steeper frequencies."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """`agreement`: excess by T, for each N. `gap`, `connected`: by N and letters a state. `words`: by N and turns.
    `price`: by length and looks, a map. `zipf`: by exponent, a map. predicted: the same, and rival laws."""
    measured, predicted = {"agreement": []}, {"agreement": []}
    for n in config.states:
        found, own = (results.array("agreement", key, n_states=n) for key in ("excess", "own"))
        lengths = np.arange(1, found.shape[1] + 1)
        late = lengths >= n
        rate = -np.polyfit(lengths[late], np.log(np.maximum(found.mean(0), 1e-300))[late], 1)[0]
        measured["agreement"].append(
            {
                "excess": found.mean(0).tolist(),
                "error": standard_error(found, 0).tolist(),
                "rate": float(rate),
                "renamed": results.array("agreement", "renamed", n_states=n).tolist(),
            }
        )
        law = expected.excess(n, lengths)
        predicted["agreement"].append(
            {
                "own": own.mean(0).tolist(),
                "limit": law.tolist(),
                "rate": -2 * float(np.log(expected.letter_factor(n))),
                "renamed": expected.renamed_excess(n // 3, n),
            }
        )
    for name in ("gap", "connected"):
        keys = ("pair", "own") if name == "gap" else ("share",)
        measured[name] = {}
        for key in keys:
            found = results.array(name, key)
            measured[name][key] = found.mean(2).tolist()
            measured[name][f"{key}_error"] = standard_error(found, 2).tolist()
    sizes = [(n, k * n) for n in config.gap_states for k in config.gap_per_state]
    shape = (len(config.gap_states), len(config.gap_per_state))
    predicted["gap"] = {
        "free": np.reshape([expected.free_gap(*size) for size in sizes], shape).tolist(),
        "semicircle": np.reshape([expected.semicircle_gap(*size) for size in sizes], shape).tolist(),
    }
    predicted["connected"] = [
        [expected.connected_share(n, k * n) for k in config.few_per_state] for n in config.gap_states
    ]

    found = results.array("words", "needed")
    lengths = [[word_length(n, turn) for turn in config.turns_learnt] for n in config.learn_states]
    measured["words"] = {
        "needed": found.mean(2).tolist(),
        "error": standard_error(found, 2).tolist(),
        "lengths": lengths,
    }
    rows = list(zip(config.learn_states, lengths, strict=True))

    def law(power: float) -> list:
        return [[expected.words_needed(n, config.letters, T, config.level, power) for T in row] for n, row in rows]

    predicted["words"] = {
        "needed": law(1.0),
        "rivals": {"λ^−(T−1)": law(0.5), "λ^−4(T−1)": law(2.0), "no price": law(1e-9)},
    }
    late = np.array(config.turns_learnt) >= LONGER
    if late.sum() < 2:
        late[:] = True
    for told in (measured, predicted):
        told["words"]["slopes"] = [
            float(np.polyfit(np.array(row)[late], np.log(np.array(one) * row)[late], 1)[0] / -np.log(factor))
            for one, row, factor in zip(
                told["words"]["needed"], lengths, map(expected.letter_factor, config.learn_states), strict=True
            )
        ]

    measured["price"] = {"words": results.array("price", "words").mean(2).tolist()}
    measured["zipf"] = {}
    for grid, axis in (("price", 2), ("zipf", 1)):
        for name in (*MAPS, "centred"):
            found = results.array(grid, name)
            measured[grid][name] = found.mean(axis).tolist()
            measured[grid][f"{name}_error"] = standard_error(found, axis).tolist()
    words, T = np.array(measured["price"]["words"]), np.array(config.price_lengths)[:, None]
    rho = expected.letter_factor(config.price_states) ** (T - 1)
    predicted["price"] = {
        "looks": (words * T * rho**2 / config.price_letters).tolist(),
        "rivals": {
            "words": words.tolist(),
            "letters read": (words * T).tolist(),
            "λ^(T−1) of them": (words * T * rho).tolist(),
        },
    }
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """agreement: two machines agree as their mean letters say; limit: as λ^{2T}.
    renamed: a machine with renamed states agrees for ever, as π says.
    gap: a pair forgets a letter as the product of its machines' own factors; limit: with many letters as λ².
    connected: so many machines have no state that is never left; one answer to both questions.
    words: counts need the words of the law; limit: as λ^{−2(T−1)}/T.
    price: what one step finds depends on looks alone, for SGD and for Muon; one answer to both.
    zipf: Muon's step finds several times SGD's letters; one answer to both.
    """
    draws, verdicts = config.seeds, {}
    told = list(zip(measured["agreement"], predicted["agreement"], strict=True))

    def agrees(laws) -> bool:
        for (one, _), law in zip(told, laws, strict=True):
            off = np.abs(np.array(one["excess"]) - law) - 2 * np.nan_to_num(_numbers(one["error"]))
            if (off > AGREE_BAND * np.array(law)).any():
                return False
        return True

    own, limit = ([np.array(law[key]) for _, law in told] for key in ("own", "limit"))
    starts = [(n - 1) / n for n in config.states]
    rivals = {
        "λ^T": [a * np.sqrt(law / a) for a, law in zip(starts, limit, strict=True)],
        "λ^4T": [law**2 / a for a, law in zip(starts, limit, strict=True)],
    }
    fast = abs(told[-1][0]["rate"] / told[-1][1]["rate"] - 1) <= RATE_BAND
    verdicts["agreement"] = verdict(agrees(own), fast, refuse(agrees, rivals), draws)

    off = [np.abs(np.array(one["renamed"]) - law["renamed"]).max() for one, law in told]
    verdicts["renamed"] = consistency(bool(max(off) <= RENAMED_BAND), draws=draws * len(off))

    pair, own = (_numbers(measured["gap"][key]) for key in ("pair", "own"))
    is_gap = lambda law: bool((np.abs(pair - law) <= GAP_BAND).all())  # noqa: E731
    rivals = {"free letters": np.array(predicted["gap"]["free"]), "a semicircle": predicted["gap"]["semicircle"]}
    rivals["λ² at any alphabet"] = np.ones_like(pair)
    verdicts["gap"] = verdict(is_gap(own), bool((pair[:, -1] >= WHOLE).all()), refuse(is_gap, rivals), draws)

    share, law = _numbers(measured["connected"]["share"]), np.array(predicted["connected"])
    machines = config.machines * draws

    def is_share(law) -> bool:
        error = np.sqrt(law * (1 - law) / machines)
        return bool((np.abs(share - law) <= CONNECTED_ERRORS * error + 1 / machines).all())

    rivals = {"all": np.ones_like(law), "from N letters on": np.ones_like(law) * (np.array(config.few_per_state) > 1)}
    verdicts["connected"] = verdict(is_share(law), is_share(law), refuse(is_share, rivals), draws)

    needed, error = (_numbers(measured["words"][key]) for key in ("needed", "error"))
    late = np.array(config.turns_learnt) >= LONG

    def is_words(law) -> bool:
        law = np.array(law)
        return bool((np.abs(needed - law) <= WORDS_BAND * law + 2 * np.nan_to_num(error))[:, late].all())

    slopes = np.array(measured["words"]["slopes"])
    steep = bool((np.abs(slopes / 2 - 1) <= SLOPE_BAND).all())
    words = predicted["words"]
    verdicts["words"] = verdict(is_words(words["needed"]), steep, refuse(is_words, words["rivals"]), draws)

    price = measured["price"]

    def is_price(coordinate) -> bool:
        x = np.log(np.array(coordinate, dtype=float))
        for name in MAPS:
            share, error = (_numbers(price[key]) for key in (name, f"{name}_error"))
            error = np.nan_to_num(error)
            for row in range(1, len(x)):
                first, spread = (np.interp(x[row], x[0], values[0]) for values in (share, error))
                if (np.abs(share[row] - first) > PRICE_BAND + 2 * np.hypot(error[row], spread)).any():
                    return False
        return True

    looks = is_price(predicted["price"]["looks"])
    verdicts["price"] = verdict(looks, looks, refuse(is_price, predicted["price"]["rivals"]), draws)

    sgd, muon = (_numbers(measured["zipf"][name])[-1] for name in MAPS)
    more = lambda share: bool(share >= ZIPF_RATIO * sgd)  # noqa: E731
    verdicts["zipf"] = verdict(more(muon), more(muon), refuse(more, {"as SGD": sgd}), draws)
    return verdicts


def _numbers(values) -> np.ndarray:
    """A record's numbers as floats: None, which stands for NaN there, is NaN again."""
    return np.array(values, dtype=float)
