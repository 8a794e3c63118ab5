"""Arrays in folders: HDF5 groups, MATLAB structures, dictionaries. Each finds the clock near it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from graftsim.errors import LogError
from graftsim.io.logs.columns import clock_in_header
from graftsim.io.logs.tables import Clock, Table, array_table

MOST_DEPTH = 32


def leaves(value: Any, separator: str, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Arrays and other ends of nested dictionaries and lists, by path."""
    inner: Iterable[tuple[str, Any]] = ()
    if isinstance(value, Mapping):
        inner = ((f"{path}{separator}{k}" if path else str(k), v) for k, v in value.items())
    elif isinstance(value, list | tuple) and any(isinstance(x, Mapping | list) for x in value):
        inner = ((f"{path}[{k}]", v) for k, v in enumerate(value))
    else:
        yield path, value
        return
    if depth > MOST_DEPTH:
        raise LogError(f"{path[:80]}: is nested deeper than {MOST_DEPTH} levels.")
    for name, each in inner:
        yield from leaves(each, separator, name, depth + 1)


def nested_table(
    arrays: Mapping[str, np.ndarray], source: str, separator: str, skipped: Iterable[str] = ()
) -> Table:
    """A table of arrays by path: [n] a column, [n, d] columns `path[0]` ... .

    The clock of an array is the nearest array named time, t or timestamp, in its own folder or
    one above, that is as long as it. A [d, n] array beside a clock of n is turned.

    Raises: LogError when no array is of numbers.
    """
    clocks = {n: c for n in arrays if (c := clock_in_header(n.rpartition(separator)[2]))}
    lengths = {n: arrays[n].shape[0] for n in clocks if arrays[n].ndim == 1}
    turned = {}
    for name, array in arrays.items():
        near = _near(name, lengths, separator)
        wide = array.ndim == 2 and near and array.shape[0] not in (lengths[c] for c in near)
        turned[name] = array.T if wide and array.shape[1] == lengths[near[0]] else array
    table = array_table(turned, source)
    if not table.names:
        raise LogError(f"{source}: there is no array of numbers in it, of one or two dimensions.")
    owner = {column: name for name, group in table.groups.items() for column in group}
    found = {}
    for column in table.names:
        name = owner.get(column, column)
        length = turned[name].shape[0]
        near = [c for c in _near(name, lengths, separator) if lengths[c] == length and c != name]
        if near and name not in clocks:
            found[column] = Clock(near[0], unit=clocks[near[0]].unit)  # type: ignore[arg-type]
    return dataclasses.replace(
        table, clocks={"time": found} if found else {}, skipped=(*table.skipped, *skipped)
    )


def _near(name: str, clocks: Iterable[str], separator: str) -> list[str]:
    """Clocks in the folder of an array and in those above, nearest first."""
    folders = name.split(separator)[:-1]
    above = [separator.join(folders[:k]) for k in range(len(folders), -1, -1)]
    order = {folder: k for k, folder in enumerate(above)}
    near = [c for c in clocks if c.rpartition(separator)[0] in order]
    return sorted(near, key=lambda c: order[c.rpartition(separator)[0]])
