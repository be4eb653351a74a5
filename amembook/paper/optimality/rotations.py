"""Random rotations for averages over the Haar measure; keyed like the draws of `amemlib.sampling`."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.checks import check_count

_STREAM = 5
"""Beside the streams of `amemlib.sampling`, which are 0 to 4."""


def sample_rotations(dim: int, n_rotations: int, seed: int) -> Float[Tensor, "n d d"]:
    """n independent orthogonal d × d matrices from the Haar measure, float64, by QR of Gaussian matrices.

    The signs of R's diagonal go into Q: without them Q depends on the QR routine and is not Haar-distributed.
    Raises `ValueError` for sizes < 1 and a negative seed.
    """
    shape = (check_count("n_rotations", n_rotations), check_count("dim", dim), dim)
    Q, R = np.linalg.qr(
        np.random.default_rng([check_count("seed", seed, least=0), dim, _STREAM]).standard_normal(shape)
    )
    return torch.from_numpy(Q * np.sign(np.diagonal(R, axis1=1, axis2=2))[:, None, :])
