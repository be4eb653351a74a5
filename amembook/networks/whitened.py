"""Updates that know more than their gradient: (state, Pass) ↦ (state, step), W ← W + η · step, no state at first.

Averages of gradients and of second moments are freed of their bias. A floor is the polar factor of the same average at
`FLOOR` of the Frobenius norm, without which the loss suffers (chapter "How good can one step be?").
"""

from collections.abc import Callable
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from amembook.networks import updates
from amemlib.spectral import polar
from amemlib.whitening import balanced_sum, whiten

SECOND = 0.9
"""β₂ of every average of second moments."""
FLOOR = 0.6
DAMPING = 1e-3
"""Of every moment that is inverted, in units of its mean eigenvalue."""

State = updates.State


class Pass(NamedTuple):
    """What one batch shows of a matrix.

    G: −∇L. q, errors, inputs: of the n items seen their share of the batch, δ_i = u_i − Σ_j π_j u_j, and v_i, so that
    G = Σ q_i δ_i v_iᵀ. shared: Σ_r G_rᵀG_r over the matrices that read the same inputs, this one among them.
    """

    G: Float[Tensor, "d d"]
    q: Float[Tensor, " n"]
    errors: Float[Tensor, "n d"]
    inputs: Float[Tensor, "n d"]
    shared: Float[Tensor, "d d"]


Update = Callable[[State, Pass], tuple[State, Tensor]]


def sgd(state: State, seen: Pass, beta: float) -> tuple[State, Tensor]:
    """M, the average of the gradients."""
    return updates.averaged(state, seen.G, beta)


def muon(state: State, seen: Pass, beta: float) -> tuple[State, Tensor]:
    """polar(M)."""
    state, M = updates.averaged(state, seen.G, beta)
    return state, polar(M)


def newton_muon(state: State, seen: Pass, beta: float, damping: float = DAMPING) -> tuple[State, Tensor]:
    """polar(M Σ_v⁻¹), Σ_v the average of Σ q v vᵀ (arXiv:2604.01472)."""
    state, M = updates.averaged(state, seen.G, beta)
    state, V = updates.averaged(state, _moment(seen.inputs, seen.q), SECOND, "V")
    return state, polar(whiten(M, right=V, damping=damping))


def kfac_polar(state: State, seen: Pass, beta: float, damping: float = DAMPING) -> tuple[State, Tensor]:
    """Σ_u⁻¹ M Σ_v⁻¹ with a floor, Σ_u the average of Σ q δ δᵀ over the errors δ: K-FAC by the empirical Fisher."""
    state, M = updates.averaged(state, seen.G, beta)
    state, U = updates.averaged(state, _moment(seen.errors, seen.q), SECOND, "U")
    state, V = updates.averaged(state, _moment(seen.inputs, seen.q), SECOND, "V")
    return state, balanced_sum([whiten(M, U, V, damping), polar(M)], [1, FLOOR])


def matched_polar(state: State, seen: Pass, beta: float, damping: float = DAMPING) -> tuple[State, Tensor]:
    """M (Σ q² ‖δ‖² v vᵀ)⁻¹ with a floor, the moment averaged: W* where the errors are still the outputs."""
    state, M = updates.averaged(state, seen.G, beta)
    weights = seen.q**2 * seen.errors.square().sum(1)
    state, V = updates.averaged(state, _moment(seen.inputs, weights), SECOND, "V")
    return state, balanced_sum([whiten(M, right=V, damping=damping), polar(M)], [1, FLOOR])


def siblings_polar(state: State, seen: Pass, beta: float, damping: float = DAMPING) -> tuple[State, Tensor]:
    """M (Σ_r G_rᵀG_r)⁻¹ with a floor, the moment averaged."""
    state, M = updates.averaged(state, seen.G, beta)
    state, V = updates.averaged(state, seen.shared, SECOND, "V")
    return state, balanced_sum([whiten(M, right=V, damping=damping), polar(M)], [1, FLOOR])


def soap(state: State, seen: Pass, beta: float) -> tuple[State, Tensor]:
    """SOAP, whose first step is the one that it would skip: polar(G)."""
    first = not state
    state, step = updates.soap(state, seen.G, beta, SECOND)
    return state, polar(seen.G) if first else step


UPDATES: dict[str, Update] = {
    "sgd": sgd,
    "muon": muon,
    "newton_muon": newton_muon,
    "siblings_polar": siblings_polar,
    "matched_polar": matched_polar,
    "kfac_polar": kfac_polar,
    "soap": soap,
}


def _moment(x: Float[Tensor, "n d"], weights: Float[Tensor, " n"]) -> Float[Tensor, "d d"]:
    return x.mT @ (weights[:, None] * x)
