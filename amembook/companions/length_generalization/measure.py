"""What is measured: read-outs between the points that they were trained on, and transformers on longer strings."""

from collections.abc import Sequence

import numpy as np
import torch

from amembook.companions.length_generalization import readout, transformer
from amembook.companions.length_generalization.expected import sampled_points, whole_samples

_FINE, _CURVE = 4001, 161
_READOUT, _TRANSFORMER = range(2)


def measure_readouts(
    frequency: int, ratios: Sequence[float], every: int, optimizer: str, width: int, steps: int, lr: float,
    muon_lr: float, seed: int,
) -> dict:  # fmt: skip
    """Read-outs trained on what strings of length N show, all lengths up to N if `every`, for each whole m = ratio · ω:
    the loss there, and the mean and worst error on [−1, 1], the range of arbitrarily long strings."""
    tokens = whole_samples(frequency, ratios)
    target, weights, z, shares = _trained(frequency, tokens, every, optimizer, width, steps, lr, muon_lr, seed)
    fine = torch.linspace(-1, 1, _FINE).expand(len(z), -1)
    off = (readout.answer(weights, fine) - target(fine)).square().unflatten(0, (len(tokens), -1))
    known = (shares * (readout.answer(weights, z) - target(z)).square()).sum(1).unflatten(0, (len(tokens), -1))
    measured = {"loss": known.amax(1), "error": off.mean((1, 2)), "worst": off.sum(1).sqrt().amax(1)}
    return {key: values.tolist() for key, values in measured.items()}


def measure_curve(
    frequency: int, shown: int, every: int, width: int, steps: int, lr: float, muon_lr: float, seed: int
) -> dict:
    """What one network of a pair answers on [−1, 1], beside its target."""
    target, weights, *_ = _trained(frequency, [shown], every, "adam", width, steps, lr, muon_lr, seed)
    z = torch.linspace(-1, 1, _CURVE).expand(2, -1)
    known = torch.from_numpy(sampled_points(shown, bool(every))).float().expand(2, -1)
    curves = {"z": z, "answer": readout.answer(weights, z), "target": target(z)}
    curves |= {"points": known, "known": target(known)}
    return {key: rows[0].tolist() for key, rows in curves.items()}


def measure_transformers(
    period: int, samples: Sequence[int], wave: int, width: int, steps: int, batch_size: int, lr: float,
    longer: Sequence[int], n_strings: int, seed: int,
) -> dict:  # fmt: skip
    """Transformers trained on strings of length N = mΔ, for each m of `samples`: errors at N times each of `longer`;
    the share of attention outside the class that matters, at N and at the longest, the larger of a pair."""
    generator = np.random.default_rng([seed, period, wave, _TRANSFORMER])
    pair = len(readout.PHASES)
    tokens = np.repeat(samples, pair)
    target = readout.waves(wave, len(samples), generator)
    weights = transformer.train(target, period, tokens.tolist(), width, steps, batch_size, lr, generator)
    by_m = lambda values: values.unflatten(0, (len(samples), pair))
    errors = [
        transformer.errors(weights, target, (factor * tokens).tolist(), n_strings, generator) for factor in longer
    ]
    lengths = torch.from_numpy(np.outer(tokens * period, (longer[0], longer[-1]))).float()
    leak = 1 - transformer.shares(weights[-1], lengths)[..., 0]
    return {
        "errors": torch.stack([by_m(error).mean(1) for error in errors], 1).tolist(),
        "leak": by_m(leak).amax(1).tolist(),
    }


def _trained(frequency, tokens, every, optimizer, width, steps, lr, muon_lr, seed):
    """Target, weights, training points and their shares in the loss, two networks for each m of `tokens`.

    Every pair (k, t) of a training length counts once: what shorter strings repeat counts as often.
    """
    generator = np.random.default_rng([seed, frequency, every, _READOUT])
    target = readout.waves(frequency, len(tokens), generator)
    seen = [[2 * k / t - 1 for t in (range(1, m + 1) if every else (m,)) for k in range(t + 1)] for m in tokens]
    most = max(map(len, seen))
    rows = np.repeat([points + [0.0] * (most - len(points)) for points in seen], len(readout.PHASES), axis=0)
    shares = np.repeat([np.arange(most) < len(points) for points in seen], len(readout.PHASES), axis=0)
    z, shares = torch.from_numpy(rows).float(), torch.from_numpy(shares / shares.sum(1, keepdims=True)).float()
    loss = lambda weights: (shares * (readout.answer(weights, z) - target(z)).square()).sum()
    start = readout.start(len(z), width, generator)
    return target, readout.train(start, loss, optimizer, steps, lr, muon_lr), z, shares
