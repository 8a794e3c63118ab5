"""Wrong use is refused when it is bound, with what, where and what would do."""

from functools import lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from grafting import grafted

import zoo
from graftsim import (
    GRU,
    MLP,
    ActionReaction,
    Blueprint,
    Conservative,
    Dissipative,
    Feature,
    Graft,
    Library,
    Odd,
    Simulator,
    VariableError,
    ZeroAtRest,
)
from graftsim.errors import ModelError
from graftsim.model import Builder

TAU, Q, V = "joint.tau_passive[*]", "joint.q[*]", "joint.qd[*]"


@pytest.fixture(scope="module", autouse=True)
def traced_once():
    """Every binding asks for the variables of the robot; here it is nearly always the same one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Simulator, "variables", lru_cache(Simulator.variables))
        yield


@lru_cache
def arm():
    """A turning and a sliding joint with a motor each, a ball and a free body; a fixed hand."""
    return Simulator(
        Builder("arm")
        .link("upper", joint_name="shoulder", axis=(1, 0, 0), mass=1.0, inertia=0.1)
        .link("lower", "upper", "prismatic", joint_name="slide", mass=1.0, inertia=0.1)
        .link("ball", "lower", "spherical", mass=1.0, inertia=0.1)
        .link("hand", "ball", "fixed", mass=0.1, inertia=0.1)
        .link("stone", joint="free", mass=1.0, inertia=0.1)
        .actuator("turn", "shoulder")
        .actuator("push", "slide", "position", kp=1.0)
        .build()
    )


def refused(message, *args, simulator=None, **kwargs):
    """A graft made of these arguments raises VariableError with the message."""
    with pytest.raises(VariableError, match=message):
        grafted(simulator or arm(), Graft(*args, **kwargs))


def test_names_that_do_not_exist():
    """The nearest ones are given, for targets and inputs; a wrong form is explained."""
    refused(
        r"no variable named 'joint.tau_pasive'. Nearest: joint.tau_passive", "joint.tau_pasive", Q
    )
    refused(r"no variable named 'joint.velocity'. Nearest: .*link.velocity", TAU, "joint.velocity")
    refused(r"no variable named 'joint.qdd2'", TAU, "joint.qdd2@prev")
    refused("not of the form family.quantity", TAU, "qd")
    refused("not of the form family.quantity", "joint.tau_passive[*]@prev", Q)


def test_rows_that_do_not_exist():
    """An empty selection lists labels; variables that are empty for the robot say so."""
    refused(
        r"'joint.tau\[elbow\]' selects no row. Available: shoulder, slide", "joint.tau[elbow]", Q
    )
    refused(r"'link.velocity\[palm\]' selects no row. Nearest: ball", TAU, "link.velocity[palm]")
    refused(
        r"'link.force\[hand\]' selects no row. 'hand' is fixed to 'ball'", "link.force[hand]", V
    )
    bare = Simulator(zoo.pendulum())
    refused("'actuator.force' is empty for this robot", "actuator.force", Q, simulator=bare)
    refused("'control.u' is empty for this robot", TAU, "control.u", simulator=bare)


def test_inputs_that_come_too_late():
    """The message lists what there is, and offers the last step's value in the same spelling."""
    there = "state.q, state.qd, link.position.*joint.tau_friction. "
    refused(
        rf"input 'joint.qdd\[\*\]' is computed after its target 'joint.tau_passive'.*{there}"
        r"Or take the last step's value, 'joint.qdd\[\*\]@prev'",
        TAU, "joint.qdd[*]",
    )  # fmt: skip
    late = Feature(jnp.sin, "joint.tau[shoulder]")
    refused(r"'sin\(joint.tau\[shoulder\]\)' is .*'joint.tau\[shoulder\]@prev'", TAU, late)
    # Of several targets the first counts.
    both = ("joint.qdd[*]", "joint.tau_damping[*]")
    refused("after its target 'joint.tau_damping'", both, "joint.tau_friction[*]")
    grafted(arm(), Graft(TAU, (TAU, "joint.qdd[*]@prev", Feature(jnp.sin, "joint.qdd[*]@prev"))))


def test_rows_that_do_not_belong_together():
    """Rows of the input must follow those of the target one by one."""
    late = "actuator.force[*]@prev"
    refused(r"'actuator.force\[\*\]@prev': rows of actuator.force .*do not follow", TAU, late)
    refused(r"'state.q\[\*\]': rows of state.q \(coordinates\) do not follow", TAU, "state.q[*]")
    refused(
        r"rows of the target \(links\) have different numbers of rows of joint.q \(1, 1, 3, 6\)",
        "link.force[*]", Q,
    )  # fmt: skip
    refused(
        r"same rows: joint.tau\[\*\] has shoulder, slide, .*; joint.qdd\[slide\] has slide.",
        ("joint.tau[*]", "joint.qdd[slide]"), Q,
    )  # fmt: skip
    refused(
        r"same rows: joint.tau has the whole; joint.qdd\[sh\*,sl\*\] has shoulder, slide.",
        ("joint.tau", "joint.qdd[sh*,sl*]"), Q,
    )  # fmt: skip
    refused("at least one target", (), Q)
    refused("have rows in common", ("joint.tau[slide]", "joint.tau[sl*]"), Q)


def test_one_row_each_of_different_things():
    """One network may serve them; there is no common row that an input could follow."""
    targets = ("joint.tau[slide]", "joint.tau[shoulder]", "link.force[upper]")
    wiring = grafted(arm(), Graft(targets, "joint.qd[*]")).grafts.grafts[0].wiring
    assert (wiring.rows, wiring.columns) == (
        1,
        tuple(f"joint.qd[{d}]" for d in arm().model.tree.dofs),
    )
    assert [len(t.columns) for t in wiring.targets] == [1, 1, 6]
    assert [t.columns[0] for t in wiring.targets][:2] == ["joint.tau[slide]", "joint.tau[shoulder]"]


def test_words_that_do_not_exist():
    """Mode, activation and term are given with the right ones."""
    refused("mode 'multiply'.*add, scale, replace", TAU, Q, mode="multiply")
    refused("prior of a weight must be positive, got 0", TAU, Q, prior=0)
    with pytest.raises(VariableError, match=r"activation 'tanhh'\. Nearest: tanh"):
        MLP(3, activation="tanhh")
    with pytest.raises(VariableError, match=r"at least one unit, got \(3, 0\)"):
        MLP(3, 0)
    with pytest.raises(VariableError, match=r"no term 'colomb'\. Nearest: coulomb"):
        Library("linear", "colomb")


def test_networks_that_do_not_fit():
    """Shapes in and out, with the columns; what is no network at all."""
    key = jax.random.key(0)
    refused(
        r"does not take its 2 inputs \(joint.q\[\*\], joint.qd\[\*\]\)",
        TAU, (Q, V), eqx.nn.Linear(3, 1, key=key),
    )  # fmt: skip
    refused(r"must give shape \(1,\), it gives \(2,\)", TAU, Q, eqx.nn.Linear(1, 2, key=key))
    refused(r"must give shape \(1,\), it gives \(\)", TAU, Q, eqx.nn.Linear(1, "scalar", key=key))
    refused(r"that maps \[1\] to \[1\], got 3", TAU, Q, 3)
    refused(r"that maps \[1\] to \[1\], got <class .*MLP'>", TAU, Q, MLP)
    with pytest.raises(
        VariableError, match=r"Input <lambda>\(joint.q\[\*\]\) fails on arrays \[1\]"
    ):
        grafted(arm(), Graft(TAU, Feature(lambda q: q @ jnp.ones(4), Q)))


def test_names_that_are_not_unique():
    """Two grafts, or two inputs of one, of the same name; no graft, no input."""
    a = Graft(TAU, Q)
    for grafts in ((a, a), (Graft(TAU, V, name="x"), Graft("joint.qdd[*]", V, name="x"))):
        with pytest.raises(
            VariableError, match=f"Two grafts are named '{'x' if grafts[0].name else ''}"
        ):
            grafted(arm(), *grafts)
    with pytest.raises(VariableError, match=r"Two grafts are named 'joint.tau_passive\[\*\]'"):
        grafted(grafted(arm(), a), a)
    refused(r"two inputs 'joint.q\[\*\]'", TAU, (Q, V, Q))
    squares = (Feature(lambda q: q**2, Q), Feature(lambda q: q**3, Q))
    refused(r"two inputs '<lambda>\(joint.q\[\*\]\)'. Give a Feature a name=", TAU, squares)
    refused("has no input", TAU, ())
    with pytest.raises(VariableError, match="at least one graft"):
        arm().graft(Blueprint())
    simulator = grafted(arm(), a)
    with pytest.raises(
        VariableError, match=r"no graft named 'joint.tau'. Nearest: joint.tau_passive"
    ):
        simulator.rollout(simulator.initial_state(), steps=1, record=("graft.joint.tau",))
    for get in (lambda g: g["tau"], lambda g: g.replace("tau", g.grafts[0])):
        with pytest.raises(KeyError, match=r"'tau'; grafts: joint.tau_passive"):
            get(simulator.grafts)


def test_scales():
    """Numbers, or numbers with a unit of the right kind, in SI from then on."""
    slide = "joint.qd[slide]"
    simulator = grafted(
        arm(),
        Graft("joint.tau[slide]", (slide, "joint.q[shoulder]"),
              input_scale={slide: "40 km/h", "joint.q[shoulder]": "90 deg"}, output_scale="2 kN"),
    )  # fmt: skip
    graft = simulator.grafts.grafts[0]
    assert np.allclose(graft.input_scale, [40 / 3.6, np.pi / 2])
    assert np.allclose(graft.output_scale, 2000)
    assert graft.wiring.scaled == ((True, True), True)
    # Rows of both kinds take either unit; a factor has none.
    either = Graft(TAU, V, input_scale={V: "3 rad/s"}, output_scale=0.5, mode="scale")
    graft = grafted(arm(), either).grafts.grafts[0]
    assert (graft.input_scale[0], graft.output_scale[0]) == (3.0, 0.5)


def test_scales_that_are_none():
    """Other dimensions, unknown units, what is not a positive number, inputs that are not there."""
    slide = "joint.qd[slide]"

    def scaled(message, value, text=slide, **more):
        refused(message, "joint.tau[slide]", slide, input_scale={text: value}, **more)

    scaled(r"Scale of joint.qd\[slide\]: '3 s' is not in m/s", "3 s")
    scaled(r"'3 rad/s' is not in m/s", "3 rad/s")
    scaled(r"Scale of joint.qd\[slide\]: unit 'furlong' is not known", "3 furlong")
    scaled("'fast' is not a number with a unit", "fast")
    scaled("'40km/h' is not a number with a unit", "40km/h")
    for bad in (0, -1.0, "-2 m/s", float("nan"), float("inf")):
        scaled(f"must be positive, got {bad}", bad)
    scaled(r"'joint.qd', which is no input. Nearest: joint.qd\[slide\]", 1.0, "joint.qd")
    scaled("Scale of .*'3 N m' is not in N", 1.0, output_scale="3 N m")
    scaled("Scale of .*'3 N' is not in 1", 1.0, output_scale="3 N", mode="scale")
    # A whole array of turning and sliding joints has columns of both kinds.
    refused("'3 m/s' is not in rad/s", "joint.tau", "joint.qd", input_scale={"joint.qd": "3 m/s"})


@pytest.mark.parametrize(
    ("message", "target", "inputs", "structure"),
    [
        ("Odd needs the input 'joint.qd'.*Nearest: joint.qd", TAU, V, Odd("joint.qd")),
        (r"ZeroAtRest needs the input 'joint.qd\[\*\]'", TAU, "joint.qd", ZeroAtRest()),
        (r"Dissipative needs the input 'joint.qd\[\*\]'", TAU, Q, Dissipative()),
        ("link.force or link.com_force, not joint.qdd", "joint.qdd[*]", V, Dissipative()),
        ("not joint.tau, joint.qdd", ("joint.tau[*]", "joint.qdd[*]"), V, Dissipative()),
        ("Dissipative of joint.tau_passive needs joint.qd", TAU, Q, Dissipative(Q)),
        ("needs joint.qd, not 'joint.qd.*@prev'", TAU, f"{V}@prev", Dissipative(f"{V}@prev")),
        (r"has other rows than the target", "joint.tau[slide]", "joint.qd[shoulder]",
         Dissipative("joint.qd[shoulder]")),
        (r"has other rows than the target", TAU, "joint.qd", Dissipative("joint.qd")),
        ("Dissipative of link.force needs link.velocity", "link.force[upper]", "joint.qd[shoulder]",
         Dissipative("joint.qd[shoulder]")),
        ("take out joint.qd", "joint.tau[shoulder]", (Q, V), Conservative()),
        (r"Conservative of joint.tau needs joint.q, not 'state.q'", "joint.tau", "state.q",
         Conservative("state.q")),
        ("other rows", "joint.tau[slide]", "joint.q[shoulder]", Conservative("joint.q[shoulder]")),
        (r"joint.q\[ball.rx\] is a component of a rotation vector", TAU, Q, Conservative()),
        (r"joint.q\[stone.rx\] is a component", "joint.tau[stone*]", Q, Conservative()),
        ("one joint force.*not actuator.force", "actuator.force[*]", Q, Conservative()),
        (r"no link named 'hand'", "link.force", "link.velocity[*]",
         ActionReaction((("upper", "hand"),))),
        (r"two different links.*got \('upper', 'upper'\)", "link.force", "link.velocity[*]",
         ActionReaction((("upper", "upper"),))),
        ("two different links.*got 'upper'", "link.force", "link.velocity[*]",
         ActionReaction(("upper", "lower"))),
        ("at least one pair", "link.force", "link.velocity[*]", ActionReaction(())),
        ("without rows: its pairs are the rows", "link.force[*]", "link.velocity[*]",
         ActionReaction((("upper", "lower"),))),
        ("ActionReaction adds to 'link.force'", "joint.tau", "joint.qd",
         ActionReaction((("upper", "lower"),))),
    ],
)  # fmt: skip
def test_structures_that_would_not_hold(message, target, inputs, structure):
    """Other rows than the target's, other variables, the last step's velocity, rotation vectors."""
    refused(message, target, inputs, MLP(3), structure=structure)


def test_structures_that_would_not_hold_together():
    """One that would be lost around, or by, another; with the order in which both hold."""
    both = (Q, V)
    refused("Dissipative does not hold for what Odd makes of it. The other order keeps both: "
            r"structure=\(Odd\(...\), Dissipative\(...\)\)", TAU, both,
            structure=(Dissipative(), Odd(Q)))  # fmt: skip
    refused("Dissipative does not hold for what ZeroAtRest", TAU, both,
            structure=(Dissipative(), ZeroAtRest(Q)))  # fmt: skip
    refused("Dissipative does not hold .*Take one out", TAU, V,
            structure=(Dissipative(), Dissipative()))  # fmt: skip
    pair = ActionReaction((("upper", "lower"),))
    refused("ActionReaction does not hold .*Take one out", "link.force", "link.velocity[*]",
            structure=(pair, pair))  # fmt: skip
    refused("take out joint.qd", "joint.tau[shoulder]", both,
            structure=(Conservative(), Dissipative()))  # fmt: skip
    for structure in (Dissipative(), Conservative(Q)):
        inputs = V if isinstance(structure, Dissipative) else Q
        refused(
            "not mode 'scale'", "joint.tau[shoulder]", inputs, mode="scale", structure=structure
        )
    refused("mode 'replace'", "link.force", "link.velocity[*]", mode="replace", structure=pair)
    refused("needs a network without memory", TAU, V, GRU(3), structure=Odd())


def test_conservative_takes_the_joints_whose_rate_is_their_velocity():
    """Sliding and turning joints, and the three translations of a free body."""
    for rows in ("shoulder,slide", "stone.x,stone.y,stone.z"):
        grafted(arm(), Graft(f"joint.tau[{rows}]", Q, structure=Conservative()))


def test_state_of_another_robot():
    """A graft stays with its rows: other sizes are refused where they are given."""
    simulator = grafted(arm(), Graft(TAU, Q))
    with pytest.raises(ModelError, match=r"q must have shape \(13,\)"):
        simulator.initial_state(np.zeros(2))
