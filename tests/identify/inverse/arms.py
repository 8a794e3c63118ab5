"""An arm whose numbers are known, and recordings of what its joints feel."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs
import zoo
from graftsim.dynamics.passive import passive_forces
from graftsim.dynamics.rnea import inverse_dynamics

RATE, SECONDS = 250.0, 20.0
OFFSETS = (0.3, -0.2, 0.1)
AXES = ((0, 0, 1), (0, 1, 0), (1, 0, 0))


def arm(scale: float = 1.0, payload: np.ndarray | None = None, **numbers) -> gs.Model:
    """Three hinges; scale: of all inertias; payload: added to the last link's (mass, com, six)."""
    rng = np.random.default_rng(5)
    numbers = {"damping": 0.5, "friction": 0.8, "armature": 0.05} | numbers
    b = gs.Builder("arm")
    for i, axis in enumerate(AXES):
        mass = 3.0 - 0.8 * i
        b.link(
            f"link{i + 1}",
            f"link{i}" if i else "world",
            joint_name=f"joint{i + 1}",
            axis=axis,
            origin=(0, 0, 0.3),
            mass=scale * mass,
            com=(0.05, 0.08, 0.15),
            inertia=scale * mass * zoo.random_inertia(rng, 0.15),
            friction_velocity=0.1,
            **numbers,
        )
    return b.build()


def recording(
    model: gs.Model,
    seed: int = 0,
    noise: float = 0.05,
    offsets: tuple[float, ...] = OFFSETS,
    extra=None,
    still: int | None = None,
) -> gs.Recording:
    """A sum of sines of each joint, and its forces with white noise; extra: forces of q, qd, qdd
    that are added; still: a joint that rests.
    """
    rng = np.random.default_rng(seed)
    t = np.arange(int(RATE * SECONDS)) / RATE
    k = np.arange(1, 6)
    w = 2 * np.pi * 0.1 * k
    a, b = rng.normal(size=(2, model.nv, len(k))) * 0.7 / np.sqrt(k)
    if still is not None:
        a[still] = b[still] = 0.0
    phase = t[:, None] * w
    s, c = np.sin(phase), np.cos(phase)
    q, qd = s @ a.T + c @ b.T, (c * w) @ a.T - (s * w) @ b.T
    qdd = -(s * w**2) @ a.T - (c * w**2) @ b.T

    def force(q, qd, qdd):
        return inverse_dynamics(model, q, qd, qdd) - passive_forces(model, q, qd)

    tau = np.asarray(zoo.jit(jax.vmap(force))(*map(jnp.asarray, (q, qd, qdd)))) + np.array(offsets)
    if extra is not None:
        tau = tau + extra(q, qd, qdd)
    tau = tau + noise * rng.normal(size=tau.shape)
    channels = {}
    for i, dof in enumerate(model.tree.dofs):
        for kind, x, unit in (("q", q, "rad"), ("tau", tau, "N m")):
            name = f"joint.{kind}[{dof}]"
            channels[name] = gs.Channel(name, t, x[:, i], unit)
    return gs.Recording(channels, f"run{seed}")
