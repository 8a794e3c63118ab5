from pathlib import Path

import jax
import numpy as np

import graftsim as gs

jax.config.update("jax_enable_x64", True)
DAMPING, DT, STEPS = 0.1, 0.05, 40


def rod(damping: float) -> gs.Simulator:
    """It hangs on a hinge."""
    b = gs.Builder("rod")
    b.link("rod", joint_name="hinge", axis=(1, 0, 0), mass=1.0, com=(0, 0, -0.5), inertia=0.02,
           damping=damping)  # fmt: skip
    return gs.Simulator(b.build(), DT, integrator=gs.ImplicitDamping())


def swing() -> gs.Recording:
    """Two seconds of it."""
    machine = rod(DAMPING)
    q = np.asarray(machine.rollout(machine.initial_state([1.0]), steps=STEPS).q)[:, 0]
    q = q + 1e-3 * np.random.default_rng(0).standard_normal(STEPS + 1)
    return gs.recording_from_arrays({"time": DT * np.arange(STEPS + 1), "joint.q[hinge]": q})


problem = gs.Problem(rod(0.3), swing(), {"joint.damping[hinge]": gs.Bounds(0.0, 0.5)}, holdout=0)


def holds():
    """The damping is found, by tasks whose results were kept; alone the answer is the same."""
    assert abs(result.value("joint.damping[hinge]") - DAMPING) < 0.005
    assert len(list(Path("fit.npz.tasks").iterdir())) >= 512 / 16
    alone = gs.fit(problem, search=gs.RandomRestarts(512))
    assert alone.value("joint.damping[hinge]") == result.value("joint.damping[hinge]")
