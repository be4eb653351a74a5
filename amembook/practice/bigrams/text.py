"""The bigrams of a real text as contexts, their frequencies and the distributions of the words that follow."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.checks import check_count, check_real

MOST_WORDS = 2048


@dataclass(frozen=True, eq=False)
class SoftTargets:
    """P(i | j), (N, N), whose columns are the contexts j and sum to 1; their frequencies π, (N,), which sum to 1."""

    P: Float[Tensor, "N N"]
    frequencies: Float[Tensor, " N"]

    def __post_init__(self):
        for name, total in (("P", self.P.sum(0)), ("frequencies", self.frequencies.sum())):
            if not torch.allclose(total, torch.ones_like(total)):
                raise ValueError(f"{name} must sum to 1, got {total.flatten()[:3].tolist()}")

    @property
    def centred(self) -> Float[Tensor, "N N"]:
        """C = (P − 1/N) diag π: the gradient at W = 0 is Uᵀ C V."""
        return (self.P - 1 / len(self.P)) * self.frequencies

    @property
    def entropy(self) -> float:
        """Σ_j π_j H(P(· | j)), in nats: no memory has a smaller loss."""
        return -(self.frequencies @ torch.special.xlogy(self.P, self.P).sum(0)).item()


@cache
def _counts() -> tuple[np.ndarray, ...]:
    with (files("amembook") / "tables" / "python-bigrams.npz").open("rb") as file:
        table = np.load(file)
        return tuple(table[name].astype(np.int64) for name in ("first", "second", "number"))


def bigrams(n_words: int) -> SoftTargets:
    """How often each of the `n_words` most frequent words follows each, as shares (`amembook/tables`)."""
    if not 2 <= check_count("n_words", n_words) <= MOST_WORDS:
        raise ValueError(f"n_words must be from 2 to {MOST_WORDS}, got {n_words}")
    first, second, number = _counts()
    held = (first < n_words) & (second < n_words)
    counts = torch.zeros(n_words, n_words, dtype=torch.float64)
    counts[second[held], first[held]] = torch.from_numpy(number[held]).double()
    total = counts.sum(0)
    if not total.all():
        # a word after which none of the others stands: the text's own frequencies, and the weight of one sighting
        alone = total == 0
        counts[:, alone] = (counts.sum(1) / counts.sum())[:, None]
        total = counts.sum(0)
    return SoftTargets(counts / total, total / total.sum())


def associated(share: float, n_words: int) -> SoftTargets:
    """share · P(i | j) + (1 − share) · p_i: the text at 1, words that do not know their neighbour at 0."""
    if not 0 <= check_real("share", share) <= 1:
        raise ValueError(f"share must be in [0, 1], got {share!r}")
    text = bigrams(n_words)
    words = text.P @ text.frequencies
    return SoftTargets(share * text.P + (1 - share) * words[:, None], text.frequencies)


def copied(n_words: int) -> SoftTargets:
    """One output a context, with the text's frequencies: the memory of the rest of this book."""
    text = bigrams(n_words)
    return SoftTargets(torch.eye(n_words, dtype=torch.float64), text.frequencies)


def targets(name: str, n_words: int) -> SoftTargets:
    """ "copy", or a share of association such as "0.5"; `ValueError` for anything else."""
    if name == "copy":
        return copied(n_words)
    try:
        share = float(name)
    except ValueError:
        raise ValueError(f"targets must be copy or shares in [0, 1], got {name!r}") from None
    return associated(share, n_words)
