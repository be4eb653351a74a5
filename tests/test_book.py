"""The built pages: complete, linked, readable without a network and without sight."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from os.path import relpath
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from addresses import known, redirects
from bs4 import BeautifulSoup, NavigableString, Tag
from fontTools.ttLib import TTFont
from portable import INLINE, THEOREMS, books

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
BOOKS = books(ROOT)
PAGES = [page for book in BOOKS for page in book.pages()]
ITSELF = re.compile("(row|term|thm|lem|prop|cor|conj|def|asm)-")
"""A statement, its row and a word of the glossary stand somewhere for as long as anybody may have their address."""
TARGETS = [(label, target) for book in BOOKS for label, target in book.targets.items()]


pytestmark = [pytest.mark.process, pytest.mark.usefixtures("html")]


@cache
def soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(), "html.parser")


def article(page: str) -> BeautifulSoup:
    return soup(HTML / f"{page}.html").find("article")


@cache
def anchors(path: Path) -> set[str]:
    return {element["id"] for element in soup(path).find_all(id=True)}


def prose(element: Tag) -> Iterator[str]:
    """The text of an element, without code and formulas."""
    for child in element.children:
        if type(child) is NavigableString:
            yield child
        elif isinstance(child, Tag) and child.name not in ("pre", "code", "script", "style"):
            yield from () if "math" in child.get("class", ()) else prose(child)


every_page = pytest.mark.parametrize("page", PAGES)


@every_page
def test_the_page_is_there(page):
    assert article(page).find("h1")


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.name or "main")
def test_a_front_page_is_there_and_leads_to_the_other_book(book):
    assert ('url=README.html"' in (HTML / book.name / "index.html").read_text()) == bool(book.name)
    sidebar = soup(HTML / book.name / "README.html").select_one(".other-book a")
    first = next(iter(book.others[0].pages()))
    assert (HTML / book.name / sidebar["href"]).resolve() == HTML / f"{first}.html"


@every_page
def test_every_picture_is_described(page):
    for image in article(page).find_all("img"):
        alt = image.get("alt", "")
        named_by_its_file = re.search(r"\.(png|svg|jpe?g|gif)$", alt)
        assert len(alt) > 20 and not named_by_its_file, f"{image['src']} has the alt text {alt!r}"


@every_page
def test_every_inner_link_arrives(page):
    here = HTML / f"{page}.html"
    lost = []
    for link in soup(here).find_all("a", href=True):
        parts = urlsplit(link["href"])
        if parts.scheme or parts.netloc:
            continue
        target = (here.parent / unquote(parts.path)).resolve() if parts.path else here
        named = parts.fragment and target.suffix == ".html"
        if not target.exists() or (named and parts.fragment not in anchors(target)):
            lost.append(link["href"])
    assert not lost


@every_page
def test_the_page_loads_nothing_from_elsewhere(page):
    loaded = soup(HTML / f"{page}.html").select("script[src], img[src], source[src], iframe[src], link[href]")
    quiet = {"canonical", "next", "prev", "author", "index", "search", "license"}
    addresses = [e.get("src") or e["href"] for e in loaded if not quiet & set(e.get("rel", []))]
    assert not [address for address in addresses if re.match(r"(https?:)?//", address)]


def test_every_icon_of_the_pages_is_in_the_font_that_they_load():
    theme = (HTML / "_static" / "styles" / "pydata-sphinx-theme.css").read_text()
    rules = re.findall(r'((?:\.fa-[\w-]+:+before,?\s*)+)\{content:"([^"]+)"', theme)
    codes = {name: code for names, code in rules for name in re.findall(r"\.fa-([\w-]+?):", names)}
    icons = {name for page in PAGES for icon in soup(HTML / f"{page}.html").select('[class*="fa-"]')
             for name in icon["class"] if name.removeprefix("fa-") in codes}  # fmt: skip
    font = TTFont(ROOT / "assets" / "icons.ttf").getBestCmap()
    assert len(icons) > 10
    shown = {name: codes[name.removeprefix("fa-")] for name in icons}
    assert not {
        name for name, code in shown.items() if (int(code[1:], 16) if code[0] == "\\" else ord(code)) not in font
    }


def test_the_front_page_has_nothing_beside_the_essay_and_the_menu_behind_its_button():
    page = soup(HTML / "index.html")
    assert page.select(".bd-sidebar-primary .front") and not page.select(".bd-sidebar-secondary")
    assert len(page.select("[data-figure]")) == 8


def test_no_style_sheet_loads_anything_from_elsewhere():
    for sheet in HTML.glob("_static/**/*.css"):
        assert not re.findall(r"(?:url\(|@import)\s*['\"]?https?:[^)\s]+", sheet.read_text()), sheet


@every_page
def test_mathematics_is_typeset_from_this_machine(page):
    here = HTML / f"{page}.html"
    if article(page).select(".math"):
        scripts = [script["src"] for script in soup(here).select("script[src]") if "mathjax" in script["src"].lower()]
        assert len(scripts) == 1
        assert (here.parent / urlsplit(scripts[0]).path).resolve().exists()


@every_page
def test_no_markup_is_left(page):
    text = "".join(prose(article(page)))
    assert not [match[0] for match in INLINE.finditer(text) if match["role"]]
    assert not re.findall(r":::|```|\$\$|\{[a-z:-]+\}`", text)
    assert not re.findall(r"\\[A-Za-z]+", text), "raw TeX: a link to a title with mathematics needs words of its own"
    assert "under construction" not in text.lower()


def test_notebooks_and_pages_number_alike():
    """The notebooks' own index of labels says what Sphinx says, word for word and anchor for anchor."""
    for label, target in TARGETS:
        here = HTML / f"{target.page}.html"
        element = soup(here).find(id=target.anchor) if target.anchor else soup(here).find("h1")
        assert element is not None, f"{label}: no #{target.anchor} on {target.page}"
        if target.number and target.kind != "page" or target.kind == "paper":
            place = element if element.get_text(strip=True) else element.parent
            shown = re.sub(r"\s+", " ", place.get_text(" "))
            assert target.words in shown, f"{label}: {target.words!r} is not in {shown[:80]!r}"


def test_the_papers_boxes_carry_the_papers_numbers_and_ours_a_chapter():
    for label, target in TARGETS:
        if target.kind in THEOREMS:
            assert not re.match(r"[A-Z]\w+s? \d+", target.title), f"{label}: a box of the paper needs :nonumber:"
            # a page of the workshop has no number to stand before its boxes
            assert re.fullmatch(r"((\d+|[A-Z])\.)?\d+", target.number), label
    words = [link.get_text() for page in PAGES for link in article(page).select("a.reference.internal")]
    assert not [text for text in words if text != text.strip()]


@pytest.mark.parametrize(
    ("book", "words"),
    [("", "daleckii krein critic batch newton schulz zipf"), ("companions", "riccati semiautomata hermit induct")],
)
def test_the_search_of_a_book_knows_the_words_of_its_field(book, words):
    index = (HTML / book / "searchindex.js").read_text(encoding="utf-8")
    for word in words.split():
        assert re.search(rf"[{{,\"]{word}\"?:", index), f"the search finds nothing for {word!r}"


def test_no_label_is_given_in_two_books():
    labels = [{label for label in book.targets if not label.startswith("term:")} for book in BOOKS]
    assert not set.intersection(*labels)


def test_links_lead_from_each_book_to_the_other():
    """To pages and to labels; that they arrive is the test of every link."""
    for book in BOOKS:
        links = [link["href"] for page in book.pages() for link in article(page).select("a.reference.internal")]
        over = [link for link in links if ("companions/" in link if not book.name else link.startswith("../../"))]
        assert any("#" in link for link in over) and any("#" not in link for link in over)


@every_page
def test_the_page_describes_itself_and_offers_its_notebook_once(page):
    head = soup(HTML / f"{page}.html")
    for name in ("description", "og:title", "og:description", "og:image"):
        [tag] = head.select(f'meta[name="{name}"], meta[property="{name}"]')
        assert len(tag["content"]) > 5 and not re.search(r"\\[A-Za-z]|\$", tag["content"]), tag
    assert head.select('link[rel~="icon"]')
    notebooks = head.select(".btn-download-notebook-button")
    assert len(notebooks) == (ROOT / f"{page}.ipynb").exists()


def test_the_site_has_a_map_of_its_pages_and_an_answer_where_there_is_none():
    listed = re.findall(r"<loc>(.+?)</loc>", (HTML / "sitemap.xml").read_text(encoding="utf-8"))
    assert listed == [book.url(page) for book in BOOKS for page in book.pages()]
    assert all(link.startswith("https://") for link in re.findall(r'href="([^"]+)"', (HTML / "404.html").read_text()))


@every_page
def test_no_id_stands_twice(page):
    ids = [element["id"] for element in soup(HTML / f"{page}.html").find_all(id=True)]
    assert len(ids) == len(set(ids)), [name for name, count in Counter(ids).items() if count > 1]


@every_page
def test_the_button_for_an_issue_leads_to_the_form_and_names_the_page(page):
    for link in soup(HTML / f"{page}.html").select("a.btn-source-issues-button"):
        asked = parse_qs(urlsplit(link["href"]).query)
        assert asked["title"] == [f"{page}: "]
        assert (ROOT / ".github" / "ISSUE_TEMPLATE" / asked["template"][0]).exists()


def test_next_follows_the_reading_order():
    order = list(BOOKS[0].pages())
    for page, following in pairwise(order[1:]):
        here = HTML / f"{page}.html"
        link = soup(here).select_one('link[rel="next"]')["href"]
        assert (here.parent / link).resolve() == HTML / f"{following}.html"


@pytest.mark.parametrize("book", ["", "companions"])
def test_a_page_that_went_is_there_and_leads_on(book):
    for old, new in redirects(ROOT / book):
        place = HTML / book / f"{old}.html"
        target = relpath(HTML / book / f"{new}.html", place.parent)
        assert f'url={target}"' in place.read_text() and (place.parent / target).exists()


def test_every_place_that_the_books_have_had_is_found():
    """On its page, or by what the page that stands or the one that leads on says of it."""
    lists = {}
    for book in BOOKS:
        text = (HTML / book.name / "_static" / "moved.js").read_text(encoding="utf-8")
        own = json.loads(text.removeprefix("amemMoved = ").removesuffix(";\n"))
        lists |= {join(book.name, page): (book.name, places) for page, places in own.items()}
    for page, lines in known().items():
        here, found = HTML / f"{page}.html", lists.get(page)
        if page not in PAGES:
            found = dirname(page), json.loads(re.search("const places = ({.*}), place", here.read_text())[1])
        for one in " ".join(lines).replace("#", "").split():
            if page in PAGES and one in anchors(here):
                continue
            target, _, there = normpath(join(found[0], found[1][one])).partition("#")
            assert target.removesuffix(".html") in PAGES and (not there or there in anchors(HTML / target)), (page, one)
            assert there == one or not ITSELF.match(one), f"{page}#{one} leads to {target}#{there}"


@every_page
def test_no_folded_code_stands_before_the_first_picture(page):
    figure = article(page).find("figure")
    cell = figure.find_parent(class_="cell") if figure else None
    bars = cell.find_all_previous("details", class_="above-input") if cell else []
    assert not bars


def test_the_tracked_tree_stays_small(git):
    """Under 40 MiB, pictures in the notebooks included, none of which is above 200 kB."""
    files = [ROOT / name for name in git("ls-files", "-z").split("\0") if name]
    assert sum(path.stat().st_size for path in files if path.exists()) < 40 * 2**20
    heavy = {path.name: path.stat().st_size for path in HTML.glob("_images/*.png") if path.stat().st_size > 200_000}
    assert not heavy
