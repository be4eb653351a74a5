"""The front page's pictures show what they claim to show."""

import re
from pathlib import Path

import front
import pytest

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
    told = re.search(r"\$d=(\d+)\$ and ([\d,]+) pairs.*?SGD recalls (\d+), Muon (\d+)", README).groups()
    assert [int(word.replace(",", "")) for word in told] == [front.DIM, front.PAIRS, counts["sgd"], counts["polar"]]
