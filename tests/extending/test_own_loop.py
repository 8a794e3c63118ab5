"""A kind of loop in a user's own file: a pin that slides in a slot, a Scotch yoke."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim.spatial.rotation import cross, skew


@dataclass(frozen=True)
class Slot(gs.model.LoopType):
    """The second's point slides along the first's x axis: a pin in a slot."""

    name = "slot"
    rows = ("y", "z")
    units = ("m", "m")
    turns = False

    def error(self, R, p):
        return p[:, 1:]

    def directions(self, p):
        eye = jnp.broadcast_to(jnp.eye(3), (len(p), 3, 3))
        return jnp.concatenate([-skew(p), eye], -1)[:, 1:]

    def drift(self, w, p_dot):
        return cross(w, p_dot)[:, 1:]


def test_a_scotch_yoke_moves_as_the_sine_of_its_crank():
    """z = -r sin(angle), and the mean speed of a turn, (I + m r^2 cos^2) w^2, is kept."""
    builder = gs.Builder("yoke", gravity=(0, 0, 0))
    builder.link("crank", axis=(0, 1, 0), mass=1.0, inertia=0.1)
    builder.link("yoke", joint="prismatic", axis=(0, 0, 1), mass=20.0)
    builder.loop("pin", "yoke", "crank", Slot(), opposite=(0.1, 0, 0))
    s = gs.Simulator(builder.build(), 1e-3, integrator=gs.RungeKutta4())
    start = s.assemble(s.initial_state(qd={"crank": 2.0}), keep=("crank",))
    run = s.rollout(start, steps=2000)
    angle, z = np.asarray(run.q).T
    w, speed = np.asarray(run.qd).T
    assert angle[-1] > 3
    assert np.abs(z + 0.1 * np.sin(angle)).max() < 1e-9
    assert np.abs(speed + 0.1 * np.cos(angle) * w).max() < 1e-9
    E = (0.1 + 20 * 0.01 * np.cos(angle) ** 2) * w**2
    assert np.abs(E / E[0] - 1).max() < 1e-7
