"""Reading files that are small by nature: run files and results."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from graftsim.errors import FileError

# Such a file of more bytes is another file, or none (a device that never ends).
LARGEST = 64 * 2**20


def read_small(path: str | Path) -> str:
    """Text (UTF-8) of a regular file of at most `LARGEST` bytes. Raises FileError."""
    path = Path(path)
    try:
        # Opened without waiting, as a pipe without a writer would have it.
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise FileError(f"{path}: is no regular file.")
            if status.st_size > LARGEST:
                raise FileError(
                    f"{path}: has {status.st_size / 2**20:.0f} MiB; at most "
                    f"{LARGEST // 2**20} MiB are read."
                )
            return file.read(LARGEST + 1).decode("utf-8")
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}.") from error
    except ValueError as error:  # no UTF-8, or a path that no system has
        raise FileError(f"{path}: {error}.") from error
