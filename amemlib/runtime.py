"""Where the code runs: the profile of sizes, the device, the threads, and what a result says of its origin."""

import functools
import importlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

from amemlib import fingerprint

PROFILES = ("smoke", "cpu", "gpu")
"""Sizes of an experiment: seconds, minutes on two cores, minutes on one GPU."""


def profile() -> str:
    """The profile named by the environment variable AMEM_PROFILE, "cpu" if unset; `ValueError` for an unknown one."""
    name = os.environ.get("AMEM_PROFILE", "cpu")
    if name not in PROFILES:
        raise ValueError(f"AMEM_PROFILE must be one of {', '.join(PROFILES)}, got {name!r}")
    return name


def device(name: str = "auto"):
    """The torch device for "cpu", "cuda" or "auto" (cuda where there is one); `ValueError` where it is not at hand."""
    import torch

    if name not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device must be one of auto, cpu, cuda, got {name!r}")
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError("device must be one of auto, cpu on this machine, got 'cuda': torch finds no GPU")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def in_colab() -> bool:
    """Whether this is a Google Colab runtime."""
    return "google.colab" in sys.modules


def start_chapter() -> None:
    """Set up a notebook: one thread outside Colab, stable printing and the book's figure style everywhere."""
    import matplotlib as mpl
    import torch

    # by name: an import statement would be an arrow up, and let the fingerprint of an experiment follow its colours
    style, raster = (importlib.import_module(f"amemlib.figures.{part}") for part in ("style", "raster"))
    if not in_colab():
        torch.set_num_threads(1)
    torch.set_printoptions(precision=3, sci_mode=False)
    mpl.rcParams.update(style.FIGURE_STYLE)
    raster.sharpen_notebook()


def provenance(compute_device) -> dict:
    """Where a result came from: device, versions, and the fingerprint of the code."""
    import torch

    is_gpu = compute_device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(compute_device) if is_gpu else f"cpu ({platform.machine()})",
        "versions": {"python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "torch")},
        "code": fingerprint.code_hash(),
        "commit": commit(),
    }


def commit() -> str | None:
    """The git commit of the checkout that holds this package, None outside one or without git.

    With "+" unless git knows that no .py file has uncommitted changes. On a machine without a checkout it is the commit
    that `write_stamp` left; `ValueError` if the code has changed since.
    """
    here = Path(__file__).parent
    if not (here.parent / ".git").exists():
        return _stamped()
    # without the lock of the index, which another git may be waiting for
    git = functools.partial(subprocess.run, cwd=here, capture_output=True, text=True)
    try:
        head = git(["git", "rev-parse", "--short=12", "HEAD"])
        changed = git(["git", "--no-optional-locks", "status", "--porcelain", "--", "*.py"])
    except OSError:
        # no git, or none that may be run
        return None
    if head.returncode:
        return None
    return head.stdout.strip() + ("+" if changed.returncode or changed.stdout.strip() else "")


def write_stamp() -> Path:
    """Write the commit and the fingerprint of this code into its checkout, for a copy of it on a machine without git.

    Raises `ValueError` where there is no commit or the tree has changes.
    """
    here = commit()
    if not is_clean(here):
        raise ValueError(f"commit must be one without changes beside it, got {here!r}: commit first")
    path = _stamp()
    path.write_text(json.dumps({"commit": here, "files": fingerprint.files_hash()}) + "\n", encoding="utf-8")
    return path


def _stamp() -> Path:
    return Path(os.environ.get("AMEM_COMMIT") or Path(__file__).parents[1] / "commit.json")


def _stamped() -> str | None:
    path = _stamp()
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        commit, files = stored["commit"], stored["files"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise ValueError(f"{path} must hold a commit and a fingerprint: make commit-file writes it") from None
    if files != fingerprint.files_hash():
        raise ValueError(f"{path} is of other code than this: write it again from the commit that is to run")
    return commit


def is_clean(commit: str | None) -> bool:
    """Whether a result of this commit can be made again: there is one, and nothing was changed beside it."""
    return commit is not None and not commit.endswith("+")
