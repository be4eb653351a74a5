"""`recall-rates`: the scan of learning rates that goes before `recall`, one per optimizer, on seeds of its own."""

import math
from dataclasses import dataclass

import numpy as np

from amembook.networks.tasks import RecallTask
from amembook.paper.recall.runs import COMPARED, measure_run
from amembook.run.base import Config, Count, Experiment, Grid, Natural, Positives, Results, draws
from amembook.run.claims import check
from amemlib.checks import check_positive


@dataclass(frozen=True)
class RatesConfig(Config):
    """The scan of learning rates at the base setting, as many for each optimizer, on seeds of its own.

    What stands without a comment is as in `recall.RecallConfig`.
    """

    n_items: int = 64
    length: int = 32
    pairs: int = 3
    alpha: float = 1.5
    dim: Count = 64
    batch_size: Count = 64
    steps: Count = 1000
    probe_every: Count = 100
    rates_muon: Positives = (0.0025, 0.005, 0.01, 0.02, 0.04)
    rates_adamw: Positives = (0.0005, 0.001, 0.002, 0.004, 0.008)
    rates_sgd: Positives = (0.01, 0.02, 0.04, 0.08, 0.16)
    rates_sgd_matrices: tuple[float, ...] = ()  # those of the control, none to leave it out
    # whether embeddings, positions and unembeddings stay as they were drawn; the control is then `sgd`
    fixed_vectors: bool = False
    seeds: Count = 2
    first_seed: Natural = 500

    def limits(self) -> None:
        RecallTask(self.n_items, self.length, self.pairs, self.alpha, self.alpha)
        for rate in self.rates_sgd_matrices:
            check_positive("rates_sgd_matrices", rate)
        for name in scanned(self):
            values, count = getattr(self, f"rates_{name}"), len(self.rates_muon)
            if len(values) != count:
                raise ValueError(f"rates_{name} must hold {count} rates like rates_muon, got {list(values)}")
        if self.fixed_vectors and self.rates_sgd_matrices:
            raise ValueError(
                f"rates_sgd_matrices must be empty with fixed_vectors, got {list(self.rates_sgd_matrices)}"
            )


def scanned(config: RatesConfig) -> tuple[str, ...]:
    """The optimizers that a config scans."""
    return COMPARED + (("sgd_matrices",) if config.rates_sgd_matrices else ())


def rates_grids(config: RatesConfig) -> dict[str, Grid]:
    """Every rate of every optimizer on every seed, a grid an optimizer; no run has an MLP."""
    return {
        name: Grid(
            measure_run,
            {"lr": getattr(config, f"rates_{name}"), "seed": draws(config)},
            optimizer=f"{name}_fixed" if config.fixed_vectors else name,
            hidden=0,
            unembedding_length=1.0,
            trigger_alpha=config.alpha,
            output_alpha=config.alpha,
        )
        for name in scanned(config)
    }


def rates_summary(config: RatesConfig, results: Results) -> tuple[dict, dict]:
    """For each optimizer the mean OOD accuracy over a whole run (the area under its curve), by rate; the best is `lr`.

    Accuracy at the end would not tell rates apart that are all still on the plateau, or all done. A rate at which a
    seed diverged is out, with None. An optimum at an end of the scan is a doubt.
    """
    measured = {key: {} for key in ("ood_area", "ood_final", "lr", "doubts")}
    for name in scanned(config):
        rates, runs = getattr(config, f"rates_{name}"), results.draws[name]
        whole = [k for k, draws in enumerate(runs) if all(run["diverged"] is None for run in draws)]
        area, final = [None] * len(rates), [None] * len(rates)
        for k in whole:
            area[k] = np.mean([np.mean(run["ood"][1:]) for run in runs[k]])
            final[k] = np.mean([run["ood"][-1] for run in runs[k]])
        best = max(whole, key=area.__getitem__, default=None)
        measured["ood_area"][name], measured["ood_final"][name] = area, final
        measured["lr"][name] = None if best is None else rates[best]
        measured["doubts"][name] = ["no rate without a divergence"] if best is None else []
        measured["doubts"][name] += ["edge of the scan"] if best in (0, len(rates) - 1) else []
    return measured, {"ood_area": {}, "ood_final": {}}


def judge_rates(config: RatesConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """Every optimizer has a rate at which no seed diverged."""
    return {name: check(int(not math.isfinite(measured["lr"][name]))) for name in scanned(config)}


EXPERIMENT = Experiment(
    name="recall-rates",
    purpose="learning rates for recall: one scan per optimizer, on seeds of its own",
    profiles={
        "smoke": RatesConfig(
            n_items=24, length=20, pairs=2, dim=32, batch_size=32, steps=300, probe_every=50, seeds=1,
            rates_muon=(0.005, 0.01, 0.02), rates_adamw=(0.001, 0.002, 0.004), rates_sgd=(0.02, 0.04, 0.08),
        ),
        "cpu": RatesConfig(),
        "controls": RatesConfig(rates_sgd_matrices=(0.01, 0.02, 0.04, 0.08, 0.16), seeds=4, first_seed=520),
        "capacity": RatesConfig(
            n_items=1024, steps=3000, probe_every=250, first_seed=580,
            rates_muon=(0.00125, 0.0025, 0.005, 0.01, 0.02),
        ),
        "capacity-fixed": RatesConfig(
            n_items=1024, steps=3000, probe_every=250, first_seed=590, fixed_vectors=True,
            rates_muon=(0.00125, 0.0025, 0.005, 0.01, 0.02),
        ),
        "gpu": RatesConfig(
            seeds=4, first_seed=24_000,
            dim=128, rates_muon=(0.005, 0.01, 0.02), rates_adamw=(5e-4, 1e-3, 2e-3), rates_sgd=(0.01, 0.02, 0.04),
        ),
    },
    grids=rates_grids,
    summarise=rates_summary,
    judge=judge_rates,
    added={"rates_sgd_matrices": (), "fixed_vectors": False},
)  # fmt: skip
