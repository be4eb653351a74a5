"""A text that every Python brings along: its own documentation, under the licence of the Python Software Foundation.

The topics of `pydoc_data` and then the docstrings of the standard library, read and not imported. It differs between
versions of Python, so whoever trains on it stores the version and the digest of the words.
"""

import ast
import functools
import hashlib
import itertools
import platform
import re
import sysconfig
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_LEFT_OUT = {"site-packages", "test", "tests", "idlelib", "lib2to3", "turtledemo", "pydoc_data"}
_PIECE, _HELD_OUT = 500, 8


@dataclass(frozen=True, eq=False)
class Text:
    """Words as numbers by frequency, the last one for all that are rarer; every eighth piece of 500 is held out.

    train, test: (n,) int64. origin: version of Python, digest of all words, and how many.
    """

    train: np.ndarray
    test: np.ndarray
    origin: dict


@functools.cache
def documentation(n_words: int, vocabulary: int) -> Text:
    """The first `n_words` words of Python's documentation over the `vocabulary` − 1 most frequent words of training."""
    words = (word for document in _documents() for word in re.findall("[a-z]+", document.lower()))
    everything = list(itertools.islice(words, n_words))
    pieces = [everything[start : start + _PIECE] for start in range(0, len(everything), _PIECE)]
    train, test = (
        [word for k, piece in enumerate(pieces) if (k % _HELD_OUT == _HELD_OUT - 1) == part for word in piece]
        for part in (False, True)
    )
    ordered = sorted(Counter(train).items(), key=lambda pair: (-pair[1], pair[0]))
    number = {word: k for k, (word, _) in enumerate(ordered[: vocabulary - 1])}
    as_numbers = lambda words: np.array([number.get(word, vocabulary - 1) for word in words], np.int64)
    digest = hashlib.sha256(" ".join(everything).encode()).hexdigest()[:16]
    origin = {"python": platform.python_version(), "digest": digest, "words": len(everything)}
    return Text(as_numbers(train), as_numbers(test), origin)


def bigram_loss(text: Text, vocabulary: int) -> dict[str, float]:
    """Test loss in nats a word of one-word and two-word frequencies of the training part.

    p(w | v) = (n(v, w) + κ p(w)) / (n(v) + κ), with the κ that is best on the test part, to the bigram's advantage.
    """
    single = np.bincount(text.train, minlength=vocabulary) + 1.0
    pairs = np.zeros((vocabulary, vocabulary))
    np.add.at(pairs, (text.train[:-1], text.train[1:]), 1.0)
    p, before, after = single / single.sum(), text.test[:-1], text.test[1:]
    rows = pairs.sum(1)[before]
    losses = [-np.log((pairs[before, after] + k * p[after]) / (rows + k)).mean() for k in 2.0 ** np.arange(11)]
    return {"unigram": float(-np.log(p[after]).mean()), "bigram": float(min(losses))}


def frequency_groups(train: np.ndarray, vocabulary: int, groups: int) -> np.ndarray:
    """(vocabulary,) group of each word, 0 the most frequent: each carries an equal share of the training words.

    The last word, which stands for all others, is in no group: −1.
    """
    counts = np.bincount(train, minlength=vocabulary)[:-1].astype(float)
    middle = (np.cumsum(counts) - counts / 2) / counts.sum()
    return np.append(np.minimum((middle * groups).astype(int), groups - 1), -1)


def _documents() -> Iterator[str]:
    return itertools.chain(_topics(), _docstrings(Path(sysconfig.get_paths()["stdlib"])))


def _topics() -> Iterator[str]:
    from pydoc_data import topics

    yield from (topics.topics[name] for name in sorted(topics.topics))


def _docstrings(root: Path) -> Iterator[str]:
    for path in sorted(root.rglob("*.py")):
        if _LEFT_OUT.isdisjoint(path.relative_to(root).parts):
            try:
                tree = ast.parse(path.read_text(encoding="utf-8"))
            except (SyntaxError, UnicodeDecodeError, ValueError):
                continue
            for node in ast.walk(tree):
                if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                    text = ast.get_docstring(node)
                    if text:
                        yield text
