"""Tables of policies with a KL term: the optimum, the objective, advantages; and what is predicted of them.

π (X, A): a row a prompt. J_x(π) = E_π r − β KL(π ‖ π_ref). All of it is exact; the derivations are in the chapter.
"""

import numpy as np
from scipy.special import log_softmax, logsumexp, softmax


def sample_table(n_prompts: int, n_answers: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """log π_ref of standard normal logits, and standard normal rewards: (X, A) each."""
    generator = np.random.default_rng([seed, 0])
    logits = generator.standard_normal((n_prompts, n_answers))
    return log_softmax(logits, 1), generator.standard_normal((n_prompts, n_answers))


def optimal_value(log_ref: np.ndarray, reward: np.ndarray, beta: float) -> np.ndarray:
    """V*(x) = β log E_ref e^{r/β}: the largest J_x. (X,)."""
    return beta * logsumexp(log_ref + reward / beta, axis=1)


def optimal_logits(log_ref: np.ndarray, reward: np.ndarray, beta: float) -> np.ndarray:
    """Logits of π* ∝ π_ref e^{r/β}. (X, A)."""
    return log_ref + reward / beta


def estimated_value(
    log_ref: np.ndarray, reward: np.ndarray, beta: float, n_offline: int, generator: np.random.Generator
) -> np.ndarray:
    """β log of the mean of e^{r/β} over n_offline answers of π_ref; the exact V* for 0. (X,)."""
    if n_offline == 0:
        return optimal_value(log_ref, reward, beta)
    answers = draw(np.exp(log_ref), n_offline, generator)
    return beta * (logsumexp(np.take_along_axis(reward, answers, 1) / beta, axis=1) - np.log(n_offline))


def objective(logits: np.ndarray, log_ref: np.ndarray, reward: np.ndarray, beta: float) -> np.ndarray:
    """J_x(π) of each prompt, over any leading axes of the logits."""
    log_policy = log_softmax(logits, -1)
    return (np.exp(log_policy) * (reward - beta * (log_policy - log_ref))).sum(-1)


def draw(policy: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    """`count` independent answers of each row of a policy (…, A): (…, count)."""
    places = generator.random((*policy.shape[:-1], count))
    return (policy.cumsum(-1)[..., None, :] < places[..., None]).sum(-1).clip(max=policy.shape[-1] - 1)


def ascend(
    logits: np.ndarray, log_ref: np.ndarray, reward: np.ndarray, beta: float, rate, baseline: np.ndarray | None,
    group: int, generator: np.random.Generator,
) -> np.ndarray:  # fmt: skip
    """One step θ + η A (e_a − π) with A = r − β log(π/π_ref) − b, from `group` answers of each prompt.

    baseline: b (X,); None for the mean of the group's other answers. rate: η, or one for each leading axis.
    """
    log_policy = log_softmax(logits, -1)
    policy = np.exp(log_policy)
    answers = draw(policy, group, generator)
    value = reward - beta * (log_policy - log_ref)
    value = np.take_along_axis(value, answers, -1)
    if baseline is None:
        advantage = (value - value.mean(-1, keepdims=True)) * group / (group - 1)
    else:
        advantage = value - baseline[..., None]
    step = -advantage.mean(-1, keepdims=True) * policy
    for k in range(group):
        place = answers[..., k : k + 1]
        grown = np.take_along_axis(step, place, -1) + advantage[..., k : k + 1] / group
        np.put_along_axis(step, place, grown, -1)
    return logits + rate * step


def floor(policy: np.ndarray, error: np.ndarray, rate: float, beta: float) -> tuple[np.ndarray, np.ndarray]:
    """V* − J in the long run at a constant rate with a baseline V* + error, by prompt: to first and to next order in η,

    η δ² h/4   and   η δ² h/4 / (1 − η β q/(2h)),   h = 1 − Σ π*²,   q = E |e_a − π*|⁴.
    """
    square = (policy**2).sum(1, keepdims=True)
    h = 1 - square[:, 0]
    q = (policy * (1 - 2 * policy + square) ** 2).sum(1)
    first = rate * error**2 * h / 4
    return first, first / (1 - rate * beta * q / (2 * h))


def filled(policy: np.ndarray, rate: float, beta: float, steps: np.ndarray) -> np.ndarray:
    """The share of `floor` that a run from π* has after so many steps, to first order and in the mean over them:

    Σ_k λ_k (1 − e^{−2ηβλ_k t})/tr H over the eigenvalues of H = diag(π*) − π* π*ᵀ. (X,).
    """
    H = policy[:, :, None] * np.eye(policy.shape[1]) - policy[:, :, None] * policy[:, None]
    values = np.linalg.eigvalsh(H).clip(min=0)
    decay = np.exp(-2 * rate * beta * steps[:, None, None] * values).mean(0)
    return (values * (1 - decay)).sum(1) / values.sum(1)


def start_variance(policy: np.ndarray, value: np.ndarray, baseline: np.ndarray, group: int) -> tuple[float, float]:
    """Variance per generation of the gradient's estimate, mean over prompts: with a fixed baseline, and with a group's.

    E[(v − b)²|w|²] − |g|²   and   E[ρ²|w|²] + Var E|w|²/(K − 1) − |g|² (K − 2)/(K − 1),

    with w = e_a − π, ρ = v − V and g = E[ρ w].
    """
    mean = (policy * value).sum(1)
    norm = 1 - 2 * policy + (policy**2).sum(1, keepdims=True)
    centred = value - mean[:, None]
    gradient = policy * centred
    length = (gradient**2).sum(1)
    fixed = (policy * (value - baseline[:, None]) ** 2 * norm).sum(1) - length
    spread = (policy * centred**2).sum(1)
    grouped = (policy * centred**2 * norm).sum(1) + spread * (policy * norm).sum(1) / (group - 1)
    return float(fixed.mean()), float((grouped - length * (group - 2) / (group - 1)).mean())


def policy_of(logits: np.ndarray) -> np.ndarray:
    """π of logits, along the last axis."""
    return softmax(logits, -1)
