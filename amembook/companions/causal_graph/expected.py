"""The scores of the first gradient in closed form for a given kernel: in the limit of long contexts, and at any length.

All of it is derived in the chapter `causal-graph`. Trees with stationary roots only.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amembook.companions.causal_graph.network import first_gradient
from amembook.networks.tasks.causal import ROOT


def centred_kernel(kernels: Float[Tensor, "n S S"], stationary: Float[Tensor, "n S"]) -> Float[Tensor, "n S S"]:
    """K = D^{1/2} π D^{−1/2} − √μ √μᵀ with D = diag μ; ‖K‖_F² is the χ² information of an edge, ‖K‖ ≤ 1."""
    root = stationary.sqrt()
    inverse = torch.where(root > 0, 1 / root, 0.0)
    return root[:, :, None] * kernels * inverse[:, None, :] - root[:, :, None] * root[:, None, :]


def along_path(
    kernels: Float[Tensor, "n S S"], stationary: Float[Tensor, "n S"], up: int, down: int
) -> Float[Tensor, "n S S"]:
    """M = (Kᵀ)^up K^down: the centred, normalised joint law of two tokens that are that far apart.

    For 0 and 0 it is I − √μ √μᵀ, a token beside itself.
    """
    K = centred_kernel(kernels, stationary)
    root = stationary.sqrt()
    M = torch.eye(K.shape[-1], dtype=K.dtype) - root[:, :, None] * root[:, None, :]
    for factor in [K.mT] * up + [K] * down:
        M = M @ factor
    return M


def limit_score(
    kernels: Float[Tensor, "n S S"], stationary: Float[Tensor, "n S"], up: int, down: int
) -> Float[Tensor, " n"]:
    """⟨K, (Kᵀ)^up K^down⟩, the score of that pair as T → ∞; of an edge (0, 1) its χ² information ‖K‖_F²."""
    return (centred_kernel(kernels, stationary) * along_path(kernels, stationary, up, down)).sum((1, 2))


def pair_chi2(
    kernels: Float[Tensor, "n S S"], stationary: Float[Tensor, "n S"], up: int, down: int
) -> Float[Tensor, " n"]:
    """‖(Kᵀ)^up K^down‖_F², the χ² information of the pair itself; S − 1 for a token beside itself."""
    return along_path(kernels, stationary, up, down).square().sum((1, 2))


def pair_information(
    kernels: Float[Tensor, "n S S"], stationary: Float[Tensor, "n S"], up: int, down: int
) -> Float[Tensor, " n"]:
    """Shannon's mutual information of the pair in nats; of a token beside itself its entropy."""
    root = stationary.sqrt()[:, :, None] * stationary.sqrt()[:, None, :]
    independent = stationary[:, :, None] * stationary[:, None, :]
    joint = (root * along_path(kernels, stationary, up, down) + independent).clamp_min(0)
    ratio = torch.where(independent > 0, joint / independent, 1.0)
    return torch.special.xlogy(joint, ratio).sum((1, 2))


def exact_scores(
    kernels: Float[Tensor, "n S S"], stationary: Float[Tensor, "n S"], parents: tuple[int, ...]
) -> Float[Tensor, "n T T"]:
    """E[z_ij | π] at the length of the graph, (n, T, T), 0 for j > i; z as in `network.score_factors`.

    With C_t the count of state t in the context,

        E[z_ij | π] = Σ_t Σ_s π(t|s) ( T E[1{x_j = s, x_i = t} / C_t] − P(x_j = s, C_t > 0) ),

    and 1/C = ∫₀¹ z^{C−1} dz, a polynomial in z of degree T − 1 that Gauss's rule integrates exactly. Weighting every
    token by z^{1{x_i = t}} leaves the sequence a Markov tree with other kernels, so all pairs follow by one recursion.
    """
    T = len(parents)
    points, weights = np.polynomial.legendre.leggauss(T // 2 + 1)
    result = torch.zeros(len(kernels), T, T, dtype=kernels.dtype)
    for t in range(kernels.shape[-1]):
        towards = kernels[:, :, t]
        for point, weight in zip((points + 1) / 2, weights / 2, strict=True):
            for (j, i), joint in _weighted_pairs(kernels, stationary, parents, t, float(point)).items():
                result[:, i, j] += T * weight / point * (towards * joint[:, :, t]).sum(1)
        pairs = _weighted_pairs(kernels, stationary, parents, t, 0.0)
        for j in range(T):
            absent = pairs[j, j].diagonal(dim1=1, dim2=2)
            result[:, j:, j] -= (towards * (stationary - absent)).sum(1, keepdim=True)
    return result


def sample_updates(
    mean: Float[Tensor, "T T"], covariance: Float[Tensor, "P P"], n_sequences: int, n_draws: int, seed: int
) -> Float[Tensor, "n T T"]:
    """First gradients of samples of n sequences by the central limit theorem: Gaussian scores, then `first_gradient`.

    covariance: of one sequence's scores at the places j ≤ i, row by row.
    """
    places = torch.ones_like(mean, dtype=torch.bool).tril()
    values, basis = torch.linalg.eigh(covariance / n_sequences)
    generator = np.random.default_rng([seed, n_sequences])
    normal = torch.from_numpy(generator.standard_normal((n_draws, len(values))))
    matrix = torch.zeros(n_draws, *mean.shape, dtype=mean.dtype)
    matrix[:, places] = mean[places] + (normal * values.clamp_min(0).sqrt()) @ basis.T
    return first_gradient(matrix)


def _weighted_pairs(kernels, stationary, parents, t: int, z: float) -> dict[tuple[int, int], Tensor]:
    """E[z^{C_t}; x_j = ·, x_i = ·] for all j ≤ i, (n, S, S) each."""
    n, S, T = len(kernels), kernels.shape[-1], len(parents)
    own = torch.ones(S, dtype=kernels.dtype)
    own[t] = z
    laws = [stationary[:, None] if parent == ROOT else kernels for parent in parents]
    below, total = [own.expand(n, 1, S)] * T, torch.ones(n, 1, 1, dtype=kernels.dtype)
    moved = [None] * T
    for i in reversed(range(T)):
        weighted = laws[i] * below[i]
        message = weighted.sum(2, keepdim=True)
        moved[i] = weighted / message.clamp_min(torch.finfo(kernels.dtype).tiny)
        if parents[i] == ROOT:
            total = total * message
        else:
            below[parents[i]] = below[parents[i]] * message.mT
    pairs = {}
    for i, parent in enumerate(parents):
        for j in range(i):
            if parent == ROOT:
                pairs[j, i] = pairs[j, j].sum(2, keepdim=True) * moved[i]
            else:
                pairs[j, i] = (pairs[j, parent] if j <= parent else pairs[parent, j].mT) @ moved[i]
        marginal = (total * moved[i]) if parent == ROOT else pairs[parent, i].sum(1, keepdim=True)
        pairs[i, i] = torch.diag_embed(marginal[:, 0])
    return pairs
