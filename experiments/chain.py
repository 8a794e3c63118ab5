"""The chain of the LCP paper: ten links hang from a pin, and a ball flies at the last of them.

Lengths in pixels as there, y up instead of down, seconds, kilograms. A link is 20 x 60, the pins of
neighbours lie 50 apart, gravity (100 px/s^2) acts on all links but the first, and not on the ball.
It is pushed by 1500 for 0.1 s and hits the last link in its middle. A tree in joint coordinates has
no joint that could open: what post-stabilisation does for maximal coordinates has nothing to do.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim.model.catalogue import with_leaf

DT, SECONDS, TOTAL = 1 / 30, 10.0, 7.0
WIDTH, HEIGHT, PITCH, FIRST = 20.0, 60.0, 50.0, 20.0
RADIUS, PUSH, PUSHED = 20.0, 1500.0, 0.1
PIN, BALL = (300.0, -30.0), (50.0, -500.0)
# Of the pair: the mean of 0.5 and 1, and that of twice 0.9.
RESTITUTION, FRICTION = 0.75, 0.9
# One contact at a time; the second tangent lies in the plane.
LAW = gs.contact.LinearComplementarity(
    directions=(0.5 * np.pi, 1.5 * np.pi), max_contacts=1, max_impacts=1
)


def model(links: int = 10) -> gs.Model:
    """A chain of `links` and the ball, level with the middle of the last link."""
    b = gs.Builder("chain", gravity=(0.0, -100.0, 0.0))
    sides = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * (WIDTH / 2, HEIGHT / 2)
    for i in range(links):
        parent, at = (f"link{i - 1}", (0.0, -PITCH, 0.0)) if i else ("world", (*PIN, 0.0))
        # The first link hangs by a point 20 above its middle, the others by 25.
        arm = PITCH / 2 if i else FIRST
        at = (0.0, -FIRST - PITCH / 2, 0.0) if i == 1 else at
        b.link(f"link{i}", parent, axis=(0, 0, 1), origin=at, com=(0, -arm, 0),
               mass=1.0, inertia=(WIDTH**2 + HEIGHT**2) / 12)  # fmt: skip
        b.geom("polygon", (), f"link{i}", name=f"link{i}", position=(0, -arm, 0), vertices=sides)
    below = BALL[1] - PITCH * (links - 10)
    b.link("ball", joint="planar", origin=(BALL[0], below, 0), axis=(0, 0, 1),
           mass=1.0, inertia=RADIUS**2 / 2)  # fmt: skip
    b.geom("sphere", RADIUS, "ball", name="ball")
    b.actuator("push", "ball.x")
    b.surround("link0", lift=1.0)
    b.surround("ball", lift=1.0)
    built = b.build()
    for name, value in (("pair.restitution", RESTITUTION), ("pair.friction", FRICTION)):
        built = with_leaf(built, name, jnp.full(len(built.pair.names), value))
    return built


def with_masses(chain: gs.Model, masses: Any) -> gs.Model:
    """The chain with other masses of its links, inertia of rectangles included."""
    n = masses.shape[0]
    inertia = jnp.asarray(model_inertia(n)) * jnp.concatenate([masses, jnp.ones(1)])[:, None]
    chain = with_leaf(chain, "link.mass", chain.link.mass.at[:n].set(masses))
    chain = with_leaf(chain, "link.inertia", inertia)
    return with_leaf(chain, "medium.lift", chain.medium.lift.at[0].set(masses[0]))


def model_inertia(links: int) -> np.ndarray:
    """Inertia (xx yy zz xy xz yz) of the links and the ball per kilogram."""
    each = np.array([*[(WIDTH**2 + HEIGHT**2) / 12] * links, RADIUS**2 / 2])
    return each[:, None] * np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])


def poses(q: Any) -> Any:
    """Angle, x and y of the middle of each link, then of the ball: [..., links + 1, 3]."""
    links = q.shape[-1] - 3
    angle = jnp.cumsum(q[..., :links], axis=-1)
    down = jnp.stack([jnp.sin(angle), -jnp.cos(angle)], axis=-1)
    arms = jnp.asarray([FIRST] + [PITCH / 2] * (links - 1))
    beyond = jnp.asarray([PITCH / 2] * links)
    # From pin to pin the first link spans 45, the others 50.
    ends = jnp.cumsum(down * (arms + beyond)[:, None], axis=-2)
    pins = jnp.concatenate([jnp.zeros_like(ends[..., :1, :]), ends[..., :-1, :]], axis=-2)
    middles = jnp.asarray(PIN) + pins + down * arms[:, None]
    chain = jnp.concatenate([angle[..., None], middles], axis=-1)
    below = jnp.asarray([0.0, BALL[0], BALL[1] - PITCH * (links - 10)])
    ball = jnp.stack([q[..., -1], q[..., -3], q[..., -2]], axis=-1) + below
    return jnp.concatenate([chain, ball[..., None, :]], axis=-2)


def pushes(dt: float, seconds: float) -> np.ndarray:
    """The push over the steps [n, 1]."""
    n = round(seconds / dt)
    return np.where(np.arange(n) * dt < PUSHED - dt / 2, PUSH, 0.0)[:, None]


def motion(simulator: gs.Simulator, masses: jax.Array, seconds: float = SECONDS) -> Any:
    """Poses at all steps [n + 1, links + 1, 3] with these masses of the links."""
    heavy = gs.Simulator(
        with_masses(simulator.model, masses), float(simulator.dt), contact=simulator.contact
    )
    controls = jnp.asarray(pushes(float(simulator.dt), seconds))
    return poses(heavy.rollout(heavy.initial_state(), controls).q)
