"""A student's error on a teacher's labels, and two memories, one of which teaches the other."""

import numpy as np
import torch

from amembook.companions.weak_to_strong import students
from amembook.run.base import MAPS
from amemlib.spectral import polar


def measure_regression(
    n_labels: int, weak_dim: int, strong_dim: int, shared: int, cosine: float, pseudo: list[int], repeats: int,
    seed: int,
) -> dict:  # fmt: skip
    """Mean excess risk of the teacher, of the student by its number of pseudo-labels, and of a student on true ones."""
    generator = np.random.default_rng([seed, shared, round(100 * cosine)])
    weak, strong, student = [], [], []
    for _ in range(repeats):
        teacher = students.teach(n_labels, weak_dim, generator)
        weak.append(teacher @ teacher)
        own = students.teach(n_labels, strong_dim, generator)
        strong.append(own @ own)
        learnt = [students.learn(teacher, strong_dim, shared, cosine, count, generator) for count in pseudo]
        student.append([beta @ beta for beta in learnt])
    return {"teacher": np.mean(weak), "direct": np.mean(strong), "student": np.mean(student, 0)}


def measure_memories(
    n_items: int, width: int, weak_width: int, strong_width: int, spread: float, overlaps: list[int], copies: list[int],
    tests: int, seed: int,
) -> dict:  # fmt: skip
    """Accuracy on fresh paraphrases of a weak memory, and of strong ones by map, overlap and number of paraphrases.

    Weak: one polar step on the clean keys, of which it sees the first coordinates. Strong: one step on the weak one's
    answers to paraphrases; it sees other coordinates, and `overlap` of the weak one's. true: on true answers instead.
    """
    generator = torch.Generator().manual_seed(seed)
    U, V = (torch.randn(n_items, width, generator=generator, dtype=torch.float64) / width**0.5 for _ in range(2))
    weak = slice(0, weak_width)
    W = polar(students.gradient(U, V[:, weak], torch.arange(n_items)))
    test, right = students.paraphrases(V, tests, spread, generator)
    taught, true = students.paraphrases(V, max(copies), spread, generator)
    labels = students.answers(W, U, taught[:, weak])
    share = lambda hits: hits.double().mean().item()
    accuracy = {"weak": share(students.answers(W, U, test[:, weak]) == right), "labels": share(labels == true)}
    for name, spectral_map in MAPS.items():
        accuracy[name] = {"weak": [], "true": []}
        for kind, taught_labels in (("weak", labels), ("true", true)):
            for overlap in overlaps:
                strong = slice(weak_width - overlap, weak_width - overlap + strong_width)
                row = []
                for count in copies:
                    seen = count * n_items
                    G = students.gradient(U, taught[:seen, strong], taught_labels[:seen])
                    guess = students.answers(spectral_map(G), U, test[:, strong])
                    row.append(share(guess == right))
                accuracy[name][kind].append(row)
    return accuracy
