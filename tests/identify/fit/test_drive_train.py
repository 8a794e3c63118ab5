"""Each part of a drive train is found from a noisy log of angles, within its interval."""

import numpy as np
import pytest

import graftsim as gs
from graftsim.identify.runs.gradient import local_sizes

DT, NOISE, STEPS = 0.004, 2e-4, 1500


def machine(part, numbers):
    """A weighted arm on one joint, driven by the part in question."""
    builder = gs.Builder(part)
    joint = {"armature": 0.02, "damping": 0.2, "friction": 0.05, "friction_velocity": 0.05}
    joint |= {k.removeprefix("joint."): v for k, v in numbers.items() if k.startswith("joint.")}
    drive = {k.removeprefix("actuator."): v for k, v in numbers.items() if "actuator." in k}
    builder.link("arm", axis=(0, 1, 0), mass=0.5, com=(0.12, 0, 0), inertia=0.003, **joint)
    kind = {"voltage": "voltage", "hobby": "voltage_servo", "pid": "pid", "line": "torque"}
    servo = {"kp": 20.0, "kd": 0.3}
    fixed = {
        "voltage": {}, "hobby": {"kp": 2.0, "supply": 12.0}, "pid": servo | {"ki": 15.0},
        "line": {"gain": 1.0, "stall_force": 3.0, "no_load_speed": 20.0},
    }.get(part, servo)  # fmt: skip
    target = "arm"
    if part == "gear":
        tendon = {k.removeprefix("tendon."): v for k, v in numbers.items() if "tendon." in k}
        gap = tendon.pop("slack_upper") - tendon.pop("slack_lower")
        builder.elastic("arm", armature=0.02, damping=0.05, backlash=gap, rounding=5e-3, **tendon)
        target = "arm/rotor"
    builder.actuator("motor", target, kind.get(part, "position"), **fixed | drive)
    return gs.Simulator(builder.build(), DT, substeps=8, integrator=gs.ImplicitDamping())


def commands(part):
    """Random levels, held; of the size that the part takes. Smooth where a gap would chatter."""
    if part == "gear":
        t = DT * np.arange(STEPS)[:, None]
        return 0.4 * np.sin(2 * np.pi * 0.7 * t) + 0.2 * np.sin(2 * np.pi * 1.9 * t)
    size = {"voltage": 6.0, "line": 2.5}.get(part, 0.6)
    levels = np.random.default_rng(7).uniform(-1, 1, -(-STEPS // 30))
    return size * np.repeat(levels, 30)[:STEPS, None]


# True numbers, and where a fit starts.
PARTS = {
    "voltage": ({"actuator.motor_constant": 0.4, "actuator.resistance": 1.5}, (0.3, 1.0)),
    "hobby": ({"actuator.motor_constant": 0.4, "actuator.duty_limit": 0.5}, (0.5, 0.8)),
    "pid": ({"actuator.ki": 25.0, "actuator.zero": 0.03}, (10.0, 0.0)),
    "line": ({"actuator.stall_force": 1.6, "actuator.no_load_speed": 9.0}, (2.2, 14.0)),
    "zero": ({"actuator.zero": 0.02, "actuator.kp": 24.0}, (0.0, 20.0)),
    "lag": ({"actuator.time_constant": 0.06, "actuator.kp": 24.0}, (0.03, 20.0)),
    "load": ({"joint.load_friction": 0.08, "joint.friction": 0.05}, (0.02, 0.02)),
    "gear": (
        {"tendon.stiffness": 60.0, "tendon.slack_lower": -0.02, "tendon.slack_upper": 0.02},
        (90.0, -0.01, 0.01),
    ),
}


@pytest.mark.parametrize("part", PARTS)
def test_numbers_are_recovered(part):
    """Within four standard deviations, and known to a tenth."""
    truth, start = PARTS[part]
    real = machine(part, truth)
    u = commands(part)
    run = real.rollout(real.initial_state(), u)
    rng = np.random.default_rng(1)
    columns, arrays = {"control[motor]": "u"}, {"time": np.asarray(run.time), "u": np.append(u, 0)}
    for i, dof in enumerate(real.model.tree.dofs):
        columns[f"joint.q[{dof}]"] = dof
        arrays[dof] = np.asarray(run.q[:, i]) + NOISE * rng.normal(size=STEPS + 1)
    log = gs.recording_from_arrays(arrays, columns, name=part, time="time")
    begin = machine(part, dict(zip(truth, start, strict=True)))
    free = {f"{name}[*]": gs.Bounds(1e-6, 1e3) for name in truth}
    free |= {n: gs.Unbounded() for n in free if "zero" in n or "slack" in n}
    noise = {name: NOISE for name in log if name.startswith("joint.q")}
    result = gs.fit(gs.Problem(begin, log, free, noise=noise))
    assert result.outcome == "converged"
    # Nothing is left but the noise: windows begin with all that drives and lags remember.
    for error in result.errors:
        assert error.train_after < 1.1 * NOISE, error
    for row in result.parameters:
        value = truth[row.name.split("[")[0]]
        assert abs(row.value - value) < 4 * row.std, row
        assert row.std < 0.1 * abs(value), row


@pytest.mark.parametrize("part", ["pid", "lag"])
def test_what_drives_remember_has_a_size_for_first_order_solvers(part):
    """Of each unknown of an initial state one."""
    real = machine(part, PARTS[part][0])
    run = real.rollout(real.initial_state(), commands(part)[:300])
    arrays = {"time": np.asarray(run.time), "arm": np.asarray(run.q[:, 0])}
    arrays["u"] = np.append(commands(part)[:300], 0)
    columns = {"control[motor]": "u", "joint.q[arm]": "arm"}
    log = gs.recording_from_arrays(arrays, columns, name=part, time="time")
    problem = gs.Problem(real, log, ["actuator.kp[motor]"])
    assert problem.nlocal == 3 == len(local_sizes(problem)) == len(problem.local_std)
