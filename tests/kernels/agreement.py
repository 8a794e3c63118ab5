"""Compares a function on kernels with JAX, for one simulation and for several side by side."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from graftsim import kernels


def close(got: Any, wanted: Any, rtol: float = 1e-12) -> None:
    """Leaf by leaf; whole numbers and bools exactly, others relative to themselves and the largest.

    In float32 the tolerance is 1e-6.
    """
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
        if b.dtype.kind in "iub":
            np.testing.assert_array_equal(a, b)
            continue
        limit = rtol if b.dtype == np.float64 else max(rtol, 1e-6)
        size = np.abs(b[np.isfinite(b)]).max(initial=1e-3)
        np.testing.assert_allclose(a, b, rtol=limit, atol=limit * size)


def agree(
    f: Callable[..., Any], *arrays: Any, lanes: Sequence[int] = (19,), rtol: float = 1e-12,
    axes: Sequence[int | None] | None = None,
) -> None:  # fmt: skip
    """The arguments have a leading axis of simulations, except where `axes` has None."""
    own = [0] * len(arrays) if axes is None else list(axes)
    arrays = tuple(jnp.asarray(a) for a in arrays)
    first = [a if k is None else a[0] for a, k in zip(arrays, own, strict=True)]
    kernel = kernels.compile(f, *first)
    wanted = jax.tree.map(np.asarray, jax.jit(jax.vmap(f, own))(*arrays))
    for n in lanes:
        few = [a if k is None else a[:n] for a, k in zip(arrays, own, strict=True)]
        close(jax.vmap(kernel, own)(*few), jax.tree.map(lambda y, n=n: y[:n], wanted), rtol)
    close(kernel(*first), jax.tree.map(lambda y: y[0], wanted), rtol)
