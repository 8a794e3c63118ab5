"""Physical structure by construction: properties that hold for any weights.

A structure takes a network f of the scaled inputs x (raw input: x times its scale) and makes of it
another function; the scaled output times its scale is what the graft gives. Several are applied in
order, the first inside; a combination in which one would not hold is refused.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.errors import VariableError, suggest
from graftsim.graft.wiring import Input, PairTarget, Source, Target
from graftsim.model.tree import Tree

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


class Setting(NamedTuple):
    """A graft that is being bound, for a structure to check."""

    frame: Frame
    targets: tuple[Target, ...]
    inputs: Mapping[str, Input]
    mode: str
    tree: Tree

    @property
    def shown(self) -> str:
        """Names of the targets."""
        return ", ".join(t.name for t in self.targets)

    def paired(self, text: str, names: tuple[str, ...], what: str) -> None:
        """Raise VariableError unless an input is one of these variables, in the target's rows."""
        self.frame.find(text, what)
        source, target = self.inputs[text], self.targets[0]
        if not isinstance(source, Source) or source.name not in names or source.previous:
            raise VariableError(f"{what} of {target.name} needs {names[0]}, not '{text}'.")
        if source.places != target.places:
            raise VariableError(
                f"{what}: '{text}' ({', '.join(source.columns)}) has other rows than the target "
                f"({', '.join(target.columns)})."
            )


class Structure(abc.ABC):
    """A property that holds for any weights."""

    def check(self, setting: Setting) -> None:
        """Raise VariableError where the property would not hold."""
        return

    def keeps(self, inner: Structure) -> bool:
        """Does the property of a structure inside still hold after this one?"""
        return True

    def outputs(self, width: int) -> int:
        """Outputs that the network needs so that the graft has `width`."""
        return width

    @abc.abstractmethod
    def wrap(self, f: Function, frame: Frame) -> Function:
        """The function with the property."""


def check(structures: Sequence[Structure], setting: Setting) -> None:
    """Raise VariableError where one of the properties would not hold."""
    for place, outer in enumerate(structures):
        outer.check(setting)
        for inner in structures[:place]:
            if not outer.keeps(inner):
                a, b = type(inner).__name__, type(outer).__name__
                advice = "Take one out."
                if a != b and inner.keeps(outer):
                    advice = f"The other order keeps both: structure=({b}(...), {a}(...))."
                raise VariableError(f"{a} does not hold for what {b} makes of it. {advice}")


def _texts(of: str | tuple[str, ...]) -> tuple[str, ...]:
    return (of,) if isinstance(of, str) else tuple(of)


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

    of: str | tuple[str, ...] = ()

    def check(self, setting: Setting) -> None:
        """Inputs must exist."""
        _mask(setting.frame, _texts(self.of), "Odd")

    def keeps(self, inner: Structure) -> bool:
        """-A(x) v stays one for which A is never negative only if v turns round."""
        of = _texts(self.of)
        return not isinstance(inner, Dissipative) or not of or inner.velocity in of

    def wrap(self, f: Function, frame: Frame) -> Function:
        """(f(x) - f(-x)) / 2."""
        of = _texts(self.of) or tuple(frame.columns)

        def odd(x: Array) -> Array:
            sign = (2 * _mask(frame, of, "Odd") - 1).astype(x.dtype)
            return (f(x) - f(sign * x)) / 2

        return odd


@dataclass(frozen=True)
class ZeroAtRest(Structure):
    """No output at zero velocity: f(x, v) - f(x, 0). `velocity`: inputs that are velocities."""

    velocity: str | tuple[str, ...] = "joint.qd[*]"

    def check(self, setting: Setting) -> None:
        """Inputs must exist."""
        _mask(setting.frame, _texts(self.velocity), "ZeroAtRest")

    def keeps(self, inner: Structure) -> bool:
        """What is taken away from a dissipative force must be zero."""
        return not isinstance(inner, Dissipative) or inner.velocity in _texts(self.velocity)

    def wrap(self, f: Function, frame: Frame) -> Function:
        """f(x, v) - f(x, 0)."""

        def zero_at_rest(x: Array) -> Array:
            at_rest = x * _mask(frame, _texts(self.velocity), "ZeroAtRest").astype(x.dtype)
            return f(x) - f(at_rest)

        return zero_at_rest


@dataclass(frozen=True)
class Dissipative(Structure):
    """A force that never adds energy: F = -L L^T v, with L from the network.

    `velocity` is the input that the force works on, in the target's rows: `joint.qd` for joint
    forces, `link.velocity` for spatial ones. Its power is -|L^T v|^2. Structures before this one
    shape L, those after it the force.
    """

    velocity: str = "joint.qd[*]"

    def check(self, setting: Setting) -> None:
        """The velocity must be what the target does work on."""
        names = [t.name for t in setting.targets]
        if len(names) != 1 or not names[0].startswith(("joint.tau", "link.force")):
            raise VariableError(
                f"Dissipative shapes one force, joint.tau... or link.force, not {setting.shown}."
            )
        if setting.mode == "scale":
            raise VariableError("Dissipative shapes what is added or put in, not mode 'scale'.")
        on_link = names[0] == "link.force"
        setting.paired(self.velocity, ("link.velocity",) if on_link else _RATES, "Dissipative")

    def keeps(self, inner: Structure) -> bool:
        """What is inside shapes L, but is no force."""
        return not isinstance(inner, Dissipative | Conservative | ActionReaction)

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

    `position` must be the only input, `joint.q` of the same rows as the target. Structures before
    this one shape V, those after it the force: an odd potential has an even force.
    """

    position: str = "joint.q[*]"

    def keeps(self, inner: Structure) -> bool:
        """What is inside shapes V, but is no force."""
        return not isinstance(inner, Dissipative | Conservative | ActionReaction)

    def check(self, setting: Setting) -> None:
        """Only the positions that the force works along."""
        if len(setting.targets) != 1 or not setting.targets[0].name.startswith("joint.tau"):
            raise VariableError(
                f"Conservative shapes one joint force, joint.tau..., not {setting.shown}."
            )
        if setting.mode == "scale":
            raise VariableError("Conservative shapes what is added or put in, not mode 'scale'.")
        setting.paired(self.position, ("joint.q",), "Conservative")
        others = [k for k in setting.inputs if k != self.position]
        if others:
            raise VariableError(
                f"A conservative force depends on positions alone; take out {', '.join(others)}."
            )
        for dof in sorted({i for row in setting.targets[0].places for i in row}):
            kind = setting.tree.joint_types[int(setting.tree.link_of_dof[dof])]
            if not kind.one_by_one and setting.tree.dof_units[dof] == "rad":
                raise VariableError(
                    f"Conservative: joint.q[{setting.tree.dofs[dof]}] is a component of a rotation "
                    "vector, whose rate is not the joint's velocity. Take the other joints."
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

    def check(self, setting: Setting) -> None:
        """Only for forces on links, added."""
        if not isinstance(setting.targets[0], PairTarget) or setting.mode != "add":
            raise VariableError(
                "ActionReaction adds to 'link.force', without rows: its pairs are the rows. Not in "
                f"mode '{setting.mode}' to {setting.shown}."
            )

    def keeps(self, inner: Structure) -> bool:
        """It changes nothing of the wrench, but there is one set of pairs."""
        return not isinstance(inner, ActionReaction)

    def wrap(self, f: Function, frame: Frame) -> Function:
        """The reaction is added where the force is put in."""
        return f
