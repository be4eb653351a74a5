"""A lab begun from the template keeps the labs' contract as it is, apart from record, row and table of contents."""

import dataclasses
import importlib
import sys

import new_lab
import pytest

from amemlib import labs
from amemlib.verdicts import REPRODUCED, word


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """The lab `trial-run` in a folder of its own that joins the labs."""
    root = tmp_path_factory.mktemp("house")
    new_lab.begin(root, "trial-run")
    folders = [str(root / "amemlib" / "labs"), str(root / "tests" / "labs")]
    labs.__path__.append(folders[0])
    sys.path.append(folders[1])
    yield root
    labs.__path__.remove(folders[0])
    sys.path.remove(folders[1])


def test_it_runs_and_its_verdict_can_be_right_and_wrong(begun, flawed):
    lab, tests = importlib.import_module("amemlib.labs.trial_run"), importlib.import_module("test_trial_run")
    config, measured, predicted = tests.made_up()
    assert word(lab.EXPERIMENT.verdicts(config, measured, predicted)["maximum"]) == REPRODUCED
    for address, value, name, said in tests.FLAWS:
        worse = flawed(measured, address, value)
        assert word(lab.EXPERIMENT.verdicts(config, worse, predicted)[name]) == said
    config = lab.EXPERIMENT.profiles["cpu"]
    results = [cell.function(**cell.arguments) for cell in lab.EXPERIMENT.cells(config, "cpu")]
    measured, predicted = lab.EXPERIMENT.read(config, results)
    assert lab.EXPERIMENT.verdicts(config, measured, predicted)["maximum"]["sizes"] == "met"
    record = {"config": dataclasses.asdict(config), "measured": measured, "predicted": predicted}
    figures = importlib.import_module("amemlib.labs.trial_run.figures")
    assert figures.maximum_figure(record).axes[0].lines


def test_no_name_of_the_template_is_left(begun):
    texts = [path.read_text() for path in begun.rglob("*") if path.is_file() and path.suffix in (".py", ".md")]
    assert len(texts) == 6 and not any("lab_name" in text or "lab-name" in text for text in texts)


@pytest.mark.parametrize("name", ["trial-run", "Trial", "a b", ""])
def test_a_name_that_is_taken_or_none_is_refused(begun, name):
    with pytest.raises(ValueError, match="name must be"):
        new_lab.begin(begun, name)
