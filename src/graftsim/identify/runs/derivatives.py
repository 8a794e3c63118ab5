"""Derivatives of the residuals of all windows along tangents, by forward mode, in lanes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.identify.problem.residuals import WindowData

# Residuals of one window, given theta, local and the window.
Residual = Callable[[Any, Any, WindowData], Array]
# Tangents come in multiples of this, so that few programs serve any choice of parameters.
TANGENTS = 8
# So many tangents fill lanes by themselves.
ENOUGH = 6
# Side by side, every pair of window and tangent has its own copy of all arguments: up to so many
# numbers that is the fastest.
SIDE_BY_SIDE = 1_000_000


def derivatives(
    f: Residual,
    x: Float[Array, " n"],
    local: Float[Array, "w s"],
    data: WindowData,
    dx: Float[Array, "k n"],
    dl: Float[Array, "k s"],
    limit: int | None = SIDE_BY_SIDE,
) -> Float[Array, "w m k"]:
    """Derivatives of the residuals f(x, local, window) of all windows along k tangents.

    A tangent moves x and the unknowns `local` of every window. Tangents go side by side, and the
    windows one after the other: all lanes share what does not depend on the tangent. A few tangents
    go one after the other, and the windows side by side; where there are few of both (no more
    numbers than `limit`), all pairs go side by side.
    """
    k, (w, s) = dx.shape[0], local.shape
    size = sum(leaf[0].size for leaf in jax.tree.leaves(data)) + x.shape[0] + s

    # Nothing empty is differentiated: XLA loses kernels over it.
    def along(g: Callable[[Any, Any], Any], local: Any, dx: Any, dl: Any) -> Array:
        if not s:
            return jax.jvp(lambda x: g(x, local), (x,), (dx,))[1]
        if not x.shape[0]:
            return jax.jvp(lambda l: g(x, l), (local,), (dl,))[1]
        return jax.jvp(g, (x, local), (dx, dl))[1]

    def one_window(own: Array, window: WindowData) -> Array:
        g = partial(_swap, f, window)
        return jax.vmap(lambda dx, dl: along(g, own, dx, dl), out_axes=-1)(dx, dl)

    def every(x: Array, local: Array) -> Array:
        return jax.vmap(f, (None, 0, 0))(x, local, data)

    if not k:
        shape = jax.eval_shape(every, x, local).shape
        return jnp.zeros((*shape, 0), x.dtype)
    if limit is None or (k < ENOUGH and w * k * size <= limit):
        return jax.vmap(one_window)(local, data)
    if k >= ENOUGH:
        return jax.lax.map(lambda pair: one_window(*pair), (local, data))

    def column(pair: tuple[Array, Array]) -> Array:
        return along(every, local, pair[0], jnp.broadcast_to(pair[1], local.shape))

    return jnp.moveaxis(jax.lax.map(column, (dx, dl)), 0, -1)


def _swap(f: Residual, window: WindowData, x: Array, local: Array) -> Array:
    return f(x, local, window)
