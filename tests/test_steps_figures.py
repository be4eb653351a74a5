"""Schematics say what they are told, and a wrong name or a circle is an error."""

import matplotlib.pyplot as plt
import pytest

from amembook.paper import steps

BOXES = {"a": (0.2, 0, "premise"), "b": (0.8, 0, "other"), "c": (0.5, 1, "claim")}


def test_every_box_and_every_arrow_is_drawn():
    figure = steps.dependencies_figure(BOXES, [("a", "c"), ("b", "c")])
    words = [text.get_text() for text in figure.axes[0].texts]
    assert words == ["premise", "other", "claim", "", ""]
    plt.close(figure)


@pytest.mark.parametrize(
    ("arrow", "complaint"), [(("a", "x"), "'x'.*a, b, c"), (("c", "a"), "down.*'c' to 'a'"), (("a", "b"), "down")]
)
def test_an_arrow_from_nowhere_or_upwards_is_an_error(arrow, complaint):
    with pytest.raises(ValueError, match=complaint):
        steps.dependencies_figure(BOXES, [arrow])
    plt.close("all")


def test_a_life_shows_its_logits_and_what_is_left():
    life = {"own": (1.0, 3.0), "rival": (2.0, 2.5), "free_energy": (4.0, 4.5), "left": (0.95, 0.82)}
    figure = steps.item_lives_figure({"item 7": life, "item 9": life})
    assert [axis.get_title() for axis in figure.axes] == ["item 7", "item 9"]
    assert [tuple(line.get_ydata()) for line in figure.axes[0].lines] == list(life.values())[:3]
    assert [text.get_text() for text in figure.axes[0].texts] == ["0.95", "0.82"]
    plt.close(figure)
