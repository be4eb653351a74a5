"""The hash of code and of all that it imports from amemlib: what decides whether a stored result is still good.

A room of its own that imports nothing but the standard library: who checks notebooks or pages has no torch at hand.
"""

import ast
import functools
import hashlib
from pathlib import Path


@functools.cache
def code_hash(module: str = "") -> str:
    """Fingerprint of the library, or of one module ("amemlib.experiments.loss") and all that it imports from amemlib.

    Of the syntax trees without docstrings and comments: prose does not change it.
    """
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for path in sorted(_imported_files(root, module) if module else root.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                node.body = [statement for statement in body if not _is_docstring(statement)] or [ast.Pass()]
        digest.update(path.relative_to(root).as_posix().encode() + ast.unparse(tree).encode())
    return digest.hexdigest()[:16]


def _imported_files(root: Path, module: str) -> set[Path]:
    """The files of amemlib that importing `module` needs, `__init__` of the packages on the way left out."""
    files, open_modules = set(), [module]
    while open_modules:
        path = root.joinpath(*open_modules.pop().split(".")[1:])
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if path in files:
            continue
        files.add(path)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "amemlib":
                folder = root.joinpath(*node.module.split(".")[1:])
                inner = [alias.name for alias in node.names if (folder / alias.name).is_dir()]
                inner += [alias.name for alias in node.names if (folder / f"{alias.name}.py").exists()]
                open_modules += [f"{node.module}.{name}" for name in inner]
                open_modules += [node.module] if len(inner) < len(node.names) else []
    return files


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
