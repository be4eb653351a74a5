"""`recall`: in-context recall with a two-layer network under Muon, AdamW and SGD (Figures 6, 7 and 8), and the scan of
learning rates, `recall-rates`, that goes before it."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from amemlib.checks import check_count, check_dims, check_non_negative, check_positive
from amemlib.experiments.base import Cell, Experiment, Summary
from amemlib.experiments.recall_runs import measure_run
from amemlib.tasks import RecallTask
from amemlib.verdicts import FINITE_SIZE, NOT_REPRODUCED, REPRODUCED

COMPARED = ("muon", "adamw", "sgd")
CLEAR_GAP = 0.3
"""By how much Muon's OOD accuracy must exceed the best other's at the base setting to count as clearly ahead."""


@dataclass(frozen=True)
class RecallConfig:
    """Figures 6, 7 and 8: OOD accuracy against d, batch size and exponents, each around one base setting.

    n_items, length, pairs: the task: n triggers and n outputs, L tokens, K pairs. alpha: exponent of both laws in
    Figures 6 and 7, and of the outputs alone in the long run with heavy-tailed outputs.
    dims: Figure 6. batch_sizes: Figure 7. alphas: Figure 8, for triggers and for outputs, the other one uniform.
    dim, batch_size: the base setting, one of `dims` and of `batch_sizes`.
    steps: the budget at which optimizers are compared; long_steps: where the base setting and heavy-tailed outputs end.
    hidden_over_dim: width of the MLP in the runs that have one. probe_every: steps between two measurements.
    lr_muon, lr_adamw, lr_sgd: constant learning rates, from `recall-rates`. first_seed, seeds: as everywhere.
    """

    n_items: int = 64
    length: int = 32
    pairs: int = 3
    alpha: float = 1.5
    dims: tuple[int, ...] = (16, 32, 64, 128)
    batch_sizes: tuple[int, ...] = (8, 16, 32, 64, 128, 256)
    alphas: tuple[float, ...] = (0.0, 1.0, 1.5, 2.0)
    dim: int = 64
    batch_size: int = 64
    steps: int = 600
    long_steps: int = 1500
    hidden_over_dim: int = 4
    probe_every: int = 50
    lr_muon: float = 0.01
    lr_adamw: float = 2e-3
    lr_sgd: float = 0.02
    seeds: int = 3
    first_seed: int = 0

    def __post_init__(self):
        RecallTask(self.n_items, self.length, self.pairs, self.alpha, self.alpha)
        for name in ("dims", "batch_sizes"):
            check_dims(name, getattr(self, name), count=1, least=2)
        for name in ("dim", "batch_size"):
            if getattr(self, name) not in getattr(self, f"{name}s" if name == "dim" else "batch_sizes"):
                raise ValueError(f"{name} must be one of {name}s, got {getattr(self, name)}")
        for alpha in self.alphas:
            check_non_negative("alphas", alpha)
        for name in ("steps", "long_steps", "hidden_over_dim", "probe_every", "seeds"):
            check_count(name, getattr(self, name))
        if self.long_steps < self.steps or self.steps % self.probe_every:
            raise ValueError(
                f"steps must be a multiple of probe_every and at most long_steps, got {self.steps}, "
                f"{self.probe_every} and {self.long_steps}"
            )
        for name in ("lr_muon", "lr_adamw", "lr_sgd"):
            check_positive(name, getattr(self, name))
        check_count("first_seed", self.first_seed, least=0)


@dataclass(frozen=True)
class RatesConfig:
    """The scan of learning rates at the base setting, as many for each optimizer, on seeds of its own.

    rates_muon, rates_adamw, rates_sgd: the rates. steps, probe_every: how long, and how often it is measured.
    The rest as in `RecallConfig`.
    """

    n_items: int = 64
    length: int = 32
    pairs: int = 3
    alpha: float = 1.5
    dim: int = 64
    batch_size: int = 64
    steps: int = 1000
    probe_every: int = 100
    rates_muon: tuple[float, ...] = (0.0025, 0.005, 0.01, 0.02, 0.04)
    rates_adamw: tuple[float, ...] = (0.0005, 0.001, 0.002, 0.004, 0.008)
    rates_sgd: tuple[float, ...] = (0.01, 0.02, 0.04, 0.08, 0.16)
    seeds: int = 2
    first_seed: int = 500

    def __post_init__(self):
        RecallTask(self.n_items, self.length, self.pairs, self.alpha, self.alpha)
        for name in ("dim", "batch_size", "steps", "probe_every", "seeds"):
            check_count(name, getattr(self, name))
        check_count("first_seed", self.first_seed, least=0)
        rates = [getattr(self, f"rates_{name}") for name in COMPARED]
        for name, values in zip(COMPARED, rates, strict=True):
            for value in values:
                check_positive(f"rates_{name}", value)
            if len(values) != len(rates[0]):
                raise ValueError(f"rates_{name} must hold {len(rates[0])} rates like rates_muon, got {list(values)}")


def rates_cells(config: RatesConfig, device: str) -> list[Cell]:
    """Every rate of every optimizer on every seed."""
    common = {name: getattr(config, name) for name in ("n_items", "length", "pairs", "dim", "batch_size")}
    common |= {"steps": config.steps, "probe_every": config.probe_every, "hidden": 0, "device": device}
    common |= {"trigger_alpha": config.alpha, "output_alpha": config.alpha}
    return [
        Cell(measure_run, common | {"optimizer": name, "lr": lr, "seed": config.first_seed + seed})
        for name in COMPARED
        for lr in getattr(config, f"rates_{name}")
        for seed in range(config.seeds)
    ]


def rates_summary(config: RatesConfig, results: list[dict]) -> Summary:
    """For each optimizer the mean OOD accuracy over a whole run (the area under its curve), by rate; the best is `lr`.

    Accuracy at the end would not tell rates apart that are all still on the plateau, or all done. A rate at which a
    seed diverged is out, with None. An optimum at an end of the scan is a doubt.
    """
    runs = iter(results)
    area, final, best, doubts = {}, {}, {}, {}
    for name in COMPARED:
        rates = getattr(config, f"rates_{name}")
        seeds = [[next(runs) for _ in range(config.seeds)] for _ in rates]
        whole = [all(run["diverged"] is None for run in draws) for draws in seeds]
        area[name], final[name] = (
            [
                float(np.mean([reduce(run["ood"]) for run in draws])) if ok else None
                for draws, ok in zip(seeds, whole, strict=True)
            ]
            for reduce in (lambda curve: np.mean(curve[1:]), lambda curve: curve[-1])
        )
        index = max((k for k in range(len(rates)) if whole[k]), key=lambda k: area[name][k], default=None)
        best[name] = None if index is None else rates[index]
        doubts[name] = ["no rate without a divergence"] if index is None else []
        doubts[name] += ["edge of the scan"] if index in (0, len(rates) - 1) else []
    verdicts = {name: NOT_REPRODUCED if best[name] is None else REPRODUCED for name in COMPARED}
    measured = {"ood_area": area, "ood_final": final, "lr": best, "doubts": doubts}
    return Summary(measured, {"ood_area": {}, "ood_final": {}}, verdicts)


@dataclass(frozen=True)
class Setting:
    """Where a run stands on the grid: everything but the optimizer and the seed."""

    trigger_alpha: float
    output_alpha: float
    dim: int
    batch_size: int
    hidden: int = 0


def settings(config: RecallConfig) -> dict[str, list[Setting]]:
    """The settings of each figure, in the order of its axis; they share their runs."""
    alpha, dim, batch = config.alpha, config.dim, config.batch_size
    return {
        "base": [Setting(alpha, alpha, dim, batch)],
        "heavy_outputs": [Setting(0.0, alpha, dim, batch)],
        "dims": [Setting(alpha, alpha, d, batch) for d in config.dims],
        "batch_sizes": [Setting(alpha, alpha, dim, size) for size in config.batch_sizes],
        "trigger_alphas": [Setting(a, 0.0, dim, batch) for a in config.alphas],
        "output_alphas": [Setting(0.0, a, dim, batch) for a in config.alphas],
        "mlp": [Setting(alpha, alpha, dim, batch, config.hidden_over_dim * dim)],
    }


def recall_runs(config: RecallConfig) -> list[tuple[Setting, str]]:
    """Every (setting, optimizer) once, small ones first; the exact polar map at the two settings of the long runs."""
    by_figure = settings(config)
    once = {setting: None for figure in by_figure.values() for setting in figure}
    ordered = sorted(once, key=lambda s: (s.dim, s.batch_size, s.hidden))
    exact = [(by_figure[name][0], "exact_muon") for name in ("base", "heavy_outputs")]
    return [(setting, name) for setting in ordered for name in COMPARED] + list(dict.fromkeys(exact))


def recall_cells(config: RecallConfig, device: str) -> list[Cell]:
    """Every run of every seed."""
    common = {name: getattr(config, name) for name in ("n_items", "length", "pairs", "probe_every")}
    by_figure = settings(config)
    long = {by_figure["base"][0], by_figure["heavy_outputs"][0]}
    return [
        Cell(
            measure_run,
            common
            | vars(setting)
            | {
                "optimizer": name,
                "lr": getattr(config, f"lr_{name.removeprefix('exact_')}"),
                "steps": config.long_steps if setting in long and name in COMPARED else config.steps,
                "seed": seed,
                "device": device,
            },
        )
        for seed in range(config.first_seed, config.first_seed + config.seeds)
        for setting, name in recall_runs(config)
    ]


RECALL_RATES = Experiment(
    name="recall-rates",
    purpose="learning rates for recall: one scan per optimizer, on seeds of its own",
    profiles={
        "smoke": RatesConfig(
            n_items=24, length=20, pairs=2, dim=32, batch_size=32, steps=300, probe_every=50, seeds=1,
            rates_muon=(0.005, 0.01, 0.02), rates_adamw=(0.001, 0.002, 0.004), rates_sgd=(0.02, 0.04, 0.08),
        ),
        "cpu": RatesConfig(),
        "gpu": RatesConfig(
            n_items=256, length=128, pairs=8, dim=256, batch_size=512, steps=2000, probe_every=200,
            rates_muon=(0.005, 0.01, 0.02), rates_adamw=(5e-4, 1e-3, 2e-3), rates_sgd=(0.01, 0.03, 0.06),
        ),
    },
    cells=rates_cells,
    summarise=rates_summary,
)  # fmt: skip


def recall_summary(config: RecallConfig, results: list[dict]) -> Summary:
    """The three figures, the long runs and what is inside them.

    `ood`, `id`, `recall`: by figure ("dims", "batch_sizes", "trigger_alphas", "output_alphas", and "base",
    "heavy_outputs", "mlp" with one entry) and optimizer the mean over seeds after `steps` steps, `seed_…` the seeds,
    `half_…` half the 95 % interval of the mean; `at_base` the three of them at the base, by optimizer.
    `gap` by figure: Muon's OOD accuracy minus that of the better other, mean, low and high end of the 95 % interval of
    the paired difference. `diverged`: runs that diverged by then; they are in no mean, and a setting with none left
    has None. `curves`: by figure ("dims", "base", "heavy_outputs"), metric and optimizer, a list over settings, seeds
    and `probed` steps. `learnt`, `spectrum`, `by_output` as in `measure_run`, for the two long settings, by seed.
    """
    labels = [(setting, name) for _ in range(config.seeds) for setting, name in recall_runs(config)]
    runs = {}
    for label, result in zip(labels, results, strict=True):
        runs.setdefault(label, []).append(result)
    by_figure = settings(config)
    measured = {key: {figure: {} for figure in by_figure} for key in ("diverged", "gap")}
    for metric in ("ood", "id", "recall"):
        measured |= {metric: {}, f"half_{metric}": {}, f"seed_{metric}": {}}
        for figure, places in by_figure.items():
            names = [name for name in (*COMPARED, "exact_muon") if (places[0], name) in runs]
            seeds = {name: [_at_budget(runs[place, name], metric, config.steps) for place in places] for name in names}
            measured[f"seed_{metric}"][figure] = seeds
            for key, reduce in ((metric, _mean), (f"half_{metric}", _half_width)):
                measured[key][figure] = {name: [reduce(values) for values in rows] for name, rows in seeds.items()}
    for figure, seeds in measured["seed_ood"].items():
        measured["diverged"][figure] = {name: [row.count(None) for row in rows] for name, rows in seeds.items()}
        measured["gap"][figure] = [
            _gap(*(seeds[name][index] for name in COMPARED)) for index in range(len(by_figure[figure]))
        ]
    measured["probed"] = list(range(0, config.long_steps + 1, config.probe_every))
    measured["curves"] = {
        figure: {
            metric: {
                name: [[_rounded(run[metric]) for run in runs[place, name]] for place in by_figure[figure]]
                for name in COMPARED
            }
            for metric in metrics
        }
        for figure, metrics in {
            "dims": ("ood", "id"),
            "base": ("ood", "id", "recall", "previous", "match"),
            "heavy_outputs": ("ood", "id", "recall", "previous", "match"),
        }.items()
    }
    for key, source in {"learnt": "learnt", "spectrum": "spectrum", "by_output": "ood_by_output"}.items():
        measured[key] = {
            figure: {name: [_rounded(run[source]) for run in runs[by_figure[figure][0], name]] for name in COMPARED}
            for figure in ("base", "heavy_outputs")
        }
    at_base = [measured[metric]["base"] for metric in ("ood", "id", "recall")]
    measured["at_base"] = {name: [means[name][0] for means in at_base] for name in at_base[0]}
    return Summary(measured, {"at_base": {}}, recall_verdicts(config, measured))


def recall_verdicts(config: RecallConfig, measured: dict) -> dict[str, str]:
    """What the figures say, by the paper's own words, with rules fixed before the confirmatory run.

    figure_6, "Muon consistently outperforms across dimensions" in both metrics: reproduced if at every d where anybody
    answers half of the OOD questions Muon is ahead there by more than the interval and not behind in ID, and by
    `CLEAR_GAP` at the base; finite-size if it is ahead in the mean, or if nobody gets so far.
    figure_7, "near-perfect at a smaller batch": reproduced if the smallest batch from which on it answers 0.8 of OOD
    questions is smaller than for both others; finite-size if it is equal, or if nobody gets there.
    figure_8, "remarkably robust" in the output exponent where Muon and AdamW "perform similarly" for uniform outputs:
    reproduced if with outputs at `alpha` Muon is ahead by more than the interval, and for uniform outputs it and AdamW
    are within `CLEAR_GAP`; finite-size if it is ahead in the mean.
    """
    ood, gaps = measured["ood"], measured["gap"]
    known = {
        metric: {name: [value or 0.0 for value in measured[metric]["dims"][name]] for name in COMPARED}
        for metric in ("ood", "id")
    }
    judged = [k for k in range(len(config.dims)) if max(known["ood"][name][k] for name in COMPARED) >= 0.5]
    in_id = all(known["id"]["muon"][k] >= max(known["id"][name][k] for name in COMPARED[1:]) for k in judged)
    clear = all(gaps["dims"][k]["low"] > 0 for k in judged) and gaps["base"][0]["mean"] >= CLEAR_GAP
    figure_6 = _ordered(bool(judged) and in_id and clear, all(gaps["dims"][k]["mean"] > 0 for k in judged))
    enough = {name: _enough(config.batch_sizes, ood["batch_sizes"][name]) for name in COMPARED}
    others = min(enough["adamw"], enough["sgd"])
    figure_7 = _ordered(enough["muon"] < others, enough["muon"] == others)
    heavy, even = gaps["heavy_outputs"][0], ood["output_alphas"]
    flat = [even[name][config.alphas.index(0.0)] or 0.0 for name in ("muon", "adamw")] if 0.0 in config.alphas else []
    alike = bool(flat) and abs(flat[0] - flat[1]) <= CLEAR_GAP
    figure_8 = _ordered(heavy["low"] > 0 and alike, heavy["mean"] > 0)
    return {"figure_6": figure_6, "figure_7": figure_7, "figure_8": figure_8}


def _ordered(whole: bool, part: bool) -> str:
    return REPRODUCED if whole else FINITE_SIZE if part else NOT_REPRODUCED


def _enough(batch_sizes, accuracies: list, share: float = 0.8) -> float:
    """The smallest batch from which on all larger ones reach `share`, infinite if there is none."""
    enough = math.inf
    for size, accuracy in sorted(zip(batch_sizes, accuracies, strict=True), reverse=True):
        if accuracy is None or accuracy < share:
            break
        enough = size
    return enough


def _at_budget(draws: list[dict], metric: str, steps: int) -> list:
    return [None if steps not in run["step"] else round(run[metric][run["step"].index(steps)], 4) for run in draws]


def _mean(values: list) -> float | None:
    kept = [value for value in values if value is not None]
    return float(np.mean(kept)) if kept else None


def _half_width(values: list) -> float:
    """Half the 95 % interval of a mean over seeds by Student's t, infinite for less than two of them."""
    kept = [value for value in values if value is not None]
    if len(kept) < 2:
        return math.inf
    return float(stdtrit(len(kept) - 1, 0.975) * np.std(kept, ddof=1) / math.sqrt(len(kept)))


def _gap(muon: list, adamw: list, sgd: list) -> dict:
    """Mean and 95 % interval of Muon minus the other that is better in the mean, paired by seed."""
    other = max((adamw, sgd), key=lambda row: _mean(row) or 0.0)
    pairs = [a - b for a, b in zip(muon, other, strict=True) if a is not None and b is not None]
    mean, half = (float(np.mean(pairs)) if pairs else math.nan), _half_width(pairs)
    return {"mean": mean, "low": mean - half, "high": mean + half}


def _rounded(values: list) -> list:
    return [round(value, 4) if isinstance(value, float) else value for value in values]


RECALL = Experiment(
    name="recall",
    purpose="in-context recall with a two-layer network: Muon, AdamW, SGD (Figures 6, 7 and 8)",
    profiles={
        "smoke": RecallConfig(
            n_items=24, length=20, pairs=2, dims=(32,), batch_sizes=(32,), alphas=(0.0,), dim=32, batch_size=32,
            steps=300, long_steps=300, seeds=2,
        ),
        "cpu": RecallConfig(),
        "gpu": RecallConfig(
            n_items=256, length=128, pairs=8, dims=(32, 64, 128, 256, 512), batch_sizes=(64, 128, 256, 512, 1024),
            dim=256, batch_size=512, steps=2000, long_steps=6000, probe_every=200,
        ),
    },
    cells=recall_cells,
    summarise=recall_summary,
)  # fmt: skip
