"""The built pages: complete, linked, readable without a network and without sight."""

import re
import subprocess
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup
from portable import INLINE, THEOREMS, Book

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
PAGES = list(Book(ROOT).pages())
START = ("guide", "budget-game", "puzzles")


pytestmark = [pytest.mark.process, pytest.mark.usefixtures("html")]


@cache
def soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(), "html.parser")


def article(page: str) -> BeautifulSoup:
    return soup(HTML / f"{page}.html").find("article")


@cache
def anchors(path: Path) -> set[str]:
    return {element["id"] for element in soup(path).find_all(id=True)}


every_page = pytest.mark.parametrize("page", PAGES)


@every_page
def test_the_page_is_there(page):
    assert article(page).find("h1")


def test_the_front_page_is_there():
    assert (HTML / "index.html").exists()


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
    copy = BeautifulSoup(str(article(page)), "html.parser")
    for element in copy.select("pre, code, .math, script, style"):
        element.decompose()
    text = copy.get_text()
    assert not [match[0] for match in INLINE.finditer(text) if match["role"]]
    assert not re.findall(r":::|```|\$\$|\{[a-z:-]+\}`", text)
    assert not re.findall(r"\\[A-Za-z]+", text), "raw TeX: a link to a title with mathematics needs words of its own"
    assert "under construction" not in text.lower()


def test_notebooks_and_pages_number_alike():
    """The notebooks' own index of labels says what Sphinx says, word for word and anchor for anchor."""
    for label, target in Book(ROOT).targets.items():
        here = HTML / f"{target.page}.html"
        element = soup(here).find(id=target.anchor) if target.anchor else soup(here).find("h1")
        assert element is not None, f"{label}: no #{target.anchor} on {target.page}"
        if target.number and target.kind != "page" or target.kind == "paper":
            place = element if element.get_text(strip=True) else element.parent
            shown = re.sub(r"\s+", " ", place.get_text(" "))
            assert target.words in shown, f"{label}: {target.words!r} is not in {shown[:80]!r}"


def test_the_papers_boxes_carry_the_papers_numbers_and_ours_a_chapter():
    for label, target in Book(ROOT).targets.items():
        if target.kind in THEOREMS:
            assert not re.match(r"[A-Z]\w+s? \d+", target.title), f"{label}: a box of the paper needs :nonumber:"
            assert re.fullmatch(r"\d+\.\d+", target.number), label
    words = [link.get_text() for page in PAGES for link in article(page).select("a.reference.internal")]
    assert not [text for text in words if text != text.strip()]


def test_the_search_knows_the_words_of_the_field():
    index = (HTML / "searchindex.js").read_text(encoding="utf-8")
    for word in ("daleckii", "krein", "critic", "batch", "newton", "schulz", "zipf"):
        assert re.search(rf"[{{,\"]{word}\"?:", index), f"the search finds nothing for {word!r}"


@every_page
def test_the_page_describes_itself_and_offers_its_notebook_once(page):
    head = soup(HTML / f"{page}.html")
    for name in ("description", "og:title", "og:description", "og:image"):
        [tag] = head.select(f'meta[name="{name}"], meta[property="{name}"]')
        assert len(tag["content"]) > 5 and not re.search(r"\\[A-Za-z]|\$", tag["content"]), tag
    assert head.select('link[rel~="icon"]')
    notebooks = head.select(".btn-download-notebook-button")
    assert len(notebooks) == (ROOT / f"{page}.ipynb").exists()


def test_next_follows_the_reading_order():
    expected = [*(f"{name}.html" for name in START[1:]), "associative-memory.html"]
    pages = [soup(HTML / "chapters" / f"{name}.html") for name in START]
    assert [page.select_one('link[rel="next"]')["href"] for page in pages] == expected


def test_the_tracked_tree_stays_small():
    """Under 40 MiB, pictures in the notebooks included, none of which is above 200 kB."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a checkout: nothing is tracked")
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    assert sum(path.stat().st_size for path in files if path.exists()) < 40 * 2**20
    heavy = {path.name: path.stat().st_size for path in HTML.glob("_images/*.png") if path.stat().st_size > 200_000}
    assert not heavy
