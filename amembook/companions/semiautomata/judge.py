"""Measured numbers beside predicted ones, and the verdicts."""

import numpy as np

from amembook.companions.semiautomata import expected
from amembook.companions.semiautomata.measure import word_length
from amembook.run.base import MAPS, Results, standard_error
from amembook.run.claims import DIFFERENCE, SIZES, SMALL, check, equivalence, numbers, order

RENAMED_BAND = 1e-4
"""How far a renamed machine's agreement may lie from its limit at the end."""
LONGER = 2.0
"""From how many turns on a word is long enough for an exponent."""


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
                "excess": found.mean(0),
                "error": standard_error(found, 0),
                "rate": float(rate),
                "renamed": results.array("agreement", "renamed", n_states=n),
            }
        )
        law = expected.excess(n, lengths)
        predicted["agreement"].append(
            {
                "own": own.mean(0),
                "limit": law,
                "rate": -2 * np.log(expected.letter_factor(n)),
                "renamed": expected.renamed_excess(n // 3, n),
            }
        )
    for name in ("gap", "connected"):
        keys = ("pair", "own") if name == "gap" else ("share",)
        measured[name] = {}
        for key in keys:
            found = results.array(name, key)
            measured[name][key] = found.mean(2)
            measured[name][f"{key}_error"] = standard_error(found, 2)
    sizes = [(n, k * n) for n in config.gap_states for k in config.gap_per_state]
    shape = (len(config.gap_states), len(config.gap_per_state))
    predicted["gap"] = {
        "free": np.reshape([expected.free_gap(*size) for size in sizes], shape),
        "semicircle": np.reshape([expected.semicircle_gap(*size) for size in sizes], shape),
    }
    predicted["connected"] = [
        [expected.connected_share(n, k * n) for k in config.few_per_state] for n in config.gap_states
    ]

    found = results.array("words", "needed")
    lengths = [[word_length(n, turn) for turn in config.turns_learnt] for n in config.learn_states]
    measured["words"] = {
        "needed": found.mean(2),
        "error": standard_error(found, 2),
        "lengths": lengths,
    }
    rows = list(zip(config.learn_states, lengths, strict=True))

    def law(power: float) -> list:
        return [[expected.words_needed(n, config.letters, T, config.level, power) for T in row] for n, row in rows]

    independent = [[expected.independent_words(n, config.letters, T, config.level) for T in row] for n, row in rows]
    predicted["words"] = {
        "needed": law(1.0),
        "rivals": {"λ^−(T−1)": law(0.5), "λ^−4(T−1)": law(2.0), "independent Gaussian leads": independent},
    }
    late = np.array(config.turns_learnt) >= LONGER
    if late.sum() < 2:
        late[:] = True
    for told in (measured, predicted):
        told["words"]["slopes"] = [
            np.polyfit(np.array(row)[late], np.log(np.multiply(one, row))[late], 1)[0] / -np.log(factor)
            for one, row, factor in zip(
                told["words"]["needed"], lengths, map(expected.letter_factor, config.learn_states), strict=True
            )
        ]

    measured["price"] = {"words": results.array("price", "words").mean(2)}
    measured["zipf"] = {}
    for grid, axis in (("price", 2), ("zipf", 1)):
        for name in (*MAPS, "centred"):
            found = results.array(grid, name)
            measured[grid][name] = found.mean(axis)
            measured[grid][f"{name}_error"] = standard_error(found, axis)
    words, T = measured["price"]["words"], np.array(config.price_lengths)[:, None]
    rho = expected.letter_factor(config.price_states) ** (T - 1)
    predicted["price"] = {
        "looks": words * T * rho**2 / config.price_letters,
        "rivals": {
            "words": words,
            "letters read": words * T,
            "λ^(T−1) of them": words * T * rho,
        },
    }
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """agreement: two machines agree as their mean letters say; limit: as λ^{2T}, for infinitely many letters.
    renamed: a machine with renamed states agrees for ever, as π says.
    gap: a pair forgets a letter as the product of its machines' own factors. connected: so many machines have letters
    that connect all states. words: counts need the words of the law. price: what one step finds from words of other
    lengths is what it finds at as many looks, for SGD and for Muon. zipf: Muon's step finds more letters than SGD's.
    """
    draws, agreement = config.seeds, []
    for n, one, law in zip(config.states, measured["agreement"], predicted["agreement"], strict=True):
        start, at = (n - 1) / n, [f"{n}, {T}" for T in range(1, len(law["limit"]) + 1)]
        rivals = {
            "λ^(3T/2)": start * (law["limit"] / start) ** 0.75,
            "λ^(5T/2)": start * (law["limit"] / start) ** 1.25,
        }
        given = {"law": law["own"], "limit": law["limit"], "band": SMALL, "at": at, "rivals": rivals}
        agreement += numbers("excess at N, T =", one["excess"], one["error"], draws, **given)
    off = [
        np.abs(one["renamed"] - law["renamed"]).max()
        for one, law in zip(measured["agreement"], predicted["agreement"], strict=True)
    ]

    gap, rivals = (
        measured["gap"],
        {"free letters": predicted["gap"]["free"], "a semicircle": predicted["gap"]["semicircle"]},
    )
    at = [f"{n}, {k}" for n in config.gap_states for k in config.gap_per_state]
    given = {"law": gap["own"], "band": SIZES, "scale": DIFFERENCE, "at": at, "rivals": rivals}
    pair = numbers(
        "gap at N, letters a state =", gap["pair"], np.hypot(gap["pair_error"], gap["own_error"]), draws, **given
    )

    share, law = measured["connected"]["share"], predicted["connected"]
    # the scatter that the exact law itself gives: that of a few draws may by chance be half as large
    error = np.sqrt(law * (1 - law) / (config.machines * draws))
    at = [f"{n}, {k}" for n in config.gap_states for k in config.few_per_state]
    from_n_log_n = np.array(config.few_per_state) >= np.log(np.array(config.gap_states))[:, None]
    given = {"law": law, "band": SIZES, "scale": DIFFERENCE, "at": at}
    given |= {"rivals": {"from N log N letters on": from_n_log_n.astype(float)}}
    connected = numbers("share connected at N, letters a state =", share, error, config.machines * draws, **given)

    needed, error = (measured["words"][key] for key in ("needed", "error"))
    law, lengths = predicted["words"], measured["words"]["lengths"]
    at = [f"{n}, {T:g}" for n, row in zip(config.learn_states, lengths, strict=True) for T in row]
    rivals = {name: own for name, own in law["rivals"].items() if name != "no price"}
    given = {"law": law["needed"], "band": SMALL, "at": at, "rivals": rivals}
    words = numbers("words at N, T =", needed, error, draws, **given)

    price = []
    for name in MAPS:
        share, error = (measured["price"][key] for key in (name, f"{name}_error"))
        coordinates = {"looks": predicted["price"]["looks"]} | predicted["price"]["rivals"]
        collapsed = {key: _at_first(coordinate, share) for key, coordinate in coordinates.items()}
        spread = np.hypot(error[1:], _at_first(predicted["price"]["looks"], error))
        at = [f"{name}, {T}, {looks:g}" for T in config.price_lengths[1:] for looks in config.price_looks]
        rivals = {key: values for key, values in collapsed.items() if key != "looks"}
        given = {"law": collapsed["looks"], "band": SIZES, "scale": DIFFERENCE, "at": at, "rivals": rivals}
        price += numbers("share by map, T, looks =", share[1:], spread, draws, **given)

    zipf = measured["zipf"]
    more, error = zipf["polar"] - zipf["sgd"], np.hypot(zipf["polar_error"], zipf["sgd_error"])
    verdicts = {"agreement": agreement, "gap": pair, "connected": connected, "words": words, "price": price}
    verdicts = {name: equivalence(judged) for name, judged in verdicts.items()}
    return verdicts | {
        "renamed": check(max(off), RENAMED_BAND, draws * len(off), "largest distance from the limit"),
        "zipf": order(
            numbers("Muon's share less SGD's, rank^−", more, error, draws, limit=0, scale=DIFFERENCE, at=config.zipfs)
        ),
    }


def _at_first(coordinate, values: np.ndarray) -> np.ndarray:
    """Values of the first row, read where the other rows have theirs by a coordinate."""
    x = np.log(np.array(coordinate, dtype=float))
    return np.array([np.interp(row, x[0], values[0]) for row in x[1:]])
