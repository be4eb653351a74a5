"""Sphinx extension: a chapter's first use of a glossary's word leads to its entry and shows it under the pointer."""

import re
from collections.abc import Iterator
from functools import partial
from os.path import relpath
from pathlib import Path

from docutils import nodes
from portable import Book, _definitions
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
COMMON = {"energy", "frequency", "gap", "head, tail", "ID, OOD", "lift", "mode", "Muon", "power law", "record",
          "verdict", "window", "baseline", "feature", "shortcut", "slowdown", "thought", "truncation",
          "h_λ", "plateau", "reach"}  # fmt: skip
"""Terms whose words have another use, or need no telling."""
APART = nodes.title, nodes.reference, nodes.literal, nodes.math, nodes.caption, nodes.table, nodes.container
PLACES = re.compile(r" \[[^\]]+\]\([\w./-]+\.md\).*", re.DOTALL)
NAMED = "T alpha beta eta lambda mu chi rho phi kappa Sigma sum infty ll gg le ge mapsto mid sim propto cdot asymp"
SYMBOLS = dict(zip(NAMED.split(), "ᵀαβηλμχρφκΣΣ∞≪≫≤≥↦|∼∝·≍", strict=True)) | {"min": "min", "tr": "tr ", "log": "log "}
TEX = (
    (r"\\bar u", "ū"),
    (r"\\hat p", "p̂"),
    (r"\\mathrm |\\,", ""),
    (r"\\frac(\d)(\w)", r"\1/\2 "),
    (r"\\(?:norm|frob|opnorm)(?:\{(\w+)\}| (\w))", r"‖\1\2‖"),
    (r"\\inner\{?(\w+)\}?\{?(\w+)\}?", r"⟨\1, \2⟩"),
    (r"\\begin\{pmatrix\}(.*?)\\\\(.*?)\\end\{pmatrix\}", r"[\1; \2]"),
    (r"(?<=[\w}])&", ", "),
    (r"\\([A-Za-z]+) ?", lambda match: SYMBOLS.get(match[1], match[0])),
    (r"\\sqrt\{(.*?)\}(?=[$)])", r"√(\1)"),
    (r"\^\{(\w+(?:[-+]?\d?/?[^}]*)?)\}", r"^(\1)"),
    (r"(?<!\^)\*|[{}$]", ""),
)
"""What stands for the TeX of the glossary, in the order in which it is replaced."""
ROLE = re.compile(r"\{[\w:]+\}`([^`<]+?)(?: <[^>]+>)?`")


def entries(book: Book) -> dict[str, tuple[str, str]]:
    """The glossary's terms in small letters: what an entry says, and its anchor."""
    path = ROOT / book.name / "chapters" / "glossary.md"
    [body] = re.findall(r"^```\{glossary\}\n(.*?)^```$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    tips = {}
    for term, text in _definitions(body):
        said = ROLE.sub(r"\1", PLACES.sub("", " ".join(text.split())))
        tips[term.lower()] = plain(said), book.targets[f"term:{term.lower()}"].anchor
    return {term: one for term, one in tips.items() if term not in {name.lower() for name in COMMON}}


def plain(text: str) -> str:
    """A definition with its formulas in letters; `ValueError` for TeX that has none."""
    for tex, letters in TEX:
        text = re.sub(tex, letters, text)
    if left := re.search(r"\\\w+|[{}$\\]", text):
        raise ValueError(f"the tip {text!r} has no letters for {left[0]}")
    return " ".join(text.split())


def words(doctree: nodes.document) -> Iterator[nodes.Text]:
    """The text of paragraphs and lists, without what is a link, a title or a formula."""
    for text in list(doctree.findall(nodes.Text)):
        above, node = [], text.parent
        while node is not None:
            above.append(node)
            node = node.parent
        if any(isinstance(one, nodes.paragraph) for one in above) and not any(isinstance(one, APART) for one in above):
            yield text


def mark(book: Book, known: dict, app: Sphinx, doctree: nodes.document, docname: str) -> None:
    page = f"{book.name}/{docname}".lstrip("/")
    if app.builder.name != "html" or not book.pages().get(page):
        return
    left = dict(known)
    for text in words(doctree):
        if "You need" in text.parent.astext():
            continue
        pattern = re.compile(rf"\b({'|'.join(map(re.escape, sorted(left, key=len, reverse=True)))})s?\b", re.IGNORECASE)
        match = pattern.search(text) if left else None
        if match:
            said, anchor = left.pop(match[1].lower())
            address = f"{relpath('chapters/glossary.html', docname.rpartition('/')[0] or '.')}#{anchor}"
            link = nodes.reference("", match[0], refuri=address, internal=True, classes=["tip"], reftitle=said)
            before, after = text[: match.start()], text[match.end() :]
            text.parent.replace(text, [nodes.Text(before), link, nodes.Text(after)])


def setup(app: Sphinx) -> dict:
    book = Book(ROOT, relpath(app.srcdir, ROOT).removeprefix("."))
    app.connect("doctree-resolved", partial(mark, book, entries(book)))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
