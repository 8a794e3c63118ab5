"""What may be wrong: every number of the file once, none that is free, with its size."""

import numpy as np

import graftsim as gs
from graftsim.identify.doubt.motion import motion_of
from graftsim.identify.doubt.standard import candidates, nuisances, torque_numbers
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
