"""Machine code on disk: one file for each key, safe with several processes.

A file is written beside its place and moved there whole; it begins with a checksum of its content,
so that a damaged one is noticed and built anew. Processes that want the same code at the same time
wait for the one that builds it (`once`). The oldest go when the folder outgrows its limit.
The folder is `graftsim/kernels` in the user's cache folder (XDG_CACHE_HOME, or ~/.cache), or
GRAFTSIM_KERNEL_CACHE; that variable set to nothing turns the cache off.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Not on Windows: there each process builds its own.
    fcntl = None

# Seconds to wait for another process that builds the same; the largest programs take minutes.
PATIENCE = 300.0
LIMIT = 512 * 2**20
_written = 0


def folder() -> Path | None:
    """Where the files are, or None if nothing is kept."""
    chosen = os.environ.get("GRAFTSIM_KERNEL_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "graftsim" / "kernels"


def read(key: str) -> bytes | None:
    """Content under a key, or None."""
    place = folder()
    if place is None:
        return None
    path = place / key
    try:
        content = path.read_bytes()
    except OSError:
        return None
    code = content[32:]
    if hashlib.sha256(code).digest() != content[:32]:
        with contextlib.suppress(OSError):
            path.unlink()
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return code


def write(key: str, code: bytes) -> None:
    """Keep content under a key. A full or read-only disk costs speed, not the run."""
    global _written
    place = folder()
    if place is None:
        return
    try:
        place.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=place, prefix=".new-")
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(code).digest() + code)
        os.replace(name, place / key)
    except OSError:
        return
    _written += len(code)
    if _written > LIMIT // 64 or _written == len(code):
        _written = 1
        trim(place)


@contextlib.contextmanager
def once(key: str) -> Iterator[None]:
    """Around reading a key and building what is not there: other processes wait for their turn.

    The lock is the system's, so it goes with a process that is killed; where there are no locks, or
    after a long wait, the code is built twice, which harms nothing.
    """
    place = folder()
    if fcntl is None or place is None or (place / key).exists():
        yield
        return
    lock = place / f".lock-{key}"
    try:
        place.mkdir(parents=True, exist_ok=True)
        file = lock.open("w")
    except OSError:
        yield
        return
    with file:
        mine, patient_until = False, time.monotonic() + PATIENCE
        while not mine and time.monotonic() < patient_until:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                mine = True
            except BlockingIOError:
                time.sleep(0.02)
            except OSError:
                break
        try:
            yield
        finally:
            if mine:
                with contextlib.suppress(OSError):
                    lock.unlink()


def trim(place: Path, limit: int = LIMIT) -> None:
    """Delete the files that were not used for longest until the rest fits."""
    found = []
    for path in place.iterdir():
        with contextlib.suppress(OSError):
            status = path.stat()
            found.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= limit:
            break
        with contextlib.suppress(OSError):
            path.unlink()
            total -= size
