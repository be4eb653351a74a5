"""What is to be remembered: the frequencies of the items, and the embeddings that carry them."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.checks import check_alpha, check_count, check_instance, check_numbers


@dataclass(frozen=True, eq=False)
class Problem:
    """N facts (input i ↦ output i), how often each is seen, and the dimension d of the memory (Section 3).

    frequencies: (N,) float64 on the CPU, positive, sums to 1; item i keeps its place. A power law is in decreasing
        order, and so should be whatever is read by rank (the longest recovered prefix, `thresholded_gradient`).
    dim: d, the embedding dimension.
    alpha: the exponent if the frequencies are a power law, else None.

    Raises `ValueError` or `TypeError` for frequencies that are not a distribution, d < 1 or α ≤ 1/2.
    It is not a data set: embeddings are drawn by `sample_embeddings`.
    """

    frequencies: Float[Tensor, " N"]
    dim: int
    alpha: float | None = None

    def __post_init__(self):
        check_count("dim", self.dim)
        check_frequencies("frequencies", self.frequencies, zeros=False)
        if self.frequencies.dtype != torch.float64:
            raise TypeError(f"frequencies must be a float64 tensor, got {self.frequencies.dtype}")
        if self.frequencies.device.type != "cpu":
            raise ValueError(f"frequencies must lie on the CPU, got {self.frequencies.device}")
        total = self.frequencies.sum().item()
        if abs(total - 1) > 1e-9:
            raise ValueError(f"frequencies must sum to 1, got a sum of {total!r}; Problem.from_frequencies normalises")
        if self.alpha is not None:
            check_alpha(self.alpha)

    @property
    def n_items(self) -> int:
        """N, the number of facts."""
        return self.frequencies.shape[0]

    @classmethod
    def power_law(cls, n_items: int, dim: int, alpha: float) -> "Problem":
        """p_i = i^{−α} / ζ_N(α), the frequencies of the paper (Section 3); α > 1/2."""
        ranks = torch.arange(1, check_count("n_items", n_items) + 1, dtype=torch.float64)
        weights = ranks ** -check_alpha(alpha)
        return cls(weights / weights.sum(), dim, float(alpha))

    @classmethod
    def from_frequencies(cls, p, dim: int) -> "Problem":
        """Any positive weights, for instance the word counts of a real vocabulary; divided by their sum.

        p: (N,) array, tensor or sequence of positive finite numbers; the order of the items is kept.
        """
        if isinstance(p, Tensor):
            p = p.double().numpy(force=True)
        weights = torch.from_numpy(check_numbers("p", p))
        check_frequencies("p", weights, zeros=False)
        return cls(weights / weights.sum(), dim)


@dataclass(frozen=True, eq=False)
class Embeddings:
    """The vectors of one draw: output embeddings U and input embeddings V, both (N, d), rows u_i and v_i.

    U and V share shape, dtype (float32 or float64) and device and are finite, else `ValueError` or `TypeError`.
    """

    U: Float[Tensor, "N d"]
    V: Float[Tensor, "N d"]

    def __post_init__(self):
        for name, X in (("U", self.U), ("V", self.V)):
            if not isinstance(X, Tensor) or X.dtype not in (torch.float32, torch.float64):
                raise TypeError(f"{name} must be a float32 or float64 tensor, got {_kind(X)}")
            if X.ndim != 2 or 0 in X.shape:
                raise ValueError(f"{name} must have shape (N, d) with N, d ≥ 1, got {tuple(X.shape)}")
        if self.U.shape != self.V.shape:
            raise ValueError(f"U and V must have one shape, got {tuple(self.U.shape)} and {tuple(self.V.shape)}")
        if self.U.dtype != self.V.dtype:
            raise TypeError(f"U and V must have one dtype, got {self.U.dtype} and {self.V.dtype}")
        if self.U.device != self.V.device:
            raise ValueError(f"U and V must lie on one device, got {self.U.device} and {self.V.device}")
        for name, X in (("U", self.U), ("V", self.V)):
            _check_finite(name, X)

    @property
    def n_items(self) -> int:
        """N, the number of rows."""
        return self.U.shape[0]

    @property
    def dim(self) -> int:
        """d, the number of columns."""
        return self.U.shape[1]


def check_frequencies(name: str, q: Tensor, n_items: int | None = None, *, zeros: bool = True) -> None:
    """Raise unless `q` is a (N,) float tensor, finite, non-negative (positive if not `zeros`), with a positive sum."""
    _check_floating(name, q)
    if q.ndim != 1 or len(q) == 0 or (n_items is not None and len(q) != n_items):
        raise ValueError(f"{name} must have shape ({'N' if n_items is None else n_items},), got {tuple(q.shape)}")
    wrong = ~torch.isfinite(q) | ((q < 0) if zeros else (q <= 0))
    if wrong.any():
        i = int(wrong.nonzero()[0])
        allowed = "non-negative" if zeros else "positive"
        raise ValueError(f"{name} must be {allowed} and finite, got {q[i].item()!r} at index {i}")
    if not q.any():
        raise ValueError(f"{name} must have a positive sum, got 0.0")


def seen_frequencies(problem: Problem, frequencies: Float[Tensor, " N"] | None) -> Float[Tensor, " N"]:
    """What a gradient saw: the `frequencies` of a minibatch, or with `None` the population's; checked."""
    check_instance("problem", problem, Problem)
    q = problem.frequencies if frequencies is None else frequencies
    check_frequencies("frequencies", q, problem.n_items)
    return q


def check_tensor(name: str, X: Tensor, shape: tuple) -> None:
    """Raise unless `X` is a finite floating-point tensor of this shape.

    shape: a size each, or a letter where any size ≥ 1 will do, one for all places of a letter; a leading ... stands for
        any number of dimensions.
    """
    _check_floating(name, X)
    last = shape[1:] if shape[0] is ... else shape
    sizes = X.shape[max(X.ndim - len(last), 0) :] if shape[0] is ... else X.shape
    letters: dict[str, int] = {}
    fits = len(sizes) == len(last) and all(
        (letters.setdefault(a, b) if isinstance(a, str) else a) == b for a, b in zip(last, sizes, strict=True)
    )
    if not fits or 0 in X.shape:
        words = ", ".join("..." if size is ... else str(size) for size in shape) + "," * (len(shape) == 1)
        empty = ", none of them 0" if 0 in X.shape else ""
        raise ValueError(f"{name} must have shape ({words}){empty}, got {tuple(X.shape)}")
    _check_finite(name, X)


def check_embeddings(emb: Embeddings) -> None:
    """Raise `TypeError` unless `emb` is an `Embeddings`, which has checked itself."""
    check_instance("emb", emb, Embeddings)


def row_norms(X: Float[Tensor, "n m"]) -> Float[Tensor, " n"]:
    """Euclidean length of every row, (n,) float64 whatever the precision of X."""
    return torch.linalg.vector_norm(X, dim=1, dtype=torch.float64)


def _check_floating(name: str, X: Tensor) -> None:
    if not isinstance(X, Tensor) or not X.is_floating_point():
        raise TypeError(f"{name} must be a floating-point tensor, got {_kind(X)}")


def _check_finite(name: str, X: Tensor) -> None:
    if not torch.isfinite(X).all():
        raise ValueError(f"{name} must be finite, got NaN or infinite entries")


def _kind(X) -> str:
    # an array has a dtype too, and "must be a float64 tensor, got float64" would not help
    return str(X.dtype).removeprefix("torch.") if isinstance(X, Tensor) else type(X).__name__
