"""Gradients of the dynamics in state and forces: at random, at rest, and off the unit sphere."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from differences import column_errors, jacobians
from graftsim import dynamics
from graftsim.dynamics.friction import friction
from graftsim.engine.integrators import move
from graftsim.model import Builder


def test_every_joint_type_at_random_at_rest_and_unnormalised():
    """Jacobians of accelerations and poses equal differences to 1e-6 in both modes (G2, G15).

    One tree with each joint type, springs, damping, friction; at a random state, at q = 0, v = 0
    and with quaternions of length 1.1, where the value is that of the normalised quaternion and the
    gradient is its projection divided by 1.1.
    """
    model = zoo.random_model(zoo.every_type(), 21, passive=True)
    far = jnp.full(model.nv, 50.0)  # limits have a corner at first touch
    model = eqx.tree_at(lambda m: (m.joint.lower, m.joint.upper), model, (-far, far))

    def outcome(x):
        q, qd, tau = x
        tau = tau + dynamics.passive_forces(model, q, qd)
        R, p = dynamics.link_poses(model, q)
        qdd = dynamics.forward_dynamics(model, q, qd, tau)
        return jnp.concatenate([qdd, R.ravel(), p.ravel()])

    program = jacobians(outcome)
    q, qd = map(jnp.asarray, zoo.random_state(model, 22))
    tau = jnp.linspace(-3, 3, model.nv)
    still = jnp.zeros(model.nv)
    quaternion = np.array([".q" in name for name in model.tree.coordinates])
    longer = q * np.where(quaternion, 1.1, 1.0)
    found = {}
    for name, x in {
        "random": (q, qd, tau),
        "rest": (jnp.asarray(model.tree.neutral), still, still),
        "longer": (longer, qd, tau),
    }.items():
        forward, reverse, differences = program(x)
        assert np.all(np.isfinite(forward)), name
        assert column_errors(forward, differences).max() < 1e-6, name
        assert column_errors(reverse, forward).max() < 1e-9, name
        found[name] = forward[:, : model.nq]
    # Homogeneous of degree zero in each quaternion.
    assert np.allclose(
        found["longer"] * np.where(quaternion, 1.1, 1.0), found["random"], rtol=1e-10, atol=1e-10
    )
    for link, kind in enumerate(model.tree.types):
        if kind in ("spherical", "free"):
            rows = model.tree.q_index[link][-4:]
            assert np.abs(found["random"][:, rows] @ q[rows]).max() < 1e-11


M, L, G, K, D = 2.0, 0.4, 9.81, 3.0, 0.7
I = np.array([0.02, 0.03, 0.04])
COULOMB, BREAKAWAY, V0 = 0.5, 0.25, 0.1
SLOPE = (COULOMB + BREAKAWAY) / V0
ABOUT_PIVOT = I + M * L * L * np.array([1, 1, 0])
# Joint type: mass matrix and gravity's stiffness at zero, with the mass L below the joint.
LINEAR = {
    "revolute": (ABOUT_PIVOT[:1], [M * G * L]),
    "prismatic": ([M], [0.0]),
    "planar": ([M, M, I[2]], [0.0, 0.0, 0.0]),
    "spherical": (ABOUT_PIVOT, [M * G * L, M * G * L, 0.0]),
    "free": ([M, M, M, *I], np.zeros(6)),
}


@pytest.mark.parametrize("kind", LINEAR)
def test_linearised_dynamics_at_rest(kind):
    """At q = 0, v = 0 the gradients are those of the linearised equation, written by hand (G2).

    M d'' = -(K_gravity + k) d - (c + friction's slope) v; friction has a finite slope at zero (G3).
    """
    mass, gravity = map(np.asarray, LINEAR[kind])
    hangs = kind in ("revolute", "spherical")
    model = (
        Builder("one")
        .link(
            "a",
            joint=kind,
            axis=(1, 0, 0) if kind in ("revolute", "prismatic") else (0, 0, 1),
            mass=M,
            com=(0, 0, -L if hangs else 0),
            inertia=I,
            stiffness=K,
            damping=D,
            friction=COULOMB,
            stribeck=BREAKAWAY,
            friction_velocity=V0,
            armature=0.1,
        )
        .build()
    )
    neutral = jnp.asarray(model.tree.neutral)

    def acceleration(d, v):
        q = move(model.tree, neutral, d, jnp.ones(()))
        return dynamics.forward_dynamics(model, q, v, dynamics.passive_forces(model, q, v))

    zero = jnp.zeros(model.nv)
    for mode in (jax.jacfwd, jax.jacrev):
        by_d, by_v = zoo.jit(mode(acceleration, argnums=(0, 1)))(zero, zero)
        assert np.allclose(by_d, -np.diag((gravity + K) / (mass + 0.1)), rtol=1e-12, atol=1e-12)
        assert np.allclose(
            by_v, -np.diag((D + SLOPE) / (mass + 0.1)) @ np.eye(model.nv), rtol=1e-12
        )


def test_fixed_joint_at_rest_passes_gradients():
    """A mass on a fixed joint swings with its carrier, and its mass has the gradient of a swing."""
    model = (
        Builder("arm")
        .link("rod", axis=(1, 0, 0), mass=0.0)
        .link("bob", "rod", "fixed", origin=(0, 0, -L), mass=M, inertia=I)
        .build()
    )

    def stiffness(mass):
        heavy = eqx.tree_at(lambda m: m.link.mass, model, jnp.array([0.0, 1.0]) * mass)
        zero = jnp.zeros(1)
        return jax.jacfwd(lambda q: dynamics.forward_dynamics(heavy, q, zero, zero))(zero)[0, 0]

    value, slope = zoo.jit(jax.value_and_grad(stiffness))(M)
    H = I[0] + M * L * L
    assert np.isclose(value, -M * G * L / H, rtol=1e-12)
    assert np.isclose(slope, -G * L * I[0] / H**2, rtol=1e-10)


def test_friction_has_its_slope_at_rest():
    """The derivative of dry friction at v = 0 is -(f_c + f_s)/v_0 in both modes (G3)."""
    joint = (
        Builder("j")
        .link(
            "a", mass=1.0, inertia=1.0, friction=COULOMB, stribeck=BREAKAWAY, friction_velocity=V0
        )
        .build()
        .joint
    )
    for mode in (jax.jacfwd, jax.jacrev):
        assert np.isclose(
            mode(lambda v: friction(joint, v))(jnp.zeros(1))[0, 0], -SLOPE, rtol=1e-14
        )
