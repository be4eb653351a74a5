"""The whole book as one PDF: one long page, typeset and printed by Chromium. `make pdf`; no TeX needed."""

import sys

import browse
from jupyter_book.sphinx import build_sphinx

HTML = browse.ROOT / "_build" / "singlehtml"
PDF = browse.ROOT / "_build" / "amemlib.pdf"
FOOTER = '<div style="width: 100%; font-size: 8px; text-align: center"><span class="pageNumber"></span></div>'
# Solutions are folded on the screen; paper has no button to open them.
UNFOLD = "document.querySelectorAll('details').forEach(d => d.open = true)"


def build() -> None:
    failed = build_sphinx(
        browse.ROOT,
        HTML,
        use_external_toc=True,
        noconfig=True,
        path_config=browse.ROOT / "_config.yml",
        confoverrides={"latex_individualpages": False},
        builder="singlehtml",
        warningiserror=True,
        keep_going=True,
        freshenv=True,
        quiet=True,
    )
    if failed:
        sys.exit(f"the one-page build failed: {failed}")


def print_pdf() -> None:
    with browse.chromium() as browser, browse.tab(browser, "desktop") as (page, _):
        page.set_default_timeout(0)
        browse.open_page(page, HTML / "README.html")
        page.evaluate(UNFOLD)
        page.pdf(
            path=PDF,
            format="A4",
            print_background=True,
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=FOOTER,
            outline=True,
            tagged=True,
        )
    print(PDF.relative_to(browse.ROOT))


if __name__ == "__main__":
    build()
    print_pdf()
