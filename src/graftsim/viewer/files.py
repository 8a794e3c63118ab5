"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from graftsim.errors import FileError


def write_atomically(path: str | Path, text: str) -> Path:
    """Write text (UTF-8) to a file beside the target, then put it in place; returns the target.

    Raises OSError; the old file then stays as it was.
    """
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", text=False)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", "replace"))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return target


def check_folder(folder: str | Path) -> None:
    """Make sure that files can be written into a folder, before time is spent on what they hold.

    A folder that is not there is made and taken away again. Raises FileError: it is a file, it
    cannot be made, or nothing can be written into it.
    """
    folder = Path(folder)
    made: list[Path] = []
    try:
        for place in (*reversed(folder.absolute().parents), folder):
            if not place.is_dir():
                place.mkdir()
                made.append(place)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        why = "it is a file" if folder.is_file() else (error.strerror or str(error))
        raise FileError(f"{folder}: no folder that can be written into: {why}.") from error
    finally:
        for place in reversed(made):
            place.rmdir()


def check_file(path: str | Path) -> None:
    """Make sure that a file can be written; it is not touched. Raises FileError."""
    path = Path(path)
    if path.is_dir():
        raise FileError(f"{path} is a folder; a file is to be written there.")
    if not path.parent.is_dir():
        raise FileError(f"{path}: there is no folder {path.parent}.")
    if path.exists() and not os.access(path, os.W_OK):
        raise FileError(f"{path}: cannot be written.")
    if not path.exists():
        check_folder(path.parent)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
