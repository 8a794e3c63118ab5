"""The one vocabulary: `family.quantity[pattern]`, for what to fit, record, graft and report."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass

from graftsim.errors import VariableError

_FORM = re.compile(r"^\s*(?P<name>\w+\.\w+)\s*(\[(?P<pattern>[^\[\]]*)\])?\s*$")


@dataclass(frozen=True)
class Selector:
    """A name and, in brackets, which of its rows: shell patterns, several separated by commas.

    No bracket (`pattern` None) means the whole array.
    """

    name: str
    pattern: str | None = None

    @staticmethod
    def parse(text: str) -> Selector:
        """Read `joint.damping[elbow]`; raises VariableError when the form is wrong."""
        match = _FORM.match(text)
        if match is None:
            raise VariableError(
                f"'{text}' is not of the form family.quantity[rows], such as joint.damping[elbow], "
                "link.mass[*] or state.q."
            )
        return Selector(match["name"], match["pattern"])

    def rows(self, labels: Sequence[str]) -> tuple[int, ...]:
        """Rows whose label matches, in the order of the array; empty when none does.

        A label that equals a pattern is taken as it is, so names with `*` or `?` can be selected.
        """
        if self.pattern is None:
            return tuple(range(len(labels)))
        patterns = [p.strip() for p in self.pattern.split(",")]
        return tuple(
            i
            for i, label in enumerate(labels)
            if any(label == p or fnmatch.fnmatchcase(label, p) for p in patterns)
        )

    def __str__(self) -> str:
        return self.name if self.pattern is None else f"{self.name}[{self.pattern}]"
