"""The simulator under test, and a network that adds to each of its joint torques."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from rivals import Job

WIDTH, LAYERS = 16, 2


def simulator(job: Job) -> Any:
    """graftsim's simulator of the job's scene."""
    from scenes import DT, loaded

    import graftsim as gs

    model = loaded(job.scene.mjcf).astype(job.dtype)
    if not job.scene.contact:
        return gs.Simulator(model, DT)
    law, integrator = gs.contact.Complementarity(), gs.ImplicitDamping()
    return gs.Simulator(model, DT, contact=law, integrator=integrator)


def weights(job: Job) -> Any:
    """Weights of the small network that all joints share, or None if the job has none."""
    if not job.network:
        return None
    import jax.numpy as jnp
    import numpy as np

    rng = np.random.default_rng(0)
    sizes = (2, *(WIDTH for _ in range(LAYERS)), 1)
    return [
        (jnp.asarray(0.1 * rng.standard_normal((n, m)), job.dtype), jnp.zeros(n, job.dtype))
        for m, n in pairwise(sizes)
    ]


def torques(layers: Any) -> dict[str, Callable[[Any, Mapping[str, Any]], Any]]:
    """The network as an augmentation: it adds to each joint's torque, from its q and qd."""
    import jax
    import jax.numpy as jnp

    def network(x: Any) -> Any:
        for w, b in layers[:-1]:
            x = jnp.tanh(w @ x + b)
        w, b = layers[-1]
        return (w @ x + b)[0]

    def correct(tau: Any, named: Mapping[str, Any]) -> Any:
        x = jnp.stack([named["joint.q"], named["joint.qd"]], axis=-1)
        return tau + jax.vmap(network)(x)

    return {"joint.tau": correct}


def final_state(job: Job, checkpoint: bool) -> Callable[..., tuple[Any, Any]]:
    """Function of (q, qd[, weights]) that gives q and qd after the job's steps."""
    import jax.numpy as jnp

    from graftsim import State
    from graftsim.engine.rollout import scan_steps

    of = simulator(job)
    controls = jnp.zeros((job.steps, of.model.nu), job.dtype)

    def run(q: Any, qd: Any, layers: Any = None) -> tuple[Any, Any]:
        start = State(q=q, qd=qd, act=jnp.zeros(of.model.actuator.na, q.dtype))
        added = None if layers is None else torques(layers)
        states = scan_steps(of, start, controls, augmentations=added, checkpoint=checkpoint).states
        return states.q[-1], states.qd[-1]

    return run
