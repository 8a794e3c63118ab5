"""Physical structure by construction: properties that hold for any weights.

A structure takes a network f of the scaled inputs x (raw input: x times its scale) and makes of it
another function; the scaled output times its scale is what the graft gives. Several are applied in
order, the first inside.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.errors import VariableError, suggest

Function = Callable[[Float[Array, " n"]], Float[Array, " m"]]


class Frame(NamedTuple):
    """What a structure knows of a graft: columns of each input by its text, scales, width."""

    columns: Mapping[str, slice]
    input_scale: Any
    output_scale: Any
    width: int

    def find(self, text: str, what: str) -> slice:
        """Columns of an input; VariableError when the graft has no such input."""
        if text not in self.columns:
            raise VariableError(
                f"{what} needs the input '{text}'. {suggest(text, list(self.columns))}"
            )
        return self.columns[text]


class Structure(abc.ABC):
    """A property that holds for any weights."""

    def check(self, frame: Frame, targets: tuple[str, ...], mode: str) -> None:
        """Raise VariableError where the property would not hold."""
        return

    def outputs(self, width: int) -> int:
        """Outputs that the network needs so that the graft has `width`."""
        return width

    @abc.abstractmethod
    def wrap(self, f: Function, frame: Frame) -> Function:
        """The function with the property."""


def _mask(frame: Frame, texts: tuple[str, ...], what: str) -> Any:
    """Zero in the columns of the given inputs, one elsewhere."""
    keep = [1.0] * max(s.stop for s in frame.columns.values())
    for text in texts:
        columns = frame.find(text, what)
        keep[columns] = [0.0] * (columns.stop - columns.start)
    return jnp.array(keep)


@dataclass(frozen=True)
class Odd(Structure):
    """f(-x) = -f(x), in all inputs, or in those given with the others held."""

    of: tuple[str, ...] = ()

    def check(self, frame: Frame, targets: tuple[str, ...], mode: str) -> None:
        """Inputs must exist."""
        _mask(frame, self.of, "Odd")

    def wrap(self, f: Function, frame: Frame) -> Function:
        """(f(x) - f(-x)) / 2."""
        of = self.of or tuple(frame.columns)

        def odd(x: Array) -> Array:
            sign = (2 * _mask(frame, of, "Odd") - 1).astype(x.dtype)
            return (f(x) - f(sign * x)) / 2

        return odd


@dataclass(frozen=True)
class ZeroAtRest(Structure):
    """No output at zero velocity: f(x, v) - f(x, 0). `velocity`: inputs that are velocities."""

    velocity: str | tuple[str, ...] = "joint.qd[*]"

    @property
    def _texts(self) -> tuple[str, ...]:
        return (self.velocity,) if isinstance(self.velocity, str) else self.velocity

    def check(self, frame: Frame, targets: tuple[str, ...], mode: str) -> None:
        """Inputs must exist."""
        _mask(frame, self._texts, "ZeroAtRest")

    def wrap(self, f: Function, frame: Frame) -> Function:
        """f(x, v) - f(x, 0)."""

        def zero_at_rest(x: Array) -> Array:
            return f(x) - f(x * _mask(frame, self._texts, "ZeroAtRest").astype(x.dtype))

        return zero_at_rest


@dataclass(frozen=True)
class Dissipative(Structure):
    """A force that never adds energy: F = -L L^T v, with L from the network.

    `velocity` is the input that the force works on, component by component: `joint.qd` for joint
    forces, `link.velocity` for spatial ones. Its power is -|L^T v|^2.
    """

    velocity: str = "joint.qd[*]"

    def check(self, frame: Frame, targets: tuple[str, ...], mode: str) -> None:
        """The velocity must be what the target does work on."""
        columns = frame.find(self.velocity, "Dissipative")
        name = self.velocity.split("[")[0]
        allowed = ("link.velocity",) if targets[0].startswith("link.") else _RATES
        if len(targets) != 1 or not targets[0].startswith(("joint.tau", "link.force")):
            raise VariableError(
                f"Dissipative shapes one force, joint.tau... or link.force: {targets}."
            )
        if name not in allowed:
            raise VariableError(f"The power of {targets[0]} is with {allowed[0]}, not {name}.")
        if columns.stop - columns.start != frame.width:
            raise VariableError(
                f"Dissipative: {self.velocity} has {columns.stop - columns.start} components, "
                f"the target {frame.width}."
            )
        if mode == "scale":
            raise VariableError("Dissipative shapes what is added or put in, mode 'scale' is not.")

    def outputs(self, width: int) -> int:
        """Entries of a lower triangle."""
        return width * (width + 1) // 2

    def wrap(self, f: Function, frame: Frame) -> Function:
        """-L L^T v in scaled terms: the power is kept negative in physical ones."""
        columns, n = frame.find(self.velocity, "Dissipative"), frame.width
        rows, across = jnp.tril_indices(n)

        def force(x: Array) -> Array:
            root = jnp.sqrt(frame.output_scale * frame.input_scale[columns])
            # The network gives L less a tenth: with L = 0 no gradient would reach it.
            L = jnp.zeros((n, n), x.dtype).at[rows, across].set(f(x))
            L = L + START * jnp.eye(n, dtype=x.dtype)
            return -(L @ (L.T @ (root * x[columns]))) / root

        return force


# A new dissipative graft damps by the square of this, in units of force and velocity scale.
START = 0.1
_RATES = ("joint.qd", "state.qd")


@dataclass(frozen=True)
class Conservative(Structure):
    """A force with a potential: -dV/dq, V the network. Its work along a closed path is zero.

    `position` must be the only input, `joint.q` of the same rows as the target.
    """

    position: str = "joint.q[*]"

    def check(self, frame: Frame, targets: tuple[str, ...], mode: str) -> None:
        """Only the positions that the force works along."""
        columns = frame.find(self.position, "Conservative")
        name = self.position.split("[")[0]
        if len(targets) != 1 or not targets[0].startswith("joint.tau") or name != "joint.q":
            raise VariableError(
                f"Conservative shapes one joint force over joint.q, not {targets} over {name}."
            )
        if len(frame.columns) != 1:
            others = [k for k in frame.columns if k != self.position]
            raise VariableError(
                f"A conservative force depends on positions alone; take out {', '.join(others)}."
            )
        if columns.stop - columns.start != frame.width or mode == "scale":
            raise VariableError(
                f"Conservative: {self.position} has {columns.stop - columns.start} components, "
                f"the target {frame.width}; mode '{mode}'."
            )

    def outputs(self, width: int) -> int:
        """One potential."""
        return 1

    def wrap(self, f: Function, frame: Frame) -> Function:
        """-dV/dq in scaled terms."""

        def force(x: Array) -> Array:
            energy = frame.output_scale * frame.input_scale
            return -jnp.mean(energy) / energy * jax.grad(lambda x: f(x)[0])(x)

        return force


@dataclass(frozen=True)
class ActionReaction(Structure):
    """Forces between pairs of links that keep momentum: what one feels, the other feels reversed.

    pairs: (link, link), ...; the target is `link.force`, without rows, and each pair is a row.
    The network gives the wrench on the first link, in its axes, about the midpoint of the two.
    """

    pairs: tuple[tuple[str, str], ...]

    def check(self, frame: Frame, targets: tuple[str, ...], mode: str) -> None:
        """Only for forces on links, added."""
        if targets != ("link.force",) or mode != "add":
            raise VariableError(
                f"ActionReaction adds to 'link.force', not in mode '{mode}' to {targets}."
            )

    def wrap(self, f: Function, frame: Frame) -> Function:
        """The reaction is added where the force is put in."""
        return f
