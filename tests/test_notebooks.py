"""The chapters' notebooks: plain for every reader, executed, reproducible, and caught when they are not."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jupytext
import notebooks
import pytest
import yaml
from jupytext.config import load_jupytext_config
from portable import Book, Unportable, leftovers

ROOT = Path(__file__).resolve().parents[1]
FRONT = """\
---
file_format: mystnb
kernelspec:
  name: python3
---
"""
PAPER = "https://example.org/paper"
BIBLIOGRAPHY = """\
@article{one, author={M{\\"u}ller, Eva}, title={T}, journal={J}, year={1999}, doi={10.1/x}}
@article{two, author={Kim, A. and Lee, B.}, title={T}, journal={J}, year={2001}, url={https://example.org/paper}}
@article{three, author={Kim, A. and Lee, B. and Wu, C.}, title={T}, journal={J}, year={2002}}
"""

# Every construct that a chapter may use, then the text that the notebook must show for it.
BLOCKS = [
    ("$$\na^\\T\n$$ (eq-a)", "$$\na^\\top \\tag{1.1}\n$$"),
    ("\\begin{align*}\na &= b\n\\end{align*}", "$$\n\\begin{align*}\na &= b\n\\end{align*}\n$$"),
    (
        "```{prf:theorem} Main\n:label: thm-a\nBody $\\R$.\n\n$$\nx\ny\n$$\n```",
        "> **Theorem 1.1** (Main)\n>\n> Body $\\mathbb{R}$.\n>\n> $$ x y $$",
    ),
    (":::{prf:lemma}\n:label: lem-a\nBody.\n:::", "> **Lemma 1.1**\n>\n> Body."),
    ("```{prf:theorem} Theirs\n:label: thm-n\n:nonumber:\nBody.\n```", "> **Theorem** (Theirs)"),
    (
        "```{prf:lemma} Lemma 7 of the paper, on $\\R$\n:label: lem-p\n:nonumber:\nBody.\n```\n\nBy {prf:ref}`lem-p`.",
        "> **Lemma 7** (of the paper, on $\\mathbb{R}$)\n>\n> Body.\n\nBy [Lemma 7](",
    ),
    ("```{prf:proof}\nClear.\n```", "*Proof.* Clear."),
    *[
        (f"```{{prf:{kind}}}\n:label: {kind}-a\nB.\n```", f"> **{kind.title()} 1.1**\n>\n> B.")
        for kind in ("proposition", "corollary", "definition", "remark", "conjecture", "assumption", "algorithm")
    ],
    ("```{exercise} Rank\n:label: ex-a\nWhy?\n```", "**Exercise 1.1** (Rank)\n\nWhy?"),
    (
        "````{solution} ex-a\n:class: dropdown\n```python\nx = 1\n```\n````",
        "<details>\n<summary>Solution to Exercise 1.1</summary>\n\n```python\nx = 1\n```\n\n</details>",
    ),
    ("```{exercise-start}\n:label: ex-b\n```\nAsk.\n```{exercise-end}\n```", "**Exercise 1.2**\n\nAsk."),
    (":::{solution-start} ex-b\n:::\nTold.\n:::{solution-end}\n:::", "**Solution to Exercise 1.2**\n\nTold."),
    *[
        (f":::{{{kind}}}\nText.\n:::", f"> **{kind.title()}**\n>\n> Text.")
        for kind in ("note", "tip", "warning", "important")
    ],
    (":::{seealso}\nText.\n:::", "> **See also**\n>\n> Text."),
    (":::{admonition} Take $\\E$\nText.\n:::", "> **Take $\\mathbb{E}$**\n>\n> Text."),
    (
        "::::{dropdown} More\n:::{note}\nInner.\n:::\n::::",
        "<details>\n<summary>More</summary>\n\n> **Note**\n>\n> Inner.",
    ),
    (":::{admonition} Fold\n:class: dropdown\nText.\n:::", "<details>\n<summary>Fold</summary>\n\nText."),
    ("- item\n\n  :::{tip}\n  Inner.\n  :::", "- item\n\n  > **Tip**\n  >\n  > Inner."),
    (
        "```{list-table} Names\n:name: tab-a\n:header-rows: 1\n* - a\n  - b\n* - $\\R$\n  - 2\n```",
        "**Table 1.1.** Names\n\n| a | b |\n| --- | --- |\n| $\\mathbb{R}$ | 2 |",
    ),
    ("```{table} More\n:name: tab-b\n| a |\n|---|\n| 1 |\n```", "**Table 1.2.** More\n\n| a |\n|---|\n| 1 |"),
    (
        "```{glossary}\nbulk scale\n  The *unit* $\\R$.\n\nrank\n  Number.\n```",
        "**bulk scale**: The *unit* $\\mathbb{R}$.\n\n**rank**: Number.",
    ),
    ("```{code-block} text\nas {ref}`it` is\n```", "```text\nas {ref}`it` is\n```"),
    ("```{literalinclude} references.bib\n:language: bibtex\n```", f"```bibtex\n{BIBLIOGRAPHY.strip()}\n```"),
    ("before\n% a comment\nafter", "before\nafter"),
    ("```{raw} html\n<canvas></canvas>\n```", "*What stands here runs in [the page](URL).*"),
    ("<!-- a comment -->", ""),
    ("(sec-p)=\nA paragraph.\n\nThe [same](sec-p).", "A paragraph.\n\nThe [same](URL#sec-p)."),
]
INLINES = [
    ("{eq}`eq-a`", "[(1.1)](URL#equation-eq-a)"),
    ("{ref}`sec-a`", "[Section $\\mathbb{R}$](URL#sec-a)"),
    ("{ref}`there <sec-a>`", "[there](URL#sec-a)"),
    ("{ref}`ex-a`", "[Exercise 1.1](URL#ex-a)"),
    ("{numref}`Figure %s <fig-c>`", "[Figure 1.1](URL#fig-c)"),
    ("{numref}`tab-b`", "[Table 1.2](URL#tab-b)"),
    ("{numref}`fig-c`", "[Fig. 1.1](URL#fig-c)"),
    ("{ref}`fig-c`", "[A line in $\\mathbb{R}$.](URL#fig-c)"),
    ("{prf:ref}`thm-a`", "[Theorem 1.1](URL#thm-a)"),
    ("{prf:ref}`Theorem 3 <thm-n>`", "[Theorem 3](URL#thm-n)"),
    ("[see](other.md)", "[see](https://amemlib.github.io/amemlib/chapters/other.html)"),
    ("[see](other.md#eq-o)", "[see](https://amemlib.github.io/amemlib/chapters/other.html#equation-eq-o)"),
    ("[](#thm-a)", "[Theorem 1.1](URL#thm-a)"),
    ("[there](sec-a)", "[there](URL#sec-a)"),
    ("[code](../amemlib/theory.py)", "[code](https://github.com/amemlib/amemlib/blob/main/amemlib/theory.py)"),
    ("[web](https://example.org/a)", "[web](https://example.org/a)"),
    ("{eq}`eq-o`", "[(1)](https://amemlib.github.io/amemlib/chapters/other.html#equation-eq-o)"),
    ("{cite}`one`", "\\[[Müller, 1999](https://doi.org/10.1/x)\\]"),
    ("{cite:p}`one,two`", f"\\[[Müller, 1999](https://doi.org/10.1/x); [Kim and Lee, 2001]({PAPER})\\]"),
    ("{cite:t}`two`", f"Kim and Lee [[2001]({PAPER})]"),
    ("{term}`rank`", "[rank](URL#term-rank)"),
    ("$\\norm{\\frac{a}{b}}_2$", "$\\lVert \\frac{a}{b}\\rVert_2$"),
    ("$\\R x$, $\\Rank$", "$\\mathbb{R}x$, $\\Rank$"),
    ("`{ref}` and ``{eq}`x` ``", "`{ref}` and ``{eq}`x` ``"),
    ("costs \\$5 or \\$6", "costs \\$5 or \\$6"),
]
CELLS = """
```{code-cell} ipython3
print("a number:", 1 + 1)
```

```{code-cell} ipython3
---
tags: [hide-input]
mystnb:
  figure: {name: fig-c, caption: 'A line in $\\R$.'}
  image: {alt: It rises.}
---
import matplotlib.pyplot as plt
_ = plt.plot([0, 1])
```

:::{solution-start} ex-b
:::
```{code-cell} ipython3
2 + 2
```
:::{solution-end}
:::
"""
EXERCISE = "```{exercise}\n:label: ex-b\nAsk.\n```\n"
URL = "https://amemlib.github.io/amemlib/chapters/all.html"


@pytest.fixture
def book(tmp_path):
    """A small book with the project's own configuration; `chapter` writes its first chapter."""
    return new_book(tmp_path / "book")


def new_book(root: Path) -> Path:
    (root / "chapters").mkdir(parents=True)
    for name in ("_config.yml", "requirements.txt"):
        shutil.copy(ROOT / name, root)
    (root / "README.md").write_text("# Front\n")
    parts = [{"numbered": True, "chapters": [{"file": "chapters/all"}]}, {"chapters": [{"file": "chapters/other"}]}]
    (root / "_toc.yml").write_text(yaml.safe_dump({"format": "jb-book", "root": "README", "parts": parts}))
    (root / "chapters" / "references.bib").write_text(BIBLIOGRAPHY)
    (root / "chapters" / "other.md").write_text("# Other\n\n$$ o $$ (eq-o)\n")
    return root


def chapter(book: Path, body: str) -> Path:
    source = book / "chapters" / "all.md"
    source.write_text(f"{FRONT}# Title\n\n{body}")
    notebooks.write(book)
    return source.with_suffix(".ipynb")


def text(notebook: Path) -> str:
    return "\n\n".join(cell.source for cell in notebooks.read(notebook).cells if cell.cell_type == "markdown")


def test_every_construct_has_a_plain_form(book):
    head = "(sec-a)=\n## Section $\\R$\n\n"
    body = head + "\n\n".join([source for source, _ in BLOCKS + INLINES]) + "\n\n" + CELLS
    shown = text(chapter(book, body))
    for source, plain in BLOCKS + INLINES:
        assert plain.replace("URL", URL) in shown, source
    assert "**Fig. 1.1.** A line in $\\mathbb{R}$." in shown and "It rises." in shown
    assert not leftovers(shown) and "comment" not in shown


def test_the_notebook_opens_in_colab(book):
    badge, install, *_ = notebooks.read(chapter(book, EXERCISE + CELLS)).cells
    assert "colab.research.google.com/github/amemlib/amemlib/blob/main/chapters/all.ipynb" in badge.source
    assert notebooks.SETUP_TAG in install.metadata.tags


INSTALL = "amemlib[book] @ git+https://github.com/amemlib/amemlib@main"


@pytest.mark.process
@pytest.mark.parametrize("place", ["with the book", "colab", "kaggle", "elsewhere"])
def test_the_setup_cell_installs_in_colab_and_kaggle_and_says_elsewhere_what_to_run(book, tmp_path, place):
    """From the branch that the notebook stands in, and from no index: its name may be somebody else's there."""
    pip, log = tmp_path / "pip", tmp_path / "log"
    pip.write_text(f'#!/bin/sh\necho "$@" >> {log}\n')
    pip.chmod(0o755)
    cell = notebooks.read(chapter(book, EXERCISE + CELLS)).cells[1].source
    run = (
        "import importlib.util, sys; from IPython.core.interactiveshell import InteractiveShell\n"
        f"if {place == 'colab'}: sys.modules['google.colab'] = sys\n"
        f"if {place != 'with the book'}: importlib.util.find_spec = lambda name: None\n"
        f"InteractiveShell.instance().run_cell({cell!r}).raise_error()"
    )
    known = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "IPYTHONDIR": str(tmp_path / "ipython")}
    known |= {"KAGGLE_KERNEL_RUN_TYPE": "Interactive"} if place == "kaggle" else {}
    ran = subprocess.run([sys.executable, "-c", run], env=os.environ | known, capture_output=True, text=True)
    said = log.read_text().splitlines() if log.exists() else []
    assert said == ([f"install -q {INSTALL}"] if place in ("colab", "kaggle") else [])
    assert ran.returncode == (place == "elsewhere")
    assert (f'pip install "{INSTALL}"' in ran.stdout + ran.stderr) == (place == "elsewhere")


@pytest.mark.parametrize("source", notebooks.sources(ROOT), ids=lambda path: path.stem)
def test_a_chapter_saved_in_jupyter_stays_the_chapter(source):
    """What opening a page as a notebook by jupytext and saving it writes: front matter, cells and text are the same."""
    settings = load_jupytext_config(str(source))
    opened = jupytext.writes(jupytext.read(source, config=settings), fmt="ipynb", config=settings)
    saved = jupytext.writes(jupytext.reads(opened, fmt="ipynb", config=settings), fmt="md:myst", config=settings)
    text = source.read_text(encoding="utf-8")
    front = [yaml.safe_load(page.split("---\n")[1]) for page in (text, saved)]
    front[1].pop("jupytext", None)
    assert front[0] == front[1]
    before, after = (
        [
            (cell.cell_type, cell.source, cell.metadata if cell.cell_type == "code" else {})
            for cell in notebooks.read_myst_markdown_notebook(page, path=source).cells
        ]
        for page in (text, saved)
    )
    assert after == before


def test_another_setup_cell_leaves_the_outputs_and_other_code_does_not(book, monkeypatch):
    path = chapter(book, EXERCISE + CELLS)
    stored = notebooks.read(path)
    for cell in notebooks.code_cells(stored):
        cell.execution_count = 7
    path.write_text(notebooks.dumps(stored))
    monkeypatch.setattr(notebooks, "BOOTSTRAP", "import sys  # {repository}\n")
    notebooks.write(book)
    assert all(cell.execution_count == 7 for cell in notebooks.code_cells(notebooks.read(path)))
    source = path.with_suffix(".md")
    source.write_text(source.read_text() + "\n```{code-cell} ipython3\n1 + 1\n```\n")
    notebooks.write(book)
    assert all(cell.execution_count is None for cell in notebooks.code_cells(notebooks.read(path)))


def test_code_that_a_page_folds_stays_open_in_the_notebook(book):
    cells = notebooks.code_cells(notebooks.read(chapter(book, EXERCISE + CELLS)))
    assert any("hide-input" in cell.metadata.get("tags", []) for cell in cells)
    assert not any("jupyter" in cell.metadata for cell in cells)


@pytest.mark.parametrize(
    ("body", "line", "complaint"),
    [
        ("```{mystery}\nx\n```", 8, "mystery"),
        ("text\n\nhas {mystery}`x` in it", 10, "mystery"),
        ("{ref}`nowhere`", 8, "nowhere"),
        ("{doc}`other`", 8, "doc"),
        ("> ```{note}\n> x\n> ```", 8, "line of its own"),
        ("\\begin{align}\na\n\\end{align}", 8, "star"),
        ("```{prf:theorem}\n:label: t\n:nonumber:\nx\n```\n\n{prf:ref}`t`", 14, "no number"),
        ("```{exercise}\nx\n```", 8, "label"),
        (":::{note}\nfirst\n\n{ref}`nowhere`\n:::", 11, "nowhere"),
    ],
)
def test_what_has_no_plain_form_is_an_error_with_its_place(book, body, line, complaint):
    with pytest.raises(Unportable, match=rf"^chapters/all\.md:{line}: .*{complaint}"):
        chapter(book, body)


@pytest.fixture
def far(book):
    """A chapter of a second book beside the first."""
    folder = book / "companions"
    (folder / "chapters").mkdir(parents=True)
    (folder / "_config.yml").write_text("title: Second\n")
    (folder / "README.md").write_text("# Second\n")
    parts = [{"numbered": True, "chapters": [{"file": "chapters/far"}]}]
    (folder / "_toc.yml").write_text(yaml.safe_dump({"format": "jb-book", "root": "README", "parts": parts}))
    return folder / "chapters" / "far.md"


def test_links_lead_from_book_to_book(book, far):
    far.write_text(f"{FRONT}# Far\n\n$$ \\R $$ (eq-z)\n\n{{eq}}`eq-o`, [there](../../chapters/other.md)\n")
    near = text(chapter(book, "{eq}`eq-z`, [far](../companions/chapters/far.md), [all](../companions/README.md)"))
    address = "https://amemlib.github.io/amemlib"
    assert f"[(1.1)]({address}/companions/chapters/far.html#equation-eq-z)" in near
    assert f"[far]({address}/companions/chapters/far.html), [all]({address}/companions/README.html)" in near
    shown = text(far.with_suffix(".ipynb"))
    assert "/blob/main/companions/chapters/far.ipynb" in shown and "a page of [Second](" in shown
    assert f"[(1)]({address}/chapters/other.html#equation-eq-o), [there]({address}/chapters/other.html)" in shown
    assert "\\mathbb{R}" in shown
    far.write_text(far.read_text() + "\n[lost](../../chapters/lost.md)\n")
    with pytest.raises(Unportable, match=r"^companions/chapters/far\.md:12: .*chapters/lost"):
        notebooks.write(book)


def test_a_label_given_twice_is_an_error(book):
    with pytest.raises(Unportable, match="eq-o"):
        chapter(book, "$$ x $$ (eq-o)")


@pytest.fixture(scope="module")
def executed_once(tmp_path_factory):
    root = new_book(tmp_path_factory.mktemp("executed") / "book")
    assert notebooks.execute(chapter(root, EXERCISE + CELLS), root) == []
    return root


@pytest.fixture
def executed(book, executed_once):
    """The notebook of a chapter in `book` that was written and executed."""
    shutil.copytree(executed_once, book, dirs_exist_ok=True)
    return book / "chapters" / "all.ipynb"


@pytest.mark.process
def test_a_fresh_notebook_passes_and_runs_to_the_same_bytes(book, executed):
    assert notebooks.check(book) == []
    before = executed.read_bytes()
    notebooks.write(book)
    assert executed.read_bytes() == before
    notebooks.execute(executed, book)
    assert executed.read_bytes() == before
    stored = notebooks.read(executed)
    notebooks.nbformat.validate(stored)
    assert [cell.execution_count for cell in notebooks.code_cells(stored)] == [1, 2, 3, 4]
    assert "image/png" in notebooks.code_cells(stored)[2].outputs[0].data


@pytest.mark.process
def test_new_prose_keeps_the_outputs_and_new_code_drops_them(book, executed):
    source = executed.with_suffix(".md")
    source.write_text(source.read_text() + "\nOne more sentence.\n")
    assert any("differs from its source" in line for line in notebooks.check(book))
    notebooks.write(book)
    assert notebooks.check(book) == []
    source.write_text(source.read_text().replace("2 + 2", "2 + 3"))
    notebooks.write(book)
    assert notebooks.check(book) == ["chapters/all.ipynb: never executed"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"cells": ['])
def test_a_damaged_notebook_is_named_and_made_anew(book, content):
    path = chapter(book, EXERCISE + CELLS)
    made = path.read_text()
    path.write_text(content)
    with pytest.raises(notebooks.Unportable, match=f"{path.name}: no notebook .*; run `make notebooks`"):
        notebooks.check(book)
    notebooks.write(book)
    assert path.read_text() == made


def test_a_notebook_is_written_whole_or_not_at_all(book, monkeypatch):
    path = chapter(book, EXERCISE + CELLS)
    made = path.read_text()
    path.with_suffix(".md").write_text(path.with_suffix(".md").read_text() + "\nMore.\n")
    monkeypatch.setattr("os.replace", lambda *names: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        notebooks.write(book)
    assert path.read_text() == made and not list(path.parent.glob("*.tmp"))


@pytest.mark.process
def test_what_never_ran_or_has_no_source_is_caught(book, executed):
    chapter(book, "```{code-cell} ipython3\n1 + 1\n```")
    shutil.copy(executed, book / "chapters" / "lost.ipynb")
    assert notebooks.check(book) == ["chapters/all.ipynb: never executed", "chapters/lost.ipynb: has no source"]
    lost = book / "chapters" / "lost.md"
    lost.write_text(FRONT.replace("file_format: mystnb\n", "") + "# Lost\n")
    assert "chapters/lost.ipynb: chapters/lost.md has no `file_format: mystnb` in its front matter" in "".join(
        notebooks.check(book)
    )
    lost.unlink()
    executed.unlink()
    assert "chapters/all.ipynb: missing; run `make notebooks`" in notebooks.check(book)


@pytest.mark.process
def test_a_changed_record_makes_the_outputs_of_its_readers_stale(book, executed):
    stored = notebooks.read(executed)
    notebooks.code_cells(stored)[0].source += '\nrecords = read_records("loss")'
    stored.metadata.amemlib["records"] = notebooks.records_hash(stored, book)
    for experiment, stale in (("signal", False), ("loss", True)):
        record = book / "amembook" / "records" / experiment / "one.json"
        record.parent.mkdir(parents=True)
        record.write_text("{}")
        assert any("stale" in fault for fault in notebooks.faults(stored, book)) == stale


@pytest.mark.process
def test_another_pin_makes_outputs_stale(book, executed):
    pins = book / "requirements.txt"
    pins.write_text(re.sub("torch==.*", "torch==0.1", pins.read_text()))
    assert any("stale" in line for line in notebooks.check(book))


@pytest.mark.process
@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"profile": "cpu"', '"profile": "gpu"', "profile"),
        ('"name": "stdout"', '"name": "stderr"', "stderr"),
        ("# Title", "{ref}`sec-a`", "raw MyST"),
        ("print(", "print( ", "differs"),
    ],
)
def test_a_hand_edit_is_caught(book, executed, old, new, complaint):
    assert old in executed.read_text()
    executed.write_text(executed.read_text().replace(old, new))
    assert any(complaint in line for line in notebooks.check(book))


@pytest.mark.process
def test_a_stored_error_is_caught(book, executed):
    stored = notebooks.read(executed)
    error = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []}
    notebooks.code_cells(stored)[1].outputs = [notebooks.nbformat.from_dict(error)]
    executed.write_text(notebooks.dumps(stored))
    assert any("ValueError: no" in line for line in notebooks.check(book))


@pytest.mark.process
def test_a_failing_cell_is_shown(book):
    path = chapter(book, "```{code-cell} ipython3\nassert 1 == 2, 'not so'\n```")
    (fault,) = notebooks.execute(path, book)
    assert "assert 1 == 2" in fault and "not so" in fault and "\x1b" not in fault
    assert notebooks.check(book) == ["chapters/all.ipynb: never executed"]


def test_raw_markup_in_the_readme_is_caught(book):
    (book / "README.md").write_text("# Front\n\nSee {doc}`other`, not `{doc}`.\n\n```python\n{ref}`x`\n```\n")
    assert notebooks.check(book) == ["README.md: GitHub shows this MyST raw: {doc}`other`"]


def test_the_address_stands_in_one_place():
    settings = Book(ROOT)
    for path in [*(ROOT / "tools").glob("*.py"), *(ROOT / "amemlib").glob("*.py")]:
        assert settings.address not in path.read_text() and settings.repository not in path.read_text()
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["repository-code"] == settings.repository and citation["url"].rstrip("/") == settings.address


def test_numbers_follow_the_table_of_contents(book):
    toc = yaml.safe_load((book / "_toc.yml").read_text())
    toc["parts"].insert(0, {"numbered": True, "chapters": [{"file": "chapters/new"}]})
    (book / "_toc.yml").write_text(yaml.safe_dump(toc))
    (book / "chapters" / "new.md").write_text("# New\n")
    shown = text(chapter(book, "$$ x $$ (eq-x)\n\n{eq}`eq-x`"))
    assert re.search(r"\[\(2\.1\)\]", shown)


def test_the_template_of_a_chapter_is_one(tmp_path, monkeypatch):
    """It becomes a notebook without leftovers, and its cells run."""
    for name in ("_config.yml", "_toc.yml", "README.md", "chapters"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, tmp_path / name)
    template = tmp_path / "chapters" / "template.md"
    shutil.copyfile(ROOT / "tools" / "chapter-template.md", template)
    toc = (tmp_path / "_toc.yml").read_text()
    (tmp_path / "_toc.yml").write_text(
        toc.replace("- file: chapters/one-step\n", "- file: chapters/one-step\n      - file: chapters/template\n")
    )
    notebook = notebooks.portable_notebook(template, Book(tmp_path))
    assert not [line for cell in notebook.cells if cell.cell_type == "markdown" for line in leftovers(cell.source)]
    namespace: dict = {}
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: None)
    for cell in notebooks.code_cells(notebook, generated=False):
        exec(compile(cell.source, "template", "exec"), namespace)
