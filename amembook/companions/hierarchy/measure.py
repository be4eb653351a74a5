"""What the study measures: errors by samples, the span of two features, transfer, pairs as keys."""

import numpy as np

from amembook.companions.hierarchy import features, fits

_TESTS = 2000
_KERNEL_TESTS = 600
_FRESH = 6000
_HINDSIGHT = np.logspace(-3, 2, 21)
_PASSES = 3
_DEGREE, _NEW_DEGREE = 4, 6
_ROWS = 4096
_ROOM = 4
GAMMA = 2
"""Keys are pairs: of d^γ dimensions."""


def measure_layers(dim: int, ratios: list, seed: int) -> dict:
    """Relative errors on fresh tests after n = ratio · D samples, of two layers and of three joint passes from them."""
    generator = np.random.default_rng([seed, dim, 0])
    (theta,) = features.sample_features(1, dim, generator)
    tests = features.lift(features.sample_sphere(_TESTS, dim, generator))
    truth = features.link(tests @ theta)
    errors = {"layerwise": [], "joint": []}
    for ratio in ratios:
        Z = features.lift(features.sample_sphere(round(ratio * features.quadratic_count(dim)), dim, generator))
        y = features.link(Z @ theta)
        layers = fits.layerwise(Z, y, generator)
        for name, (w, f) in {"layerwise": layers, "joint": fits.joint(Z, y, *layers, _PASSES, generator)}.items():
            errors[name].append(float(np.square(f(tests @ w) - truth).mean() / truth.var()))
    return errors


def measure_two(dim: int, ratios: list, seed: int) -> dict:
    """Errors of the two layers alone, as in `measure_layers`, on samples of their own."""
    generator = np.random.default_rng([seed, dim, 10])
    (theta,) = features.sample_features(1, dim, generator)
    tests = features.lift(features.sample_sphere(_TESTS, dim, generator))
    truth, errors = features.link(tests @ theta), []
    for ratio in ratios:
        Z = features.lift(features.sample_sphere(round(ratio * features.quadratic_count(dim)), dim, generator))
        w, f = fits.layerwise(Z, features.link(Z @ theta), generator)
        errors.append(float(np.square(f(tests @ w) - truth).mean() / truth.var()))
    return {"error": errors}


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


def measure_fresh(fresh_dim: int, fresh_ratios: list, seed: int) -> dict:
    """Relative errors of two layers after n = ratio · D samples of the first one, whose penalty is the best in
    hindsight, by the correlation with the feature; the second has 6000 samples of its own."""
    generator = np.random.default_rng([seed, fresh_dim, 9])
    (theta,) = features.sample_features(1, fresh_dim, generator)
    errors = []
    for ratio in fresh_ratios:
        sizes = round(ratio * features.quadratic_count(fresh_dim)), _FRESH, _TESTS
        Z, again, tests = (features.lift(features.sample_sphere(n, fresh_dim, generator)) for n in sizes)
        y, new, truth = (features.link(one @ theta) for one in (Z, again, tests))
        values, vectors = np.linalg.eigh(Z.T @ Z)
        fitted = [vectors @ (vectors.T @ (Z.T @ y) / (values + len(y) * penalty)) for penalty in _HINDSIGHT]
        w = max(fitted, key=lambda one: one @ theta / np.linalg.norm(one))
        f = fits.outer_layer(again @ w, new, generator)
        errors.append(float(np.square(f(tests @ w) - truth).mean() / truth.var()))
    return {"error": errors}


def measure_span(dim: int, span_ratios: list, seed: int) -> dict:
    """Overlap of the span of two features with the two eigenvectors of (1/n) Σ y z zᵀ that are largest in size.

    y = p₁p₂, n = ratio · D, on samples that come one after another.
    """
    generator = np.random.default_rng([seed, dim, 5])
    theta = features.sample_features(2, dim, generator)
    M, n, overlaps = 0, 0, []
    for ratio in span_ratios:
        total = round(ratio * features.quadratic_count(dim))
        M, n = M + _moments(theta, total - n, dim, generator), total
        overlaps.append(_overlap(theta, M))
    return {"overlap": overlaps}


def measure_transfer(dim: int, transfer_ratio: float, new_labels: int, seed: int) -> dict:
    """Relative errors with `new_labels` labels of another link: on the two features learnt from p₁p₂, and from scratch.

    From scratch is a kernel of degree 6. The overlap is that of the span.
    """
    generator = np.random.default_rng([seed, dim, 6])
    theta = features.sample_features(2, dim, generator)
    M = _moments(theta, round(transfer_ratio * features.quadratic_count(dim)), dim, generator)
    V = largest(M, 2)
    X, tests = (features.sample_sphere(count, dim, generator) for count in (new_labels, _TESTS))
    Z, lifted = features.lift(X), features.lift(tests)
    y, truth = (features.new_link(one @ theta.T) for one in (Z, lifted))
    f = fits.outer_layer(Z @ V, y, generator)
    return {
        "features": float(np.square(f(lifted @ V) - truth).mean() / truth.var()),
        "kernel": fits.kernel_error(X, y, tests, truth, _NEW_DEGREE),
        "overlap": _overlap(theta, M),
    }


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


def _moments(theta: np.ndarray, total: int, dim: int, generator: np.random.Generator) -> np.ndarray:
    """Σ y z zᵀ of so many samples with y = p₁p₂, in blocks that fit the memory."""
    M = np.zeros((theta.shape[1], theta.shape[1]))
    for start in range(0, total, _ROWS):
        Z = features.lift(features.sample_sphere(min(_ROWS, total - start), dim, generator))
        M += Z.T @ (Z * (Z @ theta.T).prod(1)[:, None])
    return M


def _overlap(theta: np.ndarray, M: np.ndarray) -> float:
    return float(np.square(theta @ largest(M, 2)).sum() / 2)
