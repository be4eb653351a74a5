"""How the pages read, in numbers, printed and not enforced: `voice.py [PAGE.md …]`, without pages the books' own lists.

Words are those of a page's text: no front matter, code, raw HTML, tables, displayed formulas or options of directives,
inline formulas as they are typed. A picture is the first figure, cell or raw block.
"""

import re
import sys
from pathlib import Path

from portable import BOOKS, Book

ROOT = Path(__file__).resolve().parents[1]
VERDICTS = re.compile(
    r"\b(undecided|not reproduced|nothing.fitted|bands?)\b|[*_](predicted|reproduced|observed)[*_]",
    re.I,
)
SILENT = {"code-cell", "raw", "math", "figure", "list-table", "csv-table", "bibliography"}
PICTURES = ("figure:", "```{code-cell}", "```{raw}", "```{figure}")
COLUMNS = ("words", "before", "numbers", "verdicts", "sentence", "paragraph")


def prose(text: str) -> list[str]:
    """The paragraphs that a reader reads, headings apart."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"^(`{3,})[^`\n]*\n.*?^\1\s*$", kept, text, flags=re.S | re.M)
    text = re.sub(r"^\$\$.*?\$\$.*?$", "", text, flags=re.S | re.M)
    text = re.sub(r"^(\||:\w|```|~~~|:::|\([\w-]+\)=|#).*$", "", text, flags=re.M)
    text = re.sub(r"\{[\w:]+\}`([^`<]*)(<[^`>]*>)?`", r"\1", text)
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)
    return [" ".join(one.split()) for one in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text) if one.strip()]


def kept(block: re.Match) -> str:
    """A directive's text, and nothing of a block that is code, a formula or raw HTML."""
    head, body = block[0].split("\n", 1)
    directive = re.match(r"`+\{(\w[\w:-]*)\}", head)
    if not directive or directive[1] in SILENT:
        return ""
    return "\n" + re.sub(r"^(---\n.*?\n---|:\w[^\n]*)$", "", body.rsplit("\n", 1)[0], flags=re.S | re.M) + "\n"


def measures(text: str) -> dict[str, float]:
    """One page: its words; words and numbers before the first picture; verdict words a hundred sentences; lengths."""
    body = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)
    cuts = [at for at in (body.find(mark) for mark in PICTURES) if at > 0]
    opening = " ".join(one for one in prose(body[: min(cuts, default=len(body))]) if not one.startswith("*You need"))
    paragraphs = prose(text)
    sentences = [one for part in paragraphs for one in re.split(r"(?<=[.?!])\W*\s+(?=[A-Z*(])", part) if one]
    words = sum(len(one.split()) for one in paragraphs)
    return {
        "words": words,
        "before": len(opening.split()),
        "numbers": len(re.findall(r"(?<![\w.])\d[\d,.]*", opening)),
        "verdicts": 100 * sum(bool(VERDICTS.search(one)) for one in sentences) / max(len(sentences), 1),
        "sentence": words / max(len(sentences), 1),
        "paragraph": max((len(one.split()) for one in paragraphs), default=0),
    }


def main(pages: list[str]) -> None:
    paths = [Path(one) for one in pages]
    if not paths:
        paths = [ROOT / f"{page}.md" for name in BOOKS for page in Book(ROOT, name).pages()]
    print(f"{'page':40}" + "".join(f"{name:>10}" for name in COLUMNS))
    total = 0
    for path in paths:
        one = measures(path.read_text(encoding="utf-8"))
        total += one["words"]
        name = path.resolve().relative_to(ROOT).as_posix() if path.resolve().is_relative_to(ROOT) else path.as_posix()
        print(f"{name:40}" + "".join(f"{one[key]:10.0f}" for key in COLUMNS))
    print(f"{'together':40}{total:10}")


if __name__ == "__main__":
    main(sys.argv[1:])
