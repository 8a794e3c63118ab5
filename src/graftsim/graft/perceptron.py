"""Multilayer perceptron."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.errors import VariableError, suggest
from graftsim.graft.layer import Layer
from graftsim.graft.network import Network, Specification
from graftsim.graft.onnx_graph import Function, Graph, Value, from_right, line
from graftsim.graft.pointwise import (
    ACTIVATIONS,
    SIGN_WIDTH,
    smooth_sign,
    smooth_sign_node,
    smooth_sign_slope,
)


@dataclass(frozen=True, init=False)
class MLP(Specification):
    """Multilayer perceptron with hidden layers of the given widths and a linear output.

    activation: "tanh" (default), "elu" or "silu". signs: the network sees the sign of each input
    too, smoothed over 2 % of the input's size; dry friction jumps at rest, and weights that are
    neither large nor many cannot. Weights start as Glorot and Bengio (2010) drew them, biases and
    the last layer at zero. `MLP()` is linear in its inputs.
    """

    name: ClassVar[str] = "MLP"

    widths: tuple[int, ...]
    activation: str
    signs: bool

    def __init__(self, *widths: int, activation: str = "tanh", signs: bool = False) -> None:
        if activation not in ACTIVATIONS:
            raise VariableError(f"activation '{activation}'. {suggest(activation, ACTIVATIONS)}")
        if any(w < 1 for w in widths):
            raise VariableError(f"Every layer of an MLP needs at least one unit, got {widths}.")
        object.__setattr__(self, "widths", tuple(widths))
        object.__setattr__(self, "activation", activation)
        object.__setattr__(self, "signs", bool(signs))

    @classmethod
    def from_description(cls, *, widths: tuple[int, ...], **options: Any) -> Self:
        """Widths are positional."""
        return cls(*widths, **options)

    def build(self, n_in: int, n_out: int, key: Any, dtype: Any) -> Perceptron:
        """The module."""
        sizes = (2 * n_in if self.signs else n_in, *self.widths, n_out)
        layers = []
        for i, k in enumerate(jax.random.split(key, len(sizes) - 1)):
            shape = (sizes[i + 1], sizes[i])
            bound = 0.0 if i == len(sizes) - 2 else float(np.sqrt(6 / sum(shape)))
            layers.append(
                Layer(
                    jax.random.uniform(k, shape, dtype, -1, 1) * bound,
                    jnp.zeros(sizes[i + 1], dtype),
                )
            )
        return Perceptron(tuple(layers), self.activation, self.signs)


class Perceptron(Network):
    """Layers with an activation between them."""

    layers: tuple[Layer, ...]
    activation: str = eqx.field(static=True)
    signs: bool = eqx.field(static=True, default=False)

    def __call__(self, x: Float[Array, " n"]) -> Float[Array, " m"]:
        """Evaluate for one input vector."""
        if self.signs:
            x = jnp.concatenate([x, smooth_sign(x)])
        for layer in self.layers[:-1]:
            x = ACTIVATIONS[self.activation](layer(x))
        return self.layers[-1](x)

    def affine(self, shift: Any, scale: Any, offset: Any, gain: Any) -> Perceptron:
        """The perceptron offset + gain f((x - shift) / scale), folded into the layers at its ends.

        shift, scale [n], offset, gain [m]. Raises VariableError: it sees signs of its inputs, which
        are those about zero.
        """
        if self.signs:
            raise VariableError("An MLP with signs=True cannot be shifted or scaled inside.")
        first = self.layers[0]
        weight = first.weight / scale
        layers = [Layer(weight, first.bias - weight @ shift), *self.layers[1:]]
        last = layers[-1]
        layers[-1] = Layer(last.weight * gain[:, None], last.bias * gain + offset)
        return Perceptron(tuple(layers), self.activation, False)

    def in_numpy(self) -> Callable[[Any], np.ndarray]:
        """The same in NumPy, for x [*b, n]: in microseconds, without JAX in the loop."""
        weights = [np.ascontiguousarray(np.asarray(layer.weight).T) for layer in self.layers]
        biases = [np.asarray(layer.bias) for layer in self.layers]
        activation, signs = ACTIVATIONS[self.activation].in_numpy, self.signs
        *inner, (last, offset) = zip(weights, biases, strict=True)

        def evaluate(x: Any) -> np.ndarray:
            x = np.asarray(x)
            if signs:
                x = np.concatenate([x, np.tanh(x / SIGN_WIDTH)], -1)
            for w, b in inner:
                x = activation(x @ w + b)
            return x @ last + offset

        return evaluate

    def to_onnx(self, g: Graph) -> Function:
        """Layer by layer, and the chain rule from the first output back to x."""
        weights = [np.asarray(layer.weight) for layer in self.layers]
        right = [g.constant(from_right(w), f"weight_{i}") for i, w in enumerate(weights)]
        bias = [g.constant(line(layer.bias), f"bias_{i}") for i, layer in enumerate(self.layers)]
        activation = ACTIVATIONS[self.activation]
        n = weights[0].shape[-1] // 2

        def forward(x: Value) -> list[Value]:
            """What goes into each activation, and the output."""
            found: list[Value] = []
            if self.signs:
                x = g.Concat(x, smooth_sign_node(g, x), axis=-1)
            for i in range(len(weights)):
                x = activation.value(g, found[-1]) if found else x
                found.append(g.Add(g.MatMul(x, right[i]), bias[i]))
            return found

        def gradient(x: Value) -> Value:
            back: Any = weights[-1][..., :1, :]
            for z, w in zip(reversed(forward(x)[:-1]), reversed(weights[:-1]), strict=True):
                back = g.MatMul(g.Mul(back, activation.slope(g, z)), w)
            if self.signs:
                plain, jumps = (g.Gather(back, np.arange(k, k + n), axis=-1) for k in (0, n))
                back = g.Add(plain, g.Mul(jumps, smooth_sign_slope(g, x)))
            return g.Expand(back, g.Shape(x)) if len(weights) == 1 else back

        return Function(lambda x: forward(x)[-1], gradient)

    def input_weights(self) -> Perceptron:
        """The same tree with the column of the input that each weight multiplies, -1 elsewhere."""
        none = jax.tree.map(lambda w: -np.ones(w.shape, int), self)
        first = self.layers[0].weight
        n = first.shape[-1] // 2 if self.signs else first.shape[-1]
        columns = np.broadcast_to(np.arange(first.shape[-1]) % n, first.shape)
        return eqx.tree_at(lambda n: n.layers[0].weight, none, columns)
