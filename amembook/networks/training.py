"""Training of any network that is a function of a dict of weights: the loop, the optimizers, checkpoints.

An optimizer here is a function from weights and a constant learning rate to the torch optimizers that share them.
"""

import functools
import math
import os
import pickle
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from amemlib.checks import check_count
from amemlib.spectral import spectral_map

VECTORS = ("embedding", "position", "unembedding")
"""The weights that are tables of vectors and no maps: Muon leaves them to AdamW, as K. Jordan's Muon does."""

_MUON = {"momentum": 0.9, "weight_decay": 0.01}
_VECTORS_LR = 3e-3


@dataclass(frozen=True, eq=False)
class TrainingRun:
    """A finished run: its weights, what the probe said at each probed step, and where it diverged (None: nowhere)."""

    weights: dict[str, Tensor]
    history: list[dict]
    diverged: int | None


def muon(weights: dict[str, Tensor], lr: float) -> list[torch.optim.Optimizer]:
    """torch's own Muon for the matrices (five quintic Newton–Schulz steps in bfloat16, Nesterov momentum 0.9, weight
    decay 0.01), AdamW at 3·10⁻³ for the vectors. Raises `ImportError` where torch is older than 2.9.
    """
    if not hasattr(torch.optim, "Muon"):
        raise ImportError(
            f'torch.optim.Muon needs torch 2.9 or newer, here is {torch.__version__}: pip install "torch>=2.9"; '
            "the exact polar map of `exact_muon` works with this one"
        )
    return [torch.optim.Muon(list(_matrices(weights).values()), lr=lr, **_MUON), *_vectors_adamw(weights)]


def exact_muon(weights: dict[str, Tensor], lr: float) -> list[torch.optim.Optimizer]:
    """Muon with the exact polar factor instead of Newton–Schulz; momentum, scaling and decay as in `muon`."""
    return _orthogonalised(weights, lr, _polar_of_float32)


def adamw(weights: dict[str, Tensor], lr: float) -> list[torch.optim.Optimizer]:
    """AdamW for all weights, β = (0.9, 0.95), weight decay 0.01."""
    return [torch.optim.AdamW(list(weights.values()), lr=lr, betas=(0.9, 0.95), weight_decay=0.01)]


def sgd(weights: dict[str, Tensor], lr: float) -> list[torch.optim.Optimizer]:
    """SGD with momentum 0.9 and the others' weight decay 0.01 for all weights, decoupled like theirs.

    torch's own decay for SGD passes through the momentum: it would be ten times the others' at the same number.
    """
    optimizer = torch.optim.SGD(list(weights.values()), lr=lr, momentum=0.9)
    optimizer.register_step_pre_hook(_decay_weights)
    return [optimizer]


def sgd_matrices(weights: dict[str, Tensor], lr: float) -> list[torch.optim.Optimizer]:
    """Muon without its spectral map: `sgd` for the matrices, `muon`'s AdamW for the vectors."""
    return [*sgd(_matrices(weights), lr), *_vectors_adamw(weights)]


def adamw_vectors(weights: dict[str, Tensor], lr: float) -> list[torch.optim.Optimizer]:
    """AdamW for all weights, the vectors at the rate that `muon` gives them."""
    return [*adamw(_matrices(weights), lr), *_vectors_adamw(weights)]


def fixed_vectors(optimizer: Callable, weights: dict[str, Tensor], lr: float) -> list[torch.optim.Optimizer]:
    """An optimizer for the matrices alone: the vectors stay as they were drawn, as in a linear associative memory."""
    for name in VECTORS:
        weights[name].requires_grad_(False)
    return optimizer(_matrices(weights), lr)


OPTIMIZERS = {
    "muon": muon,
    "exact_muon": exact_muon,
    "adamw": adamw,
    "sgd": sgd,
    "sgd_matrices": sgd_matrices,
    "adamw_vectors": adamw_vectors,
    **{f"{one.__name__}_fixed": functools.partial(fixed_vectors, one) for one in (muon, adamw, sgd)},
}
"""By name: from weights and a constant learning rate to the torch optimizers that share them."""


def train(
    weights: dict[str, Tensor],
    loss: Callable[[dict[str, Tensor], Any], Tensor],
    optimizer: Callable[[dict[str, Tensor]], list[torch.optim.Optimizer]],
    batches: Callable[[int], Any],
    steps: int,
    probe_every: int,
    probe: Callable[[dict[str, Tensor]], dict],
    checkpoint: Path | None = None,
    ceiling: float = math.inf,
) -> TrainingRun:
    """Train at a constant step and probe on the way; the given weights are left as they are.

    loss: weights and a batch ↦ what is minimised. optimizer: weights ↦ optimizers, one of `OPTIMIZERS` with its
    learning rate. batches: step ↦ batch, a function and no stream, so that a resumed run sees what it would have seen.
    probe: weights ↦ plain dict; the history holds it with `step` and `loss`, the mean training loss since the last
    probe, for step 0 and every `probe_every` steps.
    checkpoint: a file, written at every probe and removed at the end; a run that finds it goes on from there and ends
    with the same numbers; one that cannot read it starts anew. ceiling: a run
    has diverged once the mean loss between two probes is above it or not finite; it ends there, with the step, and its
    probes stop before. On one CPU thread the result is a function of the arguments.
    """
    check_count("steps", steps)
    check_count("probe_every", probe_every)
    weights = {name: tensor.detach().clone().requires_grad_() for name, tensor in weights.items()}
    optimizers = optimizer(weights)
    state = _load(checkpoint, weights, optimizers) if checkpoint else None
    step, history = state or (0, [{"step": 0, "loss": None} | probe(weights)])
    total, last, diverged = 0.0, step, None
    while step < steps:
        value = loss(weights, batches(step))
        for part in optimizers:
            part.zero_grad()
        value.backward()
        for part in optimizers:
            part.step()
        total += value.detach()
        step += 1
        if step % probe_every == 0 or step == steps:
            mean = float(total) / (step - last)
            if mean > ceiling or not math.isfinite(mean):
                diverged = step
                break
            total, last = 0.0, step
            history.append({"step": step, "loss": mean} | probe(weights))
            if checkpoint is not None:
                _save(checkpoint, step, history, weights, optimizers)
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    return TrainingRun({name: tensor.detach() for name, tensor in weights.items()}, history, diverged)


def cooled(step: int, steps: int) -> float:
    """A rate that is 1 for the first half of a run and falls in a line to 0 over the second."""
    return min(1.0, 2 * (1 - step / steps))


def raised(step: int, steps: int) -> float:
    """A momentum that rises in a line from 0.85 to 0.95 over the first quarter of a run and falls to 0.9 at its end."""
    done = step / steps
    return 0.85 + 0.4 * done if done < 0.25 else 0.95 - (done - 0.25) / 15


def train_matrices(
    weights: dict[str, Tensor],
    vectors: Mapping[str, float],
    loss: Callable[[dict[str, Tensor], Any], Tensor],
    batches: Callable[[int], Any],
    steps: int,
    lr: float,
    update: Callable[[int, dict[str, Tensor]], dict[str, Tensor]] | None,
) -> dict[str, Tensor] | None:
    """The trained weights, W ← W + η √max(1, m/n) · update, rates `cooled`; None where a loss was not finite.

    vectors: tables of vectors that AdamW trains, with their rates; the others stay as they are. update: number of the
    step and −∇L of every matrix ↦ what is added to it, of a size that is its own; None leaves all matrices as they are.
    """
    weights = {name: W.detach().clone() for name, W in weights.items()}
    learnt = [*vectors, *([] if update is None else _matrices(weights))]
    for name in learnt:
        weights[name].requires_grad_()
    readers = {name: adamw({name: weights[name]}, rate)[0] for name, rate in vectors.items()}
    for step in range(steps):
        value = loss(weights, batches(step))
        if not torch.isfinite(value):
            return None
        gradients = dict(zip(learnt, torch.autograd.grad(value, [weights[name] for name in learnt]), strict=True))
        for name, optimizer in readers.items():
            weights[name].grad = gradients.pop(name)
            optimizer.param_groups[0]["lr"] = vectors[name] * cooled(step, steps)
            optimizer.step()
        with torch.no_grad():
            added = update(step, {name: -G for name, G in gradients.items()}) if gradients else {}
            for name, move in added.items():
                m, n = move.shape
                weights[name] += lr * cooled(step, steps) * math.sqrt(max(1, m / n)) * move
    return {name: W.detach() for name, W in weights.items()}


def _matrices(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in weights.items() if name not in VECTORS}


def _vectors_adamw(weights: dict[str, Tensor]) -> list[torch.optim.Optimizer]:
    """AdamW for the vectors among the weights, nothing where there are none."""
    vectors = {name: weights[name] for name in VECTORS if name in weights}
    return adamw(vectors, _VECTORS_LR) if vectors else []


@torch.no_grad()
def _decay_weights(optimizer, args, kwargs) -> None:
    for group in optimizer.param_groups:
        for W in group["params"]:
            W.mul_(1 - group["lr"] * _MUON["weight_decay"])


def _orthogonalised(weights: dict[str, Tensor], lr: float, orthogonalise: Callable[[Tensor], Tensor]) -> list:
    """Plain SGD whose gradients are replaced just before the step, W ← (1 − ηω) W − η √max(1, m/n) f(M), M the Nesterov
    momentum; AdamW for the vectors."""
    optimizer = torch.optim.SGD(list(_matrices(weights).values()), lr=lr, weight_decay=_MUON["weight_decay"])
    optimizer.register_step_pre_hook(functools.partial(_orthogonalise_gradients, orthogonalise))
    return [optimizer, *_vectors_adamw(weights)]


@torch.no_grad()
def _orthogonalise_gradients(orthogonalise: Callable[[Tensor], Tensor], optimizer, args, kwargs) -> None:
    for group in optimizer.param_groups:
        for W in group["params"]:
            state, momentum = optimizer.state[W], _MUON["momentum"]
            average = state.setdefault("average", torch.zeros_like(W)).lerp_(W.grad, 1 - momentum)
            M = orthogonalise(W.grad.lerp(average, momentum))
            W.grad = (math.sqrt(max(1, W.shape[-2] / W.shape[-1])) * M).to(W)


def _polar_of_float32(G: Tensor) -> Tensor:
    if G.ndim > 2:
        # a run that is about to be called diverged, among others: an SVD takes nothing that is not finite
        G = torch.where(torch.isfinite(G).all(-1).all(-1)[:, None, None], G, 0)
    # the numerical rank of a float32 gradient: below it the directions are rounding and must not become 1
    cut = (G.shape[-2] * G.shape[-1]) ** 0.25 * torch.finfo(G.dtype).eps
    return spectral_map(G, functools.partial(_above, cut=cut))


def _above(s: Tensor, cut: float) -> Tensor:
    return (s > cut * s[..., :1]).to(s)


def _save(path: Path, step: int, history: list[dict], weights: dict[str, Tensor], optimizers: list) -> None:
    state = {"step": step, "history": history, "weights": {name: W.detach() for name, W in weights.items()}}
    state["optimizers"] = [optimizer.state_dict() for optimizer in optimizers]
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # whole or not at all
    torch.save(state, path.with_suffix(".tmp"))
    os.replace(path.with_suffix(".tmp"), path)


def _load(path: Path, weights: dict[str, Tensor], optimizers: list) -> tuple[int, list[dict]] | None:
    """Step and history of a checkpoint, whose state goes into weights and optimizers; None if it cannot be read."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        print(f"amembook: {path} cannot be read ({type(error).__name__}): the run begins anew", file=sys.stderr)
        return None
    try:
        with torch.no_grad():
            for name, W in weights.items():
                W.copy_(state["weights"][name])
        for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        return state["step"], state["history"]
    except (RuntimeError, ValueError, KeyError, TypeError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:80]
        raise ValueError(f"checkpoint must hold this run, got {str(path)!r} ({reason}): delete it") from None
