"""Folders whose files are run as code: the user's own, and writable by nobody else.

Machine code and compiled programs are kept on disk and loaded again. Whoever can write there can
run code as the user, so such a folder is used only if it belongs to the user and nobody else may
write to it, and its files carry a digest that is keyed with a secret of the user's.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
import warnings
from pathlib import Path

from graftsim.errors import GraftsimWarning

DIGEST = 32
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_told: set[Path] = set()


def cache_folder() -> Path:
    """`graftsim` in the user's cache folder: XDG_CACHE_HOME, or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graftsim"


def private(folder: Path) -> bool:
    """Make a folder for the user alone if it is not there; whether it is, warning once if not.

    A folder on which nothing can be said or done (a read-only disk) is no private one, without a
    warning: there is nothing to load from it either.
    """
    try:
        for place in (*reversed(folder.parents), folder):
            place.mkdir(mode=0o700, exist_ok=True)
        reason = _open_to_others(folder.stat())
    except OSError:
        return False
    if reason and folder not in _told:
        _told.add(folder)
        warnings.warn(
            f"{folder} {reason}, so compiled code is neither read from it nor kept there: "
            f"chmod go-w {folder}, or choose another folder.",
            GraftsimWarning,
            stacklevel=3,
        )
    return not reason


def sealed(content: bytes) -> bytes | None:
    """Content after its keyed digest; None where no secret can be kept."""
    key = _secret()
    return None if key is None else hmac.digest(key, content, "sha256") + content


def unsealed(path: Path) -> bytes | None:
    """Content of a sealed file, or None: not there, not the user's own, damaged, or another's."""
    key = _secret()
    try:
        # A link may point to a file that others can write.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(handle, "rb") as file:
            if _open_to_others(os.fstat(file.fileno())):
                return None
            text = file.read()
    except OSError:
        return None
    if key is None or not hmac.compare_digest(
        hmac.digest(key, text[DIGEST:], "sha256"), text[:DIGEST]
    ):
        return None
    return text[DIGEST:]


def _open_to_others(found: os.stat_result) -> str:
    """Why others may write there, or nothing. Windows has no such bits: there it is the user's."""
    if not hasattr(os, "geteuid"):
        return ""
    if found.st_uid != os.geteuid():
        return "belongs to another user"
    return "may be written by others" if found.st_mode & _OTHERS else ""


def _secret() -> bytes | None:
    """The user's key, made at its first use; None if it cannot be kept for the user alone."""
    place = cache_folder()
    if not private(place):
        return None
    path = place / "key"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        pass
    except OSError:
        return None
    else:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(DIGEST))
    try:
        with path.open("rb") as file:
            key = b"" if _open_to_others(os.fstat(file.fileno())) else file.read()
    except OSError:
        return None
    # Another process may be about to write it: then nothing is kept this once.
    return key if len(key) == DIGEST else None
