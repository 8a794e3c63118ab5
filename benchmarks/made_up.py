"""Robots that no maker sells: a humanoid, a hand and two arms, of plausible sizes and masses.

Only their trees matter to a benchmark: how many joints, where they branch, how deep they are. Every
link is a bar or a box of even density; joints of one place (shoulder, hip, wrist) follow each other
on short links, as in real ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
Vector = tuple[float, float, float]


@dataclass
class Link:
    """A box of mass (kg) and sides (m) about `com`, on a hinge at `at` of its parent."""

    name: str
    at: Vector
    axis: tuple[int, int, int]
    mass: float
    sides: Vector
    com: Vector
    links: list[Link] = field(default_factory=list)

    def mjcf(self, damping: float, armature: float) -> str:
        """As a body with all that it carries."""
        joint = f'axis="{_row(self.axis)}" damping="{damping}" armature="{armature}"'
        return f"""
    <body name="{self.name}" pos="{_row(self.at)}">
      {inertial(self.mass, self.sides, self.com)}
      <joint name="{self.name}" type="hinge" {joint}/>{mjcf(self.links, damping, armature)}
    </body>"""


def mjcf(links: list[Link], damping: float, armature: float) -> str:
    """Bodies side by side, all joints of one damping (N m s/rad) and armature (kg m^2)."""
    return "".join(link.mjcf(damping, armature) for link in links)


def inertial(mass: float, sides: Vector, com: Vector = (0.0, 0.0, 0.0)) -> str:
    """Mass and moments of a box of even density."""
    square = np.square(sides)
    moments = mass / 12 * (square.sum() - square)
    return f'<inertial pos="{_row(com)}" mass="{mass}" diaginertia="{_row(moments)}"/>'


def limb(name: str, joints: list[tuple[str, Vector, tuple[int, int, int], float, float]]) -> Link:
    """A chain of (joint, place on the one before, axis, mass, length); links hang along -z."""
    root: Link | None = None
    for part, at, axis, mass, length in reversed(joints):
        wide = max(0.3 * length, 0.01)
        sides, com = (wide, wide, length), (0.0, 0.0, -0.5 * length)
        root = Link(f"{name}_{part}", at, axis, mass, sides, com, [root] if root else [])
    assert root is not None
    return root


def arm(name: str, shoulder: Vector, reach: float, mass: float) -> Link:
    """Seven joints: shoulder of three, elbow, wrist of three. Reach in m, mass in kg."""
    none = (0.0, 0.0, 0.0)
    elbow, wrist = (0.0, 0.0, -0.45 * reach), (0.0, 0.0, -0.4 * reach)
    return limb(
        name,
        [
            ("shoulder_pitch", shoulder, Y, 0.2 * mass, 0.15 * reach),
            ("shoulder_roll", none, X, 0.2 * mass, 0.15 * reach),
            ("shoulder_yaw", none, Z, 0.25 * mass, 0.45 * reach),
            ("elbow", elbow, Y, 0.15 * mass, 0.2 * reach),
            ("wrist_roll", (0.0, 0.0, -0.2 * reach), Z, 0.1 * mass, 0.2 * reach),
            ("wrist_pitch", (0.0, 0.0, wrist[2] + 0.2 * reach), Y, 0.05 * mass, 0.05 * reach),
            ("wrist_yaw", none, X, 0.05 * mass, 0.15 * reach),
        ],
    )


def leg(name: str, hip: Vector) -> Link:
    """Six joints: hip of three, knee, ankle of two; 0.8 m and 8.6 kg."""
    none = (0.0, 0.0, 0.0)
    return limb(
        name,
        [
            ("hip_pitch", hip, Y, 1.4, 0.1),
            ("hip_roll", none, X, 1.5, 0.1),
            ("hip_yaw", none, Z, 3.0, 0.35),
            ("knee", (0.0, 0.0, -0.35), Y, 2.0, 0.35),
            ("ankle_pitch", (0.0, 0.0, -0.35), Y, 0.1, 0.05),
            ("ankle_roll", none, X, 0.6, 0.1),
        ],
    )


def humanoid() -> str:
    """A free pelvis, two legs of six joints, a waist of three, two arms of seven: 29 joints."""
    none = (0.0, 0.0, 0.0)
    arms = [arm(f"{side}_arm", (0.0, y, 0.25), 0.6, 3.5) for side, y in _sides(0.15)]
    chest = Link("waist_pitch", none, Y, 7.0, (0.2, 0.3, 0.4), (0.0, 0.0, 0.2), arms)
    roll = Link("waist_roll", none, X, 0.1, (0.05, 0.05, 0.05), none, [chest])
    waist = Link("waist_yaw", (0.0, 0.0, 0.1), Z, 0.3, (0.05, 0.05, 0.05), none, [roll])
    legs = [leg(f"{side}_leg", (0.0, y, -0.1)) for side, y in _sides(0.1)]
    return f"""
    <body name="pelvis">
      {inertial(4.0, (0.15, 0.25, 0.15))}
      <freejoint name="root"/>{mjcf([*legs, waist], damping=0.5, armature=0.01)}
    </body>"""


def hand() -> str:
    """Five fingers of four joints on a palm that stands still: abduction and three bends."""
    none = (0.0, 0.0, 0.0)
    fingers = [
        limb(
            finger,
            [
                ("abduction", (0.0, y, -0.09), X, 0.02, 0.01),
                ("proximal", none, Y, 0.05, 0.045),
                ("middle", (0.0, 0.0, -0.045), Y, 0.03, 0.03),
                ("distal", (0.0, 0.0, -0.03), Y, 0.02, 0.025),
            ],
        )
        for finger, y in zip(("thumb", "index", "second", "ring", "little"),
                             (-0.05, -0.03, 0.0, 0.02, 0.04), strict=True)
    ]  # fmt: skip
    return mjcf(fingers, damping=0.01, armature=1e-4)


def dual_arm() -> str:
    """Two arms of seven joints on a torso that stands still."""
    arms = [arm(f"{side}_arm", (0.0, y, 0.0), 0.9, 12.0) for side, y in _sides(0.2)]
    return mjcf(arms, damping=0.5, armature=0.01)


def _sides(y: float) -> tuple[tuple[str, float], tuple[str, float]]:
    return ("left", y), ("right", -y)


def _row(values: object) -> str:
    return " ".join(f"{float(v):.9g}" for v in np.asarray(values, float))
