"""A log as a table of columns: numbers and where they stand, no meaning yet.

A table reads its columns when asked, so that unused columns of a long log are never converted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class Clock:
    """A column of time stamps, and what was found about it.

    unit: of the column; None where the log does not say, which is s with a check of the numbers.
    fault: why it cannot be used as it is, with the remedy; backwards: whether sorting is one.
    doubts: what a user should know of it.
    """

    column: str
    fault: str = ""
    backwards: bool = False
    doubts: tuple[str, ...] = ()
    unit: str | None = "s"


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of a source, read on demand.

    names: every column, in order. groups: name of a 2-D array -> names of its columns.
    skipped: things in the source that are not columns of numbers, with the reason.
    row_note: how rows are counted, for messages.
    clocks: kind of clock -> column -> its clock; the first kind that has a column is what counts.
    interval: s between samples where no column is a clock.
    epoch: what must be added to the clocks (s) for the log's own time.
    run: name of this run, of several in one source. notes, warnings: on the whole of it.
    """

    source: str
    names: tuple[str, ...]
    load: Callable[[Iterable[str]], dict[str, Cells]]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    row_note: str = ""
    clocks: Mapping[str, Mapping[str, Clock]] = field(default_factory=dict)
    interval: float | None = None
    epoch: float = 0.0
    run: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

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


def folded(names: Iterable[str]) -> list[str]:
    """Names for a message; of `a[0]`, `a[1]`, `a[2]` in a row only `a[0] to a[2]`."""
    found: list[tuple[str, str, int | None]] = []
    for name in names:
        stem, _, number = name.removesuffix("]").rpartition("[")
        numbered = name.endswith("]") and number.isdecimal()
        place = int(number) if numbered and len(number) < 9 else None
        last = found[-1] if found else ("", "", None)
        follows = place is not None and last[2] is not None and last[2] + 1 == place
        if follows and last[1].rpartition("[")[0] == stem:
            found[-1] = (last[0], name, place)
        else:
            found.append((name, name, place))
    return [first if first == last else f"{first} to {last}" for first, last, _ in found]


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
            named = (
                titles if labelled == [name] else [f"{name}[{k}]" for k in range(array.shape[1])]
            )
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

    return Table(source, tuple(columns), load, groups, tuple(skipped), row_note=" (counted from 0)")
