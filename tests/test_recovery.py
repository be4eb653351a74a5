"""The streamed recovered set equals the dense float64 test on every kind of instance, and costs what it says."""

from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import amemlib as am
from amemlib import arithmetic, recovery


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


@pytest.mark.parametrize("n_items", [1, 2, 3, 63, 64, 65, 191, 192, 193, 8192, 8193])
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
                assert am.recovered_prefix(W, memories[1]) == am.longest_prefix(expected), seed
    finally:
        torch.set_float32_matmul_precision(before)


def chopped_product(A, B):
    """Inner products of bfloat16 rows whose sums are cut off, not rounded, to float32 after every term."""
    total = torch.zeros(len(A), len(B), dtype=torch.float64)
    for a, b in zip(A.double().T, B.double().T, strict=True):
        total += torch.outer(a, b)
        mantissa, exponent = torch.frexp(total)
        total = torch.ldexp(torch.trunc(torch.ldexp(mantissa, torch.tensor(24))), exponent - 24)
    return total.float()


SCREENS = {
    "float32": arithmetic.SINGLE,
    "tf32": arithmetic.TF32,
    "bfloat16": arithmetic.BFLOAT16,
    "chopped": arithmetic.ProductFormat(torch.Tensor.bfloat16, chopped_product, arithmetic.BFLOAT16.addition),
}


@pytest.mark.parametrize("screen", SCREENS.values(), ids=SCREENS)
def test_no_decision_depends_on_the_format_of_the_screen(screen):
    for seed in range(10):
        for W in (memories := adversarial(seed))[0]:
            expected = dense_margins(W, memories[1]) > 0
            assert torch.equal(am.recovered(W, memories[1], screen), expected), seed


@pytest.mark.parametrize("screen", [arithmetic.TF32, arithmetic.BFLOAT16])
def test_a_coarse_screen_is_exact_where_its_own_decisions_are_not(screen):
    """Rivals behind and ahead at every distance that a format can and cannot see."""
    emb = am.sample_embeddings(am.Problem.power_law(400, 256, 1.5), 1, dtype=torch.float64)
    U, V = emb.U[:200], emb.V
    sides = 2 * torch.randint(0, 2, (200, 1), generator=torch.Generator().manual_seed(0)) - 1
    steps = sides * 2.0 ** -torch.arange(1, 41).repeat(5)[:, None]
    close = am.Embeddings(torch.cat([U, (1 + steps) * U]), V)
    W = torch.linalg.pinv(U) @ torch.linalg.pinv(V[:200]).T
    expected = dense_margins(W, close) > 0
    U, Z = screen.enter(close.U.float()), screen.enter((V @ W.T).float())
    coarse = dense_margins(torch.eye(256), am.Embeddings(U.float(), Z.float())) > 0
    assert 50 < expected.sum() < 150 and 10 < (coarse != expected).sum()
    assert torch.equal(am.recovered(W, close, screen), expected)


@pytest.mark.parametrize("screen", list(SCREENS.values())[1:], ids=list(SCREENS)[1:])
@pytest.mark.parametrize("law", [0.0, 8.0])
def test_scores_of_a_format_lie_within_their_bound(screen, law):
    """Also where one entry of a row dwarfs the others, and where all terms of a sum have one sign."""
    generator = torch.Generator().manual_seed(1)
    scale = torch.exp(law * torch.randn(40, 96, generator=generator))
    U, Z = torch.randn(40, 96, generator=generator) * scale, torch.randn(40, 96, generator=generator) * scale.flip(1)
    for A, B in ((U, Z), (U.abs(), Z.abs())):
        entered = screen.enter(A), screen.enter(B)
        bound = arithmetic.product_error(A, entered[0], B, entered[1], screen)
        error = (screen.product(entered[1], entered[0]).double() - B.double() @ A.double().T).abs()
        assert (error <= bound[:, None]).all()
        assert (error > bound[:, None] / 300).any(), "a bound so wide settles nothing"


def test_a_screen_settles_most_items_and_leaves_few():
    emb, G = instance(8000, 128, 0)
    W, seen = am.polar(G), []

    def counted(A, B):
        seen.append(len(A))
        return arithmetic.SINGLE.product(A, B)

    exact = replace(arithmetic.SINGLE, product=counted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recovery, "SINGLE", exact)
        mask = am.recovered(W, emb, arithmetic.BFLOAT16)
    assert 0 < max(seen, default=1) < 0.2 * mask.sum()


def test_the_rivals_of_others_are_screened_as_well():
    emb, G = instance(2000, 24, 0)
    W = am.polar(G)
    others = am.Embeddings(emb.U[:700], emb.V[:700])
    expected = am.recovered(W, others) & am.recovery.unbeaten_by(emb.U[700:], W, others)
    assert torch.equal(am.recovered(W, emb)[:700], expected)


def test_a_cpu_screens_in_float32_and_a_screen_is_a_format():
    assert arithmetic.fast_format(torch.device("cpu")) is arithmetic.SINGLE
    emb, G = instance(10, 4, 0)
    with pytest.raises(TypeError, match="screen"):
        am.recovered(G, emb, "bfloat16")


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


@pytest.mark.parametrize("screen", [arithmetic.SINGLE, arithmetic.BFLOAT16])
def test_the_host_waits_once_a_block_of_rivals_and_not_once_a_tile(screen, monkeypatch):
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
        assert int(am.recovery.recovered_in_format(U.T @ eye, am.Embeddings(U, eye), 7).sum()) == count


@pytest.mark.parametrize("bits, twice_unit", [(23, 0.0), (10, 2.0**-10), (7, 2.0**-7)])
def test_undecided_in_a_format_is_what_lies_inside_the_stated_bound(bits, twice_unit):
    eye = torch.eye(2, dtype=torch.float64)
    # |u| = |Wv| = 1 and d = 2
    bound = twice_unit + 6 * 2.0**-24
    margin = bound * torch.tensor([0.99, -1.01], dtype=torch.float64)
    found = [am.recovery.undecided_in_format(eye, am.Embeddings(eye, eye), bits, sign * margin) for sign in (1, -1)]
    assert found == [1, 1]


def test_groups_of_rivals_decide_together_what_all_rivals_decide():
    """Ties and near ties among them: the exact second look must find the rows of its own group."""
    n_groups = 3
    for seed in range(6):
        memories, emb = adversarial(seed)
        for W in memories:
            margins = dense_margins(W, emb)
            # what float64 cannot decide may come out either way; an integer memory of integer items it can
            unsure = (margins.abs() < 1e-12) & (W != W.round()).any()
            expected = (margins > 0) | unsure
            for group in range(min(n_groups, emb.n_items)):
                own = am.Embeddings(emb.U[group::n_groups], emb.V[group::n_groups])
                mask = am.recovered(W, own)
                for other in range(min(n_groups, emb.n_items)):
                    if other != group:
                        mask &= am.recovery.unbeaten_by(emb.U[other::n_groups], W, own)
                assert torch.equal(mask | unsure[group::n_groups], expected[group::n_groups]), seed


def test_the_prefix_is_found_without_the_rest():
    emb, G = instance(20_000, 64, 0)
    W = am.polar(G)
    with FlopCounterMode(display=False) as counter:
        prefix = am.recovered_prefix(W, emb)
    assert prefix == am.longest_prefix(am.recovered(W, emb)) > 0
    assert counter.get_total_flops() < 0.01 * 2 * 20_000**2 * 64


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

    emb, G = instance(30_000, 16, 0)
    with Largest() as largest:
        am.capacity(G, emb)
    assert 30_000 < largest.elements < 0.01 * 30_000**2
