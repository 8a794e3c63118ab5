"""Functions of each number alone: activations, and the terms of a library.

Each is said in JAX and in ONNX side by side, the latter with its derivative, which the force of a
potential needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from graftsim.graft.onnx_graph import Graph, Value

# Speed, in units of an input's size, over which a smoothed sign turns, and Stribeck's speed.
SIGN_WIDTH = 0.02
STRIBECK_WIDTH = 0.15


@dataclass(frozen=True)
class Pointwise:
    """A function in JAX, as nodes of a graph, and its derivative as nodes.

    text: how a formula writes it, with {x} for its argument. in_numpy: the function in NumPy, for
    activations.
    """

    evaluate: Callable[[Any], Any]
    value: Callable[[Graph, Value], Value]
    slope: Callable[[Graph, Value], Value]
    text: str = ""
    in_numpy: Callable[[Any], Any] | None = None

    def __call__(self, x: Any) -> Any:
        """Evaluate in JAX."""
        return self.evaluate(x)


def smooth_sign(x: Any) -> Any:
    """tanh(x / SIGN_WIDTH)."""
    return jnp.tanh(x / SIGN_WIDTH)


def smooth_sign_node(g: Graph, x: Value) -> Value:
    """tanh(x / SIGN_WIDTH)."""
    return g.Tanh(g.Div(x, SIGN_WIDTH))


def smooth_sign_slope(g: Graph, x: Value) -> Value:
    """Its derivative."""
    return g.Div(_one_minus_square(g, smooth_sign_node(g, x)), SIGN_WIDTH)


def _one_minus_square(g: Graph, y: Value) -> Value:
    return g.Sub(1.0, g.Mul(y, y))


def _where_positive(g: Graph, x: Value, yes: Any, no: Value) -> Value:
    return g.Where(g.Greater(x, 0.0), yes, no)


def _silu_slope(g: Graph, x: Value) -> Value:
    s = g.Sigmoid(x)
    return g.Mul(s, g.Add(1.0, g.Mul(x, g.Sub(1.0, s))))


def _decay(g: Graph, x: Value) -> Value:
    scaled = g.Div(x, STRIBECK_WIDTH)
    return g.Exp(g.Neg(g.Mul(scaled, scaled)))


def _stribeck_slope(g: Graph, x: Value) -> Value:
    fading = g.Mul(g.Mul(x, -2 / STRIBECK_WIDTH**2), smooth_sign_node(g, x))
    return g.Mul(g.Add(smooth_sign_slope(g, x), fading), _decay(g, x))


ACTIVATIONS = {
    "tanh": Pointwise(
        jnp.tanh,
        lambda g, x: g.Tanh(x),
        lambda g, x: _one_minus_square(g, g.Tanh(x)),
        in_numpy=np.tanh,
    ),
    # Composed, since runtimes have the ready-made one in float32 only.
    "elu": Pointwise(
        jax.nn.elu,
        lambda g, x: _where_positive(g, x, x, g.Sub(g.Exp(g.Min(x, 0.0)), 1.0)),
        lambda g, x: g.Exp(g.Min(x, 0.0)),
        in_numpy=lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    ),
    "silu": Pointwise(
        jax.nn.silu,
        lambda g, x: g.Mul(x, g.Sigmoid(x)),
        _silu_slope,
        in_numpy=lambda x: x / (1 + np.exp(-x)),
    ),
}

TERMS = {
    "linear": Pointwise(
        lambda x: x,
        lambda g, x: x,
        lambda g, x: g.Expand(1.0, g.Shape(x)),
        "{x}",
    ),
    "quadratic": Pointwise(
        lambda x: x * jnp.abs(x),
        lambda g, x: g.Mul(x, g.Abs(x)),
        lambda g, x: g.Mul(2.0, g.Abs(x)),
        "{x}|{x}|",
    ),
    "cubic": Pointwise(
        lambda x: x**3,
        lambda g, x: g.Mul(x, g.Mul(x, x)),
        lambda g, x: g.Mul(3.0, g.Mul(x, x)),
        "{x}^3",
    ),
    "coulomb": Pointwise(smooth_sign, smooth_sign_node, smooth_sign_slope, "sign({x})"),
    "stribeck": Pointwise(
        lambda x: smooth_sign(x) * jnp.exp(-((x / STRIBECK_WIDTH) ** 2)),
        lambda g, x: g.Mul(smooth_sign_node(g, x), _decay(g, x)),
        _stribeck_slope,
        "sign({x}) exp(-({x}/v)^2)",
    ),
    "sine": Pointwise(
        jnp.sin,
        lambda g, x: g.Sin(x),
        lambda g, x: g.Cos(x),
        "sin({x})",
    ),
    "cosine": Pointwise(
        lambda x: 1 - jnp.cos(x),
        lambda g, x: g.Sub(1.0, g.Cos(x)),
        lambda g, x: g.Sin(x),
        "1 - cos({x})",
    ),
}
