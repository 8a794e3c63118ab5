"""The whole controller of a walking quadruped: a frozen object, and a small memory beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from graftsim.control.locomotion.forces import ForceSolver
from graftsim.control.locomotion.gait import Gait
from graftsim.control.locomotion.interior_point import InteriorPoint
from graftsim.control.locomotion.leg_kinematics import angles_of, feet_of
from graftsim.control.locomotion.legs import Legs, find_legs, roll_pitch_yaw
from graftsim.control.locomotion.stance import (
    Posture,
    Prediction,
    SingleBody,
    StanceProblem,
    stance_problem,
)
from graftsim.control.locomotion.swing import Swing
from graftsim.errors import ModelError
from graftsim.model.model import Model
from graftsim.model.state import State
from graftsim.spatial import rotation


class Memory(eqx.Module):
    """What a gait remembers: time (s), velocities of the last plans (m/s, world), which feet stood,
    and where in the trunk (m) each foot left the ground.
    """

    time: Float[Array, ""]
    velocities: Float[Array, "k 3"]
    stood: Bool[Array, " 4"]
    lifted: Float[Array, "4 3"]


class Sight(eqx.Module):
    """What an instant looks like to the controller, before forces are chosen.

    posture; feet (m) in the trunk and their Jacobians; stands, which feet push; level: rotation
    from the trunk to axes that yaw with it; reference: joint angles that swinging legs go to.
    """

    posture: Posture
    feet: Float[Array, "4 3"]
    jacobian: Float[Array, "4 3 3"]
    stands: Bool[Array, " 4"]
    level: Float[Array, "3 3"]
    reference: Float[Array, "4 3"]


class Aim(eqx.Module):
    """What the motors do until the next plan: hold torques (N m) on legs that stand, and go to
    angles (rad) with the others; of each leg its abduction, hip and knee.
    """

    torque: Float[Array, "4 3"]
    angles: Float[Array, "4 3"]
    stands: Bool[Array, " 4"]


class Trot(eqx.Module):
    """Convex model-predictive control of the standing feet, Raibert's footholds for the others.

    height (m): of the trunk over the centres of the standing feet; kp (N m/rad), kd (N m s/rad): of
    swinging legs' abduction, hip, knee; hips (m): where feet stand under the trunk at rest; window:
    plans whose velocities are averaged. Made by `trot`.
    """

    legs: Legs
    body: SingleBody
    height: Float[Array, ""]
    hips: Float[Array, "4 3"]
    kp: Float[Array, ""]
    kd: Float[Array, " 3"]
    nu: int = eqx.field(static=True)
    nq: int = eqx.field(static=True)
    gait: Gait = eqx.field(static=True)
    swing: Swing = eqx.field(static=True)
    prediction: Prediction = eqx.field(static=True)
    solver: ForceSolver = eqx.field(static=True)
    window: int = eqx.field(static=True)
    period: float = eqx.field(static=True)

    def standing(self) -> Float[Array, " nq"]:
        """Positions `q` in which the robot stands at x = y = 0 with its feet on z = 0."""
        feet = self.hips - jnp.stack([0 * self.height, 0 * self.height, self.height])
        q = np.zeros(self.nq)
        q[2], q[3] = float(self.height + jnp.max(self.legs.radius)), 1.0
        q[list(self.legs.coordinates)] = np.asarray(angles_of(self.legs, feet)).ravel()
        return jnp.asarray(q, self.height.dtype)

    def start(self, state: State) -> Memory:
        """Memory at the beginning: the clock at zero, all feet as if they stood."""
        feet, _ = feet_of(self.legs, self._angles(state))
        velocities = jnp.tile(state.qd[:3], (self.window, 1))
        return Memory(jnp.zeros_like(self.height), velocities, jnp.ones(4, bool), feet)

    def plan(self, state: State, memory: Memory, command: Float[Array, " 3"]) -> tuple[Aim, Memory]:
        """What the motors do for the next `period` seconds.

        command: forward and left speed (m/s) and yaw rate (rad/s), in the axes of the trunk.
        """
        sight, after = self.look(state, memory, command)
        force = self.solver.solve(self.problem(sight, command)).force[0]
        return self.aim(sight, self.stance_torque(sight, force)), after

    def torques(self, aim: Aim, state: State) -> Float[Array, " nu"]:
        """Commands of the motors at a state, on every step between plans; zero for other motors."""
        rate = state.qd[jnp.array(self.legs.joints)].reshape(4, 3)
        servo = self.kp * (aim.angles - self._angles(state)) - self.kd * rate
        torque = jnp.where(aim.stands[:, None], aim.torque, servo)
        u = jnp.zeros(self.nu, torque.dtype)
        return u.at[jnp.array(self.legs.motors)].set(torque.reshape(-1))

    def __call__(
        self, state: State, memory: Memory, command: Float[Array, " 3"]
    ) -> tuple[Float[Array, " nu"], Memory]:
        """Commands of the motors and the memory for the next call, `period` seconds later."""
        aim, memory = self.plan(state, memory, command)
        return self.torques(aim, state), memory

    def look(
        self, state: State, memory: Memory, command: Float[Array, " 3"]
    ) -> tuple[Sight, Memory]:
        """Everything of a plan that comes before the forces."""
        angles = roll_pitch_yaw(state.q[3:7])
        R = rotation.matrix(state.q[3:7])
        yaw = rotation.about_axis(jnp.array([0.0, 0, 1], R.dtype), angles[2])
        velocities = jnp.concatenate([memory.velocities[1:], state.qd[None, :3]])
        velocity = jnp.mean(velocities, 0)
        level = yaw.T @ R
        feet, jacobian = feet_of(self.legs, self._angles(state))
        stands, progress = self.gait.at(memory.time)
        lifted = jnp.where((memory.stood & ~stands)[:, None], feet, memory.lifted)
        weight = jnp.where(jnp.any(stands), stands, True)
        height = -jnp.sum(weight * (feet @ level.T)[:, 2]) / jnp.sum(weight)
        land = self.swing.foothold(
            self.hips, R.T @ velocity, command, state.qd[5], self.gait.stance
        )
        land = land.at[:, 2].set(-(self.height - self.swing.press))
        reference = angles_of(self.legs, self.swing.path(lifted, land, progress))
        turning = level @ state.qd[3:6]
        posture = Posture(angles, height, turning, yaw.T @ velocity)
        sight = Sight(posture, feet, jacobian, stands, level, reference)
        return sight, Memory(memory.time + self.period, velocities, stands, lifted)

    def problem(self, sight: Sight, command: Float[Array, " 3"]) -> StanceProblem:
        """The program of the standing feet."""
        feet = (sight.feet - self.body.com) @ sight.level.T
        aim = (command, self.height)
        return stance_problem(self.prediction, self.body, sight.posture, feet, sight.stands, aim)

    def stance_torque(self, sight: Sight, force: Float[Array, "4 3"]) -> Float[Array, "4 3"]:
        """Joint torques (N m) with which the ground pushes the feet with `force`, in units of the
        body's weight and axes that yaw with the trunk: -J^T f.
        """
        push = force * self.body.mass * self.prediction.gravity @ sight.level
        return -jnp.einsum("lij,li->lj", sight.jacobian, push)

    def aim(self, sight: Sight, torque: Float[Array, "4 3"]) -> Aim:
        """With torques of the standing legs that come from anywhere."""
        return Aim(torque, sight.reference, sight.stands)

    def _angles(self, state: State) -> Float[Array, "4 3"]:
        return state.q[jnp.array(self.legs.coordinates)].reshape(4, 3)


# Of a stretched leg; and the stiffness of swinging legs per mass of the robot, 220 N m/rad for 25.6 kg.
_HEIGHT, _STIFFNESS = 0.8, 8.6


def trot(
    model: Model,
    *,
    height: float | None = None,
    body: SingleBody | None = None,
    kp: float | None = None,
    kd: tuple[float, float, float] = (1.0, 2.0, 2.0),
    hips: Any = None,
    knees_forward: bool = False,
    **strategy: Any,
) -> Trot:
    """The controller of a quadruped with torque motors: see `Trot`.

    height (m): 0.8 of a stretched leg by default; body: by default mass and centre of all
    links and the inertia of those above the hips; kp: by default 8.6 N m/rad per kg; hips [4, 2 or 3] (m): where the feet FR, FL, RR, RL
    stand, by default under their hips; knees_forward: else knees bend backward. strategy: `gait`,
    `swing`, `prediction`, `solver`, `window` (plans, 5) and `period` (s, 0.01).
    Raises ModelError: no four legs, or no motors, with what was found; a height out of reach.
    """
    legs = find_legs(model, knees_forward=knees_forward)
    height = _HEIGHT * legs.reach if height is None else height
    if not 0 < height < legs.reach:
        raise ModelError(
            f"Model '{model.name}': the trunk cannot stand {height:g} m over its feet; legs reach "
            f"{legs.reach:.3g} m."
        )
    dtype = model.link.mass.dtype
    under = np.array(legs.below) if hips is None else _level(hips)
    chosen = _strategy(strategy)
    # Mass and inertia are read in the standing pose, which takes a controller to know.
    rough = body or SingleBody(
        jnp.sum(model.link.mass), jnp.eye(3, dtype=dtype), jnp.zeros(3, dtype)
    )
    stiff = _STIFFNESS * float(jnp.sum(model.link.mass)) if kp is None else kp
    made = Trot(
        legs=legs, body=rough, height=jnp.asarray(height, dtype), hips=jnp.asarray(under, dtype),
        kp=jnp.asarray(stiff, dtype), kd=jnp.asarray(kd, dtype), nu=model.nu, nq=model.nq, **chosen,
    )  # fmt: skip
    if body is not None:
        return made
    pose = made.standing().at[:3].set(0.0)
    return eqx.tree_at(lambda t: t.body, made, SingleBody.of(model, pose, legs.turning))


def _level(hips: Any) -> np.ndarray:
    out = np.asarray(hips, float)
    if out.shape not in ((4, 2), (4, 3)) or not np.all(np.isfinite(out)):
        raise ModelError(f"hips must have shape [4, 2]: x, y (m) of FR, FL, RR, RL; got {hips}.")
    return np.concatenate([out[:, :2], np.zeros((4, 1))], 1)


def _strategy(given: Mapping[str, Any]) -> dict[str, Any]:
    default = {
        "gait": Gait(), "swing": Swing(), "prediction": Prediction(), "solver": InteriorPoint(),
        "window": 5, "period": 0.01,
    }  # fmt: skip
    unknown = [name for name in given if name not in default]
    if unknown:
        raise ModelError(f"trot has no option '{unknown[0]}': {', '.join(default)}.")
    return {**default, **given}
