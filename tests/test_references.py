"""The literature: what is cited is in the list, what is in the list is cited, and an entry says where it appeared.

references-checked.csv, of 23 November 2026 and after, has each arXiv number as it was looked up in stored copies of
public pages. *seen*: the title stood beside the number, the venue beside one of them; *corrected*: another venue,
which the entry has since. Entries without a number (by DOI, books) were checked in form only,
but for those that the table has as well.
"""

import csv
import re
from collections import Counter
from pathlib import Path

import pytest
from portable import LITERATURE, books
from pybtex.database import parse_file

ROOT = Path(__file__).resolve().parents[1]
ENTRIES = parse_file(ROOT / "chapters" / "references.bib").entries
CITATION = re.compile(rf"\{{(?:{'|'.join(sorted(LITERATURE))})\}}`([^`]+)`")


def cited() -> dict[str, set[str]]:
    """Key ↦ the pages that cite it."""
    found: dict[str, set[str]] = {}
    for page in [page for book in books(ROOT) for page in book.pages()]:
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


def arxiv(key: str) -> list[str]:
    """The arXiv numbers that an entry names, each once."""
    fields = ENTRIES[key].fields
    named = [re.findall(r"(?:arXiv:|arxiv\.org/abs/)([^\s}]+)", fields.get(field, "")) for field in ("journal", "url")]
    return sorted({*sum(named, []), *([fields["eprint"]] if "eprint" in fields else [])})


def test_numbers_and_digital_identifiers_have_their_form_and_no_paper_stands_twice():
    for key, entry in ENTRIES.items():
        assert len(arxiv(key)) <= 1, f"{key} names two papers: {arxiv(key)}"
        for number in arxiv(key):
            assert re.fullmatch(r"\d\d(0[1-9]|1[0-2])\.\d{4,5}", number), f"{key}: {number}"
            assert 2000 + int(number[:2]) <= int(entry.fields["year"]), f"{key} is older than {number}"
        assert re.fullmatch(r"10\.\d{4,5}/\S+", entry.fields.get("doi", "10.0000/none")), key
    titles = [re.sub(r"\W", "", entry.fields["title"]).lower() for entry in ENTRIES.values()]
    numbers = [number for key in ENTRIES for number in arxiv(key)]
    assert not [one for one, count in Counter(titles + numbers).items() if count > 1]


def test_every_number_was_looked_up():
    with (ROOT / "chapters" / "references-checked.csv").open(encoding="utf-8", newline="") as file:
        checked = {line["key"]: [line["arxiv"]] if line["arxiv"] else [] for line in csv.DictReader(file)}
    assert {key: number for key, number in checked.items() if number} == {k: arxiv(k) for k in ENTRIES if arxiv(k)}
    assert not checked.keys() - ENTRIES.keys()
