"""Grafts inside MuJoCo's own step, through its passive-force callback.

What the networks of a simulator change in the forces of our step is added to `qfrc_passive` of
MuJoCo's, at the state and controls that MuJoCo has. Contact, constraints and integration stay
MuJoCo's. Joints and actuators go by name.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import mujoco as _without_stubs
import numpy as np
from jaxtyping import Array, Float

from graftsim import kernels
from graftsim.dynamics.actuation import Commands
from graftsim.dynamics.mechanism import prepare
from graftsim.dynamics.motion import joint_motion, link_velocity
from graftsim.dynamics.rnea import newton_euler
from graftsim.engine.forces import acceleration
from graftsim.engine.simulator import Simulator
from graftsim.errors import GraftsimWarning, InteropError, KernelError
from graftsim.interop.mujoco_joints import check_same, places_of
from graftsim.model.fuse import fuse
from graftsim.model.state import State
from graftsim.taps import Augmentation, Scope

mujoco: Any = _without_stubs

# Variables whose change is one of forces, and nothing else.
CARRIED = ("joint.tau", "actuator.", "tendon.", "link.force", "link.com_force", "control.u")
# Those that hang on commands.
COMMANDED = ("actuator.", "control.", "joint.tau_actuator")

Force = Callable[[Any, Any, Any], Array]


@contextlib.contextmanager
def passive_force(simulator: Simulator, model: Any) -> Iterator[Callable[[Any], np.ndarray]]:
    """Inside the block MuJoCo steps `model` (an MjModel) with the grafts of a simulator.

    simulator: with grafts on forces, of the same robot: joints, and actuators where grafts use
    them, are found by name, so `write_mjcf(simulator.model)` fits always. Other models are stepped
    as before, and so is this one afterwards, also if the block raises. A callback that is set
    already goes on acting, so blocks nest and their forces add up. The block gets a function of
    MjData: generalised forces [nv] that the grafts add at its state (N, N m).

    Raises InteropError: no grafts, or one that is more than a force of the present state (contact,
    memory, accelerations); joints that are missing, of another type, or turn the other way; passive
    forces switched off. Warns if the mass matrices differ: grafts were fitted beside other masses.
    """
    _check_grafts(simulator)
    places = places_of(simulator.model, model, controls=_commanded(simulator))
    _check_host(model)
    check_same(simulator.model, model, places)
    force, address = _compiled(simulator), model._address

    def added(data: Any) -> np.ndarray:
        out = np.zeros(model.nv)
        out[places.v] = force(data.qpos[places.q], data.qvel[places.v], places.commands(data))
        return out

    before = mujoco.get_mjcb_passive()
    if before is not None and not callable(before):
        raise InteropError(
            "MuJoCo has a passive-force callback that is no Python function, and would be lost: "
            "mujoco.set_mjcb_passive(None) removes it."
        )

    def callback(host: Any, data: Any) -> None:
        if before is not None:
            before(host, data)
        if host._address == address:
            data.qfrc_passive[:] += added(data)

    mujoco.set_mjcb_passive(callback)
    try:
        yield added
    finally:
        mujoco.set_mjcb_passive(before)


def graft_forces(simulator: Simulator) -> Force:
    """Generalised forces [nv] that grafts add, of (q, qd, u) in the simulator's order.

    The difference in joint forces, and in forces on links by inverse dynamics, of the step's forces
    with grafts and without.
    """
    m = prepare(fuse(simulator.model))
    grafts = simulator.grafts
    assert grafts is not None

    def forces(
        state: State, u: Array, augmentations: dict[str, Augmentation]
    ) -> tuple[Float[Array, " nv"], Float[Array, "nl 6"]]:
        scope = Scope(augmentations)
        acceleration(m, state, Commands(u), scope=scope)
        return scope["joint.tau"], scope["link.force"]

    def added(q: Array, qd: Array, u: Array) -> Float[Array, " nv"]:
        state = State(q=q, qd=qd, act=jnp.zeros(m.model.actuator.na, q.dtype))
        tau, f = forces(state, u, dict(grafts.augmentations(())))
        tau_0, f_0 = forces(state, u, {})
        motion = joint_motion(m, q, qd)
        v = link_velocity(m.tree, motion)
        rest = jnp.zeros_like(qd)
        balance = newton_euler(m, motion, v, rest, f) - newton_euler(m, motion, v, rest, f_0)
        return tau - tau_0 - balance

    return added


def _compiled(simulator: Simulator) -> Force:
    added, model = graft_forces(simulator), simulator.model
    dtype = simulator.dt.dtype
    shapes = [jax.ShapeDtypeStruct((n,), dtype) for n in (model.nq, model.nv, model.nu)]
    try:
        return kernels.compile(added, *shapes)
    except KernelError as error:
        warnings.warn(f"The grafts run on XLA: {error}", GraftsimWarning, stacklevel=4)
        return jax.jit(added)


def _names(simulator: Simulator) -> tuple[list[str], list[str]]:
    """Variables that grafts change, and those that they read."""
    grafts: Any = simulator.grafts
    wirings = [g.wiring for g in getattr(grafts, "grafts", ())]
    return list(grafts.augmentations(grafts.memory())), [s.name for w in wirings for s in w.sources]


def _check_grafts(simulator: Simulator) -> None:
    grafts = simulator.grafts
    if grafts is None:
        raise InteropError("The simulator has no grafts: there is nothing for MuJoCo to add.")
    if jax.tree.leaves(grafts.memory()):
        raise InteropError(
            "A graft remembers the step before (a recurrent network, or an input '@prev'). MuJoCo "
            "may ask for forces several times a step, or not at all."
        )
    changed, read = _names(simulator)
    for name in changed:
        if not name.startswith(CARRIED):
            raise InteropError(
                f"A graft changes {name}. Within MuJoCo grafts add forces, so that targets begin "
                f"with {', '.join(CARRIED)}."
            )
    for name in read:
        if name.startswith("contact."):
            raise InteropError(f"A graft reads {name}: MuJoCo has its own contacts.")
    model = simulator.model
    if _commanded(simulator) and (model.actuator.na or simulator.back):
        raise InteropError(
            "A graft uses commands or actuators of a robot with delays or lags, whose memory is "
            "MuJoCo's own there. Put it on joint.tau_passive, of joint.q and joint.qd."
        )
    if any(d.prescribes for d in model.actuator.drives):
        raise InteropError("The robot has joints of prescribed motion, which MuJoCo has not.")


def _commanded(simulator: Simulator) -> bool:
    return any(name.startswith(COMMANDED) for names in _names(simulator) for name in names)


def _check_host(model: Any) -> None:
    off = mujoco.mjtDisableBit.mjDSBL_SPRING | mujoco.mjtDisableBit.mjDSBL_DAMPER
    if (model.opt.disableflags & off) == off:
        raise InteropError(
            "Springs and dampers of the MuJoCo model are both disabled, and with them passive "
            "forces as a whole: enable one of them."
        )
