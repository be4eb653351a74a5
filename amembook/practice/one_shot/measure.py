"""What a cell measures: one run of the task, at a budget of flops, and its loss over all inputs.

Everything about an input follows from its rank k and the seed by a hash, for there are 10¹¹ of them.
"""

import math
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from scipy.special import zeta
from torch import Tensor

from amembook.run import runtime
from amemlib.spectral import newton_schulz_schedule

OUTPUTS = 512
GAMMA = 1.2
LEAST = 1e-14
"""p(x) ∝ x^{−GAMMA} as long as p ≥ LEAST."""
SHAPE = 31
"""exp(H)/OUTPUTS ~ Beta(1, SHAPE), H the entropy of the targets of an input: effectively 16 of them on average."""
FIRST, SECOND = 0.9, 0.999
"""Adam's own β."""
EPSILON = 1e-8
HORIZON = 24.0
"""Of the rule 1/(1 − β) = T/HORIZON for the other two (chapter "Other optimizers")."""
DECADES = 24
_CHUNK = 8192
"""Samples whose rare inputs are made at once."""


class Inputs(NamedTuple):
    """n inputs: their embeddings on the unit sphere, targets p(y | x), and the entropies of these."""

    x: Float[Tensor, "n dim"]
    targets: Float[Tensor, "n outputs"]
    entropy: Float[Tensor, " n"]


@cache
def support(gamma: float = GAMMA, least: float = LEAST) -> tuple[int, float]:
    """How many inputs there are and the sum of their weights x^{−γ}: the last has p ≥ `least`, one more would not."""
    total = zeta(gamma)
    for _ in range(50):
        count = math.floor((least * total) ** (-1 / gamma))
        total = zeta(gamma) - zeta(gamma, count + 1)
    return count, float(total)


def tail(rank: int) -> float:
    """The mass of all inputs after that rank."""
    count, total = support()
    return float(zeta(GAMMA, rank + 1) - zeta(GAMMA, count + 1)) / total


def frequencies(ranks: np.ndarray) -> np.ndarray:
    """p(x) by rank."""
    return ranks.astype(float) ** -GAMMA / support()[1]


def sample_ranks(count: int, generator: torch.Generator, beyond: int = 0, table: int = 4096) -> np.ndarray:
    """Ranks drawn from p, of those after `beyond`: by a table of sums, after it by the midpoint rule for them.

    The rule is off by a relative γ/24k² at rank k, less than 10⁻⁸ after the table.
    """
    last = support()[0]
    mass = tail(beyond) * torch.rand(count, dtype=torch.float64, generator=generator).numpy()
    # mass is that of all ranks after the one drawn and a part of its own
    head = np.array([tail(k) for k in (0, table)])
    sums = head[0] - np.cumsum(frequencies(np.arange(1, table + 1)))
    ranks = table - np.searchsorted(sums[::-1], mass) + 1
    mass_in_sum = mass * support()[1] + zeta(GAMMA, last + 1)
    far = np.floor(((GAMMA - 1) * mass_in_sum) ** (-1 / (GAMMA - 1)) + 0.5)
    ranks = np.where(mass < head[1], np.clip(far, table + 1, last), ranks)
    return np.maximum(ranks, beyond + 1).astype(np.int64)


def hashed(ranks: np.ndarray, key: int) -> np.ndarray:
    """64 bits for each rank: two rounds of splitmix64 on the rank and a key."""
    x = ranks.astype(np.uint64)
    with np.errstate(over="ignore"):
        for salt in (np.uint64(2 * key + 1), np.uint64(0)):
            x = (x + salt) * np.uint64(0x9E3779B97F4A7C15)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            x = x ^ (x >> np.uint64(31))
    return x


def entropies(ranks: np.ndarray) -> np.ndarray:
    """H of every input, the same for every seed: exp(H) = OUTPUTS · Beta(1, SHAPE), and 0 where that is below 1."""
    uniform = (hashed(ranks, 0) >> np.uint64(11)) * 2.0**-53
    return np.log(np.maximum(OUTPUTS * -np.expm1(np.log1p(-uniform) / SHAPE), 1.0))


def mean_entropy() -> float:
    """E H, what rare inputs have on average: the integral of log(512 b) over Beta(1, 31) from 1/512 on."""
    edges = np.linspace(0, 1, 10**6 + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    return float(np.log(np.maximum(OUTPUTS * -np.expm1(np.log1p(-middle) / SHAPE), 1.0)).mean())


def tempered(logits: Float[Tensor, "n outputs"], entropy: Float[Tensor, " n"]) -> Float[Tensor, "n outputs"]:
    """softmax(logits / τ) with τ for each row so that it has that entropy, by bisection of log τ in [−10, 4]."""
    low, high = torch.full_like(entropy, -10.0), torch.full_like(entropy, 4.0)
    for _ in range(DECADES):
        middle = (low + high) / 2
        log_p = torch.log_softmax(logits * torch.exp(-middle)[:, None], 1)
        above = -(log_p.exp() * log_p).sum(1) > entropy
        low, high = torch.where(above, low, middle), torch.where(above, middle, high)
    return torch.softmax(logits * torch.exp(-(low + high) / 2)[:, None], 1)


def make_inputs(ranks: np.ndarray, dim: int, seed: int) -> Inputs:
    """The inputs of these ranks in the problem instance `seed`."""
    generator, keys = torch.Generator(), hashed(ranks, seed + 1).astype(np.int64).tolist()
    normals = torch.empty(len(ranks), OUTPUTS + dim)
    for row, key in zip(normals, keys, strict=True):
        row.normal_(generator=generator.manual_seed(key))
    entropy = torch.from_numpy(entropies(ranks)).float()
    logits, x = normals.split([OUTPUTS, dim], 1)
    return Inputs(x / torch.linalg.vector_norm(x, dim=1, keepdim=True), tempered(logits, entropy), entropy)


@lru_cache(maxsize=1)
def common_inputs(count: int, dim: int, seed: int) -> Inputs:
    """The `count` most frequent ones, kept for the next run of the same size."""
    return make_inputs(np.arange(1, count + 1), dim, seed)


def flops_of_step(optimizer: str, dim: int, batch_size: int) -> int:
    """6 N B for N parameters, as the author of the task counts, and for Muon the products of its five quintics.

    N B takes 4, for no gradient of the inputs is needed; work entry by entry and evaluation are not counted.
    """
    flops = 6 * OUTPUTS * dim * batch_size
    if optimizer == "muon":
        small, large = sorted((OUTPUTS, dim))
        flops += 5 * (4 * small**2 * large + 2 * small**3)
    return flops


def quintics(M: Float[Tensor, "m n"]) -> Float[Tensor, "m n"]:
    """Five of Jordan's quintics in float32 on M/‖M‖_F: near the polar factor."""
    if len(M) > M.shape[1]:
        return quintics(M.mT).mT
    X = M / torch.linalg.norm(M)
    for a, b, c in newton_schulz_schedule("jordan"):
        A = X @ X.mT
        X = torch.addmm(X, torch.addmm(A, A, A, beta=b, alpha=c), X, beta=a)
    return X


def adam(W: Tensor, G: Tensor, state: dict, rate: float, step: int, steps: int) -> None:
    """Adam (arXiv:1412.6980) with torch's defaults, G = ∇L; in place, as memory is what its time goes into."""
    M, V, root = (state.setdefault(name, torch.zeros_like(W)) for name in ("M", "V", "root"))
    M.lerp_(G, 1 - FIRST)
    V.mul_(SECOND).addcmul_(G, G, value=1 - SECOND)
    torch.sqrt(V, out=root).add_(EPSILON * math.sqrt(1 - SECOND**step))
    W.addcdiv_(M, root, value=-rate * math.sqrt(1 - SECOND**step) / (1 - FIRST**step))


def averaged(G: Tensor, state: dict, steps: int) -> tuple[Tensor, float]:
    """The average of the gradients, not freed of its bias, and its β = max(0, 1 − HORIZON/T)."""
    beta = max(0.0, 1 - HORIZON / steps)
    return state.setdefault("M", torch.zeros_like(G)).lerp_(G, 1 - beta), beta


def sgd(W: Tensor, G: Tensor, state: dict, rate: float, step: int, steps: int) -> None:
    """W − η M/‖M‖_F: steps of one length along the average."""
    M, _ = averaged(G, state, steps)
    W.sub_(M, alpha=rate / float(torch.linalg.norm(M)))


def muon(W: Tensor, G: Tensor, state: dict, rate: float, step: int, steps: int) -> None:
    """W − η · quintics((1 − β) G + β M): Muon as shipped, in float32."""
    M, beta = averaged(G, state, steps)
    W.sub_(quintics(torch.lerp(G, M, beta)), alpha=rate)


OPTIMIZERS = {"adam": adam, "sgd": sgd, "muon": muon}


def train(
    optimizer: str,
    dim: int,
    batch_size: int,
    steps: int,
    rate: float,
    seed: int,
    head: int,
    device: torch.device | str = "cpu",
) -> Float[Tensor, "outputs dim"]:
    """W after `steps` steps from 0 on labels y ~ p(y | x), the rate falling in a cosine to a tenth.

    head: how many inputs are kept in memory; the others are made when they come.
    """
    update, state = OPTIMIZERS[optimizer], {}
    common = common_inputs(head, dim, seed)
    W = torch.zeros(OUTPUTS, dim, device=device)
    generator = torch.Generator().manual_seed(int(hashed(np.array([seed]), 1)[0] >> np.uint64(1)))
    chunk = max(1, _CHUNK // batch_size)
    minus = torch.full((batch_size, 1), -1.0, device=device)
    step = 0
    while step < steps:
        count = min(chunk, steps - step)
        ranks = sample_ranks(count * batch_size, generator)
        rare, place = np.unique(ranks[ranks > head], return_inverse=True)
        made = make_inputs(rare, dim, seed)
        where = torch.from_numpy(np.where(ranks > head, 0, ranks - 1))
        is_rare = torch.from_numpy(ranks > head)
        x, targets = (table[where] for table in common[:2])
        x[is_rare], targets[is_rare] = (table[torch.from_numpy(place)] for table in made[:2])
        sums = targets.cumsum_(1)
        draw = torch.rand(len(sums), 1, generator=generator) * sums[:, -1:]
        labels = torch.searchsorted(sums, draw).clamp_(max=OUTPUTS - 1)
        for one in range(count):
            part = slice(one * batch_size, (one + 1) * batch_size)
            inputs = x[part].to(device)
            errors = torch.softmax(inputs @ W.mT, 1)
            errors.scatter_add_(1, labels[part].to(device), minus).div_(batch_size)
            step += 1
            now = rate * (0.55 + 0.45 * math.cos(math.pi * (step - 1) / steps))
            update(W, errors.mT @ inputs, state, now, step, steps)
    return W


def excess(W: Tensor, inputs: Inputs) -> Float[Tensor, " n"]:
    """KL(p(· | x) ‖ softmax(W x)) for each input, in nats."""
    log_p = torch.log_softmax(inputs.x.to(W.device) @ W.mT, 1)
    return -(inputs.targets.to(W.device) * log_p).sum(1).cpu() - inputs.entropy


def evaluate(W: Tensor, seed: int, head: int, rare: int) -> dict:
    """excess: the mean over all inputs, those up to `head` one by one, those after it by `rare` draws; error: its
    standard error by these draws; floor: the mean entropy, with E H beyond the head; loss: their sum."""
    common = common_inputs(head, W.shape[1], seed)
    p = frequencies(np.arange(1, head + 1))
    weights = torch.from_numpy(p).float()
    generator = torch.Generator().manual_seed(int(hashed(np.array([seed]), 2)[0] >> np.uint64(1)))
    ranks = sample_ranks(rare, generator, head)
    far = torch.cat(
        [excess(W, make_inputs(part, W.shape[1], seed)) for part in np.array_split(ranks, -(-rare // 4096))]
    )
    near, mass = float(weights @ excess(W, common)), tail(head)
    floor = float(p @ entropies(np.arange(1, head + 1))) + mass * mean_entropy()
    over = near + mass * float(far.mean())
    error = mass * float(far.std()) / math.sqrt(rare)
    return {"excess": over, "error": error, "head": near, "floor": floor, "loss": floor + over}


def measure_run(
    config: SimpleNamespace,
    optimizer: str,
    flops: float,
    dim: int,
    batch_size: int,
    rate: float,
    seed: int,
    device: str,
) -> dict:
    """One run at a budget: what `evaluate` tells, and the steps that the budget allows."""
    steps = max(1, int(flops // flops_of_step(optimizer, dim, batch_size)))
    W = train(optimizer, dim, batch_size, steps, rate, seed, config.head, runtime.device(device))
    return evaluate(W, seed, config.head, config.rare) | {"steps": steps}
