"""HDF5, as robomimic, ALOHA and DROID write it: arrays in groups, by h5py."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any, final

import numpy as np

from graftsim.errors import LogError
from graftsim.io.logs.damage import begins_with, check_size, library, reading
from graftsim.io.logs.format import LogFormat, only_run
from graftsim.io.logs.nested import nested_table
from graftsim.io.logs.tables import Clock, Table

MAGIC = b"\x89HDF\r\n\x1a\n"
DROID = "observation/timestamp/control/step_start"
"""The clock of DROID's trajectory.h5, which no array there is called."""

_RUN = re.compile(r"(?:demo|episode|traj|trajectory|run)_?\d+")


@final
class HDF5(LogFormat):
    """Arrays of numbers by the path of their groups, `observations/qpos`.

    Groups named demo_0, episode_1 and so on, at the top or in one group, are runs of their own.
    """

    name = "HDF5"
    suffixes = (".h5", ".hdf5", ".hdf")

    def matches(self, path: Path) -> bool:
        """By the bytes that it begins with."""
        return begins_with(path, MAGIC)

    def read(self, path: Path) -> Table:
        """The table of a file of one run."""
        return only_run(path, self.runs(path))

    def runs(self, path: Path) -> tuple[Table, ...]:
        """A table for each group of a run, or one for the file."""
        h5py = library(path, self.name, "h5py", "hdf5")
        with reading(path, self.name), h5py.File(path, "r") as file:
            return tuple(
                _table(path, h5py, file, place, run) for place, run in _runs_of(file, h5py)
            )


def _runs_of(file: Any, h5py: Any) -> list[tuple[str, str]]:
    """Groups that hold a run, and their names; the file itself without a name."""
    for place in ("", *(k for k in file if isinstance(_item(file, k), h5py.Group))):
        group = file[place] if place else file
        runs = [k for k in group if _RUN.fullmatch(k) and isinstance(_item(group, k), h5py.Group)]
        if runs:
            runs.sort(key=lambda name: int(re.findall(r"\d+", name)[-1]))
            return [(f"{place}/{run}" if place else run, run) for run in runs]
    return [("", "")]


def _item(group: Any, name: str) -> Any:
    """What a group holds by a name; None for a link that leads nowhere or to another file."""
    return group.get(name) if type(group.get(name, getlink=True)).__name__ == "HardLink" else None


def _table(path: Path, h5py: Any, file: Any, place: str, run: str) -> Table:
    arrays: dict[str, np.ndarray] = {}
    skipped: list[str] = []

    def visit(name: str, item: Any) -> None:
        if not isinstance(item, h5py.Dataset):
            return
        if item.ndim not in (1, 2) or item.dtype.kind not in "fiub" or not item.size:
            skipped.append(f"{name} ({item.dtype}, shape {item.shape})")
            return
        check_size(path, f"array {name!r}", item.size, 8)
        with reading(path, HDF5.name, f"array {name!r}"):
            arrays[name] = item[()]

    (file[place] if place else file).visititems(visit)
    if not arrays:
        where = f", group {place!r}" if place else ""
        raise LogError(f"{path}{where}: there is no array of numbers of one or two dimensions.")
    source = f"{path}#{run}" if run else str(path)
    table = nested_table(arrays, source, "/", skipped)
    if not table.clocks and DROID in arrays:
        same = {c for c, n in _rows(table, arrays).items() if n == len(arrays[DROID])}
        table = dataclasses.replace(
            table, clocks={"time": dict.fromkeys(same - {DROID}, Clock(DROID, unit=None))}
        )
    rate = _control_rate(file)
    notes: tuple[str, ...] = ()
    if rate:
        notes = (f"samples taken as 1/{rate:g} s apart: control_freq of its env_args",)
    return dataclasses.replace(table, run=run, interval=1 / rate if rate else None, notes=notes)


def _rows(table: Table, arrays: dict[str, np.ndarray]) -> dict[str, int]:
    """Length of each column."""
    owner = {column: name for name, group in table.groups.items() for column in group}
    return {column: len(arrays[owner.get(column, column)]) for column in table.names}


def _control_rate(file: Any) -> float:
    """Hz of robomimic's environment; 0 where the file does not state it."""
    try:
        stated = json.loads(file["data"].attrs["env_args"])
        rate = float(stated["env_kwargs"]["control_freq"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return 0.0
    return rate if 0 < rate < 1e6 else 0.0
