"""What is measured: when directions are learnt and how the loss falls, by the flow, by online SGD and by Muon."""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from amembook.companions.emergence.expected import amplitudes, best_left, deflated, euler_times
from amembook.networks import teacher_student
from amemlib.spectral import polar

_RATIO = 1.15
_ALIGNED = 0.5


def measure_flow(
    exponent: float, n_teachers: int, dim: int, width: int, degree: int, init: float, step: float, horizon: float,
    until: int, seed: int,
) -> dict:  # fmt: skip
    """The population flow in Euler steps, up to the time `horizon` or until the first `until` directions are learnt.

    times: T_p, when half of a_p is captured, NaN where it is not. loss_times, losses: the loss at times that grow by
    15 %. sharing: neurons aligned with a direction, mean over the directions that have one. loss: at the end. law:
    times and losses of `deflated` from the same start; alone: times of one neuron and one direction.
    """
    a = torch.from_numpy(amplitudes(exponent, n_teachers))
    move = lambda W: teacher_student.flow_velocity(W, a, degree)
    start = teacher_student.start(width, dim, init, seed)
    W, run = _run(start, move, a, degree, step, horizon, until)
    unit, at = start.numpy() / init, [round(time / step) for time in run["loss_times"]]
    law = deflated(unit, init**2, a.numpy(), degree, step, run["steps"], horizon, until, at)
    y = best_left(unit, min(until, width))
    alone = euler_times(y, init**2, a.numpy()[: len(y)], degree, step)
    run |= {"law": law, "alone": alone.tolist() + [math.nan] * (n_teachers - len(y))}
    u = W[:, :n_teachers] / W.norm(dim=1, keepdim=True)
    aligned = (u.square() > _ALIGNED).sum(0).double()
    return run | {"sharing": (aligned.sum() / max(1, int((aligned > 0).sum()))).item()}


def measure_sgd(
    exponent: float, n_teachers: int, dim: int, width: int, degree: int, init: float, step: float, horizon: float,
    batch: int, seed: int,
) -> dict:  # fmt: skip
    """The same by online SGD from the same start, a fresh batch a step; `flow` holds the flow's own times."""
    a = torch.from_numpy(amplitudes(exponent, n_teachers))
    generator = torch.Generator().manual_seed(seed)

    def move(W: Tensor) -> Tensor:
        x = torch.randn(batch, dim, generator=generator, dtype=torch.float64)
        return teacher_student.sample_velocity(W, a, degree, x)

    W = teacher_student.start(width, dim, init, seed)
    flow = lambda W: teacher_student.flow_velocity(W, a, degree)
    run, law = (_run(W, f, a, degree, step, horizon, n_teachers)[1] for f in (move, flow))
    return run | {"flow": law["times"]}


def measure_muon(
    exponent: float, n_teachers: int, dim: int, width: int, degree: int, init: float, lr: float, seed: int
) -> dict:
    """The same by polar factors of the population gradient, `lr` a step; times are total lengths of steps."""
    a = torch.from_numpy(amplitudes(exponent, n_teachers))
    move = lambda W: polar(teacher_student.flow_velocity(W, a, degree))
    return _run(teacher_student.start(width, dim, init, seed), move, a, degree, lr, 1.0, n_teachers, least=0.02)[1]


def measure_samples(amplitude: float, dim: int, degree: int, overlap: float, chains: int, seed: int) -> dict:
    """Samples that one neuron on the sphere needs to align with a direction of amplitude a among others, at best.

    Labels are a h_k(⟨x, θ⟩) + √(1 − a²) g: to this neuron the other directions are noise. One sample a step; a step is
    exact in the overlap alone, for what is orthogonal to neuron and direction is a χ² of d − 2. The start is
    y = overlap/d. n: the least over learning rates, a grid of factors √2, of the median over `chains` of the first
    time at which y ≥ 1/2; rate: that learning rate; edge: whether it lies at the grid's end.
    """
    generator = np.random.default_rng([seed, dim, round(1e6 * amplitude)])
    rates = amplitude * dim ** (-degree / 2) * 2.0 ** np.arange(-1, 6.1, 0.5)
    m = np.full((len(rates), chains), math.sqrt(overlap / dim))
    rate, noise = rates[:, None], math.sqrt(1 - amplitude**2)
    arrival, n = np.full(m.shape, np.inf), 0
    most = int(8 * dim ** (degree - 1) / amplitude**2 / overlap ** (degree / 2))
    while n < most and (np.isinf(arrival).mean(1) >= 0.5).all():
        n += 1
        along, across, label = generator.standard_normal((3, *m.shape))
        rest = generator.chisquare(dim - 2, m.shape)
        side = np.sqrt(1 - m**2)
        z = m * along + side * across
        # the parts of x orthogonal to the neuron: along its plane with θ, and outside
        plane = side * along - m * across
        lower, value = _hermite_pair(z, degree)[0], _hermite_pair(along, degree)[1]
        pull = rate * (amplitude * value + noise * label) * math.sqrt(degree) * lower
        m = (m + pull * plane * side) / np.sqrt(1 + pull**2 * (plane**2 + rest))
        arrival = np.where(np.isinf(arrival) & (m**2 >= _ALIGNED), n, arrival)
    medians = np.median(arrival, axis=1)
    best = int(medians.argmin())
    return {"n": float(medians[best]), "rate": float(rates[best]), "edge": best in (0, len(rates) - 1)}


def _run(
    W: Tensor, move: Callable[[Tensor], Tensor], a: Tensor, degree: int, step: float, horizon: float, until: int,
    least: float = 0.5,
) -> tuple[Tensor, dict]:  # fmt: skip
    times, loss_times, losses = torch.full_like(a, math.nan), [], []
    taken, following = 0, least
    before = teacher_student.captured(W, len(a), degree)
    while taken * step < horizon and times[:until].isnan().any():
        W = W + step * move(W)
        taken += 1
        now = teacher_student.captured(W, len(a), degree)
        if not torch.isfinite(now).all():
            break
        times = teacher_student.half_times(times, a, before, now, (taken - 1) * step, step)
        before = now
        if taken * step >= following:
            loss_times.append(taken * step)
            losses.append(teacher_student.loss(W, a, degree))
            following *= _RATIO
    return W, {
        "times": times.tolist(),
        "loss_times": loss_times,
        "losses": losses,
        "loss": teacher_student.loss(W, a, degree),
        "steps": taken,
    }


def _hermite_pair(z: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """h_{k−1} and h_k of norm one, in numpy: torch is slower on arrays of this size."""
    low, high = np.ones_like(z), z
    for k in range(1, degree):
        low, high = high, (z * high - math.sqrt(k) * low) / math.sqrt(k + 1)
    return low, high
