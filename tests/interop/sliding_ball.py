"""A ball that slides and rolls on the floor, for layers of networks; importable by workers."""

from dataclasses import replace

import jax.numpy as jnp

import graftsim as gs

STEPS = 100


def simulator():
    """In contact from the first step on."""
    b = gs.Builder("ball")
    b.link("ball", joint="free", mass=0.5, inertia=0.002)
    b.geom("plane", (), name="floor", friction=0.4)
    b.geom("sphere", 0.1, "ball", name="ball")
    return gs.Simulator(b.build(), 0.002, contact=gs.contact.Complementarity())


def slide(velocity, friction, steps=STEPS):
    """Last position and the normal forces, of a velocity [5] (no vertical part) and friction."""
    here = simulator()
    start = here.initial_state({"ball.z": 0.1})
    qd = jnp.concatenate([velocity[:2], jnp.zeros(1, velocity.dtype), velocity[2:]])
    model = gs.model.with_leaf(here.model, "pair.friction", friction[None])
    motion = replace(here, model=model).rollout(
        replace(start, qd=qd), steps=steps, record=("contact.force_n",)
    )
    return motion.q[-1], motion.recorded["contact.force_n"][:, 0]


def last_position(velocity, friction):
    """Of `slide`."""
    return slide(velocity, friction)[0]


def doubled(x):
    """A trivial function, for workers."""
    return 2 * x


class Doubles:
    """A data set whose items go through a layer."""

    def __init__(self, layer):
        self.layer = layer

    def __len__(self):
        return 4

    def __getitem__(self, i):
        import torch

        return self.layer(torch.full((2,), float(i), dtype=torch.float32))
