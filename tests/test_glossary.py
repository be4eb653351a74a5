"""A glossary is its book's index too: every term leads to the label that defines it, every companion has a term."""

import posixpath
import re
from pathlib import Path

import pytest
from portable import THEOREMS, Book, _definitions, books

ROOT = Path(__file__).resolve().parents[1]
BOOKS = {book.name: book for book in books(ROOT)}


def entries(book: Book) -> list[tuple[str, str]]:
    text = (ROOT / book.name / "chapters" / "glossary.md").read_text(encoding="utf-8")
    [body] = re.findall(r"^```\{glossary\}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return list(_definitions(body))


ENTRIES = {name: entries(book) for name, book in BOOKS.items()}
KINDS = {
    "eq": {"equation"},
    "numref": {"figure", "table"},
    "ref": {"section", "exercise"},
    "prf:ref": {"paper", *THEOREMS},
}
LABEL = r"\{(?:eq|numref|ref|prf:ref)\}`[^`]+`"
PAGE = r"\[[^\]]+\]\((?P<page>[\w./-]+)\.md\)"
PLACES = re.compile(
    rf" {PAGE}(?:, (?P<label>{LABEL}))?(?:; see also (?:{PAGE.replace('page', 'other')}, )?(?P<use>{LABEL}))?\.$"
)
each = pytest.mark.parametrize(
    ("name", "term", "text"),
    [(name, *entry) for name, found in ENTRIES.items() for entry in found],
    ids=[term for found in ENTRIES.values() for term, _ in found],
)


def target(link: str, book: Book):
    role, words = re.fullmatch(r"\{([\w:]+)\}`([^`]+)`", link).groups()
    found = book.find(re.sub(r".*<(.+)>", r"\1", words))
    assert found.kind in KINDS[role], f"{link} is a {found.kind}"
    assert found.number or found.kind in ("section", "paper"), f"{link} has no number"
    if found.kind == "paper":
        assert words.startswith(found.title), f"{link} is {found.title} of the paper"
    return found


@each
def test_a_term_leads_to_the_label_that_defines_it_and_to_one_more_place(name, term, text):
    def chapter(page: str) -> str:
        return posixpath.normpath(posixpath.join(name, "chapters", page))

    places, book = PLACES.search(text), BOOKS[name]
    assert places, "an entry ends with: [Words](page.md), {role}`label`; see also [Words](page.md), {role}`label`."
    if places["label"]:
        assert target(places["label"], book).page == chapter(places["page"])
    else:
        labels = {found.page for found in book.targets.values() if found.kind in set().union(*KINDS.values())}
        assert chapter(places["page"]) not in labels, "the page has labels: name one"
    if places["use"]:
        assert target(places["use"], book).page == chapter(places["other"] or places["page"])
        assert places["use"] != places["label"] and places["other"] != places["page"]
    assert len(re.findall(LABEL, text)) <= 2


@pytest.mark.parametrize("name", BOOKS)
def test_the_terms_stand_in_order_and_none_stands_twice(name):
    terms = [term.casefold() for term, _ in ENTRIES[name]]
    assert terms == sorted(set(terms))
    assert len(terms) <= 100, "an index is short"
    assert {term.lower() for _, text in ENTRIES[name] for term in re.findall(r"\{term\}`([^`]+)`", text)} <= {
        term for term, _ in ENTRIES[name]
    }


@pytest.mark.parametrize("page", [page for page, number in BOOKS["companions"].pages().items() if number])
def test_a_companion_has_a_term(page):
    assert any(f"({posixpath.basename(page)}.md)" in text for _, text in ENTRIES["companions"])
