"""Move the repository and its book to another address, everywhere: `address.py https://github.com/OWNER/NAME [BOOK]`.

_config.yml has the addresses, and every other text repeats them. Lines that call them placeholders go. The book's is
https://OWNER.github.io/NAME/ unless a second one is given. The package's name on PyPI is another matter, and stays.
"""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from notebooks import write
from portable import configuration

ROOT = Path(__file__).resolve().parents[1]
PLACEHOLDERS = "README.md", "CITATION.cff", "_config.yml"
END = r"(?![\w-])"


def move(root: Path, files: Iterable[str], repository: str, book: str = "") -> list[str]:
    """The files of `root` that were changed, of `files`; ValueError where an address is none."""
    if not (found := re.fullmatch(r"https://github\.com/([\w-]+/[\w-]+)", repository)):
        raise ValueError(f"the repository must be https://github.com/OWNER/NAME, got {repository!r}")
    slug = found[1]
    owner, name = slug.split("/")
    book = book or f"https://{owner.lower()}.github.io/{name}/"
    if not re.fullmatch(r"https://[\w.-]+/(?:[\w.-]+/)*", book):
        raise ValueError(f"the book's address must be https://… with a slash at its end, got {book!r}")
    config = configuration(root)
    old = re.escape(config["repository"]["url"].removeprefix("https://github.com/"))
    old_book = re.escape(config["html"]["baseurl"].removeprefix("https://").rstrip("/"))
    # Colab's addresses have /github/OWNER/NAME, that of the comments OWNER/NAME alone
    places = re.compile(rf"(github\.com/|/github/|\brepo: ){old}{END}|()\b{old_book}{END}")
    new_book, changed = book.removeprefix("https://").rstrip("/"), []
    for file in files:
        try:
            text = (root / file).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        moved = places.sub(lambda match: new_book if match[1] is None else match[1] + slug, text)
        if file in PLACEHOLDERS:
            moved = re.sub(r"\n*.*\bplaceholders\b.*", "", moved)
        if moved != text:
            (root / file).write_text(moved, encoding="utf-8")
            changed.append(file)
    if changed:
        # their cells are named by what stands in them
        write(root)
    return changed


if __name__ == "__main__":
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    try:
        print(f"{len(move(ROOT, tracked.stdout.splitlines(), *sys.argv[1:3]))} files changed")
    except (TypeError, ValueError) as error:
        sys.exit(f"address.py: {error}")
