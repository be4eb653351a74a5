"""The page tests build the book, so they come last."""

import json

import pytest

from amemlib.verdicts import word


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name == "test_book.py")


@pytest.fixture
def words():
    """What an experiment says of the results of its cells: the word of each verdict, from plain numbers as stored."""

    def judge(experiment, config, results) -> dict[str, str]:
        measured, predicted = json.loads(json.dumps(experiment.read(config, results)))
        return {name: word(verdict) for name, verdict in experiment.verdicts(config, measured, predicted).items()}

    return judge
