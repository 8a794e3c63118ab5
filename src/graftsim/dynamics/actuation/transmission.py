"""Where actuators act: on degrees of freedom, tendons and sites, through their gears."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.paths import coefficients
from graftsim.errors import ModelError
from graftsim.model.model import Actuators, Model


def targets(actuator: Actuators, nv: int, nt: int) -> np.ndarray:
    """Row [n] of each actuator among degrees of freedom and, behind them, tendons, then sites."""
    both = zip(actuator.dof, actuator.tendon, strict=True)
    rows = np.array([nv + t if t >= 0 else d for d, t in both], int)
    rows[rows < 0] = nv + nt + np.arange(len(actuator.sites))
    return rows


def moment(model: Model) -> Float[Array, "n nv"]:
    """Moment arms: length of each actuator's transmission per displacement of a joint.

    lengths = R q and joint forces = R^T f, so power is the same on both sides. Raises ModelError:
    they depend on the pose.
    """
    if model.through_space:
        raise ModelError(f"Moment arms of '{model.name}' depend on the pose.")
    nv, dtype = model.nv, model.link.mass.dtype
    every = jnp.concatenate([jnp.eye(nv, dtype=dtype), coefficients(model.tendon, nv)])
    own = targets(model.actuator, nv, len(model.tendon.names))
    return model.actuator.gear[:, None] * every[own]
