"""Accelerations on closed loops from another program's inertia, free accelerations and Jacobian.

Equalities are soft in MuJoCo, and Pinocchio's own model leaves `<mimic>` out: what is compared is
the exact solution of H qdd = H qdd_free + J^T lambda, J qdd + (dJ/dt) qd = 0 with their matrices.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np

# Of differences along the motion (s), of the fourth order.
STEP = 1e-4
# Singular values of J H^-1 J^T below this of the largest are redundant rows.
REDUNDANT = 1e-11


def held(H: np.ndarray, free: np.ndarray, J: np.ndarray, drift: np.ndarray) -> np.ndarray:
    """Accelerations [nv] with J qdd + drift = 0; rows that repeat others do no harm."""
    if not len(J):
        return free
    # Rows of one size, so that what is small is small for a reason.
    size = np.linalg.norm(J, axis=1)
    size[size == 0] = 1.0
    J, drift = J / size[:, None], drift / size
    Y = np.linalg.solve(H, J.T)
    force = np.linalg.lstsq(J @ Y, -(J @ free + drift), rcond=REDUNDANT)[0]
    return free + Y @ force


def mujoco_rows(m: Any, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """J [n, nv] and (dJ/dt) qd [n] of the equalities of a model in which nothing else holds."""
    import mujoco

    d = mujoco.MjData(m)

    def J(t: float) -> np.ndarray:
        d.qpos[:] = q
        mujoco.mj_integratePos(m, d.qpos, qd, t)
        mujoco.mj_fwdPosition(m, d)
        rows = d.efc_type[: d.nefc] == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        return d.efc_J.reshape(d.nefc, m.nv)[rows].copy()

    e = STEP
    near, far = J(e) - J(-e), J(2 * e) - J(-2 * e)
    return J(0.0), (8 * near - far) @ qd / (12 * e)


def mimic_rows(path: Path, dofs: tuple[str, ...]) -> np.ndarray:
    """J [n, nv] of the `<mimic>` of a URDF: rows of constants."""
    text = path.read_text(encoding="utf-8", errors="replace")
    # Prefixes of other programs' tags need not be declared.
    text = re.sub(r"(</?|\s)(\w+):(?=[\w.-]+[\s=/>])", r"\1\2_", text[text.find("<robot") :])
    rows = []
    for joint in ET.fromstring(text).iter("joint"):
        mimic, name = joint.find("mimic"), joint.get("name")
        if mimic is None or name not in dofs or mimic.get("joint") not in dofs:
            continue
        row = np.zeros(len(dofs))
        row[dofs.index(name)] = 1.0
        row[dofs.index(str(mimic.get("joint")))] -= float(mimic.get("multiplier", "1"))
        rows.append(row)
    return np.array(rows).reshape(-1, len(dofs))
