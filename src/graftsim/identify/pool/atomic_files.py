"""Files of numbers that are there whole or not at all, whatever is killed when."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

# What NumPy, zipfile and json raise for a file that is cut off, or none of ours.
UNREADABLE = (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile)


def replace_arrays(path: Path, **arrays: Any) -> None:
    """Write arrays to an .npz file beside its place, then move it there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        np.savez(file, **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
