"""Whole trajectories against MuJoCo's integrators: the papers' vacuum swimmer and friends."""

import equinox as eqx
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from to_mujoco import to_mujoco

import zoo
from graftsim.engine import ImplicitDamping, RungeKutta4, SemiImplicitEuler, Simulator
from graftsim.io.load import load

EULER, RK4 = mujoco.mjtIntegrator.mjINT_EULER, mujoco.mjtIntegrator.mjINT_RK4


def torques(steps: int, nu: int, size: float, seed: int = 0) -> np.ndarray:
    """Random torques, each held for 50 steps."""
    rng = np.random.default_rng(seed)
    return np.repeat(rng.uniform(-size, size, (-(-steps // 50), nu)), 50, axis=0)[:steps]


def mujoco_rollout(m, q, qd, forces):
    """Positions and velocities at every step under joint forces [steps, nv]."""
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:] = q, qd
    qs, qds = [d.qpos.copy()], [d.qvel.copy()]
    for force in forces:
        d.qfrc_applied[:] = force
        mujoco.mj_step(m, d)
        qs.append(d.qpos.copy())
        qds.append(d.qvel.copy())
    return np.array(qs), np.array(qds)


def assert_same_trajectory(ours, theirs, tolerance=1e-9):
    """Positions and velocities agree at every step, relative to their sizes."""
    for mine, other in zip((ours.q, ours.qd), theirs, strict=True):
        error = np.abs(np.asarray(mine) - other).max() / max(np.abs(other).max(), 1.0)
        assert error < tolerance, error


@pytest.mark.parametrize("links", [2, 5])
@pytest.mark.parametrize("source", ["file", "readme"])
def test_vacuum_swimmer(assets_dir, links, source):
    """900 steps of 2 ms under random motor torques from rest agree with MuJoCo within 1e-9."""
    file = assets_dir / "swimmer" / f"swimmer{links:02d}.xml"
    model = load(file) if source == "file" else zoo.swimmer(links)
    simulator = Simulator(model, 0.002)
    u = torques(900, links - 1, 5e-4)
    ours = zoo.rollout(simulator, simulator.initial_state(), u, ())
    m = mujoco.MjModel.from_xml_path(str(file))
    forces = np.concatenate([np.zeros((900, 3)), u], 1)
    theirs = mujoco_rollout(m, np.zeros(m.nq), np.zeros(m.nv), forces)
    assert np.abs(theirs[0]).max() > 1  # it does move
    assert_same_trajectory(ours, theirs)


@pytest.mark.parametrize(
    ("integrator", "theirs", "damping"),
    [
        (SemiImplicitEuler(), EULER, 0.0),
        (ImplicitDamping(), EULER, 0.5),
        (ImplicitDamping(), EULER, 1e4),
        (RungeKutta4(), RK4, 0.2),
    ],
    ids=["semi_implicit", "implicit", "implicit_stiff", "rk4"],
)
def test_integrators(integrator, theirs, damping):
    """300 steps of a tree with every joint type agree with MuJoCo's integrator, damping too."""
    model = zoo.random_model(zoo.every_type(), 1)
    model = eqx.tree_at(lambda m: m.joint.damping, model, jnp.full(model.nv, damping))
    q, qd = zoo.random_state(model, 2, speed=1.0)
    forces = torques(300, model.nv, 2.0)
    driven = zoo.with_motors(model)
    simulator = Simulator(driven, 0.002, integrator=integrator)
    ours = zoo.rollout(simulator, simulator.initial_state(q, qd), forces, ())
    _, rows_q, rows_v = zoo.depth_first(model)
    m = to_mujoco(model, timestep=0.002, integrator=theirs)
    found = mujoco_rollout(m, q[rows_q], qd[rows_v], forces[:, rows_v])
    assert np.abs(found[0][-1] - found[0][0]).max() > 1e-4
    back = (found[0][:, np.argsort(rows_q)], found[1][:, np.argsort(rows_v)])
    assert_same_trajectory(ours, back)
