"""Derivatives by withheld numbers, from differences: those that JAX gives, shared or not."""

from dataclasses import replace

import numpy as np

import graftsim as gs
from graftsim.identify.doubt.standard import candidates
from graftsim.identify.runs.differences import differences
from graftsim.identify.runs.residual_program import compiled

ARMS = "abc"
NUMBERS = tuple(f"actuator.{kind}[{arm}]" for kind in ("kp", "kd", "zero") for arm in ARMS)
SIZES = np.repeat([1.5, 0.05, 0.01], 3)
# Which arm's sensor [s] a number [k] should touch.
APART = np.array([[f"[{arm}]" in n for n in NUMBERS] for arm in ARMS])


def arms() -> gs.Problem:
    """Links on one base that do not feel each other, with servos that follow steps."""
    builder = gs.Builder("arms")
    for k, name in enumerate(ARMS):
        builder.link(
            name, "world", axis=(0, 1, 0), origin=(0.0, float(k), 0.0), mass=1.0,
            com=(0.2, 0.0, 0.0), inertia=(0.01, 0.02, 0.02), damping=0.1, armature=0.01,
        )  # fmt: skip
        builder.actuator(name, name, "position", kp=30.0, kd=1.0)
    simulator = gs.Simulator(builder.build(), 0.01, integrator=gs.ImplicitDamping())
    t = 0.01 * np.arange(101)
    columns = {"time": t}
    for k, name in enumerate(ARMS):
        columns |= {f"u{name}": np.sin((4 + k) * t), f"q{name}": 0.3 * np.sin((4 + k) * t)}
    mapping = {f"joint.q[{n}]": f"q{n}" for n in ARMS} | {f"control[{n}]": f"u{n}" for n in ARMS}
    log = gs.recording_from_arrays(columns, mapping, name="log", time="time")
    return gs.Problem(simulator, log, {"joint.damping[*]": gs.Positive()}, horizon=0.25)


def test_differences_are_derivatives() -> None:
    problem = arms()
    program = compiled(problem, 0.25)
    theta = problem.parameters.start
    local = np.zeros((len(program.data.controls), problem.nlocal))
    exact = program.slopes(theta, local, NUMBERS)
    scale = np.abs(exact).max((0, 1))
    assert (scale > 0).all()
    # The last supposes that numbers of one arm touch another alone: the check must notice.
    for touches in (None, APART, np.ones_like(APART), APART[[1, 2, 0]]):
        found = differences(program, theta, local, NUMBERS, SIZES, touches)
        assert (np.abs(found - exact) < 1e-4 * scale).all()


def test_shared_differences_run_fewer_simulations() -> None:
    problem = arms()
    program = compiled(problem, 0.25)
    theta = problem.parameters.start
    local = np.zeros((len(program.data.controls), problem.nlocal))
    runs: list[int] = []

    class Counting:
        dtype, widths = program.dtype, program.widths

        def displaced(self, theta, local, names, off):
            runs.append(len(off))
            return program.displaced(theta, local, names, off)

    differences(Counting(), theta, local, NUMBERS, SIZES, APART)  # type: ignore[arg-type]
    # None off, one of each kind for all arms, and the check.
    assert runs == [5]


def test_no_number_is_off_along_an_axis() -> None:
    problem = arms()
    names = {n.name for n in candidates(problem)}
    assert {"joint.axis[a].x", "joint.axis[a].z"} <= names
    assert "joint.axis[a].y" not in names
    tilted = replace(problem.simulator.model.joint, axis=problem.simulator.model.joint.axis + 0.1)
    model = replace(problem.simulator.model, joint=tilted)
    other = replace(problem, simulator=replace(problem.simulator, model=model))
    assert "joint.axis[a].y" in {n.name for n in candidates(other)}
