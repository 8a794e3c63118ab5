"""The structures of this package: odd, at rest, dissipative, conservative, action and reaction.

Which of them keeps which of the others is said here, so they stand together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from graftsim.errors import VariableError
from graftsim.graft import onnx_graph
from graftsim.graft.onnx_graph import Graph, Value
from graftsim.graft.structure import Frame, Function, Setting, Structure
from graftsim.graft.wiring import PairTarget, Rows, Shapes, Target, pair_target


def _texts(of: str | tuple[str, ...]) -> tuple[str, ...]:
    return (of,) if isinstance(of, str) else tuple(of)


def _mask(frame: Frame, texts: tuple[str, ...], what: str) -> Any:
    """Zero in the columns of the given inputs, one elsewhere."""
    keep = [1.0] * max(s.stop for s in frame.columns.values())
    for text in texts:
        columns = frame.find(text, what)
        keep[columns] = [0.0] * (columns.stop - columns.start)
    return jnp.array(keep)


def _minus_turned(
    g: Graph, f: onnx_graph.Function, turn: Any, factor: float
) -> onnx_graph.Function:
    """factor (f(x) - f(turn x)), number by number."""
    turned = g.constant(np.asarray(turn))
    return onnx_graph.Function(
        lambda x: g.Mul(factor, g.Sub(f.value(x), f.value(g.Mul(turned, x))))
    )


@dataclass(frozen=True)
class Odd(Structure):
    """f(-x) = -f(x), in all inputs, or in those given with the others held."""

    name: ClassVar[str] = "Odd"

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

    def to_onnx(
        self, g: Graph, f: onnx_graph.Function, frame: Frame, rows: int | None
    ) -> onnx_graph.Function:
        """(f(x) - f(-x)) / 2."""
        of = _texts(self.of) or tuple(frame.columns)
        return _minus_turned(g, f, 2 * np.asarray(_mask(frame, of, "Odd")) - 1, 0.5)


@dataclass(frozen=True)
class ZeroAtRest(Structure):
    """No output at zero velocity: f(x, v) - f(x, 0). `velocity`: inputs that are velocities."""

    name: ClassVar[str] = "ZeroAtRest"

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

    def to_onnx(
        self, g: Graph, f: onnx_graph.Function, frame: Frame, rows: int | None
    ) -> onnx_graph.Function:
        """f(x, v) - f(x, 0)."""
        return _minus_turned(g, f, _mask(frame, _texts(self.velocity), "ZeroAtRest"), 1.0)


@dataclass(frozen=True)
class Dissipative(Structure):
    """A force that never adds energy: F = -L L^T v, with L from the network.

    `velocity` is the input that the force works on, in the target's rows: `joint.qd` for joint
    forces, `link.velocity` for spatial ones. Its power is -|L^T v|^2. Structures before this one
    shape L, those after it the force.
    """

    name: ClassVar[str] = "Dissipative"

    velocity: str = "joint.qd[*]"

    def check(self, setting: Setting) -> None:
        """The velocity must be what the target does work on."""
        names = [t.name for t in setting.targets]
        if len(names) != 1 or not names[0].startswith(("joint.tau", *_WORKS_ON)):
            raise VariableError(
                f"Dissipative shapes one force, joint.tau..., {' or '.join(_WORKS_ON)}, not "
                f"{setting.shown}."
            )
        if setting.mode == "scale":
            raise VariableError("Dissipative shapes what is added or put in, not mode 'scale'.")
        setting.paired(self.velocity, _WORKS_ON.get(names[0], _RATES), "Dissipative")

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

    def to_onnx(
        self, g: Graph, f: onnx_graph.Function, frame: Frame, rows: int | None
    ) -> onnx_graph.Function:
        """-L L^T v; the entries of L are put in place by a matrix of zeros and ones."""
        n, columns = frame.width, frame.columns[self.velocity]
        down, across = np.tril_indices(n)
        place = np.zeros((len(down), n * n))
        place[np.arange(len(down)), down * n + across] = 1.0
        root = np.sqrt(np.asarray(frame.output_scale * frame.input_scale[columns], float))
        lead = (-1,) if rows is None else (rows, 1)
        swap = (*range(len(lead)), len(lead) + 1, len(lead))

        def value(x: Value) -> Value:
            entries = g.Add(g.MatMul(f.value(x), place), START * np.eye(n).reshape(-1))
            L = g.Reshape(entries, np.array((*lead, n, n)))
            v = g.Mul(g.Gather(x, np.arange(columns.start, columns.stop), axis=-1), root)
            turned = g.MatMul(g.Transpose(L, perm=swap), g.Unsqueeze(v, np.array([-1])))
            return g.Neg(g.Div(g.Squeeze(g.MatMul(L, turned), np.array([-1])), root))

        return onnx_graph.Function(value)


# A new dissipative graft damps by the square of this, in units of force and velocity scale.
START = 0.1
_RATES = ("joint.qd", "state.qd")
# Spatial forces, and the velocity that each does work on.
_WORKS_ON = {"link.force": ("link.velocity",), "link.com_force": ("link.com_velocity",)}


@dataclass(frozen=True)
class Conservative(Structure):
    """A force with a potential: -dV/dq, V the network. Its work along a closed path is zero.

    `position` must be the only input, `joint.q` of the same rows as the target. Structures before
    this one shape V, those after it the force: an odd potential has an even force.
    """

    name: ClassVar[str] = "Conservative"

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

    def to_onnx(
        self, g: Graph, f: onnx_graph.Function, frame: Frame, rows: int | None
    ) -> onnx_graph.Function | None:
        """-dV/dq by the gradient that the network has written out."""
        slope = f.gradient
        if slope is None:
            return None
        energy = np.asarray(frame.output_scale * frame.input_scale, float)
        return onnx_graph.Function(lambda x: g.Mul(slope(x), -energy.mean() / energy))


@dataclass(frozen=True)
class ActionReaction(Structure):
    """Forces between pairs of links that keep momentum: what one feels, the other feels reversed.

    pairs: (link, link), ...; the target is `link.force`, without rows, and each pair is a row.
    The network gives the wrench on the first link, in its axes, about the midpoint of the two.
    """

    name: ClassVar[str] = "ActionReaction"
    onnx_note: ClassVar[str] = (
        "y is the wrench (moment, force) on the first link of each pair, in its axes, about "
        "the midpoint of the two origins; the second feels its opposite there. The reaction "
        "is not in this file."
    )

    pairs: tuple[tuple[str, str], ...]

    def target(self, shapes: Shapes, texts: Sequence[str]) -> tuple[Target, Rows] | None:
        """Each pair is a row."""
        return pair_target(shapes, self.pairs) if tuple(texts) == ("link.force",) else None

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

    def to_onnx(
        self, g: Graph, f: onnx_graph.Function, frame: Frame, rows: int | None
    ) -> onnx_graph.Function:
        """The wrench on the first link."""
        return f
