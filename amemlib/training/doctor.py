"""`python -m amemlib doctor FILE`: what to do about the momenta in a checkpoint. Nothing of a file is executed."""

import argparse
import csv
import io
import json
import math
import os
import re
import shutil
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module

import numpy as np
import torch
from torch import Tensor

from amemlib.checks import check_positive
from amemlib.spectral import compose_quintics
from amemlib.training.checkpoints import Contents, Momentum, Weights, read_contents, read_weights
from amemlib.training.diagnosis import (
    EARLY,
    FUSED,
    FUSED_DO,
    LATE,
    LEAST_SLOPE,
    LOW,
    MOVING_MOMENTUM,
    NOT_HIDDEN,
    NOT_HIDDEN_DO,
    NOT_ORTHOGONAL,
    SHORT_STEP,
    STEP_DO,
    STEP_FLAT,
    STEP_LOST,
    STEP_NOT_FINITE,
    STEP_RULE,
    Diagnoses,
    Diagnosis,
    aligned,
    diagnose,
    least_schedule,
    matrices,
    named_schedule,
    printable,
    rounding_size,
    schedule_of,
    shortened,
    slope,
    step_fault,
    step_shape,
)
from amemlib.training.muon import EPS as _EPS
from amemlib.training.muon import rate_scale
from amemlib.training.unpickling import Stored

_AIM, _AMPLE = 3.0, 12.0
_MORE = ((LOW, 0), (0.26, 2), (0.08, 3))
"""From which reach on how many of Jordan's steps more bring it to 3, by the chapter "If you train with Muon"."""
_FINE = 3.4445**7
"""A slope beyond which bfloat16 loses a tenth of a memory's items or more (same chapter, d = 256, 512, 1024)."""
MEANING = """
reach    slope of the schedule at 0 × median singular value ÷ ‖M‖_F;
         five steps on white noise d × d have 392 ÷ √d
lifted   share of the directions with a singular value above ‖M‖_F ÷ slope:
         reach > 1 means more than half
lift     ‖O‖_F² ÷ min(m, n) of what a step makes of M, its ε included
rank     directions above a gap that ends at rounding; the others are dropped
noise    median singular value over that of white noise of this shape and norm
signal   share of ‖M‖_F² that two half batches have in common; needs --other
stable_rank, in --json and --csv: ‖M‖_F² ÷ largest value²
What a low reach loses, from one language model of width 64 (records of knee;
chapter "If you train with Muon"), of what orthogonalizing gains: at a reach of
3 nothing was seen, at 0.9 an eighth, at 0.26 half, at 0.08 nine tenths. Below
0.9 two steps more, or from 0.26 down three, bring it to 3; between 0.9 and 3
one more helped in one of three trials. These are the medians of all matrices
of a run, in steps 100 and 400; of one matrix nobody measured it. At equal
slope the loss was alike in both while the reach had doubled: it is a proxy, at
that time. Earlier it is low, in the book's memory 0.3 at step 10 and 12 at
step 200. White noise has 392 ÷ √d, so that a threshold is partly one on d.
Whether a direction below the reach is worth lifting no spectrum says; where
`signal` is small most of it is batch noise."""
_WORTH = (
    (0.08, "nine tenths of what orthogonalizing gains, or more"),
    (0.26, "up to nine tenths of what orthogonalizing gains"),
    (LOW, "up to half of what orthogonalizing gains"),
)
_SURE = "one language model of width 64; --other says whether these directions are signal"
_WHEN = f"Look in steps {EARLY} to {LATE}, the times at which a reach was compared with a loss"
_ALONG = 0.5
"""A cosine between a momentum and the step of a matrix above this is no chance."""
_OFF = "this step is not of the size that momentum and rate say"
_UNEVEN = "this step is less flat than schedule and momentum make it"
_LOW = "this step is less flat than an orthogonal one, as its momentum makes it"
_ZERO = "the momentum of this step is zero"
_WEAKER = {
    _OFF: "print the rate of every group in a step: the rate, its scale or the decay may be another",
    _UNEVEN: "look whether every Newton–Schulz step is made, and in which format",
    _LOW: "nothing here: what is said of its momentum counts",
    _ZERO: "save and load the optimizer's state, and look who resets it; an expert without tokens has none",
}
"""What step_fault lets pass, and what to do about it."""
_OVERWRITTEN = 1e-3
"""A rate of Muon's below so many of another group's is nobody's choice."""


@dataclass(frozen=True)
class _Row:
    one: Diagnosis
    group: Mapping
    table: tuple
    source: str
    schedule: str
    reach: float | None
    of_state: bool


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Exit status: 0; 1 for a broken momentum, step or rate; 2 and a line on stderr for bad input."""
    options = _parser().parse_args(arguments)
    try:
        if len(options.files) > 2:
            raise ValueError(f"FILE must be one file, or two that are a step apart, got {len(options.files)}")
        if options.other and len(options.files) > 1:
            raise ValueError("--other must be given with one file, got 2")
        return _report(options) if options.lr is None and len(options.files) == 1 else _compare(options)
    except BrokenPipeError:
        # the reader of the pipe has gone: nothing can be written at the end either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, TypeError, OSError, MemoryError, RuntimeError, ImportError) as error:
        text = f"amemlib: {printable(' '.join(str(error).split())) or type(error).__name__}"
        # a line for whoever reads a log
        _say("\n".join(_wrapped(text, _width(sys.stderr), "  ")) if sys.stderr.isatty() else text, sys.stderr)
        return 2


def _report(options: argparse.Namespace) -> int:
    schedules = dict(named_schedule(name, "--schedule") for name in options.schedule or ())
    if options.reach is not None:
        check_positive("--reach", options.reach)
    read = lambda path: read_contents(path, tuple(options.key), tuple(options.names))
    content = read(*options.files)
    theirs = {one.name: one for one in read(options.other).momenta} if options.other else None
    cuts = _cuts(options, [one.name for one in content.momenta])
    rows, start = [], time.monotonic()
    for done, momentum in enumerate(content.momenta):
        if sys.stderr.isatty() and time.monotonic() - start > 1:
            start = time.monotonic()
            _say(f"{done} of {len(content.momenta)}", sys.stderr, "\r")
        try:
            rows += _examine(momentum.name, momentum, content.of_state, theirs, schedules, cuts, options)
        except Exception as error:  # a file that lies raises whatever its bytes lead to
            where = ", ".join([content.path, *[options.other] * bool(options.other)])
            why = str(error) if momentum.name in str(error) else f"{momentum.name}: {error}"
            raise ValueError(f"{where}: {why}") from None
    found = Diagnoses(row.one for row in _sorted(rows, options.sort)[: options.top])
    width, broken = _width(sys.stdout), any(map(_is_broken, rows))
    asked = any(getattr(options, one) for one in ("json", "csv", "all", "top", "sort", "plot", "other", "reach"))
    if not (content.of_state or asked or broken):
        why = f"no optimizer's state, and of weights a reach means nothing; if its {len(rows)} matrices are momenta"
        raise ValueError(f"{content.path}: {why}, --all shows what a step makes of them")
    if options.plot:
        _plot(rows, options.plot)
    if options.json:
        text = ",\n ".join(map(json.dumps, found.as_dicts()))
        _say(f"[{text}]")
    elif options.csv:
        _say(_as_csv(found))
    else:
        _say(_verdict(rows, content, width))
        if options.all or options.top or options.sort or options.reach is not None or len(schedules) > 1:
            _say("\n" + found.table(options.reach, width))
        if options.explain:
            _say(MEANING)
    if not content.of_state:
        _say(
            f"amemlib: {printable(content.path)} holds no optimizer's state: its tensors are taken as they are",
            sys.stderr,
        )
    return int(broken)


def _examine(label: str, momentum: Momentum, of_state: bool, theirs, schedules, cuts, options) -> Iterator[_Row]:
    X, group = momentum.stored.read(), momentum.group
    if theirs is not None and momentum.name not in theirs:
        raise ValueError(f"no such name in {options.other}")
    Y = theirs[momentum.name].stored.read() if theirs is not None else None
    if Y is not None and Y.shape != X.shape:
        raise ValueError(f"{tuple(X.shape)}, but {tuple(Y.shape)} in {options.other}")
    name, table, source = schedule_of(group)
    tables = schedules or {name: table}
    source = "asked for" if schedules else source
    split, heads, columns = _cuts_of(label, group, cuts)
    halves = _pieces(label, Y, columns, group, options) if Y is not None else None
    for called, M in _pieces(label, X, columns, group, options):
        other = {called: next(halves)[1]} if halves else None
        for one in diagnose({called: M}, tables, other, split=split, heads=heads, eps=_eps(group)):
            yield _Row(one, group, next(iter(tables.values())), source, *next(iter(one.reach.items())), of_state)


def _eps(group: Mapping) -> float:
    eps = group.get("eps")
    return float(eps) if isinstance(eps, float | int) and eps >= 0 else _EPS


def _cuts(options: argparse.Namespace, names: list[str]) -> dict[str, dict]:
    return {key: dict(_cut(key, text, names) for text in getattr(options, key)) for key in ("split", "heads")}


def _cuts_of(name: str, group: Mapping, cuts: dict[str, dict]) -> tuple:
    """Split and heads of the rows and split of the columns, by the options or else by the group."""
    of_name = lambda key: next((to for piece, to in cuts[key].items() if piece in name), group.get(key))
    split, heads = of_name("split"), of_name("heads")
    if isinstance(split, tuple) and split[:1] == ("cols",):
        return None, heads, split[1]
    return split, heads, None


def _pieces(name: str, X: Tensor, columns, group: Mapping, options) -> Iterator[tuple[str, Tensor]]:
    """A tensor as --conv, --stack and --split cols:3 take it apart, or the group's `flatten`."""
    if X.ndim > 2 and isinstance(group.get("flatten"), int):
        X = X.flatten(0, group["flatten"] - 1).flatten(1)
    if X.ndim > 2 and options.conv:
        X = (X.movedim(-1, 0) if options.conv == "hwio" else X).flatten(1)
    stack = np.ndindex(*X.shape[:-2]) if X.ndim > 2 and options.stack else [()]
    for at in stack:
        M, index = X[at], [*at]
        if columns is None:
            yield name + (f"[{', '.join(map(str, index))}]" if index else ""), M
            continue
        sizes = [M.shape[-1] // columns[0]] * columns[0] if len(columns) == 1 and columns[0] else list(columns)
        if sum(sizes) != M.shape[-1]:
            raise ValueError(f"{tuple(M.shape)}: cols must divide or sum to the columns, got {columns}")
        for i, part in enumerate(M.split(sizes, -1)):
            yield f"{name}[{', '.join(map(str, [*index, i]))}]", part


def _sorted(rows: list[_Row], key: str | None) -> list[_Row]:
    def value(row: _Row):
        of = getattr(row.one, key)
        of = next(iter(of.values())) if isinstance(of, dict) else of
        return -math.inf if of is None else of

    return sorted(rows, key=value) if key else rows


# what to do


def _verdict(rows: list[_Row], content: Contents | None, width: int, step: int | None = None) -> str:
    """One line, and at most four findings, worst first. step: the number of the last one, if there is no content."""
    state, step = any(row.of_state for row in rows), content.step if content else step
    signals = sorted((row.one for row in rows if row.one.signal is not None), key=lambda one: one.signal)
    broken = [row for row in rows if _is_broken(row)]
    of = sorted((row for row in rows if state and row.reach is not None and row not in broken), key=lambda x: x.reach)
    look = [row for row in of if row.reach < LOW]
    middle = of[(len(of) - 1) // 2] if of else None
    early = step is not None and step < EARLY
    name = lambda row: shortened(printable(row.one.name), width // 2)
    if broken:
        text = f"BROKEN: {len(broken)} of {len(rows)} {'momenta' if state else 'matrices'}; first {name(broken[0])}."
    elif not state:
        text = f"No optimizer's state: {len(rows)} matrices. Of weights a reach means nothing."
        text += " If they are momenta or gradients, --all shows what a step makes of them."
    elif of:
        text = f"the middle reach of {len(of)} is {middle.reach:.2g}; weakest {name(of[0])}, {of[0].reach:.2g}."
        start = f"Early, step {step}" if early else "Look" if look else "Nothing to do with these momenta"
        text = f"{start}: {text}" + f" Nothing to do yet. {_WHEN}." * early
    elif step:
        text = f"Look: all {len(rows)} momenta are zero in step {step}: they were reset, or never filled or saved."
    else:
        text = f"Nothing to do: {len(rows)} momenta are zero, so that no step was taken yet."
    texts = [text]
    if content and of:
        texts += ["One file cannot see whether a step is orthogonalized, two around it can: doctor BEFORE AFTER --lr."]
    used = Counter(f"{row.schedule}, {row.source}" for row in rows)
    if state:
        texts += ["Schedule: " + "; ".join(f"{key} ({n})" if len(used) > 1 else key for key, n in used.items())]
    if signals:
        # the standard error stands in the note
        least, error = signals[0], re.search(r"signal (± [^\s;]+)", signals[0].note)[1]
        median = np.median([one.signal for one in signals])
        text = f"Signal, what two half batches have in common of the energy: median {median:.2f}"
        texts += [f"{text}; least {printable(least.name)}, {least.signal:.2f} ({error})"]
    lines = [line for text in texts for line in _wrapped(text, width, "  ")]
    # a line sets every group: a second one would undo the first
    low = [] if early or any(map(_is_short, broken)) else _look_findings(look, middle, step)
    findings = [*_broken_findings(broken), *low]
    for i, (head, members, says) in enumerate(findings, 1):
        number = lambda one, reach: one.broken.removeprefix("not finite") if one.broken else f"{reach:.2g}"
        names = [f"{printable(row.one.name)} {number(row.one, row.reach)}".rstrip() for row in members]
        lines += ["", *_wrapped(f"{i}. {head}: {_few(names, width)}", width, "   ")]
        for key in ("do", "costs", "worth", "paste", "when"):
            lines += _wrapped(f"   {key:6s} {says[key]}", width, " " * 10) if key in says else []
    lines += [""] * bool(findings)
    for text in _remarks(rows, of, content):
        lines += _wrapped(text, width, "  ")
    return "\n".join(lines)


def _is_broken(row: _Row) -> bool:
    """Weights may be as small as they like."""
    return row.one.broken == "not finite" or row.of_state and (bool(row.one.broken) or _is_short(row))


def _is_short(row: _Row) -> bool:
    """Whether the schedule is too short for this momentum, and for any."""
    return not row.one.broken and row.reach is not None and row.reach < LOW and slope(row.table) < LEAST_SLOPE


def _few(names: list[str], width: int) -> str:
    more = f" and {len(names) - 3} more" * (len(names) > 3)
    return ", ".join(shortened(name, width // 2) for name in names[:3]) + more


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=indent) or [""]


def _broken_findings(rows: list[_Row]) -> Iterator[tuple[str, list[_Row], dict[str, str]]]:
    bad = [row for row in rows if row.one.broken == "not finite"]
    if bad:
        says = {"do": STEP_DO[STEP_NOT_FINITE], "costs": "the steps since"}
        says |= {"worth": "the run: a NaN never leaves a momentum"}
        says["paste"] = "torch.nn.utils.clip_grad_norm_(params, 1e9, error_if_nonfinite=True)"
        yield f"{len(bad)} hold NaN or inf", bad, says
    small = [row for row in rows if row.one.broken.startswith("‖M‖")]
    if small:
        lift = min(value for row in small for value in row.one.lift.values())
        eps = max(_eps(row.group) for row in small)
        # ‖M‖/ε is what `broken` ends with
        default = all(float(row.one.broken.split()[-1]) * _eps(row.group) > _EPS for row in small)
        do = f"ε is {eps:g} here, and {_EPS:g} by default: take that" if default else "a smaller ε"
        little = "little yet, for a step still lifts it: " * (lift >= 0.5)
        yield (
            f"{len(small)} are smaller than ε, by which a step divides them instead of ‖M‖",
            small,
            {
                "do": f"{do}, or gradients that are not scaled down so far",
                "costs": "nothing",
                "worth": f"{little}a lift of {lift:.1g}, about 0.8 where ‖M‖ is above ε",
                "paste": f"for g in muon.param_groups: g.update(eps={_EPS if default else 1e-30:g})",
            },
        )
    short = [row for row in rows if not row.one.broken]
    if short:
        names = ", ".join(dict.fromkeys(row.schedule for row in short))
        says = _remedy(min(short, key=lambda row: row.reach / slope(row.table)), math.inf)
        says["worth"] = "most of what orthogonalizing gains"
        yield f"{len(short)} are hardly orthogonalized by a schedule this short ({names})", short, says


def _look_findings(rows: list[_Row], middle: _Row, step: int | None) -> list[tuple[str, list[_Row], dict[str, str]]]:
    """The steps are the middle one's, for which they were tried: a line to paste sets them for all."""
    if not rows:
        return []
    if middle.reach < LOW:
        worth = next(worth for high, worth in _WORTH if middle.reach < high)
        says = _remedy(middle) | {"worth": f"{worth} ({_SURE})"}
    else:
        says = {"do": "nothing to the schedule. Ask of these whether they are signal (--other) or fused (--split)"}
        says |= {"worth": "not measured: losses were compared with the middle reach of a run, which is not low here"}
    says |= {"when": f"{_WHEN[0].lower()}{_WHEN[1:]}"} if step is None else {}
    return [(f"{len(rows)} reach below {LOW:g}", rows, says)]


def _remedy(row: _Row, at: float = 0) -> dict[str, str]:
    """What brings this reach to 3: of Jordan's steps five at the least and as many more as the chapter's table says.

    at: what five reach, if that is not to count.
    """
    median, jordan = row.reach / slope(row.table), named_schedule("jordan")[1][0]
    own = tuple(row.group.get("ns_coefficients") or row.table[0])
    ours = "schedule" in row.group
    steps = max(5, len(row.table)) if {*row.table} == {jordan} else 5
    at = at or median * jordan[0] ** steps
    more = next((more for least, more in _MORE if at >= least), None)
    if ours or more is None:
        # of what reaches 3 the cheapest; where nothing does, what reaches farthest
        name, table = named_schedule((least_schedule(median, _AIM) or ("deepseekv4", 30))[0])
        steps = int(name.removeprefix("jordan × ")) if "×" in name else 0
    else:
        steps += more
        table, name = (jordan,) * steps, f"{steps} steps instead of {len(row.table)}"
        if own != jordan:
            name = f"jordan × {steps} in place of ({', '.join(f'{x:g}' for x in own)})"
    fine = slope(table) > 1.01 * _FINE and row.group.get("ns_dtype") in (None, torch.bfloat16)
    if ours:
        paste = "schedule=" + (f"[{jordan}] * {steps}" if steps else f'"{name}"') + ", ns_dtype=torch.float32" * fine
    else:
        paste = f"ns_coefficients={jordan}, " * (own != jordan) + f"ns_steps={steps}"
    paste = f"for g in muon.param_groups: g.update({paste})"
    if fine and not ours:
        way = f'"schedule": "{name}"'
        if steps:
            way = f'"ns_coefficients": {jordan}, ' * (own != jordan) + f'"ns_steps": {steps}'
        paste = f'muon = am.Muon([g | {{{way}, "ns_dtype": torch.float32}} for g in muon.param_groups])'
    if median * slope(table) <= row.reach:
        return {"do": "nothing: no published schedule reaches farther", "costs": "–"}
    products, used = (sum(3 if c else 2 for _, _, c in of) for of in (table, row.table))
    costs = f"{products} matrix products a step instead of {used}" if products != used else "nothing"
    do = f"{name}: a reach of {median * slope(table):.2g}"
    if fine:
        do += ", in float32. In bfloat16, torch's format, eight steps kept four fifths of a memory's facts at d = 1024"
        do += ", and nine steps no more facts than eight"
        costs += ", and each in float32"
    return {"do": do, "costs": f"{costs}; tune the rate again, for steps get longer", "paste": paste}


def _remarks(rows: list[_Row], of: list[_Row], content: Contents | None) -> Iterator[str]:
    zero = [row for row in rows if row.one.note.endswith("zero")]
    if 0 < len(zero) < len(rows):
        why = ", as of experts without a gradient" * any(row.of_state for row in zero)
        yield f"{len(zero)} zero{why}: {_few([printable(r.one.name) for r in zero], 80)}."
    if of and LOW <= of[(len(of) - 1) // 2].reach < _AIM:
        yield f"Between {LOW:g} and {_AIM:g} up to an eighth may be lost; one step more helped in one of three trials."
    if of and content and (content.step or 0) > LATE:
        yield f"Step {content.step}: a reach grows, and was compared with a loss in steps {EARLY} to {LATE} alone."
    ample = [row for row in of if row.reach > _AMPLE]
    if ample:
        yield f"{len(ample)} reach above 12: cubic5's 10 products may do as well (arXiv:2606.00371)."
    ours = [row.one for row in rows if row.of_state]
    others = [printable(one.name) for one in ours if NOT_HIDDEN.search(one.name)]
    if others:
        yield f"{_few(others, 80)}: {NOT_HIDDEN_DO}."
    if any(row.group.get("base_momentum") != row.group.get("max_momentum") for row in rows):
        yield f"Momentum: {MOVING_MOMENTUM}."
    fused = [one for one in ours if FUSED.search(one.name) and "[" not in one.name]
    fused = [one for one in fused if max(one.shape) >= 2 * min(one.shape)]
    if fused:
        piece, (m, n) = FUSED.search(fused[0].name)[0], fused[0].shape
        cut = f"--split {piece}={'' if m > n else 'cols:'}3"
        yield f"{printable(fused[0].name)} looks fused: if your optimizer cuts it, say so: {cut}."
        turned = "am.Muon cuts rows alone: make the layer a Linear, or leave it whole"
        yield f"If it does not: {FUSED_DO if m > n else turned}."
    if content:
        left = "; ".join(f"{count} {printable(reason)}" for reason, count in content.left.items())
        if left:
            yield f"Left out: {left}."
        if content.names:
            yield f"Names: {content.names}."
        yield "--all shows every matrix, --explain the words."


# other outputs


def _width(stream) -> int:
    return max(60, shutil.get_terminal_size((80, 24)).columns) if stream.isatty() else 80


def _say(text: str, stream=None, end: str = "\n") -> None:
    """Print; what the stream cannot encode in escapes."""
    stream = stream or sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream, end=end, flush=True)


def _as_csv(found: Diagnoses) -> str:
    names = list(dict.fromkeys(name for one in found for name in one.reach))
    plain = ("name", "shape", "rank", "stable_rank", "noise", "signal", "note")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*plain, *(f"{key} {name}" for name in names for key in ("reach", "lifted", "lift"))])
    for row in found.as_dicts():
        row["shape"] = "x".join(map(str, row["shape"]))
        row |= {"name": printable(row["name"]), "note": printable(row["note"])}
        writer.writerow([row[k] for k in plain] + [row[k].get(n) for n in names for k in ("reach", "lifted", "lift")])
    return out.getvalue().rstrip("\n")


def _plot(rows: list[_Row], path: str) -> None:
    """Reach by layer, a line for every kind of matrix: names that differ in their first number alone."""
    try:
        pyplot = import_module("matplotlib.pyplot")
    except ImportError:
        raise ValueError("--plot needs matplotlib: pip install matplotlib") from None
    kinds: dict[str, list] = {}
    for row in rows:
        if row.reach is not None:
            number = re.search(r"\d+", row.one.name)
            kind = re.sub(r"\d+", "*", row.one.name, count=1).replace("$", r"\$")
            kinds.setdefault(printable(kind)[:40], []).append((int(number[0]) if number else 0, row.reach))
    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for kind, points in kinds.items():
        axes.plot(*zip(*sorted(points), strict=True), "o-", ms=4, label=kind)
    axes.axhline(_AIM, color="grey", ls="--")
    axes.set(xlabel="layer", ylabel="reach", yscale="log")
    axes.legend(fontsize="small", ncols=1 + len(kinds) // 12)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


# two files


@dataclass(frozen=True)
class _Pair:
    """A matrix before and after, its momentum after, and the rates that the two files store."""

    name: str
    old: Stored
    new: Stored
    momentum: Momentum | None
    rates: tuple[float, float]

    def moved(self) -> bool:
        return not torch.equal(self.old.read(), self.new.read())


def _compare(options: argparse.Namespace) -> int:
    """Two checkpoints, a step apart: whether the step was orthogonal, of which size, and the momenta of the later."""
    lr = None if options.lr in (None, True) else check_positive("--lr", options.lr)
    if len(options.files) != 2:
        raise ValueError(f"--lr must be given with two files, before and after, got {len(options.files)}")
    before, after = (read_weights(path, tuple(options.key), tuple(options.names)) for path in options.files)
    both, files, width = " and ".join(options.files), [*map(printable, options.files)], _width(sys.stdout)
    apart = after.step - before.step if None not in (before.step, after.step) else 1
    pairs, adams, left = _pairs(before, after)
    likely = [pair.name for pair in pairs if not after.of_muon and NOT_HIDDEN.search(pair.name)]
    likely = likely if len(likely) < len(pairs) else []
    pairs = [pair for pair in pairs if pair.name not in likely]
    if not pairs and not adams:
        raise ValueError(f"{both} have no matrix of weights in common")
    stored = [{pair.rates[side] for pair in pairs} - {0.0} for side in (0, 1)]
    began = max((_number(pair.momentum.group.get("initial_lr")) for pair in pairs if pair.momentum), default=0)
    if pairs and not any(pair.moved() for pair in pairs):
        stopped = after.of_muon and not stored[0] | stored[1]
        if not stopped and not any(pair.moved() for pair in adams):
            raise ValueError(f"{both} have the same weights: no step lies between them")
        why = "Their rate is 0" + ", as at the end of a schedule" * bool(began) if stopped else "Others have"
        text = f"{'Look' if stopped and began else 'BROKEN'}: none of Muon's {len(pairs)} weights has moved. {why}."
        text += _scheduled(0, max(after.rates, default=0)) if stopped else ""
        _say("[]" if options.json else "\n".join(_wrapped(text, width, "  ")))
        return int(not (stopped and began))
    if apart != 1:
        why = "swap them" if apart == -1 else "not of one and the next, so that no step can be judged"
        raise ValueError(f"{files[0]} is of step {before.step}, {files[1]} of step {after.step}: {why}")
    cuts, momenta = _cuts(options, [pair.name for pair in pairs]), {}
    try:
        for pair in pairs:
            examined = _examine(pair.name, pair.momentum, True, None, {}, cuts, options) if pair.momentum else ()
            momenta[pair.name] = [*examined]
    except ValueError as error:
        raise ValueError(f"{options.files[1]}: {error}") from None

    def steps_at(side: int) -> list[_Step]:
        rated = [(pair, lr or pair.rates[side]) for pair in pairs]
        return [step for pair, rate in rated if rate for step in _steps(pair, rate, momenta[pair.name], cuts, options)]

    def misfit(steps: list[_Step]) -> tuple[float, float]:
        sizes = [abs(math.log(step.size / step.meant)) for step in steps if step.size and step.meant]
        return (sum(bool(step.fault) for step in steps), np.median(sizes)) if sizes else (math.inf, 0)

    # a loop saves before its scheduler or after it: the step's rate is in the one file or in the other
    tried = [steps_at(side) for side in ((0, 1) if lr is None and stored[0] != stored[1] else (0,))]
    chosen = min(range(len(tried)), key=lambda side: misfit(tried[side]))
    steps, used = tried[chosen], {lr} if lr else stored[chosen]
    left["without a rate in the file"] = 0 if lr else sum(not pair.rates[chosen] for pair in pairs)
    text = "; ".join(f"{count} {printable(reason)}" for reason, count in left.items() if count)
    if not steps:
        raise ValueError(f"{both} have no step of Muon's to compare: {len(adams)} with Adam's state; {text}")
    listed = lambda rates: ", ".join(f"{rate:g}" for rate in sorted(rates)) or "none"
    says, dead, every, others = [], "", stored[0] | stored[1], max((before, after)[chosen].rates, default=0)
    ended = max(used) < _OVERWRITTEN * began
    if lr is None:
        beside = f"; other groups have {others:g}" * bool(others)
        says += [f"The rate is that of {files[chosen]}: {listed(used)}{beside}."]
        says += [f"{files[1 - chosen]} stores {listed(stored[1 - chosen])}: --lr X says another."] * (len(tried) > 1)
    elif every and not any(math.isclose(lr, rate, rel_tol=0.01) for rate in every):
        says += [f"--lr is {lr:g}, but the files store {listed(every)}."]
    if ended:
        end = f"The rate began at {began:g}: at the end of a schedule steps are as small as this."
        says += [end + _scheduled(max(used), others)]
    elif max(used) < _OVERWRITTEN * others:
        dead = f"Muon's rate is {listed(used)} where other groups have {others:g}: a scheduler may have overwritten it."
    if changes := [step.change for step in steps if step.change]:
        says += [f"In the median a step is {100 * np.median(changes):.2g} % as long as its weights."]
    kind = lambda pair: re.sub(r"\d+", "*", pair.name)
    if like := [printable(pair.name) for pair in adams if kind(pair) in {*map(kind, pairs)}]:
        says += [f"AdamW steps {_few(like, width)}, and Muon their like in other layers: look at the groups."]
    if adams:
        says += [f"With Adam's state: {_few([printable(pair.name) for pair in adams], width)}."]
    says += [f"Probably AdamW's, by their names: {_few([*map(printable, likely)], width)}."] * bool(likely)
    says += [f"Left out: {text}."] * bool(text)
    rows = [row for own in momenta.values() for row in own]
    report, broken = _step_report(steps, says, dead, ended, bool(options.split or options.heads), width)
    if options.json:
        _say(json.dumps([{**asdict(step), "shape": list(step.shape)} for step in steps]))
    else:
        # of momenta whose steps go wrong a reach says nothing
        sick = any(map(_is_broken, rows))
        texts = [_verdict(rows, None, width, after.step)] * (sick or bool(rows) and not broken)
        _say("\n\n".join([*texts, report] if sick else [report, *texts]))
    return int(broken or any(map(_is_broken, rows)))


def _scheduled(used: float, others: float) -> str:
    """What to ask where Muon's rate has come to its end and others' has not."""
    unlike = used < _OVERWRITTEN * others
    return f" Other groups have {others:g}: has each optimizer its scheduler?" if unlike else ""


def _pairs(before: Weights, after: Weights) -> tuple[list[_Pair], list[_Pair], Counter]:
    """The matrices of Muon's, or all where no momentum is, those of Adam's, and how many are neither, by reason."""
    left = Counter(after.left) + Counter({"in one of the files": len(before.weights.keys() ^ after.weights.keys())})
    common = {name: (before.weights[name], X) for name, X in after.weights.items() if name in before.weights}
    alike = {name: both for name, both in common.items() if both[0].shape == both[1].shape}
    left["of two shapes"] = len(common) - len(alike)
    owners = _owners((*after.of_muon, *after.of_adam), alike)
    earlier = {one.name: one.group for one in before.of_muon}
    pairs, adams = [], []
    for name, (old, new) in alike.items():
        one = owners.get(name)
        groups = (earlier.get(one.name, one.group), one.group) if one else ({}, {})
        pair = _Pair(name, old, new, one, tuple(_number(group.get("lr")) for group in groups))
        if any(one is other for other in after.of_adam):
            adams.append(pair)
        elif one or not after.of_muon:
            pairs.append(pair)
        else:
            left["without a momentum of Muon's"] += 1
    return pairs, adams, left


def _owners(momenta: tuple[Momentum, ...], weights: Mapping[str, tuple[Stored, Stored]]) -> dict[str, Momentum]:
    """By a weight's name its momentum: of that name, or of one that only it ends in, or else along which it moved."""
    ends = lambda a, b: a.endswith("." + b) or b.endswith("." + a)
    own = {one.name: one for one in momenta if one.name in weights and weights[one.name][0].shape == one.stored.shape}
    rest = [one for one in momenta if own.get(one.name) is not one]
    fits = [[n for n, (W, _) in weights.items() if W.shape == one.stored.shape and ends(n, one.name)] for one in rest]
    often = Counter(name for names in fits for name in names)
    own |= {n[0]: one for n, one in zip(fits, rest, strict=True) if len(n) == 1 == often[n[0]] and n[0] not in own}
    for one in (one for one in rest if not any(one is other for other in own.values())):
        M, best = one.stored.read().double(), {}
        kept = 1 - _number(one.group.get("lr")) * _number(one.group.get("weight_decay"))
        for name, (old, new) in weights.items():
            if name not in own and old.shape == M.shape:
                # of other matrices a momentum has a cosine near 0 with the step
                D = kept * old.read().double() - new.read().double()
                best[name] = torch.nan_to_num(torch.cosine_similarity(D.flatten(), M.flatten(), 0)).item()
                if best[name] > _ALONG:
                    break
        if best:
            own[max(best, key=best.get)] = one
    return own


def _number(value) -> float:
    return float(value) if isinstance(value, float | int) else 0.0


@dataclass(frozen=True)
class _Step:
    name: str
    shape: tuple[int, ...]
    size: float | None
    flatness: float | None
    change: float | None
    """Its length over that of the weights."""
    meant: float | None
    """The size that momentum and rate say, 0 where the scale is unknown; None without a momentum."""
    fault: str

    @property
    def broken(self) -> bool:
        """Also below a tenth of what is meant, which no other scale of the rate explains up to sides of 1 : 100."""
        short = self.fault == SHORT_STEP and self.size < self.meant / 10
        return short or self.fault == STEP_NOT_FINITE or self.fault == NOT_ORTHOGONAL and self.meant is not None


def _steps(pair: _Pair, lr: float, rows: list[_Row], cuts: dict, options) -> Iterator[_Step]:
    """Of one weight, or of its parts."""
    group = pair.momentum.group if pair.momentum else {}
    W = pair.old.read().double()
    D = pair.new.read().double() - W + lr * _number(group.get("weight_decay")) * W
    split, heads, columns = _cuts_of(pair.name, group, cuts)
    parts = lambda X: (
        part for called, Y in _pieces(pair.name, X, columns, group, options)
        for part in matrices(called, Y, split, heads)
    )  # fmt: skip
    for i, ((name, X, _), (_, V, _)) in enumerate(zip(parts(D), parts(W), strict=True)):
        size, flatness = (float(x) for x in step_shape(X, lr, 50))
        lift = next(iter(rows[i].one.lift.values())) if rows else None
        scale = rate_scale(group, *X.shape)
        meant = scale * math.sqrt(lift or 0) if rows else None
        rounding = float(rounding_size(V, pair.old.dtype, lr))
        fault = step_fault(size, flatness, scale, lift, rounding)
        if rows and rows[i].one.rank == 0 and fault != STEP_NOT_FINITE:
            fault = _ZERO
        elif lift is not None and fault in ("", NOT_ORTHOGONAL):
            # a step by f is as flat as its lift over the largest f²; a tenth for Nesterov's gradient and for rounding
            top = compose_quintics(torch.linspace(0, 1, 999, dtype=torch.float64), rows[i].table).max() ** 2
            uneven = flatness < 0.9 * lift / float(top)
            if fault:
                # much flatter than the momentum is itself: orthogonalized, and then made short
                flatter = flatness > 2 * rows[i].one.stable_rank / min(X.shape) and size < meant
                fault = SHORT_STEP if flatter and not uneven else fault
            elif meant >= 4 * rounding or math.isnan(meant):
                off = not math.isnan(meant) and not meant * 2 / 3 <= size <= meant * 3 / 2
                fault = _OFF if off else _UNEVEN if uneven else _LOW if flatness < STEP_FLAT else ""
        change = float(torch.linalg.vector_norm(X) / torch.linalg.vector_norm(V))
        meant = 0.0 if meant is not None and math.isnan(meant) else meant
        yield _Step(
            name, tuple(X.shape), *(x if math.isfinite(x) else None for x in (size, flatness, change)), meant, fault
        )


def _step_report(steps: list[_Step], says: list, dead: str, ended: bool, cut: bool, width: int) -> tuple[str, bool]:
    """What two files say of their steps, and whether these are broken.

    dead: what is wrong with their rate; ended: whether it is as small as at the end of a schedule.
    """
    findings: dict[str, list[str]] = {}
    for step in sorted(steps, key=lambda step: not step.broken):
        if step.fault:
            findings.setdefault(step.fault, []).append(printable(step.name))
    lost = 2 * len(findings.get(STEP_LOST, ())) > len(steps)
    bad = bool(dead or lost and not ended or any(step.broken for step in steps))
    low = findings.get(_LOW, ())
    if low and len(findings) == 1:
        findings = {}
    wrong = sum(map(len, findings.values()))
    text = f"{len(steps)} steps are orthogonal and of their size."
    if low and not wrong:
        text = f"{len(steps)} steps are as their momenta make them, {len(low)} less flat than an orthogonal one."
    elif wrong:
        text = f"{wrong} of {len(steps)} steps are not as they should be."
    elif all(step.meant is None for step in steps):
        text = f"No momentum of Muon's says whether these {len(steps)} steps are its own; they are flat enough."
    word = "BROKEN: " if bad else "Look: " if wrong else ""
    lines = _wrapped(" ".join(filter(None, (f"{word}{dead}".rstrip(), text))), width, "  ")
    for i, (fault, names) in enumerate(findings.items(), 1):
        more = ", or your optimizer does not cut it" * (cut and any("[" in name for name in names))
        lines += _wrapped(f"{i}. {fault}{more}: {_few(names, width)}", width, "   ")
        lines += _wrapped(f"   do     {(STEP_DO | _WEAKER)[fault]}", width, " " * 10)
    for text in (*says, "", f"{STEP_RULE}; size is near √(lift max(1, m/n)) at torch's scale."):
        lines += _wrapped(text, width, "  ")
    number = lambda value, form: "–" if value is None else format(value, form)
    rows = [["matrix", "size", "flatness", "shape"]]
    for step in sorted(steps, key=lambda step: (not step.fault, step.flatness or 0)):
        numbers = number(step.size, ".3g"), number(step.flatness, ".2f")
        rows.append([printable(step.name), *numbers, "×".join(map(str, step.shape))])
    lines += aligned(rows, width)
    return "\n".join(lines), bad


def _cut(option: str, text: str, names: list[str]) -> tuple[str, int | tuple]:
    """A piece of names and their parts, from qkv=3, qkv=512,64,64, c_attn=cols:3 or, for all, 3."""
    piece, _, numbers = text.rpartition("=")
    form = r"[1-9]\d*" if option == "heads" else r"(cols:)?[1-9]\d*(,[1-9]\d*)*"
    if not re.fullmatch(form, numbers):
        more = "" if option == "heads" else ", NAME=8,8,4, NAME=cols:3"
        raise ValueError(f"--{option} must be NAME=3{more} or 3, got {text!r}")
    if not any(piece in name for name in names):
        raise ValueError(f"--{option} must name a matrix, got {piece!r}, which is in none of {', '.join(names)}"[:400])
    sizes = tuple(map(int, numbers.removeprefix("cols:").split(",")))
    if numbers.startswith("cols:"):
        return piece, ("cols", sizes)
    return piece, sizes if len(sizes) > 1 else sizes[0]


def _parser() -> argparse.ArgumentParser:
    text = "What to do about the momenta of Muon in a checkpoint. The studies of the book: python -m amembook."
    end = "Exit status: 0; 1 for a broken momentum, step or rate; 2 for what cannot be read or compared."
    parser = argparse.ArgumentParser(prog="amemlib", description=text, epilog=end)
    # one line, without the usage before it
    parser.error = lambda message: parser.exit(2, f"amemlib: {printable(' '.join(message.split()))}\n")
    several = {"nargs": "+", "action": "extend", "default": []}
    add = parser.add_argument
    add("command", choices=["doctor"])
    add(
        "files",
        nargs="+",
        metavar="FILE",
        help="a checkpoint (.pt, .safetensors, .npz, a DCP folder, ...), or two that are a step apart",
    )
    add("--all", action="store_true", help="a row for every matrix, after the verdict")
    add("--schedule", **several, metavar="NAME", help="default: the file's; a name, or 'jordan x 6'")
    add("--split", **several, metavar="NAME=PARTS", help="qkv=3, rows qkv=512,64,64, columns c_attn=cols:3")
    add("--heads", **several, metavar="NAME=NUMBER", help="cuts each part again: qkv=12")
    add("--names", **several, metavar="PATTERN", help="only these matrices: attn, or blocks.*.mlp")
    add("--key", **several, metavar="NAME", help="what the state calls its momentum")
    add("--stack", action="store_true", help="three dimensions or more are stacks of matrices")
    add("--conv", choices=["oihw", "hwio"], help="three dimensions or more are convolutions, of torch or of JAX")
    add("--other", metavar="FILE", help="the same momenta from another half batch")
    add("--reach", type=float, metavar="X", help="tell the shortest schedule that reaches so far")
    text = "of two files: the rate of the step between them; without X the rate that they store"
    add("--lr", type=float, nargs="?", const=True, metavar="X", help=text)
    add("--sort", choices=["reach", "lift", "noise", "rank", "name"], help="order of --all, smallest first")
    add("--top", type=int, metavar="N", help="only the first N rows")
    add("--explain", action="store_true", help="what the columns mean, and where the thresholds are from")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="a list of objects instead of words")
    form.add_argument("--csv", action="store_true", help="the same as a table for other programs")
    add("--plot", metavar="FILE.png", help="reach by layer and kind, by matplotlib")
    return parser
