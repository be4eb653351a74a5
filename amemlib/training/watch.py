"""Reach and lift of every momentum while training."""

import itertools
from collections.abc import Callable

import torch
from torch import Tensor

from amemlib.checks import check_count, check_function, check_instance
from amemlib.training.diagnosis import diagnose, momentum_of
from amemlib.training.muon import part_rows


def watch(
    optimizer: torch.optim.Optimizer, every: int = 100, log: Callable[[int, dict[str, float]], None] = print
) -> torch.utils.hooks.RemovableHandle:
    """Reach and lift of every momentum while training: `log(step, values)` after each `every`-th step of an optimizer.

    values: {"reach/NAME": x, "lift/NAME": ‖O‖_F² / min(m, n)}, as `diagnose` has them, of the momentum in the
        optimizer's state (with Nesterov's M = β B + (1 − β) G it is B), where they have a meaning. NAME is the
        parameter's, if the optimizer was given named parameters, else its number.
    The schedule, `split` and `heads` are those of the group, of `Muon` or torch.optim.Muon; any other optimizer is
    looked at as if it had Jordan's. Of a schedule that is a function only the lift is known, by applying it.
    log: `lambda step, values: wandb.log(values, step=step)`, say, or `lambda *pair: seen.append(pair)`.
    Costs the eigenvalues of a Gram matrix each, on the parameter's device; `remove()` of what it returns ends it.
    """
    check_instance("optimizer", optimizer, torch.optim.Optimizer)
    check_count("every", every), check_function("log", log)
    steps = itertools.count(1)

    def look(optimizer, args, kwargs) -> None:
        if (step := next(steps)) % every:
            return
        values, numbers = {}, itertools.count()
        for group in optimizer.param_groups:
            own = [str(next(numbers)) for _ in group["params"]]
            for p, name in zip(group["params"], group.get("param_names") or own, strict=True):
                M = momentum_of(optimizer.state.get(p, {}))
                if M is not None and M.ndim > 1:
                    values |= _watched(name, M, group)
        log(step, values)

    return optimizer.register_step_post_hook(look)


def _watched(name: str, M: Tensor, group: dict) -> dict[str, float]:
    torchs = [group["ns_coefficients"]] * group["ns_steps"] if "ns_coefficients" in group else "jordan"
    schedule = group.get("schedule", torchs)
    split, heads = group.get("split"), group.get("heads")
    if callable(schedule):
        M = M.full_tensor() if hasattr(M, "full_tensor") else M
        parts = M.split(part_rows(len(M), split, heads))
        names = [f"{name}[{i}]" for i in range(len(parts))] if len(parts) > 1 else [name]
        lifts = [schedule(X).double().square().sum().item() / min(X.shape) for X in parts]
        return {f"lift/{n}": lift for n, lift in zip(names, lifts, strict=True)}
    found = diagnose({name: M}, {"": schedule}, split=split, heads=heads)
    pairs = {f"{key}/{one.name}": getattr(one, key)[""] for one in found for key in ("reach", "lift")}
    return {key: value for key, value in pairs.items() if value is not None}
