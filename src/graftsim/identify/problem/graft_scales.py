"""Scales of grafts from data: what a network sees and gives should be of size one."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from graftsim.dynamics import bias_forces
from graftsim.dynamics.mechanism import Mechanism, prepare
from graftsim.engine.rollout import Trajectory
from graftsim.engine.simulator import Simulator
from graftsim.graft.bound import BoundGraft, BoundGrafts
from graftsim.graft.wiring import Target
from graftsim.identify.problem.residuals import started
from graftsim.identify.problem.windows import Windows
from graftsim.model.fuse import fuse

# So many windows are looked at.
WINDOWS = 64
INSTANTS = 4096


def set_scales(simulator: Simulator, windows: Windows) -> Simulator:
    """The simulator with the open scales of its grafts set, for good, from windows of data.

    An input's is its root mean square along the windows as they are simulated now. The output's is
    that of the forces that hold the mechanism against gravity and inertia, if it is a force, else
    of the variable itself.
    """
    grafts = simulator.grafts
    if not isinstance(grafts, BoundGrafts) or all(_settled(g) for g in grafts.grafts):
        return simulator
    targets = {t.name for g in grafts.grafts for t in g.wiring.targets}
    seen = (*(f"inputs.{g.label}" for g in grafts.grafts), *sorted(targets))
    run = follow(simulator, windows, seen, WINDOWS)
    dtype, m = simulator.dt.dtype, prepare(fuse(simulator.model))
    # What holds the mechanism at constant velocities: gravity, Coriolis, centrifugal forces.
    states = (x[:, :-1].reshape(-1, x.shape[-1])[:INSTANTS] for x in (run.q, run.qd))
    load = jax.jit(jax.vmap(lambda q, qd: bias_forces(m, q, qd)))(*states)
    recorded = run.recorded
    recorded = {k: np.asarray(v, float) for k, v in recorded.items()}
    load = np.asarray(load, float)
    new = [_scaled(g, m, recorded, load, dtype) for g in grafts.grafts]
    return eqx.tree_at(lambda s: s.grafts, simulator, BoundGrafts(tuple(new), grafts.previous))


def follow(
    simulator: Simulator, windows: Windows, record: tuple[str, ...], limit: int
) -> Trajectory:
    """Roll-outs along an even selection of windows, from their measured states, stacked."""
    chosen = np.unique(np.linspace(0, len(windows) - 1, min(len(windows), limit)).astype(int))
    dtype = simulator.dt.dtype
    given = windows.only(chosen)
    q0, qd0, controls = (jnp.asarray(x, dtype) for x in (given.q0, given.qd0, given.controls))
    before = jnp.asarray(given.before, dtype) if given.before.shape[1] else ()

    def one(q0: Any, qd0: Any, controls: Any, before: Any) -> Trajectory:
        state = started(simulator, q0, qd0, controls[0], before)
        return simulator.rollout(state, controls, record=record)

    return jax.vmap(one)(q0, qd0, controls, before)


def _settled(graft: BoundGraft) -> bool:
    known, out = graft.wiring.scaled
    return all(known) and out


def _scaled(
    graft: BoundGraft, m: Mechanism, recorded: dict[str, np.ndarray], load: np.ndarray, dtype: Any
) -> BoundGraft:
    w = graft.wiring
    x = recorded[f"inputs.{w.label}"].reshape(-1, len(w.columns))
    given, out = np.asarray(graft.input_scale), np.asarray(graft.output_scale)
    scale = np.where(w.scaled[0], given, _rms(x, 1.0))
    if not w.scaled[1]:
        out = np.concatenate([_size(t, m, recorded[t.name], load) for t in w.targets])
    return BoundGraft(
        w.settle(), graft.form, graft.weights, jnp.asarray(scale, dtype), jnp.asarray(out, dtype)
    )


def _size(target: Target, m: Mechanism, value: np.ndarray, load: np.ndarray) -> np.ndarray:
    """Typical size of each column of a target, from its values along the windows."""
    size = _rms(value.reshape(-1, *target.shape), 0.0)
    if target.name.startswith("joint.tau"):
        size = np.hypot(size, _rms(load.reshape(-1, load.shape[-1]), 0.0))
    elif target.name in ("link.force", "link.com_force"):
        size = np.hypot(size, _weight(m))
    rows = np.sqrt(np.mean(np.asarray(target.select(size), float) ** 2, 0))
    return np.where(rows > 0, rows, 1.0)


def _weight(m: Mechanism) -> np.ndarray:
    """Weight of each link, and its moment on an arm of the radius of gyration [nl, 6]."""
    mass, inertia = np.asarray(m.model.link.mass), np.asarray(m.model.link.inertia)
    weight = mass * float(np.linalg.norm(np.asarray(m.model.world.gravity)))
    radius = np.sqrt(inertia[:, :3].sum(-1) / 2 / np.maximum(mass, 1e-300))
    return np.repeat(np.stack([weight * radius, weight], -1), 3, -1)


def _rms(x: np.ndarray, empty: float) -> np.ndarray:
    """Root mean square of what is finite, over the first axis; `empty` where that is zero."""
    good = np.isfinite(x)
    total = np.sum(np.where(good, x, 0.0) ** 2, 0) / np.maximum(good.sum(0), 1)
    return np.where(total > 0, np.sqrt(total), empty)
