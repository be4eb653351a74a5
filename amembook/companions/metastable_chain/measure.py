"""What the study measures: times between clusters, a search, what is learnt from it, a first step of pretraining."""

import numpy as np
import torch

from amembook.companions.metastable_chain import expected
from amembook.companions.metastable_chain.chains import inner_times, sample_chain, time_to_last
from amembook.companions.metastable_chain.learning import first_gradient, steps_to_half
from amembook.companions.metastable_chain.search import hard_steps, kept_edges, search, search_rounds
from amembook.run.base import MAPS
from amemlib.spectral import polar

_TIME, _SEARCH, _PIPELINE, _REWARD, _STEP = range(5)


def time_axes(config) -> dict[str, dict[str, dict]]:
    """Chains whose times are solved for, by what varies among them: ε, M, K, and M of circles; by name."""
    base = {"kind": "random", "clusters": config.clusters, "states": config.states, "edge": config.edge}
    circle = base | {"kind": "circle", "edge": config.circle_edge}
    axes = {"edge": [base | {"edge": edge} for edge in config.edges]}
    axes |= {"size": [base | {"states": M} for M in config.sizes]}
    axes |= {"ring": [base | {"clusters": K} for K in config.rings]}
    axes |= {"circle": [circle | {"states": M} for M in config.sizes]}
    return {axis: {" ".join(map(str, case.values())): case for case in cases} for axis, cases in axes.items()}


def measure_time(kind: str, clusters: int, states: int, edge: float, degree: int, seed: int) -> dict:
    """Expected steps to the last of K clusters, solved for, and by the law from the times inside."""
    generator = np.random.default_rng([seed, clusters, states, round(1e6 * edge), _TIME])
    chain = sample_chain(clusters, states, kind, degree, edge, generator)
    law = expected.crossing_time(inner_times(chain), states, edge)[:-1].sum()
    return {"time": time_to_last(chain.transitions(), states), "law": float(law)}


def measure_search(
    clusters: int, states: int, degree: int, edge: float, budget: float, walkers: int, rounds: float, least: int,
    seed: int,
) -> dict:  # fmt: skip
    """Share of rounds that report a hard step; of those reported `least` times, how many are all, and are hard."""
    generator = np.random.default_rng([seed, round(1000 * budget), round(1e6 * edge), _SEARCH])
    chain = sample_chain(clusters, states, "random", degree, edge, generator)
    taken, cost = search(chain, search_rounds(rounds, clusters), walkers, budget, generator)
    shares = {"share": float(hard_steps(chain, taken).mean()), "cost": cost}
    for name, reports in (("kept", least), ("once", 1)):
        hard = hard_steps(chain, kept_edges(taken, reports))
        shares[name] = {
            "recall": float(hard.sum() / clusters),
            "precision": float(hard.mean()) if len(hard) else float("nan"),
        }
    return shares


def measure_pipeline(
    clusters: int, states: int, degree: int, edge: float, best: float, walkers: int, rounds: float, least: int,
    half_lr: float, seed: int,
) -> dict:  # fmt: skip
    """Expected steps to the last cluster before and after a search and a policy gradient that rewards what it kept.

    law: what they are if exactly the hard steps have got probability 1/2.
    """
    generator = np.random.default_rng([seed, round(1e6 * edge), _PIPELINE])
    chain = sample_chain(clusters, states, "random", degree, edge, generator)
    P = chain.transitions()
    taken, _ = search(chain, search_rounds(rounds, clusters), walkers, best, generator)
    kept = kept_edges(taken, least)
    _, boosted = steps_to_half(P, kept, polar, half_lr, True)
    law = expected.crossing_time(inner_times(chain), states, 0.5)[:-1].sum()
    return {
        "before": time_to_last(P, states),
        "after": time_to_last(boosted, states),
        "law": float(law),
        "recall": float(hard_steps(chain, kept).sum() / clusters),
    }


def measure_reward(
    clusters: int, states: int, degree: int, often: float, rare: float, reward_lr: list, seed: int
) -> dict:
    """Steps of a policy gradient until each hard step has probability 1/2, ε from `often` to `rare`, by map."""
    generator = np.random.default_rng([seed, _REWARD])
    edge = np.geomspace(often, rare, clusters)
    chain = sample_chain(clusters, states, "random", degree, edge, generator)
    P, edges = chain.transitions(), np.stack([chain.sources, chain.entries], 1)
    rates = dict(zip(MAPS, reward_lr, strict=True))
    return {name: steps_to_half(P, edges, f, rates[name], False)[0].tolist() for name, f in MAPS.items()}


def measure_step(step_clusters: int, step_states: int, edge: float, degree: int, samples: int, seed: int) -> dict:
    """What the first step of pretraining, of spectral norm 1, adds to the hard steps' logits, by map.

    Above the median of the same column, which is what it adds to steps that never happen: a softmax sees differences.
    """
    generator = np.random.default_rng([seed, round(1e6 * edge), degree, samples, _STEP])
    kind = "random" if degree else "uniform"
    chain = sample_chain(step_clusters, step_states, kind, degree, edge, generator)
    G = first_gradient(chain.transitions(), samples, generator)
    G = G / torch.linalg.matrix_norm(G, 2)
    columns = {name: f(G)[:, chain.sources] for name, f in MAPS.items()}
    at = np.arange(step_clusters)
    return {name: (W[chain.entries, at] - W.median(0).values).mean().item() for name, W in columns.items()}
