"""Every chapter of both books says first what it needs, which stands before it, and what its reader learns."""

import posixpath
import re
from pathlib import Path

import contents
import pytest
from addresses import redirects
from contents import FIRST_LINE
from portable import books

ROOT = Path(__file__).resolve().parents[1]
BOOKS = {book.name: book.pages() for book in books(ROOT)}
NUMBERED = [page for pages in BOOKS.values() for page, number in pages.items() if number]
MOST = 15
GUIDE = (ROOT / "chapters" / "guide.md").read_text(encoding="utf-8")


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


def test_the_guide_leads_to_every_numbered_chapter_and_says_how_long_a_page_takes_as_the_page_does():
    rows = re.findall(r"^\| (\d+) \[.+?\]\((.+?)\.md\) ", GUIDE, re.M)
    numbered = {number: page.removeprefix("chapters/") for page, number in BOOKS[""].items() if number.isdigit()}
    assert rows == list(numbered.items())
    said = re.findall(r"\]\(([\w/-]+)\.md\)[^(;.]*(?:\(| \| )(\d+) minutes", GUIDE)
    assert len(said) > MOST
    for name, minutes in said:
        page = (ROOT / "chapters" / f"{name}.md").read_text(encoding="utf-8")
        assert f"Reading time: {minutes} minutes" in page, name


def test_the_front_page_lists_the_short_book_as_its_pages_do():
    front = (ROOT / "index.md").read_text(encoding="utf-8")
    short = contents.chapters(ROOT)["The short book"]
    assert re.findall(r"^\d\. \[(.+?)\]\((.+?)\.md\): .+\.$", front, re.M) == [(one[1], one[0]) for one in short]
    assert "an hour and a half" in front and "an hour and a half" in GUIDE
    assert 75 <= sum(minutes for *_, minutes in short) <= 105


@pytest.mark.parametrize("book", BOOKS)
def test_a_page_that_went_leads_to_one_that_stands(book):
    for old, new in redirects(ROOT / book):
        page = posixpath.normpath(posixpath.join(book, new))
        assert (ROOT / f"{page}.md").exists() and any(page in pages for pages in BOOKS.values()), new
        assert posixpath.join(book, old) not in BOOKS[book], f"{old} is still a page"
