"""Sphinx extension: what theme and writers leave wrong in a finished page, and a button that downloads its notebook."""

import posixpath
import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

ROLES = re.compile(r' role="(?:list|doc-biblioentry)"')
FORMULA = re.compile(r'[(“]?<span class="math notranslate nohighlight">[^<]*</span>[,.;:!?)”’–-]+')


def declare_thebe_once(app, pagename, templatename, context, doctree) -> None:
    """sphinx-thebe adds its `const` lines twice to every page, and a browser refuses the second."""
    scripts, seen = context.get("script_files", []), set()
    for script in list(scripts):
        body = getattr(script, "attributes", {}).get("body", "")
        if "THEBE_JS_URL" in body:
            if body in seen:
                scripts.remove(script)
            seen.add(body)


def drop_broken_roles(app, pagename, templatename, context, doctree) -> None:
    """The bibliography is a list by ARIA role only, and its entries carry a role that no list may contain."""
    if 'class="citation-list"' in context.get("body", ""):
        context["body"] = ROLES.sub("", context["body"])


def keep_punctuation(app, pagename, templatename, context, doctree) -> None:
    """A formula within a line is a box to the browser, which would begin the next line with the comma behind it."""
    if context.get("body"):
        context["body"] = FORMULA.sub(r'<span class="unbroken">\g<0></span>', context["body"])


def offer_notebook(app, pagename, templatename, context, doctree) -> None:
    """An entry for the chapter's notebook in the page's download menu; the theme knows the .md source only."""
    notebook = Path(app.srcdir, pagename).with_suffix(".ipynb")
    menus = [entry for entry in context.get("header_buttons", []) if entry.get("label") == "download-buttons"]
    if app.builder.name != "html" or not menus or not notebook.exists():
        return
    target = Path(app.outdir, "_sources", pagename).with_suffix(".ipynb")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(notebook, target)
    link = {
        "type": "link",
        "url": posixpath.relpath(f"_sources/{pagename}.ipynb", posixpath.dirname(pagename) or "."),
        "text": ".ipynb",
        "tooltip": "Download the notebook with its outputs",
        "icon": "fas fa-download",
        "label": "download-notebook-button",
    }
    menus[0]["buttons"].insert(0, link)


def write_one_page_like_many(app: Sphinx) -> None:
    """sphinx-exercise registers its nodes for the one-page builder by name, which hides everybody's nodes for HTML."""
    app.registry.translation_handlers.pop("singlehtml", None)


def setup(app: Sphinx) -> dict:
    app.connect("builder-inited", write_one_page_like_many)
    for handler in (declare_thebe_once, drop_broken_roles, keep_punctuation, offer_notebook):
        app.connect("html-page-context", handler, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
