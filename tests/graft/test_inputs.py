"""What a network is given: which rows of which variables, at which time."""

from functools import lru_cache

import jax.numpy as jnp
import numpy as np
import pytest
from grafting import grafted, output

import zoo
from graftsim import MLP, Feature, Graft, Simulator
from graftsim.model.fuse import fuse

DT = 0.01
STEPS = 5


def tilt(q, qd):
    """Two numbers of two variables."""
    return jnp.stack([q[0] * qd[0], jnp.cos(q[0])])


FEATURES = (Feature(jnp.sin, "joint.q[*]"), Feature(tilt, ("joint.q[*]", "joint.qd[*]"), "tilt"))
# label: (target, inputs). `everything` has joints of all types, fixed links, a servo on each dof.
KINDS = {
    "dof to dof": ("joint.tau_passive[*]", ("joint.q[*]", "joint.qd[*]")),
    "dof to link": ("joint.tau_friction[*]", "link.velocity[*]"),
    "dof to actuator": ("joint.tau[*]", ("actuator.force[*]", "control.u[*]")),
    "dof to coordinate": ("joint.tau_damping[HINGES]", "state.q[*]"),
    "actuator to dof": ("actuator.force[*]", ("joint.tau_spring[*]", "joint.qd[*]")),
    "actuator to link": ("actuator.command[*]", "link.position[*]"),
    "link to dof": ("link.force[HINGED]", "joint.tau[*]"),
    "link to link": ("link.force[*]", ("link.velocity[*]", "link.rotation[*]")),
    "components": (
        "link.com_force[*].fz,nx",
        ("link.com_velocity[*].vy", "link.velocity[LINK].wz,wx"),
    ),
    "coordinate to dof": ("state.q[HINGES]", "state.q[*]"),
    "named": ("joint.tau_limit[*]", ("joint.q[NAMED]", "link.velocity[LINK]")),
    "whole": ("joint.qdd[*]", ("state.q", "joint.tau")),
    "features": ("joint.tau_actuator[*]", FEATURES),
    "own": ("joint.tau_spring[*]", "joint.tau_spring[*]"),
    "previous": ("joint.tau[*]", ("joint.qdd[*]@prev", "joint.tau[*]@prev", "state.q@prev")),
}


@lru_cache
def run():
    """One roll-out with a graft of each kind, random weights, and all that they read recorded."""
    model, state, u = zoo.everything(chains=False)
    tree = fuse(model).tree
    hinged = [i for i, t in enumerate(tree.types) if t in ("revolute", "prismatic")]
    words = {
        "HINGES": ",".join(tree.joints[i] for i in hinged),
        "HINGED": ",".join(tree.links[i] for i in hinged),
        "NAMED": f"{tree.dofs[9]},{tree.dofs[2]}",
        "LINK": tree.links[3],
    }

    def fill(text):
        for word, labels in words.items():
            text = text.replace(word, labels) if isinstance(text, str) else text
        return text

    grafts = []
    for label, (target, inputs) in KINDS.items():
        inputs = (inputs,) if isinstance(inputs, str) else inputs
        chosen = tuple(fill(i) for i in inputs)
        grafts.append(Graft(fill(target), chosen, MLP(2), name=label))
    simulator = grafted(Simulator(model, DT), *grafts, seed=1, size=0.02)
    names = [n for n in simulator.variables() if n != "link.acceleration"]
    record = (*names, *(f"{what}.{k}" for k in KINDS for what in ("inputs", "graft")))
    controls = u * jnp.linspace(1, -1, STEPS)[:, None]
    found = zoo.rollout(simulator, state, controls, record)
    return simulator, {k: np.asarray(v) for k, v in found.recorded.items()}, hinged


def expected(label):
    """Inputs as the recorded variables have them [T, R, k]."""
    simulator, r, hinged = run()
    tree = fuse(simulator.model).tree
    link, T = tree.link_of_dof, STEPS
    dofs = [int(tree.v_index[i][0]) for i in hinged]
    coordinates = [int(tree.q_index[i][0]) for i in hinged]
    rows = {
        "dof to dof": lambda: [r["joint.q"], r["joint.qd"]],
        "dof to link": lambda: [r["link.velocity"][:, link]],
        "dof to actuator": lambda: [r["actuator.force"], r["control.u"]],
        "dof to coordinate": lambda: [r["state.q"][:, coordinates]],
        "actuator to dof": lambda: [r["joint.tau_spring"], r["joint.qd"]],
        "actuator to link": lambda: [r["link.position"][:, link]],
        "link to dof": lambda: [r["joint.tau"][:, dofs]],
        "link to link": lambda: [r["link.velocity"], r["link.rotation"].reshape(T, -1, 9)],
        "components": lambda: [
            r["link.com_velocity"][..., 4:5],
            np.repeat(r["link.velocity"][:, None, 3, [2, 0]], tree.nl, 1),
        ],
        "named": lambda: [
            np.repeat(x.reshape(T, 1, -1), tree.nv, 1)
            for x in (r["joint.q"][:, [2, 9]], r["link.velocity"][:, 3])
        ],
        "whole": lambda: [
            np.repeat(r[n][:, None], tree.nv, 1) for n in ("state.q", "joint.tau")
        ],
        "features": lambda: [
            np.sin(r["joint.q"]), r["joint.q"] * r["joint.qd"], np.cos(r["joint.q"])
        ],
        "previous": lambda: [
            np.concatenate([0 * x[:1], x[:-1]])
            for x in (
                r["joint.qdd"], r["joint.tau"], np.repeat(r["state.q"][:, None], tree.nv, 1)
            )
        ],
    }[label]()  # fmt: skip
    return np.concatenate([x if x.ndim == 3 else x[..., None] for x in rows], -1)


@pytest.mark.parametrize("label", [k for k in KINDS if k not in ("own", "coordinate to dof")])
def test_inputs(label):
    """They are the recorded values of the same step, in rows that belong together."""
    assert np.allclose(run()[1][f"inputs.{label}"], expected(label), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("label", ["own", "coordinate to dof"])
def test_own_target_is_read_before_the_graft(label):
    """A target is an input too: the analytic value, to which the output is added."""
    simulator, recorded, hinged = run()
    tree = fuse(simulator.model).tree
    before, y = recorded[f"inputs.{label}"][..., 0], recorded[f"graft.{label}"][..., 0]
    rows = slice(None) if label == "own" else [int(tree.q_index[i][0]) for i in hinged]
    after = recorded["joint.tau_spring" if label == "own" else "state.q"][:, rows]
    assert np.abs(y).min() > 0
    assert np.allclose(before + y, after, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("label", KINDS)
def test_outputs_are_those_of_the_inputs(label):
    """What the graft gives is the network of what it is given."""
    simulator, recorded, _ = run()
    y = output(simulator.grafts[label], recorded[f"inputs.{label}"])
    assert np.allclose(recorded[f"graft.{label}"], y, rtol=1e-11, atol=1e-13)


def test_columns_say_what_they_are():
    """Names and units of the columns: same row, named rows, features, the last step's value."""
    grafts = run()[0].grafts
    assert grafts["dof to link"].wiring.columns[:4] == tuple(
        f"link.velocity[*].{c}" for c in ("wx", "wy", "wz", "vx")
    )
    assert grafts["dof to link"].wiring.units == ("rad/s",) * 3 + ("m/s",) * 3
    assert grafts["features"].wiring.columns == (
        "sin(joint.q[*])",
        "tilt(joint.q[*], joint.qd[*]).0",
        "tilt(joint.q[*], joint.qd[*]).1",
    )
    assert grafts["previous"].wiring.columns[:2] == ("joint.qdd[*]@prev", "joint.tau[*]@prev")
    # One network for turning and sliding joints: both units.
    both = [set(u.split(" | ")) for u in grafts["dof to dof"].wiring.units]
    assert both == [{"rad", "m"}, {"rad/s", "m/s"}]


def test_last_value_against_a_loop_by_hand():
    """A force that follows the last step's acceleration is the same as a motor told to do so."""
    model = zoo.with_motors(zoo.chain(2, damping=0.1))
    plain = Simulator(model, DT)
    simulator = grafted(
        plain, Graft("joint.tau_actuator[*]", ("joint.qdd[*]@prev", "joint.q[*]"), MLP(3)), seed=2
    )
    graft = simulator.grafts["joint.tau_actuator[*]"]
    state = plain.initial_state([0.5, -0.2], [0.3, 1.0])
    found = zoo.rollout(simulator, state, jnp.zeros((STEPS, 2)), ())
    qdd = np.zeros(2)
    for t in range(STEPS):
        assert np.allclose(found.q[t], state.q, rtol=1e-11, atol=1e-13)
        u = output(graft, np.stack([qdd, np.asarray(state.q)], -1))[:, 0]
        step = zoo.rollout(plain, state, jnp.asarray(u)[None], ("joint.qdd",))
        qdd = np.asarray(step.recorded["joint.qdd"][0])
        state = plain.initial_state(step.q[1], step.qd[1])
    assert np.abs(qdd).max() > 0.1
