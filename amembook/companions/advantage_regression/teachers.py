"""Rewards that teach in place of the true one: times of softmax policies under θ′ = π (r̂ − E_π r̂).

After Razin, Wang, Strauss, Wei, Lee and Arora, arXiv:2503.15477; no KL term, every expectation exact.
"""

import math

import numpy as np
from scipy.special import softmax

_STEP = 0.01
RISES = {"low": 0.2, "high": 0.1}
"""How far the true reward shall rise: the policy that prefers high rewards has less room."""
TEACHERS = ("exact", "eighth power", "five tiers", "concave", "noisy")
"""Rewards that teach in place of the true one."""


def sample_arms(n_arms: int, lean: float, generator: np.random.Generator) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """True rewards, uniform on [0, 1], and the logits of two policies: one prefers low rewards, one high ones."""
    reward = generator.random(n_arms)
    logits = generator.standard_normal(n_arms) / 2
    return reward, {"low": logits - lean * reward, "high": logits + lean * reward}


def teachers(reward: np.ndarray, generator: np.random.Generator) -> dict[str, np.ndarray]:
    """r, r⁸, r in five tiers, 1 − (1 − r)⁸, and r with normal noise of deviation 0.4, by the names of `TEACHERS`."""
    taught = (
        reward,
        reward**8,
        np.floor(5 * reward) / 5,
        1 - (1 - reward) ** 8,
        reward + 0.4 * generator.standard_normal(len(reward)),
    )
    return dict(zip(TEACHERS, taught, strict=True))


def accuracy(taught: np.ndarray, reward: np.ndarray) -> float:
    """Share of the pairs of arms that a teacher ranks as the true reward does; a tie counts half."""
    i, j = np.triu_indices(len(reward), 1)
    agree = np.sign(taught[i] - taught[j]) * np.sign(reward[i] - reward[j])
    return float(((agree > 0) + 0.5 * (agree == 0)).mean())


def variance(policy: np.ndarray, taught: np.ndarray) -> float:
    """Var_π r."""
    return float(policy @ taught**2 - (policy @ taught) ** 2)


def speed_limit(policy: np.ndarray, taught: np.ndarray, reward: np.ndarray) -> float:
    """max π √(Var_π r̂ Var_π r): the true reward of a flow that is taught by r̂ rises no faster (ours)."""
    return float(policy.max() * math.sqrt(variance(policy, taught) * variance(policy, reward)))


def rise_time(logits: np.ndarray, taught: np.ndarray, reward: np.ndarray, rise: float, horizon: float) -> float:
    """When the true reward has risen by `rise` under the flow that `taught` drives; inf where not before the horizon.

    Euler steps that move no logit by more than 0.01; the last one is cut linearly.
    """
    policy = softmax(logits)
    start = last = float(policy @ reward)
    time = 0.0
    while time < horizon:
        drift = policy * (taught - policy @ taught)
        step = _STEP / np.abs(drift).max()
        logits = logits + step * drift
        policy = softmax(logits)
        time += step
        now = float(policy @ reward)
        if now >= start + rise:
            return time - step * (now - start - rise) / (now - last)
        last = now
    return math.inf


def measure_teachers(n_arms: int, lean: float, tables: int, horizon: float, seed: int) -> dict:
    """By policy and teacher: times to learn, variances, accuracies, a list over tables each.

    above: the largest ratio of the true reward's speed at the start and its limit.
    """
    rows = {policy: {name: {"time": [], "variance": [], "accuracy": []} for name in TEACHERS} for policy in RISES}
    above = -math.inf
    for table in range(tables):
        generator = np.random.default_rng([seed, 5, table])
        reward, policies = sample_arms(n_arms, lean, generator)
        for name, taught in teachers(reward, generator).items():
            for label, rise in RISES.items():
                policy, row = softmax(policies[label]), rows[label][name]
                row["time"].append(rise_time(policies[label], taught, reward, rise, horizon))
                row["variance"].append(variance(policy, taught))
                row["accuracy"].append(accuracy(taught, reward))
                speed = policy**2 @ ((taught - policy @ taught) * (reward - policy @ reward))
                above = max(above, float(speed / speed_limit(policy, taught, reward)))
    return rows | {"above": above}
