"""Forces between links: momentum is kept, and the scene can be turned."""

from functools import lru_cache

import jax.numpy as jnp
import numpy as np
import pytest
from grafting import grafted, with_scales

import zoo
from graftsim import MLP, ActionReaction, Feature, Graft, Odd, Simulator, dynamics
from graftsim.model import Builder
from graftsim.spatial import rotation

PAIRS = (("a", "b"), ("b", "c"))
STEPS = 10


def relative(p, R):
    """Position and orientation of the second link of a pair as the first sees them."""
    Ra, Rb = R[:9].reshape(3, 3), R[9:].reshape(3, 3)
    return jnp.concatenate([Ra.T @ (p[3:] - p[:3]), (Ra.T @ Rb)[0]])


INPUTS = ("link.velocity[*]", Feature(relative, ("link.position[*]", "link.rotation[*]")))


def bodies():
    """Three free bodies without gravity, their masses beside the origins; a finger on one."""
    builder = Builder("bodies", gravity=(0, 0, 0))
    rng = np.random.default_rng(4)
    for name in "abc":
        builder.link(
            name, joint="free", mass=rng.uniform(1, 2), com=rng.uniform(-0.1, 0.1, 3),
            inertia=rng.uniform(0.3, 0.5, 3),
        )  # fmt: skip
    builder.link("finger", "a", "revolute", origin=(0.1, 0.2, 0), axis=(1, 2, 0), mass=0.3,
                 com=(0, 0.2, 0), inertia=0.1)  # fmt: skip
    return builder.build()


@lru_cache
def case(dt):
    """They push each other by networks of velocities and relative poses, scales unequal."""
    plain = Simulator(bodies(), dt)
    pair = Graft("link.force", INPUTS, MLP(6), structure=ActionReaction(PAIRS), name="between")
    own = Graft("link.force", "link.velocity[*]", MLP(3), shared=False, name="finger",
                structure=(Odd(), ActionReaction((("finger", "b"),))))  # fmt: skip
    simulator = grafted(plain, pair, own, seed=5, size=0.7)
    return with_scales(with_scales(simulator, "between", 6), "finger", 7)


def start(simulator, R=None):
    """A moving state, turned as a whole by a rotation matrix with its quaternion."""
    q, qd = zoo.random_state(simulator.model, 8, speed=1.0)
    if R is not None:
        quaternion, R = R
        for i in (0, 1, 2):
            q[7 * i : 7 * i + 3] = R @ q[7 * i : 7 * i + 3]
            turned = rotation.multiply(quaternion, jnp.asarray(q[7 * i + 3 : 7 * i + 7]))
            q[7 * i + 3 : 7 * i + 7] = turned
            qd[6 * i : 6 * i + 3] = R @ qd[6 * i : 6 * i + 3]
    return simulator.initial_state(q, qd)


RECORD = ("link.force", "link.position", "link.rotation", "graft.between")


def test_wrenches_on_all_links_add_up_to_nothing():
    """Their sum about the world's origin is zero to rounding, in every step."""
    simulator = case(0.02)
    found = zoo.rollout(simulator, start(simulator), jnp.zeros((STEPS, 0)), RECORD).recorded
    force, p, R = (np.asarray(found[n]) for n in RECORD[:3])
    n, f = (np.einsum("tlij,tlj->tli", R, half) for half in (force[..., :3], force[..., 3:]))
    about = n + np.cross(p, f)
    assert np.abs(f).max() > 0.1
    assert np.abs(f.sum(1)).max() < 1e-13 * np.abs(f).max()
    assert np.abs(about.sum(1)).max() < 1e-12 * np.abs(about).max()


def test_output_is_the_wrench_on_the_first_link_about_the_midpoint():
    """In its axes; link c feels the opposite of what the pair (b, c) gives, and nothing else."""
    simulator = case(0.02)
    found = zoo.rollout(simulator, start(simulator), jnp.zeros((STEPS, 0)), RECORD).recorded
    force, p, R, y = (np.asarray(found[n][0]) for n in RECORD)
    b, c = 1, 2
    wrench, arm = y[1], (p[b] - p[c]) / 2
    f = -R[b] @ wrench[3:]
    n = -R[b] @ wrench[:3] + np.cross(arm, f)
    assert np.allclose(R[c] @ force[c, 3:], f, rtol=1e-12, atol=1e-13)
    assert np.allclose(R[c] @ force[c, :3], n, rtol=1e-12, atol=1e-13)


momentum = zoo.jit(dynamics.momentum)


def test_momentum_is_kept():
    """Linear and angular: a step of first order errs with the square of its length."""
    errors = []
    for dt in (0.002, 0.001):
        simulator = case(dt)
        run = zoo.rollout(simulator, start(simulator), jnp.zeros((STEPS, 0)), RECORD)
        first, last = (momentum(simulator.model, run.q[t], run.qd[t]) for t in (0, -1))
        errors.append(np.abs(np.asarray(last - first)).max())
        assert np.abs(run.qd[-1, :3] - run.qd[0, :3]).max() > 0.01
    assert errors[0] < 1e-3
    assert errors[1] < errors[0] / (2**2 / 1.2)


@pytest.mark.parametrize("seed", [1, 2])
def test_turning_the_whole_scene_turns_the_motion(seed):
    """Inputs that the pair itself sees know no direction in space."""
    simulator = case(0.02)
    quaternion = jnp.asarray(zoo.random_quaternion(np.random.default_rng(seed)))
    R = np.asarray(rotation.matrix(quaternion))
    plain, turned = (
        zoo.rollout(simulator, start(simulator, r), jnp.zeros((STEPS, 0)), RECORD)
        for r in (None, (quaternion, R))
    )
    for name in ("graft.between", "link.force"):
        assert np.allclose(plain.recorded[name], turned.recorded[name], rtol=1e-9, atol=1e-10)
    position = np.asarray(plain.recorded["link.position"]) @ R.T
    assert np.allclose(position, turned.recorded["link.position"], rtol=1e-9, atol=1e-10)
