"""Parts of a graft that a file can hold: a class, found by its name, and its fields.

A class enters the table of its family by stating `name`. A file has that name and the fields as
JSON, never code or the place of code: what it names must be defined where the file is read. A class
without a name is its owner's code, of which a file keeps nothing but a mention.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Self

from graftsim.errors import VariableError


class Described:
    """Base of families whose members are found by name. `known`: the table of a family."""

    name: ClassVar[str]
    known: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in cls.__dict__:
            return
        there = cls.known.get(cls.name)
        # A class that is defined anew, as in a notebook, takes its own place.
        if there is not None and _place(there) != _place(cls):
            raise VariableError(f"The name '{cls.name}' is taken by {_place(there)}.")
        cls.known[cls.name] = cls

    def describe(self) -> Mapping[str, Any]:
        """Its fields, as JSON can hold them; of a data class they are known."""
        if not is_dataclass(self):
            raise VariableError(
                f"{_place(type(self))} is no data class: it needs a method describe() that gives "
                "the arguments of from_description()."
            )
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_description(cls, **found: Any) -> Self:
        """The object with these fields; lists of a file come as tuples."""
        return cls(**found)


def describe_part(part: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    """Name and fields; of a class that is not in the table its full name alone."""
    kind = type(part)
    name = kind.__dict__.get("name")
    if name is None or known.get(name) is not kind:
        return {"class": _place(kind)}
    return {"class": name, **part.describe()}


def part_of(entry: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    """The object that a description stands for."""
    found = {k: _tuples(v) for k, v in entry.items() if k != "class"}
    return known[entry["class"]].from_description(**found)


def _place(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _tuples(value: Any) -> Any:
    """JSON has lists where the fields are tuples, which can be hashed."""
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value
