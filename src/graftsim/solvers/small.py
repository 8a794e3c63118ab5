"""Small symmetric positive systems by an unrolled LDL^T factorisation.

Written out as arithmetic: faster than LAPACK at these sizes, foldable by the kernel compiler, and
free of the batched LAPACK calls that can stop jaxlib on two cores (conformance R1).
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float


def solve(A: Float[Array, "*b n n"], B: Float[Array, "*b n m"]) -> Float[Array, "*b n m"]:
    """A^-1 B for symmetric positive A; the trace grows as n^2 operations on rows."""
    if A.shape[-1] == 1:
        return B / A
    upper, _, y = forward(A, B)
    return backward(upper, y)


def forward(
    A: Float[Array, "*b n n"], B: Float[Array, "*b n m"]
) -> tuple[Float[Array, "*b n n"], Float[Array, "*b n m"], Float[Array, "*b n m"]]:
    """L^T, z = L^-1 B and D^-1 z of A = L D L^T: so far Gaussian elimination of [A | B].

    Without pivoting, which is stable for positive A. B^T A^-1 B is z^T D^-1 z.
    """
    n = A.shape[-1]
    M = jnp.concatenate([A, B], -1)
    rows: list[Float[Array, "*b m"]] = []
    scaled: list[Float[Array, "*b m"]] = []
    for i in range(n):
        pivot = M[..., :1, :] / M[..., :1, i : i + 1]
        rows.append(M[..., 0, :])
        scaled.append(pivot[..., 0, :])
        M = M[..., 1:, :] - M[..., 1:, i : i + 1] * pivot
    done = jnp.stack(scaled, -2)
    return done[..., :n], jnp.stack(rows, -2)[..., n:], done[..., n:]


def backward(upper: Float[Array, "*b n n"], y: Float[Array, "*b n m"]) -> Float[Array, "*b n m"]:
    """upper^-1 y, ones taken for the diagonal of `upper`, zeros for what is below."""
    n = upper.shape[-1]
    x = [y[..., n - 1, :]]
    for i in reversed(range(n - 1)):
        known = jnp.stack(x, -2)
        x.insert(0, y[..., i, :] - jnp.einsum("...j,...jm->...m", upper[..., i, i + 1 :], known))
    return jnp.stack(x, -2)
