"""State of a mechanism: small, flat, and all that a step needs."""

from __future__ import annotations

from typing import Any

import equinox as eqx
from jaxtyping import Array, Float


class State(eqx.Module):
    """Positions, velocities and actuator memory at one instant (leading batch axes allowed).

    `q` [nq]: joint positions (rad, m, unit quaternions w x y z); `qd` [nv]: joint velocities;
    `act` [na]: filtered commands of the actuators that have a lag. `memory`: what grafts remember
    of earlier steps, `impulse`: those of the contacts in the last step, from which the next search
    sets out. (), the default of both, stands for a fresh start.
    """

    q: Float[Array, "*t nq"]
    qd: Float[Array, "*t nv"]
    act: Float[Array, "*t na"]
    memory: Any = ()
    impulse: Any = ()
