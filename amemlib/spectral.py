"""Maps on singular values: f(G) = P f(S) Qᵀ for G = P S Qᵀ and an odd function f (Section 3).

All in float64: relative singular values of a power-law gradient reach 10⁻⁶, where a float32 SVD is 20 % wrong.
The eigenvalues of GᵀG are no short cut, they square the condition number. The maps themselves take a stack of matrices
as well, (…, m, n): on a GPU a stack takes less time than a loop, and so do products of small matrices anywhere.
"""

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.arithmetic import unit_scale
from amemlib.checks import (
    check_count,
    check_function,
    check_non_negative,
    check_positive,
    check_real,
    check_sequence,
    shown,
)
from amemlib.problem import check_square, check_tensor

NEWTON_SCHULZ_COEFFICIENTS = {
    # z ↦ 3z/2 − z³/2, Lemma 29
    "cubic": (1.5, -0.5, 0.0),
    # K. Jordan et al., https://kellerjordan.github.io/posts/muon/; the defaults of torch.optim.Muon and of
    # optax.contrib.muon
    "muon": (3.4445, -4.7750, 2.0315),
}
"""(a, b, c) of the odd polynomial a z + b z³ + c z⁵, by name; the number of steps is free."""

_JORDAN = NEWTON_SCHULZ_COEFFICIENTS["muon"]
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

DEFAULT_STEPS = 5
"""How often three coefficients are applied unless a number of steps is given; torch.optim.Muon's default."""

_EPS = torch.finfo(torch.float64).eps
_REMEZ_STEPS = 10
_MOST_STEPS = 1000
"""Of an iteration; float64 has converged after less than a hundred."""
_MARGIN = 1e-8
_CLOSE = 0.5
_SCALARS = 1e-60, 1e60
_CURVES = 1e-140, 1e140
_LOG_STEP = 0.2
_GAUSS_LEGENDRE = tuple(x / 2 + shift for x, shift in zip(np.polynomial.legendre.leggauss(12), (0.5, 0.0), strict=True))


def identity(G: Float[Tensor, "*batch m n"]) -> Float[Tensor, "*batch m n"]:
    """f(z) = z: the spectral map of gradient descent."""
    _check_matrices(G)
    return G.double()


def spectral_map(
    G: Float[Tensor, "*batch m n"], f: Callable[[Tensor], Tensor], rank: int | None = None
) -> Float[Tensor, "*batch m n"]:
    """f(G) = Σ_k f(s_k) p_k q_kᵀ over the singular triples of G, in float64 by LAPACK's SVD.

    f maps a tensor of singular values to a tensor of the same shape; it stands for its odd extension.
    rank: how many of the largest singular values to keep; the rest map to 0 whatever f says. With `None`, those that
        rounding cannot tell from 0 are dropped: s_k ≤ (mn)^{1/4} ε s_1, ε = 2.2·10⁻¹⁶. There is no other relative cut.
    Raises `ValueError` for a G with NaN or infinite entries, or singular values beyond 10³⁰⁸, or a rank outside
    [0, min(m, n)].
    """
    check_function("f", f)
    return next(spectral_maps(G, [f], rank))


def spectral_maps(
    G: Float[Tensor, "*batch m n"], functions: Iterable[Callable[[Tensor], Tensor]], rank: int | None = None
) -> Iterator[Float[Tensor, "*batch m n"]]:
    """f(G) for each f of `functions`, in turn, from one SVD: a scan over λ costs one matrix product a point.

    Everything else as in `spectral_map`; the SVD is taken when the first map is asked for.
    """
    _check_matrices(G)
    P, s, Qh = singular_triples(G)
    if not torch.isfinite(s).all():
        raise ValueError("G must have singular values that float64 holds, got infinite ones")
    if rank is None:
        dropped = s <= (G.shape[-2] * G.shape[-1]) ** 0.25 * _EPS * s[..., :1]
    else:
        dropped = torch.arange(s.shape[-1], device=s.device) >= check_count("rank", rank, least=0)
        if rank > s.shape[-1]:
            raise ValueError(f"rank must be at most min(m, n) = {s.shape[-1]}, got {rank}")
    for f in functions:
        yield (P * f(s).masked_fill(dropped, 0)[..., None, :]) @ Qh


def polar(G: Float[Tensor, "*batch m n"], rank: int | None = None) -> Float[Tensor, "*batch m n"]:
    """Polar factor P Qᵀ of G = P S Qᵀ: f = sign, the exact Muon update, h_λ at λ = 0 (Section 3).

    For a rank-deficient G it is the partial isometry on the row space of G: null directions are dropped, never
    orthogonalised. `rank` as in `spectral_map`; `gradients.gradient_rank` knows it for a minibatch.
    """
    _check_matrices(G)
    by_products = None
    if G.device.type != "cpu" and rank in (None, *G.shape[-1:]):
        by_products = polar_by_products(G)
    return spectral_map(G, torch.ones_like, rank) if by_products is None else by_products


def smoothed_sign(G: Float[Tensor, "*batch m n"], lam: float, rank: int | None = None) -> Float[Tensor, "*batch m n"]:
    """h_λ(G) with h_λ(z) = z / √(z² + λ²), the stabilised Muon update of Eq. (3): G (GᵀG + λ²)^{−1/2}.

    lam: λ ≥ 0, absolute, in the units of G's singular values (`theory.bulk_scale` is the natural unit).
    λ = 0 is `polar`. Raises `ValueError` for λ < 0 or not finite.
    """
    check_non_negative("lam", lam)
    if lam == 0:
        return polar(G, rank)
    # not `smoothed_sign_scalars`: λ² and λ³ of its derivatives are within float64 for fewer λ
    return spectral_map(G, lambda s: s / torch.hypot(s, s.new_tensor(lam)), rank)


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
    _check_matrices(G)
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


def polar_by_products(G: Float[Tensor, "*batch m n"]) -> Float[Tensor, "*batch m n"] | None:
    """The polar factor of one square matrix of full rank by `polar_express`, None for any other.

    What the iteration needs to know, a lower bound of the singular values, is 1/(2 ‖G⁻¹‖_F): half, for the inverse is
    rounded too. None where that is below √d ε ‖G‖_F, where rounding leaves the rank open.
    """
    _check_matrices(G)
    if G.ndim != 2 or G.shape[0] != G.shape[1]:
        return None
    # exact, and the norm of the inverse neither overflows nor vanishes
    G = G.double() * unit_scale(G)
    inverse, failed = torch.linalg.inv_ex(G)
    smallest = 0.5 / torch.linalg.norm(inverse).item()
    if failed.item() or not smallest > len(G) ** 0.5 * _EPS * torch.linalg.norm(G).item():
        return None
    return polar_express(G, smallest=smallest)


def singular_triples(
    G: Float[Tensor, "*batch m n"],
) -> tuple[Float[Tensor, "*batch m k"], Float[Tensor, "*batch k"], Float[Tensor, "*batch k n"]]:
    """P, s and Qᵀ of G = P diag(s) Qᵀ in float64, s decreasing, k = min(m, n).

    By LAPACK on the CPU. On another device by products, O = `polar_by_products` and the eigenvalues of OᵀG = Q S Qᵀ
    (Nakatsukasa and Higham, SIAM J. Sci. Comput. 35, 2013): a GPU's own SVD is slower than the host's. Where that needs
    full rank and there is none, a single matrix goes to the host and back.
    """
    _check_matrices(G)
    G = G.double()
    if G.device.type == "cpu" or G.ndim > 2:
        return tuple(torch.linalg.svd(G, full_matrices=False))
    O = polar_by_products(G)  # noqa: E741
    if O is None:
        return tuple(part.to(G.device) for part in torch.linalg.svd(G.cpu(), full_matrices=False))
    H = O.mT @ G
    s, Q = torch.linalg.eigh((H + H.mT) / 2)
    s, Q = s.flip(-1).clamp(min=0), Q.flip(-1)
    return O @ Q, s, Q.mT


def singular_values(X: Float[Tensor, "m n"]) -> Float[Tensor, " k"]:
    """The singular values of X alone, decreasing; on a device a tall X is reduced to its triangular factor first."""
    check_square("X", X)
    if X.device.type == "cpu":
        return torch.linalg.svdvals(X.double())
    return singular_triples(torch.linalg.qr(X, mode="r").R if X.shape[0] > X.shape[1] else X)[1]


def polar_express_coefficients(lower: float, steps: int | None = None) -> tuple[tuple[float, float, float], ...]:
    """(a, b, c) of the odd quintics whose composition is closest to 1 on [lower, 1] among all of this many steps.

    Each is the best on what its forerunner leaves, [ℓ, 2 − ℓ]: Amsel, Persson, Musco and Gower, arXiv:2505.16932.
    steps: how many; None for as many as reach 1 to rounding, 13 for `lower` = 10⁻⁶.
    Each interval is longer by a part in 10⁸: above its end the early quintics multiply an excess by 13 a step.
    Raises `ValueError` for a `lower` outside [2⁻⁵², 1], or more than 1000 steps.
    """
    if not _EPS <= check_positive("lower", lower) <= 1:
        raise ValueError(f"lower must be in [2^-52, 1], got {lower!r}")
    count = None if steps is None else check_count("steps", steps, most=_MOST_STEPS)
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
    if not lower < upper or not (_SCALARS[0] <= lower and upper <= _SCALARS[1]):
        raise ValueError(f"lower must lie below upper, both in [1e-60, 1e60], got {lower!r} and {upper!r}")
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


def newton_schulz(
    G: Float[Tensor, "*batch m n"], steps: int | None = None, coefficients: str | Iterable = "cubic"
) -> Float[Tensor, "*batch m n"]:
    """Newton–Schulz iteration X ← a X + b (XXᵀ) X + c (XXᵀ)² X from X = G / ‖G‖_F, in float64 (Section 3).

    steps, coefficients: as in `newton_schulz_schedule`; "cubic" converges to the polar factor (Lemma 29), "muon" (the
        tuned quintic that optimizers ship) does not: it moves singular values into about [0.7, 1.2].
    Returns p(S/‖G‖_F) on the singular values, p the composed polynomial: near the polar factor only where s_k times
    the product of the a is ≫ ‖G‖_F.
    Raises `ValueError` for what is no schedule, or a G that is not finite.
    """
    _check_matrices(G)
    schedule = newton_schulz_schedule(coefficients, steps)
    X = G.double()
    X = X * unit_scale(X, (-2, -1))
    X = X / _frobenius_norm(X)
    for a, b, c in schedule:
        A = X @ X.mT
        X = a * X + (b * A + c * A @ A) @ X
    return X


def newton_schulz_schedule(
    coefficients: str | Iterable, steps: int | None = None
) -> tuple[tuple[float, float, float], ...]:
    """(a, b, c) for every step: the odd quintics a x + b x³ + c x⁵ whose composition a Newton–Schulz iteration is.

    coefficients: a name of `SCHEDULES` or a table with three numbers for every step, whose length is the number of
        steps; or a name of `NEWTON_SCHULZ_COEFFICIENTS` or three numbers, repeated `steps` times, 5 if not given.
    Raises `ValueError` for an unknown name, an empty table, rows that are not three finite numbers (more would be
    another degree, or even powers, for which f(G) has no meaning), a `steps` that is not the table's length, or more
    than 1000 of them.
    """
    if isinstance(coefficients, str) and coefficients not in SCHEDULES | NEWTON_SCHULZ_COEFFICIENTS:
        names = ", ".join(map(repr, NEWTON_SCHULZ_COEFFICIENTS | SCHEDULES))
        raise ValueError(f"coefficients must be three numbers, rows of them, or one of {names}, got {coefficients!r}")
    if isinstance(coefficients, str):
        table = SCHEDULES.get(coefficients)
    else:
        rows = check_sequence("coefficients", coefficients)
        table = rows if not rows or any(map(_is_row, rows)) else None
    if table is None:
        count = check_count("steps", DEFAULT_STEPS if steps is None else steps, most=_MOST_STEPS)
        return (newton_schulz_coefficients(coefficients),) * count
    if not table:
        raise ValueError("coefficients must hold three numbers for at least one step, got an empty table")
    schedule = tuple(map(newton_schulz_coefficients, table))
    if steps is not None and check_count("steps", steps) != len(schedule):
        raise ValueError(f"steps must be {len(schedule)}, the length of the table of coefficients, got {steps}")
    return schedule


def newton_schulz_scalar(s: Tensor, steps: int = 5, coefficients: str | Sequence[float] = "cubic") -> Tensor:
    """What `newton_schulz` does to a singular value s ∈ [0, 1] (already divided by ‖G‖_F): the iterated polynomial."""
    check_tensor("s", s, (...,))
    steps = check_count("steps", steps, most=_MOST_STEPS)
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
        if coefficients not in NEWTON_SCHULZ_COEFFICIENTS:
            names = ", ".join(map(repr, NEWTON_SCHULZ_COEFFICIENTS))
            raise ValueError(f"coefficients must be three numbers or one of {names}, got {coefficients!r}")
        return NEWTON_SCHULZ_COEFFICIENTS[coefficients]
    numbers = tuple(check_real("coefficients", c) for c in check_sequence("coefficients", coefficients))
    if len(numbers) != 3 or not all(map(math.isfinite, numbers)):
        got = shown(coefficients)
        raise ValueError(f"coefficients must be three finite numbers (a, b, c) of the odd a x + b x³ + c x⁵, got {got}")
    return numbers


def _is_row(value) -> bool:
    return isinstance(value, (list, tuple)) or (isinstance(value, (np.ndarray, Tensor)) and value.ndim > 0)


def _check_matrices(G: Tensor) -> None:
    check_tensor("G", G, (..., "m", "n"))


def _frobenius_norm(X: Tensor) -> Tensor:
    """‖X‖_F of every matrix of a stack, (…, 1, 1), and 1 for a zero matrix."""
    norm = torch.linalg.vector_norm(X, dim=(-2, -1), keepdim=True)
    return norm.where(norm > 0, 1.0)


def smoothed_sign_scalars(lam: float) -> tuple[Callable[[Tensor], Tensor], ...]:
    """(h_λ, h_λ′, h_λ″) as functions of a real tensor: z/c, λ²/c³ and −3λ²z/c⁵ with c = √(z² + λ²); λ > 0."""
    if not _SCALARS[0] <= check_positive("lam", lam) <= _SCALARS[1]:
        raise ValueError(f"lam must lie in [1e-60, 1e60], so that its powers stay within float64, got {lam!r}")
    scaled = lambda z: torch.hypot(z, z.new_tensor(lam))  # noqa: E731
    return lambda z: z / scaled(z), lambda z: lam**2 / scaled(z) ** 3, lambda z: -3 * lam**2 * z / scaled(z) ** 5


def divided_difference(x: Tensor, y: Tensor, f: Callable, df: Callable, scale: float) -> Tensor:
    """f[x, y] = (f(x) − f(y)) / (x − y), and f′(x) at x = y, entry by entry of two tensors that broadcast; float64.

    f, df: the function and its derivative on the real line. scale: a length on which f is smooth, λ for h_λ; any length
        if f is a polynomial. Below half of it the quotient would lose digits, and f[x, y] = ∫₀¹ f′(x + τ(y − x)) dτ is
        taken by Gauss's rule instead, which is then exact to rounding.
    """
    x, y = _broadcast({"x": x, "y": y}, {"f": f, "df": df}, scale)
    close = (x - y).abs() < _CLOSE * scale
    result = (f(x) - f(y)) / torch.where(close, 1.0, x - y)
    tau, weights = _gauss_legendre(x)
    near, far = x[close][:, None], y[close][:, None]
    result[close] = df(near + tau * (far - near)) @ weights
    return result


def second_divided_difference(
    x: Tensor, y: Tensor, z: Tensor, f: Callable, df: Callable, d2f: Callable, scale: float
) -> Tensor:
    """f[x, y, z] = (f[x, y] − f[y, z]) / (x − z), symmetric in its three points, and f″(x)/2 where all agree.

    Arguments as in `divided_difference`, and the second derivative. The points are sorted first, so that the quotient
    is over the widest gap; where that is below half of `scale`, the Hermite–Genocchi integral of f″ over the simplex
    takes its place.
    """
    x, y, z = _broadcast({"x": x, "y": y, "z": z}, {"f": f, "df": df, "d2f": d2f}, scale)
    low, middle, high = torch.stack([x, y, z]).sort(0).values
    close = high - low < _CLOSE * scale
    left = divided_difference(low, middle, f, df, scale)
    right = divided_difference(middle, high, f, df, scale)
    result = (right - left) / torch.where(close, 1.0, high - low)
    tau, weights = _gauss_legendre(low)
    a, b, c = (point[close][:, None, None] for point in (low, middle, high))
    inner = b + tau * (c - b)
    # ∫₀¹ (1 − σ) ∫₀¹ f″(…) dτ dσ: the simplex as a square, σ the weight of the lowest point
    result[close] = d2f(inner + tau[:, None] * (a - inner)) @ weights @ (weights * (1 - tau))
    return result


def _broadcast(points: dict[str, Tensor], functions: dict[str, Callable], scale: float) -> tuple[Tensor, ...]:
    """The points of a divided difference in float64 and of one shape, once all of its arguments are checked."""
    for name, one in points.items():
        check_tensor(name, one, (...,))
    for name, one in functions.items():
        check_function(name, one)
    if check_positive("scale", scale) < 1e-300:
        raise ValueError(f"scale must be at least 1e-300, got {scale!r}")
    try:
        return torch.broadcast_tensors(*(one.double() for one in points.values()))
    except RuntimeError:
        shapes = ", ".join(str(tuple(one.shape)) for one in points.values())
        names = " and ".join(", ".join(points).rsplit(", ", 1))
        raise ValueError(f"{names} must broadcast, got shapes {shapes}") from None


def spectral_derivative(
    G: Float[Tensor, "m n"], E: Float[Tensor, "m n"], f: Callable, df: Callable, scale: float
) -> Float[Tensor, "m n"]:
    """Df(G)[E] = d/dt f(G + tE) at t = 0 for an odd f (Proposition 11, first order), in float64.

    On the symmetric dilation [[0, G], [Gᵀ, 0]], with eigenvalues ±s_k: the matrix of f[σ_K, σ_L] times that of E, entry
    by entry. Repeated and zero singular values are no exception, whatever basis the SVD returns for them.
    f, df, scale: as in `divided_difference`; f must be odd and f(G) itself is not needed. Cost O((2 max(m, n))³).
    Raises `ValueError` for a G or E that is not finite or of another shape.
    """
    sigma, basis, E = _dilated(G, E)
    F = divided_difference(sigma[:, None], sigma, f, df, scale)
    return _upper_right(basis @ (F * E) @ basis.T, G)


def spectral_second_derivative(
    G: Float[Tensor, "m n"], E: Float[Tensor, "m n"], f: Callable, df: Callable, d2f: Callable, scale: float
) -> Float[Tensor, "m n"]:
    """D²f(G)[E, E] = d²/dt² f(G + tE) at t = 0 for an odd f (Proposition 11, second order), in float64.

    The entry K, L on the dilation is 2 Σ_M f[σ_K, σ_M, σ_L] E_KM E_ML; two different directions by polarisation.
    Arguments as in `spectral_derivative`, and f″. Cost O((2 max(m, n))³) divided differences, in slices over M: for
    d up to about a hundred. The second derivative along u vᵀ, for h_λ at any d, is `signal_curve`.
    """
    sigma, basis, E = _dilated(G, E)
    D = torch.zeros_like(E)
    for value, row in zip(sigma, E, strict=True):
        D += second_divided_difference(sigma[:, None], value, sigma, f, df, d2f, scale) * torch.outer(row, row)
    result = _upper_right(basis @ (2 * D) @ basis.T, G)
    if not torch.isfinite(result).all():
        raise ValueError("E must keep the second derivative within float64")
    return result


def stein_slope(s: Float[Tensor, " d"], f: Callable, df: Callable, scale: float) -> float:
    """E uᵀ Df(G)[u vᵀ] v over independent u, v ~ N(0, I/d), for a d × d G with singular values s (Eq. (6)).

    (1/2d²) Σ_{k≠l} ((f_k + f_l)/(s_k + s_l) + f[s_k, s_l]) + (1/d²) Σ_k f′(s_k): d⁻² times the divergence of f.
    """
    check_tensor("s", s, ("d",))
    s = s.double()
    both = divided_difference(s[:, None], s, f, df, scale) + divided_difference(s[:, None], -s, f, df, scale)
    off_diagonal = both.sum() - both.diagonal().sum()
    return float(off_diagonal / 2 + df(s).sum()) / len(s) ** 2


def signal_slopes(
    G: Float[Tensor, "d d"], U: Float[Tensor, "n d"], V: Float[Tensor, "n d"], f: Callable, df: Callable, scale: float
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """uᵀ Df(G)[u vᵀ] v for n pairs (rows of U and V) and any odd f, and its bound under Assumption 7 (Section 4.3).

    The slope is the formula of Lemma 12, with a = Pᵀu and b = Qᵀv for G = P S Qᵀ:

        φ′(0) = ¼ Σ_{k,l} ((f_k + f_l)/(s_k + s_l) (a_k b_l − a_l b_k)² + f[s_k, s_l] (a_k b_l + a_l b_k)²).

    The bound is ‖b‖² Σ_k r_k a_k² + ‖a‖² Σ_k r_k b_k² with r_k = f(s_k)/s_k; it holds for every pair if f ≥ 0 and
    f(z)/z is nonincreasing, and its mean over independent pairs is (2/d) Σ_k r_k. f, df, scale: as in
    `divided_difference`.
    Returns two (n,) float64 tensors.
    """
    check_square("G", G)
    check_tensor("G", G, (len(G), len(G)))
    check_tensor("U", U, ("n", len(G)))
    check_tensor("V", V, (len(U), len(G)))
    P, s, Qh = torch.linalg.svd(G.double())
    if s[-1] == 0:
        raise ValueError("G must have no singular value 0, where f(s) / s is not defined, got one")
    A, B = U.double() @ P, V.double() @ Qh.T
    plus = divided_difference(s[:, None], -s, f, df, scale)
    minus = divided_difference(s[:, None], s, f, df, scale)
    AB = A * B
    slopes = ((A**2 @ (minus + plus)) * B**2 + (AB @ (minus - plus)) * AB).sum(1) / 2
    r = f(s) / s
    bounds = (B**2).sum(1) * (A**2 @ r) + (A**2).sum(1) * (B**2 @ r)
    if not (torch.isfinite(slopes) & torch.isfinite(bounds)).all():
        raise ValueError("U, V, f and df must keep the slopes and their bounds within float64")
    return slopes, bounds


def slope_maps(t0: float) -> dict[str, tuple]:
    """Maps under Assumption 7 with their derivatives and a length on which they are smooth; t₀ is the unit of z.

    bump: z exp(−z²/2), which is in the class though it is neither monotone nor close to a sign.
    """
    if not _SCALARS[0] <= check_positive("t0", t0) <= _SCALARS[1]:
        raise ValueError(f"t0 must lie in [1e-60, 1e60], got {t0!r}")
    bell = lambda z: torch.exp(-((z / t0) ** 2) / 2)  # noqa: E731
    return {
        # the sign jumps at 0: only points closer than any two singular values may share a derivative
        "polar": (torch.sign, torch.zeros_like, 1e-9 * t0),
        "smoothed_sign": (*smoothed_sign_scalars(t0)[:2], t0),
        "bump": (lambda z: z / t0 * bell(z), lambda z: (1 - (z / t0) ** 2) * bell(z) / t0, t0),
        "sgd": (lambda z: z, torch.ones_like, t0),
    }


def signal_curve(
    G: Float[Tensor, "d d"],
    U: Float[Tensor, "n d"],
    V: Float[Tensor, "n d"],
    t: Float[Tensor, "n T"],
    lam: float,
) -> tuple[Float[Tensor, "n T"], Float[Tensor, "n T"], Float[Tensor, "n T"]]:
    """φ(t) = uᵀ h_λ(G + t u vᵀ) v with φ′ and φ″, for n pairs (rows of U and V) and T values of t each (Eq. (5)).

    One SVD serves all of it: a rank-one step moves the resolvent by a 2 × 2 matrix, which leaves

        φ(t) = (2/π) ∫₀^∞ (c + tD) / (1 + 2tc + t²D) ds,   D = c² + μ² a b,   μ² = λ² + s²,

    a = uᵀ(GGᵀ + μ²)⁻¹u, b = vᵀ(GᵀG + μ²)⁻¹v, c = uᵀG(GᵀG + μ²)⁻¹v; φ′ and φ″ under the integral. The rule in log s is
    exact to about ten digits. λ = 0 is the polar map of a G without zero singular values. For the φ_i of an item that
    is in G with weight q_i, give t − q_i; an item far above λ then loses digits as t falls from q_i to 0.
    Returns three (n, T) float64 tensors. Raises `ValueError` for a λ < 0 or shapes that do not fit.
    """
    check_square("G", G)
    check_tensor("G", G, (len(G), len(G)))
    lam = check_non_negative("lam", lam)
    for name, X in (("U", U), ("V", V), ("t", t)):
        check_tensor(name, X, (...,))
    if U.shape != V.shape or U.ndim != 2 or U.shape[1] != len(G) or t.ndim != 2 or len(t) != len(U):
        raise ValueError(f"U, V and t must be (n, d), (n, d), (n, T), got {[tuple(x.shape) for x in (U, V, t)]}")
    P, sigma, Qh = torch.linalg.svd(G.double())
    floor, top = max(lam, float(sigma[-1])), float(sigma[0]) + lam
    if not (_CURVES[0] <= floor and top <= _CURVES[1]):
        allowed = "from 1e-140 to 1e140 and not both 0"
        raise ValueError(f"G and lam must lie {allowed}, got s_d = {float(sigma[-1])!r} and lam = {lam!r}")
    log_s = torch.arange(math.log(1e-11 * floor), math.log(1e11 * top), _LOG_STEP, dtype=torch.float64).to(G.device)
    s = log_s.exp()
    weights = 2 / math.pi * _LOG_STEP * s
    kernel = 1 / (sigma[:, None] ** 2 + s**2 + lam**2)
    A, B = U.double() @ P, V.double() @ Qh.T
    c = (A * B * sigma) @ kernel
    D = c**2 + (lam**2 + s**2) * (A**2 @ kernel) * (B**2 @ kernel)
    curves = []
    for step in t.double().T:
        step = step[:, None]
        denominator = 1 + step * (2 * c + step * D)
        value = (c + step * D) / denominator
        slope = D / denominator - 2 * value**2
        curves.append(torch.stack([value, slope, -2 * value * (D / denominator + 2 * slope)]) @ weights)
    result = torch.stack(curves, -1)
    if not torch.isfinite(result).all():
        raise ValueError("U, V and t must keep the curve within float64")
    return tuple(result)


def _dilated(G: Tensor, E: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Eigenvalues ±s_k and eigenvectors of [[0, G], [Gᵀ, 0]], G padded with zeros to a square, and E's dilation there.

    Built from the SVD and not by an eigensolver, so that the eigenvalues come in exact pairs and keep G's accuracy.
    """
    check_square("G", G)
    check_square("E", E)
    if E.shape != G.shape:
        raise ValueError(f"E must have the shape of G, {tuple(G.shape)}, got {tuple(E.shape)}")
    G, E = (
        torch.nn.functional.pad(X.double(), (0, max(X.shape) - X.shape[1], 0, max(X.shape) - X.shape[0]))
        for X in (G, E)
    )
    P, s, Qh = torch.linalg.svd(G)
    basis = torch.cat([torch.cat([P, P], 1), torch.cat([Qh.T, -Qh.T], 1)]) / math.sqrt(2)
    E = P.T @ E @ Qh.T
    return (
        torch.cat([s, -s]),
        basis,
        torch.cat([torch.cat([E + E.T, E.T - E], 1), torch.cat([E - E.T, -E - E.T], 1)]) / 2,
    )


def _upper_right(X: Tensor, G: Tensor) -> Tensor:
    half = len(X) // 2
    return X[: G.shape[0], half : half + G.shape[1]]


def _gauss_legendre(like: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes and weights on [0, 1], exact for polynomials of degree 23."""
    return tuple(torch.as_tensor(x, dtype=torch.float64, device=like.device) for x in _GAUSS_LEGENDRE)
