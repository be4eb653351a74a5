"""What a cell of an experiment costs and how long a device takes for it, from counts of its work and measured rates.

A room of its own, because no experiment should know of clocks. The counts are of the leading terms, good to a factor
of two or three; a visit (`visits`) corrects them by what its cells took.
"""

import functools
import math
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from types import SimpleNamespace

import numpy as np
import torch

from amemlib import recovery, theory
from amemlib.checks import host_memory
from amemlib.equivalents import expected_capacity
from amemlib.problem import Problem
from amemlib.spectral import spectral_map

WORKSPACE = 2.5e9
"""Bytes on a GPU beside the arrays that grow with N: tiles, the workspace of solvers, CUDA itself."""


@dataclass(frozen=True)
class Cost:
    """Work by kind. double, single: operations of matrix products in float64 and float32. decompositions: Σ d³ over
    SVDs and eigendecompositions. normals: Gaussian numbers drawn on the host. entries: numbers read or written one by
    one. launches: small steps that take only as long as their start. predictions: sharp counts solved on the host.
    memory: bytes on the device at once."""

    double: float = 0.0
    single: float = 0.0
    decompositions: float = 0.0
    normals: float = 0.0
    entries: float = 0.0
    launches: float = 0.0
    predictions: float = 0.0
    memory: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        *work, memory = (a + b for a, b in zip(astuple(self), astuple(other), strict=True))
        return Cost(*work, max(self.memory, other.memory))

    def __mul__(self, times: float) -> "Cost":
        return Cost(*(times * work for work in astuple(self)[:-1]), self.memory)

    __rmul__ = __mul__


@dataclass(frozen=True)
class Rates:
    """How much of each kind of work of `Cost` a device and its host do in a second, and the bytes that it holds."""

    double: float
    single: float
    decompositions: float
    normals: float
    entries: float
    launches: float
    predictions: float
    memory: float

    def seconds(self, cost: Cost) -> float:
        """The time of a cell: its kinds of work one after another."""
        return sum(work / rate for work, rate in zip(astuple(cost)[:-1], astuple(self)[:-1], strict=True))


PAPER_RATES = {
    "h100": Rates(3e13, 3e13, 1.5e10, 2e8, 2e11, 1e5, 20.0, 7.8e10),
    "h200": Rates(3e13, 3e13, 1.5e10, 2e8, 3e11, 1e5, 20.0, 1.39e11),
    "t4": Rates(2e11, 5e12, 5e8, 1e8, 2e10, 1e5, 12.0, 1.5e10),
}
PAPER_CORE = Rates(3e10, 6e10, 1.2e9, 1e8, 5e9, 3e5, 20.0, 6.4e10)
"""Guesses from data sheets and of one core of a host, for a plan without the device; a visit measures its own."""


def measure_rates(device: torch.device, clock: Callable[[], float] = time.perf_counter) -> Rates:
    """The rates of this device and its host by a clock, in a few seconds."""
    small = device.type == "cpu"
    dim, solved, n = (512, 192, 2**20) if small else (4096, 1024, 2**26)
    wait = (lambda: None) if small else functools.partial(torch.cuda.synchronize, device)

    def rate(work: float, function: Callable[[], object]) -> float:
        times = []
        function()
        for _ in range(3):
            wait()
            began = clock()
            function()
            wait()
            times.append(clock() - began)
        return work / sorted(times)[1]

    generator = np.random.default_rng(0)
    A = torch.from_numpy(generator.standard_normal((dim, dim))).to(device)
    B, C, x, tiny = A.float(), A[:solved, :solved], torch.zeros(n, device=device), torch.zeros(1, device=device)
    problem = Problem.power_law(4096, 128, 1.5)
    return Rates(
        double=rate(2 * dim**3, lambda: A @ A),
        single=rate(2 * dim**3, lambda: B @ B),
        decompositions=rate(solved**3, lambda: spectral_map(C, torch.tanh)),
        # for a device U and V are drawn at once
        normals=(1 if small else 2) * rate(2**20, lambda: generator.standard_normal(2**20)),
        entries=rate(n, x.exp2_),
        launches=rate(1000, lambda: [tiny.add_(1) for _ in range(1000)]),
        predictions=rate(1, lambda: expected_capacity(problem, "polar")),
        memory=0.5 * host_memory() if small else float(torch.cuda.mem_get_info(device)[0]),
    )


def cost(function: Callable, arguments: dict) -> Cost:
    """The cost of the cell `function(**arguments)`; `ValueError` for a function of no row of the table."""
    name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
    if name not in COSTS:
        raise ValueError(f"function must be one of {', '.join(sorted(COSTS))}, got {name!r}")
    return COSTS[name](SimpleNamespace(**arguments))


def _draw(a, width: int = 4) -> Cost:
    """U and V with `width` bytes a number, and the masks that check them."""
    numbers = 2 * a.n_items * a.dim
    return Cost(normals=numbers, entries=2 * numbers, memory=(width + 1) * numbers)


def _gradient(a) -> Cost:
    return Cost(double=2 * a.n_items * a.dim**2, entries=4 * a.n_items * a.dim, launches=a.n_items / 1000)


def _maps(a, count: int = 1) -> Cost:
    """One decomposition and a product for every map."""
    return Cost(decompositions=a.dim**3, double=2 * count * a.dim**3)


def _recovered(a, steps: int = 1, method: str = "muon") -> Cost:
    """A scan of the recovery test: 2 N d (recovered + 100) operations (`recovery`)."""
    N, d, alpha = a.n_items, a.dim, getattr(a, "alpha", 1.5)
    found = N if alpha is None else min(N, 0.3 * d ** theory.recovery_exponent(method, alpha, steps))
    tiles = recovery.CACHED_TILES if getattr(a, "device", "cpu") == "cpu" else recovery.LARGE_TILES
    blocks = math.ceil(N / tiles.rows(d)) * (math.log2(tiles.rivals / 64) + N / tiles.rivals)
    return Cost(single=2 * N * d * (d + found + 100), entries=N * (found + 100), launches=25 * blocks)


def _newton(a) -> Cost:
    d = a.dim
    work = Cost(double=6 * a.n_items * d**2 + 8 * d**3, decompositions=2 * d**3)
    return work + Cost(memory=2 * _draw(a).memory)


def _logits(a, n: float, products: int) -> Cost:
    """Passes over n × N logits in float64, which large learning rates ask for."""
    tiles = n * a.n_items / 2**26
    return Cost(double=2 * products * n * a.n_items * a.dim, entries=3 * n * a.n_items, launches=20 * tiles)


def _curves(a, rates: int) -> Cost:
    """`item_losses_along`: the logits once, and a pass over them for every learning rate."""
    work = _logits(a, a.n_items, 1) + Cost(entries=6 * rates * a.n_items**2)
    return work + Cost(memory=_draw(a).memory + 5 * 8 * min(8192, a.n_items) * a.n_items)


def _grams(a, sizes: float, draws: int = 1) -> Cost:
    """Reduced embeddings, their Gram matrices, and the logits of SGD for so many batches; on the host."""
    N, r = a.n_items, min(a.n_items, a.dim)
    return Cost(double=draws * (4 * N**2 * r + 2 * N**3 * sizes), normals=2 * draws * N * r, entries=3 * N**2 * sizes)


def _steps(a, products: int, steps: int | None = None) -> Cost:
    """`trajectory`: a gradient by logits, a map and a scan at every step."""
    steps = a.steps if steps is None else steps
    batch = getattr(a, "batch_size", 0)
    seen = a.n_items if not batch else min(a.n_items, batch, 3 * batch ** (1 / a.alpha))
    last = max(1, min(steps, 4))
    return _draw(a) + steps * (_logits(a, seen, products) + _maps(a) + _recovered(a, last))


def _iterates(a) -> Cost:
    # beside the gradient one pass for the losses, the thresholded iterates, and three predictions a step
    return _steps(a, 3) + a.steps * (_gradient(a) + _maps(a) + _recovered(a) + Cost(predictions=3))


def _deflation(a) -> Cost:
    each = _gradient(a) + _maps(a) + _recovered(a, min(a.steps, 4), "sgd" if a.rule == "sgd" else "muon")
    return _draw(a) + a.steps * each


def _training(a) -> Cost:
    """Three times the operations of a forward pass a step; sequences drawn on the host; a few hundred kernels.

    Of one run or of several seeds at once, which start as many kernels as one.
    """
    runs = len(getattr(a, "seeds", [0]))
    tokens, d = runs * a.batch_size * a.length, a.dim
    sequences = runs * a.batch_size
    forward = tokens * (8 * d**2 + 2 * d * a.hidden + 4 * a.length * d) + 4 * sequences * a.pairs * d * a.n_items
    drawn = sequences * (a.n_items + 4 * a.length)
    probes = a.steps / a.probe_every
    maps = 10 * runs * d**3 if a.optimizer == "exact_muon" else 0
    optimizer = 12 * 30 * runs * d**3 if a.optimizer == "muon" else 0
    each = Cost(single=6 * forward + optimizer, decompositions=maps, normals=6 * drawn, launches=900)
    each += Cost(entries=20 * (tokens * d + sequences * a.length**2 + 12 * runs * d**2))
    # runs that train together are probed one after another
    probe = runs * Cost(
        single=2 * 3 * 512 / sequences * forward, launches=2000, entries=60 * 512 * a.length * (d + a.length)
    )
    return a.steps * each + probes * probe + Cost(memory=5e8 + 100.0 * (tokens * d + sequences * a.length**2))


def _population(a, maps: int, newton: bool = False) -> Cost:
    work = _draw(a) + _gradient(a) + _maps(a, maps) + maps * _recovered(a)
    return work + _newton(a) + _recovered(a) if newton else work


def _minibatches(a, newton: bool) -> Cost:
    each = _gradient(a) + _maps(a) + 2 * _recovered(a) + (_newton(a) if newton else Cost(predictions=1))
    return _draw(a) + (len(a.batch_sizes) + 1) * each


def _batch_lemmas(a) -> Cost:
    each = _gradient(a) + Cost(double=6 * a.n_items * a.dim**2, decompositions=3 * a.dim**3)
    return _draw(a) + 6 * each + Cost(memory=5 * _draw(a).memory)


def _interactions(a) -> Cost:
    pairs = a.n_items**2
    each = Cost(double=2 * pairs * a.dim, entries=30 * pairs, predictions=1)
    return _draw(a) + _gradient(a) + 2 * (_maps(a) + each) + Cost(memory=_draw(a).memory + 80 * 2048 * a.n_items)


def _decisions(a) -> Cost:
    formats = 3 * Cost(single=2 * a.n_items**2 * a.dim, entries=4 * a.n_items**2)
    exact = Cost(double=2 * a.n_items**2 * a.dim, entries=2 * a.n_items**2)
    return _draw(a) + _gradient(a) + _maps(a) + _recovered(a) + formats + exact + Cost(memory=3 * _draw(a).memory)


def _single_svd(a) -> Cost:
    work = _draw(a) + _gradient(a) + 2 * _gradient(a) + 6 * _maps(a) + 3 * _recovered(a)
    return work + Cost(memory=2 * _draw(a).memory)


def _words(a, maps: int, n_sizes: int = 1) -> Cost:
    each = _gradient(a) + _maps(a) + maps * _recovered(a) + (_newton(a) if maps > 2 else Cost())
    return _draw(a) + n_sizes * each


def _giant(a) -> Cost:
    loss = _logits(a, a.n_items, 2) if a.lr_over_root_dim else Cost()
    # sums over all rows in float64 copy them
    copies = Cost(memory=_draw(a).memory + 8 * a.n_items * a.dim)
    drawn = _draw(a) if a.stream == "host" else replace(_draw(a), normals=0.0)
    return drawn + _gradient(a) + _maps(a) + _recovered(a) + _recovered(a, 1, "sgd") + loss + copies


def _small(work: float) -> Callable[..., Cost]:
    """Cells on the host whose time hardly depends on their arguments: so many launches."""
    return lambda a: Cost(launches=work)


COSTS: dict[str, Callable[..., Cost]] = {
    "one_step.measure_one_step": lambda a: _population(a, 2) + _maps(a) + _recovered(a, 1, "sgd"),
    "one_step.measure_sgd_step": lambda a: _grams(a, 1, 2),
    "sharp_counts.measure_population": lambda a: _population(a, len(a.lam_over_t0), newton=True),
    "sharp_counts.measure_batches": lambda a: _minibatches(a, newton=True),
    "sharp_counts.measure_sgd": lambda a: _grams(a, len(a.alphas)),
    "critical_batch.measure_minibatch_steps": lambda a: _minibatches(a, newton=False),
    "critical_batch.measure_sgd_minibatches": lambda a: _grams(a, len(a.batch_sizes) / 4),
    "critical_batch.predict_sgd_minibatches": lambda a: Cost(predictions=len(a.batch_sizes)),
    "critical_batch.measure_lemmas": _batch_lemmas,
    "critical_batch.measure_sgd_bounds": lambda a: _grams(a, 4),
    "spectral_maps.measure_spectral_maps": lambda a: _population(a, 10 + 4 * len(a.steps)) + _maps(a),
    "spectral_maps.measure_floors": lambda a: _population(a, 2 + len(a.floors)) + (2 + len(a.floors)) * _curves(a, 21),
    "loss.measure_loss": lambda a: _population(a, 3) + 3 * (_maps(a) + _curves(a, len(a.lr_over_root_dim))),
    "optimality.measure_smoothing": lambda a: _population(a, 1 + len(a.lam_over_t0)),
    "optimality.measure_spectrum": lambda a: _draw(a) + _gradient(a) + _maps(a),
    "optimality.measure_ruler": lambda a: Cost(normals=128 * a.dim**2, decompositions=32 * a.dim**3),
    "optimality.measure_slope_bound": lambda a: (
        _draw(a, 8) + _gradient(a) + Cost(decompositions=3 * a.dim**3, entries=2000 * a.dim**2)
    ),
    "optimality.measure_haar": _small(1e4),
    "optimality.measure_newton_schulz": _small(2e4),
    "signal.measure_signal": lambda a: (
        _draw(a)
        + _gradient(a)
        + 4 * _maps(a)
        + Cost(entries=60 * a.dim**2, double=4 * a.n_items * a.dim**2)
        + Cost(double=2000 * a.n_probes * a.dim, entries=50 * a.n_probes * a.dim)
    ),
    "interactions.measure_interactions": _interactions,
    "precision.measure_decisions": _decisions,
    "precision.measure_single_svd": _single_svd,
    "lemmas.measure_proposition_11": _small(1e4),
    "lemmas.measure_lemma_24": _small(1e4),
    "lemmas.measure_lemma_25": _small(1e5),
    "lemmas.measure_proposition_26": _small(1e5),
    "lemmas.measure_lemma_12": lambda a: Cost(decompositions=100 * a.dim**3, entries=100 * a.dim**2),
    "lemmas.measure_norms": lambda a: _draw(a, 8) + _gradient(a) + _maps(a),
    "lemmas.measure_expansion": lambda a: _draw(a, 8) + Cost(double=3e3 * a.dim**3, decompositions=300 * a.dim**3),
    "lemmas.measure_lemma_27": lambda a: (
        _draw(a, 8)
        + 10 * _gradient(a)
        + Cost(decompositions=30 * a.dim**3, entries=20 * a.n_items**2)
        + Cost(double=4 * a.n_items**2 * a.dim)
    ),
    "giant.measure_giant_step": _giant,
    "deflation.measure_deflation": _deflation,
    "deflation.measure_batches": lambda a: _deflation(a) + Cost(predictions=2 * a.steps),
    "deflation.measure_step_lemmas": lambda a: (
        _draw(a, 8)
        + Cost(double=20 * a.n_items * a.dim**2, entries=100 * a.n_items * a.dim, decompositions=20 * a.dim**3)
    ),
    "iterates.measure_iterates": _iterates,
    "iterates.measure_muon": lambda a: _steps(a, 2),
    "iterates.measure_descent": lambda a: _steps(a, 2),
    "iterates.measure_literal_descent": lambda a: _steps(a, 3),
    "iterates.predict_iterates": lambda a: Cost(predictions=40 * a.steps),
    "trajectory.measure_trajectory": lambda a: _steps(a, 3),
    "trajectory.solve_trajectory": lambda a: Cost(predictions=40 * a.steps),
    "race.solve_muon": lambda a: Cost(predictions=40 * a.steps),
    "race.solve_descent": lambda a: Cost(predictions=40 * a.steps),
    "recall_capacity.predict_counts": lambda a: Cost(predictions=2 + 40 * 16),
    "recall_runs.measure_run": _training,
    "recall_runs.measure_runs": _training,
    "vocabulary_counts.measure_language": lambda a: _words(a, 3),
    "vocabulary_counts.measure_language_batches": lambda a: _words(a, 2, len(a.batch_sizes)),
    "vocabulary_counts.measure_covariance": lambda a: _words(a, 3) + _draw(a, 8),
    "vocabulary_counts.measure_table": lambda a: _draw(a, 8) + 15 * _words(a, 2),
    "vocabulary.predict_language_batches": lambda a: Cost(predictions=2 * len(a.batch_sizes)),
}
"""A row for every function of every gpu profile: its module in `experiments` and its name, and the cost of a call."""
