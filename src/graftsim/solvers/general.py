"""General systems that are nearly symmetric positive, by elimination in the order given.

No pivoting: the systems of contact problems have positive pivots when their contacts are eliminated
one by one, and a search for pivots would cost more than the elimination. Factors and substitution
are apart, so that the substitution is linear for JAX and has a transpose.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.spatial.vectors import mirror

Solver = Callable[[Float[Array, "n m"]], Float[Array, "n m"]]

_DAMPING, _ITERATIONS = 1e-2, 2
# Multiplications up to which an elimination is straight-line code, and not a loop.
_STRAIGHT = 20_000


def straight(pattern: np.ndarray, block: int) -> bool:
    """Whether an elimination is worth straight-line code, which skips what is known to be zero.

    `pattern` [k, k]: which blocks of the matrix, of that size, can be other than zero.
    """
    filled, operations = np.array(pattern, bool), 0
    for i in range(len(filled)):
        below = np.flatnonzero(filled[i + 1 :, i]) + i + 1
        operations += len(below) ** 2 + len(below)
        filled[np.ix_(below, below)] = True
    return operations * block**3 <= _STRAIGHT


def factor(A: Float[Array, "n n"], unroll: bool) -> Solver:
    """B -> A^-1 B, linear in B; as straight-line code or as a loop."""
    return _unrolled(A) if unroll else _looped(A)


def solve_damped(
    A: Float[Array, "n n"], B: Float[Array, "n m"], scale: Float[Array, " n"], unroll: bool
) -> Float[Array, "n m"]:
    """A^-1 B where A is well conditioned, and bounded where it is not; linear in B.

    Iterated Tikhonov regularisation [Hanke, Groetsch 1998] of S A S, S = scale^(-1/2): along a
    singular value sigma the answer is 1 - (d^2 / (sigma^2 + d^2))^2 of the exact one, which for
    d = 0.01 is all but 1e-8 at sigma = 1, and at most about 1/d of B where sigma vanishes.
    """
    S = jax.lax.rsqrt(scale)
    A = S[:, None] * A * S[None]
    B = S[:, None] * B
    n = A.shape[0]
    normal = factor(mirror(A.T @ A) + _DAMPING**2 * jnp.eye(n, dtype=A.dtype), unroll)
    x = normal(A.T @ B)
    for _ in range(_ITERATIONS - 1):
        x = x + normal(A.T @ (B - A @ x))
    return S[:, None] * x


def _unrolled(A: Float[Array, "n n"]) -> Solver:
    """Doolittle's LU, row by row [Golub & Van Loan 3.2]."""
    factors = []
    for _ in range(A.shape[0]):
        inverse, upper = 1 / A[0, 0], A[0, 1:]
        lower = A[1:, 0] * inverse
        factors.append((inverse, upper, lower))
        A = A[1:, 1:] - lower[:, None] * upper[None]

    def substitute(B: Float[Array, "n m"]) -> Float[Array, "n m"]:
        y, x = [], []
        for _, _, lower in factors:
            y.append(B[0])
            B = B[1:] - lower[:, None] * B[:1]
        for (inverse, upper, _), y_k in zip(reversed(factors), reversed(y), strict=True):
            known = upper @ jnp.stack(x) if x else jnp.zeros_like(y_k)
            x.insert(0, (y_k - known) * inverse)
        return jnp.stack(x)

    return substitute


def _looped(A: Float[Array, "n n"]) -> Solver:
    """Gauss-Jordan: each pivot clears its column in all rows, no back substitution is left."""
    row = jnp.arange(A.shape[0])

    def eliminate(M: Array, k: Array) -> tuple[Array, tuple[Array, Array]]:
        inverse = 1 / M[k, k]
        column = jnp.where(row == k, 0.0, M[:, k] * inverse)
        return M - column[:, None] * M[k][None], (column, inverse)

    _, (columns, inverses) = jax.lax.scan(eliminate, A, row)

    def substitute(B: Float[Array, "n m"]) -> Float[Array, "n m"]:
        def clear(X: Array, step: tuple[Array, Array]) -> tuple[Array, None]:
            column, k = step
            return X - column[:, None] * X[k][None], None

        X, _ = jax.lax.scan(clear, B, (columns, row))
        return X * inverses[:, None]

    return substitute
