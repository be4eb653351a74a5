"""Open every built page in a headless Chromium, on a desk and on a phone, in the light and in the dark: `make pages`.

A fault is an error in the console, a request that leaves the machine, a page that scrolls sideways, an equation that is
cut, broken too early or scrolls without a sign, text in a picture that is too small to read, a stop of the Tab key that
leads nowhere, what axe-core finds, a page that is too heavy or moves while it loads. `--shots` keeps a picture of every
page in _build/shots. The tests visit a sample.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from shutil import which
from urllib.parse import unquote, urlsplit

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
CHROMIUM = which("chromium") or which("chromium-browser") or which("google-chrome")
VIEWS = {
    "desktop": (1280, 900, "light"),
    "desktop, dark": (1280, 900, "dark"),
    "phone": (390, 844, "light"),
    "phone, dark": (390, 844, "dark"),
}
PHONE = 390
SCROLLING_SHARE = 0.25
"""At most this share of the book's display equations may scroll on a phone."""
FIRST_VISIT, SHIFT = 2_200_000, 0.1
"""At most: bytes that a first visit to a page loads, and how far its layout shifts meanwhile."""
SLOWER = 4
"""A first visit is timed on a processor so many times slower: what a fast one paints at once still shifts elsewhere."""
SMALLEST = 9
"""Pixels of the smallest words in a picture, indices in formulas excepted."""
TALLEST = 12_000
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SETTLED = """document.readyState === 'complete'
  && (document.documentElement.dataset.fitted || !document.querySelector('script[src*="book.js"]'))"""
SHIFTED = """() => new Promise((go) => { let total = 0;
  new PerformanceObserver((list) => { for (const one of list.getEntries()) total += one.value; })
    .observe({type: 'layout-shift', buffered: true}); setTimeout(() => go(total), 300); })"""
MEASURE = """() => {
  const name = (box) => box.closest('[id]')?.id || box.textContent.slice(0, 40);
  const boxes = [...document.querySelectorAll('div.math > mjx-container')].filter((box) => box.clientWidth);
  const wide = boxes.filter((box) => box.scrollWidth > box.clientWidth + 1);
  const signed = (box) => box.classList.contains('wide') && box.tabIndex === 0;
  const right = (box) => Math.round(box.getBoundingClientRect().right);
  const ink = (box) => {
    const glyphs = [...box.querySelectorAll('mjx-c')].map((c) => c.getBoundingClientRect()).filter((at) => at.width);
    return Math.max(...glyphs.map((at) => at.right)) - Math.min(...glyphs.map((at) => at.left));
  };
  const scrolls = (box) => box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
  return {
    equations: boxes.length,
    wide: wide.map(name),
    unsigned: wide.filter((box) => !signed(box)).map(name),
    // two lines that are both below half of the column would have stood in one
    narrow: boxes.filter((box) => box.querySelector('mjx-linebox') && ink(box) < 0.45 * box.clientWidth).map(name),
    inline: [...document.querySelectorAll('article span.math')].filter((span) => right(span)
      > right(span.closest('article')) + 1 && !span.closest('table, .pst-scrollable-table-container')).map(name),
    focus: [...document.querySelectorAll('article [tabindex="0"]')].filter((box) => box.clientWidth && !scrolls(box)
      && !box.closest('#amem-explorer')).map((box) => box.className || box.tagName),
    pictures: [...document.querySelectorAll('article img')].filter((image) => image.clientWidth)
      .map((image) => [image.currentSrc, image.clientWidth]),
    broken: [...document.images].filter((image) => image.complete && !image.naturalWidth).map((image) => image.src),
  };
}"""
# The inside of a formula is MathJax's own, and tens of thousands of elements: it is taken out first.
AXE = """(() => {
  document.querySelectorAll('mjx-math, mjx-assistive-mml').forEach((inside) => inside.replaceChildren());
  return axe.run(document, {resultTypes: ['violations'], preload: false}).then((report) => report.violations);
})()"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium, not one that playwright would download."""
    if CHROMIUM is None:
        raise FileNotFoundError("no Chromium on this machine: install the package chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def tab(browser: Browser, view: str, motion: str = "reduce") -> Iterator[tuple[Page, list[str]]]:
    """A fresh page in one of VIEWS, and the list that its complaints are added to."""
    width, height, scheme = VIEWS[view]
    size = {"width": width, "height": height}
    context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion=motion)
    page, complaints = context.new_page(), []

    def listen(event: str, wanted, text) -> None:
        page.on(event, lambda heard: complaints.append(text(heard)) if wanted(heard) else None)

    listen("pageerror", lambda error: True, lambda error: str(error).splitlines()[0])
    listen("console", lambda message: message.type == "error", lambda message: f"console: {message.text}")
    listen("request", lambda request: outside(request.url), lambda request: f"request: {request.url}")
    listen("requestfailed", lambda request: True, lambda request: f"not there: {request.url}")
    yield page, complaints
    context.close()


def outside(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme in ("http", "https") and parts.hostname not in ("localhost", "127.0.0.1")


def open_page(page: Page, path: Path, fragment: str = "") -> None:
    """Load a page and wait until its fonts and its mathematics are there."""
    page.goto("about:blank")
    page.goto(path.as_uri() + fragment, timeout=60_000)
    page.wait_for_function(SETTLED, timeout=60_000)
    page.evaluate("document.fonts.ready.then(() => 0)")


def accessibility(page: Page) -> list[str]:
    """What axe-core finds, one line a rule. Empties the page's formulas."""
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8") + "; 0")
    lines = []
    for violation in page.evaluate(AXE):
        places = [" ".join(map(str, node["target"])) for node in violation["nodes"]]
        lines.append(f"axe: {violation['id']} ({violation['impact']}): {len(places)} × {places[0]}")
    return lines


def faults(page: Page, view: str, equations: Counter) -> list[str]:
    """What is wrong with the open page; adds its equations, and those that scroll, to `equations`."""
    measured = page.evaluate(MEASURE)
    on_phone = VIEWS[view][0] == PHONE
    equations.update({(on_phone, "all"): measured["equations"], (on_phone, "wide"): len(measured["wide"])})
    lines = ["scrolls sideways"] if page.evaluate(SIDEWAYS) > 0 else []
    cut = measured["unsigned"] if on_phone else measured["wide"]
    lines += [f"equation wider than its column: {name}" for name in cut]
    lines += [f"equation broken far narrower than its column: {name}" for name in measured["narrow"]]
    lines += [f"formula leaves its line: {name}" for name in measured["inline"]]
    lines += [f"the Tab key stops at {name!r}, which does not scroll" for name in measured["focus"]]
    lines += [fault for source, width in measured["pictures"] for fault in too_small(source, width)]
    return lines + [f"picture is missing: {address}" for address in measured["broken"]]


def too_small(source: str, width: float) -> list[str]:
    """The fault of a picture, `width` pixels wide on its page, whose smallest words nobody could read there."""
    path = Path(unquote(urlsplit(source).path))
    # the icons of Sphinx have no words
    if path.suffix != ".png" or path.parent.name == "_static":
        return []
    with Image.open(path) as picture:
        if "smallest" not in picture.text:
            return [f"{path.name} does not say how small its words are"]
        pixels = float(picture.text["smallest"]) / 72 * picture.info["dpi"][0] * width / picture.width
    return [f"words of {pixels:.1f} px in {path.name}"] if pixels < SMALLEST else []


def first_visit(browser: Browser, view: str, path: Path) -> tuple[int, float]:
    """Bytes that the first screen of a page asks for, uncompressed, and how far its layout shifts meanwhile."""
    asked: set[Path] = set()
    with tab(browser, view, motion="no-preference") as (page, _):
        page.on("request", lambda request: asked.add(Path(unquote(urlsplit(request.url).path))))
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        open_page(page, path)
        return sum(file.stat().st_size for file in asked if file.is_file()), page.evaluate(SHIFTED)


def arrival(browser: Browser, view: str, path: Path) -> list[str]:
    """What is wrong with a first visit to a page."""
    weight, shift = first_visit(browser, view, path)
    lines = [f"a first visit loads {weight:,} bytes"] if weight > FIRST_VISIT else []
    return lines + ([f"the layout shifts by {shift:.2f} while it loads"] if shift > SHIFT else [])


def built_pages() -> list[Path]:
    """Every page of the built books; a second one's index.html only leads to its first. Slides have their own test."""
    others = {"_static", "slides"}
    pages = (path for path in HTML.rglob("*.html") if path.parent == HTML or path.name != "index.html")
    return sorted(path for path in pages if not others & set(path.parts))


def visit(pages: list[Path], shots: Path | None = None) -> list[str]:
    """Every fault of `pages`, in all views."""
    complaints: list[str] = []
    equations: Counter = Counter()
    with chromium() as browser:
        for view, (width, height, scheme) in VIEWS.items():
            with tab(browser, view) as (page, heard):
                for path in pages:
                    heard.clear()
                    open_page(page, path)
                    lines = faults(page, view, equations)
                    if shots:
                        tall = min(page.evaluate("document.documentElement.scrollHeight"), TALLEST)
                        page.set_viewport_size({"width": width, "height": tall})
                        name = f"{name_of(path).replace('/', '-')}-{view.replace(', ', '-')}.png"
                        page.screenshot(path=shots / name)
                        page.set_viewport_size({"width": width, "height": height})
                    lines += accessibility(page)
                    lines += arrival(browser, view, path) if scheme == "light" else []
                    complaints += [f"{name_of(path)} ({view}): {line}" for line in lines + heard]
    share = equations[True, "wide"] / max(equations[True, "all"], 1)
    print(f"{len(pages)} pages in {len(VIEWS)} views; {share:.0%} of the equations scroll on a phone")
    if share > SCROLLING_SHARE:
        complaints.append(f"{share:.0%} of the equations scroll on a phone, more than {SCROLLING_SHARE:.0%}")
    return complaints


def name_of(path: Path) -> str:
    return path.relative_to(HTML).with_suffix("").as_posix()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="chapters/NAME; all pages if none is given")
    parser.add_argument("--shots", action="store_true", help="keep pictures in _build/shots")
    args = parser.parse_args()
    shots = ROOT / "_build" / "shots"
    if args.shots:
        shots.mkdir(parents=True, exist_ok=True)
    pages = [HTML / f"{name}.html" for name in args.pages] or built_pages()
    complaints = visit(pages, shots if args.shots else None)
    print(*complaints, sep="\n", end="\n" if complaints else "")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
