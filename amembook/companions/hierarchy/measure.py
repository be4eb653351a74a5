"""What the study measures: errors by samples, the span of two features, transfer, many features, pairs as keys."""

import numpy as np

from amembook.companions.hierarchy import features, fits

_TESTS = 2000
_KERNEL_TESTS = 600
_PASSES = 3
_DEGREE, _NEW_DEGREE = 4, 6
_ROWS = 4096
_ROOM = 4
GAMMA = 2
"""Keys are pairs: of d^γ dimensions."""


def measure_layerwise(dim: int, ratios: list, seed: int) -> dict:
    """Relative errors and squared correlations of the feature after n = ratio · D samples, half for each layer."""
    return errors_of(dim, ratios, seed, 0)


def measure_joint(dim: int, joint_ratios: list, seed: int) -> dict:
    """The same with three passes of Gauss and Newton after it."""
    return errors_of(dim, joint_ratios, seed, _PASSES)


def errors_of(dim: int, ratios: list, seed: int, passes: int) -> dict:
    """Relative errors on fresh tests and squared correlations of the feature, by ratio, after so many joint passes."""
    generator = np.random.default_rng([seed, dim, passes])
    (theta,) = features.sample_features(1, dim, generator)
    count = features.quadratic_count(dim)
    tests = features.lift(features.sample_sphere(_TESTS, dim, generator))
    truth = tests @ theta
    told = {"error": [], "correlation": []}
    for ratio in ratios:
        Z = features.lift(features.sample_sphere(round(ratio * count), dim, generator))
        w, f = fits.joint(Z, features.link(Z @ theta), passes, generator)
        p, y = tests @ w, features.link(truth)
        told["error"].append(float(np.square(f(p) - y).mean() / y.var()))
        told["correlation"].append(float(np.corrcoef(p, truth)[0, 1] ** 2))
    return told


def measure_kernel(dim: int, kernel_ratios: list, seed: int) -> dict:
    """Relative errors of a kernel of degree 4 after n = ratio · C(d + 3, 4) samples."""
    generator = np.random.default_rng([seed, dim, 4])
    (theta,) = features.sample_features(1, dim, generator)
    tests = features.sample_sphere(_KERNEL_TESTS, dim, generator)
    truth = features.link(features.lift(tests) @ theta)
    errors = []
    for ratio in kernel_ratios:
        X = features.sample_sphere(round(ratio * features.even_count(dim)), dim, generator)
        y = features.link(features.lift(X) @ theta)
        errors.append(fits.kernel_error(X, y, tests, truth, _DEGREE))
    return {"error": errors}


def measure_span(dim: int, span_ratios: list, clip: float, seed: int) -> dict:
    """Overlap of the span of two features with the two eigenvectors of (1/n) Σ y z zᵀ that are largest in size.

    y = p₁p₂, n = ratio · D; of raw labels and of labels cut at ±clip, on samples that come one after another.
    """
    generator = np.random.default_rng([seed, dim, 5])
    theta = features.sample_features(2, dim, generator)
    count = features.quadratic_count(dim)
    sums, told, n = {"raw": 0, "clipped": 0}, {"raw": [], "clipped": []}, 0
    for ratio in span_ratios:
        Z = features.lift(features.sample_sphere(round(ratio * count) - n, dim, generator))
        n = round(ratio * count)
        y = (Z @ theta.T).prod(1)
        for name, labels in (("raw", y), ("clipped", np.clip(y, -clip, clip))):
            sums[name] = sums[name] + Z.T @ (Z * labels[:, None])
            V = largest(sums[name], 2)
            told[name].append(float(np.square(theta @ V).sum() / 2))
    return told


def measure_transfer(dim: int, transfer_ratio: float, new_labels: int, clip: float, seed: int) -> dict:
    """Relative errors with `new_labels` labels of another link: on the two features learnt from p₁p₂, and from scratch.

    From scratch is a kernel of degree 6. The overlap is that of the span.
    """
    generator = np.random.default_rng([seed, dim, 6])
    theta = features.sample_features(2, dim, generator)
    M = 0
    for count in _chunks(round(transfer_ratio * features.quadratic_count(dim))):
        Z = features.lift(features.sample_sphere(count, dim, generator))
        M = M + Z.T @ (Z * np.clip((Z @ theta.T).prod(1), -clip, clip)[:, None])
    V = largest(M, 2)
    X, tests = (features.sample_sphere(count, dim, generator) for count in (new_labels, _TESTS))
    Z, lifted = features.lift(X), features.lift(tests)
    y, truth = (features.new_link(one @ theta.T) for one in (Z, lifted))
    f = fits.outer_layer(Z @ V, y, generator)
    return {
        "features": float(np.square(f(lifted @ V) - truth).mean() / truth.var()),
        "kernel": fits.kernel_error(X, y, tests, truth, _NEW_DEGREE),
        "overlap": float(np.square(theta @ V).sum() / 2),
    }


def measure_many(dim: int, many_features: int, many_ratios: list, beta: float, seed: int) -> dict:
    """How many of the features of y = Σ_r r^(−β) (p_r² − 1)/√2 one eigenvector holds to a half or more."""
    generator = np.random.default_rng([seed, dim, 7])
    theta = features.sample_features(many_features, dim, generator)
    strength = np.arange(1, many_features + 1.0) ** -beta
    M, n, counts = 0, 0, []
    for ratio in many_ratios:
        total = round(ratio * features.quadratic_count(dim))
        for count in _chunks(total - n):
            Z = features.lift(features.sample_sphere(count, dim, generator))
            y = (np.square(Z @ theta.T) - 1) @ strength / np.sqrt(2)
            M = M + Z.T @ (Z * y[:, None])
        n = total
        V = largest(M, many_features)
        counts.append(int((np.square(theta @ V).max(1) >= 0.5).sum()))
    return {"counts": counts}


def measure_memory(dim: int, alpha: float, seed: int) -> dict:
    """Items of a memory d × d² after one step, SGD and Muon: keys vec(abᵀ) of pairs, and independent keys."""
    generator = np.random.default_rng([seed, dim, 8])
    n = round(_ROOM * dim ** (1 + GAMMA / (2 * alpha)))
    p = np.arange(1, n + 1.0) ** -alpha
    U = generator.standard_normal((n, dim)) / np.sqrt(dim)
    pairs = generator.standard_normal((2, n, dim)) / np.sqrt(dim)
    alone = generator.standard_normal((n, dim**GAMMA)) / dim ** (GAMMA / 2)
    keys = {"pairs": (pairs[0, :, :, None] * pairs[1, :, None, :]).reshape(n, -1), "alone": alone}
    return {f"{name}_{step}": count for name, K in keys.items() for step, count in one_step(U, K, p).items()}


def one_step(U: np.ndarray, K: np.ndarray, p: np.ndarray) -> dict[str, int]:
    """Items whose own output has the largest logit after a step of SGD and of Muon on G = Σ p_i (u_i − ū) k_iᵀ."""
    G = ((U - U.mean(0)) * p[:, None]).T @ K
    left, _, right = np.linalg.svd(G, full_matrices=False)
    steps = {"polar": left @ right, "sgd": G}
    return {name: int((((K @ W.T) @ U.T).argmax(1) == np.arange(len(U))).sum()) for name, W in steps.items()}


def largest(M: np.ndarray, count: int) -> np.ndarray:
    """Eigenvectors of the `count` eigenvalues that are largest in size, (D, count)."""
    values, vectors = np.linalg.eigh(M)
    return vectors[:, np.argsort(-np.abs(values))[:count]]


def _chunks(total: int) -> list[int]:
    return [_ROWS] * (total // _ROWS) + ([total % _ROWS] if total % _ROWS else [])
