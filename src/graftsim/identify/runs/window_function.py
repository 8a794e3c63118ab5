"""Residuals of one window as a function of parameters and initial state.

What is simulated and read is one kernel for windows of any length, made once for a problem: stages
of a fit with other horizons, held-out windows, half steps share it. What readings are compared with
stays outside, because it costs next to nothing.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim import kernels
from graftsim.engine.simulator import Simulator
from graftsim.errors import GraftsimWarning, KernelError
from graftsim.identify.problem.parameters import Parameters, SimulatorAndSensors
from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.residuals import (
    WindowData,
    mismatches,
    read_along,
    simulate,
    whiten,
)
from graftsim.identify.runs.shared_tangents import Touch
from graftsim.optim.loss import Loss
from graftsim.taps import Augmentation

# A kernel for any length has a sample a step at least: with fewer than this share of them it is
# made for their number.
FEW = 0.25


class Timing(NamedTuple):
    """The step (s), and how much (s) of each delay the commands have been moved by already."""

    dt: Float[Array, ""]
    moved: Float[Array, " nu"]

    @classmethod
    def of(cls, simulator: Simulator) -> Timing:
        """A simulator's own."""
        return cls(simulator.dt, jnp.zeros_like(simulator.model.actuator.delay))

    def put_into(self, setup: SimulatorAndSensors) -> SimulatorAndSensors:
        """A setup with this step, and with the rest of its delays."""
        rest = setup.simulator.model.actuator.delay - self.moved
        places = lambda s: (s.simulator.dt, s.simulator.model.actuator.delay)  # noqa: E731
        return eqx.tree_at(places, setup, (self.dt, rest))


class _Width(NamedTuple):
    """Room for samples in a window of n steps: factor n + offset."""

    factor: int
    offset: int

    @classmethod
    def of(cls, samples: int, steps: int) -> _Width:
        """The least that serves windows of any length with as many samples a step."""
        if steps < 2 or samples < FEW * steps:
            return cls(0, samples)
        return cls(max(-(-(samples - 1) // steps), 1), 1)

    def at(self, n: Any) -> Any:
        """In a window of n steps."""
        return self.factor * n + self.offset if self.factor else self.offset


class Effects(Protocol):
    """Changes of named variables, each with a size that is zero in the model."""

    names: tuple[str, ...]

    def augmentations(self, sizes: Array) -> Mapping[str, Augmentation]:
        """What they do, by variable, given their sizes [k]."""
        ...


class Reading(NamedTuple):
    """What each sensor reads at the times of its samples, and joint positions at every step."""

    read: list[Float[Array, "n d"]]
    q: Float[Array, "t nq"]


class Reader:
    """Readings of all sensors in one window, by kernels that are made as needed and kept.

    Their parameters are `Problem.extended`: those of the problem and what it withholds.
    """

    def __init__(
        self,
        problem: Problem,
        nlocal: int,
        parameters: Parameters | None = None,
        effects: Effects | None = None,
    ) -> None:
        """nlocal: unknowns of each initial state. parameters, effects: others than `extended`."""
        # Nothing here may hold the problem itself: readers are kept as long as it lives.
        self.setup, self.nlocal, self.effects = problem.setup, nlocal, effects
        self.parameters = problem.extended if parameters is None else parameters
        self.sensors, self.timing = self.setup.sensors, Timing.of(self.setup.simulator)
        more = () if effects is None else effects.names
        names = self.names = [*self.parameters.names, *more]
        self._at = np.array([names.index(n) for n in problem.parameters.names], int)
        self._start = np.concatenate([self.parameters.start, np.zeros(len(more))])
        self.dtype = self.setup.simulator.dt.dtype
        # Which unknowns the readings of each sensor depend on, as far as it has been seen.
        self.touch = Touch(len(self.sensors.specs), len(names) + nlocal, self.dtype)
        self._kernels: dict[Any, Callable[..., Any] | None] = {}
        self._any_length = True
        self._lock = threading.RLock()

    def __call__(
        self, extended: Array, local: Array, window: WindowData, timing: Timing | None = None
    ) -> Reading:
        """A window's, at extended parameters and initial state; traceable."""
        timing = self.timing if timing is None else timing
        steps = window.controls.shape[0]
        bare, widths, kernel = self._kernel_for(window)
        if kernel is None:
            return self._read(False, timing, extended, local, bare)
        padded = tuple(
            jnp.pad(t, (0, w.at(steps) - t.shape[0]))
            for t, w in zip(window.time, widths, strict=True)
        )
        found = kernel(timing, extended, local, bare._replace(time=padded))
        read = [y[: t.shape[0]] for y, t in zip(found.read, window.time, strict=True)]
        return found._replace(read=read)

    def on_kernels(self, data: WindowData) -> bool:
        """Do kernels simulate windows of this form, or does XLA?"""
        window = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), data)
        return self._kernel_for(window)[2] is not None

    def extend(self, theta: np.ndarray) -> np.ndarray:
        """Parameters [.., p] with what is withheld as it is [.., e]."""
        out = np.broadcast_to(self._start, (*theta.shape[:-1], len(self._start))).copy()
        out[..., self._at] = theta
        return out

    def extend_traced(self, theta: Float[Array, " p"]) -> Float[Array, " e"]:
        """The same, traceable."""
        return jnp.asarray(self._start, theta.dtype).at[self._at].set(theta)

    def columns(self, active: np.ndarray, withheld: Sequence[str] = ()) -> np.ndarray:
        """Places in the extended parameters of some parameters, and of what is withheld by name."""
        more = [self.names.index(n) for n in withheld]
        return np.concatenate([self._at[active], more]).astype(int)

    def _read(
        self, kernel: bool, timing: Timing, extended: Array, local: Array, window: WindowData
    ) -> Reading:
        setup = timing.put_into(self.parameters.apply(self.setup, extended))
        changed = None
        if self.effects is not None:
            changed = self.effects.augmentations(extended[len(self.parameters) :])
        moved = simulate(setup, window, local, changed, kernel=kernel)
        return Reading(read_along(setup, window, moved, kernel=kernel), moved.q)

    def _kernel_for(
        self, window: WindowData
    ) -> tuple[WindowData, list[_Width], Callable[..., Any] | None]:
        """What a kernel reads of a window, room for its samples, and the kernel."""
        bare = window._replace(value=(), weight=())
        widths = [_Width.of(t.shape[0], window.controls.shape[0]) for t in window.time]
        return bare, widths, self._kernel(widths, bare)

    def _kernel(self, widths: list[_Width], window: WindowData) -> Callable[..., Any] | None:
        """For windows of this form, or None where XLA has to do."""
        steps = window.controls.shape[0]
        with self._lock:
            # One step needs no loop.
            fixed = steps if steps < 2 or not self._any_length else None
            key = (tuple(widths), fixed)
            if key not in self._kernels:
                self._kernels[key] = self._compiled(widths, window, fixed)
            return self._kernels[key]

    def _compiled(
        self, widths: list[_Width], window: WindowData, fixed: int | None
    ) -> Callable[..., Any] | None:
        if jax.default_backend() != "cpu":
            return None
        n = kernels.length() if fixed is None else fixed
        examples = self._examples(widths, window, n)
        try:
            return kernels.compile(partial(self._read, True), *examples)
        except kernels.Undecided:
            self._any_length = False
            return self._compiled(widths, window, window.controls.shape[0])
        except KernelError as error:
            warnings.warn(f"The fit runs on XLA: {error}", GraftsimWarning, stacklevel=2)
            return None

    def _examples(self, widths: list[_Width], window: WindowData, n: Any) -> tuple[Any, ...]:
        """Shapes of the arguments of `_read` for windows of n steps."""

        def array(*shape: Any) -> Any:
            return jax.ShapeDtypeStruct(shape, self.dtype)

        form = window._replace(time=tuple(array(w.at(n)) for w in widths))
        form = form._replace(
            controls=array(n, window.controls.shape[1]),
            **{k: jax.tree.map(lambda x: array(*x.shape), getattr(window, k))
               for k in ("before", "q0", "qd0")},
        )  # fmt: skip
        timing = jax.tree.map(lambda x: array(*x.shape), self.timing)
        return timing, array(len(self.names)), array(self.nlocal), form


class WindowFunction(NamedTuple):
    """(theta, local, window) -> whitened residuals of a window, all sensors in a row; traceable.

    Zero where there is no sample.
    """

    reader: Reader
    loss: Loss

    def __call__(self, theta: Array, local: Array, window: WindowData) -> Float[Array, " m"]:
        """Residuals at parameters theta [p]."""
        return self.extended(self.reader.extend_traced(theta), local, window)

    def extended(self, theta: Array, local: Array, window: WindowData) -> Float[Array, " m"]:
        """The same at extended parameters [e]."""
        read = self.reader(theta, local, window).read
        return whiten(mismatches(self.reader.sensors, read, window), window, self.loss)


_readers: WeakKeyDictionary[Problem, dict[int, Reader]] = WeakKeyDictionary()
_lock = threading.RLock()


def reader(problem: Problem, nlocal: int | None = None) -> Reader:
    """The reader of a problem, the same at each call; nlocal: of other than its initial states."""
    s = problem.nlocal if nlocal is None else nlocal
    with _lock:
        found = _readers.setdefault(problem, {})
        if s not in found:
            found[s] = Reader(problem, s)
        return found[s]
