"""Mechanisms whose truth is known, and recordings of them with noise."""

from __future__ import annotations

from functools import cache

import jax.numpy as jnp
import numpy as np

import zoo
from graftsim import Builder, Channel, Recording, Simulator
from graftsim.engine import ImplicitDamping
from graftsim.identify.problem.parameters import SimulatorAndSensors
from graftsim.sensors.sensors import make_sensors

DT = 0.01
# The tool frame of the cart, in its hand.
TOOL, TURN = (0.02, 0.01, -0.1), (0.8, 0.36, 0.48, 0.0)


def arm(**numbers):
    """A driven arm on a motor whose torque is measured, hinged about x, hanging along -z."""
    defaults = {"mass": 1.2, "damping": 0.05, "friction": 0.2, "armature": 0.02}
    builder = Builder("arm")
    builder.link(
        "arm",
        axis=(1, 0, 0),
        com=(0, 0, -0.3),
        inertia=(0.03, 0.03, 0.002),
        joint_name="hinge",
        friction_velocity=0.05,
        **(defaults | numbers),
    )
    builder.actuator("motor", "hinge")
    return builder.build()


def cart():
    """A slide with an arm on it and a tool frame: both kinds of joint, an actuator, a frame."""
    builder = Builder("cart")
    builder.link("cart", joint="prismatic", joint_name="slide", axis=(0, 1, 0), mass=2.0, damping=1)
    builder.link(
        "arm",
        "cart",
        joint_name="hinge",
        origin=(0, 0, 0.1),
        axis=(1, 0, 0),
        mass=0.5,
        com=(0.01, 0.02, -0.3),
        inertia=(0.02, 0.02, 0.001),
        damping=0.1,
    )
    builder.link(
        "hand",
        "arm",
        joint_name="wrist",
        origin=(0, 0, -0.6),
        axis=(0, 1, 0),
        mass=0.2,
        com=(0, 0, -0.05),
        inertia=(1e-3, 1e-3, 1e-4),
        damping=0.05,
    )
    builder.frame("tool", "hand", TOOL, TURN)
    builder.geom("sphere", 0.02, "arm", (0, 0, -0.6))
    builder.actuator("motor", "slide")
    return builder.build()


def setup(model, channels=("joint.q[hinge]",), **options) -> SimulatorAndSensors:
    """What parameters live in."""
    return SimulatorAndSensors(Simulator(model, DT), make_sensors(model, channels, options))


def roll(model, q0, qd0=None, controls=None, steps=300, dt=DT, integrator=None):
    """Roll-out of the truth, compiled quickly."""
    simulator = Simulator(model, dt, integrator=integrator)
    state = simulator.initial_state(q0, qd0)
    u = np.zeros((steps, model.nu)) if controls is None else controls
    return zoo.rollout(simulator, state, jnp.asarray(u), ())


def recording(model, trajectory, *, noise=1e-3, seed=0, name="run", rates=False, controls=None):
    """Joint positions (and rates, commands) of a roll-out with white noise."""
    rng, time = np.random.default_rng(seed), np.asarray(trajectory.time)
    channels = {}

    def add(label, values, unit, noise=noise):
        noisy = values + noise * rng.normal(size=values.shape)
        channels[label] = Channel(label, time, noisy, unit)

    for i, dof in enumerate(model.tree.dofs):
        unit = model.tree.dof_units[i]
        add(f"joint.q[{dof}]", np.asarray(trajectory.q)[:, i], unit)
        if rates:
            add(f"joint.qd[{dof}]", np.asarray(trajectory.qd)[:, i], f"{unit}/s")
    for i, motor in enumerate(() if controls is None else model.actuator.names):
        held = np.concatenate([controls[:, i], controls[-1:, i]])
        add(f"control[{motor}]", held, "N m", noise=0.0)
    return Recording(channels, name)


@cache
def pendulum_recording(seed: int = 3, noise: float = 1e-3) -> Recording:
    """Three seconds of a damped double pendulum: damping 0.05 at both joints."""
    model = zoo.double_pendulum(damping=0.05)
    moved = roll(model, [1.0, 0.5], integrator=ImplicitDamping())
    return recording(model, moved, noise=noise, seed=seed)


def pendulum_start(damping: float = 0.2) -> Simulator:
    """The same pendulum with another damping: where fits start."""
    return Simulator(zoo.double_pendulum(damping=damping), DT, integrator=ImplicitDamping())


def drive(steps: int, seed: int = 2, size: float = 3.0) -> np.ndarray:
    """Smooth torques [steps, 1]: a few sines of random phase."""
    rng, t = np.random.default_rng(seed), DT * np.arange(steps)
    waves = sum(np.sin(2 * np.pi * f * t + rng.uniform(0, 6)) for f in (0.3, 0.7, 1.1))
    return size * waves[:, None] / 3
