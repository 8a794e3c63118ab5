"""Training through the simulator: gradients, what is reached, what is refused."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from graftsim.control import Ending, Training, policy_of, train
from graftsim.errors import ProblemError, VariableError

STATE = ("joint.q[*]", "joint.qd[*]")


def slider(network=None):
    """A mass on a rail with a policy on its motor, both in units of one."""
    b = gs.Builder("rail")
    b.link("mass", joint="prismatic", axis=(1, 0, 0), mass=1.0)
    b.actuator("motor", "mass")
    policy = gs.Graft("control.u[*]", STATE, network or gs.MLP(), "replace", name="policy")
    return gs.Simulator(b.build(), 0.05).graft(gs.Blueprint(policy))


RAIL = slider()


def states(count, seed=0):
    x = np.random.default_rng(seed).uniform(-1, 1, (2, count, 1))
    return jax.vmap(lambda q, qd: RAIL.initial_state(q, qd))(*jnp.asarray(x))


def quadratic(motion):
    """LQR: q^2 + u^2 / 4, per second."""
    return 0.05 * (jnp.sum(motion.q[:-1] ** 2) + 0.25 * jnp.sum(motion.recorded["control.u"] ** 2))


def gains(cost_of_u=0.25, h=0.05):
    """The optimal feedback of the rail for ever, by iteration of Riccati's equation."""
    A = np.array([[1.0, h], [0.0, 1.0]])
    B = np.array([[h * h], [h]])
    P = np.zeros((2, 2))
    for _ in range(3000):
        K = np.linalg.solve(h * cost_of_u + B.T @ P @ B, B.T @ P @ A)
        P = h * np.diag([1.0, 0.0]) + A.T @ P @ (A - B @ K)
    return K[0]


@pytest.fixture(scope="module")
def trained():
    how = Training(iterations=200, rate=0.1)
    return train(RAIL, quadratic, states(64), 160, record=("control.u",), how=how)


def test_a_linear_policy_is_that_of_riccati(trained):
    layer = policy_of(trained.simulator).network.layers[0]
    np.testing.assert_allclose(-layer.weight[0], gains(), rtol=0.02)
    assert abs(layer.bias[0]) < 0.02
    assert trained.outcome is Ending.ITERATION_LIMIT and trained.outcome.advice


def test_the_history_is_that_of_the_costs(trained):
    costs = [i.cost for i in trained.history]
    assert trained.cost == min(costs) < 0.5 * costs[0]
    run = [
        float(quadratic(RAIL.rollout(jax.tree.map(lambda x, k=k: x[k], states(64)), steps=160,
                                     record=("control.u",))))
        for k in range(64)
    ]  # fmt: skip
    assert costs[0] == pytest.approx(np.mean(run), rel=1e-9)


def test_it_ends_where_it_is_good_enough():
    how = Training(iterations=50, rate=0.1, until=5.0)
    found = train(RAIL, quadratic, states(8), 160, record=("control.u",), how=how)
    assert found.outcome is Ending.REACHED
    assert found.cost <= 5.0 and len(found.history) < 50
    assert all(i.cost > 5.0 for i in found.history[:-1])


def test_states_drawn_anew_come_from_the_key():
    def draw(key):
        q = jax.random.uniform(key, (4, 1), minval=-1, maxval=1)
        return jax.vmap(lambda q: RAIL.initial_state(q))(q)

    seen = []
    how = Training(iterations=3, rate=1e-9)
    for k in (1, 1, 2):
        found = train(
            RAIL, quadratic, draw, 5, record=("control.u",), how=how, key=jax.random.key(k)
        )
        seen.append([i.cost for i in found.history])
    assert seen[0] == seen[1] != seen[2]
    assert len(set(seen[0])) == 3


def test_roll_outs_that_diverge_do_not_count():
    """The mean is that of the others; with none left the outcome says so."""
    far = replace(states(3), q=jnp.array([[0.5], [1e200], [-0.2]]))
    how = Training(iterations=1)
    found = train(RAIL, quadratic, far, 5, record=("control.u",), how=how)
    near = jax.tree.map(lambda x: x[jnp.array([0, 2])], far)
    alone = train(RAIL, quadratic, near, 5, record=("control.u",), how=how)
    assert found.history[0].lost == 1
    assert found.cost == pytest.approx(alone.cost, rel=1e-12)
    assert found.history[0].gradient == pytest.approx(alone.history[0].gradient, rel=1e-12)
    lost = jax.tree.map(lambda x: x[1:2], far)
    found = train(RAIL, quadratic, lost, 5, record=("control.u",), how=how)
    assert found.outcome is Ending.NON_FINITE and found.history[0].lost == 1
    np.testing.assert_array_equal(
        policy_of(found.simulator).network.layers[0].weight,
        policy_of(RAIL).network.layers[0].weight,
    )


def test_commands_beside_the_policys():
    """With mode "add" what is given is a feed-forward."""
    b = gs.Builder("rail")
    b.link("mass", joint="prismatic", axis=(1, 0, 0), mass=1.0)
    b.actuator("motor", "mass")
    policy = gs.Graft("control.u[*]", STATE, gs.MLP(), "add", name="policy")
    simulator = gs.Simulator(b.build(), 0.05).graft(gs.Blueprint(policy))
    how = Training(iterations=1)
    found = train(
        simulator, lambda m: m.q[-1, 0], states(4), 10, controls=np.ones((10, 1)), how=how
    )
    plain = simulator.rollout(simulator.initial_state(), np.ones((10, 1))).q[-1, 0]
    mean = float(jnp.mean(states(4).q + 0.5 * states(4).qd))
    assert found.cost == pytest.approx(float(plain) + mean, rel=1e-9)


WRONG = [
    ({"cost": lambda m: m.q}, ProblemError, r"one real number, got float64\[6, 1\]"),
    ({"cost": lambda m: 1}, ProblemError, "one real number, got"),
    ({"grafts": "polcy"}, VariableError, r"no graft 'polcy' to train\. Its grafts: policy"),
    ({"grafts": ()}, VariableError, "at least one graft"),
    ({"starts": RAIL.initial_state()}, ProblemError, r"starts\.q must be \[roll-outs, 1\]"),
    ({"steps": 0}, ProblemError, "at least 1 step"),
    ({"controls": np.zeros((4, 1))}, ProblemError, r"= \(5, 1\), got \(4, 1\)"),
    ({"controls": np.full((5, 1), np.nan)}, ProblemError, "controls has a value"),
    ({"record": ("control.v",)}, VariableError, "no variable named 'control.v'"),
]  # fmt: skip


@pytest.mark.parametrize("change, kind, message", WRONG)
def test_what_is_refused(change, kind, message):
    given = {"cost": lambda m: m.q[-1, 0], "starts": states(2), "steps": 5} | change
    with pytest.raises(kind, match=message):
        train(RAIL, given.pop("cost"), given.pop("starts"), given.pop("steps"), **given)


def test_a_start_that_is_no_number():
    broken = replace(states(3), qd=jnp.array([[0.0], [jnp.nan], [0.0]]))
    with pytest.raises(ProblemError, match=r"starts\.qd of roll-out 1 has a value"):
        train(RAIL, quadratic, broken, 5, record=("control.u",))


@pytest.mark.parametrize("wrong", [{"iterations": 0}, {"rate": -1.0}, {"clip": 0.0}])
def test_options_that_cannot_be_meant(wrong):
    with pytest.raises(ProblemError, match=f"{next(iter(wrong))} must be"):
        Training(**wrong)
