"""Rows by static index: whatever operation stands for it, it is x[index], and so is its slope."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftsim.dynamics.mechanism import rows

INDICES = {
    "none": [],
    "one": [2],
    "all": range(6),
    "some in line": [1, 2, 3],
    "every other": [0, 2, 4],
    "last of a stride": [2, 5],
    "backwards": [5, 4, 3],
    "the same": [3, 3, 3],
    "twice in turn": [0, 0, 1, 1],
    "in disorder": [4, 0, 5],
}


@pytest.mark.parametrize("index", INDICES)
def test_rows(index):
    """Values and cotangents, of vectors and of arrays."""
    at = np.array(INDICES[index], int)
    for shape in ((6,), (6, 2), (6, 3, 3)):
        x = np.random.default_rng(0).normal(size=shape)
        got, pull = jax.vjp(lambda x, at=at: rows(x, at), jnp.asarray(x))
        assert np.array_equal(got, x[at])
        back = np.random.default_rng(1).normal(size=got.shape)
        wanted = np.zeros_like(x)
        np.add.at(wanted, at, back)
        assert np.allclose(pull(jnp.asarray(back))[0], wanted, atol=1e-15)
    assert len(jax.make_jaxpr(lambda x: rows(x, at))(jnp.zeros((6, 2))).eqns) <= 3
