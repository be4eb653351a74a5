"""Muon as an optimizer of torch: any schedule by name, any map of the matrix, heads and parts each for themselves."""

import math
import warnings
from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from amemlib.checks import check_choice, check_count, check_non_negative, check_real, check_sequence, shown
from amemlib.spectral import SCHEDULES, newton_schulz_schedule

EPS = 1e-7
"""The least ‖M‖_F that a matrix is divided by, torch's: below it nothing is orthogonalised."""
_RATES = {
    "original": lambda m, n: math.sqrt(max(1, m / n)),
    "rms": lambda m, n: 0.2 * math.sqrt(max(m, n)),
    "spectral": lambda m, n: math.sqrt(m / n),
}
_TORCHS_RATES = {None: "original", "original": "original", "match_rms_adamw": "rms"}
_TORCHS = ("ns_coefficients", "ns_steps", "adjust_lr_fn")
_OTHERS = {"params", "param_names", "name", "initial_lr"}
"""What a group may hold beside options: its parameters, and what people and schedulers of the rate put there."""
_TURNED = "its parts are columns, which no split cuts; make it a torch.nn.Linear, or leave it whole (split=None)"
_FORMATS = (torch.bfloat16, torch.float16, torch.float32, torch.float64)


class Muon(torch.optim.Optimizer):
    """Muon for matrices W (m, n), torch.optim.Muon bit for bit on its defaults (on a CPU): with gradients G

        B_t = β B_{t−1} + (1 − β) G_t,   M_t = β B_t + (1 − β) G_t,   W_t = (1 − ηλ) W_{t−1} − ηc f(M_t).

    params: matrices as torch.optim takes them; other parameters belong to another optimizer. lr: η ≥ 0.
    momentum: β in [0, 1). nesterov: with False M is B. weight_decay: λ ≥ 0, decoupled.
    schedule: f, by a name of `spectral.SCHEDULES`, a table with (a, b, c) for every step or three numbers (five steps),
        each in bfloat16 as optimizers ship it; or a function of the matrix, in the precision that it chooses:
        `spectral.polar`, or `lambda M: am.spectral_map(M, f)` with the f of `equivalents.best_map`. "cans" has no
        cushion at the end of its interval: where a singular value is near 0.43 ‖M‖_F, bfloat16 may round it out, and
        it grows (in one of three noise matrices 24 × 16, to 10⁵). It wants ns_dtype=torch.float32.
    adjust_lr: c. "original", √max(1, m/n), is torch's "original" (Jordan's); "rms", 0.2 √max(m, n), is torch's
        "match_rms_adamw" (Moonlight's); "spectral", √(m/n), torch lacks (`spectral_norm` in microsoft/dion, and not
        the "spectral" of Emerging-Optimizers, which is √max(m, n)).
    split: parts of the rows, a number of equal ones or their lengths, 3 or (512, 64, 64) for a fused QKV; heads: how
        many equal ones each part is cut into. Every part is orthogonalised and scaled as if it were its own parameter.
        Rows are outputs, as in torch.nn.Linear: an output projection, whose heads are columns, wants a group without,
        and so does GPT-2's Conv1D, whose outputs are columns; a warning says so of (m, split · m).
    flatten: how many of the first dimensions of a weight with three or more are the rows, the others being columns: 1
        for a convolution (out, in, height, width); 2 with `split=E` for a stack of E matrices (E, m, n).
    eps, ns_dtype: of a schedule that is no function: M / max(‖M‖_F, eps), and the format of its steps.
    All but `params` may stand in a group, and torch.optim.Muon's options too; a name that is neither's is warned of.
    Momenta are updated by torch's foreach (torch.optim.Muon has none), which
    takes a copy of the gradients for a moment. Of a sharded parameter (a DTensor, of FSDP2 say) each process gathers
    the matrix, takes the step of one process, and keeps its shard; it may share a group with others.

    A state of torch.optim.Muon loads with all its options, and `state_dict` has them for the way back; there
    `ns_coefficients` says what torch lacks, if something is, and torch's step refuses it. Into flattened states
    (torch.distributed.checkpoint) torch writes its own options alone: load them into torch's optimizer first. A
    function in `schedule` is not saved; after `load_state_dict` it is the one that the optimizer was made with.
    Copies and pickles have no hooks, and so no `watch`: they warn where there are some.
    Raises `ValueError` or `TypeError`, before anything changes and naming the parameter, for values out of range, in
    a loaded state too, for what is no matrix, rows that do not fit, and shards that are no even cut of a tensor.
    """

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-3,
        *,
        momentum: float = 0.95,
        nesterov: bool = True,
        weight_decay: float = 0.1,
        schedule: str | Iterable | Callable[[Tensor], Tensor] = "jordan",
        adjust_lr: str = "original",
        split: int | Iterable[int] | None = None,
        heads: int | None = None,
        flatten: int | None = None,
        eps: float = EPS,
        ns_dtype: torch.dtype = torch.bfloat16,
    ):
        defaults = {"lr": lr, "momentum": momentum, "nesterov": nesterov, "weight_decay": weight_decay}
        defaults |= {"schedule": schedule, "adjust_lr": adjust_lr, "split": split, "heads": heads}
        super().__init__(params, defaults | {"flatten": flatten, "eps": eps, "ns_dtype": ns_dtype})

    def add_param_group(self, param_group: dict) -> None:
        """A group of its own settings; nothing is added where they are wrong."""
        try:
            super().add_param_group(_own_options(param_group) if isinstance(param_group, dict) else param_group)
        except ValueError as error:
            empty = [number for number, group in enumerate(self.param_groups) if not group["params"]]
            if not empty:
                raise
            told = f"params must hold a parameter in every group, got none in group {empty[0]}: does its name match?"
            raise ValueError(told) from error
        added = _checked(self.param_groups.pop())
        self.param_groups.append(added)
        unknown = added.keys() - self.defaults.keys() - _OTHERS
        if unknown:
            names = ", ".join(map(repr, sorted(map(str, unknown))))
            told = f"group options {names} mean nothing to Muon, whose own are {', '.join(self.defaults)}"
            warnings.warn(told, stacklevel=2)

    @torch.no_grad()
    def step(self, closure: Callable | None = None):
        """One step for every matrix that has a gradient; returns what `closure`, which makes them anew, returns."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            if "ns_steps" in group:
                told = f"ns_steps must not be set in a group of this Muon, got {shown(group['ns_steps'])}: set schedule"
                raise ValueError(f"{told}, [(3.4445, -4.775, 2.0315)] * steps for Jordan's")
            for p, name in zip(group["params"], parameter_names(group), strict=True):
                if p.grad is not None and p.grad.layout != torch.strided:
                    raise ValueError(f"{name} must have a dense gradient, got {p.grad.layout}")
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None and p.numel()]
            if params:
                self._step_group(group, params)
        return loss

    def _step_group(self, group: dict, params: list[Tensor]) -> None:
        lr, beta = float(group["lr"]), group["momentum"]
        grads = [_local(p.grad, p) for p in params]
        for p in params:
            if "momentum_buffer" not in self.state[p]:
                self.state[p]["momentum_buffer"] = torch.zeros_like(_placed(p.grad, p))
        averages = [_local(self.state[p]["momentum_buffer"], p) for p in params]
        torch._foreach_lerp_(averages, grads, 1 - beta)
        averages = torch._foreach_lerp(grads, averages, beta) if group["nesterov"] else averages
        function = group["schedule"]
        if not callable(function):
            table, eps, dtype = schedule_table("schedule", function), group["eps"], group["ns_dtype"]
            function = lambda M: _newton_schulz(M, table, eps, dtype)
        for p, M in zip(params, averages, strict=True):
            M = _gathered(M, p)
            M = M.reshape(_rows(M.shape, group["flatten"]), -1)
            rows = part_rows(len(M), group["split"], group["heads"])
            # parts of one size are one stack, which takes one product and not one each
            equal = len(set(rows)) == 1 < len(rows)
            parts = [M.unflatten(0, (len(rows), rows[0]))] if equal else M.split(rows)
            rates = [lr * _RATES[group["adjust_lr"]](*X.shape[-2:]) for X in parts]
            steps = [function(X).to(p.device) for X in parts]
            if len(set(rates)) > 1:
                steps = [X.to(p.dtype) * rate for X, rate in zip(steps, rates, strict=True)]
                rates = [1.0]
            update = steps[0] if len(steps) == 1 else torch.cat(steps)
            # not by _foreach_mul_, which rounds the factor to bfloat16 where p is
            p.mul_(1 - lr * group["weight_decay"])
            p.add_(_scattered(update.reshape(p.shape), p), alpha=-rates[0])

    def state_dict(self) -> dict:
        """As every optimizer of torch, with torch.optim.Muon's options; a schedule that is a function is left out."""
        state = super().state_dict()
        for group in state["param_groups"]:
            group |= _torchs_options(group)
            if callable(group["schedule"]):
                group["schedule"] = None
        return state

    def load_state_dict(self, state_dict: dict) -> None:
        """What a group of the state does not say stays as it is here; options of torch.optim.Muon are translated."""
        groups = []
        for own, saved in zip(self.param_groups, state_dict["param_groups"], strict=False):
            saved = _own_options(saved)
            kept = {key: own[key] for key in self.defaults if key in own and saved.get(key) is None}
            checked = _checked(own | saved | kept | {"params": own["params"]})
            for p, number, name in zip(own["params"], saved["params"], parameter_names(own), strict=False):
                _check_state(name, p, state_dict["state"].get(number))
            groups.append(checked | {"params": saved["params"]})
        groups += state_dict["param_groups"][len(groups) :]
        super().load_state_dict(state_dict | {"param_groups": groups})

    def __getstate__(self) -> dict:
        if self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks:
            warnings.warn("a copy of an optimizer has none of its hooks: watch it anew", stacklevel=2)
        return super().__getstate__()


def schedule(
    name: str | Iterable, *, eps: float = EPS, ns_dtype: torch.dtype = torch.bfloat16
) -> Callable[[Tensor], Tensor]:
    """The Newton–Schulz iteration of a schedule as a function of a matrix or a stack, as `Muon` applies it.

    name, eps, ns_dtype: as `schedule`, `eps` and `ns_dtype` of `Muon`. The function takes (…, m, n) and returns it in
    `ns_dtype`; an `epsilon` in a call replaces eps. It goes where a function is taken: `schedule` of `Muon`,
    `newton_schulz_func` of microsoft/dion's optimizers, which call f(M, epsilon=ε), `scaled_orthogonalize_fn` of
    `OrthogonalizedOptimizer` in Emerging-Optimizers, which calls f(M) and leaves the scale of the rate to it.
    torch.optim.Muon takes none, only three numbers and how often.
    Raises `ValueError` for an unknown name, what is no table, an eps < 0 or another format.
    """
    table, least = schedule_table("name", name), _check_precision(eps, ns_dtype)

    def orthogonalize(matrix: Tensor, epsilon: float | Tensor = least) -> Tensor:
        return _newton_schulz(matrix, table, epsilon, ns_dtype)

    return orthogonalize


def part_rows(rows: int, split: int | Iterable[int] | None = None, heads: int | None = None) -> list[int]:
    """The row lengths of the parts that a matrix of so many rows is cut into, `split` and `heads` as in `Muon`."""
    if split is None or isinstance(split, int):
        parts = _equal("split", rows, split)
    else:
        parts = [check_count("split", size) for size in check_sequence("split", split)]
        if sum(parts) != rows:
            raise ValueError(f"split must sum to the number of rows, {rows}, got {shown(split)}")
    return [size for part in parts for size in _equal("heads", part, heads)]


def schedule_table(name: str, schedule: str | Iterable, steps: int | None = None) -> tuple:
    """`newton_schulz_schedule`, whose errors call the argument by `name`, as whoever gave it did."""
    try:
        return newton_schulz_schedule(schedule, steps)
    except (TypeError, ValueError) as error:
        text = str(error)
        named = name + text.removeprefix("coefficients") if text.startswith("coefficients") else text
        raise type(error)(named) from None


def parameter_names(group: dict) -> list[str]:
    """What the parameters of a group are called: the names that the optimizer was given, or params[0], params[1], …"""
    return list(group.get("param_names") or (f"params[{i}]" for i in range(len(group["params"]))))


def rate_scale(group: dict, m: int, n: int) -> float:
    """c of a matrix (m, n) in a group of `Muon` or of torch.optim.Muon; NaN for a scale that is neither's."""
    scale = group.get("adjust_lr") or _TORCHS_RATES.get(group.get("adjust_lr_fn"))
    return _RATES[scale](m, n) if scale in _RATES else math.nan


def _equal(name: str, rows: int, count: int | None) -> list[int]:
    count = 1 if count is None else check_count(name, count)
    if rows % count:
        raise ValueError(f"{name} must divide the number of rows, {rows}, got {count}")
    return [rows // count] * count


def _rows(shape: tuple[int, ...], flatten: int | None) -> int:
    return math.prod(shape[: 1 if flatten is None else flatten])


def _check_precision(eps: float, ns_dtype: torch.dtype) -> float:
    if ns_dtype not in _FORMATS:
        allowed = ", ".join(map(str, _FORMATS))
        raise ValueError(f"ns_dtype must be one of {allowed}, got {shown(ns_dtype)}")
    return check_non_negative("eps", eps)


def _checked(group: dict) -> dict:
    """A group whose options have been checked, each of its parameters against them."""
    for name in ("lr", "weight_decay"):
        check_non_negative(name, group[name])
    if not 0 <= check_real("momentum", group["momentum"]) < 1:
        raise ValueError(f"momentum must lie in [0, 1), got {group['momentum']!r}")
    if not isinstance(group["nesterov"], bool):
        raise TypeError(f"nesterov must be True or False, got {shown(group['nesterov'])}")
    check_choice("adjust_lr", group["adjust_lr"], tuple(_RATES))
    _check_precision(group["eps"], group["ns_dtype"])
    flatten, split, table = group["flatten"], group["split"], group["schedule"]
    if flatten is not None:
        check_count("flatten", flatten)
    split = tuple(split) if isinstance(split, Iterable) else split
    if not callable(table):
        rows = schedule_table("schedule", table)
        table = table if isinstance(table, str) else rows
    turned = []
    for p, name in zip(group["params"], parameter_names(group), strict=True):
        _check_parameter(name, p, flatten)
        fused = flatten is None and isinstance(split, int) and split > 1 and p.shape[1] == split * p.shape[0]
        text = f"; this layer looks transposed, as GPT-2's Conv1D: {_TURNED}" * fused
        try:
            part_rows(_rows(p.shape, flatten), split, group["heads"])
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name} {tuple(p.shape)}: {error}{text}") from None
        turned += [f"{name} {tuple(p.shape)}: split={split} cuts rows{text}"] * fused
    if turned:
        more = f" ({len(turned) - 1} more like it)" * (len(turned) > 1)
        warnings.warn(turned[0] + more, stacklevel=3)
    return group | {"split": split, "schedule": table}


def _check_parameter(name: str, p: Tensor, flatten: int | None) -> None:
    shape = tuple(p.shape)
    if len(shape) < 2 or not p.is_floating_point():
        got = f"{str(p.dtype)[6:]} of shape {shape}"
        raise ValueError(f"params must be real matrices (others belong to another optimizer), got {name}, {got}")
    if len(shape) > 2 and flatten is None:
        how = f"flatten=1 for a convolution, flatten=2 with split={shape[0]} for a stack of matrices"
        raise ValueError(f"params must be matrices, or say how they become some ({how}), got {name} of shape {shape}")
    if flatten is not None and flatten >= len(shape):
        raise ValueError(f"flatten must be below the number of dimensions, got {flatten} for {name} of shape {shape}")
    for placement in getattr(p, "placements", ()):
        if type(placement).__name__ not in ("Shard", "Replicate"):
            raise ValueError(f"params must be replicated or sharded along a dimension, got {name} as {placement}")


def _check_state(name: str, p: Tensor, state: dict | None) -> None:
    """Raise unless what was saved of a parameter is its momentum; nothing was where it had no gradient yet."""
    if state:
        B = state.get("momentum_buffer")
        if not isinstance(B, Tensor):
            keys = ", ".join(map(str, state))
            raise ValueError(f"the state of {name} must hold a tensor momentum_buffer, as Muon's have, got {keys}")
        if B.shape != p.shape:
            raise ValueError(f"momentum_buffer of {name} must have shape {tuple(p.shape)}, got {tuple(B.shape)}")


def _own_options(group: dict) -> dict:
    """A group of a saved state with torch.optim.Muon's options in the words of `Muon`; its own words win."""
    own = {key: value for key, value in group.items() if key not in _TORCHS}
    if "schedule" not in group and group.keys() & {"ns_coefficients", "ns_steps"}:
        rows, steps = group.get("ns_coefficients", SCHEDULES["jordan"][0]), group.get("ns_steps", 5)
        table = schedule_table("ns_coefficients", rows, check_count("ns_steps", steps))
        own["schedule"] = next((name for name in ("jordan",) if SCHEDULES[name] == table), table)
    if "adjust_lr" not in group and "adjust_lr_fn" in group:
        if group["adjust_lr_fn"] not in _TORCHS_RATES:
            allowed = ", ".join(map(repr, _TORCHS_RATES))
            raise ValueError(f"adjust_lr_fn must be one of {allowed}, got {shown(group['adjust_lr_fn'])}")
        own["adjust_lr"] = _TORCHS_RATES[group["adjust_lr_fn"]]
    return own


def _torchs_options(group: dict) -> dict:
    """torch.optim.Muon's options for a group, or in `ns_coefficients`, which its step then refuses, what it lacks."""
    table = () if callable(group["schedule"]) else newton_schulz_schedule(group["schedule"])
    rates = {ours: torchs for torchs, ours in _TORCHS_RATES.items() if torchs}
    plain = {"ns_dtype": torch.bfloat16, "split": None, "heads": None, "flatten": None}
    lacks = [name for name, value in plain.items() if group[name] != value]
    lacks += ["schedule"] * (len(set(table)) != 1) + ["adjust_lr"] * (group["adjust_lr"] not in rates)
    coefficients = f"torch has no such {', '.join(lacks)}" if lacks else table[0]
    return dict(zip(_TORCHS, (coefficients, len(table), rates.get(group["adjust_lr"])), strict=True))


def _placed(X: Tensor, p: Tensor) -> Tensor:
    """X, as p is sharded."""
    alike = getattr(p, "placements", None) == getattr(X, "placements", None)
    return X if alike else X.redistribute(p.device_mesh, p.placements)


def _local(X: Tensor, p: Tensor) -> Tensor:
    return _placed(X, p).to_local() if hasattr(p, "placements") else X


def _gathered(local: Tensor, p: Tensor) -> Tensor:
    """The whole tensor of which this process has the shard `local`, p being sharded alike."""
    if not hasattr(p, "placements"):
        return local
    from torch.distributed.tensor import DTensor

    shards = DTensor.from_local(local, p.device_mesh, p.placements, run_check=False, shape=p.shape, stride=p.stride())
    return shards.full_tensor()


def _scattered(whole: Tensor, p: Tensor) -> Tensor:
    """What `_gathered` undoes: a tensor that every process has, sharded as p is."""
    if not hasattr(p, "placements"):
        return whole
    from torch.distributed.tensor import DTensor, Replicate

    copies = [Replicate()] * p.device_mesh.ndim
    return DTensor.from_local(whole, p.device_mesh, copies, run_check=False).redistribute(placements=p.placements)


def _newton_schulz(M: Tensor, table: tuple, eps: float | Tensor, dtype: torch.dtype) -> Tensor:
    """torch.optim.Muon's iteration, in its order of operations, on a matrix or a stack, with any table and format."""
    # numbers of float16 end at 6e-8: divide first
    X = M.bfloat16() if dtype == torch.bfloat16 else M.to(torch.promote_types(dtype, torch.float32))
    if tall := M.shape[-2] > M.shape[-1]:
        X = X.mT
    X = (X / torch.linalg.vector_norm(X, dim=(-2, -1), keepdim=True).clamp(min=eps)).to(dtype)
    addmm = torch.addmm if M.ndim == 2 else torch.baddbmm
    for a, b, c in table:
        A = X @ X.mT
        X = addmm(X, addmm(A, A, A, beta=b, alpha=c), X, beta=a)
    return X.mT if tall else X
