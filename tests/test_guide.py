"""The map of the book follows the chapters: each says what it needs, what it teaches and how long it takes."""

from pathlib import Path

import guide
import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = [
    path.relative_to(ROOT / "chapters").with_suffix("").as_posix()
    for path in sorted((ROOT / "chapters").rglob("*.ipynb"))
]
CHAPTERS = {one.name: one for chapters in guide.parts(ROOT).values() for one in chapters}


def test_the_map_is_up_to_date():
    text = (ROOT / "chapters" / "guide.md").read_text(encoding="utf-8")
    assert guide.with_map(text, ROOT) == text, "run `make figures`"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_chapter_says_what_it_needs_and_what_it_costs(name):
    if name != "notation":
        assert name in CHAPTERS, "its first line is *You need: … You learn: … Reading time: N minutes; …*"
        text = (ROOT / "chapters" / f"{name}.md").read_text(encoding="utf-8")
        assert "; the cells run in " in next(line for line in text.splitlines() if line.startswith("*You need:"))


def test_no_chapter_needs_a_later_one():
    """In reading order every need is met, except where the line says for what a later chapter would help."""
    order = list(CHAPTERS)
    for one in CHAPTERS.values():
        assert all(order.index(need) < order.index(one.name) for need in one.needs if need in CHAPTERS)


def test_an_arc_stays_in_its_margin():
    for rows in (1, 5, 40):
        path = guide.arc(rows * guide.ROW, 0)
        radius, half = float(path.split()[4]), rows * guide.ROW / 2
        assert radius >= half
        assert radius - (radius**2 - half**2) ** 0.5 <= guide.MARGIN + 1e-3 or radius == half <= guide.MARGIN
