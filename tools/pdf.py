"""The whole book as one PDF: one long page, typeset and printed by Chromium. `make pdf`; no TeX needed."""

import asyncio
import base64
import sys

import browse
from jupyter_book.sphinx import build_sphinx

HTML = browse.ROOT / "_build" / "singlehtml"
PDF = browse.ROOT / "_build" / "amemlib.pdf"
FOOTER = '<div style="width: 100%; font-size: 8px; text-align: center"><span class="pageNumber"></span></div>'
# Solutions are folded on the screen; paper has no button to open them.
UNFOLD = "document.querySelectorAll('details').forEach(d => d.open = true); 0"
A4_INCHES = {"paperWidth": 8.27, "paperHeight": 11.69}


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


async def print_pdf() -> None:
    async with browse.browser_tab() as tab:
        await tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
        await browse.open_page(tab, HTML / "README.html")
        await tab.value(UNFOLD)
        printed = await tab.call(
            "Page.printToPDF",
            printBackground=True,
            displayHeaderFooter=True,
            headerTemplate="<span></span>",
            footerTemplate=FOOTER,
            generateDocumentOutline=True,
            generateTaggedPDF=True,
            **A4_INCHES,
        )
    if "data" not in printed:
        sys.exit(f"Chromium printed nothing: {printed}")
    PDF.write_bytes(base64.b64decode(printed["data"]))
    print(PDF.relative_to(browse.ROOT))


if __name__ == "__main__":
    build()
    asyncio.run(print_pdf())
