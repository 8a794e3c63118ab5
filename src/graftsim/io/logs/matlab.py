"""MATLAB's .mat files of every version, by pymatreader in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import final

import numpy as np

from graftsim.errors import LogError
from graftsim.io.logs.damage import begins_with, library, reading
from graftsim.io.logs.format import LogFormat
from graftsim.io.logs.nested import nested_table
from graftsim.io.logs.tables import Table

PATIENCE, BYTES_A_SECOND = 30.0, 5e6
"""s that reading may take, and how much a larger file adds."""


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
        library(path, self.name, "pymatreader", "matlab")
        with reading(path, self.name):
            arrays, skipped = _in_another_process(path)
        if not arrays:
            what = f": {', '.join(skipped[:5])}" if skipped else ""
            raise LogError(
                f"{path}: there is no array of numbers in it{what}. Objects such as timeseries "
                "and table cannot be read; save arrays, or structures of them."
            )
        return nested_table(arrays, str(path), ".", skipped)


def _in_another_process(path: Path) -> tuple[dict[str, np.ndarray], list[str]]:
    """Arrays by path and what is none. SciPy's reader may crash on a damaged file (1.17), which
    must not take this process with it.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "arrays.npz"
        command = [sys.executable, "-P", "-m", "graftsim.io.logs.matlab_process"]
        try:
            done = subprocess.run(
                [*command, str(path.absolute()), str(out)],
                capture_output=True,
                text=True,
                timeout=PATIENCE + path.stat().st_size / BYTES_A_SECOND,
            )
        except subprocess.TimeoutExpired:
            raise ValueError("reading does not end; the file is damaged") from None
        if done.returncode < 0:
            raise ValueError("SciPy's reader crashes on it; the file is damaged")
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["no reason given"]
            raise ValueError(said[-1])
        names, skipped = json.loads(done.stdout)
        with np.load(out, allow_pickle=False) as archive:
            return {name: archive[str(k)] for k, name in enumerate(names)}, skipped
