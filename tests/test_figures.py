"""Every figure shows what it is given: its numbers come from its arguments, its axes say what they are."""

import ast
import copy
import io
import itertools
import json
from dataclasses import asdict
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from PIL import Image

from amemlib import figures, sweep
from amemlib.experiments import find_experiment
from amemlib.experiments.one_step import EXPERIMENT as ONE_STEP
from amemlib.experiments.one_step import OneStepConfig
from amemlib.figures import raster, style

matplotlib.use("Agg")
CONFIG = OneStepConfig(dims=(16, 32, 64), n_items=500, seeds=2, sgd_dims=(64, 256), sgd_items=100, sgd_seeds=4)
DIMS, RANKS = [16, 32, 64], np.arange(1, 301)


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    return sweep.run(ONE_STEP, CONFIG, tmp_path_factory.mktemp("results"), "cpu")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def panel(exponent):
    own = 100.0 * RANKS**-exponent
    return {"own": own, "rival": 0 * own + 2.5, "predicted": own, "scale": 2.0}


DRAWINGS = {
    "capacity": lambda record: figures.capacity_figure(record),
    "capacity of three": lambda record: figures.capacity_figure(record, ("polar", "smoothed_sign", "sgd")),
    "polar by alpha": lambda record: figures.capacity_by_alpha_figure([record, record], "polar"),
    "sgd by alpha": lambda record: figures.capacity_by_alpha_figure([record, record], "sgd"),
    "counts": lambda record: figures.counts_figure(
        DIMS, {"polar": [[9, 8], [17, 19], [40, 41]], "sgd": [[3], [4], [5]]}, {"polar": DIMS, "sgd": [3, 4, 5]}, 99
    ),
    "overlaps": lambda record: figures.overlap_figure(np.linspace(-0.2, 0.2, 500), 64),
    "frequencies": lambda record: figures.frequencies_figure({"steep": RANKS**-2.0, "flat": RANKS**-1.0}),
    "signal": lambda record: figures.signal_figure({"polar": panel(1.0), "sgd": panel(1.5)}),
    "local slopes": lambda record: figures.local_slopes_figure(
        DIMS, {1.5: [1.4, 1.35]}, {1.5: 4 / 3}, {1.5: (32, 1.38, 1.36, 1.4)}
    ),
}


def without_repetitions(record):
    single = copy.deepcopy(record)
    counts = single["measured"]["seed_counts"]
    for name in counts:
        counts[name] = [[row[0]] for row in counts[name]]
    return single


def points(axis):
    """All finite y values that an axis shows, rounded so that they can be looked up."""
    values = np.concatenate([np.ravel(line.get_ydata()).astype(float) for line in axis.lines])
    return set(np.round(values[np.isfinite(values)], 6))


@pytest.mark.parametrize("name", DRAWINGS)
@pytest.mark.parametrize("change", [copy.deepcopy, without_repetitions], ids=["repeated", "single"])
def test_every_figure_draws_with_labelled_axes_and_leaves_its_input_and_the_style_alone(record, name, change):
    changed = change(record)
    before, parameters = copy.deepcopy(changed), dict(matplotlib.rcParams)
    figure = DRAWINGS[name](changed)
    assert changed == before and dict(matplotlib.rcParams) == parameters
    figure.canvas.draw()
    assert all(axis.get_xlabel() for axis in figure.axes) and figure.axes[0].get_ylabel()
    legends = [axis.get_legend() for axis in figure.axes] + figure.legends
    assert any(legend is not None and len(legend.get_texts()) >= 2 for legend in legends)


def test_the_capacity_figure_shows_the_counts_and_the_predictions_of_its_record(record):
    shown = points(figures.capacity_figure(record, ("polar", "sgd")).axes[0])
    for name in ("polar", "sgd", "sgd_at_dims"):
        for source in ("measured", "predicted"):
            assert set(np.round(record[source]["counts"][name], 6)) <= shown, (name, source)


def test_another_record_gives_another_figure(record):
    other = copy.deepcopy(record)
    counts = other["measured"]["seed_counts"]
    counts["polar"] = [[7 * count for count in row] for row in counts["polar"]]
    for draw in (figures.capacity_figure, lambda r: figures.capacity_by_alpha_figure([r], "polar")):
        assert points(draw(other).axes[0]) != points(draw(record).axes[0])


def test_the_legend_carries_the_fitted_and_the_limiting_exponent(record):
    text = " ".join(entry.get_text() for entry in figures.capacity_figure(record).legends[0].get_texts())
    for source in ("measured", "predicted"):
        for name in ("polar", "sgd"):
            assert f"{record[source]['slope'][name]:.2f}" in text


def test_a_reached_exponent_is_a_flat_line(record):
    ideal = copy.deepcopy(record)
    slope = ideal["predicted"]["slope"]["polar"]
    ideal["predicted"]["counts"]["polar"] = [3 * dim**slope for dim in CONFIG.dims]
    (axis,) = figures.capacity_by_alpha_figure([ideal], "polar").axes
    assert 3.0 in points(axis)
    assert any(np.allclose(line.get_ydata(), 3.0) for line in axis.lines)


def test_the_local_exponent_of_a_power_law_is_its_exponent():
    right = figures.frequencies_figure({"steep": RANKS**-2.0}).axes[1]
    assert right.lines[0].get_ydata() == pytest.approx(2.0)


def test_a_reference_line_has_its_slope_and_goes_through_its_point():
    _, (axis,) = style.new_axes()
    style.reference_line(axis, [16, 64, 256], 1.25, (64.0, 10.0))
    y = axis.lines[0].get_ydata()
    assert y[1] == 10.0
    assert np.diff(np.log(y)) == pytest.approx([1.25 * np.log(4)] * 2)


def test_colours_and_markers_tell_all_maps_apart_and_mean_nothing_else():
    for part in zip(*style.MAPS.values(), strict=True):
        assert len(set(part)) == len(part)
    shades = {look.colour for n in range(1, 13) for look, _ in style.series(range(n))}
    assert not {look.colour.lower() for look in style.MAPS.values()} & {c.lower() for c in {*style.KINDS, *shades}}


@pytest.mark.parametrize(("draw", "most"), [(style.series, len(style.FORMS)), (style.kinds, len(style.KINDS))])
def test_looks_differ_and_run_out_with_an_error(draw, most):
    looks = [look for look, _ in draw(range(most), "$d = {}$")]
    assert len({look.colour for look in looks}) == len({look.marker for look in looks}) == most
    assert [look.label for look in looks] == [f"$d = {value}$" for value in range(most)]
    with pytest.raises(ValueError, match=f"{most + 1} series asked for, there are {most} looks"):
        draw(range(most + 1))


def test_no_figure_pairs_what_it_draws_with_a_zip_that_may_drop():
    for path in sorted(Path(style.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "zip":
                strict = [word.value.value for word in node.keywords if word.arg == "strict"]
                assert strict == [True], f"{path.name}:{node.lineno}"


def test_points_are_means_with_two_standard_errors_on_their_law():
    draws, look = np.array([[1.0, 3.0], [4.0, 8.0]]), style.optimizer("sgd")
    _, (axis,) = style.new_axes()
    style.points(axis, [1, 2], draws, look, law=[2, 4], scale=2.0)
    (low, high) = np.array([part[:, 1] for part in axis.collections[0].get_segments()]).T
    assert axis.lines[0].get_ydata() == pytest.approx([1.0, 3.0])
    assert axis.lines[-1].get_ydata() == pytest.approx([1.0, 2.0])
    assert high - low == pytest.approx(4 * draws.std(1, ddof=1) / 2**0.5 / 2)


def test_a_bar_can_be_an_interval_and_a_single_draw_has_none():
    _, (axis,) = style.new_axes()
    style.points(axis, [1, 2], [5.0, 6.0], style.optimizer("polar"), interval=[[4.0, 7.0], [5.5, 6.5]])
    assert axis.collections[0].get_segments()[0][:, 1] == pytest.approx([4.0, 7.0])
    _, (axis,) = style.new_axes()
    style.points(axis, [1, 2], [[5.0], [6.0]], style.optimizer("polar"))
    assert not axis.collections and axis.lines[0].get_ydata() == pytest.approx([5.0, 6.0])


def test_the_key_names_the_series_and_then_what_they_share():
    for below in (0, 2):
        figure, (axis,) = style.new_axes()
        style.points(axis, [1, 2], [[5.0, 6.0]] * 2, style.optimizer("polar"))
        style.key(axis, {"sharp": "-"}, below=below)
        legend = figure.legends[0] if below else axis.get_legend()
        assert [text.get_text() for text in legend.get_texts()] == ["Muon (polar)", "sharp"]


def overlap(one, other):
    return one.left < other.right and other.left < one.right and one.top < other.bottom and other.top < one.bottom


def test_panels_side_by_side_say_how_they_stack_and_take_the_labels_of_a_shared_axis_along():
    figure, axes = style.new_axes(3, sharey=True)
    for axis, name in zip(axes, ("sgd", "polar", "newton"), strict=True):
        style.points(axis, [1, 2], [5.0, 6.0], style.optimizer(name))
        style.frame(axis, "x", title=name)
    style.key(axes[0], {"law": "-"}, below=2)
    png, shown = raster.sharp_png(figure, Source="a record")
    picture = Image.open(io.BytesIO(png))
    assert picture.text["Source"] == "a record" and float(picture.text["smallest"]) == 10
    assert shown == {"width": picture.width // 2, "height": picture.height // 2}
    pieces = [raster.Piece(*piece) for piece in json.loads(picture.text["stacked"])]
    # three panels, the second with the labels of the first one's axis, two entries of the legend
    assert len(pieces) == 6 and pieces[1].left == pieces[0].left < pieces[1].right < pieces[2].left
    assert pieces[1].x < pieces[2].x
    for piece in pieces:
        assert 0 <= piece.left < piece.right <= picture.width and 0 <= piece.top < piece.bottom <= picture.height
    placed = [raster.Piece(x, y, x + right - left, y + bottom - top, 0, 0) for left, top, right, bottom, x, y in pieces]
    assert not any(overlap(one, other) for one, other in itertools.combinations(placed, 2))
    assert np.ptp([piece.right for piece in (placed[0], placed[2], placed[3])]) < 20


def test_a_single_panel_stays_as_it_is():
    figure, (axis,) = style.new_axes()
    style.points(axis, [1, 2], [5.0, 6.0], style.optimizer("polar"))
    style.key(axis)
    assert set(Image.open(io.BytesIO(raster.sharp_png(figure)[0])).text) == {"smallest"}


@pytest.mark.parametrize("name", ["capacity", "signal", "counts"])
def test_words_stay_readable_where_a_phone_is_narrowest(record, name):
    """A page of 390 pixels leaves 336 in a box that unfolds."""
    picture = Image.open(io.BytesIO(raster.sharp_png(DRAWINGS[name](record))[0]))
    pieces = [raster.Piece(*piece) for piece in json.loads(picture.text.get("stacked", "[]"))]
    width = max((piece.x + piece.right - piece.left for piece in pieces), default=picture.width)
    assert float(picture.text["smallest"]) / 72 * raster.DPI * 336 / width >= 9


def ramp(*shape):
    """Made-up positive numbers of a shape, as a record holds them."""
    return (1.0 + np.arange(np.prod(shape)) / 7).reshape(shape).tolist()


def spread(names, *shape):
    return {name: ramp(*shape) for name in names}


def made_up(experiment, measured, predicted, **config):
    """A record of an experiment at its gpu profile's sizes, filled by functions of the config."""
    config = {**asdict(find_experiment(experiment).profiles["gpu"]), **config}
    config = {key: list(value) if isinstance(value, tuple) else value for key, value in config.items()}
    return {"config": config, "measured": measured(config), "predicted": predicted(config)}


def lengths(config, *fields):
    return [len(config[field]) for field in fields]


MAPS = ("polar", "smoothed_sign", "sgd", "newton", "smoothed_best", "best", "best_floored", "best_monotone", "muon5")
RULES = ("polar", "smoothed_sign", "sgd")
FAMILIES = ("muon", "cubic", "polar_express")
NETWORKS = ("muon", "adamw", "sgd")
ALPHAS = (1.1, 1.25, 1.5, 2.0, 2.5)


def one_step(**config):
    def table(config, *repeats):
        rows = {"sgd": len(config["sgd_dims"])}
        names = ("polar", "smoothed_sign", "sgd", "sgd_at_dims")
        return {name: ramp(rows.get(name, len(config["dims"])), *repeats) for name in names}

    return made_up(
        "one-step",
        lambda c: {
            "seed_counts": table(c, 4), "slope": dict.fromkeys(RULES, 1.3),
            "interval": dict.fromkeys(RULES, (1.2, 1.4)),
        },
        lambda c: {"counts": table(c), "slope": dict.fromkeys(RULES, 1.3)},
        **config,
    )  # fmt: skip


def loss():
    def runs(config):
        (rates,) = lengths(config, "lr_over_root_dim")
        return {f"polar_{dim}": ramp(rates) for dim in config["dims"]}

    def measured(config):
        dims = spread(RULES, len(config["dims"]))
        return dict.fromkeys(("loss", "loss_error", "least_log"), runs(config)) | dict.fromkeys(
            ("over_mass", "safe_loss", "best_loss"), dims
        )

    return made_up("loss", measured, lambda c: {"loss": runs(c), "over_mass": spread(RULES, len(c["dims"]))})


def critical_batch():
    def tables(config):
        dims, sgd_dims, sizes, sgd_sizes = lengths(config, "dims", "sgd_dims", "batch_sizes", "sgd_batch_sizes")
        counts = spread(("polar", "sgd_at_dims"), dims, sizes) | {"sgd": ramp(sgd_dims, sgd_sizes)}
        ends = {"polar": ramp(dims), "sgd_at_dims": ramp(dims), "sgd": ramp(sgd_dims)}
        return dict.fromkeys(("counts", "counts_error", "prefixes", "distinct"), counts) | {
            "population": ends, "half_batch": ends, "slope": dict.fromkeys(RULES, 2.0),
            "interval": dict.fromkeys(RULES, (1.9, 2.1)),
        }  # fmt: skip

    return made_up("critical-batch", tables, tables)


def deflation():
    def tables(config):
        dims, sizes, steps = *lengths(config, "dims", "batch_sizes"), 5
        table, batches = spread(RULES, dims, steps), spread(RULES, sizes, steps)
        return dict.fromkeys(("counts", "thresholds", "even"), table) | {
            "seed_counts": spread(RULES, dims, 4, steps), "slope": spread(RULES, steps),
            "interval": spread(RULES, steps, 2), "sharp_slope": spread(RULES, steps),
        } | {f"batch_{part}": batches for part in ("counts", "sharp", "distinct")}  # fmt: skip

    return made_up("deflation", tables, tables)


def many_steps():
    def tables(config):
        steps = config["steps"]
        names = ["polar", *(f"polar_{step}" for step in range(2, steps + 1))]
        dims, sizes, momenta, horizon, rates = lengths(
            config, "dims", "batch_sizes", "momenta", "horizon_dims", "rates"
        )
        slopes, intervals = dict(zip(names, ramp(steps), strict=True)), dict(zip(names, ramp(steps, 2), strict=True))
        at_dims = spread(names, dims)
        return {
            "seed_counts": spread(names, dims, 2), "counts": at_dims, "interaction_sd": at_dims,
            "sd_free": at_dims, "sd_pulled": at_dims, "profile": ramp(dims, steps, 20),
            **dict.fromkeys(("slope", "sharp_slope", "thresholded_slope"), slopes),
            **dict.fromkeys(("interval", "thresholded_interval"), intervals),
            **dict.fromkeys(("overlaps", "overlaps_free", "overlaps_pulled"), ramp(dims, steps, steps)),
            "trend_local_slopes": spread(names, len(config["trend_dims"]) - 1),
            "far_local_slopes": spread(names, len(config["far_dims"]) - 1),
            **dict.fromkeys(("scan_counts", "scan_head"), ramp(rates, steps)),
            "race": {"muon": ramp(config["race_steps"]), "descent": ramp(config["race_steps"]), "literal": ramp(9)},
            "literal_loss": ramp(9),
            **dict.fromkeys(("batches", "batches_momentum", "observed"), ramp(sizes, config["batch_steps"])),
            "momentum_counts": ramp(momenta, len(config["momentum_dims"]), steps),
            "momentum_slope": ramp(momenta, steps), "momentum_interval": ramp(momenta, steps, 2),
            "horizon": ramp(horizon, config["horizon_steps"]),
            "horizon_steps": {"half": ramp(horizon), "ninety": ramp(horizon)},
        }  # fmt: skip

    return made_up("many-steps", tables, tables)


def trajectory():
    def tables(config):
        dims, rates = lengths(config, "dims", "rates")
        steps, far = config["steps"], (len(config["far_dims"]), config["far_steps"])
        counts = ramp(dims, rates, steps)
        return {
            **dict.fromkeys(("counts", "count_errors", "sd"), counts),
            "overlaps": ramp(dims, rates, steps, steps),
            **dict.fromkeys(("logit", "left"), ramp(dims, rates, steps, 24)),
            **dict.fromkeys(("far_counts", "far_errors"), ramp(*far)), "far_slopes": ramp(far[1]),
        }  # fmt: skip

    return made_up("trajectory", tables, tables)


def race():
    def tables(config):
        shape = len(config["alphas"]), config["steps"]
        return {name: ramp(*shape) for name in ("muon", "muon_errors", "descent", "descent_errors")}

    return made_up("race", tables, tables)


def interactions():
    blocks = ("head-head", "head-middle", "head-tail", "middle-middle", "middle-tail", "tail-tail")

    def tables(config):
        table = spread([f"smoothed_sign {block}" for block in blocks], len(config["dims"]))
        return dict.fromkeys(("rms", "rms_error", "rms_rare", "z_largest"), table)

    return made_up("interactions", tables, tables)


def optimality():
    def tables(config):
        dims, lams, spectrum = lengths(config, "dims", "lam_over_t0", "spectrum_dims")
        gain = {"polar": ramp(dims)} | spread([f"smoothed_{lam}" for lam in range(lams)], dims)
        kinds = ("inverse_sum", "polar_slope", "smallest")
        risks = spread(("sign", "haar", "polar"), 5)
        return dict.fromkeys(("gain", "gain_error"), gain) | {
            "spectrum": spread(kinds, spectrum), "spectrum_error": spread(kinds, spectrum), "risk": risks,
            "risk_saved": risks, "risk_saved_error": risks,
        }  # fmt: skip

    return made_up("optimality", tables, tables)


def spectral_maps(**config):
    def tables(config):
        dims, scan, steps, floored = lengths(config, "dims", "scan_dims", "steps", "loss_dims")
        names = ["polar", *(f"floor_{floor:g}" for floor in config["floors"])]
        return {
            "seed_counts": spread(MAPS, dims, 4), "counts": spread(MAPS, dims),
            "share_below_half": spread(MAPS, dims), "counts_by_steps": spread(FAMILIES, scan, steps),
            "floor_counts": spread(names, floored), "floor_losses": spread(names, floored),
        }  # fmt: skip

    return made_up("spectral-maps", tables, tables, **config)


def sharp():
    def tables(config):
        alphas, items, dims, sizes, at = lengths(config, "alphas", "n_items", "dims", "batch_sizes", "batch_dims")
        batches = spread(("batch_newton", "batch_polar"), at, sizes)
        return dict.fromkeys(("counts", "error", "ratio"), spread(RULES + ("newton",), dims, items, alphas) | batches)

    return made_up("sharp", tables, tables)


def signal():
    def tables(config):
        runs = spread([f"{name}_{dim}" for name in RULES for dim in config["dims"]], 16)
        sizes = {"smoothed_sign": ramp(len(config["dims"]))}
        return dict.fromkeys(("signal", "signal_error"), runs) | dict.fromkeys(
            ("lam_slope", "slope_spread", "curvature"), sizes
        )

    return made_up("signal", tables, tables)


def vocabulary():
    variants = ("raw", "centred", "whitened", "unit")

    def tables(config):
        dims, sizes = lengths(config, "dims", "batch_sizes")
        counts = {language: spread(MAPS, dims) for language in config["languages"]}
        draws = {language: spread(MAPS, dims, 4) for language in config["languages"]}
        batch = {"counts": spread(RULES, dims, sizes), "half": spread(RULES, dims)}
        return {"batch": batch, "seed_counts": draws, "counts": counts, "zipf": counts}

    def measured(config):
        dims, betas = lengths(config, "dims", "covariance_exponents")
        sources = {source: {"polar": ramp(dims, 3)} for source in figures.vocabularies.SOURCE_LABELS}
        table = dict.fromkeys(variants, sources)
        return tables(config) | {"covariance": spread(MAPS, betas, dims, 4), "table": table}

    def predicted(config):
        dims, betas = lengths(config, "dims", "covariance_exponents")
        return tables(config) | {"covariance": spread(MAPS, betas, dims), "table": spread(variants, dims)}

    return made_up("vocabulary", measured, predicted)


def recall():
    def tables(config):
        probes = config["long_steps"] // config["probe_every"] + 1
        where = {"dims": len(config["dims"]), "batch_sizes": len(config["batch_sizes"])}
        where |= dict.fromkeys(("output_alphas", "trigger_alphas"), len(config["alphas"]))
        means = {key: spread(NETWORKS, n) for key, n in where.items()}
        metrics = ("id", "ood", "recall", "previous", "match")
        curves = {"dims": spread(NETWORKS, where["dims"], 3, probes)}
        curves = {key: dict.fromkeys(metrics, table) for key, table in curves.items()}
        curves |= {key: dict.fromkeys(metrics, spread(NETWORKS, 1, 3, probes)) for key in ("base", "heavy_outputs")}
        seeds = {f"seed_{metric}": {key: spread(NETWORKS, n, 3) for key, n in where.items()} for metric in metrics}
        return dict.fromkeys((*metrics, *(f"half_{metric}" for metric in metrics)), means) | seeds | {
            "curves": curves, "probed": list(range(0, config["long_steps"] + 1, config["probe_every"])),
            "spectrum": {"heavy_outputs": spread(NETWORKS, 3, config["dim"])},
            "learnt": {"heavy_outputs": dict.fromkeys(NETWORKS, [[200.0, None] * (config["n_items"] // 2)] * 3)},
        }  # fmt: skip

    return made_up("recall", tables, lambda config: {})


def recall_capacity():
    def measured(config):
        probes = config["steps"] // config["probe_every"] + 1
        lengths = {"trained": len(config["dims"]), "fixed": len(config["fixed_dims"])}
        curves = {vectors: spread(NETWORKS, n, 3, probes) for vectors, n in lengths.items()}
        counts = {vectors: spread(NETWORKS, n, 3) for vectors, n in lengths.items()}
        curves["long"] = spread(("muon",), lengths["fixed"], 3, probes)
        counts["long"] = spread(("muon",), lengths["fixed"], 3)
        return {"counts": counts, "curves": curves, "probed": [config["probe_every"] * k for k in range(probes)]}

    law = lambda config: {  # noqa: E731
        "counts": {rule: ramp(len(config["fixed_dims"])) for rule in ("sgd", "one_step", "many_steps")}
    }
    return made_up("recall-capacity", measured, law)


def recall_rates():
    def measured(config):
        area = {name: [*ramp(len(config[f"rates_{name}"]) - 1), None] for name in NETWORKS}
        return {"ood_area": area, "lr": {name: config[f"rates_{name}"][0] for name in NETWORKS}}

    return made_up("recall-rates", measured, lambda config: {})


class Law:
    """A spectral law of the simplest kind: the share below s is s."""

    singular_values, density = np.linspace(0.01, 1, 50), np.ones(50)

    def share_below(self, s):
        return np.asarray(s)


def sizes(record, field):
    return len(record["config"][field])


def at_gpu_sizes():
    """figure ↦ (its arguments at the sizes of the gpu profiles, how many series its axes show, from the first on)."""
    flat, many, few = np.array(ramp(40)), np.array(ramp(6, 40)), np.array(ramp(3, 40))
    dims = list(find_experiment("one-step").profiles["gpu"].dims)
    n = len(dims)
    lists = {f"list {k}": 1.0 / np.arange(1, 100) for k in range(5)}
    labelled = {f"label {k}": flat for k in range(6)}
    by_dim, by_alpha = {dim: flat for dim in dims}, {alpha: flat for alpha in ALPHAS}
    at_dims = {alpha: ramp(len(dims) - 1) for alpha in ALPHAS}
    steps, batches, deep, laws, path = many_steps(), critical_batch(), deflation(), spectral_maps(), trajectory()
    by_step = {title: {"dims": dims, "slopes": ramp(6, len(dims) - 1), "limits": ramp(6)} for title in "ab"}
    networks = {name: [{"step": k, "loss": 1.0, "id": 0.5, "ood": None if k else 0.1} for k in range(9)]
                for name in NETWORKS}  # fmt: skip
    by_rule = dict.fromkeys(RULES, flat)
    by_batch = {f"batch {k}": flat for k in range(9)}
    thirds = [one_step(alpha=alpha) for alpha in ALPHAS]
    lossy, even, words, long, fine = loss(), optimality(), vocabulary(), recall(), sharp()
    grid = {(n, dim): (flat, flat) for n in fine["config"]["n_items"] for dim in fine["config"]["dims"]}
    reach = {1.5: spread(FAMILIES, sizes(laws, "scan_dims"), sizes(laws, "steps"))}
    ranked = {"own": flat, "rival": flat, "predicted": flat, "scale": 2.0}
    crosstalk = dict.fromkeys((f"{name}{end}" for name in ("own", "first", "rare") for end in ("", "_predicted")), flat)
    mask = np.arange(40) % 3 == 0
    maps = dict.fromkeys(("sgd", "cubic5", "muon5", "polar", "smoothed_sign"), flat)
    by_map = {1.5: {"polar": ramp(len(dims) - 1), "muon5": ramp(len(dims) - 1)}}
    return {
        "admissible": ((flat, {"cubic": many, "muon": many}), (6, 6)),
        "attention": (([np.eye(20)], [np.ones((8, 20))], np.arange(8), np.arange(8), ["a"]), 1),
        "batch_collapse": ((batches,), sizes(batches, "dims")),
        "batch_spectrum": ((by_batch, dict.fromkeys(by_batch, Law()), 1.0, 40), 9),
        "batch_steps": ((deep, RULES), sizes(deep, "batch_sizes")),
        "benchmark": (({"measured": {"case": {"ratios": {"amemlib a": {"low": 1, "median": 1, "high": 1},
                                                         "other": {"low": 1, "median": 2, "high": 3}}}},
                        "goals": [{"case": "case", "entry": "other", "least": 2}]}, ["case"]), 2),
        "best_maps": ((flat, dict.fromkeys(("polar", "smoothed_best", "best"), flat), flat, flat, by_alpha,
                       dict.fromkeys(ALPHAS, 1.1)), (3, len(ALPHAS))),
        "built_head": ((dims[:7], {name: ramp(7, 3) for name in "abc"}, 100), 3),
        "bulk": (({"m": {"measured": flat, "s": flat, "density": flat}},), 0),
        "cancellation": ((flat, labelled, flat), 6),
        "capacity": ((thirds[0], RULES), 3),
        "capacity_against_batch": ((batches, 1024), 2),
        "capacity_by_alpha": ((thirds, "polar"), len(ALPHAS)),
        "centring": ((dims, ramp(n, 6), ramp(n), ramp(n), np.ones((n, 6), bool), 64), 1),
        "cobweb": (({1.5: {"kappa": flat, "next": flat, "paths": {"polar": [1, 2, 3], "sgd": [0, 1, 2]}}},), 2),
        "condition": ((flat, labelled, dict.fromkeys("abc", flat)), 6),
        "constants": ((thirds, dict.fromkeys(ALPHAS, 1.0), dict.fromkeys(ALPHAS, (flat, flat))), len(ALPHAS)),
        "counts": ((dims, {"polar": ramp(n, 4), "sgd": ramp(n, 4)}, {"polar": ramp(n), "sgd": ramp(n)}, 99), 2),
        "covariance": ((words,), 3),
        "crosstalk": (({"a": {"ranks": flat, "signal": flat, **crosstalk}},), 3),
        "curvature": ((flat, by_dim, 1.0, 0.5), len(dims)),
        "delay": (({"sgd": ramp(7), "polar": ramp(4)}, 3, {"a": ramp(5), "b": ramp(6)}), 2),
        "edge": ((even,), (2, 1)),
        "expansion_error": ((flat, by_dim, 0.1), len(dims)),
        "fixed_steps": ((dims, by_map, {1.5: {"polar": 1.3, "muon5": 0.3}},
                         {1.5: {"polar": (ramp(4), ramp(4)), "muon5": (ramp(4), ramp(4))}}), 2),
        "floor": (([laws, laws],), sizes(laws, "loss_dims")),
        "frequencies": ((lists,), 5),
        "gains": (([laws, laws], MAPS[4:8]), 4),
        "half_batch": ((batches,), 2),
        "head_pairs": ((flat, flat, flat, flat, flat), 1),
        "horizon": ((steps,), (sizes(steps, "horizon_dims"), 2)),
        "interaction_blocks": ((interactions(), "smoothed_sign"), 6),
        "far_exponents": ((path,), path["config"]["far_steps"]),
        "item_law": ((path, 1.0, range(1, 26), [1, 2, 3, 5]), (4, 4)),
        "trajectory_counts": (([path, path],), sizes(path, "rates")),
        "trajectory_overlaps": ((path,), (sizes(path, "rates"), sizes(path, "rates"))),
        "iterates_capacity": (([steps, steps],), steps["config"]["steps"]),
        "iterates_exponents": (([steps, steps], 0.1, 0.1), 2),
        "language_batches": ((words,), sizes(words, "dims")),
        "languages": ((words,), 3),
        "learning_rate": ((steps,), steps["config"]["steps"]),
        "learnt": ((long, {"muon": 0.0, "adamw": None, "sgd": 1.5}), (1, 1, 1)),
        "leverage": ((by_dim, by_dim), len(dims)),
        "lipschitz": ((flat,) * 6, 1),
        "live_runs": ((networks,), 3),
        "local_exponents": ((by_step,), 6),
        "local_slopes": ((dims, at_dims, dict.fromkeys(ALPHAS, 1.3), dict.fromkeys(ALPHAS, (50, 1.3, 1.2, 1.4))), 5),
        "long_runs": ((long, "base"), 3),
        "loss_curves": ((lossy,), sizes(lossy, "dims")),
        "maps": ((flat, maps, lists), 5),
        "maps_capacity": ((laws, MAPS[:4]), 4),
        "margins": (({"law": flat}, {"law": {"tf32": 0.1, "bfloat16": 1.0, "float16": 2.0}}), 0),
        "median": ((flat, by_dim, flat, by_dim), len(dims)),
        "minibatch_iterates": ((steps,), sizes(steps, "batch_sizes")),
        "momentum": ((steps,), sizes(steps, "momenta")),
        "newton_batch": ((fine, dict.fromkeys(fine["config"]["batch_dims"], ramp(sizes(fine, "batch_sizes")))), 2),
        "newton_over_polar": ((fine, grid), sizes(fine, "dims")),
        "newton_rates": ((flat, flat, by_rule, by_rule, dict.fromkeys(RULES, 1.0)), 1),
        "noise_share": (({"a": {"weights": flat, "thresholds": [2, 4], "recovered": 5}},), 2),
        "occupancy": ((dims, spread(by_batch, n, 9), spread(by_batch, n), spread(by_batch, n)), 9),
        "over_mass": ((lossy, 1.0), 3),
        "overlap": ((np.linspace(-0.2, 0.2, 500), 64), 0),
        "parity": (({name: (flat, flat) for name in "abcdef"},), 6),
        "quintic_steps": ((flat, list(many), range(40), labelled), (0, 6)),
        "race": ((steps, 50.0), 2),
        "recalled": (({"sgd": np.arange(64) < 3, "polar": np.arange(64) < 40},), 0),
        "race_laws": ((race(),), 2),
        "rates": ((recall_rates(),), 3),
        "recall_alphas": ((long,), 3),
        "recall_batches": ((long,), 3),
        "recall_capacity": ((recall_capacity(), 64), (3, 3)),
        "recall_dims": ((long,), (3, 3)),
        "recovery_profile": ((flat, flat, {f"{dim}": few for dim in dims}), len(dims)),
        "regime": ((flat, labelled), 6),
        "residual_profile": ((steps, range(1, 22), {dim: ramp(steps["config"]["steps"]) for dim in (128, 1024)}), 5),
        "risk": ((even, ramp(5)), (3, 1)),
        "rivals_met": ((np.arange(1, 41), flat, flat), 1),
        "rounding": (({f"{alpha}": (flat, flat) for alpha in ALPHAS}, {name: ramp(5, 2) for name in "abc"}), 5),
        "safe_rate": ((lossy, {name: {"dims": dims, "ratio": dims, "reach": 99} for name in "abc"}), 3),
        "sequences": ((np.arange(128)[None], np.array([[60, 90]]), np.array([[4, 10]]), 40), 0),
        "sgd_batch": ((batches, flat, flat), sizes(batches, "sgd_dims")),
        "sgd_constant": ((thirds, dict.fromkeys(ALPHAS, 1.0)), len(ALPHAS)),
        "sgd_loss": ((flat, by_dim, dict.fromkeys(dims, 0.1)), len(dims)),
        "sgd_steps": ((deep, -1), 1),
        "share": (([spectral_maps(alpha=alpha) for alpha in ALPHAS], "muon5"), len(ALPHAS)),
        "sharp_ratio": ((fine, {"polar": "a", "newton": "b"}, 0.1), sizes(fine, "alphas")),
        "sightings": ((np.arange(1, 41), flat, mask, 1.0, flat), 1),
        "signal": (({"polar": ranked, "sgd": ranked},), (1, 1)),
        "signal_by_rank": ((signal(), 2 ** np.arange(17)), sizes(signal(), "dims")),
        "signal_curves": ((flat, many, flat, many), 1),
        "slope_and_curvature": ((signal(),), (2, 1)),
        "slope_bound": ((dict.fromkeys(("polar", "sgd", "bump", "other"), (flat, flat)),), 4),
        "slope_histogram": ((flat, 1.0, 2.0, flat), 1),
        "smoothing": ((even,), sizes(even, "dims")),
        "spectrum": ((dict.fromkeys(ALPHAS, many), dict.fromkeys(ALPHAS, Law()), 40), len(ALPHAS)),
        "step_exponents": (([deep, deep], RULES), 3),
        "steps_collapse": (([spectral_maps(alpha=1.5)], reach), 3),
        "table": ((words,), 4),
        "tails": ((flat, dict.fromkeys(by_batch, (flat, flat)), dict.fromkeys(by_batch, (flat, flat))), 9),
        "thresholded_counts": ((deep, RULES, RULES), sizes(deep, "dims")),
        "transformed_spectrum": ((np.exp(-flat), (flat, flat), labelled), (0, 6)),
        "truncated": ((range(6), {"polar": ramp(6, 8), "sgd": ramp(6, 8)}, {"polar": ramp(6), "sgd": ramp(6)}), 2),
        "value_spectrum": ((long,), 3),
        "value_step": ((dict.fromkeys(("sgd", "polar"), flat), dict.fromkeys(("sgd", "polar"), many > 3)), 1),
        "word_frequencies": ((lists, dict.fromkeys(lists, (flat, flat)), dict.fromkeys(lists, 1.0)), 5),
        "work_share": ((flat, by_dim, by_dim), len(dims)),
        "dependencies": (({"a": (0.2, 0, "one"), "b": (0.8, 1, "two")}, [("a", "b")]), 0),
        "exponents": ((flat, flat, {"a": (flat, flat), "b": (flat, flat)}, {1.5: (1.4, 1.3, 1.5)},
                       {2.0: (1.3, 1.2, 1.4)}), 2),
        "flat": ((dims, (ramp(n), ramp(n), ramp(n)), 0.85, dict.fromkeys(("sgd", "polar"), ramp(n)),
                  dict.fromkeys(("sgd", "polar"), ramp(n))), (1, 2)),
        "halves": ((np.arange(1, 41), flat, flat, flat, flat, 1.0), 4),
        "item_lives": ((dict.fromkeys("abc", dict.fromkeys(("own", "rival", "free_energy", "left"), ramp(5))),), 3),
        "leading_block": ((many.T @ many, many.T @ many, 8), (1, 1)),
        "model": ((flat, np.eye(40), ["a", "b"], [1.0, 0.5], "c", 0), (0, 0)),
        "path": (("q", [("q", "X", "q"), ("q", "Y", r"\mu"), (r"\mu", "Z", r"\lambda")]), 4),
        "prefixes": ((dict.fromkeys(ALPHAS, dims), dict.fromkeys(ALPHAS, ramp(n)), dict.fromkeys(ALPHAS, ramp(n)),
                      dict.fromkeys(ALPHAS, 1.3)), len(ALPHAS)),
        "proof_tree": (([["a\nx"], ["b\ny", "c\nz"]], {"a": ["b", "c"]}, dict.fromkeys("abc", "here")), 1),
        "spectrum_after": ((np.exp(-flat), dict.fromkeys(("polar", "muon5"), flat)), (0, 2)),
    }  # fmt: skip


GPU = at_gpu_sizes()


def test_every_figure_has_its_arguments_at_gpu_sizes():
    assert {f"{name}_figure" for name in GPU} == set(figures.__all__)


@pytest.mark.parametrize("name", GPU)
def test_a_figure_draws_as_many_series_as_a_gpu_record_holds(name):
    arguments, expected = GPU[name]
    figure = getattr(figures, f"{name}_figure")(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for axis, count in zip(figure.axes[: len(expected)], expected, strict=True):
        shown = [line for line in axis.lines if len(line.get_xdata())]
        assert len({to_hex(line.get_color()) for line in shown} - {style.GREY}) == count


OVER_D = ("capacity", "capacity_by_alpha", "constants", "edge", "half_batch", "interaction_blocks", "maps_capacity")
OVER_D += (
    "over_mass",
    "recall_dims",
    "recall_batches",
    "recall_alphas",
    "sgd_constant",
    "share",
    "slope_and_curvature",
)
DEVICE = "a pretend GPU, made in a test"


def beside(value, found):
    """The arguments with a record of another device beside each record, which it differs from in its numbers."""
    if isinstance(value, dict) and "config" in value:
        found.append(value)
        return value | {"elsewhere": [larger(value) | {"device": DEVICE}]}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [beside(one, found) for one in value]
    return value


def larger(value):
    if isinstance(value, dict):
        return {key: value[key] if key == "config" else larger(value[key]) for key in value}
    if isinstance(value, list):
        return [larger(one) for one in value]
    return 1.5 * value if isinstance(value, float) else value


@pytest.mark.parametrize("name", OVER_D)
def test_a_figure_over_sizes_shows_what_a_gpu_counted_and_names_it(name):
    arguments, found = GPU[name][0], []
    draw = getattr(figures, f"{name}_figure")
    alone, both = draw(*arguments), draw(*(beside(value, found) for value in arguments))
    assert found
    legends = [legend for axis in both.axes if (legend := axis.get_legend())] + both.legends
    assert any(DEVICE in entry.get_text() for legend in legends for entry in legend.get_texts())
    rims = [[line for line in axis.lines if line.get_markeredgecolor() == "black"] for axis in both.axes]
    for before, after, dark in zip(alone.axes, both.axes, rims, strict=True):
        shown = [line for line in dark if len(line.get_xdata())]
        assert bool(shown) == bool([line for line in before.lines if line.get_marker() not in ("None", "", None)])
        assert points(after) >= points(before) and len(points(after)) > len(points(before))
    assert not any(line.get_markeredgecolor() == "black" for axis in alone.axes for line in axis.lines)
