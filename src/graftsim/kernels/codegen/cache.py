"""Machine code on disk: one file for each key, safe with several processes and from other users.

A file is written beside its place and moved there whole; it begins with a keyed digest of its
content (`private`), so that a damaged or foreign one is noticed and built anew. Processes that want
the same code at the same time wait for the one that builds it (`once`). The oldest go when the
folder outgrows its limit. The folder is `graftsim/kernels` in the user's cache folder, or
GRAFTSIM_KERNEL_CACHE; that variable set to nothing turns the cache off, and so does a folder that
others may write to.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from graftsim import private

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
    if chosen == "":
        return None
    place = Path(chosen) if chosen else private.cache_folder() / "kernels"
    return place if private.private(place) else None


def read(key: str) -> bytes | None:
    """Content under a key, or None."""
    place = folder()
    if place is None:
        return None
    path = place / key
    code = private.unsealed(path)
    with contextlib.suppress(OSError):
        if code is None:
            path.unlink(missing_ok=True)
        else:
            os.utime(path)
    return code


def write(key: str, code: bytes) -> None:
    """Keep content under a key. A full or read-only disk costs speed, not the run."""
    global _written
    place, content = folder(), private.sealed(code)
    if place is None or content is None:
        return
    try:
        handle, name = tempfile.mkstemp(dir=place, prefix=".new-")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
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
