"""Build the books strictly, the main one in _build/BUILDER and each other in its folder below: `books.py BUILDER`."""

import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import yaml
from addresses import lead_on
from jupyter_book.sphinx import REDIRECT_TEXT, build_sphinx
from portable import BOOKS, Book, configuration

ROOT = Path(__file__).resolve().parents[1]
SITEMAP = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{}
</urlset>
"""
NOT_FOUND = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>No such page</title>
<meta name="viewport" content="width=device-width">
<body style="font: 1.1rem/1.6 sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem"><h1>No such page</h1>
<p>Some pages of the book have moved. <a href="{site}search.html">Search it</a>, or begin at its
<a href="{site}index.html">front page</a>.</p></body></html>
"""
"""What a server shows for an address without a page: its links are whole, since it answers for every folder."""


def build(name: str, builder: str) -> bool:
    """Whether one book was built without an error or a warning."""
    folder, pages = ROOT / "_build" / name, ROOT / "_build" / builder / name
    for place in (folder, pages):
        place.mkdir(parents=True, exist_ok=True)
    settings = configuration(ROOT, name)
    extensions = settings["sphinx"]["local_extensions"]
    settings["sphinx"]["local_extensions"] = {extension: str(ROOT / at) for extension, at in extensions.items()}
    config, toc = folder / "_config.yml", ROOT / name / "_toc.yml"
    config.write_text(yaml.safe_dump(settings, allow_unicode=True), encoding="utf-8")
    failed = build_sphinx(
        ROOT / name,
        pages,
        noconfig=True,
        path_config=config,
        confoverrides={"external_toc_path": str(toc), "latex_individualpages": False, "nitpicky": True},
        doctreedir=folder / f".doctrees-{builder}",
        builder=builder,
        # an incremental build forgets the warnings of pages that it does not read again
        freshenv=True,
        warningiserror=True,
        keep_going=True,
        quiet=True,
    )
    first = yaml.safe_load(toc.read_text(encoding="utf-8"))["root"]
    if first != "index":
        (pages / "index.html").write_text(REDIRECT_TEXT.format(first_page=f"{first}.html"), encoding="utf-8")
    return not failed


def build_all(builder: str) -> bool:
    """Whether all were; each in a process of its own, for Sphinx's extensions remember a build."""
    with ProcessPoolExecutor(len(BOOKS)) as pool:
        built = all(list(pool.map(build, BOOKS, [builder] * len(BOOKS))))
    if builder == "html":
        lead_on()
        site = configuration(ROOT, "")["html"]["baseurl"]
        addresses = (book.url(page) for book in map(partial(Book, ROOT), BOOKS) for page in book.pages())
        lines = (f"<url><loc>{address}</loc></url>" for address in addresses)
        pages = ROOT / "_build" / builder
        (pages / "sitemap.xml").write_text(SITEMAP.format("\n".join(lines)), encoding="utf-8")
        (pages / "404.html").write_text(NOT_FOUND.format(site=site), encoding="utf-8")
    return built


if __name__ == "__main__":
    sys.exit(not build_all(*sys.argv[1:]))
