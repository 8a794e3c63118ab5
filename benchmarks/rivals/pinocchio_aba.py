"""Pinocchio's ABA and its analytic derivatives, a call from Python for each step."""

from __future__ import annotations

from typing import Any

import numpy as np

from rivals import Job, Measured, Skip


def load(pin: Any, job: Job) -> Any:
    """Pinocchio's model of the scene.

    Joint by joint: its own reader makes one composite joint of a body's several, and the
    derivatives of those are wrong (Pinocchio 4.1, against differences of its own ABA).
    """
    import mujoco

    mj = mujoco.MjModel.from_xml_string(job.scene.mjcf)
    model = pin.Model()
    model.gravity.linear = mj.opt.gravity
    of, place = {0: 0}, {0: pin.SE3.Identity()}  # a body's joint, and its frame in the joint's
    for b in range(1, mj.nbody):
        parent = mj.body_parentid[b]
        joint, frame = of[parent], place[parent] * _frame(pin, mj.body_pos[b], mj.body_quat[b])
        for j in range(mj.body_jntadr[b], mj.body_jntadr[b] + mj.body_jntnum[b]):
            kind, axis = mujoco.mjtJoint(mj.jnt_type[j]), mj.jnt_axis[j]
            anchor = _frame(pin, mj.jnt_pos[j])
            if kind == mujoco.mjtJoint.mjJNT_FREE:
                joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), f"j{j}")
                frame = pin.SE3.Identity()
                continue
            letter = "R" if kind == mujoco.mjtJoint.mjJNT_HINGE else "P"
            joint = model.addJoint(joint, _axis(pin, letter, axis), frame * anchor, f"j{j}")
            frame = anchor.inverse()
        of[b], place[b] = joint, frame
        turn = _frame(pin, mj.body_ipos[b], mj.body_iquat[b])
        inertia = pin.Inertia(mj.body_mass[b], np.zeros(3), np.diag(mj.body_inertia[b]))
        model.appendBodyToJoint(joint, inertia, frame * turn)
    model.armature = mj.dof_armature.copy()
    return model


def _frame(pin: Any, position: np.ndarray, wxyz: np.ndarray | None = None) -> Any:
    turn = np.eye(3) if wxyz is None else pin.Quaternion(*wxyz).normalized().matrix()
    return pin.SE3(turn, position)


def _axis(pin: Any, letter: str, axis: np.ndarray) -> Any:
    """Revolute (R) or prismatic (P) joint, the quicker kind where the axis is a coordinate's."""
    for name, unit in zip("XYZ", np.eye(3), strict=True):
        if np.array_equal(axis, unit):
            return getattr(pin, f"JointModel{letter}{name}")()
    kind = {"R": "Revolute", "P": "Prismatic"}[letter]
    return getattr(pin, f"JointModel{kind}Unaligned")(*axis)


def measure(job: Job) -> Measured:
    """Damping is a joint force of ours. A free base moves by its body-frame velocity."""
    try:
        import pinocchio as pin
    except ImportError as error:
        raise Skip(f"pinocchio does not import: {error}") from None
    from scenes import DT

    model = load(pin, job)
    data = model.createData()
    damping, nv = _damping(job, model), model.nv
    free = model.nq != nv
    start = _state(pin, model, job, free)

    def forward() -> tuple[np.ndarray, np.ndarray]:
        q, v = start
        for _ in range(job.steps):
            v = v + DT * pin.aba(model, data, q, v, -damping * v)
            q = pin.integrate(model, q, DT * v)
        return q, v

    def gradient() -> np.ndarray:
        q, v = start
        kept = []
        for _ in range(job.steps):
            tau = -damping * v
            dq, dv, dtau = pin.computeABADerivatives(model, data, q, v, tau)
            step = (dq.copy(), dv - _full(dtau) * damping)
            v = v + DT * data.ddq
            if free:
                of_q, of_v = pin.dIntegrate(model, q, DT * v)
                kept.append((*step, of_q, of_v))
            else:
                kept.append((*step, None, None))
            q = pin.integrate(model, q, DT * v)
        pull_q, pull_v = _pull(pin, q, free), np.zeros(nv)
        for dq, dv, of_q, of_v in reversed(kept):
            pull_v = pull_v + DT * (pull_q if of_v is None else of_v.T @ pull_q)
            pull_q = (pull_q if of_q is None else of_q.T @ pull_q) + DT * (dq.T @ pull_v)
            pull_v = pull_v + DT * (dv.T @ pull_v)
        return np.concatenate([pull_q, pull_v])

    measured = Measured(note="loop over steps in Python")
    measured.set_forward(job, forward)
    measured.q = _positions(forward()[0], free)
    if job.gradient:
        measured.set_gradient(job, gradient)
        measured.slope = gradient().tolist()
    return measured


def _full(m: np.ndarray) -> np.ndarray:
    """Symmetric matrix whose upper triangle is given, as Minv may be."""
    return np.triu(m) + np.triu(m, 1).T


def _damping(job: Job, model: Any) -> np.ndarray:
    import mujoco

    damping = mujoco.MjModel.from_xml_string(job.scene.mjcf).dof_damping
    assert len(damping) == model.nv
    return np.array(damping)


def _state(pin: Any, model: Any, job: Job, free: bool) -> tuple[np.ndarray, np.ndarray]:
    """Initial state in Pinocchio's coordinates: quaternion x y z w, base velocity in the body."""
    q, v = job.scene.q.copy(), job.scene.qd.copy()
    if free:
        q[3:7] = q[[4, 5, 6, 3]]
        v[:3] = pin.Quaternion(q[3:7]).matrix().T @ v[:3]
    return q, v


def _positions(q: np.ndarray, free: bool) -> list[float]:
    """In MuJoCo's order."""
    q = q.copy()
    if free:
        q[3:7] = q[[6, 3, 4, 5]]
    return q.tolist()


def _pull(pin: Any, q: np.ndarray, free: bool) -> np.ndarray:
    """Gradient of the sum of squares of q in Pinocchio's tangent space."""
    if not free:
        return 2 * q
    base = 2 * pin.Quaternion(q[3:7]).matrix().T @ q[:3]
    return np.concatenate([base, np.zeros(3), 2 * q[7:]])
