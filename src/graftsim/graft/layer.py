"""An affine layer, which several networks end in."""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Array, Float


class Layer(eqx.Module):
    """Affine map y = W x + b."""

    weight: Float[Array, "m n"]
    bias: Float[Array, " m"]

    def __call__(self, x: Float[Array, " n"]) -> Float[Array, " m"]:
        """W x + b."""
        return self.weight @ x + self.bias
