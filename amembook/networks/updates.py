"""The optimizers as functions (state, G) ↦ (state, step): G = −∇L of this step, W ← W + η · step, no state at first.

Every formula is that of its paper without weight decay, schedule, and the rescaling by shape that a square needs not.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.spectral import newton_schulz, polar

FIRST, SECOND = 0.95, 0.95
"""β₁ of the average of gradients and β₂ of their squares, for all optimizers that have them: Muon's and NorMuon's own
defaults; KellerJordan/modded-nanogpt's track 3 has β₂ = 0.95 for Adam too. One value for all, so that none is tuned."""
ADAM_FIRST = 0.9
"""β₁ of Adam and Shampoo there."""
EPSILON = 1e-10
_ROUNDING = 1e-14
RANK_FRACTION = 0.25
"""r/d of the low-rank Dion."""
_START = 12345

State = dict[str, Tensor | int]
Update = Callable[[State, Float[Tensor, "m n"]], tuple[State, Float[Tensor, "m n"]]]


def sgd(state: State, G: Tensor, beta: float = FIRST) -> tuple[State, Tensor]:
    """The average of the gradients itself."""
    return averaged(state, G, beta)


def sign(state: State, G: Tensor, beta: float = FIRST) -> tuple[State, Tensor]:
    """sign M, Signum (arXiv:1802.04434): without the average signSGD."""
    state, M = averaged(state, G, beta)
    return state, M.sign()


def adam(state: State, G: Tensor, beta: float = ADAM_FIRST) -> tuple[State, Tensor]:
    """M / (√V + ε), both averages freed of their bias (arXiv:1412.6980)."""
    state, M = averaged(state, G, beta)
    state, V = averaged(state, G.square(), SECOND, "V")
    return state, M / (V.sqrt() + EPSILON)


def muon(state: State, G: Tensor, beta: float = FIRST) -> tuple[State, Tensor]:
    """polar((1 − β) G + β M): Nesterov's average and the exact polar factor, M freed of its bias."""
    state, M = averaged(state, G, beta)
    return state, polar(torch.lerp(G, M, beta))


def muon_shipped(state: State, G: Tensor, beta: float = FIRST) -> tuple[State, Tensor]:
    """polar((1 − β) G + β M), M ← β M + (1 − β) G from 0 and not freed of its bias: torch.optim.Muon's average.

    While the run is young it weighs the newest gradient more than `muon` does: 2.2 : 1 in the second step, not 1.16.
    """
    M = torch.lerp(G, state.get("M", torch.zeros_like(G)), beta)
    return {"M": M}, polar(torch.lerp(G, M, beta))


def muon_five_steps(state: State, G: Tensor, beta: float = FIRST) -> tuple[State, Tensor]:
    """The same with five of Jordan's quintics; the first step is the shipped one."""
    state, M = averaged(state, G, beta)
    return state, newton_schulz(torch.lerp(G, M, beta), coefficients="jordan")


def muon_without_momentum(state: State, G: Tensor) -> tuple[State, Tensor]:
    """polar(G), spectral descent (Carlson, Cevher and Carin, 2015); Shampoo with β₁ = β₂ = 0 is the same."""
    return state, polar(G)


def muon_squared(state: State, G: Tensor, beta: float = FIRST) -> tuple[State, Tensor]:
    """polar(M / (√V + ε)): Muon² (arXiv:2604.09967)."""
    state, M = averaged(state, G, beta)
    state, V = averaged(state, G.square(), SECOND, "V")
    return state, polar(M / (V.sqrt() + EPSILON))


def normuon(state: State, G: Tensor, beta: float = FIRST) -> tuple[State, Tensor]:
    """The rows of O = polar(…) over the root of the average of their mean squares, ‖O‖_F kept (arXiv:2510.05491)."""
    state, M = averaged(state, G, beta)
    O = polar(torch.lerp(G, M, beta))  # noqa: E741
    state, v = averaged(state, O.square().mean(1, keepdim=True), SECOND, "v")
    rows = O / (v.sqrt() + EPSILON)
    return state, rows * (torch.linalg.norm(O) / torch.linalg.norm(rows))


def shampoo(state: State, G: Tensor, beta: float = ADAM_FIRST) -> tuple[State, Tensor]:
    """L^{−1/4} M R^{−1/4}, L and R averages of GGᵀ and GᵀG; in arXiv:1802.09568 they are sums, and M is G."""
    state, M = averaged(state, G, beta)
    state, L = averaged(state, G @ G.mT, SECOND, "L")
    state, R = averaged(state, G.mT @ G, SECOND, "R")
    return state, _root(L, 0.25) @ M @ _root(R, 0.25)


def one_sided_shampoo(state: State, G: Tensor, beta: float = ADAM_FIRST) -> tuple[State, Tensor]:
    """L^{−1/2} M, the left side alone."""
    state, M = averaged(state, G, beta)
    state, L = averaged(state, G @ G.mT, SECOND, "L")
    return state, _root(L, 0.5) @ M


def soap(state: State, G: Tensor, beta: float = FIRST, second: float = SECOND) -> tuple[State, Tensor]:
    """P (M′ / (√V + ε)) Qᵀ with M′ = PᵀMQ, V the average of (PᵀGQ)²: Adam in the eigenbases P of L and Q of R of the
    steps *before* (arXiv:2409.11321). Bases follow by one power iteration a step; the first step only finds them."""
    first = not state
    state, M = averaged(state, G, beta)
    if not first:
        P, Q = state["P"], state["Q"]
        state, V = averaged(state, (P.mT @ G @ Q).square(), second, "V")
        step = P @ ((P.mT @ M @ Q) / (V.sqrt() + EPSILON)) @ Q.mT
    state, L = averaged(state, G @ G.mT, second, "L")
    state, R = averaged(state, G.mT @ G, second, "R")
    if first:
        P, Q = (torch.linalg.eigh(X)[1].flip(1) for X in (L, R))
        return state | {"P": P, "Q": Q}, torch.zeros_like(G)
    for name, X, basis, axis in (("P", L, P, 0), ("Q", R, Q, 1)):
        image = X @ basis
        order = (basis * image).sum(0).argsort(descending=True)
        state |= {name: torch.linalg.qr(image[:, order])[0], "V": state["V"].index_select(axis, order)}
    return state, step


def soap_at_once(G: Float[Tensor, "m n"], epsilon: float = EPSILON) -> Float[Tensor, "m n"]:
    """SOAP's first step if it were taken, in the bases of its own gradient and in G's own precision."""
    P, Q = (torch.linalg.eigh(X)[1] for X in (G @ G.mT, G.mT @ G))
    M = P.mT @ G @ Q
    return P @ (M / (M.abs() + epsilon)) @ Q.mT


def dion(state: State, G: Tensor, rank_fraction: float = RANK_FRACTION) -> tuple[State, Tensor]:
    """P Q′ᵀ: B = M + G, P = orth(B Q), R = BᵀP, Q′ = R with columns of length one, M′ = B − (1 − β) P Rᵀ
    (arXiv:2504.05295). One step of a power iteration that goes on from where the last one ended; Q starts at random."""
    rank = max(1, round(rank_fraction * min(G.shape)))
    if not state:
        start = torch.randn(G.shape[1], rank, generator=torch.Generator().manual_seed(_START), dtype=torch.float64)
        state = {"M": torch.zeros_like(G), "Q": start.to(G.device)}
    B = state["M"] + G
    P = torch.linalg.qr(B @ state["Q"])[0]
    R = B.mT @ P
    Q = R / (torch.linalg.vector_norm(R, dim=0) + EPSILON)
    return {"M": B - (1 - FIRST) * P @ R.mT, "Q": Q}, P @ Q.mT


def full_dion(state: State, G: Tensor) -> tuple[State, Tensor]:
    """Dion at full rank."""
    return dion(state, G, 1.0)


UPDATES: dict[str, Update] = {
    "sgd": sgd,
    "sign": sign,
    "adam": adam,
    "muon": muon,
    "muon_five_steps": muon_five_steps,
    "muon_without_momentum": muon_without_momentum,
    "muon_squared": muon_squared,
    "normuon": normuon,
    "shampoo": shampoo,
    "one_sided_shampoo": one_sided_shampoo,
    "soap": soap,
    "dion": dion,
    "full_dion": full_dion,
}
"""Every optimizer of the study by name."""


def averaged(state: State, X: Tensor, beta: float, name: str = "M") -> tuple[State, Tensor]:
    """The average of X so far with weights β^k, freed of its bias, under `name` in a new state."""
    count = state.get(f"{name} count", 0) + 1
    mean = (1 - beta) * X + beta * state[name] if name in state else (1 - beta) * X
    return state | {name: mean, f"{name} count": count}, mean / (1 - beta**count)


def _root(A: Tensor, power: float) -> Tensor:
    """A^{−power} of a positive semidefinite A, 0 on the directions that rounding cannot tell from its kernel."""
    values, basis = torch.linalg.eigh(A)
    kept = values > _ROUNDING * values[-1]
    return (basis * values.clamp(min=torch.finfo(A.dtype).tiny).pow(-power).masked_fill(~kept, 0)) @ basis.mT
