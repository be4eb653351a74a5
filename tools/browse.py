"""Open every built page in a headless Chromium, on a desk, on a phone and in the dark, and report what goes wrong.

Wrong is an error in the console, a request that leaves the machine, a page that scrolls sideways. Pictures go to
_build/shots. By hand, `make shots`; the tests need no browser.
"""

import asyncio
import base64
import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which

from tornado.websocket import websocket_connect

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
VIEWS = {"desktop": (1280, 900, "light"), "phone": (390, 844, "light"), "dark": (1280, 900, "dark")}
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SETTLED = """(async () => {
  await document.fonts.ready;
  await window.MathJax?.startup?.promise;
  const moving = document.getAnimations().filter(one => one.effect.getComputedTiming().endTime < 1e5);
  await Promise.allSettled(moving.map(one => one.finished));
})()"""


class Tab:
    """One DevTools connection: `call` asks and waits, events that arrive meanwhile are kept in `events`."""

    def __init__(self, socket):
        self.socket, self.events, self.last = socket, [], 0

    async def call(self, method: str, **params) -> dict:
        self.last += 1
        await self.socket.write_message(json.dumps({"id": self.last, "method": method, "params": params}))
        return await self.until(lambda message: message.get("id") == self.last)

    async def until(self, wanted) -> dict:
        while True:
            message = json.loads(await self.socket.read_message())
            if wanted(message):
                return message.get("result", message)
            self.events.append(message)

    async def value(self, expression: str):
        result = await self.call("Runtime.evaluate", expression=expression, awaitPromise=True)
        return result["result"].get("value")


def complaints(event: dict) -> list[str]:
    params = event.get("params", {})
    if event["method"] == "Runtime.exceptionThrown":
        return [params["exceptionDetails"].get("exception", params["exceptionDetails"]).get("description", "exception")]
    if event["method"] == "Runtime.consoleAPICalled" and params["type"] == "error":
        return ["console: " + " ".join(str(arg.get("value")) for arg in params["args"])]
    if event["method"] == "Log.entryAdded" and params["entry"]["level"] == "error":
        return [f"{params['entry']['text']} {params['entry'].get('url', '')}"]
    if event["method"] == "Network.requestWillBeSent" and params["request"]["url"].startswith(("http:", "https:")):
        return ["request: " + params["request"]["url"]]
    return []


@asynccontextmanager
async def browser_tab() -> AsyncIterator[Tab]:
    """A tab of a fresh headless Chromium with its console, its page and its requests under observation."""
    chromium = which("chromium") or which("chromium-browser") or which("google-chrome")
    if chromium is None:
        raise FileNotFoundError("no Chromium on this machine: install the package chromium")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        flags = ["--headless", "--no-sandbox", "--remote-debugging-port=0", f"--user-data-dir={profile}"]
        browser = subprocess.Popen([chromium, *flags], stderr=subprocess.PIPE, text=True)
        try:
            listening = next(line for line in browser.stderr if "DevTools listening on" in line)
            new_tab = f"http://127.0.0.1:{int(listening.split(':')[2].split('/')[0])}/json/new"
            with urllib.request.urlopen(urllib.request.Request(new_tab, method="PUT")) as answer:
                address = json.load(answer)["webSocketDebuggerUrl"]
            tab = Tab(await websocket_connect(address, max_message_size=2**28))
            for domain in ("Page", "Runtime", "Log", "Network"):
                await tab.call(f"{domain}.enable")
            yield tab
        finally:
            browser.terminate()
            browser.wait()


async def set_view(tab: Tab, view: str) -> None:
    """The size and the colour scheme of one of VIEWS."""
    width, height, scheme = VIEWS[view]
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    await tab.call("Emulation.setDeviceMetricsOverride", **size)
    await tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])


async def open_page(tab: Tab, page: Path) -> None:
    """Load a page and wait until its fonts and its mathematics are there and nothing moves any more."""
    tab.events.clear()
    await tab.call("Page.navigate", url=page.as_uri())
    await tab.until(lambda message: message.get("method") == "Page.loadEventFired")
    await tab.value(SETTLED)


def built_pages() -> list[Path]:
    """Every page of the built book; index.html only leads to the first."""
    return sorted(path for path in HTML.rglob("*.html") if path.name != "index.html" and "_static" not in path.parts)


async def look(pages: list[Path], shots: Path) -> int:
    count = 0
    async with browser_tab() as tab:
        for view, (width, _, _) in VIEWS.items():
            await set_view(tab, view)
            for page in pages:
                await open_page(tab, page)
                found = [complaint for event in tab.events if "method" in event for complaint in complaints(event)]
                if await tab.value(SIDEWAYS) > 0:
                    found.append("scrolls sideways")
                content = (await tab.call("Page.getLayoutMetrics"))["cssContentSize"]
                clip = {"x": 0, "y": 0, "width": width, "height": min(content["height"], 12000), "scale": 1}
                shot = await tab.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
                name = page.relative_to(HTML).with_suffix("").as_posix().replace("/", "-")
                (shots / f"{name}-{view}.png").write_bytes(base64.b64decode(shot["data"]))
                for complaint in found:
                    print(f"{page.relative_to(HTML)} ({view}): {complaint}")
                count += len(found)
    return count


def main() -> int:
    shots = ROOT / "_build" / "shots"
    shots.mkdir(parents=True, exist_ok=True)
    pages = built_pages()
    count = asyncio.run(look(pages, shots))
    print(f"{len(pages)} pages, {len(VIEWS)} views, {count} complaints; pictures in {shots.relative_to(ROOT)}")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
