"""Files that outlive a fault: written whole or not at all, read only if they are files, set aside if they are damaged.

A room of its own that imports nothing: finished cells, checkpoints and records are kept by the same few rules.
"""

import errno
import os
import re
import secrets
import socket
import stat
import sys
import time
from pathlib import Path

LITTER_AGE = 60.0
"""Seconds before what a dead process left half-written is removed: none of ours can be that slow to rename it."""
FOREIGN_LITTER_AGE = 86400.0
"""The same for a file begun on another machine, whose processes cannot be seen from here."""

_HOST = re.sub(r"[^A-Za-z0-9]+", "-", socket.gethostname())[:60]
_LITTER = re.compile(r"\.amemlib_([A-Za-z0-9-]*)_(\d+)_[0-9a-f]{8}\.tmp")
_UNREADABLE = (errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENXIO)


class NotAFile(Exception):
    """There is something at this path that is no regular file, or that may not be read."""


def write_whole(content: str | bytes, path: Path, mode: int = 0o666) -> None:
    """Write a file whole or not at all, on disk before this returns; text as UTF-8. `mode` is cut by the umask.

    Raises `OSError` with this path, and leaves what was there.
    """
    content = content.encode() if isinstance(content, str) else content
    # the name says whose it is, so that `remove_litter` can tell it from a file that somebody is writing
    temporary = path.with_name(f".amemlib_{_HOST}_{os.getpid()}_{secrets.token_hex(4)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def write_to(text: str, path: Path) -> None:
    """Write text to what a path names: a regular file whole or not at all, through links; anything else directly.

    A device, a FIFO or the standard output is never replaced by a file. Raises `OSError`.
    """
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return write_whole(text, Path(os.path.realpath(path)))
    for stream in (sys.stdout, sys.stderr):
        if _is_open_as(stream, there):
            # through its own buffer and offset: a second descriptor of the same file would overwrite what it holds
            stream.flush()
            stream.buffer.write(text.encode())
            return stream.flush()
    if stat.S_ISREG(there.st_mode):
        return write_whole(text, Path(os.path.realpath(path)), stat.S_IMODE(there.st_mode))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read_bytes(path: Path) -> bytes | None:
    """The content of a regular file, None if nothing is there.

    Raises `NotAFile` for a folder, FIFO, device, circle of links, or a file that may not be read; `OSError` where the
    disk fails.
    """
    try:
        # a FIFO without a writer would be waited for
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in _UNREADABLE:
            raise NotAFile(error.strerror) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotAFile("it is no regular file")
    with open(descriptor, "rb") as file:
        return file.read()


def set_aside(path: Path) -> Path:
    """Rename what is at a path to the first free of `NAME.damaged`, `NAME.damaged-1`, …; returns the new path."""
    number = 0
    while True:
        aside = path.with_name(f"{path.name}.damaged" + (f"-{number}" if number else ""))
        if not os.path.lexists(aside):
            os.rename(path, aside)
            return aside
        number += 1


def remove_litter(folder: Path) -> int:
    """Remove what killed processes left half-written in a folder, and nothing else; returns how many files that were.

    Only names that `write_whole` makes: `LITTER_AGE` old if their process is gone, else `FOREIGN_LITTER_AGE`.
    """
    removed = 0
    for entry in os.scandir(folder):
        match = _LITTER.fullmatch(entry.name)
        if not match:
            continue
        host, process = match[1], int(match[2])
        try:
            age = time.time() - entry.stat(follow_symlinks=False).st_mtime
            if age > (LITTER_AGE if host == _HOST and not _is_alive(process) else FOREIGN_LITTER_AGE):
                os.unlink(entry.path)
                removed += 1
        except FileNotFoundError:
            # another run sweeps the same folder
            continue
    return removed


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _is_open_as(stream, there: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.fstat(stream.fileno()), there)
    except (OSError, ValueError, AttributeError):
        # a notebook's or a test's stream has no descriptor
        return False
