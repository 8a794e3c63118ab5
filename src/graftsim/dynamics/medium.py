"""What a medium does to links: drag and viscous resistance of boxes, and lift.

The drag is MuJoCo's simple model ("Fluid forces: inertia model" of its documentation): a body
resists as a box that has the body's mass and inertia. With velocity v and angular velocity w at the
centre of mass in the axes of the box, of sides b and mean side d,

f_i = -3 pi d mu v_i - rho b_j b_k |v_i| v_i / 2
n_i = -pi d^3 mu w_i - rho b_i (b_j^4 + b_k^4) |w_i| w_i / 64.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.kinematics import world_transforms
from graftsim.dynamics.mechanism import Mechanism, rows
from graftsim.dynamics.motion import JointMotion
from graftsim.model.model import Model
from graftsim.spatial import rotation
from graftsim.spatial.transform import Transform, rotate


def medium_forces(
    m: Mechanism, motion: JointMotion, X_0: Transform | None, v: Float[Array, "nl 6"]
) -> Float[Array, "nl 6"]:
    """Spatial force of the medium at each link's origin, in the link (N m, N).

    v: link velocities; X_0: world to link, computed here if it is not given and there is lift.
    """
    model = m.model
    medium, link = model.medium, np.array(model.medium.link, int)
    total = jnp.zeros((len(link), 6), v.dtype)
    if medium.drags:
        total = total + _drag(model, rows(v, link))
    if medium.lifts:
        X = world_transforms(m.tree, motion) if X_0 is None else X_0
        up = -medium.lift[:, None] * rotate(rows(X.E, link), model.world.gravity)
        total = total + jnp.concatenate([rotation.cross(medium.position, up), up], -1)
    every = jnp.asarray(np.arange(m.tree.nl)[:, None] == link, v.dtype)
    return every @ total


def _drag(model: Model, v: Float[Array, "n 6"]) -> Float[Array, "n 6"]:
    medium, world = model.medium, model.world
    R = rotation.matrix(medium.rotation)
    to_box = rotation.transpose(R)
    w = rotate(to_box, v[:, :3])
    u = rotate(to_box, v[:, 3:] + rotation.cross(v[:, :3], medium.position))
    b = medium.box
    mean = jnp.mean(b, -1, keepdims=True)
    j, k = (b[:, np.array(order)] for order in ((1, 2, 0), (2, 0, 1)))
    force = -3 * jnp.pi * mean * world.viscosity * u
    force = force - world.density * j * k * jnp.abs(u) * u / 2
    torque = -jnp.pi * mean**3 * world.viscosity * w
    torque = torque - world.density * b * (j**4 + k**4) * jnp.abs(w) * w / 64
    f, n = rotate(R, force), rotate(R, torque)
    return jnp.concatenate([n + rotation.cross(medium.position, f), f], -1)
