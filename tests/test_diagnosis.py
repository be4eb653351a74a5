"""One's own matrices: every number beside an SVD, odd matrices noted and not taken for alarms."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest
import torch

import amemlib as am
from amemlib.training.diagnosis import least_schedule, noise_median, slope

FIELDS = ["name", "shape", "rank", "stable_rank", "reach", "lifted", "lift", "noise", "signal", "note"]
DRAW = torch.Generator().manual_seed(0)


def noise(*shape):
    return torch.randn(*shape, generator=DRAW)


def low_rank(rank=20, size=128, dtype=torch.float32):
    return noise(size, rank).to(dtype) @ noise(rank, size).to(dtype)


def memory(dim=96):
    problem = am.Problem.power_law(2000, dim, 1.5)
    return am.initial_gradient(am.sample_embeddings(problem, 0), problem.frequencies)


def beside_an_svd(row, M, schedule):
    """The three numbers by their definitions."""
    s, size = torch.linalg.svdvals(M.double()), M.double().norm()
    least, table = slope(schedule), am.spectral.newton_schulz_schedule(schedule)
    square = am.spectral.compose_quintics(s / size, table).square()
    assert row["reach"][schedule] == pytest.approx(least * np.median(s) / size.item(), rel=1e-8)
    assert row["lifted"][schedule] == (s * least > size).double().mean().item()
    assert row["lift"][schedule] == pytest.approx(square.mean().item(), rel=1e-8)
    O = am.newton_schulz(M, coefficients=schedule)  # noqa: E741
    assert row["lift"][schedule] == pytest.approx(O.square().sum().item() / min(M.shape), rel=1e-8)


@pytest.mark.parametrize("schedule", ["jordan", "cans", "deepseekv4", "cubic"])
@pytest.mark.parametrize(
    "make", [memory, lambda: noise(64, 96), lambda: noise(97, 40).bfloat16(), lambda: noise(520, 540)]
)
def test_the_numbers_are_those_of_an_svd(make, schedule):
    M = make()
    [row] = am.diagnose({"M": M}, [schedule]).as_dicts()
    assert list(row) == FIELDS and row["rank"] == min(M.shape) and row["shape"] == list(M.shape)
    beside_an_svd(row, M, schedule)
    assert row["stable_rank"] == pytest.approx(
        (M.double().norm() / torch.linalg.matrix_norm(M.double(), 2)).item() ** 2
    )


def test_scale_transposition_and_rotation_change_nothing():
    M = memory()
    one = am.diagnose(M)
    for other in (M * 1e-200, M * 1e200, M.mT.contiguous(), torch.linalg.qr(noise(96, 96).double()).Q @ M):
        two = am.diagnose(other)
        assert two.reach["jordan"] == pytest.approx(one.reach["jordan"], rel=1e-8) and two.rank == one.rank
    assert isinstance(one, am.training.Diagnosis) and [f.name for f in dataclasses.fields(one)] == FIELDS
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.rank = 3


@pytest.mark.parametrize("shape", [(128, 128), (64, 1024), (300, 100)])
def test_white_noise_is_the_baseline(shape):
    rows = [am.diagnose(noise(*shape)) for _ in range(8)]
    assert np.mean([row.noise for row in rows]) == pytest.approx(1, abs=0.01)
    assert all(row.note == "as white noise" and row.rank == min(shape) for row in rows)
    # five steps dip to 0.7 where the values of a wide matrix lie: beside its own plateau nothing is lost
    assert "white" not in am.diagnose(memory()).note


def test_the_law_of_noise_is_marchenko_and_pasturs():
    assert noise_median(4096, 4096) * 64 == pytest.approx(0.8079, abs=1e-4)
    # all values are alike where one side is much longer
    assert noise_median(100, 10**9) == pytest.approx(0.1, rel=1e-3) and noise_median(1, 7) == pytest.approx(1, rel=0.03)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("size", [128, 640])
def test_a_low_rank_is_found_by_its_gap_and_is_no_alarm(dtype, size):
    row = am.diagnose(low_rank(20, size, dtype))
    assert row.rank == 20 and row.reach["jordan"] > 50 and "rank 20" in row.note


def test_nothing_is_dropped_where_there_is_no_gap():
    for dtype in (torch.float32, torch.bfloat16):
        assert am.diagnose(memory().to(dtype)).rank == 96
        assert all(am.diagnose(noise(32, 32).to(dtype)).rank == 32 for _ in range(50))
    half = noise(128, 64)
    half[40:] = 0
    assert am.diagnose(half).rank == 40
    rounded = am.diagnose(low_rank().bfloat16().float())
    assert rounded.rank == 128 and "20 of 128" in rounded.note and "bfloat16" in rounded.note


def test_odd_matrices_have_a_note_and_no_numbers():
    zero, bad, none = torch.zeros(64, 32), noise(8, 8), noise(0, 4)
    bad[1, 2], bad[3, 4] = np.nan, np.inf
    found = am.diagnose({"zero": zero, "bad": bad, "none": none})
    assert [row.note for row in found] == ["zero", "2 of 64 entries not finite", "no entries"]
    assert [row.rank for row in found] == [0, None, None]
    assert all(row.reach["jordan"] is row.lift["jordan"] is row.lifted["jordan"] is row.noise is None for row in found)
    assert "–" in str(found) and max(map(len, str(found).splitlines())) <= 80
    with pytest.raises(ValueError):
        json.dumps(found.as_dicts() + [float("nan")], allow_nan=False)
    assert json.loads(json.dumps(found.as_dicts(), allow_nan=False))[0]["note"] == "zero"


def test_stacks_convolutions_and_parts_are_matrices_each():
    stack, kernel, fused = noise(2, 3, 32, 20), noise(24, 8, 3, 3), noise(48, 32)
    found = am.diagnose({"stack": stack[0], "kernel": kernel})
    assert [row.name for row in found] == ["stack[0]", "stack[1]", "stack[2]", "kernel"]
    assert found[3].shape == (24, 72) and "24 × 8 × 3 × 3" in found[3].note
    assert am.diagnose(noise(24, 1, 4)).shape == (24, 4)
    cut = am.diagnose({"a.qkv": fused, "a.out": fused}, split={"qkv": (32, 8, 8)}, heads={"qkv": 2})
    assert [row.shape for row in cut] == [(16, 32)] * 2 + [(4, 32)] * 4 + [(48, 32)]
    assert cut[1].reach == am.diagnose(fused[16:32]).reach and cut[1].name == "a.qkv[1]"


@pytest.mark.parametrize("share", [0.0, 0.3, 0.95])
@pytest.mark.parametrize("rows", [lambda n: torch.ones(n, 1), lambda n: torch.arange(1, n + 1)[:, None] ** -0.5])
def test_two_halves_tell_the_share_of_signal_with_its_error(share, rows):
    """Of (A + B)/2, with A = S + N₁ and B = S + N₂: ‖S‖² / (‖S‖² + ‖N‖²/2)."""
    deviations = []
    for _ in range(40):
        S, N, other = (rows(48) * noise(48, 80) for _ in range(3))
        S = S * (share / (2 * (1 - share))) ** 0.5
        row = am.diagnose(S + N, other=S + other)
        deviations.append((row.signal - share) / float(row.note.rpartition("± ")[2]))
    # where nearly all is signal the error told is too large
    assert abs(np.mean(deviations)) < 0.5 and (0.6 if share < 0.9 else 0.2) < np.std(deviations) < 1.5
    assert am.diagnose(S, other=0 * S).signal is None


def test_the_least_schedule_is_the_cheapest_that_reaches():
    assert least_schedule(3 / 3.44, 3) == ("jordan × 1", 3)
    name, products = least_schedule(3.1 / slope("polar_express"), 3)
    assert products == 15 and slope(name) >= slope("polar_express") / 1.04 and name != "cans"
    assert least_schedule(1e-12, 3) is None
    table = am.diagnose({"memory": memory()}).table(reach=3)
    assert "least" in table and "jordan × " in table


def trained(kind=None, named=False, shapes=((24, 16), (16, 40))):
    kind = kind or am.Muon
    params = [torch.nn.Parameter(noise(*shape)) for shape in shapes]
    optimizer = kind([(f"layer{i}.weight", p) for i, p in enumerate(params)] if named else params)
    for _ in range(3):
        for p in params:
            p.grad = noise(*p.shape)
        optimizer.step()
    return optimizer


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: am.diagnose(noise(4)), ["matrix", "two dimensions", "(4,)"]),
        (lambda: am.diagnose({"w": torch.arange(4)}), ["w", "int64"]),
        (lambda: am.diagnose(noise(4, 4), "sharp"), ["'sharp'", "'cans'"]),
        (lambda: am.diagnose(noise(4, 4), ()), ["schedules", "at least one"]),
        (lambda: am.diagnose({"w": noise(4, 6)}, other={"v": noise(4, 6)}), ["other['w']", "no such name"]),
        (lambda: am.diagnose(noise(4, 6), split=(3, 2)), ["matrix", "(4, 6)", "split", "(3, 2)"]),
        (lambda: am.watch(trained(), 0), ["every", "0"]),
    ],
)
def test_bad_arguments_are_named(call, words):
    with pytest.raises((ValueError, TypeError)) as raised:
        call()
    assert all(word in str(raised.value) for word in words), str(raised.value)


@pytest.mark.process
def test_a_distributed_tensor_is_gathered():
    code = """
import torch, torch.distributed as dist
from torch.distributed.tensor import init_device_mesh, distribute_tensor, Shard
import amemlib as am
dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
M = torch.randn(24, 16, generator=torch.Generator().manual_seed(0))
D = distribute_tensor(M, init_device_mesh("cpu", (1,)), [Shard(0)])
assert am.diagnose({"a": D}).as_dicts() == am.diagnose({"a": M}).as_dicts()
dist.destroy_process_group()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
