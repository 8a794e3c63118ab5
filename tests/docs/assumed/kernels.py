import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs

model = gs.load("robot.urdf")
simulator = gs.Simulator(model, 0.01, substeps=5, integrator=gs.ImplicitDamping())
state, controls = simulator.initial_state({"elbow": 0.5}), np.zeros((20, 2))
states = jax.vmap(lambda q: simulator.initial_state({"elbow": q}))(jnp.linspace(-1, 1, 8))
heights = jnp.linspace(1.0, 2.0, 8)


def loss(run):
    """Of an angle at the end."""
    return run.q[-1, 1]


def decay(state, controls):
    """What a kernel of any length can be of."""
    return jnp.sum(state.q) + jnp.sum(controls)
