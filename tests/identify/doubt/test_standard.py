"""What may be wrong: every number of the file once, none that is free, with its size."""

import numpy as np

import graftsim as gs
from graftsim.identify.doubt.motion import motion_of
from graftsim.identify.doubt.standard import (
    Number,
    candidates,
    nuisances,
    torque_numbers,
    unit_of,
)
from graftsim.identify.runs.residual_program import compile_windows

DT = 0.01


def problem(free, **how):
    """Two joints, the first driven by a torque."""
    b = gs.Builder("arm")
    b.link("upper", joint_name="shoulder", axis=(0, 1, 0), mass=2.0, com=(0, 0, -0.2), inertia=0.05)
    b.link("lower", "upper", joint_name="elbow", axis=(0, 1, 0), origin=(0, 0, -0.4), mass=1.0,
           com=(0, 0, -0.15), inertia=0.02)  # fmt: skip
    b.actuator("motor", "shoulder")
    simulator = gs.Simulator(b.build(), DT, integrator=gs.RungeKutta4())
    t = DT * np.arange(200)
    columns = {"joint.q[shoulder]": np.sin(3 * t), "joint.q[elbow]": 0.5 * np.sin(4 * t),
               "control[motor]": np.cos(3 * t)}  # fmt: skip
    log = gs.recording_from_arrays(columns, name="log", time=DT)
    return gs.Problem(simulator, log, free, holdout=0, growth=(1.0,), **how)


def test_each_number_stands_there_once():
    """Of links, joints, actuators, effects and the log; not what is free, nor what is fixed."""
    names = [n.name for n in candidates(problem(["joint.damping[*]", "link.inertial[lower]"]))]
    assert len(set(names)) == len(names)
    assert {"effect.clock", "joint.origin[elbow].z", "joint.axis[shoulder].x", "link.mass[upper]",
            "link.com[upper].x", "effect.load_friction[shoulder]", "effect.drag[elbow]",
            "effect.ripple4s[elbow]", "actuator.gain[motor]", "actuator.delay[motor]",
            "joint.stiffness[elbow]"} <= set(names)  # fmt: skip
    # The world does not feel where the first joint sits; nothing drives the elbow.
    assert not {"joint.damping[elbow]", "link.mass[lower]", "link.com[lower].x",
                "link.inertia[lower].xx", "joint.origin[shoulder].z",
                "effect.load_friction[elbow]"} & set(names)  # fmt: skip


def test_a_length_that_is_free_moves_the_joint_at_its_end():
    """Then where joints sit is no matter of its own."""
    names = [n.quantity for n in candidates(problem(["link.length[upper]"]))]
    assert "joint.origin" not in names and "joint.axis" in names


def test_sizes():
    """Of the file as documented, of torques as shares of what moves a joint, of users as given."""
    posed = problem(["joint.damping[*]"], nuisances={"joint.axis[elbow]": 0.1, "effect.clock": 0.0})
    windows = posed.train_windows()
    program = compile_windows(posed, windows)
    local = np.zeros((len(windows), posed.nlocal))
    motion = motion_of(posed, program, posed.parameters.start, local)
    numbers = [*candidates(posed), *torque_numbers(posed).values()]
    found = {n.name: n.size for n in nuisances(posed, numbers, motion)}
    assert found["joint.origin[elbow].x"] == 5e-4
    assert found["joint.axis[shoulder].z"] == np.deg2rad(0.5)
    assert found["joint.axis[elbow].z"] == 0.1 and found["effect.clock"] == 0.0
    assert found["link.mass[lower]"] == 0.05 and found["effect.load_friction[shoulder]"] == 0.05
    np.testing.assert_allclose(found["effect.torque[shoulder]"], 0.03 * motion.torque[0])
    np.testing.assert_allclose(found["joint.friction[elbow]"], 0.1 * motion.torque[1])


def test_units_and_zeros_of_slides():
    """What a slide has wrong is in kg, N and m, its encoder by half a millimetre."""
    b = gs.Builder("lift", gravity=(0, 0, 0))
    b.link("cart", joint="prismatic", joint_name="slide", mass=2.0)
    b.link("arm", "cart", joint_name="hinge", axis=(0, 1, 0), mass=1.0, inertia=0.02)
    b.actuator("a, b", "slide", "position", kp=5.0).actuator("turn", "hinge", "position", kp=5.0)
    model = b.build()
    units = {"joint.armature": ("kg", "kg m^2"), "joint.friction": ("N", "N m"),
             "effect.drag": ("N s^2/m^2", "N m s^2/rad^2"), "effect.torque": ("N", "N m"),
             "effect.load_friction": ("1", "1")}  # fmt: skip
    for quantity, both in units.items():
        assert tuple(unit_of(model, Number(quantity, d)) for d in ("slide", "hinge")) == both
    assert unit_of(model, Number("link.com", "arm", "x")) == "m"
    assert unit_of(model, Number("effect.clock", "")) == "1"
    t = DT * np.arange(200)
    log = gs.recording_from_arrays(
        {"joint.q[slide]": np.sin(3 * t), "joint.q[hinge]": np.sin(4 * t),
         'control["a, b"]': np.cos(3 * t), "control[turn]": np.cos(4 * t)}, name="log", time=DT,
    )  # fmt: skip
    posed = gs.Problem(gs.Simulator(model, DT), log, ["joint.damping[*]"], holdout=0)
    sizes = {n.name: n.size for n in posed.withheld}
    assert sizes['actuator.zero["a, b"]'] == 5e-4
    assert sizes["actuator.zero[turn]"] == np.deg2rad(0.5)
