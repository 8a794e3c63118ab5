"""Fits of cables and thrusters: where a cable ends, and what a rotor's drag is."""

import numpy as np

import graftsim as gs
from graftsim.model import with_leaf

NOISE = 2e-4


def crane():
    """A boom that a spring cable holds and a rotor at its tip turns, on a tilting mast."""
    b = gs.Builder("crane")
    b.link("mast", axis=(0, 1, 0), mass=2.0, com=(0, 0, 0.3), inertia=0.2, damping=0.4)
    b.link("boom", "mast", axis=(1, 0, 0), origin=(0, 0, 0.5), mass=0.5, com=(0, 0.2, 0),
           inertia=0.02, damping=0.05)  # fmt: skip
    b.frame("tip", "boom", (0, 0.4, 0)).frame("anchor", "world", (0.1, 0.3, 1.2))
    b.tendon("cable", path=("anchor", "tip"), stiffness=60.0, slack=(0.3, 0.3))
    b.frame("mast/top", "mast", (0, 0, 0.6))
    b.actuator("rotor", site="mast/top", site_force=(1, 0, 0), site_torque=(0, 0.15, 0))
    return b.build()


def test_places_and_torques_are_found():
    """The cable's end (3 cm off in the file) and the rotor's torque per thrust, to a few sigma."""
    right, dt = crane(), 2e-3
    t = np.arange(1000) * dt
    u = (6 * np.sin(5 * t) + 4 * np.sin(13 * t))[:, None]
    s = gs.Simulator(right, dt)
    run = s.rollout(s.initial_state({"boom": 0.1}), u)
    rng = np.random.default_rng(0)
    data = {"time": np.asarray(run.time), "control[rotor]": np.append(u[:, 0], 0.0)}
    for k, name in enumerate(("mast", "boom")):
        data[f"joint.q[{name}]"] = np.asarray(run.q[:, k]) + NOISE * rng.normal(size=len(run.q))
    log = gs.recording_from_arrays(data, name="run")
    at = right.frame.names.index("anchor"), 2
    wrong = with_leaf(right, "frame.position", right.frame.position.at[at].add(0.03))
    wrong = with_leaf(wrong, "actuator.site_torque", 0 * right.actuator.site_torque)
    free = ["frame.position[anchor].z", "actuator.site_torque[rotor].y", "tendon.stiffness[cable]"]
    noise = {f"joint.q[{k}]": NOISE for k in ("mast", "boom")}
    problem = gs.Problem(
        gs.Simulator(wrong, dt), log, free, horizon=0.25, holdout=0, noise=noise, nuisances=()
    )
    fit = gs.fit(problem)
    truth = (1.2, 0.15, 60.0)
    for row, value in zip(fit.parameters, truth, strict=True):
        assert abs(row.value - value) < 5 * row.std, (row.name, row.value, row.std)
        assert row.std < 0.05 * value
