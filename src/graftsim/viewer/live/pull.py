"""A spring between a point of a body and a place in the world: what dragging with the mouse does.

It hangs on the simulator as a graft on `link.force` does. Its numbers are inputs of the compiled
step, so that taking hold of another body compiles nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics import link_velocities, mass_matrix
from graftsim.dynamics.mechanism import prepare
from graftsim.engine import Simulator
from graftsim.model.fuse import fuse
from graftsim.model.model import Model
from graftsim.taps import Augmentation, Grafts, Scope

Numbers = Array | np.ndarray
FREQUENCY = 1.5
"""Of the whole robot on the spring, Hz."""
DAMPING = 1.0
"""Share of critical damping, where the point is easiest to move."""
STABLE = 0.3
"""Largest angle (rad) of the point's own oscillation in a step."""


class Pull(eqx.Module):
    """`chosen` [nl]: 1 at the body that is held, 0 elsewhere; all 0: nothing is. The links are
    those of the fused model.

    point: where it is held, in the link (m); target: where the spring leads, in the world (m).
    """

    chosen: Float[Numbers, " nl"]
    point: Float[Numbers, " 3"]
    target: Float[Numbers, " 3"]
    stiffness: Float[Numbers, ""]
    damping: Float[Numbers, ""]

    def force(self, scope: Scope) -> Float[Array, "nl 6"]:
        """Spatial forces on the links at their origins, in them (N m, N)."""
        R = jnp.tensordot(self.chosen, scope["link.rotation"], 1)
        origin = self.chosen @ scope["link.position"]
        v = self.chosen @ scope["link.velocity"]
        stretch = R.T @ (self.target - origin) - jnp.sum(self.chosen) * self.point
        speed = v[3:] + jnp.cross(v[:3], self.point)
        f = self.stiffness * stretch - self.damping * speed
        wrench = jnp.concatenate([jnp.cross(self.point, f), f])
        return jnp.asarray(self.chosen)[:, None] * wrench


class Pulled(eqx.Module):
    """The grafts that a simulator has, and a pull after them."""

    inner: Grafts | None
    pull: Pull

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the networks."""
        return () if self.inner is None else self.inner.labels

    def memory(self) -> Any:
        """What the networks remember before the first step."""
        return () if self.inner is None else self.inner.memory()

    def augmentations(self, memory: Any) -> Mapping[str, Augmentation]:
        """Those of the networks; external forces have the spring's too."""
        found = {} if self.inner is None else dict(self.inner.augmentations(memory))
        before = found.get("link.force")

        def pulled(value: Any, scope: Scope) -> Any:
            value = value if before is None else before(value, scope)
            return value + self.pull.force(scope)

        return found | {"link.force": pulled}

    def remember(self, scope: Scope, memory: Any) -> Any:
        """What the networks remember after a step."""
        return memory if self.inner is None else self.inner.remember(scope, memory)


def pulled(simulator: Simulator, pull: Pull) -> Simulator:
    """The simulator with a pull on one of its bodies."""
    return replace(simulator, grafts=Pulled(simulator.grafts, pull))


def no_pull(simulator: Simulator) -> Pull:
    """Nothing is held."""
    count, dtype = fuse(simulator.model).tree.nl, np.dtype(simulator.model.link.mass.dtype)
    zero = np.zeros((), dtype)
    return Pull(np.zeros(count, dtype), np.zeros(3, dtype), np.zeros(3, dtype), zero, zero)


def pull(
    simulator: Simulator,
    q: Float[Array, " nq"],
    body: int,
    point: np.ndarray,
    target: np.ndarray,
    strength: float = 1.0,
) -> Pull:
    """A spring on a link of the fused model, held at a point in it (m), towards a target (m).

    As stiff as lets the whole robot swing at `FREQUENCY`, times `strength`, but not stiffer than
    explicit steps stand where the point is easiest to move. Damping is critical there.
    """
    empty = no_pull(simulator)
    dtype = empty.chosen.dtype
    chosen = empty.chosen.copy()
    chosen[body] = 1.0
    light = float(_least_mass(simulator.model, q, chosen, np.asarray(point, dtype)))
    step = float(simulator.dt) / simulator.substeps
    whole = float(np.asarray(simulator.model.link.mass).sum())
    stiffness = strength * whole * (2 * np.pi * FREQUENCY) ** 2
    stiffness = min(stiffness, light * (STABLE / step) ** 2)
    return Pull(
        chosen,
        np.asarray(point, dtype),
        np.asarray(target, dtype),
        np.asarray(stiffness, dtype),
        np.asarray(2 * DAMPING * np.sqrt(stiffness * light), dtype),
    )


@jax.jit
def _least_mass(
    model: Model, q: Float[Array, " nq"], chosen: Float[Numbers, " nl"], point: Float[Numbers, " 3"]
) -> Float[Array, ""]:
    """Mass (kg) of a point of a link in the direction in which it is least: 1 / max eig of
    J H^-1 J^T (Khatib 1987, the operational space inertia). Contacts and loops only add to it.
    """
    m = prepare(fuse(model))
    columns = jnp.eye(m.tree.nv, dtype=q.dtype)
    v = jax.vmap(lambda qd: chosen @ link_velocities(m, q, qd))(columns)
    J = v[:, 3:] + jnp.cross(v[:, :3], point)
    mobility = J.T @ jnp.linalg.solve(mass_matrix(m, q), J)
    return 1 / jnp.maximum(jnp.linalg.eigvalsh(mobility)[-1], 1e-12)


def carriers(model: Model) -> tuple[int | None, ...]:
    """For each link, which link of the fused model carries it; None: the world does."""
    tree = model.tree
    moving = [i for i, moves in enumerate(tree.moving) if moves]
    place = {old: new for new, old in enumerate(moving)}
    found: list[int | None] = []
    for i, parent in enumerate(tree.parent):
        found.append(place[i] if i in place else (found[parent] if parent >= 0 else None))
    return tuple(found)
