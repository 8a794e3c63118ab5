"""Which numbers of MuJoCo's state are ours, by name, and whether they mean the same."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import mujoco as _without_stubs
import numpy as np

from graftsim.dynamics import mass_matrix
from graftsim.dynamics.kinematics import world_transforms
from graftsim.dynamics.mechanism import prepare
from graftsim.dynamics.motion import joint_motion
from graftsim.errors import GraftsimWarning, InteropError, suggest
from graftsim.model.catalogue import labels
from graftsim.model.fuse import fuse
from graftsim.model.model import Model

mujoco: Any = _without_stubs

# Of directions, and of entries of the mass matrix relative to its largest.
SAME, ALIKE = 1e-4, 1e-3


@dataclass(frozen=True)
class Places:
    """Places in MuJoCo's `qpos`, `qvel`, `ctrl` of our coordinates, velocities and commands."""

    q: np.ndarray
    v: np.ndarray
    u: np.ndarray | None
    nu: int

    def commands(self, data: Any) -> np.ndarray:
        """Commands in our order; zero where no graft asks for them."""
        return np.zeros(self.nu) if self.u is None else data.ctrl[self.u]


def places_of(model: Model, host: Any, *, controls: bool) -> Places:
    """By names of joints, and of actuators if `controls`.

    A joint is one of MuJoCo's with as many numbers, or several of the names of its degrees of
    freedom (a planar one: two slides and a hinge). Raises InteropError: there is none.
    """
    known = {_name(host, "JOINT", j): j for j in range(host.njnt)}
    q: list[int] = []
    v: list[int] = []
    for joint, kind in zip(model.tree.joints, model.tree.joint_types, strict=True):
        if kind.nv == 0:
            continue
        parts = (joint,) if joint in known else kind.dof_labels(joint)
        for part in parts:
            if part not in known:
                raise InteropError(
                    f"MuJoCo's model has no joint '{part}'. {suggest(part, known)} Joints go by "
                    "name; write_mjcf(simulator.model) has them all."
                )
            q += _rows(host.jnt_qposadr, host.nq, known[part])
            v += _rows(host.jnt_dofadr, host.nv, known[part])
        _check_type(joint, kind, [int(host.jnt_type[known[part]]) for part in parts])
    return Places(np.array(q), np.array(v), _controls(model, host) if controls else None, model.nu)


def check_same(model: Model, host: Any, places: Places) -> None:
    """Joints of both must turn alike, and their inertias should be alike, at any position.

    Raises InteropError: an axis or a frame that points elsewhere. Warns of other inertias.
    """
    rng = np.random.default_rng(0)
    data = mujoco.MjData(host)
    q = model.tree.neutral + 0.5 * rng.standard_normal(model.nq)
    for i, kind in enumerate(model.tree.joint_types):
        if kind.nq > kind.nv:
            rows = model.tree.q_index[i][-4:]
            q[rows] /= np.linalg.norm(q[rows])
    data.qpos[places.q] = q
    mujoco.mj_forward(host, data)
    _check_axes(model, host, data, q)
    ours = np.asarray(mass_matrix(model, jnp.asarray(q, model.link.mass.dtype)))
    theirs = np.zeros((host.nv, host.nv))
    mujoco.mj_fullM(host, data, theirs)
    theirs = theirs[np.ix_(places.v, places.v)]
    off = np.abs(ours - theirs).max() / np.abs(theirs).max()
    if off > ALIKE:
        warnings.warn(
            f"The mass matrix of MuJoCo's model differs by {100 * off:.2g} %: grafts correct the "
            "model that they were fitted with. write_mjcf(simulator.model) is that.",
            GraftsimWarning,
            stacklevel=5,
        )


def _check_axes(model: Model, host: Any, data: Any, q: np.ndarray) -> None:
    m = prepare(fuse(model))
    motion = joint_motion(m, jnp.asarray(q, m.axis.dtype), jnp.zeros(model.nv, m.axis.dtype))
    rotations = np.swapaxes(np.asarray(world_transforms(m.tree, motion).E), -1, -2)
    axes = np.einsum("nij,nj->ni", rotations, np.asarray(m.axis))
    for i, (joint, kind) in enumerate(zip(m.tree.joints, m.tree.joint_types, strict=True)):
        j = mujoco.mj_name2id(host, mujoco.mjtObj.mjOBJ_JOINT, joint)
        if j < 0:
            continue
        if kind.axial:
            ours, theirs = axes[i], data.xaxis[j]
        elif _last_of_body(host, j):
            ours, theirs = rotations[i], data.xmat[host.jnt_bodyid[j]].reshape(3, 3)
        else:
            continue
        if np.abs(ours - theirs).max() > SAME:
            opposite = kind.axial and np.abs(ours + theirs).max() < SAME
            what = "the opposite of" if opposite else "not"
            raise InteropError(
                f"The axis of joint '{joint}' is {what} that of MuJoCo's: at one position its "
                f"directions in the world are {ours.round(4).tolist()} here and "
                f"{theirs.round(4).tolist()} there."
            )


def _last_of_body(host: Any, j: int) -> bool:
    body = host.jnt_bodyid[j]
    return j == host.body_jntadr[body] + host.body_jntnum[body] - 1


def _check_type(joint: str, kind: Any, types: list[int]) -> None:
    names = mujoco.mjtJoint
    single = {
        "free": [names.mjJNT_FREE],
        "spherical": [names.mjJNT_BALL],
        "revolute": [names.mjJNT_HINGE],
        "prismatic": [names.mjJNT_SLIDE],
        "planar": [names.mjJNT_SLIDE, names.mjJNT_SLIDE, names.mjJNT_HINGE],
    }
    wanted = single.get(kind.name)
    if wanted is None:
        raise InteropError(f"Joint '{joint}' is of type {kind.name}, which MuJoCo has not.")
    if types != [int(t) for t in wanted]:
        there = ", ".join(names(t).name.removeprefix("mjJNT_").lower() for t in types)
        raise InteropError(f"Joint '{joint}' is {kind.name} here, and {there} in MuJoCo's model.")


def _controls(model: Model, host: Any) -> np.ndarray:
    known = {_name(host, "ACTUATOR", a): a for a in range(host.nu)}
    for name in labels(model, "control"):
        if name not in known:
            raise InteropError(
                f"MuJoCo's model has no actuator '{name}', whose command a graft depends on. "
                f"{suggest(name, known)}"
            )
    return np.array([known[name] for name in labels(model, "control")], int)


def _name(host: Any, kind: str, i: int) -> str:
    return mujoco.mj_id2name(host, getattr(mujoco.mjtObj, f"mjOBJ_{kind}"), i) or ""


def _rows(addresses: Any, end: int, j: int) -> list[int]:
    last = int(addresses[j + 1]) if j + 1 < len(addresses) else end
    return list(range(int(addresses[j]), last))
