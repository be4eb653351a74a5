"""The puzzles: a solution is its puzzle with one line changed, and a check tells it from what people write instead."""

import contextlib
import io
import re
from pathlib import Path

import pytest
from notebooks import code_cells, portable_notebook, read_myst_markdown_notebook
from portable import Book

ROOT = Path(__file__).resolve().parents[1]
CHAPTER = ROOT / "chapters" / "puzzles.md"
CELLS = [
    cell for cell in read_myst_markdown_notebook(CHAPTER.read_text(encoding="utf-8"), path=CHAPTER).cells
    if cell.cell_type == "code"
]  # fmt: skip
BLANK = re.compile(r"^( +(?:return|\w+ =) )\.\.\.  # your line$", re.M)
SETUP = [cell.source for cell in CELLS if "hide-input" in cell.metadata.get("tags", [])]
PUZZLES = [cell.source for cell in CELLS if "# your line" in cell.source]
SOLUTIONS = [cell.source.partition("\n") for cell in CELLS if "solution" in cell.metadata.get("tags", [])]

WRONG = {
    1: ["ranks**-alpha", "ranks**-alpha / n_items", "ranks**alpha / (ranks**alpha).sum()"],
    2: ["lr * (p[:, None] * U).T @ V", "-lr * (p[:, None] * centred).T @ V", "lr * V.T @ (p[:, None] * centred)",
        "(p[:, None] * centred).T @ V", "lr * centred.T @ V"],
    3: ["P @ Qh.T", "P @ torch.diag(s) @ Qh", "G / s[0]", "G.sign()", "Qh.T @ P.T"],
    4: ["a * X + (b * A + c * A * A) @ X", "a * X + b * X**3 + c * X**5", "a * X + b * A + c * A @ A",
        "a * X + (b * A + c * A) @ X"],
    5: ["own >= rivals.amax(1)", "own > rivals.amax(0)", "own > 0", "own > rivals.mean(1)", "own == scores.amax(1)"],
    6: ["scores.amax(1)", "best + scores.amax(1)", "torch.minimum(best, scores.amax(1))", "best"],
    7: ["(p[:m, None] * U[:m]).T @ V[:m]", "(p[m:, None] * (U[m:] - U[m:].mean(0))).T @ V[m:]",
        "(p[m:, None] * V[m:]).T @ U[m:]", "(p[m + 1:, None] * U[m + 1:]).T @ V[m + 1:]",
        "(p[m:, None] * U[m:]).T @ V[m:] / p[m:].sum()"],
    8: ["1 / (mu + (p**2 * M / (1 + p**2 * M**2)).sum())", "1 / mu",
        "(M + 1 / (mu + (p**2 * M**2 / (1 + p**2 * M**2)).sum() / dim)) / 2",
        "(M + 1 / (mu + (p * M / (1 + p * M**2)).sum() / dim)) / 2"],
    9: ["(s / (s**2 + lam**2) ** 0.5).mean()", "1.0", "(s**2 / (s**2 + lam**2)).sum()",
        "(s**2 / (s + lam) ** 2).mean()"],
    10: ["(y[-1] - y[0]) / (x[-1] - x[0])", "(y / x).mean()", "x @ y / (x @ x)",
         "np.diff(y).mean() / np.diff(x).mean()"],
}  # fmt: skip


@pytest.fixture(scope="module")
def opened():
    """The names that a notebook has before its first puzzle."""
    names = {}
    for source in SETUP:
        exec(source, names)
    return names


def said(source, opened):
    with contextlib.redirect_stdout(io.StringIO()) as heard:
        exec(source, dict(opened))
    return heard.getvalue().strip()


def filled_in(puzzle, line):
    """The puzzle with `line` in its place."""
    source, count = BLANK.subn(lambda match: match[1] + line, puzzle)
    assert count == 1
    return source


def test_there_are_ten_and_each_has_one_blank_and_one_solution():
    assert len(PUZZLES) == len(SOLUTIONS) == len(WRONG) == 10 and len(SETUP) == 2
    for number, (puzzle, (title, _, solution)) in enumerate(zip(PUZZLES, SOLUTIONS, strict=True), start=1):
        assert title == f"# @title Solution {number}"
        before, after = puzzle.splitlines(), solution.splitlines()
        differ = [old for old, new in zip(before, after, strict=True) if old != new]
        assert len(differ) == 1 and BLANK.fullmatch(differ[0])


@pytest.mark.parametrize("number", WRONG)
def test_a_check_passes_its_solution_and_nothing_that_is_near_it(number, opened):
    puzzle = PUZZLES[number - 1]
    assert said(puzzle, opened) == "the line is still missing"
    assert said(SOLUTIONS[number - 1][2], opened).endswith(": right")
    for line in WRONG[number]:
        told = said(filled_in(puzzle, line), opened)
        off = re.fullmatch(r"off by (\S+): not yet", told)
        assert off or told.startswith("off in shape"), f"{line!r}: {told}"
        assert not off or not float(off[1]) < 1e-4


def test_the_notebook_begins_with_the_blank_and_folds_the_solution():
    cells = code_cells(portable_notebook(CHAPTER, Book(ROOT)), generated=False)
    assert [cell.source for cell in cells] == [cell.source for cell in CELLS]
    folded = [cell for cell in cells if cell.source.startswith("# @title Solution")]
    assert len(folded) == 10
    for cell in folded:
        assert cell.metadata["jupyter"] == {"source_hidden": True} and cell.metadata["cellView"] == "form"
    assert not [cell for cell in cells if cell not in folded and "jupyter" in cell.metadata]
