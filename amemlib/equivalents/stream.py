"""The true iterates of an optimizer as one random process an item: the loop that all optimizers share.

Every item has an own logit, its rivals' logits, and a residual weight r_i; what the items have in common is read off
matrices of a dimension d′ with N d′/d items. `mean_field` and `descent` say what a step does to them.
Equations are those of the chapter "The true iterates".
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr

from amemlib.checks import check_count, check_positive
from amemlib.equivalents.fixed_point import GAUSS_HERMITE
from amemlib.equivalents.free_energy import LARGEST_SD, expected_log_partition, mean_tilt

_LEAST_RATE = 1e-6
_WHOLE_ITEMS = 8
"""Up to rank 8 d every item of the d′-dimensional matrices stands for d/d′ items; beyond, for more and more."""
MOST_RIVALS = 65_536
_RIVAL_LOGITS = 2_000_000
_POOL = 2**20
_GROUPS = 64
"""The rivals of an item share this many output vectors in the matrices: two that matter rarely share one."""
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
class State:
    """Where a solution stands after t steps.

    memory: (d′, d′) W_t. logits: (K,) own logits z_i, signal: (K,) the same without their noise.
    left: (K,) 1 − p̂_ii. participation: (K,) Y_i of the item's rivals. rival_means: (K, d′) their softmax mean.
    noise: (K, t) g_i of every step. updates: (t, d′²) O of every step.
    past: whatever else an optimizer carries from step to step.
    """

    memory: np.ndarray
    logits: np.ndarray
    signal: np.ndarray
    left: np.ndarray
    participation: np.ndarray
    rival_means: np.ndarray
    noise: np.ndarray
    updates: np.ndarray
    past: Any = None


@dataclass(frozen=True, eq=False)
class Move:
    """What one step does.

    update: (d′, d′) O_t. answers: (K,) u_iᵀ O_t v_i of the matrices' vectors, own: (K,) its mean over them.
    gain: (K,) what an item's signal gains. lift: of a weight r_i π_ij on the pair (j, i) what it adds to that logit.
    keep: the part of a logit's own history that the pull leaves. past: as in `State`.
    """

    update: np.ndarray
    answers: np.ndarray
    own: np.ndarray
    gain: np.ndarray
    lift: Callable[[np.ndarray], np.ndarray]
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
        self.outputs_of_rivals = rng.integers(0, len(ranks), (_GROUPS, len(ranks)))
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
            rival_means=np.zeros((n, d)),
            noise=np.zeros((n, 0)),
            updates=np.zeros((0, d * d)),
        )

    def step(self, state: State) -> tuple[State, tuple[float, float, float, float]]:
        """The next state, and its count, loss, σ and number of learnt items."""
        residual, mean_weight, root_weight = self._residuals(state.left)
        # eq-it-surrogate: the part of the gradient without W, and what W is multiplied by
        free = ((self.U - state.rival_means) * root_weight[:, None]).T @ self.V
        moment = (self.V * (mean_weight * (1 - state.participation))[:, None]).T @ self.V / math.sqrt(self.dim)
        move = self.move(state, residual, free, moment)
        memory = state.memory + self.c * move.update
        sd = self._interaction_sd(memory)
        updates = np.vstack([state.updates, move.update.ravel()])
        known, fresh, factors = self._conditional(self._overlaps(updates), state.noise)
        noise = np.column_stack([state.noise, self._noise(move.answers - move.own, known, fresh)])
        # eq-it-recursion, z_i(t + 1), and what is expected of it before the newest noise is drawn
        own_scale, rival_scale, win_scale = self.scales(memory, sd)
        signal = state.signal + move.gain
        z = signal + own_scale * self.c * noise.sum(1)
        expected = signal + own_scale * self.c * (state.noise.sum(1) + known)
        energy, wins, participation, masses = self.rivals.advance(
            self.c * factors,
            rival_scale,
            sd,
            residual,
            move.lift,
            move.keep,
            self.momentum,
            expected,
            win_scale * self.c * fresh,
            self.rival_answers(z),
        )
        left, row = self._row(z, energy, wins, sd)
        rival_means = self._rival_means(masses)
        return State(memory, z, signal, left, participation, rival_means, noise, updates, move.past), row

    def move(self, state: State, residual: np.ndarray, free: np.ndarray, moment: np.ndarray) -> Move:
        """The step of an optimizer. residual: (K,) r_i. free, moment: (d′, d′) the gradient is free − W moment."""
        raise NotImplementedError

    def scales(self, memory: np.ndarray, sd: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each input the noise of the own logit, of its rivals', and of the own one that may win; 1 in the mean."""
        raise NotImplementedError

    def rival_answers(self, z: np.ndarray) -> np.ndarray | None:
        """What the rivals' own logits z add to theirs here, (chosen, N − 1), if that is no part of the noise."""
        return None

    def _overlaps(self, updates: np.ndarray) -> np.ndarray:
        """ω_st = (1/d) tr O_sᵀ O_t."""
        return updates @ updates.T / self.matrix_dim

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
        """g_i(t): the matrix's noise as far as d′ gives it the right share, the rest independent, given the past."""
        independent = known + fresh * self.rng.standard_normal(len(known))
        measured = math.sqrt(self.matrix_dim) * scatter
        share = math.sqrt(self.matrix_dim / self.dim)
        mixed = share * measured + math.sqrt(1 - share**2) * independent
        return np.where(self.single, mixed, independent)


class _TypicalRivals:
    """N − 1 independent rivals an item, of which only the mean free energy is kept."""

    def __init__(self, n_items: int, ranks: np.ndarray, rng: np.random.Generator):
        self.rng, self.n_rivals = rng, n_items - 1

    def advance(self, factors, scale, sd, residual, lift, keep, momentum, expected, fresh, answers=None):
        """Free energies, probabilities to be recovered, Y = Σ_j π_ij², (K,) each; π_i on groups of rivals (K, 64)."""
        tilt = mean_tilt(sd, self.n_rivals)  # eq-it-tilt
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
