"""What `sheet` measures: one run of the language model with an optimizer of torch or of the library, cell by cell."""

import math
from functools import partial
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import torch
from scipy.stats import norm
from torch import Tensor

from amembook.networks.language_model import READOUT_LR, held_out_losses, start_and_batches, word_losses
from amembook.networks.text import documentation
from amembook.networks.training import VECTORS, adamw, cooled, raised
from amembook.run import runtime
from amemlib.training import Muon, schedule
from amemlib.training.diagnosis import slope


class Arm(NamedTuple):
    """An optimizer of the matrices: the first rate of its ladder and the last, Muon's options, the weights' format.

    stored: "bfloat16" rounds the weights after every step; "master" keeps them and rounds what the network reads.
    clip: the norm at which the gradients of the matrices are clipped, all of them together. raised: a momentum that
    changes, `training.raised`.
    """

    first: float
    last: float
    options: dict | None = None
    stored: str = "float32"
    clip: float = math.inf
    raised: bool = False


BETAS = (0.8, 0.88)
"""The second is the sheet's for 200 steps, 1/(1 − β) = 200/24."""
CLIPS = (1.0, 0.1)
"""The second is below every gradient's norm in these runs."""
RMS = {"adjust_lr": "rms"}
ARMS = {
    "adamw": Arm(0.001, 0.016),
    "muon": Arm(0.002, 0.064, RMS),
    "original": Arm(0.012, 0.096, {"adjust_lr": "original"}),
    "cubic5": Arm(0.002, 0.064, RMS | {"schedule": "cubic5"}),
    **{f"muon {beta}": Arm(0.002, 0.064, RMS | {"momentum": beta}) for beta in BETAS},
    **{f"plain {beta}": Arm(0.002, 0.064, RMS | {"nesterov": False, "momentum": beta}) for beta in (*BETAS, 0.95)},
    **{stored: Arm(0.00025, 0.016, RMS, stored) for stored in ("float32", "master", "bfloat16")},
    **{f"clip {norm:g}": Arm(0.002, 0.064, RMS, clip=norm) for norm in CLIPS},
    "raised": Arm(0.002, 0.064, RMS, raised=True),
    "express": Arm(0.002, 0.064, RMS),
}
"""By name; "muon" has β = 0.95 and Nesterov's average, "plain" has none. "express" is Polar Express in bfloat16."""


def as_bfloat16(W: Tensor) -> Tensor:
    """W rounded to bfloat16, in its own dtype; the gradient passes as if it were not."""
    return W + (W.bfloat16().to(W) - W).detach()


def beside_float32(seen: list, M: Tensor) -> Tensor:
    """Polar Express of M in bfloat16. `seen` gets its largest singular value and its largest entry, in units of
    1/√max(m, n), and both in float32."""
    half, whole = (schedule("polar_express", ns_dtype=dtype)(M).float() for dtype in (torch.bfloat16, torch.float32))
    of = lambda X: torch.stack([torch.linalg.matrix_norm(X, 2), X.abs().max() * max(X.shape) ** 0.5])
    seen.append(torch.cat([of(half), of(whole)]).tolist())
    return half


def share_kept(rate: float, columns: int) -> float:
    """Share of a step that weights in bfloat16 take, ⟨what they move, step⟩ / ‖step‖²: no number of a run.

    Weights N(0, 1/columns) on the grid of bfloat16, a step N(0, (0.2 rate)²): Moonlight's root mean square. A step of
    size σ in a cell of width u moves by u round(x/u); its mean along x is σ² Σ_{k≥0} (2u/σ) φ((k + ½) u / σ).
    """
    sigma = 0.2 * rate
    exponents = np.arange(-40, 3)
    low, high = 2.0**exponents * math.sqrt(columns), 2.0 ** (exponents + 1) * math.sqrt(columns)
    weight = 2 * (norm.cdf(high) - norm.cdf(low))
    u = 2.0 ** (exponents - 7) / sigma
    k = np.arange(4000)[:, None]
    # a sum of a fine grid is 1
    kept = np.where(u < 0.01, 1.0, 2 * u * norm.pdf((k + 0.5) * u).sum(0))
    return float(weight @ kept / weight.sum())


def measure(config: SimpleNamespace, dim: int, arm: str, rate: float, seed: int, device: str) -> dict:
    """validation, test: nats on the two halves of the held-out text after a run at the rate.

    kept: share of their steps that the stored matrices took in the first half of the run, over all of them; 1 where
    nothing is rounded. reach: by look, of each of Muon's momenta, Λ s_{k/2}/‖M‖_F. clipped: share of the steps whose
    gradient is. outliers: of all momenta of "express" the largest of each number of `beside_float32`, and how many.
    """
    text, place = documentation(config.n_words, config.vocabulary), runtime.device(device)
    start, batches = start_and_batches(text, config.vocabulary, config.length, dim, config.batch, seed, place)
    _, _, options, stored, clip, rises = ARMS[arm]
    seen = []
    if arm == "express":
        options = options | {"schedule": partial(beside_float32, seen)}
    names = [name for name in start if name not in VECTORS]
    read = lambda: start | {name: as_bfloat16(start[name]) for name in names} if stored == "master" else start
    if stored == "bfloat16":
        start |= {name: start[name].bfloat16().float() for name in names}
    for name in (*names, "unembedding"):
        start[name].requires_grad_()
    matrices = [start[name] for name in names]
    if options is None:
        optimizer = torch.optim.AdamW(matrices, lr=rate, betas=(0.9, 0.95), weight_decay=config.decay)
    else:
        optimizer = Muon(matrices, lr=rate, weight_decay=config.decay, ns_dtype=torch.float32, **options)
    (readout,) = adamw({"unembedding": start["unembedding"]}, READOUT_LR)
    reach, moved, asked, clipped = [], 0.0, 0.0, 0
    for step in range(config.steps):
        loss = word_losses(read(), batches(step)).mean()
        for one, lr in ((optimizer, rate), (readout, READOUT_LR)):
            one.zero_grad()
            one.param_groups[0]["lr"] = lr * cooled(step, config.steps)
        loss.backward()
        clipped += bool(torch.nn.utils.clip_grad_norm_(matrices, clip) > clip)
        if rises:
            optimizer.param_groups[0]["momentum"] = raised(step, config.steps)
        before = [W.detach().clone() for W in matrices] if stored == "bfloat16" else []
        optimizer.step(), readout.step()
        for W, old in zip(matrices, before, strict=bool(before)):
            with torch.no_grad():
                move = W - old
                W.copy_(W.bfloat16())
                if step < config.steps // 2:
                    moved += float((move * (W - old)).sum())
                    asked += float(move.square().sum())
        if options is not None and step + 1 in config.looks:
            momenta = [torch.linalg.svdvals(optimizer.state[W]["momentum_buffer"].double()) for W in matrices]
            reach.append([slope("jordan") * float(s[len(s) // 2] / s.norm()) for s in momenta])
    losses = held_out_losses({name: W.detach() for name, W in read().items()}, text, config.length)
    outliers = [*map(max, zip(*seen, strict=True)), len(seen)] if seen else []
    told = {"kept": moved / asked if asked else 1.0, "clipped": clipped / config.steps, "outliers": outliers}
    return losses | told | {"reach": reach, "origin": text.origin}
