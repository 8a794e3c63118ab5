"""The scenes of impacts that the conformance table has, by the names of its rows.

Impacts are clean: at about a metre a second and more, neither grazing nor near the change from
sticking to sliding, which a test asserts, and not at a multiple of a step. What slides moves in the
plane x-z and is varied in it, so that a friction polyhedron with a corner in that plane has the
cone's slopes too; the two scenes that slide in space are the cone's alone (`cone_only`). Smooth and
sliding impacts are elastic: there a stiff spring agrees with Newton's law.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
from impacts_arms import DoublePendulum
from impacts_bodies import turn
from impacts_scenes import Body, Fixed, FreeScene, Label, LegScene, PendulumScene, Scene

ROOT = Path(__file__).resolve().parents[2]
ASSETS = Path(os.environ.get("GRAFTSIM_ASSETS", ROOT.parent / "shared" / "assets"))
A1 = ASSETS / "a1" / "a1_primitives.urdf"
G = 9.81
HALF = float(np.sqrt(0.5))
X, Y = np.eye(3)[:2]

FLOOR = Fixed("plane")
WALL = Fixed("plane", at=(0.5, 0, 0), rotation=(HALF, 0, -HALF, 0))  # faces -x


def varied(body: str, places: str = "xyz", spins: str = "xyz", *more: str) -> tuple[Label, ...]:
    """Inputs: places and velocities of a body, spins, and numbers of the contact."""
    return (
        *(("q", f"{body}.{x}") for x in places),
        *(("v", f"{body}.{x}") for x in places),
        *(("v", f"{body}.r{x}") for x in spins),
        *((x, "") for x in more),
    )


PLANE = varied("a", "xz", "y", "mu")
SPACE = varied("a")


def ball(name: str, at: tuple, v: tuple, w: tuple = (0, 0, 0)) -> Body:
    """Of radius 0.1 and 1 kg."""
    return Body(name, "sphere", (0.1,), 1.0, (0.004,) * 3, at, v, w)


def three(
    what: str, shape: Body, fixed: Fixed, plane: dict, space: dict, mu: tuple[float, float],
    e: float, T: float = 0.3, **more: object,
) -> dict[str, Scene]:  # fmt: skip
    """A shape that meets a fixed one without friction, sticking, and sliding in a plane.

    `plane`, `space`: how the sliding and the other two start; mu: of sticking and sliding.
    """

    def scene(case: str, start: dict, inputs: tuple[Label, ...], mode: str, **how: float):
        moving = replace(shape, **start)
        return FreeScene(f"{what}, {case}", T, inputs, (mode,), bodies=(moving,), fixed=(fixed,),
                         **how, **more)  # fmt: skip

    return {
        "smooth": scene("smooth", space, SPACE, "smooth"),
        "stick": scene("sticks", space, (*SPACE, ("e", "")), "stick", e=e, mu=mu[0]),
        "slide": scene("slides", plane, PLANE, "slide", mu=mu[1]),
    }


# -- one shape on another ---------------------------------------------------------------------

_EDGE = three(
    "ball on an edge of a box",
    ball("a", (0.352, 0.02, 0.363), ()),
    Fixed("box", (0.2, 0.3, 0.1)),
    {"at": (0.227, 0, 0.443), "v": (0.18, 0, -1.76), "w": (0, -9, 0)},
    {"v": (-0.6, 0.3, -1.2), "w": (1.0, -2.0, 0.5)},
    (0.9, 0.1),
    0.5,
)

_LEAN = 0.45  # of what crosses, downwards to +x
_CROSSED = three(
    "edge of a box on an edge of a box",
    Body("a", "box", (0.25, 0.08, 0.08), 1.0, (0.00427, 0.023, 0.023), (0.1, 0.01, 0.4), (),
         rotation=tuple(turn(_LEAN * Y)), turned=tuple(turn(np.pi / 4 * X))),
    Fixed("box", (0.1, 0.3, 0.1)),
    {"at": (0.1, 0, 0.4), "v": (0.0, 0, -1.3), "w": (0, 1.0, 0)},
    {"v": (0.1, 0.2, -1.3), "w": (0.5, 1.0, -0.4)},
    (0.9, 0.1),
    0.5,
    edges=((np.array([0.1, 0.0, 0.1]), Y), (np.array([0.0, 0.0, -0.16 * HALF]), X)),
)  # fmt: skip
_CAPSULES = three(
    "capsule across a capsule",
    Body("a", "capsule", (0.06, 0.25), 1.0, (0.025, 0.025, 0.0018), (0.05, 0.01, 0.32), (),
         rotation=tuple(turn((np.pi / 2 + _LEAN) * Y))),
    Fixed("capsule", (0.08, 0.3), rotation=(HALF, -HALF, 0, 0)),
    {"v": (0.0, 0, -1.3), "w": (0, 1.0, 0), "at": (0.05, 0, 0.32)},
    {"v": (0.1, 0.2, -1.3), "w": (0.4, 1.0, 0.5)},
    (0.9, 0.1),
    0.5,
)  # fmt: skip
_RIM = three(
    "rim of a cylinder on a floor",
    Body("a", "cylinder", (0.1, 0.05), 1.0, (0.0033, 0.0033, 0.005), (0, 0, 0.3), (),
         rotation=tuple(turn(0.75 * Y))),
    FLOOR,
    {"v": (2.0, 0, -1.4), "w": (0, 1.0, 0)},
    {"v": (0.4, 0.3, -1.4), "w": (0.7, 1.0, 2.0)},
    (0.9, 0.1),
    0.5,
    T=0.252,
)  # fmt: skip
_CORNERS = ((0.15, 0.0, 0.06), (-0.1, 0.12, 0.06), (-0.1, -0.12, 0.06), (0.03, 0.0, -0.16))
_CORNER = three(
    "corner of a mesh on a floor",
    Body("a", "mesh", (), 1.0, (0.005, 0.006, 0.004), (0, 0, 0.36), (),
         rotation=tuple(turn(0.3 * Y)), vertices=_CORNERS),
    FLOOR,
    {"v": (3.0, 0, -1.4), "w": (0, -1.0, 0)},
    {"v": (0.4, 0.3, -1.4), "w": (0.7, -1.0, 2.0)},
    (0.9, 0.1),
    0.5,
)  # fmt: skip

SHAPES = {
    f"{name} {how}": scene
    for name, group in {
        "I2": _EDGE, "I3": _CROSSED, "I4": _CAPSULES, "I5": _RIM, "I6": _CORNER,
    }.items()
    for how, scene in group.items()
}  # fmt: skip


# -- with closed forms ------------------------------------------------------------------------

CLOSED = {
    "I1 spheres": FreeScene(
        "two free balls, off-centre", 0.4, (("q", "b.y"), ("v", "a.x")), ("smooth",),
        bodies=(ball("a", (0, 0, 0), (1, 0, 0)), ball("b", (0.3, 0.1, 0), (0, 0, 0))),
        outputs=({("q", "b.y"): 1.0},),
    ),
    "I1 rod": FreeScene(
        "spinning capsule falls on its end", 0.4, (("v", "a.z"), ("v", "a.ry")), ("smooth",), e=0.5,
        bodies=(Body("a", "capsule", (0.02, 0.3), 1.0, (0.03, 0.03, 0.0002), (0, 0, 0.45),
                     (0, 0, -1), (0, 1.5, 0), tuple(turn(0.5 * Y))),),
        fixed=(FLOOR,), outputs=({("q", "a.z"): 1.0, ("v", "a.ry"): 0.1},),
    ),
    "I1 glance": FreeScene(
        "ball glances off a fixed ball", 0.4, (("q", "a.y"), ("v", "a.x")), ("smooth",), e=0.5,
        bodies=(ball("a", (0, 0, 0), (1, 0, 0)),), fixed=(Fixed("sphere", (0.1,), (0.3, 0.1, 0)),),
        outputs=({("q", "a.y"): 1.0},),
    ),
    "I1 ball": FreeScene(
        "sliding ball on a floor", 0.3, (("q", "a.z"), ("v", "a.ry")), ("slide",), e=0.5, mu=0.2,
        bodies=(ball("a", (0, 0, 0.2513), (2, 0, -1), (0, -3, 0)),), fixed=(FLOOR,),
        outputs=({("q", "a.x"): 1.0, ("v", "a.ry"): 0.1},),
    ),
}  # fmt: skip

# -- sliding in space, mechanisms, two impacts, gravity ---------------------------------------

_OBLIQUE = ball("a", (0, 0, 0.29), (1.6, 0.9, -1.3), (3.0, -2.0, 1.0))
OTHERS = {
    "I7 ball": FreeScene(
        "ball on a floor, slides in space", 0.3, (*SPACE, ("e", ""), ("mu", "")), ("slide",), e=0.5,
        mu=0.15, bodies=(_OBLIQUE,), fixed=(FLOOR,), cone_only=True,
    ),
    "I7 corner": replace(
        SHAPES["I6 slide"], case="corner of a mesh, slides in space", cone_only=True,
        inputs=(*SPACE, ("mu", "")),
        bodies=(replace(SHAPES["I6 slide"].bodies[0], v=(2.4, 1.5, -1.4), w=(0.7, -1.0, 1.0)),),
    ),
    "I8 pendulum": PendulumScene(
        "double pendulum's tip on a wall, slides", 0.16,
        (*((k, x) for k in "qv" for x in ("upper", "lower")), ("e", ""), ("mu", "")), ("slide",),
        e=0.3, mu=0.1, gravity=G, radius=0.05, wall=-0.865, q=(0.49, 0.61), v=(-1.1, -2.3),
        pendulum=DoublePendulum((0.8, 0.8), (0.4, 0.4), (2.0, 0.5), (0.107, 0.027), G),
    ),
    "I9 leg": LegScene(
        "foot of an A1 leg, sticks", 0.06,
        (*((k, f"FR_{x}_joint") for k in "qv" for x in ("hip", "upper", "lower")), ("e", "")),
        ("stick",), e=0.3, mu=0.8, gravity=G, urdf=A1, armature=0.05, torques=(0.5, -0.5, 0.5),
        floor=-0.316, q=(0.1, 0.9, -1.8), v=(0.4, -5.0, 9.0),
    ),
    "I10 floor wall": FreeScene(
        "ball on a floor, then a wall, slides", 0.36, (*PLANE, ("e", "")), ("slide", "slide"),
        e=0.7, mu=0.05, bodies=(ball("a", (0, 0, 0.3231), (2, 0, -2.5), (0, -6, 0)),),
        fixed=(FLOOR, WALL),
    ),
    "I10 ball wall": FreeScene(
        "ball on a ball, that on a wall", 0.4, varied("a", spins="") + varied("b", spins=""),
        ("smooth", "smooth"), fixed=(WALL,),
        bodies=(ball("a", (-0.3, 0, 0), (2.2, 0.1, 0)), ball("b", (0.05, 0.06, 0.03), (0, 0, 0))),
    ),
    "I11": FreeScene(
        "ball under gravity, slides", 0.2, (*PLANE, ("e", "")), ("slide",), e=0.5, mu=0.1,
        gravity=G, bodies=(ball("a", (0, 0, 0.38), (3, 0, -2.5), (0, -5, 0)),), fixed=(FLOOR,),
    ),
}  # fmt: skip
SCENES = CLOSED | SHAPES | OTHERS
