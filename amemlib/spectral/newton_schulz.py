"""The polar factor by matrix products alone: Newton–Schulz iterations, the published schedules, the best of all.

An iteration is a composition of odd polynomials a x + b x³ + c x⁵ on the singular values of G / ‖G‖_F.
"""

import functools
import math
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.arithmetic import unit_scale
from amemlib.checks import (
    check_choice,
    check_count,
    check_non_negative,
    check_positive,
    check_real,
    check_sequence,
    shown,
)
from amemlib.problem import check_tensor

_JORDAN = (3.4445, -4.7750, 2.0315)
NEWTON_SCHULZ_COEFFICIENTS = {
    # z ↦ 3z/2 − z³/2, Lemma 29
    "cubic": (1.5, -0.5, 0.0),
    # K. Jordan et al., https://kellerjordan.github.io/posts/muon/; the defaults of torch.optim.Muon and of
    # optax.contrib.muon
    "jordan": _JORDAN,
    "muon": _JORDAN,
}
"""(a, b, c) of the odd polynomial a z + b z³ + c z⁵, by name; the number of steps is free. "muon" is "jordan"."""

# NVIDIA-NeMo/Emerging-Optimizers at fd77292, orthogonalized_optimizers/muon_utils.py; arXiv:2505.16932 with its safety
# factor 1.01 divided in
_POLAR_EXPRESS = (
    (8.2051, -22.9019, 16.4607),
    (4.0664, -2.8612, 0.5184),
    (3.9096, -2.8234, 0.5250),
    (3.2856, -2.4153, 0.4853),
    (2.2779, -1.6198, 0.3985),
    (1.8726, -1.2307, 0.3585),
    (1.8564, -1.2132, 0.3568),
    (1.8750, -1.2500, 0.3750),
)
# Dao-AILab/gram-newton-schulz at f08f25e, coefficients.py, before its safety factor 1.05
_POLAR_EXPRESS_BARE = (
    (8.28721201814563, -23.595886519098837, 17.300387312530933),
    (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
    (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
    (3.3184196573706015, -2.488488024314874, 0.51004894012372),
    (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
)
SCHEDULES = {
    # five steps: torch.optim.Muon, optax.contrib.muon, "simple" in Emerging-Optimizers
    "jordan": (_JORDAN,) * 5,
    # https://x.com/YouJiacheng/status/1905861218138804534; microsoft/dion at 0a059a4, dion/muon.py; "dion" in optax,
    # "quintic" in Emerging-Optimizers
    "you": (
        (4.0848, -6.8946, 2.9270),
        (3.9505, -6.3029, 2.6377),
        (3.7418, -5.5913, 2.3037),
        (2.8769, -3.1427, 1.2046),
        (2.8366, -3.0525, 1.2012),
    ),
    "polar_express": _POLAR_EXPRESS[:5],
    "polar_express_8": _POLAR_EXPRESS,
    # KellerJordan/modded-nanogpt at f411b3d, train_gpt.py, and microsoft/dion at 0a059a4, dion/polar_express.py: made
    # with safety factor 1.02 and cushion 2
    "polar_express_102": (
        (8.156554524902461, -22.48329292557795, 15.878769915207462),
        (4.042929935166739, -2.808917465908714, 0.5000178451051316),
        (3.8916678022926607, -2.772484153217685, 0.5060648178503393),
        (3.285753657755655, -2.3681294933425376, 0.46449024233003106),
        (2.3465413258596377, -1.7097828382687081, 0.42323551169305323),
    ),
    "polar_express_105": tuple((a / 1.05, b / 1.05**3, c / 1.05**5) for a, b, c in _POLAR_EXPRESS_BARE),
    # arXiv:2506.10935 (CANS), from Emerging-Optimizers at fd77292
    "cans": (
        (8.4703, -25.1081, 18.6293),
        (4.1828, -3.1087, 0.5806),
        (3.9619, -2.9541, 0.5630),
        (3.2866, -2.4647, 0.5074),
        (2.2737, -1.6447, 0.4162),
    ),
    # thib-s/flash-newton-schulz at cdb03db, newton_schulz_triton.py: Turbo-Muon, meant for rows rescaled beforehand
    "turbo_muon": (
        (4.6051, -9.6552, 5.6769),
        (4.7505, -6.0861, 2.1790),
        (2.7763, -2.3190, 0.5523),
        (2.4231, -2.2861, 0.8193),
    ),
    # an earlier table of the same file, from Emerging-Optimizers at fd77292
    "aol": (
        (4.0098, -7.0585, 2.4635),
        (3.4585, -5.5479, 2.5959),
        (2.7573, -3.2939, 1.4254),
        (2.7215, -3.0494, 1.3169),
    ),
    # arXiv:2606.00371, from Emerging-Optimizers at fd77292
    "cubic5": (
        (3.3656576, -3.3420992, 0.0),
        (2.5744352, -1.4957376, 0.0),
        (2.5368962, -1.4312570, 0.0),
        (2.4418906, -1.2764040, 0.0),
        (2.2230472, -0.9630650, 0.0),
    ),
    # the report of DeepSeek-V4, from Emerging-Optimizers at fd77292
    "deepseekv4": (_JORDAN,) * 8 + ((2.0, -1.5, 0.5),) * 2,
}
"""Published schedules of Newton–Schulz: name ↦ (a, b, c) for every step, applied to G / ‖G‖_F."""

_NAMED: dict[str, tuple] = SCHEDULES | NEWTON_SCHULZ_COEFFICIENTS
"""Every name: a table for its own number of steps, or three numbers for any; "jordan" is both, five of the same."""

DEFAULT_STEPS = 5
"""How often three coefficients are applied unless a number of steps is given; torch.optim.Muon's default."""

_EPS = torch.finfo(torch.float64).eps
_REMEZ_STEPS = 10
_MARGIN = 1e-8


def newton_schulz(
    G: Float[Tensor, "*batch m n"], steps: int | None = None, coefficients: str | Iterable = "jordan"
) -> Float[Tensor, "*batch m n"]:
    """Newton–Schulz iteration X ← a X + b (XXᵀ) X + c (XXᵀ)² X from X = G / ‖G‖_F, in float64 (Section 3).

    steps, coefficients: as in `newton_schulz_schedule`. The default is what optimizers ship, five steps of Jordan's
        quintic, which does not converge: it moves singular values into about [0.7, 1.2]. "cubic" converges to the
        polar factor (Lemma 29).
    Returns p(S/‖G‖_F) on the singular values, p the composed polynomial: near the polar factor only where s_k times
    the product of the a is ≫ ‖G‖_F.
    Raises `ValueError` for what is no schedule, or diverges, or a G that is not finite.
    """
    check_tensor("G", G, (..., "m", "n"))
    schedule = newton_schulz_schedule(coefficients, steps)
    X = G.double()
    X = X * unit_scale(X, (-2, -1))
    X = X / _frobenius_norm(X)
    for a, b, c in schedule:
        A = X @ X.mT
        X = a * X + (b * A + c * A @ A) @ X
    if not torch.isfinite(X).all():
        raise ValueError(f"coefficients must be those of an iteration that stays finite, got {shown(coefficients)}")
    return X


def newton_schulz_schedule(
    coefficients: str | Iterable, steps: int | None = None
) -> tuple[tuple[float, float, float], ...]:
    """(a, b, c) for every step: the odd quintics a x + b x³ + c x⁵ whose composition a Newton–Schulz iteration is.

    coefficients: a name of `NEWTON_SCHULZ_COEFFICIENTS` or three numbers, repeated `steps` times, 5 if not given; or a
        name of `SCHEDULES` or a table with three numbers for every step, whose length is the number of steps.
    Raises `ValueError` for an unknown name, an empty table, rows that are not three finite numbers (more would be
    another degree, or even powers, for which f(G) has no meaning), or a `steps` that is not the table's length.
    """
    if isinstance(coefficients, str):
        check_choice("coefficients", coefficients, tuple(_NAMED))
        coefficients = _NAMED[coefficients]
    table = check_sequence("coefficients", coefficients)
    if table and not any(np.ndim(row) for row in table):
        count = check_count("steps", DEFAULT_STEPS if steps is None else steps)
        return (newton_schulz_coefficients(coefficients),) * count
    if not table:
        raise ValueError("coefficients must hold three numbers for at least one step, got an empty table")
    schedule = tuple(map(newton_schulz_coefficients, table))
    if steps is not None and check_count("steps", steps) != len(schedule):
        raise ValueError(f"steps must be {len(schedule)}, the length of the table of coefficients, got {steps}")
    return schedule


def newton_schulz_scalar(
    s: Tensor, steps: int = DEFAULT_STEPS, coefficients: str | Sequence[float] = "jordan"
) -> Tensor:
    """What `newton_schulz` does to a singular value s ∈ [0, 1] (already divided by ‖G‖_F): the iterated polynomial."""
    check_tensor("s", s, (...,))
    steps = check_count("steps", steps)
    return compose_quintics(s, [newton_schulz_coefficients(coefficients)] * steps)


def compose_quintics(s: Tensor, coefficients: Iterable[Sequence[float]]) -> Tensor:
    """What a schedule of odd quintics, (a, b, c) for every step, does to singular values s ∈ [0, 1]; elementwise.

    Its slope at 0 is the product of the a. With `polar_express_coefficients` it is that iteration of a fixed length.
    Raises `ValueError` for an s where it diverges.
    """
    check_tensor("s", s, (...,))
    for a, b, c in map(newton_schulz_coefficients, check_sequence("coefficients", coefficients)):
        s = a * s + b * s**3 + c * s**5
    if not torch.isfinite(s).all():
        raise ValueError("s must hold values in [0, 1] or near, where the iteration does not diverge")
    return s


def newton_schulz_coefficients(coefficients: str | Iterable) -> tuple[float, float, float]:
    """(a, b, c) by name from `NEWTON_SCHULZ_COEFFICIENTS`, or the three numbers given."""
    if isinstance(coefficients, str):
        check_choice("coefficients", coefficients, tuple(NEWTON_SCHULZ_COEFFICIENTS))
        return NEWTON_SCHULZ_COEFFICIENTS[coefficients]
    numbers = tuple(check_real("coefficients", c) for c in check_sequence("coefficients", coefficients))
    if len(numbers) != 3 or not all(map(math.isfinite, numbers)):
        got = shown(coefficients)
        raise ValueError(f"coefficients must be three finite numbers (a, b, c) of the odd a x + b x³ + c x⁵, got {got}")
    return numbers


def polar_express(
    G: Float[Tensor, "*batch m n"], lam: float = 0.0, smallest: float = 0.0
) -> Float[Tensor, "*batch m n"]:
    """h_λ(G) by matrix products alone, the way for a GPU, where an SVD is slow: the top block of polar([G; λI]).

    [G; λI] (GᵀG + λ²)^{−1/2} is the polar factor of the stack, which has the condition number of GᵀG + λ² under a root,
    not that of a Gram matrix. The polar factor is a composition of the odd quintics of `polar_express_coefficients`.
    lam: λ ≥ 0, as in `smoothed_sign`.
    smallest: the smallest singular value of G that has to come out right, in the units of G; 0 is allowed if λ > 0,
        and then all do. At λ = 0 a value below it becomes something in [0, 1], in proportion while it is far below:
        null directions stay at rounding times ‖G‖ / smallest.
    The error is of the order ε ‖G‖ / √(smallest² + λ²), below 10⁻¹⁰ at condition number 10⁶; the cost 10 d³ flops a
    step, and there are about 4 + log(‖G‖_F / √(smallest² + λ²)) / log 4.26 steps. Raises `ValueError` for a λ or
    `smallest` < 0, or both so small that float64 cannot tell them from 0 beside ‖G‖_F.
    """
    check_tensor("G", G, (..., "m", "n"))
    lam, smallest = check_non_negative("lam", lam), check_non_negative("smallest", smallest)
    floor = math.hypot(lam, smallest)
    if G.shape[-2] < G.shape[-1]:
        return polar_express(G.mT, lam, smallest).mT
    X = G.double()
    if lam > 0:
        eye = torch.eye(X.shape[-1], dtype=X.dtype, device=X.device)
        X = torch.cat([X, (lam * eye).expand(*X.shape[:-2], -1, -1)], -2)
    scale = unit_scale(X)
    X, floor = X * scale, floor * scale.item()
    norm = _frobenius_norm(X)
    lower = min(floor / norm.max().item(), 1.0)
    if lower < 2 * _EPS:
        least, floor = (x / scale.item() for x in (2 * _EPS * norm.max().item(), floor))
        raise ValueError(f"lam or smallest must be at least {least:.1e}, got {floor!r}")
    X = X / norm
    # a power of two, so that one table serves many gradients
    for a, b, c in polar_express_coefficients(2.0 ** math.floor(math.log2(lower))):
        A = X.mT @ X
        X = a * X + X @ (b * A + c * A @ A)
    return X[..., : G.shape[-2], :]


def polar_express_coefficients(lower: float, steps: int | None = None) -> tuple[tuple[float, float, float], ...]:
    """(a, b, c) of the odd quintics whose composition is closest to 1 on [lower, 1] among all of this many steps.

    Each is the best on what its forerunner leaves, [ℓ, 2 − ℓ]: Amsel, Persson, Musco and Gower, arXiv:2505.16932.
    steps: how many; None for as many as reach 1 to rounding, 13 for `lower` = 10⁻⁶.
    Each interval is longer by a part in 10⁸: above its end the early quintics multiply an excess by 13 a step.
    Raises `ValueError` for a `lower` outside [2⁻⁵², 1].
    """
    if not _EPS <= check_positive("lower", lower) <= 1:
        raise ValueError(f"lower must be in [2^-52, 1], got {lower!r}")
    count = None if steps is None else check_count("steps", steps)
    return _polar_express_coefficients(float(lower), count)


@functools.cache
def _polar_express_coefficients(lower: float, steps: int | None) -> tuple[tuple[float, float, float], ...]:
    count = math.inf if steps is None else steps
    result: list[tuple[float, float, float]] = []
    upper = 1.0
    while len(result) < count and (steps is not None or lower < 1 - 8 * _EPS):
        a, b, c = best_odd_quintic(lower, upper * (1 + _MARGIN))
        result.append((a, b, c))
        lower = min(a * lower + b * lower**3 + c * lower**5, 1.0)
        upper = 2 - lower
    return tuple(result)


def best_odd_quintic(lower: float, upper: float) -> tuple[float, float, float]:
    """(a, b, c) that minimise max |1 − (a x + b x³ + c x⁵)| over [lower, upper], 0 < lower < upper; Remez's exchange.

    The error of the best one has its greatest size with alternating signs at four points: the two ends, and two points
    inside where p′ = 0. Solved for g in p = x g(τ), τ = (x² − m)/h running over [−1, 1]: well conditioned where the
    interval is short. Below h = 10⁻⁵ m, where the best error is rounding, g is Taylor's polynomial of x⁻¹.
    """
    lower, upper = check_positive("lower", lower), check_positive("upper", upper)
    if not lower < upper:
        raise ValueError(f"lower must lie below upper, got {lower!r} and {upper!r}")
    middle, half = (upper**2 + lower**2) / 2, (upper**2 - lower**2) / 2
    if half < 1e-5 * middle:
        return 15 / 8 * middle**-0.5, -10 / 8 * middle**-1.5, 3 / 8 * middle**-2.5
    ratio = middle / half
    inner = lower + np.array([0.25, 0.75]) * (upper - lower)
    for _ in range(_REMEZ_STEPS):
        x = np.array([lower, *inner, upper])
        tau = (x**2 - middle) / half
        g0, g1, g2, _ = np.linalg.solve(np.stack([x, x * tau, x * tau**2, [1, -1, 1, -1]], 1), np.ones(4))
        extrema = np.roots([5 * g2, 3 * g1 + 4 * ratio * g2, g0 + 2 * ratio * g1])
        inner = np.sqrt(middle + half * np.sort(extrema.real))
    return float(g0 - g1 * ratio + g2 * ratio**2), float((g1 - 2 * g2 * ratio) / half), float(g2 / half**2)


def _frobenius_norm(X: Tensor) -> Tensor:
    """‖X‖_F of every matrix of a stack, (…, 1, 1), and 1 for a zero matrix."""
    norm = torch.linalg.vector_norm(X, dim=(-2, -1), keepdim=True)
    return norm.where(norm > 0, 1.0)
