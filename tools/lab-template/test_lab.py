"""The mathematics of the lab `lab-name`. `made_up` and `FLAWS` are read by the contract over all labs."""

import dataclasses

import pytest
from amemlib.labs.lab_name import judge

from amemlib.labs import lab_name


def made_up():
    """Config, measured and predicted numbers that agree."""
    config = dataclasses.replace(lab_name.EXPERIMENT.profiles["cpu"], counts=(100, 1000), first_seed=3000)
    law = {"maximum": [2.5, 3.25], "limit": [3.0, 3.7]}
    return config, {"maximum": [2.5, 3.25], "maximum_error": [0.01, 0.01]}, law


FLAWS = [
    (("maximum", 0), 2.0, "maximum", "undecided"),
    (("maximum",), [2.0, 2.0], "maximum", "not reproduced"),
]
"""Where in the measured numbers of `made_up`, what, and the word that this verdict then has."""


def test_a_config_that_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="counts"):
        dataclasses.replace(lab_name.EXPERIMENT.profiles["smoke"], counts=(10, 5))


def test_the_bands_are_narrower_than_the_rivals_distance():
    assert judge.RATIO_BAND < 1 - 2**-0.5
