"""What the decoupled dynamics say when the singular values of the gradient are raised to a power γ; nothing is fitted.

γ = 1 is gradient flow, γ = 0 the polar factor. Derived in the chapter `spectral-emergence`; k is the degree of h_k.
"""

import math

import numpy as np
from scipy.integrate import quad

_PACE, _MOST_STEPS, _LEARNT = 0.03, 20_000, 0.9
_SEED = 123_456
"""Of the random starts that a law averages over; no run has it."""


def amplitudes(exponent: float, count: int) -> np.ndarray:
    """a_p ∝ p^{−β}, Σ a_p² = 1."""
    a = np.arange(1.0, count + 1) ** -exponent
    return a / np.linalg.norm(a)


def growth_times(a: np.ndarray, power: float) -> np.ndarray:
    """c_γ a_p^{(1 − 3γ)/2}, γ < 1: the growth of an aligned neuron from nothing to ‖w‖² = a_p/2,

    R′ = (2(a_p − R²)R)^γ, so that c_γ = ∫₀^{1/√2} (2x(1 − x²))^{−γ} dx. Infinite at γ = 1.
    """
    if power >= 1:
        return np.full(len(a), np.inf)
    # x = y^{1/(1 − γ)}/√2 takes the singularity away
    bend = 1 / (1 - power)
    smooth = lambda y: (1 - y ** (2 * bend) / 2) ** -power
    constant = quad(smooth, 0, 1)[0] * bend * 2 ** (-(1 + power) / 2)
    return constant * a ** ((1 - 3 * power) / 2)


def time_exponent(exponent: float | np.ndarray, power: float | np.ndarray) -> float | np.ndarray:
    """β(3γ − 1)/2, of T_p in p: for a start from nothing, and at γ = 1 for any."""
    return exponent * (3 * power - 1) / 2


def search_exponent(degree: int, power: float) -> float:
    """max(0, ((k − 1)γ − 1)/2), of the time of alignment in d."""
    return max(0.0, ((degree - 1) * power - 1) / 2)


def decoupled(
    a: np.ndarray, dim: int, width: int, init: float, degree: int, power: float, draws: int, until: float = 0.5
) -> dict[str, np.ndarray]:
    """Each direction alone with all neurons, from random starts: `aligned`, when the largest squared overlap is ½, and
    `times`, when half of a_p is captured, (draws, P); `path`: (steps, draws, P) of the time and of ‖G‖, up to the share
    `until`.

    With A = Σ_i r_i² μ_i^k and G_i of the norms below, s = ‖G‖, and W′ = s^{γ − 1} G: the student that has captured A
    feels the amplitude a_p − A (deflation), so that in lengths r_i and overlaps μ_i
        r_i′ = 2 s^{γ − 1}(a_p − A) r_i μ_i^k,   μ_i′ = k s^{γ − 1}(a_p − A) μ_i^{k − 1}(1 − μ_i²).
    """
    k, rng = degree, np.random.default_rng([_SEED, dim, width])
    u = rng.standard_normal((draws, width, dim))
    # an even power needs no sign; one draw's neurons serve all of its directions
    m = np.abs(u[:, :, : len(a)] / np.linalg.norm(u, axis=2, keepdims=True)).transpose(0, 2, 1)
    del u
    r, amplitude = np.full(m.shape, init), np.broadcast_to(a, m.shape[:2])[..., None]

    def parts(r, m):
        lower = m ** (k - 2)
        left = amplitude - (r**2 * lower * m**2).sum(2, keepdims=True)
        pull = left * lower * m
        norm = np.sqrt((r**2 * pull**2 * (k**2 * (1 - m**2) + 4 * m**2)).sum(2, keepdims=True))
        return pull, norm, left, lower

    def velocity(r, m, pull, norm):
        scale = norm ** (power - 1)
        return 2 * scale * pull * r * m, k * scale * pull * (1 - m**2)

    time = np.zeros(m.shape[:2])
    aligned, times = np.full(time.shape, np.nan), np.full(time.shape, np.nan)
    path = {"time": [], "norm": []}
    share = (r**2 * m**k).sum(2) / a
    for _ in range(_MOST_STEPS):
        pull, norm, left, lower = parts(r, m)
        path["time"].append(time.copy())
        path["norm"].append(norm[..., 0].copy())
        h = _PACE * norm ** (1 - power) / (k * np.abs(left) * lower.max(2, keepdims=True))
        h = np.where(share[..., None] >= until, 0, h)
        dr, dm = velocity(r, m, pull, norm)
        half_r, half_m = r + h / 2 * dr, np.minimum(m + h / 2 * dm, 1)
        dr, dm = velocity(half_r, half_m, *parts(half_r, half_m)[:2])
        r, m = r + h * dr, np.minimum(m + h * dm, 1)
        before, share = share, (r**2 * m**k).sum(2) / a
        part = (0.5 - before) / np.where(share > before, share - before, 1)
        crossed = np.isnan(times) & (share >= 0.5)
        times = np.where(crossed, time + h[..., 0] * part, times)
        time = time + h[..., 0]
        aligned = np.where(np.isnan(aligned) & (m.max(2) ** 2 >= 0.5), time, aligned)
        if (share >= until).all():
            break
    return {"aligned": aligned, "times": times, "path": {name: np.array(rows) for name, rows in path.items()}}


def arc_times(a: np.ndarray, dim: int, width: int, init: float, degree: int, draws: int) -> np.ndarray:
    """T_p of steps along G/‖G‖, (draws, P): the flow, whose clock now is its own length ∫ ‖G‖ dt, ‖G‖² = Σ_p ‖G_p‖².

    G_p counts until nine tenths of a_p are captured.
    """
    alone = decoupled(a, dim, width, init, degree, 1.0, draws, until=_LEARNT)
    times = np.empty(alone["times"].shape)
    for draw in range(draws):
        time, norm = (alone["path"][name][:, draw] for name in ("time", "norm"))
        at = np.unique(time)
        total = np.zeros(len(at))
        for p in range(len(a)):
            last = np.concatenate([[True], np.diff(time[:, p]) > 0])
            total += np.interp(at, time[last, p], norm[last, p], right=0) ** 2
        length = np.concatenate([[0], np.cumsum(np.diff(at) * np.sqrt((total[1:] + total[:-1]) / 2))])
        times[draw] = np.interp(alone["times"][draw], at, length)
    return times


def row_times(a: np.ndarray, dim: int, width: int, degree: int, draws: int) -> np.ndarray:
    """T_p = √(a_p/2n_p) of steps that give every neuron the length one, (draws, P); ∞ where n_p = 0.

    n_p: the neurons that reach p first. Along its own clock a neuron has μ_p′ ∝ a_p μ_p^{k − 1}, so that the largest
    a_p |μ_p|^{k − 2} at the start wins.
    """
    rng = np.random.default_rng([_SEED, dim, width])
    u = rng.standard_normal((draws, width, dim))
    m = np.abs(u[:, :, : len(a)] / np.linalg.norm(u, axis=2, keepdims=True))
    choice = (a * m ** (degree - 2)).argmax(2)
    with np.errstate(divide="ignore"):
        return np.sqrt(a / 2 / (choice[..., None] == np.arange(len(a))).sum(1))


def own_noise(degree: int) -> float:
    """M = E h_k² h_{k−1}², by Gauss and Hermite's quadrature: 213 at k = 4."""
    x, weights = np.polynomial.hermite_e.hermegauss(4 * degree)
    one = np.eye(degree + 1)
    h = [np.polynomial.hermite_e.hermeval(x, one[k]) / math.sqrt(math.factorial(k)) for k in (degree, degree - 1)]
    return float(weights / weights.sum() @ (h[0] * h[1]) ** 2)


def batch_times(a: np.ndarray, dim: int, degree: int, batch: int, own: float = 0.0) -> np.ndarray:
    """T_p of polar steps, each on its own batch, in the limit of short steps: growth beside the noise of the batch.

    The row of an aligned neuron of length R is R times 2(a_p − R²) along itself and noise of size √(k v d/B), v the
    second moment of what is not learnt. Rows at right angles get the length one each:
        R′ = x/√(1 + x²),   x = 2δ_p √(B/(k d (v + own δ_p²))),   δ_p = a_p − R_p²,   v = Σ_p δ_p².
    own: what the neuron's own error adds, M − 1 of `own_noise` for one that is aligned. 0 takes what is not learnt as
    independent of what the neuron sees: the law that was judged, whose premise fails.
    """
    R, times, n, h = np.zeros(len(a)), np.full(len(a), np.nan), 0, 0.002 * math.sqrt(a[-1])
    while np.isnan(times).any() and n < _MOST_STEPS * 10:
        left = a - R**2
        x = 2 * left * np.sqrt(batch / (degree * dim * ((left**2).sum() + own * left**2)))
        R, n = R + h * x / np.sqrt(1 + x**2), n + 1
        times = np.where(np.isnan(times) & (R**2 >= a / 2), n * h, times)
    return times


def fact_times(frequencies: np.ndarray, power: float) -> np.ndarray:
    """T_i, p̂(i|i) = ½, of the flow G^[γ] in a memory of N facts at right angles: ∝ p_i^{−γ}.

    The logit's margin m grows by (N/(N − 1))^{(γ + 1)/2} (p_i (1 − p̂))^γ with p̂ = 1/(1 + (N − 1)e^{−m}), up to
    m = log(N − 1).
    """
    n = len(frequencies)
    share = lambda m: 1 - 1 / (1 + (n - 1) * math.exp(-m))
    length = quad(lambda m: share(m) ** -power, 0, math.log(n - 1))[0]
    return length * frequencies**-power * ((n - 1) / n) ** ((power + 1) / 2)
