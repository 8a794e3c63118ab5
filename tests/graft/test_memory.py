"""What grafts remember: once a step, fresh where a state has no memory, in trajectories."""

from functools import lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from grafting import grafted, randomised

import zoo
from graftsim import GRU, MLP, Graft, ImplicitDamping, RungeKutta4, SemiImplicitEuler, Simulator
from graftsim.errors import VariableError
from graftsim.graft import Recurrent
from graftsim.model import State

STEPS = 6
INPUTS = ("joint.q[*]", "joint.qd[*]")
METHODS = {
    "euler": (SemiImplicitEuler(), 1, 2),
    "substeps": (ImplicitDamping(), 3, 1),
    "rk4": (RungeKutta4(), 2, 1),
}


def gru(cell, out, x, h):
    """Cho et al. (2014) as PyTorch and Equinox have it: reset, update, candidate."""
    Wi, Wh = np.asarray(cell.weight_ih), np.asarray(cell.weight_hh)
    n = h.size
    a, b = Wi @ x + np.asarray(cell.bias), Wh @ h
    r, z = (1 / (1 + np.exp(-(a[s] + b[s]))) for s in (slice(n), slice(n, 2 * n)))
    new = np.tanh(a[2 * n :] + r * (b[2 * n :] + np.asarray(cell.bias_n)))
    h = new + z * (h - new)
    return np.asarray(out.weight) @ h + np.asarray(out.bias), h


@lru_cache
def case(method, shared=True):
    """Rods with a GRU on each joint, random weights, and a roll-out."""
    integrator, substeps, rods = METHODS[method]
    plain = Simulator(zoo.chain(rods, damping=0.1), 0.02, integrator=integrator, substeps=substeps)
    graft = Graft("joint.tau_passive[*]", INPUTS, GRU(3), shared=shared, name="memory")
    simulator = grafted(plain, graft, seed=4)
    state = plain.initial_state([0.4, -0.3][:rods], [1.0, -2.0][:rods])
    record = ("graft.memory", "joint.q", "joint.qd")
    return simulator, state, zoo.rollout(simulator, state, jnp.zeros((STEPS, 0)), record)


@pytest.mark.parametrize(("method", "shared"), [*((m, True) for m in METHODS), ("euler", False)])
def test_state_of_a_gru_advances_once_a_step(method, shared):
    """Whatever stages and sub-steps there are, it is driven by the values at the start of dt."""
    simulator, _, found = case(method, shared)
    network = simulator.grafts["memory"].network
    x = np.stack([found.recorded["joint.q"], found.recorded["joint.qd"]], -1)
    _, (memory,) = found.states.memory
    rods = x.shape[1]
    assert memory.shape == (STEPS + 1, rods, 3)
    for row in range(rods):
        own = network if shared else jax.tree.map(lambda w, r=row: w[r], network)
        h = np.zeros(3)
        for t in range(STEPS):
            assert np.allclose(memory[t, row], h, rtol=1e-11, atol=1e-13)
            y, h = gru(own.cell, own.out, x[t, row], h)
            assert np.allclose(found.recorded["graft.memory"][t, row], y, rtol=1e-11, atol=1e-13)


def test_later_stages_see_the_memory_of_the_step():
    """The force of an RK4 stage is the network's with the stage's inputs and the step's memory."""
    simulator, state, found = case("rk4")
    # A network that ignores its inputs makes a force that is constant in all stages of a step.
    network = simulator.grafts["memory"].weights
    blind = eqx.tree_at(lambda n: n.cell.weight_ih, network, 0 * network.cell.weight_ih)
    simulator = eqx.tree_at(lambda s: s.grafts.grafts[0].weights, simulator, blind)
    plain = Simulator(zoo.with_motors(simulator.model), 0.02, integrator=RungeKutta4(), substeps=2)
    a = zoo.rollout(
        simulator, state, jnp.zeros((STEPS, 0)), ("graft.memory", "joint.q", "joint.qd")
    )
    b = zoo.rollout(plain, state, a.recorded["graft.memory"][..., 0], ())
    assert np.allclose(a.q, b.q, rtol=1e-11, atol=1e-13)
    assert not np.allclose(a.q, found.q, rtol=1e-6)


def test_a_state_without_memory_starts_fresh():
    """`initial_state` of the ungrafted simulator will do; a remembered state goes on."""
    simulator, state, found = case("euler")
    fresh = simulator.initial_state(state.q, state.qd)
    assert state.memory == () and len(jax.tree.leaves(fresh.memory)) == 1
    zero = jnp.zeros((STEPS, 0))
    assert np.array_equal(zoo.rollout(simulator, fresh, zero, ()).q, found.q)
    middle = jax.tree.map(lambda x: x[2], found.states)
    on = zoo.rollout(simulator, middle, zero[2:], ())
    assert np.allclose(on.q, found.q[2:], rtol=1e-13, atol=1e-14)
    forgotten = State(q=middle.q, qd=middle.qd, act=middle.act)
    other = zoo.rollout(simulator, forgotten, zero[2:], ())
    assert not np.allclose(other.q, found.q[2:], rtol=1e-9)
    step = zoo.jit(lambda s: simulator.step(s))
    assert np.allclose(step(step(state)).qd, found.qd[2], rtol=1e-13)


def test_trajectories_of_many_starts_stack_memory():
    """vmap over states that have none."""
    simulator, state, found = case("euler")
    q = jnp.stack([state.q, 0.5 * state.q])
    many = zoo.jit(
        jax.vmap(lambda q: simulator.rollout(simulator.initial_state(q, state.qd), steps=STEPS,
                                             backend="xla"))
    )(q)  # fmt: skip
    assert np.allclose(many.q[0], found.q, rtol=1e-12, atol=1e-13)
    _, (memory,) = many.states.memory
    assert memory.shape == (2, STEPS + 1, 2, 3)


class Two(Recurrent):
    """A user's network that remembers two things: a sum, and a number of calls."""

    gain: jax.Array

    def initial(self):
        """Nothing yet."""
        return {"sum": jnp.zeros(2), "calls": jnp.zeros(())}

    def __call__(self, x, memory):
        """Gain times the sum so far."""
        total = memory["sum"] + x
        new = {"sum": total, "calls": memory["calls"] + 1}
        return self.gain * total[:1] * memory["calls"], new


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("rows", ["*", "rod1"])
def test_memory_of_several_arrays(shared, rows):
    """A user's network may remember any pytree."""
    plain = Simulator(zoo.chain(2), 0.01)
    graft = Graft(
        f"joint.tau_passive[{rows}]", INPUTS, Two(jnp.array(0.3)), shared=shared, name="n"
    )
    simulator = grafted(plain, graft)
    state = plain.initial_state([0.4, -0.3])
    record = ("graft.n", "inputs.n")
    found = zoo.rollout(simulator, state, jnp.zeros((STEPS, 0)), record).recorded
    total = np.cumsum(np.asarray(found["inputs.n"]), 0)[..., 0]
    calls = np.arange(STEPS)[:, None]
    assert np.allclose(found["graft.n"][..., 0], 0.3 * total * calls, rtol=1e-12, atol=1e-14)


def test_memory_of_other_grafts_is_refused():
    """A state of a simulator with other grafts is an error that says how to go on."""
    simulator, _, found = case("euler")
    more = grafted(simulator, Graft("joint.qdd[*]", INPUTS, GRU(2), name="second"))
    wider = randomised(
        grafted(Simulator(simulator.model), Graft("joint.qdd[*]", INPUTS, GRU(5))), 1
    )
    plain = grafted(Simulator(simulator.model), Graft("joint.qdd[*]", INPUTS, MLP(5)))
    middle = jax.tree.map(lambda x: x[2], found.states)
    for other in (more, wider, plain):
        with pytest.raises(VariableError, match=r"memory of other grafts.*memory=\(\)"):
            other.step(middle)
        with pytest.raises(VariableError, match=r"memory of other grafts"):
            other.rollout(middle, steps=2)
