"""Items and losses by map, with nothing fitted."""

import math
from dataclasses import replace

import numpy as np
import torch

from amembook.laws import expected_covariance_capacity
from amembook.paper.zoo.maps import RANDOM, ROWS, published_maps
from amemlib.equivalents import SpectralEquivalent, SpectralLaw, expected_map_capacity, expected_map_loss
from amemlib.problem import Problem

NOTHING = 1e-8
"""What the covariance law is given for the rows that are left out: its limit at 0."""


def expected_items(problem: Problem) -> dict[str, float]:
    """Expected items by name.

    Random values scatter the noise by 1 + cv² and leave the mean signal; rows left out are outputs that have no
    variance there.
    """
    law = SpectralLaw.solve(problem.frequencies, problem.dim)
    maps = published_maps(problem, law)
    items = {name: expected_map_capacity(problem, f, law=law) for name, f in maps.items()}
    for name in RANDOM:
        solved = _scattered(problem, name)
        items[name] = float(solved.counts @ solved.recovery_probabilities())
    whole = torch.ones(problem.dim, dtype=torch.float64)
    by_share = {}
    for share in set(ROWS.values()):
        rows = torch.where(torch.arange(problem.dim) < round(share * problem.dim), whole, NOTHING)
        by_share[share] = expected_covariance_capacity(problem, rows, whole)
    return items | {name: by_share[share] for name, share in ROWS.items()}


def expected_losses(problem: Problem, rates) -> dict[str, np.ndarray]:
    """Expected loss in nats by name at each rate, (rates,); steps of rows have no law."""
    law = SpectralLaw.solve(problem.frequencies, problem.dim)
    scales = [rate * math.sqrt(problem.dim) for rate in rates]
    losses = {
        name: np.array([expected_map_loss(problem, f, scale, law) for scale in scales])
        for name, f in published_maps(problem, law).items()
    }
    for name in RANDOM:
        solved = _scattered(problem, name)
        weight = solved.counts * solved.values
        losses[name] = np.array([weight @ solved.expected_losses(scale) for scale in scales])
    return losses


def _scattered(problem: Problem, name: str) -> SpectralEquivalent:
    solved = SpectralEquivalent.solve(problem.frequencies, problem.dim)
    return replace(solved, signal=solved.signal / math.sqrt(1 + RANDOM[name] ** 2))
