"""A small quadruped of primitive links, so that gaits can be tested anywhere."""

import graftsim as gs

CORNERS = {"FR": (0.2, -0.05), "FL": (0.2, 0.05), "RR": (-0.2, -0.05), "RL": (-0.2, 0.05)}


def four_legs(knee: float = -0.4, motors: str = "torque", legs=tuple(CORNERS)) -> gs.model.Model:
    """12 kg; legs of 0.2 m and 0.2 m, drawn with bent knees; axes of right legs the other way."""
    builder = gs.Builder("four legs")
    builder.geom("plane", (), name="ground")
    builder.link("trunk", joint="free", joint_name="root", mass=6.0, inertia=(0.05, 0.15, 0.18))
    for leg in legs:
        x, y = CORNERS[leg]
        side = 1 if y > 0 else -1
        builder.link(
            f"{leg}_hip", "trunk", origin=(x, y, 0), axis=(side, 0, 0), mass=0.6, inertia=0.001
        )
        builder.link(
            f"{leg}_thigh", f"{leg}_hip", origin=(0.01, 0.08 * side, 0), axis=(0, 1, 0), mass=0.7,
            com=(0, 0, -0.05), inertia=(0.004, 0.004, 0.001),
        )  # fmt: skip
        builder.link(
            f"{leg}_shank", f"{leg}_thigh", origin=(0.05, 0, -0.2), axis=(0, -1, 0), mass=0.2,
            com=(0, 0, -0.1), inertia=(0.002, 0.002, 0.0002),
        )  # fmt: skip
        builder.geom("sphere", 0.02, f"{leg}_shank", (knee * 0.1, 0, -0.2), name=f"{leg}_foot")
        for joint in ("hip", "thigh", "shank"):
            builder.actuator(f"{leg}_{joint}", f"{leg}_{joint}", motors)
    return builder.build()
