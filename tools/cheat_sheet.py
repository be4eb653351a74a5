"""The cheat sheet: lines of code, and the rules of chapters/practice/rules.yml with their numbers, on two screens.

Numbers are read from the records as in `show` of a ledger's row, and may be quotients of two of them, `{a / b:.0%}`. A
link to a statement leads to its row on the page of all statements.
"""

import re
import string
from pathlib import Path

import ledger
import yaml

ROOT = ledger.ROOT
PAGE = "practice/cheat-sheet"
TEMPLATE = ROOT / "tools" / "templates" / "cheat-sheet.md"
"""The page but for its rules, which stand where it says `{rules}`."""


class Shares(string.Formatter):
    """`str.format` with quotients, `{a / b:.0%}`."""

    def get_field(self, field_name, args, kwargs):
        values = [super(Shares, self).get_field(one, args, kwargs)[0] for one in field_name.split(" / ")]
        return (values[0] / values[1] if len(values) == 2 else values[0]), field_name


def rules(root: Path) -> list[dict]:
    """The rules with their numbers filled in: `do`, `why`, and `practice` and `book`, pairs of a grade and a text."""
    text = (root / "chapters" / "practice" / "rules.yml").read_text(encoding="utf-8")
    places = {row["statement"]: ledger.place(row) for row in ledger.rows(root)}
    return [filled(rule, root, places) for rule in yaml.load(text, yaml.CSafeLoader)]


def filled(rule: dict, root: Path, places: dict[str, str]) -> dict:
    records = ledger.stored(rule, root) if "record" in rule else [{}]

    def fill(text: str) -> str:
        text = re.sub(r"(?<=\d)%", "\u00a0%", ledger.filled(text, records, Shares().format))
        link = lambda match: f'<a href="../all-statements.html#{places[match[2]]}">{match[1]}</a>'
        return re.sub(r"\[([^]]+)\]\(((?!https?:)[^)#.]+)\)", link, text)

    texts = {key: fill(rule[key]) for key in ("do", "why")}
    return texts | {key: (rule[key][0], fill(rule[key][1])) for key in ("practice", "book")}


def page(root: Path) -> str:
    """chapters/practice/cheat-sheet.md."""
    line = lambda name, grade, text: f"*{name}{', ' * (grade != 'none')}{grade * (grade != 'none')}:* {text}."
    lines = [
        f"1. **{one['do']}** {one['why']} {line('Practice', *one['practice'])} {line('Book', *one['book'])}"
        for one in rules(root)
    ]
    return TEMPLATE.read_text(encoding="utf-8").replace("{rules}", "\n".join(lines))


def pages(root: Path) -> dict[Path, str]:
    """What the file should hold."""
    return {root / "chapters" / f"{PAGE}.md": page(root)}
