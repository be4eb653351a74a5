"""The slides show figures of the book under their own words, link to what is there, and the seminar leads to them."""

import re
from pathlib import Path

import front
import pytest
from portable import Book

ROOT = Path(__file__).resolve().parents[1]
DECKS = sorted((ROOT / "extras" / "slides").glob("*.md"))
BOOK = Book(ROOT)


@pytest.mark.parametrize("deck", DECKS, ids=lambda deck: deck.stem)
def test_a_deck_shows_figures_by_their_words_and_links_to_what_is_there(deck):
    text = deck.read_text(encoding="utf-8")
    pictures = re.findall(r"!\[([^]]+)\]\(\.\./_images/([\w-]+)\.png\)", text)
    assert len(pictures) > 3 and text.count("![") == len(pictures)
    for words, label in pictures:
        of_the_front = f"{label}.png" in front.PICTURES
        assert of_the_front or BOOK.targets[label].kind == "figure"
        page = (ROOT / f"{'README' if of_the_front else BOOK.targets[label].page}.md").read_text(encoding="utf-8")
        assert " ".join(words.split()) in " ".join(page.split()), f"{label} is described in other words"
    anchors = {(target.page, target.anchor) for target in BOOK.targets.values()}
    links = re.findall(r"\]\(\.\./(chapters/[\w/-]+)\.html(?:#([\w-]+))?\)", text)
    assert set(links) <= anchors and text.count(".html") == len(links)


def test_the_seminar_leads_to_every_deck():
    seminar = (ROOT / "chapters" / "seminar.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r'"\.\./slides/(\w+)\.html"', seminar)) == [deck.stem for deck in DECKS]
