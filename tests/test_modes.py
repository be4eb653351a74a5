"""Every mode of torch times every kernel: what the caller has set may change the time, never the numbers.

The truth is the same mathematics written out densely in float64 (`plain`).
"""

import contextlib
import math

import pytest
import torch

import amemlib as am
from amemlib import plain
from amemlib.arithmetic import product_rounding, unit_scale
from amemlib.spectral import polar_express, signal_curve

N, D = 96, 16
P = am.Problem.power_law(N, D, 1.5)
EMB = am.sample_embeddings(P, 0)
U, V, Q = EMB.U.double(), EMB.V.double(), P.frequencies


def dense_map(G, f):
    P_, s, Qh = torch.linalg.svd(G)
    return (P_ * f(s)) @ Qh


G0 = plain.gradient(torch.zeros(D, D, dtype=torch.float64), U, V, Q)
W0 = 4 * plain.polar(G0)
LOGITS = V @ W0.T @ U.T
MARGINS = LOGITS.diagonal() - LOGITS.masked_fill(torch.eye(N, dtype=torch.bool), -math.inf).amax(1)
LOSS, G1 = plain.loss(W0, U, V, Q), plain.gradient(W0, U, V, Q)
CENTRED = U - U.mean(0)
NEWTON = torch.linalg.inv(CENTRED.T @ CENTRED / N) @ G0 @ torch.linalg.inv((Q[:, None] * V).T @ V)
LAM = 0.01
X = G0 / G0.norm()
for _ in range(5):
    X = 1.5 * X - 0.5 * X @ X.T @ X

# name: what is computed from W, G and the embeddings, what it should be, and how far off it may be, relative
KERNELS = {
    "recovered": (lambda W, G, emb, q: am.recovered(W, emb), MARGINS > 0, 0),
    "capacity": (lambda W, G, emb, q: am.capacity(W, emb), int((MARGINS > 0).sum()), 0),
    "margins": (lambda W, G, emb, q: am.margins(W, emb), MARGINS, 1e-13),
    "loss": (lambda W, G, emb, q: am.loss_and_gradient(W, emb, q)[0], LOSS, 1e-6),
    "gradient": (lambda W, G, emb, q: am.loss_and_gradient(W, emb, q)[1], G1, 1e-6),
    "initial_gradient": (lambda W, G, emb, q: am.initial_gradient(emb, q), G0, 1e-14),
    "polar": (lambda W, G, emb, q: am.polar(G), plain.polar(G0), 1e-13),
    "smoothed_sign": (
        lambda W, G, emb, q: am.smoothed_sign(G, LAM),
        dense_map(G0, lambda s: s / (s**2 + LAM**2).sqrt()),
        1e-13,
    ),
    "polar_express": (
        lambda W, G, emb, q: polar_express(G, LAM),
        dense_map(G0, lambda s: s / (s**2 + LAM**2).sqrt()),
        1e-11,
    ),
    "newton_schulz": (lambda W, G, emb, q: am.newton_schulz(G, 5, "cubic"), X, 1e-13),
    "newton_step": (lambda W, G, emb, q: am.newton_step(emb, q), NEWTON, 1e-10),
    "signal_curve": (
        lambda W, G, emb, q: signal_curve(G, emb.U[:3], emb.V[:3], torch.zeros(3, 1).double(), LAM)[0][:, 0],
        (U[:3] @ dense_map(G0, lambda s: s / (s**2 + LAM**2).sqrt()) * V[:3]).sum(1),
        1e-9,
    ),
}


@contextlib.contextmanager
def setting(owner, name, value):
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextlib.contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def old_precision(name):
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(name)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


SAME = lambda *tensors: tensors
NEW = hasattr(torch.backends, "fp32_precision")
SETTINGS = [torch.backends.cuda.matmul, torch.backends.mkldnn.matmul] if NEW else []
MODES = {
    "plain": (contextlib.nullcontext, SAME),
    "autocast bfloat16": (lambda: torch.autocast("cpu", torch.bfloat16), SAME),
    "autocast float16": (lambda: torch.autocast("cpu", torch.float16), SAME),
    "old precision high": (lambda: old_precision("high"), SAME),
    "old precision medium": (lambda: old_precision("medium"), SAME),
    **{
        f"new precision {value} of {owner.__class__.__name__} {k}": (
            lambda owner=owner, value=value: setting(owner, "fp32_precision", value),
            SAME,
        )
        for k, owner in enumerate(SETTINGS)
        for value in ("ieee", "tf32")
    },
    "default float64": (lambda: default_dtype(torch.float64), SAME),
    "default bfloat16": (lambda: default_dtype(torch.bfloat16), SAME),
    "inference mode": (torch.inference_mode, SAME),
    "no_grad": (torch.no_grad, SAME),
    "requires_grad": (contextlib.nullcontext, lambda *xs: [x.clone().requires_grad_() for x in xs]),
    "transposed": (contextlib.nullcontext, lambda *xs: [x.mT.contiguous().mT if x.ndim > 1 else x for x in xs]),
    "strided": (
        contextlib.nullcontext,
        lambda *xs: [x.repeat_interleave(2, -1).repeat_interleave(2, 0)[::2, ::2] if x.ndim > 1 else x for x in xs],
    ),
}


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_changes_no_number(mode):
    context, prepared = MODES[mode]
    for dtype in (torch.float32, torch.float64):
        with context():
            W, G, outputs, inputs, q = prepared(W0, G0, U.to(dtype), V.to(dtype), Q)
            emb = am.Embeddings(outputs, inputs)
            for name, (kernel, truth, tolerance) in KERNELS.items():
                found = torch.as_tensor(kernel(W, G, emb, q), dtype=torch.float64).detach()
                truth = torch.as_tensor(truth, dtype=torch.float64)
                error = ((found - truth).norm() / truth.norm()).item()
                assert error <= tolerance, f"{name} in mode {mode} with {dtype}: {error:.1e}"


def test_ties_stay_ties_under_autocast():
    twice = am.Embeddings(EMB.U[:48].repeat(2, 1), EMB.V)
    with torch.autocast("cpu", torch.bfloat16):
        assert am.capacity(W0, twice) == 0


@pytest.mark.skipif(not SETTINGS, reason="this torch has only the old setting")
def test_the_coarsest_of_all_precision_settings_is_found():
    assert product_rounding() == 0
    for owner in (torch.backends, *SETTINGS):
        with setting(owner, "fp32_precision", "tf32"):
            assert product_rounding() >= 2.0**-11
    with old_precision("high"):
        assert product_rounding() == 2.0**-11
    with old_precision("medium"):
        assert product_rounding() == 2.0**-8


def test_a_setting_that_cannot_be_read_counts_as_the_coarsest(monkeypatch):
    def refuses(*_):
        raise RuntimeError("set in two ways")

    unreadable = type("Unreadable", (), {"fp32_precision": property(refuses)})()
    monkeypatch.setattr(torch.backends.mkldnn, "matmul", unreadable)
    assert product_rounding() == 2.0**-8
    monkeypatch.undo()
    monkeypatch.setattr(torch, "get_float32_matmul_precision", refuses)
    assert product_rounding() == 2.0**-8


SCALES = [1e-300, 1e-160, 1e-30, 1.0, 1e30, 1e160, 1e300]


@pytest.mark.parametrize("scale", SCALES)
def test_kernels_of_one_matrix_are_right_at_every_scale(scale):
    G = scale * G0
    torch.testing.assert_close(am.newton_schulz(G, 5, "cubic"), X, rtol=0, atol=1e-13)
    torch.testing.assert_close(am.polar(G), KERNELS["polar"][1], rtol=0, atol=1e-12)
    h = KERNELS["smoothed_sign"][1]
    torch.testing.assert_close(am.smoothed_sign(G, scale * LAM), h, rtol=0, atol=1e-12)
    torch.testing.assert_close(polar_express(G, scale * LAM), h, rtol=0, atol=1e-11)
    stack = am.newton_schulz(torch.stack([G, G0, 0 * G0]), 5, "cubic")
    torch.testing.assert_close(stack, torch.stack([X, X, 0 * X]), rtol=0, atol=1e-13)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("embedding_scale", SCALES)
def test_recovered_and_margins_are_right_at_every_scale(scale, embedding_scale):
    emb = am.Embeddings(embedding_scale * U, V)
    assert torch.equal(am.recovered(scale * W0, emb), MARGINS > 0)
    if 1e-290 < scale * embedding_scale < 1e290:
        found = am.margins(scale * W0, emb)
        torch.testing.assert_close(found / (scale * embedding_scale), MARGINS, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("scale", SCALES)
def test_losses_and_gradients_are_right_or_refused_by_name_at_every_scale(scale):
    for emb, W in (
        (am.Embeddings(U, V), scale * W0),
        (am.Embeddings(scale * U, V), W0 / scale),
        (am.Embeddings(scale * U, V / scale), W0),
    ):
        try:
            loss, G = am.loss_and_gradient(W, emb, Q)
        except ValueError as refused:
            assert not 1e-50 < scale < 1e50
            assert str(refused).startswith("W and emb must")
            continue
        assert loss == pytest.approx(float(plain.loss(W, emb.U, emb.V, Q)), rel=1e-12)
        assert torch.isfinite(G).all()


def test_logits_beyond_float64_are_refused_and_not_nan():
    for scale in (1e300, 1e308):
        with pytest.raises(ValueError, match="W and emb must bound the logits"):
            am.loss_and_gradient(scale * torch.eye(D, dtype=torch.float64), EMB, Q)


def test_float32_sums_that_would_overflow_are_taken_in_float64():
    """Logits of 2^98 and outputs of length 2^40: the sum of float32 terms times outputs is beyond float32."""
    outputs, inputs = 2.0**40 * torch.eye(2), torch.eye(2)
    W = 98 * math.log(2) * 2.0**-40 * torch.tensor([[0.0, 1], [1, 0]], dtype=torch.float64)
    G = am.gradient(W, am.Embeddings(outputs, inputs), torch.tensor([0.5, 0.5]))
    torch.testing.assert_close(G, 2.0**39 * torch.tensor([[1.0, -1], [-1, 1]]).double(), rtol=1e-6, atol=0)


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-310, 1e-30, 0.75, 3.0, 1e308, 1.7e308])
def test_the_unit_scale_is_an_exact_power_of_two(value):
    scale = unit_scale(torch.tensor([value, 0.0], dtype=torch.float64)).item()
    assert math.frexp(scale)[0] == 0.5 and value * scale < 4
    assert value < 1e-300 or value * scale >= 0.5
    assert value > 0 or scale == 1


def test_newton_on_rank_deficient_embeddings_is_the_pseudo_inverse():
    generator = torch.Generator().manual_seed(0)
    basis = torch.randn(3, 8, dtype=torch.float64, generator=generator)
    flat, plain = (torch.randn(20, k, dtype=torch.float64, generator=generator) for k in (3, 8))
    q = torch.full((20,), 0.05, dtype=torch.float64)
    for outputs, inputs in ((flat @ basis, plain), (plain, flat @ basis), (plain[:5].repeat(4, 1), plain)):
        centred = outputs - outputs.mean(0)
        moments = centred.T @ centred / 20, inputs.T @ (q[:, None] * inputs)
        inverses = [torch.linalg.pinv(M, rtol=1e-12, hermitian=True) for M in moments]
        expected = inverses[0] @ (centred.T @ (q[:, None] * inputs)) @ inverses[1]
        found = am.newton_step(am.Embeddings(outputs, inputs), q)
        torch.testing.assert_close(found, expected, rtol=1e-7, atol=1e-9 * expected.abs().max().item())
