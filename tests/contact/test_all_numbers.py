"""Every number of a scene through one impact: its slope is that of wide differences."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import graftsim as gs
from graftsim.contact import Complementarity, LinearComplementarity, SpringDamper

WIDTH = 1e-5


def thrown() -> gs.Simulator:
    """A body with an arm that meets the floor with the corner of a box, sliding and turning."""
    builder = gs.Builder("thrown", gravity=(0.3, 0.1, -9.81))
    builder.link("body", joint="free", mass=1.0, com=(0.01, 0.02, -0.01),
                 inertia=(0.02, 0.03, 0.025))  # fmt: skip
    builder.link("arm", "body", "revolute", axis=(0.2, 1, 0.1), origin=(0.1, 0, 0.1), mass=0.3,
                 com=(0.2, 0.01, 0), inertia=(0.001, 0.002, 0.002), damping=0.05, stiffness=1.0,
                 armature=0.001)  # fmt: skip
    builder.geom("plane", (), name="floor", rotation=(0.999, 0.03, 0.02, 0.01))
    builder.geom("box", (0.1, 0.15, 0.05), "body", (0.01, 0, 0), (0.99, 0.1, 0, 0.05), name="box",
                 friction=0.2, restitution=0.6, stiffness=3e4, dissipation=0.2)  # fmt: skip
    return gs.Simulator(builder.build(), 0.004)


LAWS = {
    "ncp": (Complementarity(), 1),
    "lcp": (LinearComplementarity(directions=(0.1, 1.7, 3.2, 4.9)), 1),
    "springs": (SpringDamper(friction="coulomb"), 40),
}


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_every_number_through_an_impact(law):
    """Model, initial state, step and law: reverse mode against differences of 1e-5."""
    rule, substeps = LAWS[law]
    simulator = replace(thrown(), contact=rule, substeps=substeps)
    start = simulator.initial_state(
        [0, 0, 0.32, 0.9, 0.3, 0.2, 0.1, 0.4], [1.5, 0.4, -1.2, 1.0, -2.0, 0.5, 1.0]
    )
    flat, unravel = ravel_pytree((simulator, start.q, start.qd))

    def final(x):
        simulator, q, qd = unravel(x)
        moved = simulator.rollout(replace(start, q=q, qd=qd), steps=50)
        return jnp.concatenate([moved.q[-1], moved.qd[-1]])

    slopes = np.asarray(jax.jacrev(final)(flat))
    assert np.all(np.isfinite(slopes))
    # Wide against the error of the solver, some 1e-12.
    widths = WIDTH * np.maximum(np.abs(flat), 0.3)
    steps = np.diag(widths)
    ends = [np.asarray(jax.vmap(final)(jnp.asarray(flat + side * steps))) for side in (1, -1)]
    wide = ((ends[0] - ends[1]) / (2 * widths[:, None])).T
    # Each number by the size of what it does; those without effect by the smallest that has some.
    size = np.maximum(np.max(np.abs(wide), 0), 1e-3)
    wrong = np.max(np.abs(slopes - wide), 0) / size
    bad = np.flatnonzero(wrong > 1e-3)
    assert len(bad) == 0, [(k, float(flat[k]), slopes[:, k], wide[:, k]) for k in bad[:3]]
