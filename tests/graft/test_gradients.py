"""Gradients of weights through time, programs that new weights do not make anew, populations."""

from functools import lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from grafting import grafted, randomised, with_scales, with_weights

import zoo
from differences import column_errors, jacobians
from graftsim import (
    GRU,
    MLP,
    Conservative,
    Dissipative,
    Graft,
    Library,
    Odd,
    Simulator,
    ZeroAtRest,
)
from graftsim.engine.rollout import scan_steps

Q, V = "joint.q[*]", "joint.qd[*]"
GRAFTS = {
    "perceptron": Graft("joint.tau_passive[*]", (Q, V), MLP(2, activation="elu")),
    "per row": Graft("actuator.force[*]", ("control.u[*]", "joint.qdd[*]@prev"), MLP(1),
                     shared=False),
    "recurrent": Graft("joint.tau[*]", (Q, V), GRU(2)),
    "library": Graft("joint.tau_damping[*]", V, Library("linear", "quadratic", "sine"),
                     mode="scale"),
    "dissipative": Graft("joint.tau", ("joint.q", "joint.qd"), MLP(2),
                         structure=Dissipative("joint.qd")),
    "conservative": Graft("joint.tau_spring", "joint.q", MLP(2, activation="silu"),
                          structure=(Conservative("joint.q"), Odd())),
    "spatial": Graft("link.force[rod1]", ("link.velocity[*]", Q), MLP(1), mode="replace",
                     structure=ZeroAtRest("link.velocity[*]")),
}  # fmt: skip


@lru_cache
def case(*names, rods=2):
    """Driven rods with grafts of random weights and scales."""
    model = zoo.with_motors(zoo.chain(rods, damping=0.2))
    plain = Simulator(model, 0.01)
    names = names or tuple(GRAFTS)
    grafts = (Graft(**{**vars(GRAFTS[n]), "name": n}) for n in names)
    simulator = grafted(plain, *grafts, seed=1)
    for seed, name in enumerate(names):
        simulator = with_scales(simulator, name, seed)
    return simulator


def weights_of(simulator):
    """By graft."""
    return {n: simulator.grafts[n].trainable for n in simulator.grafts.labels}


def with_all(simulator, weights):
    """The simulator with other weights."""
    for name, vector in weights.items():
        simulator = with_weights(simulator, name, vector)
    return simulator


CONTROLS = np.random.default_rng(2).normal(size=(5, 2))
STARTS = np.array([[0.4, -0.3, 1.0, -2.0], [1.4, 0.3, -1.0, 0.5]])


def ends(simulator, x, checkpoint=False):
    """Where a roll-out from (q, qd) ends."""
    state = simulator.initial_state(x[:2], x[2:])
    run = scan_steps(simulator, state, jnp.asarray(CONTROLS), checkpoint=checkpoint)
    return jnp.concatenate([run.q[-1], run.qd[-1]])


def test_gradients_of_all_weights():
    """Both modes, under vmap over starts, and a checkpointed scan, equal differences."""
    simulator = case()
    weights = weights_of(simulator)

    def end(weights):
        moved = with_all(simulator, weights)
        return jax.vmap(lambda x: ends(moved, x, checkpoint=True))(STARTS).reshape(-1)

    forward, reverse, differences = jacobians(end)(weights)
    # Every weight matters, but for those of a column that this motion leaves alone.
    assert np.mean(np.abs(differences).max(0) > 1e-9) > 0.8
    assert column_errors(forward, differences).max() < 1e-7
    assert column_errors(reverse, differences).max() < 1e-7


def test_gradient_through_a_branch():
    """A step within `cond`, after one that makes a memory: the slope along a direction."""
    simulator = case("recurrent", rods=1)
    vector = simulator.grafts["recurrent"].trainable
    direction = jnp.asarray(np.random.default_rng(3).normal(size=vector.size))
    u = jnp.asarray(CONTROLS[0, :1])

    def end(vector):
        moved = with_weights(simulator, "recurrent", vector)
        state = moved.step(moved.initial_state([0.4], [-1.0]), u)
        state = jax.lax.cond(
            state.q[0] > 0, lambda s: moved.step(s, u), lambda s: moved.step(s, -u), state
        )
        return state.q[0] + state.qd[0]

    @zoo.jit
    def both(vector):
        h = 1e-3
        a, b, c, d = jax.vmap(lambda k: end(vector + k * h * direction))(
            jnp.array([-2, -1, 1, 2.0])
        )
        return jax.grad(end)(vector) @ direction, (a - 8 * b + 8 * c - d) / (12 * h)

    slope, difference = both(vector)
    assert abs(difference) > 1e-4
    assert np.allclose(slope, difference, rtol=1e-8)


class Counted(eqx.Module):
    """A linear network that counts how often it is traced."""

    weight: jax.Array
    count: list = eqx.field(static=True)

    def __call__(self, x):
        """W x."""
        self.count.append(1)
        return self.weight @ x


class Marks(list):
    """A list that can be part of a program's key."""

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return self is other


@pytest.mark.parametrize("backend", ["xla", "kernel"])
def test_new_weights_are_no_new_program(backend):
    """Nor is a gradient in them; another wiring is."""
    plain, marks = Simulator(zoo.chain(2), 0.01), Marks()
    network = Counted(jnp.ones((1, 2)), marks)
    simulator = grafted(plain, Graft("joint.tau[*]", (Q, V), network, name="counted"))
    state = plain.initial_state(STARTS[0, :2], STARTS[0, 2:])

    def end(vector):
        moved = with_weights(simulator, "counted", vector)
        return moved.rollout(state, steps=3, backend=backend).q[-1, 0]

    found, counts = [], []
    for vector in ([0.0, 1.0], [1.0, -1.0], [0.3, 0.4]):
        vector = jnp.array(vector)
        found.append((float(end(vector)), *jax.grad(end)(vector).tolist()))
        counts.append(len(marks))
    assert counts[0] == counts[1] == counts[2]
    assert len(set(found)) == 3
    other = grafted(plain, Graft("joint.tau[*]", (V, Q), network, name="counted"))
    other.rollout(state, steps=3, backend=backend)
    assert len(marks) > counts[0]


@pytest.mark.parametrize("backend", ["xla", "kernel"])
def test_population_of_weights(backend):
    """vmap over stacked weights equals one after the other."""
    simulator = case("perceptron", "recurrent")
    members = [randomised(simulator, seed) for seed in range(3)]
    state = simulator.initial_state(STARTS[0, :2], STARTS[0, 2:])

    def end(simulator):
        return simulator.rollout(state, jnp.asarray(CONTROLS), backend=backend).q[-1]

    stacked = jax.vmap(lambda g: end(eqx.tree_at(lambda s: s.grafts, simulator, g)))(
        zoo.stack([m.grafts for m in members])
    )
    assert np.allclose(stacked, [end(m) for m in members], rtol=1e-11, atol=1e-12)
    assert np.ptp(stacked[:, 0]) > 1e-4
