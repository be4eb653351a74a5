"""Addresses that the books have had, and where each leads today; `addresses.py` adds those of the built books.

`redirects.csv` names for a page that went the one in its place, `chapters/addresses.csv` every place that a page has
had, in the page's order. A place that its page has lost leads to where one of its ids stands now, else to where the
place above it does, else to the top of its page or of the one that took it in.
"""

import csv
import json
import re
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

from portable import BOOKS, Book

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
LIST = ROOT / "chapters" / "addresses.csv"
PLACE = re.compile(r'<section\b[^>]*?\bid="([^"]+)"[^>]*>((?:\s*<span id="[^"]+"></span>)*)|\bid="([^"]+)"')
COUNTED = re.compile(r"(id|index-)\d+|.*-solution-\d+")
"""What Sphinx numbers is no address."""
SPAN = re.compile('id="(.+?)"')
LEADS_ON = """<!DOCTYPE html><meta charset="utf-8"><title>Moved</title><meta http-equiv="refresh" content="0; url={to}">
<script>const places = {places}, place = places[decodeURIComponent(location.hash.slice(1))];
location.replace(place || "{to}" + location.search + location.hash)</script>
<a href="{to}">This page has moved.</a>
"""


def redirects(book: Path) -> list[tuple[str, str]]:
    """Pages that a book had once, and where their readers are led, by its list."""
    path = book / "chapters" / "redirects.csv" if book == ROOT else book / "redirects.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return [(row["old"], row["new"]) for row in csv.DictReader(file)]


def places(page: str) -> list[str]:
    """The ids of a built page's text, a place a line: a heading's own one has a `#`, labels have none."""
    text = (HTML / f"{page}.html").read_text(encoding="utf-8")
    ids = PLACE.findall(text[text.find("<article") : text.rfind("</article>")])
    lines = ([f"#{own}", *SPAN.findall(labels)] if own else [one] for own, labels, one in ids)
    kept = (" ".join(one for one in line if not COUNTED.fullmatch(one.strip("#"))) for line in lines)
    return list(filter(None, kept))


def standing() -> dict[str, list[str]]:
    """The places of every page of the built books."""
    return {page: places(page) for name in BOOKS for page in Book(ROOT, name).pages()}


def known() -> dict[str, list[str]]:
    """The places that pages have had."""
    places: dict[str, list[str]] = {}
    with LIST.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            places.setdefault(line["page"], []).append(line["place"])
    return places


def moved() -> dict[str, str]:
    """The pages that went, of all books, each with the one that took it in."""
    return {join(name, old): normpath(join(name, new)) for name in BOOKS for old, new in redirects(ROOT / name)}


def lost(known: dict, standing: dict, moved: dict[str, str]) -> dict[str, dict[str, str]]:
    """Of every page the ids that it has no more, each with the address that it leads to."""
    here = {page: set(" ".join(lines).replace("#", "").split()) for page, lines in standing.items()}
    # many pages have a heading of the same name: only a label is looked for on all of them
    label_on = {one: page for page, lines in standing.items() for one in " ".join(lines).split() if one[0] != "#"}
    leads = {page: {} for page in {**known, **moved}}
    for page, lines in known.items():
        home = moved.get(page, page)
        above = f"{home}.html"
        for line in lines:
            ids = line.replace("#", "").split()
            ways = [(to, one) for one in ids for to in (page, home)]
            ways += [(label_on.get(one), one) for one in line.split()]
            above = next((f"{to}.html#{one}" for to, one in ways if one in here.get(to, ())), above)
            leads[page] |= {one: above for one in ids if one not in here.get(page, ())}
    return leads


def lead_on() -> None:
    """Write the pages that lead on, and into each book's scripts where the places stand that its other pages lost."""
    leads, gone = lost(known(), standing(), moved()), moved()
    for page, new in gone.items():
        places = {one: relpath(to, dirname(page)) for one, to in leads[page].items()}
        text = LEADS_ON.format(to=relpath(f"{new}.html", dirname(page)), places=json.dumps(places))
        (HTML / f"{page}.html").parent.mkdir(parents=True, exist_ok=True)
        (HTML / f"{page}.html").write_text(text, encoding="utf-8")
    for name in BOOKS:
        own, at = {page: leads[page] for page in Book(ROOT, name).pages() if leads.get(page)}, name or "."
        near = {relpath(page, at): {one: relpath(to, at) for one, to in ids.items()} for page, ids in own.items()}
        (HTML / name / "_static" / "moved.js").write_text(f"amemMoved = {json.dumps(near)};\n", encoding="utf-8")


if __name__ == "__main__":
    known_places = known()
    for page, lines in standing().items():
        known_places[page] = list(dict.fromkeys([*known_places.get(page, []), *lines]))
    rows = ((page, line) for page, lines in known_places.items() for line in lines)
    with LIST.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("page", "place"), *rows])
