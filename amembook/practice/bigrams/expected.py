"""What the first step on soft targets does, with nothing fitted: its items are the singular modes of the text."""

import math
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import minimize_scalar
from torch import Tensor

from amembook.practice.bigrams.text import SoftTargets
from amemlib.checks import check_count
from amemlib.equivalents import SpectralLaw

_LEAST_MODE = 1e-9
_STEPS = np.linspace(-4, 16, 61)


@lru_cache(maxsize=8)
def modes(soft: SoftTargets) -> tuple[Tensor, Tensor, Tensor]:
    """A, q, B of C = A diag(q) Bᵀ, modes that are rounding error left out."""
    A, q, Bt = torch.linalg.svd(soft.centred)
    held = q > _LEAST_MODE * q[0]
    return A[:, held], q[held], Bt[held].mT


@lru_cache(maxsize=16)
def law_of(soft: SoftTargets, dim: int) -> SpectralLaw:
    """The singular values of G = Uᵀ A diag(q) Bᵀ V: a Gaussian matrix does not change under rotations."""
    return SpectralLaw.solve(modes(soft)[1], dim)


def nuclear_norm(soft: SoftTargets, dim: int) -> float:
    """‖G‖_* in the limit."""
    law = law_of(soft, dim)
    return dim * law.integrate(law.singular_values)


def mean_logits(soft: SoftTargets, dim: int, name: str) -> tuple[Float[Tensor, "N N"], Float[Tensor, " N"]]:
    """E z_ij of a step D from W = 0 and the variance of a logit around it, up to the step's length.

    polar: A φ(q) Bᵀ with the signal curve φ of the modes, and 1/d; with K < d modes (s_j + (1 − s_j) K/d)/d, where
    s_j = Σ_k B_jk² is the part of context j that the modes hold. sgd: C itself, and (‖C_j‖² + ‖C‖_F²/d)/d.
    """
    C = soft.centred
    if name == "sgd":
        return C, ((C**2).sum(0) + (C**2).sum() / dim) / dim
    A, q, B = modes(soft)
    signal = torch.from_numpy(law_of(soft, dim).signal(torch.ones_like, q))
    held, filled = (B**2).sum(1), min(len(q) / dim, 1.0)
    return (A * signal) @ B.mT, (held + (1 - held) * filled) / dim


def expected_drop(soft: SoftTargets, dim: int, name: str, noise: float = 1.0) -> float:
    """log N − min_η L(ηD): what the best first step takes off the loss.

    L(η) = Σ_j π_j [log Σ_i exp(η m_ij) + η² σ_j²/2] − η Σ_j π_j Σ_i P_ij m_ij with the means and variances of
    `mean_logits`: noise adds its variance to a log-partition as long as no single logit dominates it.
    noise: 0 to leave it out, as a rival law does.
    """
    means, variances = mean_logits(soft, check_count("dim", dim), name)
    p, scale = soft.frequencies, means.abs().max()
    # in units of the largest mean, so that one grid of steps will do
    means, variances = means / scale, noise * variances / scale**2
    wanted = p @ (soft.P * means).sum(0)

    def loss(log_eta: float) -> float:
        eta = math.exp(log_eta)
        return (p @ (torch.logsumexp(eta * means, 0) + eta**2 * variances / 2) - eta * wanted).item()

    k = int(np.argmin([loss(x) for x in _STEPS]))
    ends = _STEPS[max(k - 1, 0)], _STEPS[min(k + 1, len(_STEPS) - 1)]
    return math.log(len(p)) - minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 0.01}).fun


def second_order_drop(soft: SoftTargets, dim: int, name: str) -> float:
    """The same to second order in η: ⟨G, D⟩² / 2 tr(D C_v Dᵀ) · d with C_v = Σ_j π_j v_j v_jᵀ.

    polar: d ‖G‖_*²/2 over Σ_j π_j |D v_j|², which is 1 unless there are fewer modes than dimensions.
    sgd: d ‖C‖_F²/2c, c = Σ_j π_j ‖C_j‖² (1 + 1/d)/‖C‖_F² + 1/d, the curvature along the gradient.
    """
    C = soft.centred
    if name == "polar":
        filled = min(len(modes(soft)[1]) / dim, 1.0)
        held = soft.frequencies @ (modes(soft)[2] ** 2).sum(1)
        return dim * nuclear_norm(soft, dim) ** 2 / 2 / (held + (1 - held) * filled).item()
    energy = (C**2).sum().item()
    curvature = (soft.frequencies @ (C**2).sum(0)).item() / energy * (1 + 1 / dim) + 1 / dim
    return dim * energy / (2 * curvature)
