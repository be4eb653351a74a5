"""`emergence`: when a network learns each of many directions, and how their sum becomes a power law of the loss.

A lab on Ren, Nichani, Wu and Lee, arXiv:2504.19983.
"""

from dataclasses import dataclass

from amemlib.checks import check_count, check_dims, check_positive
from amemlib.experiments.base import Experiment, Grid, draws
from amemlib.labs.emergence.expected import amplitudes
from amemlib.labs.emergence.judge import judge, lines, summarise
from amemlib.labs.emergence.measure import measure_flow, measure_muon, measure_samples, measure_sgd

PAPER = "arXiv:2504.19983"
CLAIM = (
    "while the learning of individual teacher neurons exhibits abrupt transitions, the juxtaposition of P ≫ 1 emergent "
    "learning curves at different timescales leads to a smooth scaling law in the cumulative objective (abstract)"
)


@dataclass(frozen=True)
class EmergenceConfig:
    """Sizes of the lab.

    exponents: β of a_p ∝ p^{−β}. n_teachers, dim, degree: P, d and k of the flow. ratios: widths over P. init: length
    of a neuron at the start. step: of Euler's method. patience: a run ends at patience/a_P. first_…: the flow by d and
    degree, up to the first direction, in first_draws draws. widths, floor_dim: of narrow students, run for
    floor_patience/a_P. sgd_…: online SGD with batches of `batch`. chain_…: one neuron with one sample a step, `chains`
    at a learning rate, from the squared overlap chain_overlap/d. muon_…, lr: polar steps.
    """

    exponents: tuple[float, ...] = (0.75, 1.0, 1.5)
    n_teachers: int = 24
    dim: int = 256
    degree: int = 4
    ratios: tuple[int, ...] = (8, 4)
    init: float = 0.01
    step: float = 0.25
    patience: float = 24.0
    first_exponent: float = 1.0
    first_teachers: int = 4
    first_width: int = 64
    degrees: tuple[int, ...] = (4, 6)
    dims: tuple[int, ...] = (64, 128, 256, 512)
    first_step: float = 0.5
    first_draws: int = 24
    widths: tuple[int, ...] = (3, 6, 12, 24)
    floor_dim: int = 64
    floor_patience: float = 20.0
    sgd_teachers: int = 12
    sgd_dim: int = 24
    sgd_width: int = 96
    sgd_lr: float = 0.1
    batch: int = 512
    chain_degree: int = 3
    chain_amplitudes: tuple[float, ...] = (0.125, 0.0625, 0.03125)
    chain_dims: tuple[int, ...] = (32, 64, 128)
    chain_overlap: float = 4.0
    chains: int = 41
    muon_dims: tuple[int, ...] = (32, 64, 128)
    muon_width: int = 192
    lr: float = 0.002
    seeds: int = 5
    first_seed: int = 0

    def __post_init__(self):
        for name in ("n_teachers", "dim", "first_teachers", "floor_dim", "sgd_teachers", "sgd_dim"):
            check_count(name, getattr(self, name), least=2)
        for name in ("first_width", "sgd_width", "first_draws", "batch", "chains", "muon_width", "seeds"):
            check_count(name, getattr(self, name))
        for name in ("init", "step", "patience", "first_step", "floor_patience", "sgd_lr", "chain_overlap", "lr"):
            check_positive(name, getattr(self, name))
        for name in ("dims", "widths", "chain_dims"):
            check_dims(name, getattr(self, name))
        for name, ambient, inside in (
            ("dim", self.dim, self.n_teachers),
            ("floor_dim", self.floor_dim, self.n_teachers),
            ("sgd_dim", self.sgd_dim, self.sgd_teachers),
            ("dims", min(self.dims), self.first_teachers),
            ("muon_dims", min(self.muon_dims), self.n_teachers),
        ):
            if ambient < inside:
                raise ValueError(f"{name} must be at least the number of directions, {inside}, got {ambient}")
        for beta in (*self.exponents, self.first_exponent):
            if not 0.5 < beta < 10:
                raise ValueError(f"exponents must be in (1/2, 10), for Σ a_p² to converge, got {beta!r}")
        for k in (self.degree, *self.degrees):
            if k < 4 or k % 2:
                raise ValueError(f"degrees must be even and above 2, got {k!r}")
        if self.chain_degree < 3:
            raise ValueError(f"chain_degree must be above 2, got {self.chain_degree!r}")
        if not all(0 < a < 1 for a in self.chain_amplitudes):
            raise ValueError(f"chain_amplitudes must be in (0, 1), got {self.chain_amplitudes!r}")
        if 8 not in self.ratios:
            raise ValueError(f"ratios must hold 8, where the exponents are judged, got {list(self.ratios)}")
        check_count("first_seed", self.first_seed, least=0)


def cases(config: EmergenceConfig) -> dict[str, dict]:
    """Exponent and width of every flow by name, with its horizon."""
    P = config.n_teachers
    found = {}
    for ratio in config.ratios:
        for beta in config.exponents:
            horizon = config.patience / amplitudes(beta, P)[-1]
            found[f"{beta} {ratio}"] = {"exponent": beta, "width": ratio * P, "horizon": float(horizon)}
    return found


def grids(config: EmergenceConfig) -> dict[str, Grid]:
    """The flow by exponent and width, by d and degree, of narrow students; SGD; one neuron's samples; Muon."""
    seeds = {"seed": draws(config)}
    few = {"exponent": config.first_exponent}
    last = float(amplitudes(config.first_exponent, config.n_teachers)[-1])
    sgd_last = float(amplitudes(config.first_exponent, config.sgd_teachers)[-1])
    return {
        "flow": Grid(measure_flow, {"case": cases(config)} | seeds, until=config.n_teachers),
        "first": Grid(
            measure_flow,
            {"degree": config.degrees, "dim": config.dims, "seed": draws(config, config.first_draws)},
            **few,
            n_teachers=config.first_teachers,
            width=config.first_width,
            step=config.first_step,
            horizon=1e5,
            until=1,
        ),
        "floor": Grid(
            measure_flow,
            {"width": config.widths} | seeds,
            **few,
            dim=config.floor_dim,
            horizon=config.floor_patience / last,
            until=config.n_teachers,
        ),
        "sgd": Grid(
            measure_sgd,
            seeds,
            **few,
            n_teachers=config.sgd_teachers,
            dim=config.sgd_dim,
            width=config.sgd_width,
            step=config.sgd_lr,
            horizon=config.patience / sgd_last,
        ),
        "samples": Grid(
            measure_samples,
            {"point": {f"{a} {d}": {"amplitude": a, "dim": d} for line in lines(config).values() for a, d in line}}
            | seeds,
            degree=config.chain_degree,
            overlap=config.chain_overlap,
        ),
        "muon": Grid(measure_muon, {"dim": config.muon_dims} | seeds, **few, width=config.muon_width),
    }


EXPERIMENT = Experiment(
    name="emergence",
    purpose="when each direction of a two-layer teacher is learnt, and the power law that their sum makes of the loss",
    profiles={
        "smoke": EmergenceConfig(
            exponents=(1.5,),
            n_teachers=4,
            dim=16,
            ratios=(8,),
            degrees=(4,),
            dims=(8, 16),
            first_teachers=2,
            first_width=16,
            first_draws=2,
            widths=(2, 4),
            floor_dim=8,
            floor_patience=8.0,
            step=0.5,
            sgd_teachers=2,
            sgd_dim=4,
            sgd_width=16,
            batch=256,
            chain_amplitudes=(0.25, 0.125),
            chain_dims=(8, 12),
            chains=11,
            muon_dims=(8,),
            muon_width=32,
            lr=0.01,
            seeds=2,
        ),
        "cpu": EmergenceConfig(),
        "gpu": EmergenceConfig(n_teachers=32, dim=512, seeds=20),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=4650,
)
