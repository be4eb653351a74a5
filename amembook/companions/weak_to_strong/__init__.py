"""`weak-to-strong`: a student outdoes its teacher where they see different things; on two memories, Muon more than SGD.

On Dong, Li, Li, Lee and Lei, arXiv:2502.05075.

Claim: in ridgeless regression the variance of the weak teacher is inherited by the strong student in the intersection
of their feature subspaces, while reduced by a factor of dim(V_s)/N in the subspace of discrepancy, with N pseudo-labels
(abstract).

Caveats: the law of the student's error is exact, that of the abstract its leading order, judged at the largest N. The
maps' accuracies are compared from four paraphrases an item on; of the two memories no law is known.
"""

from dataclasses import dataclass

import numpy as np

from amembook.companions.weak_to_strong import students
from amembook.companions.weak_to_strong.measure import measure_memories, measure_regression
from amembook.run.base import (
    Ascending,
    Config,
    Count,
    Dims,
    Experiment,
    Grid,
    Natural,
    Naturals,
    Positive,
    Results,
    draws,
    standard_error,
)
from amembook.run.claims import DIFFERENCE, SMALL, equivalence, numbers, order
from amembook.run.studies import headline
from amemlib.checks import check_count

FEW = 4  # from how many paraphrases an item on accuracies of the two maps are compared


@dataclass(frozen=True)
class StrongConfig(Config):
    """Regressions on a teacher's labels, and two memories of which one teaches the other."""

    n_labels: Count = 150  # n, true labels of the teacher
    weak_dim: Count = 40  # d_w
    strong_dim: Count = 20  # d_s
    shared: Naturals = (0, 5, 10, 20)  # directions in common, cosine one
    half_shared: Natural = 20  # as many with the cosine √½ beside them
    pseudo: Dims = (40, 80, 160, 640)  # N
    repeats: Count = 60  # regressions a draw
    n_items: Count = 150  # of the two memories
    width: Count = 128  # coordinates of keys and answers
    weak_width: Count = 32  # of a key's, which the weak memory sees
    strong_width: Count = 96
    overlaps: Ascending = (0, 16, 32)  # seen by both
    spread: Positive = 0.7  # a paraphrase's noise in units of a key
    copies: Dims = (1, 4, 16, 64)  # paraphrases of an item that the weak one labels
    tests: Count = 16  # fresh ones
    seeds: Count = 10
    first_seed: Natural = 0

    def limits(self) -> None:
        check_count("n_labels", self.n_labels, least=max(self.weak_dim, self.strong_dim) + 2)
        check_count("pseudo", min(self.pseudo), least=self.strong_dim + 2)
        check_count("shared", max(*self.shared, self.half_shared), least=0, most=min(self.weak_dim, self.strong_dim))
        check_count("width", self.width, least=self.weak_width + self.strong_width)
        check_count("overlaps", self.overlaps[0], least=0)
        check_count("overlaps", self.overlaps[-1], least=0, most=min(self.weak_width, self.strong_width))


def grids(config: StrongConfig) -> dict[str, Grid]:
    """Regressions by what teacher and student share; the two memories by draw."""
    seeds = {"seed": draws(config)}
    cases = {f"{count} shared": {"shared": count, "cosine": 1.0} for count in config.shared}
    cases |= {"slanted": {"shared": config.half_shared, "cosine": 0.5**0.5}}
    return {
        "regression": Grid(measure_regression, {"case": cases} | seeds),
        "memories": Grid(measure_memories, seeds),
    }


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Errors of the teacher, of the student by case and N, and of a student on true labels, beside their laws.
    Accuracies of the weak memory and of strong ones by map, overlap and copies, on its answers and on true ones; what
    a greater overlap costs, by draw; the share of the gap that is closed."""
    cases = results.grids["regression"].axes["case"]
    student = results.array("regression", "student")
    measured, predicted = {"student": {}, "student_error": {}}, {"student": {}, "leading": {}, "overlap": {}}
    sizes, N = (config.n_labels, config.weak_dim, config.strong_dim), np.array(config.pseudo)
    each = students.direct_variance(config.n_labels, config.weak_dim) / config.weak_dim
    for place, (name, case) in enumerate(cases.items()):
        overlap = case["shared"] * case["cosine"] ** 2
        measured["student"][name] = student[place].mean(0)
        measured["student_error"][name] = standard_error(student[place], 0)
        predicted["student"][name] = [students.inherited_variance(*sizes, overlap, N) for N in config.pseudo]
        predicted["leading"][name] = each * (overlap + (config.weak_dim - overlap) * config.strong_dim / N)
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
        student, error = (measured[key][name] for key in ("student", "student_error"))
        held_to = {"law": predicted["student"][name], "band": SMALL, "at": N, "rivals": rivals}
        last = np.where(N == N.max(), predicted["leading"][name], np.nan)
        judged += numbers(f"error, {name}, N =", student, error, draws, limit=last, **held_to)

    cost = measured["cost"]
    lost = [_above(f"accuracy that an overlap costs, {name}", values) for name, values in cost.items()]
    at = np.array(config.copies) >= FEW
    accuracy, error = measured["accuracy"], np.hypot(*measured["accuracy_error"].values())
    labels = [f"{overlap}, {copies}" for overlap in config.overlaps for copies in np.array(config.copies)[at]]
    lead = (accuracy["polar"] - accuracy["sgd"])[:, at]
    held_to = {"limit": 0, "scale": DIFFERENCE, "at": labels}
    ahead = numbers("Muon's accuracy less SGD's at overlap, paraphrases =", lead, error[:, at], draws, **held_to)
    closed = measured["recovered"]["polar"][:, 0] - measured["recovered"]["sgd"][:, 0]
    return {
        "inherited": equivalence(judged),
        "discrepancy": order(sum(lost, [])),
        "muon": order(ahead + _above("share of the gap closed by Muon less by SGD", closed)),
    }


def _above(name: str, values: np.ndarray) -> list[dict]:
    """A mean over draws that is to be above 0."""
    return numbers(name, values.mean(), standard_error(values, 0), len(values), limit=0, scale=DIFFERENCE)


EXPERIMENT = Experiment(
    name="weak-to-strong",
    purpose=headline(__doc__),
    profiles={
        "smoke": StrongConfig(
            n_labels=20, weak_dim=6, strong_dim=4, shared=(0, 4), half_shared=4, pseudo=(8, 16), repeats=4, n_items=16,
            width=24, weak_width=8, strong_width=16, overlaps=(0, 8), copies=(1, 4), tests=4, seeds=2,
        ),
        "cpu": StrongConfig(),
        # twenty thousand regressions a case: the law is exact
        "many": StrongConfig(repeats=1000, seeds=20, first_seed=49_500),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
)  # fmt: skip
