"""From parameters to residuals: simulate each window, read the sensors, compare, whiten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.actuation import act_after, delayed_controls, settled_act
from graftsim.dynamics.mechanism import prepare
from graftsim.engine.closing import near
from graftsim.engine.integrators import move
from graftsim.engine.rollout import Trajectory, scan_steps
from graftsim.engine.simulator import Simulator
from graftsim.identify.problem.parameters import SimulatorAndSensors
from graftsim.identify.problem.windows import Windows
from graftsim.model.fuse import fuse
from graftsim.model.state import State
from graftsim.optim.loss import Loss
from graftsim.sensors.sensors import Sensors, readings
from graftsim.taps import Augmentation


class WindowData(NamedTuple):
    """Windows as arrays, the leading axis the window: what the compiled functions take.

    before: commands of earlier steps; () where no actuator is late or lags.
    """

    controls: Any
    before: Any
    q0: Any
    qd0: Any
    time: tuple[Any, ...]
    value: tuple[Any, ...]
    weight: tuple[Any, ...]


def as_data(windows: Windows, sigma: Sequence[np.ndarray], dtype: Any) -> WindowData:
    """Arrays of windows; weights [w, n, r] are 1/sigma where there is a sample, else 0."""

    def array(x: np.ndarray) -> Any:
        return jnp.asarray(x, dtype)

    return WindowData(
        controls=array(windows.controls),
        before=array(windows.before) if windows.before.shape[1] else (),
        q0=array(windows.q0),
        qd0=array(windows.qd0),
        time=tuple(array(t) for t in windows.time),
        value=tuple(array(v) for v in windows.value),
        weight=tuple(
            array(mask[..., None] / s) for mask, s in zip(windows.mask, sigma, strict=True)
        ),
    )


def simulate(
    setup: SimulatorAndSensors,
    window: WindowData,
    local: Float[Array, " s"],
    augmentations: Mapping[str, Augmentation] | None = None,
    *,
    kernel: bool = False,
) -> Trajectory:
    """Roll-out of one window; `local` displaces its initial state (positions, rates, memories).

    augmentations: further changes of named variables. `kernel` writes the program as kernels want
    it, here and below: loops that keep little.
    """
    simulator, needs = setup.simulator, setup.sensors.needs
    state = first_state(simulator, window, local)
    return scan_steps(simulator, state, window.controls, needs, augmentations, checkpoint=kernel)


def first_state(simulator: Simulator, window: WindowData, local: Float[Array, " s"]) -> State:
    """State at the start of a window, displaced by `local`."""
    tree = simulator.model.tree
    q0, qd0 = window.q0, window.qd0
    if local.shape[0]:
        q0 = move(fuse(simulator.model).tree, q0, local[: tree.nv], jnp.ones((), q0.dtype))
        qd0 = qd0 + local[tree.nv : 2 * tree.nv]
    # A slice, because kernels are made for any number of steps.
    u = jax.lax.index_in_dim(window.controls, 0, keepdims=False)
    state = started(simulator, q0, qd0, u, window.before)
    if local.shape[0] > 2 * tree.nv:
        # Drives with a memory have been at work before the window, and lags before the log.
        state = replace(state, act=state.act + local[2 * tree.nv :])
    return state


def started(simulator: Simulator, q0: Any, qd0: Any, u: Any, before: Any) -> State:
    """State at a window's start: commands `before` it are remembered, and lags have followed them.

    Where there are none, lags are settled on the first command u. The state is put on the loops of
    these very parameters, whatever was measured or is tried.
    """
    q0, qd0 = near(simulator.model, q0, qd0)
    actuator = simulator.model.actuator
    if isinstance(before, tuple):
        return State(q=q0, qd=qd0, act=settled_act(actuator, u))
    lags = any(actuator.lagged)
    act = act_after(actuator, before, simulator.dt) if lags else settled_act(actuator, u)
    held = before[: simulator.back, delayed_controls(actuator)] if simulator.back else ()
    return State(q=q0, qd=qd0, act=act, held=held)


def read_along(
    setup: SimulatorAndSensors,
    window: WindowData,
    trajectory: Trajectory,
    *,
    kernel: bool = False,
) -> list[Float[Array, "n d"]]:
    """What each sensor reads of a simulated motion at the times of its samples."""
    m = prepare(fuse(setup.simulator.model))
    recorded = {k: jnp.concatenate([v, v[-1:]]) for k, v in trajectory.recorded.items()}
    q, qd = trajectory.q, trajectory.qd
    read = readings(setup.sensors, m, q, qd, recorded, one_by_one=kernel)
    dt = setup.simulator.dt
    last = jnp.asarray(window.controls.shape[0] - 1).astype(dt.dtype)
    out = []
    for i, (values, time) in enumerate(zip(read, window.time, strict=True)):
        between = partial(_between, values, last)
        x = (time - setup.sensors.delay[i]) / dt
        out.append(jax.lax.map(between, x) if kernel else jax.vmap(between)(x))
    return out


def _between(
    values: Float[Array, "t d"], last: Float[Array, ""], x: Float[Array, ""]
) -> Float[Array, " d"]:
    """Value at x steps, linear between its neighbours, and on from the last two beyond the ends."""
    low = jax.lax.stop_gradient(jnp.clip(jnp.floor(x), 0.0, last))
    i = low.astype(int)

    def at(i: Array) -> Array:
        return jax.lax.dynamic_index_in_dim(values, i, keepdims=False, allow_negative_indices=False)

    left = at(i)
    return left + (x - low) * (at(i + 1) - left)


def mismatches(
    sensors: Sensors, read: Sequence[Float[Array, "n d"]], window: WindowData
) -> list[Float[Array, "n r"]]:
    """What was measured less what is read, of each sensor in its own way."""
    return [s.mismatch(r, v) for s, r, v in zip(sensors.specs, read, window.value, strict=True)]


def whiten(
    errors: Sequence[Float[Array, "n r"]], window: WindowData, loss: Loss
) -> Float[Array, " m"]:
    """Residuals of the sensors' errors, all in a row."""
    parts = [(e * w).reshape(-1) for e, w in zip(errors, window.weight, strict=True)]
    return loss.weighed(jnp.concatenate(parts))


def residual_width(sensors: Sensors) -> list[int]:
    """Residuals a sample of each sensor."""
    return [s.residual_width for s in sensors.specs]
