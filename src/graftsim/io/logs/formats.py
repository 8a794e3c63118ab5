"""Log files as tables: CSV, Parquet, NPZ."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from graftsim.errors import LogError
from graftsim.io.logs.csv_tables import csv_table
from graftsim.io.logs.tables import Cells, Table, array_table


def open_table(path: str | Path) -> Table:
    """The table in a file, by its extension: .csv, .tsv, .txt, .parquet, .npz.

    Raises: LogError for a missing, empty, unreadable or unknown file.
    """
    path = Path(path)
    readers = {
        ".csv": _csv_file,
        ".tsv": _csv_file,
        ".txt": _csv_file,
        ".parquet": _parquet_table,
        ".npz": _npz_table,
    }
    if path.suffix.lower() not in readers:
        raise LogError(f"{path}: cannot read {path.suffix!r} files; use {', '.join(readers)}.")
    if not path.is_file():
        raise LogError(f"{path}: there is no such file.")
    return readers[path.suffix.lower()](path)


def _csv_file(path: Path) -> Table:
    names, load = csv_table(path)
    return Table(str(path), names, load)


def _npz_table(path: Path) -> Table:
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
    # Damaged archives raise what zipfile, zlib and NumPy's header reader raise: many kinds, and a
    # MemoryError where the header declares more than there is.
    except Exception as error:
        said = str(error) or type(error).__name__
        raise LogError(f"{path}{member}: cannot be read as .npz: {said}") from error
    if not arrays:
        raise LogError(f"{path}: there is no array in it.")
    return array_table(arrays, str(path))


def _parquet_table(path: Path) -> Table:
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
