"""`recall`: in-context recall with a two-layer network: Muon, AdamW, SGD (Figures 6, 7 and 8).

Caveats: the statistic is the time until half of the OOD questions are answered, for accuracies all end near 1; an ID
accuracy counts as behind from 0.01 on, a gap between networks is one to 10 %. Rates are constant, of a scan on other
seeds; who does not get to one half is counted with the end of its run.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
from scipy.special import stdtrit

from amembook.networks.tasks import RecallTask
from amembook.paper.recall.runs import COMPARED, measure_run
from amembook.run.base import Config, Count, Experiment, Grid, Natural, NonNegatives, Positive, Results, draws
from amembook.run.claims import DIFFERENCE, FRESH_SEEDS, NETWORK, equivalence, numbers, order
from amembook.run.studies import headline
from amemlib.checks import check_choice, check_dims

BEHIND = 0.01
"""By how much an ID accuracy may be the smaller and not count as behind: all of them end near 1."""
ANSWERED, NEARLY_ALL = 0.5, 0.8
"""The OOD accuracy that times are measured to and from which on a dimension is judged, and the one that counts as
near-perfect."""
OTHERS = [name for name in COMPARED if name != "muon"]
CONTROLS = ("exact_muon", "sgd_matrices", "adamw_vectors")
"""What tells the spectral map from what Muon has besides it: the exact polar map, Muon's vectors with SGD on the
matrices, and Muon's rate of the vectors with AdamW everywhere."""
LONG = ("base", "heavy_outputs")
"""The settings whose runs go on to `long_steps`, and which the controls run as well."""
RATE_OF = {"exact_muon": "muon", "adamw_vectors": "adamw"}
CURVES = {"dims": ("ood", "id")} | dict.fromkeys(LONG, ("ood", "id", "recall", "previous", "match"))


def _check_controls(name: str, values: tuple) -> None:
    for value in values:
        check_choice(name, value, CONTROLS)


@dataclass(frozen=True)
class RecallConfig(Config):
    """Figures 6, 7 and 8: OOD accuracy against d, batch size and exponents, each around one base setting."""

    # the task: n triggers and n outputs, L tokens, K pairs
    n_items: int = 64
    length: int = 32
    pairs: int = 3
    alpha: float = 1.5  # of both laws in Figures 6 and 7, of the outputs alone in the long run with heavy-tailed ones
    dims: Annotated[tuple[int, ...], partial(check_dims, count=1, least=2)] = (16, 32, 64, 128)  # Figure 6
    batch_sizes: Annotated[tuple[int, ...], partial(check_dims, count=1, least=2)] = (8, 16, 32, 64, 128, 256)
    alphas: NonNegatives = (0.0, 1.0, 1.5, 2.0)  # Figure 8, for triggers and for outputs, the other one uniform
    # the base setting, one of `dims` and of `batch_sizes`
    dim: Count = 64
    batch_size: Count = 64
    steps: Count = 600  # the budget at which optimizers are compared
    long_steps: Count = 1500  # where the base setting and heavy-tailed outputs end
    hidden_over_dim: Count = 4  # width of the MLP in the runs that have one
    probe_every: Count = 50  # steps between two measurements
    # constant learning rates, from `recall-rates`; adamw_vectors has AdamW's
    lr_muon: Positive = 0.01
    lr_adamw: Positive = 2e-3
    lr_sgd: Positive = 0.04
    lr_sgd_matrices: Positive = 0.04
    controls: Annotated[tuple[str, ...], _check_controls] = CONTROLS  # run at the settings of the long runs
    seeds: Count = 3
    first_seed: Natural = 0

    def limits(self) -> None:
        RecallTask(self.n_items, self.length, self.pairs, self.alpha, self.alpha)
        for name in ("dim", "batch_size"):
            if getattr(self, name) not in getattr(self, f"{name}s"):
                raise ValueError(f"{name} must be one of {name}s, got {getattr(self, name)}")
        if self.long_steps < self.steps or self.steps % self.probe_every:
            raise ValueError(
                f"steps must be a multiple of probe_every and at most long_steps, got {self.steps}, "
                f"{self.probe_every} and {self.long_steps}"
            )


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


def grids(config: RecallConfig) -> dict[str, Grid]:
    """Every run of every seed; the axis "run" has the pairs of `recall_runs`."""
    long = {settings(config)[name][0] for name in LONG}
    runs = {}
    for setting, name in recall_runs(config):
        # controls go as far as what they are compared with; the exact map's SVDs are dear, and it is no slower
        steps = config.long_steps if setting in long and name != "exact_muon" else config.steps
        lr = getattr(config, f"lr_{RATE_OF.get(name, name)}")
        runs[setting, name] = vars(setting) | {"optimizer": name, "lr": lr, "steps": steps}
    return {"runs": Grid(measure_run, {"seed": draws(config), "run": runs}, unembedding_length=1.0)}


def summarise(config: RecallConfig, results: Results) -> tuple[dict, dict]:
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


def judge(config: RecallConfig, measured: dict, predicted: dict) -> dict[str, dict]:
    """What the figures say, as orders of what was measured, with rules fixed before the confirmatory run.

    The statistic is the time to one half: the ratio of the steps after which two optimizers answer half of the OOD
    questions, paired by seed, with its 95 % interval; accuracies at one budget stand beside it.
    """
    names = ("figure_6", "figure_7", "figure_8", "spectral_map", "exact_map")
    if "half_time" not in measured:
        return {name: equivalence([]) for name in names}
    return {
        "figure_6": _figure_6(config, measured),
        "figure_7": _figure_7(config, measured),
        "figure_8": _figure_8(config, measured),
    } | _spectral_map(config, measured)


def _ratios(config: RecallConfig, measured: dict, figure: str, index: int, others, label: str) -> list[dict]:
    """Times to one half of other optimizers over Muon's, which must be larger than 1."""
    made = []
    for other in others:
        ratio = time_ratio(measured, figure, index, "muon", other)
        made += between(f"time of {other} over Muon's, {label}", ratio, draws=config.seeds, limit=1.0)
    return made


def between(name: str, interval: dict, **held_to) -> list[dict]:
    """The number of a mean with its 95 % interval, {"mean", "low", "high"}."""
    return numbers(name, interval["mean"], low=interval["low"], high=interval["high"], **held_to)


def _figure_6(config: RecallConfig, measured: dict) -> dict:
    """Ahead in both metrics across dimensions ("consistently outperforms").

    At every d where anybody answers half of the OOD questions within the budget, Muon gets to one half first and is
    not behind in ID; at the base it is ahead in accuracy too.
    """
    ood, known = ({name: np.nan_to_num(measured[key]["dims"][name]) for name in COMPARED} for key in ("ood", "id"))
    judged = [k for k in range(len(config.dims)) if max(ood[name][k] for name in COMPARED) >= ANSWERED]
    if not judged:
        return order([])
    lead, held_to = _lead(measured, "base", 0, "muon"), {"draws": config.seeds, "scale": DIFFERENCE}
    made = between("lead in OOD accuracy at the base", lead, limit=0.0, **held_to)
    for k in judged:
        made += _ratios(config, measured, "dims", k, OTHERS, f"d = {config.dims[k]}")
        behind = known["muon"][k] - max(known[name][k] for name in COMPARED)
        made += numbers(f"ID accuracy less the best, d = {config.dims[k]}", behind, limit=-BEHIND, **held_to)
    return order(made)


def _figure_7(config: RecallConfig, measured: dict) -> dict:
    """Near-perfect at a smaller batch: the smallest batch from which on an optimizer is near-perfect is larger for both
    others, and at Muon's it gets to one half first. No answer if nobody gets there.
    """
    enough = {name: _enough(config.batch_sizes, measured["ood"]["batch_sizes"][name]) for name in COMPARED}
    if min(enough.values()) == math.inf:
        return order([])
    # who never gets there needs a larger batch than the largest
    needed = {name: min(size, 2 * max(config.batch_sizes)) for name, size in enough.items()}
    least = min(needed[name] for name in OTHERS) / needed["muon"]
    made = numbers("smallest near-perfect batch of the others over Muon's", least, draws=config.seeds, limit=1.0)
    if enough["muon"] < math.inf:
        at = config.batch_sizes.index(enough["muon"])
        made += _ratios(config, measured, "batch_sizes", at, OTHERS, f"B = {enough['muon']}")
    return order(made)


def _figure_8(config: RecallConfig, measured: dict) -> dict:
    """Ahead where outputs have a heavy tail ("remarkably robust"), like AdamW where they are uniform ("similarly").

    With outputs at `alpha` Muon gets to one half first, and for uniform outputs, if they were run, Muon and AdamW are
    as accurate to `NETWORK` at the budget. The lead is one of time: the long runs all end high.
    """
    made = _ratios(config, measured, "heavy_outputs", 0, OTHERS, f"outputs at α = {config.alpha:g}")
    if 0.0 in config.alphas:
        at = config.alphas.index(0.0)
        muon, adamw = (np.nan_to_num(measured["ood"]["output_alphas"][name][at]) for name in ("muon", "adamw"))
        held_to = {"limit": -NETWORK, "scale": DIFFERENCE, "draws": config.seeds}
        made += numbers("minus the gap to AdamW at uniform outputs", -abs(muon - adamw), **held_to)
    return order(made)


def _spectral_map(config: RecallConfig, measured: dict) -> dict[str, dict]:
    """It is the spectral map that makes Muon faster, and not what else it has.

    spectral_map: at the settings of the long runs Muon gets to one half before SGD with Muon's vectors and before AdamW
    with Muon's rate of the vectors. exact_map: the exact polar map takes as long, to `NETWORK`; the rivals are the
    controls' times.
    """
    if set(config.controls) != set(CONTROLS):
        return {name: equivalence([]) for name in ("spectral_map", "exact_map")}
    faster, same = [], []
    for figure in LONG:
        controls = {name: time_ratio(measured, figure, 0, "muon", name) for name in CONTROLS}
        faster += _ratios(config, measured, figure, 0, CONTROLS[1:], figure)
        rivals = {name: controls[name]["mean"] for name in CONTROLS[1:]}
        held_to = {"law": 1.0, "band": NETWORK, "rivals": rivals, "draws": config.seeds}
        same += between(f"time of the exact map over Muon's, {figure}", controls["exact_muon"], **held_to)
    return {"spectral_map": order(faster), "exact_map": equivalence(same)}


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
            times.append(None if k is None else steps[0])
    return times


def time_ratio(measured: dict, figure: str, index: int, leader: str, other: str) -> dict:
    """Geometric mean and 95 % interval of another optimizer's time to one half over the leader's, paired by seed.

    Who does not get there is counted with the end of its run: for the other that is a lower bound of the ratio. A
    leader who does not get there is never first: the interval begins at 0.
    """
    times, ended = (measured[key][figure] for key in ("half_time", "ended"))
    first, last = (np.array(times[name][index], dtype=float) for name in (leader, other))
    censored = np.isnan(first).any()
    first, last = (np.where(np.isnan(t), ended[name][index], t) for t, name in ((first, leader), (last, other)))
    logs = np.log(np.fmax(last, 1.0) / np.fmax(first, 1.0))
    mean, half = logs.mean(), half_width(logs)
    low = 0.0 if censored else math.exp(mean - half)
    return {"mean": math.exp(mean), "low": low, "high": math.exp(min(mean + half, 700.0))}


def _lead(measured: dict, figure: str, index: int, leader: str) -> dict:
    """`_gap` between one optimizer and the two others at one setting of a figure."""
    seeds = {name: measured["seed_ood"][figure][name][index] for name in COMPARED}
    return _gap(seeds.pop(leader), *seeds.values())


def _enough(batch_sizes, accuracies, share: float = NEARLY_ALL) -> float:
    """The smallest batch from which on all larger ones reach `share`, infinite if there is none."""
    enough = math.inf
    for size, accuracy in sorted(zip(batch_sizes, accuracies, strict=True), reverse=True):
        if not accuracy >= share:
            break
        enough = size
    return enough


def _at_budget(draws: Iterable[dict], metric: str, steps: int) -> list:
    """A metric of every run after `steps` steps, None for a run that diverged before."""
    return [None if steps not in run["step"] else round(run[metric][run["step"].index(steps)], 4) for run in draws]


def _mean(values) -> float:
    kept = _defined(values)
    return kept.mean() if len(kept) else math.nan


def _defined(values) -> np.ndarray:
    values = np.array(values, dtype=float)
    return values[~np.isnan(values)]


def half_width(values) -> float:
    """Half the 95 % interval of a mean over seeds by Student's t, infinite for less than two of them."""
    kept = _defined(values)
    if len(kept) < 2:
        return math.inf
    return stdtrit(len(kept) - 1, 0.975) * np.std(kept, ddof=1) / math.sqrt(len(kept))


def _gap(first, *others) -> dict:
    """Mean and 95 % interval of the first one's accuracy minus that of the best other, best in the mean, by seed."""
    other = max(others, key=lambda row: np.nan_to_num(_mean(row)))
    pairs = np.array(first, dtype=float) - np.array(other, dtype=float)
    mean, half = _mean(pairs), half_width(pairs)
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
    purpose=headline(__doc__),
    profiles={
        "smoke": RecallConfig(
            n_items=24, length=20, pairs=2, dims=(32,), batch_sizes=(32,), alphas=(0.0,), dim=32, batch_size=32,
            steps=300, long_steps=300, seeds=2,
        ),
        "cpu": RecallConfig(),
        "confirm": RecallConfig(seeds=8, first_seed=4600),
        "gpu": RecallConfig(
            dims=(64, 128, 256, 512), batch_sizes=(32, 64, 128), alphas=(0.0, 1.5), dim=128, seeds=8,
            first_seed=24_500,
        ),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=FRESH_SEEDS,
    added={"lr_sgd_matrices": 0.02, "controls": ("exact_muon",)},
)  # fmt: skip
