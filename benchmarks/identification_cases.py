"""The cases of the identification benchmark: MJCF models, what is free, and logs made by MuJoCo.

Only NumPy and MuJoCo are needed here, so that every contestant's interpreter can read the file. A
model's numbers are written by name (`armature j2`, `com.x l3`); the same names say what is free.
Logs hold the commands sent and the joint angles read, with white noise; every log starts at rest
from a known position.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

NEAR = 0.05  # m, of the true lengths: a start that has succeeded (E2)
AXES = {"com.x": 0, "com.y": 1, "com.z": 2}


@dataclass(frozen=True)
class Free:
    """A number to find: `kind` and the joint, body or actuator it belongs to, bounds and start."""

    kind: str
    of: str
    truth: float
    start: float
    low: float
    high: float

    @property
    def name(self) -> str:
        """Kind and owner."""
        return f"{self.kind} {self.of}"


@dataclass(frozen=True)
class Case:
    """A model with numbers to find, and how its logs are made.

    `mjcf` has the true numbers where nothing is free. `poses` [n, nq] are the initial positions,
    `commands` [n, steps, nu]; the first `fitted` logs are fitted, the others judge. `friction` [nq,
    5]: what only the truth has, Coulomb, breakaway above it, Stribeck's speed, the width of the
    sign, and quadratic drag. `starts` [g, p] where there are several.
    """

    name: str
    mjcf: str
    free: tuple[Free, ...]
    poses: np.ndarray
    commands: np.ndarray
    fitted: int
    noise: float
    seed: int
    friction: np.ndarray | None = None
    starts: np.ndarray | None = None
    integrator: str = "Euler"
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dt(self) -> float:
        """Step of the simulation and of the logs (s)."""
        return float(mujoco.MjModel.from_xml_string(self.mjcf).opt.timestep)

    def values(self, which: str = "truth") -> np.ndarray:
        """Truth, start, low or high of everything free [p]."""
        return np.array([getattr(f, which) for f in self.free])

    def model(self, x: np.ndarray) -> mujoco.MjModel:
        """The compiled model with the free numbers x [p]."""
        spec = mujoco.MjSpec.from_string(self.mjcf)
        for f, value in zip(self.free, x, strict=True):
            write(spec, f.kind, f.of, float(value))
        return spec.compile()


def write(spec: mujoco.MjSpec, kind: str, of: str, value: float) -> None:
    """Set a number of a model by its name."""
    if kind == "armature":
        spec.joint(of).armature = value
    elif kind == "damping":
        spec.joint(of).damping[0] = value  # the linear term of a polynomial
    elif kind == "mass":
        spec.body(of).mass = value
    elif kind in AXES:
        spec.body(of).ipos[AXES[kind]] = value
    elif kind == "length":
        # The tip's mass and whatever hangs on it, along y.
        body = spec.body(of)
        body.ipos[1] = value
        for child in body.bodies:
            child.pos[1] = value
    else:
        raise ValueError(f"no number called {kind}")


def rollout(model: mujoco.MjModel, pose: np.ndarray, commands: np.ndarray) -> np.ndarray:
    """Positions [steps + 1, nq] from rest, by MuJoCo, with commands [steps, nu] held over steps."""
    from mujoco import rollout as batch

    state = np.concatenate([[0.0], pose, np.zeros(model.nv)])
    data = mujoco.MjData(model)
    states, _ = batch.rollout(model, data, state, np.ascontiguousarray(commands)[None])
    return np.concatenate([pose[None], states[0][:, 1 : 1 + model.nq]])


def with_friction(
    model: mujoco.MjModel, friction: np.ndarray, pose: np.ndarray, commands: np.ndarray
) -> np.ndarray:
    """The same with Stribeck friction and drag on the joints, four steps of RK4 to one of a log."""
    coulomb, extra, stribeck, width, drag = friction.T
    fine = 4

    def passive(_: Any, d: Any) -> None:
        v = d.qvel
        level = coulomb + extra * np.exp(-((v / stribeck) ** 2))
        d.qfrc_passive[:] -= level * np.tanh(v / width) + drag * v * np.abs(v)

    dt = model.opt.timestep
    model.opt.timestep, model.opt.integrator = dt / fine, mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    data.qpos[:] = pose
    out = [pose.copy()]
    mujoco.set_mjcb_passive(passive)
    try:
        for u in commands:
            data.ctrl[:] = u
            mujoco.mj_step(model, data, nstep=fine)
            out.append(data.qpos.copy())
    finally:
        mujoco.set_mjcb_passive(None)
    return np.array(out)


def logs(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """What the truth does, and what is read of it [n, steps + 1, nq]."""
    model = case.model(case.values())
    clean = []
    for pose, commands in zip(case.poses, case.commands, strict=True):
        if case.friction is None:
            clean.append(rollout(model, pose, commands))
        else:
            clean.append(with_friction(case.model(case.values()), case.friction, pose, commands))
    truth = np.array(clean)
    rng = np.random.default_rng([case.seed, 1])
    return truth, truth + case.noise * rng.standard_normal(truth.shape)


def chain(
    axes: str, lengths: np.ndarray, masses: np.ndarray, dt: float, kp: np.ndarray | None
) -> str:
    """MJCF of an arm standing up along z: motors, or position servos of gains kp and kp/10."""
    text, ends, acts = "", "", ""
    at = 0.0
    for i, axis in enumerate(axes):
        l, m = float(lengths[i]), float(masses[i])
        direction = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}[axis]
        side = m * (l * l / 12 + 0.03**2)
        text += f"""
<body name="l{i}" pos="0 0 {at!r}">
  <inertial pos="0.01 -0.01 {0.5 * l!r}" mass="{m!r}"
    diaginertia="{side!r} {side!r} {m * 0.04**2!r}"/>
  <joint name="j{i}" type="hinge" axis="{direction}" armature="0.1" damping="1"/>"""
        ends += "</body>"
        at = l
        if kp is None:
            acts += f'\n<motor name="j{i}" joint="j{i}"/>'
        else:
            k = float(kp[i])
            acts += f'\n<position name="j{i}" joint="j{i}" kp="{k!r}" kv="{0.1 * k!r}"/>'
    return document(text + ends, acts, dt)


def document(bodies: str, actuators: str, dt: float) -> str:
    """MJCF around bodies and actuators: MuJoCo's Euler, damping implicit, nothing collides."""
    return f"""<mujoco model="arm"><compiler angle="radian"/>
<option timestep="{dt!r}" integrator="Euler"><flag contact="disable"/></option>
<worldbody>{bodies}</worldbody>
<actuator>{actuators}</actuator>
</mujoco>
"""


def sines(
    rng: np.random.Generator, logs_: int, steps: int, dt: float, size: np.ndarray
) -> np.ndarray:
    """Sums of three sines of random size, frequency and phase, zero at the start [n, steps, nu]."""
    t = dt * np.arange(steps)[:, None]
    out = np.zeros((logs_, steps, len(size)))
    for k in range(logs_):
        for _ in range(3):
            a, f = rng.uniform(0.3, 1.0, len(size)), rng.uniform(0.15, 1.2, len(size))
            p = rng.uniform(0, 2 * np.pi, len(size))
            out[k] += a * size / 2 * np.sin(2 * np.pi * f * t + p)
        out[k] -= out[k][:1]
    return out


def around(rng: np.random.Generator, kind: str, of: str, truth: float, spread: float = 0.7) -> Free:
    """A positive number, started up to exp(spread) off, between a tenth and ten times the truth.

    The bounds are drawn about a guess, not the truth, as they would be in life.
    """
    start = truth * np.exp(rng.uniform(-spread, spread))
    return Free(kind, of, truth, float(start), float(start / 10), float(start * 10))


def beside(rng: np.random.Generator, kind: str, of: str, truth: float, off: float) -> Free:
    """A coordinate, started up to `off` away, within three times that."""
    start = truth + rng.uniform(-off, off)
    return Free(kind, of, truth, float(start), float(start - 3 * off), float(start + 3 * off))


def armatures() -> Case:
    """a: five rotor inertias of a motor-driven arm, all started at 0.01 (as in the rival's own
    test, with noise).
    """
    rng = np.random.default_rng(11)
    dt, steps, n = 0.002, 1000, 5
    mjcf = chain("zyyzy", np.full(n, 0.12), np.array([1.0, 0.8, 0.6, 0.4, 0.2]), dt, None)
    truth = (0.5, 0.4, 0.3, 0.2, 0.1)
    free = tuple(Free("armature", f"j{i}", truth[i], 0.01, 0.001, 1.0) for i in range(n))
    size = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    commands = sines(rng, 5, steps, dt, size)
    return Case("a", mjcf, free, rng.uniform(-0.5, 0.5, (5, n)), commands, 3, 5e-4, 1)


def lengths() -> Case:
    """b: two lengths of a swinging double pendulum (E2) from a grid of 25 starts."""
    dt, steps = 1 / 60, 200
    ball = '<inertial pos="0 {l} 0" mass="1" diaginertia="0.009 0.009 0.009"/>'
    hinge = '<joint name="j{i}" type="hinge" axis="1 0 0"/>'
    bodies = f"""<body name="l0">{ball.format(l=3.0)}{hinge.format(i=0)}
<body name="l1" pos="0 3 0">{ball.format(l=4.0)}{hinge.format(i=1)}</body></body>"""
    low, high = 0.1, 10.0
    free = tuple(Free("length", f"l{i}", t, 1.0, low, high) for i, t in enumerate((3.0, 4.0)))
    side = low + (high - low) * (np.arange(5) + 0.5) / 5
    starts = np.stack(np.meshgrid(side, side, indexing="ij"), -1).reshape(-1, 2)
    poses = np.array([[0.0, 0.0], [0.4, -0.3], [-0.3, 0.6]])
    commands = np.zeros((3, steps, 0))
    return Case("b", document(bodies, "", dt), free, poses, commands, 1, 0.01, 2, starts=starts)


def arm7() -> Case:
    """c: thirty numbers of a seven-joint arm with position servos, 60 s of logs at 1 kHz."""
    rng = np.random.default_rng(13)
    dt, n, steps = 0.001, 7, 10_000
    length = np.array([0.33, 0.3, 0.3, 0.25, 0.25, 0.1, 0.1])
    mass = np.array([3.5, 3.2, 2.8, 2.5, 2.0, 1.5, 0.7])
    kp = np.array([200.0, 200.0, 150.0, 150.0, 60.0, 50.0, 30.0])
    mjcf = chain("zyzyzyz", length, mass, dt, kp)
    armature = rng.uniform(0.03, 0.2, n)
    damping = rng.uniform(0.5, 3.0, n)
    com = rng.uniform(-0.03, 0.03, (n, 2))
    free = [around(rng, "armature", f"j{i}", float(armature[i])) for i in range(n)]
    free += [around(rng, "damping", f"j{i}", float(damping[i])) for i in range(n)]
    free += [around(rng, "mass", f"l{i}", float(mass[i]), 0.4) for i in range(1, n)]
    free += [
        beside(rng, f"com.{c}", f"l{i}", float(com[i, k]), 0.02)
        for i in range(2, n)
        for k, c in enumerate("xy")
    ]
    commands = sines(rng, 8, steps, dt, np.array([1.0, 0.6, 1.0, 0.6, 1.2, 1.0, 1.5]))
    poses = rng.uniform(-0.3, 0.3, (8, n))
    # Servos begin where the arm is.
    return Case("c", mjcf, tuple(free), poses, commands + poses[:, None], 6, 2e-4, 3)


def quadruped(assets: Path) -> Case:
    """d: forty numbers of the A1's twelve joints, its trunk held, 60 s of logs."""
    rng = np.random.default_rng(14)
    dt, steps = 0.002, 5000
    mjcf, joints, bodies, mass, com = a1_held(assets, dt)
    armature = rng.uniform(0.005, 0.02, 12)
    damping = rng.uniform(0.2, 1.0, 12)
    free = [around(rng, "armature", j, float(v)) for j, v in zip(joints, armature, strict=True)]
    free += [around(rng, "damping", j, float(v)) for j, v in zip(joints, damping, strict=True)]
    free += [around(rng, "mass", b, float(v), 0.4) for b, v in zip(bodies, mass, strict=True)]
    for leg in range(4):
        body = bodies[3 * leg + 2]
        free.append(beside(rng, "com.z", body, float(com[3 * leg + 2][2]), 0.03))
    nominal = np.tile([0.0, 0.8, -1.6], 4)
    poses = nominal + rng.uniform(-0.2, 0.2, (8, 12))
    commands = sines(rng, 8, steps, dt, np.tile([0.4, 0.6, 0.6], 4)) + poses[:, None]
    return Case("d", mjcf, tuple(free), poses, commands, 6, 2e-4, 4)


def a1_held(assets: Path, dt: float) -> tuple[str, list[str], list[str], np.ndarray, np.ndarray]:
    """The A1 without shapes, its trunk fixed, a position servo on each joint; joints, the links
    they move, masses and centres of mass of those.
    """
    from scenes import file_of

    text = file_of(assets / "a1" / "a1_primitives.urdf").read_text(encoding="utf-8")
    spec = mujoco.MjSpec.from_string(text)
    for geom in list(spec.geoms):
        spec.delete(geom)
    model = spec.compile()
    bodies, acts, joints, names = "", "", [], []

    def numbers(values: Any) -> str:
        return " ".join(repr(float(v)) for v in values)

    def body(b: int) -> str:
        j = int(model.body_jntadr[b])
        joint, name = model.joint(j).name, model.body(b).name
        joints.append(joint)
        names.append(name)
        return (
            f'<body name="{name}" pos="{numbers(model.body_pos[b])}" '
            f'quat="{numbers(model.body_quat[b])}">'
            f'<inertial pos="{numbers(model.body_ipos[b])}" quat="{numbers(model.body_iquat[b])}" '
            f'mass="{float(model.body_mass[b])!r}" diaginertia="{numbers(model.body_inertia[b])}"/>'
            f'<joint name="{joint}" axis="{numbers(model.jnt_axis[j])}"/>'
            + "".join(body(c) for c in range(1, model.nbody) if model.body_parentid[c] == b)
            + "</body>\n"
        )

    for b in range(1, model.nbody):
        if model.body_parentid[b] == 0:
            bodies += body(b)
    for joint in joints:
        acts += f'<position name="{joint}" joint="{joint}" kp="30" kv="1"/>\n'
    which = [model.body(n).id for n in names]
    return document(bodies, acts, dt), joints, names, model.body_mass[which], model.body_ipos[which]


def friction() -> Case:
    """e: a two-link arm with servos; Stribeck friction and quadratic drag that no model has."""
    rng = np.random.default_rng(15)
    dt, steps = 0.004, 2000
    mjcf = chain("yy", np.array([0.4, 0.35]), np.array([1.5, 1.0]), dt, np.array([60.0, 30.0]))
    # Coulomb (N m), breakaway above it (N m), Stribeck's speed, width of the sign (rad/s), drag.
    law = np.array([[0.6, 0.5, 0.25, 0.02, 0.25], [0.3, 0.25, 0.25, 0.02, 0.15]])
    free = [around(rng, "armature", f"j{i}", v) for i, v in enumerate((0.08, 0.05))]
    free += [around(rng, "damping", f"j{i}", v) for i, v in enumerate((0.3, 0.2))]
    poses = rng.uniform(-0.4, 0.4, (8, 2))
    commands = sines(rng, 8, steps, dt, np.array([1.2, 1.5])) + poses[:, None]
    return Case("e", mjcf, tuple(free), poses, commands, 6, 1e-3, 5, friction=law, integrator="RK4")


def make(name: str, assets: Path) -> Case:
    """A case by its letter."""
    built = {"a": armatures, "b": lengths, "c": arm7, "e": friction}
    case = quadruped(assets) if name == "d" else built[name]()
    if case.integrator == "RK4":
        mjcf = case.mjcf.replace('integrator="Euler"', 'integrator="RK4"')
        return replace(case, mjcf=mjcf)
    return case


def started(case: Case, x: np.ndarray) -> Case:
    """The case with other starting values x [p]."""
    free = tuple(replace(f, start=float(v)) for f, v in zip(case.free, x, strict=True))
    return replace(case, free=free)
