"""Some entries of a vector move, the others stay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True)
class Subset:
    """Entries `active` [a] of vectors `whole` [.., p]."""

    active: Int[np.ndarray, " a"]
    whole: Float[np.ndarray, "*n p"]

    def embed(self, part: Float[np.ndarray, "*n a"]) -> Float[np.ndarray, "*n p"]:
        """The whole with the active entries replaced; rows of `part` share one whole if need be."""
        out = np.array(np.broadcast_to(self.whole, (*part.shape[:-1], self.whole.shape[-1])))
        out[..., self.active] = part
        return out
