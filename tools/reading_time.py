"""How long a page takes to read, by one rule for the whole book: its words, formulas, pictures and open lines of code.

What a page folds does not count: code that imports or draws, solutions, dropdowns. A proof counts as it is read;
checking one with a pencil takes two or three times that. The rates are round numbers that nobody has measured: under
them the chapters add up to six sevenths of what their authors had guessed one by one.
"""

import re

SECONDS = {"words": 60 / 200, "formulas": 3, "displays": 30, "pictures": 20, "code": 1}
"""For a word, a formula in a line, a line of a displayed equation, a picture, an open line of code."""
SPARE = 1 / 8
"""How far a page's stated minutes may be from the rule's: prose changes by sentences."""

FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
CELL = re.compile(r"^```\{code-cell\}.*?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = re.compile(r"\A---\n.*?^---\n|\A(?::.*\n)+", re.MULTILINE | re.DOTALL)
CAPTION = re.compile(r"caption: >-\n\s+(.+)")
FOLDED = re.compile(
    r"^`{3,}\{solution-start\}.*?\{solution-end\}\n`+$"
    r"|^(?P<fence>`{3,}|:{3,})\{(?:dropdown|raw|eval-rst)\}.*?^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
NOT_PROSE = re.compile(
    r"<!--(?s:.*?)-->|^[`:]{3,}(?:\{[\w:-]*\})?|^:\w+:.*|^\([\w-]+\)=|^\*Next:.*|\]\([^)\n]*\)|</?\w[^>\n]*>",
    re.MULTILINE,
)
DISPLAY = re.compile(r"\$\$(.+?)\$\$(?: *\([\w-]+\))?", re.DOTALL)
INLINE = re.compile(r"(?<!\\)\$(?!\s)(?:\\.|[^$\\])+?\$")
ROLE = re.compile(r"\{[\w:]+\}`[^`]*`")
WORD = re.compile(r"[^\W_][\w'’.,%–-]*")


def count(text: str) -> dict[str, int]:
    """What a reader of the page `text` meets, by the names of `SECONDS`."""
    text = FOLDED.sub("", FRONT.sub("", text))
    cells = [match["body"] for match in CELL.finditer(text)]
    options = [(match[0] if (match := OPTIONS.match(cell)) else "") for cell in cells]
    captions = [caption for part in options for caption in CAPTION.findall(part)]
    code = [cell[len(part) :] for cell, part in zip(cells, options, strict=True) if "hide-" not in part]
    prose = "\n".join([CELL.sub("", text), *captions])
    displays = DISPLAY.findall(prose)
    prose = DISPLAY.sub(" ", prose)
    formulas = INLINE.findall(prose)
    prose = ROLE.sub("reference", NOT_PROSE.sub(" ", INLINE.sub(" ", prose)))
    return {
        "words": len(WORD.findall(prose)),
        "formulas": len(formulas),
        "displays": sum(1 + tex.count(r"\\") for tex in displays),
        "pictures": len(captions),
        "code": sum(bool(line.strip()) for part in code for line in part.splitlines()),
    }


def minutes(text: str) -> float:
    """The minutes that the page, or a part of one, takes by the rule."""
    counted = count(text)
    return sum(SECONDS[kind] * counted[kind] for kind in SECONDS) / 60


def rounded(exact: float) -> int:
    """Whole minutes, in fives from 20 on."""
    return max(1, round(exact) if exact < 20 else 5 * round(exact / 5))


def stated(text: str, now: int) -> int:
    """The minutes that a first line may state: `now` where that is near enough, else the rule's."""
    exact = minutes(text)
    return now if abs(now - exact) <= max(1, SPARE * exact) else rounded(exact)
