"""`hierarchy`: layers that learn a quadratic feature first need as many samples as it has numbers, a kernel the square.

A study of Wang, Nichani and Lee, arXiv:2311.13774, and on Fu, Wang, Nichani and Lee, arXiv:2411.17201.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.hierarchy.judge import judge, summarise
from amembook.companions.hierarchy.measure import (
    measure_kernel,
    measure_layers,
    measure_memory,
    measure_span,
    measure_transfer,
)
from amembook.run.base import (
    AscendingPositives,
    Chance,
    Config,
    Count,
    Dims,
    Experiment,
    Grid,
    Natural,
    Positive,
    Sizes,
    SteepAlpha,
    draws,
    each,
)
from amemlib.checks import check_count, check_dims

PAPER = "arXiv:2311.13774, arXiv:2411.17201"
CLAIM = (
    "layerwise gradient descent on a three-layer network learns g(p(x)), p of degree k and g of degree q, in Õ(d^k) "
    "samples where kernels need Θ̃(d^(kq)); with several quadratic features it finds their span and learns the target, "
    "or another link, in Õ(d⁴) samples where kernels need Θ(d^(2p)) (abstracts)"
)


def _check_even(name: str, value: int) -> None:
    if value % 2:
        raise ValueError(f"{name} must hold even dimensions, got {value!r}")


ManyDims = Annotated[Dims, partial(check_dims, least=4)]
EvenDims = Annotated[ManyDims, each(_check_even)]


@dataclass(frozen=True)
class HierarchyConfig(Config):
    """Sizes. D = d(d + 1)/2 is the number of quadratic features."""

    dims: EvenDims = (8, 12, 16, 24, 32)  # d of one feature
    ratios: AscendingPositives = (1.2, 1.6, 2.2, 3.2, 4.5, 6.5, 9.0)  # samples over D
    level: Chance = 0.3  # the error that counts as learnt
    kernel_dims: EvenDims = (6, 8, 10, 12)
    # samples over the number of even polynomials of degree 4
    kernel_ratios: AscendingPositives = (0.5, 0.65, 0.8, 0.95, 1.1, 1.3, 1.6)
    kernel_level: Chance = 0.2
    span_dims: EvenDims = (12, 16, 24, 32)  # d of two features
    span_ratios: AscendingPositives = (2.0, 3.0, 4.2, 6.0, 8.5, 12.0, 20.0)  # samples over D
    transfer_dims: EvenDims = (12, 16, 20)
    transfer_ratio: Positive = 100.0
    new_labels: Annotated[int, partial(check_count, least=4)] = 600  # of another link
    memory_dims: ManyDims = (16, 24, 36, 54)  # of the memory whose keys are pairs
    alpha: SteepAlpha = 1.5
    seeds: Count = 24
    first_seed: Natural = 0


def grids(config: HierarchyConfig) -> dict[str, Grid]:
    """Errors of layers, joint passes and kernel by dimension; the span of two features; transfer; pairs as keys of the
    memory."""
    seeds = {"seed": draws(config)}
    return {
        "layers": Grid(measure_layers, {"dim": config.dims} | seeds),
        "kernel": Grid(measure_kernel, {"dim": config.kernel_dims} | seeds),
        "span": Grid(measure_span, {"dim": config.span_dims} | seeds),
        "transfer": Grid(measure_transfer, {"dim": config.transfer_dims} | seeds),
        "memory": Grid(measure_memory, {"dim": config.memory_dims} | seeds),
    }


EXPERIMENT = Experiment(
    name="hierarchy",
    purpose="samples that learn a function of quadratic features, by layers, jointly, by a kernel; pairs as keys",
    profiles={
        "smoke": HierarchyConfig(
            dims=(4, 6), ratios=(1.0, 2.0, 12.0), kernel_dims=(4, 6), kernel_ratios=(0.6, 1.5), span_dims=(4, 6),
            span_ratios=(2.0, 20.0), transfer_dims=(4, 6), transfer_ratio=20.0, new_labels=60, memory_dims=(8, 12),
            seeds=2,
        ),
        "cpu": HierarchyConfig(),
    },
    grids=grids, summarise=summarise, judge=judge, unseen_from=5750,
)  # fmt: skip
