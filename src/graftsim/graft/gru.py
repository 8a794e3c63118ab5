"""Gated recurrent unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.graft.layer import Layer
from graftsim.graft.network import Recurrent, Specification, Step
from graftsim.graft.onnx_graph import Graph, Value, from_right, line


@dataclass(frozen=True)
class GRU(Specification):
    """Gated recurrent unit (Cho et al. 2014) with a linear output, for effects with a history.

    Its state advances once in each step dt of the simulator, and starts at zero.
    """

    name: ClassVar[str] = "GRU"

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

    def to_onnx(self, g: Graph) -> Step:
        """Reset and update gate, candidate, and the mean of candidate and memory."""
        cell: Any = self.cell
        size = cell.weight_hh.shape[-1]

        def gate(of: Value, k: int) -> Value:
            return g.Gather(of, np.arange(k * size, (k + 1) * size), axis=-1)

        def step(x: Value, h: Value) -> tuple[Value, Value]:
            to_gates = g.Add(g.MatMul(x, from_right(cell.weight_ih)), line(cell.bias))
            from_memory = g.MatMul(h, from_right(cell.weight_hh))
            reset = g.Sigmoid(g.Add(gate(to_gates, 0), gate(from_memory, 0)))
            keep = g.Sigmoid(g.Add(gate(to_gates, 1), gate(from_memory, 1)))
            held = g.Mul(reset, g.Add(gate(from_memory, 2), line(cell.bias_n)))
            new = g.Tanh(g.Add(gate(to_gates, 2), held))
            h = g.Add(new, g.Mul(keep, g.Sub(h, new)))
            return g.Add(g.MatMul(h, from_right(self.out.weight)), line(self.out.bias)), h

        return step

    def input_weights(self) -> Gated:
        """The same tree with the column of the input that each weight multiplies, -1 elsewhere."""
        none = jax.tree.map(lambda w: -np.ones(w.shape, int), self)
        first = self.cell.weight_ih
        columns = np.broadcast_to(np.arange(first.shape[-1]), first.shape)
        return eqx.tree_at(lambda n: n.cell.weight_ih, none, columns)
