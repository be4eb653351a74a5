"""Everything that is generated and committed: `write` brings it up to date, `check` names what is not.

The ledger's pages, the guide's tables, the cheat sheet, the numbers of the explorer and of the budget game, and the
front page's pictures.
A tool says in `pages(root)` what its files should hold; pictures are compared by what they were drawn from.
"""

import sys
from pathlib import Path

import appendix
import cheat_sheet
import contents
import explorer_data
import front
import game_data
import ledger

ROOT = Path(__file__).resolve().parents[1]
TEXTS = (appendix, ledger, contents, cheat_sheet, explorer_data, game_data)


def stale_texts(root: Path) -> dict[Path, str]:
    """The text that each outdated file should hold."""
    outdated = {}
    for tool in TEXTS:
        for path, text in tool.pages(root).items():
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                outdated[path] = text
    return outdated


def main(command: str) -> int:
    texts, pictures = stale_texts(ROOT), front.stale()
    if command == "write":
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
        front.draw(pictures)
        return 0
    for name in [str(path.relative_to(ROOT)) for path in texts] + [f"assets/{name}" for name in pictures]:
        print(f"{name} is not what its sources give: run make figures", file=sys.stderr)
    return bool(texts or pictures)


if __name__ == "__main__":
    if sys.argv[1:] not in (["write"], ["check"]):
        sys.exit("usage: python tools/generate.py write|check")
    sys.exit(main(sys.argv[1]))
