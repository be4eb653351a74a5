"""The optimizer: torch's own bit for bit on its defaults, every part as if it were its own parameter, its state."""

import copy
import subprocess
import sys
import warnings

import pytest
import torch

import amemlib as am

TORCH = getattr(torch.optim, "Muon", None)
"""Releases before 2.9 have none."""
SHAPES = [(24, 24), (64, 16), (16, 64), (1, 8), (96, 33)]
peer = pytest.mark.skipif(TORCH is None, reason="this torch has no Muon")


def weights(shapes=SHAPES, dtype=torch.float32, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return [torch.nn.Parameter(torch.randn(shape, generator=draw).to(dtype)) for shape in shapes]


def run(optimizer, params, steps=6, first=0, rate=None):
    """Gradients of a quadratic loss with noise, so that they depend on where the weights are; one is missing once."""
    for t in range(first, first + steps):
        draw = torch.Generator().manual_seed(100 + t)
        for i, p in enumerate(params):
            noise = torch.randn(p.shape, generator=draw)
            p.grad = None if (i, t) == (1, 2) else (p.detach() + noise.to(p)) / (1 + i)
        if rate:
            optimizer.param_groups[0]["lr"] = rate(t)
        optimizer.step()
    return [p.detach().clone() for p in params]


def same(ours, theirs):
    return all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.slow
@peer
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize(
    "ours, theirs",
    [
        ({}, {}),
        ({"lr": 0.02, "momentum": 0.8, "nesterov": False, "weight_decay": 0.0},) * 2,
        ({"lr": 0.1, "adjust_lr": "rms"}, {"lr": 0.1, "adjust_lr_fn": "match_rms_adamw"}),
        ({"lr": 0.1, "schedule": (2.0, -1.5, 0.5)}, {"lr": 0.1, "ns_coefficients": (2.0, -1.5, 0.5)}),
        ({"schedule": am.spectral.SCHEDULES["jordan"][:3]}, {"ns_steps": 3}),
    ],
)
def test_it_is_torchs_bit_for_bit(ours, theirs, dtype):
    if dtype == torch.bfloat16 and ours.get("nesterov") is False:
        pytest.skip("there torch divides its momentum itself by its norm")
    mine, other = weights(dtype=dtype), weights(dtype=dtype)
    rate = lambda t: 0.3 / (1 + t)
    assert same(run(am.Muon(mine, **ours), mine, rate=rate), run(TORCH(other, **theirs), other, rate=rate))


@pytest.mark.parametrize("name", ["you", "polar_express", "deepseekv4"])
def test_a_schedule_by_name_is_the_librarys_iteration(name):
    [W] = weights([(32, 48)])
    start, optimizer = W.detach().clone(), am.Muon([W], lr=1.0, momentum=0.0, weight_decay=0.0, schedule=name)
    W.grad = torch.randn(32, 48, generator=torch.Generator().manual_seed(1))
    optimizer.step()
    expected = am.newton_schulz(W.grad, coefficients=name)
    # bfloat16 keeps eight bits; its errors go through ten steps at most
    assert (start - W.detach() - expected).abs().max() < 0.05 < expected.abs().max()


@pytest.mark.parametrize("schedule", ["jordan", am.polar])
@pytest.mark.parametrize(
    "split, heads, rows", [(3, None, [16] * 3), ((32, 8, 8), 2, [16, 16, 4, 4, 4, 4]), (None, 4, [12] * 4)]
)
def test_parts_are_parameters_of_their_own(schedule, split, heads, rows):
    [whole] = weights([(48, 20)])
    parts = [torch.nn.Parameter(part.clone()) for part in whole.detach().split(rows)]
    options = {"lr": 0.1, "schedule": schedule, "adjust_lr": "rms"}
    ours, theirs = am.Muon([whole], **options, split=split, heads=heads), am.Muon(parts, **options)
    for t in range(3):
        whole.grad = torch.randn(48, 20, generator=torch.Generator().manual_seed(t))
        for part, grad in zip(parts, whole.grad.split(rows), strict=True):
            part.grad = grad.clone()
        ours.step(), theirs.step()
    difference = (whole - torch.cat(parts)).abs().max().item()
    # a product of a stack may add in another order than one of a matrix: an ulp of bfloat16
    assert difference <= 0.02 if schedule == "jordan" else difference < 1e-6


def test_the_rate_has_its_three_scales():
    for adjust, factor in (("original", 2.0), ("rms", 0.2 * 8), ("spectral", 2.0)):
        [W] = weights([(64, 16)])
        start = W.detach().clone()
        W.grad = torch.randn(64, 16, generator=torch.Generator().manual_seed(0))
        am.Muon([W], lr=0.5, weight_decay=0, adjust_lr=adjust, schedule=am.polar).step()
        torch.testing.assert_close(start - W.detach(), (0.5 * factor * am.polar(W.grad)).float(), atol=1e-5, rtol=0)
    [W] = weights([(16, 64)])
    assert torch.linalg.matrix_norm(_first_update(W, "original"), 2) == pytest.approx(1, abs=1e-5)
    assert torch.linalg.matrix_norm(_first_update(W, "spectral"), 2) == pytest.approx(0.5, abs=1e-5)


def _first_update(W, adjust):
    start, W.grad = W.detach().clone(), torch.randn(W.shape, generator=torch.Generator().manual_seed(0))
    am.Muon([W], lr=1.0, weight_decay=0, adjust_lr=adjust, schedule=am.polar).step()
    return start - W.detach()


def test_a_function_of_the_matrix_may_be_the_best_map_with_its_floor():
    best = am.equivalents.best_map(am.equivalents.SpectralLaw.power_law(1.5), 0.3)
    function = lambda M: am.spectral_map(M, lambda s: best(s / s.median()))
    [W] = weights([(16, 16)])
    start, W.grad = W.detach().clone(), torch.randn(16, 16, generator=torch.Generator().manual_seed(0))
    am.Muon([W], lr=1.0, weight_decay=0, schedule=function).step()
    torch.testing.assert_close(start - W.detach(), function(W.grad).float(), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("schedule", ["you", ((2.0, -1.5, 0.5),) * 4, am.polar])
def test_a_state_goes_through_a_file(tmp_path, schedule):
    params = weights()
    optimizer = am.Muon(params, lr=0.05, schedule=schedule, heads=1)
    middle = run(optimizer, params, 3)
    torch.save(optimizer.state_dict(), tmp_path / "state.pt")
    expected = run(optimizer, params, 3, first=3)
    again = [torch.nn.Parameter(W) for W in middle]
    resumed = am.Muon(again, lr=7.0, schedule=schedule)
    resumed.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert same(run(resumed, again, 3, first=3), expected) and resumed.param_groups[0]["schedule"] == schedule


@peer
def test_a_state_of_torchs_loads():
    params = weights()
    theirs = TORCH(params, lr=0.05, momentum=0.9)
    middle = run(theirs, params, 3)
    saved = copy.deepcopy(theirs.state_dict())
    again = [torch.nn.Parameter(W) for W in middle]
    ours = am.Muon(again)
    ours.load_state_dict(saved)
    assert ours.param_groups[0]["schedule"] == "jordan" and ours.param_groups[0]["momentum"] == 0.9
    assert same(run(ours, again, 3, first=3), run(theirs, params, 3, first=3))


def test_a_gradient_of_zero_moves_nothing():
    W = torch.nn.Parameter(torch.eye(4))
    W.grad = torch.zeros(4, 4)
    am.Muon([W], lr=0.1, weight_decay=0).step()
    assert torch.equal(W, torch.eye(4))


def test_groups_have_settings_of_their_own_and_closures_run():
    first, second = weights([(8, 8), (12, 4)])
    optimizer = am.Muon([{"params": [first], "schedule": "cans"}, {"params": [second], "split": (4, 8), "lr": 0.0}])
    kept = second.detach().clone()

    def closure():
        optimizer.zero_grad()
        loss = (first.square().sum() + second.square().sum()) / 2
        loss.backward()
        return loss

    before = closure().item()
    assert optimizer.step(closure).item() == before and closure().item() < before
    assert torch.equal(second, kept)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"lr": -1.0}, ["lr", "-1.0", "≥ 0"]),
        ({"momentum": 1.0}, ["momentum", "1.0", "[0, 1)"]),
        ({"weight_decay": float("nan")}, ["weight_decay", "nan"]),
        ({"schedule": "zolotarev"}, ["'zolotarev'", "'jordan'"]),
        ({"schedule": ((1.0, 2.0),)}, ["three finite numbers"]),
        ({"adjust_lr": "match_rms_adamw"}, ["adjust_lr", "'rms'", "'match_rms_adamw'"]),
        ({"split": 5}, ["split", "24", "5"]),
        ({"split": (20, 5)}, ["split", "24", "(20, 5)"]),
        ({"heads": 7}, ["heads", "24", "7"]),
        ({"heads": 0}, ["heads", "0", "at least 1"]),
    ],
)
def test_bad_settings_are_named(options, words):
    with pytest.raises(ValueError) as raised:
        am.Muon(weights([(24, 24)]), **options)
    assert all(word in str(raised.value) for word in words) and "\n" not in str(raised.value)


@pytest.mark.parametrize("bad", ["zolotarev", (1.0, 2.0), []])
def test_a_bad_schedule_is_called_by_its_own_name(bad):
    W = torch.nn.Parameter(torch.zeros(4, 4))
    with pytest.raises((ValueError, TypeError), match="^schedule must"):
        am.Muon([W], schedule=bad)
    with pytest.raises((ValueError, TypeError), match="^name must"):
        am.schedule(bad)
    with pytest.raises((ValueError, TypeError), match="^schedules must"):
        am.diagnose(torch.eye(4), {"mine": bad})


def test_a_mistyped_option_of_a_group_is_named():
    W = torch.nn.Parameter(torch.zeros(4, 4))
    with pytest.warns(UserWarning, match="'scedule', 'wd' mean nothing to Muon.* schedule,"):
        am.Muon([{"params": [W], "scedule": "cans", "wd": 0.1}])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        own = am.Muon([{"params": [("w", W)], "name": "matrices", "initial_lr": 0.1, "schedule": "cans"}])
        am.Muon(own.param_groups)
        theirs = am.Muon([{"params": [W], "ns_steps": 6, "adjust_lr_fn": "match_rms_adamw"}])
    assert theirs.param_groups[0]["schedule"] == am.spectral.SCHEDULES["jordan"][:1] * 6
    assert theirs.param_groups[0]["adjust_lr"] == "rms"


def test_what_is_no_matrix_is_refused_and_nothing_is_added():
    optimizer = am.Muon(weights([(8, 8)]))
    for shape in [(8,), (2, 8, 8)]:
        with pytest.raises(ValueError, match="matrices"):
            optimizer.add_param_group({"params": weights([shape])})
    assert len(optimizer.param_groups) == 1


@peer
@pytest.mark.parametrize(
    "options", [{}, {"adjust_lr_fn": "match_rms_adamw", "ns_steps": 3, "eps": 1e-3, "nesterov": False}]
)
def test_torchs_states_go_both_ways_with_all_options(options):
    pairs = [
        (TORCH, am.Muon, options),
        (am.Muon, TORCH, {"lr": 0.05, "adjust_lr": "rms", "schedule": (2.0, -1.5, 0.5)}),
    ]
    for source, target, settings in pairs:
        params = weights()
        saved = source(params, **settings)
        middle = run(saved, params, 3)
        again = [torch.nn.Parameter(W) for W in middle]
        resumed = target(again)
        resumed.load_state_dict(copy.deepcopy(saved.state_dict()))
        assert same(run(resumed, again, 3, first=3), run(saved, params, 3, first=3))


@peer
@pytest.mark.parametrize(
    "options", [{"schedule": "cans"}, {"split": 2}, {"adjust_lr": "spectral"}, {"schedule": am.polar}]
)
def test_torch_refuses_what_it_lacks(options):
    params = weights([(8, 8)])
    state = am.Muon(params, **options).state_dict()
    theirs = TORCH(params)
    theirs.load_state_dict(state)
    params[0].grad = torch.ones(8, 8)
    with pytest.raises(ValueError, match="exactly 3 values"):
        theirs.step()
    assert next(iter(options)) in theirs.param_groups[0]["ns_coefficients"]


@peer
def test_flattened_states_go_to_torch_and_back_only_whole():
    from torch.distributed.checkpoint.state_dict import (
        StateDictOptions,
        get_optimizer_state_dict,
        set_optimizer_state_dict,
    )

    def flattened(optimizer):
        return get_optimizer_state_dict(model, optimizer, options=StateDictOptions(flatten_optimizer_state_dict=True))

    model = torch.nn.Linear(8, 8, bias=False)
    params, options = list(model.parameters()), StateDictOptions(flatten_optimizer_state_dict=True)
    ours = am.Muon(params, adjust_lr="rms")
    run(ours, params, 3)
    start, state, resumed = model.weight.detach().clone(), copy.deepcopy(flattened(ours)), []
    for kind in (am.Muon, TORCH):
        model.weight.data.copy_(start)
        again = kind(params)
        set_optimizer_state_dict(model, again, state, options=options)
        resumed.append(run(again, params, 3, first=3))
    assert same(*resumed) and not torch.equal(resumed[0][0], start)
    with pytest.raises(KeyError, match="schedule"):
        set_optimizer_state_dict(model, am.Muon(params), flattened(TORCH(params)), options=options)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"adjust_lr": "zzz"}, ["adjust_lr", "zzz"]),
        ({"split": 5}, ["params[0]", "(8, 8)", "split", "5"]),
        ({"heads": 0}, ["params[0]", "heads", "0"]),
        ({"nesterov": "False"}, ["nesterov", "'False'"]),
        ({"lr": -1}, ["lr", "-1"]),
        ({"schedule": None, "adjust_lr": None, "ns_coefficients": (1, 2), "ns_steps": 5}, ["coefficients"]),
        ({"ns_dtype": torch.int8}, ["ns_dtype", "int8"]),
    ],
)
def test_a_loaded_state_is_checked_before_anything_changes(options, words):
    params = weights([(8, 8)])
    optimizer = am.Muon(params)
    run(optimizer, params, 1)
    state = copy.deepcopy(optimizer.state_dict())
    if "ns_coefficients" in options:
        state["param_groups"][0] = {"params": [0]} | options
        del state["param_groups"][0]["schedule"], state["param_groups"][0]["adjust_lr"]
    else:
        state["param_groups"][0] |= options
    with pytest.raises((ValueError, TypeError)) as raised:
        optimizer.load_state_dict(state)
    assert all(word in str(raised.value) for word in words), str(raised.value)
    assert optimizer.param_groups[0]["lr"] == 1e-3


def test_states_of_others_are_refused_with_their_keys():
    params = weights([(8, 8)])
    adam = torch.optim.AdamW(params)
    run(adam, params, 1)
    ours = am.Muon([("layer.weight", params[0])])
    with pytest.raises(ValueError, match="layer.weight.*momentum_buffer.*exp_avg"):
        ours.load_state_dict(adam.state_dict())
    state = {"state": {0: {"momentum_buffer": torch.ones(3, 3)}}, "param_groups": ours.state_dict()["param_groups"]}
    with pytest.raises(ValueError, match=r"layer.weight.*\(8, 8\).*\(3, 3\)"):
        ours.load_state_dict(state)


def test_a_copy_says_that_it_has_no_watch():
    optimizer = am.Muon(weights([(8, 8)]))
    am.watch(optimizer)
    with pytest.warns(UserWarning, match="watch it anew"):
        copy.deepcopy(optimizer)


def test_more_dimensions_are_flattened_as_it_is_said():
    stack, kernel = weights([(3, 8, 6), (8, 4, 3, 3)])
    apart = [torch.nn.Parameter(X.clone()) for X in (*stack.detach(), kernel.detach().flatten(1))]
    groups = [{"params": [stack], "flatten": 2, "split": 3}, {"params": [kernel], "flatten": 1}]
    options = {"lr": 0.1, "schedule": am.polar}
    ours, theirs = am.Muon(groups, **options), am.Muon(apart, **options)
    for p in (stack, kernel):
        p.grad = torch.randn(p.shape, generator=torch.Generator().manual_seed(1))
    for p, grad in zip(apart, (*stack.grad, kernel.grad.flatten(1)), strict=True):
        p.grad = grad.clone()
    ours.step(), theirs.step()
    for p, whole in zip(apart, (*stack, kernel.flatten(1)), strict=True):
        torch.testing.assert_close(whole, p, atol=1e-6, rtol=0)
    with pytest.raises(ValueError, match=r"flatten=1 for a convolution.*conv"):
        am.Muon([("conv", weights([(4, 4, 3, 3)])[0])])
    with pytest.raises(ValueError, match="norm.weight"):
        am.Muon([("norm.weight", weights([(4,)])[0])])
    with pytest.raises(ValueError, match="flatten must be below"):
        am.Muon(weights([(4, 4)]), flatten=2)


@pytest.mark.parametrize("dtype, most", [(torch.float32, 1e-5), (torch.float16, 0.02)])
def test_its_steps_may_be_made_in_another_format(dtype, most):
    [M] = weights([(24, 16)])
    exact = am.newton_schulz(M.detach())
    for scale in (1.0, 1e-6):
        ours = am.schedule("jordan", ns_dtype=dtype)(scale * M.detach())
        assert ours.dtype == dtype and (ours.double() - exact).abs().max() < most


def test_a_schedule_is_a_function_as_others_call_one():
    M = torch.randn(5, 24, 16, generator=torch.Generator().manual_seed(0))
    function = am.schedule("cans")
    stacked, apart = function(M, epsilon=torch.tensor(1e-7)), torch.stack([function(X) for X in M])
    assert (stacked.float() - apart.float()).abs().max() < 0.05
    # without a cushion CANS magnifies rounding, and leaves its interval in bfloat16: there its neighbour is compared
    for name, dtype, most in (("cans", torch.float32, 1e-3), ("polar_express", torch.bfloat16, 0.1)):
        exact = torch.stack([am.newton_schulz(X, coefficients=name) for X in M])
        assert (am.schedule(name, ns_dtype=dtype)(M) - exact).abs().max() < most
    assert function(1e-9 * M[0], epsilon=1.0).abs().max() < 1e-5
    ours, theirs = weights([(24, 16)]), weights([(24, 16)])
    assert same(run(am.Muon(ours, schedule=function), ours, 2), run(am.Muon(theirs, schedule="cans"), theirs, 2))
    for options in ({"eps": -1.0}, {"ns_dtype": torch.int32}):
        with pytest.raises(ValueError, match=next(iter(options))):
            am.schedule("cans", **options)


TWO = """
import sys, torch, torch.distributed as dist
from torch.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh
import amemlib as am

dist.init_process_group("gloo", rank=int(sys.argv[1]), world_size=2, store=dist.FileStore(sys.argv[2], 2))
mesh = init_device_mesh("cpu", (2,))
draw = lambda seed, *shape: torch.randn(shape, generator=torch.Generator().manual_seed(seed))
cases = [{}, {"split": (31, 9, 5), "adjust_lr": "rms"}, {"heads": 3, "schedule": am.polar, "nesterov": False}]
for options in cases:
    for placement in (Shard(0), Shard(1), Replicate()):
        shard = lambda X: distribute_tensor(X.clone(), mesh, [placement])
        first, plain = draw(0, 45, 20), draw(1, 45, 20)
        one = [torch.nn.Parameter(X.clone()) for X in (first, plain)]
        two = [torch.nn.Parameter(shard(first)), torch.nn.Parameter(plain.clone())]
        apart, together = am.Muon(one, lr=0.1, **options), am.Muon(two, lr=0.1, **options)
        am.watch(together, 1, lambda step, values: seen.update(values))
        seen = {}
        for t in range(2):
            grads = [draw(2 + t, 45, 20), draw(4 + t, 45, 20)]
            for p, grad in zip(one, grads):
                p.grad = grad
            two[0].grad, two[1].grad = shard(grads[0]), grads[1].clone()
            apart.step(), together.step()
        moved = (one[0] - first).norm()
        assert moved > 0.3 and (two[0].full_tensor() - one[0]).norm() < 1e-6 * moved, (options, placement)
        assert (two[1] - one[1]).norm() < 1e-6 * moved and any(key.startswith("size/0") for key in seen)
dist.destroy_process_group()
"""


@pytest.mark.process
def test_two_processes_step_as_one(tmp_path):
    command = [sys.executable, "-c", TWO]
    both = [
        subprocess.Popen([*command, str(rank), str(tmp_path / "store")], stderr=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    for process in both:
        assert process.wait(timeout=300) == 0, process.stderr.read()


def test_settings_of_torchs_and_groups_without_parameters_are_named():
    """`g["ns_steps"] = 6` is torch's line; a name that no parameter has makes a group of none."""
    named = [("w", torch.nn.Parameter(torch.randn(8, 8)))]
    optimizer = am.Muon(named)
    optimizer.param_groups[0]["ns_steps"] = 6
    before, named[0][1].grad = named[0][1].detach().clone(), torch.randn(8, 8)
    with pytest.raises(ValueError, match=r"ns_steps must not be set .* got 6: set schedule"):
        optimizer.step()
    assert torch.equal(named[0][1], before)
    with pytest.raises(ValueError, match="a parameter in every group, got none in group 0"):
        am.Muon([{"params": [], "split": 3}, {"params": named}])


@pytest.mark.parametrize("rows", [48, 32])
def test_a_transposed_layer_is_named_before_its_inputs_are_cut(rows):
    """GPT-2's Conv1D holds query, key and value in columns."""
    layer = torch.nn.Parameter(torch.ones(rows, 3 * rows))
    words = "looks transposed.*make it a torch.nn.Linear, or leave it whole"
    # where three divides no width it was an error already
    with pytest.warns(UserWarning, match=words) if rows == 48 else pytest.raises(ValueError, match=words):
        am.Muon([("c_attn.weight", layer)], split=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        am.Muon([layer]), am.Muon([torch.nn.Parameter(layer.detach().mT.clone())], split=3)
