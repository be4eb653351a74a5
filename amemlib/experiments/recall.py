"""`recall`: in-context recall with a two-layer network under Muon, AdamW and SGD (Figures 6, 7 and 8)."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from amemlib.checks import check_choice, check_count, check_dims, check_non_negative, check_positive
from amemlib.experiments.base import FRESH_SEEDS, Experiment, Grid, Results, draws
from amemlib.experiments.recall_runs import COMPARED, measure_run
from amemlib.tasks import RecallTask
from amemlib.verdicts import refuse, verdict

CLEAR_GAP = 0.3
"""How far two OOD accuracies may be apart to count as alike."""
ANSWERED, NEARLY_ALL = 0.5, 0.8
"""The OOD accuracy that times are measured to and from which on a dimension is judged, and the one that counts as
near-perfect."""
SAME_TIME = 1.5
"""Within which factor of the shipped Muon's time to one half the exact polar map must stay to be the same optimizer."""
CONTROLS = ("exact_muon", "sgd_matrices", "adamw_vectors")
"""What tells the spectral map from what Muon has besides it: the exact polar map, Muon's vectors with SGD on the
matrices, and Muon's rate of the vectors with AdamW everywhere."""
Answers = tuple[bool | None, bool | None]
"""Whether sizes and limit are met, None where there is nothing to judge by."""
LONG = ("base", "heavy_outputs")
"""The settings whose runs go on to `long_steps`, and which the controls run as well."""
RATE_OF = {"exact_muon": "muon", "adamw_vectors": "adamw"}
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
    lr_muon, lr_adamw, lr_sgd, lr_sgd_matrices: constant learning rates, from `recall-rates`; adamw_vectors has AdamW's.
    controls: of `CONTROLS`, run at the settings of the long runs. first_seed, seeds: as everywhere.
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
    lr_sgd: float = 0.04
    lr_sgd_matrices: float = 0.04
    controls: tuple[str, ...] = CONTROLS
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
        for name in ("lr_muon", "lr_adamw", "lr_sgd", "lr_sgd_matrices"):
            check_positive(name, getattr(self, name))
        for name in self.controls:
            check_choice("controls", name, CONTROLS)
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
    """Every (setting, optimizer) once, small ones first; the controls at the two settings of the long runs."""
    by_figure = settings(config)
    once = {setting: None for figure in by_figure.values() for setting in figure}
    ordered = sorted(once, key=lambda s: (s.dim, s.batch_size, s.hidden))
    controls = [(by_figure[name][0], control) for name in LONG for control in config.controls]
    return [(setting, name) for setting in ordered for name in COMPARED] + list(dict.fromkeys(controls))


def recall_grids(config: RecallConfig) -> dict[str, Grid]:
    """Every run of every seed; the axis "run" has the pairs of `recall_runs`."""
    long = {settings(config)[name][0] for name in LONG}
    runs = {}
    for setting, name in recall_runs(config):
        # controls go as far as what they are compared with; the exact map's SVDs are dear, and it is no slower
        steps = config.long_steps if setting in long and name != "exact_muon" else config.steps
        lr = getattr(config, f"lr_{RATE_OF.get(name, name)}")
        runs[setting, name] = vars(setting) | {"optimizer": name, "lr": lr, "steps": steps}
    return {"runs": Grid(measure_run, {"seed": draws(config), "run": runs}, unembedding_length=1.0)}


def recall_summary(config: RecallConfig, results: Results) -> tuple[dict, dict]:
    """The three figures, the long runs and what is inside them.

    `ood`, `id`, `recall`: by figure ("dims", "batch_sizes", "trigger_alphas", "output_alphas", and "base",
    "heavy_outputs", "mlp" with one entry) and optimizer the mean over seeds after `steps` steps, `seed_…` the seeds,
    `half_…` half the 95 % interval of the mean; `at_base` the three of them at the base, by optimizer.
    `gap` by figure: Muon's OOD accuracy minus that of the better other, mean, low and high end of the 95 % interval of
    the paired difference. `diverged`: runs that diverged by then; they are in no mean, and a setting with none left
    has None. `curves`: by figure ("dims", "base", "heavy_outputs"), metric and optimizer, a list over settings, seeds
    and `probed` steps. `learnt`, `sure`, `spectrum`, `by_output` as in `measure_run`, for the two long settings, by
    seed. `half_time` by figure and optimizer: the step at which each seed's OOD accuracy first reaches one half, None
    where it does not by `ended`, the end of its run.
    """
    # the curves of a run that diverged are shorter: no array
    runs = dict(zip(results.grids["runs"].axes["run"], results.draws["runs"].T, strict=True))
    by_figure = settings(config)
    measured = {}

    def optimizers(figure: str) -> list[str]:
        return [name for name in (*COMPARED, *CONTROLS) if (by_figure[figure][0], name) in runs]

    for metric in ("ood", "id", "recall"):
        seeds = {
            figure: {
                name: [_at_budget(runs[s, name], metric, config.steps) for s in places] for name in optimizers(figure)
            }
            for figure, places in by_figure.items()
        }
        measured[f"seed_{metric}"] = seeds
        measured[metric], measured[f"half_{metric}"] = _of_seeds(_mean, seeds), _of_seeds(half_width, seeds)
    measured["diverged"] = _of_seeds(lambda values: values.count(None), measured["seed_ood"])
    measured["gap"] = {
        figure: [_gap(*draws) for draws in zip(*(seeds[name] for name in COMPARED), strict=True)]
        for figure, seeds in measured["seed_ood"].items()
    }
    measured["half_time"], measured["ended"] = (
        {
            figure: {name: [read(runs[s, name]) for s in places] for name in optimizers(figure)}
            for figure, places in by_figure.items()
        }
        for read in (_half_times, lambda draws: [run["step"][-1] for run in draws])
    )
    measured["probed"] = list(range(0, config.long_steps + 1, config.probe_every))

    def rows(figure: str, key: str) -> dict:
        return {name: [[_rounded(run[key]) for run in runs[s, name]] for s in by_figure[figure]] for name in COMPARED}

    measured["curves"] = {figure: {key: rows(figure, key) for key in keys} for figure, keys in CURVES.items()}
    inside = {"learnt": "learnt", "sure": "sure", "spectrum": "spectrum", "by_output": "ood_by_output"}
    for key, source in inside.items():
        measured[key] = {figure: {name: row[0] for name, row in rows(figure, source).items()} for figure in LONG}
    at_base = [measured[metric]["base"] for metric in ("ood", "id", "recall")]
    measured["at_base"] = {name: [means[name][0] for means in at_base] for name in at_base[0]}
    return measured, {"at_base": {}}


def judge_recall(config: RecallConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """What the figures say, by the paper's own words, with rules fixed before the confirmatory run.

    The statistic is the time to one half: the ratio of the steps after which two optimizers answer half of the OOD
    questions, paired by seed, with its 95 % interval; accuracies at one budget stand beside it. Limit: the paper's
    words. Sizes: their part that few seeds can show. Rivals: the same words with another optimizer in Muon's place.
    """
    others = {"AdamW ahead": "adamw", "SGD ahead": "sgd"}
    figures = {"figure_6": _figure_6, "figure_7": _figure_7, "figure_8": _figure_8}
    if "half_time" not in measured:
        return dict.fromkeys((*figures, "spectral_map"), verdict(None, None))
    verdicts = {}
    for name, rule in figures.items():
        sizes, limit = rule(config, measured, "muon")
        judged = 0 if limit is None else 1
        refused = [law for law, leader in others.items() if rule(config, measured, leader)[judged] is False]
        verdicts[name] = verdict(sizes, limit, refused, config.seeds)
    return verdicts | {"spectral_map": _spectral_map(config, measured)}


def _figure_6(config: RecallConfig, measured: dict, leader: str) -> Answers:
    """Ahead in both metrics across dimensions ("consistently outperforms").

    Limit: at every d where anybody answers half of the OOD questions within the budget, the leader gets to one half
    first by more than the interval and is not behind in ID; at the base it is ahead in accuracy too, by more than the
    interval. Sizes: it is first in the mean. Neither has an answer if nobody gets so far.
    """
    ood, known = ({name: [x or 0.0 for x in measured[key]["dims"][name]] for name in COMPARED} for key in ("ood", "id"))
    judged = [k for k in range(len(config.dims)) if max(ood[name][k] for name in COMPARED) >= ANSWERED]
    if not judged:
        return None, None
    ratios = [ratio for k in judged for ratio in _rivals_times(measured, "dims", k, leader)]
    in_id = all(known[leader][k] >= max(known[name][k] for name in COMPARED) for k in judged)
    clear = all(ratio["low"] > 1 for ratio in ratios) and _lead(measured, "base", 0, leader)["low"] > 0
    return all(ratio["mean"] > 1 for ratio in ratios), in_id and clear


def _figure_7(config: RecallConfig, measured: dict, leader: str) -> Answers:
    """Near-perfect at a smaller batch.

    Limit: the smallest batch from which on the leader is near-perfect is smaller than for both others, and there it
    gets to one half first by more than the interval. Sizes: it is no larger. Neither has an answer if nobody gets
    there.
    """
    enough = {name: _enough(config.batch_sizes, measured["ood"]["batch_sizes"][name]) for name in COMPARED}
    if min(enough.values()) == math.inf:
        return None, None
    others = min(enough[name] for name in COMPARED if name != leader)
    if enough[leader] >= others:
        return enough[leader] <= others, False
    at = config.batch_sizes.index(enough[leader])
    return True, all(ratio["low"] > 1 for ratio in _rivals_times(measured, "batch_sizes", at, leader))


def _figure_8(config: RecallConfig, measured: dict, leader: str) -> Answers:
    """Ahead where outputs have a heavy tail ("remarkably robust"), like AdamW where they are uniform ("similarly").

    Limit: with outputs at `alpha` the leader gets to one half first by more than the interval, and for uniform outputs,
    if they were run, Muon and AdamW are within `CLEAR_GAP` at the budget. Sizes: it is first in the mean. The lead is
    one of time: the long runs all end high.
    """
    ratios = _rivals_times(measured, "heavy_outputs", 0, leader)
    first = all(ratio["mean"] > 1 for ratio in ratios)
    if 0.0 not in config.alphas:
        return first, None
    uniform = config.alphas.index(0.0)
    muon, adamw = (measured["ood"]["output_alphas"][name][uniform] or 0.0 for name in ("muon", "adamw"))
    return first, all(ratio["low"] > 1 for ratio in ratios) and abs(muon - adamw) <= CLEAR_GAP


def _spectral_map(config: RecallConfig, measured: dict) -> dict:
    """It is the spectral map that makes Muon faster, and not what else it has.

    Limit: at the settings of the long runs Muon gets to one half before SGD with Muon's vectors and before AdamW with
    Muon's rate of the vectors, by more than the intervals, and the exact polar map takes as long to `SAME_TIME`.
    Rivals: the control in Muon's place.
    """
    if set(config.controls) != set(CONTROLS):
        return verdict(None, None)

    def is_first(leader: str, other: str) -> bool:
        return all(time_ratio(measured, figure, 0, leader, other)["low"] > 1 for figure in LONG)

    exact = [time_ratio(measured, figure, 0, "muon", "exact_muon")["mean"] for figure in LONG]
    same = all(1 / SAME_TIME <= ratio <= SAME_TIME for ratio in exact)
    rivals = {"the vectors' AdamW alone": "sgd_matrices", "the vectors' rate alone": "adamw_vectors"}
    met = same and all(is_first("muon", control) for control in rivals.values())
    return verdict(None, met, refuse(lambda control: not is_first("muon", control), rivals), config.seeds)


def _half_times(draws: Iterable[dict]) -> list[float | None]:
    """The step at which each run's OOD accuracy first reaches one half, linear between two probes; None if it never
    does."""
    times = []
    for run in draws:
        steps, ood = run["step"], run["ood"]
        k = next((k for k, accuracy in enumerate(ood) if accuracy >= ANSWERED), None)
        if k:
            share = (ANSWERED - ood[k - 1]) / (ood[k] - ood[k - 1])
            times.append(round(steps[k - 1] + share * (steps[k] - steps[k - 1]), 1))
        else:
            times.append(None if k is None else float(steps[0]))
    return times


def time_ratio(measured: dict, figure: str, index: int, leader: str, other: str) -> dict:
    """Geometric mean and 95 % interval of another optimizer's time to one half over the leader's, paired by seed.

    Who does not get there is counted with the end of its run: for the other that is a lower bound of the ratio. A
    leader who does not get there is never first: the interval begins at 0.
    """
    times, ended = (measured[key][figure] for key in ("half_time", "ended"))
    pairs = [
        (t or end, (o or other_end), t is None)
        for t, end, o, other_end in zip(
            times[leader][index], ended[leader][index], times[other][index], ended[other][index], strict=True
        )
    ]
    logs = [math.log(max(o, 1.0) / max(t, 1.0)) for t, o, _ in pairs]
    mean, half = float(np.mean(logs)), half_width(logs)
    low = 0.0 if any(censored for *_, censored in pairs) else math.exp(mean - half)
    return {"mean": math.exp(mean), "low": low, "high": math.exp(min(mean + half, 700.0))}


def _rivals_times(measured: dict, figure: str, index: int, leader: str) -> list[dict]:
    return [time_ratio(measured, figure, index, leader, name) for name in COMPARED if name != leader]


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


def half_width(values: list) -> float:
    """Half the 95 % interval of a mean over seeds by Student's t, infinite for less than two of them."""
    kept = [value for value in values if value is not None]
    if len(kept) < 2:
        return math.inf
    return float(stdtrit(len(kept) - 1, 0.975) * np.std(kept, ddof=1) / math.sqrt(len(kept)))


def _gap(first: list, *others: list) -> dict:
    """Mean and 95 % interval of the first one's accuracy minus that of the best other, best in the mean, by seed."""
    other = max(others, key=lambda row: _mean(row) or 0.0)
    pairs = [a - b for a, b in zip(first, other, strict=True) if a is not None and b is not None]
    mean, half = (float(np.mean(pairs)) if pairs else math.nan), half_width(pairs)
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
        "confirm": RecallConfig(seeds=8, first_seed=4600),
        "gpu": RecallConfig(
            dims=(64, 128, 256, 512), batch_sizes=(32, 64, 128), alphas=(0.0, 1.5), dim=128, seeds=8,
        ),
    },
    grids=recall_grids,
    summarise=recall_summary,
    judge=judge_recall,
    unseen_from=FRESH_SEEDS,
    added={"lr_sgd_matrices": 0.02, "controls": ("exact_muon",)},
)  # fmt: skip
