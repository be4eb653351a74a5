"""MyST Markdown to the plain Markdown that a notebook shows in Colab, on GitHub and in Jupyter.

`Book` reads a whole book once to number theorems, equations, figures and exercises as Sphinx does; `Book.portable`
rewrites one Markdown cell: directives become bold headings, quotes and `<details>`, roles become words that link to the
public book, the book's MathJax macros are expanded. What it does not know is an error that names file and line.

A page is named by its place in the repository, which is also its place on the web. A link may lead to a page or a label
of another book; a book's own labels come first.
"""

import codecs
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from posixpath import join, normpath
from string import ascii_uppercase

import latexcodec  # noqa: F401  registers the "ulatex" codec that bibliographies are written in
import yaml
from docutils.nodes import make_id
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser
from pybtex.database import parse_file

BOOKS = "", "companions"
"""The folders of the books: the main book, and one that lies below it."""
APPENDICES = "chapters/appendices"
"""The page whose sections are lettered."""
ADMONITIONS = "note tip hint important warning caution danger attention error seealso admonition".split()
THEOREMS = (
    "axiom theorem lemma algorithm definition remark conjecture corollary criterion example property observation "
    "proposition assumption notation".split()
)
TABLES = ("table", "list-table")
NUMBER_FORMATS = {"figure": "Fig. %s", "table": "Table %s", "exercise": "Exercise %s", "equation": "(%s)"}
PAPERS = re.compile(r"((?:Theorem|Lemma|Proposition|Corollary|Assumption)s? \d+(?:–\d+)?) (of the paper.*)")
"""The title of a box that is the paper's and has its number: the number, which no box of ours has, and the rest."""
LITERATURE = ("cite", "cite:p", "cite:t")

INLINE = re.compile(
    r"""(?P<escape>\\.)
      | \{(?P<role>[a-zA-Z][\w:-]*)\}(?P<rticks>`+)(?P<content>.+?)(?P=rticks)
      | (?P<code>(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))
      | (?P<math>\$\$.+?\$\$|\$(?!\s)(?:\\.|[^$\\])+?\$)
      | (?P<comment><!--.*?-->)
      | \[(?P<words>(?:[^\[\]]|\[[^\[\]]*\])*)\]\((?P<href>[^()\s]*)\)""",
    re.VERBOSE | re.DOTALL,
)
FENCED_CODE = re.compile(r"^[ >]*(`{3,}|~{3,})(?!\s*\{).*?\n[ >]*\1", re.MULTILINE | re.DOTALL)
FENCED_DIRECTIVE = re.compile(r"^[ >]*(?:`{3,}|:{3,})\s*\{[^}\n]+\}", re.MULTILINE)


class Unportable(Exception):
    """Markup that a notebook cannot show; the message starts with `file:line:`."""


@dataclass(frozen=True)
class Block:
    """What plain Markdown lacks, a directive or a display equation: lines `start` to `end` of the text it stands in."""

    kind: str  # "directive", "math", "label", "heading", "verbatim" or "drop"
    start: int
    end: int
    name: str = ""
    argument: str = ""
    options: dict = field(default_factory=dict)
    body: str = ""
    body_start: int = 0


@dataclass(frozen=True)
class Target:
    """What a label names, and where the public book shows it."""

    kind: str
    number: str
    title: str
    page: str
    anchor: str

    @property
    def words(self) -> str:
        if self.kind in ("page", "section") or not self.number:
            return self.title
        return NUMBER_FORMATS.get(self.kind, f"{self.kind.title()} %s") % self.number

    def shown(self, role: str, words: str) -> str:
        """What a reference by `role` shows, whose own words, if it has any, are `words`."""
        if role == "numref":
            return (words or self.words).replace("%s", self.number).replace("{number}", self.number)
        return words or (self.title if role == "ref" and self.kind in ("figure", "table") else self.words)


def configuration(root: Path, name: str = "") -> dict:
    """A book's settings: the main book's, where its own file says nothing else."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    if name:
        config = _updated(config, yaml.safe_load((root / name / "_config.yml").read_text(encoding="utf-8")))
        config["repository"]["path_to_book"] = name
        config["html"]["baseurl"] = f"{config['html']['baseurl'].rstrip('/')}/{name}/"
    return config


def books(root: Path) -> list["Book"]:
    """The books of a repository."""
    return [Book(root, name) for name in BOOKS if (root / name / "_toc.yml").exists()]


class Book:
    """The configuration, the order and the labels of the book that stands in the folder `name` of `root`."""

    def __init__(self, root: Path, name: str = ""):
        self.root, self.name = root, name
        self.config = configuration(root, name)
        self.repository = self.config["repository"]["url"].rstrip("/")
        self.branch = self.config["repository"]["branch"]
        self.address = self.config["html"]["baseurl"].removesuffix(f"{name}/").rstrip("/")
        settings = self.config["sphinx"]["config"]
        macros = settings["mathjax3_config"]["tex"]["macros"]
        self.macros = {name: tex if isinstance(tex, list) else [tex, 0] for name, tex in macros.items()}
        self.parser = _parser(frozenset(self.config["parse"]["myst_enable_extensions"]))

    # -- reading the book

    @cached_property
    def targets(self) -> dict[str, Target]:
        """What every label of the book names."""
        targets: dict[str, Target] = {}
        counts: Counter = Counter()
        for page, chapter in self.pages().items():
            if (self.root / f"{page}.md").exists():
                self._index(page, chapter, counts, targets)
        return targets

    def pages(self) -> dict[str, str]:
        """Every page in reading order, with its chapter's number or its appendix's letter, "" where it has neither."""
        toc = yaml.safe_load((self.root / self.name / "_toc.yml").read_text())
        pages, number, letters = {join(self.name, toc["root"]): ""}, 0, iter(ascii_uppercase)

        def add(entries: list, chapter: str | None) -> None:
            nonlocal number
            for entry in entries:
                if chapter is None:
                    number += 1
                page = join(self.name, entry["file"])
                pages[page] = str(number) if chapter is None else chapter
                for section in entry.get("sections", []):
                    add([section], next(letters) if page == APPENDICES else pages[page])

        for part in toc.get("parts", [toc]):
            add(part.get("chapters", []), None if part.get("numbered") else "")
        return pages

    def blocks(self, text: str) -> list[Block]:
        """The blocks of `text` that need work, in order; those inside lists too, those inside directives not."""
        return _blocks(text, self.parser)

    def _index(self, page: str, chapter: str, counts: Counter, targets: dict[str, Target]) -> None:
        text = (self.root / f"{page}.md").read_text()
        labels: list[str] = []

        def numbered(kind: str) -> str:
            counts[kind, chapter] += 1
            return f"{chapter}.{counts[kind, chapter]}".lstrip(".")

        def add(kind: str, title: str, *names: str, number: str = "", anchor: str | None = None) -> None:
            for name in filter(None, names):
                if name in targets:
                    raise Unportable(f"{page}.md: the label {name!r} is already in {targets[name].page}.md")
                targets[name] = Target(kind, number, title, page, make_id(name) if anchor is None else anchor)

        def directive(block: Block) -> None:
            options, label = block.options, block.options.get("label", "")
            domain, _, kind = block.name.rpartition(":")
            kind = kind.removesuffix("-start")
            if domain == "prf" and kind in THEOREMS or kind == "exercise":
                number = "" if "nonumber" in options else numbered(kind)
                title = block.argument
                if "nonumber" in options and (paper := PAPERS.fullmatch(title)):
                    kind, title = "paper", paper[1]
                add(kind, title, label, number=number, anchor=label)
            elif kind in TABLES:
                number = numbered("table") if block.argument else ""
                add("table", block.argument, options.get("name", ""), *labels, number=number)
            elif kind == "code-cell":
                figure = options.get("mystnb", {}).get("figure", {})
                number = numbered("figure") if figure.get("caption") else ""
                add("figure", figure.get("caption", ""), figure.get("name", ""), *labels, number=number)
            elif kind == "glossary":
                for term, _ in _definitions(block.body):
                    # Sphinx drops what is not ASCII, an en dash too
                    ascii_term = term.encode("ascii", "ignore").decode()
                    add("term", term, f"term:{term.lower()}", anchor="term-" + re.sub(r"\W+", "-", ascii_term))
            if kind not in ("code-cell", "code", "code-block", "glossary"):
                walk(block.body)

        def walk(text: str) -> None:
            for block in self.blocks(text):
                if block.kind == "label":
                    labels.append(block.name)
                    continue
                if block.kind == "heading":
                    if "page:" + page not in targets:
                        add("page", block.argument, "page:" + page, anchor="")
                    add("section", block.argument, *labels)
                elif block.kind == "math" and block.argument:
                    anchor = make_id(f"equation-{block.argument}")
                    add("equation", "", block.argument, number=numbered("equation"), anchor=anchor)
                elif block.kind == "directive":
                    directive(block)
                for name in {*labels} - {*targets}:
                    add("anchor", "", name)
                labels.clear()

        walk(text)

    @cached_property
    def literature(self) -> dict:
        entries = {}
        for bib in self.config["bibtex_bibfiles"]:
            entries |= dict(parse_file(str(self.root / self.name / bib)).entries)
        return entries

    @cached_property
    def others(self) -> list["Book"]:
        return [book for book in books(self.root) if book.name != self.name]

    def find(self, label: str) -> Target | None:
        """What `label` names, here or else in another book; the label of a page is `page:` and its name."""
        return next((book.targets[label] for book in (self, *self.others) if label in book.targets), None)

    # -- addresses

    def url(self, page: str, anchor: str = "") -> str:
        return f"{self.address}/{page}.html" + (f"#{anchor}" if anchor else "")

    def blob(self, path: str) -> str:
        return f"{self.repository}/blob/{self.branch}/{path}"

    def portable(self, text: str, page: str, line: int = 1) -> str:
        """One Markdown cell of `page` that begins at `line` of its source, as plain Markdown."""
        return Cell(self, page).render(text, line).strip("\n")


class Cell:
    """The translation of one Markdown cell: `directive` for blocks, `inline` for roles, links and mathematics."""

    def __init__(self, book: Book, page: str):
        self.book = book
        self.page = page

    def fail(self, line: int, message: str) -> Unportable:
        return Unportable(f"{self.page}.md:{line}: {message}")

    def render(self, text: str, line: int) -> str:
        lines, at, parts = text.splitlines(), 0, []
        for block in self.book.blocks(text):
            if block.start < at:
                continue
            parts.append(self.inline("\n".join(lines[at : block.start]), line + at))
            at = block.end
            source = "\n".join(lines[block.start : block.end])
            indent = re.match(r"\s*", source)[0]
            if block.kind == "verbatim":
                parts.append(source)
            elif block.kind == "math":
                parts.append(textwrap.indent(self.equation(block, line + block.start), indent))
            elif block.kind == "directive":
                if not source.lstrip().startswith(("`", ":", "~")):
                    raise self.fail(line + block.start, f"{{{block.name}}} needs a line of its own")
                parts.append(textwrap.indent(self.directive(block, line), indent))
        parts.append(self.inline("\n".join(lines[at:]), line + at))
        return re.sub(r"\n{3,}", "\n\n", "\n".join(parts))

    # -- blocks

    def directive(self, block: Block, line: int) -> str:
        name, options, here = block.name, block.options, line + block.start
        title = self.inline(block.argument, here)
        domain, _, theorem = name.rpartition(":")

        def body() -> str:
            return self.render(block.body, line + block.body_start).strip("\n")

        if domain == "prf" and theorem == "proof":
            return f"*Proof.* {body()}\n"
        if domain == "prf" and theorem in THEOREMS:
            return self.fold(options, self.heading(theorem, block, title, here), body())
        if name in ("exercise", "exercise-start"):
            return f"{self.heading('exercise', block, title, here)}\n\n{body()}\n"
        if name in ("solution", "solution-start"):
            exercise = self.target(block.argument, here)
            if name == "solution-start":
                return f"**Solution to {exercise.words}**\n"
            return _details(f"Solution to {exercise.words}", body())
        if name in ("exercise-end", "solution-end"):
            return ""
        if name == "dropdown":
            return _details(title, body())
        if name in ADMONITIONS:
            heading = title if name == "admonition" else {"seealso": "See also"}.get(name, name.title())
            return self.fold(options, f"**{heading}**", body())
        if name in TABLES:
            caption = self.caption(options.get("name", ""), title, here)
            return f"{caption}\n\n{body() if name == 'table' else self.rows(block, here)}\n"
        if name == "glossary":
            entries = (f"**{term}**: {self.inline(text, here)}" for term, text in _definitions(block.body))
            return "\n\n".join(entries) + "\n"
        if name in ("code", "code-block"):
            return f"```{block.argument}\n{block.body}\n```\n"
        if name == "literalinclude":
            shown = (self.book.root / self.page).parent / block.argument
            return f"```{options.get('language', '')}\n{shown.read_text(encoding='utf-8').strip()}\n```\n"
        if name == "raw":
            return f"*What stands here runs in [the page]({self.book.url(self.page)}).*\n"
        raise self.fail(here, f"the directive {{{name}}} has no plain form (tools/portable.py)")

    def heading(self, kind: str, block: Block, title: str, line: int) -> str:
        name, paper = kind.title(), PAPERS.fullmatch(block.argument)
        if "nonumber" in block.options and paper:
            name, title = paper[1], title.removeprefix(paper[1]).strip()
        elif "nonumber" not in block.options:
            if "label" not in block.options:
                raise self.fail(line, f"a numbered {kind} needs a :label:")
            name = self.target(block.options["label"], line).words
        return f"**{name}** ({title})" if title else f"**{name}**"

    def caption(self, label: str, caption: str, line: int) -> str:
        if not caption:
            return ""
        return f"**{self.target(label, line).words}.** {caption}" if label else caption

    def fold(self, options: dict, heading: str, body: str) -> str:
        if "dropdown" in options.get("class", ""):
            return _details(heading.replace("**", ""), body)
        return _quote(f"{heading}\n\n{body}")

    def equation(self, block: Block, line: int) -> str:
        tex = self.expand(block.body.strip("\n"))
        if block.name == "amsmath" and not re.search(r"\\begin\{\w+\*\}", tex):
            raise self.fail(line, "a bare AMS environment needs its star; for a number use $$ … $$ (label)")
        tag = f" \\tag{{{self.target(block.argument, line).number}}}" if block.argument else ""
        return f"\n$$\n{tex}{tag}\n$$\n"

    def rows(self, block: Block, line: int) -> str:
        rows: list[list[str]] = []
        for token in self.book.parser.parse(block.body + "\n"):
            if token.type == "list_item_open":
                rows.append([]) if token.level == 1 else rows[-1].append("")
            elif token.type == "inline":
                rows[-1][-1] = f"{rows[-1][-1]} {self.inline(token.content, line)}".replace("\n", " ").strip()
        header = rows.pop(0) if int(block.options.get("header-rows", 0)) else [""] * len(rows[0])
        return "\n".join("| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *rows])

    # -- inline

    def inline(self, text: str, line: int) -> str:
        def replace(match: re.Match) -> str:
            here = line + text.count("\n", 0, match.start())
            groups = match.groupdict()
            if groups["role"]:
                return self.role(groups["role"], groups["content"], here)
            if groups["math"]:
                return self.expand(groups["math"])
            if groups["comment"]:
                return ""
            if groups["href"] is not None:
                return self.link(groups, here)
            return match[0]

        return INLINE.sub(replace, text)

    def role(self, name: str, content: str, line: int) -> str:
        explicit = re.fullmatch(r"(.+?)\s*<([^<>]+)>", content, re.DOTALL)
        words, label = (explicit[1], explicit[2]) if explicit else ("", content)
        if name in LITERATURE:
            return self.citation(content, textual=name.endswith(":t"))
        if name == "term":
            target = self.target(f"term:{label.lower()}", line)
            return f"[{words or label}]({self.book.url(target.page, target.anchor)})"
        if name not in ("eq", "ref", "numref", "prf:ref"):
            raise self.fail(line, f"the role {{{name}}} has no plain form (tools/portable.py)")
        target = self.target(label, line)
        if name == "numref" and not target.number:
            raise self.fail(line, f"{{numref}} needs a numbered target, {label!r} is none: use {{ref}}")
        if not words and name == "prf:ref" and not target.number and target.kind != "paper":
            raise self.fail(line, f"{label!r} has no number: write {{prf:ref}}`its name <{label}>`")
        return f"[{self.inline(target.shown(name, words), line)}]({self.book.url(target.page, target.anchor)})"

    def link(self, groups: dict, line: int) -> str:
        words, href = self.inline(groups["words"], line), groups["href"]
        if re.match(r"[a-z]+:", href):
            return f"[{words}]({href})"
        path, _, label = href.partition("#")
        if not label and not Path(path).suffix:  # MyST: [words](label)
            path, label = "", path
        path = normpath((Path(self.page).parent / path).as_posix()) if path else ""
        if path and not path.endswith(".md"):
            return f"[{words}]({self.book.blob(path)})"
        target = self.target(label or "page:" + path.removesuffix(".md"), line)
        return f"[{words or self.inline(target.words, line)}]({self.book.url(target.page, target.anchor)})"

    def citation(self, keys: str, *, textual: bool) -> str:
        cited = []
        for key in (key.strip() for key in keys.split(",")):
            entry = self.book.literature[key]
            names = [_plain(" ".join(person.prelast_names + person.last_names)) for person in entry.persons["author"]]
            who = f"{names[0]} *et al.*" if len(names) > 2 else " and ".join(names)
            year = entry.fields.get("year", "n.d.")
            doi = entry.fields.get("doi")
            listed = self.book.url(join(self.book.name, "chapters/references"))
            where = f"https://doi.org/{doi}" if doi else entry.fields.get("url", listed)
            cited.append(f"{who} [[{year}]({where})]" if textual else f"[{who}, {year}]({where})")
        return ", ".join(cited) if textual else f"\\[{'; '.join(cited)}\\]"

    def target(self, label: str, line: int) -> Target:
        if target := self.book.find(label):
            return target
        raise self.fail(line, f"no label {label.removeprefix('page:')!r} in the books")

    def expand(self, tex: str) -> str:
        """`tex` with the book's macros replaced by their definitions, arguments included."""
        macros = self.book.macros
        pattern = re.compile(r"\\(" + "|".join(sorted(macros, key=len, reverse=True)) + r")(?![A-Za-z])\s*")
        while match := pattern.search(tex):
            definition, n_arguments = macros[match[1]]
            end = match.end()
            for i in range(n_arguments):
                argument, end = _argument(tex, end)
                definition = definition.replace(f"#{i + 1}", argument)
            separator = " " if not n_arguments and definition[-1].isalpha() and tex[end : end + 1].isalpha() else ""
            tex = tex[: match.start()] + definition + separator + tex[end:]
        return tex


def leftovers(markdown: str) -> list[str]:
    """Directive or role markup that still stands in `markdown` outside of code."""
    shown = FENCED_CODE.sub("", markdown)
    roles = [match[0] for match in INLINE.finditer(shown) if match["role"]]
    return FENCED_DIRECTIVE.findall(shown) + roles


@cache
def _parser(extensions: frozenset[str]) -> MarkdownIt:
    syntax = MdParserConfig(enable_extensions=set(extensions), disable_syntax=["inline"])
    return create_md_parser(syntax, RendererHTML)


@cache
def _blocks(text: str, parser: MarkdownIt) -> list[Block]:
    tokens, blocks = parser.parse(text + "\n"), []
    for i, token in enumerate(tokens):
        if token.map is None:
            continue
        start, end = token.map
        if token.type in ("fence", "colon_fence"):
            directive = re.match(r"\{([^}]+)\}\s*(.*)", token.info.strip())
            if directive is None:
                blocks.append(Block("verbatim", start, end))
                continue
            options, body, offset = _options(token.content)
            blocks.append(Block("directive", start, end, *directive.groups(), options, body, start + 1 + offset))
        elif token.type in ("math_block", "math_block_label", "amsmath"):
            blocks.append(Block("math", start, end, token.type, token.info, body=token.content))
        elif token.type == "myst_target":
            blocks.append(Block("label", start, end, token.content))
        elif token.type == "heading_open":
            blocks.append(Block("heading", start, start, token.tag, tokens[i + 1].content))
        elif token.type == "front_matter" or token.type == "myst_line_comment":
            blocks.append(Block("drop", start, end))
        elif token.type == "html_block" and token.content.lstrip().startswith("<!--"):
            blocks.append(Block("drop", start, end))
        elif token.type == "code_block":
            blocks.append(Block("verbatim", start, end))
    return blocks


def _updated(settings: dict, own: dict) -> dict:
    """`settings` with the values of `own` in their place, table by table."""
    tables = {key: _updated(settings[key], value) for key, value in own.items() if isinstance(settings.get(key), dict)}
    return settings | own | tables


def _options(content: str) -> tuple[dict, str, int]:
    """Options, body and the number of lines before the body of a directive's content."""
    lines = content.splitlines()
    if lines and lines[0].strip() == "---":
        end = next((i for i, line in enumerate(lines[1:], 1) if line.strip() == "---"), len(lines) - 1)
        return yaml.load("\n".join(lines[1:end]), yaml.CSafeLoader) or {}, "\n".join(lines[end + 1 :]), end + 1
    n = next((i for i, line in enumerate(lines) if not re.match(r"\s*:[\w-]+:", line)), len(lines))
    pairs = (re.match(r"\s*:([\w-]+):\s*(.*)", line).groups() for line in lines[:n])
    return dict(pairs), "\n".join(lines[n:]), n


def _definitions(body: str) -> Iterator[tuple[str, str]]:
    """Terms and definitions of a glossary: a definition is what is indented below its term."""
    for entry in re.split(r"\n(?=\S)", "\n" + body.strip("\n")):
        if entry.strip():
            term, _, text = entry.strip("\n").partition("\n")
            yield term.strip(), textwrap.dedent(text).strip()


def _argument(tex: str, start: int) -> tuple[str, int]:
    """The TeX argument at `start` (a braced group or one token) and the position behind it."""
    if tex[start] != "{":
        token = re.compile(r"\\[A-Za-z]+|\\.|.").match(tex, start)
        return token[0], token.end()
    depth = 0
    for end in range(start, len(tex)):
        if tex[end] in "{}" and tex[end - 1] != "\\":
            depth += 1 if tex[end] == "{" else -1
        if depth == 0:
            return tex[start + 1 : end], end + 1
    raise Unportable(f"unbalanced braces in {tex!r}")


def _quote(text: str) -> str:
    # Jupyter takes mathematics out before it reads Markdown, so a `>` inside a display equation would be typeset.
    text = re.sub(r"\$\$.+?\$\$", lambda m: " ".join(m[0].split()), text.strip("\n"), flags=re.DOTALL)
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines()) + "\n"


def _details(summary: str, body: str) -> str:
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n\n</details>\n"


def _plain(latex: str) -> str:
    return re.sub(r"[{}]", "", codecs.decode(latex, "ulatex"))
