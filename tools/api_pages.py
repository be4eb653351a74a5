"""Sphinx extension: the library's reference, from its docstrings, and links to it from the chapters' prose.

Docstrings are plain text, not reStructuredText: the first line becomes a paragraph, displayed formulas, which stand
indented between blank lines, are typeset, and the rest keeps its lines.
"""

import inspect
import re
import unicodedata
from os.path import relpath
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

NAME = re.compile(r"(?:(?:am|amemlib)\.)?([a-z]\w*(?:\.\w+)*)(?:\(.*\))?$")
MARGIN = 95
ROOT = Path(__file__).resolve().parents[1]
PAGE = "chapters/api"
"""The reference, a page of the main book: the others find it where it lies beside them."""
FORMULA = re.compile(r"(?<=\n\n)((?:    .+\n)+)(?=\n|$)")
OPERATORS = ("log", "exp", "min", "max", "cos", "sin", "tr", "Re", "Im")
SHORT_WORDS = ("of", "if", "at", "an")
UNICODE = {"−": "-", "⁻": "-", "⁺": "+", "≥": r"\ge ", "≤": r"\le ", "∇": r"\nabla ", "∫": r"\int ", "∬": r"\iint "}
UNICODE |= {"∞": r"\infty ", "′": "'", "¼": r"\tfrac14 ", "‖": r"\|", "ᵀ": r"\top ", "\u0338": r"\not ", "Π": r"\prod "}
NAMES = {"lamda": "lambda", "rho symbol": "varrho", "theta symbol": "vartheta"}


def keep_lines(app, what, name, obj, options, lines: list[str]) -> None:
    if not lines:
        return
    first = re.sub(r"`([^`]+)`", r"``\1``", re.sub(r"([\\*|_])", r"\\\1", lines[0]))
    # a backslash has no power between double backticks
    first = re.sub(r"``[^`]+``", lambda match: match[0].replace("\\", ""), first)
    rest = "\n".join(unwrapped(lines[1:])).strip("\n")
    lines[:] = [first, ""]
    for i, part in enumerate(FORMULA.split(f"\n\n{rest}\n")):
        body = part.strip("\n").split("\n")
        if i % 2:
            lines += [".. math::", "", "   " + r" \\ ".join(map(tex, body)), ""]
        elif part.strip():
            lines += [".. code-block:: text", "   :class: docstring", "", *("   " + line for line in body), ""]


def tex(formula: str) -> str:
    """A line of unicode mathematics, with or without words, in TeX."""
    formula = unicodedata.normalize("NFD", formula.strip()).replace("=\u0338", r"\ne ")
    for pattern, replacement in (
        # braces that hold no index are printed
        (r"(?<![_^])\{((?:[^{}]|\{[^{}]*\})*)\}", r"\\{\1\\}"),
        (r"[⁰¹²³⁴-⁹⁺⁻ᵀ]+", r"^{\g<0>}"),
        (r"[₀-₉]+", r"_{\g<0>}"),
        (r"_(\w+)", r"_{\1}"),
        (r"(\w)\*", r"\1^{*}"),
        (r"√\(((?:[^()]|\([^()]*\))*)\)|√(\w)", r"\\sqrt{\1\2}"),
        ("(\\w)\u0302", r"\\hat{\1}"),
        ("(\\w)\u0304", r"\\bar{\1}"),
        # the covariances Σ_u and Σ_v are no sums
        (r"Σ(?!_\{[uv]\})", r"\\sum "),
        (r" {2,}", r" \\qquad "),
        (r" ?(?<![\\A-Za-z])[A-Za-z]{2,}(?: [A-Za-z]{2,})* ?", _words),
        (r"[^\x00-\x7f]", _letter),
    ):
        formula = re.sub(pattern, replacement, formula)
    return formula


def _words(match: re.Match) -> str:
    """Letters side by side: a function, words, or factors."""
    parts = match[0].split()
    if parts[0] in OPERATORS:
        return rf"\operatorname{{{parts[0]}}} "
    return rf"\text{{{match[0]}}}" if all(len(part) > 2 or part in SHORT_WORDS for part in parts) else match[0]


def _letter(match: re.Match) -> str:
    """A character that TeX has another name for: Greek, most of them."""
    name = unicodedata.name(match[0]).lower()
    if match[0] in UNICODE or not name.startswith("greek "):
        return UNICODE.get(match[0]) or unicodedata.normalize("NFKD", match[0])
    short = re.sub("greek (small |capital )?(letter )?", "", name)
    short = NAMES.get(short, short)
    return "\\" + (short.capitalize() if "capital" in name else short) + " "


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
    """`am.polar`, `am.spectral.polar` or `amembook.laws.mean_tilt` in a chapter leads to its entry in the reference."""
    import amemlib
    from amembook import laws

    for literal in list(doctree.findall(nodes.literal)):
        match = NAME.match(literal.astext())
        inside = literal.parent
        if not match or "." not in literal.astext() or isinstance(inside, nodes.reference | pending_xref | nodes.title):
            continue
        member = laws if match[1].startswith("amembook.laws.") else amemlib
        for part in match[1].removeprefix("amembook.laws.").split("."):
            member = getattr(member, part, None)
        home = getattr(member, "__module__", "") if inspect.isfunction(member) or inspect.isclass(member) else ""
        package, module = (home.split(".") + [""])[:2]
        if package == "amemlib" and module in amemlib.__all__ or (package, module) == ("amembook", "laws"):
            target = f"{package}.{module}.{member.__name__}"
            if PAGE in app.env.found_docs:
                link = pending_xref("", refdomain="py", reftype="obj", reftarget=target, refexplicit=True)
                link["refdoc"], link["refwarn"] = app.env.docname, False
            else:
                here = Path(app.srcdir, app.env.docname).parent
                link = nodes.reference("", "", internal=True, refuri=f"{relpath(ROOT / PAGE, here)}.html#{target}")
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
    if PAGE in env.found_docs and PAGE not in docnames and Path(app.srcdir, "amemlib").exists():
        docnames.append(PAGE)
