"""A small causal language model on fixed inputs: the matrices between fixed embeddings and a trained readout.

`attention.Network` with MLPs on `text.documentation`. Embeddings and positions stay as they were drawn, so that what is
known of the words before has to be learnt by the matrices.
"""

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from amembook.networks.attention import Network, forward, initial_weights
from amembook.networks.text import Text
from amembook.networks.training import train_matrices

EVALUATED = 1024
"""Held-out pieces, every other one for the choice of a rate, the rest for the loss that is told."""
READOUT_LR = 0.01
"""AdamW's rate of the readout, `unembedding`."""


def word_losses(weights: dict[str, Tensor], rows: Int[Tensor, "B L1"]) -> Float[Tensor, " n"]:
    """Cross-entropy in nats of every word of a row but the first, given those before it."""
    queries = torch.arange(rows.shape[1] - 1, device=rows.device).expand(len(rows), -1)
    logits = forward(weights, rows[:, :-1], queries).logits
    return F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), reduction="none")


def start_and_batches(
    text: Text, vocabulary: int, length: int, dim: int, batch: int, seed: int, device
) -> tuple[dict[str, Tensor], Callable[[int], Int[Tensor, "B L1"]]]:
    """The weights that a run starts with, and its batches by the number of the step: both the seed's."""
    words = torch.from_numpy(text.train).to(device)
    start = initial_weights(Network(vocabulary, length, dim, 4 * dim), seed)

    def batches(step: int) -> Int[Tensor, "B L1"]:
        places = np.random.default_rng([seed, step]).integers(0, len(words) - length, batch)
        return words[torch.from_numpy(places).to(device)[:, None] + torch.arange(length + 1, device=device)]

    return {name: W.to(device) for name, W in start.items()}, batches


def train_language_model(
    text: Text,
    vocabulary: int,
    length: int,
    dim: int,
    batch: int,
    steps: int,
    lr: float,
    update: Callable[[int, dict[str, Tensor]], dict[str, Tensor]] | None,
    seed: int,
    device,
) -> dict[str, Tensor] | None:
    """`train_matrices` of the matrices and the readout; start and batches are the seed's, whatever the update."""
    start, batches = start_and_batches(text, vocabulary, length, dim, batch, seed, device)
    return train_matrices(
        start,
        {"unembedding": READOUT_LR},
        lambda weights, rows: word_losses(weights, rows).mean(),
        batches,
        steps,
        lr,
        update,
    )


@torch.no_grad()
def held_out_losses(weights: dict[str, Tensor], text: Text, length: int) -> dict[str, float]:
    """validation, test: mean loss in nats on every other held-out piece, and on the rest."""
    whole = len(text.test) // (length + 1) * (length + 1)
    rows = torch.from_numpy(text.test[:whole]).reshape(-1, length + 1)[:EVALUATED].to(weights["embedding"].device)
    halves = {"validation": rows[::2], "test": rows[1::2]}
    of = lambda half: torch.cat([word_losses(weights, part) for part in half.split(64)]).double().mean().item()
    return {name: of(half) for name, half in halves.items()}
