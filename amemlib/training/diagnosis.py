"""One's own matrices: how far a Newton–Schulz schedule reaches into the spectrum of a momentum, and what is noise.

For singular values s_1 ≥ … ≥ s_k of M (m, n), k = min(m, n), and a schedule with the composed polynomial f and the
slope Λ = f′(0), the product of its first coefficients:

    reach x = Λ median(s) / ‖M‖_F,   lift = (1/k) Σ_i f(s_i / ‖M‖_F)² = ‖O‖_F² / k
"""

import functools
import itertools
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import InitVar, asdict, dataclass

import numpy as np
import torch
from torch import Tensor

from amemlib.arithmetic import unit_scale
from amemlib.checks import check_count, check_positive
from amemlib.spectral import SCHEDULES, compose_quintics, newton_schulz_schedule
from amemlib.training.muon import part_rows, schedule_table

MOMENTA = ("momentum_buffer", "momentum", "exp_avg", "mu", "buf", "first_moment")
"""What optimizers call a momentum in their state."""
SECOND = {"exp_avg_sq", "variance", "max_exp_avg_sq"}
"""What Adam's kind keeps beside a momentum, in its shape."""

STEP_FLAT, _MUONS = 0.3, 0.5
"""Momentum SGD's steps are less flat than the first, those of a schedule on a full momentum flatter than the second."""
_SHORT, _LONG = 0.5, 2.0
NOT_ORTHOGONAL = "this step is not orthogonal"
STEP_NOT_FINITE = "this step is not finite"
SHORT_STEP = "this step is shorter than momentum and rate say: clipped, another rate, or not orthogonalized"
_LONG_STEP = "this step is longer than momentum and rate say: another rate, or a schedule that rounding makes diverge"
STEP_LOST = "this step is lost in the rounding of the weights"
STEP_DO = {
    NOT_ORTHOGONAL: "look whether Newton–Schulz is called, and on whole matrices; torch.optim.Muon and am.Muon do so",
    STEP_NOT_FINITE: "go back to the last checkpoint without, and stop at a gradient that is not finite",
    SHORT_STEP: "clip gradients alone, and print the rate of every group in a step",
    _LONG_STEP: "print the rate of every group in a step, and see whether the step is made in a format too short",
    STEP_LOST: "give the optimizer float32 weights, and cast them for the forward pass",
}

STEP_RULE = f"A step of Muon's has a flatness of {STEP_FLAT:g} or more, or of a third of the lift where that is less"
"""What `step_fault` asks of a step of the right size."""

NOT_HIDDEN = re.compile(r"embed|(^|[._])(wte|wpe|emb|pos_emb|tok_emb|lm_head|head)([._]|$)")
NOT_HIDDEN_DO = "give AdamW embeddings and the head, which Muon steps like any matrix (rule 1 of the cheat sheet)"
"""Names of what is no hidden matrix, and what is said of it."""
FUSED = re.compile(r"qkv|c_attn|in_proj|Wqkv|query_key_value")
FUSED_DO = "am.Muon cuts what is fused, torch.optim.Muon cannot: rule 7 of the cheat sheet"
"""Names of what holds query, key and value, and what is said of it."""
MOVING_MOMENTUM = "the scheduler moves the momentum β too: OneCycleLR wants cycle_momentum=False (rule 11)"

EARLY = 100
"""Before this step a reach says little: it is the earliest at which one was compared with a loss (records of knee)."""
LATE = 400
"""And the last. Reaches grow, so that a later one may be high where these were low."""
LOW = 0.9
"""Of the middle reach: below, more steps helped (chapter "If you train with Muon")."""
LEAST_SLOPE = 100.0
"""Of a schedule that orthogonalizes at all: the least that is in use has 104, three of Jordan's steps have 41."""

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
        That a single direction is missing from a square matrix cannot be told in bfloat16 or float16: in bfloat16 the
        least singular value of one in ten noise matrices of 64 rows is as small as rounding, one in five of 200.
    stable_rank: ‖M‖_F² / s_1². reach: by schedule x, its median over the `rank` first directions, for the polar factor
        drops the others.
    lifted: by schedule the share of the min(m, n) directions with s > ‖M‖_F / Λ. lift: by schedule ‖O‖_F² / min(m, n).
    noise: the median over that of white noise with the same shape and ‖M‖_F (Marchenko and Pastur).
    signal: the share of ‖(A + B)/2‖_F² that the A and B of two half batches have in common, 2r / (1 + r) with
        r = ⟨A, B⟩ / ‖A‖_F ‖B‖_F.
    broken: why no step of use can be made of the matrix, "not finite" or its "‖M‖/ε = …", or nothing; no field.
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
    broken: InitVar[str] = ""

    def __post_init__(self, broken: str) -> None:
        object.__setattr__(self, "broken", broken)


class Diagnoses(tuple):
    """A `Diagnosis` for every matrix; it prints as a table, `as_dicts` has the fields alone."""

    def as_dicts(self) -> list[dict]:
        """A dict for every matrix, its values as JSON has them."""
        return [asdict(one) | {"shape": list(one.shape)} for one in self]

    def table(self, reach: float | None = None, width: int = 80) -> str:
        """The table in `width` columns, 60 or more; with a `reach`, also the shortest schedule that has it."""
        names = list(dict.fromkeys(name for one in self for name in one.reach))
        count = max((len(one.reach) for one in self), default=1)
        several = [name for name in names if count > 1]
        signal = any(one.signal is not None for one in self)
        heads = [f"{name}: reach" for name in several] or ["reach"]
        heads += ["lifted", "lift"] * (not several) + ["least"] * (reach is not None)
        rows = [["matrix", *heads, "rank", "noise", *["signal"] * signal, "shape"]]
        for one in self:
            values = [one.reach.get(name) for name in several] or list(one.reach.values())
            numbers = [(value, ".3g") for value in values]
            if not several:
                numbers += [(*one.lifted.values(), ".2f"), (*one.lift.values(), ".2f")]
            if reach is not None:
                cheap = one.rank and least_schedule(one.noise * noise_median(one.rank, max(one.shape)), reach)
                numbers.append(("{}, {}".format(*cheap) if cheap else None, ""))
            numbers += [(one.rank, "d"), (one.noise, ".2f"), *[(one.signal, ".2f")] * signal]
            cells = ["–" if number is None else format(number, form) for number, form in numbers]
            rows.append([printable(one.name), *cells, "×".join(map(str, one.shape))])
        lines = []
        for line, note in zip(aligned(rows, width), ["", *(one.note for one in self)], strict=True):
            if len(line) + 2 + len(note) <= width:
                lines.append(f"{line}  {note}".rstrip())
            else:
                lines += [line, *textwrap.wrap(note, width, initial_indent="    ", subsequent_indent="    ")]
        return "\n".join(lines)

    __str__ = __repr__ = table


def diagnose(
    matrix: Tensor | Mapping[str, Tensor],
    schedules: Iterable[str] | Mapping[str, Iterable] = ("jordan",),
    other: Tensor | Mapping[str, Tensor] | None = None,
    *,
    split: int | Iterable[int] | Mapping | None = None,
    heads: int | Mapping | None = None,
    eps: float = 1e-7,
) -> Diagnosis | Diagnoses:
    """Reach, lifted share, lift, rank, noise and signal of one's own matrix, or of each in a mapping of names.

    matrix: what the optimizer orthogonalises, (m, n) of any floating-point format, on any device: a momentum, or a
        gradient. A stack (…, m, n) is taken matrix by matrix, a convolution's (out, in, …) flattened behind `out`:
        four dimensions or more, or three with a kernel below 16, or whose matrices would be vectors. A DTensor is
        gathered.
    schedules: names of `spectral.SCHEDULES` or `spectral.NEWTON_SCHULZ_COEFFICIENTS`, or a mapping of names to tables.
    other: the same from another half batch, for `signal`; its error stands in the note, for noise whose rows and
        columns are as correlated as A's and B's are. Share of both halves together, as if the batch were whole.
    split, heads: parts of the rows as in `Muon`, or a mapping of a piece of a name to them: {"qkv": 3}.
    eps: the ε of a step, which divides M by max(‖M‖_F, ε): the lift is that step's, and a note says where ‖M‖_F < ε.
    Returns a `Diagnosis`, or `Diagnoses`, a tuple of them, for a mapping, a stack or parts. Up to min(m, n) = 512 by
    an SVD, beyond by the Gram matrix's eigenvalues in float64, which resolve s / s_1 down to 10⁻⁷. NaN, zero matrices
    and low rank are noted. It says nothing of what is learnt in a direction. Raises for what is no matrix, an unknown
    schedule, rows that do not fit, or an `other` of another shape.
    """
    schedules = [schedules] if isinstance(schedules, str) else schedules
    tables = {n: schedules[n] if isinstance(schedules, Mapping) else n for n in schedules}
    tables = {n: schedule_table("schedules", table) for n, table in tables.items()}
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
            halves = matrices(name, Y, *cut)
        for (called, M, note), (_, half, _) in zip(matrices(name, X, *cut), halves, strict=False):
            found.append(_diagnosis(called, M, tables, half, note, eps))
    return found[0] if len(found) == 1 and not isinstance(matrix, Mapping) else Diagnoses(found)


def momentum_of(state: Mapping) -> Tensor | None:
    """The momentum in an optimizer's state of one parameter: the first of `MOMENTA` that is a tensor."""
    return next((state[key] for key in MOMENTA if isinstance(state.get(key), Tensor)), None)


def step_fault(size: float, flatness: float, scale: float, lift: float | None, rounding: float) -> str:
    """What is wrong with a step of this size and flatness, as `step_shape` has them; "" if nothing is.

    scale: c of its rate, NaN if unknown: then only the flatness counts. lift: that of its momentum, None if unknown.
    rounding: the size of what the weights' format rounds away; below four times that a step is lost in it.
    """
    if not math.isfinite(size):
        return STEP_NOT_FINITE
    meant = math.nan if lift is None else scale * math.sqrt(lift)
    flat = STEP_FLAT if lift is None or size < _SHORT * meant else min(STEP_FLAT, lift / 3)
    if flatness < (_MUONS if size < 0.1 * meant else flat):
        fault = NOT_ORTHOGONAL
    elif size < _SHORT * meant:
        fault = SHORT_STEP
    else:
        fault = _LONG_STEP if meant and size > _LONG * meant else ""
    return STEP_LOST if fault and (size if math.isnan(meant) else meant) < 4 * rounding else fault


def rounding_size(W: Tensor, dtype: torch.dtype, lr: float) -> Tensor:
    """‖E‖_F / (η √k) of the error E that weights W (m, n), k = min(m, n), have by being rounded to a format."""
    return _ROUNDING * torch.finfo(dtype).eps * torch.linalg.vector_norm(W) / (lr * math.sqrt(min(W.shape)))


def step_shape(D: Tensor, lr: float, steps: int = 8) -> tuple[Tensor, Tensor]:
    """‖D‖_F / (η √k) and the flatness ‖D‖_F² / (k ‖D‖₂²) of a step D (m, n), k = min(m, n), by power iteration.

    ‖D‖₂ is a little too small, and the flatness too large, after few iterations; it is NaN where D is zero.
    """
    norm, k = torch.linalg.vector_norm(D), min(D.shape)
    X, v = D / norm, torch.randn(D.shape[1], generator=torch.Generator().manual_seed(0)).to(D)
    for i in range(1, steps + 1):
        v = X.mT @ (X @ v)
        # four shrink it to 10⁻¹⁵ at least in any matrix of 5,000 rows
        v = v / torch.linalg.vector_norm(v) if not i % 4 or i == steps else v
    return norm / (lr * math.sqrt(k)), 1 / (k * (X @ v).square().sum())


def schedule_of(group: Mapping) -> tuple[str, tuple, str]:
    """Name and table of the schedule that an optimizer's group says, ours or torch's; and where they are from.

    The names are those of `spectral.SCHEDULES`, or "jordan × 8" for torch's `ns_steps=8`.
    """
    if group.get("schedule") is not None and not callable(group["schedule"]):
        return *named_schedule(group["schedule"]), "from the file"
    rows = next((group[key] for key in ("ns_coefficients", "ns_coeffs") if group.get(key) is not None), None)
    steps = next((group[key] for key in ("ns_steps", "num_ns_steps") if group.get(key) is not None), None)
    if "schedule" in group or isinstance(rows, str):
        return *named_schedule("jordan"), "assumed, for the file does not say its own"
    if rows is None and steps is None:
        return *named_schedule("jordan"), "assumed"
    rows = SCHEDULES["jordan"][0] if rows is None else rows
    one = not any(np.ndim(row) for row in rows)
    return *named_schedule(schedule_table("ns_coefficients", rows, steps if one else None)), "from the file"


def named_schedule(schedule: str | Iterable, called: str = "schedule") -> tuple[str, tuple]:
    """A name and the table of a schedule: of a name, of "jordan × 6", or of a table, which is looked up.

    called: what an error calls it.
    """
    repeated = re.fullmatch(r"(\w+?)\s*[×x*]\s*(\d{1,2})", schedule) if isinstance(schedule, str) else None
    if repeated:
        return named_schedule(schedule_table(called, repeated[1])[:1] * int(repeated[2]), called)
    table = schedule_table(called, schedule)
    if isinstance(schedule, str):
        return schedule, table
    known = {SCHEDULES["jordan"][:1] * n: f"jordan × {n}" for n in range(1, 21)} | {t: n for n, t in SCHEDULES.items()}
    known[SCHEDULES["jordan"]] = "jordan"
    # optax keeps its table in float32
    alike = lambda other: len(other) == len(table) and np.allclose(other, table, rtol=1e-6, atol=0)
    own = f"table of {len(table)}, slope {slope(table):.3g}", table
    return next(((name, other) for other, name in known.items() if alike(other)), own)


def printable(text: str) -> str:
    """A text as a terminal may have it: controls, escapes, marks of direction and lone surrogates are shown."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shortened(text: str, width: int) -> str:
    """A text in so many columns, its middle left out."""
    last = width - 1 - (width - 1) // 3
    return text if len(text) <= width else text[: (width - 1) // 3] + "…" + text[len(text) - last :]


def aligned(rows: list[list[str]], width: int) -> list[str]:
    """A table's lines, in so many columns if the first cells can be shortened to that."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths[0] = max(min(widths[0], width - sum(widths[1:]) - 2 * len(widths[1:])), 12)
    first = [shortened(row[0], widths[0]).ljust(widths[0]) for row in rows]
    rest = [[cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True)] for row in rows]
    return ["  ".join([name, *cells]).rstrip() for name, cells in zip(first, rest, strict=True)]


def slope(schedule: str | Iterable) -> float:
    """Λ, the slope of the composed polynomial at 0: the product of the first coefficients."""
    return math.prod(a for a, _, _ in newton_schulz_schedule(schedule))


def least_schedule(median: float, reach: float) -> tuple[str, int] | None:
    """The schedule with the fewest matrix products whose reach is `reach` or more, by name, and its products.

    median: the median singular value over ‖M‖_F. Asked are Jordan's quintic repeated 1 … 10 times ("jordan × n",
    torch's `ns_steps`) and `spectral.SCHEDULES`; of equal cost the one with the larger slope. A step costs three
    products, two where c = 0. In exact arithmetic: bfloat16 does not resolve what the longest promise. "cans" is not
    asked, for in bfloat16 it may diverge.
    """
    check_positive("median", median), check_positive("reach", reach)
    tables = {f"jordan × {n}": SCHEDULES["jordan"][:1] * n for n in range(1, 11)} | SCHEDULES
    del tables["cans"]
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


def matrices(name: str, X: Tensor, split, heads) -> Iterator[tuple[str, Tensor, str]]:
    """The matrices in a tensor: their names, themselves, and what was done to get them."""
    kernel = X.ndim > 3 or X.ndim == 3 and (X.shape[2] < _KERNEL or X.shape[1] == 1)
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


def _diagnosis(name: str, M: Tensor, tables: dict[str, tuple], half: Tensor | None, note: str, eps: float) -> Diagnosis:
    notes, shape = [note] * bool(note), tuple(M.shape)
    wrong = M.numel() - sum(int(torch.isfinite(rows.double()).sum()) for rows in M.split(_ROWS))
    if not M.numel() or wrong or not any(rows.double().any() for rows in M.split(_ROWS)):
        notes.append(f"{wrong} of {M.numel()} entries not finite" if wrong else "zero" if M.numel() else "no entries")
        rank, nothing = 0 if notes[-1] == "zero" else None, dict.fromkeys(tables)
        broken = "not finite" if wrong else ""
        return Diagnosis(name, shape, rank, None, nothing, nothing, nothing, None, None, "; ".join(notes), broken)
    s, size = _relative_singular_values(M)
    level = torch.finfo(M.dtype).eps
    rank = _rank(s, shape, level)
    median = float(np.median(s[:rank]))
    noise = median / noise_median(rank, max(shape))
    edge = (math.sqrt(shape[0]) + math.sqrt(shape[1])) / math.sqrt(M.numel())
    if size < eps:
        notes.append(f"‖M‖ = {size:.1e} is below ε = {eps:g}, which a step divides it by")
    if rank < len(s):
        notes.append(f"rank {rank} of {len(s)}: reach of these {rank}")
    elif 2 * (coarse := _rank(s, shape, torch.finfo(torch.bfloat16).eps)) < len(s):
        notes.append(f"a gap after {coarse} of {len(s)} at bfloat16's rounding: noise, if gradients were made in it")
    if median < _ROUNDING * level * edge:
        notes.append(f"the median is rounding of {str(M.dtype)[6:]}")
    if len(s) > 8 and 0.9 < noise < 1.1 and s[0] < 1.1 * edge:
        notes.append("as white noise")
    signal = None
    if half is not None:
        signal, error = _signal(M.double(), half.double())
        notes.append("the other half is zero or not finite" if signal is None else f"signal ± {error:.2g}")
    reach, lifted, lift = {}, {}, {}
    for schedule, table in tables.items():
        Lambda = slope(table)
        square = compose_quintics(torch.from_numpy(s * min(1, size / eps if eps else 1)), table).numpy() ** 2
        reach[schedule], lift[schedule] = Lambda * median, float(square.mean())
        lifted[schedule] = float((s * Lambda > 1).mean())
    broken = f"‖M‖/ε = {size / eps:.1g}" if size < eps else ""
    return Diagnosis(name, shape, rank, float(s[0] ** -2), reach, lifted, lift, noise, signal, "; ".join(notes), broken)


def _relative_singular_values(M: Tensor) -> tuple[np.ndarray, float]:
    """s / ‖M‖_F, decreasing, and ‖M‖_F; beyond `_LARGEST_SVD` in pieces, so that no copy in float64 is made."""
    scale = min(unit_scale(rows.double()) for rows in M.split(_ROWS))
    M = M.mT if M.shape[0] < M.shape[1] else M
    size = math.hypot(*(float(torch.linalg.vector_norm(rows.double() * scale)) for rows in M.split(_ROWS)))
    if M.shape[1] <= _LARGEST_SVD:
        s = torch.linalg.svdvals(M.double() * scale / size).cpu().numpy()
        return s, size / float(scale)
    gram = torch.zeros(M.shape[1], M.shape[1], dtype=torch.float64, device=M.device)
    for rows in M.split(_ROWS // 8):
        rows = rows.double() * scale / size
        gram.addmm_(rows.mT, rows)
    s = torch.linalg.eigvalsh(gram).flip(0).clamp(min=0).sqrt().cpu().numpy()
    return s, size / float(scale)


def _rank(s: np.ndarray, shape: tuple[int, int], eps: float) -> int:
    """How many s / ‖M‖_F stand above the first gap of `_GAP` that ends below what rounding puts in the rest."""
    ranks = np.arange(1, len(s))
    # one less, but in float32 and float64: the least value of a full bfloat16 square is often as small as rounding
    left = sum(np.sqrt(np.maximum(side - ranks - (eps > 1e-5), 0)) for side in shape)
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
