"""The recall experiment: its grid, its runs, how it reads results, and the three figures at smoke size."""

import dataclasses
import json

import numpy as np
import pytest
import torch

import amembook.paper.recall.runs as recall_runs_module
from amembook.networks.attention import Network, induction_head
from amembook.networks.tasks import RecallTask, sample_sequences, uniform
from amembook.paper.recall import CONTROLS, EXPERIMENT, LONG, RecallConfig, recall_runs, settings
from amembook.paper.recall.rates import EXPERIMENT as RATES_EXPERIMENT
from amembook.paper.recall.rates import RatesConfig
from amembook.paper.recall.runs import COMPARED, learnt_steps, measure_run, sure_outputs
from amembook.paper.recall.runs import probe as recall_probe
from amembook.run import cache
from amembook.run.claims import NOT_REPRODUCED, OBSERVED, PREDICTED, UNDECIDED, word
from amembook.run.records import read_records
from amemlib import fit_exponent

SMALL = RecallConfig(
    n_items=8, length=12, pairs=1, dims=(8, 12), batch_sizes=(4, 8), alphas=(0.0, 1.5), dim=12, batch_size=8,
    steps=4, long_steps=8, probe_every=2, hidden_over_dim=2, seeds=2,
)  # fmt: skip
FRESH = dataclasses.replace(SMALL, first_seed=3050, seeds=4)
TINY = dataclasses.replace(SMALL, dims=(12,), batch_sizes=(8,), alphas=(0.0,), long_steps=4, seeds=1)
RUN = {
    "n_items": 24, "length": 20, "pairs": 2, "trigger_alpha": 1.5, "output_alpha": 1.5, "dim": 32, "hidden": 0,
    "batch_size": 32, "steps": 300, "probe_every": 300, "unembedding_length": 1.0, "seed": 2000, "device": "cpu",
}  # fmt: skip
RATES = {"muon": 0.01, "adamw": 0.002, "sgd": 0.02}


@pytest.fixture(autouse=True)
def own_checkpoints(tmp_path, monkeypatch):
    place = lambda function, arguments: tmp_path / "checkpoints" / f"{arguments['optimizer']}-{arguments['seed']}.pt"
    monkeypatch.setattr("amembook.paper.recall.runs.checkpoint_file", place)


def test_every_setting_runs_once_and_with_the_same_data():
    cells = EXPERIMENT.cells(SMALL, "cpu")
    keys = {json.dumps(cell.arguments, sort_keys=True) for cell in cells}
    assert len(keys) == len(cells) == 2 * len(recall_runs(SMALL))
    for figure in settings(SMALL).values():
        for setting in figure:
            runs = [c.arguments for c in cells if vars(setting).items() <= c.arguments.items()]
            names = sorted({run["optimizer"] for run in runs} - {*CONTROLS})
            assert names == sorted(COMPARED) and {run["seed"] for run in runs} == {0, 1}
    shifted = EXPERIMENT.cells(dataclasses.replace(SMALL, first_seed=1000), "cpu")
    assert {cell.arguments["seed"] for cell in shifted} == {1000, 1001}


def test_the_probe_of_a_head_built_by_hand_finds_all_attention_where_it_should_be():
    task = RecallTask(12, 16, 2, 1.5, 1.5)
    weights = induction_head(Network(24, 16, 80), 12, 2000)
    found = recall_probe(weights, {"ood": sample_sequences(uniform(task), 200, 2000)}, 12)
    assert found["previous"] > 0.9 and found["match"] > 0.9
    assert found["ood"] == found["recall"] == 1 and found["recalled"] == [1] * 12


def test_the_scan_gives_every_optimizer_as_many_rates_on_other_seeds():
    config = RatesConfig()
    cells = RATES_EXPERIMENT.cells(config, "cpu")
    counts = {name: sum(cell.arguments["optimizer"] == name for cell in cells) for name in COMPARED}
    assert set(counts.values()) == {len(config.rates_muon) * config.seeds}
    assert not {cell.arguments["seed"] for cell in cells} & {*range(RecallConfig().seeds), *range(1000, 1003)}
    with pytest.raises(ValueError, match="rates_sgd must hold 5 rates"):
        RatesConfig(rates_sgd=(0.1,))
    fixed = RATES_EXPERIMENT.cells(RATES_EXPERIMENT.profiles["capacity-fixed"], "cpu")
    assert {cell.arguments["optimizer"] for cell in fixed} == {"muon_fixed", "adamw_fixed", "sgd_fixed"}
    with pytest.raises(ValueError, match=r"rates_sgd_matrices must be empty with fixed_vectors, got \[0.1\]"):
        RatesConfig(
            rates_muon=(0.1,), rates_adamw=(0.1,), rates_sgd=(0.1,), rates_sgd_matrices=(0.1,), fixed_vectors=True
        )


def test_the_learning_rates_are_those_of_the_scan():
    scan = read_records("recall-rates", "controls")[0]
    config = RecallConfig()
    assert scan["measured"]["lr"] == {name: getattr(config, f"lr_{name}") for name in (*COMPARED, "sgd_matrices")}
    assert not any(scan["measured"]["doubts"].values())


@pytest.mark.parametrize(
    "change, message",
    [
        ({"batch_size": 5}, "batch_size must be one of batch_sizes"),
        ({"steps": 3}, "multiple of probe_every"),
        ({"pairs": 4}, "pairs must be at most length / 4"),
    ],
)
def test_a_config_refuses_what_makes_no_sense(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SMALL, **change)


@pytest.mark.parametrize("optimizer", ["muon", "adamw", "sgd", *CONTROLS])
def test_a_cell_gives_the_same_plain_result_every_time(optimizer):
    arguments = RUN | {"steps": 6, "probe_every": 3, "hidden": 16, "optimizer": optimizer, "lr": 0.01}
    result = measure_run(**arguments)
    assert json.loads(json.dumps(result)) == result == measure_run(**arguments)
    assert result["step"] == [0, 3, 6] and result["diverged"] is None
    for curve in ("id", "ood", "recall", "previous", "match"):
        assert len(result[curve]) == 3 and all(0 <= value <= 1 for value in result[curve])
    assert [len(result[key]) for key in ("learnt", "sure", "ood_by_output", "spectrum")] == [24, 24, 24, 32]


def interrupt(monkeypatch, at):
    """Let `measure_run` be stopped by hand at its `at`-th probe; returns the list of the probes that were made."""
    probes = []

    def probe(weights, **arguments):
        probes.append(len(probes))
        if len(probes) == at:
            raise KeyboardInterrupt
        return recall_probe(weights, **arguments)

    monkeypatch.setattr(recall_runs_module, "probe", probe)
    return probes


def test_an_interrupted_cell_goes_on_from_its_checkpoint(monkeypatch, tmp_path):
    arguments = RUN | {"steps": 8, "probe_every": 2, "optimizer": "muon", "lr": 0.01}
    whole = measure_run(**arguments)
    probes = interrupt(monkeypatch, at=4)
    with pytest.raises(KeyboardInterrupt):
        measure_run(**arguments)
    assert len(list((tmp_path / "checkpoints").glob("*.pt"))) == 1
    assert measure_run(**arguments) == whole
    assert len(probes) == 4 + 2, "steps 0, 2, 4 and the interrupted 6, then 6 and 8"
    assert not list((tmp_path / "checkpoints").iterdir())


@pytest.mark.slow
def test_a_diverging_run_is_reported_and_is_no_accuracy_of_0(tmp_path):
    config = dataclasses.replace(TINY, lr_sgd=1e6)
    record = cache.run(EXPERIMENT, config, tmp_path, "cpu")
    measured = record["measured"]
    assert measured["diverged"]["base"]["sgd"] == [1] and measured["diverged"]["base"]["muon"] == [0]
    assert measured["ood"]["base"]["sgd"] == [None] and measured["seed_ood"]["base"]["sgd"] == [[None]]
    assert measured["gap"]["base"][0]["mean"] is not None, "Muon against AdamW remains"
    json.dumps(record, allow_nan=False)
    scan = RatesConfig(
        n_items=8, length=12, pairs=1, dim=12, batch_size=8, steps=4, probe_every=2, seeds=1,
        rates_muon=(0.01, 0.02, 0.04), rates_adamw=(0.001, 0.002, 0.004), rates_sgd=(0.01, 1e5, 1e6),
    )  # fmt: skip
    measured = cache.run(RATES_EXPERIMENT, scan, tmp_path, "cpu")["measured"]
    assert measured["ood_area"]["sgd"][1:] == [None, None] and measured["lr"]["sgd"] == 0.01
    assert measured["doubts"]["sgd"] == ["edge of the scan"]


def test_learnt_is_the_step_from_which_it_stays():
    recalled = [[0, 1, 0, 1], [1, 0, 0, 1], [1, 1, 0, 1]]
    assert learnt_steps([0, 50, 100], recalled) == [50, 100, None, 0]


def planted(config, accuracy, time=None):
    """Results whose OOD accuracy is 0 until the step `time(run)`, and `accuracy(run)` from the next probe on."""
    results = []
    for cell in EXPERIMENT.cells(config, "cpu"):
        run = cell.arguments
        steps = list(range(0, run["steps"] + 1, run["probe_every"]))
        value, start = accuracy(run), 0 if time is None else time(run)
        curve = [value if step > start or time is None else 0.0 for step in steps]
        curves = {name: curve for name in ("ood", "id", "recall", "previous", "match")}
        results.append(
            curves
            | {"step": steps, "loss": [None] + [1.0] * (len(steps) - 1), "diverged": None}
            | {"learnt": [0] * 8, "sure": [0] * 8, "ood_by_output": [0.5] * 8, "spectrum": [1.0] * run["dim"]}
        )
    return results


RACE = dataclasses.replace(FRESH, steps=40, long_steps=80)


def start_of(late=20):
    """Muon, and with it the exact polar map, starts at step 8, everybody else at `late`."""
    return lambda run: 8 if run["optimizer"] in ("muon", "exact_muon") else late


@pytest.mark.parametrize(
    "first, faster, same",
    [
        (("muon", "exact_muon"), OBSERVED, PREDICTED),
        (("muon", "exact_muon", "sgd_matrices"), UNDECIDED, PREDICTED),
        (("muon",), OBSERVED, NOT_REPRODUCED),
        (("sgd_matrices",), NOT_REPRODUCED, PREDICTED),
    ],
)
def test_the_controls_tell_the_spectral_map_from_what_muon_has_besides_it(first, faster, same):
    results = planted(RACE, lambda run: 0.9, lambda run: 8 if run["optimizer"] in first else 20)
    answer = EXPERIMENT.verdicts(RACE, *EXPERIMENT.read(RACE, results))
    assert (answer["spectral_map"]["word"], answer["exact_map"]["word"]) == (faster, same)
    few = dataclasses.replace(RACE, controls=("exact_muon",))
    results = planted(few, lambda run: 0.9, start_of())
    assert word(EXPERIMENT.verdicts(few, *EXPERIMENT.read(few, results))["spectral_map"]) == UNDECIDED


def test_the_time_to_one_half_is_read_between_probes_and_is_a_bound_where_it_is_not_reached():
    results = planted(RACE, lambda run: 0.8 if run["optimizer"] != "sgd" else 0.4, start_of(late=21))
    measured, _ = EXPERIMENT.read(RACE, results)
    # 0 at step 8 and 0.8 at step 10
    assert measured["half_time"]["base"]["muon"] == [[pytest.approx(8 + 2 * 5 / 8, abs=0.1)] * 4]
    assert measured["half_time"]["base"]["sgd"] == [[None] * 4] and measured["ended"]["base"]["sgd"] == [[80] * 4]
    assert measured["ended"]["base"]["exact_muon"] == [[40] * 4]


def test_an_output_is_sure_where_the_mean_probability_of_the_right_answer_is_one_half():
    logits = torch.tensor([[[0.0, 0.0, 3.0, 0.0]], [[0.0, 0.0, 0.0, 0.0]]])
    # two triggers, two outputs: the first output is asked for with p̂ = 0.87 and 0.25, the other never
    assert sure_outputs(logits, torch.tensor([[2], [2]]), 2) == [1, 0]
    assert sure_outputs(logits[1:], torch.tensor([[2]]), 2) == [0, 0]


def test_means_intervals_and_curves_are_aligned_with_the_config():
    scatter = {0: -0.02, 1: 0.02}
    measured, _ = EXPERIMENT.read(SMALL, planted(SMALL, lambda run: 0.5 + scatter[run["seed"]]))
    for figure, places in settings(SMALL).items():
        for name in COMPARED:
            assert measured["ood"][figure][name] == pytest.approx([0.5] * len(places))
            # t of one degree of freedom at 97.5 %: 12.706; the standard error of ±0.02 is 0.02
            assert measured["half_ood"][figure][name] == pytest.approx([12.706 * 0.02] * len(places), rel=1e-3)
    assert [len(seeds) for seeds in measured["curves"]["dims"]["ood"]["muon"]] == [2, 2]
    assert len(measured["curves"]["base"]["match"]["sgd"][0][0]) == len(measured["probed"]) == 5


@pytest.mark.slow
def test_the_experiment_runs_and_is_stored_cell_by_cell(tmp_path):
    record = cache.run(EXPERIMENT, TINY, tmp_path, "cpu")
    assert record["experiment"] == "recall"
    assert set(record["verdicts"]) == {"figure_6", "figure_7", "figure_8", "spectral_map", "exact_map"}
    assert len(list((tmp_path / "recall").glob("*.json"))) == len(recall_runs(TINY))
    assert cache.run(EXPERIMENT, TINY, tmp_path, "cpu")["measured"] == record["measured"]


@pytest.fixture(scope="module")
def smoke_runs():
    def run(optimizer, **change):
        return measure_run(**RUN | {"optimizer": optimizer, "lr": RATES[optimizer]} | change)["ood"][-1]

    return {
        "base": {name: run(name) for name in COMPARED},
        "heavy": {name: run(name, trigger_alpha=0.0) for name in COMPARED},
        "half batch": run("muon", batch_size=24),
    }


@pytest.mark.weekly
def test_figure_6_muon_is_far_ahead_after_equally_many_steps(smoke_runs):
    base = smoke_runs["base"]
    assert base["muon"] - max(base["adamw"], base["sgd"]) >= 0.3


@pytest.mark.weekly
def test_figure_7_muon_needs_the_smaller_batch(smoke_runs):
    base = smoke_runs["base"]
    assert smoke_runs["half batch"] > max(base["adamw"], base["sgd"]) + 0.1


@pytest.mark.weekly
def test_figure_8_muon_is_ahead_where_outputs_have_a_heavy_tail(smoke_runs):
    heavy = smoke_runs["heavy"]
    assert heavy["muon"] - max(heavy["adamw"], heavy["sgd"]) > 0.2


def test_what_the_chapter_says_of_its_record_without_a_cell():
    (record,) = read_records("recall", "confirm")
    measured, names = record["measured"], COMPARED
    curves, probed = measured["curves"]["base"], np.array(measured["probed"])
    passed = {
        metric: [int(probed[np.argmax(np.mean(curves[metric][name][0], axis=0) > 0.5)]) for name in names]
        for metric in ("recall", "match")
    }
    assert passed == {"recall": [200, 600, 700], "match": [250, 650, 700]}
    spectra = (np.array(measured["spectrum"]["heavy_outputs"][name]) for name in names)
    assert [round(((s**2).sum(1) / s[:, 0] ** 2).mean()) for s in spectra] == [19, 9, 13]
    ends = {where: [np.mean(measured["curves"][where]["ood"][n][0], axis=0)[-1] for n in names] for where in LONG}
    assert min(ends["heavy_outputs"]) > 0.975 and 0.015 < ends["base"][0] - max(ends["base"][1:]) < 0.035
    ids = [np.mean(curves["id"][name][0], axis=0)[-1] for name in names]
    assert min(ids) > 0.995 and max(ids) - min(ids) < 0.005
    late = {}
    for where in LONG:
        above = {n: np.array(measured["curves"][where]["ood"][n][0]) > 0.5 for n in names}
        assert all(rows.any(1).all() for rows in above.values())
        first = {n: probed[rows.argmax(1)] for n, rows in above.items()}
        ratios = np.array([first[n] / first["muon"] for n in names if n != "muon"])
        late[where] = np.round([ratios.min(), ratios.max()], 1).tolist()
    assert late == {"base": [2.3, 3.6], "heavy_outputs": [2.9, 3.7]}
    enough = {
        (metric, n): [x >= 0.8 for x in measured[metric]["batch_sizes"][n]].index(True)
        for metric in ("ood", "recall")
        for n in names
        if (metric, n) != ("ood", "sgd")
    }
    sizes = [record["config"]["batch_sizes"][k] for k in enough.values()]
    assert sizes == [32, 128, 16, 128, 256] and max(measured["ood"]["batch_sizes"]["sgd"]) < 0.8
    ranks, told = np.arange(1, record["config"]["n_items"] + 1), {}
    for n in names:
        steps = np.array(measured["learnt"]["heavy_outputs"][n], dtype=float).clip(min=probed[1])
        told[n] = round(fit_exponent(ranks, steps.T).slope, 2), float(np.median(steps[:, -16:]))
    assert told == {"muon": (0.36, 350), "adamw": (0.31, 1150), "sgd": (0.33, 1200)}
    (large,) = read_records("recall-capacity", "confirm")
    match, fixed = large["measured"]["match"], large["config"]["fixed_dims"]
    for vectors, by_name in match.items():
        for name, rows in by_name.items():
            for dim, seeds in zip(fixed, rows, strict=False):
                low, high = (0.595, 0.825) if name == "muon" else (0.045, 0.075)
                assert dim == 32 or low < min(seeds) <= max(seeds) < high, (vectors, name, dim)
    counts = large["measured"]["counts"]["fixed"]["muon"]
    law, grown = large["predicted"]["counts"], [np.mean(row) for row in counts]
    slopes = [np.log2(row[2] / row[1]) for row in (grown, law["one_step"], law["many_steps"])]
    assert np.round(slopes, 2).tolist() == [1.60, 1.41, 2.41]
    # the right logit is √d; those of the other 2n − 1 tokens are nearly standard normal
    reach = 1 / (1 + (2 * large["config"]["n_items"] - 1) * np.exp(0.5 - np.sqrt(fixed)))
    assert np.round(reach, 2).tolist() == [0.08, 0.47, 0.96]


def test_the_order_does_not_depend_on_where_the_rates_were_tuned():
    best, said = read_records("recall-rates", "controls")[0]["measured"]["lr"], []
    for where in ("batch-16", "dim-128"):
        (away,) = read_records("recall-rates", where)
        area = away["measured"]["ood_area"]
        kept = area["muon"][away["config"]["rates_muon"].index(best["muon"])]
        tops = {name: max(x for x in area[name] if x is not None) for name in best if name != "muon"}
        top = max(tops, key=tops.get)
        assert top == "sgd_matrices" and area[top][0] == tops[top] and kept > 2 * tops[top]
        said.append((round(kept, 2), round(tops[top], 2)))
    assert said == [(0.36, 0.09), (0.58, 0.23)]


def test_a_flow_learns_the_output_of_rank_i_at_a_time_in_proportion_to_its_inverse_frequency():
    n, p, dt = 64, 1 / np.arange(1, 65) ** 1.5, 0.05
    p /= p.sum()
    law = (n - 1) / n / p * (np.log(n - 1) + 1 - 1 / (n - 1))
    delta, learnt = np.zeros(n), np.full(n, np.inf)
    for step in range(int(law[7] / dt) + 100):
        hat = 1 / (1 + (n - 1) * np.exp(-delta))
        learnt[(hat > 0.5) & np.isinf(learnt)] = step * dt
        delta += dt * p * n / (n - 1) * (1 - hat)
    assert np.allclose(learnt[:8], law[:8], rtol=0.02)
