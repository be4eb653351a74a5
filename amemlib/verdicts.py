"""What a measurement says of a statement: two questions, and the one word that their answers make.

A room of its own without numpy or torch: whoever reads a record can read its verdicts.
"""

import math
from collections.abc import Callable, Iterable, Mapping

REPRODUCED, FINITE_SIZE, UNDECIDED = "reproduced", "finite-size", "undecided"
NOT_REPRODUCED, OPEN, CONSISTENT = "not reproduced", "open", "consistency check"
WORDS = (CONSISTENT, REPRODUCED, FINITE_SIZE, UNDECIDED, NOT_REPRODUCED, OPEN)
"""What a measurement can say of a statement, from best to worst. A consistency check is an identity or an inequality:
it is none of the others' rivals, so it stands before them. "open" is a statement nobody has measured yet."""

MET, MISSED, NOT_JUDGED, HELD, BROKEN = "met", "missed", "not judged", "held", "broken"


FEWEST_DRAWS = 4
"""A mean, an exponent or an accuracy of fewer draws at a size decides nothing: its scatter is not known."""


def verdict(sizes, limit, refused: Iterable[str] = (), draws: float = math.inf) -> dict:
    """Does a measurement meet what is predicted for its sizes, does it meet the limit, and which rival laws fail there.

    sizes, limit: truth values, None where there is nothing to judge by. A statement that is itself a prediction for
    these sizes has one answer to both. refused: the rival laws that the same rule refuses. draws: how many independent
    draws the least known of the judged numbers rests on; of fewer than `FEWEST_DRAWS` no question is judged.
    """
    if draws < FEWEST_DRAWS:
        sizes = limit = None
    answers = [NOT_JUDGED if met is None else MET if met else MISSED for met in (sizes, limit)]
    return {"sizes": answers[0], "limit": answers[1], "refused": list(refused)}


def consistency(held, reached: bool = True, draws: float = math.inf) -> dict:
    """The verdict on an identity or an inequality, which no rival law can fail.

    reached: whether the draws were in the regime in which the statement is used; elsewhere it holds for these sizes,
    and its limit is missed. draws: all of them together, since every one is a case of its own; fewer than
    `FEWEST_DRAWS` that hold decide nothing, a single one that does not breaks it.
    """
    if held and draws < FEWEST_DRAWS:
        return verdict(None, None)
    return {"sizes": HELD if held else BROKEN, "limit": NOT_JUDGED if reached else MISSED, "refused": []}


def word(verdict: dict | str) -> str:
    """One word for a verdict; a record that today's rules cannot judge holds the word itself.

    Reproduced: meets the limit, and refuses a rival law. Finite-size: meets the prediction for its sizes and refuses a
    rival law there, not yet the limit; or an inequality outside the regime of its use. Undecided: neither question has
    an answer, no rival is refused, or the limit is met where the sizes are missed. Not reproduced: misses what it is
    judged by.
    """
    if isinstance(verdict, str):
        return verdict
    sizes, limit = verdict["sizes"], verdict["limit"]
    if sizes == HELD:
        return CONSISTENT if limit == NOT_JUDGED else FINITE_SIZE
    if sizes == BROKEN:
        return NOT_REPRODUCED
    if MET in (sizes, limit) and not verdict["refused"]:
        return UNDECIDED
    if limit == MET:
        return REPRODUCED if sizes != MISSED else UNDECIDED
    if sizes == MET:
        return FINITE_SIZE
    return NOT_REPRODUCED if MISSED in (sizes, limit) else UNDECIDED


def worst(verdicts: Iterable[dict | str]) -> str:
    """The worst word of several verdicts."""
    return max(map(word, verdicts), key=WORDS.index)


def refuse(meets: Callable[..., object], rivals: Mapping[str, object]) -> list[str]:
    """The rival laws whose values do not pass the rule `meets` that the prediction is held to."""
    return [name for name, values in rivals.items() if not meets(values)]
