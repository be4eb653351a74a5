"""Hostile calls of the public functions: a result of finite numbers, or one line that names an argument; nothing else.

hypothesis draws which function, and which of its arguments are replaced by values that no caller should pass. The
draws are the same in every run; AMEM_HOSTILE=2000 asks for that many, and the arguments of each are then drawn afresh.
These are the library's own errors, so this file runs without the shape checks of the other tests.
"""

import dataclasses
import inspect
import math
import os
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest
import torch

import amemlib as am
from amemlib import equivalents, gradients, optim, recovery, sampling, scaling, spectral, theory, vocabularies
from amemlib.checks import shown

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

CALLS = int(os.environ.get("AMEM_HOSTILE", "300"))
N, D = 6, 4
P = am.Problem.power_law(N, D, 1.5)
EMB = am.sample_embeddings(P, 0, dtype=torch.float64)
Q = P.frequencies
G = am.initial_gradient(EMB, Q)
LAW = equivalents.SpectralLaw.power_law(1.5)
EYE = torch.eye(D, dtype=torch.float64)
CURVE = (torch.tanh, lambda z: torch.cosh(z) ** -2, lambda z: -2 * torch.tanh(z) / torch.cosh(z) ** 2)

# public functions of the numerical rooms, with arguments that are right
GOOD = {
    am.Problem: dict(frequencies=Q, dim=D, alpha=1.5),
    am.Problem.power_law: dict(n_items=N, dim=D, alpha=1.5),
    am.Problem.from_frequencies: dict(p=[3.0, 2.0, 1.0], dim=D),
    am.Embeddings: dict(U=EMB.U, V=EMB.V),
    recovery.recovered: dict(W=EYE, emb=EMB),
    recovery.unbeaten_by: dict(rivals=EMB.U[:2] / 3, W=EYE, emb=EMB),
    recovery.recovered_prefix: dict(W=EYE, emb=EMB),
    recovery.recovered_by_sgd: dict(output_gram=EMB.U @ EMB.U.T, input_gram=EMB.V @ EMB.V.T, q=Q),
    recovery.capacity: dict(W=EYE, emb=EMB),
    recovery.longest_prefix: dict(mask=torch.ones(N, dtype=torch.bool)),
    recovery.margins: dict(W=EYE, emb=EMB),
    gradients.initial_gradient: dict(emb=EMB, q=Q),
    gradients.thresholded_gradient: dict(emb=EMB, q=Q, n_recovered=2),
    gradients.gradient_rank: dict(emb=EMB, q=Q),
    gradients.loss_and_gradient: dict(W=EYE, emb=EMB, q=Q),
    gradients.gradient: dict(W=EYE, emb=EMB, q=Q),
    gradients.loss: dict(W=EYE, emb=EMB, q=Q),
    gradients.item_losses: dict(W=EYE, emb=EMB),
    gradients.item_losses_along: dict(direction=EYE, emb=EMB, learning_rates=[1.0, 2.0]),
    gradients.rival_log_sums: dict(W=EYE, emb=EMB, outputs=EMB.U[:2] / 3),
    spectral.identity: dict(G=G),
    spectral.polar_by_products: dict(G=G),
    spectral.singular_triples: dict(G=G),
    spectral.singular_values: dict(X=G),
    spectral.spectral_map: dict(G=G, f=torch.tanh, rank=2),
    spectral.polar: dict(G=G, rank=2),
    spectral.smoothed_sign: dict(G=G, lam=0.1, rank=2),
    spectral.polar_express: dict(G=G, lam=0.1, smallest=0.01),
    spectral.polar_express_coefficients: dict(lower=0.1, steps=3),
    spectral.best_odd_quintic: dict(lower=0.1, upper=1.0),
    spectral.newton_schulz: dict(G=G, steps=3, coefficients="cubic"),
    spectral.newton_schulz_scalar: dict(s=torch.rand(3), steps=3, coefficients="muon"),
    spectral.newton_schulz_coefficients: dict(coefficients="cubic"),
    spectral.newton_schulz_schedule: dict(coefficients="you", steps=5),
    spectral.smoothed_sign_scalars: dict(lam=0.1),
    spectral.divided_difference: dict(x=Q, y=Q, f=CURVE[0], df=CURVE[1], scale=1.0),
    spectral.spectral_derivative: dict(G=G, E=EYE, f=CURVE[0], df=CURVE[1], scale=1.0),
    spectral.stein_slope: dict(s=torch.rand(D).double(), f=CURVE[0], df=CURVE[1], scale=1.0),
    spectral.signal_slopes: dict(G=G, U=EMB.U, V=EMB.V, f=CURVE[0], df=CURVE[1], scale=1.0),
    spectral.signal_curve: dict(G=G, U=EMB.U, V=EMB.V, t=torch.zeros(N, 2).double(), lam=0.1),
    sampling.sample_embeddings: dict(problem=P, seed=0, device="cpu", dtype=torch.float64),
    sampling.sample_embedding_rows: dict(problem=P, seed=0, rows=slice(0, 3)),
    sampling.sample_reduced_embeddings: dict(problem=P, seed=0),
    sampling.sample_minibatch: dict(problem=P, batch_size=9, seed=0),
    sampling.sample_rotations: dict(dim=D, n_rotations=2, seed=0),
    optim.step: dict(W=EYE, G=G, spectral_map=spectral.polar, lr=0.1),
    optim.newton_step: dict(emb=EMB, q=Q, damping=0.1),
    scaling.fit_exponent: dict(x=[1.0, 2.0, 4.0], y=[1.0, 2.0, 3.0], ceiling=9.0),
    scaling.first_crossing: dict(x=[1.0, 2.0, 4.0], y=[1.0, 2.0, 3.0], level=1.5),
    theory.recovery_exponent: dict(method="muon", alpha=1.5, steps=2),
    theory.next_exponent: dict(method="sgd", alpha=1.5, kappa=0.5),
    theory.recovery_thresholds: dict(method="muon", alpha=1.5, dim=64, steps=3, constant=1.0, batch_size=1e4),
    theory.muon_smoothing: dict(alpha=1.5, n_items=64, dim=8, next_threshold=9.0),
    theory.sgd_learning_rate: dict(alpha=1.5, n_items=64, next_threshold=9.0),
    theory.critical_batch_exponent: dict(method="muon", alpha=1.5),
    theory.observed_exponent: dict(alpha=1.5),
    theory.observed_items: dict(alpha=1.5, n_items=64, batch_size=99.0),
    theory.power_law_sum: dict(alpha=1.5, n_items=64),
    theory.bulk_scale: dict(alpha=1.5, n_items=64, dim=8),
    theory.newton_schulz_steps: dict(alpha=1.5, n_items=64, dim=8, slope=1.5),
    theory.information_limit: dict(dim=8),
    theory.counting_limit: dict(dim=8, n_items=99),
    equivalents.expected_capacity: dict(problem=P, spectral_map="smoothed_sign", lam=0.1, frequencies=Q),
    equivalents.expected_distinct_items: dict(problem=P, batch_size=9.0),
    equivalents.expected_covariance_capacity: dict(
        problem=P, output_eigenvalues=torch.ones(D), input_eigenvalues=torch.ones(D), lam=0.1, frequencies=Q
    ),
    equivalents.effective_dimension: dict(eigenvalues=torch.ones(D)),
    equivalents.expected_table_capacity: dict(emb=EMB, q=Q),
    equivalents.tail_snr: dict(law=LAW, f=torch.tanh),
    equivalents.best_map: dict(law=LAW, floor=0.1),
    equivalents.rare_item_snr: dict(spectral_map="smoothed_sign", alpha=1.5, lam_over_t0=0.1),
    equivalents.capacity_constant: dict(spectral_map="polar", alpha=1.5, n_items=99, lam_over_t0=0.1),
    equivalents.typical_maximum: dict(n=9),
    equivalents.typical_maximum_expansion: dict(n=9),
    equivalents.evenly_spread_sgd_capacity: dict(x=Q, dim=D),
    equivalents.weighted_sgd_capacity: dict(x=Q, dim=D),
    equivalents.thresholded_weights: dict(q=Q, removed=[0, 2]),
    equivalents.sgd_weights: dict(w=torch.stack([Q, Q]), learning_rates=[1.0, 2.0]),
    equivalents.sgd_limit_probability: dict(r=0.5, alpha=1.5),
    equivalents.interaction_variances: dict(q=Q, dim=D, lam=0.1, at=Q[:2]),
    equivalents.SpectralEquivalent.solve: dict(q=Q, dim=D, lam=0.1),
    equivalents.NewtonEquivalent.solve: dict(q=Q, dim=D),
    equivalents.SpectralLaw.power_law: dict(alpha=1.5, scale=1.0),
    vocabularies.whitened: dict(table=EMB.U),
    vocabularies.second_moment_eigenvalues: dict(table=EMB.U),
    vocabularies.spelling_table: dict(words=("one", "two", "three"), dim=2),
}

NUMBERS = [math.nan, math.inf, -math.inf, 0, -1, 0.5, 1e-300, 1e300, 5e-324, 1.7e308, 2**63, 10**400, 1.0, 3, 1e-8]
NUMBERS += [True, None, "1.5", "two\nlines", b"x", 1j, Fraction(1, 3), [], {}, np.float32(2), torch.tensor(2.0)]


def tensors() -> list:
    """Tensors and arrays of every odd kind, in the shapes that the functions take."""
    kinds = []
    for good in (EYE, Q, EMB.U):
        flat = good.clone()
        flat.view(-1)[0] = math.nan
        kinds += [flat, good * 0, good * 1e-300, good * 1e300, good * 1e-160, -good, good[:0], good[None], good.long()]
        kinds += [good.to(torch.complex128), good.to(torch.float8_e4m3fn), good.half(), good.bfloat16(), good.float()]
        kinds += [good.to("meta"), good.to_sparse(), good.numpy(), np.ma.masked_array(good.numpy(), good.numpy() < 0.5)]
        with warnings.catch_warnings():
            # torch is about to give quantised tensors up
            warnings.simplefilter("ignore")
            kinds += [torch.quantize_per_tensor(good.float(), 0.1, 0, torch.qint8), good > 0, good.tolist()]
        kinds += [good.clone().requires_grad_(), good.repeat_interleave(2, 0)[::2], good.T if good.ndim == 2 else good]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kinds.append(torch.masked.masked_tensor(EYE.clone(), EYE > 0))
    one = torch.ones(D, D, dtype=torch.float64)
    return [*kinds, one, torch.outer(Q[:D], Q[:D]), torch.tensor([1, 1e-160, 1e-160, 1, 1, 1], dtype=torch.float64)]


HOSTILE = NUMBERS + tensors() + [P, EMB, LAW, slice(None, None, -1), slice("a"), torch.float32, torch.int8]


def finite(result) -> bool:
    """Whether every number in a result is one; complex only where it was meant to be, in numpy's resolvents."""
    if isinstance(result, torch.Tensor):
        return not result.is_complex() and bool(torch.isfinite(result.double()).all())
    if isinstance(result, np.ndarray):
        return result.dtype.kind in "iufbc" and bool(np.isfinite(result).all())
    if isinstance(result, (tuple, list)):
        return all(map(finite, result))
    if dataclasses.is_dataclass(result):
        return all(finite(getattr(result, field.name)) for field in dataclasses.fields(result))
    return result is None or callable(result) or isinstance(result, str) or math.isfinite(result)


@hypothesis.settings(max_examples=CALLS, derandomize=True, deadline=None, database=None)
@hypothesis.given(st.sampled_from(range(len(GOOD))), st.data())
def test_a_hostile_call_gives_numbers_or_one_line_that_names_an_argument(which, data):
    function, good = list(GOOD.items())[which]
    names = data.draw(st.lists(st.sampled_from(sorted(good)), min_size=1, max_size=2, unique=True))
    bad = {name: HOSTILE[data.draw(st.sampled_from(range(len(HOSTILE))))] for name in names}
    label = f"{function.__qualname__}({', '.join(f'{name}={shown(value)}' for name, value in bad.items())})"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(**{**good, **bad})
        except (ValueError, TypeError) as error:
            message = str(error)
            assert "\n" not in message, label
            named = set(inspect.signature(function).parameters) | {"emb.U", "emb.V", "U", "V", "frequencies", "dim"}
            first = message.split(" must ")[0]
            assert " must " in message, f"{label}: {message}"
            assert set(re.findall(r"[\w.]+", first)) & named, f"{label}: {message}"
            return
        except Exception as error:
            raise AssertionError(f"{label}: {type(error).__name__}: {error}") from error
    # a margin beyond float64 is infinite, and so is the interval of two points
    allowed = function in (recovery.margins, scaling.fit_exponent)
    assert allowed or finite(result), f"{label}: {result}"


def test_the_good_arguments_are_good_and_no_public_function_is_left_out():
    for function, arguments in GOOD.items():
        assert finite(function(**arguments)), function
    listed = {function.__qualname__ for function in GOOD}
    for name in am.__all__:
        value = getattr(am, name)
        if inspect.isfunction(value) and name not in ("trajectory", "read_records"):
            assert value.__qualname__ in listed, name
