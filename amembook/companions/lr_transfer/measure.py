"""What a cell measures: losses of one step at many rates, and best rates of sketched regressions."""

import math
from collections.abc import Sequence

import numpy as np
import torch

from amembook.companions.lr_transfer.expected import best_rate, risk, spectrum
from amemlib.gradients import initial_gradient
from amemlib.problem import Problem
from amemlib.sampling import sample_embeddings
from amemlib.spectral import polar

_ROWS = 512


def measure_rates(n_items: int, dim: int, alpha: float, log_rates: Sequence[float], seed: int) -> dict:
    """Population losses of W = c √d S, c = 2^`log_rates`, of spectral norm c √d: S = G/‖G‖ (sgd) and polar(G)."""
    problem = Problem.power_law(n_items=n_items, dim=dim, alpha=alpha)
    emb, p = sample_embeddings(problem, seed), problem.frequencies
    G, found = initial_gradient(emb, p), {}
    for name, S in (("sgd", G / torch.linalg.matrix_norm(G, 2)), ("polar", polar(G))):
        images, losses = (emb.V.double() @ S.T).float(), torch.zeros(len(log_rates), dtype=torch.float64)
        for k in range(0, n_items, _ROWS):
            rows = slice(k, k + _ROWS)
            logits = images[rows] @ emb.U.float().T
            own = (images[rows] * emb.U[rows].float()).sum(1)
            for n, log_rate in enumerate(log_rates):
                rate = 2.0**log_rate * math.sqrt(dim)
                losses[n] += p[rows] @ ((rate * logits).logsumexp(1) - rate * own).double()
        found[name] = losses.tolist()
    return found


def measure_sketch(width: int, n_features: int, decay: float, steps: Sequence[int], sketches: int, seed: int) -> dict:
    """Regressions on `width` random combinations of features, S of entries N(0, 1/width), one after the other; by
    numbers of `steps` from 0, and for each of them:

    shift: |log η*/η*_∞|. gap: |L(η*) − L_∞(η*_∞)|. transfer: L_∞(η*) − L_∞(η*_∞), what the rate of this sketch costs
    where nothing is sketched. diverges: whether it is beyond the edge of stability there, η* λ_1 > 2.
    """
    lam = spectrum(decay, n_features)
    total, limits = lam.sum(), {count: best_rate(lam, lam, lam.sum(), count) for count in steps}
    found = {str(count): {name: [] for name in ("shift", "gap", "transfer", "diverges")} for count in steps}
    rng = np.random.default_rng([seed, width])
    for _ in range(sketches):
        S = rng.standard_normal((width, n_features)) / math.sqrt(width)
        values, Q = np.linalg.eigh((S * lam) @ S.T)
        # the target's coefficients are 1, so that its covariance with a feature is λ
        parts = (Q.T @ (S @ lam)) ** 2 / values
        for count, (limit, least) in limits.items():
            rate, loss = best_rate(values, parts, total, count)
            told = found[str(count)]
            told["shift"].append(abs(math.log(rate / limit)))
            told["gap"].append(abs(loss - least))
            told["transfer"].append(float(risk(rate, lam, lam, total, count)) - least)
            told["diverges"].append(bool(rate * lam[0] > 2))
    return found
