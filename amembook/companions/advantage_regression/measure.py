"""What the study measures: the identity, the floor, variances at the start, races, the memory as a policy."""

import numpy as np
import torch

from amembook.companions.advantage_regression import policies
from amemlib.problem import Problem
from amemlib.sampling import sample_embeddings
from amemlib.spectral import polar

_EVERY, _REPEATS, _TOLD = 10, 400, (16, 64, 256)


def measure_identity(n_prompts: int, n_answers: int, beta: float, seed: int) -> dict:
    """The largest entry of E_π ∇(β log π/π_ref + V̂ − r)² + 2β ∇J, for a random policy and random V̂."""
    log_ref, reward = (torch.from_numpy(x) for x in policies.sample_table(n_prompts, n_answers, seed))
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(n_prompts, n_answers, generator=generator, dtype=torch.float64).requires_grad_()
    value = torch.randn(n_prompts, 1, generator=generator, dtype=torch.float64)
    log_policy = logits.log_softmax(1)
    policy = log_policy.exp()
    # the answers are drawn: no gradient through their law
    loss = (policy.detach() * (beta * (log_policy - log_ref) + value - reward) ** 2).sum()
    objective = (policy * (reward - beta * (log_policy - log_ref))).sum()
    (regression,) = torch.autograd.grad(loss, logits, retain_graph=True)
    (ascent,) = torch.autograd.grad(objective, logits)
    return {"error": (regression + 2 * beta * ascent).abs().max().item(), "size": ascent.abs().max().item()}


def measure_floor(
    n_prompts: int, n_answers: int, beta: float, rate: float, n_offline: int, group: int, floor_steps: int, seed: int
) -> dict:
    """Mean of V* − J over the later half of a run that begins at π*, and the laws for the errors of its V̂; filled: the
    law to next order at the same times.

    A group of more than one answer has its own mean as the baseline.
    """
    log_ref, reward = policies.sample_table(n_prompts, n_answers, seed)
    generator = np.random.default_rng([seed, 1])
    best = policies.optimal_value(log_ref, reward, beta)
    value = policies.estimated_value(log_ref, reward, beta, n_offline, generator)
    logits = policies.optimal_logits(log_ref, reward, beta)
    policy, gaps = policies.policy_of(logits), []
    laws = policies.floor(policy, value - best, rate, beta)
    times = np.array([t for t in range(floor_steps // 2, floor_steps) if t % _EVERY == 0])
    share = policies.filled(policy, rate, beta, times)
    for t in range(floor_steps):
        if t in times:
            gaps.append((best - policies.objective(logits, log_ref, reward, beta)).mean())
        baseline = value if group == 1 else None
        logits = policies.ascend(logits, log_ref, reward, beta, rate, baseline, group, generator)
    values = {"gap": np.mean(gaps), "first": laws[0].mean(), "next": laws[1].mean(), "filled": (laws[1] * share).mean()}
    values |= {"error": ((value - best) ** 2).mean()}
    return {key: float(number) for key, number in values.items()}


def measure_variance(n_prompts: int, n_answers: int, beta: float, group: int, seed: int) -> dict:
    """Variance per generation of the gradient's estimate at π_ref: sampled and exact, with V* and with a group's mean.

    gap, allowed: (V* − V)² and Var/(K − 1), means over prompts, which the rule compares.
    """
    log_ref, reward = policies.sample_table(n_prompts, n_answers, seed)
    policy, generator = np.exp(log_ref), np.random.default_rng([seed, 2])
    best = policies.optimal_value(log_ref, reward, beta)
    mean = (policy * reward).sum(1)
    spread = (policy * (reward - mean[:, None]) ** 2).sum(1)
    exact = policies.start_variance(policy, reward, best, group)
    wide = np.broadcast_to(policy, (_REPEATS, *policy.shape))
    answers = policies.draw(wide, group, generator)
    value = np.take_along_axis(np.broadcast_to(reward, wide.shape), answers, -1)
    own = np.take_along_axis(wide, answers, -1)
    # products of w = e_a − π with each other and with the gradient
    inner = (answers[..., :, None] == answers[..., None, :]) - own[..., :, None] - own[..., None, :]
    inner = inner + (policy**2).sum(1)[:, None, None]
    length = ((policy * (reward - mean[:, None])) ** 2).sum(1)
    sampled = []
    for advantage in (value - best[:, None], (value - value.mean(-1, keepdims=True)) * group / (group - 1)):
        squared = np.einsum("rxk,rxkl,rxl->x", advantage, inner, advantage) / (_REPEATS * group**2)
        sampled.append(float(group * (squared - length).mean()))
    return {
        "sampled": sampled,
        "exact": list(exact),
        "gap": float(((best - mean) ** 2).mean()),
        "allowed": float(spread.mean() / (group - 1)),
    }


def measure_race(
    n_prompts: int, n_answers: int, beta: float, n_offline: int, group: int, race_rates: list[float], budget: int,
    seed: int,
) -> dict:  # fmt: skip
    """Mean V* − J after `budget` generations a prompt from π_ref, by rate; those for V̂ are taken off the budget."""
    log_ref, reward = policies.sample_table(n_prompts, n_answers, seed)
    generator = np.random.default_rng([seed, 3])
    best = policies.optimal_value(log_ref, reward, beta)
    value = policies.estimated_value(log_ref, reward, beta, n_offline, generator)
    rates = np.array(race_rates)[:, None, None]
    logits = np.tile(log_ref, (len(race_rates), 1, 1))
    for _ in range((budget - n_offline) // group):
        baseline = value if group == 1 else None
        with np.errstate(over="ignore", invalid="ignore"):
            logits = policies.ascend(logits, log_ref, reward, beta, rates, baseline, group, generator)
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = (best - policies.objective(logits, log_ref, reward, beta)).mean(1)
    return {
        "gaps": np.nan_to_num(gaps, nan=np.inf).tolist(),
        "start": float((best - (np.exp(log_ref) * reward).sum(1)).mean()),
    }


def measure_memory(
    n_items: int, dim: int, alpha: float, labels: int, memory_beta: float, memory_steps: int, sgd_rates: list[float],
    polar_rates: list[float], n_offline: int, seed: int,
) -> dict:  # fmt: skip
    """J of the memory as a policy over `labels` answers, one of them right, after 16, 64 and 256 generations a prompt.

    By map and rate; J* beside it. V̂ from n_offline answers of the uniform policy, 0 for V*.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, dtype=torch.float64)
    U, V, p = emb.U[:labels], emb.V, problem.frequencies
    right, items = torch.arange(n_items) % labels, torch.arange(n_items)
    generator = torch.Generator().manual_seed(seed)
    hits = np.random.default_rng([seed, 4]).binomial(n_offline, 1 / labels, n_items) if n_offline else n_offline
    share = torch.from_numpy(np.asarray(hits / n_offline)) if n_offline else torch.full((n_items,), 1 / labels).double()
    value = memory_beta * (1 + share * np.expm1(1 / memory_beta)).log()
    uniform = np.log(labels)
    rates = torch.tensor([*sgd_rates, *polar_rates], dtype=torch.float64)[:, None, None]
    n_sgd, total = len(sgd_rates), len(sgd_rates) + len(polar_rates)
    W = torch.zeros(total, dim, dim, dtype=torch.float64)
    returns = {"sgd": [], "polar": []}
    for t in range(1, memory_steps + 1):
        log_policy = (V @ W.transpose(1, 2) @ U.T).log_softmax(2)
        policy = log_policy.exp()
        answers = torch.multinomial(policy.reshape(-1, labels), 1, generator=generator).reshape(total, n_items)
        own = log_policy.gather(2, answers[..., None])[..., 0]
        advantage = (answers == right).double() - memory_beta * (own + uniform) - value
        G = ((U[answers] - policy @ U) * (p * advantage)[..., None]).transpose(1, 2) @ V
        W = W + rates * torch.cat([G[:n_sgd], polar(G[n_sgd:])])
        if t in _TOLD:
            log_policy = (V @ W.transpose(1, 2) @ U.T).log_softmax(2)
            policy = log_policy.exp()
            J = policy[:, items, right] - memory_beta * (policy * (log_policy + uniform)).sum(2)
            for name, rows in (("sgd", J[:n_sgd]), ("polar", J[n_sgd:])):
                returns[name].append((rows @ p).tolist())
    best = memory_beta * np.log1p(np.expm1(1 / memory_beta) / labels)
    return returns | {"best": float(best)}
