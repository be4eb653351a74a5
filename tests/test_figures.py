"""Figures of the paper's studies draw from their stored records; the book's style shows what it is given."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import amembook.paper
from amembook import read_records
from amembook.companions.spectral_emergence import figures as spectral_emergence
from amembook.figures import raster
from amembook.paper import best_map, newton, sgd
from amembook.paper.critical_batch import figures as critical_batch
from amembook.paper.deflation import figures as deflation
from amembook.paper.gradient_limit import figures as gradient_limit
from amembook.paper.interactions import figures as interactions
from amembook.paper.iterates import figures as iterates
from amembook.paper.loss import figures as loss
from amembook.paper.one_step import figures as one_step
from amembook.paper.optimality import figures as optimality
from amembook.paper.precision import figures as precision
from amembook.paper.recall import figures as recall
from amembook.paper.safe_list import figures as safe_list
from amembook.paper.sharp import figures as sharp
from amembook.paper.signal import figures as signal
from amembook.paper.spectral_maps import figures as spectral_maps
from amembook.paper.vocabulary import figures as vocabulary
from amembook.paper.whitened_runs import figures as whitened_runs
from amembook.paper.whitening import figures as whitening
from amembook.paper.zoo import figures as zoo
from amembook.run.base import profile_bins

matplotlib.use("Agg")
ROOT = Path(__file__).resolve().parents[1]
RULES = ("smoothed_sign", "polar", "sgd")
ALPHAS = (1.25, 1.5, 2.0)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def curves(record):
    """Where a figure asks for a curve that its chapter computes: one for every size that the record has."""
    config = record["config"]
    return {(n, dim): ((1.1, 2.5), (1.0, 1.5)) for n in config["n_items"] for dim in config["dims"]}


def bins(record):
    n_items = record["config"]["n_items"]
    return [1, *(cut + 1 for cut in profile_bins(n_items)), n_items + 1]


def reach(record):
    by_family = record["measured"]["counts_by_steps"]
    return {record["config"]["alpha"]: {name: np.array(counts) for name, counts in by_family.items()}}


LAWS = dict.fromkeys(ALPHAS, ((64, 512), (60, 600)))
GROWTH = [
    {"law": "polar steps", "low": low, "high": 2 * low, "step": step, "exponent": 1.5}
    for low in (128, 256)
    for step in (1, 3)
]
DRAWN = {
    best_map.steps_collapse_figure: ("spectral-maps", "confirm-alpha-1.5", reach),
    newton.newton_over_polar_figure: ("sharp", "confirm", curves),
    sgd.sgd_constant_figure: ("one-step", "confirm", dict.fromkeys(ALPHAS, 1.0)),
    sgd.sgd_batch_figure: ("critical-batch", "confirm", (0.1, 10.0), (1.0, 2.0)),
    critical_batch.capacity_against_batch_figure: ("critical-batch", "confirm", 256),
    critical_batch.half_batch_figure: ("critical-batch", "confirm"),
    deflation.thresholded_counts_figure: ("deflation", "confirm-alpha-1.5", RULES, RULES),
    deflation.sgd_steps_figure: ("deflation", "confirm-alpha-1.5", -1),
    safe_list.lists_figure: ("safe-list", "confirm", 128, {"sgd plan": [10.0, 40.0]}),
    deflation.far_growth_figure: ("deflation", "confirm-alpha-1.5", GROWTH, (1, 3)),
    gradient_limit.ladder_figure: ("gradient-limit", "confirm", 1.5, 0.7),
    gradient_limit.ranks_figure: ("gradient-limit", "confirm", 1.5),
    whitening.frontier_figure: ("whitening", "confirm", 1.5),
    whitened_runs.runs_figure: ("whitened-runs", "confirm", 64),
    zoo.items_figure: ("zoo", "confirm", 1.5),
    interactions.interaction_blocks_figure: ("interactions", "confirm", "smoothed_sign"),
    iterates.iterates_exponents_figure: ("many-steps", "confirm-alpha", 0.05, 0.3),
    iterates.residual_profile_figure: ("many-steps", "confirm-extra", bins, {96: range(9, 14), 192: range(9, 14)}),
    iterates.domain_figure: ("iterates-domain", "confirm"),
    iterates.learning_rate_figure: ("many-steps", "confirm-extra"),
    iterates.race_laws_figure: ("race", ""),
    iterates.ratio_figure: ("iterates-ratio", "confirm"),
    iterates.minibatch_iterates_figure: ("many-steps", "confirm-extra"),
    iterates.momentum_figure: ("many-steps", "confirm-extra"),
    loss.loss_curves_figure: ("loss", "confirm"),
    loss.safe_rate_figure: ("loss", "confirm", {"law": {"dims": (64, 128, 256), "ratio": (8, 14, 20), "reach": 300}}),
    one_step.capacity_figure: ("one-step", "confirm-alpha-1.5", RULES),
    optimality.risk_figure: ("optimality", "confirm", (0.25, 0.5, 1.0, 2.0, 4.0)),
    optimality.edge_figure: ("optimality", "confirm"),
    optimality.smoothing_figure: ("optimality", "confirm"),
    precision.benchmark_figure: ("benchmarks", "cpu", ["recovery-4096-64", "recovery-16384-128"]),
    recall.recall_dims_figure: ("recall", ""),
    recall.recall_batches_figure: ("recall", ""),
    recall.recall_alphas_figure: ("recall", ""),
    recall.long_runs_figure: ("recall", "", "heavy_outputs", ("ood", "match", "recall")),
    recall.learnt_figure: ("recall", "", {"muon": 0.0, "sgd": 1.5}),
    recall.recall_capacity_figure: ("recall-capacity", "", 64),
    sharp.sharp_ratio_figure: ("sharp", "confirm", {"polar": "polar", "newton": "Newton"}, 0.03),
    sharp.constants_figure: ("one-step", "confirm", dict.fromkeys(ALPHAS, 1.0), LAWS),
    signal.signal_by_rank_figure: ("signal", "", lambda record: [*(2**k for k in range(14)), 16_385]),
    signal.slope_and_curvature_figure: ("signal", ""),
    spectral_emergence.powers_figure: ("spectral-emergence", "confirm"),
    spectral_emergence.rivals_figure: ("spectral-emergence", "confirm"),
    spectral_maps.maps_capacity_figure: ("spectral-maps", "confirm-alpha-1.5", ("polar", "best", "muon5", "sgd")),
    vocabulary.languages_figure: ("vocabulary", "confirm"),
    vocabulary.language_batches_figure: ("vocabulary", "confirm"),
    vocabulary.covariance_figure: ("vocabulary", "confirm"),
    vocabulary.table_figure: ("vocabulary", "confirm"),
}
"""Every figure of a stored record: the study, the beginning of the record's name, and what else it is given."""


def drawn(draw, change=lambda record: record):
    """The figure of the stored records, each changed first; and the records."""
    study, prefix, *further = DRAWN[draw]
    records = [change(record) for record in read_records(study, prefix)]
    further = [one(records[0]) if callable(one) else one for one in further]
    takes_several = next(iter(inspect.signature(draw).parameters)) == "records"
    return draw(records if takes_several else records[0], *further), records


def own_figures():
    """All figure functions of the paper's modules."""
    for module in pkgutil.walk_packages(amembook.paper.__path__, "amembook.paper."):
        if not module.name.rpartition(".")[2].startswith("test_"):
            for name, function in vars(importlib.import_module(module.name)).items():
                if name.endswith("_figure") and inspect.isfunction(function) and function.__module__ == module.name:
                    yield function


def test_every_figure_is_drawn_here_or_in_a_chapter():
    texts = [path.read_text(encoding="utf-8") for path in [*ROOT.glob("chapters/*.md"), ROOT / "tools" / "front.py"]]
    for function in own_figures():
        of_records = next(iter(inspect.signature(function).parameters)) in ("record", "records")
        assert of_records == (function in DRAWN), function.__name__
        assert any(function.__name__ in text for text in texts), f"{function.__name__} is in no chapter"


@pytest.mark.slow
@pytest.mark.parametrize("draw", DRAWN, ids=lambda draw: draw.__name__)
def test_a_figure_shows_its_record_with_labels_and_leaves_it_and_the_style_alone(draw):
    parameters = dict(matplotlib.rcParams)
    figure, records = drawn(draw)
    study, prefix, *_ = DRAWN[draw]
    assert records == read_records(study, prefix) and dict(matplotlib.rcParams) == parameters
    axes = [axis for axis in figure.axes if axis.get_visible()]
    # bars of named things have ticks in words, panels of one quantity a title
    assert all(axis.get_xlabel() or axis.get_title() or axis.get_xticklabels() for axis in axes)
    assert any(axis.get_ylabel() or axis.get_title() or axis.get_yticklabels() for axis in axes)
    # its chapter renders it
    assert raster.smallest_type(figure) > 0 and figure.get_figwidth() * raster.DPI > 500


@pytest.mark.slow
def test_a_record_changes_what_its_figure_shows():
    def halved(record):
        measured = record["measured"]
        draws = {name: (np.array(rows) / 2).tolist() for name, rows in measured["seed_counts"].items()}
        counts = {name: (np.array(row) / 2).tolist() for name, row in measured["counts"].items()}
        return record | {"measured": measured | {"counts": counts, "seed_counts": draws}}

    whole, half = (drawn(one_step.capacity_figure, change)[0] for change in (lambda record: record, halved))
    shown = [raster.sharp_png(figure)[0] for figure in (whole, half)]
    assert shown[0] != shown[1]
