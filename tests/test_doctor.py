"""The doctor as a command: files of all makes, what it says of them, and what it does in bad hands."""

import argparse
import collections
import copy
import io
import json
import math
import os
import pathlib
import pickle
import re
import struct
import subprocess
import sys

import numpy as np
import pytest
import torch
from test_diagnosis import FIELDS, beside_an_svd, low_rank, memory, noise

import amemlib as am
from amemlib.training.doctor import main

# the command


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(capsys, *arguments):
    assert main(["doctor", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def trained(kind=None, named=False, shapes=((24, 16), (16, 40))):
    kind = kind or am.Muon
    params = [torch.nn.Parameter(noise(*shape)) for shape in shapes]
    optimizer = kind([(f"layer{i}.weight", p) for i, p in enumerate(params)] if named else params)
    for _ in range(3):
        for p in params:
            p.grad = noise(*p.shape)
        optimizer.step()
    return optimizer


@pytest.mark.parametrize("kind", [am.Muon, getattr(torch.optim, "Muon", am.Muon)])
def test_a_state_of_an_optimizer_is_read_with_its_names(here, capsys, kind):
    for named, names in ((True, ["layer0.weight", "layer1.weight"]), (False, ["0", "1"])):
        optimizer = trained(kind, named)
        torch.save(optimizer.state_dict(), "state.pt")
        rows = asked(capsys, "state.pt", "--schedule", "jordan", "you")
        assert [list(row) for row in rows] == [FIELDS] * 2 and [row["name"] for row in rows] == names
        for row, state in zip(rows, optimizer.state.values(), strict=True):
            for schedule in ("jordan", "you"):
                beside_an_svd(row, state["momentum_buffer"], schedule)


def test_an_optimizer_inside_a_checkpoint_wins_over_weights_and_a_list_is_read_whole(here, capsys):
    matrices, others = trained(named=True), trained(torch.optim.AdamW)
    checkpoint = {"model": {"w": noise(8, 8)}, "step": 3, "optimizers": [matrices.state_dict(), others.state_dict()]}
    torch.save(checkpoint, "nested.pth")
    names = [row["name"] for row in asked(capsys, "nested.pth")]
    assert names == ["layer0.weight", "layer1.weight"]
    assert main(["doctor", "nested.pth"]) == 0 and "Left out: 2 matrices of Adam's" in capsys.readouterr().out
    assert len(asked(capsys, "nested.pth", "--key", "exp_avg")) == 4
    torch.save([matrices.state_dict(), copy.deepcopy(matrices.state_dict())], "list.pt")
    assert asked(capsys, "list.pt")[2]["name"] == "1.layer0.weight"
    torch.save({"weights": {"a": noise(8, 8), "bias": noise(8)}}, "weights.pt")
    assert main(["doctor", "weights.pt", "--json"]) == 0
    said = capsys.readouterr()
    assert [row["name"] for row in json.loads(said.out)] == ["weights.a"] and "no optimizer" in said.err


def test_states_made_by_hand(here, capsys):
    by_hand = {"zero": torch.zeros(32, 32), "low": low_rank(), "noise": noise(64, 1024), "short": memory().bfloat16()}
    state = {name: {"step": 1, "exp_avg": M, "max": M**2} for name, M in by_hand.items()}
    torch.save({"state": state | {"none": {"momentum_buffer": None}}, "param_groups": []}, "hand.pt")
    rows = {row["name"]: row for row in asked(capsys, "hand.pt")}
    assert list(rows) == list(by_hand)
    assert rows["zero"]["reach"] == {"jordan": None} and rows["zero"]["note"] == "zero"
    assert rows["low"]["rank"] == 20 and rows["noise"]["note"] == "as white noise"
    beside_an_svd(rows["short"], by_hand["short"], "jordan")
    assert main(["doctor", "hand.pt", "--reach", "3"]) == 0
    table = capsys.readouterr().out
    assert (
        table.startswith("Early, step 1: the middle reach of 3 is ")
        and "least" in table
        and max(map(len, table.splitlines())) <= 80
    )
    assert main(["doctor", "hand.pt", "--explain"]) == 0 and "half batches" in capsys.readouterr().out


def safetensors(path, tensors, **changes):
    """The format by hand, as its specification has it."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for key, X in tensors.items():
        raw = X.contiguous().view(torch.uint8).numpy().tobytes()
        kind = {torch.float32: "F32", torch.bfloat16: "BF16", torch.int64: "I64"}[X.dtype]
        header[key] = {"dtype": kind, "shape": list(X.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        header[key] |= changes
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def test_safetensors_are_read_in_their_plain_format(here, capsys):
    tensors = {
        "a.exp_avg": memory().float(),
        "odd": torch.arange(3),
        "b.exp_avg": memory().bfloat16(),
        "w": noise(4, 4),
    }
    safetensors(here / "state.safetensors", tensors)
    rows = asked(capsys, "state.safetensors")
    assert [row["name"] for row in rows] == ["a.exp_avg", "b.exp_avg"]
    for row in rows:
        beside_an_svd(row, tensors[row["name"]], "jordan")
    safetensors(here / "bad.safetensors", tensors, shape=[5, 5])
    assert_refused(capsys, ["bad.safetensors"], ["bad.safetensors", "a.exp_avg", "[5, 5]"])


def test_split_heads_and_the_other_half(here, capsys):
    first, second = noise(48, 32), noise(48, 32)
    torch.save({"blocks.qkv": first + second, "out": first}, "one.pt")
    torch.save({"blocks.qkv": first - second, "out": first, "more": first}, "two.pt")
    rows = asked(capsys, "one.pt", "--split", "qkv=3", "--heads", "qkv=2", "--other", "two.pt")
    assert [row["name"] for row in rows] == [f"blocks.qkv[{i}]" for i in range(6)] + ["out"]
    assert rows[6]["signal"] == pytest.approx(1) and abs(rows[0]["signal"]) < 0.3 and "±" in rows[0]["note"]
    assert asked(capsys, "one.pt", "--split", "qkv=16,24,8")[1]["shape"] == [24, 32]
    assert all(row["signal"] is None for row in asked(capsys, "one.pt", "--heads", "4"))
    assert main(["doctor", "one.pt", "--split", "qkv=3", "--other", "two.pt"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(r"Signal, what .* median -?0\.\d\d; least blocks\.qkv\[\d\], -?0\.\d\d \(± 0\.\d+\)", said)
    assert main(["doctor", "one.pt", "--all"]) == 0 and "Signal" not in capsys.readouterr().out


def assert_refused(capsys, arguments, words):
    try:
        status = main(["doctor", *arguments])
    except SystemExit as stopped:
        status = stopped.code
    said = capsys.readouterr()
    assert status == 2 and said.out == "" and all(word in said.err.splitlines()[-1] for word in words), said.err
    assert "Traceback" not in said.err and said.err.count("\n") == 1
    return said.err.rstrip("\n")


class Harm:
    def __reduce__(self):
        return (open, ("harm.txt", "w"))


def test_bad_input_is_one_line_and_nothing_of_a_pickle_is_run(here, capsys):
    torch.save({"x": Harm()}, "harm.pt")
    torch.save({"good": noise(10, 8)}, "good.pt")
    torch.save({"good": noise(10, 6)}, "other.pt")
    torch.save({"bias": noise(10), "step": 3}, "empty.pt")
    (here / "cut.pt").write_bytes((here / "good.pt").read_bytes()[:700])
    (here / "text.pt").write_text("no checkpoint\n" * 50)
    (here / "nothing.pt").write_bytes(b"")
    (here / "nothing.safetensors").write_bytes(b"")
    (here / "wild.safetensors").write_bytes(b"\xff" * 64)
    for arguments, words in [
        (["harm.pt"], ["harm.pt", "no tensor"]),
        (["cut.pt"], ["cut.pt", "cannot be read", "cut off"]),
        (["text.pt"], ["text.pt", "cannot be read"]),
        (["nothing.pt"], ["nothing.pt", "cannot be read"]),
        (["nothing.safetensors"], ["nothing.safetensors"]),
        (["wild.safetensors"], ["wild.safetensors", "header"]),
        (["absent.pt"], ["absent.pt"]),
        (["absent.safetensors"], ["absent.safetensors"]),
        (["."], ["."]),
        (["empty.pt"], ["empty.pt", "two dimensions"]),
        (["good.pt", "--schedule", "zolotarev"], ["--schedule must", "'zolotarev'", "'jordan'"]),
        (["good.pt", "--split", "good=3"], ["good.pt", "good", "(10, 8)", "split", "3"]),
        (["good.pt", "--split", "qkv=3"], ["--split", "'qkv'", "good"]),
        (["good.pt", "--split", "good=x"], ["--split", "'good=x'"]),
        (["good.pt", "--heads", "2,3"], ["--heads", "'2,3'"]),
        (["good.pt", "--other", "other.pt"], ["other.pt", "good", "(10, 8)", "(10, 6)"]),
        (["good.pt", "--other", "empty.pt"], ["empty.pt"]),
        (["good.pt", "good.pt", "--other", "good.pt"], ["--other", "one file"]),
        (["good.pt", "good.pt", "good.pt"], ["one file, or two", "got 3"]),
        (["good.pt", "--lr"], ["--lr", "two files", "got 1"]),
        (["good.pt", "--reach", "-1"], ["reach", "-1"]),
        (["good.pt", "--plot"], ["--plot"]),
        ([], ["FILE"]),
    ]:
        assert_refused(capsys, arguments, words)
    assert not (here / "harm.txt").exists()


@pytest.mark.process
def test_the_command_runs_from_the_shell(here):
    torch.save(trained(named=True).state_dict(), "state.pt")
    run = [sys.executable, "-m", "amemlib", "doctor", "state.pt", "--json"]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 0 and [row["name"] for row in json.loads(done.stdout)] == [
        "layer0.weight",
        "layer1.weight",
    ]


@pytest.mark.process
def test_an_interrupt_is_one_line(here):
    """While torch is imported too."""
    import signal
    import time

    one = noise(1500, 1500)
    torch.save({str(i): one for i in range(40)}, "large.pt")
    for pause in (1.0, 4.0):
        command = [sys.executable, "-m", "amemlib", "doctor", "large.pt"]
        run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        time.sleep(pause)
        run.send_signal(signal.SIGINT)
        said = run.communicate()[1].splitlines()
        assert run.returncode == 130 and said[-1] == "amemlib: interrupted" and "Traceback" not in said


# what people have


def muon_state(steps=5, **more):
    """As torch.optim.Muon writes it, by hand, for an older torch has none."""
    group = {"lr": 0.1, "ns_coefficients": (3.4445, -4.775, 2.0315), "eps": 1e-7, "ns_steps": steps} | more
    return {"state": {0: {"momentum_buffer": STEEP}}, "param_groups": [group | {"params": [0]}]}


STEEP = memory(48).float()


class Counter:
    def __init__(self, **state):
        self.__dict__.update(state)


def test_what_else_a_checkpoint_holds_is_data_and_nothing_of_it_is_run(here, capsys):
    extras = {
        "best": np.float64(1.5),
        "args": argparse.Namespace(lr=0.1),
        "path": pathlib.PurePosixPath("x"),
        "by_name": collections.defaultdict(list, a=[1]),
        "ordered": collections.OrderedDict(a=1),
        "random": np.random.default_rng(0).bit_generator.state["state"],
        "array": np.arange(3),
        "own": Counter(step=3),
        "rotary": torch.ones(2, 2, dtype=torch.complex64),
        "set": {1, 2},
        "harm": Harm(),
    }
    torch.save(extras | {"optimizer": muon_state()}, "extras.pt")
    (row,) = asked(capsys, "extras.pt")
    beside_an_svd(row, STEEP, "jordan")
    torch.save(extras, "old.pt", _use_new_zipfile_serialization=False)
    assert_refused(capsys, ["old.pt"], ["old.pt", "before 1.6"])
    assert not (here / "harm.txt").exists()


@pytest.mark.parametrize("depth", [0, 1])
def test_no_opcode_of_a_pickle_runs_anything(here, capsys, depth):
    """GLOBAL, REDUCE, INST, OBJ, NEWOBJ and BUILD, of functions that are on the list too."""
    state = pickle.dumps({"w": np.ones((4, 4))}, 2)[2:-1]
    for code in (
        b"cos\nsystem\n(S'touch harm.txt'\ntR",
        b"(S'touch harm.txt'\nios\nsystem\n",
        b"(cos\nsystem\nS'touch harm.txt'\no",
        b'cbuiltins\neval\n(S\'open("harm.txt", "w")\'\ntR',
        b"cbuiltins\ngetattr\n(cos\nsystem\nS'__call__'\ntR(S'touch harm.txt'\ntR",
        b"ctorch._utils\n_rebuild_parameter\n}(S'__call__'\ncos\nsystem\nub",
    ):
        code = code + (b"0" if depth else b"")
        (here / "harm.pkl").write_bytes(b"\x80\x02" + (code + state if depth else b"(" + code + state + b"t") + b".")
        assert len(asked(capsys, "harm.pkl")) == 1 and not (here / "harm.txt").exists()


def test_the_schedule_and_the_cuts_are_those_of_the_file(here, capsys):
    median = np.median(torch.linalg.svdvals(STEEP.double())) / STEEP.double().norm().item()
    for steps, name in ((4, "jordan × 4"), (5, "jordan"), (8, "jordan × 8")):
        torch.save(muon_state(steps), "state.pt")
        (row,) = asked(capsys, "state.pt")
        assert row["reach"] == {name: pytest.approx(3.4445**steps * median, rel=1e-6)}
        assert main(["doctor", "state.pt"]) == 0 and f"{name}, from the file" in capsys.readouterr().out
    assert list(asked(capsys, "state.pt", "--schedule", "cans")[0]["reach"]) == ["cans"]
    assert list(asked(capsys, "state.pt", "--schedule", "jordan x 6")[0]["reach"]) == ["jordan × 6"]
    optimizer = am.Muon([torch.nn.Parameter(torch.zeros(48, 32))], schedule="deepseekv4", split=3, heads=2)
    optimizer.param_groups[0]["params"][0].grad = noise(48, 32)
    optimizer.step()
    torch.save(optimizer.state_dict(), "ours.pt")
    rows = asked(capsys, "ours.pt")
    assert len(rows) == 6 and all(list(row["reach"]) == ["deepseekv4"] for row in rows)
    assert len(asked(capsys, "ours.pt", "--split", "3", "--heads", "1")) == 3
    for lost in ("schedule", "ns_coefficients"):
        # as torch's own classes write a group of ours, and ours a function
        state = optimizer.state_dict()
        state["param_groups"][0] |= {"schedule": None} if lost == "schedule" else {}
        state["param_groups"][0].pop("schedule" if lost == "ns_coefficients" else "lr")
        torch.save(state, "lost.pt")
        assert main(["doctor", "lost.pt"]) == 0 and "jordan, assumed, for the file" in capsys.readouterr().out
    assert [row["shape"] for row in asked(capsys, "ours.pt", "--split", "cols:8,24", "--heads", "1")] == [
        [48, 8],
        [48, 24],
    ]


def test_a_state_without_a_momentum_is_no_file_of_weights(here, capsys):
    weights = {"w": noise(8, 8)}
    for state, words in (
        ({0: {"m": noise(8, 8), "v": noise(8, 8)}}, ["found m, v", "--key"]),
        ({}, ["before its first step"]),
        ({0: {"momentum_buffer": None}}, ["before its first step"]),
        ({0: {"exp_avg": noise(8, 8), "exp_avg_sq": noise(8, 8)}}, ["1 matrices of Adam's"]),
        ({0: {"momentum_buffer": noise(64)}}, ["1 vectors"]),
    ):
        torch.save({"model": weights, "optimizer": {"state": state, "param_groups": [{"params": [0]}]}}, "x.pt")
        assert len(assert_refused(capsys, ["x.pt"], ["x.pt", *words])) <= 80
    torch.save({"model": weights, "opt": {"state": {0: {0: {"m": noise(8, 8)}}}, "param_groups": [{}]}}, "x.pt")
    assert len(asked(capsys, "x.pt", "--key", "m")) == 1


def test_every_momentum_has_a_row_or_is_counted(here, capsys):
    group = {"params": [0, 1], "param_names": ["weight", "weight"]}
    twice = {"state": {k: {"momentum_buffer": noise(8, 8)} for k in (0, 1)}, "param_groups": [group]}
    for tree, names in (
        (twice, ["weight (1)", "weight (2)"]),
        ({"optimizer": twice}, ["optimizer.weight (1)", "optimizer.weight (2)"]),
        ({1: noise(8, 8), "1": noise(8, 8)}, ["1 (1)", "1 (2)"]),
        ({"a": {"b": noise(8, 8)}, "a.b": noise(8, 8)}, ["a.b (1)", "a.b (2)"]),
    ):
        torch.save(tree, "x.pt")
        assert [row["name"] for row in asked(capsys, "x.pt")] == names
    twice["state"][1]["momentum_buffer"] = torch.ones(8, 8, dtype=torch.int8)
    twice["state"][2] = {"momentum_buffer": torch.quantize_per_tensor(noise(8, 8), 0.1, 0, torch.qint8)}
    twice["state"][3] = {"momentum_buffer": torch.zeros(1).expand(10**7, 32, 32)}
    torch.save(twice, "x.pt")
    assert main(["doctor", "x.pt"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "1 int8" in said and "1 qint8" in said and "1 stored numbers expanded" in said


def test_numbers_get_names_from_the_model_where_shapes_tell_them(here, capsys):
    model = {"a.weight": noise(8, 6), "a.bias": noise(8), "b.weight": noise(6, 8), "c.weight": noise(8, 6)}
    state = {i: {"momentum_buffer": noise(*shape)} for i, shape in enumerate([(8, 6), (6, 8), (8, 6)])}
    optimizer = {"state": state, "param_groups": [{"params": [0, 1, 2]}]}
    torch.save({"model": model, "optimizer": optimizer}, "x.pt")
    assert sorted(row["name"] for row in asked(capsys, "x.pt")) == ["a.weight", "b.weight", "c.weight"]
    torch.save({"model": model | {"d": noise(8, 6)}, "optimizer": optimizer}, "x.pt")
    assert [row["name"] for row in asked(capsys, "x.pt")] == ["optimizer.0", "b.weight", "optimizer.2"]
    assert main(["doctor", "x.pt"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Names: 1 of 3 by shape and order from the model beside it." in said
    torch.save({"optimizer": optimizer}, "x.pt")
    assert main(["doctor", "x.pt"]) == 0 and "Names:" not in capsys.readouterr().out


def test_a_folder_of_torchs_distributed_checkpoint(here, capsys):
    import torch.distributed.checkpoint as checkpoint

    tree = {"model": {"a.weight": noise(48, 48)}, "optim": muon_state(6)}
    tree["optim"]["state"] = {"a.weight": tree["optim"]["state"][0]}
    tree["optim"]["param_groups"][0]["params"] = ["a.weight"]
    checkpoint.save(tree, checkpoint_id="folder", no_dist=True)
    (row,) = asked(capsys, "folder")
    assert row["name"] == "a.weight" and list(row["reach"]) == ["jordan × 6"]
    assert row["shape"] == [48, 48] and row["lift"] == am.diagnose({"": STEEP}, {"jordan × 6": row_table(6)})[0].lift


def row_table(steps):
    return am.spectral.SCHEDULES["jordan"][:1] * steps


def test_other_folders(here, capsys):
    for name in ("checkpoint-3", "empty", "orbax"):
        (here / name).mkdir()
    torch.save(muon_state(), "checkpoint-3/optimizer.pt")
    torch.save({"_": Harm()}, "checkpoint-3/training_args.bin")
    safetensors(here / "checkpoint-3" / "model.safetensors", {"h.0.weight": noise(48, 48)})
    (row,) = asked(capsys, "checkpoint-3")
    assert row["name"] == "h.0.weight"
    assert_refused(capsys, ["empty"], ["empty", "nothing"])
    (here / "orbax" / "_CHECKPOINT_METADATA").write_text("{}")
    assert_refused(capsys, ["orbax"], ["orbax"])


def packed(value):
    """MessagePack by its specification, as flax.serialization.msgpack_serialize has it."""
    if isinstance(value, dict):
        return bytes([0x80 + len(value)]) + b"".join(packed(k) + packed(v) for k, v in value.items())
    if isinstance(value, str):
        return bytes([0xD9, len(value)]) + value.encode()
    if isinstance(value, bytes):
        return b"\xc6" + struct.pack(">I", len(value)) + value
    if isinstance(value, int):
        return b"\xcd" + struct.pack(">H", value)
    if isinstance(value, tuple):
        return bytes([0x90 + len(value)]) + b"".join(map(packed, value))
    inside = packed((tuple(value.shape), str(value.dtype)[6:], value.view(torch.uint8).numpy().tobytes()))
    return b"\xc9" + struct.pack(">I", len(inside)) + b"\x01" + inside


def test_states_of_optax(here, capsys, monkeypatch):
    M = memory(48).float()
    np.savez("x.npz", **{"mu/w": M.numpy(), "nu/w": M.numpy() ** 2, "count": np.int32(3), "config": np.array([{}])})
    torch.save({"a/mu/w": M, "a/nu/w": M**2}, "flat.pt")
    table = torch.tensor(am.spectral.SCHEDULES["you"])
    state = {"0": {"count": 7, "mu": {"dense": {"kernel": M}}, "ns_coeffs": table}}
    state["1"] = {"mu": {"e": M.bfloat16()}, "nu": {"e": M.bfloat16()}}
    (here / "x.msgpack").write_bytes(packed(state))
    for file, name, schedule in (("x.npz", "w", "jordan"), ("flat.pt", "w", "jordan")):
        (row,) = asked(capsys, file)
        assert row["name"] == name and len(row["reach"]) == 1
        beside_an_svd(row, M, schedule)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "msgpack", None)
        assert_refused(capsys, ["x.msgpack"], ["x.msgpack", "pip install msgpack"])
    pytest.importorskip("msgpack")
    (row,) = asked(capsys, "x.msgpack")
    assert row["name"] == "dense.kernel" and list(row["reach"]) == ["you"]
    beside_an_svd(row, M, "you")
    (here / "cut.msgpack").write_bytes(packed(state)[:-9])
    assert_refused(capsys, ["cut.msgpack"], ["cut.msgpack", "cannot be read"])


def test_a_shard_says_that_it_is_one(here, capsys):
    from amemlib.training.unpickling import Inert, _of_class

    local, kind = noise(4, 8), type("Inert", (Inert,), {"origin": "torch.distributed.tensor.DTensor"})
    made = lambda: torch.empty(8, 8, device="meta")
    assert "shard (4, 8) of (8, 8)" in _of_class(made, kind, (), {"_local_tensor": local}).reason
    assert _of_class(lambda: torch.empty(4, 8, device="meta"), kind, (), ({"_local_tensor": local}, None)) is local


def test_stacks_convolutions_and_vectors(here, capsys):
    tensors = {"stack": noise(2, 3, 32, 64), "kernel": noise(40, 3, 128), "hwio": noise(3, 3, 16, 32)}
    torch.save(tensors | {"stft": noise(24, 1, 256), "scale": noise(96, 1), "bias": noise(8)}, "x.pt")
    shapes = lambda *more: [tuple(row["shape"]) for row in asked(capsys, "x.pt", *more)]
    assert shapes("--names", "stack", "--stack") == [(32, 64)] * 6
    assert shapes("--names", "kernel", "--conv", "oihw") == [(40, 384)]
    assert shapes("--names", "hw*", "--conv", "hwio") == [(32, 144)]
    assert shapes("--names", "stft") == [(24, 256)]
    assert main(["doctor", "x.pt", "--names", "st", "--all"]) == 0 and "2 vectors" in capsys.readouterr().out
    assert_refused(capsys, ["x.pt", "--names", "absent"], ["x.pt", "absent"])


# what it says


def test_the_verdict_comes_first_and_worst_first(here, capsys):
    steep = torch.diag(torch.logspace(0, -6, 48))
    bad = noise(48, 48)
    bad[3, 4] = np.nan
    state = {
        "low": steep,
        "bad": bad,
        "small": noise(48, 48) * 1e-12,
        "zero": torch.zeros(48, 48),
        "fine": noise(48, 48),
    }
    group = muon_state()["param_groups"][0] | {"params": list(state)}
    torch.save({"state": {k: {"momentum_buffer": M} for k, M in state.items()}, "param_groups": [group]}, "x.pt")
    assert main(["doctor", "x.pt", "--all"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("BROKEN: 2 of 5") and max(map(len, lines)) <= 80
    heads = [line for line in lines if line[:2] in ("1.", "2.", "3.")]
    norm = state["small"].norm().item() / 1e-7
    assert heads[0].endswith(": bad") and f"small ‖M‖/ε = {norm:.1g}" in " ".join(" ".join(lines).split())
    assert ["bad" in heads[0], "small" in " ".join(lines), "low" in heads[2]] == [True] * 3
    assert sum(line.lstrip().startswith("paste") for line in lines) == 3
    assert sum("1 zero" in line for line in lines) == 1
    assert main(["doctor", "x.pt", "--names", "fine"]) == 0
    assert capsys.readouterr().out.startswith("Nothing to do with these momenta: the middle reach of 1 is 5")
    assert main(["doctor", "x.pt", "--names", "low", "fine"]) == 0
    said = capsys.readouterr().out
    assert (
        said.startswith("Look: the middle reach of 2 is 0.3") and "g in muon.param_groups: g.update(ns_steps=7)" in said
    )


def reaching(reach, k=48):
    """A momentum whose median direction five steps bring to this reach: one loud one, and a crowd below it."""
    quiet = reach / math.sqrt(484.876287**2 - (k - 1) * reach**2)
    return torch.diag(torch.tensor([1.0, *[quiet] * (k - 1)]))


@pytest.mark.parametrize(
    ("reach", "more"),
    [(4.0, 0), (1.5, 0), (0.91, 0), (0.89, 2), (0.27, 2), (0.25, 3), (0.14, 3), (0.09, 3), (0.07, None)],
)
def test_the_line_to_paste_is_that_of_the_chapters_table_and_brings_the_reach_to_3(here, capsys, reach, more):
    chapter = (pathlib.Path(__file__).parents[1] / "chapters" / "practice" / "schedules.md").read_text(encoding="utf-8")
    numbers = {"none": 0, "two": 2, "three": 3}
    rows = re.findall(r"^\| (?:([\d.]+)(?:–[\d.]+)?(?: or more)?|less) \| (\w+|\[.+?\]\(.+?\)) \|", chapter, re.M)
    told = [(float(least or 0), numbers.get(word)) for least, word in rows]
    assert [least for least, _ in told] == [3, 0.9, 0.26, 0.08, 0]
    assert next(steps for least, steps in told if reach >= least) == more
    state = muon_state()
    state["state"][0]["momentum_buffer"] = reaching(reach)
    torch.save(state, "x.pt")
    assert main(["doctor", "x.pt"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("Nothing to do" if more == 0 else "Look: the middle reach")
    assert ("Between 0.9 and 3" in said) == (0.9 <= reach < 3)
    if more == 0:
        assert "paste" not in said
        return
    line = re.search(r"paste (.+?) when ", said)[1]
    muon = torch.optim.Muon([torch.nn.Parameter(torch.zeros(48, 48))], lr=0.02)
    here = {"torch": torch, "am": am, "muon": muon}
    exec(line, here)
    muon, (group,) = here["muon"], here["muon"].param_groups
    muon.param_groups[0]["params"][0].grad = reaching(reach)
    muon.step()
    assert group["lr"] == 0.02
    # beyond seven steps bfloat16 loses what they gain
    assert (group.get("ns_dtype") == torch.float32) == (more != 2)
    torch.save(muon.state_dict(), "x.pt")
    (row,) = asked(capsys, "x.pt")
    if more:
        assert list(row["reach"]) == [f"jordan × {5 + more}"]
    assert next(iter(row["reach"].values())) > 3
    assert main(["doctor", "x.pt"]) == 0 and capsys.readouterr().out.startswith("Nothing to do")


def test_a_few_low_matrices_among_others_have_no_line_to_paste(here, capsys):
    """A run was judged by its middle reach, the lower of two."""
    group = muon_state()["param_groups"][0] | {"params": [*range(4)]}
    for low, middle in ((1, "4"), (2, "0.14")):
        state = {i: {"momentum_buffer": reaching(0.14 if i < low else 4.0)} for i in range(4)}
        torch.save({"state": state, "param_groups": [group]}, "x.pt")
        assert main(["doctor", "x.pt"]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert (
            said.startswith(f"Look: the middle reach of 4 is {middle}; weakest 0, 0.14.") and f"1. {low} reach" in said
        )
        assert ("paste" in said) == (low == 2) and ("not measured: losses were compared" in said) == (low == 1)


@pytest.mark.parametrize(("reach", "float32"), [(0.5, False), (0.14, True), (0.01, True)])
def test_ours_is_given_the_cheapest_schedule_that_reaches_3(here, capsys, reach, float32):
    muon = am.Muon([torch.nn.Parameter(torch.zeros(48, 48))], lr=0.02)
    muon.param_groups[0]["params"][0].grad = reaching(reach)
    muon.step()
    torch.save(muon.state_dict(), "x.pt")
    assert main(["doctor", "x.pt"]) == 0
    line = re.search(r"paste (.+?) when ", " ".join(capsys.readouterr().out.split()))[1]
    exec(line, {"torch": torch, "am": am, "muon": muon})
    assert (muon.param_groups[0]["ns_dtype"] == torch.float32) == float32
    muon.step()
    torch.save(muon.state_dict(), "x.pt")
    (after,) = asked(capsys, "x.pt")[0]["reach"].values()
    assert after > 3 or after == pytest.approx(79262.8 / 484.876 * reach, rel=1e-3)
    assert main(["doctor", "x.pt"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Nothing to do") or "no published schedule reaches farther" in said


def test_a_file_of_a_later_step_is_told_so(here, capsys):
    for step in (100, 400, 401):
        torch.save({"state": {"w": {"momentum_buffer": reaching(4.0)}}, "param_groups": [], "step": step}, "x.pt")
        assert main(["doctor", "x.pt"]) == 0
        assert ("a reach grows" in capsys.readouterr().out) == (step > 400)


def test_a_schedule_of_three_steps_is_broken(here, capsys):
    torch.save(muon_state(3), "x.pt")
    assert main(["doctor", "x.pt"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("BROKEN") and "g.update(ns_steps=5)" in said


def test_a_momentum_below_epsilon_is_lifted_as_a_step_lifts_it():
    M = noise(96, 64) * 1e-10
    row = am.diagnose(M)
    O = torch.nn.functional.normalize(M.double().flatten(), dim=0).view(96, 64) * (M.double().norm() / 1e-7)  # noqa: E741
    for a, b, c in am.spectral.SCHEDULES["jordan"]:
        A = O @ O.mT
        O = a * O + (b * A + c * A @ A) @ O  # noqa: E741
    assert row.lift["jordan"] == pytest.approx(O.square().sum().item() / 64, rel=1e-6) and "below ε" in row.note
    assert am.diagnose(M, eps=1e-30).lift["jordan"] == pytest.approx(am.diagnose(M * 1e10).lift["jordan"])


def test_two_checkpoints_tell_whether_a_step_was_muons(here, capsys):
    W, M = noise(48, 32), low_rank(3, 48)[:, :32] + 0.05 * noise(48, 32)
    O = am.polar(M).float()  # noqa: E741
    for step, flat, status in ((O, 1.0, 0), (M / M.norm() * 32**0.5, None, 1)):
        for name, w in (("before.pt", W), ("after.pt", W - 0.02 * step)):
            state = {"state": {0: {"momentum_buffer": M}}, "param_groups": [{"params": [0], "param_names": ["w"]}]}
            torch.save({"model": {"w": w}, "optimizer": state}, name)
        assert main(["doctor", "before.pt", "after.pt", "--lr", "0.02", "--json"]) == status
        (row,) = json.loads(capsys.readouterr().out)
        s = torch.linalg.svdvals(step.double())
        assert row["size"] == pytest.approx(1, rel=1e-3)
        assert row["flatness"] == pytest.approx((s.square().sum() / (32 * s[0] ** 2)).item(), rel=1e-2)
        assert flat is None or row["flatness"] == pytest.approx(flat, rel=1e-3)
    assert main(["doctor", "before.pt", "after.pt", "--lr", "0.02"]) == 1
    assert capsys.readouterr().out.startswith("BROKEN: 1 of 1 steps")


class Skipped(am.Muon):
    """Whose steps are its momenta, as where nothing is orthogonalised."""

    def _step_group(self, group, params):
        super()._step_group(group | {"schedule": lambda M: M / M.norm() / 20}, params)


class Net(torch.nn.Module):
    """Four pairs of matrices of two shapes for Muon, an embedding of one of these shapes, and what is no matrix."""

    def __init__(self):
        super().__init__()
        for i in range(4):
            self.register_parameter(f"up{i}", torch.nn.Parameter(noise(48, 32)))
            self.register_parameter(f"mix{i}", torch.nn.Parameter(noise(32, 32)))
        self.embedding, self.gain = torch.nn.Parameter(noise(48, 32)), torch.nn.Parameter(noise(32))
        self.register_buffer("mask", torch.ones(4, 4, dtype=torch.int32))


def two_checkpoints(kind, named, lr=0.02, after=lambda state: state):
    net = Net()
    pairs = [(name, p) for name, p in net.named_parameters() if name[:-1] in ("up", "mix")]
    muon = kind(pairs if named else [p for _, p in pairs], lr=lr)
    adam = torch.optim.AdamW([net.embedding, net.gain], lr=1e-3)
    for t, file in enumerate(("before.pt", "after.pt")):
        for p in net.parameters():
            p.grad = noise(*p.shape)
        # the embedding's step is not orthogonal, and none of Muon's
        net.embedding.grad[:, 1:] = 0
        muon.step(), adam.step()
        state = {"model": net.state_dict(), "optimizers": [muon.state_dict(), adam.state_dict()]}
        torch.save(after(state) if t else state, file)


@pytest.mark.parametrize("named", [True, False])
def test_every_matrix_of_two_checkpoints_has_a_row_or_is_counted(here, capsys, named):
    compare = ["doctor", "before.pt", "after.pt", "--lr", "0.02"]
    two_checkpoints(Skipped, named)
    assert main([*compare, "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)
    faulty = {row["name"] for row in rows if row["fault"] == "this step is not orthogonal"}
    names = {f"{kind}{i}" for kind in ("up", "mix") for i in range(4)}
    # of five that have a shape of four momenta one moved along none of them
    assert faulty == names
    # the steps are as flat as noise is, and only their size tells
    assert all(0.2 < row["flatness"] < 0.5 and row["size"] < 0.05 for row in rows if row["name"] != "embedding")
    assert main(compare) == 1
    said = capsys.readouterr().out
    assert said.startswith("BROKEN: 8 of 8 steps") and "1 int32" in said
    assert max(map(len, said.splitlines())) <= 80
    assert "With Adam's state: embedding." in said
    two_checkpoints(am.Muon, named)
    assert main(compare) == 0 and capsys.readouterr().out.startswith("8 steps")
    assert main([*compare[:-1], "0.002"]) == 0 and "longer than momentum" in " ".join(capsys.readouterr().out.split())


def test_matrices_that_two_checkpoints_do_not_share_are_counted(here, capsys):
    def changed(state):
        model = state["model"]
        return state | {"model": model | {"mix0": noise(4, 4), "more": model.pop("mix1")}}

    two_checkpoints(am.Muon, True, after=changed)
    assert main(["doctor", "before.pt", "after.pt", "--lr", "0.02"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("6 steps") and "2 in one of the files" in said and "1 of two shapes" in said


def compared(capsys, *arguments):
    """Exit status, and what is said of before.pt and after.pt in one line."""
    status = main(["doctor", "before.pt", "after.pt", *arguments])
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 80
    return status, " ".join(said.split())


def saved(M, step, **group):
    """before.pt and after.pt, a step of W at the rate 0.02 apart, beside the momentum M."""
    W, group = noise(*M.shape), {"params": ["w"], "lr": 0.02, "ns_steps": 5, "eps": 1e-7} | group
    optimizer = {"state": {"w": {"momentum_buffer": M}}, "param_groups": [group]}
    for file, w in (("before.pt", W), ("after.pt", W - 0.02 * step)):
        torch.save({"model": {"w": w}, "optimizer": optimizer}, file)


@pytest.mark.parametrize("eps, size", [(1e-7, 1e-9), (1.0, 0.1)])
def test_two_files_call_a_momentum_below_epsilon_broken(here, capsys, eps, size):
    M = noise(48, 48)
    M = size * M / M.norm()
    saved(M, am.schedule("jordan", eps=eps, ns_dtype=torch.float32)(M), eps=eps)
    status, said = compared(capsys, "--lr")
    assert status == 1 and said.startswith("BROKEN: 1 of 1 momenta; first w.") and "Nothing to do" not in said
    default = "ε is 1 here, and 1e-07 by default" in said and "g.update(eps=1e-07)" in said
    assert default == (eps == 1)


def test_two_files_call_what_is_not_finite_broken(here, capsys):
    for M in (noise(48, 48), noise(48, 48) * np.nan):
        saved(M, noise(48, 48) * np.nan)
        status, said = compared(capsys, "--lr")
        assert status == 1 and said.startswith("BROKEN: 1 of 1") and "this step is not finite: w" in said


def test_two_files_call_no_step_orthogonal_that_is_less_flat_than_its_rule(here, capsys):
    """One step of Jordan's, low rank, and a momentum of the length that its steps have."""
    once, full = (am.schedule(am.spectral.SCHEDULES["jordan"][:n], ns_dtype=torch.float32) for n in (1, 5))
    steep, gentle = (torch.diag(torch.logspace(0, least, 48)) for least in (-2, -0.6))
    low = low_rank(8, 64)
    for M, step, steps, start, words in (
        (steep, once(steep), 1, "BROKEN: 1 of 1 momenta; first w.", "less flat than an orthogonal one"),
        (low, full(low), 5, "1 steps are as their momenta make them", "1 less flat than an orthogonal one"),
        (gentle, gentle / gentle.norm() * full(gentle).norm(), 5, "Look: 1 of 1 steps", "less flat than schedule and"),
    ):
        saved(M, step, ns_steps=steps)
        status, said = compared(capsys, "--lr")
        assert status == (steps == 1) and said.startswith(start) and words in said, said
        assert "are orthogonal" not in said
    saved(steep, full(steep) / 50, ns_steps=5)
    status, said = compared(capsys, "--lr")
    assert status == 1 and "shorter than momentum and rate say: clipped" in said and "not orthogonal:" not in said
    saved(steep, full(steep) / 4, ns_steps=5)
    assert compared(capsys, "--lr")[0] == 0
    saved(gentle, full(gentle))
    assert compared(capsys, "--lr")[1].startswith("1 steps are orthogonal")
    saved(gentle, 0 * gentle)
    assert_refused(capsys, ["before.pt", "after.pt", "--lr"], ["have the same weights: no step lies between them"])


def test_one_file_says_that_it_holds_no_step(here, capsys):
    torch.save({"state": {"w": {"momentum_buffer": noise(8, 8)}}, "param_groups": []}, "x.pt")
    assert main(["doctor", "x.pt"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("Nothing to do with these momenta: the middle reach of 1 is ") and "; weakest w, " in said
    assert "One file cannot see whether a step is orthogonalized, two around it can: doctor BEFORE AFTER --lr." in said


def test_zero_momenta_of_a_later_step_and_what_is_no_hidden_matrix_are_named(here, capsys):
    M = torch.zeros(48, 48)
    torch.save({"state": {"w": {"momentum_buffer": M}}, "param_groups": [], "step": 104}, "x.pt")
    assert main(["doctor", "x.pt"]) == 0
    assert capsys.readouterr().out.startswith("Look: all 1 momenta are zero in step 104: they were reset")
    saved(M, am.polar(noise(48, 48)).float())
    assert (
        "Look: 1 of 1 steps are not as they should be. 1. the momentum of this step is zero: w"
        in compared(capsys, "--lr")[1]
    )
    for name, words in (("embed.weight", True), ("lm_head.weight", True), ("blocks.0.heads.weight", False)):
        torch.save({"state": {name: {"momentum_buffer": noise(48, 48)}}, "param_groups": []}, "x.pt")
        assert main(["doctor", "x.pt"]) == 0
        assert (f"{name}: give AdamW embeddings and the head" in " ".join(capsys.readouterr().out.split())) == words


def test_findings_do_not_paste_against_each_other(here, capsys):
    falls = {f"w{i}": torch.diag(torch.logspace(0, -i, 48)) for i in (1, 2, 3)}
    for group, words in (
        ({"ns_steps": 1}, "g.update(ns_steps=5)"),
        ({"ns_steps": 5, "ns_coefficients": (1.5, -0.5, 0.0)}, "g.update(ns_coefficients=(3.4445, -4.775, 2.0315), "),
    ):
        group = muon_state()["param_groups"][0] | group | {"params": list(falls)}
        torch.save({"state": {k: {"momentum_buffer": M} for k, M in falls.items()}, "param_groups": [group]}, "x.pt")
        assert main(["doctor", "x.pt"]) == 1
        said = " ".join(capsys.readouterr().out.split())
        assert (
            "hardly orthogonalized by a schedule this short" in said and said.count("paste") == said.count(words) == 1
        )
        assert "in place of (1.5, -0.5, 0)" in said or "ns_coefficients" not in group or group["ns_steps"] == 1


@pytest.mark.parametrize("kind", [am.Muon, getattr(torch.optim, "Muon", am.Muon)])
def test_a_wrong_rate_is_said_and_the_files_own_is_taken(here, capsys, kind):
    two_checkpoints(kind, True)
    for lr in ("0.02", "0.0201"):
        status, said = compared(capsys, "--lr", lr)
        assert status == 0 and said.startswith("8 steps") and "store" not in said
    status, said = compared(capsys, "--lr", "0.04")
    assert status == 0 and said.startswith("Look: 8 of 8 steps") and "1. this step is not of the size" in said
    assert "--lr is 0.04, but the files store 0.02." in said
    status, said = compared(capsys, "--lr")
    assert (
        status == 0
        and said.startswith("8 steps")
        and "The rate is that of before.pt: 0.02; other groups have 0.001." in said
    )
    assert "stores" not in said
    before = torch.load("before.pt")
    before["optimizers"][0]["param_groups"][0]["lr"] = 0.03
    torch.save(before, "before.pt")
    # saved before its scheduler or after it: the rate whose steps have its size
    said = compared(capsys, "--lr")[1]
    assert "The rate is that of after.pt: 0.02; other groups have 0.001. before.pt stores 0.03: --lr X says" in said
    # what says that a step is Muon's is the rule that is applied
    assert "a flatness of 0.3 or more, or of a third of the lift" in said


def test_parts_that_fail_may_be_of_an_optimizer_that_does_not_cut(here, capsys):
    W, M = noise(96, 64), torch.cat([noise(32, 64), 1e-3 * noise(32, 64), 1e-3 * noise(32, 64)])
    state = {"state": {"qkv": {"momentum_buffer": M}}, "param_groups": [{"params": ["qkv"]}]}
    O = M / M.norm()  # noqa: E741
    for a, b, c in am.spectral.SCHEDULES["jordan"]:
        A = O @ O.mT
        O = a * O + (b * A + c * A @ A) @ O  # noqa: E741
    torch.save({"model": {"qkv": W}, "optimizer": state}, "before.pt")
    torch.save({"model": {"qkv": W - 0.02 * 1.5**0.5 * O}, "optimizer": state}, "after.pt")
    assert "does not cut" not in compared(capsys, "--lr", "0.02")[1]
    assert "or your optimizer does not cut it: qkv[1]" in compared(capsys, "--lr", "0.02", "--split", "qkv=3")[1]


def test_a_momentum_just_below_epsilon_has_one_statement(here, capsys):
    M = noise(48, 48)
    for size, words in ((3e-8, "little yet, for a step still lifts it: a lift of"), (1e-14, "worth a lift of")):
        state = {"w": {"momentum_buffer": M / M.norm() * size}}
        torch.save({"state": state, "param_groups": []}, "x.pt")
        assert main(["doctor", "x.pt", "--all"]) == 1
        said = " ".join(capsys.readouterr().out.split())
        assert words in said and "orthogonaliz" not in said


def test_a_fused_matrix_is_told_its_own_option_and_two_files_are_compared(here, capsys):
    for file in ("before.pt", "after.pt"):
        state = {f"h.{i}.{name}": {"momentum_buffer": noise(*shape)} for i, (name, shape) in enumerate(
            (("attn.qkv", (96, 32)), ("c_attn", (32, 96))))}  # fmt: skip
        state["v"] = {"momentum_buffer": noise(8)}
        torch.save({"state": state, "param_groups": [{"params": list(state), "lr": 0.1}]}, file)
    assert main(["doctor", "before.pt"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Left out: 1 vectors." in said and "--split qkv=3." in said
    assert len(asked(capsys, "before.pt", "--split", "qkv=3")) == 4
    assert main(["doctor", "before.pt", "--names", "c_attn"]) == 0
    said = capsys.readouterr().out
    assert "--split c_attn=cols:3." in " ".join(said.split()) and "Left out: 1 vectors." in said
    two_checkpoints(am.Muon, True)
    assert compared(capsys)[1] == compared(capsys, "--lr")[1]


def test_torchs_line_is_one_that_torch_takes(here, capsys):
    state = muon_state()
    state["state"][0]["momentum_buffer"] = reaching(0.5)
    torch.save(state, "x.pt")
    assert main(["doctor", "x.pt", "--schedule", "you"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    steps, reach = int(said.partition("(ns_steps=")[2][0]), float(said.partition("a reach of")[2].split()[0])
    state["param_groups"][0]["ns_steps"] = steps
    torch.save(state, "x.pt")
    assert next(iter(asked(capsys, "x.pt")[0]["reach"].values())) == pytest.approx(reach, rel=0.05)


@pytest.mark.parametrize("step", [5, 99, 100, None])
def test_before_its_hundredth_step_a_reach_prescribes_nothing(here, capsys, step):
    """Of a schedule of five steps: one step alone is too short whenever it is."""
    steep = torch.diag(torch.logspace(0, -6, 48))
    adam = {"state": {0: {"exp_avg": noise(8), "exp_avg_sq": noise(8), "step": torch.tensor(float(step or 0))}}}
    for steps in (5, 1):
        state = muon_state(steps)
        state["state"][0]["momentum_buffer"] = steep
        torch.save({"muon": state} | ({"adam": adam | {"param_groups": [{"params": [0]}]}} if step else {}), "x.pt")
        status = main(["doctor", "x.pt"])
        said = " ".join(capsys.readouterr().out.split())
        words = (
            "BROKEN: 1" if steps == 1 else f"Early, step {step}: " if step and step < 100 else "Look: the middle reach"
        )
        assert status == (steps == 1) and said.startswith(words), said
        assert ("paste" in said) == ("Early" not in said) and ("Nothing to do yet" in said) == ("Early" in said)
        assert ("when look in steps 100 to 400" in said) == (words.startswith("Look") and step is None)


def with_prefix(names, lr=0.02, others=(), after=None, steps=(7, 8), initial=None):
    """Two checkpoints of blocks whose momenta are named without their prefix, beside AdamW's matrix of their shape."""
    weights = {f"blocks.{i}.{n}.weight": noise(32, 32) for i in (0, 1) for n in "qk"}
    weights |= {name: noise(32, 32) for name in ("pos.weight", *others)}
    momenta = {n: {"momentum_buffer": noise(32, 32)} for n in names}
    group = {"params": [*range(4)], "param_names": [*names], "lr": lr, "weight_decay": 1.0, "ns_steps": 5, "eps": 1e-7}
    group |= {"initial_lr": initial} if initial else {}
    muon = {"state": dict(enumerate(momenta.values())), "param_groups": [group]}
    moved = noise(32, 1) @ noise(1, 32)
    for file, step in zip(("before.pt", "after.pt"), steps, strict=True):
        adam = {"exp_avg": moved, "exp_avg_sq": noise(32, 32) ** 2, "step": torch.tensor(float(step))}
        adam = {"state": {0: adam}, "param_groups": [{"params": [0], "lr": 4e-3}]}
        torch.save({"model": weights, "muon": muon, "adam": adam}, file)
        if after == "same":
            continue
        weights = {**weights, "pos.weight": weights["pos.weight"] - 4e-3 * moved}
        for i, M in enumerate(momenta.values()):
            name = f"blocks.{i // 2}.{'qk'[i % 2]}.weight"
            step = am.schedule("jordan", ns_dtype=torch.float32)(M["momentum_buffer"])
            weights[name] = weights[name] * (1 - lr) - lr * step


SUFFIXES = ["0.q.weight", "0.k.weight", "1.q.weight", "1.k.weight"]


def test_names_without_their_prefix_are_told_by_their_end_and_no_weight_of_adamws_is_accused(here, capsys):
    for names in (SUFFIXES, [f"blocks.{n}" for n in SUFFIXES], [f"module.blocks.{n}" for n in SUFFIXES]):
        with_prefix(names)
        status, said = compared(capsys, "--lr")
        assert status == 0 and said.startswith("4 steps") and "With Adam's state: pos.weight." in said
    # two that end alike: told by the way that each has moved
    with_prefix(["q.weight", "k.weight", "x", "y"], others=["more.weight"])
    status, said = compared(capsys, "--lr")
    assert status == 0 and said.startswith("4 steps") and "With Adam's state: pos.weight." in said
    assert "1 without a momentum of Muon's" in said and "more.weight" not in said


def test_rates_at_which_nothing_moves_and_files_of_one_state_are_told(here, capsys):
    for lr, initial, status, words in (
        (1e-7, None, 1, "BROKEN: Muon's rate is 1e-07 where other groups have 0.004"),
        (1e-7, 0.02, 0, "The rate began at 0.02: at the end of a schedule"),
        (0.0, None, 1, "BROKEN: none of Muon's 4 weights has moved. Their rate is 0."),
        (0.0, 0.02, 0, "Look: none of Muon's 4 weights has moved. Their rate is 0, as at the end of a schedule."),
    ):
        with_prefix(SUFFIXES, lr, initial=initial)
        done, said = compared(capsys, "--lr")
        assert done == status and words in said, said
        assert ("Other groups have 0.004: has each optimizer its scheduler?" in said) == (
            lr == 0 or initial is not None
        )
    with_prefix(SUFFIXES, after="same")
    assert_refused(capsys, ["before.pt", "after.pt", "--lr"], ["before.pt and after.pt have the same weights"])
    for steps, words in (((8, 7), "of step 8, after.pt of step 7: swap them"), ((7, 9), "not of one and the next")):
        with_prefix(SUFFIXES, steps=steps)
        assert_refused(capsys, ["before.pt", "after.pt", "--lr"], [words])
    with_prefix(SUFFIXES)
    for file, microbatches in (("before.pt", 28), ("after.pt", 32)):
        torch.save(torch.load(file) | {"step": microbatches}, file)
    assert compared(capsys, "--lr")[0] == 0


def test_a_layer_that_is_adamws_is_named_beside_the_others(here, capsys):
    weights = {f"blocks.{i}.q.weight": noise(32, 32) for i in (0, 1)}
    M = noise(32, 32)
    muon = {"state": {0: {"momentum_buffer": M}}, "param_groups": [{"params": [0], "lr": 0.02, "ns_steps": 5}]}
    adam = {"exp_avg": noise(32, 32), "exp_avg_sq": noise(32, 32) ** 2}
    optimizers = [muon, {"state": {0: adam}, "param_groups": [{"params": [0], "lr": 0.02}]}]
    for file in ("before.pt", "after.pt"):
        torch.save({"model": weights, "optimizers": optimizers}, file)
        steps = am.polar(M).float(), adam["exp_avg"].sign()
        weights = {name: W - 0.02 * step for (name, W), step in zip(weights.items(), steps, strict=True)}
    said = compared(capsys, "--lr")[1]
    assert "AdamW steps blocks.1.q.weight, and Muon their like in other layers: look at the groups." in said


def test_matrices_with_adams_state_are_not_judged_as_muons(here, capsys):
    weights = {"mix": noise(32, 32), "head": noise(32, 32), "embedding": noise(64, 32)}
    muon = {"state": {0: {"momentum_buffer": noise(32, 32)}}, "param_groups": [{"params": [0]}]}
    adams = {"head": (32, 32), "embedding": (64, 32)}
    adam = {k: {"exp_avg": noise(*shape), "exp_avg_sq": noise(*shape) ** 2} for k, shape in adams.items()}
    adam = {"state": adam, "param_groups": [{"params": [*adams]}]}
    moved = {name: W - 0.02 * (am.polar(W).float() if name == "mix" else W.sign()) for name, W in weights.items()}
    for optimizers, start in (([muon, adam], "1 steps are orthogonal"), ([adam], "No momentum of Muon's")):
        for file, model in (("before.pt", weights), ("after.pt", moved)):
            torch.save({"model": model, "optimizers": optimizers}, file)
        status, said = compared(capsys, "--lr", "0.02")
        assert status == 0 and said.startswith(start) and "With Adam's state: head, embedding." in said
    unnamed = {"state": {i: one for i, one in enumerate(adam["state"].values())}, "param_groups": [{"params": [0, 1]}]}
    for file, model in (("before.pt", weights), ("after.pt", moved)):
        torch.save({"model": {k: model[k] for k in adams}, "optimizers": [unnamed]}, file)
    assert_refused(capsys, ["before.pt", "after.pt", "--lr", "0.02"], ["no step of Muon's", "2 with Adam's"])


def test_a_step_that_bfloat16_swallows_is_no_lack_of_orthogonalization(here, capsys):
    W, M = (noise(48, 48) / 7).bfloat16(), noise(48, 48)
    state = {"state": {"w": {"momentum_buffer": M}}, "param_groups": [{"params": ["w"]}]}
    torch.save({"model": {"w": W}, "optimizer": state}, "before.pt")
    torch.save({"model": {"w": W - 2e-4 * am.polar(M).bfloat16()}, "optimizer": state}, "after.pt")
    status, said = compared(capsys, "--lr", "2e-4")
    assert status == 1 and said.startswith("BROKEN: 1 of 1 steps") and "1. this step is lost" in said


def test_two_files_of_weights_alone_are_judged_and_not_sure(here, capsys):
    W = noise(64, 16)
    torch.save({"w": W}, "before.pt")
    for step, words in (
        (am.polar(noise(64, 16)).float(), "No momentum of Muon's says whether these 1 steps are its own"),
        (noise(64, 1) @ noise(1, 16), "Look: 1 of 1 steps"),
    ):
        torch.save({"w": W - 0.02 * step}, "after.pt")
        status, said = compared(capsys, "--lr", "0.02")
        assert status == 0 and said.startswith(words)
    assert_refused(capsys, ["before.pt", "after.pt", "--lr"], ["no step", "1 without a rate in the file"])
    moved = {"w": am.polar(noise(64, 16)).float(), "embed.weight": noise(64, 1) @ noise(1, 16)}
    for t, file in enumerate(("before.pt", "after.pt")):
        torch.save({name: noise(64, 16) - t * 0.02 * step for name, step in moved.items()}, file)
    status, said = compared(capsys, "--lr", "0.02")
    assert status == 0 and "Probably AdamW's, by their names: embed.weight." in said and "Look" not in said


def test_of_weights_it_gives_no_advice(here, capsys):
    weights = {"qkv": noise(96, 32), "small": noise(32, 32) * 1e-12, "steep": torch.diag(torch.logspace(0, -5, 48))}
    torch.save(weights, "x.pt")
    assert_refused(capsys, ["x.pt"], ["x.pt: no optimizer's state, and of weights a reach means nothing", "--all"])
    assert main(["doctor", "x.pt", "--all"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("No optimizer's state: 3 matrices. Of weights a reach means nothing. If")
    assert not any(word in said for word in ("paste", "fewer steps", "looks fused", "Schedule", "BROKEN"))
    assert len(asked(capsys, "x.pt")) == 3
    torch.save({"good": noise(8, 8), "bad": noise(8, 8) * np.inf}, "x.pt")
    assert main(["doctor", "x.pt"]) == 1 and capsys.readouterr().out.startswith("BROKEN: 1 of 2 matrices; first bad")


def test_the_flattening_of_a_group_is_the_doctors(here, capsys):
    stack = torch.nn.Parameter(noise(3, 32, 24))
    optimizer = am.Muon([("experts", stack)], flatten=2, split=3)
    stack.grad = noise(3, 32, 24)
    optimizer.step()
    torch.save(optimizer.state_dict(), "x.pt")
    assert [row["shape"] for row in asked(capsys, "x.pt")] == [[32, 24]] * 3


@pytest.mark.slow
def test_other_forms(here, capsys):
    torch.save({f"h.{i}.attn": noise(16, 8) for i in range(3)} | {"out": memory(32)}, "x.pt")
    assert main(["doctor", "x.pt", "--csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split(",")[0] == "name" and len(lines) == 5
    assert main(["doctor", "x.pt", "--sort", "reach", "--top", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("out")
    pytest.importorskip("matplotlib")
    assert main(["doctor", "x.pt", "--plot", "reach.png"]) == 0 and (here / "reach.png").stat().st_size > 1000


# in bad hands


def test_names_are_shown_and_never_sent(here, capsys):
    names = ["\x1b[2J\x1b[31mred", "a\r\nforged  1  2  3", "\u202ebidi", "nul\x00", "\udc80lone", "x" * 10**5]
    torch.save({name: noise(8, 8) for name in names if "\udc80" not in name} | {"é": noise(8, 8)}, "x.pt")
    assert main(["doctor", "x.pt", "--all"]) == 0
    said = capsys.readouterr().out
    assert all(c.isprintable() or c == "\n" for c in said) and r"\x1b" in said and r"\u202e" in said
    assert max(map(len, said.splitlines())) <= 80 and len(said.splitlines()) < 30
    header = json.dumps({names[4]: {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}).encode()
    (here / "x.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + struct.pack("<4f", 1, 2, 3, 4))
    assert main(["doctor", "x.safetensors", "--all"]) == 0 and r"\udc80" in capsys.readouterr().out


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_it_prints_in_whatever_a_pipe_takes(here, monkeypatch, encoding):
    torch.save({"state": {"é": {"momentum_buffer": noise(8, 8) * 1e-12}}, "param_groups": []}, "x.pt")
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", out)
    assert main(["doctor", "x.pt", "--all", "--explain"]) == 1
    assert b"BROKEN" in out.buffer.getvalue()


def test_a_terminal_gets_errors_in_its_width(here, monkeypatch, capsys):
    torch.save({"good": noise(8, 8)}, "x.pt")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(["doctor", "x.pt", "--schedule", "zolotarev"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 1 and max(map(len, lines)) <= 80 and "'zolotarev'" in lines[-1]


def test_special_files_cycles_and_giants_end(here, capsys):
    if hasattr(os, "mkfifo"):
        os.mkfifo("fifo.pt")
        assert_refused(capsys, ["fifo.pt"], ["fifo.pt", "regular file"])
    assert_refused(capsys, [os.devnull], ["regular file"])
    node = {"w": noise(8, 8)}
    for _ in range(60):
        node = {"a": node, "b": node}
    node["self"] = node
    torch.save(node, "dag.pt")
    assert len(asked(capsys, "dag.pt")) == 1
    torch.save({"meta": torch.empty(8, 8, device="meta"), "giant": torch.zeros(1).expand(10**7, 32, 32)}, "x.pt")
    assert_refused(capsys, ["x.pt"], ["x.pt", "no numbers", "expanded"])


def test_safetensors_that_lie_are_refused(here, capsys):
    entry = '{"dtype": "F32", "shape": [2, 2], "data_offsets": [%d, %d]}'
    for first, last, held in ((0, 16, 12), (0, 12, 16), (-4, 12, 16), (8, 24, 16)):
        raw = ('{"a": ' + entry % (first, last) + "}").encode()
        (here / "x.safetensors").write_bytes(struct.pack("<Q", len(raw)) + raw + bytes(held))
        assert_refused(capsys, ["x.safetensors"], ["x.safetensors", "a: shape [2, 2] does not fit bytes"])
    (here / "x.safetensors").write_bytes(b"\xff" * 7 + b"\x7f" + b"{}")
    assert_refused(capsys, ["x.safetensors"], ["x.safetensors", "header"])


# the page


def test_the_page_shows_a_verdict_first_and_then_one_with_a_line_to_paste():
    path = pathlib.Path(__file__).parents[1] / "chapters" / "practice" / "doctor.ipynb"
    outputs = [
        "".join(part.get("text", ""))
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        for part in cell.get("outputs", ())
    ]
    assert outputs[0].startswith("Nothing to do with these momenta: the middle reach of 6 is ")
    (low,) = (text for text in outputs if text.startswith("Look:"))
    line = re.search(r"paste  (muon = am.Muon\(.+?\]\))", low, re.S)[1]
    assert '"ns_steps": 8, "ns_dtype": torch.float32' in " ".join(line.split())
