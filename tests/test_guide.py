"""The map of the book follows the chapters, which say what they need and how long they take; the lanes follow both."""

import re
from dataclasses import replace
from pathlib import Path

import guide
import portable
import pytest
import reading_time
from bs4 import BeautifulSoup

from amemlib.figures import style

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = [
    path.relative_to(ROOT / "chapters").with_suffix("").as_posix()
    for path in sorted((ROOT / "chapters").rglob("*.ipynb"))
]
BOOK = guide.parts(ROOT)
CHAPTERS = {one.name: one for chapters in BOOK.values() for one in chapters}
LANES = guide.lanes(ROOT, BOOK)
every_lane = pytest.mark.parametrize("lane", LANES, ids=lambda lane: lane.name)
MAP = BeautifulSoup((ROOT / "chapters" / "guide.md").read_text(encoding="utf-8"), "html.parser").find("nav")


def test_the_map_is_up_to_date():
    text = (ROOT / "chapters" / "guide.md").read_text(encoding="utf-8")
    assert guide.with_map(text, ROOT) == text, "run `make figures`"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_chapter_says_what_it_needs_and_what_it_costs(name):
    if name != "notation":
        assert CHAPTERS[name].learns, "its first line is *You need: … You learn: … Reading time: N minutes; …*"
        text = (ROOT / "chapters" / f"{name}.md").read_text(encoding="utf-8")
        assert "; the cells run in " in next(line for line in text.splitlines() if line.startswith("*You need:"))


@pytest.mark.parametrize(
    "name", [one.name for one in CHAPTERS.values() if one.learns and one.numbered and one.name != "explorer"]
)
def test_a_chapter_ends_with_what_one_can_do_now_and_what_comes_next(name):
    last = (ROOT / "chapters" / f"{name}.md").read_text(encoding="utf-8").rpartition("\n## ")[2].splitlines()
    assert last[:2] == ["What you can now do", ""]
    assert 2 <= sum(line.startswith("- ") for line in last) <= 3
    targets = re.findall(r"\]\(([\w./-]+)\.md\)", last[-1])
    assert last[-1].startswith("*Next:* ") and len(set(targets)) == len(targets) > 0


def test_every_step_of_a_lane_is_told_at_the_end_of_the_chapter_before():
    titles = guide.whole(ROOT)[2]
    for lane in LANES:
        names = [stop.name for stop in lane.stops]
        for name, after in zip(names, names[1:], strict=False):
            told = guide.closing(name, list(CHAPTERS), LANES, titles)
            assert re.search(rf"\[{re.escape(titles[after])}\]\([^)]*\) \([^)]*lane {lane.letter}\b", told), (
                name,
                after,
            )


def test_no_chapter_needs_a_later_one():
    """In reading order every need is met, except where the line says for what a later chapter would help."""
    order = list(CHAPTERS)
    for one in CHAPTERS.values():
        assert all(order.index(need) < order.index(one.name) for need in one.needs if need in CHAPTERS)


@every_lane
def test_a_lane_keeps_its_promise_and_reads_nothing_before_what_it_rests_on(lane):
    assert lane.minutes <= (lane.within or lane.minutes)
    names = [stop.name for stop in lane.stops]
    assert len(set(names)) == len(names)
    for number, name in enumerate(names):
        later = set(names[number:])
        assert name not in CHAPTERS or not later & set(CHAPTERS[name].needs), f"{name} needs one that comes later"
    for stop in lane.stops:
        assert stop.name not in CHAPTERS or 0 < stop.minutes <= CHAPTERS[stop.name].minutes
    assert not lane.after or lane.after in {one.letter for one in LANES if one.letter < lane.letter}


def test_a_lane_has_a_look_in_a_colour_of_the_house_and_a_rule_of_the_style_sheet_of_its_own():
    rules = (ROOT / "assets" / "book.css").read_text(encoding="utf-8")
    assert len({(lane.colour, lane.ring) for lane in LANES}) == len(LANES)
    for lane in LANES:
        assert lane.colour in style.KINDS and lane.ring in ("solid", "dashed")
        assert (f"--ring: {lane.ring}" in guide.mark(lane)) == (lane.ring != "solid")
        assert f'[value="{lane.letter}"]:checked' in rules


@pytest.mark.parametrize("part", [caption for caption in BOOK if caption.startswith("Companions")])
def test_a_lane_goes_through_every_group_of_companions(part):
    stops = {stop.name for lane in LANES for stop in lane.stops}
    assert any(one.name in stops for one in BOOK[part])


def test_a_lane_through_a_chapter_or_section_that_is_gone_is_an_error():
    minutes = {name: one.minutes for name, one in CHAPTERS.items()}
    for stop in ("nowhere", {"part": "Nowhere"}, {"page": "gradient", "until": "Nowhere"}):
        with pytest.raises(KeyError):
            guide.read_stops(stop, BOOK, minutes, ROOT)


def test_a_share_of_a_chapter_takes_its_share_of_the_minutes():
    minutes = {name: one.minutes for name, one in CHAPTERS.items()}
    [some] = guide.read_stops({"page": "gradient", "until": "Minibatches"}, BOOK, minutes, ROOT)
    [more] = guide.read_stops({"page": "gradient", "until": "Exercises"}, BOOK, minutes, ROOT)
    assert 0 < some.minutes < more.minutes <= minutes["gradient"]


@pytest.mark.parametrize("name", [name for name, one in CHAPTERS.items() if one.learns and name not in guide.BY_HAND])
def test_a_first_line_states_the_minutes_of_the_rule(name):
    line = guide.FIRST_LINE.search(guide.source(ROOT, name))
    assert int(line["minutes"]) == CHAPTERS[name].minutes, "run `make figures`"


PAGE = """---
experiment: x
---
# Two words

*You need: nothing. You learn: it. Reading time: 90 minutes; the cells run in a second.*

(sec-here)=
A [link](x.md) of $x<1$ and $y>2$ in {ref}`sec-here`.

$$
a=b\\\\
c=d
$$ (eq-x)

```{code-cell} ipython3
assert open
```

```{code-cell} ipython3
---
mystnb:
  figure:
    caption: >-
      Four words for $z$.
tags: [hide-input]
---
not = read
```

```{dropdown} Not read
Nor this.
```

```{prf:proof}
Two more.
```

````{solution-start} ex-x
:class: dropdown
````

Not read, $x$.

````{solution-end}
````

*Next:* [nowhere](x.md).
"""


def test_the_rule_counts_what_a_reader_meets_and_nothing_that_is_folded():
    first, text, caption, proof = 16, 6, 3, 2
    words = 2 + first + text + caption + proof
    counted = reading_time.count(PAGE)
    assert counted == {"words": words, "formulas": 3, "displays": 2, "pictures": 1, "code": 1}
    assert reading_time.minutes(PAGE) == pytest.approx((words * 60 / 200 + 3 * 3 + 2 * 30 + 20 + 1) / 60)


def test_minutes_stay_while_they_are_near_and_are_mended_where_they_are_far():
    long = "word " * 200 * 32
    assert [reading_time.stated(long, now) for now in (27, 28, 36, 37)] == [30, 28, 36, 30]
    assert [reading_time.rounded(exact) for exact in (0.2, 7.4, 19.4, 19.6, 24)] == [1, 7, 19, 20, 25]
    assert guide.chapter("x", PAGE).minutes == 2
    assert guide.timed(PAGE, 2) == PAGE.replace("90 minutes", "2 minutes")
    assert guide.chapter("explorer", PAGE).minutes == 90


def test_the_map_leads_to_every_chapter_under_the_books_own_number():
    numbers = portable.Book(ROOT).pages()
    number = re.compile(r"^\d* ?")
    shown = {link["href"].removesuffix(".html"): number.match(link.get_text())[0].strip() for link in MAP.find_all("a")}
    assert shown == {name: numbers[f"chapters/{name}"] for name in CHAPTERS}
    assert len({number.sub("", link.get_text()) for link in MAP.find_all("a")}) == len(shown)
    assert "$" not in MAP.get_text()


@every_lane
def test_the_map_marks_every_stop_of_a_lane(lane):
    marked = {box.a["href"]: box.select_one(f".lane-{lane.letter}") for box in MAP.find_all("li")}
    stops = {f"{stop.name}.html": f"{lane.letter}{at}" for at, stop in enumerate(lane.stops, start=1)}
    drawn = {href: mark.get_text() for href, mark in marked.items() if mark}
    assert drawn == {href: told for href, told in stops.items() if href in marked}


def test_what_is_implied_is_not_needed_again():
    ground = guide.Chapter("a", "A", (), "", 1)
    book = {"part": [ground, replace(ground, name="b", needs=("a",)), replace(ground, name="c", needs=("a", "b"))]}
    assert guide.direct_needs(book) == {"a": [], "b": ["a"], "c": ["b"]}
