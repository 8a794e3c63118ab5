"""Identities of mechanics on random trees of every joint type, at random states."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import zoo

from graftsim import dynamics
from graftsim.engine.integrators import move
from graftsim.model.fuse import fuse

# The tree with each joint type once, and two random ones with several roots or deep branches.
TOPOLOGIES = [zoo.every_type(), zoo.topologies()[4], zoo.topologies()[9]]
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
    moving = np.array([i for i, t in enumerate(tree.types) if t != "fixed"])
    return {
        "tau": tau,
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
        "fused_qdd": dynamics.forward_dynamics(fused, q, qd, tau, f[moving]),
        "unfused_qdd": dynamics.forward_dynamics(
            model, q, qd, tau, jnp.zeros_like(f).at[moving].set(f[moving])
        ),
        "fused_H": dynamics.mass_matrix(fused, q),
        "fused_C": dynamics.bias_forces(fused, q, qd),
        "fused_tool": dynamics.frame_pose(fused, q, "tool"),
        "tool": dynamics.frame_pose(model, q, "tool"),
        "fused_passive": dynamics.passive_forces(fused, q, qd),
        "passive": dynamics.passive_forces(model, q, qd),
    }


@pytest.fixture(scope="module", params=range(len(TOPOLOGIES)))
def found(request):
    """The quantities of ten trees of a topology, batched."""
    top = TOPOLOGIES[request.param]
    models = [zoo.random_model(top, 50 + s) for s in range(SETS)]
    rng = np.random.default_rng(request.param)
    q, qd = (np.stack(x) for x in zip(*(zoo.random_state(m, s) for s, m in enumerate(models))))
    tau = rng.uniform(-5, 5, qd.shape)
    f = rng.uniform(-5, 5, (SETS, len(top.parent), 6))
    return zoo.jit(jax.vmap(quantities))(zoo.stack(models), q, qd, tau, f) | {"qd": qd}


def close(a, b, tolerance=1e-10):
    """Relative to the largest number."""
    a, b = np.asarray(a), np.asarray(b)
    return np.abs(a - b).max() <= tolerance * max(np.abs(b).max(), 1.0)


def test_forward_after_inverse(found):
    """RNEA of the accelerations that ABA finds gives the joint forces back, links pushed included."""
    assert close(found["tau_again"], found["tau"])


def test_equation_of_motion(found):
    """H qdd + C = tau: three algorithms agree."""
    left = np.einsum("sij,sj->si", found["H"], found["qdd_free"]) + found["C"]
    assert close(left, found["tau"])


def test_mass_matrix_is_symmetric_and_positive(found):
    """H equals its transpose and has positive eigenvalues."""
    H = np.asarray(found["H"])
    assert close(H, np.swapaxes(H, 1, 2), 1e-13)
    assert np.linalg.eigvalsh(H).min() > 0


def test_kinetic_energy_is_the_quadratic_form(found):
    """The sum over links equals qd^T H qd / 2."""
    form = np.einsum("si,sij,sj->s", found["qd"], found["H"], found["qd"]) / 2
    assert close(found["kinetic"], form)


def test_power_balance(found):
    """Energy changes at the power of joint forces and of forces on the links."""
    assert close(found["power"], found["power_applied"])


def test_linear_momentum_moves_the_centre_of_mass(found):
    """Linear momentum is total mass times velocity of the centre of mass."""
    assert close(found["momentum"][:, 3:], found["mass"][:, None] * found["com_rate"])


def test_jacobian_is_the_derivative_of_the_pose(found):
    """The velocity of the tool is the rate of its position, and its spin that of its axes."""
    velocity, R = np.asarray(found["tool_velocity"]), np.asarray(found["tool_R"])
    assert close(velocity[:, 3:], found["tool_rate"])
    spin = np.asarray(found["tool_turn"]) @ np.swapaxes(R, 1, 2)
    turned = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], -1)
    assert close(velocity[:, :3], turned)


def test_fused_model_moves_the_same(found):
    """Merging fixed links changes no dynamics, no passive force and no frame."""
    for key in ("H", "C", "passive"):
        assert close(found[f"fused_{key}"], found[key]), key
    assert close(found["fused_qdd"], found["unfused_qdd"])
    for mine, fused in zip(found["tool"], found["fused_tool"], strict=True):
        assert close(fused, mine)
