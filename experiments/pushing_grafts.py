"""What is learned of a pushed object's friction: networks on named forces.

`pose` is the paper's: two lateral forces on the object from its pose, velocity, and normal and
depth of the tip's contact. `free` sees the same in the object's axes, wherever that is on the
board, and has a moment too; `mirrored` sees it in the axes of the tip's contact. `place` is one
network for all support points, of load, sliding velocity and place on the board.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import graftsim as gs
from graftsim.graft import Network, Specification

TIP = "[tip/outline]"
# What turning weighs (m), and the speed (m/s) below which an object rests.
LENGTH, REST = 0.04, 2e-3
# What a mirror at the contact's normal does to (turning, along, across; along, across).
MIRROR = np.array([-1.0, 1.0, -1.0, 1.0, -1.0])


@dataclass(frozen=True)
class Lateral(Specification):
    """A perceptron for the components 2 (moment about z), 3 and 4 (x, y) of a spatial force.

    moment: whether the first of them is there.
    """

    name: ClassVar[str] = "lateral"

    hidden: int = 16
    moment: bool = False

    def build(self, n_in: int, n_out: int, key: Any, dtype: Any) -> eqx.Module:
        """The module; six outputs."""
        outputs = 3 if self.moment else 2
        return Placed(gs.MLP(self.hidden, self.hidden).build(n_in, outputs, key, dtype))


class Placed(Network):
    """Outputs of a network as part of a spatial force (moment; force)."""

    network: eqx.Module

    def __call__(self, x: Float[Array, " n"]) -> Float[Array, " 6"]:
        """For one input vector."""
        y = self.network(x)
        moment = y[0] if len(y) == 3 else 0.0
        return jnp.stack([0 * y[0], 0 * y[0], 0 * y[0] + moment, y[-2], y[-1], 0 * y[0]])


@dataclass(frozen=True)
class Mirrored(Specification):
    """A perceptron that sees the tip's contact as it is, whichever side of the object it is on.

    Inputs in the object's axes: way (turning, x, y), normal, lever of the tip. They are taken into
    the axes of the normal and about a centre that is learned: friction that is alike in all
    directions has nothing else to go by, and its mirror image is friction too, so
    f(z) = (N(z) + M N(M z)) / 2 with M the mirror at the normal.
    """

    name: ClassVar[str] = "mirrored"

    hidden: int = 10

    def build(self, n_in: int, n_out: int, key: Any, dtype: Any) -> eqx.Module:
        """The module; six outputs."""
        return Reflected(
            gs.MLP(self.hidden, self.hidden).build(5, 3, key, dtype), jnp.zeros(2, dtype)
        )


class Reflected(Network):
    """A network in the axes of a contact, about a centre [2] in units of the lever's."""

    network: eqx.Module
    centre: Array

    def __call__(self, x: Float[Array, 7]) -> Float[Array, " 6"]:
        """For one input vector, in the units of `SCALES`."""
        turn, way, lever = x[0], x[1:3], x[5:7] - self.centre
        n = x[3:5] / jnp.sqrt(jnp.sum(x[3:5] ** 2) + 1e-6)
        axes = jnp.stack([n, jnp.stack([-n[1], n[0]])])
        c = self.centre * (SCALES[LEVER.text] / LENGTH)
        way = axes @ (way + turn * jnp.stack([-c[1], c[0]]))
        z = jnp.concatenate([turn[None], way, axes @ lever])
        y = 0.5 * (self.network(z) + MIRROR[2:] * self.network(jnp.array(MIRROR) * z))
        force = axes.T @ y[1:]
        moment = LENGTH * (y[0] + c[0] * force[1] - c[1] * force[0])
        zero = jnp.zeros_like(moment)
        return jnp.stack([zero, zero, moment, force[0], force[1], zero])


def _turned(R: Array, x: Array) -> Array:
    """x, y of a vector of the world in a link's axes; R [9] is link to world."""
    return (R.reshape(3, 3).T @ x)[:2]


def _lever(R: Array, p: Array, place: Array) -> Array:
    """Where a point is in the object's axes."""
    return _turned(R, place - p)


def _way(v: Array) -> Array:
    """Direction of an object's twist, whatever its speed: turning by LENGTH, then x, y."""
    twist = jnp.stack([LENGTH * v[2], v[3], v[4]])
    return twist / jnp.sqrt(jnp.sum(twist * twist) + REST**2)


OBJECT = ("link.rotation[object]", "link.position[object]")
NORMAL = gs.Feature(_turned, ("link.rotation[object]", f"contact.normal{TIP}"), "normal")
LEVER = gs.Feature(_lever, (*OBJECT, f"contact.position{TIP}"), "lever", "m")
WAY = gs.Feature(_way, "link.velocity[object]", "way")
# The size of a rotation matrix is one already.
SCALES = {
    "joint.q[object.*]": 0.1,
    "joint.qd[object.*]": 0.05,
    f"contact.normal{TIP}": 1.0,
    f"contact.depth{TIP}": 1e-3,
    WAY.text: 1.0,
    NORMAL.text: 1.0,
    LEVER.text: 0.05,
    "contact.force_n[*]": 0.5,
    "contact.velocity_t[*]": 0.05,
    "contact.position[*]": 0.3,
}


def _graft(name: str, target: str, inputs: tuple, network: Specification, size: float) -> gs.Graft:
    scales = {x if isinstance(x, str) else x.text: 1.0 for x in inputs}
    scales = {k: SCALES[k] for k in scales}
    return gs.Graft(
        target, inputs, network, input_scale=scales, output_scale=size, name=name, prior=3.0
    )


GRAFTS = {
    "pose": _graft(
        "pose",
        "link.force[object]",
        ("joint.q[object.*]", "joint.qd[object.*]", f"contact.normal{TIP}", f"contact.depth{TIP}"),
        Lateral(),
        1.0,
    ),
    "free": _graft(
        "free",
        "link.force[object]",
        (WAY, NORMAL, LEVER),
        Lateral(10, moment=True),
        1.0,
    ),
    "mirrored": _graft(
        "mirrored",
        "link.force[object]",
        (WAY, NORMAL, LEVER),
        Mirrored(),
        1.0,
    ),
    "place": _graft(
        "place",
        "contact.force_t[ground/*]",
        ("contact.force_n[*]", "contact.velocity_t[*]", "contact.position[*]"),
        gs.MLP(8, 8),
        0.1,
    ),
}


def with_weights(simulator: gs.Simulator, weights: Array) -> gs.Simulator:
    """A simulator with one graft, with other weights."""
    own = simulator.grafts.grafts[0]
    changed = simulator.grafts.replace(own.label, own.with_trainable(weights))
    return eqx.tree_at(lambda s: s.grafts, simulator, changed)


def grafted(simulator: gs.Simulator, name: str, seed: int) -> gs.Simulator:
    """With one of `GRAFTS`."""
    return simulator.graft(gs.Blueprint(GRAFTS[name]), key=jax.random.key(seed))
