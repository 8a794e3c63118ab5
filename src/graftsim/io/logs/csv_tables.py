"""A strict CSV reader: a header, numbers, comment lines with `#`. Every fault has its line."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import final

import numpy as np

from graftsim.errors import LogError
from graftsim.io.logs.format import LogFormat
from graftsim.io.logs.tables import Cells, Table

_DELIMITERS = (",", ";", "\t")


@final
class CSV(LogFormat):
    """Text with a separator, which is found out."""

    name = "CSV"
    suffixes = (".csv", ".tsv", ".txt")

    def read(self, path: Path) -> Table:
        """Columns by the names in the header."""
        names, load = csv_table(path)
        return Table(str(path), names, load)


def csv_table(path: Path) -> tuple[tuple[str, ...], Callable[[Iterable[str]], dict[str, Cells]]]:
    """Header of a CSV file and a function that reads columns of it by name.

    The delimiter is the comma, semicolon or tab that splits the header best.

    Raises: LogError when the file is not text, has no header, or two columns share a name; the
    returned function raises it for a row with another number of cells than the header.
    """
    delimiter, header, header_line = _header(path)
    names = tuple(name.strip() or f"column {k + 1}" for k, name in enumerate(header))
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise LogError(
            f"{path}: row {header_line}: two columns are named {twice[0]!r}; rename one of them."
        )

    def load(wanted: Iterable[str]) -> dict[str, Cells]:
        return _load(path, delimiter, header_line, names, tuple(wanted))

    return names, load


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines that are neither blank nor comments."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for number, line in enumerate(file, 1):
                if line.strip() and not line.lstrip().startswith("#"):
                    yield number, line
    except UnicodeDecodeError as error:
        raise LogError(f"{path}: is not UTF-8 text (byte {error.start}); convert it.") from error
    except OSError as error:
        raise LogError(f"{path}: cannot be read: {error}") from error


def _cells(path: Path, number: int, line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    except csv.Error as error:
        raise LogError(f"{path}: row {number}: {error}.") from error


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _header(path: Path) -> tuple[str, list[str], int]:
    """Delimiter, cells and line number of the header."""
    lines = _lines(path)
    number, first = next(lines, (1, ""))
    if not first:
        raise LogError(f"{path}: is empty; a header and rows of numbers are needed.")
    second_number, second = next(lines, (0, ""))
    if not second:
        raise LogError(f"{path}: has no row after its header (row {number}).")

    def score(delimiter: str) -> tuple[bool, int]:
        # Header names may hold a comma or semicolon; the delimiter splits both lines alike.
        above = _cells(path, number, first, delimiter)
        below = _cells(path, second_number, second, delimiter)
        return len(above) == len(below), len(above)

    delimiter = max(_DELIMITERS, key=score)
    header = _cells(path, number, first, delimiter)
    if all(_is_number(cell) for cell in header):
        raise LogError(
            f"{path}: row {number} holds only numbers; a header with column names is needed "
            "(if it is commented out, remove the '#')."
        )
    return delimiter, header, number


def _load(
    path: Path, delimiter: str, header_line: int, names: tuple[str, ...], wanted: tuple[str, ...]
) -> dict[str, Cells]:
    """Read the wanted columns in one pass over the file."""
    rows = array("q")
    places = [names.index(name) for name in wanted]
    values = [array("d") for _ in wanted]
    texts: list[dict[int, str]] = [{} for _ in wanted]
    columns = list(zip(places, values, texts, strict=True))
    current = header_line

    def body() -> Iterator[str]:
        nonlocal current
        for number, line in _lines(path):
            current = number
            if number > header_line:
                yield line

    try:
        for cells in csv.reader(body(), delimiter=delimiter, skipinitialspace=True):
            if len(cells) != len(names):
                raise LogError(
                    f"{path}: row {current}: {len(cells)} cells, but the header (row "
                    f"{header_line}) names {len(names)} columns."
                )
            for place, numbers, text in columns:
                cell = cells[place]
                try:
                    # float() takes digits grouped by underscores; no logger writes them.
                    numbers.append(float("" if "_" in cell else cell))
                except ValueError:
                    text[len(numbers)] = cell
                    numbers.append(float("nan"))
            rows.append(current)
    except csv.Error as error:
        raise LogError(f"{path}: row {current}: {error}.") from error
    numbered = np.array(rows, dtype=np.int64)
    return {
        name: Cells(np.array(column, dtype=np.float64), numbered, text)
        for name, column, text in zip(wanted, values, texts, strict=True)
    }
