"""Identities of mechanics on random trees of every joint type, at random states."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from graftsim import dynamics
from graftsim.engine.integrators import move
from graftsim.model.fuse import fuse

# The tree with each joint type once, and a random one with a branch.
TOPOLOGIES = {"every_type": zoo.every_type(), "branched": zoo.topologies()[11]}
SETS = 10


def quantities(model, q, qd, tau, f):
    """Everything that the tests below relate, in one program."""
    tree = model.tree
    qdd = dynamics.forward_dynamics(model, q, qd, tau, f)
    rate = jax.jvp(lambda h: move(tree, q, qd, h), (jnp.zeros(()),), (jnp.ones(()),))[1]

    def energy(q, qd):
        return dynamics.kinetic_energy(model, q, qd) + dynamics.potential_energy(model, q)

    def along(function):
        return jax.jvp(function, (q, qd), (rate, qdd))[1]

    fused = fuse(model)
    return {
        "tau_again": dynamics.inverse_dynamics(model, q, qd, qdd, f),
        "H": dynamics.mass_matrix(model, q),
        "C": dynamics.bias_forces(model, q, qd),
        "qdd": qdd,
        "qdd_free": dynamics.forward_dynamics(model, q, qd, tau),
        "kinetic": dynamics.kinetic_energy(model, q, qd),
        "power": along(energy),
        "power_applied": qd @ tau + jnp.sum(dynamics.link_velocities(model, q, qd) * f),
        "momentum": dynamics.momentum(model, q, qd),
        "com_rate": along(lambda q, qd: dynamics.center_of_mass(model, q)),
        "mass": jnp.sum(model.link.mass),
        "tool_velocity": dynamics.point_velocity(model, q, qd, "tool"),
        "tool_rate": along(lambda q, qd: dynamics.frame_pose(model, q, "tool")[1]),
        "tool_turn": along(lambda q, qd: dynamics.frame_pose(model, q, "tool")[0]),
        "tool_R": dynamics.frame_pose(model, q, "tool")[0],
        "fused_qdd": dynamics.forward_dynamics(fused, q, qd, tau),
        "fused_H": dynamics.mass_matrix(fused, q),
        "fused_C": dynamics.bias_forces(fused, q, qd),
        "fused_tool": dynamics.frame_pose(fused, q, "tool"),
        "tool_p": dynamics.frame_pose(model, q, "tool")[1],
        "fused_passive": dynamics.passive_forces(fused, q, qd),
        "passive": dynamics.passive_forces(model, q, qd),
    }


def close(a, b, tolerance=1e-10):
    """Relative to the largest number."""
    a, b = np.asarray(a), np.asarray(b)
    return np.abs(a - b).max() <= tolerance * max(np.abs(b).max(), 1.0)


@pytest.mark.parametrize("top", TOPOLOGIES.values(), ids=TOPOLOGIES)
def test_identities(top):
    """Identities, by name, hold on ten random trees of a topology (one program, one test)."""
    models = [zoo.random_model(top, 50 + s) for s in range(SETS)]
    states = [zoo.random_state(m, s) for s, m in enumerate(models)]
    q, qd = (np.stack(x) for x in zip(*states, strict=True))
    rng = np.random.default_rng(0)
    tau = rng.uniform(-5, 5, qd.shape)
    f = rng.uniform(-5, 5, (SETS, len(top.parent), 6))
    x = zoo.jit(jax.vmap(quantities))(zoo.stack(models), q, qd, tau, f)
    x = {k: jax.tree.map(np.asarray, v) for k, v in x.items()}

    H, R = x["H"], x["tool_R"]
    equation = np.einsum("sij,sj->si", H, x["qdd_free"]) + x["C"]
    form = np.einsum("si,sij,sj->s", qd, H, qd) / 2
    # Angular velocity from dR/dt R^T.
    spin = x["tool_turn"] @ np.swapaxes(R, 1, 2)
    omega = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], -1)
    holds = {
        "forward dynamics undoes inverse dynamics": close(x["tau_again"], tau),
        "H qdd + C = tau": close(equation, tau),
        "H is symmetric": close(H, np.swapaxes(H, 1, 2), 1e-13),
        "H is positive": np.linalg.eigvalsh(H).min() > 0,
        "kinetic energy is qd^T H qd / 2": close(x["kinetic"], form),
        "energy changes at the power applied": close(x["power"], x["power_applied"]),
        "momentum is mass times velocity of the centre of mass": close(
            x["momentum"][:, 3:], x["mass"][:, None] * x["com_rate"]
        ),
        "J qd is the rate of the position": close(x["tool_velocity"][:, 3:], x["tool_rate"]),
        "J qd is the turning of the axes": close(x["tool_velocity"][:, :3], omega),
        "fused: H": close(x["fused_H"], H),
        "fused: C": close(x["fused_C"], x["C"]),
        "fused: accelerations": close(x["fused_qdd"], x["qdd_free"]),
        "fused: passive forces": close(x["fused_passive"], x["passive"]),
        "fused: orientation of a frame": close(x["fused_tool"][0], R),
        "fused: position of a frame": close(x["fused_tool"][1], x["tool_p"]),
    }
    assert [name for name, held in holds.items() if not held] == []
