"""What a graft does with the analytic value: nothing when fresh, then add, scale, replace."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from grafting import grafted, output, randomised, with_scales

import zoo
from graftsim import GRU, MLP, Graft, Library, Simulator
from graftsim.dynamics import forward_dynamics

DT = 0.01
STEPS = 6
PASSIVE = {"damping": 0.3, "stiffness": 0.7, "friction": 0.2, "friction_velocity": 0.5}


def motors():
    """Three rods with springs, damping, friction and a motor each."""
    return zoo.with_motors(zoo.chain(3, **PASSIVE))


def start(simulator):
    """A moving state and commands that differ from step to step."""
    state = simulator.initial_state([0.3, -0.4, 0.2], [1.0, -2.0, 0.5])
    return state, jnp.asarray(np.random.default_rng(1).normal(size=(STEPS, 3)))


FRESH = (
    Graft("joint.tau_passive[*]", ("joint.qd[*]", "joint.q[*]"), MLP(4, 4)),
    Graft("joint.tau_damping[*]", "joint.qd[*]", MLP(4), mode="scale"),
    Graft("actuator.force[*]", "actuator.command[*]", MLP(4), shared=False),
    Graft("joint.tau", ("state.q", "state.qd"), MLP(4)),
    Graft("link.force[rod1,rod2]", "link.velocity[*]", MLP(4)),
    Graft("joint.qdd[*]", "joint.q[*]", Library(), name="library"),
    Graft("joint.qdd[*]", ("joint.q[*]", "joint.tau[*]@prev"), GRU(3)),
)


def test_fresh_grafts_change_nothing():
    """Operation by operation the step is the same bit for bit."""
    plain = Simulator(motors(), DT)
    simulator = grafted(plain, *FRESH)
    state, controls = start(plain)
    a, b = plain.step(state, controls[0]), simulator.step(state, controls[0])
    for _ in range(2):
        assert np.array_equal(a.q, b.q) and np.array_equal(a.qd, b.qd)
        a, b = plain.step(a, controls[1]), simulator.step(b, controls[1])


def test_fresh_grafts_change_nothing_when_compiled():
    """All of them together, within rounding that another order of the same sums makes."""
    plain = Simulator(motors(), DT)
    state, controls = start(plain)
    a = zoo.rollout(plain, state, controls, ())
    b = zoo.rollout(grafted(plain, *FRESH), state, controls, ())
    assert np.allclose(a.q, b.q, rtol=1e-14, atol=1e-15)
    assert np.allclose(a.qd, b.qd, rtol=1e-14, atol=1e-14)


ROW = ("joint.q[*]", "joint.qd[*]")
GRAFTS = (
    Graft("joint.tau_spring[*]", ROW, MLP(3), name="add"),
    Graft("joint.tau_damping[*]", ROW, MLP(3, activation="elu"), mode="scale", name="scale"),
    Graft("joint.tau_friction[rod0,rod2]", ROW, MLP(3, 2, activation="silu"), mode="replace",
          shared=False, name="replace"),
    Graft("joint.tau_actuator", ("state.q", "control.u"), MLP(4), name="whole"),
    Graft(("joint.tau_limit[rod1]", "joint.tau[rod1]", "joint.qdd[rod1]"), "joint.qd", MLP(3),
          name="several"),
)  # fmt: skip
NAMES = tuple(dict.fromkeys(t.split("[")[0] for g in GRAFTS for t in g.targets))
LABELS = tuple(g.label for g in GRAFTS)


@lru_cache
def run():
    """A roll-out with all of them, random weights and scales, and everything about it recorded."""
    simulator = randomised(grafted(Simulator(motors(), DT), *GRAFTS), 3)
    for seed, label in enumerate(LABELS):
        simulator = with_scales(simulator, label, seed)
    state, controls = start(simulator)
    record = (*NAMES, "joint.tau_passive", *(f"graft.{n}" for n in LABELS))
    found = zoo.rollout(simulator, state, controls, record)
    recorded = {k: np.asarray(v) for k, v in found.recorded.items()}
    q, qd = (np.asarray(x)[:-1] for x in (found.q, found.qd))
    return simulator, q, qd, np.asarray(controls), recorded


def close(a, b):
    """To rounding."""
    np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


def test_add_shared():
    """One network, row by row: a + y."""
    simulator, q, qd, _, recorded = run()
    y = output(simulator.grafts["add"], np.stack([q, qd], -1))
    close(recorded["graft.add"], y)
    close(recorded["joint.tau_spring"], -PASSIVE["stiffness"] * q + y[..., 0])


def test_scale():
    """a (1 + y)."""
    simulator, q, qd, _, recorded = run()
    y = output(simulator.grafts["scale"], np.stack([q, qd], -1))[..., 0]
    close(recorded["joint.tau_damping"], -PASSIVE["damping"] * qd * (1 + y))


def test_replace_some_rows_each_with_its_network():
    """y in the chosen rows; the others are as they were."""
    simulator, q, qd, _, recorded = run()
    graft = simulator.grafts["replace"]
    law = -PASSIVE["friction"] * np.tanh(qd / PASSIVE["friction_velocity"])
    for row, dof in enumerate((0, 2)):
        x = np.stack([q[:, dof], qd[:, dof]], -1)
        law[:, dof] = output(graft, x, row)[:, 0]
    assert not np.allclose(law[:, 0], output(graft, np.stack([q[:, 0], qd[:, 0]], -1), 1)[:, 0])
    close(recorded["joint.tau_friction"], law)


def test_whole_array():
    """One network of all rows that gives all rows."""
    simulator, q, _, u, recorded = run()
    y = output(simulator.grafts["whole"], np.concatenate([q, u], -1))
    close(recorded["graft.whole"][:, 0], y)
    close(recorded["joint.tau_actuator"], u + y)


def test_several_targets_of_one_network():
    """Each of its outputs goes to one of three variables, computed in three places of the step."""
    simulator, q, qd, _, recorded = run()
    y = output(simulator.grafts["several"], qd)
    close(recorded["joint.tau_limit"][:, 1], y[:, 0])
    tau = recorded["joint.tau_passive"] + recorded["joint.tau_actuator"]
    tau[:, 1] += y[:, 1]
    close(recorded["joint.tau"], tau)
    dynamics = zoo.jit(jax.vmap(lambda *x: forward_dynamics(simulator.model, *x)))
    qdd = np.array(dynamics(q, qd, tau))
    qdd[:, 1] += y[:, 2]
    close(recorded["joint.qdd"], qdd)


def test_grafts_that_meet_act_in_their_order():
    """The second of two on one variable takes what the first has made of it."""
    plain = Simulator(zoo.chain(1, damping=0.5), DT)
    state = plain.initial_state([0.3], [1.5])
    scale = Graft("joint.tau_damping[*]", "joint.qd[*]", MLP(), mode="scale", name="scale")
    add = Graft("joint.tau_damping[*]", "joint.tau_damping[*]", MLP(), name="add")
    for grafts in ((scale, add), (add, scale)):
        simulator = grafted(plain, *grafts, seed=5)
        # One blueprint after the other is the same as both at once.
        twice = randomised(grafted(grafted(plain, grafts[0]), grafts[1]), 5)
        value = -0.5 * 1.5
        for g in grafts:
            x = value if g.label == "add" else 1.5
            y = output(simulator.grafts[g.label], np.array([x]))[0]
            value = value + y if g.label == "add" else value * (1 + y)
        for s in (simulator, twice):
            found = zoo.rollout(s, state, jnp.zeros((1, 0)), ("joint.tau_damping",))
            close(found.recorded["joint.tau_damping"][0, 0], value)
