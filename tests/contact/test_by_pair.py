"""Contact laws by pair: two laws in one scene, one step."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from differences import column_errors, jacobians
from graftsim.contact import Complementarity, LinearComplementarity, SpringDamper
from graftsim.engine.rollout import scan_steps

LAWS = {"ground/*": SpringDamper(), "tip/*": Complementarity()}


def puck(*, tip=True):
    """A puck on three feet, and a tip on a path that pushes it off its centre."""
    b = gs.Builder("puck")
    b.link("height", joint="prismatic", axis=(0, 0, 1))
    b.link("puck", "height", joint="planar", mass=0.8, inertia=1e-3)
    b.geom("plane", (), name="ground", friction=0.2, friction_velocity=0.02)
    for k, (x, y) in enumerate(((0.03, 0.0), (-0.02, 0.03), (-0.02, -0.03))):
        b.geom("sphere", 0.006, "puck", (x, y, 0.006), name=f"foot{k}", friction=0.0)
    b.geom("polygon", (), vertices=((-0.04, -0.04), (0.04, -0.04), (0.04, 0.04), (-0.04, 0.04)),
           link="puck", name="outline")  # fmt: skip
    if tip:
        b.link("tip_x", joint="prismatic", axis=(1, 0, 0), origin=(-0.0462, 0.013, 0.0))
        b.link("tip", "tip_x", joint="prismatic", axis=(0, 1, 0), mass=0.1, inertia=1e-4)
        b.geom("sphere", 0.005, "tip", name="tip")
        b.actuator("x", "tip_x", "path").actuator("y", "tip", "path")
    model = b.build()
    return gs.model.keep_pairs(model, "ground/foot*", *(("tip/outline",) if tip else ()))


def pushed(steps, dt=0.002):
    """Commands of a tip that starts slowly and then goes on along x."""
    t = dt * np.arange(1, steps + 1)
    x = 0.06 * t - 0.06 * 0.05 * (1 - np.exp(-t / 0.05))
    return np.stack([x, 0.1 * x], -1)


def simulator(**options):
    """The puck under both laws."""
    return gs.Simulator(puck(), 0.002, contact=LAWS, **options)


def test_each_law_acts_on_its_own_pairs():
    """Two balls on one floor, a law each, move as they do in scenes of their own."""

    def balls(*names):
        b = gs.Builder("balls").geom("plane", (), name="floor")
        for k, name in enumerate(names):
            b.link(name, joint="free", mass=0.3, inertia=5e-4, origin=(k, 0, 0.12))
            b.geom("sphere", 0.1, name, name=name, restitution=0.5, stiffness=1e5)
        return gs.model.keep_pairs(b.build(), "floor/*")

    # An impact would cut the step of all.
    laws = {"floor/soft": SpringDamper(), "floor/hard": Complementarity(max_impacts=0)}
    both = gs.Simulator(balls("soft", "hard"), 0.002, contact=laws)
    record = ("contact.force_n", "contact.depth")
    state = both.initial_state(qd={"soft.x": 0.3, "hard.x": 0.3})
    run = both.rollout(state, steps=150, record=record)
    for k, name in enumerate(("soft", "hard")):
        alone = gs.Simulator(balls(name), 0.002, contact=laws[f"floor/{name}"])
        one = alone.rollout(alone.initial_state(qd={f"{name}.x": 0.3}), steps=150, record=record)
        own = run.q[:, 7 * k : 7 * k + 7]
        np.testing.assert_allclose(own, one.q, rtol=1e-12, atol=1e-12)
        assert float(jnp.max(one.recorded["contact.force_n"])) > 10
        for key in record:
            np.testing.assert_allclose(
                run.recorded[key][:, k], one.recorded[key][:, 0], rtol=1e-9, atol=1e-11
            )


def test_a_pushed_puck():
    """The puck goes with the tip; what pushes it is what friction and its inertia take."""
    s = simulator()
    record = ("contact.force_n", "contact.force_t", "joint.reaction", "contact.depth")
    run = s.rollout(s.initial_state({"height": -2e-4}), pushed(300), record=record)
    assert float(run.q[-1, 1]) > 0.01
    force, drag = run.recorded["contact.force_n"], run.recorded["contact.force_t"]
    assert float(jnp.min(force[:, :3])) > 0.5
    assert float(jnp.max(run.recorded["contact.depth"][:, 3])) < 1e-4
    # Momentum of puck and tip along x: friction of the ground and the tip's reaction.
    momentum = 0.8 * run.qd[-1, 1] + 0.1 * run.qd[-1, 4]
    given = jnp.sum(run.recorded["joint.reaction"][:, 4]) + jnp.sum(drag[:, :3, 0])
    assert float(0.002 * given) == pytest.approx(float(momentum), rel=1e-9)


def test_gradients_and_backends():
    """Through both laws and the tip's path, in both modes; kernels and XLA agree."""
    laws = LAWS | {"tip/*": Complementarity(max_impacts=1)}
    s = gs.Simulator(puck(), 0.002, contact=laws)
    state = s.initial_state({"height": -2e-4})
    u, rows = pushed(80), np.array([1, 2, 3])

    def end(x):
        path = x[2]
        moved = eqx.tree_at(lambda s: (s.model.pair.friction, s.model.link.mass), s, x[:2])
        last = scan_steps(moved, state, jnp.asarray(u) * path)
        return last.q[-1, rows]

    x = (s.model.pair.friction, s.model.link.mass, jnp.ones(2))
    forward, reverse, differences = jacobians(end, 1e-4)(x)
    assert np.abs(differences).max() > 1e-3
    assert column_errors(forward, differences).max() < 1e-6
    np.testing.assert_allclose(forward, reverse, atol=1e-8)

    def where(scale):
        return s.rollout(state, u * scale, backend="kernel").q[-1, 1]

    value, slope = jax.value_and_grad(where)(jnp.ones(2))
    assert float(value) == pytest.approx(float(end(x)[0]), rel=1e-9)
    np.testing.assert_allclose(slope, reverse[0, -2:], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(
    ("laws", "message"),
    [
        ({"ground/*": SpringDamper()}, "no law for tip/outline"),
        ({"*": SpringDamper(), "tip/*": Complementarity()}, r"'tip/outline' is named by '\*' and"),
        ({"ground/*": SpringDamper(), "tips/*": Complementarity()}, "'tips/\\*' names no pair"),
        (
            {"ground/*": LinearComplementarity(), "tip/*": Complementarity()},
            "'ground/\\*', 'tip/\\*' have laws of impulses",
        ),
        ({}, "at least one law"),
        ({"*": "springs"}, "must be a contact law"),
    ],
)
def test_a_pair_has_one_law(laws, message):
    """No law or two, a pattern of nothing, two laws of impulses: each is named."""
    with pytest.raises(gs.ModelError, match=message):
        gs.Simulator(puck(), 0.002, contact=laws)


def test_springs_alone_run_with_runge_kutta():
    """Two laws of forces need no impulses; an impulse law is refused there."""
    laws = {"ground/*": SpringDamper(), "tip/*": SpringDamper(1.0, friction="coulomb")}
    s = gs.Simulator(puck(), 5e-4, contact=laws, integrator=gs.RungeKutta4())
    run = s.rollout(s.initial_state({"height": -2e-4}), pushed(50, 5e-4))
    assert np.all(np.isfinite(run.q))
    with pytest.raises(gs.ModelError, match="changes velocities by impulses"):
        simulator(integrator=gs.RungeKutta4())


def test_grafts_see_what_is_known():
    """A network on the feet's friction sees the tip's normal, not its force of the same step."""
    s = simulator()
    seen = gs.Graft(
        "contact.force_t[ground/*]",
        ("contact.force_n[*]", "contact.normal[tip/outline]", "contact.depth[tip/outline]"),
        gs.MLP(4),
        name="feet",
    )
    grafted = s.graft(gs.Blueprint(seen))
    weights = jnp.full_like(grafted.grafts["feet"].trainable, 0.1)
    changed = grafted.grafts.replace("feet", grafted.grafts["feet"].with_trainable(weights))
    grafted = eqx.tree_at(lambda s: s.grafts, grafted, changed)
    u, start = pushed(100), s.initial_state({"height": -2e-4})
    record = ("graft.feet", "inputs.feet", "contact.normal", "contact.force_n")
    run = grafted.rollout(start, u, record=record)
    inputs, normal = run.recorded["inputs.feet"], run.recorded["contact.normal"]
    np.testing.assert_allclose(inputs[:, 1, 1:4], normal[:, 3], atol=1e-12)
    # Before the tip's impact: forces of a step that it cuts are means over the pieces.
    before = int(jnp.argmax(run.recorded["contact.force_n"][:, 3] > 0))
    assert before > 10
    np.testing.assert_allclose(
        inputs[:before, :, 0], run.recorded["contact.force_n"][:before, :3], rtol=1e-12
    )
    assert float(jnp.abs(run.q[-1] - s.rollout(start, u).q[-1]).max()) > 1e-6
    later = gs.Graft("contact.force_t[ground/*]", "contact.force_n[tip/outline]", gs.MLP(4))
    with pytest.raises(gs.VariableError, match=r"acts later in the step than contact\.force_t"):
        s.graft(gs.Blueprint(later)).rollout(start, u)
    with pytest.raises(gs.VariableError, match="rows of several contact laws"):
        s.graft(gs.Blueprint(gs.Graft("contact.force_n[*]", "contact.depth[*]", gs.MLP(4)))).step(
            start
        )
    tip = gs.Graft("contact.force_n[tip/outline]", "contact.velocity_t[*]", gs.MLP(4), name="tip")
    moved = s.graft(gs.Blueprint(tip)).rollout(
        start, u, record=("inputs.tip", "contact.velocity_t")
    )
    np.testing.assert_allclose(
        moved.recorded["inputs.tip"][:, 0], moved.recorded["contact.velocity_t"][:, 3], atol=1e-12
    )
