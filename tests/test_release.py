"""A release: what its files hold, one version, one address, and what stops a tag from being published."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import release
import yaml

import amemlib

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    tomllib = pytest.importorskip("tomli")

ROOT = release.ROOT
BUILD = "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])"


def build(what: str, source: Path, output: Path) -> Path:
    """A wheel or a source distribution by the backend itself, which asks no index."""
    command = [sys.executable, "-c", BUILD, f"build_{what}", str(output)]
    run = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return next(output.glob("*.whl" if what == "wheel" else "*.tar.gz"))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The source distribution of the tree without its ignored files, and the wheel made from that distribution."""
    place = tmp_path_factory.mktemp("release")
    for name in release.tracked(ROOT):
        if not name.startswith(("chapters/", "assets/")):
            (place / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, place / "tree" / name)
    sdist = build("sdist", place / "tree", place)
    with tarfile.open(sdist) as archive:
        archive.extractall(place / "unpacked", filter="data")
    return sdist, build("wheel", next((place / "unpacked").iterdir()), place)


@pytest.mark.process
def test_both_files_hold_the_whole_package_and_nothing_else(built):
    for file in built:
        assert release.contents_faults(file) == []
    with zipfile.ZipFile(built[1]) as wheel:
        names = wheel.namelist()
        # the metadata shows nothing that leads nowhere on the index's page
        about = wheel.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
    for folder, end in (("records/one-step/", ".json"), ("labs/token_retrieval/", ".py"), ("tables/", ".npz")):
        assert any(name.startswith(f"amemlib/{folder}") and name.endswith(end) for name in names)
    assert f"\nVersion: {amemlib.__version__}\n" in about
    assert "License-Expression: MIT AND CC-BY-SA-4.0 AND PSF-2.0" in about
    assert not re.findall(r"\]\((?!https://)", about)
    assert [name for name in names if name.endswith("/LICENSE")]


@pytest.mark.process
def test_the_wheel_reads_its_records_where_there_is_no_repository(built, tmp_path):
    with zipfile.ZipFile(built[1]) as wheel:
        wheel.extractall(tmp_path)
    code = "import sys; sys.path.insert(0, sys.argv[1]); import amemlib; print(amemlib.__file__, amemlib.__version__, "
    code += "len(amemlib.read_records('one-step')))"
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True)
    file, version, records = run.stdout.split()
    assert file.startswith(str(tmp_path)) and version == amemlib.__version__ and int(records) > 0, run.stderr


@pytest.mark.process
def test_a_file_too_few_and_a_file_too_many_are_named(built, tmp_path):
    lost, extra = "amemlib/records/race/", "tests/test_release.py"
    broken = tmp_path / built[1].name
    with zipfile.ZipFile(built[1]) as whole, zipfile.ZipFile(broken, "w") as part:
        for name in whole.namelist():
            if not name.startswith(lost):
                part.writestr(name, whole.read(name))
        part.writestr(extra, "")
    faults = release.contents_faults(broken)
    assert any(f"lacks {lost}" in fault for fault in faults) and any(f"not hold {extra}" in fault for fault in faults)


def test_the_version_has_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"] and project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "amemlib.__version__"}
    assert release.version() == amemlib.__version__
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == amemlib.__version__
    newest = re.search(r"^## (\S+),", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest[1] == amemlib.__version__
    # Zenodo takes the tag's
    assert "version" not in json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))


def test_zenodo_says_what_the_citation_says():
    zenodo = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (zenodo["title"], zenodo["license"]) == (citation["title"], citation["license"])
    assert [person["name"] for person in zenodo["creators"]] == [person["name"] for person in citation["authors"]]
    assert [other["identifier"] for other in zenodo["related_identifiers"]] == [
        other["url"] for other in citation["references"]
    ]


def test_every_address_is_that_of_the_configuration():
    repository, book = release.addresses()
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["repository-code"] == repository and citation["url"].rstrip("/") == book
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    assert {name: url.rstrip("/") for name, url in urls.items()} == {"Book": book, "Repository": repository}
    name = repository.rpartition("/")[2]
    other = re.compile(rf"(?:github\.com|/github)/[\w-]+/{name}\b|[\w-]+\.github\.io/{name}\b")
    known = re.compile("|".join(re.escape(spelling.rstrip("/")) for spelling in release.spellings(repository, book)))
    # the notebooks are made from the configuration
    for file in release.tracked(ROOT, "*.md", "*.cff", "*.toml", "*.yml", "tools", ".github"):
        for found in other.findall((ROOT / file).read_text(encoding="utf-8")):
            assert known.fullmatch(found), f"{file} names {found}: tools/release.py address"


def test_a_move_replaces_every_spelling_and_nothing_else():
    old = ("https://github.com/one/book", "https://one.github.io/book")
    new = ("https://github.com/two/other", "https://two.github.io/other")
    text = "git+{0} https://colab.research.google.com/github/one/book/blob/main/a.ipynb {1}/a.html {0}.git"
    kept = " https://github.com/one/booklet https://github.com/one/book-tools one/book"
    assert release.moved(text.format(*old) + kept, old, new) == (
        text.format(*new).replace("/github/one/book/", "/github/two/other/") + kept
    )
    assert release.moved(text.format(*old) + kept, old, old) == text.format(*old) + kept


def test_a_tag_is_published_only_from_its_own_repository_dated_and_with_its_version(tmp_path):
    for name in ("README.md", "CITATION.cff", "_config.yml", "CHANGELOG.md", "amemlib/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    for path in tmp_path.iterdir():
        if path.is_file():
            path.write_text(path.read_text(encoding="utf-8").replace("placeholder", "address"), encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## {amemlib.__version__}, 2030-01-31\n")
    tag, home = f"v{amemlib.__version__}", release.addresses()[0].removeprefix("https://github.com/")
    assert release.ready_faults(tag, home, tmp_path) == []
    assert "the tag must be" in release.ready_faults("v9.9", home, tmp_path)[0]
    assert "address in _config.yml" in release.ready_faults(tag, "someone/fork", tmp_path)[0]
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## {amemlib.__version__}, unreleased\n")
    (tmp_path / "README.md").write_text("The address is a placeholder.\n")
    assert len(release.ready_faults(tag, home, tmp_path)) == 2


def test_the_job_that_publishes_has_an_identity_and_no_secret():
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"} and jobs["publish"]["needs"] == "build"
    assert jobs["build"]["permissions"] == {"contents": "read"}
    assert "secrets." not in text and "with: {packages-dir: dist}" in text
    commands = [step["run"] for step in jobs["build"]["steps"] if "run" in step]
    assert commands[0] == "make dist" and "tools/release.py ready" in commands[1]


@pytest.mark.weekly
def test_the_whole_build_from_the_last_commit(tmp_path):
    places = [f"{name}={tmp_path / name.lower()}" for name in ("DIST", "ARCHIVE", "RELEASE")]
    run = subprocess.run(["make", "dist", *places], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("PASSED") == 2
    name = f"amemlib-{amemlib.__version__}"
    assert len(list((tmp_path / "dist").iterdir())) == 2
    with zipfile.ZipFile(tmp_path / "archive" / f"{name}.zip") as archive:
        held = {path.removeprefix(f"{name}/") for path in archive.namelist()}
    assert {".zenodo.json", "CITATION.cff", "LICENSE", "LICENSE-text", "chapters/one-step.ipynb", "Makefile"} <= held
