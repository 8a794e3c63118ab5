"""The package's own quadruped: round numbers, shapes for looks and feet to stand on."""

from __future__ import annotations

from graftsim.model import Builder, Model

# Of the trunk and of a leg's parts, from the trunk outwards: kg, m.
TRUNK, TRUNK_SIZE = 14.0, (0.56, 0.22, 0.14)
HIP, THIGH, SHANK = 1.1, 1.5, 0.35
LENGTH, ASIDE, FOOT = 0.25, 0.04, 0.03
CORNERS = {"FR": (0.22, -0.08), "FL": (0.22, 0.08), "RR": (-0.22, -0.08), "RL": (-0.22, 0.08)}


def quadruped() -> Model:
    """26 kg on four legs of abduction, hip and knee, knees behind, on a floor; torque motors.

    Inertias are those of the boxes and rods that are drawn. Zero angles: legs straight down.
    """
    b = Builder("quadruped")
    b.geom("plane", (), name="ground")
    x, y, z = TRUNK_SIZE
    box = tuple(TRUNK / 12 * s for s in (y * y + z * z, x * x + z * z, x * x + y * y))
    b.link("trunk", joint="free", joint_name="root", mass=TRUNK, inertia=box)
    b.geom("box", (x / 2, y / 2, z / 2), "trunk", name="trunk")
    for leg, (forward, left) in CORNERS.items():
        side = 1.0 if left > 0 else -1.0
        b.link(f"{leg}_hip", "trunk", origin=(forward, left, 0), axis=(1, 0, 0), mass=HIP,
               inertia=0.4 * HIP * 0.05**2)  # fmt: skip
        b.geom("sphere", 0.05, f"{leg}_hip", name=f"{leg}_hip")
        for part, above, at, mass, radius in (
            ("thigh", "hip", (0, ASIDE * side, 0), THIGH, 0.035),
            ("shank", "thigh", (0, 0, -LENGTH), SHANK, 0.018),
        ):
            across = mass * (LENGTH**2 / 12 + radius**2 / 4)
            inertia = (across, across, mass * radius**2 / 2)
            b.link(f"{leg}_{part}", f"{leg}_{above}", origin=at, axis=(0, 1, 0), mass=mass,
                   com=(0, 0, -LENGTH / 2), inertia=inertia)  # fmt: skip
            b.geom("capsule", (radius, LENGTH / 2 - radius), f"{leg}_{part}",
                   (0, 0, -LENGTH / 2), name=f"{leg}_{part}")  # fmt: skip
        b.geom("sphere", FOOT, f"{leg}_shank", (0, 0, -LENGTH), name=f"{leg}_foot")
        for joint in ("hip", "thigh", "shank"):
            b.actuator(f"{leg}_{joint}", f"{leg}_{joint}")
    return b.build()
