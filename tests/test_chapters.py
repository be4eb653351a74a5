"""Every chapter of both books says first what it needs, which stands before it, and what its reader learns."""

import itertools
import posixpath
import re
from pathlib import Path

import pytest
import yaml
from addresses import redirects
from portable import books

ROOT = Path(__file__).resolve().parents[1]
FIRST_LINE = re.compile(
    r"^\*You need: (?P<needs>.+?) You learn: .+?\. Reading time: \d+ minutes.*; the cells run in .+\*$", re.MULTILINE
)
BOOKS = {book.name: book.pages() for book in books(ROOT)}
NUMBERED = [page for pages in BOOKS.values() for page, number in pages.items() if number]
MOST = 26
GUIDE = (ROOT / "chapters" / "guide.md").read_text(encoding="utf-8")
GO_ON = re.compile(
    r"\n\*For (?:the proofs|your run) go on with \[[^]]+\]\(([\w-]+)\.md\)(; the book goes on below)?\.\*\n$"
)


@pytest.mark.parametrize("name", NUMBERED)
def test_a_chapter_has_the_form_of_all(name):
    text = (ROOT / f"{name}.md").read_text(encoding="utf-8")
    assert FIRST_LINE.search(text), "its first line is *You need: … You learn: … Reading time: N minutes; the cells …*"


@pytest.mark.parametrize("book", ["", "companions"])
def test_no_chapter_needs_a_later_one(book):
    order = list(BOOKS[book])
    for at, name in enumerate(order[1:], 1):
        line = FIRST_LINE.search((ROOT / f"{name}.md").read_text(encoding="utf-8"))
        for link in re.findall(r"\]\(([\w./-]+)\.md\)", line["needs"] if line else ""):
            need = posixpath.normpath(posixpath.join(posixpath.dirname(name), link))
            assert need not in order[at:], f"{name} needs {need}"


def test_the_main_book_can_be_held_in_mind():
    assert sum(number.isdigit() for number in BOOKS[""].values()) <= MOST


def test_the_guide_leads_to_every_numbered_chapter_and_says_how_long_it_takes():
    links = set(re.findall(r"\]\(([\w/-]+)\.md\)", GUIDE))
    assert {page.removeprefix("chapters/") for page, number in BOOKS[""].items() if number.isdigit()} <= links
    said = re.findall(r"\]\(([\w/-]+)\.md\)[^(;.]*\((\d+) minutes\)", GUIDE)
    assert len(said) > 5
    for name, minutes in said:
        page = (ROOT / "chapters" / f"{name}.md").read_text(encoding="utf-8")
        assert f"Reading time: {minutes} minutes" in page, name


def route(first: str) -> list[str]:
    """The pages that a page and then each next one lead on to."""
    found = GO_ON.search((ROOT / "chapters" / f"{first}.md").read_text(encoding="utf-8"))
    return [found[1], *route(posixpath.join(posixpath.dirname(first), found[1]))] if found else []


def test_a_last_line_says_when_the_button_below_it_leads_elsewhere():
    order = [name for name, number in BOOKS[""].items() if number] + [""]
    for here, after in itertools.pairwise(order):
        if found := GO_ON.search((ROOT / f"{here}.md").read_text(encoding="utf-8")):
            meant = posixpath.join(posixpath.dirname(here), found[1])
            assert bool(found[2]) == (meant != after), f"{here}: {meant}, below {after}"


def test_the_way_of_the_guide_for_a_run_is_that_of_the_pages():
    said = re.search(r"\*\*I train with Muon\.\*\*.*", GUIDE)[0]
    assert ["doctor", *route("practice/doctor")] == re.findall(r"\]\(practice/([\w-]+)\.md\)", said)


def test_the_proof_route_of_the_guide_is_that_of_the_pages():
    said = re.search(r"\*\*I want the proofs\.\*\*.*", GUIDE)[0]
    steps = re.findall(r"\]\(([\w-]+)\.md\)[^(;.]*\((\d+) minutes\)", said)
    assert route("associative-memory") == ["one-step", *(name for name, _ in steps)]
    assert "four and a half hours" in said and round(sum(int(minutes) for _, minutes in steps[:7]) / 30) == 9


def titles(entries):
    """Page -> its title in the sidebar, where it is not the page's own."""
    for entry in entries:
        if "file" in entry and "title" in entry:
            yield entry["file"].removeprefix("chapters/"), entry["title"]
        yield from titles(entry.get("chapters", []) + entry.get("sections", []))


def test_the_guide_calls_pages_as_the_sidebar_does():
    sidebar = dict(titles(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"]))
    table = "".join(line for line in GUIDE.splitlines() if line.startswith("|"))
    for title, page in re.findall(r"\[([^]]+)\]\(([\w/-]+)\.md\)", table):
        heading = re.search(r"^# (.+)$", (ROOT / "chapters" / f"{page}.md").read_text(encoding="utf-8"), re.M)[1]
        assert title == sidebar.get(page, heading)


@pytest.mark.parametrize("book", BOOKS)
def test_a_page_that_went_leads_to_one_that_stands(book):
    for old, new in redirects(ROOT / book):
        page = posixpath.normpath(posixpath.join(book, new))
        assert (ROOT / f"{page}.md").exists() and any(page in pages for pages in BOOKS.values()), new
        assert posixpath.join(book, old) not in BOOKS[book], f"{old} is still a page"
