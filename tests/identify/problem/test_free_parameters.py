"""Free parameters: what a selector names, start, limits and units, and how they are written."""

import machines
import numpy as np
import pytest

from graftsim import Bounds, Custom, Domain, Positive, Prior, ProblemError, Unbounded, VariableError
from graftsim.identify.problem.parameters import DEFAULT_DOMAINS, Parameters, default_domain
from graftsim.model.catalogue import PARAMETERS, leaf, with_leaf


@pytest.fixture(scope="module")
def cart():
    """A slide, an arm, a hand, with two sensors."""
    return machines.setup(machines.cart(), ("joint.q[hinge]", "link.heading[tool]"))


def written(setup, free, values):
    """The model after writing values, and the vector's description."""
    parameters = Parameters(setup, free)
    return parameters.apply(setup, np.asarray(values, float)), parameters


def test_rows_by_pattern(cart):
    """Patterns name rows by label, in the order of the array; the rest stays as it is."""
    new, p = written(cart, {"joint.damping[hinge, w*]": Positive()}, [0.3, 0.4])
    assert p.names == ("joint.damping[hinge]", "joint.damping[wrist]")
    np.testing.assert_array_equal(p.start, [0.1, 0.05])
    np.testing.assert_array_equal(new.simulator.model.joint.damping, [1.0, 0.3, 0.4])


def test_no_bracket_is_every_row(cart):
    """A name alone selects the whole array."""
    assert (
        Parameters(cart, {"link.mass": Positive()}).names
        == Parameters(cart, {"link.mass[*]": Positive()}).names
    )


def test_component_of_a_vector(cart):
    """A component after the bracket is one number a row; the others of that row stay."""
    new, p = written(cart, {"link.com[arm].y": Unbounded()}, [0.07])
    assert p.names == ("link.com[arm].y",)
    assert p.units == ("m",)
    np.testing.assert_array_equal(new.simulator.model.link.com[1], [0.01, 0.07, -0.3])


def test_all_components_and_inertia(cart):
    """Without a component all of them are free, named; inertia has six."""
    p = Parameters(cart, {"link.com[arm]": Unbounded(), "link.inertia[arm]": Unbounded()})
    assert p.names[:3] == tuple(f"link.com[arm].{c}" for c in "xyz")
    assert [n.rsplit(".")[-1] for n in p.names[3:]] == ["xx", "yy", "zz", "xy", "xz", "yz"]
    np.testing.assert_array_equal(p.start[3:], [0.02, 0.02, 0.001, 0, 0, 0])


def test_shared_rows_take_one_number(cart):
    """`shared` gives all selected rows one entry, named by the selector as it was written."""
    new, p = written(cart, {"joint.damping[hinge,wrist]": Positive(shared=True)}, [0.7])
    assert p.names == ("joint.damping[hinge,wrist]",)
    np.testing.assert_array_equal(new.simulator.model.joint.damping, [1.0, 0.7, 0.7])


def test_several_components_can_share(cart):
    """Components listed after the bracket are free together, or share one number."""
    p = Parameters(cart, {"link.inertia[arm].xx,yy": Positive()})
    assert p.names == ("link.inertia[arm].xx", "link.inertia[arm].yy")
    new, p = written(cart, {"link.inertia[arm].xx,yy": Positive(shared=True)}, [0.03])
    assert len(p) == 1
    np.testing.assert_array_equal(new.simulator.model.link.inertia[1], [0.03, 0.03, 0.001, 0, 0, 0])


def test_blocks_follow_each_other(cart):
    """Several selections become one vector, each entry with its bounds, prior and unit."""
    prior = Prior(0.5, 0.1)
    p = Parameters(
        cart, {"link.mass[arm]": Bounds(0.1, 5, prior=prior), "joint.damping[wrist]": Positive()}
    )
    np.testing.assert_array_equal(p.lower, [0.1, 0.0])
    np.testing.assert_array_equal(p.upper, [5, np.inf])
    np.testing.assert_array_equal(p.prior_mean, [0.5, 0.0])
    np.testing.assert_array_equal(p.prior_std, [0.1, np.inf])
    assert p.units == ("kg", "N m s/rad")
    assert len(p) == 2


@pytest.mark.parametrize(
    ("selector", "unit"),
    [
        ("joint.damping[slide]", "N s/m"),
        ("joint.damping[hinge]", "N m s/rad"),
        ("joint.armature[slide]", "kg"),
        ("joint.armature[wrist]", "kg m^2"),
        ("joint.rest[slide]", "m"),
        ("joint.rest[hinge]", "rad"),
        ("actuator.gain[motor]", "N"),
        ("simulator.dt", "s"),
        ("sensor.delay[*]", "s"),
        ("world.gravity[z]", "m/s^2"),
    ],
)
def test_unit_follows_the_degree_of_freedom(cart, selector, unit):
    """A slide has the units of sliding, a hinge those of turning."""
    assert set(Parameters(cart, {selector: Unbounded()}).units) == {unit}


def test_custom_reparametrisation(cart):
    """A function of the user's moves several leaves at once, and starts where it says."""

    def apply(model, x):
        from graftsim.model.catalogue import with_leaf

        return with_leaf(model, "link.mass", leaf(model, "link.mass") * x[0])

    custom = Custom(("factor",), (1.0,), apply, unit="1", domain=Domain(lower=0.1))
    new, p = written(cart, {"payload": custom}, [2.0])
    assert p.names == ("payload[factor]",)
    assert (p.start[0], p.lower[0], p.units) == (1.0, 0.1, ("1",))
    np.testing.assert_array_equal(new.simulator.model.link.mass, [4.0, 1.0, 0.4])


def test_step_size_as_a_parameter(cart):
    """`simulator.dt` is free like any number (a film whose frame rate is not what it says)."""
    new, p = written(cart, {"simulator.dt": Bounds(0.005, 0.02)}, [0.012])
    assert p.names == ("simulator.dt",)
    assert float(new.simulator.dt) == 0.012


def test_sensor_parameters(cart):
    """Scale, offset and delay of sensors are selected by `kind:label`."""
    new, p = written(
        cart,
        {"sensor.offset[joint.q:hinge]": Unbounded(), "sensor.scale[*]": Positive()},
        [0.2, 1.1, 0.9],
    )
    assert p.names[0] == "sensor.offset[joint.q:hinge]"
    assert p.names[2] == "sensor.scale[link.heading:tool]"
    np.testing.assert_array_equal(new.sensors.offset, [0.2, 0.0])
    np.testing.assert_array_equal(new.sensors.scale, [1.1, 0.9])
    shared, _ = written(cart, {"sensor.delay[*]": Positive(shared=True)}, [0.01])
    np.testing.assert_array_equal(shared.sensors.delay, [0.01, 0.01])


def test_default_domains_are_what_physics_allows():
    """A plain selector is bounded where a value beyond would be no physics."""
    assert default_domain("joint.damping[*]").lower == 0
    assert default_domain("link.mass[arm]").lower > 0
    assert default_domain("link.com[arm].y") == Domain()
    assert default_domain("simulator.dt").lower > 0
    named = {n for n in DEFAULT_DOMAINS if not n.startswith(("sensor.", "simulator.", "link.len"))}
    assert named <= set(PARAMETERS)


@pytest.mark.parametrize(
    ("free", "parts"),
    [
        (
            {"joint.damping[elbow]": Positive()},
            ["joint.damping[elbow]", "selects nothing", "hinge"],
        ),
        ({"joint.dampin[*]": Positive()}, ["no parameter 'joint.dampin'", "joint.damping"]),
        ({"joint.damping[hinge].x": Positive()}, ["one number a row", "'.x'"]),
        ({"link.com[arm].u": Unbounded()}, ["link.com[arm].u", "x, y, z"]),
        (
            {"joint.damping[*]": Positive(), "joint.damping[hinge]": Positive()},
            ["Selected twice", "joint.damping[hinge]"],
        ),
        (
            {"link.mass[arm]": Bounds(1, 2)},
            ["link.mass[arm] starts at 0.5 kg", "outside its bounds [1, 2]", "Widen"],
        ),
        ({"joint.upper[hinge]": Unbounded()}, ["joint.upper[hinge]", "not finite"]),
        ({"sensor.gain[*]": Positive()}, ["no sensor parameter 'gain'", "scale, offset, delay"]),
        ({"sensor.scale[joint.q:elbow]": Positive()}, ["selects no sensor", "joint.q:hinge"]),
        ({"simulator.steps": Positive()}, ["no parameter 'simulator.steps'"]),
        ({"link.length[leg]": Positive()}, ["link.length[leg]", "selects nothing"]),
        ({"simulator.dt": Bounds(0.1, 1)}, ["simulator.dt starts at 0.01 s", "outside"]),
    ],
)
def test_wrong_selections_are_named(cart, free, parts):
    """Each wrong selection says which, why, and what is near it."""
    with pytest.raises(ProblemError) as error:
        Parameters(cart, free)
    for part in parts:
        assert part in str(error.value)


@pytest.mark.parametrize("text", ["damping", "joint.damping[", "joint.damping[a]b", "a b.c", ""])
def test_form_of_a_selector(cart, text):
    """What is not of the form family.quantity[rows] is refused with the form."""
    with pytest.raises(VariableError, match=r"family\.quantity"):
        Parameters(cart, {text: Positive()})


def test_impossible_domains_and_priors():
    """Empty intervals and priors without width are refused where they are made."""
    with pytest.raises(ProblemError, match="Empty interval"):
        Bounds(2, 1)
    for mean, std in ((0, 0), (0, -1), (0, np.inf), (np.nan, 1), (0, np.nan)):
        with pytest.raises(ProblemError, match="prior"):
            Prior(mean, std)


@pytest.mark.parametrize(
    ("free", "part"),
    [
        ({"link.inertial[arm].x": Unbounded()}, "no components"),
        ({"sensor.offset[*].x": Unbounded()}, "no components"),
        ({"link.length[*]": Positive(shared=True)}, "cannot be shared"),
        ({"link.com[arm]": Unbounded(shared=True)}, "cannot share one number"),
        ({"joint.damping[*]": Positive(shared=True)}, "cannot share one number"),
    ],
)
def test_nothing_of_a_selection_is_ignored(cart, free, part):
    """A component or a shared number that would mean nothing is refused."""
    with pytest.raises(ProblemError, match=part):
        Parameters(cart, free)


def test_unit_of_an_offset_is_the_sensors(cart):
    """The offset of a joint's sensor is in rad, that of a direction has no unit."""
    p = Parameters(cart, {"sensor.offset[*]": Unbounded(), "sensor.scale[*]": Positive()})
    assert p.units == ("rad", "1", "1", "1")


def test_positive_leaves_out_the_zero_that_a_model_cannot_have():
    """The width of friction's sign change stays above a jump, or its start; damping may be 0."""
    free = {"joint.friction_velocity[*]": Positive(), "joint.damping[*]": Positive()}
    for width, least in ((0.1, 5e-3), (1e-3, 1e-3)):
        model = with_leaf(machines.arm(), "joint.friction_velocity", np.array([width]))
        np.testing.assert_array_equal(Parameters(machines.setup(model), free).lower, [least, 0.0])
