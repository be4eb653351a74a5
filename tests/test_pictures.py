"""The chapters' live pictures show what one draw of the memory gives, and their pages show them whole."""

import json
import re
from math import inf
from pathlib import Path

import browse
import numpy as np
import pictures
import pytest
import shouts
import torch
from bs4 import BeautifulSoup

from amembook import read_records
from amembook.paper import pictures as shown

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"equalizer": "gradient", "tide": "minibatches", "staircase": "deflation"}
"""Which chapter has which picture."""


def box_of(name):
    page = (ROOT / "chapters" / f"{PAGES[name]}.md").read_text(encoding="utf-8")
    return BeautifulSoup(page, "html.parser").select_one(f'[data-figure="{name}"]'), page


@pytest.mark.parametrize("place", [0, 9, -1])
def test_the_equalizer_is_one_draw_of_the_memory(place):
    assert pictures.place(shouts.LAMBDAS[place]) == pictures.stored("equalizer")["places"][place]


def test_the_equalizer_makes_all_directions_alike_at_one_size_of_the_step():
    stored = pictures.stored("equalizer")
    s = torch.tensor(stored["s"], dtype=torch.float64)
    places = torch.stack([shown.loudness(s, lam) for lam in shouts.LAMBDAS])
    assert torch.allclose(places.square().sum(1), torch.full((23,), 256.0, dtype=torch.float64))
    assert torch.allclose(places[-1], torch.ones_like(s)) and torch.allclose(places[0] / places[0, 0], s / s[0])
    loudest, quietest = places[:, 0].diff(), places[:, -1].diff()
    assert (loudest <= 0).all() and (quietest >= 0).all(), "the loud are pulled down and the quiet pushed up"
    last = stored["places"][-1]
    assert [ratio > 1 for ratio in last["ratios"]] == [
        winner == rank for winner, rank in zip(last["winners"], stored["ranks"], strict=True)
    ]


def test_a_fact_that_ties_with_its_rival_has_the_ratio_one():
    emb = shown.am.sample_embeddings(shown.am.Problem.power_law(20, 8, 1.5), seed=0)
    W = emb.U.double().T @ emb.V.double()
    logits = emb.V.double() @ W.T @ emb.U.double().T
    rivals = logits.masked_fill(torch.eye(20, dtype=torch.bool), -inf).amax(1)
    contest = shown.contest(W, emb, (1, 7, 20))
    assert contest["ratios"] == pytest.approx((logits.diagonal() / rivals)[[0, 6, 19]].tolist())
    assert contest["winners"] == (logits.argmax(1) + 1)[[0, 6, 19]].tolist()


def test_the_tide_is_one_draw_of_a_batch():
    at = pictures.BATCHES.index(1024)
    assert pictures.batch(1024) == pictures.stored("tide")["places"][at]


def test_the_tide_recalls_what_is_seen_until_the_memory_is_full():
    stored = pictures.stored("tide")
    for place in stored["places"]:
        states = "".join(str(divmod(int(pair), 3)[k]) for pair in place["states"] for k in (0, 1))
        # luck recalls one unseen fact a batch in the mean, at most, and six hardly ever
        assert len(states) == stored["first"] and len(states) - states.count("0") <= place["seen"] + 5
        assert states.count("2") <= place["polar"] <= place["seen"] + 5
        for name in pictures.MAPS:
            # four standard errors of a count, were its facts independent
            assert abs(place[name] - place["law"][name]) < 4 * max(place["law"][name], 4) ** 0.5
    most = max(place["polar"] for place in stored["places"])
    assert most > 1.2 * stored["all"]["polar"] > 1.1 * stored["places"][-1]["polar"], "the overshoot, and back"
    assert stored["first"] >= shouts.DIM ** stored["order"]["muon"]


def test_the_staircase_is_that_of_the_theorems():
    stored = pictures.stored("staircase")
    assert stored == json.loads(json.dumps(pictures.staircase()))
    for alpha, path in zip(stored["alphas"], stored["paths"], strict=True):
        sgd, muon = np.array(path["sgd"]), np.array(path["smoothed"])
        assert (sgd[1:] > sgd[:-1]).all() and (muon > sgd).all() and muon.max() < 2
        climbs = sgd[:-1] < 0.9999
        assert np.allclose(np.diff(sgd)[climbs], 1 / (2 * alpha), atol=1e-4), (
            "the same gain on every step to the landing"
        )


@pytest.mark.parametrize("name", PAGES)
def test_a_live_picture_has_its_still_one_its_control_and_its_numbers(name):
    box, page = box_of(name)
    assert f"name: {box['data-still']}\n" in page and len(box.select("input")) == len(box.select("output")) == 1
    assert box.input.find_parent("label") and all(svg["aria-label"] and svg["viewbox"] for svg in box.select("svg"))
    scripts = re.findall(r'src="\.\./_static/([\w-]+\.js)"', page)
    assert scripts == [f"{name}-data.js", "plots.js", "pictures.js", "figures.js"]
    assert all((ROOT / "assets" / script).exists() for script in scripts)


@pytest.mark.usefixtures("html")
@pytest.mark.parametrize("view", [pytest.param("desktop", marks=pytest.mark.sample), "phone, dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_slider_changes_value_picture_and_sentence_together(browser, view, name):
    with browse.tab(browser, view) as (page, complaints):
        browse.open_page(page, browse.HTML / "chapters" / f"{PAGES[name]}.html")
        box = page.locator(f"figure.lively > [data-figure={name}]")
        box.scroll_into_view_if_needed()
        drawn = f"document.querySelector('[data-figure={name}]').dataset.drawn === 'true'"
        page.wait_for_function(drawn)
        assert not page.locator("figure.lively img:visible").count(), "the still picture is for paper"
        slider, pictures_ = box.locator("[type=range]"), box.locator("svg")

        def look():
            labels = [one.get_attribute("aria-label") for one in pictures_.all()]
            return [slider.get_attribute("aria-valuetext"), box.locator("output").inner_text(), *labels]

        seen = [look()]
        for key in ("End", "Home") if slider.evaluate("(one) => one.value === one.min") else ("Home", "End"):
            slider.press(key)
            page.wait_for_function(f"!{drawn} || {drawn}")
            page.wait_for_timeout(100)
            page.wait_for_function(drawn)
            seen.append(look())
            assert all(new != old for new, old in zip(*seen[-2:], strict=True)), "something is as it was"
            assert not re.search("NaN|undefined", " ".join(seen[-1]) + box.inner_text())
        height = box.bounding_box()["height"]
        slider.press("ArrowRight" if key == "Home" else "ArrowLeft")
        page.wait_for_timeout(100)
        assert box.bounding_box()["height"] == height and page.evaluate(browse.SIDEWAYS) <= 0 and not complaints


@pytest.mark.usefixtures("html")
def test_paper_gets_the_still_pictures(browser):
    for page_name in PAGES.values():
        with browse.tab(browser, "desktop") as (page, _):
            browse.open_page(page, browse.HTML / "chapters" / f"{page_name}.html")
            page.emulate_media(media="print")
            still = page.locator("figure.lively")
            assert still.locator("img").is_visible() and not still.locator(".live").is_visible()


def pairs(at, counts):
    return [[x, round(count, 2)] for x, count in zip(at, counts, strict=True)]


def test_the_lines_of_the_front_page_are_the_records_and_the_law():
    stored = pictures.stored("curves")
    [record] = read_records("critical-batch", "confirm-alpha-1.5")
    size, count = stored["batches"]["64"]["sgd"][3]
    assert count == round(pictures.sgd_from_batches(record["config"], 64, size), 2)
    fields = (record["measured"][field]["sgd_at_dims"] for field in ("counts", "counts_error"))
    for lines, counts, errors in zip(stored["batches"].values(), *fields, strict=True):
        line = np.array(lines["sgd"])[:, 1]
        assert (abs(np.array(counts) - line) < 3 * np.array(errors)).all(), "line and points have the same batches"
    for lines, polar in zip(stored["batches"].values(), record["predicted"]["counts"]["polar"], strict=True):
        assert lines["polar"] == pairs(record["config"]["batch_sizes"], polar)
    for one in read_records("one-step", "confirm-alpha-"):
        lines = stored["dimensions"][f"{one['config']['alpha']:g}"]
        for name, dims in (("polar", "dims"), ("sgd", "sgd_dims")):
            assert lines[name] == pairs(one["config"][dims], one["predicted"]["counts"][name])
