"""Low precision: emulated rounding against torch's own, decisions against the exact ones, the record's verdicts."""

import pytest
import torch

import amemlib as am
from amembook.paper.precision import EXPERIMENT as PRECISION
from amembook.paper.precision import PrecisionConfig, measure_decisions, measure_single_svd
from amembook.paper.precision.formats import FORMATS, recovered_in_format, round_significand, undecided_in_format
from amembook.run.cache import plain


def numbers(n=4096, scale=30.0):
    generator = torch.Generator().manual_seed(0)
    mantissa = torch.randn(n, 3, generator=generator)
    return mantissa * torch.exp2(scale * torch.randn(n, 3, generator=generator).clamp(-1, 1))


def test_seven_bits_are_torchs_bfloat16():
    X = numbers()
    assert torch.equal(round_significand(X, 7), X.bfloat16().float())
    ties = torch.tensor([[1 + 2.0**-8, 1 + 3 * 2.0**-8, -1 - 2.0**-8]])
    assert torch.equal(round_significand(ties, 7), ties.bfloat16().float())


@pytest.mark.parametrize("bits", [1, 7, 10, 22, 23])
def test_rounding_is_to_the_nearest_and_idempotent(bits):
    X = numbers()
    rounded = round_significand(X, bits)
    assert ((rounded - X).abs() <= 2.0 ** -(bits + 1) * X.abs()).all()
    assert torch.equal(round_significand(rounded, bits), rounded)
    assert torch.equal(round_significand(-X, bits), -rounded) and torch.equal(round_significand(0 * X, bits), 0 * X)
    if bits == 23:
        assert torch.equal(rounded, X)


@pytest.mark.parametrize("bits", [0, 24])
def test_a_format_has_one_to_twenty_three_bits(bits):
    with pytest.raises(ValueError, match="bits"):
        round_significand(torch.ones(1, 1), bits)


@pytest.mark.parametrize("alpha", [1.5, None])
def test_flips_lie_inside_the_bound(alpha):
    for seed in range(2000, 2003):
        result = measure_decisions(1024, 64, alpha, seed, "cpu")
        assert result["flips"]["float32"] <= result["undecided"]["float32"]
        assert result["undecided"]["float32"] <= result["undecided"]["tf32"] <= result["undecided"]["bfloat16"]
        for name in FORMATS:
            assert result["flips"][name] <= result["undecided"][name]


def test_a_plain_float32_scan_decides_as_the_exact_test_where_nothing_is_close():
    problem = am.Problem.power_law(512, 64, 1.5)
    emb = am.sample_embeddings(problem, 2000)
    W = am.polar(am.initial_gradient(emb, problem.frequencies))
    margin = am.margins(W, emb)
    assert undecided_in_format(W, emb, 23, margin) == 0
    assert torch.equal(recovered_in_format(W, emb, 23), am.recovered(W, emb))
    # three bits are too few
    assert (recovered_in_format(W, emb, 3) != am.recovered(W, emb)).any() and undecided_in_format(
        W, emb, 3, margin
    ) > 10


def test_a_float32_svd_loses_directions_that_the_count_does_not_feel():
    result = measure_single_svd(1024, 128, 1.5, 2000, "cpu")
    assert result["svd"]["spectral_error"] > 10 * result["condition"] * 2.0**-53
    assert result["svd"]["mean_square_error"] < 1e-4 and result["svd"]["flips"] <= 2
    steep = measure_single_svd(1024, 128, 3.0, 2000, "cpu")
    assert steep["svd"]["spectral_error"] > 0.5 and steep["svd"]["mean_square_error"] > 1e-3


def test_the_summary_sums_over_seeds_and_judges(words):
    config = PrecisionConfig(dims=(16,), n_items=128, seeds=4)
    cells = PRECISION.cells(config, "cpu")
    assert len(cells) == 4 * 4
    results = [plain(cell.function(**cell.arguments)) for cell in cells]
    total = sum(result["count"] for result in results[:4])
    assert PRECISION.read(config, results)[0]["decisions"]["power law"]["counts"].tolist() == [total]
    verdicts = words(PRECISION, config, results)
    assert set(verdicts) == {"bounds", "float32", "svd"} and verdicts["bounds"] == "consistency check"
