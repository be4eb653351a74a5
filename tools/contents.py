"""The numbered chapters in tables, for the guide: what each needs and how long it takes, as its own page says."""

import re
from pathlib import Path
from posixpath import dirname, join, relpath

import yaml
from ledger import marked, table

FIRST_LINE = re.compile(
    r"^\*You need: (?P<needs>.+?) You learn: .+?\. "
    r"Reading time: (?P<minutes>\d+) minutes.*; the cells run in .+\*$",
    re.MULTILINE,
)


def chapters(root: Path) -> dict[str, list[tuple[str, str, str, int]]]:
    """The numbered parts of the main book by caption; of each chapter page, title, what it needs, minutes."""
    parts = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    numbered = {part["caption"]: part["chapters"] for part in parts if part.get("numbered")}
    return {caption: [chapter(root, entry["file"]) for entry in entries] for caption, entries in numbered.items()}


def chapter(root: Path, page: str) -> tuple[str, str, str, int]:
    text = (root / f"{page}.md").read_text(encoding="utf-8")
    line, title = FIRST_LINE.search(text), re.search("^# (.+)$", text, re.MULTILINE)
    near = lambda link: relpath(join(dirname(page), link[0]), "chapters")
    return page, title[1], re.sub(r"(?<=\]\()[^)]+", near, line["needs"]).rstrip("."), int(line["minutes"])


def pages(root: Path) -> dict[Path, str]:
    """What the guide should hold."""
    path, tables, number = root / "chapters" / "guide.md", {}, 0
    for caption, entries in chapters(root).items():
        lines = []
        for number, (page, title, needs, minutes) in enumerate(entries, number + 1):  # noqa: B020
            lines.append([f"{number} [{title}]({relpath(page, 'chapters')}.md)", f"{minutes}\u00a0min", needs])
        tables[caption.split()[-1].lower()] = table("chapter | takes | needs", lines)
    return {path: marked(path.read_text(encoding="utf-8"), tables)}
