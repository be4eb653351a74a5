"""Hostile calls of the public functions: a result of finite numbers, or one line that names an argument; nothing else.

hypothesis draws which function, and which of its arguments are replaced by values that no caller should pass; the same
for the command line, whose experiments are not run. The draws are the same in every run, more of them in `make weekly`.
These are the library's own errors, so this file runs without the shape checks of the other tests.
"""

import dataclasses
import inspect
import itertools
import math
import re
import signal
import warnings
from fractions import Fraction

import numpy as np
import pytest
import torch

import amemlib as am
from amemlib import (
    adam,
    equivalents,
    experiments,
    gradients,
    hermite,
    optim,
    recovery,
    runtime,
    sampling,
    scaling,
    spectral,
    sweep,
    theory,
    vocabularies,
)
from amemlib.__main__ import main
from amemlib.checks import shown

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

N, D = 6, 4
P = am.Problem.power_law(N, D, 1.5)
EMB = am.sample_embeddings(P, 0, dtype=torch.float64)
Q = P.frequencies
G = am.initial_gradient(EMB, Q)
LAW = equivalents.SpectralLaw.power_law(1.5)
EYE = torch.eye(D, dtype=torch.float64)
CURVE = (torch.tanh, lambda z: torch.cosh(z) ** -2, lambda z: -2 * torch.tanh(z) / torch.cosh(z) ** 2)

SOLVED = equivalents.SpectralEquivalent.solve(Q, D, 0.1)
VARIANCES = equivalents.PredictedVariances.solve(P, 0.1)
LONGER = am.Problem.power_law(200, D, 1.5).frequencies
UNIT, A = torch.nn.functional.normalize(EMB.U), torch.tensor([0.1, 0.5, 0.2], dtype=torch.float64)


def three_steps(weights, gradients, lr):
    return list(itertools.islice(adam.adam(weights, gradients, lr), 3))


three_steps.__qualname__ = "adam"

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
    recovery.recovered_in_format: dict(W=EYE, emb=EMB, bits=7),
    recovery.undecided_in_format: dict(W=EYE, emb=EMB, bits=7, margin=Q),
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
    spectral.compose_quintics: dict(s=torch.rand(3), coefficients=[(1.5, -0.5, 0.0)] * 2),
    spectral.divided_difference: dict(x=Q, y=Q, f=CURVE[0], df=CURVE[1], scale=1.0),
    spectral.spectral_derivative: dict(G=G, E=EYE, f=CURVE[0], df=CURVE[1], scale=1.0),
    spectral.second_divided_difference: dict(x=Q, y=Q, z=Q, f=CURVE[0], df=CURVE[1], d2f=CURVE[2], scale=1.0),
    spectral.spectral_second_derivative: dict(G=G, E=EYE, f=CURVE[0], df=CURVE[1], d2f=CURVE[2], scale=1.0),
    spectral.slope_maps: dict(t0=0.1),
    spectral.stein_slope: dict(s=torch.rand(D).double(), f=CURVE[0], df=CURVE[1], scale=1.0),
    spectral.signal_slopes: dict(G=G, U=EMB.U, V=EMB.V, f=CURVE[0], df=CURVE[1], scale=1.0),
    spectral.signal_curve: dict(G=G, U=EMB.U, V=EMB.V, t=torch.zeros(N, 2).double(), lam=0.1),
    sampling.sample_embeddings: dict(problem=P, seed=0, device="cpu", dtype=torch.float64),
    sampling.sample_embedding_rows: dict(problem=P, seed=0, rows=slice(0, 3)),
    sampling.sample_reduced_embeddings: dict(problem=P, seed=0),
    sampling.sample_minibatch: dict(problem=P, batch_size=9, seed=0),
    sampling.power_law_eigenvalues: dict(dim=D, exponent=0.5),
    sampling.with_eigenvalues: dict(emb=EMB, eigenvalues=torch.ones(D)),
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
    theory.muon_schedule: dict(alpha=1.5, n_items=64, dim=8, steps=3, constant=1.0, batch_size=1e4),
    theory.sgd_schedule: dict(alpha=1.5, n_items=64, dim=8, steps=3, constant=1.0, batch_size=1e4),
    theory.weighted_norm_bound: dict(norm=2.0, largest=1.0, dim=8, t=7.0),
    theory.weighted_frobenius_bound: dict(second=3.0, fourth=2.0, largest=1.0, dim=8, t=7.0),
    theory.superconcentration_failure: dict(n=99.0, constant=1.0),
    theory.critical_batch_exponent: dict(method="muon", alpha=1.5),
    theory.observed_exponent: dict(alpha=1.5),
    theory.observed_items: dict(alpha=1.5, n_items=64, batch_size=99.0),
    theory.power_law_sum: dict(alpha=1.5, n_items=64),
    theory.bulk_scale: dict(alpha=1.5, n_items=64, dim=8),
    theory.newton_schulz_steps: dict(alpha=1.5, n_items=64, dim=8, slope=1.5),
    theory.information_limit: dict(dim=8),
    theory.counting_limit: dict(dim=8, n_items=99),
    equivalents.expected_capacity: dict(problem=P, spectral_map="smoothed_sign", lam=0.1, frequencies=Q),
    equivalents.expected_prefix: dict(problem=P, spectral_map="smoothed_sign", lam=0.1, frequencies=Q),
    equivalents.PredictedVariances.solve: dict(problem=P, lam=0.1),
    VARIANCES.rms: dict(rows=slice(0, 3), columns=slice(2, 6)),
    equivalents.expected_trajectory: dict(problem=P, steps=2, lr_over_root_dim=1.0, momentum=0.5, batch_size=9),
    equivalents.expected_log_partition: dict(sd=1.0, n_rivals=9),
    equivalents.mean_tilt: dict(sd=1.0, n_rivals=9),
    equivalents.surrogate_gradient: dict(W=EYE, emb=EMB, q=Q),
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
    equivalents.descent_iterates: dict(problem=P, lr_over_root_dim=1.0, steps=2, streams=2),
    equivalents.mean_field_iterates: dict(
        problem=P, lr_over_root_dim=1.0, steps=2, momentum=0.5, batch_size=9, streams=2
    ),
    equivalents.power_law_iterates: dict(alpha=1.5, n_items=64, dim=8, lr_over_root_dim=1.0, steps=2, streams=2),
    equivalents.expected_map_capacity: dict(problem=P, f=torch.tanh, frequencies=Q, law=LAW),
    equivalents.CovarianceEquivalent.solve: dict(
        q=Q, output_eigenvalues=torch.ones(D), input_eigenvalues=torch.ones(D), lam=0.1
    ),
    equivalents.ManyStepEquivalent.solve: dict(w=torch.stack([Q, Q]), dim=D, lams=[0.1, 0.2]),
    equivalents.SpectralLaw.solve: dict(q=Q, dim=D, noise=0.1),
    LAW.share_below: dict(s=1.0),
    LAW.quantile: dict(share=0.5),
    LAW.integrate: dict(values=np.ones(len(LAW.singular_values))),
    LAW.signal: dict(f=torch.tanh, q=Q),
    LAW.interaction: dict(f=torch.tanh, q=Q),
    SOLVED.signal_of: dict(q=Q),
    SOLVED.expected_losses: dict(lr=1.0),
    equivalents.best_monotone_map: dict(law=LAW),
    equivalents.best_smoothing: dict(law=LAW),
    equivalents.half_recovered_schedule: dict(p=LONGER, dim=D, steps=2),
    equivalents.half_recovered_sgd_schedule: dict(p=LONGER, dim=D, steps=2),
    equivalents.half_recovered_smoothed_schedule: dict(p=LONGER, dim=D, steps=2),
    equivalents.half_recovered_thresholds: dict(p=LONGER, dim=D, steps=2),
    equivalents.inverse_sum_limit: dict(alpha=1.5, dim=8, gaussian=0.5),
    equivalents.sgd_capacity_constant: dict(alpha=1.5, batch_over_root_dim=2.0),
    equivalents.sgd_recovery_probabilities: dict(values=np.array([2.0, 1.0]), counts=np.array([1.0, 3.0]), dim=8),
    equivalents.typical_absolute_maximum: dict(n=9.0),
    hermite.hermite: dict(z=Q, degree=3),
    hermite.gauss_hermite: dict(count=5),
    hermite.coefficients: dict(function=torch.tanh, degree=3, count=9),
    hermite.correlation: dict(a=A, b=A, overlap=Q),
    hermite.correlation_slope: dict(a=A, b=A, overlap=Q),
    hermite.field: dict(u=UNIT, theta=UNIT, masses=Q, a=A, b=A),
    hermite.squared_norm: dict(theta=UNIT, masses=Q, a=A),
    hermite.two_homogeneous_velocity: dict(W=EMB.U, theta=UNIT, masses=Q, a=A),
    three_steps: dict(weights=[EYE], gradients=lambda step, weights: [W.detach() for W in weights], lr=0.1),
    vocabularies.whitened: dict(table=EMB.U),
    vocabularies.table_variants: dict(table=EMB.U),
    vocabularies.second_moment_eigenvalues: dict(table=EMB.U),
    vocabularies.spelling_table: dict(words=("one", "two", "three"), dim=2),
}

# streams of random numbers, and generators, whose steps have checked their arguments
UNLISTED = {"host_stream", "device_stream", "spectral_maps", "trajectory", "thresholded_trajectory"}

NUMBERS = [math.nan, math.inf, -math.inf, 0, -1, 0.5, 1e-300, 1e300, 5e-324, 1.7e308, 2**63, 10**400, 1.0, 3, 1e-8]
NUMBERS += [True, None, "1.5", "two\nlines", b"x", 1j, Fraction(1, 3), 10**12, [], {}, np.float32(2), torch.tensor(2.0)]


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


REAL = (int, float)
HOSTILE = NUMBERS + tensors() + [P, EMB, LAW, slice(None, None, -1), slice("a"), torch.float32, torch.int8]


def finite(result) -> bool:
    """Whether every number in a result is one; complex only where it was meant to be, in numpy's resolvents."""
    if isinstance(result, torch.Tensor):
        return not result.is_complex() and not result.is_meta and bool(torch.isfinite(result.double()).all())
    if isinstance(result, np.ndarray):
        return result.dtype.kind in "iufbc" and bool(np.isfinite(result).all())
    if isinstance(result, (tuple, list)):
        return all(map(finite, result))
    if isinstance(result, dict):
        return all(map(finite, result.values()))
    if isinstance(result, theory.Schedule):
        # λ = ∞ says that a step has no map
        return finite(result.learning_rates)
    if dataclasses.is_dataclass(result):
        return all(finite(getattr(result, field.name)) for field in dataclasses.fields(result))
    if isinstance(result, complex):
        return False
    return result is None or callable(result) or isinstance(result, str) or math.isfinite(result)


def complaint(function, bad: dict) -> str | None:
    """What is wrong with how a function takes some hostile arguments, None if nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(**{**GOOD[function], **bad})
        except (ValueError, TypeError) as error:
            message = str(error)
            named = set(inspect.signature(function).parameters) | {"emb.U", "emb.V", "U", "V", "frequencies", "dim"}
            names = set(re.findall(r"[\w.]+", message.split(" must ")[0])) & named
            return None if "\n" not in message and " must " in message and names else message
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    # a margin beyond float64 is infinite, and so are the interval of two points and a weight after steps of 1e308
    allowed = function in (recovery.margins, scaling.fit_exponent, three_steps)
    return None if allowed or finite(result) else str(result)


def label(function, bad: dict) -> str:
    return f"{function.__qualname__}({', '.join(f'{name}={shown(value)}' for name, value in bad.items())})"


@pytest.mark.parametrize("calls", [300, pytest.param(2000, marks=pytest.mark.weekly)])
def test_a_hostile_call_gives_numbers_or_one_line_that_names_an_argument(calls):
    @hypothesis.settings(max_examples=calls, derandomize=True, deadline=None, database=None)
    @hypothesis.given(st.sampled_from(range(len(GOOD))), st.data())
    def check(which, data):
        function = list(GOOD)[which]
        names = data.draw(st.lists(st.sampled_from(sorted(GOOD[function])), min_size=1, max_size=2, unique=True))
        bad = {name: HOSTILE[data.draw(st.sampled_from(range(len(HOSTILE))))] for name in names}
        said = complaint(function, bad)
        assert said is None, f"{label(function, bad)}: {said}"

    check()


def test_a_size_of_a_million_million_is_answered_or_refused_by_name_at_once():
    def late(number, frame):
        raise TimeoutError("it went on for ten seconds")

    sized = [(f, {name: type(x)(10**12)}) for f, good in GOOD.items() for name, x in good.items() if type(x) in REAL]
    assert len(sized) > 100
    before = signal.signal(signal.SIGALRM, late)
    try:
        for call in sized:
            signal.alarm(10)
            said = complaint(*call)
            assert said is None, f"{label(*call)}: {said}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.weekly
def test_every_argument_takes_or_refuses_every_hostile_value():
    bad = [(function, {name: value}) for function, good in GOOD.items() for name in good for value in HOSTILE]
    assert len(bad) > 20_000
    assert not [(label(*call), said) for call in bad if (said := complaint(*call)) is not None]


def test_the_good_arguments_are_good_and_no_public_function_is_left_out():
    for function, arguments in GOOD.items():
        assert finite(function(**arguments)), function
    listed = {function.__qualname__ for function in GOOD}
    for name in am.__all__:
        value = getattr(am, name)
        if inspect.isfunction(value) and name not in ("trajectory", "read_records"):
            assert value.__qualname__ in listed, name
    for room in (adam, equivalents, gradients, hermite, optim, recovery, sampling, scaling, spectral, theory):
        names = getattr(room, "__all__", vars(room))
        values = [getattr(room, name) for name in names if not name.startswith("_")]
        own = [value for value in values if getattr(value, "__module__", "").startswith(room.__name__)]
        # of a class, what solves for it is listed
        assert {value.__qualname__ for value in own if inspect.isfunction(value)} <= listed | UNLISTED


@pytest.mark.parametrize("name", experiments.names())
def test_no_experiment_takes_a_number_that_means_nothing(name, monkeypatch, capsys):
    """NaN for every number of its config, a negative one for every whole number: an error that names the field."""
    monkeypatch.setattr(sweep, "run", lambda *arguments: pytest.fail("it would have run"))
    config = experiments.find_experiment(name).profiles["smoke"]
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        kind = type(value[0] if isinstance(value, tuple) and value else value)
        if kind in (int, float):
            text = "nan" if kind is float else "-9"
            assert main(["run", name, "--profile", "smoke", "--set", f"{field.name}={text}"]) == 2
            said = capsys.readouterr().err
            assert said.startswith("amemlib: ") and said.count("\n") == 1 and field.name in said


@pytest.mark.parametrize("name", experiments.names())
def test_no_experiment_takes_a_word_that_it_does_not_know(name, monkeypatch, capsys):
    monkeypatch.setattr(sweep, "run", lambda *arguments: pytest.fail("it would have run"))
    config = experiments.find_experiment(name).profiles["smoke"]
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if isinstance(value[0] if isinstance(value, tuple) and value else value, str):
            for word in ("zz", "-1 x"):
                assert main(["run", name, "--profile", "smoke", "--set", f"{field.name}={word}"]) == 2
                said = capsys.readouterr().err
                assert said.startswith("amemlib: ") and said.count("\n") == 1, said
                assert field.name in said and word in said and re.search(" must (be|hold) ", said), said


WORDS = ["", " ", "-", "--", "0", "-1", "2.5", "nan", "inf", "1e400", "9" * 5000, "1_0", "0x10", "٣", "1,2", ","]
WORDS += ["64,,128", "None", "true", "a\nb", "a\0b", "\udcff", "é" * 300, ".", "/dev/null", "/dev/full", "%s", "{}"]
WORDS += ["/proc/self/mem/x", "=", "alpha=", "=1", "alpha=1=2", "--set", "--json", "one-step", "cpu", "smoke"]
WORDS += ["file", "file/inside"]
KEYS = ["alpha", "dims", "n_items", "seeds", "first_seed", "lam_over_t0", "steps", "lr", "batch_sizes", "gamma"]
RUN_OPTIONS = ["--profile", "--device", "--results", "--output", "--workers", "--rank-timeout"]
PLAN_OPTIONS = ["--budget", "--scale", "--first-seed", "--device", "--workers"]


@pytest.mark.parametrize("calls", [60, pytest.param(2000, marks=pytest.mark.weekly)])
def test_a_hostile_command_ends_with_one_line_and_no_traceback(calls, tmp_path, monkeypatch, capsys):
    record = am.read_records("one-step")[0]

    def run(experiment, config, results, device, executor):
        runtime.device(device)
        sweep.CellStore(results, experiment.name, {})
        return record

    (tmp_path / "file").write_text("in the way")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sweep, "run", run)
    word = st.sampled_from(WORDS)
    options = st.one_of(
        st.builds(lambda key, value: ["--set", f"{key}={value}"], st.sampled_from(KEYS), word),
        st.builds(lambda option, value: [option, value], st.sampled_from(RUN_OPTIONS), word),
        st.builds(lambda value: [value], word),
    )
    plans = st.builds(lambda option, value: [option, value], st.sampled_from(PLAN_OPTIONS), word)
    names = st.one_of(st.sampled_from(list(experiments.names())), word)
    commands = [
        st.builds(lambda name, one, other: ["run", name, *one, *other], names, options, options),
        st.builds(lambda command, name: [command, name], st.sampled_from(["show", "judge", "list"]), names),
        st.lists(word, max_size=3),
    ]
    if calls > 1000:
        # each takes a second: it estimates every experiment
        commands.append(st.builds(lambda one: ["visit", "--plan", "--device", "h100", *one], plans))

    @hypothesis.settings(max_examples=calls, derandomize=True, deadline=None, database=None)
    @hypothesis.given(st.one_of(commands))
    def check(arguments):
        try:
            status = main(arguments)
        except SystemExit as left:
            status = left.code
        said = capsys.readouterr().err
        assert status in (0, 1, 2) and "Traceback" not in said, (arguments, said)
        assert status == 0 or said.startswith("amemlib: ") and said.count("\n") == 1, (arguments, said)
        assert status != 1 or "/dev/full" in arguments, (arguments, said)
        assert (tmp_path / "file").read_text() == "in the way" or "file" in arguments

    check()
