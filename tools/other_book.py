"""Sphinx extension: links to pages and labels of another book, which this book's build does not know.

They are written as in one book, `[words](../companions/chapters/induction.md)` or a role with a label. What no book has
is left to Sphinx, which complains.
"""

from functools import partial
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

from docutils import nodes
from portable import Book, Target
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
ROLES = ("eq", "numref", "ref", "term", "myst")


def elsewhere(book: Book, node: pending_xref) -> Target | None:
    """What a reference names if that stands in another book."""
    role, label, anchor = node["reftype"], node["reftarget"], None
    if role not in ROLES:
        return None
    if node["refdomain"] == "doc":
        label, anchor = "page:" + normpath(join(book.name, label)), node["reftargetid"]
    if label in book.targets:
        return None
    page = book.find(f"term:{label.lower()}" if role == "term" else label)
    place = book.find(anchor) if page and anchor else page
    return place if place and place.page == page.page else None


def lead_over(book: Book, app: Sphinx, doctree: nodes.document) -> None:
    """Their references become links, relative ones on pages of their own."""
    here = dirname(join(book.name, app.env.docname))
    for node in list(doctree.findall(pending_xref)):
        if target := elsewhere(book, node):
            address = book.url(target.page, target.anchor)
            if app.builder.name == "html":
                address = relpath(f"{target.page}.html", here) + f"#{target.anchor}".rstrip("#")
            words = target.shown(node["reftype"], node.astext() if node["refexplicit"] else "")
            link = nodes.reference("", "", internal=True, refuri=address)
            link += node.children if node["refexplicit"] and "%s" not in node.astext() else nodes.inline("", words)
            node.replace_self(link)


def setup(app: Sphinx) -> dict:
    book = Book(ROOT, relpath(app.srcdir, ROOT).removeprefix("."))
    app.connect("doctree-read", partial(lead_over, book))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
