"""Adam as a function, apart: the first use of torch.optim loads torch's compiler, several seconds.

That is longer than the small networks here train. `training` has torch's own, for networks that train for long.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from amemlib.checks import check_positive, shown

_DECAYS, _EPSILON = (0.9, 0.999), 1e-8


def adam(
    weights: Sequence[Tensor], gradients: Callable[[int, list[Tensor]], Sequence[Tensor]], lr: float
) -> Iterator[list[Tensor]]:
    """The weights after 1, 2, … steps of Adam (Kingma and Ba, arXiv:1412.6980), β = (0.9, 0.999), without end.

    gradients: the number of the step, from 1, and the weights ↦ the gradients of the loss there. The weights that it
    gets require gradients; those that come out do not. Raises `ValueError` for lr ≤ 0, and for gradients that have not
    the shapes of the weights, which would be broadcast.
    """
    check_positive("lr", lr)
    weights = [W.detach() for W in weights]
    means, squares = ([torch.zeros_like(W) for W in weights] for _ in range(2))
    step = 0
    while True:
        step += 1
        slopes = list(gradients(step, [W.requires_grad_() for W in weights]))
        shapes, wanted = ([tuple(X.shape) for X in Xs] for Xs in (slopes, weights))
        if shapes != wanted:
            raise ValueError(f"gradients must have the shapes of the weights, {shown(wanted)}, got {shown(shapes)}")
        means = [torch.lerp(G, m, _DECAYS[0]) for G, m in zip(slopes, means, strict=True)]
        squares = [torch.lerp(G.square(), v, _DECAYS[1]) for G, v in zip(slopes, squares, strict=True)]
        rate = lr * math.sqrt(1 - _DECAYS[1] ** step) / (1 - _DECAYS[0] ** step)
        moves = [rate * m / (v.sqrt() + _EPSILON) for m, v in zip(means, squares, strict=True)]
        weights = [W.detach() - move for W, move in zip(weights, moves, strict=True)]
        yield weights
