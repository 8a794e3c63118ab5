"""State of a mechanism: small, flat, and all that a step needs."""

from __future__ import annotations

from typing import Any

import equinox as eqx
from jaxtyping import Array, Float


class State(eqx.Module):
    """Positions, velocities and actuator memory at one instant (leading batch axes allowed).

    `q` [nq]: joint positions (rad, m, unit quaternions w x y z); `qd` [nv]: joint velocities;
    `act` [na]: filtered commands of the actuators that have a lag, then what drives remember.
    `memory`: what grafts remember of earlier steps, `impulse`: those of the contacts in the last
    step, from which the next search sets out, `held` [k, nd]: commands of the last k steps, newest
    first, where they are delayed. (), the default of these, stands for a fresh start, for commands:
    the first has been held for long.
    """

    q: Float[Array, "*t nq"]
    qd: Float[Array, "*t nv"]
    act: Float[Array, "*t na"]
    memory: Any = ()
    impulse: Any = ()
    held: Any = ()
