"""Every chapter of both books says first what it needs, which stands before it, and what its reader learns."""

import ast
import posixpath
import re
from pathlib import Path

import contents
import pytest
from addresses import redirects
from contents import FIRST_LINE
from portable import books

ROOT = Path(__file__).resolve().parents[1]
MAIN, *OTHERS = books(ROOT)
BOOKS = {book.name: book.pages() for book in (MAIN, *OTHERS)}
NUMBERED = [page for pages in BOOKS.values() for page, number in pages.items() if number]
MOST = 15
GUIDE = (ROOT / "chapters" / "guide.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NUMBERED)
def test_a_chapter_has_the_form_of_all(name):
    text = (ROOT / f"{name}.md").read_text(encoding="utf-8")
    assert FIRST_LINE.search(text), "its first line is *You need: … You learn: … Reading time: N minutes; the cells …*"


@pytest.mark.parametrize("book", ["", "companions"])
def test_no_chapter_needs_a_later_one(book):
    order = list(BOOKS[book])
    for at, name in enumerate(order[1:], 1):
        line = FIRST_LINE.search((ROOT / f"{name}.md").read_text(encoding="utf-8"))
        for link in re.findall(r"\]\(([\w./-]+)\.md\)", line["needs"] if line else ""):
            need = posixpath.normpath(posixpath.join(posixpath.dirname(name), link))
            assert need not in order[at:], f"{name} needs {need}"


def test_the_main_book_can_be_held_in_mind():
    assert sum(number.isdigit() for number in BOOKS[""].values()) <= MOST


def test_the_guide_leads_to_every_numbered_chapter_and_says_how_long_a_page_takes_as_the_page_does():
    rows = re.findall(r"^\| (\d+) \[.+?\]\((.+?)\.md\) ", GUIDE, re.M)
    numbered = {number: page.removeprefix("chapters/") for page, number in BOOKS[""].items() if number.isdigit()}
    assert rows == list(numbered.items())
    said = re.findall(r"\]\(([\w/-]+)\.md\)[^(;.]*(?:\(| \| )(\d+)\smin", GUIDE)
    assert len(said) > MOST
    for name, minutes in said:
        page = (ROOT / "chapters" / f"{name}.md").read_text(encoding="utf-8")
        assert f"Reading time: {minutes} minutes" in page, name


def test_the_front_page_lists_the_short_book_as_its_pages_do():
    front = (ROOT / "index.md").read_text(encoding="utf-8")
    short = contents.chapters(ROOT)["The short book"]
    assert re.findall(r"^\d\. \[(.+?)\]\((.+?)\.md\): .+\.$", front, re.M) == [(one[1], one[0]) for one in short]
    assert "two to three hours" in front and "two to three hours" in GUIDE
    assert 120 <= sum(minutes for *_, minutes in short) <= 180


def drawing_cells(texts: dict[str, str]) -> list[tuple[str, str, str]]:
    """The page, the name and the code of each cell that stands below a label `cell-…`, after the functions it calls."""
    found = []
    for page, text in texts.items():
        labels, above, last, lines = [], [], None, text.splitlines()
        for block in MAIN.blocks(text):
            if block.kind == "label" and block.name.startswith("cell-"):
                labels.append(block)
            elif labels:
                assert block.name == "code-cell" and block.start == labels[-1].end, (
                    f"{labels[-1].name} is above no cell"
                )
                # a folded cell that shows nothing is left out of its page, with its label
                assert "hide-" not in str(block.options.get("tags", "")), f"{labels[-1].name}: its code is to be read"
                code = with_functions(block.body, above)
                found += [[page, label.name.removeprefix("cell-"), code] for label in labels]
                labels, last = [], block
            elif last and block.name == "code-cell" and "".join(lines[last.end : block.start]).strip() == "":
                # two cells with nothing between them are one
                found[-1][2] += "\n" + block.body
                last = None
            else:
                last = None
            if block.name == "code-cell":
                above.append(block.body)
    return [tuple(one) for one in found]


def with_functions(code: str, above: list[str]) -> str:
    """A cell's code after the cells above it that define a function which it calls, and which that one calls."""
    for body in reversed(above):
        if any(re.search(rf"\b{name}\(", code) for name in re.findall(r"^def (\w+)", body, re.M)):
            code = f"{body}\n{code}"
    return code


def faults(name: str, code: str) -> list[str]:
    """What a cell that draws and judges a statement lacks."""
    nodes = list(ast.walk(ast.parse(code)))
    names = {
        getattr(one, key) for one in nodes for key in ("id", "attr", "arg") if isinstance(getattr(one, key, 0), str)
    }
    has = {
        "no record": not any("record" in one for one in names),
        "device": "device" in names,
        "a draw": any(one.startswith("sample_") or one in ("seed", "draw", "train") for one in names),
        "a count": any(re.fullmatch(r"capacity|recovered|svdvals|\w*(loss|accuracy)\w*", one) for one in names),
        "a fit": not name.startswith("theorem-") or "fit_exponent" in names,
        "an assertion": any(isinstance(one, ast.Assert) for one in nodes),
    }
    return [one for one, there in has.items() if not there]


PAGES = {page: (ROOT / f"{page}.md").read_text(encoding="utf-8") for page in BOOKS[""]}
CELLS = drawing_cells({page: text for page, text in PAGES.items() if "\n(cell-" in text})


def test_a_cell_that_runs_a_statement_draws_counts_fits_and_asserts():
    assert {name: faults(name, code) for _, name, code in CELLS if faults(name, code)} == {}


WHOLE = """\
emb = am.sample_embeddings(problem, seed=0, device=device)
count = am.capacity(am.polar(am.initial_gradient(emb, p)), emb)
assert low < am.fit_exponent(dims, [count]).slope < high"""


@pytest.mark.parametrize(
    ("left", "lacks"),
    [
        ("assert", "an assertion"),
        ("device", "device"),
        ("fit_exponent", "a fit"),
        ("capacity", "a count"),
        ("sample_embeddings|seed", "a draw"),
    ],
)
def test_a_cell_that_lacks_one_of_these_is_noticed(left, lacks):
    text = f"# A\n\n(cell-theorem-3)=\n```{{code-cell}} ipython3\n{WHOLE}\n```\n"
    [(page, name, code)] = drawing_cells({"page": text})
    assert (page, name, code) == ("page", "theorem-3", WHOLE) and faults(name, code) == []
    assert faults(name, re.sub(rf"\b({left})\b ?", "" if left == "assert" else "other", code)) == [lacks]
    with pytest.raises(AssertionError, match="to be read"):
        drawing_cells({"page": text.replace("emb =", ":tags: [hide-input]\n\nemb =")})
    assert faults("count", code.replace("fit_exponent", "mean")) == [] != faults(name, f"read_records()\n{code}")


def test_each_theorem_and_each_chapter_of_the_short_book_has_its_cell():
    wanted = {*(f"theorem-{n}" for n in (1, 2, 3, 5, 9, 10)), "corollary-4"}
    assert wanted <= {name for _, name, _ in CELLS}
    assert {one[0] for one in contents.chapters(ROOT)["The short book"]} <= {page for page, *_ in CELLS}


STATEMENT = re.compile(r"^`{3,}\{prf:(?:lemma|theorem|proposition|corollary|conjecture)\} ?(.*)$", re.M)


def test_every_statement_says_whose_it_is():
    titles = {(page, title) for page, text in PAGES.items() for title in STATEMENT.findall(text)}
    assert len(titles) > 80
    assert {one for one in titles if not re.search(r"of the paper|\(ours|\([^()]+\)$", one[1])} == set()


@pytest.mark.parametrize("book", BOOKS)
def test_a_page_that_went_leads_to_one_that_stands(book):
    for old, new in redirects(ROOT / book):
        page = posixpath.normpath(posixpath.join(book, new))
        assert (ROOT / f"{page}.md").exists() and any(page in pages for pages in BOOKS.values()), new
        assert posixpath.join(book, old) not in BOOKS[book], f"{old} is still a page"
