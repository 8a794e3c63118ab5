"""The plain way, to compare with: Pinocchio's regressor, base parameters by pivoted QR, ordinary
least squares. Written apart from graftsim's regression; recordings, split and filters are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from scipy.linalg import qr

import graftsim as gs
from graftsim.identify.inverse.cutoff import Filtering
from graftsim.identify.inverse.signals import parallel, samples

RANDOM_STATES, RANK = 60, 1e-8


class Plain(NamedTuple):
    """An arm of hinges. speeds: of coupled motors, rows s with w = s qd; rotor: has each joint a
    rotor whose inertia its force shows?
    """

    model: gs.Model
    speeds: Sequence[np.ndarray] = ()
    rotor: bool = False

    def errors(
        self, fitted: Sequence[gs.Recording], judged: Sequence[gs.Recording], band: Filtering
    ) -> np.ndarray:
        """Root-mean-square force [nv] that is left of recordings that took no part."""
        rng = np.random.default_rng(0)
        q, qd, qdd = rng.uniform(-3, 3, (3, RANDOM_STATES, self.model.nv))
        random = self.columns(q, qd, qdd)
        A = random.reshape(-1, random.shape[-1])
        A = A / np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        _, R, order = qr(A, mode="economic", pivoting=True)
        size = np.abs(np.diag(R))
        kept = np.sort(order[: int(np.sum(size > RANK * size[0]))])
        X, y = self.rows(fitted, band)
        beta = np.linalg.lstsq(X[..., kept].reshape(-1, len(kept)), y.reshape(-1), rcond=None)[0]
        X, y = self.rows(judged, band)
        return np.sqrt(np.mean((y - X[..., kept] @ beta) ** 2, 0))

    def rows(
        self, recordings: Sequence[gs.Recording], band: Filtering
    ) -> tuple[np.ndarray, np.ndarray]:
        """Filtered columns [n, nv, p] and forces [n, nv]."""
        Xs, ys = [], []
        for piece in samples(self.model, tuple(recordings), band):
            X = self.columns(piece.q, piece.qd, piece.qdd)
            flat = parallel(piece.t, X.reshape(len(X), -1), band)
            Xs.append(flat.reshape(len(flat), *X.shape[1:]))
            ys.append(parallel(piece.t, piece.tau, band))
        return np.concatenate(Xs), np.concatenate(ys)

    def columns(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Joint forces [n, nv, p] of unit inertias, frictions and offsets."""
        built = to_pinocchio(self.model)
        data, nv = built.createData(), built.nv
        v0 = np.asarray(self.model.joint.friction_velocity)
        rows = []
        for k in range(len(q)):
            Y = pin.computeJointTorqueRegressor(built, data, q[k], qd[k], qdd[k])
            parts = [Y, np.diag(qd[k]), np.diag(np.tanh(qd[k] / v0)), np.eye(nv)]
            if self.rotor:
                parts.append(np.diag(qdd[k]))
            for s in self.speeds:
                w = s @ qd[k]
                own = v0[int(np.argmax(np.abs(s)))]
                parts.append(np.outer(s, [s @ qdd[k], w, np.tanh(w / own)]))
            rows.append(np.concatenate(parts, 1))
        return np.array(rows)


def to_pinocchio(model: gs.Model) -> pin.Model:
    """Kinematics of a chain of hinges; a regressor does not read inertias."""
    built = pin.Model()
    built.gravity.linear = np.asarray(model.world.gravity)
    above: list[tuple[int, pin.SE3]] = []
    for i, kind in enumerate(model.tree.types):
        parent = model.tree.parent[i]
        joint, M = above[parent] if parent >= 0 else (0, pin.SE3.Identity())
        w, x, y, z = np.asarray(model.joint.rotation[i])
        R = pin.Quaternion(w, x, y, z).toRotationMatrix()
        M = M * pin.SE3(R, np.asarray(model.joint.origin[i]))
        if kind == "revolute":
            hinge = pin.JointModelRevoluteUnaligned(*np.asarray(model.joint.axis[i]))
            joint, M = built.addJoint(joint, hinge, M, model.tree.joints[i]), pin.SE3.Identity()
        above.append((joint, M))
    return built
