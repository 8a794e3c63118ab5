"""Grafts inside MuJoCo's step: roll-outs as ours, a hook that is restored, clear refusals."""

from dataclasses import replace
from pathlib import Path

import jax
import mujoco
import numpy as np
import pytest

import graftsim as gs
from graftsim.errors import GraftsimWarning, InteropError
from graftsim.interop.mujoco import passive_force
from robot_oracle import random_state

STEP = 0.002
TARGETS = (
    ("joint.tau_passive[*]", ("joint.q[*]", "joint.qd[*]")),
    ("link.com_force[*]", ("link.com_velocity[*]",)),
    ("link.force[*]", ("link.velocity[*]",)),
)


def with_weights(simulator, name):
    """The simulator with drawn weights in a graft."""
    graft = simulator.grafts[name]
    weights = 0.3 * np.random.default_rng(0).standard_normal(graft.trainable.shape)
    changed = simulator.grafts.replace(name, graft.with_trainable(weights))
    return replace(simulator, grafts=changed)


def grafted(model, *networks, dt=STEP, **how):
    """A simulator with networks on (target, inputs)."""
    grafts = [
        gs.Graft(target, inputs, gs.MLP(8), output_scale=0.3, name=f"net{k}")
        for k, (target, inputs) in enumerate(networks)
    ]
    plain = gs.Simulator(model, dt, **how)
    simulator = plain.graft(gs.Blueprint(*grafts), key=jax.random.key(0))
    for graft in grafts:
        simulator = with_weights(simulator, graft.name)
    return plain, simulator


def flyer():
    """A floating base with an arm on a hinge, a head on a ball, and a slider."""
    b = gs.Builder("flyer")
    b.link("base", joint="free", mass=2.0, com=(0.02, 0.01, -0.03), inertia=(0.05, 0.06, 0.04))
    b.link("arm", "base", axis=(0, 1, 0), origin=(0.1, 0, -0.1), mass=0.5, com=(0, 0.02, -0.2),
           inertia=(0.01, 0.01, 1e-3))  # fmt: skip
    b.link("head", "base", joint="spherical", origin=(0, 0, 0.2), mass=0.4, com=(0.05, 0, 0.1),
           inertia=(0.004, 0.004, 0.003))  # fmt: skip
    b.link("slider", "arm", joint="prismatic", axis=(0, 0.6, 0.8), origin=(0, 0, -0.3), mass=0.3,
           inertia=(1e-3, 1e-3, 1e-3))  # fmt: skip
    return b.build()


def hinge(name="pivot", axis=(0, 1, 0), mass=1.0, **numbers):
    """A pendulum with a motor."""
    b = gs.Builder("pendulum")
    b.link("bob", joint_name=name, axis=axis, mass=mass, com=(0, 0, -0.4), inertia=0.01, **numbers)
    b.actuator("motor", name)
    return b.build()


def host_of(model, folder: Path, step=STEP, integrator="EULER"):
    """MuJoCo's model of ours, without what makes its step another than ours."""
    path = folder / "robot.xml"
    gs.write_mjcf(model, path)
    host = mujoco.MjModel.from_xml_path(str(path))
    host.opt.timestep = step
    host.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
    return host


def stepped(host, q, qd, steps, ctrl=0.0):
    """Position and velocity after some steps."""
    data = mujoco.MjData(host)
    data.qpos[:], data.qvel[:], data.ctrl[:] = q, qd, ctrl
    mujoco.mj_step(host, data, steps)
    return data.qpos.copy(), data.qvel.copy()


@pytest.mark.parametrize(("target", "inputs"), TARGETS)
def test_floating_base_moves_as_here(tmp_path, target, inputs):
    """The same integrator gives the same motion, step for step: signs, orders and frames.

    The file has the slider before the head.
    """
    model = flyer()
    tree = model.tree
    plain, simulator = grafted(model, (target, inputs))
    q, qd = random_state(model, np.random.default_rng(1))
    start = simulator.initial_state(q, qd)
    motion = simulator.rollout(start, steps=200)
    host = host_of(model, tmp_path)
    data = mujoco.MjData(host)
    assert [host.joint(j).name for j in range(host.njnt)] != list(tree.joints)
    for name, at, dofs in zip(tree.joints, tree.q_index, tree.v_index, strict=True):
        data.joint(name).qpos[:], data.joint(name).qvel[:] = q[at], qd[dofs]
    with passive_force(simulator, host):
        mujoco.mj_step(host, data, 200)
    without = plain.rollout(start, steps=200)
    for name, at, dofs in zip(tree.joints, tree.q_index, tree.v_index, strict=True):
        joint = data.joint(name)
        np.testing.assert_allclose(joint.qpos, motion.q[-1][at], atol=1e-10)
        np.testing.assert_allclose(joint.qvel, motion.qd[-1][dofs], atol=1e-9)
        assert np.abs(np.asarray(without.q[-1][at]) - joint.qpos).max() > 1e-3


def test_planar_joints_go_by_their_parts(tmp_path):
    """Two slides and a hinge there are one joint here."""
    b = gs.Builder("cart")
    b.link("cart", joint="planar", mass=1.0, inertia=0.1)
    b.link("pole", "cart", axis=(0, 1, 0), mass=0.2, com=(0, 0, 0.3), inertia=0.01)
    model = b.build()
    _, simulator = grafted(model, ("joint.tau_passive", ("joint.qd",)))
    q, qd = random_state(model, np.random.default_rng(2))
    motion = simulator.rollout(simulator.initial_state(q, qd), steps=100)
    host = host_of(model, tmp_path)
    with passive_force(simulator, host):
        q_100, _ = stepped(host, q, qd, 100)
    np.testing.assert_allclose(q_100, motion.q[-1], atol=1e-10)


def test_order_of_joints_does_not_matter():
    """Names decide: a file with the branches the other way round, and more than ours knows of."""
    b = gs.Builder("two")
    for name, side in (("left", -1.0), ("right", 1.0)):
        b.link(name, axis=(0, 1, 0), origin=(side, 0, 0), mass=1.0, com=(0, 0, -0.3), inertia=0.02)
    _, simulator = grafted(b.build(), ("joint.tau_passive[left]", ("joint.qd[left]",)))
    body = (
        '<body pos="{x} 0 0"><joint name="{n}" axis="0 1 0"/>'
        '<inertial pos="0 0 -.3" mass="1" diaginertia=".02 .02 .02"/></body>'
    )
    bodies = [body.format(n=n, x=x) for n, x in (("other", 5), ("right", 1), ("left", -1))]
    host = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="0.002"/><worldbody>{"".join(bodies)}</worldbody></mujoco>'
    )
    motion = simulator.rollout(simulator.initial_state([0.5, 0.2], [1.0, -1.0]), steps=100)
    with passive_force(simulator, host) as added:
        q, _ = stepped(host, [0.1, 0.2, 0.5], [0.0, -1.0, 1.0], 100)
        data = mujoco.MjData(host)
        data.qvel[:] = 1.0
        forces = added(data)
    np.testing.assert_allclose(q[[2, 1]], motion.q[-1], atol=1e-10)
    assert forces[2] != 0 and not forces[:2].any()


def test_differs_by_the_integrator_alone(tmp_path):
    """Against a fine roll-out of ours, MuJoCo's Euler converges with order 1, its RK4 with 4."""
    model = hinge()
    graft = ("joint.tau_passive[*]", ("joint.q[*]", "joint.qd[*]"))
    _, fine = grafted(model, graft, dt=0.0005, integrator=gs.RungeKutta4())
    exact = fine.rollout(fine.initial_state([1.0], [0.5]), steps=1600).q[-1]
    for integrator, order in (("EULER", 1), ("RK4", 4)):
        errors = []
        for step in (0.01, 0.005, 0.0025):
            host = host_of(model, tmp_path, step, integrator)
            with passive_force(fine, host):
                q, _ = stepped(host, [1.0], [0.5], round(0.8 / step))
            errors.append(abs(q[0] - exact[0]))
        slopes = np.log2(np.array(errors[:-1]) / errors[1:])
        np.testing.assert_allclose(slopes, order, atol=0.15)


def test_commands_are_those_of_the_host(tmp_path):
    """A graft that scales a motor's force acts on MuJoCo's controls."""
    model = hinge()
    _, simulator = grafted(model, ("actuator.force", ("control.u", "joint.qd")))
    u = np.full((100, 1), 0.7)
    motion = simulator.rollout(simulator.initial_state([0.3]), u)
    host = host_of(model, tmp_path)
    with passive_force(simulator, host):
        q, _ = stepped(host, [0.3], [0.0], 100, ctrl=0.7)
    np.testing.assert_allclose(q, motion.q[-1], atol=1e-11)


def test_the_hook_is_restored(tmp_path):
    """After the block, after an error in it, and around another callback, which goes on acting."""
    model = hinge()
    _, simulator = grafted(model, ("joint.tau_passive", ("joint.q", "joint.qd")))
    host, other = host_of(model, tmp_path), host_of(model, tmp_path)
    # MuJoCo reads no file while a callback is set.
    strange = host_of(flyer(), tmp_path)
    seen = []

    def theirs(host, data):
        seen.append(host._address)

    without = stepped(host, [0.5], [1.0], 3)
    mujoco.set_mjcb_passive(theirs)
    try:
        with passive_force(simulator, host):
            once = stepped(host, [0.5], [1.0], 3)
            assert np.array_equal(stepped(other, [0.5], [1.0], 3), without)
            with passive_force(simulator, host) as added:
                data = mujoco.MjData(host)
                data.qpos[:], data.qvel[:] = 0.5, 1.0
                mujoco.mj_forward(host, data)
                assert data.qfrc_passive[0] == pytest.approx(2 * added(data)[0])
            assert np.array_equal(stepped(host, [0.5], [1.0], 3), once)
        assert {host._address, other._address} <= set(seen)
        assert not np.array_equal(once, without)
        with pytest.raises(ZeroDivisionError), passive_force(simulator, host):
            raise ZeroDivisionError
        with pytest.raises(InteropError), passive_force(simulator, strange):
            pass
        assert mujoco.get_mjcb_passive() is theirs
    finally:
        mujoco.set_mjcb_passive(None)


REFUSED = {
    "no grafts": (lambda: gs.Simulator(hinge(), STEP), "has no grafts"),
    "positions": (lambda: grafted(hinge(), ("state.qd", ("state.q",)))[1], "changes state.qd"),
    "memory": (
        lambda: grafted(hinge(), ("joint.tau_passive", ("joint.qdd@prev",)))[1],
        "remembers the step before",
    ),
    "another name": (
        lambda: grafted(hinge("knee"), ("joint.tau_passive", ("joint.qd",)))[1],
        "no joint 'knee'",
    ),
    "another direction": (
        lambda: grafted(hinge(axis=(0, -1, 0)), ("joint.tau_passive", ("joint.qd",)))[1],
        "the opposite of",
    ),
    "another axis": (
        lambda: grafted(hinge(axis=(0, 0.6, 0.8)), ("joint.tau_passive", ("joint.qd",)))[1],
        "is not that of MuJoCo",
    ),
    "another type": (
        lambda: grafted(hinge(joint="prismatic"), ("joint.tau_passive", ("joint.qd",)))[1],
        "prismatic here, and hinge in",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused(tmp_path, case):
    """Before the first step, by its name."""
    make, said = REFUSED[case]
    with (
        pytest.raises(InteropError, match=said),
        passive_force(make(), host_of(hinge(), tmp_path)),
    ):
        pass
    assert mujoco.get_mjcb_passive() is None


def test_other_masses_are_warned_of(tmp_path):
    """They may be meant; missing actuators and disabled passive forces cannot be."""
    network = ("joint.tau_passive", ("joint.qd",))
    with (
        pytest.warns(GraftsimWarning, match="mass matrix of MuJoCo's model differs by"),
        passive_force(grafted(hinge(mass=1.5), network)[1], host_of(hinge(), tmp_path)),
    ):
        pass
    host = host_of(hinge(), tmp_path)
    disable = mujoco.mjtDisableBit
    host.opt.disableflags |= disable.mjDSBL_SPRING | disable.mjDSBL_DAMPER
    with (
        pytest.raises(InteropError, match="both disabled"),
        passive_force(grafted(hinge(), network)[1], host),
    ):
        pass
