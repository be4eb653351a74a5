"""The mathematics of `weak-to-strong`: what a student inherits, and two memories."""

import numpy as np
import pytest
import torch

import amemlib as am
from amembook.companions.weak_to_strong import measure, students


def test_a_student_of_all_that_its_teacher_sees_is_its_teacher():
    generator = np.random.default_rng(0)
    teacher = students.teach(30, 6, generator)
    assert students.learn(teacher, 6, 6, 1.0, 20, generator) == pytest.approx(teacher)
    assert students.inherited_variance(30, 6, 6, 6.0, 20) == pytest.approx(students.direct_variance(30, 6))


def test_a_student_that_shares_nothing_learns_only_noise():
    generator = np.random.default_rng(1)
    teacher = students.teach(30, 6, generator)
    learnt = [students.learn(teacher, 4, 0, 1.0, 24, generator) for _ in range(4000)]
    errors = (np.array(learnt) ** 2).sum(1)
    assert errors.mean() == pytest.approx(teacher @ teacher * 4 / (24 - 4 - 1), rel=0.05)


def test_a_slanted_direction_is_shared_by_the_square_of_its_cosine():
    generator = np.random.default_rng(2)
    errors = []
    for _ in range(4000):
        beta = students.learn(students.teach(30, 6, generator), 4, 4, 0.5**0.5, 24, generator)
        errors.append(beta @ beta)
    assert np.mean(errors) == pytest.approx(students.inherited_variance(30, 6, 4, 2.0, 24), rel=0.06)


def test_the_overlap_of_subspaces_is_the_sum_of_squared_cosines():
    generator = np.random.default_rng(3)
    weak, strong = (np.linalg.qr(generator.standard_normal((9, k)))[0] for k in (5, 3))
    cosines = np.linalg.svd(weak.T @ strong, compute_uv=False)
    P, Q = weak @ weak.T, strong @ strong.T
    assert ((P @ Q) ** 2).sum() == pytest.approx((cosines**2).sum())


def test_the_memories_gradient_is_the_librarys():
    problem = am.Problem.power_law(7, 5, 1.5)
    emb = am.sample_embeddings(problem, 0, dtype=torch.float64)
    labels = torch.arange(7).repeat_interleave(torch.tensor([5, 3, 2, 1, 1, 1, 1]))
    q = torch.bincount(labels).double() / len(labels)
    G = students.gradient(emb.U, emb.V[labels], labels)
    assert torch.allclose(G, am.initial_gradient(emb, q))
    W = torch.randn(5, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    right = students.answers(W, emb.U, emb.V) == torch.arange(7)
    assert torch.equal(right, am.recovered(W, emb))


def test_paraphrases_are_keys_with_noise():
    V = torch.eye(4, dtype=torch.float64)
    X, items = students.paraphrases(V, 500, 0.5, torch.Generator().manual_seed(1))
    assert X.shape == (2000, 4) and items[:5].tolist() == [0, 1, 2, 3, 0]
    assert (X - V[items]).std().item() == pytest.approx(0.25, rel=0.05)


def test_without_noise_and_overlap_true_answers_teach_what_a_step_stores():
    accuracy = measure.measure_memories(20, 32, 8, 24, 1e-9, [0, 8], [1, 2], 1, 0)
    assert accuracy["polar"]["true"][0][0] == accuracy["polar"]["true"][0][1] > accuracy["weak"]
    assert accuracy["weak"] == accuracy["labels"]


FLAWS = [
    (("student", "0 shared", 0), 0.5, "inherited", "not reproduced"),
    (("student", "20 shared"), [0.5] * 4, "inherited", "not reproduced"),
    (("cost", "polar"), [0.02, -0.03, 0.01], "discrepancy", "undecided"),
    (("accuracy", "polar", 0, 2), 0.71, "muon", "not reproduced"),
    (("cost", "sgd"), [-0.1] * 10, "discrepancy", "not reproduced"),
    (("recovered", "polar"), [[0.0] * 3] * 10, "muon", "not reproduced"),
    (("accuracy", "polar", 0, 2), 0.1, "muon", "not reproduced"),
]
REFUSED = [("n_labels", 41), ("pseudo", (21, 64)), ("shared", (21,)), ("width", 127)]
