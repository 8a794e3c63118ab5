"""The mechanisms that tests use: textbook ones by hand, and random trees of every joint type.

A random tree is a topology (drawn from a seed) and numbers (drawn from another): all trees of one
topology have the same pytree structure, so that one compiled program serves many of them, stacked
and mapped.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from graftsim.compilation import BRIEF
from graftsim.dynamics.passive import displacement
from graftsim.engine.rollout import scan_steps
from graftsim.model import Builder, Model, State
from graftsim.model.catalogue import with_leaf
from graftsim.model.joints import JOINT_TYPES, JointType
from graftsim.model.model import Medium
from graftsim.taps import CATALOGUE

# Tests compile many programs and run each briefly: quick compilation is worth more than fast code.
jit = functools.partial(jax.jit, compiler_options=BRIEF)
# The roll-out with that compilation: (simulator, state, controls, record).
rollout = jit(scan_steps, static_argnums=3)

TYPES = tuple(JOINT_TYPES)
MOVING = tuple(t for t in TYPES if t != "fixed")
GRAVITY = 9.81
# What every simulator names; variables of contact, loops and paths have tests of their own.
_OF_SOME = ("contact.", "loop.", "joint.reaction")
VARIABLES = {k: v for k, v in CATALOGUE.items() if not k.startswith(_OF_SOME)}


class Topology(NamedTuple):
    """Parents (-1: the world), joint types, and which links have no mass (fixed ones only)."""

    parent: tuple[int, ...]
    types: tuple[str, ...]
    massless: tuple[bool, ...]

    def places(self) -> set[tuple[str, str]]:
        """(joint type, root | middle | tip) pairs that occur."""
        found = set()
        for i, kind in enumerate(self.types):
            if self.parent[i] < 0:
                found.add((kind, "root"))
            if i not in self.parent:
                found.add((kind, "tip"))
            elif self.parent[i] >= 0:
                found.add((kind, "middle"))
        return found


def topologies(count: int = 14, links: int = 6, seed: int = 3) -> list[Topology]:
    """Random trees in which every joint type is dealt equally often to every place of the tree."""
    rng = np.random.default_rng(seed)
    # One shuffled deck of types for roots, one for the links between, one for the tips.
    decks = [_deck(rng) for _ in range(3)]
    found = []
    for _ in range(count):
        parent = [-1]
        for i in range(1, links):
            # Mostly the newest link: long enough branches to have a middle. Rarely a second root.
            near = i - 1 if rng.random() < 0.6 else int(rng.integers(0, i))
            parent.append(-1 if rng.random() < 0.08 else near)
        types = []
        for i in range(links):
            place = 2 if i not in parent else (0 if parent[i] < 0 else 1)
            types.append(next(decks[place]))
        massless = tuple(t == "fixed" and bool(rng.random() < 0.5) for t in types)
        found.append(Topology(tuple(parent), tuple(types), massless))
    return found


def _deck(rng: np.random.Generator):
    while True:
        yield from rng.permutation(TYPES).tolist()


def every_type(seed: int = 0) -> Topology:
    """A chain with a branch that has each joint type once (fixed twice, one of them massless)."""
    rng = np.random.default_rng(seed)
    inner = ["revolute", "spherical", "prismatic", "planar", "revolute"]
    types = ("free", *rng.permutation(inner).tolist(), "fixed", "fixed")
    return Topology((-1, 0, 1, 2, 3, 4, 2, 6), types, (False,) * 7 + (True,))


def random_inertia(rng: np.random.Generator, size: float = 0.2) -> np.ndarray:
    """(xx yy zz xy xz yz) per kg, axes at random; from second moments, so that it can exist."""
    R = _matrix(random_quaternion(rng))
    second = R @ np.diag(size**2 * rng.uniform(0.1, 1.0, 3)) @ R.T
    I = np.trace(second) * np.eye(3) - second
    return np.array([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])


def random_quaternion(rng: np.random.Generator) -> np.ndarray:
    """Uniform over rotations."""
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def _matrix(q: np.ndarray) -> np.ndarray:
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def random_model(topology: Topology, seed: int, *, passive: bool = False) -> Model:
    """Numbers for a topology: tilted attachments and axes, offset centres of mass, armature.

    `passive` adds springs, damping, friction and limits. The armature of a free joint's three
    translations is one number, since Pinocchio counts them along the body's axes.
    """
    rng = np.random.default_rng(seed)
    gravity = rng.normal(size=3)
    builder = Builder("tree", gravity=GRAVITY * gravity / np.linalg.norm(gravity))
    for i, (parent, kind) in enumerate(zip(topology.parent, topology.types, strict=True)):
        n = JOINT_TYPES[kind].nv
        armature = rng.uniform(0, 0.2, n) * (rng.random() < 0.7)
        if kind == "free":
            armature[1:3] = armature[0]
        # A free root without a placement of its own is what robots have; the others are tilted.
        plain = kind == "free" and parent < 0 and not passive and rng.random() < 0.5
        mass = 0.0 if topology.massless[i] else rng.uniform(0.3, 3.0)
        extra = {}
        if passive:
            extra = {
                "damping": rng.uniform(0.1, 1, n),
                "stiffness": rng.uniform(1, 5, n),
                "rest": _random_position(JOINT_TYPES[kind], rng),
                "friction": rng.uniform(0.1, 1, n),
                "stribeck": rng.uniform(0.1, 1, n),
                "stribeck_velocity": rng.uniform(0.5, 2, n),
                "friction_velocity": rng.uniform(0.5, 2, n),
                "lower": rng.uniform(-0.3, -0.1, n),
                "upper": rng.uniform(0.1, 0.3, n),
                "limit_stiffness": rng.uniform(1, 5, n),
                "limit_damping": rng.uniform(0.05, 0.1, n),
            }
        builder.link(
            f"link{i}",
            "world" if parent < 0 else f"link{parent}",
            kind,
            origin=np.zeros(3) if plain else rng.uniform(-0.5, 0.5, 3),
            rotation=[1, 0, 0, 0] if plain else random_quaternion(rng),
            axis=rng.normal(size=3),
            mass=mass,
            com=np.zeros(3) if topology.massless[i] else rng.uniform(-0.2, 0.2, 3),
            inertia=mass * random_inertia(rng),
            armature=armature,
            **extra,
        )
    last = len(topology.parent) - 1
    builder.frame("tool", f"link{last}", rng.uniform(-0.3, 0.3, 3), random_quaternion(rng))
    return builder.build()


def random_state(model: Model, seed: int, speed: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Random positions and velocities: angles over the whole circle, uniform quaternions."""
    rng = np.random.default_rng(seed)
    q = [_random_position(kind, rng) for kind in model.tree.joint_types]
    return np.concatenate([np.zeros(0), *q]), rng.uniform(-speed, speed, model.nv)


def _random_position(kind: JointType, rng: np.random.Generator) -> np.ndarray:
    if not kind.one_by_one:
        return np.concatenate([rng.uniform(-1, 1, kind.nq - 4), random_quaternion(rng)])
    return rng.uniform(-1, 1, kind.nq) * [np.pi if u == "rad" else 1.0 for u in kind.units]


def with_motors(model: Model) -> Model:
    """The model with one unit motor on every degree of freedom: controls are joint forces."""
    builder = Builder("motors")
    for name, kind in zip(model.tree.joints, model.tree.types, strict=True):
        builder.link(name, joint=kind, mass=1.0, inertia=1.0)
    for dof in model.tree.dofs:
        builder.actuator(dof, dof)
    return eqx.tree_at(lambda m: m.actuator, model, builder.build().actuator)


def with_servos(model: Model, rng: np.random.Generator, chains: bool = False) -> Model:
    """Actuators of every kind in turn, every second one with a lag, some sure to saturate.

    Number i modulo 5: 0 and 1 have control limits at +-2, 2 and 3 a force that is far beyond its
    upper or lower limit, 4 is free of limits that matter.
    """
    builder = Builder("servos")
    for name, kind in zip(model.tree.joints, model.tree.types, strict=True):
        builder.link(name, joint=kind, mass=1.0, inertia=1.0)
    finite = _FAR if chains else {}
    for i, dof in enumerate(model.tree.dofs):
        builder.actuator(
            dof,
            dof,
            ("torque", "position", "velocity")[i % 3],
            gear=rng.uniform(0.5, 2),
            gain=rng.uniform(0.5, 2),
            kp=rng.uniform(1, 5),
            kd=rng.uniform(0.5, 2),
            control_range=(-2.0, 2.0),
            force_range={2: (-99.0, -50.0), 3: (50.0, 99.0)}.get(i % 5, (-99.0, 99.0)),
            time_constant=rng.uniform(0.02, 0.1) if i % 2 else None,
            **finite,
        )
    if chains:
        _with_chains(builder, model.tree.dofs)
    built = builder.build()
    return eqx.tree_at(lambda m: (m.tendon, m.actuator), model, (built.tendon, built.actuator))


# Limits that are finite, so that differences can be taken, and never reached.
_FAR = {"integral_limit": 9.0, "stall_force": 1e4, "no_load_speed": 1e4}


def _with_chains(builder: Builder, dofs: tuple[str, ...]) -> None:
    """Tendons and the drives that are no plain servo, some at their limits.

    The corners of the tendons' slack are rounded so widely that both ends of it matter; one is
    beyond its lower limit, one beyond its upper.
    """
    a, b, c, d, e, *_ = dofs
    soft = {"damping": 0.3, "friction": 0.2, "friction_velocity": 0.5, "rounding": 40.0}
    soft |= {"limit_stiffness": 0.7, "limit_damping": 0.02}
    builder.tendon(
        "pull", {a: 0.7, c: -0.4}, stiffness=2.0, slack=(-0.5, 0.3), limits=(-99, -9), **soft
    )
    builder.tendon(
        "twist", {b: -0.3, e: 0.6}, stiffness=1.5, slack=(-0.2, 0.4), limits=(9, 99), **soft
    )
    far = _FAR | {"control_range": (-99.0, 99.0), "force_range": (-99.0, 99.0)}
    motor = far | {"motor_constant": 0.6, "resistance": 1.7}
    servo = motor | {"kp": 2.0, "kd": 0.4, "zero": 0.1, "supply": 6.0, "duty_limit": 50.0}
    builder.actuator("pid", a, "pid", **servo | {"ki": 1.5, "gear": 0.8})
    builder.actuator("wound", b, "pid", **servo | {"ki": 1.2, "integral_limit": 0.2})
    builder.actuator("motor", c, "voltage", **motor | {"gear": 1.3})
    line = {"stall_force": 0.5, "no_load_speed": 60.0}
    builder.actuator("weak", kind="voltage", tendon="pull", **motor | line)
    builder.actuator("hobby", d, "voltage_servo", **servo)
    builder.actuator("full", kind="voltage_servo", tendon="twist", **servo | {"duty_limit": 0.1})
    builder.actuator("fed", e, "position", inputs=("velocity", "torque", "kp"), **servo)


LOADED = {
    "load_friction": 0.02, "load_stribeck": 0.03, "load_asymmetry": 0.3, "load_quadratic": 0.004,
}  # fmt: skip


def everything(chains: bool = True) -> tuple[Model, State, jax.Array]:
    """A mechanism in which every number matters, its state, commands that saturate some motors.

    chains: with tendons, drives that are no plain servo, and friction that grows with the load;
    without them each joint has one actuator.
    """
    model = random_model(every_type(), 11, passive=True)
    q, qd = random_state(model, 12)
    neutral = jnp.asarray(model.tree.neutral)
    at = np.asarray(jit(lambda: displacement(model.tree, neutral, jnp.asarray(q)))())
    # Even degrees of freedom are beyond their lower limit, odd ones beyond the upper.
    even = np.arange(model.nv) % 2 == 0
    model = with_leaf(model, "joint.lower", jnp.asarray(np.where(even, at + 0.2, at - 9)))
    model = with_leaf(model, "joint.upper", jnp.asarray(np.where(even, at + 9, at - 0.2)))
    if chains:
        for name, value in LOADED.items():
            model = with_leaf(model, f"joint.{name}", jnp.full(model.nv, value))
        model = eqx.tree_at(lambda m: m.joint, model, replace(model.joint, load_dependent=True))
        model = _in_a_medium(model)
    model = with_servos(model, np.random.default_rng(13), chains)
    servos = np.array([3.0, -3.0, 0.5, 0.5, 0.5])[np.arange(model.nv) % 5]
    # pid, wound, motor, weak, hobby, full, fed; fed's velocity, torque, kp.
    held = [0.3, 0.19] if chains else []
    further = [0.4, 9.0, 0.7, 30.0, 0.3, 9.0, 0.2, 0.3, -0.4, 1.7] if chains else []
    u = np.concatenate([servos, further])
    act = np.concatenate([np.linspace(-0.3, 0.3, sum(model.actuator.lagged)), held])
    return model, State(q=jnp.asarray(q), qd=jnp.asarray(qd), act=jnp.asarray(act)), jnp.asarray(u)


def _in_a_medium(model: Model) -> Model:
    """A box in a fluid and a lift on each of two links."""
    last = model.tree.nl - 1
    medium = Medium(
        link=(0, last),
        drags=True,
        lifts=True,
        position=jnp.array([[0.1, 0.2, -0.1], [0.0, 0.3, 0.1]]),
        rotation=jnp.array([[0.8, 0.6, 0.0, 0.0], [0.8, 0.0, 0.36, 0.48]]),
        box=jnp.array([[0.3, 0.4, 0.5], [0.2, 0.5, 0.4]]),
        lift=jnp.array([0.4, 0.2]),
    )
    world = replace(model.world, density=jnp.array([2.0]), viscosity=jnp.array([0.5]))
    return replace(model, medium=medium, world=world)


def depth_first(model: Model) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Links, rows of q and of qd branch by branch, the order in which other engines keep them."""
    tree = model.tree
    order: list[int] = []

    def visit(i: int) -> None:
        order.append(i)
        for child in range(tree.nl):
            if tree.parent[child] == i:
                visit(child)

    for root in range(tree.nl):
        if tree.parent[root] < 0:
            visit(root)
    none = np.zeros(0, int)
    rows_q = np.concatenate([none, *(tree.q_index[i] for i in order)])
    return order, rows_q, np.concatenate([none, *(tree.v_index[i] for i in order)])


def stack(trees: list) -> object:
    """Pytrees of one structure with a new leading axis, to map over."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def pendulum(length: float = 1.0, mass: float = 1.0, **numbers: float) -> Model:
    """A point mass on a massless rod about x; hangs along -z at q = 0."""
    return (
        Builder("pendulum")
        .link("bob", axis=(1, 0, 0), mass=mass, com=(0, 0, -length), **numbers)
        .build()
    )


def chain(n: int, **numbers: float) -> Model:
    """n slender rods of 0.5 m and 1 kg, hinged about x, hanging along -z at q = 0."""
    builder = Builder(f"chain{n}")
    for i in range(n):
        builder.link(
            f"rod{i}",
            "world" if i == 0 else f"rod{i - 1}",
            origin=(0, 0, 0 if i == 0 else -0.5),
            axis=(1, 0, 0),
            mass=1.0,
            com=(0, 0, -0.25),
            inertia=(0.25 / 12, 0.25 / 12, 1e-4),
            **numbers,
        )
    return builder.build()


def double_pendulum(**numbers: float) -> Model:
    """Two rods: the smallest mechanism with Coriolis forces."""
    return chain(2, **numbers)


def quadruped() -> Model:
    """A free trunk with four legs of three hinges, motors on all of them, feet on fixed joints."""
    builder = Builder("quadruped")
    builder.link("trunk", joint="free", mass=6.0, inertia=(0.03, 0.09, 0.1), joint_name="root")
    for leg, (x, y) in zip(
        ("fl", "fr", "rl", "rr"), itertools.product((0.2, -0.2), (0.1, -0.1)), strict=True
    ):
        side = np.sign(y)
        parts = [("hip", (x, y, 0), (1, 0, 0)), ("thigh", (0, 0.05 * side, 0), (0, 1, 0))]
        parent = "trunk"
        for part, origin, axis in [*parts, ("shank", (0, 0, -0.2), (0, 1, 0))]:
            name = f"{leg}_{part}"
            builder.link(
                name,
                parent,
                origin=origin,
                axis=axis,
                mass=0.5,
                com=(0, 0, -0.1),
                inertia=(2e-3, 2e-3, 3e-4),
                damping=0.2,
                armature=0.01,
            )
            builder.actuator(f"{name}_motor", name, "position", kp=60.0, kd=1.0)
            parent = name
        builder.link(f"{leg}_foot", parent, "fixed", origin=(0, 0, -0.2), mass=0.05, inertia=1e-5)
    return builder.build()


def swimmer(links: int = 2) -> Model:
    """The planar swimmer of the project's assets, from the numbers of its readme."""
    builder = Builder(f"swimmer{links:02d}", gravity=(0, 0, 0))
    inertia = 0.01 / 3 * np.array([0.05**2 + 0.01**2, 0.001**2 + 0.01**2, 0.001**2 + 0.05**2])
    for i in range(links):
        builder.link(
            f"link{i}",
            "world" if i == 0 else f"link{i - 1}",
            "planar" if i == 0 else "revolute",
            joint_name="root" if i == 0 else f"joint{i - 1}",
            origin=(0, 0 if i == 0 else 0.1, 0),
            axis=(0, 0, 1),
            mass=0.01,
            com=(0, 0.05, 0),
            inertia=inertia,
            armature=0.0 if i == 0 else 1e-6,
        )
        if i > 0:
            builder.actuator(f"motor{i - 1}", f"joint{i - 1}")
    return builder.build()
