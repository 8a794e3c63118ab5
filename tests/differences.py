"""Derivatives by differences, and the comparison of both modes of automatic ones with them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

import zoo


def jacobians(function, step=1e-3):
    """Program for the Jacobian by forward mode, reverse mode and fourth-order differences.

    `function` maps a pytree of floats to a vector. Columns are the entries of the pytree in the
    order of `ravel_pytree`; the step of each is `step` times its size, or 0.05 if it is smaller.
    """

    def flattened(x):
        flat, unravel = ravel_pytree(x)
        return flat, lambda v: function(unravel(v))

    @zoo.jit
    def forward(x):
        v, f = flattened(x)
        return jax.vmap(lambda d: jax.jvp(f, (v,), (d,))[1], out_axes=1)(jnp.eye(v.size))

    @zoo.jit
    def reverse(x):
        v, f = flattened(x)
        y, pull = jax.vjp(f, v)
        return jax.vmap(lambda w: pull(w)[0])(jnp.eye(y.size))

    @zoo.jit
    def differences(x):
        v, f = flattened(x)
        h = step * jnp.maximum(jnp.abs(v), 0.05)
        # One mapped call over all points: the function is compiled once.
        shifts = jnp.array([-2.0, -1.0, 1.0, 2.0])[:, None, None] * h[:, None] * jnp.eye(v.size)
        a, b, c, d = jax.vmap(jax.vmap(f))(v + shifts)
        return ((a - 8 * b + 8 * c - d) / (12 * h[:, None])).T

    return lambda x: tuple(np.asarray(program(x)) for program in (forward, reverse, differences))


def column_errors(J, reference):
    """Largest error in each column, relative to the column's largest number (floor 1e-3)."""
    return np.abs(J - reference).max(0) / np.maximum(np.abs(reference).max(0), 1e-3)
