"""What a format of log files is: one class."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from graftsim.errors import LogError
from graftsim.io.logs.tables import Table


class LogFormat(abc.ABC):
    """A format of log files. name: as it is called in messages; suffixes: of its files."""

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]

    def matches(self, path: Path) -> bool:
        """Whether this file or folder is of the format: here, whether it has one of its suffixes.

        A format whose files begin with bytes of their own looks at those instead.
        """
        return path.is_file() and path.suffix.lower() in self.suffixes

    @abc.abstractmethod
    def read(self, path: Path) -> Table:
        """The columns of a file, numbers without a meaning yet; `array_table` makes a table.

        Raises LogError, naming the file, when it cannot be read.
        """

    def runs(self, path: Path) -> tuple[Table, ...]:
        """A table for each run in a file or folder that may hold several, each with its `run`."""
        return (self.read(path),)


def only_run(path: Path, tables: Sequence[Table]) -> Table:
    """The table of a file of one run. Raises: LogError for several."""
    if len(tables) == 1:
        return tables[0]
    runs = [table.run for table in tables]
    raise LogError(
        f"{path}: holds {len(runs)} runs ({listed(runs)}). Name one, '{path}#{runs[0]}', or read "
        "them all by read_recordings."
    )


def listed(runs: Sequence[str]) -> str:
    """Names of runs for a message, many cut short."""
    shown = ", ".join(runs[:4])
    return f"{shown}, ... {runs[-1]}" if len(runs) > 5 else ", ".join(runs) or "one run"
