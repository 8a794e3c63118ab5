"""Names of the numbers in a vector, a rotation, a pose, an inertia and a spatial vector."""

from __future__ import annotations

VECTOR = ("x", "y", "z")
ROTATION = ("w", *VECTOR)
"""A quaternion on its own; after a position its numbers are `QUATERNION`."""
QUATERNION = tuple(f"q{c}" for c in ROTATION)
POSE = VECTOR + QUATERNION
INERTIA = ("xx", "yy", "zz", "xy", "xz", "yz")
MOTION = tuple(f"w{c}" for c in VECTOR) + tuple(f"v{c}" for c in VECTOR)
FORCE = tuple(f"n{c}" for c in VECTOR) + tuple(f"f{c}" for c in VECTOR)
