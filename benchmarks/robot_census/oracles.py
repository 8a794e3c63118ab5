"""What MuJoCo and Pinocchio say of a robot file, in graftsim's coordinates.

Each reader returns a sentence where the program refuses the file, else a function of a model and a
state that returns the terms that the program has, or a sentence why they cannot be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from robot_census.held import held, mimic_rows, mujoco_rows

Other = Callable[..., "dict[str, np.ndarray] | str"]


def mujoco_file(path: Path) -> Other | str:
    """Of an MJCF, without contact, limits and dry friction; its equalities hold exactly."""
    import mujoco

    try:
        m = mujoco.MjModel.from_xml_path(str(path))
    except (ValueError, RuntimeError) as error:
        return f"MuJoCo: {' '.join(str(error).split())}"
    for flag in ("CONTACT", "LIMIT", "FRICTIONLOSS"):
        m.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}"))
    m.opt.jacobian = int(mujoco.mjtJacobian.mjJAC_DENSE)
    plain = m.nu == m.nactuator and not np.any(m.actuator_delay > 0)

    def terms(model: Any, q: np.ndarray, qd: np.ndarray, u: np.ndarray, tau: Any = None) -> Any:
        if (m.nq, m.nv) != (model.nq, model.nv):
            return f"other coordinates than MuJoCo's: {model.nv} for {m.nv}"
        d = mujoco.MjData(m)
        d.qpos[:], d.qvel[:] = q, qd
        with_controls = plain and m.nu == model.nu
        if with_controls:
            d.ctrl[:] = u
        mujoco.mj_forward(m, d)
        H = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, d, H)
        found = {"mass matrix": H, "bias": d.qfrc_bias.copy(), "passive": d.qfrc_passive.copy()}
        if not with_controls:
            return found
        return found | {"qdd": held(H, d.qacc_smooth.copy(), *mujoco_rows(m, q, qd))}

    return terms


def pinocchio_file(path: Path) -> Other | str:
    """Of a URDF."""
    import pinocchio as pin

    def build(free: bool) -> Any:
        text = path.read_text(encoding="utf-8", errors="replace")
        text = text[text.find("<robot") :]
        if free:
            return pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
        return pin.buildModelFromXML(text)

    try:
        build(False)
    except Exception as error:
        return f"Pinocchio: {' '.join(str(error).split())}"
    return _Pinocchio(build, lambda model: mimic_rows(path, model.tree.dofs))


def pinocchio_mjcf(path: Path) -> Other | str:
    """Of an MJCF that graftsim has written."""
    import pinocchio as pin

    try:
        model = pin.buildModelFromMJCF(str(path))
    except Exception as error:
        return f"Pinocchio: {' '.join(str(error).split())}"
    return _Pinocchio(lambda free: model)


class _Pinocchio:
    """Pinocchio's terms, joint by joint by name: its order of joints is another."""

    def __init__(
        self, build: Callable[[bool], Any], rows: Callable[[Any], np.ndarray] | None = None
    ) -> None:
        self.build, self.rows = build, rows

    def __call__(
        self, model: Any, q: np.ndarray, qd: np.ndarray, u: np.ndarray, tau: Any = None
    ) -> Any:
        """tau [nv]: joint forces; with them there are accelerations, on what `rows` holds."""
        import pinocchio as pin

        tree = model.tree
        moving = [i for i, kind in enumerate(tree.types) if kind != "fixed"]
        free = bool(moving) and tree.types[moving[0]] == "free" and tree.parent[moving[0]] == -1
        m = self.build(free)
        if m.nv != model.nv:
            return f"other coordinates than Pinocchio's: {model.nv} for {m.nv}"
        place = _places(m, tree, moving)
        if isinstance(place, str):
            return place
        x, T, drift = _coordinates(m, tree, moving, place, q, qd)
        data = m.createData()
        v = T @ qd
        H = np.triu(pin.crba(m, data, x))
        H = H + np.triu(H, 1).T
        found = {"mass matrix": T.T @ H @ T, "bias": T.T @ pin.rnea(m, data, x, v, drift)}
        found["bias"] -= T.T @ (np.asarray(m.armature) * drift)
        if tau is not None and self.rows is not None:
            free = np.linalg.solve(found["mass matrix"], tau - found["bias"])
            J = self.rows(model)
            found["qdd"] = held(found["mass matrix"], free, J, np.zeros(len(J)))
        return found


def _places(m: Any, tree: Any, moving: list[int]) -> list[tuple[Any, int, int]] | str:
    """Pinocchio's joint for each moving link of ours, and its places in q and v.

    Several joints of one MJCF body are one composite joint there, called after the first.
    """
    names = [name.removeprefix("Composite_") for name in m.names]
    place: list[tuple[Any, int, int]] = []
    used: dict[int, tuple[int, int]] = {}
    last = -1
    for i in moving:
        name, kind = tree.joints[i], tree.types[i]
        if kind == "planar":
            return "planar joints have other coordinates in Pinocchio"
        if name in names:
            last = names.index(name)
        elif kind == "free" and "root_joint" in names:
            last = names.index("root_joint")
        elif last < 0 or m.joints[last].shortname() != "JointModelComposite":
            return f"Pinocchio has no joint '{name}'"
        joint = m.joints[last]
        at_q, at_v = used.get(last, (0, 0))
        composite = joint.shortname() == "JointModelComposite"
        nq, nv = len(tree.q_index[i]), len(tree.v_index[i])
        if not composite:
            nq = joint.nq
        if at_v + nv > joint.nv:
            return f"joint '{name}' has {joint.nv} degrees of freedom in Pinocchio"
        place.append((joint, joint.idx_q + at_q, joint.idx_v + at_v))
        used[last] = at_q + nq, at_v + nv
    return place


def _coordinates(
    m: Any,
    tree: Any,
    moving: list[int],
    place: list[tuple[Any, int, int]],
    q: np.ndarray,
    qd: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pinocchio's q, and T and drift of v = T qd, a = T qdd + drift."""
    import pinocchio as pin

    x, T, drift = pin.neutral(m), np.zeros((m.nv, len(qd))), np.zeros(m.nv)
    for i, (joint, at_q, at_v) in zip(moving, place, strict=True):
        rows, columns = list(tree.q_index[i]), list(tree.v_index[i])
        into = np.arange(at_v, at_v + len(columns))
        T[into, columns] = 1.0
        mine = q[rows]
        if tree.types[i] == "free":
            w, a, b, c = mine[3:]
            R = pin.Quaternion(w, a, b, c).toRotationMatrix()
            T[np.ix_(into[:3], columns[:3])] = R.T
            drift[into[:3]] = -np.cross(qd[columns[3:]], R.T @ qd[columns[:3]])
            x[at_q : at_q + 7] = [*mine[:3], a, b, c, w]
        elif tree.types[i] == "spherical":
            x[at_q : at_q + 4] = np.roll(mine, -1)
        elif joint.nq == 2 and joint.nv == 1:
            x[at_q : at_q + 2] = [np.cos(mine[0]), np.sin(mine[0])]
        else:
            x[at_q] = mine[0]
    return x, T, drift
