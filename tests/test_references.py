"""The literature: what is cited is in the list, what is in the list is cited, and an entry says where it appeared."""

import re
from pathlib import Path

import pytest
from portable import LITERATURE, Book
from pybtex.database import parse_file

ROOT = Path(__file__).resolve().parents[1]
ENTRIES = parse_file(ROOT / "chapters" / "references.bib").entries
CITATION = re.compile(rf"\{{(?:{'|'.join(sorted(LITERATURE))})\}}`([^`]+)`")


def cited() -> dict[str, set[str]]:
    """Key ↦ the pages that cite it."""
    found: dict[str, set[str]] = {}
    for page in Book(ROOT).pages():
        for keys in CITATION.findall((ROOT / f"{page}.md").read_text(encoding="utf-8")):
            for key in keys.split(","):
                found.setdefault(key.strip(), set()).add(page)
    return found


def test_every_citation_has_an_entry():
    assert not {key: pages for key, pages in cited().items() if key not in ENTRIES}


def test_every_entry_is_cited():
    assert not ENTRIES.keys() - cited().keys(), "an entry that nothing cites: use it or remove it"


@pytest.mark.parametrize("key", list(ENTRIES))
def test_an_entry_says_who_when_and_where(key):
    fields = ENTRIES[key].fields
    assert ENTRIES[key].persons["author"] and re.fullmatch(r"\d{4}", fields["year"])
    venue = {"journal", "booktitle", "publisher", "institution", "howpublished", "url"} & set(fields)
    assert venue, "no journal, conference, publisher or address"
