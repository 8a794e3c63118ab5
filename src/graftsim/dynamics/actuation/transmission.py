"""Where actuators act: on degrees of freedom and on tendons, through their gears."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.tendons import coefficients
from graftsim.model.model import Actuators, Model


def targets(actuator: Actuators, nv: int) -> np.ndarray:
    """Row [n] of each actuator among degrees of freedom and, behind them, tendons."""
    both = zip(actuator.dof, actuator.tendon, strict=True)
    return np.array([nv + t if t >= 0 else d for d, t in both], int)


def moment(model: Model) -> Float[Array, "n nv"]:
    """Moment arms: length of each actuator's transmission per displacement of a joint.

    lengths = R q and joint forces = R^T f, so power is the same on both sides.
    """
    nv, dtype = model.nv, model.link.mass.dtype
    every = jnp.concatenate([jnp.eye(nv, dtype=dtype), coefficients(model.tendon, nv)])
    return model.actuator.gear[:, None] * every[targets(model.actuator, nv)]
