"""Softmax policies under the gradient of an expected reward, θ′ = π (r − E_π r), and what is exact about them."""

import math

import numpy as np
from scipy.special import softmax

_STEP = 0.01
TEACHERS = ("exact", "eighth power", "five tiers", "concave", "noisy")
"""Rewards that teach in place of the true one."""


def sample_table(n_arms: int, lean: float, generator: np.random.Generator) -> tuple[np.ndarray, dict[str, np.ndarray]]:
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


def rare_time(n_arms: int, rise: float) -> float:
    """The same from the uniform policy where one arm has the reward 1 and all others 0, exactly:

    p′ = K/(K − 1) p² (1 − p)², and ∫ dp/(p²(1 − p)²) = 2 log(p/(1 − p)) − 1/p + 1/(1 − p).
    """
    integral = lambda p: 2 * math.log(p / (1 - p)) - 1 / p + 1 / (1 - p)
    return (n_arms - 1) / n_arms * (integral(1 / n_arms + rise) - integral(1 / n_arms))
