"""Every figure shows what it is given: its numbers come from its arguments, its axes say what they are."""

import ast
import copy
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from amemlib import figures, sweep
from amemlib.experiments import ONE_STEP, OneStepConfig
from amemlib.figures import style

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
