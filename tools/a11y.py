"""Run axe-core over every built page, in light and in dark: nothing serious may be left.

`make a11y`; it fetches axe-core from the npm registry into _build. By hand and in CI, not in the tests.
"""

import asyncio
import json
import subprocess
import sys
import tarfile
from shutil import which

import browse

AXE = "4.10.3"
SERIOUS = {"serious", "critical"}
RUN = "axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify(r.violations))"


def axe_source() -> str:
    """axe.min.js of the pinned version, fetched once."""
    folder = browse.ROOT / "_build" / "axe"
    script = folder / f"axe-{AXE}.min.js"
    if not script.exists():
        if which("npm") is None:
            sys.exit("npm must be on the path: axe-core comes from its registry")
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "pack", "--silent", f"axe-core@{AXE}"], cwd=folder, check=True, capture_output=True)
        with tarfile.open(folder / f"axe-core-{AXE}.tgz") as package:
            script.write_bytes(package.extractfile("package/axe.min.js").read())
    return script.read_text(encoding="utf-8")


async def examine() -> int:
    source, pages, count = axe_source(), browse.built_pages(), 0
    async with browse.browser_tab() as tab:
        for view in ("desktop", "dark"):
            await browse.set_view(tab, view)
            for page in pages:
                await browse.open_page(tab, page)
                await tab.value(source + "; 0")
                for violation in json.loads(await tab.value(RUN)):
                    serious = violation["impact"] in SERIOUS
                    count += serious
                    places = [" ".join(map(str, node["target"])) for node in violation["nodes"]]
                    print(
                        f"{page.relative_to(browse.HTML)} ({view}): {violation['impact']}: {violation['help']}: "
                        f"{len(places)} × {places[0]}",
                        file=sys.stdout if serious else sys.stderr,
                    )
    print(f"{len(pages)} pages, {count} serious violations")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(examine()))
