"""Errors a user can act on: each says what, where, and what would be accepted.

Two channels, kept apart. Wrong use raises one of these at once. A numerical failure is a
named outcome in a returned result and never an exception.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class GraftsimError(Exception):
    """Base of every error raised on purpose by graftsim."""


class ModelError(GraftsimError):
    """A mechanism that cannot be: a loop, a massless end link, a negative mass, an unknown name."""


class FileError(GraftsimError):
    """A file of a robot or of grafts that cannot be read. The message names file and place."""


class LogError(GraftsimError):
    """A recording that cannot be trusted. The message names file, row and column."""


class ProblemError(GraftsimError):
    """A fit that cannot be posed: an empty selection, no data, a parameter nothing depends on."""


class ControlError(GraftsimError):
    """A control problem that cannot be posed: no horizon, limits that cross, a cost of many."""


class VariableError(GraftsimError):
    """A named variable that does not exist, or is needed before it is computed."""


class PrecisionError(GraftsimError):
    """float64 was asked for while JAX is set to float32."""


class KernelError(GraftsimError):
    """A function that cannot become a kernel: a primitive, a type or a form that is not known."""


class InteropError(GraftsimError):
    """Another program that does not fit: other joints, another device, a forked process."""


class GraftsimWarning(UserWarning):
    """Something a user should know, that does not stop the work."""


class SuspiciousLogWarning(GraftsimWarning):
    """A log that can be read, but looks wrong. Its recording has it among its notes, too."""


def suggest(name: str, known: Iterable[str], limit: int = 8) -> str:
    """Sentence for an error message: the nearest known names, or all of them when they are few."""
    known = list(known)
    if not known:
        return "There are none here."
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    shown = near or known[:limit]
    more = "" if near or len(known) <= limit else f" and {len(known) - limit} more"
    lead = "Nearest: " if near else "Available: "
    return lead + ", ".join(shown) + more + "."
