"""Library of simple terms: a network that can be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.errors import VariableError, suggest
from graftsim.graft.network import Network, Specification
from graftsim.graft.onnx_graph import Function, Graph, Value, from_right
from graftsim.graft.pointwise import TERMS


@dataclass(frozen=True, init=False)
class Library(Specification):
    """A weighted sum of simple terms of each input: linear in its weights, and readable.

    terms: of `TERMS`, by default all. A sign is smoothed over 2 % of the input's size; angles are
    in radians, so that sines mean what they say.
    """

    name: ClassVar[str] = "Library"
    plain_angles: ClassVar[bool] = True

    terms: tuple[str, ...]

    def __init__(self, *terms: str) -> None:
        for term in terms:
            if term not in TERMS:
                raise VariableError(f"There is no term '{term}'. {suggest(term, TERMS)}")
        object.__setattr__(self, "terms", tuple(terms) or tuple(TERMS))

    @classmethod
    def from_description(cls, *, terms: tuple[str, ...]) -> Self:
        """Terms are positional."""
        return cls(*terms)

    def build(self, n_in: int, n_out: int, key: Any, dtype: Any) -> Terms:
        """The module; `key` is not used, as all weights start at zero."""
        return Terms(jnp.zeros((n_out, n_in, len(self.terms)), dtype), self.terms)


class Terms(Network):
    """y_i = sum over inputs j and terms k of weight[i, j, k] term_k(x_j)."""

    weight: Float[Array, "m n k"]
    terms: tuple[str, ...] = eqx.field(static=True)

    def __call__(self, x: Float[Array, " n"]) -> Float[Array, " m"]:
        """Evaluate for one input vector."""
        values = jnp.stack([TERMS[t](x) for t in self.terms], -1)
        return jnp.tensordot(self.weight, values, 2)

    def to_onnx(self, g: Graph) -> Function:
        """Term by term."""
        weights = [np.asarray(self.weight[..., k]) for k in range(len(self.terms))]
        pairs = [(TERMS[t], w) for t, w in zip(self.terms, weights, strict=True)]

        def value(x: Value) -> Value:
            return g.Sum(*(g.MatMul(term.value(g, x), from_right(w)) for term, w in pairs))

        def gradient(x: Value) -> Value:
            return g.Sum(*(g.Mul(term.slope(g, x), w[..., :1, :]) for term, w in pairs))

        return Function(value, gradient)

    def input_weights(self) -> Terms:
        """The same tree with the column of the input that each weight belongs to."""
        columns = np.arange(self.weight.shape[-2])[:, None]
        return eqx.tree_at(
            lambda n: n.weight, self, np.broadcast_to(columns, self.weight.shape).copy()
        )
