"""Sphinx extension: the library's reference, from its docstrings, and links to it from the chapters' prose.

Docstrings are plain text with formulas laid out by hand, not reStructuredText: the first line becomes a paragraph, the
rest keeps its lines.
"""

import inspect
import re
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

NAME = re.compile(r"(?:(?:am|amemlib)\.)?([a-z]\w*(?:\.\w+)*)(?:\(.*\))?$")
MARGIN = 95


def keep_lines(app, what, name, obj, options, lines: list[str]) -> None:
    if not lines:
        return
    first = re.sub(r"`([^`]+)`", r"``\1``", re.sub(r"([\\*|_])", r"\\\1", lines[0]))
    # a backslash has no power between double backticks
    first = re.sub(r"``[^`]+``", lambda match: match[0].replace("\\", ""), first)
    rest = "\n".join(unwrapped(lines[1:])).strip("\n")
    lines[:] = [first, ""]
    if rest:
        lines += [".. code-block:: text", "   :class: docstring", "", *("   " + line for line in rest.split("\n")), ""]


def unwrapped(lines: list[str]) -> list[str]:
    """Lines broken at the source's margin joined again: the page breaks them at its own."""
    joined: list[str] = []
    previous = 0
    for line in lines:
        if line.strip() and previous > MARGIN:
            joined[-1] += " " + line.strip()
        else:
            joined.append(line)
        previous = len(line)
    return joined


def skip_repeated(app, what, name, obj, skip, options) -> bool | None:
    """Fields of a dataclass stand in its docstring already, and tables of data in no docstring at all."""
    return True if what == "class" and not callable(obj) and not isinstance(obj, property | classmethod) else None


def link_names(app: Sphinx, doctree) -> None:
    """`am.polar` or `am.spectral.polar` in the prose of a chapter leads to its entry in the reference."""
    import amemlib

    for literal in list(doctree.findall(nodes.literal)):
        match = NAME.match(literal.astext())
        inside = literal.parent
        if not match or "." not in literal.astext() or isinstance(inside, nodes.reference | pending_xref | nodes.title):
            continue
        found = amemlib
        for part in match[1].split("."):
            found = getattr(found, part, None)
        if inspect.isfunction(found) or inspect.isclass(found):
            room = found.__module__.split(".")[1]
            target = f"amemlib.{room}.{found.__name__}"
            link = pending_xref("", refdomain="py", reftype="obj", reftarget=target, refexplicit=True, refwarn=False)
            link["refdoc"] = app.env.docname
            literal.replace_self(link)
            link += literal


def setup(app: Sphinx) -> dict:
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", keep_lines)
    app.connect("autodoc-skip-member", skip_repeated)
    app.connect("doctree-read", link_names)
    app.connect("env-before-read-docs", read_again)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def read_again(app: Sphinx, env, docnames: list[str]) -> None:
    """The reference depends on the library's files, which are no part of the book's sources."""
    page = "chapters/api"
    if page in env.found_docs and page not in docnames and Path(app.srcdir, "amemlib").exists():
        docnames.append(page)
