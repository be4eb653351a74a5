"""The leading block of h_λ(G) and its expansion in small Gaussian matrices: the tools of Appendix B, made to be tested.

The proof of Proposition 18 needs these exact objects; no optimizer does.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.checks import check_count
from amemlib.problem import Embeddings, check_frequencies

_LOG_STEP = 0.2


@dataclass(frozen=True, eq=False)
class LeadingBlock:
    """G = U₁ Q V₁ᵀ + G₂ split after its first k items, in the bases of Eqs. (27)–(28).

    weights: (k,) the diagonal of Q. X = U₁ᵀU₁ − I and Y = V₁ᵀV₁ − I: (k, k). Z = O_Uᵀ G₂ O_V: (d, d), where O_U begins
    with U₁(I + X)^{−1/2} and is completed to an orthogonal matrix, and O_V likewise. Z has the law of G₂ and is
    independent of X and Y.
    """

    weights: Float[Tensor, " k"]
    X: Float[Tensor, "k k"]
    Y: Float[Tensor, "k k"]
    Z: Float[Tensor, "d d"]

    @classmethod
    def split(cls, emb: Embeddings, q: Float[Tensor, " N"], k: int) -> "LeadingBlock":
        """From embeddings and frequencies; `ValueError` unless 1 ≤ k < min(d, N)."""
        check_frequencies("q", q, emb.n_items)
        if check_count("k", k) >= min(emb.dim, emb.n_items):
            raise ValueError(f"k must be below d = {emb.dim} and N = {emb.n_items}, got {k}")
        U, V, q = emb.U.double(), emb.V.double(), q.double().to(emb.U.device)
        tail = (U[k:].T * q[k:]) @ V[k:]
        sides = []
        for leading in (U[:k], V[:k]):
            squares, basis = torch.linalg.eigh(leading @ leading.T)
            first = leading.T @ (basis / squares.sqrt()) @ basis.T
            sides.append(torch.cat([first, torch.linalg.svd(first).U[:, k:]], 1))
        eye = torch.eye(k, dtype=torch.float64, device=U.device)
        return cls(q[:k], U[:k] @ U[:k].T - eye, V[:k] @ V[:k].T - eye, sides[0].T @ tail @ sides[1])

    def smallness(self, lam: float) -> float:
        """ρ = max(‖X‖, ‖Y‖, ‖Z‖/λ), the parameter that Eqs. (24)–(25) want below 1/log d."""
        norms = [torch.linalg.matrix_norm(M, 2) for M in (self.X, self.Y, self.Z / lam)]
        return float(torch.stack(norms).max())

    def resolvent_parts(
        self, lam: float, s: Float[Tensor, " n"], order: int | None = None
    ) -> tuple[Float[Tensor, "k d"], Float[Tensor, "n d"], Float[Tensor, "n d d"]]:
        """N (its first k rows), the diagonal of D_s and E_s at each s, Eq. (30).

        order: cut the series of (I + X)^{1/2}, (I + Y)^{−1/2} and (I + Y)^{−1} after this power (Lemma 21); None sums
            them all.
        """
        d, k = len(self.Z), len(self.X)
        pad = lambda M: torch.nn.functional.pad(M, (0, d - k, 0, d - k))
        X, Y, Q = pad(self.X), pad(self.Y), pad(torch.diag(self.weights))
        root, inverse_root, inverse = (_power(M, p, order) for M, p in ((X, 0.5), (Y, -0.5), (Y, -1.0)))
        eye = torch.eye(d, dtype=torch.float64, device=X.device)
        mixed = root @ self.Z @ inverse_root
        cross = Q @ mixed
        mu2 = lam**2 + s**2
        constant = Q @ X @ Q + cross + cross.T + inverse_root @ self.Z.T @ self.Z @ inverse_root
        numerator = (Q + X @ Q + mixed)[:k]
        return numerator, Q.diagonal() ** 2 + mu2[:, None], constant + mu2[:, None, None] * (inverse - eye)

    def interactions(self, lam: float, order: int | None = None) -> Float[Tensor, "k k"]:
        """U₁ᵀ h_λ(G) V₁ by Eq. (28), (2/π) ∫₀^∞ N (D_s + E_s)^{−1} ds; entry j, i is γ_ij.

        order: T of Lemma 23, the series of Lemma 21 and the Neumann series in E_s both cut there; None is exact, to the
            fourteen digits of the rule in log s.
        """
        k = len(self.X)
        scale = float(self.weights.max()) + float(torch.linalg.matrix_norm(self.Z, 2))
        log_s = torch.arange(math.log(1e-16 * lam), math.log(1e16 * (scale + lam)), _LOG_STEP, dtype=torch.float64)
        total = torch.zeros(k, k, dtype=torch.float64, device=self.X.device)
        for s in log_s.exp().to(self.X.device).split(64):
            N, D, E = self.resolvent_parts(lam, s, order)
            if order is None:
                block = torch.linalg.solve(torch.diag_embed(D) + E, N.expand(len(s), *N.shape), left=False)
            else:
                term = N / D[:, None]
                block = term.clone()
                for _ in range(order):
                    term = -(term @ E) / D[:, None]
                    block += term
            total += (block[:, :, :k] * s[:, None, None]).sum(0)
        return 2 / math.pi * _LOG_STEP * total


def _power(M: Tensor, exponent: float, order: int | None) -> Tensor:
    """(I + M)^exponent for a symmetric M, or its binomial series up to M^order."""
    if order is None:
        values, basis = torch.linalg.eigh(M)
        return (basis * (1 + values) ** exponent) @ basis.T
    eye = torch.eye(len(M), dtype=M.dtype, device=M.device)
    term, total = eye, eye
    for n in range(1, order + 1):
        term = (exponent - n + 1) / n * term @ M
        total = total + term
    return total
