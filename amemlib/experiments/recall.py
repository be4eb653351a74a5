"""`recall`: in-context recall with a two-layer network under Muon, AdamW and SGD (Figures 6, 7 and 8)."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from amemlib.checks import check_count, check_dims, check_non_negative, check_positive
from amemlib.experiments.base import Experiment, Grid, Results, draws
from amemlib.experiments.recall_runs import COMPARED, measure_run
from amemlib.tasks import RecallTask
from amemlib.verdicts import verdict

CLEAR_GAP = 0.3
"""By how much Muon's OOD accuracy must exceed the best other's at the base setting to count as clearly ahead."""
ANSWERED, NEARLY_ALL = 0.5, 0.8
"""The OOD accuracy from which on a dimension is judged, and the one that counts as near-perfect."""
Answers = tuple[bool | None, bool | None]
"""Whether sizes and limit are met, None where there is nothing to judge by."""
LONG = ("base", "heavy_outputs")
"""The settings whose runs go on to `long_steps`, and which the exact polar map runs as well."""
CURVES = {"dims": ("ood", "id")} | dict.fromkeys(LONG, ("ood", "id", "recall", "previous", "match"))


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
            if getattr(self, name) not in getattr(self, f"{name}s"):
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
    exact = [(by_figure[name][0], "exact_muon") for name in LONG]
    return [(setting, name) for setting in ordered for name in COMPARED] + list(dict.fromkeys(exact))


def recall_grids(config: RecallConfig) -> dict[str, Grid]:
    """Every run of every seed; the axis "run" has the pairs of `recall_runs`."""
    long = {settings(config)[name][0] for name in LONG}
    runs = {}
    for setting, name in recall_runs(config):
        steps = config.long_steps if setting in long and name in COMPARED else config.steps
        lr = getattr(config, f"lr_{name.removeprefix('exact_')}")
        runs[setting, name] = vars(setting) | {"optimizer": name, "lr": lr, "steps": steps}
    return {"runs": Grid(measure_run, {"seed": draws(config), "run": runs})}


def recall_summary(config: RecallConfig, results: Results) -> tuple[dict, dict]:
    """The three figures, the long runs and what is inside them.

    `ood`, `id`, `recall`: by figure ("dims", "batch_sizes", "trigger_alphas", "output_alphas", and "base",
    "heavy_outputs", "mlp" with one entry) and optimizer the mean over seeds after `steps` steps, `seed_…` the seeds,
    `half_…` half the 95 % interval of the mean; `at_base` the three of them at the base, by optimizer.
    `gap` by figure: Muon's OOD accuracy minus that of the better other, mean, low and high end of the 95 % interval of
    the paired difference. `diverged`: runs that diverged by then; they are in no mean, and a setting with none left
    has None. `curves`: by figure ("dims", "base", "heavy_outputs"), metric and optimizer, a list over settings, seeds
    and `probed` steps. `learnt`, `spectrum`, `by_output` as in `measure_run`, for the two long settings, by seed.
    """
    # the curves of a run that diverged are shorter: no array
    runs = dict(zip(results.grids["runs"].axes["run"], results.draws["runs"].T, strict=True))
    by_figure = settings(config)
    measured = {}

    def optimizers(figure: str) -> list[str]:
        return [name for name in (*COMPARED, "exact_muon") if (by_figure[figure][0], name) in runs]

    for metric in ("ood", "id", "recall"):
        seeds = {
            figure: {
                name: [_at_budget(runs[s, name], metric, config.steps) for s in places] for name in optimizers(figure)
            }
            for figure, places in by_figure.items()
        }
        measured[f"seed_{metric}"] = seeds
        measured[metric], measured[f"half_{metric}"] = _of_seeds(_mean, seeds), _of_seeds(_half_width, seeds)
    measured["diverged"] = _of_seeds(lambda values: values.count(None), measured["seed_ood"])
    measured["gap"] = {
        figure: [_gap(*draws) for draws in zip(*(seeds[name] for name in COMPARED), strict=True)]
        for figure, seeds in measured["seed_ood"].items()
    }
    measured["probed"] = list(range(0, config.long_steps + 1, config.probe_every))

    def rows(figure: str, key: str) -> dict:
        return {name: [[_rounded(run[key]) for run in runs[s, name]] for s in by_figure[figure]] for name in COMPARED}

    measured["curves"] = {figure: {key: rows(figure, key) for key in keys} for figure, keys in CURVES.items()}
    for key, source in {"learnt": "learnt", "spectrum": "spectrum", "by_output": "ood_by_output"}.items():
        measured[key] = {figure: {name: row[0] for name, row in rows(figure, source).items()} for figure in LONG}
    at_base = [measured[metric]["base"] for metric in ("ood", "id", "recall")]
    measured["at_base"] = {name: [means[name][0] for means in at_base] for name in at_base[0]}
    return measured, {"at_base": {}}


def judge_recall(config: RecallConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """What the figures say, by the paper's own words, with rules fixed before the confirmatory run.

    Limit: the paper's words. Sizes: their part that few seeds can show. Rivals: the same words with another optimizer
    in Muon's place.
    """
    verdicts = {}
    for name, rule in {"figure_6": _figure_6, "figure_7": _figure_7, "figure_8": _figure_8}.items():
        sizes, limit = rule(config, measured, "muon")
        others = {"AdamW ahead": "adamw", "SGD ahead": "sgd"}
        refused = [law for law, leader in others.items() if rule(config, measured, leader)[1] is False]
        verdicts[name] = verdict(sizes, limit, refused)
    return verdicts


def _figure_6(config: RecallConfig, measured: dict, leader: str) -> Answers:
    """Ahead in both metrics across dimensions ("consistently outperforms").

    Limit: at every d where anybody answers half of the OOD questions the leader is ahead there by more than the
    interval and not behind in ID, and by `CLEAR_GAP` at the base. Sizes: it is ahead in the mean. Neither has an answer
    if nobody gets so far.
    """
    ood, known = ({name: [x or 0.0 for x in measured[key]["dims"][name]] for name in COMPARED} for key in ("ood", "id"))
    judged = [k for k in range(len(config.dims)) if max(ood[name][k] for name in COMPARED) >= ANSWERED]
    if not judged:
        return None, None
    gaps = [_lead(measured, "dims", k, leader) for k in judged]
    in_id = all(known[leader][k] >= max(known[name][k] for name in COMPARED) for k in judged)
    clear = all(gap["low"] > 0 for gap in gaps) and _lead(measured, "base", 0, leader)["mean"] >= CLEAR_GAP
    return all(gap["mean"] > 0 for gap in gaps), in_id and clear


def _figure_7(config: RecallConfig, measured: dict, leader: str) -> Answers:
    """Near-perfect at a smaller batch.

    Limit: the smallest batch from which on the leader is near-perfect is smaller than for both others. Sizes: it is no
    larger. Neither has an answer if nobody gets there.
    """
    enough = {name: _enough(config.batch_sizes, measured["ood"]["batch_sizes"][name]) for name in COMPARED}
    if min(enough.values()) == math.inf:
        return None, None
    others = min(enough[name] for name in COMPARED if name != leader)
    return enough[leader] <= others, enough[leader] < others


def _figure_8(config: RecallConfig, measured: dict, leader: str) -> Answers:
    """Ahead where outputs have a heavy tail ("remarkably robust"), like AdamW where they are uniform ("similarly").

    Limit: with outputs at `alpha` the leader is ahead by more than the interval, and for uniform outputs, if they were
    run, Muon and AdamW are within `CLEAR_GAP`. Sizes: it is ahead in the mean.
    """
    gap = _lead(measured, "heavy_outputs", 0, leader)
    if 0.0 not in config.alphas:
        return gap["mean"] > 0, None
    uniform = config.alphas.index(0.0)
    muon, adamw = (measured["ood"]["output_alphas"][name][uniform] or 0.0 for name in ("muon", "adamw"))
    return gap["mean"] > 0, gap["low"] > 0 and abs(muon - adamw) <= CLEAR_GAP


def _lead(measured: dict, figure: str, index: int, leader: str) -> dict:
    """`_gap` between one optimizer and the two others at one setting of a figure."""
    seeds = {name: measured["seed_ood"][figure][name][index] for name in COMPARED}
    return _gap(seeds.pop(leader), *seeds.values())


def _enough(batch_sizes, accuracies: list, share: float = NEARLY_ALL) -> float:
    """The smallest batch from which on all larger ones reach `share`, infinite if there is none."""
    enough = math.inf
    for size, accuracy in sorted(zip(batch_sizes, accuracies, strict=True), reverse=True):
        if accuracy is None or accuracy < share:
            break
        enough = size
    return enough


def _at_budget(draws: Iterable[dict], metric: str, steps: int) -> list:
    """A metric of every run after `steps` steps, None for a run that diverged before."""
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


def _gap(first: list, *others: list) -> dict:
    """Mean and 95 % interval of the first one's accuracy minus that of the best other, best in the mean, by seed."""
    other = max(others, key=lambda row: _mean(row) or 0.0)
    pairs = [a - b for a, b in zip(first, other, strict=True) if a is not None and b is not None]
    mean, half = (float(np.mean(pairs)) if pairs else math.nan), _half_width(pairs)
    return {"mean": mean, "low": mean - half, "high": mean + half}


def _of_seeds(reduce: Callable[[list], object], seeds: dict) -> dict:
    """By figure and optimizer the list over settings of a function of the seeds."""
    return {
        figure: {name: [reduce(values) for values in rows] for name, rows in by_name.items()}
        for figure, by_name in seeds.items()
    }


def _rounded(values: list) -> list:
    return [round(value, 4) if isinstance(value, float) else value for value in values]


EXPERIMENT = Experiment(
    name="recall",
    purpose="in-context recall with a two-layer network: Muon, AdamW, SGD (Figures 6, 7 and 8)",
    profiles={
        "smoke": RecallConfig(
            n_items=24, length=20, pairs=2, dims=(32,), batch_sizes=(32,), alphas=(0.0,), dim=32, batch_size=32,
            steps=300, long_steps=300, seeds=2,
        ),
        "cpu": RecallConfig(),
        "gpu": RecallConfig(
            dims=(64, 128, 256, 512), batch_sizes=(32, 64, 128), alphas=(0.0, 1.5), dim=128, seeds=8,
        ),
    },
    grids=recall_grids,
    summarise=recall_summary,
    judge=judge_recall,
)  # fmt: skip
