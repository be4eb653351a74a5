"""The hash of the code: it follows code and not prose, and a module's covers what it imports and nothing else."""

import subprocess
import sys
from pathlib import Path

from amemlib import fingerprint


def test_the_fingerprint_needs_nothing_but_the_standard_library():
    file = Path(fingerprint.__file__)
    code = f"import runpy, sys; print(runpy.run_path({str(file)!r})['code_hash']()); assert 'torch' not in sys.modules"
    found = subprocess.run([sys.executable, "-S", "-I", "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == fingerprint.code_hash()


def hashed(monkeypatch, folder, text, name="room.py"):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    monkeypatch.setattr(fingerprint, "__file__", str(folder / "fingerprint.py"))
    fingerprint.code_hash.cache_clear()
    try:
        return fingerprint.code_hash()
    finally:
        monkeypatch.undo()
        fingerprint.code_hash.cache_clear()


def test_the_fingerprint_follows_the_code_and_not_its_prose(monkeypatch, tmp_path):
    base = hashed(monkeypatch, tmp_path / "a", '"""Old."""\n\ndef f():\n    """Old."""\n    return 1\n')
    prose = hashed(monkeypatch, tmp_path / "a", '"""New."""\n\n# why\ndef f():\n    """New."""\n    return  1\n')
    code = hashed(monkeypatch, tmp_path / "a", "def f():\n    return 2\n")
    more = hashed(monkeypatch, tmp_path / "a", "x = 1\n", name="other.py")
    assert base == prose
    assert len({base, code, more}) == 3
    assert fingerprint.code_hash() not in {base, code, more}


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
    monkeypatch.setattr(fingerprint, "__file__", str(tmp_path / "fingerprint.py"))

    def changing(changed: str) -> str:
        (tmp_path / changed).write_text(files[changed] + "\nmore = 1")
        fingerprint.code_hash.cache_clear()
        try:
            return fingerprint.code_hash("amemlib.rooms.one")
        finally:
            (tmp_path / changed).write_text(files[changed])
            fingerprint.code_hash.cache_clear()

    base = changing("__init__.py")
    assert changing("figures.py") == base
    assert changing("rooms/__init__.py") == base
    assert changing("theory.py") != base
    assert changing("rooms/one.py") != base


def test_a_name_imported_on_demand_leads_to_its_module_alone(monkeypatch, tmp_path):
    files = {
        "__init__.py": "from amemlib import lazy\nlazy.attach(__name__, {'one': ('f',), 'two': ('g',)})",
        "one.py": "def f(): ...",
        "two.py": "def g(): ...",
        "user.py": "from amemlib import f",
    }
    monkeypatch.setattr(fingerprint, "__file__", str(tmp_path / "fingerprint.py"))

    def keys(changed: str) -> tuple[str, str]:
        for name, text in files.items():
            (tmp_path / name).write_text(text + "\nmore = 1" * (name == changed))
        fingerprint.code_hash.cache_clear()
        modules = ["amemlib", "amemlib.one", "amemlib.user"]
        return fingerprint.code_hash("amemlib.user"), fingerprint.modules_hash(modules)

    base = keys("")
    assert keys("two.py") == keys("__init__.py") == base
    assert all(new != old for new, old in zip(keys("one.py"), base, strict=True))
    fingerprint.code_hash.cache_clear()


def test_the_package_loads_nothing_before_it_is_asked():
    code = "import sys, amemlib as am; am.read_records('one-step'); assert not {'torch', 'numpy'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)
