from dataclasses import replace
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

import graftsim as gs

simulator = gs.Simulator(gs.load("robot.urdf"), 0.01)
network, picture, ts = jnp.array([0.5, -0.5]), jnp.tanh, jnp.ones((3, 2))
drag = gs.Graft("joint.tau_passive[*]", ("joint.qd[*]",), gs.MLP(8), name="drag")
grafted = simulator.graft(gs.Blueprint(drag), key=jax.random.key(0))
weights = np.random.default_rng(0).standard_normal(grafted.grafts["drag"].trainable.shape)
bound = grafted.grafts.replace("drag", grafted.grafts["drag"].with_trainable(weights))
result = SimpleNamespace(simulator=replace(grafted, grafts=bound))


def holds():
    """The network's forces were added, and the hook is gone."""
    assert np.abs(added(data)).max() > 0
    assert mujoco.get_mjcb_passive() is None
