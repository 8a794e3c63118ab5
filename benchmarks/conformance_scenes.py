"""The contact scenes of the conformance table as graftsim models and functions of numbers.

Each function builds a scene, takes a contact law and returns the numbers that its row asks for.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from conformance_rows import STEPS, TIMES, exact

import graftsim as gs

HALF = float(np.sqrt(0.5))


def ball(e: float = 0.0, gravity: float = exact.G, **surface: float) -> gs.Model:
    """A ball of radius 0.1 and 1 kg above the floor z = 0."""
    builder = gs.Builder("ball", gravity=(0, 0, -gravity))
    builder.link("ball", joint="free", mass=1.0, inertia=0.004)
    builder.geom("plane", (), name="floor")
    builder.geom("sphere", 0.1, "ball", name="ball", restitution=e, **surface)
    return builder.build()


def box(friction: float = 0.5, e: float = 0.0, sides: tuple = (0.2, 0.2, 0.2)) -> gs.Model:
    """A free box of 1 kg above the floor z = 0."""
    builder = gs.Builder("box", gravity=(0, 0, -exact.G))
    x, y, z = (s * s / 3 for s in sides)
    builder.link("box", joint="free", mass=1.0, inertia=(y + z, x + z, x + y))
    builder.geom("plane", (), name="floor")
    builder.geom("box", sides, "box", name="box", friction=friction, restitution=e,
                 dissipation=25.0, friction_velocity=5e-4)  # fmt: skip
    return builder.build()


def simulator_of(model: gs.Model, dt: float, law: Any, substeps: int) -> gs.Simulator:
    """Springs without loss are integrated by Runge-Kutta: Euler's steps have their own losses."""
    spring = isinstance(law, gs.contact.SpringDamper)
    integrator = gs.RungeKutta4() if spring else gs.SemiImplicitEuler()
    return gs.Simulator(model, dt, contact=law, substeps=substeps, integrator=integrator)


def gradient(f: Any, x: list[float]) -> list[float]:
    """Reverse mode, in every input."""
    return np.asarray(jax.grad(f)(jnp.array(x)), float).tolist()


def bounce(law: Any, backend: str, substeps: int = 1) -> list[float]:
    """G4: height after a bounce by height and speed before."""
    model = ball(1.0, 0.0, friction=0.0, dissipation=0.0, stiffness=1e6)
    simulator = simulator_of(model, 1 / 480, law, substeps)

    def height(p: jax.Array) -> jax.Array:
        start = simulator.initial_state(
            {"ball.x": -1.0, "ball.z": p[0]}, {"ball.x": 2.0, "ball.z": p[1]}
        )
        return simulator.rollout(start, steps=480, backend=backend).q[-1, 2]

    return gradient(height, [1.0, -2.0])


def two_discs(law: Any, backend: str, substeps: int = 1) -> list[float]:
    """G5: place of the second disc by x_1, v_1, x_2, v_2."""
    builder = gs.Builder("discs", gravity=(0, 0, 0))
    for name in "ab":
        builder.link(name, joint="planar", mass=1.0, inertia=0.005)
        builder.geom("sphere", 0.1, name, name=name, restitution=1.0, friction=0.0,
                     dissipation=0.0, stiffness=1e6)  # fmt: skip
    model = builder.build()
    simulator = simulator_of(model, 1 / 480, law, substeps)

    def place(p: jax.Array) -> jax.Array:
        start = simulator.initial_state({"a.x": p[0], "b.x": p[2]}, {"a.x": p[1], "b.x": p[3]})
        return simulator.rollout(start, steps=480, backend=backend).q[-1, 3]

    return gradient(place, [0.0, 1.0, 0.5213, 0.0])


def sliding_box(
    law: Any, backend: str, substeps: int = 1, steps: int = 500, g: float = exact.G
) -> list[float]:
    """G6: distance of a sliding box by its friction."""
    model = box()
    model = gs.model.with_leaf(model, "world.gravity", jnp.array([0, 0, -g]))
    simulator = gs.Simulator(model, 1 / steps, contact=law, substeps=substeps)
    start = simulator.initial_state({"box.z": 0.2}, {"box.x": 0.6 * g + 10.0})

    def distance(p: jax.Array) -> jax.Array:
        changed = gs.model.with_leaf(model, "pair.friction", p)
        moved = replace(simulator, model=changed).rollout(start, steps=steps, backend=backend)
        return moved.q[-1, 0]

    return gradient(distance, [0.5])


def tilted_box(name: str, law: Any, backend: str) -> list[float]:
    """G7: final x, height and angle by spin, then by friction: a planar box, y up."""
    scene = exact.BOX_SCENES[name]
    b = scene.box
    builder = gs.Builder("box", gravity=(0, -b.g, 0))
    builder.link("box", joint="planar", mass=b.m, inertia=(1, 1, b.inertia))
    builder.geom("plane", (), name="floor", rotation=(HALF, -HALF, 0, 0))
    corners = np.array([(b.a, b.b), (-b.a, b.b), (-b.a, -b.b), (b.a, -b.b)])
    builder.geom("polygon", (), "box", vertices=corners, name="box", restitution=b.e)
    model, steps = builder.build(), 2000
    simulator = gs.Simulator(model, scene.T / steps, contact=law)

    def final(p: jax.Array) -> jax.Array:
        changed = gs.model.with_leaf(model, "pair.friction", p[1:])
        start = simulator.initial_state(scene.start[:3], jnp.array([*scene.start[3:5], p[0]]))
        return replace(simulator, model=changed).rollout(start, steps=steps, backend=backend).q[-1]

    J = jax.jacfwd(final)(jnp.array([scene.start[5], scene.mu]))
    return np.asarray(J).T.ravel().tolist()


def billiards(law: Any, rate: int = 240) -> dict[float, list[float]]:
    """G8: slopes of the loss in the cue's x, y, vx, vy at each of the times."""
    discs, x, v = exact.billiards()
    builder = gs.Builder("billiards", gravity=(0, 0, 0))
    walls = {
        "left": ((0, 0, 0), (HALF, 0, HALF, 0)),
        "right": ((300, 0, 0), (HALF, 0, -HALF, 0)),
        "bottom": ((0, 0, 0), (HALF, -HALF, 0, 0)),
        "top": ((0, 200, 0), (HALF, HALF, 0, 0)),
    }
    for name, (position, rotation) in walls.items():
        builder.geom("plane", (), name=name, position=position, rotation=rotation)
    for i, r in enumerate(discs.radius):
        builder.link(f"disc{i}", joint="planar", mass=1.0, inertia=r * r / 2)
        builder.geom("sphere", r, f"disc{i}", name=f"disc{i}", restitution=1.0, friction=0.0)
    model = builder.build()
    model = gs.model.with_leaf(model, "pair.friction", 0 * model.pair.friction)
    model = gs.model.with_leaf(model, "pair.restitution", 1 + 0 * model.pair.restitution)
    simulator = gs.Simulator(model, 1 / rate, contact=law)

    def losses(p: jax.Array) -> jax.Array:
        q = jnp.array([*np.column_stack([x, np.zeros(4)]).ravel()]).at[:2].set(p[:2])
        qd = jnp.array([*np.column_stack([v, np.zeros(4)]).ravel()]).at[:2].set(p[2:])
        start = simulator.initial_state(q, qd)
        q = simulator.rollout(start, steps=round(max(TIMES) * rate), backend="kernel").q
        centres = q.reshape(-1, 4, 3)[:, :, :2]
        return jnp.stack([1e-4 * jnp.sum(centres[round(T * rate)] ** 2) for T in TIMES])

    J = np.asarray(jax.jacrev(losses)(jnp.array([*x[0], *v[0]])))
    return {T: row.tolist() for T, row in zip(TIMES, J, strict=True)}


def hit(shape: str, law: Any, backend: str, substeps: int = 1) -> list[float]:
    """G9: speed after a ball meets the middle of a shape, by its x, y and speed."""
    builder = gs.Builder("hit", gravity=(0, 0, 0))
    if shape == "box":
        builder.geom("box", (0.5, 0.5, 0.1), name="target")
    else:
        builder.geom("capsule", (0.1, 0.5), name="target", rotation=(HALF, 0, HALF, 0))
    builder.link("ball", joint="free", mass=1.0, inertia=0.004)
    builder.geom("sphere", 0.1, "ball", name="ball", restitution=1.0, friction=0.0,
                 dissipation=0.0, stiffness=1e6)  # fmt: skip
    simulator = simulator_of(builder.build(), 1 / 480, law, substeps)

    def speed(p: jax.Array) -> jax.Array:
        start = simulator.initial_state(
            {"ball.x": p[0], "ball.y": p[1], "ball.z": 0.5}, {"ball.z": p[2]}
        )
        return simulator.rollout(start, steps=240, backend=backend).qd[-1, 2]

    return gradient(speed, [0.0, 0.0, -2.0])


def resting_sweep(law: Any, backend: str) -> list[float]:
    """G10: slopes that are not finite, of a box from 0.1 mm inside the floor to 1 mm above it."""
    model = box()
    simulator = gs.Simulator(model, 0.002, contact=law)

    def later(z: jax.Array, v: jax.Array) -> jax.Array:
        start = simulator.initial_state({"box.z": z}, {"box.z": v, "box.x": 0.0})
        return simulator.rollout(start, steps=5, backend=backend).q[-1]

    heights = 0.2 + np.concatenate([np.linspace(-1e-4, 1e-3, 40), [0.0]])
    z, v = (jnp.array(x.ravel()) for x in np.meshgrid(heights, [-0.1, 0.0, 0.1]))
    slopes = jax.vmap(jax.jacfwd(later, (0, 1)))(z, v)
    return [float(sum(np.sum(~np.isfinite(np.asarray(s)).all(-1)) for s in slopes))]


def standing(law: Any, model: gs.Model, control: Any, pose: Any) -> dict[int, list[float]]:
    """G17: d(mean q^2)/d(first velocities) of a standing quadruped, and by differences."""
    # Feet of a robot at its default stiffness need a fraction of the step.
    spring = isinstance(law, gs.contact.SpringDamper)
    simulator = gs.Simulator(
        model, 0.002, contact=law, integrator=gs.ImplicitDamping(), substeps=100 if spring else 1
    )
    start = simulator.initial_state(pose, np.full(model.nv, 0.1))
    out = {}
    for steps in STEPS:
        controls = jnp.tile(jnp.asarray(control), (steps, 1))

        def loss(p: jax.Array, controls: jax.Array = controls) -> jax.Array:
            moved = replace(start, qd=start.qd.at[:3].set(p))
            return jnp.mean(simulator.rollout(moved, controls).q[1:] ** 2)

        at = np.full(3, 0.1)
        slope = gradient(loss, at.tolist())
        h = 1e-6
        differences = [
            float((loss(jnp.array(at + h * e)) - loss(jnp.array(at - h * e))) / (2 * h))
            for e in np.eye(3)
        ]
        out[steps] = [*slope, *differences]
    return out


def with_and_without_slopes(law: Any, backend: str, substeps: int = 1) -> list[float]:
    """G18: a landing box alone, in forward and in reverse mode: largest difference of its path."""
    simulator = gs.Simulator(box(), 0.002, contact=law, substeps=substeps)
    start = simulator.initial_state([0, 0, 0.35, 0.98, 0.15, 0.1, 0], [1, 0, -1, 0, 0, 0])

    def path(qd: jax.Array) -> jax.Array:
        return simulator.rollout(replace(start, qd=qd), steps=200, backend=backend).q

    alone = path(start.qd)
    others = (
        jax.jvp(path, (start.qd,), (jnp.ones(6),))[0],
        jax.vjp(path, start.qd)[0],
        jax.value_and_grad(lambda qd: (lambda q: (jnp.sum(q), q))(path(qd)), has_aux=True)(
            start.qd
        )[0][1],
    )
    return [max(float(jnp.max(jnp.abs(q - alone))) for q in others)]


MOST_PAIRS = 30


def dropped_robots(folder: Path, law: Any, backend: str, substeps: int = 1) -> list[float]:
    """P8: numbers not finite in 10 s of dropped robots of many kinds, weak springs in joints.

    Files with more than MOST_PAIRS pairs of shapes are left out: their steps compile for minutes.
    So are those in which nothing touches.
    """
    files = sorted([*folder.rglob("*.urdf"), *folder.rglob("*.xml")])
    if not files:
        raise FileNotFoundError(f"No robot files under {folder}: set GRAFTSIM_ASSETS.")
    bad = 0
    for file in files:
        # Those that hang from the world fall about their pivots, some links down to the floor.
        if 'link name="world"' in file.read_text(encoding="utf-8"):
            model = gs.load(file, ground=-1.0)
        elif file.suffix == ".urdf":
            model = gs.load(file, ground=0.0, base="free")
        else:
            model = gs.load(file, ground=0.0)
        if not 0 < len(model.pair.names) <= MOST_PAIRS:
            continue
        nv = model.nv
        free = np.array([d.startswith("root.") for d in model.tree.dofs])
        joint = replace(
            model.joint,
            stiffness=jnp.where(free, 0.0, 1.0) * jnp.ones(nv),
            damping=jnp.where(free, 0.0, 0.05) * jnp.ones(nv),
        )
        # Springs warn that the step is long for shells this light; that they stay finite is asked.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.GraftsimWarning)
            simulator = gs.Simulator(
                replace(model, joint=joint), 0.002, contact=law, substeps=substeps,
                integrator=gs.ImplicitDamping(),
            )  # fmt: skip
        rise = {"root.z": 1.0} if "root.z" in model.tree.coordinates else {}
        start = simulator.initial_state(rise, np.full(nv, 0.3))
        moved = simulator.rollout(start, steps=5000, backend=backend)
        bad += int(np.sum(~np.isfinite(np.asarray(moved.q))))
        bad += int(np.sum(~np.isfinite(np.asarray(moved.qd))))
    return [float(bad)]


def thrown_chain(law: Any, backend: str, substeps: int = 1) -> list[float]:
    """P2: three capsules on ball joints: largest rise of energy, and motion left after 6 s."""
    builder = gs.Builder("chain", gravity=(0, 0, -exact.G))
    builder.geom("plane", (), name="floor")
    for i in range(3):
        parent, joint = ("world", "free") if i == 0 else (f"link{i - 1}", "spherical")
        at = (0, 0, 0) if i == 0 else (0.3, 0, 0)
        builder.link(f"link{i}", parent, joint, origin=at, mass=1.0, com=(0.15, 0, 0),
                     inertia=(0.002, 0.008, 0.008), damping=0.0 if i == 0 else 0.01)  # fmt: skip
        builder.geom("capsule", (0.05, 0.1), f"link{i}", (0.15, 0, 0), (HALF, 0, HALF, 0),
                     friction=0.5, name=f"capsule{i}", dissipation=5.0)  # fmt: skip
    model = builder.build()
    simulator = gs.Simulator(model, 0.001, contact=law, substeps=substeps)
    start = simulator.initial_state({"link0.z": 0.5}, {"link0.x": 2.0, "link0.ry": 3.0})
    moved = simulator.rollout(start, steps=6000, backend=backend)
    total = jax.vmap(lambda q, qd: gs.dynamics.kinetic_energy(model, q, qd)
                     + gs.dynamics.potential_energy(model, q))  # fmt: skip
    energy = np.asarray(total(moved.q, moved.qd))
    return [float(np.max(np.diff(energy))), float(np.max(np.abs(moved.qd[-1])))]


def incline(mu: float, law: Any, backend: str, substeps: int = 1) -> list[float]:
    """P3: how far a block slides in 1 s on a slope of 30 degrees."""
    model = box(mu)
    lean = np.radians(30)
    gravity = exact.G * jnp.array([np.sin(lean), 0, -np.cos(lean)])
    model = gs.model.with_leaf(model, "world.gravity", gravity)
    simulator = gs.Simulator(model, 0.001, contact=law, substeps=substeps)
    start = simulator.initial_state({"box.z": 0.2})
    return [float(simulator.rollout(start, steps=1000, backend=backend).q[-1, 0])]


def dropped_ball(law: Any, backend: str, substeps: int = 1) -> list[float]:
    """P4: least normal force over weight; at first touch over the peak."""
    simulator = gs.Simulator(ball(0.5, dissipation=0.5), 0.0005, contact=law, substeps=substeps)
    start = simulator.initial_state({"ball.z": 0.3})
    record = ("contact.force_n",)
    moved = simulator.rollout(start, steps=2000, record=record, backend=backend)
    force = np.asarray(moved.recorded["contact.force_n"])[:, 0]
    return [float(force.min() / exact.G), float(force[np.argmax(force > 0)] / force.max())]


def resting_ball(law: Any, backend: str, substeps: int = 1) -> list[float]:
    """P5: force of a resting ball over its weight."""
    simulator = gs.Simulator(ball(dissipation=5.0), 0.001, contact=law, substeps=substeps)
    record = ("contact.force_n",)
    start = simulator.initial_state({"ball.z": 0.1})
    moved = simulator.rollout(start, steps=2000, record=record, backend=backend)
    return [float(moved.recorded["contact.force_n"][-1, 0]) / exact.G]


def ball_in_capsule(law: Any, backend: str) -> list[float]:
    """P6: contacts with force of a ball in the middle of a capsule."""
    builder = gs.Builder("capsule", gravity=(0, 0, 0))
    builder.geom("capsule", (0.1, 0.5), name="capsule", rotation=(HALF, 0, HALF, 0))
    builder.link("ball", joint="free", mass=1.0, inertia=0.004)
    builder.geom("sphere", 0.1, "ball", name="ball")
    simulator = gs.Simulator(builder.build(), 0.001, contact=law)
    start = simulator.initial_state({"ball.z": 0.15})
    moved = simulator.rollout(start, steps=1, record=("contact.depth",), backend=backend)
    return [float(np.sum(np.asarray(moved.recorded["contact.depth"]) > 0))]
