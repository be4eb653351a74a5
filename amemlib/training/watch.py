"""What an optimizer does while it trains: the size and flatness of its steps, reach and lift of its momenta."""

import itertools
import math
import statistics
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from amemlib.checks import check_count, check_instance, shown
from amemlib.training.diagnosis import (
    EARLY,
    FUSED,
    FUSED_DO,
    LEAST_SLOPE,
    LOW,
    MOMENTA,
    MOVING_MOMENTUM,
    NOT_HIDDEN,
    NOT_HIDDEN_DO,
    SECOND,
    STEP_DO,
    STEP_FLAT,
    STEP_NOT_FINITE,
    diagnose,
    matrices,
    momentum_of,
    rounding_size,
    schedule_of,
    slope,
    step_fault,
    step_shape,
)
from amemlib.training.muon import EPS, rate_scale

_RESOLVED = 32 * torch.finfo(torch.float32).eps

_MOMENTUM_NOT_FINITE = f"the momentum is not finite: {STEP_DO[STEP_NOT_FINITE]}"
_BELOW = "‖M‖ is below ε, so that the momentum is hardly orthogonalised: do not scale gradients down, or lower eps"
_LOW = (
    f"the reach is below {LOW:g}: where the middle one of all matrices is, too, take more Newton–Schulz steps (of a "
    "checkpoint the doctor says how many); a rate far too low keeps it there, too"
)
_SHORT = "the schedule is too short to orthogonalise: five of Jordan's steps are usual (ns_steps=5 of torch)"
_OF_MOMENTUM = (_MOMENTUM_NOT_FINITE, _BELOW, _SHORT)
_STOPPED = 3
"""Steps at a rate of 0 in a row that are no warm-up's first."""
_ADAMS = "there is Adam's state alone, and no step of Muon's: watch the optimizer that is Muon"
_UNSEEN = f"the momentum cannot be seen, there is no tensor {', '.join(MOMENTA)} of numbers and the weight's shape"


def watch(
    optimizer: torch.optim.Optimizer,
    every: int = 100,
    log: Callable[[int, dict[str, float]], None] | str | None = print,
    *,
    start: int = 0,
) -> torch.utils.hooks.RemovableHandle:
    """Is this Muon running? `log(step, values)` after each `every`-th step of any optimizer of torch, and once early.

    The early one comes as soon as every matrix has had its turn, in the tenth or eleventh step of a large model, where
    some have it together; another at once where something is not finite or three rates in a row are 0.

    values: of the step ΔW that a matrix (m, n), k = min(m, n), has made, one matrix a step in turn, each once, shortly
        before the log (a tenth of them a step before the first), without its decoupled decay:

            size/NAME = ‖ΔW‖_F / (η √k),   flatness/NAME = ‖ΔW‖_F² / (k ‖ΔW‖₂²),

        1 for a polar factor; Muon's steps have 0.5 or more, or early about as much as the lift, momentum SGD's of a
        falling spectrum below 0.3. And of every momentum in the state (with Nesterov's M = β B + (1 − β) G it is B),
        after that step, reach/NAME and lift/NAME, as the step has them: below ε nothing is lifted. NaN where something
        is not finite; a momentum of zeros, as of an expert without gradients, has none. NAME is the parameter's, if the
        optimizer was given named parameters, else its number, with #2, #3, … where two are called alike, and [i] for a
        part.
    optimizer: one of torch, or what wraps one as its `optimizer`. Schedule, `split`, `heads`, `flatten` and ε are those
        of the group, of `Muon` or torch.optim.Muon; any other optimizer is looked at as if it had Jordan's. Of a
        schedule that is a function only the lift is known, by applying it. Left out is Adam's part, by use_muon=False
        in its group or a second moment in its state; where nothing else is, a warning says so.
    log: a function gets all values, as floats; print one line of them, with the rate, which nothing here judges;
        "wandb" or a `SummaryWriter` of TensorBoard a few a group, group0/size/min and group0/size/median and so on, and
        those of the matrix in turn; None nothing.
    start: how many steps went before; after a resume the number of the last one. A state without a momentum is then
        warned of in the first step.

    In words, as a warning, once a matrix and cause: a step whose flatness is below 0.3 and below a third of the lift
    that Jordan's or the group's schedule gives its momentum, or its gradient where no momentum is seen; one that is
    shorter or longer than momentum and rate say (clipped, at another rate), or lost in the rounding of the weights;
    what is not finite or below ε; a schedule that is too short; from step 100 on, when it has risen, a reach below 0.9;
    a rate of 0, below or no number, at which there is neither size nor flatness; and what cannot be seen: a momentum
    under another name. Named are also embeddings and the head under Muon, and what is fused and not cut. What changes
    weights after the step, as clipping does, is not seen. Copies and pickles of an optimizer have no watch. `remove()`
    of what it returns ends it.
    Cost: with every=100 0.4 % of a step of a transformer of 12 layers and width 256 with 512 tokens, 1.7 % for 2 layers
    and width 64 with 256, on one thread of a CPU, steps in float32; on a GPU not measured. It is a copy, 16 products
    with vectors, a Gram matrix and its eigenvalues for the matrix in turn, in float32; on a CPU in float64 where a
    reach is below what those resolve, about 1, which elsewhere is then an upper bound.
    """
    while not hasattr(optimizer, "_optimizer_step_post_hooks") and hasattr(optimizer, "optimizer"):
        optimizer = optimizer.optimizer
    check_instance("optimizer", optimizer, torch.optim.Optimizer)
    check_count("every", every), check_count("start", start, 0)
    send, whole = _sender(log)
    step, at, begin, told = start, 0, 0, set()
    kept: list[tuple] = []
    looks: dict[str, _Turn] = {}
    full, logged, alarmed, stopped, bad = False, False, False, 0, None

    def before(optimizer, args, kwargs) -> None:
        nonlocal at, full
        kept.clear()
        if step == start > 0 and not any(optimizer.state.values()):
            _say(f"no momentum at start={start}: load the optimizer's state, for it begins anew")
        # the list of matrices alone costs as much as a look at a small one
        if step + 1 < begin:
            return
        matrices = [one for one in _named(optimizer) if one.p.grad is not None and not _rate_fault(one)]
        order = [i for i in (*range(at, len(matrices)), *range(at)) if i < len(matrices)]
        turn = [i for i in order if matrices[i].name not in looks]
        many = 1 if logged else 1 + len(matrices) // 10
        full = bool(order) and len(turn) <= many
        for i in turn[:many]:
            at, one = i + 1, matrices[i]
            kept.append((one, one.p.detach().clone(), float(one.group["lr"])))

    def after(optimizer, args, kwargs) -> None:
        nonlocal step, begin, logged, alarmed, stopped, bad
        step, alarm = step + 1, False
        # with its momentum of now: when the log comes that of a young run has another spectrum
        own = [one for one in kept if not _is_adams(one[0], optimizer.state.get(one[0].p, {}))]
        looks.update({one[0].name: _Turn(_steps_of(*one), *_momentum_of(optimizer, one[0])) for one in own})
        kept.clear()
        if not alarmed:
            stopped = 0 if any(group["lr"] for group in optimizer.param_groups) else stopped + 1
            # a number that is not finite is in every gradient one step later: the smallest one tells
            now = _not_finite(optimizer)
            seen, bad = (now, None) if now is None or now.device.type == "cpu" else (bad, now)
            none = not logged and not any(_named(optimizer)) and any(_named(optimizer, adams=True))
            alarm = alarmed = stopped == _STOPPED or none or seen is not None and bool(seen)
        if step % every and (logged or not full) and not alarm:
            return
        logged = logged or not alarm
        rows, causes, shapes = [], [], {}
        for one in _named(optimizer):
            shapes[one.name] = "" if one.group.get("param_names") else f" of shape {tuple(one.p.shape)}"
            own = looks.get(one.name)
            turn = _Turn(own.steps if own else [], *_momentum_of(optimizer, one)) if alarm or not own else own
            rows += turn.rows
            causes += turn.causes
            if one.group.get("base_momentum") != one.group.get("max_momentum"):
                causes.append((MOVING_MOMENTUM, one.name))
            if one.muon and NOT_HIDDEN.search(one.name):
                causes.append((NOT_HIDDEN_DO, one.name))
            uncut = one.muon and not one.group.get("split") and one.p.shape[0] == 3 * one.p.shape[1]
            if uncut and FUSED.search(one.name):
                causes.append((f"it looks fused: {FUSED_DO}", one.name))
            if one.p.grad is not None and (fault := _rate_fault(one)):
                causes.append((fault, one.name))
            for look in turn.steps:
                _step_rows(one, look, ((own or turn).lifts or {}).get(look.part), rows, causes)
        causes += [] if shapes else [(_ADAMS, one.name) for one in _named(optimizer, adams=True)]
        faulty = {name for cause, name in causes if cause in STEP_DO}
        causes = [(cause, name) for cause, name in causes if cause != _LOW or step >= EARLY and name not in faulty]
        last = next(reversed(looks), None)
        looks.clear()
        # each has its turn shortly before the next log
        begin = step - step % every + every + 1 - len(shapes)
        for cause in dict.fromkeys(cause for cause, _ in causes):
            names = [name for c, name in causes if c == cause and (c, name) not in told]
            told.update((cause, name) for name in names)
            if names:
                more = f" and {len(names) - 4} more" * (len(names) > 4)
                names = [name + shapes.get(name.partition("[")[0], "") for name in names]
                do = f": {STEP_DO[cause]}" if cause in STEP_DO else ""
                _say(f"step {step}, {', '.join(names[:4])}{more}: {cause}{do}")
        if log is print:
            rates = [float(one.group["lr"]) for one in _named(optimizer)]
            _print(step, bool(causes), {f"{key}/{part}": x for _, _, key, part, x in rows}, rates)
        else:
            send(step, {f"{key}/{part}": x for _, _, key, part, x in rows} if whole else _few(rows, last))

    first, handle = optimizer.register_step_pre_hook(before), optimizer.register_step_post_hook(after)
    end = handle.remove
    handle.remove = lambda: (first.remove(), end())[1]
    return handle


class _Matrix(NamedTuple):
    name: str
    p: Tensor
    group: dict
    number: int

    @property
    def muon(self) -> bool:
        return "schedule" in self.group or "ns_coefficients" in self.group

    def parts(self, X: Tensor) -> list[tuple[str, Tensor]]:
        """The matrices that a tensor of this parameter's shape is cut into, with their names."""
        X = X.full_tensor() if hasattr(X, "full_tensor") else X
        flatten, split, heads = (self.group.get(key) for key in ("flatten", "split", "heads"))
        X = X.reshape(math.prod(X.shape[:flatten]), -1) if flatten else X
        return [(name, part) for name, part, _ in matrices(self.name, X, split, heads)]


class _Look(NamedTuple):
    part: str
    shape: tuple[int, int]
    size: Tensor
    flatness: Tensor
    rounding: Tensor


class _Turn(NamedTuple):
    """A matrix's last step, and rows, causes and lifts (None: no momentum and no gradient) of the momentum it is of."""

    steps: list[_Look]
    rows: list[tuple]
    causes: list[tuple[str, str]]
    lifts: dict[str, float] | None


def _named(optimizer: torch.optim.Optimizer, adams: bool = False) -> Iterator[_Matrix]:
    """What has two dimensions or more, with names that differ: what is no Adam's, or what is."""
    numbers, times = itertools.count(), Counter()
    for i, group in enumerate(optimizer.param_groups):
        own = [str(next(numbers)) for _ in group["params"]]
        for p, name in zip(group["params"], group.get("param_names") or own, strict=True):
            times[name] += 1
            one = _Matrix(name if times[name] == 1 else f"{name}#{times[name]}", p, group, i)
            if p.ndim > 1 and p.numel() and adams == _is_adams(one, optimizer.state.get(p, {})):
                yield one


def _is_adams(one: _Matrix, state: Mapping) -> bool:
    """By its group's use_muon, or else by a second moment of its shape."""
    ours = one.group.get("use_muon", one.muon or None)
    second = any(getattr(state.get(key), "shape", None) == one.p.shape for key in SECOND)
    return second if ours is None else not ours


def _momentum_of(optimizer: torch.optim.Optimizer, one: _Matrix) -> tuple[list, list, dict[str, float] | None]:
    """Rows, causes and lifts of its momentum; where none can be seen the lifts of its gradient, without rows."""
    rows, causes = [], []
    lifts = _momentum_rows(one, momentum_of(optimizer.state.get(one.p, {})), rows, causes)
    if one.p in optimizer.state and lifts is None:
        causes.append((_UNSEEN, one.name))
    if lifts is None and one.p.grad is not None:
        lifts = _momentum_rows(one, one.p.grad, [], [])
    return rows, causes, lifts


def _not_finite(optimizer: torch.optim.Optimizer) -> Tensor | None:
    """Whether the smallest gradient or its weight holds NaN or inf, not yet read from its device."""
    params = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None and p.numel()]
    p = min(params, key=Tensor.numel, default=None)
    return None if p is None or p.grad.is_sparse else ~torch.isfinite(p.detach().sum() + p.grad.sum())


def _steps_of(one: _Matrix, W: Tensor, lr: float) -> list[_Look]:
    change = one.p.detach().float() - W.float()
    # a decoupled decay is no part of the step that momentum makes; whose decay is coupled does not get shorter by it
    free = change + lr * one.group.get("weight_decay", 0) * W.float()
    shorter = one.muon or torch.linalg.vector_norm(free) < torch.linalg.vector_norm(change)
    change = torch.where(shorter, free, change) if isinstance(shorter, Tensor) else free
    pairs = zip(one.parts(change), one.parts(W), strict=True)
    rounding = lambda W: rounding_size(W.float(), one.p.dtype, lr)
    return [_Look(part, tuple(X.shape), *step_shape(X, lr), rounding(old)) for (part, X), (_, old) in pairs]


def _rate_fault(one: _Matrix) -> str:
    lr = float(one.group["lr"])
    if 0 < lr < math.inf:
        return ""
    why = "0" if lr == 0 else "negative" if -math.inf < lr < 0 else "not finite"
    return f"the rate is {why}: no size and no flatness of its steps"


def _step_rows(one: _Matrix, look: _Look, lift: float | None, rows: list, causes: list) -> None:
    size, flatness = look.size.item(), look.flatness.item()
    rows.append((one.number, one.name, "size", look.part, size))
    # of a momentum of zeros the step is the rounding of the decay
    moved = size and not (one.muon and lift is None)
    if moved:
        rows.append((one.number, one.name, "flatness", look.part, flatness))
    known = lift is not None and math.isfinite(lift)
    scale = rate_scale(one.group, *look.shape) if one.muon else math.nan
    fault = step_fault(size, flatness if moved else math.nan, scale, lift if known else None, look.rounding.item())
    # of a momentum that is hardly orthogonalized the step says nothing more
    if fault and not any(part == look.part and cause in _OF_MOMENTUM for cause, part in causes):
        causes.append((fault, look.part))


def _momentum_rows(one: _Matrix, M: Tensor | None, rows: list, causes: list) -> dict[str, float] | None:
    """Lift by part, None where there is no momentum to look at; its rows and what is wrong with it."""
    if M is None or not M.is_floating_point() or M.shape != one.p.shape:
        return None
    function, eps = one.group.get("schedule"), one.group.get("eps", EPS)
    table = schedule_of(one.group)[1]
    lifts = {}
    for part, X in one.parts(M):
        # the square of its norm may leave float32
        peak = X.abs().max().double().item()
        X = X / peak if 0 < peak < math.inf else X
        norm = torch.linalg.vector_norm(X.float()).item() * peak
        if not math.isfinite(peak):
            reach = lift = math.nan
            causes.append((_MOMENTUM_NOT_FINITE, part))
        elif not peak:
            continue
        elif callable(function):
            reach, lift = None, function(X * peak).double().square().sum().item() / min(X.shape)
        else:
            if norm < eps:
                causes.append((_BELOW, part))
            reach, lift = _reach_and_lift(X, norm / peak, table, min(1.0, norm / eps if eps else 1.0))
            # in float32 five steps of Jordan's have a reach of 0.95 or more
            if norm >= eps and reach < LOW and schedule_of(one.group)[2] == "from the file":
                causes.append((_SHORT if slope(table) < LEAST_SLOPE else _LOW, part))
        lifts[part] = lift
        rows += [(one.number, one.name, key, part, x) for key, x in (("reach", reach), ("lift", lift)) if x is not None]
    return lifts


def _reach_and_lift(X: Tensor, norm: float, table: tuple, shrink: float) -> tuple[float, float]:
    """As `diagnose` has them, of X / `norm` times ‖M‖_F / max(‖M‖_F, ε) = `shrink`."""
    Y = X.float() / norm
    squares = torch.linalg.eigvalsh(Y @ Y.mT if len(Y) < Y.shape[1] else Y.mT @ Y).clamp(min=0)
    if X.device.type == "cpu" and squares.median() < _RESOLVED and shrink == 1:
        found = diagnose({"": X}, {"": table})[0]
        return found.reach[""], found.lift[""]
    # numbers of numpy, of which an operation costs a tenth of torch's
    s = np.sqrt(squares.double().cpu().numpy())
    s = shrink * np.maximum(s, math.sqrt(_RESOLVED)) if np.median(s) ** 2 < _RESOLVED else shrink * s
    out = s
    for a, b, c in table:
        out = a * out + b * out**3 + c * out**5
    return slope(table) * float(np.median(s)), float(np.mean(out**2))


def _say(text: str) -> None:
    """Warn at the line that called `step`, behind torch's wrappers of it."""
    files = [frame.filename for frame in reversed(traceback.extract_stack())]
    inside = __file__, str(Path(torch.__file__).parent)
    warnings.warn(text, stacklevel=next((i for i, file in enumerate(files, 1) if not file.startswith(inside)), 2))


def _few(rows: list, turn: str | None) -> dict[str, float]:
    """Least and median of a group, and all of the matrix in turn: what a dashboard bears."""
    few = {}
    for number, key in dict.fromkeys((number, key) for number, _, key, _, _ in rows):
        values = [x for n, _, k, _, x in rows if (n, k) == (number, key)]
        bad = not all(map(math.isfinite, values))
        few[f"group{number}/{key}/min"] = math.nan if bad else min(values)
        few[f"group{number}/{key}/median"] = math.nan if bad else statistics.median(values)
    return few | {f"{key}/{part}": x for _, name, key, part, x in rows if name == turn}


def _print(step: int, faulty: bool, values: dict[str, float], rates: list[float]) -> None:
    says = []
    for key in ("size", "flatness", "reach", "lift"):
        # what is not a number first
        of = sorted((x == x, x, name) for name, x in values.items() if name.startswith(key + "/"))
        if of:
            (_, least, name), (_, most, _) = of[0], of[-1]
            says.append(f"{key} {least:.3g} ({name.partition('/')[2]}) to {most:.3g}")
    flat = [x for name, x in values.items() if name.startswith("flatness/")]
    steps = "orthogonal" if min(flat, default=0) >= STEP_FLAT else "as their momenta make them"
    rate = "–".join(dict.fromkeys(f"{lr:.3g}" for lr in (min(rates, default=0), max(rates, default=0))))
    word = ", see the warnings" if faulty else f", steps {steps}" if flat else ""
    word += f", rate {rate}{' not judged' * (not faulty)}" if says else ""
    print(f"step {step}{word}: {', '.join(says) or 'no matrix to look at'}")


def _sender(log) -> tuple[Callable[[int, dict[str, float]], None], bool]:
    """What takes a step's values, and whether it wants all of them."""
    if log is None:
        return lambda step, values: None, False
    if isinstance(log, str) and log == "wandb":
        # not imported by name: the library needs four packages, and this is none of them
        wandb = import_module("wandb")
        return lambda step, values: wandb.log(values, step=step), False
    if hasattr(log, "add_scalar"):
        return lambda step, values: [log.add_scalar(key, x, step) for key, x in values.items()], False
    if not callable(log):
        raise TypeError(f"log must be a function, a SummaryWriter, 'wandb' or None, got {shown(log)}")
    return log, True
