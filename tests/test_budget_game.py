"""The budget game: one score in Python and in the page, draws and laws that are the library's, a page for the keys."""

import json
import re
import subprocess
from pathlib import Path
from shutil import which

import browse
import game_data
import numpy as np
import pytest
from notebooks import read_myst_markdown_notebook
from numpy.testing import assert_allclose

import amemlib as am

ROOT = Path(__file__).resolve().parents[1]
CHAPTER = ROOT / "chapters" / "budget-game.md"
SETTINGS = game_data.stored(ROOT)
LEFT = "Math.min(...[...document.querySelectorAll('#amem-game svg text')].map((one) => one.getBBox().x))"
GUESSES = (1, 7.5, 60, 300, 2000)
TEXT = CHAPTER.read_text(encoding="utf-8")

needs_node = pytest.mark.skipif(which("node") is None, reason="no node on this machine: the browser's tests run alone")


def chapters_score():
    """The function that the chapter's cell defines."""
    names = {}
    for cell in read_myst_markdown_notebook(TEXT, path=CHAPTER).cells:
        if cell.cell_type == "code" and ("import torch" in cell.source or "def game_score" in cell.source):
            exec(cell.source, names)
    return names["game_score"]


SCORE = chapters_score()


def by_the_formula(guess, counts):
    """Eq. (game-score), pair by pair."""
    logs, n = np.log(np.array(counts, float)), len(counts)
    pairs = sum(abs(logs[i] - logs[j]) for i in range(n) for j in range(i))
    return abs(np.log(guess) - logs).mean() / (2 / (n * (n - 1)) * pairs)


def test_the_score_is_its_formula_and_lowest_at_the_median():
    for one in SETTINGS:
        for guess in GUESSES:
            assert SCORE(guess, one["counts"]) == pytest.approx(by_the_formula(guess, one["counts"]), rel=1e-12)
        best = SCORE(np.median(one["counts"]), one["counts"])
        assert best < min(SCORE(np.median(one["counts"]) * factor, one["counts"]) for factor in (0.5, 2))
    # another draw in the place of the guess scores 1 on average, exactly so where the draw is left out
    counts = SETTINGS[0]["counts"]
    others = [counts[:k] + counts[k + 1 :] for k in range(len(counts))]
    assert np.mean([SCORE(one, rest) for one, rest in zip(counts, others, strict=True)]) == pytest.approx(1, abs=0.05)


@pytest.mark.process
@needs_node
def test_the_page_scores_as_the_chapter_does():
    load = "".join(f"require({json.dumps(str(ROOT / 'assets' / name))});" for name in
                   ("budget-game-data.js", "budget-game.js"))  # fmt: skip
    script = f"""JSON.stringify(amemGameData.settings.map((one) => [{json.dumps(GUESSES)}.map((guess) =>
        amemGame.score(guess, one.counts)), amemGame.ranked(one)]))"""
    run = subprocess.run(["node", "-e", f"{load}console.log({script})"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    for one, (scores, ranked) in zip(SETTINGS, json.loads(run.stdout), strict=True):
        assert_allclose(scores, [SCORE(guess, one["counts"]) for guess in GUESSES], rtol=1e-12)
        assert [law["score"] for law in ranked] == sorted(law["score"] for law in ranked)
        assert {law["name"]: law["count"] for law in ranked} == game_data.laws(one["alpha"], one["dim"], one["nItems"])


@pytest.mark.slow
def test_the_settings_are_many_and_every_one_has_a_spread():
    keys = [(one["alpha"], one["dim"], one["nItems"], one["optimizer"]) for one in SETTINGS]
    assert len(set(keys)) == len(keys) == 48
    for one in SETTINGS:
        assert len(one["counts"]) == game_data.DRAWS and 1 <= min(one["counts"]) < max(one["counts"]) <= one["nItems"]
    assert game_data.pages(ROOT) == {ROOT / game_data.SCRIPT: (ROOT / game_data.SCRIPT).read_text(encoding="utf-8")}


@pytest.mark.parametrize(("alpha", "dim", "n_items"), [(1.25, 32, 300), (2.0, 64, 3000)])
def test_the_draws_are_made_again_from_their_seeds(alpha, dim, n_items):
    few = range(game_data.FIRST_SEED, game_data.FIRST_SEED + 3)
    again = game_data.counts(alpha, dim, n_items, few)
    for one in SETTINGS:
        if (one["alpha"], one["dim"], one["nItems"]) == (alpha, dim, n_items):
            assert one["counts"][:3] == again[one["optimizer"]]


@pytest.mark.parametrize("at", [1, 21])
def test_a_prediction_is_the_librarys(at):
    one = SETTINGS[at]
    problem = am.Problem.power_law(one["nItems"], one["dim"], one["alpha"])
    assert am.expected_capacity(problem, one["optimizer"]) == pytest.approx(one["sharp"], abs=0.06)


def test_the_text_says_what_the_draws_say():
    sharp = np.mean([SCORE(one["sharp"], one["counts"]) for one in SETTINGS])
    law = np.mean([SCORE(one["laws"][one["optimizer"]], one["counts"]) for one in SETTINGS])
    said = f"scores {sharp:.2f} on average over all {len(SETTINGS)} settings"
    assert said in TEXT and f"bare power of $d$ scores {law:.2f}" in TEXT
    [one] = [one for one in SETTINGS if (one["alpha"], one["dim"], one["nItems"], one["optimizer"])
             == (1.5, 32, 3000, "sgd")]  # fmt: skip
    assert f"{one['laws']['sgd']} where {np.mean(one['counts']):.0f} are counted" in TEXT


def page(folder):
    """The raw part of the chapter as a page of its own, with the scripts of assets/."""
    block = re.search(r"```\{raw\} html\n(.*?)```", TEXT, re.S)[1]
    block = block.replace("../_static/", (ROOT / "assets").as_uri() + "/")
    path = folder / "game.html"
    head = "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
    path.write_text(f"{head}<title>Game</title><body>{block}</body></html>", encoding="utf-8")
    return path


@pytest.mark.process
@pytest.mark.parametrize("view", [pytest.param("desktop", marks=pytest.mark.sample), "phone, dark"])
def test_it_is_played_by_keys_and_told_in_words(browser, tmp_path, view):
    with browse.tab(browser, view) as (tab, complaints):
        browse.open_page(tab, page(tmp_path), "#alpha=2&dim=64&nItems=3000&optimizer=sgd")
        for key in ["Tab"] * 5 + list("12") + ["Enter"]:
            tab.keyboard.press(key)
        [one] = [one for one in SETTINGS if (one["alpha"], one["dim"], one["nItems"], one["optimizer"])
                 == (2.0, 64, 3000, "sgd")]  # fmt: skip
        told, score = tab.inner_text("[role=status]"), SCORE(12, one["counts"])
        assert float(tab.locator("#amem-game").get_attribute("data-score")) == pytest.approx(score)
        for part in (f"score {score:.1f}", f"prediction {one['sharp']}", "“SGD's law”", "in 16 draws"):
            assert part in told, part
        # Muon's law waits for Muon's guess
        assert tab.locator("tbody tr").count() == 5 and "Muon" not in tab.inner_text("tbody") + told
        assert tab.locator("svg circle").count() == 16 and tab.evaluate(LEFT) >= 0
        assert "12" in tab.locator("svg title").text_content() and tab.input_value("[name=guess]") == "12"
        # a guess after the answer is no guess
        assert tab.is_disabled("[type=submit]") and tab.get_attribute("[name=guess]", "readonly") is not None
        assert "1 of 48 settings" in tab.inner_text("[data-show=total]")
        tab.select_option("[name=dim]", "128")
        assert not tab.is_visible("tbody") and "dim=128" in tab.url and tab.inner_text("[role=status]") == ""
        tab.select_option("[name=dim]", "64")
        tab.fill("[name=guess]", "5")
        tab.keyboard.press("Enter")
        assert "does not count" in tab.inner_text("[role=status]") and "1 of 48" in tab.inner_text("[data-show=total]")
        tab.click("[data-do=deal]")
        assert tab.evaluate("document.activeElement.name") == "guess" and tab.evaluate(browse.SIDEWAYS) <= 0
        labels = "[...document.querySelectorAll('#amem-game [name]')].map((one) => one.labels.length)"
        assert tab.evaluate(labels) == [1] * 5
    assert not complaints


@pytest.mark.process
def test_the_same_setting_comes_again_with_muon_and_the_ratio_is_told(browser, tmp_path):
    [sgd, muon] = [one for one in SETTINGS if (one["alpha"], one["dim"], one["nItems"]) == (2.0, 64, 3000)]
    with browse.tab(browser, "desktop") as (tab, complaints):
        browse.open_page(tab, page(tmp_path), "#alpha=2&dim=64&nItems=3000&optimizer=sgd")
        assert "score" not in tab.inner_text("#amem-game") and not tab.is_visible("[data-do=next]")
        tab.fill("[name=guess]", "12")
        tab.keyboard.press("Enter")
        assert "times as many" not in tab.inner_text("[role=status]")
        tab.click("[data-do=next]")
        assert tab.input_value("[name=optimizer]") == "polar" and "dim=64" in tab.url
        tab.keyboard.type("40")
        tab.keyboard.press("Enter")
        assert tab.locator("tbody tr").count() == 6 and "SGD's law" in tab.inner_text("tbody")
        ratio = float(f"{np.mean(muon['counts']) / np.mean(sgd['counts']):.2g}")
        assert f"{ratio:g} times as many as SGD" in tab.inner_text("[role=status]")
        assert not tab.is_visible("[data-do=next]") and not complaints


@pytest.mark.process
@pytest.mark.parametrize("view", ["phone", "desktop"])
def test_the_verdict_comes_into_view(browser, tmp_path, view):
    below = "document.querySelector('[role=status]').getBoundingClientRect().bottom - innerHeight"
    with browse.tab(browser, view) as (tab, _):
        browse.open_page(tab, page(tmp_path), "#alpha=2&dim=64&nItems=3000&optimizer=sgd")
        # as on the book's page on a phone, where a title and a paragraph stand above the form
        tab.evaluate(f"document.getElementById('amem-game').style.paddingTop = `${{60 - ({below})}}px`")
        assert tab.evaluate(below) == pytest.approx(60, abs=2)
        tab.fill("[name=guess]", "12")
        tab.keyboard.press("Enter")
        assert tab.evaluate(below) <= 1 and tab.evaluate("document.activeElement.name") != "guess"


@pytest.mark.process
def test_without_javascript_the_page_says_where_to_play(browser, tmp_path):
    tab = browser.new_context(java_script_enabled=False).new_page()
    tab.goto(page(tmp_path).as_uri())
    assert "The cells below" in tab.inner_text("body") and not tab.is_visible("form")
    tab.context.close()


def test_only_its_own_page_loads_the_game():
    assert "budget-game" not in (ROOT / "_config.yml").read_text()
    users = [path.name for path in (ROOT / "chapters").rglob("*.md") if "budget-game.js" in path.read_text()]
    assert users == ["budget-game.md"]
