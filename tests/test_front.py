"""The front page's pictures show the records they claim to show."""

import front
import pytest


def test_the_pictures_show_their_records():
    assert front.stale() == []


@pytest.mark.parametrize("name", front.PICTURES)
def test_another_record_would_be_noticed(name, monkeypatch):
    changed = front.read_record(front.PICTURES[name][0]) | {"verdict": "changed"}
    monkeypatch.setattr(front, "read_record", lambda _: changed)
    assert name in front.stale()
