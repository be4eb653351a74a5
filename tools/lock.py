"""Writes requirements.lock: every package that requirements.txt brings, with the SHA-256 of the file that was chosen.

requirements-release.lock in the same way; `python tools/lock.py release` writes that one alone. `make setup LOCK=1` and
`make dist` install from them and stop where a file has another hash: whatever index the file came from, it is
the one that was looked at. The lock is for one kind of machine, Linux on x86_64 with Python 3.11, as the workflows are.
pip's own environment variables choose the indexes that are asked.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PINS, LOCK = ROOT / "requirements.txt", ROOT / "requirements.lock"
RELEASE_PINS, RELEASE_LOCK = ROOT / "requirements-release.txt", ROOT / "requirements-release.lock"
HEAD = "# Written by `python tools/lock.py` from {}, for Linux on x86_64 with Python 3.11; do not edit.\n"
SECOND_INDEX = """\
# torch's CPU build stands on an index of its own, https://download.pytorch.org/whl/cpu, which PIP_EXTRA_INDEX_URL names
# where this file is used. A second index could offer any name: the hashes refuse what was not looked at.
"""


def chosen(pins: Path) -> dict:
    """pip's report of what it would install for a file of requirements, if nothing were installed yet."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--only-binary", ":all:", "--report", str(report), "-r", str(pins)]
        subprocess.run(command, check=True)
        return json.loads(report.read_text(encoding="utf-8"))


def lines(report: dict) -> list[str]:
    """One requirement a package with its hash, by name; `ValueError` for a file whose hash pip does not say."""
    found = {}
    for item in report["install"]:
        name, version = item["metadata"]["name"].lower().replace("_", "-"), item["metadata"]["version"]
        sha256 = item["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256")
        if sha256 is None:
            raise ValueError(f"requirements must all be files with a hash, got {name} from {item['download_info']}")
        found[name] = f"{name}=={version} --hash=sha256:{sha256}"
    return [found[name] for name in sorted(found)]


def pins(text: str) -> dict[str, str]:
    """The version of each package that a file of requirements pins, by name, local parts such as "+cpu" left out."""
    rows = [line.split()[0].split("==") for line in text.splitlines() if "==" in line and not line.startswith("#")]
    return {name.lower().replace("_", "-"): version.partition("+")[0] for name, version in rows}


def main() -> None:
    """Write both locks, or with the argument "release" that one alone."""
    release = (RELEASE_PINS, RELEASE_LOCK, "")
    for source, lock, note in [release] if sys.argv[1:] == ["release"] else [(PINS, LOCK, SECOND_INDEX), release]:
        head = HEAD.format(source.name) + note
        lock.write_text(head + "\n".join(lines(chosen(source))) + "\n", encoding="utf-8")
        print(f"{lock.name}: {len(pins(lock.read_text(encoding='utf-8')))} packages")


if __name__ == "__main__":
    main()
