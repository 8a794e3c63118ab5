"""What goes wrong while a file is read becomes a LogError that names file and part."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from graftsim.errors import LogError

MOST_BYTES = 8 * 2**30
"""Of one column or array: what declares more is damaged, or no log."""

MOST_PACKED = 1100
"""Bytes that a byte of a file can stand for: deflate packs no more."""


@contextmanager
def reading(path: Path, form: str, part: str = "", remedy: str = "") -> Iterator[None]:
    """Inside, any exception is raised again as a LogError: `path, part: cannot be read as form`,
    and what to do.

    Readers of damaged files raise what they stumble over: many kinds, MemoryError where a header
    declares more than there is, RecursionError where it nests.
    """
    place = f"{path}, {part}" if part else f"{path}"
    try:
        yield
    except LogError:
        raise
    except BaseException as error:
        # What polars raises where Rust gives up is no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        said = " ".join(str(error).split()) or type(error).__name__
        raise LogError(f"{place}: cannot be read as {form}: {said[:300]}{remedy}") from error


def library(path: Path, form: str, module: str, extra: str) -> ModuleType:
    """A module that reads a format. Raises LogError, with what to install, if it is not there."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise LogError(
            f"{path}: reading {form} needs {package}: pip install 'graftsim[{extra}]'."
        ) from error


def check_size(path: Path, part: str, items: int, item_bytes: int) -> None:
    """Raises LogError for an array that declares more than `MOST_BYTES`, or the file can hold."""
    held = path.stat().st_size
    if items * item_bytes > min(MOST_BYTES, MOST_PACKED * held + 2**20):
        raise LogError(
            f"{path}, {part}: declares {items * item_bytes / 2**30:.3g} GiB, in a file of "
            f"{held / 2**30:.3g} GiB; at most {MOST_BYTES // 2**30} GiB are read. The file is "
            "damaged, or this is no log."
        )


def begins_with(path: Path, *magic: bytes) -> bool:
    """Whether the first bytes of a file are one of these; False if there is no file to open."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(max(map(len, magic))).startswith(magic)
    except OSError:
        return False
