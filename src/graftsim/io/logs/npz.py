"""NumPy's archive of arrays."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import final

import numpy as np

from graftsim.errors import LogError
from graftsim.io.logs.damage import begins_with, reading
from graftsim.io.logs.format import LogFormat
from graftsim.io.logs.tables import Table, array_table


@final
class NPZ(LogFormat):
    """NumPy's archive of arrays."""

    name = "NPZ"
    suffixes = (".npz",)

    def matches(self, path: Path) -> bool:
        """A zip archive of nothing but .npy files."""
        if not begins_with(path, b"PK\x03\x04"):
            return False
        try:
            with zipfile.ZipFile(path) as archive:
                members = archive.namelist()
        except Exception:  # damaged: its name decides
            return False
        return bool(members) and all(name.endswith(".npy") for name in members)

    def read(self, path: Path) -> Table:
        """Arrays by name, those of two dimensions column by column."""
        arrays: dict[str, np.ndarray] = {}
        with reading(path, ".npz"):
            archive = np.load(path, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise LogError(
                f"{path}: is a single array (.npy) under another name; save named arrays by "
                "numpy.savez(path, time=..., ...)."
            )
        with archive:
            for name in archive.files:
                with reading(path, ".npz", f"array {name!r}"):
                    arrays[name] = archive[name]
        if not arrays:
            raise LogError(f"{path}: there is no array in it.")
        return array_table(arrays, str(path))
