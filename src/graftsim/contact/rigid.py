"""The two laws of rigid contact: how their contact problem is solved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.contact.impulses import RigidContact
from graftsim.errors import ModelError
from graftsim.solvers.cone import Method
from graftsim.solvers.interior_point import InteriorPoint
from graftsim.solvers.pgs import GaussSeidel


def _number(x: Any) -> Float[Array, ""]:
    return jnp.asarray(x, float)


def _angles(directions: int | Sequence[float]) -> tuple[float, ...]:
    """Angles (rad) of friction directions, ascending."""
    if isinstance(directions, int):
        directions = [2 * np.pi * k / directions for k in range(directions)]
    angles = tuple(sorted(float(x) for x in directions))
    gaps = np.diff([*angles, angles[0] + 2 * np.pi]) if angles else np.array([7.0])
    if gaps.max() > np.pi + 1e-9:
        raise ModelError(
            f"Friction directions {angles} rad leave a gap of {gaps.max():.3g} rad, in which "
            "there would be no friction; at most half a turn may lie between two of them."
        )
    return angles


class Complementarity(RigidContact):
    """Rigid contact with Coulomb's cone, by projected Gauss-Seidel.

    `alpha`: share of an overlap that is pushed out in a step, at `push` (m/s) at most. `sweeps`: at
    most, fewer when converged; a few sweeps at a time, followed by at most `newton` Newton steps
    (0: none). `tolerance`: of the residual, relative to the velocities of approach; None:
    eps^(2/3), 0: always all sweeps. `cone`: "cone", or "pyramid" for friction bounded in each
    tangent direction by itself. `max_contacts`: solved for at a time, those nearest to closing;
    others wait, which `contact.residual` shows. `max_impacts`: how often a step may be cut where an
    impact begins; with 0 an impact has the geometry of the step's beginning, and derivatives that
    are right head-on only.
    """

    name: ClassVar[str] = "complementarity"

    alpha: Float[Array, ""] = eqx.field(default=0.2, converter=_number)
    push: Float[Array, ""] = eqx.field(default=1.0, converter=_number, kw_only=True)
    sweeps: int = eqx.field(default=50, static=True, kw_only=True)
    newton: int = eqx.field(default=3, static=True, kw_only=True)
    tolerance: float | None = eqx.field(default=None, static=True, kw_only=True)
    cone: Literal["cone", "pyramid"] = eqx.field(default="cone", static=True, kw_only=True)
    max_contacts: int = eqx.field(default=32, static=True, kw_only=True)
    max_impacts: int = eqx.field(default=4, static=True, kw_only=True)

    def method(self, unroll: bool) -> Method:
        """Sweeps."""
        return GaussSeidel(self.sweeps, self.newton, self.tolerance, self.cone, unroll)


class LinearComplementarity(RigidContact):
    """Rigid contact with a polyhedral cone, as a linear complementarity problem by interior point.

    `directions`: number of friction directions, evenly spread from the first tangent, or their
    angles (rad) in the tangent plane. `iterations`: at most. Others: see `Complementarity`.
    Raises ModelError: directions that do not surround the contact.
    """

    name: ClassVar[str] = "lcp"

    alpha: Float[Array, ""] = eqx.field(default=0.2, converter=_number)
    push: Float[Array, ""] = eqx.field(default=1.0, converter=_number, kw_only=True)
    directions: tuple[float, ...] = eqx.field(default=4, converter=_angles, static=True)
    iterations: int = eqx.field(default=40, static=True, kw_only=True)
    newton: int = eqx.field(default=5, static=True, kw_only=True)
    tolerance: float | None = eqx.field(default=None, static=True, kw_only=True)
    max_contacts: int = eqx.field(default=32, static=True, kw_only=True)
    max_impacts: int = eqx.field(default=4, static=True, kw_only=True)

    def method(self, unroll: bool) -> Method:
        """An interior point."""
        steps = self.iterations, self.newton
        return InteriorPoint(self.directions, *steps, self.tolerance, unroll)
