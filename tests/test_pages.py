"""A sample of the built pages in a headless Chromium, in both widths and both modes; `make pages` visits all."""

from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

import browse
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

SAMPLE = (
    "README",
    "search",
    "chapters/budget-game",
    "chapters/deflation",
    "chapters/evidence",
    "chapters/explorer",
    "chapters/interactions",
    "chapters/notation",
    "chapters/one-step",
)
pytestmark = [
    pytest.mark.usefixtures("html"),
    pytest.mark.skipif(browse.CHROMIUM is None, reason="no Chromium on this machine: the pages cannot be opened"),
]


@pytest.fixture(scope="module")
def browser():
    with browse.chromium() as browser:
        yield browser


@pytest.mark.parametrize("view", browse.VIEWS)
def test_pages_are_whole_and_open_to_all(browser, view):
    equations, lines = Counter(), []
    with browse.tab(browser, view) as (page, complaints):
        for name in SAMPLE:
            browse.open_page(page, browse.HTML / f"{name}.html")
            found = browse.faults(page, view, equations) + browse.accessibility(page) + complaints
            lines += [f"{name}: {line}" for line in found]
            complaints.clear()
    assert not lines, "\n".join(lines)
    for on_phone in (True, False):
        assert equations[on_phone, "wide"] <= browse.SCROLLING_SHARE * equations[on_phone, "all"]


@contextmanager
def one_equation(browser, view: str, tex: str, *, number: str = "", style: str = ""):
    """A page of one equation in the book's own style, and in `style` on top of it."""
    head = (browse.HTML / "chapters" / "one-step.html").read_text(encoding="utf-8").partition("<body")[0]
    article = f'<article class="bd-article"><div class="math">{number}\\[{tex}\\]</div></article>'
    with NamedTemporaryFile("w", dir=browse.HTML / "chapters", suffix=".html", encoding="utf-8") as file:
        file.write(f"{head}<style>{style}</style><body><main>{article}</main></body></html>")
        file.flush()
        with browse.tab(browser, view) as (page, _):
            browse.open_page(page, Path(file.name))
            yield page


@pytest.fixture
def phone(browser):
    """A page of one equation wider than a phone."""
    row = "&".join(f"a_{{{i}}}" for i in range(30))
    tex, number = rf"\begin{{matrix}}{row}\end{{matrix}}", '<span class="eqno">(1)</span>'
    with one_equation(browser, "phone", tex, number=number) as page:
        yield page


@pytest.mark.parametrize(
    ("style", "broken_early"),
    [("", False), ("div.math { grid-template-columns: minmax(0, 1fr) auto; }", True)],
    ids=["as it is", "a second column that raw TeX stretches"],
)
def test_an_equation_that_breaks_before_its_line_is_full_is_noticed(browser, style, broken_early):
    tex = r"\alpha+\beta+\gamma+\delta+\epsilon+\zeta+\eta+\theta+\iota+\kappa+\lambda+\mu=" * 6
    with one_equation(browser, "desktop", tex, style=style) as page:
        assert page.locator("mjx-linebox").count() > 1
        lines = browse.faults(page, "desktop", Counter())
    assert any("broken far narrower" in line for line in lines) == broken_early, lines


def test_an_equation_that_cannot_fit_scrolls_with_a_sign_and_its_number_below(phone):
    box, number = phone.locator("mjx-container[display]"), phone.locator(".eqno")
    assert box.evaluate("(box) => [box.classList.contains('wide'), box.tabIndex, box.getAttribute('role')]") == [
        True,
        0,
        "group",
    ]
    assert number.bounding_box()["y"] >= box.bounding_box()["y"] + box.bounding_box()["height"] - 1
    counts = Counter()
    assert browse.faults(phone, "phone", counts) == [] and counts[True, "wide"] == 1
    # the ruler itself: the same equation without its sign is a fault
    box.evaluate("(box) => box.classList.remove('wide')")
    assert any("wider than its column" in line for line in browse.faults(phone, "phone", counts))


def test_what_is_broken_is_noticed(phone):
    phone.evaluate("""() => {
        const wide = document.createElement('p');
        wide.style.width = '2000px';
        wide.tabIndex = 0;
        wide.style.color = '#ddd';
        wide.textContent = 'too pale, too wide';
        document.querySelector('article').append(wide);
    }""")
    lines = browse.faults(phone, "phone", Counter()) + browse.accessibility(phone)
    for part in ("scrolls sideways", "the Tab key stops", "axe: color-contrast"):
        assert any(part in line for line in lines), part


@pytest.mark.parametrize(
    ("said", "width", "fault"),
    [({"smallest": "10"}, 336, None), ({"smallest": "8"}, 336, "words of 7.5 px"), ({}, 336, "does not say")],
)
def test_words_too_small_to_read_are_noticed(tmp_path, said, width, fault):
    text = PngInfo()
    for entry in said.items():
        text.add_text(*entry)
    Image.new("RGB", (1100, 10)).save(tmp_path / "five inches.png", dpi=(220, 220), pnginfo=text)
    faults = browse.too_small((tmp_path / "five inches.png").as_uri(), width)
    assert [fault in one for one in faults] == ([True] if fault else [])


def test_a_phone_stacks_the_panels_that_a_desk_shows_side_by_side(browser):
    shown = {}
    for view in ("desktop", "phone"):
        with browse.tab(browser, view) as (page, _):
            browse.open_page(page, browse.HTML / "chapters" / "best-map.html")
            picture = page.locator("article picture img").first
            picture.scroll_into_view_if_needed()
            shown[view] = picture.evaluate("(image) => [image.currentSrc, image.naturalWidth / image.naturalHeight]")
    assert shown["phone"][0] != shown["desktop"][0] and shown["phone"][1] < 1 < shown["desktop"][1]


def test_a_picture_opens_and_closes_by_keys(browser):
    with browse.tab(browser, "phone, dark") as (page, complaints):
        browse.open_page(page, browse.HTML / "README.html")
        page.locator("article button.enlarge").first.focus()
        page.keyboard.press("Enter")
        shown = page.locator("dialog.enlarged img")
        assert shown.is_visible() and shown.bounding_box()["width"] > 390
        page.keyboard.press("Escape")
        assert not shown.is_visible() and not complaints


def results_of(page, query):
    page.goto((browse.HTML / "search.html").as_uri() + f"?q={query.replace(' ', '+')}")
    page.wait_for_selector("#search-results li a", timeout=30_000)
    page.wait_for_function("document.querySelector('.search-summary')?.textContent.match(/found|finished/i)")
    return page.locator("#search-results > ul > li > a").evaluate_all("(links) => links.map((link) => link.pathname)")


@pytest.mark.parametrize(
    ("query", "chapter"),
    [("critical batch", "minibatches"), ("deflation", "deflation"), ("newton", "newton"), ("one step", "one-step")],
)
def test_the_search_ranks_a_chapter_first_for_its_own_title(browser, query, chapter):
    with browse.tab(browser, "desktop") as (page, complaints):
        assert results_of(page, query)[0].endswith(f"/{chapter}.html")
        assert not complaints


def test_the_ledger_can_be_filtered_and_stands_without_its_script(browser):
    with browse.tab(browser, "phone") as (page, complaints):
        browse.open_page(page, browse.HTML / "chapters" / "evidence.html")
        rows = page.locator(".ledger .entry")
        total = rows.count()
        assert total == page.locator(".ledger .entry:visible").count() > 50
        page.get_by_role("button", name="Not yet").click()
        left = page.locator(".ledger .entry:visible")
        assert 0 < left.count() < total and not page.locator(".ledger .entry.reproduced:visible").count()
        page.get_by_role("button", name="All").click()
        page.get_by_label("Chapter").select_option("deflation")
        assert left.count() == page.locator(".ledger .in-deflation").count() > 0
        assert page.get_by_role("status").inner_text() == f"{left.count()} of {total} rows"
        details = left.first.locator("details")
        details.locator("summary").click()
        assert "seeds" in details.inner_text() and "refuses" in details.inner_text()
        assert page.locator(".ledger .thumbnail img").count() > 25 and not complaints
    plain = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    page = plain.new_page()
    page.goto((browse.HTML / "chapters" / "evidence.html").as_uri())
    assert page.locator(".ledger .entry:visible").count() == total
    plain.close()
