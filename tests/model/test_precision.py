"""Float types: chosen when a model is built, kept through every step."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from graftsim.engine import ImplicitDamping, RungeKutta4, SemiImplicitEuler, Simulator
from graftsim.errors import PrecisionError
from graftsim.model import Builder


def as_float32(model):
    """The model with float32 leaves."""
    return jax.tree.map(lambda x: x.astype(jnp.float32), model)


def check(tree):
    """Every leaf is float32."""
    assert {str(x.dtype) for x in jax.tree.leaves(tree)} == {"float32"}


@pytest.mark.parametrize(
    "integrator",
    [SemiImplicitEuler(), ImplicitDamping(), RungeKutta4()],
    ids=lambda i: type(i).__name__,
)
def test_float32_is_kept(integrator):
    """With x64 on, a float32 model stays float32 through a step of each integrator."""
    model, state, u = as_float32(zoo.everything())
    simulator = Simulator(model, 0.01, integrator=integrator)
    check(simulator)
    check(simulator.initial_state())
    check(jax.eval_shape(lambda s, x: s.step(x, u), simulator, state))


def test_float32_rollout_and_gradient():
    """So do the roll-out with sub-steps, every recorded variable, time, and the gradient."""
    model, state, u = as_float32(zoo.everything())
    simulator = Simulator(model, 0.01, substeps=2)

    def rollout(s, x):
        return s.rollout(x, jnp.stack([u, u]), record=tuple(zoo.VARIABLES))

    check(jax.eval_shape(rollout, simulator, state))
    check(jax.eval_shape(jax.grad(lambda s: jnp.sum(s.step(state, u).q)), simulator))


def test_builder_makes_float32():
    """build(dtype=float32) gives float32 leaves, and a trajectory near the float64 one."""
    builder = Builder("m").link("a", axis=(1, 0, 0), mass=1.0, com=(0, 0, -0.5), inertia=0.01)
    ends = []
    for dtype in (np.float32, np.float64):
        simulator = Simulator(builder.build(dtype), 0.01)
        trajectory = simulator.rollout(simulator.initial_state(q=[1.0]), steps=100)
        assert trajectory.q.dtype == dtype
        ends.append(float(trajectory.q[-1, 0]))
    assert np.isclose(*ends, atol=1e-4)
    assert ends[0] != ends[1]


def test_integer_type_is_refused():
    """Only float types can hold a model."""
    with pytest.raises(PrecisionError, match="must be a float type, got int32"):
        Builder().link("a", mass=1.0, inertia=1.0).build(np.int32)


def test_float64_without_x64_is_refused():
    """Where JAX has float64 switched off, asking for it is an error that says how to have it."""
    code = """
import graftsim
builder = graftsim.Builder().link("a", mass=1.0, inertia=1.0)
assert builder.build().link.mass.dtype == "float32"
try:
    builder.build("float64")
except graftsim.PrecisionError as error:
    print(error)
"""
    environment = os.environ | {"JAX_ENABLE_X64": "0"}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120
    )
    assert "jax.config.update('jax_enable_x64', True)" in run.stdout, run.stderr
