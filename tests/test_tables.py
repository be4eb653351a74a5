"""A table shows its cells, in a terminal and on a page, and refuses rows and bold cells that it does not have."""

import pytest

from amembook import Table

TABLE = Table(("d", "items <N"), (("64", "80"), ("128", "3")), {(0, 1)})


def test_it_says_in_a_terminal_what_it_says_on_a_page():
    assert repr(TABLE).split() == ["d", "items", "<N", "64", "80", "128", "3"]
    assert len({len(line) for line in repr(TABLE).splitlines()}) == 1
    page = TABLE._repr_html_()
    assert page.count("<tr>") == 3 and page.count("<b>") == 1 and "<b>80</b>" in page and "items &lt;N" in page


@pytest.mark.parametrize(
    ("rows", "bold", "told"),
    [((("1",),), set(), "as many cells as the head, 2; got 1"), ((("1", "2"),), {(1, 0)}, r"got \(1, 0\)")],
)
def test_what_does_not_fit_is_refused(rows, bold, told):
    with pytest.raises(ValueError, match=told):
        Table(("a", "b"), rows, bold)
