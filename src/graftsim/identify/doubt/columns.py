"""Derivatives of the residuals by what was not free, and residuals with it changed for good."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from graftsim.identify.doubt.effects import EFFECTS, Effects
from graftsim.identify.doubt.retimed import delayed
from graftsim.identify.doubt.standard import CLOCK, Number
from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.residuals import WindowData
from graftsim.identify.problem.windows import Windows, commands_before
from graftsim.identify.runs.differences import differences
from graftsim.identify.runs.residual_program import ResidualProgram
from graftsim.identify.runs.window_function import Reader
from graftsim.model.catalogue import dofs_by_row
from graftsim.model.model import Model

# Differences by a delay: this share of a step.
SHORT = 0.01


class Columns:
    """Residuals of some windows with numbers changed that are not free."""

    def __init__(
        self,
        problem: Problem,
        program: ResidualProgram,
        windows: Windows,
        numbers: Sequence[Number],
        sizes: Sequence[float] | np.ndarray,
    ) -> None:
        """sizes: of the numbers, to differ them by a share of."""
        self.program, self._dt = program, float(problem.simulator.dt)
        self.names = [n.name for n in numbers]
        inside = set(program.reader.names)
        actuators = {n.name: n.actuator for n in problem.withheld if n.is_delay}
        self._delays = {n: a for n, a in actuators.items() if n not in inside and n in self.names}
        self._clock = next((n.name for n in numbers if n.quantity == "effect.clock"), None)
        self._rest = [n for n in self.names if n not in self._delays and n != self._clock]
        self._inside = set(self._rest)
        self._wide = program
        if not inside.issuperset(self._rest):
            self._wide = ResidualProgram(problem, program.data, own=_wider(problem, self._rest))
        model = problem.simulator.model
        by_name = dict(zip(self.names, zip(numbers, sizes, strict=True), strict=True))
        rest = [by_name[n] for n in self._rest]
        self._sizes = np.array([size for _, size in rest])
        self._touches = _touches(model, program, [n for n, _ in rest])
        # What a contact does has no derivative everywhere that a difference shows.
        self._differ = self._wide is not program and problem.simulator.contact is None
        self._before = commands_before(model, problem.train, windows, problem.dt)

    def on(self, data: WindowData) -> Columns:
        """The same for other windows of the same form, whose first commands have been held."""
        other = copy.copy(self)
        program, wide = self.program.on(data), self._wide.on(data)
        assert program is not None and wide is not None
        other.program, other._wide = program, wide
        other._before = np.asarray(data.controls)[:, 0]
        return other

    def slopes(self, theta: np.ndarray, local: np.ndarray) -> Float[np.ndarray, "w m k"]:
        """Derivatives of the residuals by all numbers."""
        if self._differ:
            sizes, touches = self._sizes, self._touches
            found = differences(self._wide, theta, local, self._rest, sizes, touches)
        else:
            found = self._wide.slopes(theta, local, self._rest)
        if self._rest == self.names:
            return found
        out = np.empty((*found.shape[:2], len(self.names)))
        out[..., [n in self._inside for n in self.names]] = found
        for k, name in enumerate(self.names):
            if name not in self._inside:
                d = CLOCK if name == self._clock else SHORT * self._dt
                up, down = (self.residual(name, x, theta, local) for x in (d, -d))
                out[..., k] = (up - down) / (2 * d)
        return out

    def residual(
        self, name: str, amount: float, theta: np.ndarray, local: np.ndarray
    ) -> Float[np.ndarray, "w m"]:
        """Residuals with one of the numbers off by an amount."""
        program = self.program
        if name == self._clock:
            return _on_clock(program, 1 + amount, theta, local)
        if name in self._delays:
            actuator = self._delays[name]
            return delayed(program, self._before, amount, actuator).residual(theta, local)
        return self._wide.displaced(theta, local, [name], np.array([[amount]]))[0]


def _touches(
    model: Model, program: ResidualProgram, numbers: Sequence[Number]
) -> np.ndarray | None:
    """Which sensors [s, k] numbers should touch: those of their joint's state.

    None where that is not known of some.
    """
    touched = [_touched(model, program, n) for n in numbers]
    if not numbers or any(t is None for t in touched):
        return None
    return np.stack([t for t in touched if t is not None], -1)


def _touched(model: Model, program: ResidualProgram, number: Number) -> np.ndarray | None:
    """Which sensors the state of the joint that a number belongs to touches."""
    dofs: tuple[int, ...] = ()
    tree = model.tree
    if number.label in tree.dofs:
        dofs = (tree.dofs.index(number.label),)
    elif number.quantity.startswith("actuator."):
        dofs = dofs_by_row(model, "actuator")[model.actuator.names.index(number.label)]
    else:
        names = tree.joints if number.quantity.startswith("joint.") else tree.links
        i = names.index(number.label)
        # What is fixed to a link moves with it.
        while i >= 0 and not len(tree.v_index[i]):
            i = tree.parent[i]
        dofs = tuple(int(v) for v in tree.v_index[i]) if i >= 0 else ()
    found = [program.touched(d) for d in dofs]
    if not found or any(t is None for t in found):
        return None
    return np.any([t for t in found if t is not None], 0)


def _wider(problem: Problem, names: Sequence[str]) -> Reader:
    """A reader that has these numbers and effects among its parameters."""
    effects = [n for n in names if n.split("[")[0] in EFFECTS]
    offsets = [n for n in names if n not in effects]
    model = problem.simulator.model
    width = np.asarray(model.joint.friction_velocity, float)
    beside = problem.parameters_beside(offsets)
    return Reader(problem, problem.nlocal, beside, Effects(model.tree.dofs, effects, width))


def _on_clock(
    program: ResidualProgram, slow: float, theta: np.ndarray, local: np.ndarray
) -> np.ndarray:
    """Residuals [w, m] if all that the log says of time took so many times as long."""
    timing, data = program.reader.timing, program.data
    late = tuple(jnp.asarray(np.asarray(t) * slow, t.dtype) for t in data.time)
    other = program.on(data._replace(time=late))
    assert other is not None
    errors = other.readings(theta, local, timing._replace(dt=timing.dt * slow))[2]
    parts = zip(errors, data.weight, strict=True)
    return np.concatenate([(e * np.asarray(w)).reshape(len(e), -1) for e, w in parts], 1)
