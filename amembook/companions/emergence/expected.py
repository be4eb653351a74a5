"""What the decoupled dynamics say, one direction and one neuron at a time: when a direction is learnt, and the loss.

All of it is derived in the chapter `emergence`; nothing is fitted. k is the degree of the activation h_k.
"""

import math

import numpy as np
from scipy.linalg import solve_banded
from scipy.special import zeta
from scipy.stats import beta as beta_law
from scipy.stats import binom

_NODES, _WEIGHTS = (values / scale for values, scale in zip(np.polynomial.legendre.leggauss(24), (1, 2), strict=True))
_STEP, _MOST_STEPS = 0.02, 20_000


def amplitudes(exponent: float, count: int) -> np.ndarray:
    """a_p ∝ p^{−β}, Σ a_p² = 1."""
    a = np.arange(1.0, count + 1) ** -exponent
    return a / np.linalg.norm(a)


def learning_times(squared_overlap, mass, degree: int) -> np.ndarray:
    """τ = a_p t at which ρ y^{k/2} = 1/2 for y′ = 2k y^{k/2}(1 − y) and ρ′ = 4ρ(y^{k/2} − ρ), y and ρ as given at 0.

    y: squared overlap of the neuron and its direction. ρ: squared length of the neuron over a_p. Runge–Kutta, in steps
    that follow the slow escape of a small y.
    """
    y, log_mass = np.broadcast_arrays(np.asarray(squared_overlap, dtype=float), np.log(mass))
    k, time, crossings = degree, np.zeros(y.shape), np.full(y.shape, np.nan)

    def velocity(y, log_mass):
        power = y ** (k / 2)
        return 2 * k * power * (1 - y), 4 * (power - np.exp(log_mass))

    captured = np.exp(log_mass) * y ** (k / 2)
    for _ in range(_MOST_STEPS):
        h = _STEP * np.maximum(1, 1 / (4 * k * y ** (k / 2 - 1)))
        one = velocity(y, log_mass)
        two = velocity(y + h / 2 * one[0], log_mass + h / 2 * one[1])
        three = velocity(y + h / 2 * two[0], log_mass + h / 2 * two[1])
        four = velocity(y + h * three[0], log_mass + h * three[1])
        y, log_mass = (x + h / 6 * (one[i] + 2 * two[i] + 2 * three[i] + four[i]) for i, x in enumerate((y, log_mass)))
        before, captured = captured, np.exp(log_mass) * y ** (k / 2)
        crossed = np.isnan(crossings) & (captured >= 0.5)
        part = (0.5 - before) / np.where(captured > before, captured - before, 1)
        crossings, time = np.where(crossed, time + h * part, crossings), time + h
        if not np.isnan(crossings).any():
            break
    return crossings


def emergence_times(a: np.ndarray, dim: int, width: int, init: float, degree: int) -> np.ndarray:
    """Quantiles of T_p, (P, 24), each of equal weight `quantile_weights`: the best of the neurons that are left learns
    direction p alone, and every direction before p has used up one.

    The best of n random neurons has the squared overlap y with P(y < x) = F(x)^n, F of Beta(1/2, (d − 1)/2).
    """
    left = np.maximum(width - np.arange(len(a)), 1)
    chance = ((_NODES + 1) / 2)[None] ** (1 / left[:, None])
    y = beta_law(0.5, (dim - 1) / 2).ppf(chance)
    return learning_times(y, (init**2 / a)[:, None], degree) / a[:, None]


def best_left(u: np.ndarray, count: int) -> np.ndarray:
    """Squared overlaps of the unit vectors u, (m, d), that direction 1, 2, … each finds best among those left to it."""
    squares, y = np.square(u[:, :count]), np.empty(count)
    for p in range(count):
        i = squares[:, p].argmax()
        y[p], squares[i] = squares[i, p], -1
    return y


def euler_times(squared_overlap, mass: float, a: np.ndarray, degree: int, step: float) -> np.ndarray:
    """t at which one neuron has half of a_p, in Euler steps of its vector w; `learning_times`/a_p where they are small.

    squared_overlap: (…, P), of the neuron and its direction at 0; mass: ‖w‖² at 0.
    """
    y = np.asarray(squared_overlap, dtype=float)
    x, rest = np.sqrt(mass * y), np.sqrt(mass * (1 - y))
    crossings, captured = np.full(y.shape, np.nan), mass * y ** (degree / 2)
    for n in range(_MOST_STEPS):
        length = np.hypot(x, rest)
        u = x / length
        pull = degree * a * u ** (degree - 1)
        along = 2 * (a * u**degree - length**2) - pull * u
        x, rest = x + step * (along * x + pull * length), rest + step * along * rest
        before, captured = captured, np.hypot(x, rest) ** (2 - degree) * x**degree
        part = (a / 2 - before) / np.where(captured > before, captured - before, 1)
        crossings = np.where(np.isnan(crossings) & (captured >= a / 2), (n + part) * step, crossings)
        if not np.isnan(crossings).any():
            break
    return crossings


def deflated(
    u: np.ndarray, mass: float, a: np.ndarray, degree: int, step: float, steps: int, horizon: float, until: int,
    at: list[int],
) -> dict:  # fmt: skip
    """The network from its own start and in its own Euler steps, but that neurons meet along the teacher's directions
    alone: ⟨u_i, u_j⟩^k is Σ_p ⟨u_i, θ_p⟩^k ⟨u_j, θ_p⟩^k for i ≠ j. So a neuron sees the amplitudes that others left.

    u: (m, d), unit vectors at the start. times: T_p, NaN if not before `horizon` and `steps` (`until` are enough);
    losses after the numbers of steps in `at`, loss after `steps`.
    """
    k, P = degree, len(a)
    x = math.sqrt(mass) * u[:, :P]
    rest = math.sqrt(mass) * np.sqrt(np.maximum(1 - np.square(u[:, :P]).sum(1), 0))
    times, losses, final, before, n = np.full(P, np.nan), [], math.nan, np.zeros(P), 0
    places = set(at)
    while True:
        squares = np.square(x).sum(1) + np.square(rest)
        length = np.sqrt(squares)[:, None]
        v = x / length
        lower = v ** (k - 1)
        own = squares[:, None] * lower * v
        captured = own.sum(0)
        part = (a / 2 - before) / np.where(captured > before, captured - before, 1)
        times = np.where(np.isnan(times) & (captured >= a / 2), (n - 1 + np.clip(part, 0, 1)) * step, times)
        if n in places or n == steps:
            alone = np.square(squares) @ (1 - (v ** (2 * k)).sum(1))
            loss = float((np.square(a - captured).sum() + alone) / 2)
            losses += [loss] if n in places else []
            final = loss if n == steps else final
        if n >= steps and (n * step >= horizon or not np.isnan(times[:until]).any()):
            return {"times": times.tolist(), "losses": losses, "loss": final}
        left = a - captured + own
        share = (left * lower * v).sum(1)
        along = (2 * (share - squares) - k * share)[:, None]
        x = x + step * (along * x + k * length * left * lower)
        rest = rest + step * along[:, 0] * rest
        before, n = captured, n + 1


def quantile_weights() -> np.ndarray:
    """Weights of the quantiles of `emergence_times`; they sum to one."""
    return _WEIGHTS.copy()


def additive_loss(a: np.ndarray, times: np.ndarray, at) -> np.ndarray:
    """½ Σ_p a_p² P(t < T_p) at the times `at`: the additive model, T_p from its quantiles."""
    late = (np.asarray(at)[:, None, None] < times[None]) @ _WEIGHTS
    return late @ a**2 / 2


def loss_tail(exponent: float, count: int) -> float:
    """What a power law of infinitely many directions adds: ½ Σ_{p>P} p^{−2β}/Σ_{p≤P} p^{−2β}."""
    head = (np.arange(1.0, count + 1) ** (-2 * exponent)).sum()
    return float(zeta(2 * exponent, count + 1) / head / 2)


def loss_exponent(exponent: float) -> float:
    """(1 − 2β)/β, of the loss in time at a fixed learning rate (arXiv:2504.19983)."""
    return (1 - 2 * exponent) / exponent


def samples_needed(amplitude: float, dim: int, degree: int, overlap: float) -> float:
    """The least over learning rates ε of the samples until m² = 1/2 from m² = overlap/d, in the mean:

    dm/dn = k (ε a m^{k−1}(1 − m²) − ε² d m/2), where the second part is what the noise of labels of variance one takes
    away. So n is ∝ 1/a² exactly, and ∝ d^{k−1} for d ≫ overlap.
    """
    first, last = math.sqrt(overlap / dim), math.sqrt(0.5)
    m = np.geomspace(first, last, 2000)
    # the rate beyond which the start, or a later m, would fall instead of rise
    ceiling = 2 * amplitude / dim * (m ** (degree - 2) * (1 - m**2)).min()
    rates = ceiling * np.linspace(0.01, 0.99, 99)[:, None]
    pace = degree * (rates * amplitude * m ** (degree - 1) * (1 - m**2) - rates**2 * dim * m / 2)
    return float(np.trapezoid(1 / pace, m, axis=1).min())


def noisy_samples(
    amplitude: float, dim: int, degree: int, overlap: float, chains: int, grid: int = 240, steps: int = 500
) -> float:
    """`samples_needed` with the noise along θ as well, read as `measure_samples` reads its chains: the mean of the
    least, over learning rates, of the median of so many.

    dm = k (ε a m^{k−1}(1 − m²) − ε² (d − 1) m/2) dn + ε √(k (1 − m²)) dB, absorbed at m² = 1/2: the backward equation
    of the share that has not arrived, in implicit steps. Right for small ε.
    """
    k, edge = degree, math.sqrt(0.5)
    rates = amplitude * dim ** (-k / 2) * 2.0 ** np.arange(-1, 6.1, 0.5)
    m = np.linspace(-edge, edge, grid + 1)
    h, m = m[1] - m[0], m[1:-1]
    dt = 3 * samples_needed(amplitude, dim, degree, overlap) / steps
    arrived = np.empty((len(rates), steps))
    for row, rate in zip(arrived, rates, strict=True):
        drift = k * (rate * amplitude * m ** (k - 1) * (1 - m**2) - rate**2 * (dim - 1) * m / 2)
        spread = k * rate**2 * (1 - m**2) / 2 / h**2
        # central differences where they keep probabilities, else upwind
        up, down = (spread + sign * drift / 2 / h for sign in (1, -1))
        coarse = np.minimum(up, down) < 0
        up, down = (np.where(coarse, spread + np.maximum(sign * drift, 0) / h, x) for sign, x in ((1, up), (-1, down)))
        bands = np.zeros((3, len(m)))
        bands[0, 1:], bands[1], bands[2, :-1] = -dt * up[:-1], 1 + dt * (up + down), -dt * down[1:]
        left = np.ones(len(m))
        for n in range(steps):
            left = solve_banded((1, 1), bands, left, check_finite=False)
            row[n] = 1 - np.interp(math.sqrt(overlap / dim), m, left)
    # a median of an odd number has arrived where more than half have
    late = binom.cdf(chains // 2, chains, np.clip(arrived, 0, 1)).prod(0)
    return float(dt * (0.5 + late.sum()))


def polar_loss(a: np.ndarray, time) -> np.ndarray:
    """½ Σ_p (a_p − min(a_p, s²))² after polar steps of total length s: every neuron's length grows at the same pace."""
    return ((a - np.minimum(a, np.square(np.asarray(time, dtype=float))[..., None])) ** 2).sum(-1) / 2


def race(a: np.ndarray, dim: int, width: int, init: float, degree: int, draws: int = 200) -> tuple[float, float]:
    """Final loss and neurons a learnt direction, means over random starts of the decoupled race.

    Neuron i would align with p at y^{1−k/2}/(k(k − 2) a_p) and carry it log(a_p/init²)/(4 a_p) later. The first to do
    so learns p; whoever would have aligned with p by then shares it, and the others go on with what is left.
    """
    generator, k = np.random.default_rng(0), degree
    growth = np.log(a / init**2) / (4 * a)
    floors, shares = [], []
    for _ in range(draws):
        u = generator.standard_normal((width, dim))
        y = np.square(u[:, : len(a)]) / np.square(u).sum(1, keepdims=True)
        align = y ** (1 - k / 2) / (k * (k - 2) * a)
        learnt = 0
        open_mass = a.copy()
        while np.isfinite(align).any():
            carried = align.min(0) + growth
            p = int(carried.argmin())
            align[align[:, p] <= carried[p]] = np.inf
            align[:, p] = np.inf
            open_mass[p], learnt = 0, learnt + 1
        floors.append((open_mass**2).sum() / 2)
        shares.append(width / learnt)
    return float(np.mean(floors)), float(np.mean(shares))
