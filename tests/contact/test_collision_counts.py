"""The table of candidate counts and the table of functions are one table."""

import itertools

import jax
import jax.numpy as jnp
import pytest
from placed import PAIRS, parametrize, shape

from graftsim.contact.collision import collide
from graftsim.errors import ModelError
from graftsim.model.contact_counts import MANY_CORNERS, contacts
from graftsim.model.shapes import SHAPE_TYPES


@parametrize(also=[("box", "cylinder")])
def test_counts_and_types(pair):
    """As many candidates as were promised, and float32 stays float32."""
    a, b = (shape(kind, size=(0.1, 0.2, 0.3), dtype=jnp.float32) for kind in pair)
    points = jax.eval_shape(collide(*pair), a, b)
    k = contacts(*pair, len(a.vertices), len(b.vertices))
    assert [x.shape for x in points] == [(k,), (k, 3), (k, 3)]
    assert all(x.dtype == jnp.float32 for x in points)


def test_pairs_that_do_not_touch():
    """Where the count is None there is no function, and the error says so."""
    for pair in itertools.combinations_with_replacement(SHAPE_TYPES, 2):
        if pair not in PAIRS:
            with pytest.raises(ModelError, match=r"There is no contact between"):
                collide(*pair)
    assert contacts("plane", "plane") is None
    assert contacts("box", "polygon") is None


def test_order_of_a_pair():
    """Counts know both orders; functions only the canonical one, and say which."""
    assert contacts("mesh", "plane", 12) == contacts("plane", "mesh", 0, 12) == 12
    with pytest.raises(ModelError, match=r"first shape of this pair is the plane"):
        collide("box", "plane")
    with pytest.raises(ModelError, match=r"no shape 'sphear'\. Nearest: sphere"):
        collide("sphear", "box")


def test_meshes_with_many_corners():
    """A plane takes all corners of a small mesh, few of a large one."""
    assert contacts("plane", "mesh", 0, MANY_CORNERS) == MANY_CORNERS
    corners = jnp.zeros((MANY_CORNERS + 1, 3))
    points = jax.eval_shape(
        collide("plane", "mesh"), shape("plane"), shape("mesh", vertices=corners)
    )
    assert points.depth.shape == (contacts("plane", "mesh", 0, MANY_CORNERS + 1),)
