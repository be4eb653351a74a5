"""Sphinx extension: the seminar's slides (extras/slides/*.md) as pages, a screen each, which needs no Node."""

import json
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]


def write(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.name != "html" or Path(app.srcdir) != ROOT:
        return
    tex = lambda text, how: rf"\[{escape(text)}\]" if how["display_mode"] else rf"\({escape(text)}\)"
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table").use(dollarmath_plugin, renderer=tex)
    math = json.dumps({key: value for key, value in app.config.mathjax3_config.items() if key != "startup"})
    folder = Path(app.outdir, "slides")
    folder.mkdir(exist_ok=True)
    for deck in (ROOT / "extras" / "slides").glob("*.md"):
        # what stands before the second line is for Marp
        _, _, *slides = deck.read_text(encoding="utf-8").split("---\n")
        fields = {"title": slides[0].strip().partition("\n")[0].removeprefix("# "), "math": math}
        fields["slides"] = "\n".join(f"<section>\n{markdown.render(slide)}</section>" for slide in slides)
        page = app.builder.templates.render("slides.html", fields | {"mathjax": app.config.mathjax_path})
        (folder / f"{deck.stem}.html").write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> dict:
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
