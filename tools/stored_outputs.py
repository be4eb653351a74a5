"""Sphinx extension: the pages show the outputs stored in the notebooks beside them, and nothing is executed.

A chapter without trustworthy outputs is a warning, which the strict build turns into an error.
"""

from pathlib import Path

import myst_nb.sphinx_
import notebooks
from myst_nb.core.execute import NotebookClientBase
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def stored_client(notebook, source, nb_config, nb_logger, read_fmt=None) -> NotebookClientBase:
    """In the place of myst-nb's choice among executing clients: one that reads the chapter's notebook."""
    path = Path(source).with_suffix(".ipynb")
    reasons = ["has no notebook"]
    if path.exists():
        stored = notebooks.read(path)
        cells, ran = notebooks.code_cells(notebook), notebooks.code_cells(stored, generated=False)
        if [cell.source for cell in cells] != [cell.source for cell in ran]:
            reasons = ["its notebook holds other code"]
        else:
            reasons = notebooks.faults(stored, notebooks.ROOT)
            for cell, old in zip(cells, ran, strict=True):
                cell.outputs, cell.execution_count = old.outputs, old.execution_count
            notebook.metadata["language_info"] = stored.metadata.language_info
    for fault in reasons:
        logger.warning("%s: run `make notebooks`", fault, location=f"{source}:1")
    return NotebookClientBase(notebook, Path(source), nb_config, nb_logger)


def depend_on_notebook(app: Sphinx, docname: str, source: list[str]) -> None:
    path = Path(app.srcdir, docname).with_suffix(".ipynb")
    if path.exists():
        app.env.note_dependency(str(path))


def setup(app: Sphinx) -> dict:
    myst_nb.sphinx_.create_client = stored_client
    app.connect("source-read", depend_on_notebook)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
