"""Log files as tables of columns: CSV, Parquet, NPZ, arrays. Numbers only, no meaning yet.

A table reads its columns when asked, so that unused columns of a long log are never converted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graftsim.errors import LogError, suggest


@dataclass(frozen=True, eq=False)
class Cells:
    """One column as it stands in the file.

    values: [n] float64, NaN or infinite where a cell holds no finite number.
    rows: [n] number of each row, as a user would look it up in the source.
    text: index into `values` -> what the cell holds, for cells that are not numbers.
    """

    values: NDArray[np.float64]
    rows: NDArray[np.int64]
    text: Mapping[int, str] = field(default_factory=dict)

    def complaint(self, i: int) -> str:
        """Why cell `i` is not a finite number, in words."""
        text = self.text.get(i, str(self.values[i])).strip()
        if not text:
            return "the cell is empty"
        if text.lower().lstrip("+-") in {"nan", "inf", "infinity", "null", "none", "na", "n/a"}:
            return f"the cell holds {text}"
        if "," in text and text.replace(",", "", 1).lstrip("+-").isdigit():
            return f"{text!r} has a decimal comma; write a decimal point"
        return f"{text!r} is not a number"


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of a source, read on demand.

    names: every column, in order. groups: name of a 2-D array -> names of its columns.
    skipped: things in the source that are not columns of numbers, with the reason.
    row_note: how rows are counted, for messages.
    """

    source: str
    names: tuple[str, ...]
    load: Callable[[Iterable[str]], dict[str, Cells]]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    row_note: str = ""

    def at(self, row: int | None = None, *columns: str) -> str:
        """Start of a message: source, row and columns."""
        parts = [] if row is None else [f"row {row}{self.row_note}"]
        if columns:
            named = ", ".join(repr(c) for c in columns)
            parts.append(f"column{'s' if len(columns) > 1 else ''} {named}")
        return f"{self.source}: {', '.join(parts)}" if parts else self.source

    def expand(self, name: str) -> tuple[str, ...]:
        """Columns meant by `name`: itself, or the columns of the 2-D array of that name.

        Raises: LogError when there is neither.
        """
        if name in self.names:
            return (name,)
        if name in self.groups:
            return self.groups[name]
        known = (*self.groups, *self.names)
        raise LogError(f"{self.source}: there is no column {name!r}. {suggest(name, known, 40)}")


def open_table(path: str | Path) -> Table:
    """The table in a file, by its extension: .csv, .tsv, .txt, .parquet, .npz.

    Raises: LogError for a missing, empty, unreadable or unknown file.
    """
    path = Path(path)
    readers = {
        ".csv": _csv_table,
        ".tsv": _csv_table,
        ".txt": _csv_table,
        ".parquet": _parquet_table,
        ".npz": _npz_table,
    }
    if path.suffix.lower() not in readers:
        raise LogError(f"{path}: cannot read {path.suffix!r} files; use {', '.join(readers)}.")
    if not path.is_file():
        raise LogError(f"{path}: there is no such file.")
    return readers[path.suffix.lower()](path)


def array_table(arrays: Mapping[str, ArrayLike], source: str) -> Table:
    """A table of arrays by name: [n] is a column, [n, d] the columns `name[0]` to `name[d-1]`.

    An array of strings named `columns` gives the columns of the only 2-D array of that width
    their names. Lengths may differ: channels may have their own clocks.

    Raises: LogError when two columns share a name.
    """
    found = {name: np.asarray(value) for name, value in arrays.items()}
    labels = found.get("columns")
    if labels is not None and labels.dtype.kind in "US" and labels.ndim == 1:
        del found["columns"]
        labelled = [n for n, a in found.items() if a.ndim == 2 and a.shape[1] == len(labels)]
        titles = [x.decode() if isinstance(x, bytes) else str(x) for x in labels]
    else:
        labelled, titles = [], []
    columns: dict[str, NDArray[Any]] = {}
    groups: dict[str, tuple[str, ...]] = {}
    skipped = []
    for name, array in found.items():
        if array.ndim not in (1, 2) or array.dtype.kind not in "fiub":
            skipped.append(f"{name} ({array.dtype}, shape {array.shape})")
            continue
        if array.ndim == 1:
            group = {name: array}
        else:
            named = titles if labelled == [name] else [f"{name}[{k}]" for k in range(array.shape[1])]
            group = dict(zip(named, array.T, strict=True))
            groups[name] = tuple(group)
            if len(group) != array.shape[1]:
                raise LogError(f"{source}: array {name!r} has two columns of the same name.")
        if both := sorted(set(group) & set(columns)):
            raise LogError(f"{source}: two columns are named {both[0]!r}.")
        columns.update(group)

    def load(names: Iterable[str]) -> dict[str, Cells]:
        return {
            name: Cells(columns[name].astype(np.float64), np.arange(len(columns[name])))
            for name in names
        }

    return Table(
        source, tuple(columns), load, groups, tuple(skipped), row_note=" (counted from 0)"
    )


def _csv_table(path: Path) -> Table:
    from graftsim.io.log_csv import csv_table  # the strict reader has its own module

    names, load = csv_table(path)
    return Table(str(path), names, load)


def _npz_table(path: Path) -> Table:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError) as error:
        raise LogError(f"{path}: cannot be read as .npz: {error}") from error
    if not arrays:
        raise LogError(f"{path}: there is no array in it.")
    return array_table(arrays, str(path))


def _parquet_table(path: Path) -> Table:
    try:
        import polars
    except ImportError as error:
        raise LogError(f"{path}: reading Parquet needs polars: pip install 'graftsim[logs]'.") from (
            error
        )
    try:
        schema = polars.read_parquet_schema(path)
    except Exception as error:  # polars raises many kinds; all mean the same to the user
        raise LogError(f"{path}: cannot be read as Parquet: {error}") from error
    plain = [n for n, kind in schema.items() if not kind.is_nested()]
    skipped = tuple(f"{n} ({kind})" for n, kind in schema.items() if kind.is_nested())

    def load(names: Iterable[str]) -> dict[str, Cells]:
        frame = polars.read_parquet(path, columns=list(names))
        return {name: _parquet_cells(frame[name], polars) for name in names}

    return Table(
        str(path), tuple(plain), load, skipped=skipped, row_note=" (counted from 0)"
    )


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
