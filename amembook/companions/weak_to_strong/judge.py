"""Measured numbers beside predicted ones, and the verdicts."""

import numpy as np

from amembook.companions.weak_to_strong import students
from amembook.run.base import Results, standard_error
from amembook.run.claims import DIFFERENCE, SMALL, equivalence, numbers, order

FEW = 4
"""From how many paraphrases an item on accuracies of the two maps are compared."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Errors of the teacher, of the student by case and N, and of a student on true labels, beside their laws.
    Accuracies of the weak memory and of strong ones by map, overlap and copies, on its answers and on true ones; what
    a greater overlap costs, by draw; the share of the gap that is closed."""
    cases = results.grids["regression"].axes["case"]
    student = results.array("regression", "student")
    measured = {"student": {}, "student_error": {}}
    predicted = {"student": {}, "leading": {}, "overlap": {}}
    sizes = (config.n_labels, config.weak_dim, config.strong_dim)
    for place, (name, case) in enumerate(cases.items()):
        overlap = case["shared"] * case["cosine"] ** 2
        measured["student"][name] = student[place].mean(0)
        measured["student_error"][name] = standard_error(student[place], 0)
        predicted["student"][name] = [students.inherited_variance(*sizes, overlap, N) for N in config.pseudo]
        each = students.direct_variance(config.n_labels, config.weak_dim) / config.weak_dim
        predicted["leading"][name] = [
            each * (overlap + (config.weak_dim - overlap) * config.strong_dim / N) for N in config.pseudo
        ]
        predicted["overlap"][name] = float(overlap)
    for name, dim in (("teacher", config.weak_dim), ("direct", config.strong_dim)):
        measured[name] = results.array("regression", name).mean()
        predicted[name] = students.direct_variance(config.n_labels, dim)

    weak = results.array("memories", "weak")
    measured["weak"], measured["labels"] = weak.mean(), results.array("memories", "labels").mean()
    for key in ("accuracy", "accuracy_error", "ceiling", "cost", "recovered"):
        measured[key] = {}
    for name in ("sgd", "polar"):
        taught, true = (results.array("memories", name, kind) for kind in ("weak", "true"))
        measured["accuracy"][name] = taught.mean(0)
        measured["accuracy_error"][name] = standard_error(taught, 0)
        measured["ceiling"][name] = true.mean(0)
        # no overlap against the largest, most paraphrases
        measured["cost"][name] = taught[:, 0, -1] - taught[:, -1, -1]
        gap = true[:, :, -1] - weak[:, None]
        measured["recovered"][name] = (taught[:, :, -1] - weak[:, None]) / gap
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """inherited: the student's error is the law in every cell; at the largest N, in the limit, the abstract's leading
    order. discrepancy: on the memories a greater overlap costs accuracy, for both maps. muon: its strong memory is
    ahead of SGD's, and closes more of the gap to what true answers would teach.
    """
    draws, each, N = config.seeds, predicted["teacher"] / config.weak_dim, np.array(config.pseudo)
    reduced, judged = config.strong_dim / (N - config.strong_dim - 1), []
    for name, overlap in predicted["overlap"].items():
        bent = 0 if name == "slanted" else overlap
        rivals = {"all is inherited": each * config.weak_dim * np.ones(len(N))}
        rivals |= {"nothing is inherited": each * config.weak_dim * reduced}
        rivals |= {"d_s/N at every N": predicted["leading"][name]}
        rivals |= {"only what is the same direction": each * (bent + (config.weak_dim - bent) * reduced)}
        found, error = (measured[key][name] for key in ("student", "student_error"))
        given = {"law": predicted["student"][name], "band": SMALL, "at": N, "rivals": rivals}
        last = np.where(N == N.max(), predicted["leading"][name], np.nan)
        judged += numbers(f"error, {name}, N =", found, error, draws, limit=last, **given)

    cost = measured["cost"]
    lost = [_above(f"accuracy that an overlap costs, {name}", values) for name, values in cost.items()]
    at = np.array(config.copies) >= FEW
    accuracy, error = measured["accuracy"], np.hypot(*measured["accuracy_error"].values())
    labels = [f"{overlap}, {copies}" for overlap in config.overlaps for copies in np.array(config.copies)[at]]
    lead = (accuracy["polar"] - accuracy["sgd"])[:, at]
    given = {"limit": 0, "scale": DIFFERENCE, "at": labels}
    ahead = numbers("Muon's accuracy less SGD's at overlap, paraphrases =", lead, error[:, at], draws, **given)
    closed = measured["recovered"]["polar"][:, 0] - measured["recovered"]["sgd"][:, 0]
    return {
        "inherited": equivalence(judged),
        "discrepancy": order(sum(lost, [])),
        "muon": order(ahead + _above("share of the gap closed by Muon less by SGD", closed)),
    }


def _above(name: str, values: np.ndarray) -> list[dict]:
    """A mean over draws that is to be above 0."""
    return numbers(name, values.mean(), standard_error(values, 0), len(values), limit=0, scale=DIFFERENCE)
