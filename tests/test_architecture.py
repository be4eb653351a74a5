"""The house keeps its shape: who may import whom, and what a room and a chapter owe their reader."""

import ast
import re
from collections import Counter
from pathlib import Path

import notebooks
import pytest

ROOT = Path(__file__).resolve().parents[1]
HOUSE = ROOT / "amemlib"
FILES = {path.relative_to(HOUSE).as_posix(): path for path in sorted(HOUSE.rglob("*.py"))}

# What a room imports. It may also import what those import: that adds no arrow to the order. One room reaches up, by
# name and not before a chapter calls it: `runtime.start_chapter` sets the style of `figures`.
ARROWS = {
    "checks": "",
    "files": "",
    "fingerprint": "",
    "theory": "checks",
    "runtime": "fingerprint",
    "scaling": "checks",
    "arithmetic": "checks",
    "hermite": "problem",
    "teacher_student": "hermite",
    "problem": "theory arithmetic",
    "spectral": "problem",
    "sampling": "problem",
    "gradients": "problem",
    "recovery": "problem",
    "lazy": "",
    "equivalents": "problem lazy",
    "expansions": "problem",
    "optim": "spectral gradients",
    "sharding": "gradients recovery sampling",
    "tasks": "sampling",
    "attention": "tasks",
    "training": "files spectral",
    "adam": "problem",
    "verdicts": "",
    "records": "files runtime verdicts",
    "experiments": "optim sampling recovery equivalents expansions scaling sharding tasks attention training runtime "
    "vocabularies verdicts",
    "sweep": "experiments records",
    "costs": "equivalents spectral recovery",
    "visits": "sweep costs",
    "vocabularies": "problem",
    "figures": "scaling theory lazy",
    "labs": "experiments figures adam hermite teacher_student",
    "__main__": "sweep visits figures",
}
FORBIDDEN = {"utils", "util", "common", "helpers", "misc"}
LONGEST_CELL, WIDEST_CELL = 15, 78
HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}


def room_of(file: str) -> str:
    """A room is a module or a package of amemlib; a package's files share its arrows."""
    return file.split("/")[0].removesuffix(".py")


def reachable(room: str) -> set[str]:
    direct = set(ARROWS[room].split())
    return direct.union(*(reachable(other) for other in direct))


def imported_rooms(tree: ast.Module) -> set[str]:
    rooms = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            rooms |= {alias.name.partition(".")[2] for alias in node.names if alias.name.startswith("amemlib")}
        elif isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").partition(".")[0] == "amemlib"):
            inner = (node.module or "").removeprefix("amemlib").strip(".")
            rooms |= {inner} if inner else {alias.name for alias in node.names}
    return {room.partition(".")[0] or "__init__" for room in rooms}


def private_names(tree: ast.Module) -> set[str]:
    """Names with a leading underscore taken from amemlib, by import or as an attribute."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("amemlib"):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            base = node.value
            while isinstance(base, ast.Attribute):
                base = base.value
            if isinstance(base, ast.Name) and base.id in {"am", "amemlib", *map(room_of, FILES)}:
                found.add(node.attr)
    return {name for name in found if name.startswith("_") and not name.startswith("__")}


def chapter_cells() -> list[tuple[Path, dict, str]]:
    cells = []
    for source in notebooks.sources(ROOT):
        for cell in notebooks.read_myst_markdown_notebook(source.read_text(), path=source).cells:
            if cell.cell_type == "code":
                cells.append((source.relative_to(ROOT), cell.metadata, cell.source))
    return cells


def test_a_lab_is_a_folder_that_nothing_but_its_chapter_needs():
    """Deleting one breaks no other: no room imports the labs, and no lab imports another."""
    assert not [room for room in ARROWS if "labs" in reachable(room)]
    for file, path in FILES.items():
        if file.startswith("labs/") and file.count("/") > 1:
            lab = f"amemlib.labs.{file.split('/')[1]}"
            nodes = ast.walk(ast.parse(path.read_text()))
            used = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
            assert not [module for module in used if module.startswith("amemlib.labs") and not module.startswith(lab)]


def test_the_arrows_have_no_cycle():
    assert all(room not in reachable(room) for room in ARROWS)


@pytest.mark.parametrize("file", [file for file in FILES if file != "__init__.py"])
def test_a_room_imports_along_the_arrows(file):
    room = room_of(file)
    assert room in ARROWS, f"amemlib/{file} is in no row of the table: give it its arrows, or another place"
    assert imported_rooms(ast.parse(FILES[file].read_text())) <= reachable(room) | {room}


@pytest.mark.parametrize("file", FILES)
def test_a_file_says_what_it_is_for(file):
    assert not FORBIDDEN & set(file.removesuffix(".py").split("/"))
    assert ast.get_docstring(ast.parse(FILES[file].read_text()))


def test_private_names_stay_in_their_room():
    taken = {}
    for path in [*FILES.values(), *(ROOT / "tests").glob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]:
        taken[path.relative_to(ROOT)] = private_names(ast.parse(path.read_text()))
    for chapter, _, source in chapter_cells():
        taken.setdefault(chapter, set()).update(private_names(parse_cell(source)))
    assert not {str(path): names for path, names in taken.items() if names}


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
    for source in notebooks.sources(ROOT):
        text = source.read_text(encoding="utf-8")
        for cell in notebooks.read_myst_markdown_notebook(text, path=source).cells:
            options = cell.metadata.get("mystnb", {})
            if "image" in options:
                figure, begin = options.get("figure", {}), options["image"]["alt"][:50]
                assert len(figure.get("caption", "")) > 30, f"{source.name}: no caption: {begin!r}"
                assert f"{{numref}}`{figure['name']}`" in text, f"{source.name}: never mentioned: {figure['name']}"


def test_the_reference_has_every_room_behind_those_that_it_imports():
    rooms = re.findall(r"automodule:: amemlib\.(\w+)", (ROOT / "chapters" / "api.md").read_text(encoding="utf-8"))
    assert sorted(rooms) == sorted(ARROWS.keys() - {"__main__", "labs"})
    for i, room in enumerate(rooms):
        assert reachable(room) <= set(rooms[:i]), room


def parse_cell(source: str) -> ast.Module:
    return ast.parse("\n".join(line for line in source.splitlines() if not line.lstrip().startswith(("%", "!"))))
