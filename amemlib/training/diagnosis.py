"""One's own matrices: how far a Newton–Schulz schedule reaches into the spectrum of a momentum, and what is noise.

For singular values s_1 ≥ … ≥ s_k of M (m, n), k = min(m, n), and a schedule with the composed polynomial f and the
slope Λ = f′(0), the product of its first coefficients:

    reach x = Λ median(s) / ‖M‖_F,   lift = (1/k) Σ_i f(s_i / ‖M‖_F)² = ‖O‖_F² / k
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import InitVar, asdict, dataclass

import numpy as np
import torch
from torch import Tensor

from amemlib.arithmetic import unit_scale
from amemlib.checks import check_count, check_positive
from amemlib.spectral import SCHEDULES, compose_quintics, newton_schulz_schedule
from amemlib.training.muon import part_rows

MOMENTA = ("momentum_buffer", "momentum", "exp_avg", "mu", "buf", "first_moment")
"""What optimizers call a momentum in their state."""

_LARGEST_SVD = 512
_ROWS = 8192
_GAP = 10.0
_KERNEL = 16
_ROUNDING = 0.2
"""Root mean square error of a number rounded to nearest, over the eps of its format; 0.196 for log-uniform numbers."""
_SLACK = (5, 100)
"""How far above the rounding of what is stored its noise may lie, in short formats and in float32 and float64: momenta
add it up, and sums of thousands of terms in float32 have far more than the last one's."""
_GRAM_FLOOR = 4 * torch.finfo(torch.float64).eps ** 0.5


@dataclass(frozen=True)
class Diagnosis:
    """What `diagnose` finds of one matrix; None where a number has no meaning, as in a zero matrix.

    rank: directions above a gap of 10 that ends at the rounding of the matrix's own format; all where there is none.
    stable_rank: ‖M‖_F² / s_1². reach: by schedule x, its median over the `rank` first directions, for the polar factor
        drops the others.
    lifted: by schedule the share of the min(m, n) directions with s > ‖M‖_F / Λ. lift: by schedule ‖O‖_F² / min(m, n).
    noise: the median over that of white noise with the same shape and ‖M‖_F (Marchenko and Pastur).
    signal: the share of ‖(A + B)/2‖_F² that the A and B of two half batches have in common, 2r / (1 + r) with
        r = ⟨A, B⟩ / ‖A‖_F ‖B‖_F.
    plateau: by schedule the mean of f² over the directions that are lifted; an attribute, no field.
    """

    name: str
    shape: tuple[int, ...]
    rank: int | None
    stable_rank: float | None
    reach: dict[str, float | None]
    lifted: dict[str, float | None]
    lift: dict[str, float | None]
    noise: float | None
    signal: float | None
    note: str
    plateau: InitVar[dict[str, float | None] | None] = None

    def __post_init__(self, plateau: dict | None) -> None:
        object.__setattr__(self, "plateau", plateau or dict.fromkeys(self.lift))


class Diagnoses(tuple):
    """A `Diagnosis` for every matrix; it prints as a table, `as_dicts` has the fields alone."""

    def as_dicts(self) -> list[dict]:
        """A dict for every matrix, its values as JSON has them."""
        return [asdict(one) | {"shape": list(one.shape)} for one in self]

    def table(self, reach: float | None = None) -> str:
        """The table; with a `reach`, also the shortest schedule that has it and its matrix products."""
        schedules, least = list(self[0].lift) if self else [], ["least"] * (reach is not None)
        heads = [head for name in schedules for head in (f"{name}: reach", "lifted", "lift", "of plateau")]
        rows = [["matrix", *heads, *least, "rank", "stable", "noise", "signal", "shape", "note"]]
        for one in self:
            numbers = []
            for name in schedules:
                share = one.plateau[name] and one.lift[name] / one.plateau[name]
                numbers += [(one.reach[name], ".3g")] + [(x, ".2f") for x in (one.lifted[name], one.lift[name], share)]
            if reach is not None:
                cheap = one.rank and least_schedule(one.noise * noise_median(one.rank, max(one.shape)), reach)
                numbers.append(("{}, {}".format(*cheap) if cheap else None, ""))
            numbers += [(one.rank, "d"), (one.stable_rank, ".3g"), (one.noise, ".2f"), (one.signal, ".2f")]
            cells = ["–" if number is None else format(number, form) for number, form in numbers]
            rows.append([one.name, *cells, " × ".join(map(str, one.shape)), one.note])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        adjust = [str.ljust] + [str.rjust] * (len(widths) - 3) + [str.ljust] * 2
        line = lambda row: "  ".join(f(cell, w) for f, cell, w in zip(adjust, row, widths, strict=True)).rstrip()
        return "\n".join(map(line, rows))

    __str__ = __repr__ = table


def diagnose(
    matrix: Tensor | Mapping[str, Tensor],
    schedules: Iterable[str] | Mapping[str, Iterable] = ("jordan",),
    other: Tensor | Mapping[str, Tensor] | None = None,
    *,
    split: int | Iterable[int] | Mapping | None = None,
    heads: int | Mapping | None = None,
    progress: Callable[[str], None] | None = None,
) -> Diagnosis | Diagnoses:
    """Reach, lifted share, lift, rank, noise and signal of one's own matrix, or of each in a mapping of names.

    matrix: what the optimizer orthogonalises, (m, n) of any floating-point format, on any device: a momentum, or a
        gradient. A stack (…, m, n) is taken matrix by matrix, a convolution's (out, in, …) flattened behind `out`:
        four dimensions or more, or three with a kernel below 16. A DTensor is gathered.
    schedules: names of `spectral.SCHEDULES` or `spectral.NEWTON_SCHULZ_COEFFICIENTS`, or a mapping of names to tables.
    other: the same from another half batch, for `signal`; its error stands in the note, for noise whose rows and
        columns are as correlated as A's and B's are. Share of both halves together, as if the batch were whole.
    split, heads: parts of the rows as in `Muon`, or a mapping of a piece of a name to them: {"qkv": 3}.
    progress: called with a line before each matrix that takes more than a blink.
    Returns a `Diagnosis`, or `Diagnoses`, a tuple of them, for a mapping, a stack or parts. Up to min(m, n) = 512 by
    an SVD, beyond by the Gram matrix's eigenvalues in float64, which resolve s / s_1 down to 10⁻⁷. NaN, zero matrices
    and low rank are noted. It says nothing of what is learnt in a direction. Raises for what is no matrix, an unknown
    schedule, rows that do not fit, or an `other` of another shape.
    """
    schedules = [schedules] if isinstance(schedules, str) else schedules
    tables = {n: newton_schulz_schedule(schedules[n] if isinstance(schedules, Mapping) else n) for n in schedules}
    if not tables:
        raise ValueError("schedules must hold at least one schedule, got none")
    named = dict(matrix) if isinstance(matrix, Mapping) else {"matrix": matrix}
    others = other if isinstance(other, Mapping) or other is None else {"matrix": other}
    found = []
    for name, X in named.items():
        X, halves = _whole(name, X), itertools.repeat((None, None, None))
        cut = [_of_name(name, part) for part in (split, heads)]
        if others is not None:
            Y = _whole(f"other[{name!r}]", others.get(name, "no such name"))
            if Y.shape != X.shape:
                raise ValueError(f"other[{name!r}] must have shape {tuple(X.shape)}, got {tuple(Y.shape)}")
            halves = _matrices(name, Y, *cut)
        for (called, M, note), (_, half, _) in zip(_matrices(name, X, *cut), halves, strict=False):
            if progress is not None and min(M.shape) > _LARGEST_SVD:
                progress(f"{called} {' × '.join(map(str, M.shape))}")
            found.append(_diagnosis(called, M, tables, half, note))
    return found[0] if len(found) == 1 and not isinstance(matrix, Mapping) else Diagnoses(found)


def momentum_of(state: Mapping) -> Tensor | None:
    """The momentum in an optimizer's state of one parameter: the first of `MOMENTA` that is a tensor."""
    return next((state[key] for key in MOMENTA if isinstance(state.get(key), Tensor)), None)


def slope(schedule: str | Iterable) -> float:
    """Λ, the slope of the composed polynomial at 0: the product of the first coefficients."""
    return math.prod(a for a, _, _ in newton_schulz_schedule(schedule))


def least_schedule(median: float, reach: float) -> tuple[str, int] | None:
    """The schedule with the fewest matrix products whose reach is `reach` or more, by name, and its products.

    median: the median singular value over ‖M‖_F. Asked are Jordan's quintic repeated 1 … 10 times ("jordan × n",
    torch's `ns_steps`) and `spectral.SCHEDULES`; of equal cost the one with the larger slope. A step costs three
    products, two where c = 0. In exact arithmetic: bfloat16 does not resolve what the longest promise.
    """
    check_positive("median", median), check_positive("reach", reach)
    tables = {f"jordan × {n}": SCHEDULES["jordan"][:1] * n for n in range(1, 11)} | SCHEDULES
    fit = [(sum(3 if c else 2 for _, _, c in t), -slope(t), n) for n, t in tables.items() if slope(t) * median >= reach]
    return (min(fit)[2], min(fit)[0]) if fit else None


@functools.cache
def noise_median(m: int, n: int) -> float:
    """Median singular value over ‖M‖_F of white noise (m, n): Marchenko and Pastur's law at the ratio y of the sides.

    Its density is ∝ √((b − λ)(λ − a)) / λ between a, b = (1 ∓ √y)², λ = s² / max(m, n) for entries of variance 1.
    """
    small, large = sorted((check_count("m", m), check_count("n", n)))
    root = math.sqrt(small / large)
    # λ = 1 + y − 2 √y cos θ: the density times dλ is smooth in θ
    theta = (np.arange(20_000) + 0.5) * math.pi / 20_000
    values = 1 + root**2 - 2 * root * np.cos(theta)
    share = np.cumsum(np.sin(theta) ** 2 / values)
    return math.sqrt(np.interp(share[-1] / 2, share, values) / small)


def _of_name(name: str, part):
    """What a mapping from pieces of names says of one name."""
    return next((to for piece, to in part.items() if piece in name), None) if isinstance(part, Mapping) else part


def _whole(name: str, X) -> Tensor:
    X = X.full_tensor() if hasattr(X, "full_tensor") else X
    if not isinstance(X, Tensor) or not X.is_floating_point():
        got = str(X.dtype)[6:] if isinstance(X, Tensor) else X if isinstance(X, str) else type(X).__name__
        raise TypeError(f"{name} must be a floating-point tensor, got {got}")
    if X.ndim < 2:
        raise ValueError(f"{name} must have two dimensions or more, got shape {tuple(X.shape)}")
    return X.detach().to_dense() if X.layout != torch.strided else X.detach()


def _matrices(name: str, X: Tensor, split, heads) -> Iterator[tuple[str, Tensor, str]]:
    """The matrices in a tensor: their names, themselves, and what was done to get them."""
    kernel = X.ndim > 3 or X.ndim == 3 and X.shape[2] < _KERNEL
    note = f"convolution {' × '.join(map(str, X.shape))}, flattened" if kernel else ""
    X = X.flatten(1) if kernel else X
    for at in np.ndindex(*X.shape[:-2]):
        try:
            rows = part_rows(X.shape[-2], split, heads)
        except ValueError as error:
            raise ValueError(f"{name} {tuple(X.shape)}: {error}") from None
        for i, part in enumerate(X[at].split(rows)):
            index = [*at, i] if len(rows) > 1 else at
            yield name + (f"[{', '.join(map(str, index))}]" if len(index) else ""), part, note


def _diagnosis(name: str, M: Tensor, tables: dict[str, tuple], half: Tensor | None, note: str) -> Diagnosis:
    X, notes, shape = M.double(), [note] * bool(note), tuple(M.shape)
    wrong = X.numel() - int(torch.isfinite(X).sum())
    if not X.numel() or wrong or not X.any():
        notes.append(f"{wrong} of {X.numel()} entries not finite" if wrong else "zero" if X.numel() else "no entries")
        rank, nothing = 0 if notes[-1] == "zero" else None, dict.fromkeys(tables)
        return Diagnosis(name, shape, rank, None, nothing, nothing, nothing, None, None, "; ".join(notes))
    s = _relative_singular_values(X)
    level = torch.finfo(M.dtype).eps
    rank = _rank(s, X.shape, level)
    median = float(np.median(s[:rank]))
    noise = median / noise_median(rank, max(X.shape))
    edge = (math.sqrt(X.shape[0]) + math.sqrt(X.shape[1])) / math.sqrt(X.numel())
    if rank < len(s):
        notes.append(f"rank {rank} of {len(s)}: reach of these {rank}")
    elif 2 * (coarse := _rank(s, X.shape, torch.finfo(torch.bfloat16).eps)) < len(s):
        notes.append(f"a gap after {coarse} of {len(s)} at bfloat16's rounding: noise, if gradients were made in it")
    if median < _ROUNDING * level * edge:
        notes.append(f"the median is rounding of {str(M.dtype)[6:]}")
    if len(s) > 8 and 0.9 < noise < 1.1 and s[0] < 1.1 * edge:
        notes.append("as white noise")
    signal = None
    if half is not None:
        signal, error = _signal(X, half.double())
        notes.append("the other half is zero or not finite" if signal is None else f"signal ± {error:.2g}")
    reach, lifted, lift, plateau = ({}, {}, {}, {})
    for schedule, table in tables.items():
        Lambda = slope(table)
        square, beyond = compose_quintics(torch.from_numpy(s), table).numpy() ** 2, s * Lambda > 1
        reach[schedule], lifted[schedule], lift[schedule] = Lambda * median, float(beyond.mean()), float(square.mean())
        plateau[schedule] = float(square[beyond].mean()) if beyond.any() else None
    stable = float(s[0] ** -2)
    return Diagnosis(name, shape, rank, stable, reach, lifted, lift, noise, signal, "; ".join(notes), plateau)


def _relative_singular_values(X: Tensor) -> np.ndarray:
    """s / ‖X‖_F, decreasing."""
    X = X * unit_scale(X)
    X = X / torch.linalg.vector_norm(X)
    X = X.mT if X.shape[0] < X.shape[1] else X
    if X.shape[1] <= _LARGEST_SVD:
        return torch.linalg.svdvals(X).cpu().numpy()
    gram = X.new_zeros(X.shape[1], X.shape[1])
    for rows in X.split(_ROWS):
        gram.addmm_(rows.mT, rows)
    return torch.linalg.eigvalsh(gram).flip(0).clamp(min=0).sqrt().cpu().numpy()


def _rank(s: np.ndarray, shape: tuple[int, int], eps: float) -> int:
    """How many s / ‖M‖_F stand above the first gap of `_GAP` that ends below what rounding puts in the rest."""
    ranks = np.arange(1, len(s))
    left = sum(np.sqrt(np.maximum(side - ranks - 1, 0)) for side in shape)
    floor = s[0] * (_GRAM_FLOOR if len(s) > _LARGEST_SVD else _GRAM_FLOOR**2)
    level = _SLACK[eps < 1e-5] * _ROUNDING * eps * left / math.sqrt(math.prod(shape)) + floor
    gaps = np.flatnonzero((s[1:] <= level) & (s[:-1] >= _GAP * s[1:]))
    return int(gaps[0]) + 1 if len(gaps) else len(s)


def _signal(A: Tensor, B: Tensor) -> tuple[float | None, float | None]:
    """2r / (1 + r) of two halves, and its standard error, from that of a correlation, (1 − r²) √v.

    For noise with covariances R of its rows and C of its columns v = tr R² tr C² / (tr R tr C)², r's variance where
    there is no signal, and E ‖AᵀB‖_F² = tr R² (tr C)².
    """
    A, B = (X * unit_scale(X) for X in (A, B.to(A.device)))
    A, B = (X / torch.linalg.vector_norm(X) for X in ((A, B) if A.shape[0] > A.shape[1] else (A.mT, B.mT)))
    r = (A * B).sum().item()
    if not math.isfinite(r):
        return None, None
    # ‖ABᵀ‖_F² without its matrix, which has the long side twice
    squares = torch.linalg.vector_norm(A.mT @ B) ** 2 * ((A.mT @ A) * (B.mT @ B)).sum()
    return 2 * r / (1 + abs(r)), 2 * (1 - abs(r)) / (1 + abs(r)) * math.sqrt(squares.item())
