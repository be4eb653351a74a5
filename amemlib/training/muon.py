"""Muon as an optimizer of torch: any schedule by name, any map of the matrix, heads and parts each for themselves."""

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from amemlib.checks import check_choice, check_count, check_non_negative, check_real, check_sequence, shown
from amemlib.spectral import newton_schulz_schedule

_EPS = 1e-7
_RATES = {
    "original": lambda m, n: math.sqrt(max(1, m / n)),
    "rms": lambda m, n: 0.2 * math.sqrt(max(m, n)),
    "spectral": lambda m, n: math.sqrt(m / n),
}


class Muon(torch.optim.Optimizer):
    """Muon for matrices W (m, n), torch.optim.Muon bit for bit on its defaults (on a CPU): with gradients G

        B_t = β B_{t−1} + (1 − β) G_t,   M_t = β B_t + (1 − β) G_t,   W_t = (1 − ηλ) W_{t−1} − ηc f(M_t).

    params: matrices as torch.optim takes them; other parameters belong to another optimizer. lr: η ≥ 0.
    momentum: β in [0, 1). nesterov: with False M is B. weight_decay: λ ≥ 0, decoupled.
    schedule: f, by a name of `spectral.SCHEDULES`, a table with (a, b, c) for every step or three numbers (five steps),
        each in bfloat16 as optimizers ship it; or a function of the matrix, in the precision that it chooses:
        `spectral.polar`, or `lambda M: am.spectral_map(M, f)` with the f of `equivalents.best_map`.
    adjust_lr: c. "original", √max(1, m/n), is torch's "original" (Jordan's); "rms", 0.2 √max(m, n), is torch's
        "match_rms_adamw" (Moonlight's); "spectral", √(m/n), torch lacks (`spectral_norm` in microsoft/dion, and not
        the "spectral" of Emerging-Optimizers, which is √max(m, n)).
    split: parts of the rows, a number of equal ones or their lengths, 3 or (512, 64, 64) for a fused QKV; heads: how
        many equal ones each part is cut into. Every part is orthogonalised and scaled as if it were its own parameter.
        Rows are outputs, as in torch.nn.Linear: an output projection, whose heads are columns, wants a group without.
    All but `params` may stand in a group. Momenta are updated by torch's foreach (torch.optim.Muon has none), which
    takes a copy of the gradients for a moment. A state of torch.optim.Muon loads: momenta, rates, decay.
    A function in `schedule` is not saved; after `load_state_dict` it is the one that the optimizer was made with.
    Raises `ValueError` or `TypeError` for values out of range, what is no matrix, rows that do not fit.
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
    ):
        defaults = {"lr": lr, "momentum": momentum, "nesterov": nesterov, "weight_decay": weight_decay}
        defaults |= {"schedule": schedule, "adjust_lr": adjust_lr, "split": split, "heads": heads}
        super().__init__(params, defaults)

    def add_param_group(self, param_group: dict) -> None:
        """A group of its own settings; nothing is added where they are wrong."""
        super().add_param_group(param_group)
        group = self.param_groups.pop()
        for name in ("lr", "weight_decay"):
            check_non_negative(name, group[name])
        if not 0 <= check_real("momentum", group["momentum"]) < 1:
            raise ValueError(f"momentum must lie in [0, 1), got {group['momentum']!r}")
        check_choice("adjust_lr", group["adjust_lr"], tuple(_RATES))
        if not callable(group["schedule"]):
            table = newton_schulz_schedule(group["schedule"])
            group["schedule"] = group["schedule"] if isinstance(group["schedule"], str) else table
        if isinstance(group["split"], Iterable):
            group["split"] = tuple(group["split"])
        for p in group["params"]:
            if p.ndim != 2 or not p.is_floating_point():
                raise ValueError(f"params must be real matrices, got {str(p.dtype)[6:]} of shape {tuple(p.shape)}")
            part_rows(len(p), group["split"], group["heads"])
        self.param_groups.append(group)

    @torch.no_grad()
    def step(self, closure: Callable | None = None):
        """One step for every matrix that has a gradient; returns what `closure`, which makes them anew, returns."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            if params:
                self._step_group(group, params)
        return loss

    def _step_group(self, group: dict, params: list[Tensor]) -> None:
        lr, beta = float(group["lr"]), group["momentum"]
        grads = [p.grad for p in params]
        for p, grad in zip(params, grads, strict=True):
            if "momentum_buffer" not in self.state[p]:
                self.state[p]["momentum_buffer"] = torch.zeros_like(grad)
        averages = [self.state[p]["momentum_buffer"] for p in params]
        torch._foreach_lerp_(averages, grads, 1 - beta)
        averages = torch._foreach_lerp(grads, averages, beta) if group["nesterov"] else averages
        function = group["schedule"] if callable(group["schedule"]) else None
        schedule = () if function else newton_schulz_schedule(group["schedule"])
        for p, M in zip(params, averages, strict=True):
            # not by _foreach_mul_, which rounds the factor to bfloat16 where p is
            p.mul_(1 - lr * group["weight_decay"])
            rows = part_rows(len(p), group["split"], group["heads"])
            # parts of one size are one stack, which takes one product and not one each
            if function is None and len(set(rows)) == 1 < len(rows):
                parts = [(X.unflatten(0, (len(rows), rows[0])) for X in (p, M))]
            else:
                parts = zip(p.split(rows), M.split(rows), strict=True)
            for W, X in parts:
                rate = lr * _RATES[group["adjust_lr"]](*W.shape[-2:])
                W.add_((function(X) if function else _newton_schulz(X, schedule)).to(W.device), alpha=-rate)

    def state_dict(self) -> dict:
        """As every optimizer of torch; a schedule that is a function is left out."""
        state = super().state_dict()
        for group in state["param_groups"]:
            if callable(group["schedule"]):
                group["schedule"] = None
        return state

    def load_state_dict(self, state_dict: dict) -> None:
        """What a group of the state does not say, as one of torch.optim.Muon, stays as it is here."""
        own = [dict(group) for group in self.param_groups]
        super().load_state_dict(state_dict)
        for group, before in zip(self.param_groups, own, strict=True):
            group |= {key: before[key] for key in self.defaults if key in before and group.get(key) is None}


def part_rows(rows: int, split: int | Iterable[int] | None = None, heads: int | None = None) -> list[int]:
    """The row lengths of the parts that a matrix of so many rows is cut into, `split` and `heads` as in `Muon`."""
    if split is None or isinstance(split, int):
        parts = _equal("split", rows, split)
    else:
        parts = [check_count("split", size) for size in check_sequence("split", split)]
        if sum(parts) != rows:
            raise ValueError(f"split must sum to the number of rows, {rows}, got {shown(split)}")
    return [size for part in parts for size in _equal("heads", part, heads)]


def _equal(name: str, rows: int, count: int | None) -> list[int]:
    count = 1 if count is None else check_count(name, count)
    if rows % count:
        raise ValueError(f"{name} must divide the number of rows, {rows}, got {count}")
    return [rows // count] * count


def _newton_schulz(M: Tensor, schedule: tuple) -> Tensor:
    """torch.optim.Muon's iteration, in its order of operations, on a matrix or a stack and with any table."""
    X = M.bfloat16()
    if tall := M.shape[-2] > M.shape[-1]:
        X = X.mT
    X = X / torch.linalg.vector_norm(X, dim=(-2, -1), keepdim=True).clamp(min=_EPS)
    addmm = torch.addmm if M.ndim == 2 else torch.baddbmm
    for a, b, c in schedule:
        A = X @ X.mT
        X = addmm(X, addmm(A, A, A, beta=b, alpha=c), X, beta=a)
    return X.mT if tall else X
