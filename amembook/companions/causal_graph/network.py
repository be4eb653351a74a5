"""Two layers of disentangled attention as functions of two matrices, and their first gradient in closed form.

The simplified network of arXiv:2402.14735 in our reading: token i attends to the places j ≤ i by position,

    y_i = Σ_j softmax_{j ≤ i}(P_ij) x_j,    b = softmax_i(x_qᵀ R y_i),    f = Σ_i b_i x_i,

x one-hot, q the query. P is (T, T), R is (S, S), the prediction f a law on the S states. The query itself is no place.
"""

from itertools import islice

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from amembook.networks.adam import adam
from amembook.networks.tasks.causal import CausalSequences, CausalTask, sample_causal
from amemlib.checks import check_count

FLOOR = 1e-3
"""What is added to the predicted probability of the target: the network says 0 for a state it has not seen."""


def causal_mask(length: int) -> Tensor:
    """(T, T) bool: j ≤ i."""
    return torch.ones(length, length, dtype=torch.bool).tril()


def position_attention(P: Float[Tensor, "T T"]) -> Float[Tensor, "T T"]:
    """softmax of each row over the places up to its own."""
    return P.masked_fill(~causal_mask(len(P)), -torch.inf).softmax(-1)


def predict(P: Float[Tensor, "T T"], R: Float[Tensor, "S S"], sequences: CausalSequences) -> Float[Tensor, "B S"]:
    """f for each sequence, (B, S); rows sum to 1."""
    x = F.one_hot(sequences.contexts, len(R)).to(P)
    matches = (x @ R.T).gather(2, sequences.queries[:, None, None].expand(*x.shape[:2], 1))[..., 0]
    b = (matches @ position_attention(P).T).softmax(-1)
    return (b[:, None] @ x)[:, 0]


def causal_loss(P: Float[Tensor, "T T"], R: Float[Tensor, "S S"], sequences: CausalSequences) -> Tensor:
    """Mean of −log(f_target + 10⁻³)."""
    return -(predict(P, R, sequences).gather(1, sequences.targets[:, None]) + FLOOR).log().mean()


def score_factors(sequences: CausalSequences) -> tuple[Float[Tensor, "B T"], Float[Tensor, "B T"]]:
    """Child and parent factors of each sequence's scores: z_ij = child_i · parent_j.

    child_i = T 1{x_i = target} / C − 1{C > 0} with C the target's count in the context, parent_j = S 1{x_j = query}.
    """
    is_target = (sequences.contexts == sequences.targets[:, None]).double()
    count = is_target.sum(1, keepdim=True)
    child = is_target.shape[1] * is_target / count.clamp_min(1) - (count > 0).double()
    return child, sequences.kernels.shape[-1] * (sequences.contexts == sequences.queries[:, None]).double()


def scores(child: Float[Tensor, "B T"], parent: Float[Tensor, "B T"]) -> Float[Tensor, "T T"]:
    """Mean of child_i parent_j over sequences, 0 for j > i: the matrix that the first gradient is made of."""
    return (child.T @ parent / len(child)).tril()


def first_gradient(matrix: Float[Tensor, "*batch T T"]) -> Float[Tensor, "*batch T T"]:
    """−∂loss/∂P at P = 0, R = β I to first order in β, in units of β/(S T): (z_ij − mean_{k ≤ i} z_ik) / (i + 1).

    matrix: the `scores`. The division is the softmax's derivative at uniform attention over i + 1 places, counted
    from i = 0. The floor of the loss is left out, which is right as long as it is small beside 1/T.
    """
    T = matrix.shape[-1]
    sizes = torch.arange(1, T + 1, dtype=matrix.dtype)[:, None]
    return ((matrix - matrix.sum(-1, keepdim=True) / sizes) / sizes).tril()


def recovered_edges(update: Float[Tensor, "*batch T T"], parents: tuple[int, ...]) -> Float[Tensor, "*batch E"]:
    """1 for each edge whose entry is the largest of its row's places j ≤ i, in the order of the children; float64."""
    edges = [(child, parent) for child, parent in enumerate(parents) if parent >= 0]
    allowed = update.masked_fill(~causal_mask(update.shape[-1]), -torch.inf)
    largest = allowed[..., [child for child, _ in edges], :].argmax(-1)
    return (largest == torch.tensor([parent for _, parent in edges])).double()


def train_network(task: CausalTask, steps: int, batch_size: int, lr: float, seed: int) -> tuple[Tensor, Tensor]:
    """P and R after `steps` of Adam from P = 0, R = I, every batch fresh; float64, on the CPU."""
    check_count("steps", steps)
    weights = [torch.zeros(task.length, task.length, dtype=torch.float64), torch.eye(task.n_states).double()]

    def gradients(step, weights):
        return torch.autograd.grad(causal_loss(*weights, sample_causal(task, batch_size, seed, step)), weights)

    P, R = next(islice(adam(weights, gradients, lr), steps - 1, None))
    return P, R
