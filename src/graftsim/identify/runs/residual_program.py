"""Compiled programs of a problem's windows: made once, shared, and kept as long as the problem."""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from graftsim.compilation import BRIEF
from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.residuals import WindowData, as_data, mismatches, residual_width
from graftsim.identify.problem.windows import Windows
from graftsim.identify.runs.derivatives import TANGENTS, derivatives
from graftsim.identify.runs.window_function import Reader, Timing, WindowFunction, reader
from graftsim.optim.loss import Loss

# Sets of windows that are kept of each problem.
KEPT = 4
# Many starts go in portions of so many numbers.
MANY = 30_000_000


class _Jitted:
    """A function under `jax.jit`, which is told when it is first called how well to compile it."""

    def __init__(self, f: Callable[..., Any], brief: Callable[[], bool]) -> None:
        self._f, self._brief = f, brief
        self._run: Callable[..., Any] | None = None
        self._lock = threading.Lock()

    def __call__(self, *args: Any) -> Any:
        with self._lock:
            if self._run is None:
                options = BRIEF if self._brief() else None
                self._run = jax.jit(self._f, compiler_options=options)
        return self._run(*args)


class ResidualProgram:
    """Residuals and Jacobians over a set of windows, compiled; NumPy in and out."""

    def __init__(
        self,
        problem: Problem,
        data: WindowData,
        loss: Loss | None = None,
        nlocal: int | None = None,
        own: Reader | None = None,
    ) -> None:
        """loss, nlocal, own: others than the problem's; nlocal unknowns of each initial state."""
        self.data, self.reader = data, reader(problem, nlocal) if own is None else own
        self.dtype, self.size = self.reader.dtype, len(problem.parameters)
        self._kept: tuple[Any, Any] | None = None
        # Of one window: (theta, local, window) -> residuals, on kernels.
        self.one = WindowFunction(self.reader, problem.criterion if loss is None else loss)
        self._rows = residual_width(self.reader.sensors)
        # Within the programs, parameters are the extended ones.
        one = self.one.extended

        def residual(theta: Array, local: Array, data: WindowData) -> Array:
            return jax.vmap(one, (None, 0, 0))(theta, local, data)

        def read(theta: Array, timing: Timing, local: Array, window: WindowData) -> Any:
            found = self.reader(theta, local, window, timing)
            return *found, mismatches(self.reader.sensors, found.read, window)

        # Beside kernels little is left for XLA, which then takes longer to compile than to run.
        jitted = partial(_Jitted, brief=partial(self.reader.on_kernels, data))
        self._residual = jitted(residual)
        self._read = jitted(jax.vmap(read, (None, None, 0, 0)))
        self._derivatives = jitted(partial(derivatives, one))
        self._many = jitted(jax.vmap(residual, (0, 0, None)))
        self._displaced = jitted(jax.vmap(residual, (0, None, None)))
        self._many_derivatives = jitted(
            jax.vmap(partial(derivatives, one, limit=None), (0, 0, None, None, None))
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

    def displaced(
        self, theta: np.ndarray, local: np.ndarray, names: Sequence[str], off: np.ndarray
    ) -> np.ndarray:
        """Residuals [n, w, m] with withheld numbers off by `off` [n, k], side by side."""
        x = np.repeat(self.reader.extend(np.asarray(theta, float))[None], len(off), 0)
        x[:, self.reader.columns(np.zeros(0, int), names)] += off
        own = jnp.asarray(local, self.dtype)
        chunks = [self._displaced(jnp.asarray(rows, self.dtype), own, self.data)
                  for (rows,) in _cut(self._portion(local[None], 1, len(off)), x)]  # fmt: skip
        return np.concatenate([np.asarray(r, float) for r in chunks])[: len(off)]

    def readings(
        self, theta: np.ndarray, local: np.ndarray, timing: Timing | None = None
    ) -> tuple[list[np.ndarray], np.ndarray, list[np.ndarray]]:
        """What each sensor reads [w, n, d] at the times of its samples, at theta [p], local [w, s].

        With joint positions [w, t, nq] and what was measured less the readings [w, n, r].
        timing: of other steps than the problem's.
        """
        extended, displaced = self._arrays(theta, local)
        timing = self.reader.timing if timing is None else timing
        found = self._read(extended, timing, displaced, self.data)
        return jax.tree.map(partial(np.asarray, dtype=float), found)

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
        active = np.arange(self.size) if active is None else active
        which = self.reader.columns(active)
        asked = (theta.tobytes(), local.tobytes(), which.tobytes())
        kept, self._kept = self._kept, None
        if kept is not None and kept[0] == asked:
            found = kept[1]
        else:
            found = (self.residual(theta, local), *self._jacobian(theta, local, which))
        if keep:
            self._kept = (asked, found)
        return found

    def slopes(self, theta: np.ndarray, local: np.ndarray, withheld: Sequence[str]) -> np.ndarray:
        """Derivatives [w, m, k] by numbers that are withheld alone, all at once."""
        return self._columns(theta, local, self.reader.columns(np.zeros(0, int), withheld))

    def touched(self, row: int) -> np.ndarray | None:
        """Which sensors a row of the initial states touches; None where that is not known."""
        return self.reader.touch.touched(self._end + row) if row < self.reader.nlocal else None

    def _jacobian(
        self, theta: np.ndarray, local: np.ndarray, which: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        k, s = len(which), local.shape[1]
        J = self._columns(theta, local, np.concatenate([which, self._end + np.arange(s)]))
        return J[..., :k], J[..., k:]

    def _columns(self, theta: np.ndarray, local: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Columns of the Jacobian [w, m, c], from fewer tangents where it is known that they do."""
        touch = self.reader.touch
        shared = touch.shared(columns)
        if shared is not None:
            along = self._along(theta, local, columns, shared.seeds)
            J = touch.whole(columns, shared, along, self.widths)
            if J is not None:
                return J
        J = self._along(theta, local, columns, np.eye(len(columns)))
        touch.learn(columns, J, self.widths)
        return J

    @property
    def widths(self) -> list[int]:
        """Residuals of a window that belong to each sensor."""
        return [t.shape[1] * n for t, n in zip(self.data.time, self._rows, strict=True)]

    @property
    def _end(self) -> int:
        """Where the unknowns of initial states begin, after the extended parameters."""
        return len(self.reader.names)

    def _tangents(self, columns: np.ndarray, seeds: np.ndarray, s: int) -> tuple[Array, Array]:
        """Tangents of extended parameters and initial states: seeds [n, c] of columns [c]."""
        tangents = np.zeros((len(seeds), self._end + s))
        tangents[:, columns] = seeds
        dx, dl = (jnp.asarray(x, self.dtype) for x in np.split(tangents, [self._end], 1))
        return dx, dl

    def _along(
        self, theta: np.ndarray, local: np.ndarray, columns: np.ndarray, seeds: np.ndarray
    ) -> np.ndarray:
        """Derivatives of the residuals [w, m, n] along seeds [n, c] of columns [c]."""
        n = len(seeds)
        seeds = np.pad(seeds, ((0, -n % TANGENTS), (0, 0)))
        tangents = self._tangents(columns, seeds, local.shape[1])
        J = self._derivatives(*self._arrays(theta, local), self.data, *tangents)
        return np.asarray(J, float)[..., :n]

    def many_residuals(self, theta: np.ndarray, local: np.ndarray) -> np.ndarray:
        """Residuals [n, w, m] at theta [n, p] and local [n, w, s], side by side."""
        part = self._portion(local, 1)
        chunks = [self._many(*self._arrays(t, l), self.data) for t, l in _cut(part, theta, local)]
        return np.concatenate([np.asarray(x, float) for x in chunks])[: len(theta)]

    def many_jacobians(
        self, theta: np.ndarray, local: np.ndarray, active: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `jacobian`, of many theta [n, p] and local [n, w, s]."""
        k, s = len(active), local.shape[-1]
        columns = np.concatenate([self.reader.columns(active), self._end + np.arange(s)])
        dx, dl = self._tangents(columns, np.eye(k + s), s)
        chunks = [
            (self._many(*arrays, self.data), self._many_derivatives(*arrays, self.data, dx, dl))
            for arrays in (
                self._arrays(t, l) for t, l in _cut(self._portion(local, k + s), theta, local)
            )
        ]
        parts = zip(*chunks, strict=True)
        r, J = (np.concatenate([np.asarray(x, float) for x in p])[: len(theta)] for p in parts)
        return r, J[..., :k], J[..., k:]

    def _portion(self, local: np.ndarray, directions: int, n: int | None = None) -> int:
        """So many of n starts at a time that the arguments of all lanes fit into memory."""
        w, s = local.shape[1:]
        size = sum(math.prod(form) for form in _forms(self.data)) + self.size + s
        return min(max(MANY // (w * directions * size), 1), len(local) if n is None else n)

    def _arrays(self, theta: np.ndarray, local: np.ndarray) -> tuple[Array, Array]:
        extended = self.reader.extend(np.asarray(theta, float))
        return jnp.asarray(extended, self.dtype), jnp.asarray(local, self.dtype)


def _cut(part: int, *arrays: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """Equal portions of starts; the last one is filled up, so that one program serves all."""
    n = len(arrays[0])
    index = np.arange(-(-n // part) * part)
    for rows in np.minimum(index, n - 1).reshape(-1, part):
        yield tuple(x[rows] for x in arrays)


def _forms(data: WindowData) -> list[tuple[int, ...]]:
    return [x.shape[1:] for x in jax.tree.leaves(data)]


_programs: WeakKeyDictionary[Problem, dict[tuple[float, bytes], ResidualProgram]] = (
    WeakKeyDictionary()
)
_lock = threading.RLock()


def compile_windows(problem: Problem, windows: Windows) -> ResidualProgram:
    """Residual functions of a set of windows."""
    data = as_data(windows, problem.sigma, problem.simulator.dt.dtype)
    return ResidualProgram(problem, data)


def compiled(problem: Problem, horizon: float, kept: np.ndarray | None = None) -> ResidualProgram:
    """Residual functions of the problem's fitted windows of a length, the same at each call.

    kept: [k] which of the windows, all by default.
    """
    key = (horizon, b"" if kept is None else np.asarray(kept, np.int64).tobytes())
    with _lock:
        found = _programs.setdefault(problem, {})
        if key not in found:
            windows = problem.train_windows(horizon)
            if kept is not None:
                windows = windows.only(kept)
            found[key] = compile_windows(problem, windows)
            while len(found) > KEPT:
                found.pop(next(iter(found)))
        return found[key]
