"""A policy in the roll-out: a cart learns to balance its pole by gradient; then it is cloned."""

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim.control import Cloning, Training, clone, policy_of, train
from graftsim.envs import SimulatorEnv, SimulatorVectorEnv, Task

jax.config.update("jax_enable_x64", True)
STEPS, LANES = 150, 256

b = gs.Builder("cart")
b.link("cart", joint="prismatic", axis=(1, 0, 0), mass=1.0, damping=0.1)
b.link("pole", "cart", axis=(0, 1, 0), mass=0.2, com=(0, 0, 0.4), inertia=0.01, damping=0.002)
b.actuator("motor", "cart", control_range=(-10, 10))
plain = gs.Simulator(b.build(), dt=0.02)


def tilted(key):
    """Upright but for up to 0.3 rad, at a place within half a metre."""
    q = jax.random.uniform(key, (2,), minval=-1, maxval=1) * jnp.array([0.5, 0.3])
    return plain.initial_state(q)


def cost(motion):
    """Of a roll-out: off the middle, off the vertical, and force."""
    u = motion.recorded["control.u"]
    return jnp.mean(motion.q[:, 0] ** 2 + 5 * motion.q[:, 1] ** 2) + 1e-3 * jnp.mean(u**2)


# A network on the commands is part of the step; roll-outs run side by side, and so do gradients.
network = gs.Graft(
    "control.u", ("joint.q", "joint.qd"), gs.MLP(16), output_scale=5.0, name="policy"
)
simulator = plain.graft(gs.Blueprint(network), key=jax.random.key(1))
starts = jax.vmap(tilted)(jax.random.split(jax.random.key(0), LANES))
how = Training(iterations=80, rate=0.03)
# Short roll-outs first: what falls for three seconds has a gradient of no use.
short = train(simulator, cost, starts, 40, record=("control.u",), how=how)
trained = train(short.simulator, cost, starts, STEPS, record=("control.u",), how=how)
print(f"cost {short.history[0].cost:.2f} at first; {trained.cost:.4f}, {trained.outcome}")

new = jax.vmap(tilted)(jax.random.split(jax.random.key(9), LANES))
motion = jax.vmap(lambda s: trained.simulator.rollout(s, steps=500))(new)
upright = np.abs(np.asarray(motion.q[:, -100:, 1])).max(1) < 0.05
print(f"upright after 8 s: {upright.sum()} of {LANES} new starts")

# On its own: a function in NumPy, for a loop on the machine. Another network learns from it.
policy = policy_of(trained.simulator)
x = np.random.default_rng(0).uniform(-1, 1, (4000, 4)) * [0.5, 0.3, 1.0, 1.5]
small = clone(x, policy(x), gs.MLP(6), how=Cloning(epochs=40, rate=0.01))
print(f"a network of 6 units gives its commands with R2 = {small.r_squared[0]:.4f}")
print(f"command at a tilt of 0.1 rad: {policy.in_numpy()([0.0, 0.1, 0.0, 0.0])[0]:.2f} N")

# The same machine for reinforcement learning: one environment, or one in each lane.
task = Task(
    plain,
    reward=lambda motion, u: 1.0 - motion.q[-1, 1] ** 2,
    terminated=lambda state: jnp.abs(state.q[1]) > 0.5,
    start=tilted,
    limit=200,
)
env, many = SimulatorEnv(task), SimulatorVectorEnv(task, LANES)
seen, _ = many.reset(seed=0)
for _ in range(50):
    seen, reward, ended, cut, info = many.step(np.clip(policy(seen), -10, 10))
print(f"mean reward of {many.num_envs} environments: {reward.mean():.4f}")
