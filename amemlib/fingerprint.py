"""The hash of code and of all that it imports from amemlib: what decides whether a stored result is still good.

A room of its own that imports nothing but the standard library: who checks notebooks or pages has no torch at hand.
`amemlib` imports it before any other room, so that it knows which files the process has loaded.
"""

import ast
import functools
import hashlib
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path


@functools.cache
def code_hash(module: str = "") -> str:
    """Fingerprint of the library, or of one module ("amemlib.experiments.loss") and all that it imports from amemlib.

    Of the syntax trees without docstrings and comments: prose does not change it.
    """
    root = Path(__file__).parent
    return _digest(root, _imported_files(root, module) if module else root.rglob("*.py"))


@functools.cache
def loaded_hash(module: str = "") -> str:
    """`code_hash` of what this process has loaded, which a file on disk may no longer be.

    Imports all that `module` needs. Raises `ValueError` if one of the files was changed since amemlib was imported:
    which of the two texts runs here cannot be told then.
    """
    root = Path(__file__).parent
    paths = sorted(_imported_files(root, module) if module else root.rglob("*.py"))
    for path in paths if module else ():
        import_module(".".join(["amemlib", *path.relative_to(root).with_suffix("").parts]).removesuffix(".__init__"))
    for path in paths:
        if _file_hash(path) != _AT_START.get(path):
            raise ValueError(
                f"amemlib must be on disk what this process has loaded, got a change of {path.relative_to(root)} "
                "since then: start the process, or the cluster's workers, again"
            )
    return code_hash(module)


def modules_hash(modules: Iterable[str]) -> str:
    """Fingerprint of these modules of amemlib and of nothing that they import; one that is gone counts as empty.

    Left out are tables of names, the `__init__` of packages that import on demand: what they gave is in the list.
    """
    root = Path(__file__).parent
    return _digest(root, {path for path in (_path_of(root, module) for module in modules) if not _homes(_read(path))})


def _file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes() if path.exists() else b"").hexdigest()


def files_hash() -> str:
    """Fingerprint of the library's code as it stands in its files: the same in every release of Python.

    `code_hash` is of syntax trees, which releases of Python write differently.
    """
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _digest(root: Path, paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.relative_to(root).as_posix().encode() + _without_prose(_read(path)).encode())
    return digest.hexdigest()[:16]


@functools.cache
def _without_prose(text: str) -> str:
    """The code of a file without docstrings and comments, in one form."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [statement for statement in body if not _is_docstring(statement)] or [ast.Pass()]
    return ast.unparse(tree)


def _imported_files(root: Path, module: str) -> set[Path]:
    """The files of amemlib that importing `module` needs, `__init__` of the packages on the way left out."""
    files, open_modules = set(), [module]
    while open_modules:
        path = _path_of(root, open_modules.pop())
        if path in files:
            continue
        files.add(path)
        for package, names in _imports(_read(path)):
            homes = _homes(_read(_path_of(root, package)))
            for name in names:
                inner = f"{package}.{name}"
                home = f"{package}.{homes[name]}" if name in homes else package
                open_modules.append(inner if _path_of(root, inner).exists() else home)
    return files


@functools.cache
def _imports(text: str) -> list[tuple[str, list[str]]]:
    """What a file imports from amemlib: modules, and the names taken from each."""
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom))
    return [
        (node.module, [alias.name for alias in node.names])
        for node in nodes
        if (node.module or "").partition(".")[0] == "amemlib"
    ]


def _path_of(root: Path, module: str) -> Path:
    path = root.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if (path / "__init__.py").exists() else path.with_suffix(".py")


@functools.cache
def _homes(text: str) -> dict[str, str]:
    """The module of each name that a package imports on demand (`lazy.attach`); nothing if it does not."""
    for node in ast.walk(ast.parse(text)) if "lazy.attach" in text else ():
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "lazy.attach":
            return {name: home for home, names in ast.literal_eval(node.args[1]).items() for name in names}
    return {}


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


_AT_START = {path: _file_hash(path) for path in Path(__file__).parent.rglob("*.py")}
"""The files of amemlib as they were before any other room was imported."""
