from pathlib import Path

import numpy as np
from pytest import approx

import graftsim as gs

DT, FRICTION = 0.01, 0.3
# Of the swimmer's links and the liquid: m, kg/m^3, Pa s.
SIDES, DENSITY, VISCOSITY = (0.002, 0.1, 0.02), 997.0, 0.05


def _arm(friction: float) -> gs.Simulator:
    """A rod with a motor."""
    b = gs.Builder("arm")
    b.link("rod", joint_name="pivot", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.25), inertia=0.02,
           friction=friction, friction_velocity=0.1)  # fmt: skip
    b.actuator("motor", "pivot")
    return gs.Simulator(b.build(), DT, integrator=gs.ImplicitDamping(), substeps=3)


def _log(seed: int, steps: int = 300) -> gs.Recording:
    """Two sines of torque on the arm that has friction, its angle read with 1 mrad of noise."""
    rng, machine, t = np.random.default_rng(seed), _arm(FRICTION), DT * np.arange(steps + 1)
    u = sum(a * np.sin(2 * np.pi * f * t + rng.uniform(0, 6)) for a, f in ((1.2, 0.7), (0.8, 0.31)))
    q = machine.rollout(machine.initial_state(), u[:-1, None]).q[:, 0]
    q = np.asarray(q) + 1e-3 * rng.standard_normal(steps + 1)
    return gs.recording_from_arrays(
        {"time": t, "joint.q[pivot]": q, "control[motor]": u}, name=f"run{seed}"
    )


def _swimmer(**liquid: float) -> gs.Simulator:
    """Two boxes of 10 g with a motor between them, in a plane; liquid: its numbers."""
    a, b, c = (x * x for x in SIDES)
    link = {"mass": 0.01, "inertia": tuple(0.01 / 12 * x for x in (b + c, a + c, a + b))}
    made = gs.Builder("swimmer", **liquid)
    made.link("front", joint="planar", joint_name="place", **link)
    made.link("back", "front", joint_name="waist", origin=(0, -0.05, 0), axis=(0, 0, 1),
              com=(0, -0.05, 0), **link)  # fmt: skip
    made.surround("front", box=SIDES)
    made.surround("back", (0, -0.05, 0), box=SIDES)
    made.actuator("motor", "waist")
    return gs.Simulator(made.build(), DT)


def _swim(seed: int, steps: int = 60) -> gs.Recording:
    """From rest in the liquid, torques held for 0.1 s; read with little noise."""
    rng, liquid = np.random.default_rng(seed), _swimmer(density=DENSITY, viscosity=VISCOSITY)
    u = np.repeat(rng.uniform(-2e-3, 2e-3, steps // 10 + 1), 10)[: steps + 1]
    run = liquid.rollout(liquid.initial_state({"waist": rng.uniform(-0.5, 0.5)}), u[:-1, None])
    columns = {"time": DT * np.arange(steps + 1), "control[motor]": u}
    for kind, x, noise in (("q", run.q, 1e-5), ("qd", run.qd, 1e-4)):
        for i, dof in enumerate(liquid.model.tree.dofs):
            read = np.asarray(x)[:, i] + noise * rng.standard_normal(steps + 1)
            columns[f"joint.{kind}[{dof}]"] = read
    return gs.recording_from_arrays(columns, name=f"swim{seed}")


simulator = _arm(0.0)
recordings, others = [_log(0), _log(1)], _log(2)
swimmer, swims, other_swims = _swimmer(), [_swim(0), _swim(1), _swim(2)], [_swim(3), _swim(4)]


def holds():
    """The friction is learned, and found; the laws of the medium are those of its box."""
    # The mass comes out 2 % low, for which the friction makes up.
    (curve,) = result.grafts[0].curves
    fast = np.abs(curve.x) > 0.5
    assert np.abs(curve.y + FRICTION * np.sign(curve.x))[fast].max() < 0.15 * FRICTION
    assert abs(result.value("link.mass[rod]") - 1.0) < 0.03
    (finding,) = found.findings
    assert (finding.target, finding.inputs) == ("joint.tau_passive[pivot]", ("joint.qd[pivot]",))
    level = next(-x.value for x in finding.formula if x.kind == "coulomb")
    assert level == approx(FRICTION, rel=0.05)
    assert Path("out/report.html").stat().st_size > 1000
    a, b, c = SIDES
    d = sum(SIDES) / 3
    drag = {
        "fx": ("vx", 3 * np.pi * d * VISCOSITY, DENSITY * b * c / 2),
        "fy": ("vy", 3 * np.pi * d * VISCOSITY, DENSITY * a * c / 2),
        "nz": ("wz", np.pi * d**3 * VISCOSITY, DENSITY * c * (a**4 + b**4) / 64),
    }
    assert len(law.findings) == len(drag)
    for finding in law.findings:
        velocity, linear, quadratic = drag[finding.target.rsplit(".", 1)[1]]
        assert finding.inputs == (f"link.com_velocity[*].{velocity}",)
        terms = {term.kind: -term.value for term in finding.formula}
        assert terms == {"linear": approx(linear, 0.05), "quadratic": approx(quadratic, 0.1)}
