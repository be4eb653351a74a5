"""The mathematics of the chapters: every control sequence is one that the book's TeX knows, and rows can be broken.

A rename that swallows a letter (`\\ge x` to `\\gex`) shows up red on the page and stops no build. A row of `aligned`
with more than one `&` is a table to MathJax, whose cells overlap on a phone.
"""

import re
from functools import cache
from pathlib import Path

import pytest
import yaml
from portable import INLINE, Book, books

ROOT = Path(__file__).resolve().parents[1]
PAGES = [page for book in books(ROOT) for page in book.pages()]
MATHJAX = ROOT / "assets" / "mathjax" / "tex-mml-chtml-mathjax-tex.js"
TABLES = re.compile(
    r'new \w+\("(?:AMS\w+-)?'
    r'(?:macros|[lu]cGreek|mathchar0mi|mathchar0mo|mathchar7|delimiter|environment|boldsymbol)",[^{]*?\{'
)
CODE_CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(?:---\n(?P<options>.*?)\n---\n)?.*?^```$", re.MULTILINE | re.DOTALL)
DISPLAY = re.compile(r"\$\$.*?\$\$|^\\begin\{(align\*?|equation\*?)\}.*?^\\end\{\1\}", re.MULTILINE | re.DOTALL)
MATH_BLOCK = re.compile(r"^```\{math\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SEQUENCE = re.compile(r"\\(?:([A-Za-z]+)|[^A-Za-z])")  # two backslashes end a row; what follows is no name
ALIGNED = re.compile(r"\\begin\{(align(?:ed|at|edat)?|split)(\*?)\}(.*?)\\end\{\1\2\}", re.DOTALL)
CELLS = re.compile(r"\\begin\{(cases|array|\w*matrix)\}.*?\\end\{\1\}", re.DOTALL)
NAMED = re.compile(r"\\(?:begin|end)\{([^}]*)\}")


def keys(table: str) -> list[str]:
    """The names that an object literal of the script defines; `table` begins behind its opening brace."""
    found, depth, i, expects_key = [], 1, 0, True
    while depth:
        character = table[i]
        if character == '"':
            end = re.compile(r'(?:[^"\\]|\\.)*"').match(table, i + 1).end()
            if expects_key and depth == 1:
                found.append(table[i + 1 : end - 1])
            i, expects_key = end, False
            continue
        depth += (character in "{[(") - (character in "}])")
        if depth == 1 and character == ",":
            expects_key = True
        elif expects_key and depth == 1 and (name := re.compile(r"[A-Za-z]+(?=:)").match(table, i)):
            found.append(name[0])
            i, expects_key = name.end(), False
            continue
        i += 1
    return found


@cache
def known() -> frozenset[str]:
    """Control sequences and environments of the vendored MathJax, base and AMS, and the book's own macros."""
    script = MATHJAX.read_text(encoding="utf-8")
    names = {key.lstrip("\\") for table in TABLES.finditer(script) for key in keys(script[table.end() :])}
    return frozenset(names | Book(ROOT).macros.keys())


def mathematics(text: str) -> list[str]:
    """All formulas of a page: displayed, in line, and in the captions of its figures; cells' own strings are Python."""
    captions = []
    for cell in CODE_CELL.finditer(text):
        options = yaml.safe_load(cell["options"] or "") or {}
        captions.append(options.get("mystnb", {}).get("figure", {}).get("caption", ""))
    prose = "\n\n".join([CODE_CELL.sub("", text), *captions])
    formulas = [match[1] for match in MATH_BLOCK.finditer(prose)]
    prose = MATH_BLOCK.sub("", prose)
    formulas += [match[0] for match in DISPLAY.finditer(prose)]
    return formulas + [match["math"] for match in INLINE.finditer(DISPLAY.sub("", prose)) if match["math"]]


def unknown(text: str) -> list[str]:
    faults = []
    for formula in mathematics(text):
        for name in SEQUENCE.findall(formula) + NAMED.findall(formula):
            if name and name not in known():
                faults.append(f"\\{name} in {' '.join(formula.split())[:80]}")
    return faults


def crowded(text: str) -> list[str]:
    """Rows of aligned formulas that have more than one column; cases and matrices may."""
    rows = (
        row
        for formula in mathematics(text)
        for environment in ALIGNED.finditer(formula)
        for row in CELLS.sub("", environment[3]).split(r"\\")
    )
    return [" ".join(row.split()) for row in rows if len(re.findall(r"(?<!\\)&", row)) > 1]


def test_the_tables_of_the_script_are_read():
    assert {"frac", "ge", "propto", "alpha", "lesssim", "langle", "left", "aligned", "pmatrix", "mathsf"} <= known()
    assert {"opnorm", "polar"} <= known() and not {"Macro", "gex", "texClass"} & known()


@pytest.mark.parametrize(
    "broken",
    [
        r"a line $x\gex^\star$",
        "$$\n\\R\\proptox^\\star\n$$ (eq-x)",
        "```{code-cell} ipython3\n---\nmystnb: {figure: {name: fig-x, caption: 'In $\\ph_i$.'}}\n---\nplt.show()\n```",
        "$$\n\\begin{alinged}x\\end{alinged}\n$$",
        "| a | $\\lesssims$ |",
    ],
)
def test_a_broken_one_is_found(broken):
    assert unknown(broken)
    assert not unknown("$x\\ge\\opnorm{y}$, `\\gex`, and \\gex outside\n\n```{code-cell} ipython3\nr'$\\gex$'\n```\n")


@pytest.mark.parametrize("page", PAGES)
def test_every_control_sequence_is_known(page):
    assert not unknown((ROOT / f"{page}.md").read_text(encoding="utf-8"))


def test_a_row_of_two_equations_is_found():
    begin, end = r"$$\begin{aligned}", r"\end{aligned}$$"
    assert crowded(rf"{begin} a&=b,&c&=d\\e&=f {end}") == ["a&=b,&c&=d"]
    assert not crowded(rf"{begin} a&=b\\c&=\begin{{pmatrix}}1&2&3\\4&5&6\end{{pmatrix}}\&d {end}")


@pytest.mark.parametrize("page", PAGES)
def test_every_row_can_break(page):
    assert not crowded((ROOT / f"{page}.md").read_text(encoding="utf-8"))
