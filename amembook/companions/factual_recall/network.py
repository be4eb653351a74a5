"""One layer of attention and an MLP on the factual recall task, as functions of a dict of weights.

A context of T tokens holds a subject, a relation and noise, in random places; the query is the token that ends it. Head
h reads Σ_t softmax_t(x_tᵀ K_hᵀ q_h) V_h x_t and writes with O_h; then y + W_2 relu(W_1 y), logits U y. Embeddings are
random and stay as they are. The query is the same in every context, so q_h = Q_h x_end is a vector of its own.
"""

import math
from collections.abc import Iterator
from itertools import islice

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from amembook.companions.factual_recall.flow import balanced_facts
from amembook.networks.adam import adam

LENGTH, NOISE = 4, 8
"""Tokens of a context, and of the vocabulary of its noise."""
_REPEATS = 4


def initial_weights(dim: int, heads: int, head_dim: int, width: int, seed: int) -> dict[str, Tensor]:
    """Gaussian weights of variance 1/columns. With no heads attention has none: see `predict`."""
    generator = np.random.default_rng([seed, dim, heads, width])
    shapes = {}
    if heads:
        shapes |= {"query": (heads, head_dim), "key": (heads, head_dim, dim)}
        shapes |= {"value": (heads, head_dim, dim), "output": (heads, dim, head_dim)}
    if width:
        shapes |= {"expand": (width, dim), "contract": (dim, width)}
    draw = lambda shape: torch.from_numpy(generator.standard_normal(shape) / math.sqrt(shape[-1])).float()
    return {name: draw(shape) for name, shape in shapes.items()}


def predict(
    weights: dict[str, Tensor], contexts: Int[Tensor, "B T"], E: Float[Tensor, "vocabulary d"], U: Float[Tensor, "M d"]
) -> Float[Tensor, "B M"]:
    """Logits of the answers, (B, M). Without heads attention is set by hand, half on the subject and half on the
    relation, and hands on what it reads: it gathers and cannot store. Trained to gather, one head may switch off a
    token for good."""
    if "value" in weights:
        matches = E @ torch.einsum("hkd,hk->dh", weights["key"], weights["query"])
        read = torch.einsum("bth,btd->bhd", matches[contexts].softmax(1), E[contexts])
        y = torch.einsum("hdk,hke,bhe->bd", weights["output"], weights["value"], read)
    else:
        informative = (contexts < len(E) - NOISE).to(E)
        y = torch.einsum("bt,btd->bd", informative / 2, E[contexts])
    if "expand" in weights:
        y = y + (y @ weights["expand"].T).relu() @ weights["contract"].T
    return y @ U.T


def contexts(n_subjects: int, n_relations: int, seed: int) -> Iterator[Int[Tensor, "n T"]]:
    """Batches with every fact once, in the order of the flattened table: fresh noise and places in each."""
    S, R, n = n_subjects, n_relations, n_subjects * n_relations
    generator, rows = np.random.default_rng([seed, S, R, 1]), np.arange(n)
    subjects, relations = np.divmod(rows, R)
    while True:
        tokens = generator.integers(S + R, S + R + NOISE, (n, LENGTH))
        places = generator.random((n, LENGTH)).argsort(1)
        tokens[rows, places[:, 0]], tokens[rows, places[:, 1]] = subjects, S + relations
        yield torch.from_numpy(tokens)


def train_recall(
    n_subjects: int, n_answers: int, dim: int, heads: int, head_dim: int, width: int, steps: int, lr: float,
    enough: float, seed: int,
) -> float:  # fmt: skip
    """Share of S² facts of S subjects and S relations that a trained network recalls on fresh contexts: the best seen
    at every hundredth step, and training ends once it is `enough`."""
    facts = balanced_facts(n_subjects, n_subjects, n_answers, seed)
    answers, M = facts.flatten(), n_subjects * n_answers
    generator = np.random.default_rng([seed, n_subjects, dim, 0])
    E, U = (
        torch.from_numpy(generator.standard_normal((rows, dim)) / math.sqrt(dim)).float()
        for rows in (2 * n_subjects + NOISE, M)
    )
    weights = initial_weights(dim, heads, head_dim, width, seed)
    batches = contexts(n_subjects, n_subjects, seed)
    named = lambda values: dict(zip(weights, values, strict=True))

    def gradients(step, values):
        return torch.autograd.grad(F.cross_entropy(predict(named(values), next(batches), E, U), answers), values)

    if not weights:
        with torch.no_grad():
            return (predict({}, next(batches), E, U).argmax(1) == answers).double().mean().item()
    best, every = 0.0, min(100, steps)
    for trained in islice(adam(list(weights.values()), gradients, lr), every - 1, steps, every):
        with torch.no_grad():
            said = [predict(named(trained), next(batches), E, U).argmax(1) == answers for _ in range(_REPEATS)]
        best = max(best, torch.stack(said).double().mean().item())
        if best >= enough:
            break
    return best
