"""What the study measures: the flow of the Riccati equation by its closed form, online SGD, and Muon.

Teacher Σ_j λ_j h_2(⟨x, θ_j⟩) with θ_j the first r coordinate vectors, student Σ_i ‖w_i‖² h_2(⟨x, w_i⟩/‖w_i‖). With
A = WᵀW and M = diag λ the loss ½ E (difference)² is ½ ‖M − A‖², and its flow is W′ = 2W(M − A).
"""

import math

import numpy as np
import torch

from amembook.companions.quadratic import expected
from amemlib.spectral import polar

_RATIO, _FINE, _GROWTH = 1.15, 1.03, 4.0


def start(width: int, dim: int, init: float, seed: int) -> np.ndarray:
    """Neurons of length `init` in independent uniform directions, (m, d)."""
    W = np.random.default_rng([seed, width, dim]).standard_normal((width, dim))
    return init * W / np.linalg.norm(W, axis=1, keepdims=True)


def propagate(W: np.ndarray, lam: np.ndarray, time: float) -> np.ndarray:
    """The flow W′ = 2W(M − WᵀW) after a time, exactly, up to a rotation of the neurons from the left:

    (I + W Φ Wᵀ)^{−1/2} W e^{2Mt}, Φ = (e^{4Mt} − I) M^{−1}. Cholesky's factor stands for the root.
    """
    safe = np.where(lam > 0, lam, 1)
    phi = np.where(lam > 0, np.expm1(4 * lam * time) / safe, 4 * time)
    root = np.linalg.cholesky(np.eye(len(W)) + (W * phi) @ W.T)
    return np.linalg.solve(root, W * np.exp(2 * lam * time))


def risk(W: np.ndarray, lam: np.ndarray) -> float:
    """½ ‖M − WᵀW‖²."""
    return float(np.square(W.T @ W - np.diag(lam)).sum() / 2)


def measure_flow(
    alpha: float, rank: int, dim: int, width: int, init: float, horizon: float, until: int, seed: int
) -> dict:
    """The flow up to a horizon or until the first `until` directions are learnt.

    times: T_j, when half of λ_j is captured, NaN beyond; between two points the logit of what is captured is linear.
    losses at loss_times, which grow by 15 %. loss: at the end.
    """
    lam = _padded(alpha, rank, dim)
    W, time, following = start(width, dim, init, seed), 0.0, 0.5
    times, loss_times, losses = np.full(rank, np.nan), [], []
    before = _logits(W, lam, rank)
    while time < horizon and np.isnan(times[:until]).any():
        step = min(_GROWTH / lam[0], max(0.05, (_FINE - 1) * time), following - time)
        W = propagate(W, lam, step)
        now = _logits(W, lam, rank)
        crossed = np.isnan(times) & (now >= 0)
        part = np.clip(before / np.where(now == before, -1, before - now), 0, 1)
        times, time, before = np.where(crossed, time + part * step, times), time + step, now
        if time >= following:
            loss_times.append(time)
            losses.append(risk(W, lam))
            following *= _RATIO
    return {"times": times.tolist(), "loss_times": loss_times, "losses": losses, "loss": risk(W, lam)}


def measure_floor(alpha: float, rank: int, dim: int, width: int, init: float, patience: float, seed: int) -> dict:
    """The loss of a narrow student over its floor at patience/(4(λ_m − λ_{m+1})): it has told m from m + 1 by then."""
    lam = expected.coefficients(alpha, rank)
    horizon = patience / (4 * (lam[width - 1] - lam[width]))
    padded, W, time = _padded(alpha, rank, dim), start(width, dim, init, seed), 0.0
    while time < horizon:
        W, time = propagate(W, padded, _GROWTH / lam[0]), time + _GROWTH / lam[0]
    return {"ratio": risk(W, padded) / expected.floor(lam, width)}


def measure_sgd(
    alpha: float, rank: int, dim: int, width: int, init: float, lr: float, batch: int, horizon: float, seed: int
) -> dict:
    """Online SGD, a fresh batch a step, beside the flow from the same start at the same times; and the neurons' share.

    losses, flow: at loss_times. share: a neuron's largest squared overlap with a direction, mean weighted by mass.
    """
    lam = _padded(alpha, rank, dim)
    generator, W = torch.Generator().manual_seed(seed), torch.from_numpy(start(width, dim, init, seed))
    flow, past, following = W.numpy(), 0.0, 1.0
    curves = {"loss_times": [], "losses": [], "flow": []}
    M = torch.from_numpy(np.diag(lam))
    for n in range(1, int(horizon / lr) + 1):
        x = torch.randn(batch, dim, generator=generator, dtype=torch.float64)
        # √2 (f* − f)(x); the student's gradient is √2 W (x xᵀ − I)
        error = (x @ M * x).sum(1) - lam.sum() - (x @ W.T).square().sum(1) + W.square().sum()
        W = W + lr * (((W @ x.T) * error) @ x - error.sum() * W) / batch
        if n * lr >= following:
            flow, past = propagate(flow, lam, n * lr - past), n * lr
            curves["loss_times"].append(past)
            curves["losses"].append(risk(W.numpy(), lam))
            curves["flow"].append(risk(flow, lam))
            following *= _RATIO
    return curves | {"share": _share(W.numpy(), rank)}


def measure_muon(alpha: float, rank: int, dim: int, width: int, init: float, lr: float, seed: int) -> dict:
    """Steps along polar factors of the gradient. times: in total length of steps; ratio: final loss over the floor of
    this width, NaN where the floor is 0; loss: at the end."""
    lam = _padded(alpha, rank, dim)
    M, W = torch.from_numpy(np.diag(lam)), torch.from_numpy(start(width, dim, init, seed))
    times = np.full(rank, np.nan)
    for n in range(1, int(1.3 / lr) + 1):
        W = W + lr * polar(W @ (M - W.T @ W))
        mass = W.square().sum(0)[:rank].numpy()
        times[np.isnan(times) & (mass >= lam[:rank] / 2)] = n * lr
    final, floor = risk(W.numpy(), lam), expected.floor(lam[:rank], width)
    return {"times": times.tolist(), "ratio": final / floor if floor else math.nan, "loss": final}


def _padded(alpha: float, rank: int, dim: int) -> np.ndarray:
    lam = np.zeros(dim)
    lam[:rank] = expected.coefficients(alpha, rank)
    return lam


def _logits(W: np.ndarray, lam: np.ndarray, rank: int) -> np.ndarray:
    """log a/(λ − a) of the diagonal of WᵀW, infinite where it is λ or more."""
    mass, lam = np.square(W).sum(0)[:rank], lam[:rank]
    return np.log(mass) - np.log(np.maximum(lam - mass, 1e-12 * lam))


def _share(W: np.ndarray, rank: int) -> float:
    return float(np.square(W[:, :rank]).max(1).sum() / np.square(W).sum())
