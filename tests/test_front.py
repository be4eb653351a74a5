"""The front page's pictures show what they claim to show."""

import re
from pathlib import Path

import front
import pytest

import amemlib as am

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_pictures_show_their_sources():
    assert front.stale() == []


@pytest.mark.parametrize("name", front.PICTURES)
def test_another_source_would_be_noticed(name, monkeypatch):
    figure, shown = front.PICTURES[name]
    monkeypatch.setitem(front.PICTURES, name, (figure, lambda: {"changed": shown()}))
    assert name in front.stale()


def test_the_first_picture_is_told_as_it_is():
    counts = {name: sum(marks) for name, marks in front.recalled().items()}
    words = r"\$d=(\d+)\$ and ([\d,]+) pairs.*? first ([\d,]+) are shown.*? in this one draw (\d+) and (\d+)\."
    told = [int(word.replace(",", "")) for word in re.search(words, README).groups()]
    assert told == [front.DIM, front.PAIRS, front.SHOWN, counts["sgd"], counts["polar"]]
    problem = am.Problem.power_law(front.PAIRS, front.DIM, front.ALPHA)
    told = re.search(r"One step of SGD recalls (\d+) on average, one of Muon (\d+)", README).groups()
    assert [int(word) for word in told] == [round(am.expected_capacity(problem, name)) for name in ("sgd", "polar")]
