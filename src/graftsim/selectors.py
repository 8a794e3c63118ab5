"""The one vocabulary: `family.quantity[rows]`, for what to fit, record, graft and report.

Rows are shell patterns, several separated by commas. A name that holds one of `, = [ ] * ?` or
begins with a quotation mark stands in quotes, `joint.damping["left, knee"]`, where it is taken as
it is; in them a backslash stands before a quotation mark or a backslash. What is printed can be
typed back. Where a row has several numbers, their names may follow: `link.com[*].x,z`.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass

from graftsim.errors import VariableError, suggest

QUOTES = ('"', "'")
_NAME = re.compile(r"\w+\.\w+")
_COMPONENTS = re.compile(r"(?P<selector>.*\])\.(?P<names>\w+(,\w+)*)", re.DOTALL)
# Of these each has a meaning of its own somewhere in selectors, flags and run files.
_SPECIAL = set(",=[]*?")


@dataclass(frozen=True)
class Selector:
    """A name and, in brackets, which of its rows, as written.

    No bracket (`pattern` None) means the whole array.
    """

    name: str
    pattern: str | None = None

    @staticmethod
    def parse(text: str) -> Selector:
        """Read `joint.damping[elbow]`; raises VariableError when the form is wrong."""
        head, bracket, rest = text.strip().partition("[")
        name, pattern = head.strip(), rest[:-1]
        if _NAME.fullmatch(name):
            if not bracket:
                return Selector(name)
            if rest.endswith("]") and all(map(_is_row, outside(pattern, ","))):
                return Selector(name, pattern)
        hint = ""
        if bracket and _NAME.fullmatch(name):
            hint = f' A name that holds one of , = [ ] stands in quotes: {name}["a[1], b"].'
        raise VariableError(
            f"'{text}' is not of the form family.quantity[rows], such as joint.damping[elbow], "
            f"link.mass[*] or state.q.{hint}"
        )

    def rows(self, labels: Sequence[str]) -> tuple[int, ...]:
        """Rows whose label matches, in the order of the array; empty when none does.

        A label that equals a pattern is taken as it is.
        """
        if self.pattern is None:
            return tuple(range(len(labels)))
        patterns = [p.strip() for p in outside(self.pattern, ",")]
        exact = {unquoted(p) for p in patterns}
        shapes = [p for p in patterns if not p.startswith(QUOTES)]
        return tuple(
            i
            for i, label in enumerate(labels)
            if label in exact or any(fnmatch.fnmatchcase(label, p) for p in shapes)
        )

    def nearest(self, labels: Sequence[str]) -> str:
        """Sentence for an error message: the labels like its rows, as they can be typed."""
        return suggest(self.pattern or "", map(quoted, labels))

    @property
    def label(self) -> str:
        """The one row that is named, quotes taken off; "" without brackets."""
        return unquoted(self.pattern or "")

    def __str__(self) -> str:
        return self.name if self.pattern is None else f"{self.name}[{self.pattern}]"


def split_components(text: str) -> tuple[str, tuple[str, ...] | None]:
    """`link.com[*].x,z` as `link.com[*]` and the components (x, z) of each row; None means all."""
    match = _COMPONENTS.fullmatch(text.strip())
    return (match["selector"], tuple(match["names"].split(","))) if match else (text, None)


def row_name(name: str, label: str) -> str:
    """`family.quantity[label]`, which `Selector.parse` takes for this one row."""
    return f"{name}[{quoted(label)}]"


def with_row(text: str, label: str) -> str:
    """A selector with one row named where it had all, `[*]`; as it is if the label is ""."""
    return text.replace("[*]", f"[{quoted(label)}]") if label else text


def quoted(label: str) -> str:
    """A label as it stands in brackets or before `=`: in quotes where it needs them."""
    plain = not _SPECIAL & set(label) and not label.startswith(QUOTES)
    if plain and label and label == label.strip():
        return label
    return '"' + label.replace("\\", "\\\\").replace('"', '\\"') + '"'


def unquoted(text: str) -> str:
    """A label as it is, without the quotes and spaces around it."""
    text = text.strip()
    if text.startswith(QUOTES) and _closing(text, 0) == len(text) - 1:
        return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)
    return text


def outside(text: str, separator: str) -> list[str]:
    """Pieces of a text between separators that stand outside of brackets and quotes."""
    pieces, start, depth, i = [], 0, 0, 0
    fresh = True  # Only where a label may begin does a quotation mark open one.
    while i < len(text):
        letter = text[i]
        if fresh and letter in QUOTES:
            i = _closing(text, i)
        elif letter == separator and depth == 0:
            pieces.append(text[start:i])
            start = i + 1
        else:
            depth = max(depth + (letter == "[") - (letter == "]"), 0)
        fresh = letter in (separator, "[", ",", "=") or (fresh and letter.isspace())
        i += 1
    return [*pieces, text[start:]]


def _closing(text: str, at: int) -> int:
    """Where the quotes that open at `at` close; the length of the text if they do not."""
    i = at + 1
    while i < len(text) and text[i] != text[at]:
        i += 2 if text[i] == "\\" else 1
    return min(i, len(text))


def _is_row(text: str) -> bool:
    """Is it a label in quotes, or a pattern without brackets?"""
    text = text.strip()
    if text.startswith(QUOTES):
        return _closing(text, 0) == len(text) - 1
    return not set("[]") & set(text)
