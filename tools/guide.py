"""The map of the book, from what each chapter's first line says it needs, and the ways through it, from lanes.yml."""

import html
import posixpath
import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from pathlib import Path

import reading_time
import yaml

LANES = Path(__file__).with_name("lanes.yml")
WAYS = "<!-- ways: tools/guide.py writes what follows -->", "<!-- end of ways -->"
MAP = "<!-- map: tools/guide.py writes what follows -->", "<!-- end of map -->"
FIRST_LINE = re.compile(
    r"^\*You need: (?P<needs>.+?) You learn: (?P<learns>.+?\.) Reading time: (?P<minutes>\d+) minutes", re.MULTILINE
)
LINK = re.compile(r"\]\((?P<file>[\w./-]+)\.md\)")
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
CLOSING = re.compile(r"^\*Next:\*.*$", re.MULTILINE)
BEHIND = "evidence"
"""What follows the last chapter."""
BY_HAND = ("budget-game", "explorer", "puzzles")
"""Where a reader plays or solves: their minutes are not those of reading."""


@dataclass(frozen=True)
class Chapter:
    """A chapter's path below chapters, its title, the paths of those it needs, what it teaches, how long it takes.

    `numbered` says whether its part numbers its chapters.
    """

    name: str
    title: str
    needs: tuple[str, ...]
    learns: str
    minutes: int
    numbered: bool = True


@dataclass(frozen=True)
class Stop:
    """What a lane reads of a page: all of it if `words` is empty. `part` is the caption that it stands for, if any."""

    name: str
    minutes: float
    words: str = ""
    part: str = ""


@dataclass(frozen=True)
class Lane:
    """A way through the book; `after` is the letter of the one before it, `within` the minutes that it promises.

    `colour` and `ring`, the style of a border, together are the look of its marks.
    """

    letter: str
    name: str
    colour: str
    stops: tuple[Stop, ...]
    after: str = ""
    within: int | None = None
    note: str = ""
    ring: str = "solid"

    @property
    def minutes(self) -> int:
        return ceil(sum(stop.minutes for stop in self.stops))


def parts(root: Path) -> dict[str, list[Chapter]]:
    """The chapters by the caption of their part, in reading order; the back matter needs no map."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    found = {}
    for part in toc["parts"]:
        names = [entry["file"].removeprefix("chapters/") for entry in part["chapters"]]
        texts = {name: source(root, name) for name in names}
        on_map = {name: text for name, text in texts.items() if FIRST_LINE.search(text) or part.get("numbered")}
        if on_map:
            numbered = part.get("numbered", False)
            found[part["caption"]] = [replace(chapter(name, text), numbered=numbered) for name, text in on_map.items()]
    return found


def source(root: Path, name: str) -> str:
    return (root / "chapters" / f"{name}.md").read_text(encoding="utf-8")


def chapter(name: str, text: str) -> Chapter:
    """A page that is all rules, the cheat sheet, has no first line.

    Minutes are those of the first line, or by the rule where the line is far off: then `pages` mends it.
    """
    title, line = TITLE.search(text)[1], FIRST_LINE.search(text)
    if line is None:
        return Chapter(name, title, (), "", reading_time.rounded(reading_time.minutes(text)))
    links = (match["file"] for match in LINK.finditer(line["needs"]))
    needs = tuple(dict.fromkeys(posixpath.normpath(posixpath.join(posixpath.dirname(name), link)) for link in links))
    said = int(line["minutes"])
    return Chapter(name, title, needs, line["learns"], said if name in BY_HAND else reading_time.stated(text, said))


def lanes(root: Path, book: dict[str, list[Chapter]]) -> list[Lane]:
    """The lanes of lanes.yml with their minutes; `KeyError` for a chapter, part or heading that is not there."""
    minutes = {one.name: one.minutes for chapters in book.values() for one in chapters}
    found = []
    for letter, entry in zip("ABCDEFGHIJ", yaml.safe_load(LANES.read_text(encoding="utf-8")), strict=False):
        stops = [one for stop in entry.pop("stops") for one in read_stops(stop, book, minutes, root)]
        found.append(Lane(letter, stops=tuple(stops), **entry))
    return found


def read_stops(stop: str | dict, book: dict[str, list[Chapter]], minutes: dict[str, int], root: Path) -> list[Stop]:
    if isinstance(stop, str):
        return [Stop(stop, minutes[stop])]
    if "part" in stop:
        return [Stop(one.name, one.minutes, part=stop["part"]) for one in book[stop["part"]]]
    name, told = stop["page"], stop.get("words", "")
    text = source(root, name)
    if "minutes" in stop:
        return [Stop(name, stop["minutes"], told)]
    if stop.get("first_screen"):
        return [Stop(name, reading_time.minutes(text.partition("\n## ")[0]), told or "its first screen")]
    if "until" in stop:
        before, heading, _ = text.partition(f"\n## {stop['until']}\n")
        if not heading:
            raise KeyError(f"{name} has no section {stop['until']!r}")
        return [Stop(name, ceil(minutes[name] * reading_time.minutes(before) / reading_time.minutes(text)), told)]
    return [Stop(name, minutes[name], told)]


def short_titles(root: Path, names: list[str]) -> dict[str, str]:
    """Titles up to their first colon or question mark, whole where that says too little to tell them apart."""
    titles = {name: TITLE.search(source(root, name))[1].replace("$", "") for name in names}
    short = {name: re.split(r"(?<=\?) |: ", title)[0] for name, title in titles.items()}
    several = Counter(short.values())
    return {name: short[name] if several[short[name]] == 1 else titles[name] for name in names}


def hours(minutes: int) -> str:
    whole, rest = divmod(minutes, 60)
    return f"{minutes} min" if minutes <= 90 else f"{whole} h" + (f" {rest} min" if rest else "")


def mark(lane: Lane, number: int | str = "", told: str = "") -> str:
    """A lane's letter in its ring, with the number of the stop."""
    says = f' role="img" title="{html.escape(told)}"' if told else ""
    look = f"--lane: {lane.colour}" + (f"; --ring: {lane.ring}" if lane.ring != "solid" else "")
    return f'<span class="lane lane-{lane.letter}" style="{look}"{says}>{lane.letter}{number}</span>'


def ways(routes: list[Lane], titles: dict[str, str]) -> str:
    """A line for every lane: its minutes, its stops as links, its note."""
    lines = []
    for lane in routes:
        stops = []
        for stop in lane.stops:
            link = f"[{titles[stop.name]}]({stop.name}.md)" + (f" ({stop.words})" if stop.words else "")
            stops.append(f"all of *{stop.part}*" if stop.part else link)
        before = f", after lane {lane.after}" if lane.after else ""
        said = " → ".join(dict.fromkeys(stops))
        note = f" {lane.note}" if lane.note else ""
        lines.append(f"- {mark(lane)} **{lane.name}** ({hours(lane.minutes)}{before}). {said}.{note}")
    return "\n".join(lines)


def drawing(book: dict[str, list[Chapter]], routes: list[Lane], titles: dict[str, str]) -> str:
    """A band for every part, its chapters as boxes in reading order; on a box its needs and the lanes that stop there.

    Chapters have the book's own numbers, because every page of a numbered part is drawn; other pages have none.
    The choice of a lane works by the style sheet alone.
    """
    choice = ['<label><input type="radio" name="lane" value="" checked> all</label>']
    for lane in routes:
        button = f'<input type="radio" name="lane" value="{lane.letter}">'
        choice.append(f"<label>{button} {mark(lane)} {html.escape(lane.name)}</label>")
    counted = (one.name for chapters in book.values() for one in chapters if one.numbered)
    numbers = {name: number for number, name in enumerate(counted, start=1)}
    below, bands = direct_needs(book), []
    for at, (caption, chapters) in enumerate(book.items(), start=1):
        long = hours(sum(one.minutes for one in chapters))
        heading = f'<p><strong id="band-{at}">{html.escape(caption)}</strong> <small>{long}</small></p>'
        bands.append(f'<section class="band" aria-labelledby="band-{at}">{heading}\n<ol>')
        for one in chapters:
            needs = ", ".join(map(str, sorted(numbers[name] for name in below[one.name] if name in numbers)))
            facts = f"{one.minutes} min" + (f", needs {needs}" if needs else "")
            told = f"{numbers.get(one.name, '')} {html.escape(titles[one.name])}".strip()
            link = f'<a href="{one.name}.html">{told}</a>'
            bands.append(f"<li>{link} <small>{facts}</small>{''.join(marks(one.name, routes))}</li>")
        bands.append("</ol></section>")
    opening = '<nav class="map" aria-label="Map of the book: its parts, their chapters, the lanes through them">'
    field = f"<fieldset><legend>Show a lane</legend>{''.join(choice)}</fieldset>"
    return "\n".join([opening, field, *bands, "</nav>"])


def marks(name: str, routes: list[Lane]) -> list[str]:
    return [
        " " + mark(lane, number, f"{lane.name}: stop {number}" + (f", {stop.words}" if stop.words else ""))
        for lane in routes
        for number, stop in enumerate(lane.stops, start=1)
        if stop.name == name
    ]


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


def entries(book: dict[str, list[Chapter]], titles: dict[str, str]) -> str:
    """What each chapter teaches and which it builds on, folded, one list a part."""
    below, blocks = direct_needs(book), []
    for caption, chapters in book.items():
        lines = []
        for one in chapters:
            needs = ", ".join(f"[{titles[name]}]({name}.md)" for name in below[one.name])
            learns = f" *You learn* {one.learns}" if one.learns else ""
            builds = f" *Builds on* {needs}." if needs else ""
            lines.append(f"- [{one.title}]({one.name}.md), {one.minutes} min.{learns}{builds}")
        total = hours(sum(one.minutes for one in chapters))
        blocks.append(f":::{{dropdown}} {caption}, {total}\n\n" + "\n".join(lines) + "\n\n:::")
    return "\n\n".join(blocks)


def with_map(text: str, root: Path) -> str:
    """The guide's text with what stands between its marks made anew."""
    book, routes, titles = whole(root)
    raw = f"```{{raw}} html\n{drawing(book, routes, titles)}\n```"
    text = replaced(text, WAYS, ways(routes, titles))
    return replaced(text, MAP, f"{raw}\n\nWhat each chapter teaches and builds on:\n\n{entries(book, titles)}")


def whole(root: Path) -> tuple[dict[str, list[Chapter]], list[Lane], dict[str, str]]:
    """The chapters by part, the lanes, and the short titles of all that they name."""
    book = parts(root)
    routes = lanes(root, book)
    names = [one.name for chapters in book.values() for one in chapters]
    stops = [stop.name for lane in routes for stop in lane.stops]
    return book, routes, short_titles(root, list(dict.fromkeys([*names, *stops, BEHIND])))


def closing(name: str, order: list[str], routes: list[Lane], titles: dict[str, str]) -> str:
    """The last line of a chapter: what comes next in the order of the book, and on each lane that stops here."""
    following = {after: ["the next chapter"] for one, after in pairwise([*order, BEHIND]) if one == name}
    for lane in routes:
        for one, after in pairwise(stop.name for stop in lane.stops):
            if one == name:
                following.setdefault(after, []).append(f"lane {lane.letter}")
    links = []
    for after, told in following.items():
        path = posixpath.relpath(after, posixpath.dirname(name) or ".")
        links.append(f"[{titles[after]}]({path}.md) ({', '.join(told)})")
    return f"*Next:* {'; '.join(links)}."


def replaced(text: str, between: tuple[str, str], new: str) -> str:
    begin, end = between
    before, rest = text.split(begin)
    return f"{before}{begin}\n\n{new}\n\n{end}{rest.split(end)[1]}"


def pages(root: Path) -> dict[Path, str]:
    """What the guide should hold, and the chapters with their first line's minutes and their last line made anew."""
    page = root / "chapters" / "guide.md"
    book, routes, titles = whole(root)
    order = [one.name for chapters in book.values() for one in chapters]
    closed = {}
    for one in (one for chapters in book.values() for one in chapters):
        text = timed(source(root, one.name), one.minutes)
        last = closing(one.name, order, routes, titles)
        closed[root / "chapters" / f"{one.name}.md"] = CLOSING.sub(lambda _, last=last: last, text)
    return {page: with_map(page.read_text(encoding="utf-8"), root)} | closed


def timed(text: str, minutes: int) -> str:
    """The page with these minutes in its first line, if it has one."""
    line = FIRST_LINE.search(text)
    return text if line is None else text[: line.start("minutes")] + str(minutes) + text[line.end("minutes") :]
