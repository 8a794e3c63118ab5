"""Roll-outs on kernels equal those on XLA: values and gradients, for all that the engine does."""

import warnings
from collections import OrderedDict

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from graftsim import GraftsimWarning, ImplicitDamping, RungeKutta4, SemiImplicitEuler, Simulator
from graftsim.engine import backend
from graftsim.engine.rollout import scan_steps
from graftsim.errors import KernelError, ModelError
from graftsim.kernels import function

STEPS = 30


def close(a, b, rtol):
    """Every pair of leaves agrees to rtol of the larger one's size."""
    for (path, x), y in zip(
        jax.tree_util.tree_flatten_with_path(a)[0], jax.tree.leaves(b), strict=True
    ):
        x, y = np.asarray(x), np.asarray(y)
        size = np.abs(y).max(initial=1e-3)
        np.testing.assert_allclose(
            x, y, rtol=0, atol=rtol * size, err_msg=jax.tree_util.keystr(path)
        )


def moving(model, seed=5):
    q, qd = zoo.random_state(model, seed)
    return Simulator(model, 1e-3).initial_state(q, qd)


@pytest.mark.parametrize("topology", zoo.topologies(2), ids=str)
@pytest.mark.parametrize("integrator", [SemiImplicitEuler(), ImplicitDamping(), RungeKutta4()])
def test_random_trees(topology, integrator):
    """All joint types, with springs, damping, friction and limits, and every recorded variable."""
    model = zoo.random_model(topology, 2, passive=True)
    simulator = Simulator(model, 1e-3, integrator=integrator)
    state = moving(model)
    record = ("joint.tau", "link.velocity", "link.position")
    run = {b: simulator.rollout(state, steps=STEPS, record=record, backend=b) for b in
           ("kernel", "xla")}  # fmt: skip
    # Rounding grows with time along a trajectory of a chaotic mechanism.
    close(run["kernel"], run["xla"], 1e-11)


def test_everything_with_controls_and_substeps():
    """Actuators with lag and limits, sub-steps, and controls that differ from step to step."""
    model, state, u = zoo.everything()
    simulator = Simulator(model, 2e-3, substeps=3)
    controls = u * jnp.linspace(-1, 1, STEPS)[:, None]
    kernel, xla = (
        simulator.rollout(state, controls, backend=b, record=("joint.tau_actuator",))
        for b in ("kernel", "xla")
    )
    close(kernel, xla, 1e-11)


def test_single_steps_agree_to_rounding():
    """One step, where nothing has time to grow."""
    model, state, u = zoo.everything()
    simulator = Simulator(model, 2e-3)
    kernel, xla = (simulator.rollout(state, u[None], backend=b) for b in ("kernel", "xla"))
    close(kernel, xla, 1e-12)


def test_gradient_of_five_hundred_steps():
    """Reverse mode with respect to every number of a double pendulum and its start."""
    model = zoo.double_pendulum(damping=0.1)
    state = Simulator(model).initial_state([0.9, -0.4], [0.1, 0.3])

    def loss(simulator, state, backend):
        q = simulator.rollout(state, steps=500, backend=backend).q
        return jnp.sum(q[-1] ** 2) + jnp.mean(q**2)

    grads = [
        jax.grad(loss, argnums=(0, 1))(Simulator(model, 2e-3), state, b) for b in ("kernel", "xla")
    ]
    close(*grads, 1e-10)


def test_gradient_of_a_quadruped():
    """Reverse mode through a free base and twelve joints."""
    model = zoo.quadruped()
    simulator, state = Simulator(model, 2e-3), moving(model)

    def loss(state, backend):
        return jnp.sum(simulator.rollout(state, steps=20, backend=backend).q[-1] ** 2)

    close(*(jax.grad(loss)(state, b) for b in ("kernel", "xla")), 1e-10)


def test_forward_mode():
    """The Jacobian by tangents in lanes."""
    simulator = Simulator(zoo.double_pendulum(), 2e-3)

    def final(q, backend):
        state = simulator.initial_state()
        state = type(state)(q=q, qd=state.qd, act=state.act)
        return simulator.rollout(state, steps=50, backend=backend).q[-1]

    q = jnp.array([0.3, 0.8])
    close(*(jax.jacfwd(final)(q, b) for b in ("kernel", "xla")), 1e-11)


def test_lanes_are_simulations():
    """vmap over states, and over a parameter, inside jit, equals one after the other."""
    model = zoo.double_pendulum(damping=0.05)
    simulator = Simulator(model, 2e-3)
    start = jnp.linspace(-2, 2, 2 * 21).reshape(21, 2)

    @jax.jit
    def final(q, gain):
        state = simulator.initial_state()
        state = type(state)(q=q, qd=state.qd, act=state.act)
        damped = Simulator(with_damping(model, gain), 2e-3)
        return damped.rollout(state, steps=40, backend="kernel").q[-1]

    gains = jnp.linspace(0.5, 2, 21)
    together = jax.vmap(final)(start, gains)
    for k in (0, 7, 20):
        close(together[k], final(start[k], gains[k]), 1e-12)


def with_damping(model, gain):
    """The model with all its dampings multiplied."""
    return eqx.tree_at(lambda m: m.joint.damping, model, model.joint.damping * gain)


def test_equal_patterns_share_a_kernel(monkeypatch):
    """A new damping is a new number, not a new kernel."""
    state = Simulator(zoo.double_pendulum()).initial_state([0.1, 0.2])
    monkeypatch.setattr(backend, "_KERNELS", OrderedDict())
    for damping in (1.3, 1.4, 1.5):
        Simulator(zoo.chain(2, damping=damping), 3e-3).rollout(state, steps=11, backend="kernel")
    assert len(backend._KERNELS) == 1


def test_a_simulator_that_is_an_argument():
    """Nothing is known of its numbers, and the result is the same."""
    simulator = Simulator(zoo.chain(3), 2e-3)
    state = simulator.initial_state([0.1, 0.2, 0.3])
    run = jax.jit(lambda s: s.rollout(state, steps=STEPS, backend="kernel").q)
    close(run(simulator), simulator.rollout(state, steps=STEPS, backend="xla").q, 1e-12)


def test_a_mechanism_without_joints():
    """No coordinates, no elements: the time passes."""
    simulator = Simulator(zoo.pendulum(), 2e-3)
    assert simulator.rollout(simulator.initial_state(), steps=1).q.shape == (2, 1)


def test_float32_runs_in_float32():
    """The kernel computes in the model's precision."""
    simulator = jax.tree.map(
        lambda x: x.astype(jnp.float32) if jnp.issubdtype(x.dtype, jnp.floating) else x,
        Simulator(zoo.double_pendulum(), 2e-3),
    )
    state = simulator.initial_state([0.3, 0.4])
    run = simulator.rollout(state, steps=STEPS, backend="kernel")
    assert run.q.dtype == jnp.float32
    close(run.q, simulator.rollout(state, steps=STEPS, backend="xla").q, 1e-5)


def test_unknown_backend():
    """A wrong word is refused with the right ones."""
    simulator = Simulator(zoo.pendulum())
    with pytest.raises(ModelError, match="kernel"):
        simulator.rollout(simulator.initial_state(), steps=2, backend="gpu")  # type: ignore


def test_auto_falls_back_and_says_so(monkeypatch):
    """What kernels do not know runs on XLA, with one clear message; "kernel" raises."""
    simulator = Simulator(zoo.pendulum(), 2e-3)
    state = simulator.initial_state([0.3])

    def refuse(*_, **__):
        raise KernelError("Kernels do not know the primitive 'sort' (somewhere.py:1).")

    monkeypatch.setattr("graftsim.engine.rollout.steps_on_kernels", refuse)
    with pytest.warns(GraftsimWarning, match="sort"):
        run = simulator.rollout(state, steps=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        close(run, simulator.rollout(state, steps=5, backend="xla"), 0)
    with pytest.raises(KernelError):
        simulator.rollout(state, steps=5, backend="kernel")


def test_checkpointed_scan_is_the_same_program():
    """Keeping the states alone changes no value."""
    simulator = Simulator(zoo.chain(2), 2e-3)
    state = simulator.initial_state([0.1, 0.2])
    u = jnp.zeros((STEPS, 0))
    a, b = (scan_steps(simulator, state, u, checkpoint=c) for c in (False, True))
    close(a, b, 0)


def light():
    """A double pendulum with motors."""
    model = zoo.with_motors(zoo.double_pendulum(damping=0.1))
    state = Simulator(model, 2e-3).initial_state([0.4, -0.7], [1.0, 0.5])
    return model, state, jnp.linspace(-0.3, 0.4, model.nu)


@pytest.mark.parametrize("machine", [light, pytest.param(zoo.everything, marks=pytest.mark.slow)])
def test_another_length_makes_no_new_kernel(machine, monkeypatch):
    """Roll-outs and gradients of any number of steps share machine code, and equal XLA's."""
    model, state, u = machine()
    simulator = Simulator(model, 2e-3, substeps=2)
    made, build = [], function.build

    def count(*args):
        made.append(args)
        return build(*args)

    monkeypatch.setattr(function, "build", count)

    def final(state, controls, backend):
        run = simulator.rollout(state, controls, backend=backend, record=("joint.tau",))
        return jnp.sum(run.q[-1]) + jnp.sum(run.recorded["joint.tau"])

    known = 0
    for steps in (2, 3, 40, 70):
        controls = u * jnp.linspace(-1, 1, steps)[:, None]
        found = [
            (
                simulator.rollout(state, controls, backend=b, record=("joint.tau",)),
                jax.grad(final, 1)(state, controls, b),
            )
            for b in ("kernel", "xla")
        ]
        close(*found, 1e-9)
        known = known or len(made)
        assert len(made) == known > 0
