"""The map of the book, from what each chapter's first line says it needs."""

import html
import posixpath
import re
from dataclasses import dataclass
from pathlib import Path

import yaml

BEGIN, END = "<!-- map: tools/guide.py writes what follows -->", "<!-- end of map -->"
FIRST_LINE = re.compile(
    r"^\*You need: (?P<needs>.+?) You learn: (?P<learns>.+?\.) Reading time: (?P<minutes>\d+) minutes", re.MULTILINE
)
LINK = re.compile(r"\]\((?P<file>[\w./-]+)\.md\)")
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
ROW, LEFT, WIDTH, MARGIN, DOT = 30, 132, 460, 110, 5


@dataclass(frozen=True)
class Chapter:
    """A chapter's path below chapters, its title, the paths of those it needs, what it teaches, how long it takes."""

    name: str
    title: str
    needs: tuple[str, ...]
    learns: str
    minutes: int


def parts(root: Path) -> dict[str, list[Chapter]]:
    """The chapters by the caption of their part, in reading order; the back matter needs no map."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    found = {}
    for part in toc["parts"]:
        names = [entry["file"].removeprefix("chapters/") for entry in part["chapters"]]
        texts = {name: (root / "chapters" / f"{name}.md").read_text(encoding="utf-8") for name in names}
        chapters = [chapter(name, text) for name, text in texts.items() if FIRST_LINE.search(text)]
        if chapters:
            found[part["caption"]] = chapters
    return found


def chapter(name: str, text: str) -> Chapter:
    line = FIRST_LINE.search(text)
    links = (match["file"] for match in LINK.finditer(line["needs"]))
    needs = tuple(dict.fromkeys(posixpath.normpath(posixpath.join(posixpath.dirname(name), link)) for link in links))
    return Chapter(name, TITLE.search(text)[1], needs, line["learns"], int(line["minutes"]))


def svg(book: dict[str, list[Chapter]]) -> str:
    """An arc diagram: the chapters below each other, an arc from each to every chapter that it needs."""
    lines, y, height = [], {}, 0
    for caption, chapters in book.items():
        height += ROW
        lines.append(f'<text class="part" x="{LEFT - 2}" y="{height + 5}">{html.escape(caption)}</text>')
        for one in chapters:
            height += ROW
            y[one.name] = height
    arcs = [arc(y[name], y[need]) for name, needs in direct_needs(book).items() for need in needs]
    for chapters in book.values():
        for one in chapters:
            box = f'<circle cx="{LEFT - 12}" cy="{y[one.name]}" r="{DOT}"/>'
            label = f'<text x="{LEFT}" y="{y[one.name] + 5}">{html.escape(one.title)}</text>'
            lines.append(f'<a href="{one.name}.html">{box}{label}</a>')
    return (
        f'<svg class="map" viewBox="0 0 {WIDTH} {height + ROW}" role="group" aria-label="Which chapter needs which: '
        f'an arc leads from each chapter up to those it builds on directly; the lists below name all">\n'
        + "\n".join(arcs + lines)
        + "\n</svg>"
    )


def direct_needs(book: dict[str, list[Chapter]]) -> dict[str, list[str]]:
    """What each chapter needs, less what another of its needs already needs."""
    behind: dict[str, set[str]] = {}
    direct = {}
    for one in (one for chapters in book.values() for one in chapters):
        needs = [name for name in one.needs if name in behind]
        implied = set().union(*(behind[name] for name in needs))
        direct[one.name] = [name for name in needs if name not in implied]
        behind[one.name] = implied | set(needs)
    return direct


def arc(start: int, end: int) -> str:
    """From one row up to another, a half circle while that fits the margin, flatter beyond."""
    half = (start - end) / 2
    radius = half if half <= MARGIN else (half**2 + MARGIN**2) / (2 * MARGIN)
    return f'<path d="M{LEFT - 12} {start} A {radius:g} {radius:g} 0 0 1 {LEFT - 12} {end}"/>'


def entries(book: dict[str, list[Chapter]]) -> str:
    """What each chapter needs and teaches, and its reading time, one list a part."""
    titles = {one.name: one.title for chapters in book.values() for one in chapters}
    blocks = []
    for caption, chapters in book.items():
        lines = [
            f"- [{one.title}]({one.name}.md), {one.minutes} min. *You learn* {one.learns}{needed(one, titles)}"
            for one in chapters
        ]
        blocks.append(f"**{caption}**, {sum(one.minutes for one in chapters)} minutes\n\n" + "\n".join(lines))
    return "\n\n".join(blocks)


def needed(one: Chapter, titles: dict[str, str]) -> str:
    links = ", ".join(f"[{titles[name]}]({name}.md)" for name in one.needs if name in titles)
    return f" *You need* {links}." if links else ""


def with_map(text: str, root: Path) -> str:
    """The guide's text with the part between its marks made anew."""
    book = parts(root)
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    drawing = f"```{{raw}} html\n{svg(book)}\n```"
    return f"{before}{BEGIN}\n\n{drawing}\n\n{entries(book)}\n\n{END}{after}"


def pages(root: Path) -> dict[Path, str]:
    """What the guide should hold."""
    page = root / "chapters" / "guide.md"
    return {page: with_map(page.read_text(encoding="utf-8"), root)}
