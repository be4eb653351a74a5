"""What the study measures: times to learn from a reward, on tables and on the memory."""

import math

import numpy as np
import torch
from scipy.special import softmax

from amembook.companions.reward_variance import flows
from amemlib.problem import Problem
from amemlib.sampling import sample_embeddings
from amemlib.spectral import polar

RISES = {"low": 0.2, "high": 0.1}
"""How far the true reward shall rise: the policy that prefers high rewards has less room."""
_RATE, _MOST = 1.0, 10**5


def measure_scale(n_arms: int, lean: float, scales: list[float], seed: int) -> dict:
    """Steps of gradient ascent at the rate 1 until the reward has risen by 0.2, by the scale of the reward."""
    reward, policies = flows.sample_table(n_arms, lean, np.random.default_rng(seed))
    steps, variances = [], []
    for scale in scales:
        logits, count = policies["low"], 0
        policy = softmax(logits)
        variances.append(flows.variance(policy, scale * reward))
        target = policy @ reward + RISES["low"]
        while policy @ reward < target and count < _MOST:
            logits = logits + _RATE * scale * policy * (reward - policy @ reward)
            policy, count = softmax(logits), count + 1
        steps.append(count)
    return {"steps": steps, "variance": variances}


def measure_rare(n_arms: int) -> dict:
    """When one good arm among many has gained 0.2, from the uniform policy, and the variance that it starts with."""
    reward = np.zeros(n_arms)
    reward[0] = 1
    return {
        "time": flows.rise_time(np.zeros(n_arms), reward, reward, RISES["low"], math.inf),
        "law": flows.rare_time(n_arms, RISES["low"]),
        "variance": flows.variance(np.full(n_arms, 1 / n_arms), reward),
    }


def measure_teachers(n_arms: int, lean: float, tables: int, horizon: float, seed: int) -> dict:
    """By policy and teacher: times to learn, variances, accuracies, a list over tables each.

    above: the largest ratio of the true reward's speed at the start and its limit.
    """
    told = {policy: {name: {"time": [], "variance": [], "accuracy": []} for name in flows.TEACHERS} for policy in RISES}
    above = -math.inf
    for table in range(tables):
        generator = np.random.default_rng([seed, table])
        reward, policies = flows.sample_table(n_arms, lean, generator)
        for name, taught in flows.teachers(reward, generator).items():
            for label, rise in RISES.items():
                policy, row = softmax(policies[label]), told[label][name]
                row["time"].append(flows.rise_time(policies[label], taught, reward, rise, horizon))
                row["variance"].append(flows.variance(policy, taught))
                row["accuracy"].append(flows.accuracy(taught, reward))
                speed = policy**2 @ ((taught - policy @ taught) * (reward - policy @ reward))
                above = max(above, float(speed / flows.speed_limit(policy, taught, reward)))
    return told | {"above": above}


def measure_memory(
    n_items: int,
    dim: int,
    labels: int,
    scales: list[float],
    sgd_rate: float,
    polar_rate: float,
    sgd_rates: list[float],
    polar_rates: list[float],
    level: float,
    most_steps: int,
    seed: int,
) -> dict:
    """Steps until the memory as a policy has the mean reward `level`, by the expected gradient; inf beyond most_steps.

    scaled: by the factor of all rewards, at one rate. own: where prompt i has the factor i^(−2), by rate.
    """
    problem = Problem.power_law(n_items, dim, 1.0)
    emb = sample_embeddings(problem, seed, dtype=torch.float64)
    U, V, right = emb.U[:labels], emb.V, torch.arange(n_items) % labels
    own = torch.arange(1, n_items + 1, dtype=torch.float64) ** -2
    even = torch.ones(n_items, dtype=torch.float64)

    def steps(weights, rates, spectral_map) -> list[float]:
        """One run for each pair of a row of weights and a rate."""
        rates = torch.tensor(rates, dtype=torch.float64)[:, None, None]
        W, counts = torch.zeros(len(rates), dim, dim, dtype=torch.float64), [math.inf] * len(rates)
        for t in range(1, most_steps + 1):
            policy = (V @ W.transpose(1, 2) @ U.T).softmax(2)
            hit = policy[:, torch.arange(n_items), right]
            G = ((U[right] - policy @ U) * (weights * hit / n_items)[..., None]).transpose(1, 2) @ V
            W = W + rates * spectral_map(G)
            reached = (V @ W.transpose(1, 2) @ U.T).softmax(2)[:, torch.arange(n_items), right].mean(1) >= level
            counts = [t if math.isinf(n) and done else n for n, done in zip(counts, reached.tolist(), strict=True)]
            if not any(map(math.isinf, counts)):
                break
        return counts

    rows = torch.stack([scale * even for scale in scales])
    sgd, spectral = [sgd_rate] * len(scales), [polar_rate] * len(scales)
    return {
        "scaled": {"sgd": steps(rows, sgd, lambda G: G), "polar": steps(rows, spectral, polar)},
        "own": {"sgd": steps(own, sgd_rates, lambda G: G), "polar": steps(own, polar_rates, polar)},
    }
