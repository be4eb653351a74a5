"""The streamed recovered set equals the dense float64 test on every kind of instance, and costs what it says."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import amemlib as am
from amembook.paper.precision import formats
from amemlib import recovery


def dense_margins(W, emb):
    """Own score minus the best of the others. Each score is summed by itself: a tie of equal rows stays a tie."""
    U, Z = emb.U.double(), emb.V.double() @ W.double().T
    result = torch.empty(emb.n_items, dtype=torch.float64)
    for rows in torch.arange(emb.n_items).split(256):
        scores = (Z[rows, None] * U).sum(2)
        own = scores[torch.arange(len(rows)), rows].clone()
        scores[torch.arange(len(rows)), rows] = -torch.inf
        result[rows] = own - scores.amax(1)
    return result


def instance(n_items, dim, seed, dtype=torch.float32):
    problem = am.Problem.power_law(n_items, dim, 1.5)
    emb = am.sample_embeddings(problem, seed, dtype=dtype)
    return emb, am.initial_gradient(emb, problem.frequencies)


def random_memory(dim, seed):
    return torch.randn(dim, dim, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


MEMORIES = {
    "polar": lambda G: am.polar(G),
    "sgd": lambda G: G,
    "random": lambda G: random_memory(len(G), 0),
    "in float32": lambda G: am.polar(G).float(),
}


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_recovered_equals_the_dense_test(memory, dtype):
    for seed in range(10):
        emb, G = instance(100 + 37 * seed, 6 + 3 * seed, seed, dtype)
        W = MEMORIES[memory](G)
        assert torch.equal(am.recovered(W, emb), dense_margins(W, emb) > 0), seed


@pytest.mark.parametrize(
    "n_items", [1, 2, 3, 63, 64, 65, 191, 192, 193, *(pytest.param(n, marks=pytest.mark.slow) for n in (8192, 8193))]
)
def test_no_item_is_lost_at_the_border_of_a_block(n_items):
    emb, G = instance(n_items, 2, 1)
    W = am.polar(G) if n_items > 1 else random_memory(2, 0)
    mask = am.recovered(W, emb)
    assert torch.equal(mask, dense_margins(W, emb) > 0)
    assert am.capacity(W, emb) == mask.sum()


@pytest.mark.parametrize("dim", [2, 4, 6])
def test_a_tie_is_not_recovered(dim):
    ties = recovered = 0
    for seed in range(10):
        U = torch.randint(-1, 2, (150, dim), generator=torch.Generator().manual_seed(seed)).float()
        emb, W = am.Embeddings(U, U), torch.eye(dim, dtype=torch.float64)
        expected = dense_margins(W, emb)
        ties += int((expected == 0).sum())
        recovered += int((expected > 0).sum())
        assert torch.equal(am.recovered(W, emb), expected > 0), seed
    assert ties > 10 and (recovered > 10 or dim == 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("first, second", [(0, 1), (3, 70), (10, 299)])
def test_two_items_of_one_output_vector_hide_each_other(first, second, dtype):
    emb, _ = instance(300, 200, 0, dtype)
    U = emb.U.clone()
    U[second] = U[first]
    W = torch.linalg.pinv(emb.U.double()) @ torch.linalg.pinv(emb.V.double()).T
    assert am.recovered(U.double().T @ emb.V.double(), emb)[first]
    twins = am.Embeddings(U, emb.V)
    for memory in (W, U.double().T @ emb.V.double()):
        mask = am.recovered(memory, twins)
        assert not mask[first] and not mask[second]
        assert torch.equal(mask, dense_margins(memory, twins) > 0)


@pytest.mark.parametrize("offset", [1e-9, 1e-12, 0.0])
def test_scores_closer_than_float32_can_tell_are_decided_in_float64(offset):
    emb, _ = instance(200, 16, 0, torch.float64)
    U = emb.U.clone()
    # every item has a rival a hair behind: its own row, shrunk
    U[100:] = (1 - offset) * U[:100]
    close = am.Embeddings(U, emb.V)
    W = 10 * U[:100].T @ emb.V[:100]
    expected = dense_margins(W, close) > 0
    assert expected.any() == (offset > 0)
    assert torch.equal(am.recovered(W, close), expected)


@pytest.mark.parametrize("shift", [64, 128, 200])
def test_a_rival_a_hair_behind_takes_nothing_away_wherever_it_stands(shift):
    """Items i and i + `shift` are nearly one: float64 decides the pair in whichever block of rivals the second lies."""
    emb, _ = instance(300, 128, 0, torch.float64)
    U = emb.U.clone()
    U[shift : shift + 40] = (1 - 1e-9) * U[:40]
    close, W = am.Embeddings(U, emb.V), U[:40].T @ emb.V[:40]
    expected = dense_margins(W, close) > 0
    assert expected[:40].sum() > 30
    assert torch.equal(am.recovered(W, close), expected)


def test_the_band_is_what_the_roundings_of_two_float32_products_need(monkeypatch):
    """Higham's bound, n ε after n roundings in any order: d + 2 of W v and d + 1 of u with it, for own and rival score.

    Where |u|ᵀ |W| |v| = ‖u‖ ‖W‖ ‖v‖ nothing can be spared.
    """
    dim, bands, scan = 200, [], recovery._Scan
    monkeypatch.setattr(recovery, "_Scan", lambda **parts: bands.append((parts["low"], parts["high"])) or scan(**parts))
    rows = torch.full((5, dim), dim**-0.5, dtype=torch.float64)
    am.recovered(torch.full((dim, dim), 1 / dim, dtype=torch.float64), am.Embeddings(rows, rows))
    ((low, high),) = bands
    needed = 2 * ((dim + 2) + (dim + 1)) * 2.0**-24
    assert (needed <= (high.double() - low.double()) / 2).all()
    assert ((high.double() - low.double()) / 2 < 1.1 * needed).all(), "nor is it much wider"


@pytest.mark.parametrize("flush", [False, True])
def test_what_float32_loses_below_its_smallest_number_beats_nobody(flush):
    """A rival scores 2⁻⁹⁷ − 2⁻⁹², and a processor may flush the second part to 0 beside large entries of U and W."""
    U = torch.tensor([[0, 0], [-(2.0**19), 2.0**9]], dtype=torch.float64)
    V = torch.tensor([[2.0**-130, 2.0**-125], [0, 1]], dtype=torch.float64)
    if not torch.set_flush_denormal(flush):
        pytest.skip("this processor keeps them all")
    try:
        assert am.recovered(2.0**19 * torch.eye(2, dtype=torch.float64), am.Embeddings(U, V)).all()
    finally:
        torch.set_flush_denormal(False)


def test_a_memory_that_is_zero_recovers_nothing():
    emb, _ = instance(100, 8, 0)
    assert am.capacity(torch.zeros(8, 8, dtype=torch.float64), emb) == 0


def test_a_single_item_has_no_rival():
    emb, _ = instance(1, 4, 0)
    assert am.capacity(random_memory(4, 0), emb) == 1
    assert am.margins(random_memory(4, 0), emb).item() == float("inf")


@pytest.mark.parametrize("scale", [1e-300, 1e-40, 1e-8, 1e8, 1e40, 1e290])
def test_the_scale_of_the_memory_does_not_matter(scale):
    emb, G = instance(500, 16, 0)
    expected = am.recovered(am.polar(G), emb)
    assert 1 < expected.sum() < 500
    assert torch.equal(am.recovered(scale * am.polar(G), emb), expected)


@pytest.mark.parametrize("scale", [1e-200, 1e-42, 1e-20, 1e20, 1e42, 1e200])
@pytest.mark.parametrize("side", ["U", "V"])
def test_the_scale_of_the_embeddings_does_not_matter(side, scale):
    emb, G = instance(500, 16, 0, torch.float64)
    scaled = am.Embeddings(emb.U * (scale if side == "U" else 1), emb.V * (scale if side == "V" else 1))
    W = am.polar(G)
    assert torch.equal(am.recovered(W, scaled), am.recovered(W, emb))


def test_every_item_is_recovered_where_the_memory_has_room():
    emb, _ = instance(40, 64, 0)
    W = torch.linalg.pinv(emb.U.double()) @ torch.linalg.pinv(emb.V.double()).T
    assert am.recovered(W, emb).all()


def test_another_order_of_the_items_gives_the_same_items():
    emb, G = instance(9000, 32, 0)
    W, order = am.polar(G), torch.randperm(9000, generator=torch.Generator().manual_seed(0))
    mask = am.recovered(W, emb)
    assert torch.equal(am.recovered(W, am.Embeddings(emb.U[order], emb.V[order])), mask[order])


def test_margins_are_the_dense_margins():
    for n_items, dim in [(2, 3), (100, 8), (3000, 5)]:
        emb, G = instance(n_items, dim, 2)
        W = G + random_memory(dim, 1)
        torch.testing.assert_close(am.margins(W, emb), dense_margins(W, emb), rtol=0, atol=1e-12)
        assert torch.equal(am.margins(W, emb) > 0, am.recovered(W, emb))


def adversarial(seed):
    """Gaussian, integer, duplicated, nearly duplicated and shuffled items; polar, SGD and integer memories."""
    generator = torch.Generator().manual_seed(seed)
    n_items, dim = (int(torch.randint(low, high, (), generator=generator)) for low, high in ((2, 300), (1, 40)))
    dtype = (torch.float32, torch.float64)[seed % 2]
    p = torch.arange(1, n_items + 1, dtype=torch.float64) ** -(0.0, 1.5)[seed % 3 > 0]
    U, V = am.sample_embeddings(am.Problem.from_frequencies(p, dim), 2000 + seed, dtype=dtype).U, None
    V = torch.randn(n_items, dim, generator=generator, dtype=dtype)
    if seed % 5 == 1:
        U = V = torch.randint(-1, 2, (n_items, dim), generator=generator).to(dtype)
    if seed % 5 in (2, 3):
        U[n_items // 2 :] = U[: n_items - n_items // 2] * (1 - 1e-7 * (seed % 5 == 3))
    emb = am.Embeddings(U, V)
    G = am.initial_gradient(emb, p / p.sum())
    return [G, am.polar(G), torch.randint(-1, 2, (dim, dim), generator=generator).double()], emb


@pytest.mark.parametrize("precision", ["highest", "high", "medium"])
def test_no_decision_differs_from_float64_on_adversarial_instances(precision):
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        for seed in range(10):
            for W in (memories := adversarial(seed))[0]:
                expected = dense_margins(W, memories[1]) > 0
                assert torch.equal(am.recovered(W, memories[1]), expected), seed
    finally:
        torch.set_float32_matmul_precision(before)


class Synchronisations(torch.utils._python_dispatch.TorchDispatchMode):
    """Counts what makes a GPU's host wait: numbers read one by one, and shapes that depend on data."""

    waits = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        aten = torch.ops.aten
        waiting = function.overloadpacket in (aten._local_scalar_dense, aten.nonzero, aten.equal, aten.masked_select)
        indexed = function.overloadpacket in (aten.index, aten.index_put_, aten._index_put_impl_)
        masks = [i for i in (args[1] if indexed else ()) if i is not None and i.dtype == torch.bool]
        self.waits += waiting or bool(masks)
        return function(*args, **(kwargs or {}))


def test_the_host_waits_once_a_block_of_rivals_and_not_once_a_tile(monkeypatch):
    emb, G = instance(30_000, 16, 0)
    W = am.polar(G)
    waits = {}
    for tile in (2**21, 2**15):
        monkeypatch.setattr(recovery, "CACHED_TILES", recovery.Tiling(2**28, 2**12, tile))
        with Synchronisations() as counter:
            am.capacity(W, emb)
        waits[tile] = counter.waits
    blocks = 7 + 30_000 // 2**12
    assert waits[2**21] < 4 * blocks and waits[2**15] == waits[2**21]


@pytest.mark.parametrize("batch_size", [None, 40])
def test_gram_matrices_alone_say_what_a_step_of_sgd_recovers(batch_size):
    for seed in range(5):
        problem = am.Problem.power_law(80, 30, 1.5)
        emb = am.sample_embeddings(problem, seed, dtype=torch.float64)
        q = problem.frequencies if batch_size is None else am.sample_minibatch(problem, batch_size, seed)
        mask = am.recovery.recovered_by_sgd(emb.U @ emb.U.T, emb.V @ emb.V.T, q)
        assert torch.equal(mask, am.recovered(am.initial_gradient(emb, q), emb)) and 0 < mask.sum() < 80


def test_a_tie_is_not_recovered_by_gram_matrices_nor_in_a_format():
    """Twins in whole numbers, which every format holds."""
    eye = torch.eye(4, dtype=torch.float64)
    twins, q = eye[[0, 0, 1, 1]], torch.full((4,), 0.25, dtype=torch.float64)
    for U, count in ((twins, 0), (eye, 4)):
        assert int(am.recovery.recovered_by_sgd(U @ U.T, eye, q).sum()) == count
        assert int(formats.recovered_in_format(U.T @ eye, am.Embeddings(U, eye), 7).sum()) == count


@pytest.mark.parametrize("bits, twice_unit", [(23, 0.0), (10, 2.0**-10), (7, 2.0**-7)])
def test_undecided_in_a_format_is_what_lies_inside_the_stated_bound(bits, twice_unit):
    eye = torch.eye(2, dtype=torch.float64)
    # |u| = |Wv| = 1 and d = 2
    bound = twice_unit + 6 * 2.0**-24
    margin = bound * torch.tensor([0.99, -1.01], dtype=torch.float64)
    found = [formats.undecided_in_format(eye, am.Embeddings(eye, eye), bits, sign * margin) for sign in (1, -1)]
    assert found == [1, 1]


@pytest.mark.parametrize("bits", ["", "1", "0", "111", "110111", "011", "1110"])
def test_longest_prefix_stops_at_the_first_item_that_is_lost(bits):
    mask = torch.tensor([bit == "1" for bit in bits], dtype=torch.bool)
    assert am.longest_prefix(mask) == len(bits.split("0")[0])


def scan_flops(n_items, dim):
    emb, G = instance(n_items, dim, 0)
    W = am.polar(G)
    with FlopCounterMode(display=False) as counter:
        count = am.capacity(W, emb)
    return counter.get_total_flops() - 2 * n_items * dim**2, count


def test_the_scan_costs_a_hundred_rivals_an_item_and_not_all():
    n_items, dim = 20_000, 64
    flops, count = scan_flops(n_items, dim)
    assert 10 < count < 200
    assert flops < 2 * n_items * dim * (count + 100)
    assert flops < 0.05 * 2 * n_items**2 * dim


def test_the_scan_grows_linearly_with_the_items():
    small, large = scan_flops(8000, 32)[0], scan_flops(32_000, 32)[0]
    # four times the items: 4 if linear, 16 if every pair were visited
    assert large < 5 * small


def test_no_temporary_comes_near_n_by_n():
    class Largest(torch.utils._python_dispatch.TorchDispatchMode):
        elements = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor):
                self.elements = max(self.elements, result.numel())
            return result

    emb, G = instance(40_000, 16, 0)
    with Largest() as largest:
        am.capacity(G, emb)
    assert 40_000 < largest.elements <= recovery.CACHED_TILES.scores < 0.01 * 40_000**2
    few, G = instance(6000, 4, 0)
    with Largest() as largest:
        am.margins(G, few)
    assert 6000 < largest.elements < 0.05 * 6000**2


def test_orthonormal_facts_are_all_recovered_by_both_optimizers():
    problem = am.Problem.power_law(n_items=40, dim=64, alpha=1.5)
    drawn = am.sample_embeddings(problem, 0, dtype=torch.float64)
    U, V = (torch.linalg.qr(X.T).Q.T.contiguous() for X in (drawn.U, drawn.V))
    emb = am.Embeddings(U, V)
    G = am.initial_gradient(emb, problem.frequencies)
    W = am.polar(G, am.gradient_rank(emb, problem.frequencies))
    assert am.capacity(G, emb) == am.capacity(W, emb) == 40
    assert ((U @ W @ V.T > 0) == torch.eye(40, dtype=torch.bool)).all()
