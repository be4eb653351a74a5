"""Sphinx extension: what theme and writers leave wrong in a finished page, what describes it, and its notebook."""

import json
import re
import shutil
import unicodedata
from html import escape
from os.path import relpath
from pathlib import Path
from urllib.parse import urlencode

from docutils import nodes
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from portable import PAPERS, Book
from sphinx.application import Sphinx
from sphinx.environment.collectors.toctree import TocTreeCollector
from sphinx_proof.nodes import unenumerable_node

SECOND_NAME = re.compile(r'(<p class="admonition-title") id="[^"]*">')
BOX_ID = re.compile(r' id="(?:proof|exercise|solution)-content"|(?<=<div class="proof admonition") id="proof"')
ROLES = re.compile(r' role="(?:list|doc-biblioentry)"')
TEACHES = re.compile(r"You learn: (.+?\.)(?= Reading time|$)")
SNIPPET = 200
CSS_DOTS = 110
"""Pixels of a page that an inch of a figure takes."""
NARROW = 600
"""The widest page, in pixels, that stacks the panels of a figure."""
PICTURE = re.compile(r'<img\b[^>]*\bsrc="(?P<folder>[^"]*_images/)(?P<name>[^"/]+\.png)"[^>]*>')
STACKED = re.compile(r"(?P<picture><picture>(?:(?!</figure>).)*?)(?P<caption><figcaption>.*?</figcaption>)", re.DOTALL)
SIDE = re.compile(r"(?<!\\)\b(?P<side>left|right)(?=[:,)])", re.IGNORECASE)
STACKED_ID = re.compile(r'<figure\b[^>]*\bid="([^"]+)"[^>]*>(?=(?:(?!</figure>).)*?<picture>)', re.DOTALL)
MENTION = re.compile(r'(?P<before>href="#(?P<figure>[^"]+)">(?:(?!</a>).)*</a>(?:,| \() ?)(?P<side>left|right)\b')
BELOW = {"left": "upper", "right": "lower", "Left": "Upper", "Right": "Lower"}
"""A caption's and its page's word for a panel, and what it is where the panels stand below one another."""
PREVIEW = "who-shouts.png"
GREEK = "alpha beta gamma delta epsilon eta theta kappa lamda mu nu xi rho sigma tau phi chi psi omega".split()
SIGNS = "le ≤ ge ≥ ll ≪ gg ≫ ne ≠ approx ≈ propto ∝ to → times × sqrt √ sum Σ cdot · infty ∞ dots … ell ℓ log log"
LETTERS = {name.replace("lamda", "lambda"): unicodedata.lookup(f"GREEK SMALL LETTER {name}") for name in GREEK}
LETTERS |= dict(zip(*[iter(SIGNS.split())] * 2, strict=True)) | {"varepsilon": "ε", "varrho": "ϱ", "E": "E"}
SPACED = "≤≥≪≫≠≈∝→"
"""What a formula's commands are where nothing typesets them."""
ROOT = Path(__file__).resolve().parents[1]
SLIDES = ROOT / "extras" / "slides"
SLIDE_PICTURE = re.compile(r"_images/([\w-]+)\.png")
PLAIN_CODE = re.compile(r'<span class="(?:n|nn|p|w)">([^<]*)</span>')
CELL = re.compile(r"<td>.*?</td>", re.DOTALL)
SIGNATURE = re.compile(r'<dt class="sig .*?</dt>', re.DOTALL)
SIGNATURE_PIECE = re.compile(r'<span class="pre">([^<]*)</span>')
VERDICT = re.compile(r'(<span class="verdict [^>]*)>([^<]+)<')
EVIDENCE = (ROOT / "chapters" / "evidence.md").read_text(encoding="utf-8")
MEANING = {word.lower(): meaning for word, meaning in re.findall(r"^- \*([\w ]+)\*: (.+)$", EVIDENCE, re.MULTILINE)}
"""What a verdict's word means."""
FORMULA = re.compile(r'[(“]?<span class="math notranslate nohighlight">[^<]*</span>[,.;:!?)”’–-]+')


def drop_unused(app, pagename, templatename, context, doctree) -> None:
    """Scripts and styles that every page is given stay where one uses them: those of sphinx-thebe nowhere."""
    body, unused = context.get("body", ""), ["thebe"]
    unused += [] if 'class="sd-' in body else ["sphinx-design", "design-tabs"]
    unused += [] if "math notranslate" in body else ["MathJax", "mathjax"]
    for kind in ("script_files", "css_files"):
        context[kind] = [one for one in context.get(kind, []) if not any(name in str(vars(one)) for name in unused)]


def drop_silent_cells(app, doctree) -> None:
    """Folded cells that show nothing, imports and preparations, stand in the notebook and in the source only."""
    for cell in list(doctree.findall(nodes.container)):
        if {"cell", "tag_hide-input"} <= set(cell["classes"]):
            if not any("cell_output" in part.get("classes", []) for part in cell.children):
                cell.parent.remove(cell)


def number_by_the_paper(app, doctree) -> None:
    """A box that is the paper's has the paper's number, and so have the words of a reference to it."""
    for box in doctree.findall(unenumerable_node):
        title = box[0]
        paper = PAPERS.fullmatch(title.astext().strip().removeprefix("(").removesuffix(")"))
        if paper:
            words = next(title.findall(nodes.Text))
            words.parent.replace(words, nodes.Text(words.replace(f"({paper[1]} ", "(")))
            box["realtype"] = app.env.proof_list[box["label"]]["realtype"] = paper[1].lower()


def close_up(app, doctree, docname) -> None:
    """sphinx-proof ends the words of a reference to a box without a number of its own by a space."""
    for link in doctree.findall(nodes.reference):
        words = link[-1] if len(link) else None
        if isinstance(words, nodes.Text) and words != words.rstrip():
            link.replace(words, nodes.Text(words.rstrip()))


def drop_second_name(app, pagename, templatename, context, doctree) -> None:
    """The title of such a box repeats the box's id."""
    if context.get("body"):
        context["body"] = SECOND_NAME.sub(r"\g<1>>", context["body"])


def drop_broken_roles(app, pagename, templatename, context, doctree) -> None:
    """The bibliography is a list by ARIA role only, and its entries carry a role that no list may contain."""
    if 'class="citation-list"' in context.get("body", ""):
        context["body"] = ROLES.sub("", context["body"])


def keep_punctuation(app, pagename, templatename, context, doctree) -> None:
    """A formula within a line is a box to the browser, which would begin the next line with the comma behind it."""
    if context.get("body"):
        context["body"] = FORMULA.sub(r'<span class="unbroken">\g<0></span>', context["body"])


def drop_plain_spans(app, pagename, templatename, context, doctree) -> None:
    """Names, marks and spaces in code have the colour of all code: their spans are a third of a page of the library."""
    signatures = SIGNATURE.sub(lambda match: SIGNATURE_PIECE.sub(r"\g<1>", match[0]), context.get("body", ""))
    # in a cell of a table words of code break anyway (assets/book.css)
    merged = CELL.sub(lambda cell: cell[0].replace('</span> <span class="pre">', " "), signatures)
    context["body"] = PLAIN_CODE.sub(r"\g<1>", merged)


def drop_repeated_ids(app, pagename, templatename, context, doctree) -> None:
    """All boxes of sphinx-proof and sphinx-exercise have the same id inside, to which nothing leads."""
    if context.get("body"):
        context["body"] = BOX_ID.sub("", context["body"])


def ask_by_form(app, pagename, templatename, context, doctree) -> None:
    """*Open issue* leads to the form for wrong statements, and names the page with its book's folder."""
    book = Path(relpath(app.srcdir, ROOT), pagename).as_posix()
    asked = urlencode({"template": "wrong-statement.yml", "title": f"{book}: "})
    for menu in context.get("header_buttons", []):
        for button in menu.get("buttons", []):
            if button.get("label") == "source-issues-button":
                button["url"] = f"{app.config.html_theme_options['repository_url']}/issues/new?{asked}"


def explain_words(app, pagename, templatename, context, doctree) -> None:
    """A verdict shows under the pointer what its word means, as Evidence defines it."""
    context["body"] = VERDICT.sub(lambda word: f'{word[1]} title="{MEANING[word[2]]}">{word[2]}<', context["body"])


def copy_notebook(app, pagename, templatename, context, doctree) -> None:
    """The theme links to the notebook beside a chapter's source, and copies the source only."""
    notebook = Path(app.srcdir, pagename).with_suffix(".ipynb")
    if app.builder.name == "html" and notebook.exists():
        target = Path(app.outdir, "_sources", pagename).with_suffix(".ipynb")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(notebook, target)


def describe(app, pagename, templatename, context, doctree) -> None:
    """What search engines and previews show of a page: its title, what it teaches or how it begins, a picture."""
    if doctree is None or app.builder.name != "html":
        return
    paragraphs = [" ".join(one.astext().split()) for one in doctree.findall(nodes.paragraph)]
    teaches = next((match[1] for text in paragraphs if (match := TEACHES.search(text))), None)
    text = teaches or next((text for text in paragraphs if len(text) > 40), app.config.html_title)
    text = plain(text)
    text = text[:1].upper() + (text if len(text) <= SNIPPET else text[:SNIPPET].rpartition(" ")[0] + " …")[1:]
    base = app.config.html_baseurl
    main = base.removesuffix(f"{Path(app.srcdir).name}/")
    values = {
        "description": text,
        "og:title": plain(re.sub("<[^>]+>", "", context["title"])),
        "og:description": text,
        "og:type": "article",
        "og:url": f"{base}{pagename}.html",
        "og:image": f"{main}_static/{PREVIEW}",
        "twitter:card": "summary_large_image",
    }
    lines = (
        f'<meta {"property" if name.startswith("og:") else "name"}="{name}" content="{escape(value, quote=True)}">'
        for name, value in values.items()
    )
    context["metatags"] = context.get("metatags", "") + "\n".join(lines)


def plain(text: str) -> str:
    """`text` with its formulas in letters, for a preview typesets none. A command without a letter keeps its backslash,
    which no page may show.
    """
    text = re.sub(r"\\(?:[^A-Za-z]|(?:left|right|text|operatorname)\b)", "", text)
    text = re.sub(r"\\([A-Za-z]+) ?", lambda command: LETTERS.get(command[1], command[0]), text)
    return re.sub(rf" ?([{SPACED}]) ?", r" \1 ", re.sub(r"[{}$]", "", text))


def size_pictures(app, doctree) -> None:
    """A figure has its size in inches whatever its resolution: more pixels make it sharper, not larger."""
    for image in doctree.findall(nodes.image):
        path = Path(app.srcdir, image["uri"])
        if path.suffix == ".png" and path.exists() and "width" not in image:
            with Image.open(path) as picture:
                dots = picture.info.get("dpi", (CSS_DOTS, 0))[0]
                image["width"] = f"{round(picture.width * CSS_DOTS / dots)}px"


def stack_panels(app, pagename, templatename, context, doctree) -> None:
    """A picture has its shape before it is loaded, which is when it is near. On a phone panels stand below one another:
    a second picture, made of the pieces that the first one names.
    """
    if app.builder.name != "html" or doctree is None:
        return
    sources = {name: Path(app.srcdir, path) for path, name in app.builder.images.items()}

    def stacked(match: re.Match) -> str:
        with Image.open(sources[match["name"]]) as picture:
            width, height = picture.size
            shown = match[0].replace("<img", f'<img loading="lazy" width="{width}" height="{height}"', 1)
            pieces = json.loads(picture.text.get("stacked", "[]"))
            if not pieces:
                return shown
            smallest, dots, colours = picture.text["smallest"], picture.info["dpi"], picture.convert("RGB")
        margin = min(piece[4] for piece in pieces)
        size = (max(x + right - left for left, _, right, _, x, _ in pieces) + margin,
                max(y + bottom - top for _, top, _, bottom, _, y in pieces) + margin)  # fmt: skip
        column = Image.new("RGB", size, "white")
        for *box, x, y in pieces:
            column.paste(colours.crop(box), (x, y))
        said = PngInfo()
        said.add_text("smallest", smallest)
        name = match["name"].replace(".png", "-stacked.png")
        target = Path(app.outdir, "_images", name)
        target.parent.mkdir(exist_ok=True)
        column.quantize(256, dither=Image.Dither.NONE).save(target, optimize=True, dpi=dots, pnginfo=said)
        width, height = size
        source = f'srcset="{match["folder"]}{name}" width="{width}" height="{height}"'
        return f'<picture><source media="(max-width: {NARROW}px)" {source}>{shown}</picture>'

    context["body"] = PICTURE.sub(stacked, context.get("body", ""))
    both = lambda match: match["picture"] + SIDE.sub(both_places, match["caption"])
    context["body"] = STACKED.sub(both, context["body"])
    here = set(STACKED_ID.findall(context["body"]))
    panel = lambda match: f'{match["before"]}<span class="panel">{both_places(match)}</span>'
    named = lambda match: panel(match) if match["figure"] in here else match[0]
    context["body"] = MENTION.sub(named, context["body"])


def both_places(match: re.Match) -> str:
    """What a panel is called, on a desk and where a phone stacks the panels: the style shows one of the two."""
    return f'<span class="beside">{match["side"]}</span><span class="stacked">{BELOW[match["side"]]}</span>'


def name_pictures_of_slides(app, doctree, docname) -> None:
    """Figures that the slides (extras/slides/*.md) show have a copy under their label."""
    shown = {label for deck in SLIDES.glob("*.md") for label in SLIDE_PICTURE.findall(deck.read_text(encoding="utf-8"))}
    for figure in doctree.findall(nodes.figure):
        for label in shown & set(figure["ids"]):
            target = Path(app.outdir, "_images", f"{label}.png")
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(Path(app.srcdir, next(figure.findall(nodes.image))["uri"]), target)


def write_one_page_like_many(app: Sphinx) -> None:
    """sphinx-exercise registers its nodes for the one-page builder by name, which hides everybody's nodes for HTML."""
    app.registry.translation_handlers.pop("singlehtml", None)


def letter_appendices(app: Sphinx) -> None:
    """Sphinx numbers by digits only: an appendix and what it counts get their letter after the others' numbers."""
    book = Book(ROOT, relpath(app.srcdir, ROOT).removeprefix("."))
    letters = {relpath(page, book.name or "."): letter for page, letter in book.pages().items() if letter.isalpha()}
    numbered = TocTreeCollector.assign_section_numbers

    def number(entries: nodes.Element, numbers: dict, *above) -> None:
        items = [one for one in entries.children if isinstance(one, nodes.list_item)]
        for k, item in enumerate(items, 1):
            reference, here = item[0][0], (*above, k)
            reference["secnumber"] = numbers[reference["anchorname"]] = here
            for deeper in item.children[1:]:
                number(deeper, numbers, *here)

    def assigned(self, env) -> list[str]:
        changed = numbered(self, env)
        for doc in letters.keys() & env.tocs.keys():
            letter = letters[doc]
            reference, numbers = env.tocs[doc][0][0][0], {"": (letter,)}
            reference["secnumber"] = env.titles[doc]["secnumber"] = (letter,)
            for entries in env.tocs[doc][0].children[1:]:
                number(entries, numbers, letter)
            env.toc_secnumbers[doc] = numbers
        return [*changed, *(letters.keys() & env.tocs.keys())]

    TocTreeCollector.assign_section_numbers = assigned


def setup(app: Sphinx) -> dict:
    app.connect("builder-inited", write_one_page_like_many)
    app.connect("builder-inited", letter_appendices)
    app.connect("doctree-read", drop_silent_cells)
    app.connect("doctree-read", size_pictures)
    app.connect("doctree-read", number_by_the_paper)
    app.connect("doctree-resolved", close_up)
    app.connect("doctree-resolved", name_pictures_of_slides)
    repairs = drop_unused, drop_second_name, drop_broken_roles, drop_plain_spans, keep_punctuation, stack_panels
    for handler in (*repairs, drop_repeated_ids, ask_by_form, explain_words, copy_notebook, describe):
        app.connect("html-page-context", handler, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
