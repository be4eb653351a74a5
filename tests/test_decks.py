"""The slides: they name only what the book has, show it as the book does, and load nothing from elsewhere."""

import re
from pathlib import Path

import browse
import decks
import pytest
from portable import Book, Unportable

ROOT = Path(__file__).resolve().parents[1]
BOOK = Book(ROOT)
DECKS = [path.stem for path in decks.sources()]


def deck(text, folder):
    """A deck of this text, as if it stood among the sources."""
    source = folder / "deck.md"
    source.write_text(f"# Deck\n\n{text}\n", encoding="utf-8")
    return decks.Deck(BOOK, source, "..")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slides")
    return {path.stem: path for path in decks.write_alone(folder)}


@pytest.mark.parametrize("name", DECKS)
def test_a_deck_shows_figures_and_statements_that_exist(name, built):
    text = (decks.SOURCES / f"{name}.md").read_text(encoding="utf-8")
    labels = decks.SHOWN.findall(text)
    assert len(labels) > 5 and set(labels) <= BOOK.targets.keys()
    page = built[name].read_text(encoding="utf-8")
    for label in labels:
        target = BOOK.targets[label]
        if target.kind == "figure":
            assert (built[name].parent / "images" / f"{label}.png").stat().st_size > 5000
            assert f'src="images/{label}.png"' in page
        if target.kind != "equation":
            assert f'href="../html/{target.page}.html#{target.anchor}"' in page and target.words in page
        else:
            assert f"\\tag{{{target.number}}}" in page
    assert page.count("<section>") == len(re.findall(r"^---$", text, re.M)) + 1
    # what follows is not shown: raw markup of any kind
    assert not re.findall(r"\{\{|:::|\{(?:eq|ref|numref|prf:ref)\}", page.partition("<script>")[0])


def test_a_statement_is_the_chapters_word_for_word(tmp_path):
    shown = deck("{{def-recovery}}", tmp_path).slides()[0]
    for part in (
        "<strong>Definition 1.1</strong> (Recovery)",
        "\\max_{j\\ne i}u_j^",
        "\\tag{1.1}",
        "A tie is not recovered.",
    ):
        assert part in shown
    [noted] = deck("Said.\n\nNote: Unsaid $x$.", tmp_path).slides()
    assert noted.endswith('<aside class="notes"><p>Unsaid \\(x\\).</p>\n</aside>\n</section>')


@pytest.mark.parametrize(("text", "complaint"), [("{{fig-none}}", "fig-none"), ("{ref}`none`", "none")])
def test_a_label_that_is_gone_is_an_error(tmp_path, text, complaint):
    with pytest.raises(Unportable, match=f"deck.md.*{complaint}"):
        deck(text, tmp_path).slides()


def test_the_seminar_leads_to_every_deck():
    seminar = (ROOT / "chapters" / "seminar.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r'href="\.\./slides/(\w+)\.html"', seminar)) == DECKS and len(DECKS) == 3


@pytest.mark.process
@pytest.mark.skipif(browse.CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("name", DECKS)
def test_a_deck_turns_by_keys_fits_its_slides_and_asks_nobody(built, name):
    with browse.chromium() as browser, browse.tab(browser, "desktop, dark") as (tab, complaints):
        browse.open_page(tab, built[name])
        total = tab.evaluate("Reveal.getTotalSlides()")
        for at in range(total):
            size = tab.evaluate("(({scrollWidth: w, scrollHeight: h}) => [w, h])(Reveal.getCurrentSlide())")
            assert size[0] <= 1120 and size[1] <= 700, f"slide {at + 1}: {size}"
            tab.keyboard.press("ArrowRight")
        assert tab.evaluate("Reveal.isLastSlide()")
        assert tab.locator("mjx-container").count() > 5 and not tab.locator("mjx-merror").count()
        assert "\\" not in re.sub(r"\s", "", tab.evaluate("document.querySelector('.slides').innerText"))
        loaded = "[...document.images].every((one) => one.complete && one.naturalWidth > 300 && one.alt.length > 20)"
        assert tab.evaluate(loaded)
        assert browse.accessibility(tab) == []
    assert not complaints
