"""Schematics say what they are told, and a wrong name or a circle is an error."""

import matplotlib.pyplot as plt
import pytest

from amembook.paper import steps

BOXES = {"a": (0.2, 0, "premise"), "b": (0.8, 0, "other"), "c": (0.5, 1, "claim")}


@pytest.mark.parametrize(
    ("arrow", "complaint"), [(("a", "x"), "'x'.*a, b, c"), (("c", "a"), "down.*'c' to 'a'"), (("a", "b"), "down")]
)
def test_an_arrow_from_nowhere_or_upwards_is_an_error(arrow, complaint):
    with pytest.raises(ValueError, match=complaint):
        steps.dependencies_figure(BOXES, [arrow])
    plt.close("all")
