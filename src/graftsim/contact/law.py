"""Interface of contact laws: force laws act before the step, impulse laws at its end."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
from jaxtyping import Array, Bool, Float

from graftsim.dynamics.constraints import Inertia
from graftsim.dynamics.mechanism import Mechanism
from graftsim.dynamics.motion import JointMotion, carried_velocity
from graftsim.model.model import Model
from graftsim.model.state import State
from graftsim.spatial.transform import Transform
from graftsim.taps import Tapper


class Free(NamedTuple):
    """A step without impulses: where the links are, what their inertia is, and how it would end."""

    motion: JointMotion
    X_0: Transform
    articulated: Inertia
    qd: Float[Array, " nv"]

    def link_velocity(self, m: Mechanism, qd: Float[Array, " nv"]) -> Float[Array, "nl 6"]:
        """Link velocities, in links, of joint velocities in this pose."""
        return carried_velocity(m.tree, self.motion, qd)


class Felt(NamedTuple):
    """What contacts made of a step: impulses in their frames (N s), what was left open (m/s).

    links: the impulses (N m s; N s) at the links' origins, in them. loops: impulses of loops and
    couplings (N s, N m s) in it, () of a mechanism without or of a law that does not say. motion:
    impulses (N m s, N s) of joints whose motion is prescribed, those of forces included.
    """

    impulse: Float[Array, "nc 3"]
    residual: Float[Array, " nc"]
    links: Float[Array, "nl 6"]
    loops: Float[Array, " m"] | tuple[()] = ()
    motion: Float[Array, " nv"] | tuple[()] = ()


class Passage(NamedTuple):
    """A step with contact: joint velocities at its end, the mean ones that positions move with,
    `State.impulse`, and the seconds that passed: fewer than asked for where an impact begins, and
    none in an impact. Positions move for `span` seconds. `felt`: () unless variables are named.
    """

    qd: Float[Array, " nv"]
    mean: Float[Array, " nv"]
    impulse: Any
    time: Float[Array, ""]
    span: Float[Array, ""]
    felt: Felt | tuple[()] = ()


class ContactLaw(eqx.Module):
    """What happens between shapes that touch: a `ForceLaw` or an `ImpulseLaw`.

    name: for flags and files. impulsive: do velocities jump? inside: what becomes of shapes that
    begin inside one another, in words.
    """

    name: eqx.AbstractClassVar[str]
    impulsive: eqx.AbstractClassVar[bool]
    inside: eqx.AbstractClassVar[str]

    @abc.abstractmethod
    def forces(
        self, m: Mechanism, X_0: Transform, v: Float[Array, "nl 6"], scope: Tapper
    ) -> Float[Array, "nl 6"] | None:
        """Spatial forces on the links, in them (N m; N), given their poses and velocities; None of
        a law without forces.
        """

    @abc.abstractmethod
    def velocities(
        self,
        m: Mechanism,
        free: Free,
        state: State,
        h: Float[Array, ""],
        cut: Bool[Array, ""] | bool,
        scope: Tapper,
    ) -> Passage:
        """A step of h seconds from a state; where `cut`, only until the first impact within it, or
        that impact.
        """

    @abc.abstractmethod
    def rest(self, m: Model) -> Any:
        """`State.impulse` of a fresh start."""

    @abc.abstractmethod
    def located_impacts(self) -> int:
        """How many times a step may be cut where an impact begins."""

    @abc.abstractmethod
    def check(self, m: Model, h: float) -> str:
        """What is wrong with steps of h seconds under this law, in a sentence; "" if nothing is."""


class ForceLaw(ContactLaw):
    """A law of forces that act before the step, as functions of depth and velocity."""

    impulsive: ClassVar[bool] = False

    def velocities(
        self,
        m: Mechanism,
        free: Free,
        state: State,
        h: Float[Array, ""],
        cut: Bool[Array, ""] | bool,
        scope: Tapper,
    ) -> Passage:
        """Those that the forces made."""
        return Passage(free.qd, free.qd, (), h, h)

    def rest(self, m: Model) -> tuple[()]:
        """There are no impulses."""
        return ()

    def located_impacts(self) -> int:
        """None: an impact takes time."""
        return 0


class ImpulseLaw(ContactLaw):
    """A law that changes velocities at once, by impulses (N s) at the end of a step."""

    impulsive: ClassVar[bool] = True

    def forces(self, m: Mechanism, X_0: Transform, v: Float[Array, "nl 6"], scope: Tapper) -> None:
        """There are none."""
        return

    def check(self, m: Model, h: float) -> str:
        """Any step will do."""
        return ""
