"""Begins a lab: copies the template under the new name, and says what is left to do.

`python tools/new_lab.py entropic-memory` writes the folder amemlib/labs/entropic_memory, its chapter in
chapters/companions and its test in tests/labs. It overwrites nothing.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = ROOT / "tools" / "lab-template"
LEFT = """\
Left to do:
  {chapter}: add `- file: {page}` to _toc.yml
  a row in its group's file of chapters/ledger, a term in chapters/glossary.md
  commit; then the record, from the clean tree, on a block of seeds that nobody used (CONTRIBUTING lists them):
    python -m amemlib run {name} --profile cpu --set first_seed=… --output amemlib/records/{name}/confirm.json
  make notebooks figures test"""


def places(root: Path, name: str) -> dict[str, Path]:
    """Where each file of the template goes."""
    folder = root / "amemlib" / "labs" / name.replace("-", "_")
    return {file: folder / file for file in ("__init__.py", "measure.py", "judge.py", "figures.py")} | {
        "chapter.md": root / "chapters" / "companions" / f"{name}.md",
        "test_lab.py": root / "tests" / "labs" / f"test_{name.replace('-', '_')}.py",
    }


def begin(root: Path, name: str) -> list[Path]:
    """Write the files of a new lab; `ValueError` for a name that is none or is taken."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise ValueError(f"name must be lower-case words with hyphens between, got {name!r}")
    targets = places(root, name)
    for target in targets.values():
        if target.exists():
            raise ValueError(f"name must be new, got {name!r}: {target.relative_to(root)} exists")
    for file, target in targets.items():
        text = (TEMPLATE / file).read_text(encoding="utf-8")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text.replace("lab-name", name).replace("lab_name", name.replace("-", "_")), encoding="utf-8")
    return list(targets.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="the name of its experiment, such as entropic-memory")
    name = parser.parse_args().name
    try:
        written = begin(ROOT, name)
    except ValueError as error:
        print(f"new_lab: {error}", file=sys.stderr)
        return 2
    print(*(path.relative_to(ROOT) for path in written), sep="\n")
    chapter = places(ROOT, name)["chapter.md"].relative_to(ROOT)
    print(LEFT.format(name=name, chapter=chapter, page=chapter.with_suffix("").as_posix()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
