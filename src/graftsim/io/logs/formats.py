"""Log files as tables. A format is one class: `LOG_FORMATS` has those of the package.

`graftsim.read_recording(path, formats=(*LOG_FORMATS, Mine()))` reads a user's own format.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from graftsim.errors import LogError
from graftsim.io.logs.csv_tables import CSV
from graftsim.io.logs.format import LogFormat, listed, only_run
from graftsim.io.logs.hdf5 import HDF5
from graftsim.io.logs.lerobot import LeRobot
from graftsim.io.logs.matlab import Matlab
from graftsim.io.logs.mcap_json import McapJSON
from graftsim.io.logs.npz import NPZ
from graftsim.io.logs.parquet import Parquet
from graftsim.io.logs.ros import RosBag
from graftsim.io.logs.tables import Table
from graftsim.io.logs.torch_files import TorchFile
from graftsim.io.logs.ulog import ULog

LOG_FORMATS: tuple[LogFormat, ...] = (
    CSV(),
    Parquet(),
    NPZ(),
    McapJSON(),
    RosBag(),
    LeRobot(),
    HDF5(),
    Matlab(),
    ULog(),
    TorchFile(),
)


def open_tables(path: str | Path, formats: Sequence[LogFormat] = LOG_FORMATS) -> tuple[Table, ...]:
    """The tables in a file or folder, one for each run that it holds.

    Read by the last format that recognises it, else by the last that has its suffix. `log#2` is
    the third run of `log`.

    Raises: LogError for a missing, empty, unreadable or unknown file, or a run that is not there.
    """
    path = Path(path)
    file, mark, run = (path, "", "") if path.exists() else _split_run(path)
    form = _form_of(file, formats)
    tables = form.runs(file)
    if not mark:
        return tables
    known = [table.run for table in tables]
    if run in known and len(tables) > 1:
        return (tables[known.index(run)],)
    raise LogError(f"{file}: there is no run {run!r} in it. It has {listed(known)}.")


def open_table(path: str | Path, formats: Sequence[LogFormat] = LOG_FORMATS) -> Table:
    """The table of a file that holds one run.

    Raises: LogError as `open_tables`, and for several runs.
    """
    return only_run(Path(path), open_tables(path, formats))


def _split_run(path: Path) -> tuple[Path, str, str]:
    name, mark, run = str(path).rpartition("#")
    found = bool(mark) and Path(name).exists()
    return (Path(name), mark, run) if found else (path, "", "")


def _form_of(path: Path, formats: Sequence[LogFormat]) -> LogFormat:
    readers = {suffix: form for form in formats for suffix in form.suffixes}
    suffix = path.suffix.lower()
    recognised = [form for form in formats if form.matches(path)]
    if recognised:
        return recognised[-1]
    if suffix not in readers and not path.is_dir():
        raise LogError(f"{path}: cannot read {suffix!r} files; use {', '.join(readers)}.")
    if path.is_dir():
        raise LogError(
            f"{path}: there is no such file: it is a folder, and no bag (metadata.yaml; ros2 bag "
            "reindex writes it) nor a data set (meta/info.json)."
        )
    if not path.is_file():
        raise LogError(f"{path}: there is no such file.")
    return readers[suffix]
