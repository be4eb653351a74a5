"""What a release is held to: `contents` of the built files, `ready` for a tag; `address` moves the book to another one.

`make dist` and the workflow that publishes run it in an environment with nothing but the tools of the build.
"""

import argparse
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 15_000_000
"""Bytes that no file of a release may have."""
BESIDE = ["CHANGELOG.md", "CITATION.cff", "LICENSE", "MANIFEST.in", "PKG-INFO", "pyproject.toml", "setup.cfg"]
"""What a source distribution holds beside the package."""


def version(root: Path = ROOT) -> str:
    """`amemlib.__version__`, the one place of the version, read without importing it."""
    text = (root / "amemlib" / "__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)[1]


def addresses(root: Path = ROOT) -> tuple[str, str]:
    """The addresses of the repository and of the book, as _config.yml has them, without a slash at the end."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    return config["repository"]["url"].rstrip("/"), config["html"]["baseurl"].rstrip("/")


def tracked(root: Path, *paths: str) -> list[str]:
    """The files that git knows or would add, those that are there."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *paths]
    names = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.split("\0")
    return sorted({name for name in names if name and (root / name).is_file()})


def contents_faults(built: Path, root: Path = ROOT) -> list[str]:
    """What a wheel or a source distribution lacks, or has too much of: it holds the whole package and no book."""
    package = set(tracked(root, "amemlib"))
    if built.suffix == ".whl":
        with zipfile.ZipFile(built) as archive:
            names = {name for name in archive.namelist() if ".dist-info/" not in name}
        expected = package
    else:
        with tarfile.open(built) as archive:
            names = {member.name.partition("/")[2] for member in archive if member.isfile()}
        names = {name for name in names if not name.startswith("amemlib.egg-info/")}
        expected = package | set(BESIDE)
    faults = [f"{built.name} lacks {name}" for name in sorted(expected - names)]
    faults += [f"{built.name} should not hold {name}" for name in sorted(names - expected)]
    if not built.name.startswith(f"amemlib-{version(root)}"):
        faults.append(f"{built.name} is not of version {version(root)}")
    if built.stat().st_size > LIMIT:
        faults.append(f"{built.name} has {built.stat().st_size:,} bytes, more than {LIMIT:,}")
    return faults


def ready_faults(tag: str, repository: str, root: Path = ROOT) -> list[str]:
    """Why this tag of this repository ("owner/name") must not be published."""
    faults, now, (home, _) = [], version(root), addresses(root)
    if tag != f"v{now}":
        faults.append(f"the tag must be v{now}, as amemlib.__version__ says, got {tag}")
    if home != f"https://github.com/{repository}":
        faults.append(f"the address in _config.yml must be that of {repository}, got {home}: tools/release.py address")
    if not re.search(rf"^## {re.escape(now)}, \d{{4}}-\d\d-\d\d$", _text(root / "CHANGELOG.md"), re.MULTILINE):
        faults.append(f"CHANGELOG.md must have a line '## {now}, YYYY-MM-DD'")
    for name in ("README.md", "CITATION.cff", "_config.yml"):
        if "placeholder" in _text(root / name):
            faults.append(f"{name} still calls the address a placeholder")
    return faults


def spellings(repository: str, book: str) -> list[str]:
    """The ways in which a text names the two addresses: in full, in Colab's links and without the protocol."""
    bare = repository.removeprefix("https://")
    return [bare, bare.replace("github.com/", "/github/") + "/", book.removeprefix("https://")]


def moved(text: str, old: tuple[str, str], new: tuple[str, str]) -> str:
    """`text` with both addresses in all their spellings replaced."""
    for before, after in zip(spellings(*old), spellings(*new), strict=True):
        text = re.sub(re.escape(before) + r"(?![\w-])" * (not before.endswith("/")), after, text)
    return text


def move(repository: str, book: str, root: Path = ROOT) -> list[str]:
    """Replace both addresses in every text of the tree; the files that have changed."""
    old, new, changed = addresses(root), (repository.rstrip("/"), book.rstrip("/")), []
    for name in tracked(root):
        path = root / name
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if (text_now := moved(text, old, new)) != text:
            path.write_text(text_now, encoding="utf-8")
            changed.append(name)
    return changed


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("version", help="print the version")
    commands.add_parser("contents", help="check built files").add_argument("files", nargs="+", type=Path)
    ready = commands.add_parser("ready", help="check that a tag may be published")
    ready.add_argument("tag")
    ready.add_argument("repository", help="OWNER/NAME")
    address = commands.add_parser("address", help="replace the address of the repository and of the book everywhere")
    address.add_argument("repository", help="https://github.com/OWNER/NAME")
    address.add_argument("book", help="https://OWNER.github.io/NAME")
    args = parser.parse_args()
    if args.command == "version":
        print(version())
        return 0
    if args.command == "address":
        print(*move(args.repository, args.book), sep="\n")
        return 0
    if args.command == "contents":
        found = [fault for built in args.files for fault in contents_faults(built)]
    else:
        found = ready_faults(args.tag, args.repository)
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
