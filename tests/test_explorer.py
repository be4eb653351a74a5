"""The explorer: its numbers are the library's, in a headless Chromium, and its page works by keys, link and phone."""

import functools
import json
import re
import subprocess
from pathlib import Path
from shutil import which

import browse
import explorer_data
import numpy as np
import pytest
import torch

import amemlib as am
from amembook import laws, read_records, vocabularies
from amembook.tables import make_steps
from amemlib.equivalents import SpectralLaw

ROOT = Path(__file__).resolve().parents[1]
TOLERANCE = 0.01
POWER_LAWS = [(1.1, 128, 5000), (1.25, 64, 1000), (1.5, 256, 50_000), (2.0, 128, 20_000)]
OPTIMIZERS = {"polar": "polar", "smoothed": "smoothed_sign", "newton": "newton", "sgd": "sgd"}

LAYERS = [(1024, 16, 1), (1024, 16, 4), (3000, 1, 1)]
"""Tokens of a step, experts, experts a token."""
PASTED = "\n".join(f"word{i} {round(1e6 / i**1.2)}" for i in range(1, 1501))
"""A list of words and counts, many of them equal."""

SMALL = "#d=6&n=3"
"""The address of a state that takes no time."""
COMPUTED = "document.querySelector('#amem-explorer').dataset.drawn === 'true'"

pytestmark = pytest.mark.process
needs_node = pytest.mark.skipif(which("node") is None, reason="no node on this machine: the browser's tests run alone")


def page(folder):
    """The raw part of the chapter as a page of its own, with the scripts of assets/."""
    block = re.search(r"```\{raw\} html\n(.*?)```", (ROOT / "chapters" / "explorer.md").read_text(), re.S)[1]
    body = block.replace("../_static/", (ROOT / "assets").as_uri() + "/")
    path = folder / "explorer.html"
    head = "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
    path.write_text(f"{head}<title>Explorer</title><body>{body}</body></html>")
    return path


def open_page(browser, folder, script, hashes=("",), width=1280, before=()):
    """Open the page at each hash in turn, type `before` keys, and evaluate `script`: its values and the complaints."""
    address, values = page(folder), []
    with browse.tab(browser, "desktop") as (tab, complaints):
        tab.set_viewport_size({"width": width, "height": 844})
        for fragment in hashes:
            browse.open_page(tab, address, fragment)
            tab.wait_for_function(COMPUTED)
            for key in before:
                tab.keyboard.press(key)
            if before:
                tab.wait_for_timeout(100)
                tab.wait_for_function(COMPUTED)
            values.append(tab.evaluate(script))
    return values, complaints


def cases():
    for alpha, dim, n_items in POWER_LAWS:
        for optimizer in OPTIMIZERS:
            for batch_size in (None, 3000):
                if (batch_size and alpha in (1.1, 2.0)) or (optimizer == "sgd" and (batch_size or n_items > 2000)):
                    continue
                yield {"source": "power", "alpha": alpha, "dim": dim, "nItems": n_items, "batchSize": batch_size,
                       "lamOverT0": 0.5, "optimizer": optimizer}  # fmt: skip
    for n_items in (320, 20_000):
        for lam, optimizer in ((0.01, "smoothed"), (0.5, "smoothed"), (10, "smoothed"), (0, "newton")):
            yield {"source": "power", "alpha": 1.5, "dim": 32, "nItems": n_items, "batchSize": None, "lamOverT0": lam,
                   "optimizer": optimizer}  # fmt: skip
    for code in ("en", "fi"):
        for optimizer in ("polar", "newton"):
            yield {"source": code, "alpha": 1.5, "dim": 256, "nItems": 20_000, "batchSize": None, "lamOverT0": 1,
                   "optimizer": optimizer}  # fmt: skip


def layers():
    """Experts on a power law and on the pasted list."""
    for source in ("power", "list"):
        for optimizer in ("polar", "sgd"):
            for batch_size, experts, top_k in LAYERS:
                yield {"source": source, "alpha": 1.5, "dim": 64, "nItems": 1000, "batchSize": batch_size,
                       "experts": experts, "topK": top_k, "lamOverT0": 1, "optimizer": optimizer}  # fmt: skip


def in_script(states):
    return f"""JSON.stringify({json.dumps(states)}.map((state) => {{
        if (state.source === "list") amemEngine.readList({json.dumps(PASTED)});
        const given = {{ ...state, batchSize: state.batchSize === null ? Infinity : state.batchSize }};
        const {{ capacity, t0, q }} = amemEngine.predict(given);
        return {{ capacity, t0, values: state.batchSize && [...q.values], counts: state.batchSize && [...q.counts] }};
    }}))"""


@functools.cache
def problem_of(source, alpha, dim, n_items):
    if source == "power":
        return am.Problem.power_law(n_items, dim, alpha)
    if source == "list":
        counts = torch.tensor([float(line.split()[1]) for line in PASTED.splitlines()], dtype=torch.float64)
        return am.Problem.from_frequencies(counts.sort(descending=True).values[:n_items], dim)
    return am.Problem.from_frequencies(vocabularies.words(source, n_items).frequencies, dim)


def compare(states, answers):
    """Every capacity within one per cent of the library's, for the very batch that the page made."""
    for state, answer in zip(states, answers, strict=True):
        problem = problem_of(state["source"], state["alpha"], state["dim"], state["nItems"])
        q = None
        if answer["values"]:
            q = torch.from_numpy(np.repeat(answer["values"], np.array(answer["counts"], dtype=int)))
            # a typical batch has as many tokens as were asked for, but for what rounding leaves
            tokens = state["batchSize"] * state.get("topK", 1) / state.get("experts", 1)
            assert q.sum().item() == pytest.approx(1, abs=3 / tokens + 0.01)
            seen = am.equivalents.expected_distinct_items(problem, tokens)
            assert int((q > 0).sum()) == pytest.approx(seen, abs=1 + 0.01 * seen)
        lam = 0.0
        if state["optimizer"] == "smoothed":
            t0 = am.theory.bulk_scale(state["nItems"], state["dim"], state["alpha"])
            assert answer["t0"] == pytest.approx(t0, rel=1e-9)
            lam = state["lamOverT0"] * t0
        expected = am.expected_capacity(problem, OPTIMIZERS[state["optimizer"]], lam, q)
        assert answer["capacity"] == pytest.approx(expected, rel=TOLERANCE), state


def in_node(script):
    """The value of a script that knows the page's two, as JSON."""
    load = "".join(f"require({json.dumps(str(ROOT / 'assets' / name))});" for name in ("explorer-data.js", "engine.js"))
    run = subprocess.run(["node", "-e", f"{load}console.log({script})"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@needs_node
def test_the_page_computes_what_the_library_computes():
    states = list(cases())
    compare(states, in_node(in_script(states)))


@needs_node
def test_experts_and_a_list_of_ones_own_are_what_the_library_says_of_them():
    states = list(layers())
    compare(states, in_node(in_script(states)))
    asked = [{"batchSize": b, "experts": experts, "topK": k} for b, experts, k in LAYERS]
    assert in_node(f"JSON.stringify({json.dumps(asked)}.map(amemEngine.tokensOf))") == [64, 256, 3000]
    half = in_node("JSON.stringify(amemEngine.halfBatch({source: 'power', alpha: 1.5, dim: 64, nItems: 1000, "
                   "batchSize: 4, experts: 8, topK: 1, lamOverT0: 1, optimizer: 'polar'}))")  # fmt: skip
    problem = problem_of("power", 1.5, 64, 1000)
    seen = am.equivalents.expected_distinct_items(problem, half)
    assert seen == pytest.approx(am.expected_capacity(problem, "polar") / 2, rel=0.1), "far below, the seen is kept"


@needs_node
def test_the_batch_for_a_share_gives_that_share_by_the_library():
    state = {"source": "power", "alpha": 1.5, "dim": 64, "nItems": 1000, "lamOverT0": 1, "optimizer": "polar"}
    script = f"""JSON.stringify([0.5, 0.9].map((share) => {{
        const size = amemEngine.halfBatch({json.dumps(state)}, share);
        const {{values, counts}} = amemEngine.predict({{...{json.dumps(state)}, batchSize: Math.round(size)}}).q;
        return [share, [...values], [...counts]];
    }}))"""
    problem = problem_of("power", 1.5, 64, 1000)
    whole = am.expected_capacity(problem, "polar")
    for share, values, counts in in_node(script):
        q = torch.from_numpy(np.repeat(values, np.array(counts, dtype=int)))
        assert am.expected_capacity(problem, "polar", 0.0, q) == pytest.approx(share * whole, rel=0.03)


@needs_node
def test_a_list_is_read_in_any_order_and_refused_with_its_line():
    texts = ["b 2\na 5\n\nc,3", "5 a\n2 b\n3 c", "the\n", "a 1", "a 1\nb none", "a 0\nb 1"]
    script = f"""JSON.stringify({json.dumps(texts)}.map((text) => [amemEngine.readList(text), amemEngine.predict(
        {{ source: "list", nItems: 3, dim: 8, batchSize: Infinity, optimizer: "polar" }}).p.values[0]]))"""
    (first, top), (second, same), *refused = in_node(script)
    assert first == second == {"size": 3, "error": ""} and top == same == pytest.approx(0.5)
    assert [answer["error"].split(":")[0] for answer, _ in refused] == [
        "line 1 has no count above 0", "a list needs at least two lines", "line 2 has no count above 0",
        "line 1 has no count above 0"]  # fmt: skip


def drawn(values, t0):
    """The map that the page makes of its nodes."""
    nodes = np.arange(-2, 4.1, 0.25)

    def f(s):
        x = np.log10(s.numpy() / t0)
        return torch.from_numpy(np.interp(x, nodes, values) * np.minimum(10 ** (x + 2), 1))

    return f


@needs_node
def test_a_map_of_ones_own_stores_what_the_library_says():
    nodes = np.arange(-2, 4.1, 0.25)
    contra, falling = 1.25 - 0.25 * 10 ** np.minimum(nodes - 3, 0), np.clip(1 - nodes / 4, 0.3, 1)
    maps = {"flat": np.ones(25), "contra": contra / contra.max(), "rising": 10 ** (nodes / 8 - 0.5), "falling": falling}
    problem = am.Problem.power_law(5000, 128, 1.5)
    t0 = am.theory.bulk_scale(5000, 128, 1.5)
    states = [{"source": "power", "alpha": 1.5, "dim": 128, "nItems": 5000, "batchSize": None, "lamOverT0": 1,
               "optimizer": "own", "map": values.tolist()} for values in maps.values()]  # fmt: skip
    for (name, values), answer in zip(maps.items(), in_node(in_script(states)), strict=True):
        expected = am.equivalents.expected_map_capacity(problem, drawn(values, t0))
        assert answer["capacity"] == pytest.approx(expected, rel=TOLERANCE), name


@needs_node
def test_a_map_is_read_from_points_and_refused_with_its_line():
    texts = ["1 1\n100 2", "1,2\n\n0.01 0.02", "1", "1 -1\n2 2", "1 0\n2 0"]
    first, second, *refused = in_node(f"JSON.stringify({json.dumps(texts)}.map(amemEngine.readMap))")
    nodes = np.arange(-2, 4.1, 0.25)
    np.testing.assert_allclose(first["values"], np.interp(nodes, [0, 2], [0.5, 1]) * np.minimum(10**nodes, 1))
    assert second["values"][0] == pytest.approx(0.01) and second["values"][-1] == 1
    assert [one["error"].split(":")[0] for one in refused] == [
        "line 1 must be a number above 0 and one that is not negative",
        "line 1 must be a number above 0 and one that is not negative",
        "a map needs two lines, and a value above 0"]  # fmt: skip


@needs_node
def test_spectrum_and_exponents_are_the_librarys():
    script = """JSON.stringify([
        amemEngine.spectrum(amemEngine.powerLaw(1.5, 5000), 128, 0.001),
        ["sgd", "polar"].map((name) => [1, 2, 3, 4, 5].map((t) => amemEngine.exponent(name, 1.5, t)))])"""
    spectrum, exponents = in_node(script)
    p = am.Problem.power_law(5000, 128, 1.5).frequencies
    s, density = np.array(spectrum).T
    law = SpectralLaw.solve(p, 128)
    bulk = (s > law.quantile(0.05)) & (s < law.quantile(0.7))
    reference = np.interp(s[bulk], law.singular_values, law.density * law.singular_values)
    np.testing.assert_allclose(density[bulk], reference, rtol=TOLERANCE)
    for name, row in zip(("sgd", "muon"), exponents, strict=True):
        np.testing.assert_allclose(row, [am.theory.recovery_exponent(name, 1.5, t) for t in range(1, 6)])


@needs_node
@pytest.mark.parametrize(
    ("alpha", "dim", "n_items"),
    [(1.5, 128, 2560), (1.4, 152, 5000), pytest.param(1.6, 181, 12_000, marks=pytest.mark.weekly)],
)
def test_steps_are_those_of_the_recursion_at_and_between_the_stored_solutions(alpha, dim, n_items):
    state = {"alpha": alpha, "dim": dim, "nItems": n_items, "steps": 5}
    counts = in_node(f"JSON.stringify(amemEngine.trueSteps({json.dumps(state)}))")
    expected = laws.power_law_iterates(n_items, dim, alpha, 1.0, 5, make_steps.STREAMS).counts
    np.testing.assert_allclose(counts, expected, rtol=0.05)


@needs_node
def test_steps_have_no_count_beyond_the_stored_solutions():
    places = [(1.2, 128, 4000), (1.5, 127, 4000), (1.5, 257, 8000), (1.5, 256, 5119), (1.5, 128, 65_537)]
    states = [{"alpha": a, "dim": d, "nItems": n, "steps": 5} for a, d, n in [*places, (1.25, 256, 5120)]]
    *beyond, within = in_node(f"JSON.stringify({json.dumps(states)}.map(amemEngine.trueSteps))")
    assert beyond == [[None] * 5] * len(places) and None not in within


@pytest.mark.parametrize("alpha", [1.25, pytest.param(2.0, marks=pytest.mark.weekly)])
def test_the_stored_steps_are_the_recursions(alpha):
    place = (2560, 128, alpha)
    np.testing.assert_allclose(make_steps.stored()[make_steps.name(*place)], make_steps.entry(*place), rtol=1e-3)


def test_a_link_keeps_the_state(browser, tmp_path):
    script = """JSON.stringify([Object.fromEntries([...document.querySelectorAll('#amem-explorer [name]')].map(
        (input) => [input.name, input.value])), location.hash,
        +document.querySelector('#amem-explorer').dataset.capacity])"""
    link = "#alpha=2&d=7&n=4&optimizer=smoothed&lambda=-1"
    values, complaints = open_page(browser, tmp_path, script, hashes=("", link, "#alpha=&d=x&unknown=1"))
    (first, empty, _), (second, kept, capacity), (third, _, _) = map(json.loads, values)
    assert second == first | {"alpha": "2", "d": "7", "n": "4", "optimizer": "smoothed", "lambda": "-1"}
    assert (empty, set(kept[1:].split("&"))) == ("", set(link[1:].split("&"))) and third == first
    problem = am.Problem.power_law(10_000, 128, 2.0)
    lam = 0.1 * am.theory.bulk_scale(10_000, 128, 2.0)
    assert capacity == pytest.approx(am.expected_capacity(problem, "smoothed_sign", lam), rel=TOLERANCE)
    assert not complaints


SHOWN = """JSON.stringify([Object.fromEntries([...document.querySelectorAll('#amem-explorer [data-show]')].map(
    (one) => [one.dataset.show, one.textContent])), {...document.querySelector('#amem-explorer').dataset}])"""


def test_no_count_stands_beside_an_exponent_of_other_steps(browser, tmp_path):
    hashes = "#optimizer=sgd&other=polar&steps=5&d=7&n=3.5", "#d=7&n=3"
    values, complaints = open_page(browser, tmp_path, SHOWN, hashes)
    (many, kept), (one, _) = map(json.loads, values)
    assert many["capacity"] == "none known" and kept["capacity"] == "NaN" and "SGD" in many["note"]
    exponents = [am.theory.recovery_exponent(name, 1.5, 5) for name in ("sgd", "muon")]
    assert many["exponent"] == " and ".join(f"{exponent:.3f}" for exponent in exponents)
    assert float(kept["other"]) > 0 and one["note"] == "" and float(one["capacity"]) > float(one["other"])
    text = (ROOT / "chapters" / "explorer.md").read_text(encoding="utf-8")
    assert "Batch for half" in text and "Critical batch" not in text
    assert not complaints


def test_the_list_of_steps_begins_with_the_exact_count_of_one(browser, tmp_path):
    values, complaints = open_page(browser, tmp_path, SHOWN, ("#steps=5", ""))
    (many, _), (one, _) = map(json.loads, values)
    count = am.expected_capacity(am.Problem.power_law(50_000, 256, 1.5), "polar")
    assert one["capacity"] == f"{count:.0f}" and f"by step: {count:.0f}, " in many["note"] and not complaints


def test_two_optimizers_are_laid_over_each_other_with_the_records_points(browser, tmp_path):
    curves = """JSON.stringify([[...document.querySelectorAll('#amem-explorer svg')].map((svg) => [svg.dataset.plot,
        [...svg.querySelectorAll('.curve')].map((path) => path.classList[1])]),
        document.querySelectorAll('circle.point').length, amemExplorerData.records,
        amemEngine.againstDimension({source: 'power', alpha: 1.5, nItems: 50000, batchSize: Infinity,
            optimizer: 'polar', lamOverT0: 1}, [128, 512])])"""
    values, _ = open_page(browser, tmp_path, curves, hashes=("", "#other=none", "#alpha=1.3"))
    (plots, points, records, predicted), (alone, _, _, _), (_, none, _, _) = map(json.loads, values)
    assert {name: set(shown) for name, shown in plots} == dict.fromkeys(
        ("ranks", "dimensions", "batches", "spectrum"), {"polar", "sgd"}
    )
    assert all(shown == ["polar"] for _, shown in alone) and none == 0
    [record] = read_records("one-step", "confirm-alpha-1.5")
    stored = [one for one in records if one["optimizer"] == "polar" and one["alpha"] == 1.5]
    assert points == len(stored) == len(record["config"]["dims"])
    np.testing.assert_allclose([one["count"] for one in stored], record["measured"]["counts"]["polar"], atol=0.01)
    problem = {dim: am.Problem.power_law(50_000, dim, 1.5) for dim in (128, 512)}
    for dim, count in predicted:
        # bins of a tenth, for a picture
        assert count == pytest.approx(am.expected_capacity(problem[dim], "polar"), rel=0.02)


@needs_node
def test_counts_against_the_batch_are_the_librarys_and_run_through_what_was_counted():
    [record] = read_records("critical-batch", "confirm-alpha-1.5")
    sizes, n_items = (64, 1024, 16_384, 262_144), record["config"]["n_items"]
    state = {"source": "power", "alpha": 1.5, "nItems": n_items, "dim": 128, "lamOverT0": 1, "experts": 8, "topK": 2}
    asked = [state | {"optimizer": name} for name in ("polar", "sgd")]
    script = f"""JSON.stringify({json.dumps(asked)}.map((state) => [amemEngine.againstBatch(state, {list(sizes)}),
        {list(sizes)}.map((batchSize) => amemEngine.predict({{...state, batchSize, experts: 1, topK: 1}}).q)
            .map(({{values, counts}}) => [[...values], [...counts]]), amemExplorerData.batches]))"""
    problem = problem_of("power", 1.5, 128, n_items)
    for one, (curve, batches, points) in zip(asked, in_node(script), strict=True):
        name = one["optimizer"]
        assert [size for size, _ in curve] == list(sizes)
        for (size, count), (values, numbers) in zip(curve, batches, strict=True):
            q = torch.from_numpy(np.repeat(values, np.array(numbers, dtype=int)))
            # bins of a tenth, for a picture
            assert count == pytest.approx(am.expected_capacity(problem, name, 0.0, q), rel=0.03), (name, size)
            [point] = [one["count"] for one in points if (one["optimizer"], one["dim"], one["batchSize"])
                       == (name, 128, size)]  # fmt: skip
            row = record["measured"]["counts"]["polar" if name == "polar" else "sgd_at_dims"][1]
            assert point == pytest.approx(row[record["config"]["batch_sizes"].index(size)], abs=0.01)
            # means of eight draws, of about ten for SGD
            assert count == pytest.approx(point, rel=0.06 if name == "polar" else 0.2)


def test_the_batches_counted_are_shown_where_the_controls_meet_them(browser, tmp_path):
    script = """[document.querySelectorAll('svg[data-plot=batches] circle.polar').length,
        document.querySelector('svg[data-plot=batches] title').textContent]"""
    values, complaints = open_page(
        browser, tmp_path, script, hashes=("#d=7&n=4.2", "#d=7.25&n=4.2", "#d=7&n=4.2&other=none&b=12")
    )
    [record] = read_records("critical-batch", "confirm-alpha-1.5")
    assert [points for points, _ in values] == [len(record["config"]["batch_sizes"]), 0, 17]
    assert "against B" in values[0][1] and "34 counted points" in values[0][1] and not complaints


def test_a_pasted_list_and_its_experts_show_what_the_library_says(browser, tmp_path):
    address, problem = page(tmp_path), problem_of("list", 1.5, 256, 1000)
    with browse.tab(browser, "desktop") as (tab, complaints):
        browse.open_page(tab, address, "#b=12&experts=4&k=1&n=3")
        tab.wait_for_function(COMPUTED)
        tab.click("summary")
        for text, said in (("no numbers", "line 1"), (PASTED, "1500 items")):
            tab.fill("textarea", text)
            tab.click("button[data-do=list]")
            assert said in tab.text_content("[data-show=list]")
        tab.wait_for_timeout(100)
        tab.wait_for_function(COMPUTED)
        shown, data = json.loads(tab.evaluate(SHOWN))
    # 2¹² tokens, 2⁴ experts, 2¹ a token
    assert shown["tokens"] == "512" and not complaints
    whole = am.expected_capacity(problem, "polar")
    assert float(data["capacity"]) / float(data["kept"]) == pytest.approx(whole, rel=TOLERANCE)


def test_on_a_phone_the_readout_stays_in_sight(browser, tmp_path):
    where = """(() => { document.querySelector('details').open = true;
        document.querySelector('[name=steps]').scrollIntoView({block: 'center'});
        const box = document.querySelector('#amem-explorer .tiles').getBoundingClientRect();
        return [box.top, box.bottom, innerHeight]; })()"""
    [[top, bottom, height]], _ = open_page(browser, tmp_path, where, hashes=(SMALL,), width=390)
    assert 0 <= top < bottom <= height / 3


@pytest.mark.parametrize("width", [390, 1280])
def test_it_is_used_by_keys_and_fits_a_phone(browser, tmp_path, width):
    script = f"""JSON.stringify([document.activeElement.name, document.activeElement.value,
        document.activeElement.getAttribute('aria-valuetext'), {browse.SIDEWAYS},
        [...document.querySelectorAll('#amem-explorer svg')].map((svg) => [svg.querySelector('title').textContent,
            svg.querySelectorAll('path').length, svg.querySelectorAll('text').length]),
        [...document.querySelectorAll('#amem-explorer [name]')].every((input) => input.labels.length === 1)])"""
    keys = ["Tab"] + ["ArrowRight"] * 2
    values, complaints = open_page(browser, tmp_path, script, hashes=(SMALL,), width=width, before=keys)
    name, value, spoken, sideways, pictures, labelled = json.loads(values[0])
    assert (name, value, spoken) == ("alpha", "1.6", "1.60") and sideways <= 0 and labelled
    assert all(len(title) > 20 and paths >= 2 and texts > 6 for title, paths, texts in pictures)
    assert not complaints


def test_the_tables_are_those_that_their_tool_makes():
    script = (ROOT / "assets" / "explorer-data.js").read_text(encoding="utf-8")
    stored = json.loads(script.partition(" = ")[2].rstrip(";\n"))
    assert {code: table["name"] for code, table in stored["languages"].items()} == explorer_data.LANGUAGES
    # one language here, all of them by `python tools/generate.py check`
    assert stored["languages"]["en"] == {"name": "English"} | explorer_data.language_table("en")
    assert stored["records"] == explorer_data.counted() and stored["batches"] == explorer_data.counted_batches()
    assert len(stored["normals"]) == 128 and len(stored["hermite"]["24"][0]) == 24


def test_only_pages_with_figures_load_the_engine():
    config = (ROOT / "_config.yml").read_text()
    assert "explorer" not in config and "engine" not in config and not (ROOT / "_static").exists()
    pages = [*ROOT.glob("*.md"), *(ROOT / "chapters").rglob("*.md")]
    assert [path.name for path in pages if "_static/engine.js" in path.read_text()] == ["index.md", "explorer.md"]


def test_what_is_out_of_date_is_grey_at_once_and_the_tiles_say_the_ratio(browser, tmp_path):
    with browse.tab(browser, "desktop") as (tab, complaints):
        browse.open_page(tab, page(tmp_path), SMALL)
        tab.wait_for_function(COMPUTED)
        assert tab.locator(".stale").count() == 0
        seen = "document.querySelectorAll('#amem-explorer .stale').length"
        moved = f"""(() => {{ const d = document.querySelector('[name=d]'); d.value = 7;
            d.dispatchEvent(new Event('input')); return {seen}; }})()"""
        assert tab.evaluate(moved) == 5, "four plots and the tiles"
        tab.wait_for_function(COMPUTED)
        assert tab.evaluate(seen) == 0
        first, second, ratio = (float(text) for text in tab.locator(".tiles dd").all_inner_texts())
        assert ratio == pytest.approx(first / second, rel=0.02) and not complaints
