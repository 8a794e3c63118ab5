"""Any Equinox module is a network: with functions, whole numbers, NumPy arrays among its leaves."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from grafting import grafted, with_weights

import zoo
from graftsim import Graft, Odd, Simulator

INPUTS = ("joint.q[*]", "joint.qd[*]")
STEPS = 4


class Table(eqx.Module):
    """A user's module: weights chosen by whole numbers, a NumPy array, a function, a number."""

    values: jax.Array
    places: jax.Array
    offset: np.ndarray
    bend: Any
    power: float = 2.0

    def __call__(self, x):
        """One output."""
        return self.bend(self.values[self.places] @ x + self.offset) ** self.power


def table(dtype=float):
    """One of them."""
    return Table(jnp.array([0.3, -0.2, 0.7], dtype), jnp.array([[2, 0]]), np.array([0.1]), jnp.cos)


def mlp():
    """Equinox's own, whose activations are leaves."""
    return eqx.nn.MLP(2, 1, 4, 1, activation=jax.nn.silu, key=jax.random.key(1))


class Formula(eqx.Module):
    """A user's module without any number."""

    def __call__(self, x):
        """One output."""
        return jnp.sin(x[:1]) * x[1]


NETWORKS = {
    "mlp": (mlp, 4 * 2 + 4 + 4 + 1),
    "table": (table, 4),
    "formula": (Formula, 0),
    "function": (lambda: Formula().__call__, 0),
}


def run(simulator):
    """What it is given, what it gives, and where the two rods go."""
    state = simulator.initial_state([0.4, -0.3], [1.0, -2.0])
    record = ("inputs.own", "graft.own")
    found = zoo.rollout(simulator, state, jnp.zeros((STEPS, 0)), record)
    x, y = (np.asarray(found.recorded[n]) for n in record)
    return x, y, np.asarray(found.q)


def simulator_with(network, **options):
    """Two rods with it on each joint."""
    return grafted(Simulator(zoo.chain(2), 0.01), Graft("joint.tau[*]", INPUTS, network, name="own",
                                                        **options))  # fmt: skip


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_module_is_evaluated_as_it_is(name, shared):
    """Shared, or a copy for each row, which then go their own ways."""
    make, count = NETWORKS[name]
    simulator = simulator_with(make(), shared=shared)
    graft = simulator.grafts["own"]
    assert graft.trainable.size == count * (1 if shared else 2)
    x, y, q = run(simulator)
    network = make()
    wanted = [[network(jnp.asarray(row)) for row in step] for step in x]
    assert np.allclose(y, wanted, rtol=1e-12, atol=1e-14)
    assert np.abs(y).min() > 1e-6
    if count == 0:
        return
    other = with_weights(simulator, "own", graft.trainable + 0.1)
    assert not np.allclose(run(other)[2], q)
    assert jax.tree.structure(other) == jax.tree.structure(simulator)
    again = with_weights(other, "own", graft.trainable)
    assert all(map(np.array_equal, run(again), (x, y, q)))


def test_structures_take_modules():
    """A module made odd."""
    graft = simulator_with(mlp(), structure=Odd()).grafts["own"]
    x = jnp.array([[0.3, 1.0], [-0.3, -1.0]])
    y, f = graft(x)[0], mlp()
    assert np.allclose(y[0], -y[1], rtol=1e-14)
    assert np.allclose(y[0], (f(x[0]) - f(x[1])) / 2, rtol=1e-12)


def test_whole_numbers_have_no_gradient_and_keep_their_type():
    """The gradient in all weights is that in the real ones; rows of a copy have their own."""
    for shared in (True, False):
        simulator = simulator_with(table(), shared=shared)
        weights = simulator.grafts["own"].weights
        assert weights.places.dtype.kind == "i"
        assert weights.offset.dtype == float and isinstance(weights.offset, jax.Array)
        state = simulator.initial_state([0.4, -0.3], [1.0, -2.0])

        @zoo.jit
        def slope(vector, simulator=simulator, state=state):
            def end(v):
                moved = with_weights(simulator, "own", v)
                return moved.step(state).qd[0]

            return jax.grad(end)(vector)

        vector = simulator.grafts["own"].trainable
        found = np.asarray(slope(vector))
        # Leaves in order, rows first: values 0 and 2 are chosen, value 1 is not, offset is used.
        values = found[: vector.size - (1 if shared else 2)].reshape(-1, 3)
        assert np.all(np.any(values[:, [0, 2]] != 0, 1)) and not np.any(values[:, 1])


def test_module_takes_the_precision_of_the_model():
    """Weights in float64 on a model in float32."""
    model = jax.tree.map(
        lambda x: x.astype(jnp.float32) if jnp.issubdtype(x.dtype, jnp.floating) else x,
        zoo.chain(2),
    )
    graft = Graft("joint.tau[*]", INPUTS, table(), name="own")
    simulator = grafted(Simulator(model, 0.01), graft)
    assert {x.dtype.name for x in jax.tree.leaves(simulator)} == {"float32", "int64"}
    assert run(simulator)[1].dtype == np.float32
