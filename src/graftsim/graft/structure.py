"""Physical structure by construction: properties that hold for any weights.

A structure takes a network f of the scaled inputs x (raw input: x times its scale) and makes of it
another function; the scaled output times its scale is what the graft gives. Several are applied in
order, the first inside; a combination in which one would not hold is refused.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from jaxtyping import Array, Float

from graftsim.errors import VariableError, suggest
from graftsim.graft import onnx_graph
from graftsim.graft.described import Described
from graftsim.graft.onnx_graph import Graph
from graftsim.graft.wiring import Input, Rows, Shapes, Source, Target
from graftsim.model.tree import Tree

# Structures that a file can hold, by name.
STRUCTURES: dict[str, type[Structure]] = {}

Function = Callable[[Float[Array, " n"]], Float[Array, " m"]]


class Frame(NamedTuple):
    """What a structure knows of a graft: columns of each input by its text, scales, width."""

    columns: Mapping[str, slice]
    input_scale: Any
    output_scale: Any
    width: int

    def find(self, text: str, what: str) -> slice:
        """Columns of an input; VariableError when the graft has no such input."""
        if text not in self.columns:
            raise VariableError(
                f"{what} needs the input '{text}'. {suggest(text, list(self.columns))}"
            )
        return self.columns[text]


class Setting(NamedTuple):
    """A graft that is being bound, for a structure to check."""

    frame: Frame
    targets: tuple[Target, ...]
    inputs: Mapping[str, Input]
    mode: str
    tree: Tree

    @property
    def shown(self) -> str:
        """Names of the targets."""
        return ", ".join(t.name for t in self.targets)

    def paired(self, text: str, names: tuple[str, ...], what: str) -> None:
        """Raise VariableError unless an input is one of these variables, in the target's rows."""
        self.frame.find(text, what)
        source, target = self.inputs[text], self.targets[0]
        if not isinstance(source, Source) or source.name not in names or source.previous:
            raise VariableError(f"{what} of {target.name} needs {names[0]}, not '{text}'.")
        if source.places != target.places:
            raise VariableError(
                f"{what}: '{text}' ({', '.join(source.columns)}) has other rows than the target "
                f"({', '.join(target.columns)})."
            )


class Structure(Described, abc.ABC):
    """A property that holds for any weights: a frozen data class.

    One that states `name` is saved by its fields, see `Described`. onnx_note: what a user of an
    exported file has to know of it.
    """

    known: ClassVar[dict[str, Any]] = STRUCTURES
    onnx_note: ClassVar[str] = ""

    def target(self, shapes: Shapes, texts: Sequence[str]) -> tuple[Target, Rows] | None:
        """The target with these texts and its rows, where the structure and no bracket has them."""
        return None

    def check(self, setting: Setting) -> None:
        """Raise VariableError where the property would not hold."""
        return

    def keeps(self, inner: Structure) -> bool:
        """Does the property of a structure inside still hold after this one?"""
        return True

    def outputs(self, width: int) -> int:
        """Outputs that the network needs so that the graft has `width`."""
        return width

    @abc.abstractmethod
    def wrap(self, f: Function, frame: Frame) -> Function:
        """The function with the property."""

    def to_onnx(
        self, g: Graph, f: onnx_graph.Function, frame: Frame, rows: int | None
    ) -> onnx_graph.Function | None:
        """The same as nodes; `rows`: networks, None for a shared one. None: f lacks a gradient.

        Without it, a structure runs and trains, but cannot be exported.
        """
        raise NotImplementedError


def check(structures: Sequence[Structure], setting: Setting) -> None:
    """Raise VariableError where one of the properties would not hold."""
    for place, outer in enumerate(structures):
        outer.check(setting)
        for inner in structures[:place]:
            if not outer.keeps(inner):
                a, b = type(inner).__name__, type(outer).__name__
                advice = "Take one out."
                if a != b and inner.keeps(outer):
                    advice = f"The other order keeps both: structure=({b}(...), {a}(...))."
                raise VariableError(f"{a} does not hold for what {b} makes of it. {advice}")
