"""Nodes of an ONNX graph as they are made; a value is the name of a node's output.

Values have shape [batch, n], or [R, 1, n] for rows with networks of their own, so that weights
[n, m] or [R, n, m] multiply from the right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Value = str
OPSET = 17
# The version of the file format that came with this set of operations.
_IR = 8


class Graph:
    """Nodes and constants as they are made. `graph.Add(a, b)` is a node; arrays are constants."""

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def __getattr__(self, op: str) -> Callable[..., Value]:
        """The operation of that name; it returns the name of its one output."""
        if not op[:1].isupper():
            raise AttributeError(op)

        def node(*inputs: Value | np.ndarray | float, **attributes: Any) -> Value:
            from onnx import helper

            names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
            made = helper.make_node(op, names, [f"{op}_{len(self.nodes)}"], **attributes)
            self.nodes.append(made)
            return made.output[0]

        return node

    def constant(self, value: Any, name: str = "") -> Value:
        """An array of the graph; whole numbers are indices, the others take its precision."""
        from onnx import numpy_helper

        array = np.asarray(value)
        array = array.astype(np.int64 if array.dtype.kind == "i" else self.dtype)
        name = name or f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name


Side = Mapping[str, tuple[int | str, int]]


def finished(
    g: Graph, ends: Mapping[str, Value], inputs: Side, outputs: Side, properties: Mapping[str, str]
) -> Any:
    """A checked model of the nodes made so far, in which `ends` are the outputs.

    inputs, outputs: shapes by name; a text in one is an axis of any length.
    """
    from onnx import checker, helper

    for name, end in ends.items():
        g.nodes.append(helper.make_node("Identity", [end], [name]))
    kind = helper.np_dtype_to_tensor_dtype(g.dtype)
    sides = [
        [helper.make_tensor_value_info(name, kind, shape) for name, shape in side.items()]
        for side in (inputs, outputs)
    ]
    graph = helper.make_graph(g.nodes, "graft", *sides, initializer=g.constants)
    opset = helper.make_opsetid("", OPSET)
    model = helper.make_model(
        graph, opset_imports=[opset], ir_version=_IR, producer_name="graftsim"
    )
    helper.set_model_props(model, dict(properties))
    checker.check_model(model)
    return model


@dataclass(frozen=True)
class Function:
    """A function of x [.., n], and the gradient of its first output in x, where there is one."""

    value: Callable[[Value], Value]
    gradient: Callable[[Value], Value] | None = None


def from_right(weight: Any) -> np.ndarray:
    """W [.., m, n] as what multiplies from the right."""
    return np.swapaxes(np.asarray(weight), -1, -2)


def line(vector: Any) -> np.ndarray:
    """A vector [m] as it is, one for each row [R, m] as [R, 1, m]."""
    vector = np.asarray(vector)
    return vector if vector.ndim == 1 else vector[:, None]


def can_write(kind: type, evaluate: str) -> bool:
    """Has a class its own `to_onnx`?

    One that is inherited past another `evaluate`, the method in JAX, would say something else.
    """
    for base in kind.__mro__:
        if "to_onnx" in base.__dict__:
            return True
        if evaluate in base.__dict__:
            return False
    return False
