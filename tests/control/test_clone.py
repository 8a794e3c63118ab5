"""Behaviour cloning: what is learned, on its own and as a graft, and what is refused."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
import zoo
from graftsim.control import Cloning, Policy, clone, policy_of
from graftsim.errors import ProblemError, VariableError

GAIN = np.array([[3.0, -1.0, 0.5, 0.0], [0.5, 2.0, 0.0, -0.3]])


def samples(seed=0, count=600):
    """A linear law on four inputs, far from zero mean and unit size."""
    rng = np.random.default_rng(seed)
    x = np.array([5.0, -2.0, 0.0, 100.0]) + np.array([1.0, 0.1, 3.0, 20.0]) * rng.normal(
        size=(count, 4)
    )
    return x, x @ GAIN.T + np.array([7.0, -40.0])


@pytest.fixture(scope="module")
def linear():
    return clone(*samples(), gs.MLP(), how=Cloning(epochs=150, batch=64, rate=0.03))


def test_a_linear_law_is_found(linear):
    x, u = samples(1, 50)
    np.testing.assert_allclose(linear.policy(x), u, atol=2e-2)
    assert (linear.r_squared > 0.9999).all()
    assert linear.history[-1] < 1e-3 * linear.history[0]


@pytest.mark.parametrize("activation", ["tanh", "elu", "silu"])
@pytest.mark.parametrize("signs", [False, True])
def test_numpy_gives_the_same(activation, signs):
    rng = np.random.default_rng(2)
    network = gs.MLP(8, 5, activation=activation, signs=signs)
    built = network.build(4, 2, jax.random.key(0), float)
    built = jax.tree.map(lambda w: jnp.asarray(rng.normal(size=w.shape)), built)
    policy = Policy(network, built, jnp.asarray([5.0, 0.2, 3.0, 1.0]), jnp.asarray([7.0, 0.1]))
    x = rng.normal(size=(2, 3, 4)) * 10
    wanted = np.asarray(policy(x))
    assert wanted.shape == (2, 3, 2)
    plain = policy.in_numpy()
    np.testing.assert_allclose(plain(x), wanted, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(plain(x[1, 2]), wanted[1, 2], rtol=1e-9, atol=1e-9)


def test_a_library_is_cloned_by_its_terms():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 2))
    u = 0.7 * x[:, :1] * np.abs(x[:, :1]) - 0.2 * x[:, 1:]
    found = clone(x, u, gs.Library("linear", "quadratic"), how=Cloning(200, 64, rate=0.02))
    assert found.r_squared[0] > 0.999


def test_on_a_simulator_it_gives_its_commands(linear):
    simulator = gs.Simulator(zoo.with_motors(zoo.chain(2, damping=0.2)), 0.01)
    closed = linear.policy.onto(simulator, ("state.q", "state.qd"))
    state = closed.initial_state([0.4, -0.3], [1.0, -2.0])
    for backend in ("kernel", "xla"):
        run = closed.rollout(state, steps=4, record=("control.u",), backend=backend)
        x = np.concatenate([run.q, run.qd], -1)[:-1]
        np.testing.assert_allclose(run.recorded["control.u"], linear.policy(x), rtol=1e-9)


def test_saved_loaded_and_taken_off_again(linear, tmp_path):
    simulator = gs.Simulator(zoo.with_motors(zoo.chain(2, damping=0.2)), 0.01)
    closed = linear.policy.onto(simulator, ("state.q", "state.qd"))
    gs.save_grafts(closed, tmp_path / "policy.safetensors")
    again = policy_of(gs.load_grafts(simulator, tmp_path / "policy.safetensors"))
    x = samples(4, 5)[0]
    np.testing.assert_array_equal(again(x), linear.policy(x))


def test_the_seed_decides():
    x, u = samples(count=20)
    first, again, other = (
        clone(x, u, gs.MLP(4), how=Cloning(epochs=1), key=jax.random.key(k)).policy(x[:5])
        for k in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3


def test_weights_say_which_samples_count():
    x = np.zeros((100, 1)) + np.arange(100)[:, None] % 2
    u = np.where(np.arange(100) < 50, 1.0, 3.0)[:, None]
    weights = (np.arange(100) < 50).astype(float)
    policy = clone(x, u, gs.MLP(), how=Cloning(100, 100, 0.1, holdout=0), weights=weights).policy
    np.testing.assert_allclose(policy(x[:2]), 1.0, atol=0.05)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"inputs": np.zeros(4)}, r"inputs must be \[samples, columns\], got an array \(4,\)"),
        ({"inputs": np.zeros((3, 2))}, "3 samples of inputs and 4 of controls"),
        ({"controls": np.array([[1.0], [np.nan], [0], [0]])}, r"controls\[1, 0\] is nan"),
        ({"network": gs.GRU(3)}, "has memory"),
        ({"network": 64}, r"such as MLP\(64, 64\), got 64"),
        ({"weights": [1, 1, -1, 1]}, "weights must be 4 numbers"),
        ({"inputs": np.zeros((1, 2)), "controls": np.zeros((1, 1))}, "needs 2 samples or more"),
    ],
)
def test_what_is_refused(change, message):
    given = {"inputs": np.eye(4), "controls": np.ones((4, 1))} | change
    with pytest.raises(ProblemError, match=message):
        clone(**given)


@pytest.mark.parametrize(
    "wrong, message",
    [({"epochs": 0}, "epochs must be at least 1"), ({"rate": 0.0}, "must be positive"),
     ({"holdout": 1.0}, "from 0 to below 1")],
)  # fmt: skip
def test_options_that_cannot_be_meant(wrong, message):
    with pytest.raises(ProblemError, match=message):
        Cloning(**wrong)


def test_a_policy_that_does_not_fit(linear):
    simulator = gs.Simulator(zoo.with_motors(zoo.chain(2, damping=0.2)), 0.01)
    with pytest.raises(VariableError, match="has 4 inputs, and the simulator gives 2"):
        linear.policy.onto(simulator, "state.q")
    with pytest.raises(VariableError, match="has 2 commands, and the simulator gives 1"):
        linear.policy.onto(simulator, ("state.q", "state.qd"), "control.u[*]")
    with pytest.raises(VariableError, match=r"no graft 'policy'\. Its grafts: none"):
        policy_of(simulator)
    with pytest.raises(VariableError, match="has 4 inputs, got an array"):
        linear.policy(jnp.zeros(3))


def test_numpy_is_quick(linear):
    """A command takes far less than a millisecond, on a loaded machine too."""
    f, x = linear.policy.in_numpy(), np.ones(4)
    began = time.process_time()
    for _ in range(1000):
        f(x)
    assert time.process_time() - began < 0.2
