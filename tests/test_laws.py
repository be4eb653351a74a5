"""A stored law is the law that ships: a cheap point of each is solved again and compared with its record.

Where the two differ by more than the law's own error, the law of the code stands in a `resolved.json` beside the record
(tools/laws.py), and the point is compared with that.
"""

import laws
import pytest
import torch
from ledger import ROOT, several

from amembook.paper.deflation import RULES
from amembook.paper.iterates.many_steps import predict_iterates
from amembook.paper.iterates.trajectory import solve_trajectory
from amemlib import Problem, capacity_limit, expected_capacity, theory
from amemlib.equivalents import expected_map_capacity, thresholded_weights

EXACT, SIMULATED = 2e-3, 0.06
"""What a law is solved to: grids of integrals; a simulation of eight streams at the smallest d."""


def one_step(n_items, dim, alpha, name, lam_over_t0=0.0):
    """The sharp count of one step of a map."""
    lam = lam_over_t0 * theory.bulk_scale(n_items, dim, alpha) if name == "smoothed_sign" else 0.0
    return expected_capacity(Problem.power_law(n_items, dim, alpha), name, lam)


def one_map(n_items, dim, alpha):
    """The sharp count of the polar map by the law of any spectral map."""
    return expected_map_capacity(Problem.power_law(n_items, dim, alpha), torch.ones_like)


def limit(n_items, dim, alpha):
    """What one gradient allows, in its sharp form."""
    return capacity_limit(Problem.power_law(n_items, dim, alpha))


def thresholded(n_items, dim, alpha, rule, steps, constant):
    """The sharp counts of the thresholded iterates after every step."""
    plan = RULES[rule].schedule(n_items, dim, alpha, steps, constant)
    p = Problem.power_law(n_items, dim, alpha).frequencies
    return RULES[rule].expected(plan, thresholded_weights(p, plan.removed), dim)["counts"]


def iterates(n_items, dim, alpha, steps):
    """The recursion's counts of the true iterates after every step."""
    return predict_iterates(n_items, dim, alpha, steps, 1.0)["counts"]


def trajectory(n_items, dim, alpha, steps, rate):
    """The same at another rate."""
    return solve_trajectory(n_items, dim, alpha, steps, rate)["count"]


POINTS = {
    **{
        f"one-step/confirm-alpha-{alpha:g}": [
            (("counts", name, 0), one_step, (50_000, 128, alpha, name, 1.0)) for name in ("polar", "smoothed_sign")
        ]
        + [(("counts", "sgd", 0), one_step, (2048, 1024, alpha, "sgd"))]
        for alpha in (1.25, 1.5, 2.0)
    },
    "sharp/confirm-grid": [(("counts", "polar", 0, 0, 2), one_step, (5000, 128, 1.5, "polar"))],
    "critical-batch/confirm-alpha-1.5": [(("population", "polar", 0), one_step, (16_384, 64, 1.5, "polar"))],
    "optimality/confirm-alpha-1.5": [(("counts", "polar", 0), one_step, (8192, 128, 1.5, "polar"))],
    "spectral-maps/confirm-alpha-1.5": [
        (("counts", "polar", 0), one_map, (16_384, 64, 1.5)),
    ],
    "whitening/confirm": [
        (("counts", "matched", 0, 1), one_step, (8192, 128, 1.5, "matched_filter")),
        (("counts", "kfac", 0, 1), one_step, (8192, 128, 1.5, "kfac")),
        (("counts", "sgd", 0, 1), one_step, (8192, 128, 1.5, "sgd")),
    ],
    **{
        f"gradient-limit/{name}": [(("limit", 0, 1), limit, (8192, dim, 1.5))]
        for name, dim in (("confirm", 64), ("again", 64))
    },
    "zoo/confirm": [(("counts", "polar", 0, 1), one_map, (8192, 128, 1.5))],
    "two-sided/confirm": [(("counts", "matched", 0), one_step, (6000, 160, 1.35, "matched_filter"))],
    "schedules/confirm": [(("polar", "1.5", 0), one_step, (8192, 256, 1.5, "polar"))],
    "experts/confirm": [(("population", "polar", 0), one_step, (4096, 128, 1.5, "polar"))],
    "variants/many": [(("whole", 0), one_step, (4096, 128, 1.5, "polar"))],
    "deflation/confirm-alpha-1.5": [
        (("counts", "sgd", 0), thresholded, (32_768, 64, 1.5, "sgd", 6, 1.0)),
    ],
}
SLOW = {
    f"many-steps/confirm-alpha-{alpha:g}": [
        (("trajectory", f"muon_{step}", 0), iterates, (8192, 48, alpha, 5), step - 1) for step in range(1, 6)
    ]
    for alpha in (1.25, 1.5, 2.0)
} | {
    "deflation/confirm-alpha-1.5": [
        (("counts", "polar", 0), thresholded, (32_768, 64, 1.5, "polar", 5, 1.0)),
        (("counts", "smoothed_sign", 0), thresholded, (32_768, 64, 1.5, "smoothed_sign", 5, 0.5)),
    ],
    "iterates-domain/confirm": [(("counts", 0, 0, 0, 0), trajectory, (4096, 128, 1.25, 1, 0.5), 0)],
    "trajectory/late": [(("counts", 0, 0), trajectory, (4096, 192, 1.4, 20, 0.5))],
}
"""Points that take minutes. The law of `trajectory/confirm-alpha-1.5` is the first recursion's, which the code has no
longer: its row says that it missed, and that of `trajectory/late` is today's."""


def compare(name, points, tolerance):
    record, _ = laws.record_of(name)
    law = record["predicted"] | laws.stored(ROOT, name).get("predicted", {})
    for path, solver, arguments, *step in points:
        value = law
        for key in path:
            value = value[key]
        solved = solver(*arguments)
        solved = solved[step[0]] if step else solved
        assert list(several_of(value)) == pytest.approx(list(several_of(solved)), rel=tolerance), (name, path)


def several_of(value):
    """A number or a row of numbers as a list."""
    return several(value.tolist() if hasattr(value, "tolist") else value)


@pytest.mark.slow
@pytest.mark.parametrize("name", POINTS)
def test_a_cheap_point_of_a_stored_law_is_what_the_code_solves(name):
    compare(name, POINTS[name], EXACT)


@pytest.mark.weekly
@pytest.mark.parametrize("name", SLOW)
def test_a_slow_point_of_a_stored_law_is_what_the_code_solves(name):
    compare(name, SLOW[name], SIMULATED)
