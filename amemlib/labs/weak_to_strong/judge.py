"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import numpy as np

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.weak_to_strong import students
from amemlib.verdicts import refuse, verdict

CELL, MEAN = 0.12, 0.03
"""How far a student's error may lie from the law, in one cell and in the mean of all: an error of d_w = 40 normal
numbers scatters by a quarter, and a cell is the mean of hundreds."""
LEADING = 0.12
"""How far it may lie from the abstract's leading order at the largest N, where N − d_s − 1 is N to a few per cent."""
AHEAD = 0.03
"""By how much Muon's accuracy must be above SGD's, from `FEW` paraphrases an item on."""
FEW = 4


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
        measured["student"][name] = student[place].mean(0).tolist()
        measured["student_error"][name] = standard_error(student[place], 0).tolist()
        predicted["student"][name] = [students.inherited_variance(*sizes, overlap, N) for N in config.pseudo]
        each = students.direct_variance(config.n_labels, config.weak_dim) / config.weak_dim
        predicted["leading"][name] = [
            each * (overlap + (config.weak_dim - overlap) * config.strong_dim / N) for N in config.pseudo
        ]
        predicted["overlap"][name] = float(overlap)
    for name, dim in (("teacher", config.weak_dim), ("direct", config.strong_dim)):
        measured[name] = float(results.array("regression", name).mean())
        predicted[name] = students.direct_variance(config.n_labels, dim)

    weak = results.array("memories", "weak")
    measured["weak"], measured["labels"] = float(weak.mean()), float(results.array("memories", "labels").mean())
    for key in ("accuracy", "accuracy_error", "ceiling", "cost", "recovered"):
        measured[key] = {}
    for name in ("sgd", "polar"):
        taught, true = (results.array("memories", name, kind) for kind in ("weak", "true"))
        measured["accuracy"][name] = taught.mean(0).tolist()
        measured["accuracy_error"][name] = standard_error(taught, 0).tolist()
        measured["ceiling"][name] = true.mean(0).tolist()
        # no overlap against the largest, most paraphrases
        measured["cost"][name] = (taught[:, 0, -1] - taught[:, -1, -1]).tolist()
        gap = true[:, :, -1] - weak[:, None]
        measured["recovered"][name] = ((taught[:, :, -1] - weak[:, None]) / gap).tolist()
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """inherited: the student's error is the law in every cell and on the mean; at the largest N the abstract's leading
    order. discrepancy: on the memories a greater overlap costs accuracy, for both maps. muon: its strong memory is
    ahead of SGD's, and closes more of the gap to what true answers would teach, in every draw.
    """
    names = list(measured["student"])
    found = np.array([measured["student"][name] for name in names], dtype=float)

    def is_law(law) -> bool:
        ratio = found / np.array([law[name] for name in names])
        return bool((np.abs(ratio - 1) <= CELL).all() and abs(ratio.mean() - 1) <= MEAN)

    each = predicted["teacher"] / config.weak_dim
    N = np.array(config.pseudo)
    reduced = config.strong_dim / (N - config.strong_dim - 1)
    bent = {name: 0 if name == "slanted" else overlap for name, overlap in predicted["overlap"].items()}
    rivals = {
        "all is inherited": {name: each * config.weak_dim * np.ones(len(N)) for name in names},
        "nothing is inherited": {name: each * config.weak_dim * reduced for name in names},
        "d_s/N at every N": predicted["leading"],
        "only what is the same direction": {
            name: each * (bent[name] + (config.weak_dim - bent[name]) * reduced) for name in names
        },
    }
    last = np.array([predicted["leading"][name][-1] for name in names])
    leads = bool((np.abs(found[:, -1] / last - 1) <= LEADING).all())
    refused = refuse(is_law, rivals)
    verdicts = {"inherited": verdict(is_law(predicted["student"]), leads, refused, config.seeds)}

    cost = {name: np.array(values, dtype=float) for name, values in measured["cost"].items()}
    spread = {name: 2 * values.std(ddof=1) / np.sqrt(len(values)) for name, values in cost.items()}

    def is_cost(value: float) -> bool:
        return any(abs(values.mean() - value) <= spread[name] for name, values in cost.items())

    costs = all(values.mean() > spread[name] for name, values in cost.items())
    # what both see might be labelled better, or it might not matter
    rivals = {"it makes no difference": 0.0, "a greater overlap helps": -float(cost["polar"].mean())}
    verdicts["discrepancy"] = verdict(None, costs, refuse(is_cost, rivals), config.seeds)

    accuracy = {name: np.array(values, dtype=float) for name, values in measured["accuracy"].items()}
    many = np.array(config.copies) >= FEW
    lead = (accuracy["polar"] - accuracy["sgd"])[:, many]
    closed = {name: np.array(values, dtype=float)[:, 0] for name, values in measured["recovered"].items()}
    ahead = bool((lead > AHEAD).all() and (closed["polar"] > closed["sgd"]).all())
    refused = ["the map makes no difference"] if (lead > 0).all() else []
    verdicts["muon"] = verdict(None, ahead, refused, config.seeds)
    return verdicts
