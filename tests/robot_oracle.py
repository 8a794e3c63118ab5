"""MuJoCo as an oracle for robot files: mass matrix, bias and passive forces at random states."""

import mujoco
import numpy as np

from graftsim.dynamics import bias_forces, mass_matrix, passive_forces


def random_state(model, rng):
    """Random position (unit quaternions) and velocity in the model's coordinates."""
    q = rng.normal(size=model.nq)
    for i, kind in enumerate(model.tree.types):
        rows = model.tree.q_index[i]
        if kind in ("free", "spherical"):
            q[rows[-4:]] /= np.linalg.norm(q[rows[-4:]])
    return q, rng.normal(size=model.nv)


def terms(model, q, qd):
    """Mass matrix, bias and passive forces of ours."""
    return mass_matrix(model, q), bias_forces(model, q, qd), passive_forces(model, q, qd)


def mujoco_terms(mj, q, qd):
    """The same of MuJoCo's compiled model, whose coordinates are in the same order."""
    data = mujoco.MjData(mj)
    data.qpos[:], data.qvel[:] = q, qd
    mujoco.mj_forward(mj, data)
    M = np.zeros((mj.nv, mj.nv))
    mujoco.mj_fullM(mj, data, M)
    return M, data.qfrc_bias.copy(), data.qfrc_passive.copy()


def assert_same(model, other, *, rtol=1e-9, passive=True, seed=0, states=3):
    """`other` (a Model with the same coordinates, or an MjModel) has the same dynamics."""
    rng = np.random.default_rng(seed)
    for _ in range(states):
        q, qd = random_state(model, rng)
        ours = terms(model, q, qd)
        if isinstance(other, mujoco.MjModel):
            theirs = mujoco_terms(other, q, qd)
        else:
            theirs = terms(other, q, qd)
        names = ("mass matrix", "bias", "passive")[: 3 if passive else 2]
        for name, a, b in zip(names, ours, theirs, strict=False):
            scale = max(float(np.abs(b).max()), 1e-12)
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * scale, err_msg=name)
