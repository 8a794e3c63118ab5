"""Every physical number of a model is a leaf with the right gradient (conformance G13, G14).

One mechanism in which everything matters: each joint type on tilted attachments, springs, friction,
limits that are touched, actuators of all kinds with lags, saturated and not. Its state after four
steps inside a scan, and the pose of a tool, are differentiated in every number of the model, in
both modes, and compared with fourth-order differences.
"""

from functools import lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import zoo
from differences import column_errors, jacobians
from graftsim import dynamics
from graftsim.engine import Simulator
from graftsim.model.catalogue import PARAMETERS, leaf, with_leaf

# Shapes act through contact alone, loops hold what would be free, and sites are pushed in
# tests/dynamics/test_cords.py: tested there.
PARTS = ("geom.", "pair.", "loop.", "coupling.", "actuator.site_")
ELSEWHERE = {n for n in PARAMETERS if n.startswith(PARTS)}


@lru_cache
def found():
    """Forward, reverse and difference Jacobians in all leaves, and the model."""
    model, state, u = zoo.everything()

    def outcome(model):
        simulator = Simulator(model, 0.01)
        end = jax.lax.scan(lambda s, _: (simulator.step(s, u), None), state, None, length=4)[0]
        R, p = dynamics.frame_pose(model, end.q, "tool")
        return jnp.concatenate([end.q, end.qd, end.act, R.ravel(), p])

    return model, *jacobians(outcome)(model)


def columns(model, name):
    """Columns of the Jacobian that belong to a parameter, in the shape of its leaf."""
    flat, _ = ravel_pytree(jax.tree.map(jnp.zeros_like, model))
    size = jnp.size(leaf(model, name))
    marks = with_leaf(
        jax.tree.map(jnp.zeros_like, model),
        name,
        jnp.arange(1, size + 1, dtype=flat.dtype).reshape(leaf(model, name).shape),
    )
    marked = np.asarray(ravel_pytree(marks)[0])
    return np.argsort(np.where(marked == 0, np.inf, marked), kind="stable")[:size]


def matters(model, name):
    """Which entries of a leaf must have an effect: all, unless physics says otherwise."""
    expected = np.ones(leaf(model, name).shape, bool)
    even = np.arange(model.nv) % 2 == 0
    names, kinds = np.array(model.actuator.names), np.array(model.actuator.kinds)
    # Plain servos come first; number i modulo 5 says what of them is at its limit.
    n, plain = np.arange(len(names)), np.arange(len(names)) < model.nv
    unsaturated = np.where(plain, ~np.isin(n % 5, (2, 3)), ~np.isin(names, ("weak", "full")))
    voltage = np.isin(kinds, ("voltage", "voltage_servo"))
    servo = np.isin(kinds, ("position", "pid", "voltage_servo"))
    wound = names == "wound"
    axial = np.isin(model.tree.types, ("revolute", "prismatic", "planar"))
    special = {
        "link.com": np.repeat(np.asarray(model.link.mass > 0)[:, None], 3, 1),
        "joint.axis": np.repeat(axial[:, None], 3, 1),
        "joint.lower": even,
        "joint.upper": ~even,
        "tendon.lower": np.array([False, True]),
        "tendon.upper": np.array([True, False]),
        "actuator.gain": (kinds == "torque") & unsaturated,
        # That of "fed" is an input.
        "actuator.kp": servo & unsaturated & (names != "fed"),
        "actuator.kd": (servo | (kinds == "velocity")) & unsaturated,
        "actuator.ki": kinds == "pid",
        "actuator.integral_limit": wound,
        # Plain servos have no zero of their own, but it is a number of theirs.
        "actuator.zero": servo & unsaturated,
        "actuator.motor_constant": voltage & (names != "weak"),
        "actuator.resistance": voltage & (names != "weak"),
        "actuator.supply": kinds == "voltage_servo",
        "actuator.duty_limit": names == "full",
        "actuator.stall_force": names == "weak",
        "actuator.no_load_speed": names == "weak",
        # Nothing is delayed here: tests/dynamics/test_delay.py.
        "actuator.delay": np.zeros(len(names), bool),
        "actuator.control_lower": plain & (n % 5 == 1),
        "actuator.control_upper": plain & (n % 5 == 0),
        "actuator.force_upper": plain & (n % 5 == 2),
        "actuator.force_lower": plain & (n % 5 == 3),
        "actuator.time_constant": np.array(model.actuator.lagged),
    }
    return special.get(name, expected)


@pytest.mark.long
@pytest.mark.parametrize("name", [n for n in PARAMETERS if n not in ELSEWHERE])
def test_gradient_of(name):
    """Both modes equal differences to 1e-6, and are zero only where physics says so."""
    model, forward, reverse, differences = found()
    index = columns(model, name)
    J = differences[:, index]
    assert np.all(np.isfinite(forward[:, index]))
    assert column_errors(forward[:, index], J).max() < 1e-6
    assert column_errors(reverse[:, index], J).max() < 1e-6
    effect = np.abs(forward[:, index]).max(0) > 1e-9
    if name == "joint.load_quadratic":
        # Only where motor and load oppose each other; test_load_friction_by_hand says where.
        assert 0 < effect.sum() < len(effect)
        return
    assert effect.tolist() == matters(model, name).ravel().tolist()


def test_catalogue_lists_exactly_the_leaves():
    """Each leaf of a model has a row in the table, apart from the vertices of meshes."""
    model = zoo.quadruped()
    names = set()
    for family in (
        "link",
        "joint",
        "tendon",
        "loop",
        "coupling",
        "actuator",
        "geom",
        "pair",
        "frame",
        "medium",
        "world",
    ):
        part = getattr(model, family)
        fields = type(part).__dataclass_fields__
        names |= {f"{family}.{k}" for k, f in fields.items() if not f.metadata.get("static")}
    assert names - {"geom.vertices", "actuator.own"} == set(PARAMETERS)
    for name in PARAMETERS:
        assert eqx.is_array(leaf(model, name))


def test_gradients_are_finite_without_limits():
    """Infinite limits of travel, control and force leave no NaN in any gradient."""
    model = zoo.quadruped()

    def loss(model):
        simulator = Simulator(model, 0.002)
        return jnp.sum(simulator.step(simulator.initial_state(), jnp.ones(model.nu)).q ** 2)

    gradient = zoo.jit(jax.grad(loss))(model)
    assert all(bool(jnp.all(jnp.isfinite(x))) for x in jax.tree.leaves(gradient))
