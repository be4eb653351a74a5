"""What a measurement says of a statement: two questions, and the one word that their answers make.

A room of its own without numpy or torch: whoever reads a record can read its verdicts.
"""

from collections.abc import Callable, Iterable, Mapping

REPRODUCED, FINITE_SIZE, UNDECIDED = "reproduced", "finite-size", "undecided"
NOT_REPRODUCED, OPEN, CONSISTENT = "not reproduced", "open", "consistency check"
WORDS = (CONSISTENT, REPRODUCED, FINITE_SIZE, UNDECIDED, NOT_REPRODUCED, OPEN)
"""What a measurement can say of a statement, from best to worst. A consistency check is an identity or an inequality:
it is none of the others' rivals, so it stands before them. "open" is a statement nobody has measured yet."""

MET, MISSED, NOT_JUDGED, HELD, BROKEN = "met", "missed", "not judged", "held", "broken"


def verdict(sizes, limit, refused: Iterable[str] = ()) -> dict:
    """Does a measurement meet what is predicted for its sizes, does it meet the limit, and which rival laws fail there.

    sizes, limit: truth values, None where there is nothing to judge by. A statement that is itself a prediction for
    these sizes has one answer to both. refused: the rival laws that the same rule refuses.
    """
    answers = [NOT_JUDGED if met is None else MET if met else MISSED for met in (sizes, limit)]
    return {"sizes": answers[0], "limit": answers[1], "refused": list(refused)}


def consistency(held) -> dict:
    """The verdict on an identity or an inequality, which no rival law can fail."""
    return {"sizes": HELD if held else BROKEN, "limit": NOT_JUDGED, "refused": []}


def word(verdict: dict | str) -> str:
    """One word for a verdict; a record that today's rules cannot judge holds the word itself.

    Reproduced: meets the limit, and refuses a rival law. Finite-size: meets the prediction for its sizes, not the
    limit. Undecided: neither question has an answer, or the limit is met where the sizes are missed or no rival is
    refused. Not reproduced: misses what it is judged by.
    """
    if isinstance(verdict, str):
        return verdict
    sizes, limit = verdict["sizes"], verdict["limit"]
    if sizes in (HELD, BROKEN):
        return CONSISTENT if sizes == HELD else NOT_REPRODUCED
    if limit == MET:
        return REPRODUCED if sizes != MISSED and verdict["refused"] else UNDECIDED
    if sizes == MET:
        return FINITE_SIZE
    return NOT_REPRODUCED if MISSED in (sizes, limit) else UNDECIDED


def worst(verdicts: Iterable[dict | str]) -> str:
    """The worst word of several verdicts."""
    return max(map(word, verdicts), key=WORDS.index)


def refuse(meets: Callable[..., object], rivals: Mapping[str, object]) -> list[str]:
    """The rival laws whose values do not pass the rule `meets` that the prediction is held to."""
    return [name for name, values in rivals.items() if not meets(values)]
