"""Make amembook/tables/python-bigrams.npz from the texts of a Python distribution, version 3.11.7.

    python3.11 -m amembook.practice.bigrams.make_table

The text is what `help()` of CPython's standard library says: the topics of `pydoc_data` and the docstrings of all
modules that are neither tests nor third-party. Words are runs of letters, in lower case. Kept are the `N_WORDS` most
frequent words and how often each follows each, inside one docstring and with no other word between. Another version
has other texts, so that this runs once, by hand.
"""

import ast
import platform
import re
import sysconfig
from collections import Counter
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np

TARGET = Path(__file__).resolve().parents[2] / "tables" / "python-bigrams.npz"
VERSION = "3.11.7"
N_WORDS = 2048
LEFT_OUT = {"test", "tests", "idle_test", "site-packages", "__pycache__", "ensurepip"}


def docstrings(path: Path) -> list[str]:
    """The docstrings of a module, its classes and functions, in their order."""
    try:
        tree = ast.parse(path.read_bytes())
    except SyntaxError:
        # templates of lib2to3 and the like
        return []
    kinds = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    return [text for node in ast.walk(tree) if isinstance(node, kinds) and (text := ast.get_docstring(node))]


def texts() -> list[str]:
    """Every text by itself, those of the modules in the order of their paths."""
    library = Path(sysconfig.get_path("stdlib"))
    modules = sorted(path for path in library.rglob("*.py") if not LEFT_OUT & set(path.relative_to(library).parts))
    return [topics[name] for name in sorted(topics)] + [text for path in modules for text in docstrings(path)]


def counted(texts: list[str], n_words: int) -> tuple[list[str], Counter]:
    """The most frequent words, ties in the order of the alphabet, and the pairs of them that follow each other."""
    words = [re.findall(r"[a-z]+", text.lower()) for text in texts]
    number = Counter(word for text in words for word in text)
    kept = sorted(number, key=lambda word: (-number[word], word))[:n_words]
    rank = {word: k for k, word in enumerate(kept)}
    pairs = Counter(pair for text in words for pair in zip(text, text[1:], strict=False) if set(pair) <= rank.keys())
    return kept, Counter({(rank[a], rank[b]): n for (a, b), n in pairs.items()})


def main() -> None:
    if platform.python_version() != VERSION:
        raise ValueError(f"python must be {VERSION}, got {platform.python_version()}")
    words, pairs = counted(texts(), N_WORDS)
    first, second, number = np.array([[a, b, n] for (a, b), n in sorted(pairs.items())]).T
    np.savez_compressed(
        TARGET,
        words=np.array(words),
        first=first.astype(np.uint16),
        second=second.astype(np.uint16),
        number=number.astype(np.uint16),
    )
    print(f"{TARGET}: {len(number)} pairs, {number.sum()} in all, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
