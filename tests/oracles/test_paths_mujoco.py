"""Cords through space and pushed sites against MuJoCo: lengths, rates, forces, accelerations."""

import mujoco
import numpy as np
import pytest

import graftsim as gs
import strung
import zoo
from graftsim.engine.rollout import scan_steps

TOLERANCE = 1e-10


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Both models, and a program for what ours says of a state."""
    path = tmp_path_factory.mktemp("strung") / "cords.xml"
    path.write_text(strung.CORDS)
    model = gs.load(path)
    simulator = gs.Simulator(model, 1e-3)
    names = ("tendon.length", "tendon.rate", "joint.tau_tendon", "joint.tau_actuator",
             "actuator.force", "joint.qdd", "joint.tau_damping")  # fmt: skip
    run = zoo.jit(lambda s, u: scan_steps(simulator, s, u[None], names).recorded)
    return mujoco.MjModel.from_xml_path(str(path)), model, simulator, run


@pytest.mark.parametrize("seed", range(4))
def test_lengths_forces_and_accelerations(both, seed):
    """At random poses, velocities and commands, each to 1e-10 of its size."""
    mj, model, simulator, run = both
    q, qd = zoo.random_state(model, seed)
    u = np.random.default_rng(seed).normal(size=model.nu)
    d = mujoco.MjData(mj)
    d.qpos[:], d.qvel[:], d.ctrl[:] = q, qd, u
    mujoco.mj_forward(mj, d)
    found = {k: np.asarray(v)[0] for k, v in run(simulator.initial_state(q, qd), u).items()}
    expected = {
        "tendon.length": d.ten_length, "tendon.rate": d.ten_velocity,
        "joint.tau_actuator": d.qfrc_actuator, "actuator.force": d.actuator_force,
        "joint.qdd": d.qacc_smooth,
    }  # fmt: skip
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, atol=TOLERANCE * np.abs(value).max())
    passive = found["joint.tau_tendon"] + found["joint.tau_damping"]
    np.testing.assert_allclose(passive, d.qfrc_passive, atol=TOLERANCE * np.abs(passive).max())


def _named(model):
    """Paths and sites by the names of their frames."""
    frames = (*model.frame.names, None)
    path = [(x.tendon, x.share, [frames[i] for i in x.frames]) for x in model.tendon.path]
    return path, [[frames[i] for i in both] for both in model.actuator.sites]


def test_written_and_read_again(both, tmp_path):
    """The same lengths, transmissions and accelerations here, the same file opens in MuJoCo."""
    _, model, simulator, run = both
    gs.write_mjcf(model, tmp_path / "again.xml")
    again = gs.load(tmp_path / "again.xml")
    assert _named(again) == _named(model)
    q, qd = zoo.random_state(model, 7)
    u = np.ones(model.nu)
    mj = mujoco.MjModel.from_xml_path(str(tmp_path / "again.xml"))
    d = mujoco.MjData(mj)
    d.qpos[:], d.qvel[:], d.ctrl[:] = q, qd, u
    mujoco.mj_forward(mj, d)
    found = np.asarray(run(simulator.initial_state(q, qd), u)["joint.qdd"])[0]
    np.testing.assert_allclose(found, d.qacc_smooth, rtol=1e-9)
