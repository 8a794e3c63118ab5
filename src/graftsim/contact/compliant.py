"""Compliant contact: Hunt-Crossley's spring and damper, and friction as a function of speed.

F_n = k x^n (1 + d x_dot), never below zero, x the depth and x_dot its rate (Hunt, Crossley 1975):
continuous at first touch, and without adhesion when the shapes part. Friction opposes sliding with
a coefficient that depends on the speed (`friction`).
"""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.contact.detect import detect, places
from graftsim.contact.friction import FRICTION
from graftsim.contact.kinetics import relative_velocities, wrenches
from graftsim.contact.law import ForceLaw
from graftsim.contact.stability import too_stiff
from graftsim.dynamics.mechanism import Mechanism, rows
from graftsim.errors import ModelError, suggest
from graftsim.model.model import Model
from graftsim.spatial import safe
from graftsim.spatial.transform import Transform
from graftsim.taps import Tapper


class SpringDamper(ForceLaw):
    """Hunt-Crossley contact. `exponent` n is 1.5 for spheres (Hertz), 1 for a linear spring.

    `friction`: none, coulomb, andersson, hollars or brown_mcphee. Stiffness (N/m^n), dissipation
    (s/m), friction, stribeck and friction_velocity are those of each pair.
    """

    name: ClassVar[str] = "spring-damper"
    inside: ClassVar[str] = (
        "its spring holds the energy of that depth, and throws where it is more than a load's"
    )

    exponent: Float[Array, ""]
    friction: str = eqx.field(static=True)

    def __init__(self, exponent: float = 1.5, *, friction: str = "brown_mcphee") -> None:
        """Raises ModelError: an exponent below 1, an unknown law of friction."""
        if not exponent >= 1:
            raise ModelError(f"The exponent of a Hunt-Crossley spring is 1 or more: {exponent}.")
        if friction not in FRICTION:
            raise ModelError(f"Law of friction '{friction}'. {suggest(friction, FRICTION)}")
        self.exponent = jnp.asarray(exponent, float)
        self.friction = friction

    def forces(
        self, m: Mechanism, X_0: Transform, v: Float[Array, "nl 6"], scope: Tapper
    ) -> Float[Array, "nl 6"]:
        """Spatial forces on the links, in them."""
        at, pair = places(m.model), m.model.pair
        found = detect(m, X_0)
        found = found._replace(depth=scope.tap("contact.depth", found.depth))
        scope.tap_lazily(
            lambda: {"contact.position": found.position, "contact.normal": found.frame[:, 0]}
        )
        relative = relative_velocities(found, at, X_0, v)
        v_n = scope.tap("contact.velocity_n", relative[:, 0])
        v_t = scope.tap("contact.velocity_t", relative[:, 1:])
        mu = scope.tap("contact.friction", rows(pair.friction, at.pair))
        touching = found.depth > 0
        x = jnp.where(touching, found.depth, 1.0)
        spring = rows(pair.stiffness, at.pair) * x**self.exponent
        damped = jnp.maximum(1 - rows(pair.dissipation, at.pair) * v_n, 0.0)
        F_n = jnp.where(touching, spring * damped, 0.0)
        # What networks add must not act where nothing touches, nor pull.
        F_n = jnp.where(touching, jnp.maximum(scope.tap("contact.force_n", F_n), 0.0), 0.0)
        speed = scope.tap("contact.slip", safe.norm(v_t))
        extra, v_0 = rows(pair.stribeck, at.pair), rows(pair.friction_velocity, at.pair)
        ratio = FRICTION[self.friction](speed, mu, extra, v_0)
        drag = F_n * ratio * speed
        named = scope.tap("contact.drag", drag)
        F_t = -(F_n * ratio)[:, None] * v_t
        if named is not drag:
            F_t = F_t - (named - drag)[:, None] * safe.normalise(v_t)
        F_t = jnp.where(touching[:, None], scope.tap("contact.force_t", F_t), 0.0)
        force = jnp.concatenate([F_n[:, None], F_t], -1)
        return wrenches(found, at, X_0, force)

    def check(self, m: Model, h: float) -> str:
        """Can an explicit step of h seconds follow the springs?"""
        stiff = too_stiff(m, self.exponent, h)
        if not stiff:
            return ""
        return (
            f"A step of {h:.3g} s may be too long for the contact of {', '.join(stiff[:3])}"
            f"{' and others' if len(stiff) > 3 else ''}: simulations can diverge. Raise substeps, "
            "lower pair.stiffness or pair.dissipation, or use an impulse law."
        )
