"""What is measured: when directions are learnt by steps along f(G), for spectral and other maps f; facts likewise.

Teacher Σ_p a_p h_k(⟨x, θ_p⟩) with θ_p the first P coordinate vectors, student Σ_i ‖w_i‖² h_k(⟨x, w_i⟩/‖w_i‖), loss
½ E (difference)², all float64; G is minus its gradient.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from amembook.companions.spectral_emergence.expected import amplitudes
from amembook.networks.teacher_student import captured, flow_velocity, half_times, loss, sample_velocity, start
from amemlib.gradients import loss_and_gradient
from amemlib.problem import Problem
from amemlib.recovery import capacity
from amemlib.sampling import sample_embeddings
from amemlib.spectral import polar, spectral_map

_LONGEST, _MOST_STEPS = 0.25, 100_000
"""Of Euler's steps where the map is G itself; steps of one run."""

Map = Callable[[Tensor], Tensor]


def power_map(power: float) -> Map:
    """f(G) = Σ s^γ p qᵀ over the singular triples of G: G at γ = 1, its polar factor at γ = 0."""
    if power == 1:
        return lambda G: G
    return lambda G: spectral_map(G, lambda s: s.pow(power))


def by_norm(G: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
    """G/‖G‖: the same direction, at length one."""
    return G / G.norm()


def by_neuron(G: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
    """Every row at length one."""
    return G / G.norm(dim=1, keepdim=True)


RIVALS = {"by norm": by_norm, "by neuron": by_neuron}
"""Normalised steps that leave the spectrum, or the directions, alone."""


def measure_power(
    power: float, exponent: float, n_teachers: int, dim: int, width: int, degree: int, init: float, pace: float,
    horizon: float, until: str, seed: int,
) -> dict:  # fmt: skip
    """The flow W′ = f(G), f the power γ of singular values, by Euler's method, a step at most the share `pace` of the
    longest neuron.

    times: T_p, when half of a_p is captured; aligned: when some neuron's squared overlap with p is ½; NaN where it is
    not before the horizon. loss: at the end. until: "learnt", all directions, "aligned", the first one, or "horizon".
    """
    a = torch.from_numpy(amplitudes(exponent, n_teachers))
    return _run(start(width, dim, init, seed), a, degree, power_map(power), pace, horizon, until)


def measure_rival(
    rival: str, exponent: float, n_teachers: int, dim: int, width: int, degree: int, init: float, pace: float,
    horizon: float, seed: int,
) -> dict:  # fmt: skip
    """The same along a map of `RIVALS`."""
    a = torch.from_numpy(amplitudes(exponent, n_teachers))
    return _run(start(width, dim, init, seed), a, degree, RIVALS[rival], pace, horizon, "learnt")


def measure_alone(
    power: float, exponent: float, n_teachers: int, dim: int, width: int, degree: int, init: float, pace: float,
    horizon: float, seed: int,
) -> dict:  # fmt: skip
    """T_p of the flow with all directions, `together`, and from the same start with direction p as the only one."""
    a, flow = torch.from_numpy(amplitudes(exponent, n_teachers)), power_map(power)
    run = lambda W, a: _run(W, a, degree, flow, pace, horizon, "learnt")["times"]
    together, alone = run(start(width, dim, init, seed), a), []
    for p in range(n_teachers):
        order = torch.arange(dim)
        order[0], order[p] = p, 0
        # a direction is the first coordinate of its own run
        alone += run(start(width, dim, init, seed)[:, order], a[p : p + 1])
    return {"together": together, "alone": alone}


def measure_batch(
    exponent: float, n_teachers: int, dim: int, width: int, degree: int, init: float, lr: float, horizon: float,
    batch: int, seed: int,
) -> dict:  # fmt: skip
    """Polar steps of length `lr`, each on a fresh batch: T_p in total length of steps."""
    a = torch.from_numpy(amplitudes(exponent, n_teachers))
    generator = torch.Generator().manual_seed(seed)
    W, times = start(width, dim, init, seed), torch.full_like(a, math.nan)
    n, before = 0, captured(start(width, dim, init, seed), len(a), degree)
    while n * lr < horizon and times.isnan().any():
        x = torch.randn(batch, dim, generator=generator, dtype=torch.float64)
        W, n = W + lr * polar(sample_velocity(W, a, degree, x)), n + 1
        now = captured(W, len(a), degree)
        times = half_times(times, a, before, now, (n - 1) * lr, lr)
        before = now
    return {"times": times.tolist()}


def measure_facts(power: float, frequency_exponent: float, n_facts: int, pace: float, horizon: float) -> dict:
    """A memory of N = d facts with orthonormal embeddings on the flow W′ = f(G) of the population loss: when p̂(i|i) is
    a half. horizon: in units of 1/p_N^γ. No randomness: all orthonormal embeddings give the same."""
    p = torch.arange(1, n_facts + 1, dtype=torch.float64) ** -frequency_exponent
    p = p / p.sum()
    move, W, time = power_map(power), torch.zeros(n_facts, n_facts, dtype=torch.float64), 0.0
    times, eye = torch.full_like(p, math.nan), torch.eye(n_facts, dtype=torch.float64)
    before = torch.full_like(p, 1 / n_facts)
    while time < horizon / p[-1].item() ** power and times.isnan().any():
        pull = p * (1 - before)
        # a step that moves the fastest margin of those not yet known by `pace`
        step = pace / pull[times.isnan()].max().item() ** power
        step = min(step, 0.5 / pull.max().item()) if power == 1 else step
        W = W + step * move((eye - torch.softmax(W, 0)) * p)
        now = torch.softmax(W, 0).diagonal()
        times = half_times(times, torch.ones_like(p), before, now, time, step)
        before, time = now, time + step
    return {"times": times.tolist()}


def measure_crowd(n_items: int, dim: int, alpha: float, steps: int, seed: int) -> dict:
    """Items that SGD and Muon recover after 1, …, `steps` steps, each step of spectral norm √d, N random items."""
    problem = Problem.power_law(n_items=n_items, dim=dim, alpha=alpha)
    emb, counts = sample_embeddings(problem, seed, dtype=torch.float64), {}
    for name, move in (("sgd", lambda G: G / torch.linalg.matrix_norm(G, 2)), ("polar", polar)):
        W, counts[name] = torch.zeros(dim, dim, dtype=torch.float64), []
        for _ in range(steps):
            W = W + math.sqrt(dim) * move(loss_and_gradient(W, emb, problem.frequencies)[1])
            counts[name].append(capacity(W, emb))
    return counts


def _run(W: Tensor, a: Tensor, degree: int, move: Map, pace: float, horizon: float, until: str) -> dict:
    P, linear = len(a), move(torch.eye(2, dtype=W.dtype) * 3)[0, 0].item() == 3
    times, aligned, time = torch.full_like(a, math.nan), torch.full_like(a, math.nan), 0.0
    before = captured(W, P, degree)
    for _ in range(_MOST_STEPS):
        done = {"learnt": not times.isnan().any(), "aligned": not aligned[0].isnan(), "horizon": False}[until]
        if done or time >= horizon:
            break
        V = move(flow_velocity(W, a, degree))
        step = pace * W.norm(dim=1).max().item() / torch.linalg.matrix_norm(V, 2).item()
        step = min(step, _LONGEST) if linear else step
        W = W + step * V
        now = captured(W, P, degree)
        times = half_times(times, a, before, now, time, step)
        before, time = now, time + step
        share = (W[:, :P].square() / W.square().sum(1, keepdim=True)).amax(0)
        aligned = torch.where(aligned.isnan() & (share >= 0.5), time, aligned)
    return {
        "times": times.tolist(),
        "aligned": aligned.tolist(),
        "share": (captured(W, P, degree) / a).tolist(),
        "loss": loss(W, a, degree),
    }
