"""What a scene of impacts is: data, from which it is run by events and differentiated.

Shapes, masses, a start, which numbers are varied and which are looked at: the same data are built
as models by whoever wants to be compared. The scenes themselves stand in `impacts_table.py`.
SI units and radians.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from impacts import WORLD, Array, Contact, Impact, Mechanism, differences, run
from impacts_arms import DoublePendulum, Leg, leg_urdf
from impacts_bodies import (
    FreeBodies,
    Line,
    ball_ball,
    ball_box,
    ball_plane,
    crossing,
    matrix,
    rim_floor,
)

ARM = 0.1  # turns and spins count at this distance (m), so that all outputs are in m and m/s
Label = tuple[str, str]  # "q", "v", "e" or "mu", and a coordinate's name
FREE_Q = ("x", "y", "z", "qw", "qx", "qy", "qz")
FREE_V = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True)
class Scene:
    """What every scene has. `modes`: of its impacts, in order."""

    case: str
    T: float
    inputs: tuple[Label, ...]
    modes: tuple[str, ...]
    e: float = 1.0
    mu: float = 0.0
    gravity: float = 0.0  # along -z
    outputs: tuple[dict[Label, float], ...] | None = None  # weights; None: every coordinate
    cone_only: bool = False  # what slides is not in a plane with a corner of the polyhedron

    def start(self) -> tuple[Array, Array]:
        """Positions and velocities."""
        raise NotImplementedError

    def labels(self) -> tuple[list[str], list[str]]:
        """Names of the positions and the velocities."""
        raise NotImplementedError

    def mechanism(self) -> Mechanism:
        """What moves."""
        raise NotImplementedError

    def contacts(self) -> list[Contact]:
        """What may meet."""
        raise NotImplementedError

    def spread(self) -> dict[str, Array]:
        """Of each kind of input, what one of each of the varied numbers adds [., n]."""
        q, v = self.labels()
        names = {"q": q, "v": v, "e": [""], "mu": [""]}
        return {
            kind: np.array([[float((kind, x) == i) for i in self.inputs] for x in rows])
            for kind, rows in names.items()
        }

    def weights(self) -> tuple[Array, Array]:
        """What the outputs [k] are, of positions [k, nq] and of velocities [k, nv]."""
        q, v = self.labels()
        given = self.outputs
        if given is None:
            given = tuple({(kind, x): _weight(x)} for kind, xs in (("q", q), ("v", v)) for x in xs)
        return tuple(
            np.array([[out.get((kind, x), 0.0) for x in xs] for out in given])
            for kind, xs in (("q", q), ("v", v))
        )

    def run(self, z: Array | None = None) -> tuple[Array, Array, list[Impact]]:
        """By events, with z [n] added to the varied numbers."""
        z = np.zeros(len(self.inputs)) if z is None else z
        (q, v), B = self.start(), self.spread()
        e, mu = self.e + (B["e"] @ z)[0], self.mu + (B["mu"] @ z)[0]
        start = q + B["q"] @ z, v + B["v"] @ z
        q, v, impacts = run(self.mechanism(), self.contacts(), start, self.T, e, mu)
        if tuple(i.mode for i in impacts) != self.modes:
            raise ArithmeticError(f"{self.case}: {[i.mode for i in impacts]}, not {self.modes}")
        return q, v, impacts

    def values(self, z: Array | None = None) -> Array:
        """Outputs [k]."""
        q, v, _ = self.run(z)
        of_q, of_v = self.weights()
        return of_q @ q + of_v @ v

    def slopes(self, h: float = 1e-3) -> Array:
        """d(outputs)/d(inputs) [k, n], by differences of the events."""
        return differences(self.values, np.zeros(len(self.inputs)), h)

    @cached_property
    def jacobian(self) -> Array:
        """The same, once."""
        return self.slopes()


def _weight(name: str) -> float:
    """A quaternion's parts are half an angle."""
    suffix = name.rpartition(".")[2]
    return 2 * ARM if suffix.startswith("q") else ARM if suffix.startswith("r") else 1.0


@dataclass(frozen=True)
class Body:
    """A free body of one shape about its centre. Sizes as graftsim's and MuJoCo's.

    `turned`: rotation of the shape in the body, of boxes only, for which `FreeScene.edges` has it.
    """

    name: str
    kind: str
    size: tuple[float, ...]
    mass: float
    inertia: tuple[float, float, float]
    at: Sequence[float]
    v: Sequence[float] = (0.0, 0.0, 0.0)
    w: Sequence[float] = (0.0, 0.0, 0.0)  # in the body's axes
    rotation: Sequence[float] = (1.0, 0.0, 0.0, 0.0)
    vertices: tuple[tuple[float, float, float], ...] = ()
    turned: Sequence[float] = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Fixed:
    """A shape of the world."""

    kind: str
    size: tuple[float, ...] = ()
    at: Sequence[float] = (0.0, 0.0, 0.0)
    rotation: Sequence[float] = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class FreeScene(Scene):
    """Free bodies and fixed shapes. `edges`: of a fixed and a free box, those that meet, the first
    in the world and the second in the body."""

    bodies: tuple[Body, ...] = ()
    fixed: tuple[Fixed, ...] = ()
    edges: tuple[Line, Line] | None = field(default=None, compare=False)

    def labels(self) -> tuple[list[str], list[str]]:
        """As graftsim's."""
        return tuple([f"{b.name}.{x}" for b in self.bodies for x in xs] for xs in (FREE_Q, FREE_V))

    def start(self) -> tuple[Array, Array]:
        """Each body's seven and six numbers."""
        q = np.concatenate([[*b.at, *b.rotation] for b in self.bodies])
        return q, np.concatenate([[*b.v, *b.w] for b in self.bodies])

    def mechanism(self) -> Mechanism:
        """Free bodies."""
        return FreeBodies(
            np.array([b.mass for b in self.bodies]),
            np.array([b.inertia for b in self.bodies]),
            np.array([0.0, 0.0, -self.gravity]),
        )

    def contacts(self) -> list[Contact]:
        """Of every body with every fixed shape, and of balls with each other."""
        found = [c for k in range(len(self.bodies)) for f in self.fixed for c in self._with(k, f)]
        for j, b in enumerate(self.bodies):
            for i, a in enumerate(self.bodies[:j]):
                found.append(ball_ball(i, j, (a.size[0], b.size[0]), np.zeros(3)))
        return found

    def _with(self, k: int, fixed: Fixed) -> list[Contact]:
        body, at, R = self.bodies[k], np.array(fixed.at), matrix(np.array(fixed.rotation))
        match fixed.kind, body.kind:
            case "plane", "cylinder":
                radius, half = body.size
                return [rim_floor(k, radius, s * half) for s in (-1, 1)]
            case "plane", _:
                radius, points = _corners(body)
                return [ball_plane(k, np.array(p), radius, at, R[:, 2]) for p in points]
            case "sphere", "sphere":
                return [ball_ball(WORLD, k, (fixed.size[0], body.size[0]), at)]
            case "box", "sphere":
                return [ball_box(k, body.size[0], np.array(fixed.size))]
            case "capsule", "capsule":
                axes = (at, R[:, 2]), (np.zeros(3), np.array([0.0, 0.0, 1.0]))
                radii = fixed.size[0], body.size[0]
                return [crossing(k, *axes, radii, np.array(body.at) - at)]
            case "box", "box":
                assert self.edges is not None
                return [crossing(k, *self.edges, (0.0, 0.0), np.array(body.at) - at)]
        raise NotImplementedError(f"{body.kind} on {fixed.kind}")


def _corners(body: Body) -> tuple[float, Any]:
    """Balls whose hull the shape is: their radius and centres."""
    if body.kind == "mesh":
        return 0.0, body.vertices
    if body.kind == "capsule":
        return body.size[0], [(0, 0, s * body.size[1]) for s in (-1, 1)]
    return body.size[0], [(0, 0, 0)]


@dataclass(frozen=True)
class PendulumScene(Scene):
    """A double pendulum with a ball at its tip, beside a wall that faces -x."""

    pendulum: DoublePendulum = field(kw_only=True)
    radius: float = field(kw_only=True)
    wall: float = field(kw_only=True)  # its place, x
    q: tuple[float, float] = field(kw_only=True)
    v: tuple[float, float] = field(kw_only=True)

    def labels(self) -> tuple[list[str], list[str]]:
        """Joints."""
        return ["upper", "lower"], ["upper", "lower"]

    def start(self) -> tuple[Array, Array]:
        """Angles and rates."""
        return np.array(self.q), np.array(self.v)

    def mechanism(self) -> Mechanism:
        """By hand."""
        return self.pendulum

    def contacts(self) -> list[Contact]:
        """Tip and wall."""
        tip = np.array([0.0, 0.0, -self.pendulum.lengths[1]])
        at, normal = np.array([self.wall, 0.0, 0.0]), np.array([-1.0, 0.0, 0.0])
        return [ball_plane(1, tip, self.radius, at, normal)]


@dataclass(frozen=True)
class LegScene(Scene):
    """A leg of a quadruped on a fixed base, whose toe meets a floor."""

    urdf: Path = field(kw_only=True)
    armature: float = field(kw_only=True)
    torques: tuple[float, float, float] = field(kw_only=True)
    floor: float = field(kw_only=True)  # its height
    q: tuple[float, float, float] = field(kw_only=True)
    v: tuple[float, float, float] = field(kw_only=True)
    toe: tuple[float, float, float] = (0.0, 0.0, -0.2)  # in the last link
    radius: float = 0.02

    def text(self) -> str:
        """URDF of this leg alone."""
        return leg_urdf(self.urdf)

    def labels(self) -> tuple[list[str], list[str]]:
        """Joints."""
        names = [f"FR_{x}_joint" for x in ("hip", "upper", "lower")]
        return names, names

    def start(self) -> tuple[Array, Array]:
        """Angles and rates."""
        return np.array(self.q), np.array(self.v)

    def mechanism(self) -> Mechanism:
        """By MuJoCo."""
        return Leg(self.text(), self.armature, np.array(self.torques))

    def contacts(self) -> list[Contact]:
        """Toe and floor."""
        up = np.array([0.0, 0.0, 1.0])
        return [ball_plane(2, np.array(self.toe), self.radius, self.floor * up, up)]
