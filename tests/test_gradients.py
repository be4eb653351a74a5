"""The closed-form gradient against autograd, the streamed loss against the dense one."""

import math

import pytest
import torch

import amemlib as am
from amemlib import plain


def instance(n_items=40, dim=12, seed=0, dtype=torch.float64):
    problem = am.Problem.power_law(n_items, dim, 1.5)
    return problem, am.sample_embeddings(problem, seed, dtype=dtype)


def dense_losses(W, emb):
    logits = emb.V.double() @ W.T @ emb.U.double().T
    return torch.nn.functional.cross_entropy(logits, torch.arange(emb.n_items), reduction="none")


def some_memory(dim, scale):
    return scale * torch.randn(dim, dim, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("batch_size", [None, 1, 30])
@pytest.mark.parametrize("n_items, dim", [(1, 3), (7, 12), (60, 12)])
def test_initial_gradient_is_what_autograd_gives(n_items, dim, batch_size, dtype):
    problem, emb = instance(n_items, dim, dtype=dtype)
    q = problem.frequencies if batch_size is None else am.sample_minibatch(problem, batch_size, 3)
    W = torch.zeros(dim, dim, dtype=torch.float64, requires_grad=True)
    plain.loss(W, emb.U.double(), emb.V.double(), q).backward()
    torch.testing.assert_close(am.initial_gradient(emb, q), -W.grad, rtol=0, atol=1e-12)


def test_gradient_does_not_need_the_items_in_the_order_of_their_frequency():
    problem, emb = instance()
    order = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    shuffled = am.Embeddings(emb.U[order], emb.V[order])
    G = am.initial_gradient(emb, problem.frequencies)
    torch.testing.assert_close(am.initial_gradient(shuffled, problem.frequencies[order]), G, rtol=0, atol=1e-15)


def test_initial_gradient_turns_with_the_embeddings():
    problem, emb = instance()
    O1, O2 = (torch.linalg.qr(some_memory(12, s))[0] for s in (1, 2))
    turned = am.Embeddings(emb.U @ O1.T, emb.V @ O2.T)
    expected = O1 @ am.initial_gradient(emb, problem.frequencies) @ O2.T
    torch.testing.assert_close(am.initial_gradient(turned, problem.frequencies), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("n_recovered", [0, 1, 13, 39, 40])
def test_thresholded_gradient_is_the_loop_over_what_is_not_recovered(n_recovered):
    problem, emb = instance()
    q = am.sample_minibatch(problem, 100, 0)
    G = torch.zeros(12, 12, dtype=torch.float64)
    for i in range(n_recovered, 40):
        G += q[i] * torch.outer(emb.U[i], emb.V[i])
    torch.testing.assert_close(am.thresholded_gradient(emb, q, n_recovered), G, rtol=0, atol=1e-15)
    assert q.sum().item() == pytest.approx(1), "the argument is left as it was"


@pytest.mark.parametrize("n_items", [8191, 8192, 8193, 20_000])
@pytest.mark.parametrize("batch_size", [None, 5000])
def test_streaming_over_blocks_loses_no_item(n_items, batch_size):
    problem, emb = instance(n_items, 3)
    q = problem.frequencies if batch_size is None else am.sample_minibatch(problem, batch_size, 0)
    expected = ((emb.U - emb.U.mean(0)) * q[:, None]).T @ emb.V
    torch.testing.assert_close(am.initial_gradient(emb, q), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("n_items", [2, 40, 3000])
def test_loss_is_the_cross_entropy(n_items, scale):
    problem, emb = instance(n_items, 6)
    W = some_memory(6, scale)
    expected = dense_losses(W, emb)
    torch.testing.assert_close(am.item_losses(W, emb), expected, rtol=1e-11, atol=1e-13)
    assert am.loss(W, emb, problem.frequencies) == pytest.approx(float(problem.frequencies @ expected), rel=1e-12)


@pytest.mark.parametrize("scale", [0.3, 30.0, 3000.0])
@pytest.mark.parametrize("n_items", [1, 2, 40, 1500])
def test_gradient_at_any_memory_is_what_autograd_gives(n_items, scale):
    """The largest scale needs a shift of the exponents, the largest N several blocks of rows and of columns."""
    problem, emb = instance(n_items, 6)
    W = some_memory(6, scale).requires_grad_()
    q = am.sample_minibatch(problem, 5 * n_items, 1)
    plain.loss(W, emb.U, emb.V, q).backward()
    loss, G = am.loss_and_gradient(W, emb, q)
    torch.testing.assert_close(G, -W.grad, rtol=1e-9, atol=1e-12)
    assert torch.equal(am.gradient(W, emb, q), G) and loss == pytest.approx(am.loss(W, emb, q), rel=1e-12)


def test_losses_along_a_direction_are_those_at_every_point():
    _, emb = instance(700, 6)
    direction, rates = some_memory(6, 1.0), [1e-3, 1.0, 50.0]
    expected = torch.stack([am.item_losses(rate * direction, emb) for rate in rates])
    torch.testing.assert_close(am.gradients.item_losses_along(direction, emb, rates), expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("rounding", [0.0, 2.0**-11])
def test_float32_products_are_used_only_where_they_are_not_rounded_further(rounding, monkeypatch):
    problem, emb = instance(dtype=torch.float32)
    double = am.Embeddings(emb.U.double(), emb.V.double())
    monkeypatch.setattr(am.gradients, "product_rounding", lambda: rounding)
    found, exact = (am.gradient(some_memory(12, 1.0), e, problem.frequencies) for e in (emb, double))
    assert torch.equal(found, exact) == (rounding > 0)
    torch.testing.assert_close(found, exact, rtol=0, atol=1e-5)


def test_small_float32_embeddings_lose_no_digits_of_the_gradient():
    problem, emb = instance()
    small = am.Embeddings(emb.U.float(), (1e-30 * emb.V).float())
    G = am.initial_gradient(emb, problem.frequencies)
    torch.testing.assert_close(am.initial_gradient(small, problem.frequencies) * 1e30, G, rtol=1e-4, atol=1e-8)


def test_a_memory_that_knows_nothing_loses_log_n():
    problem, emb = instance()
    assert am.loss(some_memory(12, 0.0), emb, problem.frequencies) == pytest.approx(math.log(40), rel=1e-14)


def test_unseen_items_do_not_enter_the_loss():
    _, emb = instance()
    q = torch.zeros(40, dtype=torch.float64)
    q[3] = 1.0
    W = some_memory(12, 1.0)
    assert am.loss(W, emb, q) == am.item_losses(W, emb)[3].item()


@pytest.mark.parametrize("margin", [1.0, 40.0, 70.0, 700.0])
def test_the_loss_of_a_learned_item_keeps_its_relative_precision(margin):
    eye = torch.eye(9, dtype=torch.float64)
    # orthogonal items, logits 0 and `margin`: −log p̂ = log(1 + 8 e^{−margin}), which 1 − p̂ rounds to 0 from 37 on
    expected = math.log1p(8 * math.exp(-margin))
    losses = am.item_losses(margin * eye, am.Embeddings(eye, eye))
    torch.testing.assert_close(losses, torch.full((9,), expected, dtype=torch.float64), rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    "n_items, dim, batch_size",
    [(50, 16, 1), (50, 16, 5), (50, 16, 10_000), (50, 16, None), (10, 16, None), (16, 16, None), (17, 16, None)],
)
def test_gradient_rank_is_the_numerical_rank(n_items, dim, batch_size):
    problem, emb = instance(n_items, dim)
    q = problem.frequencies if batch_size is None else am.sample_minibatch(problem, batch_size, 1)
    G = am.initial_gradient(emb, q)
    assert am.gradient_rank(emb, q) == torch.linalg.matrix_rank(G)


@pytest.mark.parametrize("nats, allowed", [(6.9, 1e-6), (68.0, 1e-5)])
def test_float32_embeddings_give_the_accuracy_that_is_stated_on_single_items_and_on_all(nats, allowed):
    errors = []
    for dim, n_items in ((2, 8), (8, 60), (32, 400)):
        for seed in range(8):
            generator = torch.Generator().manual_seed(seed)
            U, V = (torch.randn(n_items, dim, generator=generator) / dim**0.5 for _ in range(2))
            single, double = am.Embeddings(U, V), am.Embeddings(U.double(), V.double())
            uniform = torch.full((n_items,), 1 / n_items, dtype=torch.float64)
            alone = torch.nn.functional.one_hot(torch.tensor(seed), n_items).double()
            for W in (U.T @ V, -U.T @ V, torch.randn(dim, dim, generator=generator)):
                W = W.double()
                W *= nats / (double.U.norm(dim=1).max() * (double.V @ W.T).norm(dim=1).max())
                for q in (uniform, alone):
                    (loss, G), (true_loss, true_G) = (am.loss_and_gradient(W, emb, q) for emb in (single, double))
                    errors += [abs(loss / true_loss - 1), float((G - true_G).norm() / true_G.norm())]
    assert max(errors) < allowed


def test_the_host_waits_once_a_block_of_items_and_not_once_a_tile(monkeypatch):
    class Waits(torch.utils._python_dispatch.TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            name = function.overloadpacket
            indexed = name in (torch.ops.aten.index, torch.ops.aten.index_put_, torch.ops.aten._index_put_impl_)
            masked = any(i is not None and i.dtype == torch.bool for i in (args[1] if indexed else ()))
            self.count += masked or name in (torch.ops.aten._local_scalar_dense, torch.ops.aten.nonzero)
            return function(*args, **(kwargs or {}))

    problem, emb = instance(2000, 6, dtype=torch.float32)
    found = {}
    for columns in (2000, 100):
        monkeypatch.setattr("amemlib.gradients._CACHED_TILE", (500, columns))
        with Waits() as waits:
            am.loss_and_gradient(some_memory(6, 1.0), emb, problem.frequencies)
        found[columns] = waits.count
    assert found[100] == found[2000] < 20 + 4 * 6
