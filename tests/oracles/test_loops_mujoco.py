"""Accelerations on closed loops against MuJoCo's own M, bias and Jacobian, solved exactly.

MuJoCo's equalities are soft, so its accelerations are not the reference: its inertia, bias force
and the Jacobian of its equalities are, in M qdd + c = tau + J^T lambda, J qdd + (dJ/dt) qd = 0.
"""

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import closed_mechanisms as closed
import graftsim as gs
import zoo
from graftsim.dynamics import forward_dynamics, passive_forces
from graftsim.dynamics.mechanism import prepare
from graftsim.model import fuse


def equalities(mj, data, q):
    """Jacobian and position errors of the equalities at q."""
    data.qpos[:] = q
    mujoco.mj_fwdPosition(mj, data)
    rows = data.efc_type[: data.nefc] == mujoco.mjtConstraint.mjCNSTR_EQUALITY
    J = data.efc_J.reshape(data.nefc, mj.nv) if not mujoco.mj_isSparse(mj) else None
    assert J is not None
    return J[rows], data.efc_pos[: data.nefc][rows].copy()


def exact_acceleration(mj, q, qd, tau):
    """From MuJoCo's M, bias, J; (dJ/dt) qd by differences along the motion."""
    data = mujoco.MjData(mj)

    def J_after(t):
        there = q.copy()
        mujoco.mj_integratePos(mj, there, qd, t)
        return equalities(mj, data, there)[0].copy()

    e = 1e-4
    J_dot = (8 * (J_after(e) - J_after(-e)) - (J_after(2 * e) - J_after(-2 * e))) / (12 * e)
    J, error = equalities(mj, data, q)
    J = J.copy()
    data.qvel[:] = qd
    mujoco.mj_forward(mj, data)
    M = np.zeros((mj.nv, mj.nv))
    mujoco.mj_fullM(mj, data, M)
    free = np.linalg.solve(M, tau + data.qfrc_passive - data.qfrc_bias)
    K = J @ np.linalg.solve(M, J.T)
    force = np.linalg.lstsq(K, -(J @ free + J_dot @ qd), rcond=1e-11)[0]
    return free + np.linalg.solve(M, J.T @ force), error, J @ qd


@pytest.mark.parametrize("name", closed.MJCF)
def test_constrained_accelerations_are_those_of_mujocos_matrices(name, tmp_path):
    """At assembled states with random velocities and joint forces, to 1e-8."""
    model = closed.load(closed.MJCF[name], tmp_path, name)
    mj = mujoco.MjModel.from_xml_path(str(tmp_path / f"{name}.xml"))
    simulator = gs.Simulator(model)
    m = prepare(fuse(model))

    @zoo.jit
    def accelerations(s, tau):
        passive = passive_forces(m, s.q, s.qd)
        return forward_dynamics(m, s.q, s.qd, passive + tau)

    for seed in range(3):
        state = closed.random_assembled(simulator, seed)
        q, qd = np.asarray(state.q), np.asarray(state.qd)
        tau = np.random.default_rng(seed).normal(size=mj.nv)
        found = accelerations(state, jnp.asarray(tau))
        expected, error, rate = exact_acceleration(mj, q, qd, tau)
        assert np.abs(error).max() < 1e-9
        assert np.abs(rate).max() < 1e-9
        assert np.abs(found - expected).max() < 1e-8 * max(1, np.abs(expected).max())
