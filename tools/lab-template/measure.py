"""What a cell of the lab measures: plain numbers in, a plain dict out."""

import numpy as np


def measure_maximum(count: int, repeats: int, seed: int) -> dict:
    """The largest of `count` normals, the mean of `repeats` draws."""
    generator = np.random.default_rng([seed, count])
    return {"maximum": float(np.mean([generator.standard_normal(count).max() for _ in range(repeats)]))}
