"""What the cells of `many-steps` measure: true iterates, step by step, and beside them what the theory says of each."""

import math
from itertools import repeat

import numpy as np
import torch

from amembook.laws import power_law_iterates
from amembook.run import runtime
from amembook.run.base import profile_bins
from amemlib import theory
from amemlib.equivalents import SpectralEquivalent
from amemlib.equivalents.thresholded import ManyStepEquivalent
from amemlib.gradients import item_losses, thresholded_gradient
from amemlib.optim import trajectory
from amemlib.problem import Embeddings, Problem
from amemlib.recovery import capacity, recovered
from amemlib.sampling import sample_embeddings, sample_minibatch
from amemlib.spectral import identity, polar, singular_values

GD_RATE = 3.0
"""η_t = 3 √d / ‖G_t‖_op: gradient descent whose rate grows as its gradient shrinks."""


def measure_iterates(
    n_items: int, dim: int, alpha: float, steps: int, lr_over_root_dim: float, threshold: float, seed: int, device: str
) -> dict:
    """Muon on the population loss, step by step, with the thresholded iterates of the same draw beside it.

    profile: mean of 1 − p̂_ii over ranks in bins, one row a step. ahead: the count one step ahead, from W_t's own
    logits and residual weights (`one_step_ahead`). overlaps: ⟨O_s, O_t⟩ / d of the updates; predicted from the true
    residual weights as if these were independent of the embeddings (`overlaps_free`), and with the pull of what W
    already holds (`overlaps_pulled`).
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    p = problem.frequencies
    lr = lr_over_root_dim * math.sqrt(dim)
    bins = profile_bins(n_items)
    weights, updates, rows = [p], [], []
    W = W_before = None
    for W in trajectory(emb, repeat(p, steps), polar, lr):
        if W_before is None:
            W_before = W
            continue
        updates.append((W - W_before) / lr)
        losses = item_losses(W, emb).cpu()
        mask = recovered(W, emb).cpu()
        residual = -torch.expm1(-losses)
        rows.append(
            {
                "count": int(mask.sum()),
                "head": int(mask[:dim].sum()),
                "loss": float(p @ losses),
                "learnt": int((residual < 0.5).sum()),
                "interaction_sd": float(W.norm()) / dim,
                "profile": [float(x.mean()) for x in residual.tensor_split(bins)],
                "ahead": one_step_ahead(W_before, emb, weights[-1], lr, float(W.norm()) / dim),
            }
        )
        weights.append(p * residual)
        W_before = W
    result = {key: [row[key] for row in rows] for key in rows[0]}
    equivalent = ManyStepEquivalent.solve(torch.stack(weights[:-1]), dim, [0.0] * steps)
    pulled = pulled_overlaps(equivalent, lr)
    flat = torch.stack([update.flatten() for update in updates])
    result |= {"overlaps": flat @ flat.T / dim, "overlaps_free": equivalent.overlaps, "overlaps_pulled": pulled}
    return result | {"thresholded": _thresholded(emb, p, alpha, threshold, steps)}


def one_step_ahead(W: torch.Tensor, emb: Embeddings, weights: torch.Tensor, lr: float, sd: float) -> float:
    """Count after the next step as the sharp equation has it: Σ_i E_g Φ((z_ii + η φ(r_i) + η g / √d) / σ)^{N−1}.

    z_ii: the own logits of W. weights: (N,) r, the residual weights of W. sd: σ of the next W's logits, its ‖W‖_F / d.
    """
    own = ((emb.V.double() @ W.T) * emb.U.double()).sum(1).cpu()
    signal = torch.from_numpy(SpectralEquivalent.solve(weights, emb.dim).signal_of(weights))
    g, gauss = (torch.from_numpy(x) for x in np.polynomial.hermite_e.hermegauss(24))
    score = (own + lr * signal)[:, None] + lr / math.sqrt(emb.dim) * g
    wins = torch.exp((emb.n_items - 1) * torch.special.log_ndtr(score / sd))
    return float((wins @ gauss).sum() / math.sqrt(2 * math.pi))


def pulled_overlaps(equivalent: ManyStepEquivalent, lr: float) -> np.ndarray:
    """Overlaps of the updates with the pull −f_t W_t on each update, f_t = Σ_i φ_t(r_i) / d² (one mean-field term).

    Rivals that W_t favours by chance get a larger share of p̂, so the next gradient lowers them: the update loses f_t
    times all that came before. Derived in the chapter "The true iterates".
    """
    overlaps = np.array(equivalent.overlaps)
    for t in range(1, len(overlaps)):
        pull = lr * (equivalent.signals[t] @ equivalent.counts) / equivalent.dim**2
        overlaps[t, :t] -= pull * overlaps[:t, :t].sum(1)
        overlaps[:t, t] = overlaps[t, :t]
    return overlaps


def _thresholded(emb: Embeddings, p: torch.Tensor, alpha: float, constant: float, steps: int) -> list[int]:
    """Counts of W_t = Σ_{s<t} polar(G_s) with the thresholded gradients of Eq. (7)."""
    W, counts = 0, []
    for removed in (0, *theory.recovery_thresholds("muon", emb.dim, alpha, steps - 1, constant)):
        W = W + polar(thresholded_gradient(emb, p, removed))
        counts.append(capacity(W, emb))
    return counts


def measure_muon(
    n_items: int,
    dim: int,
    alpha: float,
    steps: int,
    lr_over_root_dim: float,
    momentum: float,
    batch_size: int,
    seed: int,
    device: str,
) -> dict:
    """Recovered items after every step, all and among the d most frequent; fresh batches, or the population (B = 0)."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    # a batch of its own for every seed and step
    batches = (sample_minibatch(problem, batch_size, seed * steps + t) for t in range(steps))
    frequencies = batches if batch_size else repeat(problem.frequencies, steps)
    iterates = trajectory(emb, frequencies, polar, lr_over_root_dim * math.sqrt(dim), momentum)
    next(iterates)
    masks = [recovered(W, emb) for W in iterates]
    return {"count": [int(mask.sum()) for mask in masks], "head": [int(mask[:dim].sum()) for mask in masks]}


def normalised(G: torch.Tensor) -> torch.Tensor:
    """G / ‖G‖_op, the step of a gradient descent that looks at its own gradient."""
    return G / singular_values(G)[0]


def measure_descent(n_items: int, dim: int, alpha: float, steps: int, seed: int, device: str) -> dict:
    """Gradient descent on the population loss with η_t = 3 √d / ‖G_t‖_op: recovered items after every step."""
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    iterates = trajectory(emb, repeat(problem.frequencies, steps), normalised, GD_RATE * math.sqrt(dim))
    next(iterates)
    return {"count": [capacity(W, emb) for W in iterates]}


def measure_literal_descent(
    n_items: int, dim: int, alpha: float, steps: int, constant: float, seed: int, device: str
) -> dict:
    """Gradient descent with Theorem 10's own schedule, η_t = ζ d_{t+1}^α: recovered items and loss after every step.

    ζ d_{t+1}^α with the thresholds d_t of the theorem's recursion, its constant θ = `constant`. Nothing damps it.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    p = problem.frequencies
    thresholds = theory.recovery_thresholds("sgd", dim, alpha, steps, constant)
    rates = [theory.sgd_learning_rate(n_items, alpha, threshold) for threshold in thresholds]
    iterates = trajectory(emb, repeat(p, steps), identity, rates)
    next(iterates)
    counts, losses = [], []
    for W in iterates:
        counts.append(capacity(W, emb))
        losses.append(float(p @ item_losses(W, emb).cpu()))
    return {"count": counts, "loss": losses}


def predict_iterates(n_items: int, dim: int, alpha: float, steps: int, lr_over_root_dim: float) -> dict:
    """The closed recursion of `mean_field_iterates`: no embedding of dimension d is drawn."""
    law = power_law_iterates(n_items, dim, alpha, lr_over_root_dim, steps, streams=4)
    return {name: getattr(law, name) for name in ("counts", "losses", "interaction_sd", "learnt")}
