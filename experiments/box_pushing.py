"""A disc on two motors pushes a box over a floor with dry friction: scene, policy and cost.

The plane of motion is horizontal. The target is a state, too: a joint that nothing moves, so that
start states with targets of their own lie side by side.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs

DT, STEPS = 0.02, 100
HALF, RADIUS, FORCE = 0.05, 0.02, 3.0
INPUTS = 10


def simulator() -> gs.Simulator:
    """Box (0.5 kg), pusher (0.2 kg) and target, without a policy."""
    b = gs.Builder("pushing")
    b.link("box", joint="planar", mass=0.5, inertia=0.5 * (2 * HALF) ** 2 / 6, damping=0.01,
           friction=(1.2, 1.2, 0.045), friction_velocity=(0.01, 0.01, 0.2))  # fmt: skip
    b.geom("box", (HALF, HALF, HALF), "box", friction=0.3)
    for axis, vector, carrier in (("x", (1, 0, 0), "world"), ("y", (0, 1, 0), "push_x")):
        mass = 0.2 if axis == "y" else 0.02
        b.link(f"push_{axis}", carrier, "prismatic", axis=vector, mass=mass, damping=3.0)
        b.actuator(f"motor_{axis}", f"push_{axis}", control_range=(-FORCE, FORCE))
    b.geom("sphere", RADIUS, "push_y", friction=0.3)
    b.link("goal_x", joint="prismatic", axis=(1, 0, 0), mass=0.1)
    b.link("goal_y", "goal_x", "prismatic", axis=(0, 1, 0), mass=0.1)
    return gs.Simulator(b.build(), DT, contact=gs.contact.Complementarity())


def seen(q: Any, qd: Any) -> Any:
    """What a policy sees [10], each of about size one: where the goal and the box are, and motion.

    q: box x, y, yaw, pusher x, y, goal x, y.
    """
    box, pusher, goal = q[:2], q[3:5], q[5:7]
    yaw = jnp.stack([jnp.sin(q[2]), jnp.cos(q[2])])
    return jnp.concatenate(
        [(goal - box) / 0.1, (box - pusher) / 0.1, yaw, qd[:2] / 0.1, qd[3:5] / 0.1]
    )


def with_policy(plain: gs.Simulator, key: Any) -> gs.Simulator:
    """A network on both motors that is added to the commands given."""
    inputs = gs.Feature(seen, ("state.q", "state.qd"), "seen")
    graft = gs.Graft("control.u", inputs, gs.MLP(32, 32), output_scale=1.0, name="policy")
    return plain.graft(gs.Blueprint(graft), key=key)


def starts(plain: gs.Simulator, count: int, seed: int) -> Any:
    """States side by side: the pusher a little behind the box, a target 0.1 to 0.25 m ahead."""
    rng = np.random.default_rng(seed)
    far, way = rng.uniform(0.1, 0.25, count), rng.uniform(-0.4, 0.4, count)
    q = np.zeros((count, 7))
    q[:, 2] = rng.uniform(-0.2, 0.2, count)
    q[:, 3] = -(HALF + RADIUS) - 0.015 - rng.uniform(0, 0.02, count)
    q[:, 4] = rng.uniform(-0.02, 0.02, count)
    q[:, 5], q[:, 6] = far * np.cos(way), far * np.sin(way)
    return jax.vmap(lambda q: plain.initial_state(q=q))(jnp.asarray(q))


def step_costs(motion: gs.Trajectory) -> Any:
    """Of each step [T]: the box's distance from its target, more so the later, a little for the
    pusher's from the box and for force. Squares in units of 0.1 m and of the largest force.
    """
    q, u = motion.q[1:], motion.recorded["control.u"]
    away = jnp.sum((q[:, 5:7] - q[:, :2]) ** 2, 1) / 0.01
    apart = jnp.sum((q[:, :2] - q[:, 3:5]) ** 2, 1) / 0.01
    late = 2 * jnp.arange(1, STEPS + 1) / STEPS
    return late * away + 0.1 * apart + 0.02 * jnp.sum((u / FORCE) ** 2, 1)


def cost(motion: gs.Trajectory) -> Any:
    """Mean over the steps."""
    return jnp.mean(step_costs(motion))


def misses(policy: gs.Simulator, states: Any) -> np.ndarray:
    """How far the boxes are from their targets at the end (m)."""

    @jax.jit
    def end(states: Any) -> Any:
        return jax.vmap(lambda s: policy.rollout(s, steps=STEPS).q[-1])(states)

    q = np.asarray(end(states))
    return np.linalg.norm(q[:, 5:7] - q[:, :2], axis=1)
