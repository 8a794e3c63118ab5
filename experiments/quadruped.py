"""The quadrupeds of E10: one MJCF file for graftsim and MuJoCo, walks in both, their figures."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim.control.locomotion.legs import roll_pitch_yaw

DT, RATE = 0.001, 100
FILES = {
    "laikago": "laikago/laikago_toes_zup_primitives.urdf",
    "a1": "a1/a1_primitives.urdf",
}
# Of motion_imitation's Laikago: what its predictive controller takes for the robot.
MASS, INERTIA = 215 / 9.8, (0.07335, 0.25068, 0.25447)
HIPS = ((0.21, -0.1157), (0.21, 0.1157), (-0.21, -0.1157), (-0.21, 0.1157))


def robot_file(assets: str, robot: str) -> str:
    """MJCF of a robot that touches the ground with its toes, with three more motors that push the
    middle of its trunk along the world's axes.
    """
    model = gs.load(Path(assets) / FILES[robot], ground=0.0)
    model = gs.model.keep_pairs(model, "ground/*toe*")
    trunk = model.tree.links[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.xml"
        gs.write_mjcf(model, path)
        text = path.read_text(encoding="utf-8")
    text = re.sub(rf'(<body name="{trunk}"[^>]*>)', r'\1<site name="middle"/>', text, count=1)
    text = text.replace("<worldbody>", '<worldbody><site name="fixed"/>', 1)
    gears = ("1 0 0 0 0 0", "0 1 0 0 0 0", "0 0 1 0 0 0")
    pushes = "".join(
        f'<general name="push_{axis}" site="middle" refsite="fixed" gear="{gear}"/>'
        for axis, gear in zip("xyz", gears, strict=True)
    )
    text = text.replace("</actuator>", pushes + "</actuator>", 1)
    return re.sub("<option ", f'<option timestep="{DT}" ', text, count=1)


def read(text: str) -> gs.model.Model:
    """The robot in graftsim."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.xml"
        path.write_text(text, encoding="utf-8")
        return gs.load(path)


def controller_of(model: Any, robot: str, **options: Any) -> gs.control.Trot:
    """Laikago walks 0.42 m above its feet, A1 0.27 m."""
    return gs.control.trot(model, height={"laikago": 0.42, "a1": 0.27}[robot], **options)


def published() -> dict[str, Any]:
    """The single body and the neutral footholds that motion_imitation has for Laikago."""
    body = gs.control.SingleBody(jnp.asarray(MASS), jnp.diag(jnp.asarray(INERTIA)), jnp.zeros(3))
    return {"body": body, "hips": HIPS}


def simulator_of(model: Any) -> gs.Simulator:
    """Impulses and Coulomb's cone, 1 ms."""
    return gs.Simulator(model, DT, contact=gs.contact.Complementarity())


def with_friction(simulator: gs.Simulator, friction: Any) -> gs.Simulator:
    """On another floor; the friction may be traced."""
    pair = simulator.model.pair
    same = jnp.full(len(pair.names), 1.0) * friction
    return replace(simulator, model=replace(simulator.model, pair=replace(pair, friction=same)))


def forward(seconds: float, speed: float = 0.3) -> jax.Array:
    """Commands of a walk straight on."""
    return jnp.tile(jnp.array([speed, 0.0, 0.0]), (round(seconds * RATE), 1))


def wandering(seconds: int, rng: np.random.Generator) -> jax.Array:
    """Commands redrawn each second, of four kinds in turn: all three, yaw, forward, sideways."""
    kinds = np.array([(1, 1, 1), (0, 0, 1), (1, 0, 0), (0, 1, 0)])
    drawn = rng.uniform(-1, 1, (seconds, 3)) * [0.6, 0.2, 0.8] * kinds[np.arange(seconds) % 4]
    return jnp.asarray(np.repeat(drawn, RATE, axis=0))


class Gait(NamedTuple):
    """Of a walk after its first second: lowest and highest trunk (m), greatest |roll| and |pitch|
    (rad), mean speed (m/s), greatest torque (N m).
    """

    low: float
    high: float
    tilt: float
    speed: float
    torque: float


def gait_of(q: Any, u: Any) -> Gait:
    """q [n + 1, nq] at each plan, u [n, nu]."""
    q, u = np.asarray(q), np.asarray(u)
    angles = np.asarray(jax.vmap(roll_pitch_yaw)(jnp.asarray(q[:, 3:7])))
    late = slice(RATE, None)
    path = np.diff(q[:, :2], axis=0) * RATE
    heading = np.stack([np.cos(angles[:-1, 2]), np.sin(angles[:-1, 2])], -1)
    return Gait(
        q[late, 2].min(),
        q[late, 2].max(),
        np.abs(angles[late, :2]).max(),
        np.sum(path * heading, -1)[late].mean(),
        np.abs(u).max(),
    )


def in_mujoco(text: str, controller: gs.control.Trot, commands: Any) -> Gait:
    """The same controller and file with MuJoCo's contacts."""
    import mujoco

    m = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(m)
    data.qpos[:] = np.asarray(controller.standing())
    plan = jax.jit(controller.plan)
    legs = controller.legs
    rows, joints = np.array(legs.coordinates), np.array(legs.joints)
    motors, kp, kd = np.array(legs.motors), float(controller.kp), np.asarray(controller.kd)

    def state() -> Any:
        return gs.model.State(jnp.asarray(data.qpos), jnp.asarray(data.qvel), jnp.zeros(0))

    memory = controller.start(state())
    q, u = [np.array(data.qpos)], []
    for command in commands:
        aim, memory = plan(state(), memory, command)
        torque, angles, stands = (np.asarray(x) for x in (aim.torque, aim.angles, aim.stands))
        for _ in range(round(controller.period / DT)):
            servo = kp * (angles - data.qpos[rows].reshape(4, 3))
            servo = servo - kd * data.qvel[joints].reshape(4, 3)
            data.ctrl[motors] = np.where(stands[:, None], torque, servo).ravel()
            mujoco.mj_step(m, data)
        q.append(np.array(data.qpos))
        u.append(np.array(data.ctrl))
    return gait_of(np.array(q), np.array(u))
