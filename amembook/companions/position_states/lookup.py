"""Find, then step: distinct symbols, and a question (s, d): which symbol stands d places before s? And its training."""

from collections.abc import Callable, Iterator

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from amembook.companions.position_states import states
from amembook.networks.adam import adam
from amemlib.spectral import newton_schulz

_MOMENTUM, _DONE, _IN_A_ROW = 0.9, 0.99, 5
MATRICES = tuple(name + layer for layer in "12" for name in ("query", "key", "value", "output"))
"""What Muon moves; tables, biases, β and γ stay with Adam."""


def sample_questions(
    count: int, length: int, n_symbols: int, n_offsets: int, generator: np.random.Generator
) -> tuple[Int[Tensor, "B T"], Int[Tensor, " B"], Int[Tensor, " B"], Int[Tensor, " B"]]:
    """Symbols, the asked symbol's place, the offset, the answer; all places with d before them are as likely."""
    symbols = np.argsort(generator.random((count, n_symbols)), 1)[:, :length]
    offsets = generator.integers(0, n_offsets, count)
    places = offsets + (generator.random(count) * (length - offsets)).astype(int)
    answers = symbols[np.arange(count), places - offsets]
    return tuple(torch.from_numpy(part) for part in (symbols, places, offsets, answers))


def logits(
    weights: dict[str, Tensor], questions: tuple[Tensor, ...], theta: Float[Tensor, " F"]
) -> tuple[Tensor, Tensor, Tensor]:
    """`states.forward` on questions."""
    symbols, places, offsets, _ = questions
    asked = symbols.gather(1, places[:, None])[:, 0]
    content = states.contents(weights, symbols, asked, offsets)
    return states.forward(weights, content, states.phases(theta, content.shape[1]))


def train(
    weights: dict[str, Tensor],
    theta: Float[Tensor, " F"],
    moving: bool,
    optimizer: str,
    draw: Callable[[], tuple[Tensor, ...]],
    steps: int,
    lr: float,
    muon_lr: float,
) -> tuple[dict[str, Tensor], int]:
    """The weights and the number of steps, at most `steps`; ends after five batches in a row with 99 % right.

    moving: whether β and γ are trained. optimizer: "adam" for all, or "muon" for `MATRICES`.
    """
    names, fixed, row = [name for name in weights if moving or name != "move"], weights["move"], []

    def gradients(_: int, parts: list[Tensor]) -> tuple[Tensor, ...]:
        questions = draw()
        found = logits({"move": fixed} | dict(zip(names, parts, strict=True)), questions, theta)[0]
        row.append((found.argmax(-1) == questions[-1]).float().mean().item())
        return torch.autograd.grad(F.cross_entropy(found, questions[-1]), parts)

    parts = [weights[name] for name in names]
    at = [names.index(name) for name in MATRICES]
    path = adam(parts, gradients, lr) if optimizer == "adam" else _muon(parts, at, gradients, muon_lr, lr)
    for _, parts in zip(range(steps), path, strict=False):  # noqa: B007
        if len(row) >= _IN_A_ROW and min(row[-_IN_A_ROW:]) >= _DONE:
            break
    return {"move": fixed} | dict(zip(names, parts, strict=True)), len(row)


def _muon(parts: list[Tensor], at: list[int], gradients: Callable, lr: float, others_lr: float) -> Iterator[list]:
    """As `adam.adam`, with the shipped five quintic steps on a momentum of 0.9 for the parts at `at`."""
    matrices, momenta = [parts[k] for k in at], [torch.zeros_like(parts[k]) for k in at]
    rest = [k for k in range(len(parts)) if k not in at]

    def whole(others: list[Tensor]) -> list[Tensor]:
        placed = dict(zip(at, matrices, strict=True)) | dict(zip(rest, others, strict=True))
        return [placed[k] for k in range(len(parts))]

    def slopes_of_rest(step: int, others: list[Tensor]) -> list[Tensor]:
        nonlocal matrices, momenta
        matrices = [W.requires_grad_() for W in matrices]
        slopes = gradients(step, whole(others))
        momenta = [_MOMENTUM * m + slopes[k] for m, k in zip(momenta, at, strict=True)]
        moves = [newton_schulz(m, coefficients="muon").to(m) for m in momenta]
        matrices = [W.detach() - lr * move for W, move in zip(matrices, moves, strict=True)]
        return [slopes[k] for k in rest]

    for others in adam([parts[k] for k in rest], slopes_of_rest, others_lr):
        yield whole(others)
