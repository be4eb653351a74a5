"""Where the code runs: the profile of sizes, the device, the threads, and what a result says of its origin."""

import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

PROFILES = ("smoke", "cpu", "gpu")
"""Sizes of a study: seconds, minutes on two cores, minutes on one GPU."""


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


def start_chapter() -> str:
    """Set up a notebook: one thread outside Colab, stable printing and the book's figure style everywhere.

    Returns where its cells draw and count, "cuda" where torch finds a GPU and "cpu" elsewhere.
    """
    import matplotlib as mpl
    import torch

    from amembook.figures import raster, style

    if not in_colab():
        torch.set_num_threads(1)
    torch.set_printoptions(precision=3, sci_mode=False)
    mpl.rcParams.update(style.FIGURE_STYLE)
    raster.sharpen_notebook()
    return device().type


def provenance(compute_device, code: str) -> dict:
    """Where a result came from: device, versions, commit, and the hash of the code that measured it."""
    import torch

    is_gpu = compute_device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(compute_device) if is_gpu else f"cpu ({platform.machine()})",
        "versions": {"python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "torch")},
        "code": code,
        "commit": commit(),
    }


def commit() -> str | None:
    """The git commit of the checkout that holds this package, None outside one or without git.

    With "+" unless git knows that no .py file has uncommitted changes. On a machine without git it is what the
    environment variable AMEM_COMMIT says.
    """
    here = Path(__file__).resolve().parents[2]
    if "AMEM_COMMIT" in os.environ or not (here / ".git").exists():
        return os.environ.get("AMEM_COMMIT")
    # without the lock of the index, which another git may be waiting for
    git = functools.partial(subprocess.run, cwd=here, capture_output=True, text=True)
    try:
        head = git(["git", "rev-parse", "--short=12", "HEAD"])
        changed = git(["git", "--no-optional-locks", "status", "--porcelain", "--", "*.py"])
    except OSError:
        return None
    if head.returncode:
        return None
    return head.stdout.strip() + ("+" if changed.returncode or changed.stdout.strip() else "")


def is_clean(commit: str | None) -> bool:
    """Whether a result of this commit can be made again: there is one, and nothing was changed beside it."""
    return commit is not None and not commit.endswith("+")


def digest(value) -> str:
    """SHA-256 of a plain value, as JSON with sorted keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def write_whole(content: str, path: Path) -> None:
    """Write a text file whole or not at all, on disk before this returns. Raises `OSError`, leaving what was there."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, suffix=".tmp", delete=False) as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise
