"""Named variables: free when unused, each in its place, recorded as they are, errors that help.

The tests of the scope mechanism that need no network; the others are with the grafts.
"""

from functools import lru_cache

import by_hand
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from graftsim.dynamics.mechanism import prepare
from graftsim.engine import ImplicitDamping, RungeKutta4, SemiImplicitEuler, Simulator
from graftsim.engine.rollout import scan_steps
from graftsim.engine.step import advance
from graftsim.errors import VariableError
from graftsim.model.fuse import fuse
from graftsim.taps import OFF, Scope

DT = 0.01
INTEGRATORS = [SemiImplicitEuler(), ImplicitDamping(), RungeKutta4()]
# Computed for those who look: the dynamics has no use for them.
OFFERED = {"link.position", "link.rotation", "link.acceleration", "link.com_velocity"}


def without_dead_code(closed):
    """The program as text, without operations whose results nobody uses."""
    needed, kept = set(), []

    def use(variables):
        needed.update(v for v in variables if not hasattr(v, "val"))

    use(closed.jaxpr.outvars)
    for eqn in reversed(closed.jaxpr.eqns):
        if eqn.effects or needed.intersection(eqn.outvars):
            kept.append(eqn)
            use(eqn.invars)
    constants = [v for v in closed.jaxpr.constvars if v in needed]
    return str(closed.jaxpr.replace(eqns=kept[::-1], constvars=constants))


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: type(i).__name__)
def test_unused_scope_leaves_the_program_unchanged(integrator):
    """OFF, and an empty scope but for what it offers unread, give the same jaxpr of a step."""
    model, state, u = zoo.everything()
    simulator = Simulator(model, DT, integrator=integrator)

    def step(simulator, state, u, scope):
        return advance(simulator, prepare(fuse(simulator.model)), state, u, scope())

    def program(scope):
        return jax.make_jaxpr(lambda s, x, c: step(s, x, c, scope))(simulator, state, u)

    off = program(lambda: OFF)
    assert without_dead_code(off) == without_dead_code(program(Scope))
    # Nor does OFF itself leave dead code beyond what the algorithm has.
    public = jax.make_jaxpr(lambda s, x, c: s.step(x, c))(simulator, state, u)
    assert str(off) == str(public)


def test_empty_augmentations_leave_the_rollout_unchanged():
    """No augmentation, and a dictionary without any, give the same jaxpr of a roll-out."""
    model, state, u = zoo.everything()
    simulator = Simulator(model, DT)
    programs = {
        str(
            jax.make_jaxpr(lambda s, x, c, a=a: scan_steps(s, x, c, (), a))(
                simulator, state, u[None]
            )
        )
        for a in (None, {})
    }
    assert len(programs) == 1


@lru_cache
def case():
    """The mechanism without fixed joints, its state, commands, and constants to add by name."""
    model, state, u = zoo.everything()
    model = fuse(model)
    shapes = {name: shape for name, (shape, _, _) in Simulator(model, DT).variables().items()}
    rng = np.random.default_rng(0)
    constants = {name: rng.uniform(0.05, 0.15, shape) for name, shape in shapes.items()}
    return model, state, u, constants


@zoo.jit
def engine(model, state, u, add):
    """Three steps with `add` added by augmentations; everything recorded."""
    augmentations = {name: lambda x, scope, c=c: x + c for name, c in add.items()}
    controls = jnp.stack([u, 0.5 * u, -u])
    return scan_steps(Simulator(model, DT), state, controls, tuple(zoo.VARIABLES), augmentations)


def at(trajectory, t):
    """State number t of a trajectory."""
    return jax.tree.map(lambda x: x[t], trajectory.states)


@pytest.mark.parametrize("name", zoo.VARIABLES)
def test_adding_a_constant(name):
    """A constant added to a variable does what it does in the step written by hand."""
    model, state, u, constants = case()
    zero = {k: np.zeros_like(c) for k, c in constants.items()}
    plain = engine(model, state, u, zero)
    changed = engine(model, state, u, zero | {name: constants[name]})
    value, q, qd, act = by_hand.step(model, state, u, DT, {name: constants[name]})
    end = at(changed, 1)
    for mine, hand in ((end.q, q), (end.qd, qd), (end.act, act)):
        assert np.allclose(mine, hand, rtol=1e-9, atol=1e-10)
    assert np.allclose(changed.recorded[name][0], value[name], rtol=1e-9, atol=1e-9)
    assert np.allclose(changed.recorded[name][0], plain.recorded[name][0] + constants[name])
    differences = jax.tree.map(lambda a, b: np.abs(a - b).max(), at(changed, 1), at(plain, 1))
    assert (max(jax.tree.leaves(differences)) > 1e-6) == (name not in OFFERED)


def test_recording_equals_the_value():
    """Every name, recorded over three steps, equals the value computed by hand at those states."""
    model, state, u, constants = case()
    trajectory = engine(model, state, u, {k: np.zeros_like(c) for k, c in constants.items()})
    for t, factor in enumerate((1.0, 0.5, -1.0)):
        value, *_ = by_hand.step(model, at(trajectory, t), factor * u, DT, {})
        assert set(value) == set(zoo.VARIABLES)
        for name, hand in value.items():
            mine = np.asarray(trajectory.recorded[name][t])
            scale = max(np.abs(hand).max(), 1.0)
            assert np.abs(mine - hand).max() < 1e-10 * scale, name


def test_recording_selects_rows():
    """Rows are chosen by label, in the array's order, and equal those of the whole array."""
    model = zoo.chain(3, damping=0.2)
    simulator = Simulator(model, DT)
    state = simulator.initial_state(qd=[1.0, 2.0, 3.0])
    record = ("joint.tau_damping", "joint.tau_damping[rod2,rod0]", "link.velocity[rod1]")
    found = simulator.rollout(state, steps=4, record=record).recorded
    assert np.array_equal(found[record[1]], found[record[0]][:, [0, 2]])
    assert found[record[2]].shape == (4, 1, 6)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: type(i).__name__)
@pytest.mark.parametrize("substeps", [1, 3])
def test_augmentation_acts_in_every_stage_and_substep(integrator, substeps):
    """A torque added to a named variable moves the machine as the same torque of a motor does."""
    model = zoo.with_motors(zoo.double_pendulum(damping=0.1))
    simulator = Simulator(model, 0.02, integrator=integrator, substeps=substeps)
    state, torque = simulator.initial_state(q=[0.3, -0.2]), jnp.array([0.7, -0.4])
    controls = jnp.tile(torque, (10, 1))
    added = {"joint.tau_actuator": lambda tau, scope: tau + torque}
    driven = zoo.rollout(simulator, state, controls, ())
    grafted = zoo.jit(lambda s: scan_steps(simulator, s, 0 * controls, (), added))(state)
    assert np.allclose(driven.q, grafted.q, rtol=1e-12, atol=1e-13)


def test_every_name_is_tapped_and_described():
    """A simulator names exactly the catalogue, each with unit, meaning and a label a row."""
    model, *_ = zoo.everything()
    for simulator in (Simulator(model), Simulator(zoo.double_pendulum())):
        variables = simulator.variables()
        assert set(variables) == set(zoo.VARIABLES)
        for name, (shape, variable, labels) in variables.items():
            assert variable.unit and variable.meaning, name
            assert shape[0] == len(labels), name


def test_augmentation_reads_earlier_names():
    """A replacement computed from other variables of the same step reaches the dynamics."""
    model = zoo.double_pendulum(damping=0.4)
    law = {"joint.tau_passive": lambda tau, scope: -0.4 * scope["state.qd"] * jnp.ones(2)}
    simulator = Simulator(model, DT)
    state = simulator.initial_state(q=[0.5, 0.1], qd=[1.0, -1.0])
    plain = zoo.rollout(simulator, state, jnp.zeros((20, 0)), ())
    replaced = zoo.jit(lambda s: scan_steps(simulator, s, jnp.zeros((20, 0)), (), law))(state)
    assert np.allclose(plain.q, replaced.q, rtol=1e-13)


def test_unknown_name_is_refused_with_the_nearest():
    """A misspelt variable is refused at once, wherever it is given."""
    with pytest.raises(VariableError, match=r"'joint.tau_pasive'.*Nearest: joint.tau_passive"):
        Scope({"joint.tau_pasive": lambda x, scope: x})
    simulator = Simulator(zoo.double_pendulum())
    with pytest.raises(VariableError, match=r"'link.velocty'.*link.velocity"):
        simulator.rollout(simulator.initial_state(), steps=1, record=("link.velocty",))
    with pytest.raises(VariableError, match=r"'joint.tau\[rod7\]' selects no row.*rod"):
        simulator.rollout(simulator.initial_state(), steps=1, record=("joint.tau[rod7]",))
    with pytest.raises(VariableError, match="of the form family"):
        simulator.rollout(simulator.initial_state(), steps=1, record=("tau",))
    with pytest.raises(VariableError, match=r"no variable named 'state\.x'"):
        Scope().tap("state.x", 0.0)


def test_late_input_is_refused_with_what_there_is():
    """An input computed after its target is an error, before any run, that lists what there is."""
    law = {"joint.tau_passive": lambda tau, scope: tau + scope["joint.qdd"]}
    simulator = Simulator(zoo.double_pendulum())
    message = r"'joint.qdd' is not computed yet.*state.q, state.qd.*joint.tau_limit"
    with pytest.raises(VariableError, match=message):
        jax.eval_shape(
            lambda s: scan_steps(simulator, s, jnp.zeros((1, 0)), (), law),
            simulator.initial_state(),
        )


def test_child_scope_reads_outwards_only():
    """A loop body sees what was named outside; what it names stays inside; a name arises once."""
    scope = Scope()
    scope.tap("state.q", 1.0)
    child = scope.child()
    child.tap("state.qd", 2.0)
    assert child["state.q"] == 1.0
    assert child.names() == ["state.q", "state.qd"]
    assert scope.names() == ["state.q"]
    with pytest.raises(VariableError, match="not computed yet"):
        scope["state.qd"]
    with pytest.raises(VariableError, match="named twice"):
        scope.tap("state.q", 3.0)
    assert scope.again().names() == []
