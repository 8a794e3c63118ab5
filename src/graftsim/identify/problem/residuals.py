"""From parameters to residuals: simulate each window, read the sensors, compare, whiten."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim import kernels
from graftsim.dynamics.actuation import delayed_controls, settled_act
from graftsim.dynamics.mechanism import prepare
from graftsim.engine.closing import near
from graftsim.engine.integrators import move
from graftsim.engine.simulator import Simulator, Trajectory, scan_steps
from graftsim.errors import GraftsimWarning, KernelError
from graftsim.identify.problem.loss import Loss
from graftsim.identify.problem.parameters import Parameters, SimulatorAndSensors
from graftsim.identify.problem.windows import Windows
from graftsim.identify.sensors.sensors import Sensors, readings
from graftsim.model.fuse import fuse
from graftsim.model.state import State


class WindowData(NamedTuple):
    """Windows as arrays, the leading axis the window: what the compiled functions take.

    before: commands of earlier steps; () where none are delayed.
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
    *,
    kernel: bool = False,
) -> Trajectory:
    """Roll-out of one window; `local` displaces its initial state (positions, rates, memories).

    `kernel` writes the program as kernels want it, here and below: loops that keep little.
    """
    simulator = setup.simulator
    tree = simulator.model.tree
    q0, qd0 = window.q0, window.qd0
    if local.shape[0]:
        q0 = move(fuse(simulator.model).tree, q0, local[: tree.nv], jnp.ones((), q0.dtype))
        qd0 = qd0 + local[tree.nv : 2 * tree.nv]
    state = started(simulator, q0, qd0, window.controls[0], window.before)
    if local.shape[0] > 2 * tree.nv:
        # Drives with a memory have been at work before the window.
        lags = sum(simulator.model.actuator.lagged)
        state = replace(state, act=state.act.at[lags:].add(local[2 * tree.nv :]))
    return scan_steps(simulator, state, window.controls, setup.sensors.needs, checkpoint=kernel)


def started(simulator: Simulator, q0: Any, qd0: Any, u: Any, before: Any) -> State:
    """State at a window's start: lags settled on the first command u, earlier ones remembered.

    It is put on the loops of these very parameters, whatever was measured or is tried.
    """
    q0, qd0 = near(simulator.model, q0, qd0)
    actuator = simulator.model.actuator
    held = () if isinstance(before, tuple) else before[:, delayed_controls(actuator)]
    return State(q=q0, qd=qd0, act=settled_act(actuator, u), held=held)


def read_along(
    setup: SimulatorAndSensors, window: WindowData, trajectory: Trajectory, *, kernel: bool = False
) -> list[Float[Array, "n d"]]:
    """What each sensor reads of a simulated motion at the times of its samples."""
    m = prepare(fuse(setup.simulator.model))
    recorded = {k: jnp.concatenate([v, v[-1:]]) for k, v in trajectory.recorded.items()}
    q, qd = trajectory.q, trajectory.qd
    read = readings(setup.sensors, m, q, qd, recorded, one_by_one=kernel)
    steps, dt = window.controls.shape[0], setup.simulator.dt
    out = []
    for i, (values, time) in enumerate(zip(read, window.time, strict=True)):
        x = (time - setup.sensors.delay[i]) / dt
        low = jnp.clip(jnp.floor(x), 0, steps - 1).astype(int)
        out.append(values[low] + (x - low)[:, None] * (values[low + 1] - values[low]))
    return out


def window_residual(
    setup: SimulatorAndSensors,
    window: WindowData,
    local: Float[Array, " s"],
    loss: Loss,
    *,
    kernel: bool = False,
) -> Float[Array, " m"]:
    """Whitened residuals of one window, all sensors in a row; zero where there is no sample."""
    trajectory = simulate(setup, window, local, kernel=kernel)
    read = read_along(setup, window, trajectory, kernel=kernel)
    specs = setup.sensors.specs
    errors = [s.mismatch(r, v) for s, r, v in zip(specs, read, window.value, strict=True)]
    return whiten(errors, window, loss)


def whiten(
    errors: Sequence[Float[Array, "n r"]], window: WindowData, loss: Loss
) -> Float[Array, " m"]:
    """Residuals of the sensors' errors, all in a row."""
    parts = [(e * w).reshape(-1) for e, w in zip(errors, window.weight, strict=True)]
    return loss.weighed(jnp.concatenate(parts))


def residual_width(sensors: Sensors) -> list[int]:
    """Residuals a sample of each sensor."""
    return [s.residual_width for s in sensors.specs]


def on_kernels(
    f: Callable[..., Any], *examples: Any, known: Sequence[Any] | None = None
) -> Callable[..., Any] | None:
    """Kernel of a function of one window, or None where XLA has to do."""
    if jax.default_backend() != "cpu":
        return None
    try:
        return kernels.compile(f, *examples, known=known)
    except KernelError as error:
        warnings.warn(f"The fit runs on XLA: {error}", GraftsimWarning, stacklevel=2)
        return None


def window_function(
    setup: SimulatorAndSensors, parameters: Parameters, data: WindowData, loss: Loss, nlocal: int
) -> Callable[[Any, Any, WindowData], Any]:
    """Residuals of one window as a function of (theta, local, window), on kernels if possible."""
    dtype = setup.simulator.dt.dtype

    def residual(kernel: bool, theta: Array, local: Array, window: WindowData) -> Array:
        applied = parameters.apply(setup, theta)
        return window_residual(applied, window, local, loss, kernel=kernel)

    theta = jnp.zeros(len(parameters), dtype)
    window = jax.tree.map(lambda x: x[0], data)
    found = on_kernels(partial(residual, True), theta, jnp.zeros(nlocal, dtype), window)
    return found or partial(residual, False)


# Side by side, every pair of window and unknown has its own copy of all arguments: up to so many
# numbers that is the fastest.
SIDE_BY_SIDE = 1_000_000
# The same for many starts, which go in portions of so many numbers.
MANY = 30_000_000
# Directions come in multiples of this, so that few programs serve any choice of parameters.
DIRECTIONS = 8


def derivatives(
    f: Callable[[Any, Any, WindowData], Array],
    x: Float[Array, " n"],
    local: Float[Array, "w s"],
    data: WindowData,
    directions: Float[Array, "k n"],
    limit: int | None = SIDE_BY_SIDE,
) -> tuple[Float[Array, "w m"], Float[Array, "w m k"], Float[Array, "w m s"]]:
    """Residuals f(x, local, window) of all windows, their derivatives along directions of x, and
    their Jacobians by `local`; forward mode.

    Windows or directions go side by side, whichever are more, the others one after the other; where
    there are few of both (no more numbers than `limit`), all pairs go side by side.
    """
    k, (w, s) = directions.shape[0], local.shape
    size = sum(leaf[0].size for leaf in jax.tree.leaves(data)) + x.shape[0] + s
    dx = jnp.concatenate([directions, jnp.zeros((s, x.shape[0]), x.dtype)])
    dl = jnp.concatenate([jnp.zeros((k, s), x.dtype), jnp.eye(s, dtype=x.dtype)])

    # Without local unknowns nothing empty is differentiated: XLA loses kernels over it.
    def along(g: Callable[[Any, Any], Any], local: Any, dx: Any, dl: Any) -> Array:
        if not s:
            return jax.jvp(lambda x: g(x, local), (x,), (dx,))[1]
        if not k:
            return jax.jvp(lambda l: g(x, l), (local,), (dl,))[1]
        return jax.jvp(g, (x, local), (dx, dl))[1]

    def one_window(own: Array, window: WindowData) -> Array:
        g = partial(_swap, f, window)
        return jax.vmap(lambda dx, dl: along(g, own, dx, dl), out_axes=-1)(dx, dl)

    def every(x: Array, local: Array) -> Array:
        return jax.vmap(f, (None, 0, 0))(x, local, data)

    r = every(x, local)
    if not k + s:
        J = jnp.zeros((*r.shape, 0), r.dtype)
    elif limit is None or w * (k + s) * size <= limit:
        J = jax.vmap(one_window)(local, data)
    elif k + s > w:
        J = jax.lax.map(lambda pair: one_window(*pair), (local, data))
    else:

        def column(pair: tuple[Array, Array]) -> Array:
            return along(every, local, pair[0], jnp.broadcast_to(pair[1], local.shape))

        J = jnp.moveaxis(jax.lax.map(column, (dx, dl)), 0, -1)
    return r, J[..., :k], J[..., k:]


def _swap(
    f: Callable[[Any, Any, WindowData], Array], window: WindowData, x: Array, local: Array
) -> Array:
    return f(x, local, window)


class ResidualProgram:
    """Residuals and Jacobians over a set of windows, compiled; NumPy in and out."""

    def __init__(
        self,
        setup: SimulatorAndSensors,
        parameters: Parameters,
        data: WindowData,
        loss: Loss,
        nlocal: int,
    ) -> None:
        self.data, self.dtype, self.size = data, setup.simulator.dt.dtype, len(parameters)
        self._kept: tuple[Any, Any] | None = None
        # Of one window: (theta, local, window) -> residuals, on kernels.
        self.one = one = window_function(setup, parameters, data, loss, nlocal)

        def residual(theta: Array, local: Array, data: WindowData) -> Array:
            return jax.vmap(one, (None, 0, 0))(theta, local, data)

        self._residual = jax.jit(residual)
        self._derivatives = jax.jit(partial(derivatives, one))
        self._many = jax.jit(jax.vmap(residual, (0, 0, None)))
        self._many_derivatives = jax.jit(
            jax.vmap(partial(derivatives, one, limit=None), (0, 0, None, None))
        )

    def on(self, data: WindowData) -> ResidualProgram | None:
        """The same programs for other windows; None if those are of another form."""
        if _forms(data) != _forms(self.data):
            return None
        other = copy.copy(self)
        other.data, other._kept = data, None
        return other

    def residual(self, theta: np.ndarray, local: np.ndarray) -> np.ndarray:
        """Residuals [w, m] at theta [p] and local [w, s]."""
        return np.asarray(self._residual(*self._arrays(theta, local), self.data), float)

    def jacobian(
        self,
        theta: np.ndarray,
        local: np.ndarray,
        active: np.ndarray | None = None,
        *,
        keep: bool = False,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Residuals [w, m], and Jacobians by theta [w, m, p] and local [w, m, s].

        active: [k] which entries of theta; the Jacobian is then [w, m, k]. keep: the next call will
        ask for the same.
        """
        which = np.arange(self.size) if active is None else active
        asked = (theta.tobytes(), local.tobytes(), which.tobytes())
        kept, self._kept = self._kept, None
        if kept is not None and kept[0] == asked:
            found = kept[1]
        else:
            found = self._jacobian(theta, local, which)
        if keep:
            self._kept = (asked, found)
        return found

    def _jacobian(
        self, theta: np.ndarray, local: np.ndarray, which: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        k = len(which)
        directions = np.zeros((-(-k // DIRECTIONS) * DIRECTIONS, self.size))
        directions[np.arange(k), which] = 1.0
        r, J_t, J_l = self._derivatives(
            *self._arrays(theta, local), self.data, jnp.asarray(directions, self.dtype)
        )
        return np.asarray(r, float), np.asarray(J_t, float)[..., :k], np.asarray(J_l, float)

    def many_residuals(self, theta: np.ndarray, local: np.ndarray) -> np.ndarray:
        """Residuals [n, w, m] at theta [n, p] and local [n, w, s], side by side."""
        part = self._portion(local, 1)
        chunks = [self._many(*self._arrays(t, l), self.data) for t, l in _cut(theta, local, part)]
        return np.concatenate([np.asarray(x, float) for x in chunks])[: len(theta)]

    def many_jacobians(
        self, theta: np.ndarray, local: np.ndarray, active: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `jacobian`, of many theta [n, p] and local [n, w, s]."""
        directions = jnp.asarray(np.eye(self.size)[active], self.dtype)
        part = self._portion(local, len(active) + local.shape[-1])
        chunks = [
            self._many_derivatives(*self._arrays(t, l), self.data, directions)
            for t, l in _cut(theta, local, part)
        ]
        parts = zip(*chunks, strict=True)
        r, J_t, J_l = (
            np.concatenate([np.asarray(x, float) for x in p])[: len(theta)] for p in parts
        )
        return r, J_t, J_l

    def _portion(self, local: np.ndarray, directions: int) -> int:
        """So many starts at a time that the arguments of all lanes fit into memory."""
        w, s = local.shape[1:]
        size = sum(leaf[0].size for leaf in jax.tree.leaves(self.data)) + self.size + s
        return min(max(MANY // (w * directions * size), 1), len(local))

    def _arrays(self, theta: np.ndarray, local: np.ndarray) -> tuple[Array, Array]:
        return jnp.asarray(theta, self.dtype), jnp.asarray(local, self.dtype)


def _cut(
    theta: np.ndarray, local: np.ndarray, part: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Equal portions of starts; the last one is filled up, so that one program serves all."""
    index = np.arange(-(-len(theta) // part) * part)
    for rows in np.minimum(index, len(theta) - 1).reshape(-1, part):
        yield theta[rows], local[rows]


def _forms(data: WindowData) -> list[tuple[int, ...]]:
    return [x.shape[1:] for x in jax.tree.leaves(data)]
