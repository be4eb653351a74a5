"""Chapters to notebooks: `write` makes each .ipynb from its .md, `run` executes what is stale, `check` changes nothing.

The .md is the only source. Its notebook is portable (no MyST is left in it), executed, and byte for byte reproducible;
outputs survive a rewrite as long as the code they came from does. Stored in its metadata: the hash of the records that
it reads, the profile, and the versions. What a change of the library does to an output is for nbval, which runs all.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import nbformat
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
from nbformat import NotebookNode
from portable import BOOKS, Book, Unportable, books, leftovers

from amembook.run.runtime import write_whole

ROOT = Path(__file__).resolve().parents[1]
PROFILE = "cpu"
THREADS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
SETUP_TAG = "colab"
FOLDED = {"jupyter": {"source_hidden": True}, "cellView": "form"}
"""How JupyterLab and Colab are told to show a cell without its code; Colab wants a first line `# @title …` as well."""
BOOTSTRAP = """\
import importlib.util
import os
import sys

if importlib.util.find_spec("amembook") is None:
    if "google.colab" in sys.modules or "KAGGLE_KERNEL_RUN_TYPE" in os.environ:
        !pip install -q "amemlib[book] @ git+{repository}@{branch}"
    else:
        sys.exit('First run: pip install "amemlib[book] @ git+{repository}@{branch}"')
"""


# -- writing


def files(root: Path, suffix: str, names: Iterable[str] = BOOKS) -> list[Path]:
    """The files of this kind among the chapters of the books."""
    return [path for name in names for path in sorted((root / name / "chapters").rglob(f"*{suffix}"))]


def sources(root: Path, names: Iterable[str] = BOOKS) -> list[Path]:
    """The executable chapters of the books: those whose front matter makes them notebooks."""
    return [path for path in files(root, ".md", names) if is_myst_markdown_notebook(path.read_text())]


def chapters(root: Path) -> Iterator[tuple[Book, Path]]:
    """The executable chapters, each with its book."""
    return ((book, source) for book in books(root) for source in sources(root, [book.name]))


def portable_notebook(source: Path, book: Book) -> NotebookNode:
    """The notebook of one chapter, not executed."""
    page = source.relative_to(book.root).with_suffix("").as_posix()
    chapter = read_myst_markdown_notebook(source.read_text(), add_source_map=True, path=source)
    if "kernelspec" not in chapter.metadata:
        raise Unportable(f"{page}.md:1: the front matter has no kernelspec: the page would have no Colab button")
    cells = [
        nbformat.v4.new_markdown_cell(
            "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
            f"(https://colab.research.google.com/github/{book.repository.removeprefix('https://github.com/')}"
            f"/blob/{book.branch}/{page}.ipynb)\n"
            f"This notebook is a page of [{book.config['title']}]({book.url(page)})."
        ),
        _code(BOOTSTRAP.format(repository=book.repository, branch=book.branch).strip(), {"tags": [SETUP_TAG]}),
    ]
    for cell, start in zip(chapter.cells, chapter.metadata.source_map, strict=True):
        if cell.cell_type == "markdown":
            text = book.portable(cell.source, page, start + 1)
            if raw := leftovers(text):
                raise Unportable(f"{page}.md:{start + 1}: {raw[0]!r} is left as it is")
            cells.extend([nbformat.v4.new_markdown_cell(text)] if text else [])
        else:
            # what a page folds stays open here, a solution apart: a notebook is there to be run and changed
            tags = cell.metadata.get("tags", [])
            cells.append(_code(cell.source, ({"tags": tags} if tags else {}) | (FOLDED if "solution" in tags else {})))
            cells.extend(_legend(cell.metadata.get("mystnb", {}), book, page, start + 1))
    seen: dict[str, int] = {}
    for cell in cells:
        digest = sha256(cell.source.encode()).hexdigest()[:8]
        seen[digest] = seen.get(digest, 0) + 1
        cell.id = f"{digest}-{seen[digest]}"
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "amemlib": {"source": f"{page}.md"},
    }
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


def _code(source: str, metadata: dict) -> NotebookNode:
    return nbformat.v4.new_code_cell(source, metadata=metadata)


def _legend(options: dict, book: Book, page: str, line: int) -> list[NotebookNode]:
    """A picture's caption and its alternative text, which a notebook's output has no place for."""
    figure, alt = options.get("figure", {}), options.get("image", {}).get("alt", "")
    parts = []
    if figure.get("caption"):
        name = f"**{book.targets[figure['name']].words}.** " if "name" in figure else ""
        parts.append(name + book.portable(figure["caption"], page, line))
    if alt:
        parts.append(f"<details>\n<summary>The figure in words</summary>\n\n{alt.strip()}\n\n</details>")
    return [nbformat.v4.new_markdown_cell("\n\n".join(parts))] if parts else []


def read(path: Path) -> NotebookNode:
    """The stored notebook; `Unportable` for a file that is none."""
    try:
        return nbformat.read(path, as_version=4)
    except Exception as error:
        # nbformat's own kinds among them
        raise Unportable(f"{path}: no notebook ({type(error).__name__}); run `make notebooks`") from None


def text_of(notebook: NotebookNode) -> str:
    """What the source determines: everything except outputs and the record of the run."""
    bare = nbformat.from_dict(json.loads(json.dumps(notebook)))
    bare.metadata.amemlib = {"source": bare.metadata.get("amemlib", {}).get("source", "")}
    for cell in code_cells(bare):
        cell.outputs, cell.execution_count = [], None
    return dumps(bare)


def code_cells(notebook: NotebookNode, *, generated: bool = True) -> list[NotebookNode]:
    """The code cells, without the first, which installs, if `generated` is false: those that the source has."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return cells if generated else [cell for cell in cells if SETUP_TAG not in cell.metadata.get("tags", [])]


def adopt_outputs(notebook: NotebookNode, stored: NotebookNode) -> None:
    """Take the stored outputs over if they came from this very sequence of code cells, the silent first one apart."""
    old, new = code_cells(stored), code_cells(notebook)
    from_source = [[cell.source for cell in code_cells(made, generated=False)] for made in (stored, notebook)]
    if len(old) == len(new) and from_source[0] == from_source[1]:
        for cell, ran in zip(new, old, strict=True):
            cell.outputs, cell.execution_count = ran.outputs, ran.execution_count
        notebook.metadata.amemlib = stored.metadata.get("amemlib", {}) | notebook.metadata.amemlib


def dumps(notebook: NotebookNode) -> str:
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def write(root: Path) -> list[Path]:
    """Every chapter's notebook, rewritten where its source has changed."""
    paths = []
    for book, source in chapters(root):
        path = source.with_suffix(".ipynb")
        notebook = portable_notebook(source, book)
        text = path.read_bytes() if path.exists() else None
        if text is not None:
            # a damaged one is made anew
            with suppress(Unportable):
                adopt_outputs(notebook, read(path))
        if text != dumps(notebook).encode():
            write_whole(dumps(notebook), path)
        paths.append(path)
    return paths


# -- running


def records_hash(notebook: NotebookNode, root: Path) -> str:
    """The stored records that the code of a notebook names."""
    digest, records = sha256(), root / "amembook" / "records"
    code = "\n".join(cell.source for cell in code_cells(notebook))
    for path in sorted(records.rglob("*.json")):
        if f'"{path.relative_to(records).parts[0]}"' in code:
            digest.update(path.relative_to(records).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def pins(root: Path) -> dict[str, str]:
    """The pinned versions of what decides the digits and the pictures of an output."""
    pinned = dict(line.split("==") for line in (root / "requirements.txt").read_text().split() if "==" in line)
    return {name: pinned[name] for name in ("matplotlib", "numpy", "scipy", "torch")}


def faults(notebook: NotebookNode, root: Path) -> list[str]:
    """Why the stored outputs cannot be trusted; nothing if they can."""
    reasons, run = [], notebook.metadata.get("amemlib", {})
    if any(cell.execution_count is None for cell in code_cells(notebook)):
        return ["never executed"]
    if run.get("records") != records_hash(notebook, root):
        reasons.append("stale: a record that it reads changed since it ran")
    if run.get("versions") != pins(root):
        reasons.append(f"stale: ran with {run.get('versions')}, pinned are {pins(root)}")
    if run.get("profile") != PROFILE:
        reasons.append(f"ran with the profile {run.get('profile')!r}, not {PROFILE!r}")
    for cell in code_cells(notebook):
        for output in cell.outputs:
            if output.output_type == "error":
                reasons.append(f"cell {cell.execution_count} stores an error: {output.ename}: {output.evalue}")
            elif output.get("name") == "stderr":
                reasons.append(f"cell {cell.execution_count} writes to stderr: {output.text.strip().splitlines()[-1]}")
    return reasons


def execute(path: Path, root: Path) -> list[str]:
    """Run one notebook in a fresh kernel and store its outputs; what went wrong, if anything did."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    # what is stored is what a CPU prints, also where there is a GPU
    os.environ.update(THREADS, AMEM_PROFILE=PROFILE, CUDA_VISIBLE_DEVICES="")
    notebook = read(path)
    resources = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(
        notebook,
        timeout=300,
        # the default, 4 s, loses in silence what comes late on a busy machine
        iopub_timeout=60,
        kernel_name="python3",
        record_timing=False,
        # how a kernel cuts its output into messages is chance
        coalesce_streams=True,
        resources=resources,
    )
    client.extra_arguments = ["--IPKernelApp.log_level=ERROR"]
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        return [f"{path.relative_to(root)}: {plain(str(error))}"]
    notebook.metadata.language_info = {"name": "python"}
    notebook.metadata.amemlib |= {
        "records": records_hash(notebook, root),
        "profile": PROFILE,
        "versions": {name: version(name).split("+")[0] for name in pins(root)},
    }
    write_whole(dumps(notebook), path)
    return [f"{path.relative_to(root)}: {fault}" for fault in faults(notebook, root)]


def plain(text: str) -> str:
    """`text` without a terminal's colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text).strip()


def run(root: Path, workers: int, everything: bool, only: list[str]) -> list[str]:
    """Write all, execute what is stale (of `only`, if given), at most `workers` at once; the faults that are left."""
    chosen = [path for path in write(root) if not only or path.stem in only]
    stale = [path for path in chosen if everything or faults(read(path), root)]
    lines = []
    with ProcessPoolExecutor(max_workers=workers) as pool:
        jobs = {pool.submit(execute, path, root): path for path in stale}
        for i, job in enumerate(as_completed(jobs), 1):
            print(f"[{i}/{len(stale)}] {jobs[job].relative_to(root)}", file=sys.stderr, flush=True)
            lines += job.result()
    if stale and not lines:
        # a text that another machine would not print is told here, where it can still be mended
        command = [sys.executable, Path(__file__).with_name("rounding.py"), "--noise", "1", *stale]
        differ = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        lines = differ.stdout.splitlines()[:-1] if differ.returncode else []
    return lines


# -- checking


def check(root: Path) -> list[str]:
    """One line per way in which a notebook is not what its source and the library make of it."""
    lines = []
    for book, source in chapters(root):
        path = source.with_suffix(".ipynb")
        name = path.relative_to(root)
        if not path.exists():
            lines.append(f"{name}: missing; run `make notebooks`")
            continue
        stored = read(path)
        if text_of(stored) != text_of(portable_notebook(source, book)):
            lines.append(f"{name}: differs from its source; run `make notebooks`")
        lines += [f"{name}: {fault}" for fault in faults(stored, root)]
        for cell in stored.cells:
            if cell.cell_type == "markdown":
                lines += [f"{name}: raw MyST in a cell: {raw}" for raw in leftovers(cell.source)]
    orphans = set(files(root, ".ipynb")) - {source.with_suffix(".ipynb") for source in sources(root)}
    for path in sorted(orphans):
        source = path.with_suffix(".md")
        lost = f"{source.relative_to(root)} has no `file_format: mystnb` in its front matter, which makes it a notebook"
        lines.append(f"{path.relative_to(root)}: {lost if source.exists() else 'has no source'}")
    for readme in (root / name / "README.md" for name in BOOKS):
        raw = leftovers(readme.read_text()) if readme.exists() else []
        lines += [f"{readme.relative_to(root)}: GitHub shows this MyST raw: {one}" for one in raw]
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["write", "run", "check"])
    parser.add_argument("--all", action="store_true", help="run: execute every chapter, stale or not")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="run: these chapters, not the others")
    parser.add_argument("--workers", type=int, default=2, help="run: notebooks at once")
    args = parser.parse_args()
    if args.workers < 1:
        parser.error(f"--workers must be at least 1, got {args.workers}")
    try:
        if args.command == "write":
            write(ROOT)
            lines = []
        else:
            lines = check(ROOT) if args.command == "check" else run(ROOT, args.workers, args.all, args.only)
    except Unportable as error:
        lines = [str(error)]
    print(*lines, sep="\n", end="\n" if lines else "", file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
