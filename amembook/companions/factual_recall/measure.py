"""What the study measures: capacities of trained memories, one step on equal items, networks on facts, and the flow."""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from amembook.companions.factual_recall import flow, network
from amembook.companions.factual_recall.capacity import cone_capacity, cones_capacity, is_stored, largest_stored
from amembook.run.base import MAPS
from amemlib.equivalents import expected_capacity
from amemlib.gradients import initial_gradient
from amemlib.problem import Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings

ENOUGH = 0.995
"""The share of facts at which a network's training ends."""
_LEARNT, _LONGEST = 0.95, 20_000


def measure_linear(dim: int, memory_steps: int, linear_lr: float, resolution: float, seed: int) -> dict:
    """The largest N of which a trained d × d memory recalls every item."""
    stored = lambda n: is_stored(n, dim, 0, memory_steps, linear_lr, seed)
    return {"count": largest_stored(stored, dim, resolution)}


def expect_linear(dim: int) -> dict:
    """The same from the geometry of cones."""
    return {"count": cone_capacity(dim**2)}


def expect_cones(dim: int) -> dict:
    """The same from the cones of the items as they are, in d dimensions."""
    return {"count": cones_capacity(dim)}


def measure_mlp(dim: int, width: int, memory_steps: int, mlp_lr: float, resolution: float, seed: int) -> dict:
    """The largest N of which a trained MLP memory recalls every item."""
    stored = lambda n: is_stored(n, dim, width, memory_steps, mlp_lr, seed)
    return {"count": largest_stored(stored, width, resolution)}


def measure_uniform(dim: int, load: float, seed: int) -> dict:
    """Share of N = load · d² equally frequent items that one step recovers, by map."""
    problem = _uniform(dim, load)
    emb = sample_embeddings(problem, seed)
    G = initial_gradient(emb, problem.frequencies)
    return {name: capacity(step(G), emb) / problem.n_items for name, step in MAPS.items()}


def expect_uniform(dim: int, load: float) -> dict:
    """The same from the deterministic equivalents of the core."""
    problem = _uniform(dim, load)
    return {name: expected_capacity(problem, name) / problem.n_items for name in MAPS}


def measure_recall(
    recall_subjects: int, recall_answers: int, recall_dim: int, n_heads: int, head_dim: int, width: int,
    recall_steps: int, recall_lr: float, seed: int,
) -> dict:  # fmt: skip
    """Share of the facts that a network with so many heads and so wide an MLP learns."""
    sizes = recall_subjects, recall_answers, recall_dim, n_heads, head_dim, width
    return {"accuracy": network.train_recall(*sizes, recall_steps, recall_lr, ENOUGH, seed)}


def measure_flow(
    n_subjects: int, n_relations: int, n_answers: int, start: float, flow_lr: float, value_lr: float, muon_lr: float,
    seed: int,
) -> dict:  # fmt: skip
    """Times of relations and of facts, by who learns: "learnt" attention under gradient descent, and at attention one
    gradient descent of V ("sgd") and polar steps of V ("polar"); `mixed`, steps with the relation known and the fact
    not, over the relation's time. difference: of the learnt curve and its reduction, the largest."""
    facts = flow.balanced_facts(n_subjects, n_relations, n_answers, seed)
    curves = {"learnt": _until_learnt(flow.descend(facts, n_answers, start, flow_lr, flow_lr))}
    curves |= {"sgd": _until_learnt(flow.descend(facts, n_answers, 1.0, value_lr, 0.0))}
    curves |= {"polar": _until_learnt(flow.descend(facts, n_answers, 1.0, muon_lr, 0.0, flow.level))}
    learnt = curves["learnt"]
    exact = _first(flow.reduced(n_subjects, n_relations, n_answers, start, flow_lr, flow_lr), len(learnt))
    result = {name: _stages(curve) for name, curve in curves.items()}
    return result | {"difference": float(np.abs(learnt - exact).max()), "plateau": _plateau(learnt)}


def expect_flow(n_subjects: int, n_relations: int, n_answers: int, value_lr: float, muon_lr: float, seed: int) -> dict:
    """The same from the reduction for gradient descent, at constant pace for polar steps; learnt: the limiting ratio
    for a small start."""
    facts = flow.balanced_facts(n_subjects, n_relations, n_answers, seed)
    exact = _until_learnt(flow.reduced(n_subjects, n_relations, n_answers, 1.0, value_lr, 0.0))
    paced = flow.pace_curve(facts, n_answers, muon_lr, _LONGEST)
    return {
        "learnt": {"ratio": flow.time_ratio(n_subjects, n_relations, n_answers)},
        "sgd": _stages(exact),
        "polar": _stages(paced),
    }


def _uniform(dim: int, load: float) -> Problem:
    return Problem.from_frequencies(np.ones(max(2, round(load * dim**2))), dim)


def _until_learnt(steps: Iterator[tuple[float, float, float]]) -> np.ndarray:
    curve = []
    for point in islice(steps, _LONGEST):
        curve.append(point)
        if point[-1] >= _LEARNT:
            break
    return np.array(curve)


def _first(steps: Iterator[tuple[float, float, float]], count: int) -> np.ndarray:
    return np.array(list(islice(steps, count)))


def _stages(curve: np.ndarray) -> dict:
    relation, answer = flow.stage_times(curve)
    mixed = ((curve[:, 1] >= 0.9) & (curve[:, 2] < 0.5)).sum()
    return {"relation": relation, "answer": answer, "ratio": answer / relation, "mixed": float(mixed / relation)}


def _plateau(curve: np.ndarray) -> float:
    """The loss where it falls slowest between the two times; the last one where there is nothing between."""
    relation, answer = flow.stage_times(curve)
    if not answer - relation >= 2:
        return float(curve[-1, 0])
    between = curve[int(relation) : int(answer), 0]
    return float(between[np.argmax(np.gradient(between))])
