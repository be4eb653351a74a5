"""The house keeps its shape: who may import whom, and what a module and a chapter owe their reader."""

import ast
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import notebooks

ROOT = Path(__file__).resolve().parents[1]
FILES = {
    path.relative_to(ROOT).as_posix(): path
    for package in ("amemlib", "amembook")
    for path in sorted((ROOT / package).rglob("*.py"))
}

# What a part of the house imports beside itself; it may also import what those import.
ARROWS = {
    "amemlib": "",
    "amembook.vocabularies": "amemlib",
    "amembook.tables": "amembook.vocabularies amembook.laws",
    "amembook.figures": "amemlib",
    "amembook.run": "amemlib amembook.figures",
    "amembook.laws": "amemlib",
    "amembook.networks": "amemlib",
    "amembook.paper": "amembook.run amembook.networks amembook.laws amembook.vocabularies",
    "amembook.practice": "amembook.run amembook.networks amembook.laws amembook.vocabularies",
    "amembook.companions": "amembook.run amembook.networks amembook.laws amembook.vocabularies",
    "amembook": "amembook.run",
}
LIBRARY = {"numpy", "torch", "scipy", "jaxtyping"}
"""What amemlib needs beside the standard library."""
FORBIDDEN = {"utils", "util", "common", "helpers", "misc"}
LONGEST_CELL, WIDEST_CELL = 15, 78
HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}


def is_test(file: str) -> bool:
    return Path(file).name.startswith("test_")


def module_of(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def part_of(module: str) -> str:
    """The longest name in the table that a module belongs to."""
    return max((part for part in ARROWS if f"{module}.".startswith(f"{part}.")), key=len)


def reachable(part: str) -> set[str]:
    direct = set(ARROWS[part].split())
    return direct.union(*(reachable(other) for other in direct))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(path: Path) -> set[str]:
    """The modules that a file imports, with the names taken from a package, which may be modules."""
    modules = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: imports are absolute"
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
    return modules


def house(path: Path) -> set[str]:
    return {module for module in imported(path) if module.partition(".")[0] in ("amemlib", "amembook")}


def study_of(module: str) -> str | None:
    """`amembook.paper.one_step` for everything in it, None outside of the studies."""
    parts = module.split(".")
    return ".".join(parts[:3]) if len(parts) > 2 and parts[1] in ("paper", "practice", "companions") else None


def test_a_module_imports_along_the_arrows():
    for file, path in FILES.items():
        if not is_test(file):
            part = part_of(module_of(file))
            assert {part_of(module) for module in house(path)} <= reachable(part) | {part}, file


def test_no_study_imports_another():
    """Deleting one breaks no other: a practice or companion study is one folder."""
    for file, path in FILES.items():
        if own := study_of(module_of(file)):
            assert {study_of(module) for module in house(path)} <= {own, None}, file


def test_no_import_of_a_study_runs_in_a_circle():
    """Not inside a function either."""
    modules = {module_of(file): house(path) for file, path in FILES.items() if study_of(module_of(file))}
    # a name that is no module is one in its package
    own = lambda name: name if name in modules else name.rpartition(".")[0]
    TopologicalSorter({module: set(map(own, names)) - {module} for module, names in modules.items()}).prepare()


def test_nothing_names_a_study_that_can_be_deleted():
    """Those of practice and companions are found by their folders."""
    for file, path in FILES.items():
        if not file.startswith(("amembook/practice", "amembook/companions")):
            assert not [m for m in house(path) if m.startswith(("amembook.practice.", "amembook.companions."))], file


def test_nothing_of_the_theory_imports_what_a_trainer_uses():
    for file, path in FILES.items():
        if file.startswith("amemlib/") and not file.startswith(("amemlib/training/", "amemlib/__")):
            assert not [m for m in house(path) if m.startswith("amemlib.training")], file


def test_the_library_needs_four_packages_and_nothing_of_the_book():
    import sys

    for file, path in FILES.items():
        if file.startswith("amemlib/"):
            tops = {module.partition(".")[0] for module in imported(path)}
            assert tops <= LIBRARY | {"amemlib"} | set(sys.stdlib_module_names), file


def test_a_file_says_what_it_is_for():
    for file, path in FILES.items():
        assert not FORBIDDEN & set(file.removesuffix(".py").split("/")), file
        assert ast.get_docstring(parsed(path)), file


def private_names(tree: ast.Module) -> set[str]:
    """Names with a leading underscore that are imported."""
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    names = {
        alias.name for node in nodes if node.module.partition(".")[0] in ("amemlib", "amembook") for alias in node.names
    }
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


def test_private_names_stay_in_their_module():
    trees = {file: parsed(path) for file, path in FILES.items() if not is_test(file)}
    for chapter, _, source in chapter_cells():
        trees[f"{chapter}: {source[:40]}"] = parse_cell(source)
    assert not {file: names for file, tree in trees.items() if (names := private_names(tree))}


@cache
def chapter_cells() -> list[tuple[Path, dict, str]]:
    cells = []
    for source in notebooks.sources(ROOT):
        for cell in notebooks.read_myst_markdown_notebook(source.read_text(encoding="utf-8"), path=source).cells:
            if cell.cell_type == "code":
                cells.append((source.relative_to(ROOT), cell.metadata, cell.source))
    return cells


def test_no_helper_is_defined_in_two_chapters():
    functions = {
        (chapter, node.name)
        for chapter, _, source in chapter_cells()
        for node in ast.walk(parse_cell(source))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    assert not [name for name, count in Counter(name for _, name in functions).items() if count > 1]


def test_a_cell_that_is_shown_fits_the_eye():
    for chapter, metadata, source in chapter_cells():
        lines = [line for line in source.splitlines() if line.strip() and not line.strip().startswith("#")]
        if not HIDDEN & set(metadata.get("tags", [])):
            assert len(lines) <= LONGEST_CELL, f"{chapter}: a cell of {len(lines)} lines begins {lines[0]!r}"
            wide = [line for line in source.splitlines() if len(line) > WIDEST_CELL]
            assert not wide, f"{chapter}: wider than the page: {wide[0]!r}"


def test_every_picture_has_a_number_a_caption_and_a_place_in_the_text():
    for chapter, metadata, _ in chapter_cells():
        options = metadata.get("mystnb", {})
        if "image" in options:
            figure, begin = options.get("figure", {}), options["image"]["alt"][:50]
            assert len(figure.get("caption", "")) > 30, f"{chapter}: no caption: {begin!r}"
            text = (ROOT / chapter).read_text(encoding="utf-8")
            assert f"{{numref}}`{figure['name']}`" in text, f"{chapter}: never mentioned: {figure['name']}"


def parse_cell(source: str) -> ast.Module:
    return ast.parse("\n".join(line for line in source.splitlines() if not line.lstrip().startswith(("%", "!"))))
