"""The seminar's slides: slides/NAME.md to reveal.js, with figures and statements of the chapters, by their labels.

In a source `---` ends a slide, `Note:` begins what only the speaker reads (add `?showNotes=true` to the address), and
`{{label}}` alone on a line stands for the figure, box or equation of that label: the picture that the chapter's
notebook stores, the words of its source. `make slides` writes them to _build/slides; as a Sphinx extension this adds
them to the book. reveal.js and MathJax are the vendored ones: nothing is loaded from elsewhere.
"""

import base64
import html
import json
import re
import shutil
import sys
from pathlib import Path

import notebooks
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from portable import Block, Book, Cell, Unportable

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "slides"
FOLDER = "slides"
ASSETS = ("reveal", "mathjax", "slides.css", "favicon.svg")
HOME = "chapters/seminar"
"""The page whose relative links the sources use."""
WIDTH = "950px"
"""Of a line of mathematics: a slide that is not shown yet has no width of its own."""
SHOWN = re.compile(r"^\{\{([\w-]+)\}\}$", re.M)
NOTE = re.compile(r"^Note: *", re.M)
TITLE = re.compile(r"^# (.+)$", re.M)
DISPLAY = '<div class="math">\\[{}\\]</div>'
MATHEMATICS = {"math_inline": r"\({}\)", "math_inline_double": DISPLAY, "math_block": DISPLAY}
PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="{assets}/favicon.svg">
<link rel="stylesheet" href="{assets}/reveal/reveal.css">
<link rel="stylesheet" href="{assets}/slides.css">
</head>
<body>
<main><div class="reveal"><div class="slides">
{slides}
</div></div></main>
<script>window.MathJax = {mathjax};</script>
<script src="{assets}/{script}"></script>
<script src="{assets}/reveal/reveal.js"></script>
<script>
MathJax.startup.promise.then(() => Reveal.initialize({{
  hash: true, slideNumber: "c/t", width: 1120, height: 700, margin: 0.04, center: false, transition: "none",
}})).then(() => {{ document.documentElement.dataset.fitted = "yes"; }});
</script>
</body>
</html>
"""


def sources() -> list[Path]:
    """The decks, by name."""
    return sorted(SOURCES.glob("*.md"))


class Deck:
    """One source on its way to a page: `links` is where the book's pages are, seen from the slides."""

    def __init__(self, book: Book, source: Path, links: str):
        self.book, self.source, self.links = book, source, links
        self.text = source.read_text(encoding="utf-8")
        self.title = TITLE.search(self.text)[1]
        self.pictures: dict[str, bytes] = {}
        self.markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
        dollarmath_plugin(self.markdown, double_inline=True)
        for kind, form in MATHEMATICS.items():
            rule = lambda _, tokens, at, *rest, form=form: form.format(html.escape(tokens[at].content))  # noqa: E731
            self.markdown.add_render_rule(kind, rule)

    def slides(self) -> list[str]:
        """A section for every slide."""
        found, line = [], 1
        for text in re.split(r"^---\n", self.text, flags=re.M):
            shown, *notes = NOTE.split(text)
            body = self.rendered(shown, line)
            aside = f'\n<aside class="notes">{self.rendered(notes[0], line)}</aside>' if notes else ""
            found.append(f"<section>\n{body}{aside}\n</section>")
            line += text.count("\n") + 1
        return found

    def rendered(self, text: str, line: int) -> str:
        plain, parts = SHOWN.split(text), []
        for at, part in enumerate(plain):
            if at % 2:
                parts.append(self.shown(part))
            else:
                try:
                    parts.append(self.html(self.book.portable(part, HOME, line)))
                except Unportable as error:
                    raise Unportable(f"{self.source.name}: {error}") from None
        return "\n".join(parts)

    def html(self, plain: str) -> str:
        """HTML of a notebook's Markdown; a link to the book is one to the book beside the slides."""
        return self.markdown.render(plain).replace(f'href="{self.book.address}/', f'href="{self.links}/')

    def shown(self, label: str) -> str:
        """What a label stands for; `Unportable` for one that the book does not have."""
        if label not in self.book.targets:
            raise Unportable(f"{self.source.name}: no label {label!r} in the book")
        target = self.book.targets[label]
        if target.kind == "figure":
            return self.figure(label)
        cell, block, line = statement(self.book, label)
        link = f"\n\n[{target.words} in the book]({self.book.url(target.page, target.anchor)})"
        plain = cell.equation(block, line) if block.kind == "math" else cell.directive(block, line) + link
        return f'<div class="quoted">{self.html(plain)}</div>'

    def figure(self, label: str) -> str:
        target = self.book.targets[label]
        picture, alt, caption = stored_figure(self.book, target.page, label)
        self.pictures[f"{label}.png"] = picture
        words = self.html(f"[{target.words}]({self.book.url(target.page, target.anchor)}). {caption}")
        return (
            f'<figure><img src="images/{label}.png" alt="{html.escape(alt)}"><figcaption>{words}</figcaption></figure>'
        )


def statement(book: Book, label: str) -> tuple[Cell, Block, int]:
    """The box or equation with this label, and the line of its page from which its own lines count."""
    page = book.targets[label].page

    def search(text: str, line: int):
        for block in book.blocks(text):
            if (block.kind == "math" and block.argument == label) or block.options.get("label") == label:
                return block, line
            if block.kind == "directive" and (found := search(block.body, line + block.body_start)):
                return found
        return None

    found = search((book.root / f"{page}.md").read_text(encoding="utf-8"), 1)
    if found is None:
        raise Unportable(f"{page}.md: {label!r} is neither a box nor an equation nor a figure")
    return Cell(book, page), *found


def stored_figure(book: Book, page: str, label: str) -> tuple[bytes, str, str]:
    """The picture that the page's notebook stores for a label, its words for who cannot see it, and its caption."""
    source = book.root / f"{page}.md"
    chapter = notebooks.read_myst_markdown_notebook(source.read_text(encoding="utf-8"), path=source)
    cells = [cell for cell in chapter.cells if cell.cell_type == "code"]
    stored = notebooks.code_cells(notebooks.read(source.with_suffix(".ipynb")), generated=False)
    for cell, ran in zip(cells, stored, strict=True):
        options = cell.metadata.get("mystnb", {})
        if options.get("figure", {}).get("name") == label:
            [picture] = [out.data["image/png"] for out in ran.outputs if "image/png" in out.get("data", {})]
            caption = book.portable(options["figure"]["caption"], page)
            return base64.b64decode(picture), options["image"]["alt"].strip(), caption
    raise Unportable(f"{page}.md has no cell that draws {label!r}")


def write(folder: Path, assets: str, links: str) -> list[Path]:
    """All decks into `folder`; `assets` and `links` are where the scripts and the book's pages are, seen from there."""
    book = Book(ROOT)
    settings = book.config["sphinx"]["config"]
    breaks = settings["mathjax3_config"]["output"]["linebreaks"] | {"width": WIDTH}
    mathjax = settings["mathjax3_config"] | {"output": {"displayOverflow": "linebreak", "linebreaks": breaks}}
    (folder / "images").mkdir(parents=True, exist_ok=True)
    written = []
    for source in sources():
        deck = Deck(book, source, links)
        page = PAGE.format(
            title=html.escape(deck.title.replace("$", "")),
            assets=assets,
            script=settings["mathjax_path"],
            mathjax=json.dumps(mathjax),
            slides="\n".join(deck.slides()),
        )
        written.append(folder / f"{source.stem}.html")
        written[-1].write_text(page, encoding="utf-8")
        for name, picture in deck.pictures.items():
            (folder / "images" / name).write_bytes(picture)
    return written


def write_alone(folder: Path) -> list[Path]:
    """The decks and everything that they load, in a folder of their own beside the book's."""
    for name in ASSETS:
        source, copy = ROOT / "assets" / name, folder / "_static" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, copy)
    return write(folder, "_static", "../html")


def add_to_book(app, error) -> None:
    if error is None and app.builder.name == "html":
        write(Path(app.outdir) / FOLDER, "../_static", "..")


def setup(app) -> dict:
    app.connect("build-finished", add_to_book)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    try:
        print(*(path.relative_to(ROOT) for path in write_alone(ROOT / "_build" / FOLDER)), sep="\n")
    except Unportable as error:
        sys.exit(str(error))
