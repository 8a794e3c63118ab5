"""Derivatives by poses and sizes: right at generic poses, finite at all, zero where symmetric."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from placed import SEARCHED, differences, flat, parametrize, random_pairs, symmetric_pairs

import zoo

# Random poses; the symmetric ones follow.
N = 15


@functools.cache
def shapes(pair):
    """Stacks of both shapes."""
    random, symmetric = random_pairs(pair, N, 1, 0.45), symmetric_pairs(pair)
    return jax.tree.map(lambda x, y: jnp.concatenate([x, y]), random, list(symmetric))


@functools.cache
def forward(pair):
    """(values [n, k, 7], Jacobians [n, k, 7, 18])."""
    f, zero = flat(pair), jnp.zeros(18)

    @zoo.jit
    @jax.vmap
    def program(a, b):
        value, slope = jax.vmap(lambda d: jax.jvp(lambda z: f(z, a, b), (zero,), (d,)))(jnp.eye(18))
        return value[0], jnp.moveaxis(slope, 0, -1)

    return jax.tree.map(np.asarray, program(*shapes(pair)))


@parametrize()
def test_derivatives_are_those_of_differences(pair):
    """Depth, position and normal of each candidate, by turns, shifts and sizes of both shapes."""
    a, b = jax.tree.map(lambda x: x[:N], shapes(pair))
    value, J = (x[:N] for x in forward(pair))
    coarse, fine = (differences(pair, a, b, h) for h in (1e-4, 5e-5))
    size = 1 + np.abs(fine).max((-1, -2))
    # Two steps agree unless another feature, edge or corner takes over between them.
    smooth = np.abs(coarse - fine).max((-1, -2)) < 1e-6 * size
    exists = value[:, :, 0] > -100
    assert (smooth & exists).sum() > 0.8 * exists.sum()
    error = np.abs(J - fine).max((-1, -2)) / size
    assert error[smooth & exists].max() < 1e-7


@parametrize()
def test_nothing_is_ever_infinite(pair):
    """Values and both modes, float64 and float32; normals are unit for all candidates."""
    value, J = forward(pair)
    assert np.isfinite(value).all() and np.isfinite(J).all()
    assert np.abs(np.linalg.norm(value[:, :, 4:], axis=-1) - 1).max() < 1e-12

    f = flat(pair)
    a, b, weight = jax.tree.map(
        lambda x: jnp.asarray(x, jnp.float32),
        (*shapes(pair), np.random.default_rng(0).normal(size=value.shape)),
    )

    @zoo.jit
    @jax.vmap
    def reverse(weight, a, b):
        value, pull = jax.vjp(lambda z: f(z, a, b), jnp.zeros(18, jnp.float32))
        return value, pull(weight)[0]

    single, pulled = (np.asarray(x) for x in reverse(weight, a, b))
    assert np.isfinite(single).all() and np.isfinite(pulled).all()
    assert np.abs(np.linalg.norm(single[:, :, 4:], axis=-1) - 1).max() < 1e-5
    # Where both precisions see the same candidates at a generic pose, reverse mode is forward mode.
    expected = np.einsum("nkc,nkcz->nz", np.asarray(weight, float), J)[:N]
    same = np.abs(single - value)[:N].max((1, 2)) < 1e-4
    error = np.abs(pulled[:N] - expected).max(1) / (1 + np.abs(J[:N]).max((1, 2, 3)))
    assert np.median(error[same]) < 1e-3 and same.mean() > 0.7


@parametrize(without=("plane", "polygon", "mesh"))
def test_no_slope_in_a_direction_of_symmetry(pair):
    """One shape above the other, axes aligned: no candidate's depth changes by a lateral shift."""
    a, b = symmetric_pairs(pair)
    value, J = (x[N:] for x in forward(pair))
    offset = np.asarray(b.p - a.p)
    above = (offset[:, :2] == 0).all(1) & (np.asarray(b.R) == np.eye(3)).all((1, 2))
    apart = (value[:, :, 0] < 0).all(1)
    assert (above & apart).any()
    lateral = np.abs(J[above & apart][:, :, 0][..., [3, 4, 12, 13]])
    assert lateral.max() <= (1e-9 if pair in SEARCHED else 0)
    if pair[0] in ("sphere",) and pair[1] != "capsule":
        concentric = (offset == 0).all(1)
        assert np.all(J[concentric][:, :, 0][..., [3, 4, 5, 12, 13, 14]] == 0)
