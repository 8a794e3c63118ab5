"""What a network is: wanted (`Specification`), built (`Network`), built with memory (`Recurrent`).

A specification (`MLP(16, 16)`) says what is wanted; `build` makes the module once the numbers of
inputs and outputs are known. Any Equinox module that maps [n_in] to [n_out] is a network too; one
that descends from `Network` or `Recurrent` may also say itself in ONNX. A new network should give
zero, as all of this package do, so that grafting it changes nothing yet.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Float

from graftsim.graft.described import Described
from graftsim.graft.onnx_graph import Function, Graph, Value

# Specifications that a file can hold, by name.
NETWORKS: dict[str, type[Specification]] = {}

Step = Callable[[Value, Value], tuple[Value, Value]]


class Specification(Described, abc.ABC):
    """A network that is not built yet: a frozen data class.

    One that states `name` is saved by its fields, see `Described`.
    """

    known: ClassVar[dict[str, Any]] = NETWORKS
    # Inputs that are angles (rad) are given as they are, not in units of their size.
    plain_angles: ClassVar[bool] = False

    @abc.abstractmethod
    def build(self, n_in: int, n_out: int, key: Any, dtype: Any) -> eqx.Module:
        """The module for so many inputs and outputs, with starting weights."""


class Network(eqx.Module):
    """A network without memory."""

    @abc.abstractmethod
    def __call__(self, x: Float[Array, " n"]) -> Float[Array, " m"]:
        """Output for one input vector."""

    def to_onnx(self, g: Graph) -> Function:
        """The same as nodes; weights have a leading axis R where each row has its own.

        Without it, a network runs and trains, but cannot be exported. Without `gradient` in the
        function, it cannot be exported under `Conservative`.
        """
        raise NotImplementedError


class Recurrent(eqx.Module):
    """A network with memory, any pytree of arrays: (x, memory) gives (y, memory)."""

    @abc.abstractmethod
    def initial(self) -> Any:
        """Memory before the first step."""

    @abc.abstractmethod
    def __call__(self, x: Float[Array, " n"], memory: Any) -> tuple[Float[Array, " m"], Any]:
        """Output, and what is remembered for the next step."""

    def to_onnx(self, g: Graph) -> Step:
        """The same as nodes, for a memory that is one vector and starts at zero."""
        raise NotImplementedError
