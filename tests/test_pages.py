"""Built pages in a headless Chromium: `make test` runs what is marked `sample`, `make screen` the rest.

`make pages` visits every page in each width and mode.
"""

from collections import Counter
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import NamedTemporaryFile

import addresses
import browse
import pytest
from PIL import Image, ImageChops
from PIL.PngImagePlugin import PngInfo

SAMPLE = {
    "desktop": ("search", "chapters/explorer", "companions/chapters/induction"),
    "phone, dark": ("index", "chapters/evidence", "chapters/one-step"),
}
SAMPLED, WEEKLY = pytest.mark.sample, pytest.mark.weekly
ARRIVALS = (
    "index",
    "chapters/one-step",
    "chapters/explorer",
    *(pytest.param(name, marks=WEEKLY) for name in ("README", "chapters/all-statements", "chapters/api")),
)
"""One page of each kind."""
pytestmark = [
    pytest.mark.process,
    pytest.mark.usefixtures("html"),
    pytest.mark.skipif(browse.CHROMIUM is None, reason="no Chromium on this machine: the pages cannot be opened"),
]


@SAMPLED
@pytest.mark.parametrize("view", SAMPLE)
def test_pages_are_whole_and_open_to_all(browser, view):
    equations, lines = Counter(), []
    with browse.tab(browser, view) as (page, complaints):
        for name in SAMPLE[view]:
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


def test_columns_are_measured_in_the_size_that_formulas_have(browser):
    with one_equation(browser, "desktop", "a=b") as page:
        unit, drawn = page.evaluate("""[MathJax.startup.document.outputJax.pxPerEm,
            parseFloat(getComputedStyle(document.querySelector('mjx-math')).fontSize)]""")
    assert unit == pytest.approx(drawn, rel=0.01)


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
            browse.open_page(page, browse.HTML / "chapters" / "optimality-proofs.html")
            picture = page.locator("article picture img").first
            picture.scroll_into_view_if_needed()
            # a lazy picture has no source until it is loaded
            loaded = "async (image) => { image.loading = 'eager'; await image.decode(); "
            of = "return [image.currentSrc, image.naturalWidth / image.naturalHeight]; }"
            shown[view] = picture.evaluate(loaded + of)
            caption = page.locator("#fig-op-edge figcaption").inner_text()
            sides = {side for side in ("Left:", "Right:", "Upper:", "Lower:") if side in caption}
            assert sides == ({"Upper:", "Lower:"} if view == "phone" else {"Left:", "Right:"})
            browse.open_page(page, browse.HTML / "chapters" / "loss.html")
            named = page.locator("article p", has_text="must be many times smaller").inner_text()
            assert ("upper)" in named and "lower)" in named) == (view == "phone") != ("left)" in named)
    assert shown["phone"][0] != shown["desktop"][0] and shown["phone"][1] < 1 < shown["desktop"][1]


@SAMPLED
@pytest.mark.parametrize("went", [True, False])
def test_a_place_that_its_page_has_lost_leads_on(browser, went):
    lost = addresses.lost(addresses.known(), addresses.standing(), addresses.moved())
    asked = [(page, *one) for page in lost if (page in addresses.moved()) == went for one in lost[page].items()]
    old, place, new = next(one for one in asked if "#" in one[2])
    with browse.tab(browser, "desktop") as (page, complaints):
        page.goto((browse.HTML / f"{old}.html").as_uri() + f"#{place}")
        page.wait_for_url(f"**/{new}")
        assert page.locator(":target").count() == 1 and not complaints


def test_a_picture_opens_and_closes_by_keys(browser):
    with browse.tab(browser, "phone, dark") as (page, complaints):
        browse.open_page(page, browse.HTML / "README.html")
        page.locator("article button.enlarge").first.focus()
        page.keyboard.press("Enter")
        shown = page.locator("dialog.enlarged img")
        assert shown.is_visible() and shown.bounding_box()["width"] > 390
        page.keyboard.press("Escape")
        assert not shown.is_visible() and not complaints


def test_the_essay_begins_with_a_figure_and_has_nothing_beside_it(browser):
    with browse.tab(browser, "desktop") as (page, complaints):
        browse.open_page(page, browse.HTML / "index.html")
        top = "(box) => box.getBoundingClientRect().top"
        assert page.locator("[data-figure=dots] svg").evaluate("(box) => box.getBoundingClientRect().bottom") < 900
        assert page.get_by_text("leak so loudly").first.evaluate(top) < 1800
        assert not page.locator(".bd-sidebar-primary nav:visible, .bd-sidebar-secondary:visible").count()
        assert not complaints


@pytest.mark.parametrize("view", ["desktop", pytest.param("phone", marks=WEEKLY)])
@pytest.mark.parametrize("deck", ["first", "second", "third"])
def test_slides_show_their_pictures_and_formulas_and_turn_by_keys(browser, view, deck):
    with browse.tab(browser, view) as (page, complaints):
        browse.open_page(page, browse.HTML / "slides" / f"{deck}.html")
        page.wait_for_selector("mjx-container")
        assert page.evaluate("[...document.images].every((one) => one.naturalWidth)")
        assert "$" not in page.inner_text("main")
        if view == "desktop":
            tall = "[...document.querySelectorAll('section')].some((one) => one.scrollHeight > innerHeight + 1)"
            assert not page.evaluate(tall), "a slide is higher than the screen"
        page.keyboard.press("ArrowRight")
        assert page.locator("section").nth(1).evaluate("(one) => Math.abs(one.getBoundingClientRect().top)") < 2
        assert browse.accessibility(page) == [] and page.evaluate(browse.SIDEWAYS) <= 0 and not complaints


@pytest.mark.parametrize("view", ["desktop", "phone, dark"])
@pytest.mark.parametrize("name", ["index", "companions/README"])
def test_a_front_page_has_the_menu_of_all_pages(browser, view, name):
    with browse.tab(browser, view) as (page, complaints):
        browse.open_page(page, browse.HTML / f"{name}.html")
        asked_for = (name, view) != ("companions/README", "desktop")
        menu, main = page.locator("nav.bd-links"), page.locator("article h1")
        assert menu.is_visible() != asked_for
        if asked_for:
            page.locator(".primary-toggle").click()
        entry = menu.get_by_role("link", name="Evidence")
        assert entry.bounding_box()["width"] > 100 and page.locator(".other-book a").is_visible()
        if view == "desktop":
            assert main.bounding_box()["x"] > page.locator(".bd-sidebar-primary").bounding_box()["width"]
        assert browse.accessibility(page) == [] and page.evaluate(browse.SIDEWAYS) <= 0 and not complaints


def test_a_verdict_tells_what_its_word_means_and_leads_to_its_row(browser):
    with browse.tab(browser, "phone") as (page, _):
        browse.open_page(page, browse.HTML / "chapters" / "evidence.html")
        badge = page.locator("a .verdict.predicted").first
        word = badge.inner_text()
        assert "refuses its rivals" in badge.get_attribute("title")
        badge.click()
        page.wait_for_url("**/all-statements.html#row-*")
        assert page.locator(":target").inner_text() == word


@pytest.mark.parametrize("view", [pytest.param("desktop", marks=SAMPLED), "phone, dark"])
def test_every_slider_of_the_essay_moves_by_keys_and_is_heard(browser, view):
    with browse.tab(browser, view) as (page, complaints):
        browse.open_page(page, browse.HTML / "index.html")
        if "phone" in view:
            page.set_viewport_size({"width": 360, "height": 780})
        for box in page.locator("[data-figure]:has([type=range])").all():
            box.scroll_into_view_if_needed()
            drawn = """(box) => new Promise((go) => {
                const look = () => box.dataset.drawn === 'true' ? go() : setTimeout(look, 50); look(); })"""
            box.evaluate(drawn)
            for slider in box.locator("[type=range]").all():
                heard, said = box.locator("output").inner_text(), slider.get_attribute("aria-valuetext")
                slider.press("ArrowLeft" if slider.evaluate("(one) => one.value === one.max") else "ArrowRight")
                box.evaluate("(box) => new Promise((go) => setTimeout(go, 50))")
                box.evaluate(drawn)
                assert box.locator("output").inner_text() != heard and slider.get_attribute("aria-valuetext") != said
                label = box.locator("svg").first.get_attribute("aria-label")
                assert len(label) > 40 and "NaN" not in box.inner_text() + label
        assert page.evaluate(browse.SIDEWAYS) <= 0 and not complaints


def test_two_guesses_on_the_essay_end_with_the_ratio(browser):
    with browse.tab(browser, "phone") as (page, _):
        browse.open_page(page, browse.HTML / "index.html")
        box = page.locator("[data-figure=guess]")
        for guess in ("60", "128"):
            box.get_by_role("spinbutton").fill(guess)
            page.keyboard.press("Enter")
        assert "times as many as SGD" in box.locator("output").inner_text() and box.locator("button").is_disabled()


@pytest.mark.parametrize("name", ARRIVALS)
def test_a_page_weighs_and_moves_little(browser, name):
    assert browse.arrival(browser, "desktop", browse.HTML / f"{name}.html") == []


def test_a_page_that_weighs_and_moves_much_is_noticed(browser, tmp_path):
    (tmp_path / "heavy.js").write_text(" " * browse.FIRST_VISIT, encoding="utf-8")
    page = tmp_path / "page.html"
    # in the frame after the first that is painted, however long that takes
    move = "() => document.querySelector('div').style.height = '600px'"
    late = f"requestAnimationFrame(() => requestAnimationFrame(() => setTimeout({move}, 100)))"
    page.write_text(
        f'<script src="heavy.js" defer></script><div></div><p style="height: 800px">Text</p><script>{late}</script>',
        encoding="utf-8",
    )
    weight, shift = browse.first_visit(browser, "desktop", page)
    assert weight == browse.FIRST_VISIT + page.stat().st_size and shift > browse.SHIFT
    assert len(browse.arrival(browser, "desktop", page)) == 2


FIRST = [
    ("", "critical batch", "minibatches"),
    ("", "predicting the count", "sharp"),
    ("", "what is in a gradient", "gradient"),
    ("", "newton", "newton"),
    ("", "one step", "one-step"),
    ("companions", "induction head", "induction"),
]
"""Book, query, and the page that is called so: it comes first."""
QUESTIONS = [
    ("momentum", "momentum optimizers"),
    ("why does Muon beat SGD", "one-step index"),
    ("how many Newton-Schulz steps", "schedules accuracy questions"),
    ("what do I do with my checkpoint?", "doctor"),
    ("is weight decay needed", "optimizers questions"),
    ("QKV: one matrix or three", "shapes cheat-sheet questions"),
    ("bf16", "schedules questions"),
    ("what does undecided mean", "glossary evidence"),
    ("open problems", "index guide"),
    ("d^2 limit", "deflation"),
    ("is nesterov needed", "questions"),
    ("warmup", "questions"),
    ("moonlight", "questions"),
    ("license", "README"),
    ("cite", "index README guide"),
    ("bibtex", "index README guide"),
    ("citation", "index README guide"),
    ("prerequisites", "guide"),
    ("exercise list", "seminar"),
    ("split qkv", "shapes questions"),
    ("which batch", "minibatches questions"),
    ("bfloat16", "schedules questions"),
    ("weight decay", "optimizers questions"),
    ("learning rate", "loss questions"),
    ("experts", "experts shapes questions"),
    ("Zipf", "words"),
    ("transformer", "recall"),
    ("rival", "glossary"),
    ("item", "glossary"),
    ("draw", "glossary"),
    ("what failed", "evidence"),
    ("lecture plan", "sixty-minutes seminar"),
    ("what is proved", "evidence"),
    ("negative results", "evidence"),
    ("where do the proofs start", "guide"),
    ("what do I need to know", "guide"),
    ("how long does it take", "guide"),
    ("not reproduced meaning", "glossary"),
]
"""A query, and the pages of which one comes first."""
TRADE = {
    "embeddings": "are-embeddings",
    "muP": "mup-does",
    "FSDP": "fsdp-and",
    "GQA": "query-key",
    "clip_grad": "gradient-clipping",
    "clip_grad_norm_": "gradient-clipping",
    "NaN": "nan-divergence",
    "resume": "resume-what",
    "LoRA": "routers-gates-and-lora",
    "LoRA adapters": "routers-gates-and-lora",
    "conv": "conv-layers",
    "conv layers": "conv-layers",
    "conv2d": "conv-layers",
    "which parameters": "which-parameters",
    "which params": "which-parameters",
    "learning rate": "which-learning-rate",
    "gradient clipping": "gradient-clipping",
    "slower than AdamW": "slower-than-adamw",
}
"""What people who train with Muon ask for, and the beginning of the address of the one of the thirty questions that
answers, or says that nobody knows: it comes first."""
NAMED = [
    ("", "chain of thought", "In the other book:", "companions/chapters/chain-of-thought.html"),
    ("companions", "theorem 3", "In the other book:", "html/chapters/assembly.html"),
    ("companions", "theorem 3", "By its name:", "html/chapters/one-step.html#thm-muon-one-step"),
    ("", "proof of Lemma16?", "By its name:", "chapters/batch-lemmas.html#lem-mb-event"),
    ("", "Fig. 2.1", "By its name:", "chapters/one-step.html#fig-os-signal"),
    ("", "Prop. 9.1", "By its name:", "chapters/sgd.html#prop-luck"),
    ("", "ex. E.1", "By its name:", "chapters/recall-circuit.html#ex-rt-plateau"),
    ("", "the conjecture", "By its name:", "chapters/deflation.html#conj-it-true"),
]
"""Book, query, the line above the results, and the page that its first link opens."""


FINISHED = "document.querySelector('.search-summary')?.textContent.match(/found|finished/i)"


def results_of(page, query):
    """The addresses that a page of search gives; the index is read once for all queries of a tab."""
    page.evaluate(
        """(query) => {
        document.getElementById("search-results").replaceChildren();
        Search.performSearch(query);
    }""",
        query,
    )
    page.wait_for_function(FINISHED)
    return page.locator("#search-results > ul > li > a").evaluate_all("(links) => links.map((link) => link.pathname)")


def open_search(page, query, book=""):
    page.goto((browse.HTML / book / "search.html").as_uri() + f"?q={query.replace(' ', '+')}")
    page.wait_for_function(FINISHED)


@SAMPLED
def test_the_search_of_a_book_ranks_a_chapter_first_for_its_own_title(browser):
    missed = []
    for book in ("", "companions"):
        with browse.tab(browser, "desktop") as (page, complaints):
            open_search(page, "muon", book)
            missed += [
                (query, hits[:3])
                for of, query, chapter in FIRST
                if of == book and not (hits := results_of(page, query))[0].endswith(f"/{chapter}.html")
            ]
            assert not complaints
    assert not missed


@SAMPLED
def test_a_question_finds_its_page_first_and_no_object_of_the_library(browser):
    missed = []
    with browse.tab(browser, "desktop") as (page, _):
        open_search(page, "muon")
        for query, chapters in QUESTIONS:
            hits = [path.rpartition("/")[2].removesuffix(".html") for path in results_of(page, query)[:5]]
            if hits[0] not in chapters.split() or "api" in hits:
                missed.append((query, chapters, hits))
    assert not missed


@SAMPLED
def test_the_words_of_the_trade_lead_to_the_questions(browser):
    missed = {}
    with browse.tab(browser, "desktop") as (page, _):
        open_search(page, "muon")
        for query, question in TRADE.items():
            name = results_of(page, query)[0].rpartition("/")[2]
            at = page.locator("#search-results > ul > li > a").first.evaluate("(link) => link.hash")
            if name != "questions.html" or not at.startswith(f"#{question}"):
                missed[query] = name + at
    assert not missed, "another page, or the page and not the question"


def test_a_title_of_the_other_book_and_what_has_a_number_are_found_from_here(browser):
    for book, query, line, address in NAMED:
        with browse.tab(browser, "phone") as (page, complaints):
            open_search(page, query, book)
            page.locator("p", has_text=line).locator("a").first.click()
            page.wait_for_url(f"**/{address}*")
            assert not complaints


@pytest.mark.parametrize("view", ["desktop", "phone"])
def test_an_address_with_a_place_shows_that_place(browser, view):
    with browse.tab(browser, view) as (page, _):
        page.goto((browse.HTML / "chapters" / "practice" / "shapes.html").as_uri() + "#sec-pe-momentum")
        page.wait_for_function("document.documentElement.dataset.fitted === 'yes'")
        top = page.locator("#sec-pe-momentum").evaluate("(place) => place.getBoundingClientRect().top")
    assert 0 <= top < 300


@pytest.mark.parametrize("chapter", ["one-step", "gradient-limit", "errata"])
def test_the_sidebar_is_one_look_and_a_half(browser, chapter):
    with browse.tab(browser, "desktop") as (page, _):
        browse.open_page(page, browse.HTML / "chapters" / f"{chapter}.html")
        height = page.locator("nav.bd-links").first.evaluate("(bar) => bar.getBoundingClientRect().bottom")
    assert 600 < height <= 1600


def test_a_phones_table_of_contents_opens_at_the_page(browser):
    with browse.tab(browser, "phone") as (page, _):
        browse.open_page(page, browse.HTML / "chapters" / "many-step-counts.html")
        page.locator(".primary-toggle").first.click()
        page.wait_for_function("document.querySelector('dialog.bd-sidebar-primary').scrollTop > 0")
        place = page.locator("dialog a.current").last.evaluate("(link) => link.getBoundingClientRect().bottom")
    assert 0 < place < 844


def test_a_click_leads_to_the_other_book_and_one_back(browser):
    with browse.tab(browser, "desktop") as (page, _):
        browse.open_page(page, browse.HTML / "chapters" / "glossary.html")
        page.locator("article a", has_text="their own glossary").click()
        page.wait_for_url("**/companions/chapters/glossary.html")
        page.locator("article a", has_text="the main book").click()
        page.wait_for_url("**/html/chapters/glossary.html")
        page.locator("article h1").wait_for(state="visible")


def test_all_statements_can_be_filtered_and_stand_without_the_script(browser):
    address = browse.HTML / "chapters" / "all-statements.html"
    with browse.tab(browser, "phone") as (page, complaints):
        browse.open_page(page, address)
        shown = page.locator(".ledger tbody tr:visible")
        total = shown.count()
        assert total > 90
        page.get_by_label("every word").select_option("not reproduced")
        assert shown.count() == page.locator(".ledger .verdict.not-reproduced").count() > 0
        page.get_by_label("every word").select_option("")
        page.get_by_label("everybody's").select_option("paper")
        assert 40 < shown.count() < total
        page.get_by_label("Search the statements").fill("theorem 9")
        assert 0 < shown.count() < 5
        assert page.get_by_role("status").inner_text() == f"{shown.count()} of {total} rows"
        assert page.evaluate("location.search") == "?search=theorem+9&of=paper"
        page.get_by_label("everybody's").select_option("")
        page.get_by_label("Search the statements").fill("Newton-Schulz")
        hyphen = shown.count()
        page.get_by_label("Search the statements").fill("Newton–Schulz")
        assert shown.count() == hyphen > 2
        for asked, said in (("?word=undecided&why=leaning+out", "rows"), ("?word=nobody", "word must be one of")):
            browse.open_page(page, address, asked)
            assert said in page.get_by_role("status").inner_text()
            assert 0 < shown.count() < total if said == "rows" else shown.count() == total
        assert not complaints
    plain = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    page = plain.new_page()
    page.goto(address.as_uri())
    assert page.locator(".ledger tbody tr:visible").count() == total
    plain.close()


CONTRAST = """() => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255)
      .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const words = ["article h1", "article h2", "article p", "article figcaption p", "article div.cell_input pre span"];
  return words.map((place) => document.querySelector(place)).filter(Boolean)
    .map((box) => 1.05 / (light(getComputedStyle(box).color) + 0.05));
}"""


def test_a_dark_page_prints_in_the_light_without_labels_of_folded_code(browser):
    with browse.tab(browser, "desktop, dark") as (page, _):
        browse.open_page(page, browse.HTML / "chapters" / "one-step.html")
        assert min(page.evaluate(CONTRAST)) < 2
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert min(page.evaluate(CONTRAST)) > 4
        assert page.evaluate("getComputedStyle(document.querySelector('article img')).filter") == "none"
        assert not page.locator("details.hide:not([open])").filter(visible=True).count()
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.parametrize("view", ["desktop", "desktop, dark"])
def test_every_button_of_the_header_shows_that_the_tab_key_stands_on_it(browser, view):
    with browse.tab(browser, view) as (page, _):
        browse.open_page(page, browse.HTML / "chapters" / "one-step.html")
        buttons = page.locator(".article-header-buttons :is(button, a):not(.dropdown-item)").filter(visible=True)
        assert buttons.count() > 4
        for button in buttons.all():
            box = button.bounding_box()
            clip = {"x": box["x"] - 5, "y": box["y"] - 5, "width": box["width"] + 10, "height": box["height"] + 10}
            pixels = []
            for act in ("focus({focusVisible: true})", "blur()"):
                button.evaluate(f"(box) => box.{act}")
                pixels.append(Image.open(BytesIO(page.screenshot(clip=clip))).convert("L"))
            assert sum(ImageChops.difference(*pixels).histogram()[20:]) > 100, button.get_attribute("aria-label")


def test_the_search_stays_in_view_when_the_contents_scroll(browser):
    with browse.tab(browser, "desktop") as (page, _):
        browse.open_page(page, browse.HTML / "chapters" / "one-step.html")
        page.evaluate("document.querySelector('.bd-sidebar-primary').scrollTop = 600")
        field, title = (page.locator(f".bd-sidebar-primary {place}") for place in (".search-button-field", ".title"))
        above, field = title.first.bounding_box(), field.bounding_box()
        assert 0 <= above["y"] and above["y"] + above["height"] <= field["y"] + 1 and field["y"] < 200


def test_an_address_that_ends_in_a_percent_sign_stops_no_script(browser):
    with browse.tab(browser, "desktop") as (page, complaints):
        browse.open_page(page, browse.HTML / "chapters" / "one-step.html", "#%")
        assert not complaints
