"""The glossary is the book's index too: every term leads to the label that defines it, every companion has a term."""

import posixpath
import re
from pathlib import Path

import guide
import pytest
from portable import THEOREMS, Book, _definitions

ROOT = Path(__file__).resolve().parents[1]
BOOK = Book(ROOT)
TEXT = (ROOT / "chapters" / "glossary.md").read_text(encoding="utf-8")
[BODY] = re.findall(r"^```\{glossary\}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
ENTRIES = list(_definitions(BODY))
KINDS = {
    "eq": {"equation"},
    "numref": {"figure", "table"},
    "ref": {"section", "exercise"},
    "prf:ref": {"paper", *THEOREMS},
}
LABEL = r"\{(?:eq|numref|ref|prf:ref)\}`[^`]+`"
PAGE = r"\[[^\]]+\]\((?P<page>[\w/-]+)\.md\)"
PLACES = re.compile(
    rf" {PAGE}(?:, (?P<label>{LABEL}))?(?:; see also (?:{PAGE.replace('page', 'other')}, )?(?P<use>{LABEL}))?\.$"
)
every_entry = pytest.mark.parametrize(("term", "text"), ENTRIES, ids=[term for term, _ in ENTRIES])


def target(link: str):
    role, words = re.fullmatch(r"\{([\w:]+)\}`([^`]+)`", link).groups()
    found = BOOK.targets[re.sub(r".*<(.+)>", r"\1", words)]
    assert found.kind in KINDS[role], f"{link} is a {found.kind}"
    assert found.number or found.kind in ("section", "paper"), f"{link} has no number"
    if found.kind == "paper":
        assert words.startswith(found.title), f"{link} is {found.title} of the paper"
    return found


def chapter(page: str) -> str:
    return posixpath.join("chapters", page)


@every_entry
def test_a_term_leads_to_the_label_that_defines_it_and_to_one_more_place(term, text):
    places = PLACES.search(text)
    assert places, "an entry ends with: [Words](page.md), {role}`label`; see also [Words](page.md), {role}`label`."
    if places["label"]:
        assert target(places["label"]).page == chapter(places["page"])
    else:
        labels = {found.page for found in BOOK.targets.values() if found.kind in set().union(*KINDS.values())}
        assert chapter(places["page"]) not in labels, "the page has labels: name one"
    if places["use"]:
        assert target(places["use"]).page == chapter(places["other"] or places["page"])
        assert places["use"] != places["label"] and places["other"] != places["page"]
    assert len(re.findall(LABEL, text)) <= 2


def test_the_terms_stand_in_order_and_none_stands_twice():
    terms = [term.casefold() for term, _ in ENTRIES]
    assert terms == sorted(set(terms))
    assert len(terms) <= 100, "an index is short"


def test_a_term_that_a_term_names_is_there():
    assert {term.lower() for term in re.findall(r"\{term\}`([^`]+)`", BODY)} <= {term for term, _ in ENTRIES}


@pytest.mark.parametrize(
    "name", [one.name for part in guide.parts(ROOT).values() for one in part if one.name.startswith("companions/")]
)
def test_a_companion_has_a_term(name):
    assert any(f"({name}.md)" in text for _, text in ENTRIES)
