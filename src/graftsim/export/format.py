"""What an export is: a fit in the form that another program reads.

A format is one class in a file of its own. A user's is used by `graftsim.export(fit, Mine())`.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from graftsim.export.fitted import Fitted
from graftsim.recordings.recording import Recording

# Step of physics (s) of both Isaac Lab and mjlab as they come.
PHYSICS_DT = 0.005


@dataclass(frozen=True)
class Logs:
    """Recordings of a fit, and those that it held out."""

    fitted: Sequence[Recording] = ()
    heldout: Sequence[Recording] = ()


class ExportFormat(abc.ABC):
    """A form of fits for another program.

    name: as `--as` has it. help: what it is, for the help of the command line. target: name of its
    file or folder where none is given. folder: whether it is a folder. reads_logs: whether it needs
    the recordings of the fit.
    """

    name: ClassVar[str]
    help: ClassVar[str]
    target: ClassVar[str]
    folder: ClassVar[bool] = False
    reads_logs: ClassVar[bool] = False

    @abc.abstractmethod
    def write(self, fit: Fitted, out: Path, dt: float, logs: Logs) -> list[str]:
        """Write a fit to `out`; returns sentences: what was measured, what could not be said.

        dt: step of the other program's physics (s). Raises GraftsimError: this fit cannot be
        written in this form; OSError.
        """
