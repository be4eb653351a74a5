"""Muon's true iterates as one random process an item: no d × d memory, no N² softmax, nothing fitted; no theorem.

The gradient at W is Σ_i r_i (u_i − (1 − Y) W v_i / d) v_iᵀ (`surrogate_gradient`). Leave item i out: its own logit is
driven by its residuals r_i(s), by a Gaussian noise whose covariance over steps is that of the updates, and by the pull
of what W already holds. What all items have in common, resolvents and overlaps of the updates, is self-averaging, so
it is read off matrices of a *smaller* dimension d′ with N d′/d items: the cost does not depend on d.
Derived in the chapter "The true iterates".
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr

from amemlib.checks import check_alpha, check_count, check_instance, check_positive, check_real
from amemlib.equivalents.fixed_point import GAUSS_HERMITE, solve_fixed_point
from amemlib.equivalents.free_energy import LARGEST_SD, expected_log_partition, mean_tilt
from amemlib.problem import Problem
from amemlib.theory import power_law_sum

_LEAST_RATE = 1e-6
_MOST_STEPS, _MOST_STREAMS = 1000, 10_000
_MATRIX_DIM = 128
_WHOLE_ITEMS = 8
"""Up to rank 8 d every item of the d′-dimensional matrices stands for d/d′ items; beyond, for more and more."""
_LOG_STEP = 0.2
_CLASS_WIDTH = 0.02
MOST_RIVALS = 65_536
_RIVAL_LOGITS = 2_000_000
_POOL = 2**20
_GROUPS = 64
"""The rivals of an item share this many output vectors in the matrices: two that matter rarely share one."""
_NEGLIGIBLE = 1e-4
LEAST_SQUARE = 0.2
"""No logit has a smaller variance, in units of the mean one: beside it a neighbour's free energy would say nothing."""
_NO_DIRECTION = 1e-12
_NO_GRADIENT = 1e-290


@dataclass(frozen=True, eq=False)
class MeanFieldIterates:
    """What the recursion says of W_1, …, W_T, step after step; means over `streams` independent solutions.

    counts: (T,) expected number of recovered items. errors: (T,) their standard errors, of the solution and not of a
        draw of the embeddings. losses: (T,) cross-entropy in nats under the frequencies.
    interaction_sd: (T,) standard deviation of a logit z_ij between items that are rare, ‖W_t‖_F / d.
    learnt: (T,) number of items with p̂_ii > 1/2, those that the next gradient has mostly lost.
    overlaps: (T, T) (1/d) tr O_sᵀ O_t of the updates.
    edges: (K + 1,) strata of ranks, counted from 0 and not always whole: the k-th lies in [edges[k], edges[k + 1]).
    logits, left: (T, K) mean own logit and mean 1 − p̂_ii of each.
    """

    counts: np.ndarray
    errors: np.ndarray
    losses: np.ndarray
    interaction_sd: np.ndarray
    learnt: np.ndarray
    overlaps: np.ndarray
    edges: np.ndarray
    logits: np.ndarray
    left: np.ndarray


def expected_trajectory(
    problem: Problem, steps: int, lr_over_root_dim: float = 1.0, momentum: float = 0.0, batch_size: int | None = None
) -> np.ndarray:
    """Expected number of items that Muon's true iterates recover after 1, …, `steps` steps, (steps,).

    Polar map, η = `lr_over_root_dim` √d, heavy-ball `momentum` in [0, 1), on the population loss or on a fresh batch
    of `batch_size` a step. See `mean_field_iterates`.
    """
    return mean_field_iterates(problem, lr_over_root_dim, steps, momentum, batch_size).counts


def mean_field_iterates(
    problem: Problem,
    lr_over_root_dim: float,
    steps: int,
    momentum: float = 0.0,
    batch_size: int | None = None,
    streams: int = 8,
) -> MeanFieldIterates:
    """Muon with the polar map, η = c √d, c = `lr_over_root_dim`, from W = 0, as N scalar processes:

        z_i(t+1) = z_i(t) + c √d (φ_t(ρ_i) − back_i(t)) + c g_i(t),   E g_i(s) g_i(t) = ω_st,
        ρ_i(t) = β ρ_i(t−1) + r_i(t),   r_i(t) = q_i (1 − p̂_ii),

    with β = `momentum`, φ_t the signal of a matrix of weights ρ(t) that W_t already pulls at, back_i what the pull
    takes of item i's own signals, and ω_st the overlaps of the updates. Up to N = 65 536 an item has N − 1 rivals, each
    a process too, which the softmax lowers when it comes close; beyond, they have their mean free energy.
    batch_size: B ≥ d / 128, a fresh batch every step; `None` for the population. Batches of fewer than d items are
        forgotten faster than it says, from about the fourth step on.
    streams: independent solutions, whose scatter gives `errors`.
    The time grows with `steps`², with N up to 65 536, and not with d.
    Raises `ValueError` for a momentum outside [0, 1), a smaller batch, and logits whose standard deviation exceeds 50.
    """
    check_instance("problem", problem, Problem)
    p = np.sort(problem.frequencies.numpy(force=True))[::-1]
    return _solve(p.__getitem__, problem.n_items, problem.dim, lr_over_root_dim, steps, momentum, batch_size, streams)


def power_law_iterates(
    alpha: float, n_items: int, dim: int, lr_over_root_dim: float, steps: int, streams: int = 8
) -> MeanFieldIterates:
    """`mean_field_iterates` for p_i ∝ i^{−α}, α > 1/2, on the population, where not even the N frequencies fit."""
    alpha = check_alpha(alpha)
    n_items = check_count("n_items", n_items, least=2)
    total = power_law_sum(alpha, n_items)
    return _solve(
        lambda ranks: (ranks + 1.0) ** -alpha / total, n_items, dim, lr_over_root_dim, steps, 0.0, None, streams
    )


def _solve(frequency_at, n_items, dim, lr_over_root_dim, steps, momentum, batch_size, streams) -> MeanFieldIterates:
    dim, (c, steps, streams) = check_count("dim", dim), check_course(lr_over_root_dim, steps, streams)
    momentum = float(check_real("momentum", momentum))
    if not 0 <= momentum < 1:
        raise ValueError(f"momentum must lie in [0, 1), got {momentum!r}")
    if batch_size is not None:
        check_count("batch_size", batch_size, least=math.ceil(dim / min(dim, _MATRIX_DIM)))
    matrix_dim = min(dim, _MATRIX_DIM)
    edges = strata(n_items, dim, matrix_dim)
    generators = (np.random.default_rng([stream, n_items, dim]) for stream in range(streams))
    solutions = (Stream(frequency_at, edges, dim, matrix_dim, c, rng, momentum, batch_size) for rng in generators)
    return averaged([stream.run(steps) for stream in solutions], edges)


def check_course(lr_over_root_dim: float, steps: int, streams: int) -> tuple[float, int, int]:
    """The three arguments that every recursion has; raise `ValueError` for a rate or numbers that it cannot follow."""
    c = check_positive("lr_over_root_dim", lr_over_root_dim)
    if not _LEAST_RATE <= c <= LARGEST_SD:
        raise ValueError(f"lr_over_root_dim must lie in [{_LEAST_RATE:g}, {LARGEST_SD:g}], got {lr_over_root_dim!r}")
    return c, check_count("steps", steps, most=_MOST_STEPS), check_count("streams", streams, most=_MOST_STREAMS)


def averaged(found: list[tuple[np.ndarray, ...]], edges: np.ndarray) -> MeanFieldIterates:
    """The means of what `Stream.run` found, and the standard errors of the counts."""
    rows, overlaps, logits, left = (np.array(column) for column in zip(*found, strict=True))
    many = len(found) > 1
    errors = rows[:, :, 0].std(0, ddof=1) / math.sqrt(len(found)) if many else np.full(rows.shape[1], math.nan)
    counts, losses, interaction_sd, learnt = rows.mean(0).T
    return MeanFieldIterates(
        counts, errors, losses, interaction_sd, learnt, overlaps.mean(0), edges, logits.mean(0), left.mean(0)
    )


def strata(n_items: int, dim: int, matrix_dim: int) -> np.ndarray:
    """Edges of the strata of ranks: d/d′ ranks each up to rank 8 d, from there on as many more as the rank grows."""
    unit, whole = dim / matrix_dim, _WHOLE_ITEMS * matrix_dim
    total = n_items / unit
    edges = np.arange(0, min(total, whole), dtype=float)
    if total > whole:
        growth = math.log(total / whole)
        edges = np.append(edges, whole * np.exp(np.linspace(0, growth, math.ceil(whole * growth) + 1))[:-1])
    return np.append(edges * unit, n_items)


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """One update: singular vectors of the matrix, its resolvents on a grid of μ, the weights of (2/π)∫dμ."""

    left: np.ndarray
    right: np.ndarray
    crossing: np.ndarray
    diagonal: np.ndarray
    quadrature: np.ndarray
    slope: float


class Stream:
    """One solution of the recursion: items, matrices of dimension d′, rivals; `run` takes the steps."""

    def __init__(
        self,
        frequency_at: Callable,
        edges: np.ndarray,
        dim: int,
        matrix_dim: int,
        c: float,
        rng: np.random.Generator,
        momentum: float = 0.0,
        batch_size: int | None = None,
    ):
        self.numbers, self.dim, self.c, self.momentum, self.rng = np.diff(edges), dim, c, momentum, rng
        self.batch_size, self.n_items = batch_size, round(edges[-1])
        self.matrix_dim = matrix_dim
        # a stratum need not hold a whole number of ranks
        ranks = np.minimum(edges[:-1] + self.numbers * rng.random(len(self.numbers)), self.n_items - 1).astype(np.int64)
        self.p = frequency_at(ranks)
        self.multiplicity = self.numbers * self.matrix_dim / dim
        # one matrix row for many rare items has no noise that one of them could call its own
        self.single = self.multiplicity < 1.5
        shape = len(ranks), self.matrix_dim
        self.U, self.V = (rng.standard_normal(shape) / math.sqrt(self.matrix_dim) for _ in range(2))
        self.outputs_of_rivals = rng.integers(0, len(ranks), (_GROUPS, len(ranks)))
        rivals = _SampledRivals if self.n_items <= MOST_RIVALS else _TypicalRivals
        self.rivals = rivals(self.n_items, ranks, rng)

    def run(self, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Counts, losses, σ and learnt items (T, 4), overlaps (T, T), own logits and shares left (T, K)."""
        dim, c, n = self.dim, self.c, len(self.p)
        W = np.zeros((self.matrix_dim, self.matrix_dim))
        free, pulled, weights = 0.0, 0.0, np.zeros(n)
        share, shared = np.ones(n), np.zeros(n)
        rival_means = np.zeros_like(self.U)
        signal, noise = np.zeros(n), np.zeros((n, steps))
        before, pulls, spectra, responses, memories, flat = [], [], [], [], [], []
        rows, logits, lefts = [], [], []
        for t in range(steps):
            residual, mean_weight, root_weight = self._residuals(share)
            tilt = 1 - shared
            moment = (self.V * (mean_weight * tilt)[:, None]).T @ self.V / math.sqrt(dim)
            free = self.momentum * free + ((self.U - rival_means) * root_weight[:, None]).T @ self.V
            pulled = self.momentum * pulled + W @ moment
            weights = self.momentum * weights + residual
            left, values, right = np.linalg.svd(free - pulled)
            if not values[0] > _NO_GRADIENT:
                raise ValueError(f"steps must leave something to learn, got a gradient that vanishes in step {t + 1}")
            # a batch of few items: no direction that they do not have
            kept = values > _NO_DIRECTION * values[0]
            left, values, right = left[:, kept], values[kept], right[kept]
            update = left @ right
            before.append(W)
            pulls = [self.momentum * pull for pull in pulls] + [residual * tilt]
            memories = [self.momentum * memory + c * moment for memory in memories]
            spectrum, M = self._spectrum(left, values, right.T, free, weights * np.sqrt(1 + shared))
            fields = [-((left * (X @ right.T)).sum(0) @ spectrum.crossing) / self.matrix_dim for X in before]
            tilted = sum(np.outer(pull, field) for pull, field in zip(pulls, fields, strict=True)) / math.sqrt(dim)
            kernels = [self._kernel(spectrum, old, memory) for old, memory in zip(spectra, memories, strict=True)]
            fading = [k @ old.quadrature / old.slope for k, old in zip(kernels, spectra, strict=True)]
            back = sum((x @ k for x, k in zip(responses, kernels, strict=True)), np.zeros(n))
            answers = ((self.V @ update.T) * self.U).sum(1)
            own = self._own_signal(weights, tilted, shared, back, M, spectrum, answers)
            effective = weights - back / spectrum.slope
            x = effective[:, None] * M
            responses.append(effective[:, None] * (1 + tilted) / ((1 + tilted) ** 2 + x**2) * spectrum.quadrature)
            spectra.append(spectrum)
            memories.append(np.zeros_like(moment))
            flat.append(update.ravel())
            overlaps = np.array(flat) @ np.array(flat).T / self.matrix_dim
            W = W + c * update
            sd = self._interaction_sd(W)
            known, fresh, factors = self._conditional(overlaps, noise[:, :t])
            noise[:, t] = self._noise(answers - own, known, fresh)
            lengths, scale = self._spread(W)
            signal = signal + c * math.sqrt(dim) * own * (1 + (1 - np.clip(own, 0, 1) / 2) * lengths)
            expected = signal + scale * c * (noise[:, :t].sum(1) + known)
            z = signal + scale * c * noise[:, : t + 1].sum(1)
            lift = self._lift(M, spectrum)
            keep = 1 - float(np.mean(fading)) if fading else 1.0
            energy, wins, shared, masses = self.rivals.advance(
                c * factors, scale, sd, residual, lift, keep, self.momentum, expected, scale * c * fresh
            )
            rival_means = self._rival_means(masses)
            share, row = self._row(z, energy, wins, sd)
            rows.append(row)
            logits.append(z)
            lefts.append(share)
        return np.array(rows), overlaps, np.array(logits), np.array(lefts)

    def _interaction_sd(self, W: np.ndarray) -> float:
        """σ, the standard deviation of a logit between rare items; `ValueError` where float64 would be left."""
        sd = math.sqrt((W**2).sum() / self.matrix_dim)
        if sd > LARGEST_SD:
            least = f"logits of a standard deviation of at most {LARGEST_SD:g}"
            raise ValueError(f"lr_over_root_dim must give {least}, got {self.c!r} and {sd:.3g}")
        return sd

    def _conditional(self, overlaps: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        """Of the newest noise, given those before, (K, t): its mean, its standard deviation, its Cholesky factors."""
        t = noise.shape[1]
        factors = np.linalg.cholesky(overlaps + 1e-9 * np.eye(t + 1))[t]
        known = noise @ np.linalg.solve(overlaps[:t, :t] + 1e-9 * np.eye(t), overlaps[:t, t])
        return known, factors[t], factors

    def _rival_means(self, masses: np.ndarray) -> np.ndarray:
        """What the softmax means of its rivals add to an item's output, (K, d′)."""
        pairs = zip(masses.T, self.outputs_of_rivals, strict=True)
        return sum(mass[:, None] * self.U[rival] for mass, rival in pairs)

    def _row(self, z, energy, wins, sd) -> tuple[np.ndarray, tuple[float, float, float, float]]:
        """1 − p̂_ii, (K,), and the count, loss, σ and number of learnt items."""
        # what is learnt to 44 digits is learnt: products of four inverse weights stay in range
        share = 1 / (1 + np.exp(np.clip(z - energy, -700, 100)))
        loss = (self.numbers * self.p) @ np.logaddexp(0, energy - z)
        return share, (self.numbers @ wins, loss, sd, self.numbers @ (z > energy))

    def _residuals(self, share: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """r of one item, and of the rows of the matrices: the sum of r over what a row stands for, the root of Σ r²."""
        if self.batch_size is None:
            r = self.p * share
            return r, self.multiplicity * r, np.sqrt(self.multiplicity) * r
        B, root = self.batch_size, np.sqrt(self.multiplicity)
        seen = many = np.zeros(len(self.p))
        # a batch shows something
        while not np.where(self.single, seen, many).any():
            seen = self.rng.poisson(B * self.p)
            many = self.rng.poisson(B * self.p * self.multiplicity)
        r = seen / B * share
        return (
            r,
            np.where(self.single, self.multiplicity * r, many / B * share),
            np.where(self.single, root * r, np.sqrt(many) / B * share),
        )

    def _spectrum(self, left, values, right, free, weights) -> tuple[_Spectrum, np.ndarray]:
        """The update's resolvents, and M(μ): that of the matrix, times what the free part's own M lacks at d′.

        The free part Σ ρ_i u_i v_iᵀ has a fixed point, so the fluctuation of its d′ singular values, and their bias, is
        known and divided out.
        """
        # below full rank nothing fills the bottom, and the smallest weight of a batch is answered as the largest
        bottom = np.median(values) if len(values) == self.matrix_dim else values[-1]
        mu = np.exp(np.arange(math.log(1e-3 * bottom), math.log(300 * values[0]), _LOG_STEP))
        quadrature = 2 / math.pi * _LOG_STEP * mu
        quadrature[0] += 2 / math.pi * mu[0]
        grid = values[:, None] ** 2 + mu**2
        crossing, diagonal = values[:, None] / grid, mu / grid
        filled = diagonal.sum(0) + (self.matrix_dim - len(values)) / mu
        free_values = np.linalg.svd(free, compute_uv=False)
        seen = weights > 1e-14 * weights.max()
        label = np.round(np.log(weights[seen]) / _CLASS_WIDTH).astype(int)
        label -= label.min()
        number = np.bincount(label, self.numbers[seen])
        value = np.bincount(label, self.numbers[seen] * weights[seen])[number > 0] / number[number > 0]
        exact = solve_fixed_point(mu, value, number[number > 0], self.dim)
        M = filled * exact / (mu / (free_values[:, None] ** 2 + mu**2)).sum(0)
        return _Spectrum(left, right, crossing, diagonal, quadrature, float(M**2 @ quadrature)), M

    def _kernel(self, new: _Spectrum, old: _Spectrum, memory: np.ndarray) -> np.ndarray:
        """How an item's part in an old update, at each of its μ′, lowers the item's signal in the new one."""
        outputs, inputs = new.left.T @ old.left, new.right.T @ old.right
        held = new.right.T @ memory @ old.right
        equal = (new.diagonal.T @ outputs**2 @ old.diagonal) * (new.diagonal.T @ (inputs * held) @ old.diagonal)
        mixed = new.crossing.T @ (outputs * inputs) @ old.crossing
        mixed *= new.crossing.T @ (outputs * held) @ old.crossing
        return new.quadrature @ (equal + mixed) / self.matrix_dim**2

    def _own_signal(self, weights, tilted, shared, back, M, spectrum, answers) -> np.ndarray:
        """E u_iᵀ O v_i: the cavity's formula to first order in the pull, its higher orders read off the matrix."""
        damped = (1 + tilted) ** 2 + (1 + shared[:, None]) * (weights[:, None] * M) ** 2
        direct = weights * (M**2 / damped @ spectrum.quadrature)
        if not back.any():
            return direct
        features = np.stack([back, back * direct, back * direct**2, back * np.abs(back)], 1)
        orders = np.linalg.lstsq(features[self.single], (answers - direct)[self.single], rcond=None)[0]
        return direct + features @ orders

    def _noise(self, scatter, known, fresh) -> np.ndarray:
        """g_i(t): the matrix's noise as far as d′ gives it the right share, the rest independent, given the past."""
        independent = known + fresh * self.rng.standard_normal(len(known))
        measured = math.sqrt(self.matrix_dim) * scatter
        share = math.sqrt(self.matrix_dim / self.dim)
        mixed = share * measured + math.sqrt(1 - share**2) * independent
        return np.where(self.single, mixed, independent)

    def _spread(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """|v_i|² − 1, which the signal feels, and the scale |W v_i| of an item's logits, 1 in the mean square.

        Both scatter as they do in d dimensions. W is larger along some directions: its δ_i is not that of the length.
        """
        share = math.sqrt(self.matrix_dim / self.dim)
        images = ((self.V @ W.T) ** 2).sum(1) / (W**2).sum() * self.matrix_dim
        lengths = share * ((self.V**2).sum(1) - 1)
        return lengths, np.sqrt(np.maximum(1 + share * (images - 1), LEAST_SQUARE))

    def _lift(self, M: np.ndarray, spectrum: _Spectrum) -> Callable[[np.ndarray], np.ndarray]:
        """What a weight r π_ij on (j, i) adds to a logit, c √d φ; 0 below `_NEGLIGIBLE` of the bulk."""
        least = _NEGLIGIBLE / M.max()
        grid = np.exp(np.linspace(math.log(least), math.log(1e3 * max(least, self.p.max())), 200))
        signals = self.c * math.sqrt(self.dim) * grid * (M**2 / (1 + (grid[:, None] * M) ** 2) @ spectrum.quadrature)
        return lambda x: np.where(x > least, np.interp(x, grid, signals), 0.0)


class _TypicalRivals:
    """N − 1 independent rivals an item, of which only the mean free energy is kept."""

    def __init__(self, n_items: int, ranks: np.ndarray, rng: np.random.Generator):
        self.rng, self.n_rivals = rng, n_items - 1

    def advance(self, factors, scale, sd, residual, lift, keep, momentum, expected, fresh):
        """Free energies, probabilities to be recovered, Y = Σ_j π_ij², (K,) each; π_i on groups of rivals (K, 64)."""
        tilt = mean_tilt(sd, self.n_rivals)
        energy = expected_log_partition(sd, self.n_rivals) + tilt * sd**2 * (scale - 1)
        g, gauss = GAUSS_HERMITE
        scores = (expected[:, None] + fresh[:, None] * g) / (scale[:, None] * sd)
        wins = np.exp(self.n_rivals * log_ndtr(scores)) @ gauss / math.sqrt(2 * math.pi)
        masses = math.sqrt((1 - tilt) / _GROUPS) * self.rng.standard_normal((len(scale), _GROUPS))
        return energy, wins, np.full(len(scale), 1 - tilt), masses


class _SampledRivals:
    """The logits of an item's N − 1 rivals, one process each, for some items; the others take those of a neighbour.

    All are windows of one pool of Gaussian processes. A rival that comes near the top has a part −r_i π_ij u_j v_iᵀ of
    its own in the gradient and is lowered.
    """

    def __init__(self, n_items: int, ranks: np.ndarray, rng: np.random.Generator):
        self.rng, self.n_rivals = rng, n_items - 1
        number = min(len(ranks), max(64, _RIVAL_LOGITS // n_items))
        # evenly in the root of the rank: the ranks that are being learnt get most
        chosen = np.unique(np.searchsorted(ranks, np.linspace(0, math.sqrt(ranks[-1]), number) ** 2))
        self.chosen = np.minimum(chosen, len(ranks) - 1)
        middle = (ranks[self.chosen][1:] + ranks[self.chosen][:-1]) / 2
        self.nearest = np.searchsorted(middle, ranks)
        size = max(min(_POOL, len(self.chosen) * n_items), 2 * n_items)
        self.pool, self.draws = np.zeros(size, np.float32), []
        self.windows = rng.integers(0, size - n_items, len(self.chosen))
        self.lowered = np.zeros((len(self.chosen), self.n_rivals), np.float32)
        self.softmax, self.pressure = None, None

    def advance(self, factors, scale, sd, residual, lift, keep, momentum, expected, fresh, answers=None):
        """Free energies, probabilities to be recovered, Y = Σ_j π_ij², (K,) each; π_i on groups of rivals (K, 64).

        answers: what the rivals' own logits add to theirs here, (chosen, N − 1).
        """
        if self.softmax is not None:
            self.lowered *= np.float32(keep)
            pressure = residual[self.chosen, None] * self.softmax
            self.pressure = pressure if self.pressure is None or not momentum else momentum * self.pressure + pressure
            near = np.nonzero(self.softmax > 1e-6)
            self.lowered[near] += lift(self.pressure[near]).astype(np.float32)
        self.draws.append(self.rng.standard_normal(len(self.pool), dtype=np.float32))
        for factor, draw in zip(factors, self.draws, strict=True):
            self.pool += np.float32(factor) * draw
        windows = np.lib.stride_tricks.sliding_window_view(self.pool, self.n_rivals)[self.windows]
        logits = windows * scale[self.chosen, None].astype(np.float32)
        if answers is not None:
            logits += answers
        logits -= self.lowered
        top = logits.max(1, keepdims=True)
        softmax = np.exp(logits - top)
        total = softmax.sum(1, keepdims=True, dtype=np.float64)
        softmax /= total.astype(np.float32)
        self.softmax = softmax
        cuts = np.linspace(0, self.n_rivals, _GROUPS, endpoint=False).astype(int)
        even = np.diff(cuts, append=self.n_rivals) / self.n_rivals
        masses = np.add.reduceat(softmax, cuts, axis=1, dtype=np.float64) - even
        energy = (top + np.log(total))[:, 0]
        mean_logit = np.einsum("ij,ij->i", self.softmax, logits)
        participation = np.einsum("ij,ij->i", self.softmax, self.softmax)
        ratio = scale / scale[self.chosen][self.nearest]
        beaten = ndtr((expected - top[:, 0][self.nearest] * ratio) / fresh)
        energy = energy[self.nearest] + mean_logit[self.nearest] * (ratio - 1)
        return energy, beaten, participation[self.nearest], masses[self.nearest]
