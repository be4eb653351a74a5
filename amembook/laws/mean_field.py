"""Muon's true iterates as one random process an item: no N² softmax, no theorem.

Up to d = 768 and N = 65 536 it is a self-consistent simulation: a memory of dimension d, whose rivals' logits are
random processes, with a row of its own for every item up to twice the last that is recovered. Beyond, resolvents and
overlaps are read off matrices of dimension d′ = 128 with N d′/d items, own logits follow cavity formulas with a
regression for their higher orders, and the cost does not depend on d.
Derived in the chapter "The true iterates", whose equations the lines are marked with.

Beyond those sizes the pull on an item's own signals is kept to first order, so a solution has a range
(`_check_range`): it ends where a step overshoots, at N far beyond what η = c √d can teach at once (c √d well below
log N, most of all at small d and α).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from amembook.laws.stream import (
    MOST_RIVALS,
    WHOLE_ITEMS,
    MeanFieldIterates,
    Move,
    State,
    Stream,
    averaged,
    check_course,
    strata,
)
from amemlib.checks import check_alpha, check_count, check_instance, check_real
from amemlib.equivalents.fixed_point import solve_fixed_point
from amemlib.problem import Problem
from amemlib.theory import power_law_sum

_WHOLE_DIM, _MATRIX_DIM = 768, 128
_BEYOND_FRONT = 2.0
_FEW_STEPS = 5
_LOG_STEP = 0.2
_CLASS_WIDTH = 0.02
_SOFT = 0.1
_NO_DIRECTION = 1e-12
_NO_GRADIENT = 1e-290


def expected_trajectory(problem: Problem, steps: int, lr_over_root_dim: float = 1.0) -> np.ndarray:
    """Expected number of items that Muon's true iterates recover after 1, …, `steps` steps, (steps,).

    Polar map, η = `lr_over_root_dim` √d, on the population loss of a power law, in the box 1.25 ≤ α ≤ 2.25,
    96 ≤ d ≤ 768, 20 d ≤ N ≤ 65 536, ½ ≤ η / √d ≤ 2, up to twenty steps for d ≤ 192, ten for d ≤ 256 and five beyond;
    raises `ValueError` outside. It was within 5 % of the counts wherever items were drawn (`iterates-domain`,
    `trajectory`): at the ends of α and of the rate for d = 96 and 192 (twenty steps), 384 and 768 (five steps), all
    with N = 20 d, inside at d = 128 and 192, N = 3840 to 8192, and with η = √d up to N = 32 768. No draw was made at
    N = 65 536. Momentum, batches and word lists are solved by `mean_field_iterates`, which says what it costs.
    """
    check_instance("problem", problem, Problem)
    steps, c, d = check_count("steps", steps), check_real("lr_over_root_dim", lr_over_root_dim), problem.dim
    for name, value, (low, high) in (
        ("problem.alpha", problem.alpha, (1.25, 2.25)),
        ("problem.dim", d, (96, 768)),
        ("problem.n_items", problem.n_items, (20 * d, MOST_RIVALS)),
        ("lr_over_root_dim", c, (0.5, 2)),
        ("steps", steps, (1, 20 if d <= 192 else 10 if d <= 256 else 5)),
    ):
        if value is None or not low <= value <= high:
            raise ValueError(f"{name} must lie in [{low}, {high}], got {value!r}")
    return mean_field_iterates(problem, c, steps).counts


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
    batch_size: B ≥ d / 128, a fresh batch every step; `None` for the population.
    streams: independent solutions, whose scatter gives `errors`.
    Cost: up to d = 768 some ten products of a (K, d) and a (d, d) matrix and two SVDs a step and stream, K the smaller
        of N and three times the larger of 8 d and twice the last count; one stream more where that exceeds 8 d, to see
        it. On one core a stream of five steps takes a second at d = 192 and 40 to 60 at d = 768, in 2 GB. Memory
        grows as K d + T (d² + 10⁶). Beyond d = 768 nothing grows with d.
    How good it is was measured at the places that `expected_trajectory` names. Beyond d = 768 or N = 65 536 counts
        after three to five steps are 3 to 6 % too high: so the same formulas are at d = 768, beside counts.
    Range: beyond d = 768 or N = 65 536 5 steps, as long as what first order leaves out of the pull is smaller than the
        signals that the memory holds, and those of an update hold no more than its energy, Σ_i (E u_iᵀ O v_i)² ≤ d.
        Beyond, where steps overshoot, the counts would be those of the error.
    Raises `ValueError` for a momentum outside [0, 1), a smaller batch, logits whose standard deviation exceeds 50, and
    more `steps` than the range has.
    """
    check_instance("problem", problem, Problem)
    p = np.sort(problem.frequencies.numpy(force=True))[::-1]
    return _solve(p.__getitem__, problem.n_items, problem.dim, lr_over_root_dim, steps, momentum, batch_size, streams)


def power_law_iterates(
    n_items: int, dim: int, alpha: float, lr_over_root_dim: float, steps: int, streams: int = 8
) -> MeanFieldIterates:
    """`mean_field_iterates` for p_i ∝ i^{−α}, α > 1/2, on the population, where not even the N frequencies fit.

    Its range is the same: the larger N and the smaller d and α, the fewer steps.
    """
    alpha = check_alpha(alpha)
    n_items = check_count("n_items", n_items, least=2)
    total = power_law_sum(n_items, alpha)
    return _solve(
        lambda ranks: (ranks + 1.0) ** -alpha / total, n_items, dim, lr_over_root_dim, steps, 0.0, None, streams
    )


def _solve(frequency_at, n_items, dim, lr_over_root_dim, steps, momentum, batch_size, streams) -> MeanFieldIterates:
    dim, (c, steps, streams) = check_count("dim", dim), check_course(lr_over_root_dim, steps, streams)
    momentum = float(check_real("momentum", momentum))
    if not 0 <= momentum < 1:
        raise ValueError(f"momentum must lie in [0, 1), got {momentum!r}")
    whole = dim <= _WHOLE_DIM and n_items <= MOST_RIVALS
    if steps > _FEW_STEPS and not whole:
        sizes = f"beyond {_WHOLE_DIM} dimensions or {MOST_RIVALS:,} items"
        raise ValueError(f"steps must be at most {_FEW_STEPS} {sizes}, got {steps} at {dim} and {n_items:,}")
    matrix_dim = dim if whole else min(dim, _MATRIX_DIM)
    if batch_size is not None:
        check_count("batch_size", batch_size, least=math.ceil(dim / matrix_dim))

    def solutions(edges: np.ndarray, numbers: range) -> list:
        generators = (np.random.default_rng([number, n_items, dim]) for number in numbers)
        memory = frequency_at, edges, dim, matrix_dim, c
        return [_Muon(*memory, rng, momentum, batch_size).run(steps) for rng in generators]

    edges = strata(n_items, dim, matrix_dim)
    made = solutions(edges, range(1))
    front = made[0][0][0][:, 0].max()
    if whole and _BEYOND_FRONT * front > WHOLE_ITEMS * dim:
        # the first solution was for the front alone
        edges, made = strata(n_items, dim, matrix_dim, _BEYOND_FRONT * front / dim), []
    courses, states = zip(*made, *solutions(edges, range(len(made), streams)), strict=True)
    if not whole:
        _check_range(np.mean([state.past.squares for state in states], 0), dim)
    return averaged(list(courses), edges)


def _check_range(squares: np.ndarray, dim: int) -> None:
    """Raise `ValueError` where the steps leave the recursion's range.

    squares: (T, 3) sums of squares over the items, of what first order leaves out of a step's signals E u_iᵀ O v_i, of
    the signals that W_t holds after it, and of its own.
    """
    missed, held, own = squares.T
    # Σ s_i² = E⟨O, Σ s_i u_i v_iᵀ⟩ ≤ √(d Σ s_i²) by Cauchy and Schwarz: no update has more
    outside = (missed > held) | (own > dim)
    if outside.any():
        most, steps = int(outside.argmax()), len(squares)
        reason = "beyond them a step overshoots, and its pull on what is held is not known"
        raise ValueError(f"steps must be at most {most} at these frequencies, dim and rate, got {steps}: {reason}")


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """One update: singular vectors of the matrix, its resolvents on a grid of μ, the weights of (2/π)∫dμ."""

    left: np.ndarray
    right: np.ndarray
    crossing: np.ndarray
    diagonal: np.ndarray
    quadrature: np.ndarray
    slope: float


@dataclass(frozen=True, eq=False)
class _Earlier:
    """A step s < t as the signals of step t feel it.

    memory: (d′, d′) W_s. pull: (K,) β^{t−s} r_i(s) (1 − Y_i). spectrum: of its update. response: (K, S) how the update
    answered to an item's weight at each μ′. moment: (d′, d′) what has pulled since, c Σ_τ β^{t−τ} Σ_j r_j(τ) v_j v_jᵀ.
    """

    memory: np.ndarray
    pull: np.ndarray
    spectrum: _Spectrum
    response: np.ndarray
    moment: np.ndarray


@dataclass(frozen=True, eq=False)
class _Past:
    """Heavy-ball sums over the steps, of the gradient without W, of what W adds, of ρ_i and of the moments; every step.

    held: (K,) the signals of all updates together. squares: those of `_check_range`.
    """

    free: np.ndarray | float = 0.0
    pulled: np.ndarray | float = 0.0
    weights: np.ndarray | float = 0.0
    moments: np.ndarray | float = 0.0
    steps: tuple[_Earlier, ...] = ()
    held: np.ndarray | float = 0.0
    squares: tuple[list[float], ...] = ()


class _Muon(Stream):
    """One solution for the polar map."""

    def start(self) -> State:
        return replace(super().start(), past=_Past())

    def move(self, state: State, residual: np.ndarray, free: np.ndarray, moment: np.ndarray) -> Move:
        beta, past = self.momentum, state.past
        free = beta * past.free + free
        pulled = beta * past.pulled + state.outputs @ state.memory @ moment
        weights = beta * past.weights + residual
        moments = beta * past.moments + moment
        left, values, right = self._directions(free - pulled, len(past.steps))
        update = left @ right
        answers = ((self.V @ update.T) * self.U).sum(1)
        shared = state.participation
        spectrum, M = self._spectrum(left, values, right.T, free, weights * np.sqrt(1 + shared))
        # what a direction of W, as any other, loses in this step; along one singular pair of the gradient polar is flat
        rate = ((right @ moments) * right).sum(1)
        inverse = (1 / np.add.outer(values, values)).sum(1) + (self.matrix_dim - len(values) - 0.5) / values
        keep = 1 - self.c * float(rate @ inverse) / self.matrix_dim**2
        steps, squares, held = (), past.squares, past.held
        if self.dim <= _WHOLE_DIM and self.n_items <= MOST_RIVALS:
            direct = self._direct(weights, 0.0, shared, M, spectrum)
            faded = (1 - keep) * state.signal / (self.c * math.sqrt(self.dim))
            own = np.where(self.single, answers, direct - faded)
        else:
            steps, direct, back, tilted = self._pulled(state, residual, weights, moment, spectrum, M)
            own = self._higher_orders(direct, back, answers)
            held = held + own
            squares = (*squares, [float(self.numbers @ x**2) for x in (own - (direct - back), held, own)])
            # how the update answers to the item, the fraction in eq-it-back, at the weight that the pull leaves of it
            effective = weights - back / spectrum.slope
            damped = (1 + tilted) ** 2 + (effective[:, None] * M) ** 2
            response = effective[:, None] * (1 + tilted) / damped * spectrum.quadrature
            pull = residual * state.tilt
            steps = (*steps, _Earlier(state.memory, pull, spectrum, response, np.zeros_like(moment)))
        root_d = math.sqrt(self.dim)
        lengths = np.where(self.single, 0, self._share() * ((self.V**2).sum(1) - 1))
        return Move(
            update,
            answers,
            own,
            gain=self.c * root_d * own * (1 + lengths),
            response=self.c * root_d * direct / np.maximum(weights, 1e-300),
            keep=keep,
            past=_Past(free, pulled, weights, moments, steps, held, squares),
        )

    def _pulled(self, state: State, residual, weights, moment, spectrum: _Spectrum, M: np.ndarray) -> tuple:
        """The steps before, the signals as if W had not yet answered to the item, what it takes of them, and r_i m."""
        beta = self.momentum
        earlier = [replace(s, pull=beta * s.pull, moment=beta * s.moment + self.c * moment) for s in state.past.steps]
        # r_i m of eq-it-signal, a sum over steps with momentum
        memories = [(s.pull, s.memory) for s in earlier] + [(residual * state.tilt, state.memory)]
        left, right = spectrum.left, spectrum.right
        pairs = [(one, -((left * (W @ right)).sum(0) @ spectrum.crossing) / self.matrix_dim) for one, W in memories]
        tilted = sum(np.outer(*pair) for pair in pairs) / math.sqrt(self.dim)
        # eq-it-back; its factor c κ / √d is in the moments
        kernels = [self._kernel(spectrum, s.spectrum, s.moment) for s in earlier]
        back = sum((s.response @ k for s, k in zip(earlier, kernels, strict=True)), np.zeros(len(residual)))
        return earlier, self._direct(weights, tilted, state.participation, M, spectrum), back, tilted

    def scales(self, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        # |W v_i| scatters as it does in d dimensions; W is larger along some directions, so it is not that of |v_i|
        scale = np.sqrt(self._along_inputs(memory))
        return np.where(self.single, 1, scale), scale, scale

    def contest(self, z: np.ndarray, expected: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # what is drawn has no spread; a little makes counts continuous in it
        return np.where(self.single, z, expected), spread * np.where(self.single, _SOFT, 1)

    def _directions(self, G: np.ndarray, t: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Singular triples of a gradient; a batch of few items gives no direction that they do not have."""
        left, values, right = np.linalg.svd(G)
        if not values[0] > _NO_GRADIENT:
            raise ValueError(f"steps must leave something to learn, got a gradient that vanishes in step {t + 1}")
        kept = values > _NO_DIRECTION * values[0]
        return left[:, kept], values[kept], right[kept]

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
        # eq-it-back: X₁₁ Z₂₂ and X₂₁ Z₁₂
        equal = (new.diagonal.T @ outputs**2 @ old.diagonal) * (new.diagonal.T @ (inputs * held) @ old.diagonal)
        mixed = new.crossing.T @ (outputs * inputs) @ old.crossing
        mixed *= new.crossing.T @ (outputs * held) @ old.crossing
        return new.quadrature @ (equal + mixed) / self.matrix_dim**2

    def _direct(self, weights, tilted, shared, M, spectrum: _Spectrum) -> np.ndarray:
        """eq-it-signal: E u_iᵀ O v_i without the pull on the item's own signals."""
        damped = (1 + tilted) ** 2 + (1 + shared[:, None]) * (weights[:, None] * M) ** 2
        return weights * (M**2 / damped @ spectrum.quadrature)

    def _higher_orders(self, direct: np.ndarray, back: np.ndarray, answers: np.ndarray) -> np.ndarray:
        """E u_iᵀ O v_i: the pull to first order, and its higher orders by a regression on the matrix's own items."""
        if not back.any():
            return direct
        features = np.stack([back, back * direct, back * direct**2, back * np.abs(back)], 1)
        orders = np.linalg.lstsq(features[self.single], (answers - direct)[self.single], rcond=None)[0]
        return direct + features @ orders
