"""Log files as tables. A format is one class: `LOG_FORMATS` has those of the package.

`graftsim.read_recording(path, formats=(*LOG_FORMATS, Mine()))` reads a user's own format.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np

from graftsim.errors import LogError
from graftsim.io.logs.csv_tables import csv_table
from graftsim.io.logs.tables import Cells, Table, array_table


class LogFormat(abc.ABC):
    """A format of log files. name: as it is called in messages; suffixes: of its files."""

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]

    @abc.abstractmethod
    def read(self, path: Path) -> Table:
        """The columns of a file, numbers without a meaning yet; `array_table` makes a table.

        Raises LogError, naming the file, when it cannot be read.
        """


@final
class CSV(LogFormat):
    """Text with a separator, which is found out."""

    name = "CSV"
    suffixes = (".csv", ".tsv", ".txt")

    def read(self, path: Path) -> Table:
        """Columns by the names in the header."""
        names, load = csv_table(path)
        return Table(str(path), names, load)


@final
class Parquet(LogFormat):
    """Apache Parquet, by polars."""

    name = "Parquet"
    suffixes = (".parquet",)

    def read(self, path: Path) -> Table:
        """Columns that are not nested."""
        try:
            import polars
        except ImportError as error:
            raise LogError(
                f"{path}: reading Parquet needs polars: pip install 'graftsim[logs]'."
            ) from (error)
        try:
            schema = polars.read_parquet_schema(path)
        except Exception as error:  # polars raises many kinds; all mean the same to the user
            raise LogError(f"{path}: cannot be read as Parquet: {error}") from error
        plain = [n for n, kind in schema.items() if not kind.is_nested()]
        skipped = tuple(f"{n} ({kind})" for n, kind in schema.items() if kind.is_nested())

        def load(names: Iterable[str]) -> dict[str, Cells]:
            frame = polars.read_parquet(path, columns=list(names))
            return {name: _parquet_cells(frame[name], polars) for name in names}

        return Table(str(path), tuple(plain), load, skipped=skipped, row_note=" (counted from 0)")


@final
class NPZ(LogFormat):
    """NumPy's archive of arrays."""

    name = "NPZ"
    suffixes = (".npz",)

    def read(self, path: Path) -> Table:
        """Arrays by name, those of two dimensions column by column."""
        member = ""
        arrays: dict[str, np.ndarray] = {}
        try:
            archive = np.load(path, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise LogError(
                    f"{path}: is a single array (.npy) under another name; save named arrays by "
                    "numpy.savez(path, time=..., ...)."
                )
            with archive:
                for name in archive.files:
                    member = f", array {name!r}"
                    arrays[name] = archive[name]
        except LogError:
            raise
        # Damaged archives raise what zipfile, zlib and NumPy's header reader raise: many kinds,
        # and a MemoryError where the header declares more than there is.
        except Exception as error:
            said = str(error) or type(error).__name__
            raise LogError(f"{path}{member}: cannot be read as .npz: {said}") from error
        if not arrays:
            raise LogError(f"{path}: there is no array in it.")
        return array_table(arrays, str(path))


LOG_FORMATS: tuple[LogFormat, ...] = (CSV(), Parquet(), NPZ())


def open_table(path: str | Path, formats: Sequence[LogFormat] = LOG_FORMATS) -> Table:
    """The table in a file, read by the format that has its suffix; of several, by the last.

    Raises: LogError for a missing, empty, unreadable or unknown file.
    """
    path = Path(path)
    readers = {suffix: form for form in formats for suffix in form.suffixes}
    if path.suffix.lower() not in readers:
        raise LogError(f"{path}: cannot read {path.suffix!r} files; use {', '.join(readers)}.")
    if not path.is_file():
        raise LogError(f"{path}: there is no such file.")
    return readers[path.suffix.lower()].read(path)


def _parquet_cells(series: Any, polars: Any) -> Cells:
    """A polars column as numbers; date-times and durations become seconds."""
    rows = np.arange(len(series))
    scale = 1.0
    if series.dtype in (polars.Datetime, polars.Duration):
        scale = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}[series.dtype.time_unit]
        series = series.to_physical()
    if not (series.dtype.is_numeric() or series.dtype == polars.Boolean):
        text = {i: "" if cell is None else str(cell) for i, cell in enumerate(series)}
        return Cells(np.full(len(series), np.nan), rows, text)
    text = {int(i): "null" for i in np.flatnonzero(series.is_null().to_numpy())}
    values = series.cast(polars.Float64).fill_null(float("nan")).to_numpy()
    return Cells(values * scale, rows, text)
