"""Networks and structures as nodes of an ONNX graph; a value is the name of a node's output.

Values have shape [batch, n], or [R, 1, n] for rows with networks of their own, so that weights
[n, m] or [R, n, m] multiply from the right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from graftsim.errors import VariableError
from graftsim.graft import structure
from graftsim.graft.bound import BoundGraft
from graftsim.graft.networks import SIGN_WIDTH, STRIBECK_WIDTH, Gated, Perceptron, Terms
from graftsim.graft.structure import Frame, Structure

Value = str


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


@dataclass(frozen=True)
class Function:
    """A function of x [.., n], and the gradient of its first output in x, where there is one."""

    value: Callable[[Value], Value]
    gradient: Callable[[Value], Value] | None = None


@dataclass(frozen=True)
class Pointwise:
    """A function of each number alone, and its derivative."""

    value: Callable[[Graph, Value], Value]
    slope: Callable[[Graph, Value], Value]


def _one_minus_square(g: Graph, y: Value) -> Value:
    return g.Sub(1.0, g.Mul(y, y))


def _where_positive(g: Graph, x: Value, yes: Any, no: Value) -> Value:
    return g.Where(g.Greater(x, 0.0), yes, no)


def _silu_slope(g: Graph, x: Value) -> Value:
    s = g.Sigmoid(x)
    return g.Mul(s, g.Add(1.0, g.Mul(x, g.Sub(1.0, s))))


def _sign(g: Graph, x: Value) -> Value:
    return g.Tanh(g.Div(x, SIGN_WIDTH))


def _sign_slope(g: Graph, x: Value) -> Value:
    return g.Div(_one_minus_square(g, _sign(g, x)), SIGN_WIDTH)


def _decay(g: Graph, x: Value) -> Value:
    scaled = g.Div(x, STRIBECK_WIDTH)
    return g.Exp(g.Neg(g.Mul(scaled, scaled)))


def _stribeck_slope(g: Graph, x: Value) -> Value:
    fading = g.Mul(g.Mul(x, -2 / STRIBECK_WIDTH**2), _sign(g, x))
    return g.Mul(g.Add(_sign_slope(g, x), fading), _decay(g, x))


# Elu is composed, since runtimes have the ready-made one in float32 only.
ACTIVATIONS = {
    "tanh": Pointwise(lambda g, x: g.Tanh(x), lambda g, x: _one_minus_square(g, g.Tanh(x))),
    "elu": Pointwise(
        lambda g, x: _where_positive(g, x, x, g.Sub(g.Exp(g.Min(x, 0.0)), 1.0)),
        lambda g, x: g.Exp(g.Min(x, 0.0)),
    ),
    "silu": Pointwise(lambda g, x: g.Mul(x, g.Sigmoid(x)), _silu_slope),
}

TERMS = {
    "linear": Pointwise(lambda g, x: x, lambda g, x: g.Expand(1.0, g.Shape(x))),
    "quadratic": Pointwise(lambda g, x: g.Mul(x, g.Abs(x)), lambda g, x: g.Mul(2.0, g.Abs(x))),
    "cubic": Pointwise(
        lambda g, x: g.Mul(x, g.Mul(x, x)), lambda g, x: g.Mul(3.0, g.Mul(x, x))
    ),
    "coulomb": Pointwise(_sign, _sign_slope),
    "stribeck": Pointwise(lambda g, x: g.Mul(_sign(g, x), _decay(g, x)), _stribeck_slope),
    "sine": Pointwise(lambda g, x: g.Sin(x), lambda g, x: g.Cos(x)),
    "cosine": Pointwise(lambda g, x: g.Sub(1.0, g.Cos(x)), lambda g, x: g.Sin(x)),
}  # fmt: skip


# -- networks -------------------------------------------------------------------------------


def network(g: Graph, graft: BoundGraft) -> Function:
    """The network of a graft without memory, in scaled terms."""
    if type(graft.form) is Perceptron:
        return _perceptron(g, graft.network)
    if type(graft.form) is Terms:
        return _terms(g, graft.network)
    raise VariableError(
        f"Graft '{graft.label}': a network of class {type(graft.form).__name__} cannot be written "
        "as ONNX; MLP, GRU and Library can."
    )


def _right(weight: Any) -> np.ndarray:
    """W [.., m, n] as what multiplies from the right."""
    return np.swapaxes(np.asarray(weight), -1, -2)


def _line(vector: Any) -> np.ndarray:
    """A vector [m] as it is, one for each row [R, m] as [R, 1, m]."""
    vector = np.asarray(vector)
    return vector if vector.ndim == 1 else vector[:, None]


def _perceptron(g: Graph, net: Any) -> Function:
    weights = [np.asarray(layer.weight) for layer in net.layers]
    right = [g.constant(_right(w), f"weight_{i}") for i, w in enumerate(weights)]
    bias = [g.constant(_line(layer.bias), f"bias_{i}") for i, layer in enumerate(net.layers)]
    activation = ACTIVATIONS[net.activation]
    n = weights[0].shape[-1] // 2

    def signs(x: Value) -> Value:
        return g.Tanh(g.Mul(x, 1 / SIGN_WIDTH))

    def forward(x: Value) -> list[Value]:
        """What goes into each activation, and the output."""
        found: list[Value] = []
        if net.signs:
            x = g.Concat(x, signs(x), axis=-1)
        for i in range(len(weights)):
            x = activation.value(g, found[-1]) if found else x
            found.append(g.Add(g.MatMul(x, right[i]), bias[i]))
        return found

    def gradient(x: Value) -> Value:
        """The chain rule from the first output back to x."""
        back: Any = weights[-1][..., :1, :]
        for z, w in zip(reversed(forward(x)[:-1]), reversed(weights[:-1]), strict=True):
            back = g.MatMul(g.Mul(back, activation.slope(g, z)), w)
        if net.signs:
            plain, jumps = (g.Gather(back, np.arange(k, k + n), axis=-1) for k in (0, n))
            steep = g.Mul(g.Sub(1.0, g.Mul(signs(x), signs(x))), 1 / SIGN_WIDTH)
            back = g.Add(plain, g.Mul(jumps, steep))
        return g.Expand(back, g.Shape(x)) if len(weights) == 1 else back

    return Function(lambda x: forward(x)[-1], gradient)


def _terms(g: Graph, net: Any) -> Function:
    weights = [np.asarray(net.weight[..., k]) for k in range(len(net.terms))]

    def value(x: Value) -> Value:
        parts = [
            g.MatMul(TERMS[t].value(g, x), _right(w))
            for t, w in zip(net.terms, weights, strict=True)
        ]
        return g.Sum(*parts)

    def gradient(x: Value) -> Value:
        parts = [
            g.Mul(TERMS[t].slope(g, x), w[..., :1, :])
            for t, w in zip(net.terms, weights, strict=True)
        ]
        return g.Sum(*parts)

    return Function(value, gradient)


def gated(g: Graph, net: Gated, x: Value, h: Value) -> tuple[Value, Value]:
    """Output and new memory of a gated recurrent unit."""
    cell: Any = net.cell
    to_gates = g.Add(g.MatMul(x, _right(cell.weight_ih)), _line(cell.bias))
    from_memory = g.MatMul(h, _right(cell.weight_hh))
    size = cell.weight_hh.shape[-1]

    def gate(of: Value, k: int) -> Value:
        return g.Gather(of, np.arange(k * size, (k + 1) * size), axis=-1)

    reset = g.Sigmoid(g.Add(gate(to_gates, 0), gate(from_memory, 0)))
    keep = g.Sigmoid(g.Add(gate(to_gates, 1), gate(from_memory, 1)))
    held = g.Mul(reset, g.Add(gate(from_memory, 2), _line(cell.bias_n)))
    new = g.Tanh(g.Add(gate(to_gates, 2), held))
    h = g.Add(new, g.Mul(keep, g.Sub(h, new)))
    return g.Add(g.MatMul(h, _right(net.out.weight)), _line(net.out.bias)), h


# -- structures -----------------------------------------------------------------------------


def wrap(g: Graph, s: Structure, f: Function, frame: Frame, rows: int | None) -> Function:
    """A function with a structure, as `Structure.wrap`. rows: networks, None for a shared one."""
    if type(s) is structure.Odd:
        return _minus_turned(g, f, 1 - 2 * _marks(frame, s.of or tuple(frame.columns)), 0.5)
    if type(s) is structure.ZeroAtRest:
        return _minus_turned(g, f, 1 - _marks(frame, s.velocity), 1.0)
    if type(s) is structure.Dissipative:
        return _dissipative(g, s, f, frame, rows)
    if type(s) is structure.Conservative and f.gradient is not None:
        energy = np.asarray(frame.output_scale * frame.input_scale, float)
        slope = f.gradient
        return Function(lambda x: g.Mul(slope(x), -energy.mean() / energy))
    if type(s) is structure.ActionReaction:
        return f
    raise VariableError(f"The structure {type(s).__name__} cannot be written as ONNX here.")


def _marks(frame: Frame, texts: str | tuple[str, ...]) -> np.ndarray:
    """One in the columns of the given inputs, zero elsewhere."""
    marks = np.zeros(max(s.stop for s in frame.columns.values()))
    for text in (texts,) if isinstance(texts, str) else texts:
        marks[frame.columns[text]] = 1.0
    return marks


def _minus_turned(g: Graph, f: Function, turn: np.ndarray, factor: float) -> Function:
    """factor (f(x) - f(turn x)), number by number."""
    turned = g.constant(turn)
    return Function(lambda x: g.Mul(factor, g.Sub(f.value(x), f.value(g.Mul(turned, x)))))


def _dissipative(
    g: Graph, s: structure.Dissipative, f: Function, frame: Frame, rows: int | None
) -> Function:
    """-L L^T v; the entries of L are put in place by a matrix of zeros and ones."""
    n, columns = frame.width, frame.columns[s.velocity]
    down, across = np.tril_indices(n)
    place = np.zeros((len(down), n * n))
    place[np.arange(len(down)), down * n + across] = 1.0
    root = np.sqrt(np.asarray(frame.output_scale * frame.input_scale[columns], float))
    lead = (-1,) if rows is None else (rows, 1)
    swap = (*range(len(lead)), len(lead) + 1, len(lead))

    def value(x: Value) -> Value:
        entries = g.Add(g.MatMul(f.value(x), place), structure.START * np.eye(n).reshape(-1))
        L = g.Reshape(entries, np.array((*lead, n, n)))
        v = g.Mul(g.Gather(x, np.arange(columns.start, columns.stop), axis=-1), root)
        product = g.MatMul(L, g.MatMul(g.Transpose(L, perm=swap), g.Unsqueeze(v, np.array([-1]))))
        return g.Neg(g.Div(g.Squeeze(product, np.array([-1])), root))

    return Function(value)
