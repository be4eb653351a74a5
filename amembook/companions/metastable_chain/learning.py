"""Learning a chain: the first gradient of pretraining, and a policy gradient that rewards hard steps.

The model is p(y | x) = softmax(W e_x)_y, one column of W for each state x.
"""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

_MOST = 100_000


def first_gradient(P: Float[np.ndarray, "S S"], samples: int, generator: np.random.Generator) -> Float[Tensor, "S S"]:
    """−∂L/∂W at W = 0 times S, L the mean cross-entropy of a step: P̂ᵀ − 1/S, P̂ from so many steps a state.

    0 samples stand for all data, P̂ = P.
    """
    if samples:
        P = generator.multinomial(samples, P) / samples
    return torch.from_numpy(P.T - 1 / len(P))


def reward_gradient(logits: Float[Tensor, "S E"], targets: np.ndarray) -> Float[Tensor, "S E"]:
    """∂/∂(logits) of Σ_e p(target_e | source_e), a column for each rewarded step."""
    p = logits.softmax(0)
    at = torch.arange(p.shape[1])
    own = p[targets, at]
    G = -p * own
    G[targets, at] += own
    return G


def steps_to_half(
    P: Float[np.ndarray, "S S"], edges: np.ndarray, spectral_map: Callable[[Tensor], Tensor], lr: float, clip: bool
) -> tuple[Float[np.ndarray, " E"], Float[np.ndarray, "S S"]]:
    """Steps of W ← W + lr · map(gradient) until each rewarded step has probability 1/2, and the chain then.

    Between two steps the log-odds are taken as linear. clip: whether a step's reward ends there, as clipping has it.
    NaN for a step that does not get there.
    """
    sources, targets = edges.T
    at = torch.arange(len(edges))
    logits = torch.from_numpy(np.log(np.maximum(P[sources].T, 1e-300)))
    logits[torch.from_numpy(P[sources].T == 0)] = -torch.inf
    reached = np.full(len(edges), np.nan)
    odds = torch.logit(logits.softmax(0)[targets, at])
    for step in range(_MOST):
        if np.isfinite(reached).all():
            break
        G = reward_gradient(logits, targets)
        if clip:
            G[:, np.isfinite(reached)] = 0
        # a step is what the walk has been seen to do: it gets no mass where it has none
        logits = logits + lr * spectral_map(G)
        before, odds = odds, torch.logit(logits.softmax(0)[targets, at])
        new = np.isnan(reached) & (odds >= 0).numpy()
        reached[new] = step + (-before / (odds - before)).numpy()[new]
    boosted = P.copy()
    boosted[sources] = logits.softmax(0).T.numpy()
    return reached, boosted
