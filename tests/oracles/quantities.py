"""The same quantities of a mechanism from three engines, to be compared number by number.

Each function returns a dictionary with these keys, in our conventions:
R, p [nl]: link poses; v [nl, 6]: link velocities (angular; linear) in link axes; J [6, nv]: of the
last link's origin in world axes; H [nv, nv]; C [nv]; qdd [nv] of joint forces tau and spatial
forces f [nl, 6] on the links; tau_inverse [nv]: joint forces of accelerations qdd_given under f.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import mujoco
import numpy as np
import pinocchio as pin
from to_mujoco import to_mujoco
from to_pinocchio import to_pinocchio

import zoo
from graftsim import dynamics
from graftsim.model import Model


class Case(NamedTuple):
    """A state with forces and accelerations."""

    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray
    qdd: np.ndarray
    f: np.ndarray


def random_case(model: Model, seed: int, *, scale: float = 5.0) -> Case:
    """Random state, joint forces, accelerations and link forces."""
    rng = np.random.default_rng(seed + 10_000)
    q, qd = zoo.random_state(model, seed)
    tau, qdd = rng.uniform(-scale, scale, (2, model.nv))
    return Case(q, qd, tau, qdd, rng.uniform(-scale, scale, (model.tree.nl, 6)))


def ours(model: Model, case: Case) -> dict[str, jax.Array]:
    """Traceable; one compilation serves a topology."""
    q, qd, tau, qdd, f = case
    R, p = dynamics.link_poses(model, q)
    return {
        "R": R,
        "p": p,
        "v": dynamics.link_velocities(model, q, qd),
        "J": dynamics.jacobian(model, q, model.tree.links[-1]),
        "H": dynamics.mass_matrix(model, q),
        "C": dynamics.bias_forces(model, q, qd),
        "qdd": dynamics.forward_dynamics(model, q, qd, tau, f),
        "tau_inverse": dynamics.inverse_dynamics(model, q, qd, qdd, f),
    }


def of_mujoco(model: Model, case: Case) -> dict[str, np.ndarray]:
    """MuJoCo's answer."""
    m = to_mujoco(model)
    d = rigid_only(m, case, *zoo.depth_first(model)[1:])
    bodies = [mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_BODY, n) for n in model.tree.links]
    R = d.xmat[bodies].reshape(-1, 3, 3)
    for i, body in enumerate(bodies):
        n_world, f_world = R[i] @ case.f[i, :3], R[i] @ case.f[i, 3:]
        arm = d.xipos[body] - d.xpos[body]
        d.xfrc_applied[body] = [*f_world, *(n_world - np.cross(arm, f_world))]
    mujoco.mj_forward(m, d)
    v = np.zeros((len(bodies), 6))
    for i, body in enumerate(bodies):
        mujoco.mj_objectVelocity(m, d, mujoco.mjtObj.mjOBJ_XBODY, body, v[i], 1)
    found = {"R": R, "p": d.xpos[bodies], "v": v, "qdd": d.qacc.copy(), "C": d.qfrc_bias.copy()}
    found["H"] = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, found["H"])
    linear, angular = np.zeros((2, 3, m.nv))
    mujoco.mj_jacBody(m, d, linear, angular, bodies[-1])
    found["J"] = np.concatenate([angular, linear])
    # mj_inverse takes Cartesian forces for unexplained ones: they are its answer to subtract.
    d.qacc[:] = case.qdd[zoo.depth_first(model)[2]]
    mujoco.mj_inverse(m, d)
    applied = np.zeros(m.nv)
    for body in bodies:
        f, n = d.xfrc_applied[body, :3], d.xfrc_applied[body, 3:]
        mujoco.mj_applyFT(m, d, f, n, d.xipos[body], body, applied)
    found["tau_inverse"] = d.qfrc_inverse - applied
    return _in_our_order(found, zoo.depth_first(model)[2])


def rigid_only(
    m: mujoco.MjModel, case: Case, rows_q: np.ndarray, rows_v: np.ndarray
) -> mujoco.MjData:
    """Data at a state under joint forces: no contact, passive, limit or actuator forces."""
    for what in ("CONSTRAINT", "SPRING", "DAMPER", "ACTUATION"):
        m.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{what}")
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:], d.qfrc_applied[:] = case.q[rows_q], case.qd[rows_v], case.tau[rows_v]
    mujoco.mj_forward(m, d)
    return d


def of_pinocchio(model: Model, case: Case) -> dict[str, np.ndarray]:
    """Pinocchio's answer, in our coordinates."""
    P = to_pinocchio(model)
    m = P.model
    _, rows_q, rows_v = zoo.depth_first(model)
    links = range(model.tree.nl)
    last = m.addFrame(
        pin.Frame("last", P.carrier[links[-1]], P.placement[links[-1]], pin.FrameType.OP_FRAME)
    )
    data = m.createData()
    T, drift = P.velocity_map(case.q[rows_q], case.qd[rows_v])
    q, v = P.q(case.q[rows_q]), T @ case.qd[rows_v]
    pin.forwardKinematics(m, data, q, v)
    poses = [data.oMi[P.carrier[i]] * P.placement[i] for i in links]
    speeds = [P.placement[i].actInv(data.v[P.carrier[i]]) for i in links]
    total = [pin.Force.Zero() for _ in range(m.njoints)]
    for i in links:
        own = pin.Force(case.f[i, 3:], case.f[i, :3])
        total[P.carrier[i]] = total[P.carrier[i]] + P.placement[i].act(own)
    forces = pin.StdVec_Force()
    forces.extend(total)
    J = pin.computeFrameJacobian(m, data, q, last, pin.LOCAL_WORLD_ALIGNED) @ T
    H = np.triu(pin.crba(m, data, q))
    H = H + np.triu(H, 1).T
    # Our armature resists qdd, Pinocchio's T qdd + drift: on a free joint they differ by this.
    rotor = m.armature * drift
    tau, qdd = np.linalg.solve(T.T, case.tau[rows_v]) + rotor, T @ case.qdd[rows_v] + drift
    found = {
        "R": np.array([x.rotation for x in poses]),
        "p": np.array([x.translation for x in poses]),
        "v": np.array([[*x.angular, *x.linear] for x in speeds]),
        "J": np.concatenate([J[3:], J[:3]]),
        "H": T.T @ H @ T,
        "C": T.T @ (pin.rnea(m, data, q, v, drift) - rotor),
        "qdd": np.linalg.solve(T, pin.aba(m, data, q, v, tau, forces) - drift),
        "tau_inverse": T.T @ (pin.rnea(m, data, q, v, qdd, forces) - rotor),
    }
    return _in_our_order(found, rows_v)


def _in_our_order(found: dict[str, np.ndarray], rows_v: np.ndarray) -> dict[str, np.ndarray]:
    """Undo the branch-by-branch order of the degrees of freedom."""
    back = np.argsort(rows_v)
    for key in ("J", "H", "C", "qdd", "tau_inverse"):
        found[key] = found[key][..., back]
    found["H"] = found["H"][back]
    return found


def relative_error(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference over the largest number (1 for arrays that are all small)."""
    a, b = np.asarray(a), np.asarray(b)
    if a.size == 0:
        return 0.0
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1.0))
