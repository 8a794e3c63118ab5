"""A message as numbers with names: structures by their fields, arrays by the names beside them.

`sensor_msgs/JointState` gives `position[elbow]`: its `name` says in each message anew what comes
where. Arrays without names are numbered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

NAMES = ("name", "names", "joint_names", "interface_names")
"""Fields that name the parts of the arrays beside and below them."""

MOST_PARTS = 256
"""Longer arrays are images, scans and clouds, not states of joints."""

MOST_DEPTH = 12
_STAMP = "header.stamp"
Part = tuple[str, NDArray[np.float64], tuple[str, ...]]


def flattened(message: Any) -> tuple[tuple[tuple[str, int, tuple[str, ...]], ...], Any, int | None]:
    """Shape of a message (path, length and names of each part), its numbers [n], and its stamp.

    The stamp is `header.stamp` in ns, None if there is none.
    """
    stamp: int | None = None
    parts: list[Part] = []
    for path, value, names in _walk("", message, (), 0):
        if path == _STAMP:
            stamp = int(value)
        else:
            parts.append((path, value, names))
    shape = tuple((path, len(value), names) for path, value, names in parts)
    numbers = np.concatenate([value for _, value, _ in parts]) if parts else np.zeros(0)
    return shape, numbers, stamp


def column_names(shape: Sequence[tuple[str, int, tuple[str, ...]]]) -> list[str]:
    """Names of the numbers of a message of this shape."""
    names = []
    for path, length, labels in shape:
        if length == 1 and not labels:
            names.append(path)
        else:
            names += [f"{path}[{label}]" for label in (labels or map(str, range(length)))]
    return names


def _walk(path: str, value: Any, names: tuple[str, ...], depth: int) -> Iterator[tuple]:
    if depth > MOST_DEPTH or value is None:
        return
    fields = _fields(value)
    if fields is not None:
        time = _nanoseconds(fields)
        if time is not None:
            yield path, time if path == _STAMP else np.array([time * 1e-9]), ()
            return
        names = _labels(fields) or names
        for field, inner in fields.items():
            yield from _walk(f"{path}.{field}" if path else field, inner, names, depth + 1)
    elif isinstance(value, bool | int | float | np.number | np.bool_):
        yield path, np.array([float(value)]), ()
    elif isinstance(value, np.ndarray) or (isinstance(value, list | tuple) and _numeric(value)):
        array = np.asarray(value)
        if array.ndim == 1 and 0 < len(array) <= MOST_PARTS and array.dtype.kind in "fiub":
            labels = names if len(names) == len(array) else tuple(map(str, range(len(array))))
            yield path, array.astype(np.float64), labels
    elif isinstance(value, list | tuple) and value and len(value) <= MOST_PARTS:
        labels = names if len(names) == len(value) else map(str, range(len(value)))
        for label, inner in zip(labels, value, strict=True):
            if _fields(inner) is not None:
                yield from _walk(f"{path}[{label}]", inner, (), depth + 1)


def _fields(value: Any) -> Mapping[str, Any] | None:
    """Fields of a structure: of a JSON object, or of a message of ROS."""
    if isinstance(value, Mapping):
        return value
    names = getattr(value, "__dataclass_fields__", None)
    if names is None:
        return None
    return {name: getattr(value, name) for name in names if not name.startswith("__")}


def _labels(fields: Mapping[str, Any]) -> tuple[str, ...]:
    for name in NAMES:
        found = fields.get(name)
        if isinstance(found, list | tuple) and found and all(isinstance(x, str) for x in found):
            # The same name twice names nothing.
            return tuple(found) if len(set(found)) == len(found) else ()
    return ()


def _nanoseconds(fields: Mapping[str, Any]) -> int | None:
    """Of a time of ROS, by any of its spellings."""
    for sec, nsec in (("sec", "nanosec"), ("sec", "nsec"), ("secs", "nsecs")):
        if set(fields) == {sec, nsec} and _numeric([fields[sec], fields[nsec]]):
            return int(fields[sec]) * 10**9 + int(fields[nsec])
    return None


def _numeric(value: Sequence[Any]) -> bool:
    return bool(value) and all(isinstance(x, int | float | np.number) for x in value)
