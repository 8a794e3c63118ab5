"""Drag of boxes and lift: MuJoCo's simple fluid model and gravity compensation."""

import jax
import mujoco
import numpy as np
import pytest

import graftsim as gs
from graftsim.dynamics import actuation
from graftsim.dynamics.mechanism import prepare
from graftsim.engine.forces import acceleration
from graftsim.model.fuse import fuse
from graftsim.taps import OFF

BODIES = """<mujoco><option {option}/><worldbody>
<body name="trunk" pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .3" pos=".1 0 .05"/>
<body name="arm" pos=".2 0 0" {gravcomp}><joint name="a" axis="0 1 0" pos="0 0 .1"/>
<joint name="b" axis="1 0 0"/><geom type="capsule" size=".03 .2" pos="0 0 -.2" euler="20 30 0"/>
<body name="hand" pos="0 0 -.4" euler="0 40 0" {gravcomp}><geom size=".05" pos=".1 0 0"/></body>
</body></body></worldbody><actuator><motor joint="a"/></actuator></mujoco>"""
OPTIONS = {
    "water": ('density="1000" viscosity="0.0009"', ""),
    "honey": ('viscosity="10"', ""),
    "lift": ("", 'gravcomp="0.7"'),
    "all": ('density="1.2" viscosity="0.3" gravity="1 2 -9"', 'gravcomp="1.5"'),
}


def accelerations(model, q, qd, u):
    state = gs.Simulator(model).initial_state(q, qd)
    return acceleration(prepare(model), state, actuation.Commands(u), scope=OFF).qdd


@pytest.mark.parametrize("name", OPTIONS)
def test_as_mujoco(tmp_path, name):
    """Accelerations at random states, of the model, fused, and of the file written and read."""
    option, gravcomp = OPTIONS[name]
    path = tmp_path / "robot.xml"
    path.write_text(BODIES.format(option=option, gravcomp=gravcomp))
    mj = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(mj)
    model = gs.load(path)
    gs.write_mjcf(model, tmp_path / "again.xml")
    models = (model, fuse(model), gs.load(tmp_path / "again.xml"))
    rng = np.random.default_rng(0)
    q, qd = rng.normal(size=9), rng.normal(size=8)
    q[3:7] /= np.linalg.norm(q[3:7])
    data.qpos[:], data.qvel[:], data.ctrl[:] = q, qd, 0.3
    mujoco.mj_forward(mj, data)
    assert np.abs(data.qfrc_passive).max() > 1e-3
    for m in models:
        found = jax.jit(accelerations)(m, q, qd, np.full(1, 0.3))
        np.testing.assert_allclose(found, data.qacc_smooth, rtol=1e-9, atol=1e-9)


def test_terminal_speed():
    """A cube of side b that falls in a fluid: m g = rho b^2 v^2 / 2."""
    side, density = 0.1, 1.2
    builder = gs.Builder(density=density)
    builder.link("cube", joint="prismatic", mass=2.0, inertia=2.0 * side**2 / 6)
    builder.surround("cube", box=(side,) * 3)
    simulator = gs.Simulator(builder.build(), 0.01, integrator=gs.RungeKutta4())
    speed = float(simulator.rollout(simulator.initial_state(), steps=20_000).qd[-1, 0])
    np.testing.assert_allclose(speed, -np.sqrt(2 * 2.0 * 9.81 / (density * side**2)), rtol=1e-9)


def test_gradients():
    """Of density, viscosity, boxes and lift, in both modes, against differences."""
    builder = gs.Builder(density=3.0, viscosity=0.2)
    builder.link("a", axis=(0, 1, 0), mass=1.0, com=(0.1, 0, 0.3), inertia=0.1)
    builder.link("b", "a", axis=(1, 0, 0), origin=(0, 0, 0.5), mass=1.0, inertia=0.1)
    builder.surround("b", (0.1, 0.2, 0.3), box=(0.3, 0.4, 0.5), lift=0.3)
    model = builder.build()
    q, qd, u = np.array([0.3, -0.4]), np.array([1.0, 2.0]), np.zeros(0)

    for name in ("world.density", "world.viscosity", "medium.box", "medium.lift"):
        x0 = np.asarray(gs.model.leaf(model, name))

        def f(x, name=name):
            return accelerations(gs.model.with_leaf(model, name, x), q, qd, u)

        forward, reverse = jax.jacfwd(f)(x0), jax.jacrev(f)(x0)
        np.testing.assert_allclose(forward, reverse, rtol=1e-10, atol=1e-12)
        for place in np.ndindex(x0.shape):
            h = 1e-6
            e = np.zeros(x0.shape)
            e[place] = h
            slope = (f(x0 + e) - f(x0 - e)) / (2 * h)
            np.testing.assert_allclose(forward[(slice(None), *place)], slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("what", ['wind="1 0 0" density="1"', 'density="1"'])
def test_other_fluids_are_refused(tmp_path, what):
    """Wind and ellipsoids, with the option that goes on without the fluid."""
    path = tmp_path / "robot.xml"
    text = BODIES.format(option=what, gravcomp="")
    path.write_text(
        text if "wind" in what else text.replace('size=".05"', 'size=".05" fluidshape="ellipsoid"')
    )
    with pytest.raises(gs.FileError, match="--without fluid"):
        gs.load(path)
    model = gs.load(path, without=["fluid"])
    assert not model.medium.link
    assert any("left out, as asked for" in c for c in model.caveats)
