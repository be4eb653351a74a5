"""The true iterates of an optimizer as one random process an item: the loop that all optimizers share.

Every item has an own logit, its rivals' logits, and a residual weight r_i; what the items have in common is read off
matrices of a dimension d′ with N d′/d items. `mean_field` and `descent` say what a step does to them. Up to d = 768
d′ is d: own logits are those of the matrix, and only the N² logits of rivals are random processes.
Equations are those of the chapter "The true iterates".
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.sparse import csr_array
from scipy.special import log_ndtr, ndtr

from amembook.laws.free_energy import LARGEST_SD, expected_log_partition, mean_tilt
from amemlib.checks import check_count, check_positive
from amemlib.equivalents.fixed_point import GAUSS_HERMITE

_LEAST_RATE = 1e-6
WHOLE_ITEMS = 8.0
"""Up to rank 8 d, or further where it is asked for, every item of the d′-dimensional matrices stands for d/d′ items;
beyond, for more and more. Where such rows decide a count it is some 4 % too high."""
MOST_RIVALS = 65_536
_RIVAL_LOGITS, _FEWEST_INPUTS = 2_000_000, 150
"""How many logits of rivals are drawn, but always those of this many inputs."""
_POOL = 2**20
_MOST_OUTPUTS, _ALIKE = 32_768, 33
_GROUPS = 64
"""The rivals of an item share at most this many output vectors in the matrices: two that matter rarely share one."""
LEAST_SQUARE = 0.2
"""No logit has a smaller variance, in units of the mean one: beside it a neighbour's free energy would say nothing."""


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


def check_course(lr_over_root_dim: float, steps: int, streams: int) -> tuple[float, int, int]:
    """The three arguments that every recursion has; raise `ValueError` for a rate or numbers that it cannot follow."""
    c = check_positive("lr_over_root_dim", lr_over_root_dim)
    if not _LEAST_RATE <= c <= LARGEST_SD:
        raise ValueError(f"lr_over_root_dim must lie in [{_LEAST_RATE:g}, {LARGEST_SD:g}], got {lr_over_root_dim!r}")
    return c, check_count("steps", steps), check_count("streams", streams)


def averaged(courses: list[tuple[np.ndarray, ...]], edges: np.ndarray) -> MeanFieldIterates:
    """The means of what `Stream.run` gives, and the standard errors of the counts."""
    rows, overlaps, logits, left = (np.array(column) for column in zip(*courses, strict=True))
    many = len(courses) > 1
    errors = rows[:, :, 0].std(0, ddof=1) / math.sqrt(len(courses)) if many else np.full(rows.shape[1], math.nan)
    counts, losses, interaction_sd, learnt = rows.mean(0).T
    return MeanFieldIterates(
        counts, errors, losses, interaction_sd, learnt, overlaps.mean(0), edges, logits.mean(0), left.mean(0)
    )


def strata(n_items: int, dim: int, matrix_dim: int, whole_items: float = WHOLE_ITEMS) -> np.ndarray:
    """Edges of the strata of ranks: d/d′ ranks each up to rank d `whole_items`, then as many more as the rank grows."""
    unit, whole = dim / matrix_dim, math.ceil(whole_items * matrix_dim)
    total = n_items / unit
    edges = np.arange(0, min(total, whole), dtype=float)
    if total > whole:
        growth = math.log(total / whole)
        edges = np.append(edges, whole * np.exp(np.linspace(0, growth, math.ceil(whole * growth) + 1))[:-1])
    return np.append(edges * unit, n_items)


@dataclass(frozen=True, eq=False)
class State:
    """Where a solution stands after t steps.

    memory: (d′, d′) W_t. logits: (K,) own logits z_i, signal: (K,) the same without their noise.
    left: (K,) 1 − p̂_ii. participation: (K,) Y_i of the item's rivals. tilt: (K,) κ_i, how far their softmax mean still
        follows W v_i. rival_means: (K, d′) what is left of that mean. outputs: (d′, d′) covariance of the outputs that
        the softmax favours, times d.
    noise: (K, t) g_i of every step. updates: (t, d′²) O of every step.
    past: whatever else an optimizer carries from step to step.
    """

    memory: np.ndarray
    logits: np.ndarray
    signal: np.ndarray
    left: np.ndarray
    participation: np.ndarray
    tilt: np.ndarray
    rival_means: np.ndarray
    outputs: np.ndarray
    noise: np.ndarray
    updates: np.ndarray
    past: Any = None


@dataclass(frozen=True, eq=False)
class Move:
    """What one step does.

    update: (d′, d′) O_t. answers: (K,) u_iᵀ O_t v_i of the matrices' vectors, own: (K,) its mean over them.
    gain: (K,) what an item's signal gains. response: (K,) the same over its weight, which its rivals share by π_ij.
    keep: the part of a rival's own history that the pull leaves. past: as in `State`.
    """

    update: np.ndarray
    answers: np.ndarray
    own: np.ndarray
    gain: np.ndarray
    response: np.ndarray | float
    keep: float
    past: Any = None


class Stream:
    """One solution of a recursion: items, matrices of dimension d′, rivals; `run` takes the steps.

    A subclass has `move`, what a step does, and `scales`, how the noise of an input's logits scatters.
    """

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
        # eq-it-outputs: the rare items' output vectors matter only together
        self.crowd = np.where(self.single, 1, self.multiplicity)
        rare = max(round(self.n_items * matrix_dim / dim) - self.single.sum(), 1)
        outputs = rng.standard_normal((min(rare, _MOST_OUTPUTS), matrix_dim))
        self.rare_outputs = outputs.T @ outputs / len(outputs)
        self.outputs = self._outputs(self.crowd / self.crowd.sum())
        self.outputs_of_rivals = rng.integers(0, len(ranks), (min(_GROUPS, self.n_items - 1), len(ranks)))
        self.ranks = np.diff(np.round(edges)).astype(int)
        rivals = _SampledRivals if self.n_items <= MOST_RIVALS else _TypicalRivals
        self.rivals = rivals(self.n_items, ranks, rng)

    def run(self, steps: int) -> tuple[tuple[np.ndarray, ...], State]:
        """Counts, losses, σ, learnt items (T, 4), overlaps (T, T), own logits, 1 − p̂_ii (T, K); and the last state."""
        state, course = self.start(), []
        for _ in range(steps):
            state, row = self.step(state)
            course.append((row, state.logits, state.left))
        rows, logits, left = (np.array(column) for column in zip(*course, strict=True))
        return (rows, self._overlaps(state.updates), logits, left), state

    def start(self) -> State:
        """W_0 = 0: nothing is learnt, and all rivals share the softmax."""
        n, d = self.U.shape
        return State(
            memory=np.zeros((d, d)),
            logits=np.zeros(n),
            signal=np.zeros(n),
            left=np.ones(n),
            participation=np.zeros(n),
            tilt=np.ones(n),
            rival_means=np.zeros((n, d)),
            outputs=self.outputs,
            noise=np.zeros((n, 0)),
            updates=np.zeros((0, d * d)),
        )

    def step(self, state: State) -> tuple[State, tuple[float, float, float, float]]:
        """The next state, and its count, loss, σ and number of learnt items."""
        residual, mean_weight, root_weight = self._residuals(state.left)
        # eq-it-surrogate: the part of the gradient without W, and what W is multiplied by
        free = ((self.U - state.rival_means) * root_weight[:, None]).T @ self.V
        moment = (self.V * (mean_weight * state.tilt)[:, None]).T @ self.V / math.sqrt(self.dim)
        move = self.move(state, residual, free, moment)
        memory = state.memory + self.c * move.update
        self._check_sd(memory)
        updates = np.vstack([state.updates, move.update.ravel()])
        known, fresh, factors = self._conditional(self._overlaps(updates, self.outputs), state.noise)
        noise = np.column_stack([state.noise, self._noise(move.answers - move.own, known, fresh)])
        sd, norms, favoured, excess = self._rivals_of(memory, residual, state.tilt)
        own_scale, rival_scale, win_scale = self.scales(memory)
        # eq-it-recursion, z_i(t + 1), and what is expected of it before the newest noise is drawn
        signal = state.signal + move.gain
        z = signal + own_scale * self.c * noise.sum(1)
        expected = signal + own_scale * self.c * (state.noise.sum(1) + known)
        rivals = self.rivals.advance(
            self.c * factors,
            rival_scale,
            sd,
            np.repeat(self.rival_scales(norms), self.ranks)[: self.n_items - 1],
            residual,
            move.response,
            move.keep,
            self.momentum,
            self.contest(z, expected, win_scale * self.c * fresh),
            self.rival_answers(z),
        )
        left, row = self._row(z, rivals.energy, rivals.wins, math.sqrt((memory**2).sum() / self.matrix_dim))
        # eq-it-tilt: what the softmax has lowered before it need not lower again
        tilt = rivals.mean_logit / (np.maximum(rival_scale * sd, 1e-12) ** 2 * excess)
        means = self._rival_means(rivals.masses, self.V @ memory.T)
        return State(
            memory, z, signal, left, rivals.participation, tilt, means, favoured, noise, updates, move.past
        ), row

    def move(self, state: State, residual: np.ndarray, free: np.ndarray, moment: np.ndarray) -> Move:
        """The step of an optimizer. residual: (K,) r_i. free, moment: (d′, d′) the gradient is free − W moment."""
        raise NotImplementedError

    def scales(self, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each input the noise of the own logit, of its rivals', and of the own one that may win; 1 in the mean."""
        raise NotImplementedError

    def contest(self, z: np.ndarray, expected: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the own logits that are held against rivals."""
        return expected, spread

    def rival_scales(self, norms: np.ndarray) -> np.ndarray:
        """Of each output the noise of its logits as a rival; its square is 1 in the mean."""
        return np.sqrt(norms)

    def rival_answers(self, z: np.ndarray) -> np.ndarray | None:
        """What the rivals' own logits z add to theirs here, (chosen, N − 1), if that is no part of the noise."""
        return None

    def _overlaps(self, updates: np.ndarray, outputs: np.ndarray | None = None) -> np.ndarray:
        """ω_st = (1/d) tr O_sᵀ O_t, or (1/d) tr O_sᵀ C O_t as the items' own outputs see it."""
        d = self.matrix_dim
        seen = updates if outputs is None else (outputs @ updates.reshape(-1, d, d)).reshape(len(updates), -1)
        return updates @ seen.T / d

    def _check_sd(self, W: np.ndarray) -> None:
        """Raise `ValueError` where logits would leave float64."""
        sd = math.sqrt((W**2).sum() / self.matrix_dim)
        if sd > LARGEST_SD:
            least = f"logits of a standard deviation of at most {LARGEST_SD:g}"
            raise ValueError(f"lr_over_root_dim must give {least}, got {self.c!r} and {sd:.3g}")

    def _outputs(self, weights: np.ndarray) -> np.ndarray:
        """d Σ_j w_j u_j u_jᵀ over all outputs, Σ_j w_j = 1."""
        U, w = self.U[self.single], weights[self.single]
        return self.matrix_dim * (U * w[:, None]).T @ U + weights[~self.single].sum() * self.rare_outputs

    def _rivals_of(self, W: np.ndarray, residual: np.ndarray, tilt: np.ndarray):
        """σ of a logit of an item's own outputs, their |Wᵀ u_j|² over the mean, and by eq-it-outputs the covariance of
        those that the softmax favours and the mean of |Wᵀ u_j|² over them.
        """
        mean = (W * (self.outputs @ W)).sum() / self.matrix_dim
        # a mean over outputs that have learnt as much: given W v_i those of one kind are Gaussian and of one variance
        order = np.argsort((self.U * (self.V @ W.T)).sum(1)[self.single])
        norms = np.full(len(self.U), (W * (self.rare_outputs @ W)).sum() / self.matrix_dim)
        lengths = (((self.U @ W) ** 2).sum(1) / (self.U**2).sum(1))[self.single][order]
        norms[np.nonzero(self.single)[0][order]] = uniform_filter1d(lengths, _ALIKE, mode="nearest")
        norms = np.maximum(norms / np.average(norms, weights=self.crowd), LEAST_SQUARE)
        level = np.clip(np.average(tilt, weights=residual), 0, 1) ** 2 * mean / 2 if residual.any() else 0
        log_weights = level * (1 - 1 / norms) - np.log(norms) / 2
        weights = self.crowd * np.exp(log_weights - log_weights.max())
        weights /= weights.sum()
        return math.sqrt(mean), norms, self._outputs(weights), weights @ norms

    def _share(self) -> float:
        """What the dimension d′ adds to fluctuations of relative order 1/√d is divided out."""
        return math.sqrt(self.matrix_dim / self.dim)

    def _along_inputs(self, W: np.ndarray) -> np.ndarray:
        """|W v_i|² as the items' own outputs see it, over its mean, (K,)."""
        images = self.V @ W.T
        # an item is no rival of its own
        own = self.matrix_dim / self.crowd.sum() * (images * self.U).sum(1) ** 2
        squares = ((images @ self.outputs) * images).sum(1) - own
        mean = (W * (self.outputs @ W)).sum() / self.matrix_dim
        return np.maximum(1 + self._share() * (squares / mean - 1), LEAST_SQUARE)

    def _conditional(self, overlaps: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        """Of the newest noise, given those before, (K, t): its mean, its standard deviation, its Cholesky factors."""
        t = noise.shape[1]
        factors = np.linalg.cholesky(overlaps + 1e-9 * np.eye(t + 1))[t]
        known = noise @ np.linalg.solve(overlaps[:t, :t] + 1e-9 * np.eye(t), overlaps[:t, t])
        return known, factors[t], factors

    def _rival_means(self, masses: np.ndarray, images: np.ndarray) -> np.ndarray:
        """What the softmax means of its rivals have across W v_i, (K, d′); along it they have the tilt."""
        ends = masses.shape[1] * np.arange(len(masses) + 1)
        means = csr_array((masses.ravel(), self.outputs_of_rivals.T.ravel(), ends), (len(masses), len(self.U))) @ self.U
        return means - ((means * images).sum(1) / np.maximum((images**2).sum(1), 1e-300))[:, None] * images

    def _row(self, z, energy, wins, sd) -> tuple[np.ndarray, tuple[float, float, float, float]]:
        """1 − p̂_ii, (K,), and the count, loss, σ and number of learnt items."""
        # eq-it-recursion, r_i(t) / p_i; learnt to 44 digits is learnt, and products of inverse weights stay in range
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

    def _noise(self, scatter, known, fresh) -> np.ndarray:
        """g_i(t): the matrix's scatter as far as d′ gives it the right share; the rest is that of another item."""
        independent = known + fresh * self.rng.standard_normal(len(known))
        measured = math.sqrt(self.matrix_dim) * scatter
        # a neighbour in rank, whose lengths and whose history of noise are those of an item like this one
        other = np.arange(len(scatter)) ^ 1
        other[other >= self.single.sum()] = 0
        mixed = self._share() * measured + math.sqrt(1 - self._share() ** 2) * measured[other]
        return np.where(self.single, mixed, independent)


class _Rivals(NamedTuple):
    """Of every input: free energy, probability to be recovered, Y = Σ_j π_ij², Σ_j π_ij z_ij, π_i on groups (K, 64)."""

    energy: np.ndarray
    wins: np.ndarray
    participation: np.ndarray
    mean_logit: np.ndarray
    masses: np.ndarray


class _TypicalRivals:
    """N − 1 independent rivals an item, of which only the mean free energy is kept."""

    def __init__(self, n_items: int, ranks: np.ndarray, rng: np.random.Generator):
        self.rng, self.n_rivals = rng, n_items - 1

    def advance(self, factors, scale, sd, norms, residual, response, keep, momentum, own, answers=None) -> _Rivals:
        expected, fresh = own
        tilt = mean_tilt(sd, self.n_rivals)  # eq-it-tilt
        energy = expected_log_partition(sd, self.n_rivals) + tilt * sd**2 * (scale - 1)
        g, gauss = GAUSS_HERMITE
        scores = (expected[:, None] + fresh[:, None] * g) / (scale[:, None] * sd)
        wins = np.exp(self.n_rivals * log_ndtr(scores)) @ gauss / math.sqrt(2 * math.pi)
        masses = math.sqrt((1 - tilt) / _GROUPS) * self.rng.standard_normal((len(scale), _GROUPS))
        return _Rivals(energy, wins, np.full(len(scale), 1 - tilt), tilt * (sd * scale) ** 2, masses)


class _SampledRivals:
    """The logits of an item's N − 1 rivals, one process each, for some items; the others take those of a neighbour.

    All are windows of one pool of Gaussian processes. A rival that comes near the top has a part −r_i π_ij u_j v_iᵀ of
    its own in the gradient and is lowered.
    """

    def __init__(self, n_items: int, ranks: np.ndarray, rng: np.random.Generator):
        self.rng, self.n_rivals = rng, n_items - 1
        number = min(len(ranks), max(_FEWEST_INPUTS, _RIVAL_LOGITS // n_items))
        # evenly in the root of the rank: the ranks that are being learnt get most
        chosen = np.unique(np.searchsorted(ranks, np.linspace(0, math.sqrt(ranks[-1]), number) ** 2))
        self.chosen = np.minimum(chosen, len(ranks) - 1)
        middle = (ranks[self.chosen][1:] + ranks[self.chosen][:-1]) / 2
        self.nearest = np.searchsorted(middle, ranks)
        size = max(min(_POOL, len(self.chosen) * n_items), 2 * n_items)
        self.pool, self.draws = np.zeros(size, np.float32), []
        self.windows = rng.integers(0, size - n_items, len(self.chosen))
        self.lowered = np.zeros((len(self.chosen), self.n_rivals), np.float32)
        self.softmax, self.pressure = None, np.float32(0)

    def advance(self, factors, scale, sd, norms, residual, response, keep, momentum, own, answers=None) -> _Rivals:
        """answers: what the rivals' own logits add to theirs here, (chosen, N − 1)."""
        if self.softmax is not None:
            self.pressure = momentum * self.pressure + residual[self.chosen, None].astype(np.float32) * self.softmax
            self.lowered *= np.float32(keep)
            # eq-it-lowered
            slope = np.broadcast_to(response, residual.shape)[self.chosen, None]
            # the product in double: an item that is learnt has a slope beyond float32, and no weight
            self.lowered += (slope * self.pressure).astype(np.float32)
        self.draws.append(self.rng.standard_normal(len(self.pool), dtype=np.float32))
        for factor, draw in zip(factors, self.draws, strict=True):
            self.pool += np.float32(factor) * draw
        windows = np.lib.stride_tricks.sliding_window_view(self.pool, self.n_rivals)[self.windows]
        logits = windows * scale[self.chosen, None].astype(np.float32) * norms.astype(np.float32)
        if answers is not None:
            logits += answers
        logits -= self.lowered
        top = logits.max(1, keepdims=True)
        softmax = np.exp(logits - top)
        total = softmax.sum(1, keepdims=True, dtype=np.float64)
        softmax /= total.astype(np.float32)
        self.softmax = softmax
        cuts = np.linspace(0, self.n_rivals, min(_GROUPS, self.n_rivals), endpoint=False).astype(int)
        even = np.diff(cuts, append=self.n_rivals) / self.n_rivals
        masses = np.add.reduceat(softmax, cuts, axis=1, dtype=np.float64) - even
        energy = (top + np.log(total))[:, 0]
        mean_logit = np.einsum("ij,ij->i", self.softmax, logits)
        participation = np.einsum("ij,ij->i", self.softmax, self.softmax)
        ratio = scale / scale[self.chosen][self.nearest]
        expected, fresh = own
        beaten = ndtr((expected - top[:, 0][self.nearest] * ratio) / fresh)
        mean_logit = mean_logit[self.nearest] * ratio
        energy = energy[self.nearest] + mean_logit * (1 - 1 / ratio)
        return _Rivals(energy, beaten, participation[self.nearest], mean_logit * ratio, masses[self.nearest])
