"""A term of joint forces from outside the package: one class in a file of its own."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import graftsim as gs
from graftsim.identify.inverse.forces.term import Columns


@dataclass(frozen=True)
class Cogging(gs.ForceTerm):
    """A motor's torque that comes back `teeth` times a turn: a sin(teeth q) + b cos(teeth q)."""

    name: ClassVar[str] = "joint.cogging"

    teeth: int = 7

    def columns(self, motion):
        dofs, nv = motion.model.tree.dofs, motion.model.nv
        angle = self.teeth * motion.q[:, :, None] * np.eye(nv)
        forces = np.concatenate([np.sin(angle), np.cos(angle) * np.eye(nv)], -1)
        names = [f"{self.name}[{dof}].{part}" for part in ("sin", "cos") for dof in dofs]
        none = np.zeros(2 * nv)
        return Columns(tuple(names), ("N m",) * 2 * nv, forces, none, none > 0)


def test_a_force_term():
    """Beside those of the package: its numbers are found, and five times less is left."""
    rng, t = np.random.default_rng(0), np.arange(5000) / 250
    w = 2 * np.pi * np.array([0.1, 0.27, 0.4])
    q = np.sin(t[:, None] * w) @ np.array([1.0, 0.8, 0.3])
    qd = np.cos(t[:, None] * w) @ (w * [1.0, 0.8, 0.3])
    qdd = -np.sin(t[:, None] * w) @ (w**2 * [1.0, 0.8, 0.3])
    b = gs.Builder("arm").link(
        "rod", axis=(1, 0, 0), mass=1.0, com=(0, 0, -0.3), inertia=0.01, joint_name="hinge"
    )
    model = b.build()
    gravity = 9.81 * 0.3 * np.sin(q)
    tau = (0.01 + 0.09) * qdd + gravity + 0.2 * qd + 0.15 * np.sin(7 * q)
    tau = tau + 0.02 * rng.normal(size=len(t))
    columns = {"joint.q[hinge]": "q", "joint.tau[hinge]": "tau"}
    recording = gs.recording_from_arrays({"time": t, "q": q, "tau": tau}, columns, time="time")
    without = gs.inverse_fit(model, recording, cutoff=gs.Cutoff(20.0))
    terms = (*gs.FORCE_TERMS, Cogging())
    fit = gs.inverse_fit(model, recording, terms=terms, cutoff=gs.Cutoff(20.0))
    assert fit.value("joint.cogging[hinge].sin") == pytest.approx(0.15, abs=0.01)
    assert fit.value("joint.cogging[hinge].cos") == pytest.approx(0.0, abs=0.01)
    assert fit.errors[0].heldout_after < 0.2 * without.errors[0].heldout_after
