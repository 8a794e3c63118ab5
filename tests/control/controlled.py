"""Machines to control, and costs of module scope: equal functions share compiled code."""

import jax.numpy as jnp

import graftsim as gs
from graftsim import control


def sled(dt=0.1, **actuator):
    """A mass of 2 kg on a line, pushed: a double integrator."""
    b = gs.Builder("sled", gravity=(0, 0, 0))
    b.link("sled", joint="prismatic", axis=(1, 0, 0), mass=2.0)
    b.actuator("push", "sled", **actuator)
    return gs.Simulator(b.build(), dt)


def double_pendulum(dt=0.02):
    """Two rods of 0.5 m with motors too weak to lift them at once."""
    b = gs.Builder("double_pendulum")
    b.link("upper", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.25), inertia=0.02)
    b.link("lower", "upper", axis=(0, 1, 0), origin=(0, 0, -0.5), mass=1.0, com=(0, 0, -0.25),
           inertia=0.02)  # fmt: skip
    b.actuator("shoulder", "upper", force_range=(-5, 5))
    b.actuator("elbow", "lower", force_range=(-3, 3))
    return gs.Simulator(b.build(), dt)


def cart_pole(dt=0.02):
    """Cart of 1 kg, uniform pole of 0.1 kg and 1 m, hanging at 0, pushed by 10 N at most."""
    b = gs.Builder("cart_pole")
    b.link("cart", joint="prismatic", axis=(1, 0, 0), mass=1.0)
    b.link("pole", "cart", axis=(0, 1, 0), mass=0.1, com=(0, 0, -0.5), inertia=0.1 / 12)
    b.actuator("push", "cart", force_range=(-10, 10))
    return gs.Simulator(b.build(), dt)


def sled_running(x, u):
    return jnp.concatenate([0.1 * u, x.q - 1.0])


def sled_terminal(x):
    return jnp.concatenate([10 * (x.q - 1.0), 3 * x.qd])


SLED = control.LeastSquares(sled_running, sled_terminal)


def effort(x, u):
    return 1e-4 * (jnp.sum(u * u) + jnp.sum(x.qd * x.qd))


def straight_up(x):
    upright = 2 + jnp.cos(x.q[0]) - jnp.cos(x.q[1])
    return 100 * (upright + 0.1 * jnp.sum(x.qd * x.qd))


def pole_up(x):
    return 100 * (x.q[0] ** 2 + 2 * (1 + jnp.cos(x.q[1])) + jnp.sum(x.qd * x.qd))


DOUBLE = control.ScalarCost(effort, straight_up)
CART = control.ScalarCost(effort, pole_up)


def puck(dt=0.01):
    """A finger of 0.3 kg on a rail, and a puck of 0.5 kg before it that dry friction stops."""
    b = gs.Builder("puck", gravity=(0, 0, 0))
    b.link("finger", joint="prismatic", axis=(1, 0, 0), mass=0.3)
    b.link("puck", joint="prismatic", axis=(1, 0, 0), origin=(0.2, 0, 0), mass=0.5,
           friction=1.5, friction_velocity=0.2)  # fmt: skip
    b.geom("sphere", 0.03, "finger", name="tip")
    b.geom("sphere", 0.1, "puck", name="side")
    b.actuator("push", "finger", force_range=(-20, 20))
    return gs.Simulator(
        b.build(), dt, integrator=gs.ImplicitDamping(), contact=gs.contact.Complementarity()
    )


def gentle(x, u):
    return 1e-5 * jnp.sum(u * u)


def puck_there(x):
    return 100 * ((x.q[1] - 0.5) ** 2 + 0.1 * jnp.sum(x.qd * x.qd) + 0.01 * x.q[0] ** 2)


PUCK = control.ScalarCost(gentle, puck_there)
