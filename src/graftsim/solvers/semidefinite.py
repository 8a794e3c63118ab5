"""Symmetric systems that may be singular, where the right side is in their range but for rounding.

The rows of closed loops are often redundant: a plane four-bar closed by a point in space has a row
that nothing can move. Iterated Tikhonov regularisation [Hanke, Groetsch 1998],

    x_0 = 0,    x_{k+1} = x_k + (A + d I)^-1 (b - A x_k),

leaves of the exact answer, along an eigenvalue s, the share 1 - (d / (s + d))^n: all of it where
s is well above d, nothing where s is well below. So redundant rows share what they carry, rows that
disagree by rounding alone do nothing, and derivatives are those of the same formula: finite.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.solvers.general import Solver, factor, straight

# d, of a matrix whose diagonal is about one, and n.
_DAMPING, _ITERATIONS = 1e-7, 4


def solver(A: Float[Array, "n n"], scale: Float[Array, " n"]) -> Solver:
    """b -> x, linear in b; `scale`: about the diagonal of A, positive."""
    n = A.shape[0]
    S = 1 / jnp.sqrt(scale)
    A = S[:, None] * A * S[None]
    # In single precision less damping would be lost in rounding.
    d = max(_DAMPING, float(jnp.finfo(A.dtype).eps) ** 0.75)
    damped = factor(A + d * jnp.eye(n, dtype=A.dtype), straight(np.ones((n, n), bool), 1))

    def solve(b: Float[Array, "n m"]) -> Float[Array, "n m"]:
        b = S[:, None] * b
        x = damped(b)
        for _ in range(_ITERATIONS - 1):
            x = x + damped(b - A @ x)
        return S[:, None] * x

    return solve
