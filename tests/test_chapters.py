"""Every chapter of both books says first what it needs, which stands before it, and last what its reader can do."""

import posixpath
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
FIRST_LINE = re.compile(
    r"^\*You need: (?P<needs>.+?) You learn: .+?\. Reading time: \d+ minutes.*; the cells run in .+\*$", re.MULTILINE
)
TOOLS = ("cheat-sheet", "explorer")
"""Numbered pages that one uses, and does not learn from."""


def chapters(book: str) -> list[tuple[str, bool]]:
    """The pages of a book's parts in reading order, as paths in the repository, and whether they are numbered."""
    toc = yaml.safe_load((ROOT / book / "_toc.yml").read_text(encoding="utf-8"))
    return [
        (posixpath.join(book, entry["file"]), part.get("numbered", False))
        for part in toc["parts"]
        for entry in part["chapters"]
    ]


NUMBERED = [name for book in ("", "companions") for name, numbered in chapters(book) if numbered]


@pytest.mark.parametrize("name", [name for name in NUMBERED if not name.endswith(TOOLS)])
def test_a_chapter_has_the_form_of_all(name):
    text = (ROOT / f"{name}.md").read_text(encoding="utf-8")
    assert FIRST_LINE.search(text), "its first line is *You need: … You learn: … Reading time: N minutes; the cells …*"
    last = text.rpartition("\n## ")[2].strip().splitlines()
    assert last[:2] == ["What you can now do", ""] and all(line.startswith("- ") for line in last[2:])
    assert 2 <= len(last[2:]) <= 3


@pytest.mark.parametrize("book", ["", "companions"])
def test_no_chapter_needs_a_later_one(book):
    order = [name for name, _ in chapters(book)]
    for at, name in enumerate(order):
        line = FIRST_LINE.search((ROOT / f"{name}.md").read_text(encoding="utf-8"))
        for link in re.findall(r"\]\(([\w./-]+)\.md\)", line["needs"] if line else ""):
            need = posixpath.normpath(posixpath.join(posixpath.dirname(name), link))
            assert need not in order[at:], f"{name} needs {need}"


def test_the_guide_leads_to_every_numbered_chapter():
    links = set(re.findall(r"\]\(([\w/-]+)\.md\)", (ROOT / "chapters" / "guide.md").read_text(encoding="utf-8")))
    assert {name.removeprefix("chapters/") for name in NUMBERED if name.startswith("chapters/")} <= links
