"""The harness of the benchmarks at tiny sizes, with torch's own peers: it checks, times, skips and says so."""

import json
import sys

import matplotlib
import pytest
import torch
from benchmarks import __main__ as command
from benchmarks import cases, race

from amembook import read_records

matplotlib.use("Agg")
ELSEWHERE = ("faiss", "pykeops", "cut_cross_entropy", "jax")


@pytest.fixture(autouse=True)
def only_torch(monkeypatch):
    for module in ELSEWHERE:
        monkeypatch.setitem(sys.modules, module, None)


def entry(name, value, seconds=0.0, **kwargs):
    def call():
        began = race.time.process_time()
        while race.time.process_time() - began < seconds:
            pass
        return value

    return race.Entry(name, lambda: call, kwargs.pop("compare", lambda x: abs(x - 1)), **kwargs)


def failing(error):
    def prepare():
        raise error

    return race.Entry("other", prepare)


def test_ratios_are_times_over_those_of_the_first_entry():
    twice = entry("twice", 1, 0.04)
    share = entry("half of the work", 1, 0.02, share=0.5)
    result = race.run(race.Case("toy", "a toy", (entry("ours", 1, 0.02), twice, share)), 3, "cpu")
    assert result["skipped"] == {}
    assert result["ratios"]["ours"] == {"median": 1, "low": 1, "high": 1, "error": 0}
    for name in ("twice", "half of the work"):
        ratio = result["ratios"][name]
        assert ratio["low"] <= ratio["median"] <= ratio["high"] and 1.6 < ratio["median"] < 2.5


def test_an_entry_with_another_result_is_not_timed():
    case = race.Case("toy", "a toy", (entry("ours", 1), entry("wrong", 1.1, tolerance=0.05), entry("nan", torch.nan)))
    result = race.run(case, 1, "cpu")
    assert list(result["ratios"]) == ["ours"]
    assert "off by 1.0e-01" in result["skipped"]["wrong"] and "another result" in result["skipped"]["nan"]
    with pytest.raises(ValueError, match="ours"):
        race.run(race.Case("toy", "a toy", (entry("ours", 2),)), 1, "cpu")


@pytest.mark.parametrize("error", [ImportError("no such module"), NotImplementedError("needs 17 GB")])
def test_a_peer_that_is_missing_is_reported(error):
    result = race.run(race.Case("toy", "a toy", (entry("ours", 1), failing(error))), 1, "cpu")
    assert str(error) in result["skipped"]["other"]
    assert any("other" in line and "skipped" in line and str(error) in line for line in race.table({"toy": result}))


def test_a_peer_that_fails_otherwise_is_not_passed_over():
    with pytest.raises(ZeroDivisionError):
        race.run(race.Case("toy", "a toy", (entry("ours", 1), failing(ZeroDivisionError()))), 1, "cpu")


@pytest.mark.slow
def test_every_case_runs_at_a_tiny_size_and_is_written_as_a_record(tmp_path, capsys):
    path = tmp_path / "cpu.json"
    assert command.main(["--size", "tiny", "--rounds", "1", "--output", str(path)]) == 0
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["config"]["rounds"] == 1 and record["provenance"]["versions"]["torch"] == torch.__version__
    printed = capsys.readouterr().out
    for name, result in record["measured"].items():
        first = next(iter(result["ratios"]))
        assert result["ratios"][first]["median"] == 1 and name in printed
        for peer, reason in result["skipped"].items():
            assert ("not installed" in reason) == (
                peer in {"faiss IndexFlatIP", "KeOps", "cut-cross-entropy", "optax muon, 5 steps"}
            )
    recovery = record["measured"]["recovery-256-16"]
    assert {"torch, dense", "torch.mm in blocks"} < set(recovery["ratios"])
    assert {"faiss IndexFlatIP", "KeOps"} == set(recovery["skipped"])
    assert "autograd of F.cross_entropy" in record["measured"]["loss-and-gradient-256-16"]["ratios"]


def test_goals_are_judged_and_a_goal_without_its_peer_stays_open():
    results = {
        "spectral-maps-512": {"ratios": {"torch.linalg.svd alone": {"median": 0.9}}},
        "recovery-65536-128": {"ratios": {"torch.mm in blocks": {"median": 80.0}}},
    }
    verdicts = {}
    for case, peer, least in command.GOALS:
        if case in results:
            verdicts[case, peer] = command.judged(case, peer, least, results)["met"]
    assert verdicts["recovery-65536-128", "torch.mm in blocks"] is True
    assert verdicts["recovery-65536-128", "faiss IndexFlatIP"] is None
    assert verdicts["spectral-maps-512", "torch.linalg.svd alone"] is False


def test_the_goals_name_cases_and_entries_of_the_full_runs():
    names = {case for case, _, _ in command.GOALS}
    assert len(command.SIZES["full"]("cpu")) + len(command.SIZES["device"]("cpu")) >= len(names)
    tiny = cases.recovery(64, 8, brute=True)
    assert {peer for case, peer, _ in command.GOALS if case.startswith("recovery")} <= {e.name for e in tiny.entries}
    tiny = cases.loss_and_gradient(64, 8)
    assert {peer for case, peer, _ in command.GOALS if case.startswith("loss")} <= {e.name for e in tiny.entries}


def test_rows_may_be_sampled_for_the_exhaustive_scans():
    case = cases.recovery(256, 16, share=1 / 4)
    result = race.run(case, 1, "cpu")
    assert result["ratios"]["torch.mm in blocks"]["error"] == 0
    assert {entry.share for entry in case.entries} == {1.0, 0.25}


def test_bad_options_are_named(capsys, tmp_path):
    with pytest.raises(SystemExit):
        command.main(["--size", "tiny", "--rounds", "0"])
    assert "--rounds must be at least 1, got 0" in capsys.readouterr().err
    with pytest.raises(ValueError, match="output"):
        command.main(["--size", "tiny", "--output", str(tmp_path / "no" / "file.json")])


def test_the_shipped_record_is_of_the_full_size_and_holds_no_absolute_time():
    for record in read_records("benchmarks"):
        size, rounds = ("device", 3) if record["name"].startswith("gpu") else ("full", 5)
        assert record["config"]["size"] == size and record["config"]["rounds"] >= rounds
        assert "seconds" not in record
        assert {goal["case"] for goal in record["goals"]} <= set(record["measured"])


def test_the_run_for_a_device_is_rehearsed_on_a_cpu():
    """Every way takes part and is right; the exact answers are float64's, not ours."""
    record = command.measure("device-tiny", 1, "cpu")
    recovery, loss = (record["measured"][name]["ratios"] for name in ("recovery-256-16", "loss-and-gradient-256-16"))
    assert recovery["amemlib recovered"]["error"] == 0 and cases.BRUTE in recovery
    assert loss["amemlib loss_and_gradient"]["error"] < 1e-6
    assert record["measured"]["polar-48"]["ratios"]["amemlib polar_by_products"]["error"] < 1e-6


def test_a_goal_of_the_loss_is_not_met_by_an_inaccurate_one():
    ratios = {"ours": {"median": 1.0, "error": 3e-6}, "peak": {"median": 0.9, "error": None}}
    assert command.judged("loss-1", "peak", 0.55, {"loss-1": {"ratios": ratios}})["met"] is False
    ratios["ours"]["error"] = 3e-7
    assert command.judged("loss-1", "peak", 0.55, {"loss-1": {"ratios": ratios}})["met"] is True


def test_the_watch_takes_a_share_of_a_step():
    from benchmarks.watch_cost import cost

    assert 0 < cost(1, 16, 64, steps=6) < cost(1, 16, 64, steps=6, every=6)
