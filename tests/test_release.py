"""What is published holds both packages whole, and the texts around it say one version, one address, one licence."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from pybtex.database import parse_string

import amemlib

ROOT = Path(__file__).resolve().parents[1]
BUILD = "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])"


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture
def tracked(git):
    """The files among some paths that git knows or would add, those that are there."""

    def files(*paths: str) -> list[str]:
        names = git("ls-files", "--cached", "--others", "--exclude-standard", "--", *paths).splitlines()
        return [name for name in names if (ROOT / name).is_file()]

    return files


def build(what: str, source: Path, output: Path) -> Path:
    """A wheel or a source distribution by the backend itself, which asks no index."""
    command = [sys.executable, "-c", BUILD, f"build_{what}", str(output)]
    run = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return next(output.glob("*.whl" if what == "wheel" else "*.tar.gz"))


@pytest.mark.weekly
def test_the_wheel_of_the_source_distribution_holds_both_packages_and_reads_its_records(tmp_path, tracked):
    packages = set(tracked("amemlib", "amembook"))
    for name in packages | set(tracked("pyproject.toml", "MANIFEST.in", "LICENSE*", "CHANGELOG.md", "CITATION.cff")):
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_bytes((ROOT / name).read_bytes())
    with tarfile.open(build("sdist", tmp_path / "tree", tmp_path)) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    wheel = zipfile.ZipFile(build("wheel", next((tmp_path / "unpacked").iterdir()), tmp_path))
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == {name for name in packages if not Path(name).name.startswith("test_")}
    about = wheel.read(next(name for name in wheel.namelist() if name.endswith("/METADATA"))).decode()
    # the metadata shows nothing that leads nowhere on the index's page
    assert f"\nVersion: {amemlib.__version__}\n" in about and not re.findall(r"\]\((?!https://)", about)
    wheel.extractall(tmp_path / "installed")
    code = "import amembook, amemlib; print(amemlib.__file__, len(amembook.read_records('one-step')))"
    run = [sys.executable, "-c", code]
    said = subprocess.run(run, cwd=tmp_path / "installed", env={}, capture_output=True, text=True)
    file, records = said.stdout.split() or pytest.fail(said.stderr)
    assert file.startswith(str(tmp_path)) and int(records) > 0


def test_the_version_has_one_place():
    project = tomllib.loads(read("pyproject.toml"))
    assert "version" not in project["project"] and project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "amemlib.__version__"}
    assert yaml.safe_load(read("CITATION.cff"))["version"] == amemlib.__version__
    assert re.search(r"^## (\S+),", read("CHANGELOG.md"), re.MULTILINE)[1] == amemlib.__version__


def test_every_text_has_the_address_of_the_configuration(tracked):
    config, citation = yaml.safe_load(read("_config.yml")), yaml.safe_load(read("CITATION.cff"))
    repository, book = config["repository"]["url"], config["html"]["baseurl"]
    assert (citation["repository-code"], citation["url"]) == (repository, book)
    assert tomllib.loads(read("pyproject.toml"))["project"]["urls"] == {"Book": book, "Repository": repository}
    owner, name = repository.split("/")[-2:]
    other = re.compile(rf"(?:github\.com|/github)/[\w-]+/(?:{name}|amemlib)\b|[\w-]+\.github\.io/(?:{name}|amemlib)\b")
    known = {f"github.com/{owner}/{name}", f"/github/{owner}/{name}", book.removeprefix("https://").rstrip("/")}
    # the notebooks are made from the configuration
    for file in tracked("*.md", "*.cff", "*.toml", "*.yml", "tools", ".github"):
        assert set(other.findall(read(file))) <= known, f"{file}: PUBLISH.md says how an address is changed"


def test_the_licences_name_the_mathjax_that_ships():
    version = re.search(r"^# MathJax (\d+\.\d+\.\d+)$", read("REUSE.toml"), re.MULTILINE)[1]
    assert f'"{version}"' in read("assets/mathjax/tex-mml-chtml-mathjax-tex.js")


@pytest.mark.process
def test_every_file_has_its_licence():
    pytest.importorskip("reuse", reason="pip install reuse: the pins of the book do not hold it")
    lint = subprocess.run([sys.executable, "-m", "reuse", "lint"], cwd=ROOT, capture_output=True, text=True)
    assert lint.returncode == 0, lint.stdout


def test_the_book_and_the_paper_are_cited_alike_wherever_they_are():
    entries = [parse_string("".join(re.findall(r"```bibtex\n(.*?)```", read(page), re.DOTALL)), "bibtex").entries
               for page in ("index.md", "README.md", "chapters/guide.md")]  # fmt: skip
    assert entries[0] == entries[1] == entries[2] and set(entries[0]) == {"amemlib", "kim2026sharp"}
    assert entries[0]["kim2026sharp"] == parse_string(read("chapters/references.bib"), "bibtex").entries["kim2026sharp"]
    citation, own = yaml.safe_load(read("CITATION.cff")), entries[0]["amemlib"].fields
    assert own["title"] == citation["title"] and own["url"] == citation["url"]
    assert own["note"] == f"Version {citation['version']}"
