from dataclasses import replace
from importlib.util import find_spec
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


def later(places, velocities):
    """Where the joints are a tenth of a second later."""
    return simulator.rollout(simulator.initial_state(places, velocities), steps=10).q[-1]


if find_spec("torch"):
    import torch

    _drawn = np.random.default_rng(1).standard_normal((3, 4, 2))
    places, velocities, seen = (torch.tensor(x, requires_grad=True) for x in _drawn)


def holds():
    """The network's forces were added, and the hook is gone; PyTorch's gradients are JAX's."""
    assert np.abs(added(data)).max() > 0
    assert mujoco.get_mjcb_passive() is None
    if find_spec("torch"):
        start, speed, end = (jnp.asarray(x.detach().numpy()) for x in (places, velocities, seen))
        own = jax.grad(lambda q, qd: jnp.mean((jax.vmap(later)(q, qd) - end) ** 2), (0, 1))
        for tensor, gradient in zip((places, velocities), own(start, speed), strict=True):
            assert np.allclose(tensor.grad, gradient, rtol=1e-9, atol=1e-12)
