"""The front page's pictures show what they claim to show."""

import re
from pathlib import Path

import front
import pytest
import shouts
import torch

import amemlib as am

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_pictures_show_their_sources():
    assert front.stale() == []


@pytest.mark.parametrize("name", front.PICTURES)
def test_another_source_would_be_noticed(name, monkeypatch):
    figure, shown = front.PICTURES[name]
    monkeypatch.setitem(front.PICTURES, name, (figure, lambda: {"changed": shown()}))
    assert name in front.stale()


@pytest.mark.slow
def test_the_first_picture_is_told_as_it_is():
    first, last = (shouts.stored()["places"][place] for place in (0, -1))
    told = re.search(
        r"of SGD recalls (\d+) facts on average, one of Muon (\d+), .*? in this one draw (\d+) and (\d+)\.", README
    )
    problem = am.Problem.power_law(shouts.N_ITEMS, shouts.DIM, shouts.ALPHA)
    means = [round(am.expected_capacity(problem, name)) for name in ("sgd", "polar")]
    assert [int(word) for word in told.groups()] == [*means, first["count"], last["count"]]


@pytest.mark.parametrize("place", [0, -1])
def test_who_shouts_is_one_draw_of_the_memory(place):
    stored, drawn = shouts.stored()["places"][place], shouts.shouts(shouts.step(shouts.LAMBDAS[place]))
    assert (stored["winners"], stored["count"]) == (drawn["winners"], drawn["count"])
    # rounded to hundredths of a row's loudest
    assert abs(torch.tensor(stored["scores"]) - torch.tensor(drawn["scores"])).max() <= 1


def test_the_slider_has_the_places_of_the_page():
    script = (ROOT / "assets" / "figures.js").read_text(encoding="utf-8")
    assert "[Infinity, ...Array.from({ length: 21 }, (_, k) => 10 ** (3 - k / 4)), 0]" in script
    assert len(shouts.LAMBDAS) == len(shouts.stored()["places"]) == 23
