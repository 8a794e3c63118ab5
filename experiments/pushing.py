"""The pushed object and its tip as a scene: springs under the object, a rigid tip on its path.

The object slides and turns in the plane and has its height; POINTS small spheres carry it. The tip
is a circle whose two slides are prescribed. One scene serves all shapes: outline, points and
inertia are numbers of the model, so shapes go side by side in the lanes of one kernel.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from pushes import CORNERS, DT, POINTS, TIP, Pushes, Shape

import graftsim as gs

GRAVITY, RADIUS, SINK = 9.81, 0.0065, 3e-4
SUBSTEPS = 2
# Coefficient of sliding, what breaking away takes beyond it, speed (m/s) of Brown and McPhee's
# curve; the tip's friction; how far out the ground carries, over the points of a uniform pressure.
START = (0.5, 0.0, 0.01, 0.25, 1.0)
LOWER, UPPER = (0.02, 0.0, 0.008, 0.02, 0.4), (1.5, 1.0, 0.2, 1.0, 1.3)
NAMES = ("friction", "stribeck", "friction velocity", "tip friction", "pressure radius")
LAWS = {
    "ground/*": gs.contact.SpringDamper(),
    "tip/*": gs.contact.Complementarity(max_impacts=0, push=0.1),
}


class Body(NamedTuple):
    """The numbers of a shape that the scene takes."""

    outline: np.ndarray
    mass: np.ndarray
    inertia: np.ndarray
    com: np.ndarray
    points: np.ndarray
    shares: np.ndarray


def bodies(shapes: dict[str, Shape], pushes: Pushes) -> Body:
    """Of each push, with its own outline."""
    every = [shapes[x] for x in pushes.shape]
    numbers = (np.array([getattr(s, k) for s in every]) for k in Body._fields[1:])
    return Body(pushes.outline, *numbers)


def scene() -> gs.Simulator:
    """The scene with a square of 0.8 kg in it."""
    b = gs.Builder("push")
    b.link("height", joint="prismatic", axis=(0, 0, 1))
    b.link("object", "height", joint="planar", mass=0.8, com=(0, 0, 0.006), inertia=1e-3)
    b.geom("plane", (), name="ground", friction=0.3)
    for k in range(POINTS):
        place = (0.01 * (k % 4), 0.01 * (k // 4), RADIUS)
        b.geom("sphere", RADIUS, "object", place, name=f"p{k}", friction=0.0, dissipation=20.0)
    angle = 2 * np.pi * np.arange(CORNERS) / CORNERS
    circle = 0.05 * np.stack([np.cos(angle), np.sin(angle)], 1)
    b.geom("polygon", (), "object", vertices=circle, name="outline", friction=0.0)
    b.link("slide", joint="prismatic", axis=(1, 0, 0))
    b.link("tip", "slide", joint="prismatic", axis=(0, 1, 0), mass=0.1, inertia=1e-4)
    b.geom("sphere", TIP, "tip", name="tip", friction=0.25)
    b.actuator("tip_x", "slide", "path").actuator("tip_y", "tip", "path")
    model = gs.model.keep_pairs(b.build(), "ground/p*", "tip/outline")
    return gs.Simulator(model, DT, substeps=SUBSTEPS, contact=LAWS)


def with_body(simulator: gs.Simulator, body: Body) -> gs.Simulator:
    """The scene with a shape in it, sunk by SINK under its own weight.

    Outlines need not be convex: while the tip's centre is outside, the nearest edge decides.
    """
    model = simulator.model
    own = jnp.arange(len(model.tree.links)) == 1
    weight = body.mass * GRAVITY / SINK**1.5
    zeros = jnp.zeros(POINTS)
    points = jnp.stack([body.points[:, 0], body.points[:, 1], zeros + RADIUS], -1)
    corners = jnp.concatenate([body.outline, jnp.zeros((CORNERS, 1))], -1)
    tensor = body.inertia * jnp.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    com = jnp.array([body.com[0], body.com[1], 0.006])
    outline = model.geom.names.index("outline")
    return eqx.tree_at(
        lambda s: (
            s.model.link.mass,
            s.model.link.com,
            s.model.link.inertia,
            s.model.geom.position,
            s.model.geom.vertices[outline],
            s.model.pair.stiffness,
        ),
        simulator,
        (
            jnp.where(own, body.mass, model.link.mass),
            jnp.where(own[:, None], com, model.link.com),
            jnp.where(own[:, None], tensor, model.link.inertia),
            model.geom.position.at[1 : POINTS + 1].set(points),
            corners,
            model.pair.stiffness.at[:POINTS].set(weight * body.shares),
        ),
    )


def with_friction(simulator: gs.Simulator, x: jax.Array) -> gs.Simulator:
    """The scene, with a shape in it, with `NAMES` set."""
    pair, place = simulator.model.pair, simulator.model.geom.position
    com = simulator.model.link.com[1, :2]
    points = com + x[4] * (place[1 : POINTS + 1, :2] - com)
    values = (
        jnp.concatenate([jnp.full(POINTS, x[0]), x[3:4]]),
        pair.stribeck.at[:POINTS].set(x[1]),
        pair.friction_velocity.at[:POINTS].set(x[2]),
        place.at[1 : POINTS + 1, :2].set(points),
    )
    return eqx.tree_at(
        lambda s: (
            s.model.pair.friction,
            s.model.pair.stribeck,
            s.model.pair.friction_velocity,
            s.model.geom.position,
        ),
        simulator,
        values,
    )


class Given(NamedTuple):
    """What a roll-out of one push needs: shape, first pose (x, y, yaw), tip at all samples."""

    body: Body
    pose: np.ndarray
    tip: np.ndarray


def given(shapes: dict[str, Shape], pushes: Pushes) -> Given:
    """Of n pushes."""
    return Given(bodies(shapes, pushes), pushes.pose[:, 0], pushes.tip)


def simulate(
    simulator: gs.Simulator, friction: jax.Array, push: Given, record: tuple[str, ...] = ()
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Poses [t, 3] of one push, and what is recorded."""
    s = with_friction(with_body(simulator, push.body), friction)
    q = jnp.concatenate([jnp.array([-SINK]), push.pose, push.tip[0]])
    # The tip moves at its speed from the first sample on.
    qd = jnp.zeros(6).at[4:].set((push.tip[1] - push.tip[0]) / DT)
    state = gs.State(q=q, qd=qd, act=jnp.zeros(0))
    run = s.rollout(state, push.tip[1:], record=record)
    return run.q[:, 1:4], run.recorded
