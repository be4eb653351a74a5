"""What the screening says of a run at any budget: dimension, batch and rate of every optimizer.

All exponents were chosen before the runs that they are for.
"""

from amembook.practice.one_shot.measure import GAMMA, OUTPUTS, flops_of_step

ANCHOR = 1e11
"""The top rung of the screening."""
DIMS = {"adam": 336, "sgd": 320, "muon": 256}
"""Near the best n at `ANCHOR`; it grows as C^{1/(γ+1)}."""
BATCHES = {"adam": 64, "sgd": 64, "muon": 2048}
ADAM_RATE, ADAM_EXPONENT = 0.036, -0.28
"""Adam's best rate at `ANCHOR`; the exponent is that of REPORT.md of the task's repository, ours is −0.3 ± 0.05."""
SGD_PATH, SGD_EXPONENT = 2300.0, 0.28
"""Rate times steps: the length that SGD walks at a constant rate, by the three rungs."""
MUON_PATH = 180.0
"""The same for Muon, at all rungs and n ≤ 512; where n is larger ‖W‖ grows with √n and a step does not."""


def recipe(optimizer: str, flops: float) -> dict:
    """dim, batch_size and rate of an optimizer at a budget of so many flops."""
    growth = flops / ANCHOR
    dim = max(8, 8 * round(DIMS[optimizer] * growth ** (1 / (GAMMA + 1)) / 8))
    batch = BATCHES[optimizer]
    steps = max(1, flops // flops_of_step(optimizer, dim, batch))
    rate = {
        "adam": ADAM_RATE * growth**ADAM_EXPONENT,
        "sgd": SGD_PATH * growth**SGD_EXPONENT / steps,
        "muon": MUON_PATH * max(1.0, dim / OUTPUTS) ** 0.5 / steps,
    }
    return {"dim": dim, "batch_size": batch, "rate": float(f"{rate[optimizer]:.3g}")}
