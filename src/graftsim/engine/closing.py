"""Putting positions and velocities on closed loops: the nearest ones, in the sense of the inertia.

A Newton step on phi(q) = 0 is the displacement -H^-1 J^T K^-1 phi: impulses between the loops'
links, so that the momentum of a floating mechanism has no part in it. An integrator leaves loops
open by the square of its step; one step of Newton closes them to the fourth power of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from graftsim.dynamics.aba import articulated_inertia
from graftsim.dynamics.constraints import Constrained, Pose, Rows, rows_of
from graftsim.dynamics.kinematics import world_transforms
from graftsim.dynamics.mechanism import Mechanism, prepare
from graftsim.dynamics.motion import joint_motion, link_velocity
from graftsim.dynamics.passive import displacement
from graftsim.engine.integrators import move
from graftsim.errors import ModelError, suggest
from graftsim.model.fuse import fuse
from graftsim.model.loops import row_labels, row_units
from graftsim.model.model import Model
from graftsim.model.state import State

Q = Float[Array, " nq"]
Qd = Float[Array, " nv"]

# Steps of Newton at most from any start, and the largest of one (rad, m).
_STEPS, _STRIDE = 40, 0.3
# Strides to a measured position, and how much heavier what was measured is made.
_LEGS, _GIVING = 8, 1e4
# Open by less (m, rad) is closed.
CLOSED = 1e-9


def closed(m: Mechanism, state: State) -> State:
    """A state that is nearly on the loops, put on them: positions and velocities."""
    q, qd = on_loops(m, state.q, state.qd, m.model.guided)
    return replace(state, q=q, qd=qd)


def on_loops(m: Mechanism, q: Q, qd: Qd, held: tuple[int, ...] = ()) -> tuple[Q, Qd]:
    """Positions and velocities on the loops by a step of Newton; joints of `held` links stay.

    What is left of positions and the velocities need no Jacobian of their own: that of one step
    before is right but for the product of both errors.
    """
    pose, rows = _rows(m, q, qd)
    inertia = Constrained(m, articulated_inertia(m, pose.motion, held), rows.J)
    one = jnp.ones((), q.dtype)
    q = move(m.tree, q, inertia.closing(rows.error[:, None])[1][:, 0], one)
    _, rows = _rows(m, q, qd)
    change = inertia.closing(jnp.stack([rows.error, rows.rate], -1))[1]
    return move(m.tree, q, change[:, 0], one), qd + change[:, 1]


def residual(model: Model | Mechanism, q: Q, qd: Qd) -> Rows:
    """Position errors, velocities and Jacobian of all rows of loops and couplings."""
    return _rows(prepare(model), q, qd)[1]


def _rows(m: Mechanism, q: Q, qd: Qd) -> tuple[Pose, Rows]:
    motion = joint_motion(m, q, qd)
    X_0, v = world_transforms(m.tree, motion), link_velocity(m.tree, motion)
    neutral = jnp.asarray(m.tree.neutral, q.dtype)
    pose = Pose(motion, X_0, v, displacement(m.tree, neutral, q), qd)
    return pose, rows_of(m, pose)


def near(model: Model, q: Q, qd: Qd) -> tuple[Q, Qd]:
    """Positions and velocities that are near the loops, put on them; traceable, and not checked.

    Two times two steps of Newton: from a hundredth of a link's length to rounding.
    """
    if not model.closed:
        return q, qd
    m = prepare(fuse(model))
    return on_loops(m, *on_loops(m, q, qd))


def nearest(model: Model, q: np.ndarray, qd: np.ndarray, keep: Sequence[str]) -> State:
    """A state on the loops for measured numbers, which need not fit the model; never refused.

    From the zero position in strides to where the kept degrees of freedom were measured, so that
    the others come along on their side of every dead point. The kept ones give way a little.
    """
    dtype, tree = model.link.mass.dtype, model.tree
    rows = np.isin(tree.dofs, keep)
    measured = np.concatenate(
        [np.repeat(rows[v].any(), len(x)) for v, x in zip(tree.v_index, tree.q_index, strict=True)]
    )
    whole = displacement(tree, jnp.asarray(tree.neutral, dtype), jnp.asarray(q, dtype))
    stride = jnp.asarray(rows / _LEGS, dtype) * whole
    weights = jnp.asarray(_GIVING * rows, dtype)
    at, at_rest = jnp.asarray(tree.neutral, dtype), jnp.zeros(tree.nv, dtype)
    for _ in range(_LEGS):
        at = _at_once(model, at, at_rest, weights)[0]
        at = move(tree, at, stride, jnp.ones((), dtype))
    at = jnp.where(measured, jnp.asarray(q, dtype), at)
    found, rates, _ = _at_once(model, at, jnp.asarray(qd, dtype), weights)
    if not np.all(np.isfinite(found)):
        found, rates = jnp.asarray(q, dtype), jnp.asarray(qd, dtype)
    return State(found, rates, jnp.zeros(0, dtype))


def undetermined(model: Model, missing: Sequence[str]) -> list[str]:
    """Those of some degrees of freedom that the others and the loops do not determine."""
    if not model.closed or not missing:
        return list(missing)
    start = nearest(model, model.tree.neutral, np.zeros(model.nv), ())
    J = np.asarray(jax.jit(residual)(fuse(model), start.q, start.qd).J)
    columns = J[:, [model.tree.dofs.index(x) for x in missing]]
    _, size, right = np.linalg.svd(columns)
    rank = int(np.sum(size > 1e-8 * max(size.max(initial=0.0), 1e-300)))
    loose = np.abs(right[rank:]).max(0, initial=0.0) > 1e-8
    return [x for x, is_loose in zip(missing, loose, strict=True) if is_loose]


def assemble(model: Model, state: State, keep: Sequence[str] = ()) -> State:
    """See `Simulator.assemble`."""
    if not model.closed:
        return state
    heavy = jnp.asarray(_kept(model, keep), state.q.dtype)
    traced = any(isinstance(x, Tracer) for x in jax.tree.leaves((model, state)))
    q, qd, error = (_traced if traced else _at_once)(model, state.q, state.qd, heavy)
    if not isinstance(error, Tracer):
        _check(model, np.asarray(error), bool(keep))
    return replace(state, q=q, qd=qd)


def _assembled(model: Model, q: Q, qd: Qd, heavy: Qd) -> tuple[Q, Qd, Float[Array, " m"]]:
    """Newton in strides of limited length, then a whole step; what is open in the end."""
    m = prepare(fuse(model))
    scale = 1 + jnp.max(m.model.link.mass)
    armature = m.model.joint.armature + heavy * scale
    weighed = replace(m, model=replace(m.model, joint=replace(m.model.joint, armature=armature)))

    def step(q: Q, _: None) -> tuple[Q, None]:
        pose, rows = _rows(m, q, qd)
        inertia = Constrained(m, articulated_inertia(weighed, pose.motion), rows.J)
        d = inertia.closing(rows.error[:, None])[1][:, 0]
        longest = jnp.max(jnp.abs(d))
        short = jnp.where(longest > _STRIDE, _STRIDE / jnp.where(longest > 0, longest, 1.0), 1.0)
        return move(m.tree, q, short * d, jnp.ones((), q.dtype)), None

    q, _ = jax.lax.scan(step, q, None, length=_STEPS)
    q, qd = on_loops(weighed, q, qd)
    return q, qd, _rows(m, q, qd)[1].error


# What runs once is compiled quickly; within another program there is no such choice.
_at_once = jax.jit(_assembled, compiler_options={"xla_backend_optimization_level": 0})
_traced = jax.jit(_assembled)


def _kept(model: Model, keep: Sequence[str]) -> np.ndarray:
    """[nv]: how much heavier degrees of freedom are that should stay."""
    heavy = np.zeros(model.nv)
    for pattern in keep:
        chosen = [i for i, name in enumerate(model.tree.dofs) if fnmatchcase(name, pattern)]
        if not chosen:
            known = suggest(pattern, model.tree.dofs)
            raise ModelError(f"keep: no degree of freedom '{pattern}'. {known}")
        heavy[chosen] = 1e10
    return heavy


def _check(model: Model, error: np.ndarray, kept: bool) -> None:
    tolerance = max(CLOSED, 100 * float(jnp.finfo(model.link.mass.dtype).eps))
    if np.all(np.abs(error) <= tolerance):
        return
    labels = row_labels(model.loop, model.coupling)
    units = row_units(model.loop, model.coupling, model.tree.dof_units)
    order = np.argsort(-np.where(np.isfinite(error), np.abs(error), np.inf))
    worst = [i for i in order if not abs(error[i]) <= tolerance][:4]
    listed = ", ".join(f"{labels[i]} by {error[i]:.3g} {units[i]}" for i in worst)
    remedy = "let more joints move than are kept, or " if kept else ""
    raise ModelError(
        f"Mechanism '{model.name}' cannot be assembled from this state; open are {listed}. To mend "
        f"it, {remedy}start from positions nearer to closed ones (q={{...}}), and check the loops' "
        "anchors: lengths may not fit together."
    )
