"""Apache Parquet: columns of numbers, and lists of numbers of one length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, final

import numpy as np

from graftsim.io.logs.damage import begins_with, library, reading
from graftsim.io.logs.format import LogFormat
from graftsim.io.logs.tables import Cells, Table

MAGIC = b"PAR1"


@final
class Parquet(LogFormat):
    """Apache Parquet, by polars."""

    name = "Parquet"
    suffixes = (".parquet",)

    def matches(self, path: Path) -> bool:
        """By the bytes that it begins with."""
        return begins_with(path, MAGIC)

    def read(self, path: Path) -> Table:
        """Columns by name; of a list of numbers `a`, of one length, `a[0]`, `a[1]`, ..."""
        polars = library(path, self.name, "polars", "parquet")
        with reading(path, self.name):
            schema = polars.read_parquet_schema(path)
        return frame_table(path, polars.scan_parquet(path), schema)


def frame_table(
    path: Path,
    frame: Any,
    schema: Any,
    labels: Mapping[str, tuple[str, ...]] | None = None,
    widths: Mapping[str, int | None] | None = None,
) -> Table:
    """A table of a lazy polars frame. labels: name of a list column -> names of its parts; widths:
    of list columns, where they are known already (`list_widths`).
    """
    polars = library(path, Parquet.name, "polars", "parquet")
    widths = list_widths(path, frame, schema) if widths is None else widths
    names: list[str] = []
    groups: dict[str, tuple[str, ...]] = {}
    skipped: list[str] = []
    places: dict[str, tuple[str, int]] = {}
    for name, kind in schema.items():
        if not kind.is_nested():
            names.append(name)
            continue
        width = widths[name]
        if width is None:
            skipped.append(f"{name} ({kind})")
            continue
        given = (labels or {}).get(name, ())
        parts = given if len(set(given)) == width else tuple(map(str, range(width)))
        groups[name] = tuple(f"{name}[{part}]" for part in parts)
        names += groups[name]
        places |= {column: (name, k) for k, column in enumerate(groups[name])}

    def load(wanted: Iterable[str]) -> dict[str, Cells]:
        wanted = list(wanted)
        stored = list(dict.fromkeys(places.get(n, (n, 0))[0] for n in wanted))
        with reading(path, Parquet.name, f"column {', '.join(stored[:3])}"):
            found = frame.select(stored).collect()
            return {n: _cells(found, *places.get(n, (n, -1)), polars) for n in wanted}

    return Table(
        str(path), tuple(names), load, groups, tuple(skipped), row_note=" (counted from 0)"
    )


def list_widths(path: Path, frame: Any, schema: Any) -> dict[str, int | None]:
    """Length of the lists in each nested column; None where they differ, or are not of numbers."""
    polars = library(path, Parquet.name, "polars", "parquet")
    return {n: _width(path, frame, n, k, polars) for n, k in schema.items() if k.is_nested()}


def _width(path: Path, frame: Any, name: str, kind: Any, polars: Any) -> int | None:
    """Length of all the lists of a column of numbers; None for anything else."""
    inner = getattr(kind, "inner", None)
    if inner is None or not (inner.is_numeric() or inner == polars.Boolean):
        return None
    if isinstance(kind, polars.Array):
        return int(kind.shape[0]) if len(kind.shape) == 1 else None
    with reading(path, Parquet.name, f"column {name!r}"):
        lengths = frame.select(polars.col(name).list.len().unique()).collect()[name].to_list()
    return int(lengths[0]) if len(lengths) == 1 and lengths[0] else None


def _cells(frame: Any, name: str, part: int, polars: Any) -> Cells:
    """A column, or a part of a list column, as numbers; date-times and durations in seconds."""
    series = frame[name]
    if part >= 0:
        series = series.arr if isinstance(series.dtype, polars.Array) else series.list
        series = series.get(part)
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
    if len(values) == 0:
        raise ValueError(f"column {name!r} holds no row")
    return Cells(values * scale, rows, text)
