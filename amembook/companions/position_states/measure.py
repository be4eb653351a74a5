"""Symmetries to rounding, and networks that must find a symbol and step from it."""

import numpy as np
import torch

from amembook.companions.position_states import lookup, states

_EXACT, _TRAINED = range(2)


def measure_exact(
    length: int,
    dim: int,
    symbols: int,
    offsets: int,
    planes: dict,
    seed: int,
) -> dict:
    """In float64: how far logits of a random network move if all planes are turned, or all positions shifted, each as
    angles of its own; or a constant is added to all states. And how far a hop is from its factors. planes: the angles
    of the network, as of `states.angles`."""
    generator = np.random.default_rng([seed, length, _EXACT])
    theta = states.angles(**planes).double()
    weights = states.start(symbols, offsets, dim, theta, 0.0, (0.6, 0.4), generator)
    weights = {name: W.double() for name, W in weights.items()}
    asked, places, steps, _ = lookup.sample_questions(16, length, symbols, offsets, generator)
    content = states.contents(weights, asked, asked.gather(1, places[:, None])[:, 0], steps)
    e = states.phases(theta, length + 1)
    own = states.forward(weights, content, e)[0]
    by = torch.from_numpy(generator.uniform(0, 2 * np.pi, len(theta)))
    turn = torch.stack([by.cos(), by.sin()], -1).flatten()
    off = lambda other: (states.forward(weights, content, other)[0] - own).abs().max().item()
    kernel = torch.from_numpy(generator.random(length // 2))
    rows = torch.zeros(length, length, dtype=torch.float64)
    for delta, weight in enumerate(kernel):
        rows += weight * torch.diag(torch.ones(length - delta, dtype=torch.float64), -delta)
    factors = torch.view_as_real(states.hop_factors(kernel, theta)).flatten()
    hop = rows @ e[:-1] - states.turned(e[:-1], factors)
    return {
        "turned": off(states.turned(e, turn)),
        "shifted": off(states.phases(theta, length + 6)[5:]),
        "added": off(e + 1),
        "hop": hop[len(kernel) :].abs().max().item(),
    }


def measure_training(
    begin: str,
    match: float,
    optimizer: str,
    length: int,
    dim: int,
    symbols: int,
    offsets: int,
    planes: dict,
    training: dict,
    batch_size: int,
    n_questions: int,
    seed: int,
) -> dict:
    """A trained network: the share of right answers by offset, at its length and at twice that; the number of steps, β
    and γ; in layer 2 the mean attention of the question by place relative to the asked symbol, an offset a row.

    planes, training: what `states.angles` and `lookup.train` are given.
    """
    generator = np.random.default_rng([seed, length, round(100 * match), list(states.STARTS).index(begin), _TRAINED])
    theta = states.angles(**planes)
    weights = states.start(symbols, offsets, dim, theta, match, states.STARTS[begin], generator)
    draw = lambda: lookup.sample_questions(batch_size, length, symbols, offsets, generator)
    weights, taken = lookup.train(weights, theta, begin != "fixed", optimizer, draw, **training)
    measured = {"steps": taken, "move": weights["move"]}
    for name, factor in (("right", 1), ("right_longer", 2)):
        questions = lookup.sample_questions(n_questions, factor * length, symbols, offsets, generator)
        found, _, second = lookup.logits(weights, questions, theta)
        _, places, asked, answers = questions
        right = (found.argmax(-1) == answers).double()
        measured[name] = [right[asked == offset].mean().item() for offset in range(offsets)]
        if factor == 1:
            relative = torch.arange(length) - places[:, None] + length - 1
            seen = torch.zeros(n_questions, 2 * length - 1).scatter_(1, relative, second[:, 0, :-1])
            measured["profile"] = [seen[asked == offset].mean(0).tolist() for offset in range(offsets)]
    return measured
