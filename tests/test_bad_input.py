"""Bad input: one line that names the argument, its value and what is allowed; nothing half-written.

These are the library's own errors, so this file runs without the shape checks of the other tests.
"""

import math
import os

import numpy as np
import pytest
import torch

import amemlib as am
from amembook import laws, read_records
from amembook.networks import attention, tasks
from amembook.paper.deflation import bounds
from amembook.paper.optimality import slope_maps
from amembook.paper.precision import formats
from amembook.run import runtime
from amembook.run.command_line import main
from amembook.vocabularies import spelling_table
from amemlib.problem import check_tensor

NAN, INF = math.nan, math.inf
P = am.Problem.power_law(6, 4, 1.5)
EMB = am.sample_embeddings(P, 0, dtype=torch.float64)
EYE = torch.eye(4, dtype=torch.float64)
NAN_EYE, INF_EYE = EYE.clone(), EYE.clone()
NAN_EYE[1, 2], INF_EYE[3, 0] = NAN, INF
LAW = am.equivalents.SpectralLaw.power_law(1.5)
ONE_HALF = torch.tensor([0.5, 0.5], dtype=torch.float64)
FLAT = am.Embeddings(EMB.U, EMB.V * torch.tensor([1.0, 1, 1, 0]))
TWINS = am.Embeddings(EMB.U, EMB.V[[0, 0, 1, 2, 3, 4]])
SEEN = torch.tensor([0.5, 0.25, 0.25, 0, 0, 0], dtype=torch.float64)

NORMS = {"norm": 2.0, "largest": 1.0, "dim": 4, "t": 1.0}
MOMENTS = {"second": 2.0, "fourth": 2.0, "largest": 1.0, "dim": 4, "t": 1.0}

RECALL_TASK = tasks.RecallTask(8, 12, 1)

LIBRARY = [
    # in-context recall
    (lambda: tasks.RecallTask(8, 12, 4), ValueError, ["pairs", "4", "length / 4"]),
    (lambda: tasks.RecallTask(2, 32, 3), ValueError, ["pairs", "3", "n_items"]),
    (lambda: tasks.RecallTask(1, 12, 1), ValueError, ["n_items", "1", "at least 2"]),
    (lambda: tasks.RecallTask(8, 12, 1, output_alpha=-1.0), ValueError, ["output_alpha", "-1.0", "≥ 0"]),
    (lambda: tasks.RecallTask(8, 12, 1, trigger_alpha=NAN), ValueError, ["trigger_alpha", "nan", "finite"]),
    (lambda: tasks.sample_sequences(RECALL_TASK, 0, 0), ValueError, ["n_sequences", "0", "at least 1"]),
    (lambda: tasks.sample_sequences(RECALL_TASK, 1, -1), ValueError, ["seed", "-1", "at least 0"]),
    (lambda: tasks.sample_sequences(RECALL_TASK, 1, 0, 0, "test"), ValueError, ["stream", "'test'", "'training'"]),
    (lambda: attention.Network(16, 12, 1), ValueError, ["dim", "1", "at least 2"]),
    (lambda: attention.induction_head(attention.Network(16, 12, 64), 9, 0), ValueError, ["network", "18 tokens"]),
    (lambda: attention.induction_head(attention.Network(16, 12, 64, 8), 8, 0), ValueError, ["network", "no MLP"]),
    # α ≤ 1/2, or not above the threshold of a closed form
    *[
        (lambda alpha=alpha: am.Problem.power_law(10, 4, alpha), ValueError, ["alpha", repr(alpha), "> 0.5"])
        for alpha in (0.5, 0.0, -1.0, NAN, INF)
    ],
    (lambda: am.Problem.power_law(10, 4, "steep"), TypeError, ["alpha", "'steep'", "real number"]),
    (lambda: am.Problem(ONE_HALF, 4, 0.3), ValueError, ["alpha", "0.3", "> 0.5"]),
    (lambda: am.theory.recovery_exponent("newton", 0.9), ValueError, ["alpha", "0.9", "> 1"]),
    (lambda: am.theory.observed_exponent(1.0), ValueError, ["alpha", "1.0", "> 1"]),
    (lambda: am.theory.newton_schulz_steps(10, 4, 1.5, 1.0), ValueError, ["slope", "1.0", "> 1"]),
    # numbers in another order than (n_items, dim, alpha)
    (lambda: am.theory.bulk_scale(1.35, 128, 5000), TypeError, ["n_items", "1.35", "whole number"]),
    (lambda: am.theory.muon_schedule(1.35, 5000, 128, 2), TypeError, ["n_items", "1.35", "whole number"]),
    (lambda: am.theory.power_law_sum(1.35, 5000), TypeError, ["n_items", "1.35", "whole number"]),
    (lambda: laws.power_law_iterates(1.35, 5000, 128, 1.0, 2), TypeError, ["n_items", "1.35", "whole"]),
    (lambda: am.equivalents.capacity_constant("polar", 1.35, 5000), TypeError, ["n_items", "1.35", "whole number"]),
    (lambda: am.equivalents.best_map(LAW, -0.1), ValueError, ["floor", "-0.1", "≥ 0"]),
    # one's own matrices and optimizer
    (lambda: am.diagnose([[1.0]]), TypeError, ["matrix", "list", "floating-point tensor"]),
    (lambda: am.watch([EYE]), TypeError, ["optimizer", "Optimizer"]),
    (lambda: am.watch(am.Muon([torch.nn.Parameter(EYE)]), 1, 3), TypeError, ["log", "3", "function"]),
    (lambda: am.Muon([torch.nn.Parameter(EYE)], lr="fast"), TypeError, ["lr", "'fast'", "real number"]),
    # one gradient, its inputs and its siblings
    (lambda: am.second_moment(EMB.V, ONE_HALF), ValueError, ["weights", "(6,)", "(2,)"]),
    (lambda: am.second_moment(EMB.V, -P.frequencies), ValueError, ["weights", "non-negative"]),
    (lambda: am.second_moment(EMB.V, P.frequencies, EYE[0, :3]), ValueError, ["centre", "(4,)", "(3,)"]),
    (lambda: am.whiten(EYE, right=EYE[:3, :3]), ValueError, ["right", "(4, 4)", "(3, 3)"]),
    (lambda: am.whiten(EYE, left=NAN_EYE), ValueError, ["left", "finite"]),
    (lambda: am.whiten(EYE, right=EYE + EYE.roll(1, 0)), ValueError, ["right", "symmetric", "1"]),
    (lambda: am.whiten(EYE, right=-EYE), ValueError, ["right", "positive definite", "damping"]),
    (lambda: am.whiten(EYE, damping=-1.0), ValueError, ["damping", "-1.0", "≥ 0"]),
    (lambda: am.matched_filter(EYE, P.frequencies), TypeError, ["emb", "Embeddings"]),
    (lambda: am.matched_filter(EMB, ONE_HALF), ValueError, ["q ", "(6,)", "(2,)"]),
    (lambda: am.matched_filter(FLAT, P.frequencies), ValueError, ["emb.V", "dimensions", "pivots"]),
    (lambda: am.matched_filter(TWINS, SEEN), ValueError, ["emb.V", "dimensions", "pivots"]),
    (lambda: am.whitening.kfac(EMB, P.frequencies, -1.0), ValueError, ["damping", "-1.0", "≥ 0"]),
    (lambda: am.whitening.balanced_sum([], []), ValueError, ["matrices", "0", "coefficients"]),
    (lambda: am.whitening.balanced_sum([EYE], [1, 2]), ValueError, ["matrices", "1", "coefficients", "2"]),
    (lambda: am.whitening.balanced_sum([EYE, EYE[:3]], [1, 1]), ValueError, ["matrices[1]", "(4, 4)", "(3, 4)"]),
    (lambda: am.whitening.balanced_sum([EYE, 0 * EYE], [1, 1]), ValueError, ["matrices[1]", "zero"]),
    (lambda: am.whitening.balanced_sum([EYE, EYE], [1, -1]), ValueError, ["coefficients", "[1, -1]", "0"]),
    (lambda: am.whitening.balanced_sum([EYE], ["x"]), TypeError, ["coefficients[0]", "'x'"]),
    (lambda: am.equivalents.Whitener(2), TypeError, ["weights", "2"]),
    (lambda: am.equivalents.Whitener(np.square, power=2), ValueError, ["power", "2", "(0, 1]"]),
    (lambda: am.equivalents.Whitener(np.square, damping=-1), ValueError, ["damping", "-1", "≥ 0"]),
    (lambda: am.equivalents.Whitener(np.square, coefficient=INF), ValueError, ["coefficient", "inf"]),
    (lambda: am.equivalents.expected_whitened_capacity(P, right=[1]), TypeError, ["right", "Whitener", "1"]),
    (
        lambda: am.equivalents.expected_whitened_capacity(P, [am.equivalents.Whitener(np.negative)]),
        ValueError,
        ["weights of left", "≥ 0"],
    ),
    (
        lambda: am.equivalents.expected_whitened_capacity(P, right=am.equivalents.MATCHED, frequencies=SEEN),
        ValueError,
        ["damping of right", "> 0", "4"],
    ),
    (lambda: am.siblings([]), ValueError, ["gradients", "at least one", "none"]),
    (lambda: am.siblings(3), TypeError, ["gradients", "3"]),
    (lambda: am.siblings([EYE, NAN_EYE]), ValueError, ["gradients[1]", "finite"]),
    (lambda: am.siblings([EYE, EYE[:, :3]]), ValueError, ["gradients", "4", "3"]),
    (lambda: am.siblings([EYE[:2], EYE[:1]]), ValueError, ["gradients", "n = 4", "got 3"]),
    (lambda: am.siblings([EYE[:2], EYE[:2]]), ValueError, ["gradients", "dimensions", "pivots"]),
    (lambda: am.siblings([EYE], -0.5), ValueError, ["damping", "-0.5", "≥ 0"]),
    (lambda: am.theory.one_gradient_bound([1.0, 2.0], 4), ValueError, ["q ", "decreasing"]),
    (lambda: am.capacity_limit(4), TypeError, ["problem", "Problem", "4"]),
    (lambda: am.equivalents.expected_siblings_capacity(P, 1), ValueError, ["siblings", "1", "at least 2"]),
    # frequencies
    *[
        (lambda x=x: am.Problem.from_frequencies([1.0, x], 4), ValueError, ["p ", repr(x), "index 1", "positive"])
        for x in (0.0, -1.0, NAN, INF)
    ],
    (lambda: am.Problem.from_frequencies([], 4), ValueError, ["p ", "(0,)", "(N,)"]),
    (lambda: am.Problem.from_frequencies(np.ones((2, 2)), 4), ValueError, ["p ", "(2, 2)", "(N,)"]),
    (lambda: am.Problem(ONE_HALF * 2, 4), ValueError, ["frequencies", "2.0", "sum to 1"]),
    (lambda: am.Problem([0.5, 0.5], 4), TypeError, ["frequencies", "list", "tensor"]),
    (lambda: am.Problem(torch.tensor([1]), 4), TypeError, ["frequencies", "int64", "floating-point"]),
    *[
        (lambda f=f, q=q: f(q), ValueError, ["q ", *words])
        for f in (
            lambda q: am.initial_gradient(EMB, q),
            lambda q: am.thresholded_gradient(EMB, q, 1),
            lambda q: am.gradient_rank(EMB, q),
        )
        for q, words in [
            (torch.ones(5, dtype=torch.float64), ["(6,)", "(5,)"]),
            (torch.tensor([1.0, -1, 0, 0, 0, 0]), ["-1.0", "index 1", "non-negative"]),
            (torch.tensor([1.0, 0, NAN, 0, 0, 0]), ["nan", "index 2"]),
            (torch.zeros(6), ["0.0", "positive sum"]),
        ]
    ],
    (lambda: am.expected_capacity(P, "polar", frequencies=torch.ones(5)), ValueError, ["frequencies", "(6,)", "(5,)"]),
    # covariances
    *[
        (lambda bad=bad: laws.expected_covariance_capacity(P, torch.ones(4), bad), ValueError, words)
        for bad, words in [
            (torch.ones(5), ["input_eigenvalues", "(4,)", "(5,)"]),
            (torch.tensor([1.0, 1, 0, 1]), ["input_eigenvalues", "0.0", "positive"]),
            (torch.tensor([1.0, 1, NAN, 1]), ["input_eigenvalues", "NaN", "finite"]),
        ]
    ],
    (lambda: laws.effective_dimension(torch.ones(2, 2)), ValueError, ["eigenvalues", "(d,)", "(2, 2)"]),
    # sizes
    (lambda: am.Problem.power_law(10, -3, 1.5), ValueError, ["dim", "-3", "at least 1"]),
    (lambda: am.Problem.power_law(10, 2.5, 1.5), TypeError, ["dim", "2.5", "whole"]),
    (lambda: am.Problem.power_law(0, 4, 1.5), ValueError, ["n_items", "0", "at least 1"]),
    (lambda: am.theory.recovery_exponent("muon", 1.5, 0), ValueError, ["steps", "0", "at least 1"]),
    (lambda: am.theory.next_exponent("muon", 1.5, 0.5), ValueError, ["kappa", "0.5", "[1, 2]"]),
    (lambda: am.theory.next_exponent("newton", 1.5, 1.0), ValueError, ["method", "'newton'", "'sgd', 'muon'"]),
    (lambda: am.theory.recovery_thresholds("sgd", 64, 1.5, 2, 0.0), ValueError, ["constant", "0.0", "> 0"]),
    (lambda: am.theory.recovery_thresholds("sgd", 64, 0.9, 2, 1.0, 99), ValueError, ["alpha", "0.9", "> 1"]),
    (lambda: am.theory.sgd_learning_rate(64, 1.5, 0), ValueError, ["next_threshold", "0", "> 0"]),
    (lambda: am.equivalents.thresholded_weights(P.frequencies, [99]), ValueError, ["removed", "99", "leave items"]),
    (
        lambda: am.equivalents.sgd_weights(torch.ones(2, 5).double(), [1.0]),
        ValueError,
        ["learning_rates", "2 steps", "got 1"],
    ),
    (
        lambda: am.equivalents.ManyStepEquivalent.solve(torch.ones(2, 5).double(), 4, [0.1]),
        ValueError,
        ["lams", "2 steps", "got 1"],
    ),
    (lambda: am.theory.recovery_exponent("adam", 1.5), ValueError, ["method", "'adam'", "'sgd', 'muon', 'newton'"]),
    (lambda: am.theory.critical_batch_exponent("newton", 1.5), ValueError, ["method", "'newton'", "'sgd', 'muon'"]),
    (lambda: am.sample_minibatch(P, 1e3, 0), TypeError, ["batch_size", "1000.0", "whole"]),
    (lambda: am.sample_embeddings(P, -1), ValueError, ["seed", "-1", "at least 0"]),
    (lambda: am.sample_embeddings(P, 0, dtype=torch.float16), TypeError, ["dtype", "float16", "torch.float32 or"]),
    (lambda: am.thresholded_gradient(EMB, P.frequencies, 7), ValueError, ["n_recovered", "7", "at most N = 6"]),
    (lambda: am.thresholded_gradient(EMB, P.frequencies, -1), ValueError, ["n_recovered", "-1", "at least 0"]),
    # what once gave a number that meant nothing
    (lambda: am.longest_prefix(torch.tensor([2, 2])), TypeError, ["mask", "bool", "int64"]),
    (lambda: am.theory.observed_items(10, 1.5, -1), ValueError, ["batch_size", "-1", "≥ 0"]),
    (lambda: am.theory.recovery_thresholds("sgd", 64, 1.5, 2, 1.0, NAN), ValueError, ["batch_size", "nan", "> 0"]),
    (lambda: am.Problem.from_frequencies(["1", "2"], 4), TypeError, ["p ", "'1'", "real numbers"]),
    (lambda: am.Problem.from_frequencies(np.array([1, 2j]), 4), TypeError, ["p ", "real numbers"]),
    (lambda: am.loss_and_gradient(1e308 * EYE, EMB, P.frequencies), ValueError, ["W and emb", "1e+290", "inf"]),
    (lambda: am.recovered(EYE, None), TypeError, ["emb ", "Embeddings", "None"]),
    (lambda: am.theory.observed_items(10, 1.5, 1e9), ValueError, ["batch_size", "1e+09", "below N^α = 31.6"]),
    (lambda: spelling_table(("same", "same"), 2), ValueError, ["words", "'same'", "differ"]),
    # a user's map
    (lambda: am.spectral_map(EYE, lambda s: s[:2]), ValueError, ["f(s)", "(4,)", "(2,)"]),
    (lambda: am.spectral_map(EYE, lambda s: 1.0), TypeError, ["f(s)", "Tensor", "1.0"]),
    (lambda: am.spectral_map(EYE, lambda s: s > 0), TypeError, ["f(s)", "floating-point", "bool"]),
    (lambda: am.spectral_map(EYE, lambda s: s / 0), ValueError, ["f(s)", "finite"]),
    (lambda: am.step(0, EYE, lambda G: G[:2], 1.0), ValueError, ["spectral_map(G)", "(4, 4)", "(2, 4)"]),
    (lambda: am.step(0, EYE, lambda G: None, 1.0), TypeError, ["spectral_map(G)", "tensor", "NoneType"]),
    # embeddings that do not fit together
    (lambda: am.Embeddings(EMB.U, EMB.V.float()), TypeError, ["U and V", "float64", "float32", "one dtype"]),
    (lambda: am.Embeddings(EMB.U, EMB.V.to("meta")), ValueError, ["U and V", "cpu", "meta", "one device"]),
    (lambda: am.Embeddings(EMB.U, EMB.V[:5]), ValueError, ["U and V", "(6, 4)", "(5, 4)", "one shape"]),
    (lambda: am.Embeddings(EMB.U[0], EMB.V[0]), ValueError, ["U ", "(4,)", "(N, d)"]),
    (lambda: am.Embeddings(EMB.U, EMB.V * NAN), ValueError, ["V ", "finite"]),
    (lambda: am.Embeddings(EMB.U.long(), EMB.V.long()), TypeError, ["U ", "int64", "float32 or float64"]),
    (lambda: am.Embeddings(EMB.U.numpy(), EMB.V.numpy()), TypeError, ["U ", "ndarray", "tensor"]),
    # λ, η, G and W
    (lambda: am.smoothed_sign(EYE, INF), ValueError, ["lam", "inf", "≥ 0"]),
    # a matrix that is not square where one letter stands twice
    (lambda: check_tensor("G", EYE[:3], ("d", "d")), ValueError, ["G", "(d, d)", "(3, 4)"]),
    (lambda: check_tensor("G", EYE[:3], (..., "d", "d")), ValueError, ["G", "(..., d, d)", "(3, 4)"]),
    (lambda: am.spectral.signal_curve(EYE[:3], EYE, EYE, EYE, 1.0), ValueError, ["G", "(d, d)", "(3, 4)"]),
    # a λ where it has no meaning
    *[
        (lambda name=name: am.expected_capacity(P, name, lam=5), ValueError, ["lam", "5", "0", repr(name)])
        for name in ("polar", "sgd", "newton", "matched_filter", "kfac")
    ],
    (lambda: am.equivalents.expected_prefix(P, "polar", 0.5), ValueError, ["lam", "0.5", "0", "'polar'"]),
    (lambda: am.equivalents.rare_item_snr("polar", 1.5, 0.5), ValueError, ["lam_over_t0", "0.5", "'polar'"]),
    (lambda: am.equivalents.capacity_constant("newton", 9, 1.5, 2), ValueError, ["lam_over_t0", "2", "'newton'"]),
    (lambda: am.expected_capacity(P, "smoothed_sign", -1.0), ValueError, ["lam", "-1.0", "≥ 0"]),
    (
        lambda: am.expected_capacity(P, "adam"),
        ValueError,
        ["spectral_map", "'adam'", "'polar', 'smoothed_sign', 'sgd', 'newton'"],
    ),
    *[
        (lambda f=f, G=G: f(G), ValueError, ["G ", "finite"])
        for f in (am.polar, am.identity, am.newton_schulz, lambda G: am.smoothed_sign(G, 0.1))
        for G in (NAN_EYE, INF_EYE)
    ],
    (lambda: am.newton_step(EMB, P.frequencies, NAN), ValueError, ["damping", "nan", "≥ 0"]),
    (lambda: am.newton_step(EMB, ONE_HALF), ValueError, ["q ", "(6,)", "(2,)"]),
    (lambda: am.equivalents.capacity_constant("newton", 9, 1.0), ValueError, ["alpha", "1.0", "> 1"]),
    (lambda: am.equivalents.rare_item_snr("adam", 1.5), ValueError, ["'adam'", "'polar', 'smoothed_sign', 'newton'"]),
    (lambda: am.equivalents.typical_maximum(0), ValueError, ["n ", "0", "at least 1"]),
    (lambda: am.polar(EYE[0]), ValueError, ["G ", "(4,)", "m, n)"]),
    (lambda: am.polar(EYE[:0]), ValueError, ["G ", "none of them 0", "(0, 4)"]),
    (lambda: am.polar(np.eye(3)), TypeError, ["G ", "ndarray", "tensor"]),
    (lambda: am.polar(EYE, rank=5), ValueError, ["rank", "5", "at most min(m, n) = 4"]),
    (lambda: am.newton_schulz(EYE, 5, (1e200,) * 3), ValueError, ["coefficients", "finite", "1e+200"]),
    (lambda: am.newton_schulz(EYE, 0), ValueError, ["steps", "0", "at least 1"]),
    (lambda: am.newton_schulz(EYE, 5, (1.0, 2.0)), ValueError, ["coefficients", "(1.0, 2.0)", "three"]),
    (lambda: am.newton_schulz(EYE, 5, "quartic"), ValueError, ["coefficients", "'polar_express'", "'deepseekv4'"]),
    (lambda: am.newton_schulz(EYE, 7, "polar_express"), ValueError, ["steps", "5", "got 7"]),
    (lambda: am.newton_schulz(EYE, 3, [(2.0, -1.5, 0.5)] * 2), ValueError, ["steps", "2", "got 3"]),
    (lambda: am.newton_schulz(EYE, coefficients=[]), ValueError, ["coefficients", "empty"]),
    (lambda: am.newton_schulz(EYE, coefficients=[(2.0, -1.5, NAN)]), ValueError, ["coefficients", "finite", "nan"]),
    # 0 + 2 x − 1.5 x² + …: a polynomial with even powers
    (lambda: am.newton_schulz(EYE, coefficients=[(0, 2, -1, 1)]), ValueError, ["coefficients", "odd", "(0, 2, -1, 1)"]),
    (lambda: am.newton_schulz(EYE, coefficients=[(1, 2, 3), 4]), TypeError, ["coefficients", "sequence", "4"]),
    (lambda: am.spectral.polar_express(EYE), ValueError, ["lam or smallest", "0.0", "at least"]),
    (lambda: am.spectral.polar_express(EYE, -1.0), ValueError, ["lam", "-1.0", "≥ 0"]),
    (lambda: am.spectral.polar_express(EYE, smallest=NAN), ValueError, ["smallest", "nan", "≥ 0"]),
    (lambda: am.spectral.polar_express_coefficients(1.5), ValueError, ["lower", "1.5", "1]"]),
    (lambda: am.spectral.polar_express_coefficients(0.1, 0), ValueError, ["steps", "0", "at least 1"]),
    (lambda: am.step(0, EYE, am.polar, 0.0), ValueError, ["lr", "0.0", "> 0"]),
    (lambda: am.step(EYE[:2], EYE, am.polar, 1.0), ValueError, ["W ", "(2, 4)", "(4, 4)"]),
    (lambda: am.step(1.0, EYE, am.polar, 1.0), TypeError, ["W ", "1.0", "number 0"]),
    *[
        (lambda f=f, W=W: f(W, EMB), ValueError, ["W ", *words])
        for f in (
            am.recovered,
            am.margins,
            am.item_losses,
            lambda W, emb: am.loss_and_gradient(W, emb, P.frequencies),
        )
        for W, words in [
            (EYE[:3], ["(4, 4)", "(3, 4)"]),
            (torch.eye(5).double(), ["(4, 4)", "(5, 5)"]),
            (NAN_EYE, ["finite"]),
            (INF_EYE, ["finite"]),
        ]
    ],
    (lambda: am.recovered(EYE.to("meta"), EMB), ValueError, ["W ", "meta", "cpu", "device of the embeddings"]),
    (lambda: am.recovered(EYE.numpy(), EMB), TypeError, ["W ", "ndarray", "tensor"]),
    (lambda: am.recovered(EYE.long(), EMB), TypeError, ["W ", "int64", "floating-point"]),
    (lambda: am.loss_and_gradient(EYE, EMB, torch.ones(5)), ValueError, ["q ", "(6,)", "(5,)"]),
    # scales of the theory, and sizes
    *[
        (lambda bad=bad, name=name: bounds.weighted_norm_bound(**NORMS | {name: bad}), ValueError, [name, repr(bad)])
        for name in ("norm", "largest", "t")
        for bad in (NAN, INF, -1.0)
    ],
    *[
        (lambda name=name: bounds.weighted_frobenius_bound(**MOMENTS | {name: -1.0}), ValueError, [name, "-1.0"])
        for name in ("second", "fourth", "largest", "t")
    ],
    (lambda: bounds.weighted_norm_bound(1.0, 1.0, 0, 1.0), ValueError, ["dim", "0", "at least 1"]),
    (lambda: bounds.superconcentration_failure(1, 1.0), ValueError, ["n ", "1.0", "> 1"]),
    (lambda: bounds.superconcentration_failure(9, NAN), ValueError, ["constant", "nan", "≥ 0"]),
    (lambda: am.sampling.power_law_eigenvalues(2.5, 0.5), TypeError, ["dim", "2.5", "whole"]),
    (lambda: am.sampling.with_eigenvalues(EMB, torch.ones(5)), ValueError, ["eigenvalues", "(4,)", "(5,)"]),
    (lambda: am.sampling.with_eigenvalues(EMB, [1, 2, 3, 4]), TypeError, ["eigenvalues", "list", "tensor"]),
    (lambda: am.sampling.with_eigenvalues(None, torch.ones(4)), TypeError, ["emb", "None", "Embeddings"]),
    (lambda: formats.recovered_in_format(EYE[:3], EMB, 7), ValueError, ["W ", "(4, 4)", "(3, 4)"]),
    (lambda: formats.recovered_in_format(EYE, EMB, 99), ValueError, ["bits", "99", "at most 23"]),
    (
        lambda: am.equivalents.SpectralEquivalent.solve(P.frequencies, 4).expected_losses(1e5),
        ValueError,
        ["lr", "100000.0", "spread below 1000"],
    ),
    (lambda: slope_maps(NAN), ValueError, ["t0", "nan", "> 0"]),
    # fits
    (lambda: am.fit_exponent([1], [1]), ValueError, ["x ", "[1.0]", "two distinct"]),
    (lambda: am.fit_exponent([1, 1], [1, 2]), ValueError, ["x ", "[1.0, 1.0]", "two distinct"]),
    (lambda: am.fit_exponent([1, 2], [1, 2, 3]), ValueError, ["y ", "(3,)", "(2,)"]),
    (lambda: am.fit_exponent([1, 2], [0, 2]), ValueError, ["y ", "[0.0, 2.0]", "positive"]),
    (lambda: am.fit_exponent([-1, 2], [1, 2]), ValueError, ["x ", "[-1.0, 2.0]", "positive"]),
    (lambda: read_records("two-step"), ValueError, ["experiment", "'two-step'", "stored record"]),
]


@pytest.mark.parametrize(
    "call, error, words", LIBRARY, ids=[f"{i}-{'-'.join(c[2])[:40]}" for i, c in enumerate(LIBRARY)]
)
def test_the_library_names_argument_value_and_what_is_allowed(call, error, words):
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert all(word in message for word in words), message


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="device must be one of auto, cpu on this machine, got 'cuda'"):
        runtime.device("cuda")


RUN = ["run", "one-step", "--profile", "smoke"]
COMMANDS = [
    (["run", "two-step"], ["experiment", "'two-step'", "one-step"]),
    (["show", "two-step"], ["experiment", "'two-step'", "one-step"]),
    (["run", "one-step", "--profile", "huge"], ["profile", "'huge'", "confirm, prefix-many, gpu, rehearsal"]),
    ([*RUN, "--set", "gamma=1"], ["key", "'gamma'", "alpha", "lam_over_t0"]),
    ([*RUN, "--set", "alpha"], ["--set", "'alpha'", "KEY=VALUE"]),
    ([*RUN, "--set", "alpha=steep"], ["alpha", "'steep'", "a number"]),
    ([*RUN, "--set", "alpha=0.5"], ["alpha", "0.5", "> 0.5"]),
    ([*RUN, "--set", "dims=64,big"], ["dims", "'64,big'", "whole number"]),
    ([*RUN, "--set", "dims=64"], ["dims", "[64]", "at least 2"]),
    ([*RUN, "--set", "dims=64,64"], ["dims", "[64, 64]", "distinct"]),
    ([*RUN, "--set", "n_items=1e4"], ["n_items", "'1e4'", "whole number"]),
    ([*RUN, "--set", "seeds=0"], ["seeds", "0", "at least 1"]),
    ([*RUN, "--device", "tpu"], ["device", "'tpu'", "auto, cpu, cuda"]),
    *[([*RUN, "--budget", bad], ["budget", bad, "> 0"]) for bad in ("-1", "0.0", "nan", "inf")],
    *[([*RUN, "--workers", bad], ["workers", bad, "at least 1"]) for bad in ("0", "-3")],
    ([*RUN, "--results", "file"], ["results", "'file'", "folder"]),
    ([*RUN, "--output", "missing/record.json"], ["output", "'missing/record.json'", "folder"]),
    (["judge", "missing"], ["record", "'missing'", "No such file"]),
    (["forget"], ["'forget'", "list", "run", "show"]),
    (["run"], ["required", "NAME"]),
    ([*RUN, "--speed", "9"], ["--speed"]),
]


@pytest.mark.parametrize("arguments, words", COMMANDS, ids=[" ".join(arguments)[:60] for arguments, _ in COMMANDS])
def test_the_command_line_ends_with_2_and_one_line_and_writes_nothing(arguments, words, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.chdir(tmp_path)
    try:
        status = main(arguments)
    except SystemExit as left:
        status = left.code
    captured = capsys.readouterr()
    assert status == 2 and captured.out == ""
    assert captured.err.count("\n") == 1 and all(word in captured.err for word in words), captured.err
    assert os.listdir(tmp_path) == ["file"] and (tmp_path / "file").read_text() == "in the way"


def test_derivatives_refuse_shapes_and_widths_that_make_no_sense():
    odd = (torch.tanh, lambda z: torch.cosh(z) ** -2)
    with pytest.raises(ValueError, match=r"E must have shape \(4, 4\)"):
        am.spectral.spectral_derivative(EYE, EYE[:, :3], *odd, 1.0)
    with pytest.raises(ValueError, match="rank must be at most 4, got 5"):
        am.spectral.spectral_derivative(EYE, EYE, *odd, 1.0, rank=5)
    with pytest.raises(ValueError, match="lam"):
        am.spectral.smoothed_sign_scalars(0.0)
    with pytest.raises(ValueError, match="lam"):
        am.spectral.signal_curve(EYE, EYE, EYE, EYE, -1.0)
    with pytest.raises(ValueError, match="n, d"):
        am.spectral.signal_curve(EYE, EYE, EYE[:2], EYE, 1.0)
