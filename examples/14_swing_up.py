"""Swing a cart-pole up: the best commands within the motor's limits, and feedback in a push."""

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim import control

jax.config.update("jax_enable_x64", True)

# A cart of 1 kg that a motor pushes with 10 N at most, and a pole that hangs from it.
builder = gs.Builder("cart_pole")
builder.link("cart", joint="prismatic", axis=(1, 0, 0), mass=1.0)
builder.link("pole", "cart", axis=(0, 1, 0), mass=0.1, com=(0, 0, -0.5), inertia=0.1 / 12)
builder.actuator("motor", "cart", force_range=(-10, 10))
simulator = gs.Simulator(builder.build(), dt=0.02)


def effort(state: gs.State, u: jax.Array) -> jax.Array:
    return 1e-4 * (jnp.sum(u**2) + jnp.sum(state.qd**2))


def upright(state: gs.State) -> jax.Array:
    x, angle = state.q
    return 100 * (x**2 + 2 * (1 + jnp.cos(angle)) + jnp.sum(state.qd**2))


# Four seconds from hanging at rest, which is a stationary point: begin with a little pushing.
cost = control.ScalarCost(effort, upright)
start = simulator.initial_state()
first = 0.1 * np.random.default_rng(0).standard_normal((200, 1))
plan = control.ilqr(simulator, start, cost, 200, controls=first,
                    solver=control.ILQR(newton=1e-3))  # fmt: skip
print(f"{plan.outcome}, {plan.iterations} iterations: {plan.costs[0]:.1f} -> {plan.cost:.4f}")
x, angle = plan.states.q[-1]
print(
    f"at the end the cart is at {x:+.4f} m, the pole {np.degrees(angle):.2f} degrees from hanging"
)
print(f"greatest force {jnp.abs(plan.controls).max():.2f} N")

# Stay there: a horizon of half a second that recedes, on a plant whose pole is 20 % heavier.
mass = simulator.model.link.mass
heavier = gs.model.with_leaf(simulator.model, "link.mass", mass * jnp.array([1, 1.2]))
tilted = simulator.initial_state(q=[0.0, np.pi - 0.2])
held = control.mpc(simulator, tilted, cost, 25, 150, plant=gs.Simulator(heavier, 0.02))
print(
    f"after 3 s of control the pole is {np.degrees(held.states.q[-1, 1]):.2f} degrees from hanging"
)
