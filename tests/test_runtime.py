"""The profile, the device, and a fingerprint that follows the code and not its prose."""

import sys

import numpy as np
import pytest
import scipy
import torch

from amemlib import runtime


@pytest.mark.parametrize("name", runtime.PROFILES)
def test_the_profile_comes_from_the_environment(monkeypatch, name):
    monkeypatch.setenv("AMEM_PROFILE", name)
    assert runtime.profile() == name


def test_the_profile_is_cpu_where_nothing_is_said(monkeypatch):
    monkeypatch.delenv("AMEM_PROFILE", raising=False)
    assert runtime.profile() == "cpu"


@pytest.mark.parametrize("has_gpu", [False, True])
def test_auto_takes_a_gpu_where_there_is_one(monkeypatch, has_gpu):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_gpu)
    assert runtime.device("auto").type == ("cuda" if has_gpu else "cpu")
    assert runtime.device("cpu").type == "cpu"


def test_a_chapter_runs_on_one_thread_outside_colab(monkeypatch):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        monkeypatch.setitem(sys.modules, "google.colab", runtime)
        runtime.start_chapter()
        assert runtime.in_colab() and torch.get_num_threads() == 2
        monkeypatch.delitem(sys.modules, "google.colab")
        runtime.start_chapter()
        assert not runtime.in_colab() and torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_provenance_names_versions_and_code():
    provenance = runtime.provenance(torch.device("cpu"))
    versions = provenance["versions"]
    assert versions["numpy"] == np.__version__ and versions["scipy"] == scipy.__version__
    assert torch.__version__.startswith(versions["torch"].partition("+")[0])
    assert provenance["device"].startswith("cpu")
    assert provenance["code"] == runtime.code_hash()


def fingerprint(monkeypatch, folder, text, name="room.py"):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    monkeypatch.setattr(runtime, "__file__", str(folder / "runtime.py"))
    runtime.code_hash.cache_clear()
    try:
        return runtime.code_hash()
    finally:
        monkeypatch.undo()
        runtime.code_hash.cache_clear()


def test_the_fingerprint_follows_the_code_and_not_its_prose(monkeypatch, tmp_path):
    base = fingerprint(monkeypatch, tmp_path / "a", '"""Old."""\n\ndef f():\n    """Old."""\n    return 1\n')
    prose = fingerprint(monkeypatch, tmp_path / "a", '"""New."""\n\n# why\ndef f():\n    """New."""\n    return  1\n')
    code = fingerprint(monkeypatch, tmp_path / "a", "def f():\n    return 2\n")
    more = fingerprint(monkeypatch, tmp_path / "a", "x = 1\n", name="other.py")
    assert base == prose
    assert len({base, code, more}) == 3
    assert runtime.code_hash() not in {base, code, more}


def test_the_fingerprint_of_a_module_covers_what_it_imports(monkeypatch, tmp_path):
    """A changed figure or another experiment leaves a cell's key alone; a changed import, however far, does not."""
    files = {
        "__init__.py": "from amemlib import rooms, figures",
        "theory.py": "a = 1",
        "figures.py": "b = 1",
        "rooms/__init__.py": "from amemlib.rooms.one import f",
        "rooms/one.py": "from amemlib import theory",
    }
    (tmp_path / "rooms").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(runtime, "__file__", str(tmp_path / "runtime.py"))

    def fingerprint(changed: str) -> str:
        (tmp_path / changed).write_text(files[changed] + "\nmore = 1")
        runtime.code_hash.cache_clear()
        try:
            return runtime.code_hash("amemlib.rooms.one")
        finally:
            (tmp_path / changed).write_text(files[changed])
            runtime.code_hash.cache_clear()

    base = fingerprint("__init__.py")
    assert fingerprint("figures.py") == base
    assert fingerprint("rooms/__init__.py") == base
    assert fingerprint("theory.py") != base
    assert fingerprint("rooms/one.py") != base
