"""Networks to graft: multilayer perceptron, gated recurrent unit, library of simple terms.

A specification (`MLP(16, 16)`) says what is wanted; `build` makes the module once the numbers of
inputs and outputs are known. Any Equinox module that maps [n_in] to [n_out] is a network too.
The last layer of a new network is zero, so that grafting it changes nothing yet.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.errors import VariableError, suggest

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "tanh": jnp.tanh,
    "elu": jax.nn.elu,
    "silu": jax.nn.silu,
}


# Speed, in units of an input's size, over which a smoothed sign turns, and Stribeck's speed.
SIGN_WIDTH = 0.02
STRIBECK_WIDTH = 0.15


class Specification(abc.ABC):
    """A network that is not built yet."""

    # Inputs that are angles (rad) are given as they are, not in units of their size.
    plain_angles = False

    @abc.abstractmethod
    def build(self, n_in: int, n_out: int, key: Any, dtype: Any) -> eqx.Module:
        """The module for so many inputs and outputs, with starting weights."""


class Recurrent(eqx.Module):
    """A network with memory, any pytree of arrays: (x, memory) gives (y, memory)."""

    @abc.abstractmethod
    def initial(self) -> Any:
        """Memory before the first step."""

    @abc.abstractmethod
    def __call__(self, x: Float[Array, " n"], memory: Any) -> tuple[Float[Array, " m"], Any]:
        """Output, and what is remembered for the next step."""


@dataclass(frozen=True, init=False)
class MLP(Specification):
    """Multilayer perceptron with hidden layers of the given widths and a linear output.

    activation: "tanh" (default), "elu" or "silu". signs: the network sees the sign of each input
    too, smoothed over 2 % of the input's size; dry friction jumps at rest, and weights that are
    neither large nor many cannot. Weights start as Glorot and Bengio (2010) drew them, biases and
    the last layer at zero. `MLP()` is linear in its inputs.
    """

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


class Layer(eqx.Module):
    """Affine map y = W x + b."""

    weight: Float[Array, "m n"]
    bias: Float[Array, " m"]

    def __call__(self, x: Float[Array, " n"]) -> Float[Array, " m"]:
        """W x + b."""
        return self.weight @ x + self.bias


class Perceptron(eqx.Module):
    """Layers with an activation between them."""

    layers: tuple[Layer, ...]
    activation: str = eqx.field(static=True)
    signs: bool = eqx.field(static=True, default=False)

    def __call__(self, x: Float[Array, " n"]) -> Float[Array, " m"]:
        """Evaluate for one input vector."""
        if self.signs:
            x = jnp.concatenate([x, jnp.tanh(x / SIGN_WIDTH)])
        for layer in self.layers[:-1]:
            x = ACTIVATIONS[self.activation](layer(x))
        return self.layers[-1](x)

    def input_weights(self) -> Perceptron:
        """The same tree with the column of the input that each weight multiplies, -1 elsewhere."""
        none = jax.tree.map(lambda w: -np.ones(w.shape, int), self)
        first = self.layers[0].weight
        n = first.shape[-1] // 2 if self.signs else first.shape[-1]
        columns = np.broadcast_to(np.arange(first.shape[-1]) % n, first.shape)
        return eqx.tree_at(lambda n: n.layers[0].weight, none, columns)


@dataclass(frozen=True)
class GRU(Specification):
    """Gated recurrent unit (Cho et al. 2014) with a linear output, for effects with a history.

    Its state advances once in each step dt of the simulator, and starts at zero.
    """

    size: int = 8

    def build(self, n_in: int, n_out: int, key: Any, dtype: Any) -> Gated:
        """The module."""
        cell = eqx.nn.GRUCell(n_in, self.size, dtype=dtype, key=key)
        out = Layer(jnp.zeros((n_out, self.size), dtype), jnp.zeros(n_out, dtype))
        return Gated(cell, out)


class Gated(Recurrent):
    """A GRU cell and a linear output."""

    cell: eqx.nn.GRUCell
    out: Layer

    def initial(self) -> Array:
        """Zeros."""
        return jnp.zeros(self.cell.hidden_size, self.out.bias.dtype)

    def __call__(self, x: Float[Array, " n"], memory: Array) -> tuple[Float[Array, " m"], Array]:
        """Output, and the cell's new state."""
        memory = self.cell(x, memory)
        return self.out(memory), memory

    def input_weights(self) -> Gated:
        """The same tree with the column of the input that each weight multiplies, -1 elsewhere."""
        none = jax.tree.map(lambda w: -np.ones(w.shape, int), self)
        first = self.cell.weight_ih
        columns = np.broadcast_to(np.arange(first.shape[-1]), first.shape)
        return eqx.tree_at(lambda n: n.cell.weight_ih, none, columns)


TERMS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "linear": ("{x}", lambda x: x),
    "quadratic": ("{x}|{x}|", lambda x: x * jnp.abs(x)),
    "cubic": ("{x}^3", lambda x: x**3),
    "coulomb": ("sign({x})", lambda x: jnp.tanh(x / SIGN_WIDTH)),
    "stribeck": (
        "sign({x}) exp(-({x}/v)^2)",
        lambda x: jnp.tanh(x / SIGN_WIDTH) * jnp.exp(-((x / STRIBECK_WIDTH) ** 2)),
    ),
    "sine": ("sin({x})", jnp.sin),
    "cosine": ("1 - cos({x})", lambda x: 1 - jnp.cos(x)),
}


@dataclass(frozen=True, init=False)
class Library(Specification):
    """A weighted sum of simple terms of each input: linear in its weights, and readable.

    terms: of `TERMS`, by default all. A sign is smoothed over 2 % of the input's size; angles are
    in radians, so that sines mean what they say.
    """

    plain_angles = True
    terms: tuple[str, ...]

    def __init__(self, *terms: str) -> None:
        for term in terms:
            if term not in TERMS:
                raise VariableError(f"There is no term '{term}'. {suggest(term, TERMS)}")
        object.__setattr__(self, "terms", tuple(terms) or tuple(TERMS))

    def build(self, n_in: int, n_out: int, key: Any, dtype: Any) -> Terms:
        """The module; `key` is not used, as all weights start at zero."""
        return Terms(jnp.zeros((n_out, n_in, len(self.terms)), dtype), self.terms)


class Terms(eqx.Module):
    """y_i = sum over inputs j and terms k of weight[i, j, k] term_k(x_j)."""

    weight: Float[Array, "m n k"]
    terms: tuple[str, ...] = eqx.field(static=True)

    def __call__(self, x: Float[Array, " n"]) -> Float[Array, " m"]:
        """Evaluate for one input vector."""
        values = jnp.stack([TERMS[t][1](x) for t in self.terms], -1)
        return jnp.tensordot(self.weight, values, 2)

    def input_weights(self) -> Terms:
        """The same tree with the column of the input that each weight belongs to."""
        columns = np.arange(self.weight.shape[-2])[:, None]
        return eqx.tree_at(
            lambda n: n.weight, self, np.broadcast_to(columns, self.weight.shape).copy()
        )
