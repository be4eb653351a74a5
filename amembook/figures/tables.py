"""Numbers as a table: of words in a terminal, of HTML on a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Table:
    """A head and rows of cells that are already words; a cell in `bold` (row, column, from 0) is the one that matters.

    The last expression of a cell shows it; it is no data frame and computes nothing.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    bold: frozenset[tuple[int, int]] | set[tuple[int, int]] = frozenset()

    def __post_init__(self):
        for row in self.rows:
            if len(row) != len(self.head):
                raise ValueError(f"a row has as many cells as the head, {len(self.head)}; got {len(row)}: {list(row)}")
        for row, column in self.bold:
            if not (0 <= row < len(self.rows) and 0 <= column < len(self.head)):
                raise ValueError(f"bold cells are (row, column) of the table; got {(row, column)}")

    def __repr__(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.head, *self.rows, strict=True)]
        lines = ("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
                 for row in (self.head, *self.rows))  # fmt: skip
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.head)
        body = ""
        for i, row in enumerate(self.rows):
            cells = (f"<b>{escape(cell)}</b>" if (i, k) in self.bold else escape(cell) for k, cell in enumerate(row))
            body += f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        return f'<table class="dataframe"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
