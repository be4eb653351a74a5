"""Each book as one PDF: one long page, typeset and printed by Chromium. `make pdf`; no TeX needed."""

import sys

import books
import browse
from portable import BOOKS, Book

FOOTER = '<div style="width: 100%; font-size: 8px; text-align: center"><span class="pageNumber"></span></div>'
# Solutions are folded on the screen; paper has no button to open them.
UNFOLD = """document.querySelectorAll('details').forEach(d => d.open = true);
window.dispatchEvent(new Event('beforeprint'))"""
DRAWN = "![...document.querySelectorAll('[data-figure]')].some(box => box.dataset.drawn === 'false')"


def print_pdf(name: str) -> None:
    pdf = browse.ROOT / "_build" / f"{name or 'amemlib'}.pdf"
    with browse.chromium() as browser, browse.tab(browser, "desktop") as (page, _):
        page.set_default_timeout(0)
        first = next(iter(Book(browse.ROOT, name).pages()))
        browse.open_page(page, browse.ROOT / "_build" / "singlehtml" / f"{first}.html")
        page.evaluate(UNFOLD)
        page.wait_for_function(DRAWN)
        page.pdf(
            path=pdf,
            format="A4",
            print_background=True,
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=FOOTER,
            outline=True,
            tagged=True,
        )
    print(pdf.relative_to(browse.ROOT))


if __name__ == "__main__":
    if not books.build_all("singlehtml"):
        sys.exit("the one-page build failed")
    for name in BOOKS:
        print_pdf(name)
