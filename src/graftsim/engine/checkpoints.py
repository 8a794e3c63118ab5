"""A loop over steps of which reverse mode keeps few states."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def scan_keeping(body: Any, state: Any, xs: Any, every: int | None) -> tuple[Any, Any]:
    """`jax.lax.scan(body, state, xs)`, xs an array of as many rows as `every` divides.

    Reverse mode keeps the state of every so many steps, and computes those between again (Griewank
    and Walther 2008, section 12.1, one level); None: whatever JAX keeps.
    """
    if every is None:
        return jax.lax.scan(body, state, xs)
    if every == 1:
        return jax.lax.scan(jax.checkpoint(body), state, xs)
    n = xs.shape[0]
    blocks = jnp.reshape(xs, (n // every, every, *xs.shape[1:]))
    block = jax.checkpoint(lambda s, rows: scan_keeping(body, s, rows, 1))
    last, stacked = jax.lax.scan(block, state, blocks)
    return last, jax.tree.map(lambda y: jnp.reshape(y, (n, *y.shape[2:])), stacked)
