"""A two-layer attention network as functions of a dict of weights, an induction head by hand, training (Section 6.2).

Weights are plain tensors by name: `embedding` and `unembedding` (vocabulary, d), `position` (L, d), and for each of
the two blocks the matrices `query1`, `key1`, `value1`, `output1` (d, d), with an MLP also `expand1` (h, d) and
`contract1` (d, h). A block adds W_O softmax(…) W_V rms(h) to the residual stream h, and then
W_contract relu(W_expand rms(h)).
"""

import functools
import math
import os
import pickle
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from amemlib.problem import Embeddings
from amemlib.spectral import spectral_map
from amemlib.tasks import Sequences
from amemlib.theory import check_count, check_positive

VECTORS = ("embedding", "position", "unembedding")
"""The weights that are tables of vectors and no maps: Muon leaves them to AdamW, as K. Jordan's Muon does."""
DIVERGED = 3.0
"""A run counts as diverged once its mean loss between two probes is not finite or above this many times
log(vocabulary): a network that knows nothing is near 1."""

_EPSILON = 1e-6
_MUON = {"momentum": 0.9, "weight_decay": 0.01}
_VECTORS_LR = 3e-3


@dataclass(frozen=True)
class Network:
    """Shape of the network: number of tokens, longest sequence, dimension d, width h of the MLPs (0: no MLP)."""

    vocabulary: int
    length: int
    dim: int
    hidden: int = 0

    def __post_init__(self):
        for name in ("vocabulary", "length", "dim"):
            check_count(name, getattr(self, name), least=2)
        check_count("hidden", self.hidden, least=0)


@dataclass(frozen=True, eq=False)
class Activations:
    """What a forward pass saw at the queries: logits (B, K, vocabulary), attention of block 1, (B, L, L), and of
    block 2, (B, K, L), and what block 2 read, (B, K, d): the attended mean of rms(h), before W_V."""

    logits: Float[Tensor, "B K M"]
    first_attention: Float[Tensor, "B L L"]
    second_attention: Float[Tensor, "B K L"]
    read: Float[Tensor, "B K d"]


@dataclass(frozen=True, eq=False)
class TrainingRun:
    """A finished run: its weights, what the probe said at each probed step, and where it diverged (None: nowhere)."""

    weights: dict[str, Tensor]
    history: list[dict]
    diverged: int | None


def initial_weights(network: Network, seed: int) -> dict[str, Tensor]:
    """Independent Gaussian weights: vectors N(0, I/d), matrices with entries N(0, 1/columns); float32, on the CPU."""
    d, hidden = network.dim, network.hidden
    shapes = {"embedding": (network.vocabulary, d), "position": (network.length, d)}
    shapes["unembedding"] = (network.vocabulary, d)
    for block in (1, 2):
        shapes |= {f"{name}{block}": (d, d) for name in ("query", "key", "value", "output")}
        if hidden:
            shapes |= {f"expand{block}": (hidden, d), f"contract{block}": (d, hidden)}
    generator = np.random.default_rng([check_count("seed", seed, least=0), d])
    draw = lambda shape: torch.from_numpy(generator.standard_normal(shape) / math.sqrt(shape[1])).float()  # noqa: E731
    return {name: draw(shape) for name, shape in shapes.items()}


def normalise(h: Float[Tensor, "*rows d"]) -> Float[Tensor, "*rows d"]:
    """rms(h) = h / √(mean h² + 10⁻⁶): every row gets length √d; no learned gain."""
    return h * torch.rsqrt(h.square().mean(-1, keepdim=True) + _EPSILON)


def forward(weights: dict[str, Tensor], tokens: Int[Tensor, "B L"], queries: Int[Tensor, "B K"]) -> Activations:
    """The network at the query positions. Block 2 is computed there only: nothing else is asked of it."""
    B, L = tokens.shape
    d = weights["embedding"].shape[1]
    causal = torch.ones(L, L, dtype=torch.bool, device=tokens.device).tril()
    h = F.embedding(tokens, weights["embedding"]) + weights["position"][:L]
    h, first, _ = _block(weights, "1", h, h, causal)
    rows = h.gather(1, queries[..., None].expand(-1, -1, d))
    h, second, read = _block(weights, "2", rows, h, causal[queries])
    return Activations(normalise(h) @ weights["unembedding"].T, first, second, read)


def recall_loss(weights: dict[str, Tensor], sequences: Sequences) -> Tensor:
    """Mean cross-entropy, in nats, of the outputs that the context decides: the second one of each pair."""
    logits = forward(weights, sequences.tokens, sequences.queries).logits
    return F.cross_entropy(logits.flatten(0, 1), sequences.targets.flatten())


def accuracy(weights: dict[str, Tensor], sequences: Sequences) -> float:
    """Share of the asked outputs whose logit is the largest of the whole vocabulary."""
    with torch.no_grad():
        logits = forward(weights, sequences.tokens, sequences.queries).logits
    return (logits.argmax(-1) == sequences.targets).double().mean().item()


def value_memory(weights: dict[str, Tensor], n_items: int) -> tuple[Float[Tensor, "d d"], Embeddings]:
    """W_V of block 2 as a linear associative memory: the matrix, and the embeddings of the n outputs it stores.

    Input embedding of output y: rms(E_y), as it enters W_V when it stands alone. Output embedding: W_Oᵀ u_y, so that
    the logit of y′ given y is u_{y′}ᵀ W_O W_V rms(E_y). `recovered` of the two is the paper's memory recall.
    """
    U = weights["unembedding"][n_items:].detach() @ weights["output2"].detach()
    return weights["value2"].detach(), Embeddings(U, normalise(weights["embedding"][n_items:].detach()))


def dual_vectors(X: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
    """The vectors x̃_i in the span of the rows with ⟨x̃_i, x_j⟩ = 1{i = j}: exact readers of m ≤ d independent rows."""
    return torch.linalg.pinv(X.double()).T.to(X)


def value_gradient(weights: dict[str, Tensor], sequences: Sequences) -> Float[Tensor, "d d"]:
    """−∂L/∂W_V of block 2 on these sequences, (d, d) float64: rows output side, as `gradients.initial_gradient`."""
    W = weights["value2"].detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(recall_loss(weights | {"value2": W}, sequences), W)
    return -gradient.double()


def induction_head(
    network: Network,
    n_items: int,
    seed: int,
    readers: Callable[[Tensor], Tensor] = dual_vectors,
    sharpness: float = 20.0,
    gain: float = 8.0,
) -> dict[str, Tensor]:
    """Weights in closed form that solve in-context recall: an induction head made of linear associative memories.

    With embeddings e, positions p and unembeddings u drawn as in `initial_weights` and a random matrix R,

        W_Q¹ = I,  W_K¹ = s Σ_t p̃_{t+1} p̃_tᵀ       a position answers to the one after it: the previous-token head
        W_V¹ = R,  W_O¹ = √(2/d) I                and what it writes is R e: the token before, under another name
        W_Q² = I,  W_K² = s Σ_v ẽ_v (r̃_v − ẽ_v)ᵀ   a place answers to the token before it, and not to its own
        W_V² = g Σ_y u_y ẽ_yᵀ,  W_O² = I          what stands there is read out as an output

    where s is the sharpness of the softmax, g the gain over the residual stream, v runs over triggers, y over outputs.
    readers: from all vectors that meet in the residual stream (e, p, R e, R p, one a row) to those that read them,
    written with a tilde. `dual_vectors` reads without any crosstalk and needs d ≥ 2 (vocabulary + L). The identity
    makes every matrix a plain sum of outer products, which is right up to overlaps of order 1/√d.
    Raises `ValueError` for a network with an MLP or less than 2n tokens.
    """
    if network.hidden or network.vocabulary < 2 * n_items:
        raise ValueError(f"network must have no MLP and at least {2 * n_items} tokens, got {network}")
    weights = initial_weights(network, seed)
    E, P, U = (weights[name] for name in VECTORS)
    R, identity = weights["value1"], torch.eye(network.dim)
    s, g = check_positive("sharpness", sharpness), check_positive("gain", gain)
    E, P, before, _ = readers(torch.cat([E, P, E @ R.T, P @ R.T])).split([len(E), len(P)] * 2)
    blocks = {"query1": identity, "key1": s * P[1:].T @ P[:-1], "value1": R}
    blocks |= {"output1": math.sqrt(2 / network.dim) * identity, "query2": identity}
    blocks |= {"key2": s * E[:n_items].T @ (before[:n_items] - E[:n_items])}
    return weights | blocks | {"value2": g * U[n_items:].T @ E[n_items:], "output2": identity}


def muon(weights: dict[str, Tensor], lr: float) -> list[torch.optim.Optimizer]:
    """torch's own Muon for the matrices (five quintic Newton–Schulz steps in bfloat16, Nesterov momentum 0.9, weight
    decay 0.01), AdamW at 3·10⁻³ for the vectors. Raises `ImportError` where torch is older than 2.9."""
    if not hasattr(torch.optim, "Muon"):
        raise ImportError(
            f'torch.optim.Muon needs torch 2.9 or newer, here is {torch.__version__}: pip install "torch>=2.9"; '
            "the exact polar map of `exact_muon` works with this one"
        )
    return [torch.optim.Muon(_matrices(weights), lr=lr, **_MUON), _vectors_adamw(weights)]


def exact_muon(weights: dict[str, Tensor], lr: float) -> list[torch.optim.Optimizer]:
    """Muon with the exact polar factor instead of Newton–Schulz; momentum, scaling and decay as in `muon`.

    It is plain SGD whose gradients are replaced just before the step: W ← (1 − ηω) W − η √max(1, m/n) polar(M).
    """
    optimizer = torch.optim.SGD(_matrices(weights), lr=lr, weight_decay=_MUON["weight_decay"])
    optimizer.register_step_pre_hook(_orthogonalise_gradients)
    return [optimizer, _vectors_adamw(weights)]


def adamw(weights: dict[str, Tensor], lr: float) -> list[torch.optim.Optimizer]:
    """AdamW for all weights, β = (0.9, 0.95), weight decay 0.01."""
    return [torch.optim.AdamW(list(weights.values()), lr=lr, betas=(0.9, 0.95), weight_decay=0.01)]


def sgd(weights: dict[str, Tensor], lr: float) -> list[torch.optim.Optimizer]:
    """SGD with momentum 0.9 and weight decay 10⁻⁴ for all weights."""
    return [torch.optim.SGD(list(weights.values()), lr=lr, momentum=0.9, weight_decay=1e-4)]


OPTIMIZERS = {"muon": muon, "exact_muon": exact_muon, "adamw": adamw, "sgd": sgd}
"""By name: from weights and a constant learning rate to the torch optimizers that share them."""


def train(
    weights: dict[str, Tensor],
    optimizer: Callable[[dict[str, Tensor]], list[torch.optim.Optimizer]],
    batches: Callable[[int], Sequences],
    steps: int,
    probe_every: int,
    probe: Callable[[dict[str, Tensor]], dict],
    checkpoint: Path | None = None,
) -> TrainingRun:
    """Train at a constant step and probe on the way; the given weights are left as they are.

    optimizer: weights ↦ optimizers, one of `OPTIMIZERS` with its learning rate. batches: step ↦ sequences, a function
    and no stream, so that a resumed run sees what it would have seen. probe: weights ↦ plain dict; the history holds
    it with `step` and `loss`, the mean training loss since the last probe, for step 0 and every `probe_every` steps.
    checkpoint: a file, written at every probe and removed at the end; a run that finds it goes on from there and ends
    with the same numbers. A run whose loss diverges (`DIVERGED`) ends there, with the step, and its probes stop before.
    On one CPU thread the result is a function of the arguments.
    """
    check_count("steps", steps)
    check_count("probe_every", probe_every)
    weights = {name: tensor.detach().clone().requires_grad_() for name, tensor in weights.items()}
    optimizers = optimizer(weights)
    step, history, diverged = 0, [], None
    if checkpoint is not None and checkpoint.exists():
        step, history = _load(checkpoint, weights, optimizers)
    else:
        history.append({"step": 0, "loss": None} | probe(weights))
    total = torch.zeros((), device=weights["embedding"].device)
    level = DIVERGED * math.log(len(weights["embedding"]))
    while step < steps:
        loss = recall_loss(weights, batches(step))
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        total += loss.detach()
        step += 1
        if step % probe_every == 0 or step == steps:
            mean = total.item() / (step - history[-1]["step"])
            if not mean <= level:
                diverged = step
                break
            total.zero_()
            history.append({"step": step, "loss": mean} | probe(weights))
            if checkpoint is not None:
                _save(checkpoint, step, history, weights, optimizers)
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    return TrainingRun({name: tensor.detach() for name, tensor in weights.items()}, history, diverged)


def _block(weights, block: str, rows: Tensor, h: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Block `block` at the rows `rows`, reading from all of h: new rows, attention, attended mean of rms(h)."""
    x = normalise(h)
    asked = (x if rows is h else normalise(rows)) @ (weights["query" + block].T @ weights["key" + block])
    scores = asked @ x.transpose(1, 2) / math.sqrt(h.shape[2])
    attention = scores.masked_fill(~allowed, -math.inf).softmax(-1)
    read = attention @ x
    rows = rows + read @ (weights["output" + block] @ weights["value" + block]).T
    if "expand" + block in weights:
        inner = normalise(rows) @ weights["expand" + block].T
        rows = rows + inner.relu() @ weights["contract" + block].T
    return rows, attention, read


def _matrices(weights: dict[str, Tensor]) -> list[Tensor]:
    return [tensor for name, tensor in weights.items() if name not in VECTORS]


def _vectors_adamw(weights: dict[str, Tensor]) -> torch.optim.Optimizer:
    return adamw({name: weights[name] for name in VECTORS}, _VECTORS_LR)[0]


@torch.no_grad()
def _orthogonalise_gradients(optimizer, args, kwargs) -> None:
    for group in optimizer.param_groups:
        for W in group["params"]:
            state, momentum = optimizer.state[W], _MUON["momentum"]
            average = state.setdefault("average", torch.zeros_like(W)).lerp_(W.grad, 1 - momentum)
            G = W.grad.lerp(average, momentum)
            # the numerical rank of a float32 gradient: below it the directions are rounding and must not become 1
            cut = G.numel() ** 0.25 * torch.finfo(G.dtype).eps
            O = spectral_map(G, functools.partial(_above, cut=cut)) if G.any() else G  # noqa: E741
            W.grad = (math.sqrt(max(1, W.shape[0] / W.shape[1])) * O).to(W)


def _above(s: Tensor, cut: float) -> Tensor:
    return (s > cut * s[0]).to(s)


def _save(path: Path, step: int, history: list[dict], weights: dict[str, Tensor], optimizers: list) -> None:
    state = {"step": step, "history": history, "weights": {name: W.detach() for name, W in weights.items()}}
    state["optimizers"] = [optimizer.state_dict() for optimizer in optimizers]
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
        torch.save(state, file)
    os.replace(file.name, path)


def _load(path: Path, weights: dict[str, Tensor], optimizers: list) -> tuple[int, list[dict]]:
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        with torch.no_grad():
            for name, W in weights.items():
                W.copy_(state["weights"][name])
        for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        return state["step"], state["history"]
    except (RuntimeError, ValueError, KeyError, TypeError, EOFError, OSError, pickle.UnpicklingError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:80]
        raise ValueError(f"checkpoint must hold this run, got {str(path)!r} ({reason}): delete it") from None
