"""PX4's ULog, by pyulog."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, final

import numpy as np

from graftsim.errors import LogError
from graftsim.io.logs.damage import begins_with, library, reading
from graftsim.io.logs.format import LogFormat
from graftsim.io.logs.tables import Cells, Clock, Table

_ELEMENT = re.compile(r"(?P<array>.+)\[\d+\]")


@final
class ULog(LogFormat):
    """Topics of a flight log, `vehicle_angular_velocity.xyz[0]`, each with its time stamps."""

    name = "PX4 ULog"
    suffixes = (".ulg", ".ulog")

    def matches(self, path: Path) -> bool:
        """By the bytes that it begins with."""
        return begins_with(path, b"ULog\x01\x12\x35")

    def read(self, path: Path) -> Table:
        """Columns `topic.field`, of a second instance of a topic `topic#1.field`."""
        core = library(path, self.name, "pyulog.core", "px4")
        said = io.StringIO()
        with reading(path, self.name), contextlib.redirect_stdout(said):
            log = core.ULog(str(path))
        values: dict[str, np.ndarray] = {}
        clocks: dict[str, Clock] = {}
        groups: dict[str, list[str]] = {}
        for data in sorted(log.data_list, key=lambda d: (d.name, d.multi_id)):
            with reading(path, self.name, f"topic {data.name!r}"):
                _add_topic(data, values, clocks, groups)
        if not values:
            raise LogError(f"{path}: there is no message in it.")
        warnings = []
        if log.file_corruption:
            warnings.append(
                f"{path}: the file is damaged (a cut end, or bytes that are no message): what "
                "could be read of it is here, what was lost is not known."
            )
        if log.dropouts:
            lost = sum(d.duration for d in log.dropouts) / 1000
            warnings.append(
                f"{path}: the logger dropped messages {len(log.dropouts)} times, {lost:.3g} s in "
                "all."
            )

        def load(names: Iterable[str]) -> dict[str, Cells]:
            return {n: Cells(values[n], np.arange(len(values[n]))) for n in names}

        return Table(
            str(path),
            tuple(values),
            load,
            {name: tuple(columns) for name, columns in groups.items()},
            row_note=" (messages counted from 0)",
            clocks={"timestamp": clocks},
            warnings=tuple(warnings),
        )


def _add_topic(
    data: Any,
    values: dict[str, np.ndarray],
    clocks: dict[str, Clock],
    groups: dict[str, list[str]],
) -> None:
    topic = f"{data.name}#{data.multi_id}" if data.multi_id else data.name
    clock = Clock(f"{topic}.timestamp")
    for field, column in data.data.items():
        name = f"{topic}.{field}"
        scale = 1e-6 if field == "timestamp" else 1.0  # us since the start of the autopilot
        values[name] = column.astype(np.float64) * scale
        if field != "timestamp":
            clocks[name] = clock
        if match := _ELEMENT.fullmatch(name):
            groups.setdefault(match["array"], []).append(name)
