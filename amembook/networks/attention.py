"""A two-layer attention network as functions of a dict of weights, and an induction head by hand (Section 6.2).

Weights are plain tensors by name: `embedding` and `unembedding` (vocabulary, d), `position` (L, d), and for each of
the two blocks the matrices `query1`, `key1`, `value1`, `output1` (d, d), with an MLP also `expand1` (h, d) and
`contract1` (d, h). A block adds W_O softmax(…) W_V rms(h) to the residual stream h, and then
W_contract relu(W_expand rms(h)).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from amembook.networks.tasks import Sequences
from amemlib.checks import check_count, check_positive
from amemlib.problem import Embeddings

_EPSILON = 1e-6


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
    draw = lambda shape: torch.from_numpy(generator.standard_normal(shape) / math.sqrt(shape[1])).float()
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
    E, P, U = (weights[name] for name in ("embedding", "position", "unembedding"))
    R, identity = weights["value1"], torch.eye(network.dim)
    s, g = check_positive("sharpness", sharpness), check_positive("gain", gain)
    E, P, before, _ = readers(torch.cat([E, P, E @ R.T, P @ R.T])).split([len(E), len(P)] * 2)
    blocks = {"query1": identity, "key1": s * P[1:].T @ P[:-1], "value1": R}
    blocks |= {"output1": math.sqrt(2 / network.dim) * identity, "query2": identity}
    blocks |= {"key2": s * E[:n_items].T @ (before[:n_items] - E[:n_items])}
    return weights | blocks | {"value2": g * U[n_items:].T @ E[n_items:], "output2": identity}


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
