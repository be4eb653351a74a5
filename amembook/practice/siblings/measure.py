"""What a cell measures: a network trained with one update at its best rate."""

import math
from collections.abc import Callable, Iterable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from amembook.networks.attention import Network, forward, initial_weights, recall_loss
from amembook.networks.language_model import held_out_losses, train_language_model
from amembook.networks.long_runs import ladder
from amembook.networks.tasks import RecallTask, sample_sequences
from amembook.networks.text import documentation
from amembook.networks.training import train_matrices
from amembook.run import runtime
from amemlib.whitening import balanced_sum, whiten

TASKS = ("recall", "text")
UPDATES = ("muon", "own", "siblings")
MOMENTUM, SECOND = 0.95, 0.9
FLOOR, DAMPING = 0.6, 1e-3
"""As on the memory: the polar factor's part, and what is added to the moment, in units of its mean eigenvalue."""
VECTORS_LR = 3e-3
"""AdamW's rate of all vectors of the recall network."""
EVALUATED = 512
STARTS = {"recall": {"muon": 0.005}, "text": {}}
"""Where the ladders of rates start, if not at `START`."""
START = {"recall": 0.01, "text": 0.02}


def families(names: Iterable[str]) -> list[list[str]]:
    """Matrices by what they read: query, key and value of a block the same rows, every other one its own."""
    groups = {}
    for name in names:
        shares = name[:-1] in ("query", "key", "value")
        groups.setdefault(f"attention{name[-1]}" if shares else name, []).append(name)
    return list(groups.values())


def polar_of_float32(M: Float[Tensor, "m n"]) -> Float[Tensor, "m n"]:
    """The polar factor by an SVD in float32, directions at its rounding dropped: `polar`, in float64, takes longer than
    the rest of a step."""
    P, s, Qh = torch.linalg.svd(M, full_matrices=False)
    return (P * (s > (M.shape[0] * M.shape[1]) ** 0.25 * torch.finfo(M.dtype).eps * s[0])) @ Qh


def make_update(name: str) -> Callable[[int, dict[str, Tensor]], dict[str, Tensor]]:
    """Of Nesterov's average M, every update at ‖O‖_F = √min(m, n): muon polar(M); siblings M (Σ_r G_rᵀG_r + ϱ)⁻¹ with a
    floor of polar(M), the moment averaged over the steps, r over the matrices of its family; own the same with every
    matrix its own family."""
    averages, moments = {}, {}

    def update(step: int, G: dict[str, Tensor]) -> dict[str, Tensor]:
        added = {}
        for group in families(G) if name == "siblings" else [[one] for one in G]:
            key = group[0]
            if name != "muon":
                fresh = sum(X.mT @ X for X in (G[one].double() for one in group))
                moments[key] = torch.lerp(fresh, moments.get(key, fresh), SECOND)
            for one in group:
                average = averages[one] = torch.lerp(G[one], averages.get(one, torch.zeros_like(G[one])), MOMENTUM)
                M = torch.lerp(G[one], average, MOMENTUM)
                move = polar_of_float32(M)
                if name != "muon" and M.any():
                    move = balanced_sum([whiten(M, right=moments[key], damping=DAMPING), move], [1, FLOOR])
                size = math.sqrt(min(M.shape)) / torch.linalg.norm(move).clamp_min(torch.finfo(move.dtype).tiny)
                added[one] = (move * size).to(M)
        return added

    return update


def measure_run(
    task: str,
    update: str,
    text_steps: int,
    recall_steps: int,
    batch: int,
    length: int,
    dim: int,
    n_words: int,
    vocabulary: int,
    n_items: int,
    alpha: float,
    pairs: int,
    seed: int,
    device: str,
) -> dict:
    """validation, test: losses at the rate that is best on the first; `rate`, and the `ladder` of validation losses.

    Start and batches are the seed's, whatever the update.
    """
    place, tried = runtime.device(device), {}

    def of_text(rate: float) -> dict | None:
        text = documentation(n_words, vocabulary)
        given = (text, vocabulary, length, dim, batch, text_steps, rate)
        weights = train_language_model(*given, make_update(update), seed, place)
        return weights and held_out_losses(weights, text, length)

    def of_recall(rate: float) -> dict | None:
        law = RecallTask(n_items, length, pairs, alpha, alpha)
        start = initial_weights(Network(law.vocabulary, length, dim), seed)
        weights = train_matrices(
            {name: W.to(place) for name, W in start.items()},
            dict.fromkeys(("embedding", "position", "unembedding"), VECTORS_LR),
            recall_loss,
            lambda step: sample_sequences(law, batch, seed, step).to(place),
            recall_steps,
            rate,
            make_update(update),
        )
        if weights is None:
            return None
        asked = sample_sequences(law, EVALUATED, seed, 0, "evaluation").to(place)
        with torch.no_grad():
            logits = forward(weights, asked.tokens, asked.queries).logits
            losses = F.cross_entropy(logits.flatten(0, 1), asked.targets.flatten(), reduction="none")
        rows = losses.double().reshape(EVALUATED, -1)
        return {"validation": rows[::2].mean().item(), "test": rows[1::2].mean().item()}

    def validation(rate: float) -> float:
        told = {"text": of_text, "recall": of_recall}[task](rate)
        if told is None:
            return math.inf
        tried[rate] = told
        return told["validation"]

    values = ladder(validation, STARTS[task].get(update, START[task]))
    rate = min(values, key=values.get)
    return tried[rate] | {"rate": rate, "ladder": {f"{key:g}": value for key, value in sorted(values.items())}}
