"""The swimmer of E9: a planar chain of thin boxes, MuJoCo's motion of it in a medium, and errors.

A link is a box of 0.002 x 0.1 x 0.02 m and 0.01 kg; q = (x, y, yaw, joints). MuJoCo computes the
truth; graftsim reads the same file without the medium.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs

DT, TORQUE, HELD = 2e-3, 5e-4, 50
SIDES = (0.002, 0.1, 0.02)
TRAIN, LONG = 200, 900


class Medium(NamedTuple):
    """Density (kg/m^3) and viscosity (Pa s)."""

    density: float
    viscosity: float


MEDIA = {
    "water 25 C": Medium(997.0, 0.00089),
    "water 5 C": Medium(1000.0, 0.001518),
    "air 25 C": Medium(1.184, 1.849e-5),
}
VACUUM = Medium(0.0, 0.0)


def mjcf(links: int, medium: Medium = VACUUM) -> str:
    """The chain as an MJCF file."""
    body, close = "", ""
    for k in range(1, links):
        body += (
            f'<body name="link{k}" pos="0 0.1 0"><joint name="joint{k - 1}" type="hinge" '
            'axis="0 0 1" pos="0 -0.05 0" armature="1e-6"/><geom/>'
        )
        close += "</body>"
    motors = "".join(f'<motor name="motor{k}" joint="joint{k}"/>' for k in range(links - 1))
    root = "".join(
        f'<joint name="root_{name}" type="{kind}" axis="{axis}" pos="0 -0.05 0"/>'
        for name, kind, axis in (
            ("x", "slide", "1 0 0"), ("y", "slide", "0 1 0"), ("yaw", "hinge", "0 0 1")
        )
    )  # fmt: skip
    return (
        f'<mujoco model="swimmer"><option timestep="{DT}" density="{medium.density}" '
        f'viscosity="{medium.viscosity}"><flag contact="disable"/></option>'
        '<default><geom type="box" size="0.001 0.05 0.01" mass="0.01"/></default><worldbody>'
        f'<body name="link0" pos="0 0.05 0">{root}<geom/>{body}{close}</body></worldbody>'
        f"<actuator>{motors}</actuator></mujoco>"
    )


def simulator(links: int, medium: Medium = VACUUM) -> gs.Simulator:
    """graftsim's simulator of the chain; by default of a vacuum."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "swimmer.xml"
        path.write_text(mjcf(links, medium), encoding="utf-8")
        return gs.Simulator(gs.load(path), DT)


class Run(NamedTuple):
    """States [steps + 1, 2 nv] (q, then its rate) and torques [steps, nu]."""

    x: np.ndarray
    u: np.ndarray


def swim(
    links: int,
    medium: Medium,
    rng: np.random.Generator,
    *,
    count: int = 10,
    steps: int = LONG,
    spread: float = 0.5,
    controls: Any = None,
) -> list[Run]:
    """MuJoCo's runs from rest: yaw and joints uniform within `spread`, torques held for 50 steps.

    controls: torques [steps, nu] of each run, drawn by this function of the generator instead.
    """
    import mujoco

    model = mujoco.MjModel.from_xml_string(mjcf(links, medium))
    runs = []
    for _ in range(count):
        data = mujoco.MjData(model)
        data.qpos[2:] = rng.uniform(-spread, spread, model.nq - 2)
        if controls is None:
            u = rng.uniform(-TORQUE, TORQUE, (-(-steps // HELD), model.nu))
            u = np.repeat(u, HELD, 0)[:steps]
        else:
            u = controls(rng)
        x = [np.concatenate([data.qpos, data.qvel])]
        for now in u:
            data.ctrl[:] = now
            mujoco.mj_step(model, data)
            x.append(np.concatenate([data.qpos, data.qvel]))
        runs.append(Run(np.array(x), u))
    return runs


def passive_force(links: int, medium: Medium, x: np.ndarray) -> np.ndarray:
    """MuJoCo's generalised force of the medium at states [n, 2 nv]."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(mjcf(links, medium))
    data, out = mujoco.MjData(model), []
    for state in x:
        data.qpos[:], data.qvel[:] = np.split(state, 2)
        mujoco.mj_forward(model, data)
        out.append(data.qfrc_passive.copy())
    return np.array(out)


def quadratic_drag(medium: Medium) -> dict[str, float]:
    """Of a link, by component of the force on its centre: MuJoCo's simple model of a box."""
    (a, b, c), rho = SIDES, medium.density
    return {
        "nz": -rho * c * (a**4 + b**4) / 64, "fx": -rho * b * c / 2, "fy": -rho * a * c / 2
    }  # fmt: skip


def channels(links: int) -> list[str]:
    """Names of the numbers of a state."""
    dofs = ["root_x", "root_y", "root_yaw", *(f"joint{k}" for k in range(links - 1))]
    return [f"joint.{kind}[{dof}]" for kind in ("q", "qd") for dof in dofs]


def recordings(links: int, runs: Sequence[Run], steps: int = TRAIN) -> list[gs.Recording]:
    """The first steps of runs as logs."""
    logs = []
    for k, run in enumerate(runs):
        columns = dict(zip(channels(links), run.x[: steps + 1].T, strict=True))
        last = np.concatenate([run.u[:steps], run.u[steps - 1 : steps]])
        columns |= {f"control[motor{i}]": last[:, i] for i in range(links - 1)}
        logs.append(gs.recording_from_arrays(columns, name=f"run {k}", time=DT))
    return logs


def spread(runs: Sequence[Run], steps: int = TRAIN) -> np.ndarray:
    """Standard deviation of each number of the state over the training steps."""
    return np.concatenate([run.x[: steps + 1] for run in runs]).std(0)


def sampled(log: gs.Recording, t: float) -> tuple[np.ndarray, np.ndarray]:
    """The state as it was recorded at t."""
    i = round(t / DT)
    q, qd = (
        np.array([c.values[i, 0] for n, c in log.channels.items() if n.startswith(kind)])
        for kind in ("joint.q[", "joint.qd[")
    )
    return q, qd


def error(predicted: Sequence[np.ndarray], runs: Sequence[Run], scale: np.ndarray) -> float:
    """Root mean square of all numbers of the states over their scale; angles are not wrapped."""
    parts = [(x - run.x[: len(x)]) / scale for x, run in zip(predicted, runs, strict=True)]
    return float(np.sqrt(np.mean(np.square(parts))))


def roll(simulator: gs.Simulator, runs: Sequence[Run], steps: int) -> list[np.ndarray]:
    """The simulator's states from the first of each run under its torques."""
    nv = runs[0].x.shape[1] // 2

    @jax.jit
    def one(x: Any, u: Any) -> Any:
        motion = simulator.rollout(simulator.initial_state(q=x[:nv], qd=x[nv:]), u)
        return jnp.concatenate([motion.q, motion.qd], -1)

    return [np.asarray(one(jnp.asarray(r.x[0]), jnp.asarray(r.u[:steps]))) for r in runs]
