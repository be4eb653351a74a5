"""What the study measures: worst cases by a family and by certificates, random functions, runs on the memory."""

import math

import numpy as np
import torch

from amembook.companions.anytime_descent import certificate, steps
from amemlib.problem import Problem
from amemlib.sampling import sample_embeddings
from amemlib.spectral import polar

_CURVATURES, _LEFT = (1.0, 0.3, 0.03), np.array([1e-3, 1e-2, 0.1, 1.0, 10.0])
_KNOTS = np.geomspace(1e-6, 1, 40)
_ALL = 0.9


def measure_family(schedule: str, levels: int, repeats: float) -> dict:
    """The largest f(x_T) − f* of any f′ = clip(κ x, −b, a) from x₀ = 1, at stopping times and at all later ones.

    worst, envelope: at `steps.checkpoints`. above: the largest ratio of worst case and closed form, over all T.
    bounces: right after the long step 2^k of each level.
    """
    n_steps = 2**levels
    rates = steps.schedule_of(schedule, n_steps, repeats)
    at, total = steps.checkpoints(n_steps), np.cumsum(rates)
    longest = np.argsort(steps.bounce_bound(rates))[-60:]
    right = np.concatenate([np.geomspace(1e-5, 1, 60), 1 / (2 * total[at - 1] + 1), 1 / ((total - rates)[longest] + 1)])
    worst = _worst(rates, right, _LEFT)
    later, law = steps.envelope(worst), np.maximum(steps.slope_bound(rates), steps.bounce_bound(rates))
    return {
        "worst": worst[at - 1].tolist(),
        "envelope": later[at - 1].tolist(),
        "law": steps.envelope(law)[at - 1].tolist(),
        "above": float((later / steps.envelope(law)).max()),
        "bounces": worst[2 ** np.arange(1, levels) - 1].tolist(),
    }


def measure_certificate(schedule: str, n_steps: int, repeats: float) -> dict:
    """The certified bound on f(x_T) − f* over all smooth convex f, its residuals, and what the family reaches."""
    rates = steps.schedule_of(schedule, n_steps, repeats)
    proof = certificate.certify(rates)
    right = np.concatenate([np.geomspace(1e-3, 1, 2000), 1 / (2 * np.cumsum(rates) + 1)])
    family = float(_worst(rates, right, np.geomspace(1e-2, 10, 40))[-1])
    return {"bound": proof.bound, "family": family} | certificate.residuals(rates, proof)


def measure_random(functions: int, random_levels: int, repeats: float, seed: int) -> dict:
    """The largest ratio of f(x_T) − f* to 1/(2(2S_T + 1)) over random convex functions of one variable and all T.

    f″ is 0 or 1 between knots on both sides of the minimizer, at random; f is linear beyond 1.
    """
    generator = np.random.default_rng(seed)
    knots = np.concatenate([-_KNOTS[::-1], [0.0], _KNOTS])
    middle = len(_KNOTS)
    share = generator.uniform(0, 1, (functions, 1)) ** 2
    curvature = (generator.uniform(size=(functions, len(knots) - 1)) < share).astype(float)
    width = np.diff(knots)
    slope = np.concatenate([np.zeros((functions, 1)), np.cumsum(curvature * width, 1)], 1)
    slope -= slope[:, [middle]]
    value = np.concatenate([np.zeros((functions, 1)), np.cumsum((slope[:, :-1] + slope[:, 1:]) / 2 * width, 1)], 1)
    value -= value[:, [middle]]
    # linear to the left of the first knot and to the right of the last
    curvature = np.concatenate([np.zeros((functions, 1)), curvature, np.zeros((functions, 1))], 1)
    rates, rows, x, above = steps.anytime(2**random_levels, repeats), np.arange(functions), np.ones(functions), 0.0
    bound = steps.slope_bound(rates)

    def read(x):
        place = np.searchsorted(knots, x, side="right")
        near = np.maximum(place - 1, 0)
        step = x - knots[near]
        bend, at = curvature[rows, place], slope[rows, near]
        return at + bend * step, value[rows, near] + at * step + bend * step**2 / 2

    for rate, most in zip(rates, bound, strict=True):
        x = x - rate * read(x)[0]
        above = max(above, float(read(x)[1].max() / most))
    return {"above": above}


def measure_memory(
    n_items: int, dim: int, alpha: float, memory_levels: int, repeats: float, factors: list[int],
    muon_rates: list[float], seed: int,
) -> dict:  # fmt: skip
    """Loss and recovered items of the memory by method, after 2^k − 1 steps; and steps to nine tenths of the items.

    Rates of gradient descent are in units of 1/L, L = ‖Σ p v vᵀ‖ max |u_j − u_k|²/4, which bounds the curvature of the
    loss everywhere. `same-…` has constant steps of the same sum. `rate 2^k` is 2^k/L, `muon r` a polar step of r.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, dtype=torch.float64)
    U, V, q, n_steps = emb.U, emb.V, problem.frequencies, 2**memory_levels - 1
    largest = torch.linalg.eigvalsh((V * q[:, None]).T @ V)[-1]
    lipschitz = float(largest * torch.cdist(U, U).square().max() / 4)
    centred = U - U.mean(0)
    at_zero = float(largest * torch.linalg.eigvalsh(centred.T @ centred / n_items)[-1])
    plans = {name: steps.schedule_of(name, n_steps, repeats) for name in steps.SCHEDULES}
    plans |= {f"same-{name}": np.full(n_steps, plans[name].mean()) for name in steps.SCHEDULES[1:]}
    plans |= {f"rate 2^{k}": np.full(n_steps, 2.0**k) for k in factors}
    names = [*plans, "nesterov", *(f"muon {rate:g}" for rate in muon_rates)]
    descent = len(plans)
    rates = torch.from_numpy(np.stack(list(plans.values()))) / lipschitz
    polar_rates = torch.tensor(muon_rates, dtype=torch.float64)[:, None, None]
    W = torch.zeros(len(names), dim, dim, dtype=torch.float64)
    before, inertia, curves = W[descent], 1.0, {"loss": [], "items": []}
    needed = [math.nan] * len(names)
    for t in range(n_steps + 1):
        scores = V @ W.transpose(1, 2) @ U.T
        own = scores.diagonal(dim1=1, dim2=2)
        items = (scores.argmax(2) == torch.arange(n_items)).sum(1)
        needed = [t if math.isnan(n) and c >= _ALL * n_items else n for n, c in zip(needed, items, strict=True)]
        if (t + 1) & t == 0 and t:
            curves["loss"].append(((scores.logsumexp(2) - own) @ q).tolist())
            curves["items"].append(items.tolist())
        if t == n_steps:
            break
        G = (U - scores.softmax(2) @ U).transpose(1, 2) @ (q[:, None] * V)
        # Nesterov's W here is the point at which the gradient is taken
        point, grown = W[descent] + G[descent] / lipschitz, (1 + math.sqrt(1 + 4 * inertia**2)) / 2
        ahead = point + (inertia - 1) / grown * (point - before)
        before, inertia = point, grown
        planned = W[:descent] + rates[:, t, None, None] * G[:descent]
        W = torch.cat([planned, ahead[None], W[descent + 1 :] + polar_rates * polar(G[descent + 1 :])])
    by_name = {key: dict(zip(names, np.transpose(rows).tolist(), strict=True)) for key, rows in curves.items()}
    return by_name | {"needed": dict(zip(names, needed, strict=True)), "looseness": lipschitz / at_zero}


def _worst(rates: np.ndarray, right: np.ndarray, left: np.ndarray) -> np.ndarray:
    """The largest f(x_t) − f* after each step, of f′ = clip(κ x, −b, a) from x₀ = 1, a in `right` and b in `left`."""
    curvature, right, left = (axis.ravel() for axis in np.meshgrid(_CURVATURES, right, left, indexing="ij"))
    x, worst = np.ones_like(right), np.empty(len(rates))
    slope = np.clip(curvature * x, -left, right)
    for t, rate in enumerate(rates):
        x = x - rate * slope
        slope = np.clip(curvature * x, -left, right)
        # where the slope is cut, f is the tangent at the corner
        worst[t] = (slope * x - slope**2 / (2 * curvature)).max()
    return worst
