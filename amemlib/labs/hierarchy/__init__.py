"""`hierarchy`: layers that learn a quadratic feature first need as many samples as it has numbers, a kernel the square.

A lab on Wang, Nichani and Lee, arXiv:2311.13774, and on Fu, Wang, Nichani and Lee, arXiv:2411.17201.
"""

from dataclasses import dataclass

from amemlib.checks import check_alpha, check_count, check_dims, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.hierarchy.judge import judge, summarise
from amemlib.labs.hierarchy.measure import (
    measure_joint,
    measure_kernel,
    measure_layerwise,
    measure_many,
    measure_memory,
    measure_span,
    measure_transfer,
)

PAPER = "arXiv:2311.13774, arXiv:2411.17201"
CLAIM = (
    "layerwise gradient descent on a three-layer network learns g(p(x)), p of degree k and g of degree q, in Õ(d^k) "
    "samples where kernels need Θ̃(d^(kq)); with several quadratic features it finds their span and learns the target, "
    "or another link, in Õ(d⁴) samples where kernels need Θ(d^(2p)) (abstracts)"
)


@dataclass(frozen=True)
class HierarchyConfig:
    """Sizes of the lab. D = d(d + 1)/2 is the number of quadratic features.

    dims: of one feature. ratios, joint_ratios: samples over D, layer by layer and with joint passes. level: the error
    that counts as learnt. kernel_dims, kernel_ratios, kernel_level: the same of the kernel, samples over the
    number of even polynomials of degree 4. span_dims, span_ratios: two features, samples over D. clip: of their labels.
    transfer_dims, transfer_ratio, new_labels: another link. many_dims, many_features, many_ratios, beta: features of
    strength r^(−β). memory_dims, alpha: the memory whose keys are pairs.
    """

    dims: tuple[int, ...] = (8, 12, 16, 24)
    ratios: tuple[float, ...] = (3.0, 4.5, 6.5, 9.0, 13.0, 18.0)
    joint_ratios: tuple[float, ...] = (1.5, 2.0, 2.7, 3.6, 4.8, 6.5, 9.0)
    level: float = 0.3
    kernel_dims: tuple[int, ...] = (6, 8, 10, 12)
    kernel_ratios: tuple[float, ...] = (0.5, 0.65, 0.8, 0.95, 1.1, 1.3, 1.6)
    kernel_level: float = 0.2
    span_dims: tuple[int, ...] = (12, 16, 24, 32)
    span_ratios: tuple[float, ...] = (2.0, 3.0, 4.2, 6.0, 8.5, 12.0, 20.0)
    clip: float = 1.0
    transfer_dims: tuple[int, ...] = (12, 16, 20)
    transfer_ratio: float = 100.0
    new_labels: int = 600
    many_dims: tuple[int, ...] = (16, 24, 32)
    many_features: int = 16
    many_ratios: tuple[float, ...] = (10.0, 40.0, 160.0)
    beta: float = 1.0
    memory_dims: tuple[int, ...] = (16, 24, 36, 54)
    alpha: float = 1.5
    seeds: int = 8
    first_seed: int = 0

    def __post_init__(self):
        for name in ("dims", "kernel_dims", "span_dims", "memory_dims", "transfer_dims", "many_dims"):
            check_dims(name, getattr(self, name), count=2, least=4)
            if name != "memory_dims" and any(d % 2 for d in getattr(self, name)):
                raise ValueError(f"{name} must hold even dimensions, got {list(getattr(self, name))}")
        for name in ("ratios", "joint_ratios", "kernel_ratios", "span_ratios", "many_ratios"):
            values = getattr(self, name)
            for value in values:
                check_positive(name, value)
            if list(values) != sorted(set(values)) or len(values) < 2:
                raise ValueError(f"{name} must hold two or more increasing numbers, got {list(values)}")
        for name in ("level", "kernel_level"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must be in (0, 1), got {getattr(self, name)!r}")
        for name in ("clip", "transfer_ratio", "beta"):
            check_positive(name, getattr(self, name))
        for name in ("new_labels", "many_features"):
            check_count(name, getattr(self, name), least=4)
        check_alpha(self.alpha, above=1.0)
        check_count("seeds", self.seeds)
        check_count("first_seed", self.first_seed, least=0)


def grids(config: HierarchyConfig) -> dict[str, Grid]:
    """Errors of layers, joint passes and kernel by dimension; the span of two features; transfer; many features; pairs
    as keys of the memory."""
    seeds = {"seed": draws(config)}
    return {
        "layerwise": Grid(measure_layerwise, {"dim": config.dims} | seeds),
        "joint": Grid(measure_joint, {"dim": config.dims} | seeds),
        "kernel": Grid(measure_kernel, {"dim": config.kernel_dims} | seeds),
        "span": Grid(measure_span, {"dim": config.span_dims} | seeds),
        "transfer": Grid(measure_transfer, {"dim": config.transfer_dims} | seeds),
        "many": Grid(measure_many, {"dim": config.many_dims} | seeds),
        "memory": Grid(measure_memory, {"dim": config.memory_dims} | seeds),
    }


EXPERIMENT = Experiment(
    name="hierarchy",
    purpose="samples that learn a function of quadratic features, by layers, jointly, by a kernel; pairs as keys",
    profiles={
        "smoke": HierarchyConfig(
            dims=(4, 6),
            ratios=(4.0, 16.0),
            joint_ratios=(2.0, 12.0),
            kernel_dims=(4, 6),
            kernel_ratios=(0.6, 1.5),
            span_dims=(4, 6),
            span_ratios=(2.0, 20.0),
            transfer_dims=(4, 6),
            transfer_ratio=20.0,
            new_labels=60,
            many_dims=(4, 6),
            many_features=4,
            many_ratios=(10.0, 40.0),
            memory_dims=(8, 12),
            seeds=2,
        ),
        "cpu": HierarchyConfig(),
        "gpu": HierarchyConfig(dims=(8, 12, 16, 24, 32, 48), kernel_dims=(6, 8, 10, 12, 16), seeds=16),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=5900,
)
