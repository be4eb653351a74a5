"""Every public number of the equivalents at small sizes, to more digits than a simulation has: none changes in silence.

The numbers are no evidence that a formula is right; its equations, closed forms and simulations are, in the other files
of this room. But their bands are a few per cent wide, and a term of relative order 1/d may be lost inside them. A
change that is meant writes the numbers again: `python tests/test_equivalents_numbers.py`.
"""

import dataclasses
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

import amemlib as am
from amembook import laws
from amembook.laws import descent
from amembook.paper.interactions import PredictedVariances, typical_absolute_maximum
from amembook.paper.iterates.surrogate import surrogate_gradient
from amembook.paper.optimality import inverse_sum_limit
from amemlib import equivalents

STORED = Path(__file__).with_name("equivalents_numbers.json")
DIM = 12
PROBLEM = am.Problem.power_law(300, DIM, 1.5)
P = PROBLEM.frequencies
BATCH = am.sample_minibatch(PROBLEM, 100, 2000)
FEW = am.Problem.power_law(9, DIM, 1.2).frequencies
BULK = am.theory.bulk_scale(300, DIM, 1.5)
LAMS = {"population": (P, 0.0), "smoothed": (P, BULK), "batch": (BATCH, 0.3 * BULK), "polar batch": (BATCH, 0.0)}
LAMS |= {"few": (FEW, 0.0), "few smoothed": (FEW, 0.01)}
SIGMA = am.sampling.power_law_eigenvalues(DIM, 0.5), am.sampling.power_law_eigenvalues(DIM, 1.0)
SOFT = lambda s: torch.tanh(s / BULK)


@cache
def embeddings() -> am.Embeddings:
    return am.sample_embeddings(PROBLEM, 2000, dtype=torch.float64)


def spectral(q, lam):
    found = equivalents.SpectralEquivalent.solve(q, DIM, lam)
    some = q[q > 0][::7]
    curves = (
        found.signal_of(some),
        found.recovery_probabilities(),
        found.expected_losses(1.0),
        found.expected_losses(9.0),
    )
    return found, *curves, equivalents.interaction_variances(q, DIM, lam, some)


def spread_over_pairs():
    found = PredictedVariances.solve(PROBLEM, BULK)
    return [found.rms(slice(0, 9), slice(3, 40)), found.rms(slice(5, 30), slice(5, 30)), found.values]


def many_steps():
    w = equivalents.thresholded_weights(P, [0, 3, 8])
    smoothed = equivalents.ManyStepEquivalent.solve(w, DIM, [BULK, 0.5 * BULK, 0.0])
    batches = torch.stack([BATCH, P])
    polar = equivalents.ManyStepEquivalent.solve(equivalents.thresholded_weights(batches, [0, 2]), DIM, [0.0, 0.0])
    few = equivalents.ManyStepEquivalent.solve(torch.stack([FEW, FEW]), DIM, [0.0, 0.01])
    weights = equivalents.sgd_weights(w, [1.0, 2.0, 5.0])
    counts = [f(weights[-1], DIM) for f in (equivalents.weighted_sgd_capacity, equivalents.evenly_spread_sgd_capacity)]
    chances = [found.recovery_probabilities() for found in (smoothed, polar, few)]
    return smoothed, polar, few, weights.numpy(), counts, chances


def schedules():
    names = "half_recovered_schedule", "half_recovered_smoothed_schedule", "half_recovered_sgd_schedule"
    found = [getattr(equivalents, name)(P, DIM, 3) for name in names]
    lams = [0.0 if name.endswith("sgd_schedule") else x.lams for name, x in zip(names, found, strict=True)]
    return lams, [(x.thresholds, x.learning_rates) for x in found], equivalents.half_recovered_thresholds(P, DIM, 3)


def newton(q):
    found = equivalents.NewtonEquivalent.solve(q, DIM)
    return found, found.interaction(np.linspace(0, 1, 5)), found.spread(), found.recovery_probabilities()


def one_gradient(q):
    found = equivalents.MatchedFilterEquivalent.solve(q, DIM)
    return (
        found,
        *(f() for f in (found.recovery_probabilities, found.matrix_limit, found.limit)),
        [
            equivalents.expected_capacity(PROBLEM, "matched_filter", 0.0, q),
            equivalents.expected_siblings_capacity(PROBLEM, 3, q),
            equivalents.matrix_capacity_limit(PROBLEM, q),
            equivalents.capacity_limit(PROBLEM, q),
        ],
    )


def covariances(lam):
    found = laws.CovarianceEquivalent.solve(P, *SIGMA, lam)
    return found, found.signal, found.variances, found.rare_variance, found.recovery_probabilities()


def law(found):
    values = found.share_below(np.geomspace(1e-3, 1e3, 40) * BULK), found.quantile(np.linspace(0.05, 0.95, 7))
    integral = found.integrate(np.tanh(found.singular_values))
    return found.density, *values, integral, found.signal(SOFT, P[:20]), found.interaction(SOFT, P[:20])


def best_maps():
    found = equivalents.SpectralLaw.power_law(1.5, BULK)
    s = torch.logspace(-2, 3, 30, dtype=torch.float64) * BULK
    maps = equivalents.best_map(found), equivalents.best_map(found, 0.4), equivalents.best_monotone_map(found)
    return [equivalents.tail_snr(found, f) for f in maps], [f(s).numpy() for f in maps]


def leading_order():
    maps = ("polar", 0.0), ("smoothed_sign", 0.3), ("newton", 0.0)
    return (
        [equivalents.rare_item_snr(name, 1.4, lam) for name, lam in maps],
        [equivalents.capacity_constant(name, 999, 1.4, lam) for name, lam in maps],
        [f(n) for n in (3, 77, 10**6) for f in (equivalents.typical_maximum, equivalents.typical_maximum_expansion)],
        [typical_absolute_maximum(2.5), inverse_sum_limit(77, 1.4, 0.3)],
    )


def sgd():
    constants = [equivalents.sgd_capacity_constant(1.5, b) for b in (np.inf, 0.3, 4.0)]
    return constants, [equivalents.sgd_limit_probability(r, 1.5) for r in (1e-9, 0.01, 0.7, 9.0)]


def softmax():
    sds, emb = (0.0, 0.005, 0.5, 4.0), embeddings()
    found = [f(sd, n) for f in (laws.expected_log_partition, laws.mean_tilt) for sd in sds for n in (1, 99)]
    return found, surrogate_gradient(3 * am.polar(am.initial_gradient(emb, P)), emb, P).numpy()


def capacities():
    counted = [("polar", 0.0), ("smoothed_sign", BULK), ("sgd", 0.0), ("newton", 0.0)]
    arguments = [(PROBLEM, name, lam, q) for name, lam in counted for q in (None, BATCH)]
    return (
        [equivalents.expected_capacity(*one) for one in arguments],
        [equivalents.expected_prefix(*one) for one in arguments],
        [equivalents.expected_map_capacity(PROBLEM, f, q) for f in (SOFT, torch.sign) for q in (P, BATCH)],
        [laws.expected_covariance_capacity(PROBLEM, *SIGMA, lam, BATCH) for lam in (0.0, BULK)],
        [laws.expected_table_capacity(embeddings(), P), laws.effective_dimension(SIGMA[0])],
        [equivalents.expected_distinct_items(PROBLEM, b) for b in (0, 0.5, 99)],
    )


def mean_field(**changes):
    # with d = 12 the first order of a step would be out of its range
    problem = am.Problem.power_law(300, 32, 1.5)
    return laws.mean_field_iterates(problem, **{"lr_over_root_dim": 1.0, "steps": 3, "streams": 2} | changes)


NUMBERS = {
    **{f"spectral {name}": (lambda setting=setting: spectral(*setting), 1e-6) for name, setting in LAMS.items()},
    "pairs": (spread_over_pairs, 1e-6),
    "many steps": (many_steps, 1e-6),
    "schedules": (schedules, 1e-6),
    **{f"newton {name}": (lambda q=q: newton(q), 1e-6) for name, q in (("all", P), ("batch", BATCH), ("few", FEW))},
    **{f"one gradient {name}": (lambda q=q: one_gradient(q), 1e-6) for name, q in (("all", P), ("batch", BATCH))},
    "covariances polar": (lambda: covariances(0.0), 1e-6),
    "covariances smoothed": (lambda: covariances(BULK), 1e-6),
    "law of a power law": (lambda: law(equivalents.SpectralLaw.power_law(1.5, BULK)), 1e-6),
    "law of frequencies": (lambda: law(equivalents.SpectralLaw.solve(P, DIM)), 1e-6),
    "law of a batch with noise": (lambda: law(equivalents.SpectralLaw.solve(BATCH, DIM, 0.01)), 1e-6),
    "best maps": (best_maps, 1e-6),
    # it is looked for to five digits
    "best smoothing": (lambda: equivalents.best_smoothing(equivalents.SpectralLaw.power_law(1.5, BULK)), 1e-3),
    "leading order": (leading_order, 1e-6),
    "sgd": (sgd, 1e-6),
    "softmax": (softmax, 1e-6),
    "capacities": (capacities, 1e-6),
    # sums in float32, and what lies near a threshold may fall on its other side
    "iterates": (mean_field, 1e-3),
    "iterates with momentum": (lambda: mean_field(momentum=0.6, batch_size=40), 1e-3),
    "iterates of many rivals": (lambda: laws.power_law_iterates(66_000, DIM, 1.5, 2.0, 2, 2), 1e-3),
    "descent": (lambda: laws.descent_iterates(PROBLEM, 2.0, 3, 2), 1e-3),
}


def summary(found) -> list[float]:
    """Size, mean, mean square and one uneven mean of every array in a result, one after the other."""
    if dataclasses.is_dataclass(found):
        return [x for field in dataclasses.fields(found) for x in summary(getattr(found, field.name))]
    if isinstance(found, (list, tuple)) and not all(np.isscalar(one) for one in found):
        return [x for one in found for x in summary(one)]
    flat = np.asarray(found).ravel()
    flat = np.r_[flat.real, flat.imag] if np.iscomplexobj(flat) else flat.astype(float)
    uneven = flat @ np.cos(np.arange(len(flat))) / len(flat)
    return [float(len(flat)), float(flat.mean()), float(np.mean(flat**2)), float(uneven)]


@pytest.mark.parametrize("name", NUMBERS)
def test_no_number_of_the_equivalents_changes_in_silence(name):
    compute, tolerance = NUMBERS[name]
    found, stored = (np.reshape(x, (-1, 4)) for x in (summary(compute()), json.loads(STORED.read_text())[name]))
    assert found.shape == stored.shape and (found[:, 0] == stored[:, 0]).all()
    # a mean of terms of both signs is as exact as they are large
    size = np.sqrt(stored[:, 2:3])
    scale = np.concatenate([size, size**2, size], 1)
    assert (np.abs(found - stored)[:, 1:] <= tolerance * scale + 1e-12).all()


def raises(call, words: str) -> bool:
    try:
        call()
    except ValueError as error:
        return words in str(error)
    return False


UP, DOWN = 1 + 1e-12, 1 - 1e-12
ONE = torch.ones(1, dtype=torch.float64)
SMALL = am.Problem.power_law(6, 4, 1.5)
LOSSES = equivalents.SpectralEquivalent.solve(SMALL.frequencies, 4)
# a function of one number, its border, the factor that leads beyond it, and what is said there
BORDERS = {
    "a free energy": (lambda x: laws.expected_log_partition(x, 9), 50.0, UP, "sd must be at most 50"),
    "a surrogate": (
        lambda x: surrogate_gradient(x * torch.eye(DIM, dtype=torch.float64), embeddings(), P),
        50 * DIM**0.5, UP, "W must give logits",
    ),
    "small rates": (lambda x: mean_field(lr_over_root_dim=x), 1e-6, DOWN, "must lie in [1e-06, 50]"),
    "large rates": (lambda x: mean_field(lr_over_root_dim=x), 50.0, UP, "must lie in [1e-06, 50]"),
    "momentum": (lambda x: mean_field(momentum=x, steps=1), 0.0, -1, "momentum must lie"),
    "full momentum": (lambda x: mean_field(momentum=x, steps=1), DOWN, 1 / DOWN, "momentum must lie"),
    "a signal below": (
        lambda x: LOSSES.signal_of(x * ONE), LOSSES.values[-1] / 1.01 * UP, DOWN**2, "q must lie in"),
    "a signal above": (lambda x: LOSSES.signal_of(x * ONE), LOSSES.values[0] * 1.01 * DOWN, UP**2, "q must lie in"),
}  # fmt: skip


@pytest.mark.parametrize("name", BORDERS)
def test_what_lies_on_a_border_is_taken_and_what_lies_beyond_is_refused(name):
    call, border, beyond, words = BORDERS[name]
    assert not raises(lambda: call(border), words)
    outside = -1e-12 if border == 0 else border * beyond
    assert raises(lambda: call(outside), words)


def test_what_would_take_too_long_is_refused():
    allowed = "the expected logits below 10000 and their spread below 1000"
    assert raises(lambda: LOSSES.expected_losses(2e4), f"lr must keep {allowed}, got 20000.0")
    assert raises(lambda: LOSSES.expected_losses(1.01e4 / LOSSES.signal.max()), "lr must keep the expected logits")
    assert raises(lambda: equivalents.sgd_capacity_constant(8.0, 1.01e6), "at most 1e6 zeta")


def test_descent_takes_as_many_items_as_it_says(monkeypatch):
    monkeypatch.setattr(descent, "MOST_RIVALS", 6)
    assert laws.descent_iterates(SMALL, 1.0, 1, 1).counts.shape == (1,)
    with pytest.raises(ValueError, match="at most 6 items, got 7"):
        laws.descent_iterates(am.Problem.power_law(7, 4, 1.5), 1.0, 1, 1)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_two_covariances_is_that_of_the_singular_values(unit):
    """With Σ_u and Σ_v in other units, and λ with them, every item has the chance that it had."""
    for lam in (0.0, BULK):
        found = laws.CovarianceEquivalent.solve(P, unit * SIGMA[0], unit * SIGMA[1], unit * lam)
        expected = laws.CovarianceEquivalent.solve(P, *SIGMA, lam)
        np.testing.assert_allclose(found.signal, unit * expected.signal, rtol=1e-6)
        np.testing.assert_allclose(found.recovery_probabilities(), expected.recovery_probabilities(), atol=1e-6)


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(summary(compute()))}" for name, (compute, _) in NUMBERS.items()]
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
