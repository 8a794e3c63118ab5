"""Robots with equal branches: what kernels compute in vectors of branches is what XLA computes."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import zoo
from graftsim import Simulator
from graftsim.engine.rollout import scan_steps
from graftsim.kernels import rows

STEPS = 4


@pytest.fixture
def packed(monkeypatch, tmp_path):
    """Numbers of groups that kernels of this test have been given, none of them from the disk."""
    found = []
    monkeypatch.setenv("GRAFTSIM_KERNEL_CACHE", str(tmp_path))
    pack = rows.pack
    monkeypatch.setattr(rows, "pack", lambda g: (found.append(len(g.groups)), pack(g)))
    return found


def branches(root: str, count: int, types: tuple[str, ...]) -> zoo.Topology:
    """Equal chains of joints of these types on one root, level by level."""
    links = 1 + count * len(types)
    parent = (-1, *(max(0, i - count) for i in range(1, links)))
    joints = (root, *(kind for kind in types for _ in range(count)))
    return zoo.Topology(parent, joints, (False,) * links)


@pytest.mark.slow
@pytest.mark.usefixtures("packed")
@settings(max_examples=3)
@given(
    st.sampled_from(zoo.MOVING), st.integers(2, 5),
    st.lists(st.sampled_from(zoo.MOVING), min_size=1, max_size=2), st.integers(0, 99),
)  # fmt: skip
def test_random_branches(root, count, types, seed):
    """Motions, their tangents, and value and gradient in the initial state."""
    model = zoo.random_model(branches(root, count, tuple(types)), seed, passive=True)
    compare(model, seed)


def test_legs_are_packed(packed):
    """Four legs of two hinges and a free trunk, in float64."""
    model = zoo.random_model(branches("free", 4, ("revolute", "revolute")), 3, passive=True)
    compare(model, 3)
    assert len(packed) == 4 and min(packed) > 300


def compare(model, seed):
    """Kernels beside XLA."""
    simulator = Simulator(model, 0.003)
    q, qd = zoo.random_state(model, seed, 1.0)
    controls = jnp.zeros((STEPS, model.nu))
    start = simulator.initial_state()

    def motion(kernel):
        def f(q, qd):
            state = replace(start, q=q, qd=qd)
            if kernel:
                return simulator.rollout(state, controls, backend="kernel").q
            return scan_steps(simulator, state, controls).q

        return f

    def both(f):
        out = jax.jvp(f, (q, qd), (jnp.ones_like(q), qd))
        return out, jax.value_and_grad(lambda q, qd: jnp.mean(f(q, qd) ** 2), (0, 1))(q, qd)

    q, qd = jnp.asarray(q), jnp.asarray(qd)
    got, wanted = both(motion(True)), zoo.jit(lambda: both(motion(False)))()
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-9 * max(1.0, float(jnp.abs(b).max())))
