"""The counts of the study `gradient-limit`: one gradient, what is known beside it, and the matrices made of both."""

from types import SimpleNamespace

import torch
from torch import Tensor

from amembook.run import runtime
from amembook.run.base import profile_bins
from amemlib import theory
from amemlib.equivalents import SpectralLaw, best_map
from amemlib.gradients import initial_gradient
from amemlib.problem import Embeddings, Problem
from amemlib.recovery import capacity, recovered
from amemlib.sampling import sample_embeddings, sample_minibatch
from amemlib.spectral import polar, spectral_map
from amemlib.whitening import matched_filter, second_moment, siblings, whiten

SIBLINGS = (2, 3, 4, 8)
"""Matrices that share what they know of their inputs; one of them is counted."""
ALONE = ("sgd", "polar", "best")
MAPS = (*ALONE, "newton", "newton_muon", *(f"siblings_{r}" for r in SIBLINGS), "polar_matched", "matched")
"""What a draw is given to: functions of the gradient alone, then those that know more. newton is G Σ_v⁻¹, newton_muon
its polar factor, polar_matched that of W*."""
OTHERS = ("same", "flatter", "steeper", "eighth_inputs", "half_inputs", "batch", "own_batch")
"""Siblings whose weights or inputs are not all the first one's, and batches, one for all or one for each."""


def measure_maps(config: SimpleNamespace, dim: int, n_items: int, seed: int, device: str) -> dict:
    """For every map and every α the recovered items, also by bins of the rank, and the cosine with W*, on one draw."""
    embs = family(n_items, dim, max(SIBLINGS), seed, device)
    edges = torch.tensor(profile_bins(n_items))
    result = {key: {name: [] for name in MAPS} for key in ("counts", "profile", "cosine")}
    for alpha in config.alphas:
        memories = made_of_one_gradient(alpha, embs)
        for name, W in memories.items():
            mask = recovered(W, embs[0]).cpu()
            bins = torch.bucketize(mask.nonzero()[:, 0], edges, right=True)
            result["counts"][name].append(int(mask.sum()))
            result["profile"][name].append(torch.bincount(bins, minlength=len(edges) + 1).tolist())
            result["cosine"][name].append(_cosine(W, memories["matched"]))
    return result


def made_of_one_gradient(alpha: float, embs: list[Embeddings]) -> dict[str, Tensor]:
    """W of the first matrix of a family by map, after one population step from W = 0."""
    emb = embs[0]
    p = Problem.power_law(emb.n_items, emb.dim, alpha).frequencies
    gradients = [initial_gradient(one, p) for one in embs]
    G, matched = gradients[0], matched_filter(emb, p)
    newton = whiten(G, right=second_moment(emb.V, p))
    law = SpectralLaw.power_law(alpha, theory.bulk_scale(emb.n_items, emb.dim, alpha))
    return {
        "sgd": G,
        "polar": polar(G),
        "best": spectral_map(G, best_map(law)),
        "newton": newton,
        "newton_muon": polar(newton),
        **{f"siblings_{r}": siblings(gradients[:r])[0] for r in SIBLINGS},
        "polar_matched": polar(matched),
        "matched": matched,
    }


def measure_others(config: SimpleNamespace, seed: int, device: str) -> dict:
    """For every α recovered items of the polar map and of one of some siblings, where the others differ from it."""
    n_items, dim, n_siblings = config.other_items, config.other_dim, config.other_siblings
    # the outputs of the last one serve as other inputs
    *embs, spare = family(n_items, dim, n_siblings + 1, seed, device)
    result = {name: {"siblings": [], "polar": []} for name in OTHERS}
    for alpha in config.alphas:
        problem, *others = (
            Problem.power_law(n_items, dim, exponent) for exponent in (alpha, alpha - 0.25, alpha + 0.5)
        )
        p, flatter, steeper = (one.frequencies for one in (problem, *others))
        batches = [sample_minibatch(problem, config.batch_size, 1000 * k + seed) for k in range(n_siblings)]
        cases = {
            "same": [(emb, p) for emb in embs],
            "flatter": [(embs[0], p), *((emb, flatter) for emb in embs[1:])],
            "steeper": [(embs[0], p), *((emb, steeper) for emb in embs[1:])],
            "eighth_inputs": [(embs[0], p), *((_other_inputs(emb, spare, 8), p) for emb in embs[1:])],
            "half_inputs": [(embs[0], p), *((_other_inputs(emb, spare, 2), p) for emb in embs[1:])],
            "batch": [(emb, batches[0]) for emb in embs],
            "own_batch": list(zip(embs, batches, strict=True)),
        }
        for name, case in cases.items():
            gradients = [initial_gradient(emb, q) for emb, q in case]
            # as an optimizer would bring different layers to one scale
            scaled = [G * (gradients[0].norm() / G.norm()) for G in gradients]
            result[name]["siblings"].append(capacity(siblings(scaled)[0], embs[0]))
            result[name]["polar"].append(capacity(polar(gradients[0]), embs[0]))
    return result


def family(n_items: int, dim: int, matrices: int, seed: int, device: str) -> list[Embeddings]:
    """Embeddings with the same inputs and outputs of their own, as many as there are matrices."""
    blocks = matrices // 2 + 1
    emb = sample_embeddings(Problem.power_law(n_items * blocks, dim, 1.5), seed, runtime.device(device))
    inputs, *more = emb.V.split(n_items)
    return [Embeddings(U, inputs) for U in (*emb.U.split(n_items), *more)][:matrices]


def _other_inputs(emb: Embeddings, spare: Embeddings, every: int) -> Embeddings:
    """One item of `every` has another input, independent of its own."""
    own = torch.arange(emb.n_items, device=emb.V.device) % every < every - 1
    return Embeddings(emb.U, torch.where(own[:, None], emb.V, spare.U))


def _cosine(W: Tensor, other: Tensor) -> float:
    return float((W * other).sum() / (W.norm() * other.norm()))
