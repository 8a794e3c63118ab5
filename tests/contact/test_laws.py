"""Contact in the engine: closed forms, forces that can be read, kernels, grafts, warnings."""

from dataclasses import replace

import conformance_cases
import conformance_rows
import conformance_scenes as scenes
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
import zoo
from graftsim.contact import Complementarity, LinearComplementarity, SpringDamper
from graftsim.engine.rollout import scan_steps

LAWS = {"ncp": Complementarity(), "lcp": LinearComplementarity(), "compliant": SpringDamper()}
QUICK = ("P4", "P5", "P6")
ROWS = [
    pytest.param(row, marks=() if row in QUICK else pytest.mark.slow)
    for row in conformance_cases.CASES
    if not row.startswith("G17")
]


@pytest.mark.parametrize("row", ROWS)
def test_conformance(row):
    """All laws have the right answer of every row; values and gradients, on kernels."""
    if row == "P8" and not conformance_cases.FOLDER.is_dir():
        pytest.skip(f"no robot files in {conformance_cases.FOLDER}")
    answers = {model: (text, right) for model, text, right in conformance_cases.CASES[row]()}
    for model in answers:
        assert answers[model][1], (row, model, answers[model][0], conformance_rows.ROWS[row].answer)


def still(law, model, steps=200, **start):
    simulator = gs.Simulator(model, 0.002, contact=law)
    state = simulator.initial_state(start)
    record = ("contact.force_n", "contact.force_t", "contact.depth")
    return zoo.rollout(simulator, state, jnp.zeros((steps, 0)), record)


def test_box_on_four_corners_carries_its_weight():
    """Redundant contacts: the sum is the weight, the four share it, and nothing moves."""
    moved = still(LAWS["ncp"], scenes.box(), **{"box.z": 0.2})
    force = np.asarray(moved.recorded["contact.force_n"][-1])
    assert force.sum() == pytest.approx(9.81, rel=1e-8)
    # How they share it is decided by the regularisation, to the solver's tolerance.
    np.testing.assert_allclose(np.sort(force)[4:], 9.81 / 4, rtol=1e-5)
    np.testing.assert_allclose(moved.q[-1, :3], [0, 0, 0.2], atol=1e-9)


def dropped(law, speed):
    """Where a tilted box comes to after its first impacts, from a speed along the floor."""
    simulator = gs.Simulator(scenes.box(), 0.002, contact=law)
    start = simulator.initial_state([0, 0, 0.35, 0.98, 0.15, 0.1, 0], {"box.z": -1.0})
    start = replace(start, qd=start.qd.at[0].set(speed))
    return scan_steps(simulator, start, jnp.zeros((71, 0))).states.q[-1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Complementarity, LinearComplementarity])
def test_the_contacts_nearest_to_closing_are_enough(kind):
    """Four corners of eight: the same motion and the same slopes as with all."""

    def slope(n):
        law = kind(max_contacts=n)
        return zoo.jit(jax.value_and_grad(lambda v: dropped(law, v)[0]))(1.0)

    every, some = slope(8), slope(4)
    np.testing.assert_allclose(every, some, rtol=1e-6)


@pytest.mark.parametrize("law", ["ncp", pytest.param("lcp", marks=pytest.mark.slow)])
def test_a_landing_box_leaves_nothing_open(law):
    """Redundant corners, sticking and sliding: each step is solved to 1e-5 m/s."""
    simulator = gs.Simulator(scenes.box(), 0.002, contact=LAWS[law])
    start = simulator.initial_state([0, 0, 0.35, 0.98, 0.15, 0.1, 0], [1, 0, -1, 0, 0, 0])
    record = ("contact.residual",)
    left = zoo.rollout(simulator, start, jnp.zeros((150, 0)), record).recorded[record[0]]
    assert float(jnp.max(left)) < 1e-5


def test_a_contact_that_waits_shows_in_the_residual():
    """One corner is solved for at a time: three keep the speed that they meet the floor with.

    The fourth, solved for in the impact, waits in the rest of the step with what gravity adds.
    """
    simulator = gs.Simulator(scenes.box(), 0.002, contact=Complementarity(max_contacts=1))
    start = simulator.initial_state({"box.z": 0.2}, {"box.z": -1.0})
    record = ("contact.residual",)
    left = np.sort(zoo.rollout(simulator, start, jnp.zeros((1, 0)), record).recorded[record[0]][0])
    np.testing.assert_allclose(left[-3:], 1.0, rtol=1e-6)
    assert left[-4] == pytest.approx(0.002 * 9.81, rel=1e-6)


def test_a_loop_over_contacts_is_the_straight_code(monkeypatch):
    """Two ways to write the same solution."""
    straight = zoo.jit(lambda v: dropped(LAWS["ncp"], v))(1.0)
    monkeypatch.setattr("graftsim.contact.impulses.straight", lambda *_: False)
    np.testing.assert_allclose(zoo.jit(lambda v: dropped(LAWS["ncp"], v))(1.0), straight, rtol=1e-7)


def test_contact_rows_have_names():
    """Contacts are labelled by their pair, several of one pair with a number."""
    simulator = gs.Simulator(scenes.box(), 0.002, contact=LAWS["ncp"])
    shape, _, labels = simulator.variables()["contact.force_n"]
    assert shape == (8,)
    assert labels[:2] == ("floor/box.0", "floor/box.1")


def test_variables_of_contact_need_a_law():
    """Asked for without one, the message says what to do."""
    simulator = gs.Simulator(scenes.box(), 0.002)
    with pytest.raises(gs.VariableError, match="needs a contact law"):
        simulator.rollout(simulator.initial_state(), steps=1, record=("contact.depth",))


def test_nothing_touches_without_contact():
    """A law changes nothing while shapes are apart: the same numbers to the last bit."""
    model = scenes.ball()
    free, bound = gs.Simulator(model, 0.01), gs.Simulator(model, 0.01, contact=LAWS["ncp"])
    start = free.initial_state({"ball.z": 50.0}, {"ball.x": 1.0})
    u = jnp.zeros((20, 0))
    np.testing.assert_array_equal(
        zoo.rollout(free, start, u, ()).q, zoo.rollout(bound, start, u, ()).q
    )


@pytest.mark.slow
def test_kernels_agree_with_xla():
    """A spinning ball that bounces, value and gradient, on both."""
    model = scenes.ball(0.3)
    simulator = gs.Simulator(model, 0.004, contact=LAWS["ncp"])
    start = simulator.initial_state({"ball.z": 0.15}, {"ball.x": 1.0, "ball.ry": 2.0})
    u = jnp.zeros((60, 0))

    def final(v, run):
        return run(replace(start, qd=start.qd.at[4].set(v)))

    def traced(s):
        return scan_steps(simulator, s, u).states.q[-1, 0]

    def compiled(s):
        return simulator.rollout(s, u, backend="kernel").q[-1, 0]

    xla = zoo.jit(jax.value_and_grad(lambda v: final(v, traced)))(2.0)
    kernel = jax.value_and_grad(lambda v: final(v, compiled))(2.0)
    np.testing.assert_allclose(xla, kernel, rtol=1e-6)


def test_a_graft_acts_where_shapes_touch_only():
    """A network that adds force to every contact changes nothing in free flight."""
    model = scenes.ball()
    simulator = gs.Simulator(model, 0.002, contact=LAWS["compliant"])
    graft = gs.Graft("contact.force_n[*]", inputs=("contact.depth[*]",), network=gs.MLP(4))
    hybrid = simulator.graft(gs.Blueprint(graft), key=jax.random.key(0))
    network = jax.tree.map(lambda x: x + 1.0, hybrid.grafts)
    hybrid = replace(hybrid, grafts=network)
    u = jnp.zeros((5, 0))
    for height, same in ((0.9, True), (0.09, False)):
        start = simulator.initial_state({"ball.z": height})
        plain = zoo.rollout(simulator, start, u, ()).q
        other = zoo.rollout(hybrid, start, u, ()).q
        assert np.array_equal(plain, other) is same


def test_impulses_do_not_go_into_runge_kutta():
    """Said when the simulator is made."""
    with pytest.raises(gs.ModelError, match="cannot integrate"):
        gs.Simulator(scenes.ball(), 0.01, contact=LAWS["ncp"], integrator=gs.RungeKutta4())


def test_a_step_too_long_for_a_spring_names_the_pair():
    """A warning before the simulation diverges."""
    model = gs.model.with_leaf(scenes.ball(), "pair.stiffness", jnp.array([1e9]))
    with pytest.warns(gs.GraftsimWarning, match=r"floor/ball \(stiffness"):
        gs.Simulator(model, 0.01, contact=LAWS["compliant"])


def test_directions_must_surround():
    """Friction in one half of the plane only is refused."""
    with pytest.raises(gs.ModelError, match="leave a gap"):
        LinearComplementarity(directions=(0.0, 1.0))


@pytest.mark.parametrize("law", [pytest.param("ncp", marks=pytest.mark.slow), "compliant"])
def test_parameters_of_pairs_have_gradients(law):
    """Each number of a pair acts, under the law that uses it (conformance G13)."""
    used = {"ncp": ("friction", "restitution", "cfm")}.get(
        law, ("friction", "stribeck", "friction_velocity", "stiffness", "dissipation")
    )
    model = scenes.ball(0.3, cfm=0.1, stribeck=0.2, friction=0.5)
    simulator = gs.Simulator(model, 0.002, contact=LAWS[law])
    start = simulator.initial_state({"ball.z": 0.1005}, {"ball.x": 3.0, "ball.z": -0.5})

    def final(pair):
        changed = replace(simulator, model=replace(model, pair=pair))
        return jnp.sum(scan_steps(changed, start, jnp.zeros((20, 0))).states.q[-1])

    slopes = zoo.jit(jax.grad(final))(model.pair)
    for name in used:
        assert abs(float(getattr(slopes, name)[0])) > 0, name
