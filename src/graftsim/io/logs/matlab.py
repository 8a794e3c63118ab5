"""MATLAB's .mat files of every version, by pymatreader."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import final

import numpy as np

from graftsim.errors import LogError
from graftsim.io.logs.damage import begins_with, check_size, library, reading
from graftsim.io.logs.format import LogFormat
from graftsim.io.logs.nested import leaves, nested_table
from graftsim.io.logs.tables import Table


@final
class Matlab(LogFormat):
    """Arrays of numbers by the path of their structures, `log.q`."""

    name = "MATLAB"
    suffixes = (".mat",)

    def matches(self, path: Path) -> bool:
        """By the text that it begins with."""
        return begins_with(path, b"MATLAB ")

    def read(self, path: Path) -> Table:
        """Arrays of one and two dimensions; objects (timeseries, table) cannot be read."""
        pymatreader = library(path, self.name, "pymatreader", "matlab")
        with reading(path, self.name), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on objects, which are named as skipped
            for name, shape, _ in pymatreader.whosmat(str(path)):
                check_size(path, f"array {name!r}", int(np.prod(shape, dtype=float)), 8)
            content = pymatreader.read_mat(str(path))
        arrays, skipped = {}, []
        with reading(path, self.name):
            own = {k: v for k, v in content.items() if not k.startswith("__")}
            for name, value in leaves(own, "."):
                try:
                    array = np.asarray(value)
                except ValueError:
                    array = np.array(None)
                if array.ndim in (1, 2) and array.dtype.kind in "fiub" and array.size > 1:
                    arrays[name] = array
                elif array.size > 1 or array.dtype.kind not in "fiubUS":
                    skipped.append(f"{name} ({type(value).__name__}, shape {array.shape})")
        if not arrays:
            what = f": {', '.join(skipped[:5])}" if skipped else ""
            raise LogError(
                f"{path}: there is no array of numbers in it{what}. Objects such as timeseries "
                "and table cannot be read; save arrays, or structures of them."
            )
        return nested_table(arrays, str(path), ".", skipped)
