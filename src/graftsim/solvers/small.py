"""Small symmetric positive systems by an unrolled LDL^T factorisation.

Written out as arithmetic: faster than LAPACK at these sizes, foldable by the kernel compiler, and
free of the batched LAPACK calls that can stop jaxlib on two cores (conformance R1).
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float


def solve(A: Float[Array, "*b n n"], B: Float[Array, "*b n m"]) -> Float[Array, "*b n m"]:
    """A^-1 B for symmetric positive A; the trace grows as n^2 operations on rows."""
    n = A.shape[-1]
    if n == 1:
        return B / A
    # Gaussian elimination without pivoting on [A | B]: stable for positive A.
    M = jnp.concatenate([A, B], -1)
    done: list[Float[Array, "*b m"]] = []
    for i in range(n):
        pivot = M[..., :1, :] / M[..., :1, i : i + 1]
        done.append(pivot[..., 0, :])
        M = M[..., 1:, :] - M[..., 1:, i : i + 1] * pivot
    x: list[Float[Array, "*b m"]] = [done[-1][..., n:]]
    for i in reversed(range(n - 1)):
        known = jnp.stack(x, -2)
        x.insert(
            0, done[i][..., n:] - jnp.einsum("...j,...jm->...m", done[i][..., i + 1 : n], known)
        )
    return jnp.stack(x, -2)
