"""Sphinx extension: how much each page has to say about each word, which Sphinx's index does not know.

A word counts by where it stands (title, glossary, first screen, rule of the cheat sheet, heading) and by how often it
occurs, and more if few pages have it. The weights stand at the head of searchindex.js, and assets/search-scorer.js adds
them up for a query.
"""

import json
import math
import re
from collections import Counter, defaultdict
from functools import cache
from os.path import relpath
from pathlib import Path

import ledger
from docutils import nodes
from portable import BOOKS, Book
from sphinx.addnodes import glossary, pending_xref
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

ROOT = Path(__file__).resolve().parents[1]
TITLE, DEFINED, SCREEN, HEADING = 10, 8, 5, 3
OFTEN = 4
"""A word that a page has fewer times, and in no place that counts, has no weight."""
SHARE = {"api": 0.1, "all-statements": 0.1, "evidence": 0.3, "checklist": 0.1, "errata": 0.1, "references": 0.1,
         "README": 0.3, "related-work": 0.5, "notation": 0.3, "seminar": 0.3, "sixty-minutes": 0.3, "guide": 2,
         "sgd": 0.5, "many-step-counts": 0.3, "accuracy": 0.3, "optimality-proofs": 0.4, "gradient-limit": 0.5,
         "whitening": 0.5, "polar-map": 0.5, "spectral-maps": 0.5, "recall-circuit": 0.3, "batch-lemmas": 0.5,
         "beyond-steps": 0.5}  # fmt: skip
"""How much a page counts: what stands behind the short book comes after it."""


def stems(language: SearchEnglish, text: str) -> list[str]:
    """The words of a text as the index has them."""
    words = (word.lower() for word in language.split(text))
    return [language.stem(word) for word in words if language.word_filter(word)]


def places(doctree: nodes.document, count) -> Counter:
    """The weight of every word of one page by the places where it stands."""
    weights: Counter = Counter()
    for section in doctree.findall(nodes.section):
        title = section.next_node(nodes.title)
        if title is not None:
            top = isinstance(section.parent, nodes.document)
            weights.update(dict.fromkeys(count(title.astext()), TITLE if top else HEADING))
    first = next(doctree.findall(nodes.section), doctree)
    for child in first.children:
        if isinstance(child, nodes.section):
            break
        if isinstance(child, nodes.paragraph) and not child.astext().startswith("You need"):
            weights.update(dict.fromkeys(count(child.astext()), SCREEN))
    for sheet in doctree.findall(lambda node: isinstance(node, nodes.container) and "cheat-sheet" in node["classes"]):
        rules = count(" ".join(rule.astext() for rule in sheet.findall(nodes.strong)))
        # below the rules it says where the rest is answered
        others = count(" ".join(line.astext() for line in sheet.children[1:]))
        weights.update(dict.fromkeys(others, DEFINED) | dict.fromkeys(rules, SCREEN))
    return weights


def elsewhere(here: str) -> list[tuple[str, str]]:
    """Titles of the pages of other books than the one in the folder `here`, and their addresses from its pages."""
    title = lambda page: re.search(r"^# (.+)$", (ROOT / f"{page}.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
    pages = [page for name in BOOKS if name != here for page in Book(ROOT, name).pages()]
    return [(title(page), relpath(f"{page}.html", here or ".")) for page in pages]


NAMED = "figure", "exercise", "definition", "theorem", "lemma", "proposition", "corollary"


def numbered(here: str) -> dict[str, tuple[str, str]]:
    """What this book numbers and the ledger's statements of the paper, by name, `lemma 16`: title and address."""
    address = lambda page, anchor: f"{relpath(f'{page}.html', here or '.')}#{anchor}"
    own = [one for one in Book(ROOT, here).targets.values() if one.kind in NAMED and one.number]
    named = [(f"{one.kind.capitalize()} {one.number}", address(one.page, one.anchor)) for one in own]
    rows = [(row["statement"], row["chapter"].split("#")) for row in ledger.rows(ROOT) if row["of"] == "paper"]
    named += [(name, address(f"chapters/{place[0].removesuffix('.md')}", place[-1])) for name, place in rows]
    return {name.lower(): (name, where) for name, where in named}


def weigh(app: Sphinx, error: Exception | None) -> None:
    index = Path(app.outdir, "searchindex.js")
    if error or app.builder.name != "html" or not index.exists():
        return
    language = SearchEnglish({})
    language.stem = cache(language.stem)
    count = lambda text: stems(language, text)
    weights: dict[str, dict[str, float]] = defaultdict(dict)
    for doc in sorted(app.env.found_docs):
        doctree = app.env.get_doctree(doc)
        text = " ".join(one.astext() for one in doctree.findall(nodes.paragraph))
        often = {word: math.log2(n) for word, n in Counter(count(text)).items() if n >= OFTEN}
        where = places(doctree, count)
        for words in doctree.findall(glossary):
            for item in words.findall(nodes.definition_list_item):
                # the first page that an entry names defines its term
                pages = (link["reftarget"] for link in item.findall(pending_xref) if link["refdomain"] == "doc")
                if page := next(pages, ""):
                    for word in count(item[0].astext()):
                        weights[word][page] = weights[word].get(page, 0) + DEFINED
        less = SHARE.get(doc.rpartition("/")[2], 1)
        for word in {**often, **where}:
            weights[word][doc] = weights[word].get(doc, 0) + less * (where.get(word, 0) + often.get(word, 0))
    rare = {word: math.log2(1 + len(app.env.found_docs) / len(pages)) for word, pages in weights.items()}
    rounded = {w: {page: round(x * rare[w], 1) for page, x in pages.items()} for w, pages in sorted(weights.items())}
    # before the index, which answers a query as soon as it is there
    here = relpath(app.srcdir, ROOT).removeprefix(".")
    known = {"weights": rounded, "elsewhere": elsewhere(here), "numbered": numbered(here)}
    text = "".join(f"Scorer.{name}={json.dumps(one, separators=(',', ':'))};\n" for name, one in known.items())
    index.write_text(text + index.read_text(encoding="utf-8"), encoding="utf-8")


def setup(app: Sphinx) -> dict:
    app.connect("build-finished", weigh)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
