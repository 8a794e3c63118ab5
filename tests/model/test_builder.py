"""Building mechanisms: what is refused, with which words, and what stands in the result."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftsim.engine import Simulator
from graftsim.errors import ModelError
from graftsim.model import Builder
from graftsim.model.catalogue import labels, leaf, row_unit, with_leaf

BODY = {"mass": 1.0, "inertia": 0.1}


def arm():
    """Two hinged links."""
    return Builder("arm").link("upper", **BODY).link("lower", "upper", joint_name="elbow", **BODY)


REFUSED = {
    "no link": (lambda: Builder("empty").build(), "'empty' has no link"),
    "repeated link": (lambda: arm().link("upper"), "'upper' is declared twice"),
    "reserved name": (lambda: Builder().link("world"), "reserved name 'world'"),
    "unknown parent": (lambda: arm().link("hand", "lowr"), "'hand'.*'lowr'.*Nearest: lower"),
    "unknown joint type": (
        lambda: arm().link("hand", "lower", "sperical"),
        "'hand'.*'sperical'.*Nearest: spherical",
    ),
    "repeated joint": (
        lambda: arm().link("hand", "lower", joint_name="elbow", **BODY),
        "Joint 'elbow' is declared twice",
    ),
    "unknown number of a link": (
        lambda: Builder().link("a", dampng=0.1),
        "link 'a': there is no number 'dampng'.*Nearest: damping",
    ),
    "unknown number of an actuator": (
        lambda: arm().actuator("m", "elbow", gian=2.0),
        "Actuator 'm': there is no number 'gian'.*Nearest: gain",
    ),
    "negative mass": (lambda: Builder().link("a", mass=-1.0), "link 'a': mass -1.0 kg"),
    "mass not a number": (lambda: Builder().link("a", mass=np.nan), "link 'a': mass nan kg"),
    "infinite mass": (lambda: Builder().link("a", mass=np.inf), "link 'a': mass inf kg"),
    "triangle inequality": (
        lambda: Builder().link("a", mass=1.0, inertia=(1, 1, 3)),
        "link 'a': inertia breaks the triangle inequality",
    ),
    "indefinite inertia": (
        lambda: Builder().link("a", mass=1.0, inertia=(1, 1, 1, 2, 0, 0)),
        "link 'a': inertia is not positive",
    ),
    "inertia of four numbers": (
        lambda: Builder().link("a", mass=1.0, inertia=(1, 1, 1, 1)),
        "link 'a': inertia must be 1, 3 or 6",
    ),
    "zero axis": (lambda: Builder().link("a", axis=(0, 0, 0)), "link 'a': axis is zero"),
    "short origin": (lambda: Builder().link("a", origin=(0, 0)), "link 'a': origin must be 3"),
    "zero quaternion": (
        lambda: Builder().link("a", rotation=(0, 0, 0, 0)),
        "link 'a': rotation is zero",
    ),
    "wrong number of dampings": (
        lambda: Builder().link("a", joint="free", damping=(1, 2)),
        "link 'a': damping must be one number or 6",
    ),
    "damping not a number": (
        lambda: Builder().link("a", damping=np.nan),
        "link 'a': damping must be one number",
    ),
    "short rest": (
        lambda: Builder().link("a", joint="spherical", rest=(0, 0, 0)),
        "link 'a': rest must be 4",
    ),
    "massless end": (
        lambda: arm().link("hand", "lower").build(),
        "'hand' moves but neither it nor anything it carries has mass",
    ),
    "no inertia about its hinge": (
        lambda: Builder().link("rotor", mass=1.0).build(),
        "'rotor'.*no inertia",
    ),
    "rod without inertia along it": (
        lambda: Builder().link("rod", joint="spherical", mass=1.0, com=(0, 0, 1)).build(),
        "'rod'.*no inertia about its spherical joint",
    ),
    "free point": (
        lambda: Builder().link("point", joint="free", mass=1.0, com=(0, 0, 1)).build(),
        "'point'.*no inertia about its free joint",
    ),
    "unknown shape": (lambda: arm().geom("bal", 1.0, "upper"), "kind 'bal'.*sphere, capsule"),
    "sizes missing": (lambda: arm().geom("box", (1, 1), "upper"), "a box needs 3 positive sizes"),
    "negative size": (lambda: arm().geom("sphere", -1.0, "upper"), "needs 1 positive sizes"),
    "vertices of a sphere": (
        lambda: arm().geom("sphere", 1.0, "upper", vertices=np.zeros((4, 3))),
        "vertices belong to meshes and polygons",
    ),
    "shape on nothing": (
        lambda: arm().geom("sphere", 1.0, "uper", name="ball").build(),
        "Shape 'ball': no link 'uper'.*upper",
    ),
    "repeated shape": (
        lambda: arm().geom("sphere", 1.0, name="b").geom("sphere", 1.0, name="b"),
        "Shape 'b' is declared twice",
    ),
    "frame on nothing": (
        lambda: arm().frame("tool", "hand").build(),
        "Frame 'tool': no link 'hand'",
    ),
    "frame with a link's name": (
        lambda: arm().frame("upper", "lower"),
        "Frame 'upper' has the name of a link",
    ),
    "actuator on nothing": (
        lambda: arm().actuator("motor", "ellbow").build(),
        "Actuator 'motor'.*'ellbow'.*Nearest: elbow",
    ),
    "unknown actuator": (
        lambda: arm().actuator("motor", "elbow", "pneumatic"),
        "Actuator 'motor': kind 'pneumatic'",
    ),
    "empty control range": (
        lambda: arm().actuator("motor", "elbow", control_range=(1, 1)),
        "Actuator 'motor': control_range",
    ),
    "negative time constant": (
        lambda: arm().actuator("motor", "elbow", time_constant=0.0),
        "Actuator 'motor': time_constant must be positive",
    ),
    "gravity": (lambda: Builder(gravity=(0, 0)).link("a", **BODY).build(), "gravity must be 3"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what):
    """Each impossible declaration is refused with a message that names the thing."""
    build, message = REFUSED[what]
    with pytest.raises(ModelError, match=message):
        build()


def test_light_links_that_can_be():
    """Massless links that carry mass, or whose joint has armature, are accepted."""
    Builder().link("a").link("b", "a", origin=(1, 0, 0), **BODY).build()
    Builder().link("rotor", armature=0.1).build()
    Builder().link("slider", joint="prismatic", mass=1.0).build()
    # A point mass off the axis has inertia about it, its own or that of a link fixed to it.
    Builder().link("bob", mass=1.0, com=(1, 0, 0)).build()
    Builder().link("axle", mass=1.0).link(
        "bob", "axle", "fixed", origin=(1, 0, 0), mass=1.0
    ).build()


def test_numbers_are_as_given():
    """Quantities arrive in their leaves, in order, axes and quaternions normalised."""
    model = (
        Builder("m", gravity=(1, 2, 3))
        .link("base", joint="free", joint_name="root", damping=(1, 2, 3, 4, 5, 6), **BODY)
        .link("arm", "base", axis=(0, 3, 4), rotation=(2, 0, 0, 0), mass=2.0, inertia=(1, 2, 2.5))
        .frame("tool", "arm", (0, 0, 1))
        .actuator("motor", "root.rz", gear=3.0)
        .build()
    )
    assert np.allclose(leaf(model, "joint.axis")[1], [0, 0.6, 0.8])
    assert np.allclose(leaf(model, "joint.rotation")[1], [1, 0, 0, 0])
    assert np.allclose(leaf(model, "joint.damping"), [1, 2, 3, 4, 5, 6, 0])
    assert np.allclose(leaf(model, "link.inertia")[1], [1, 2, 2.5, 0, 0, 0])
    assert np.allclose(leaf(model, "world.gravity"), [1, 2, 3])
    assert model.tree.dofs == (*(f"root.{s}" for s in ("x", "y", "z", "rx", "ry", "rz")), "arm")
    assert model.actuator.dof == (5,)
    assert (model.nq, model.nv, model.nu) == (8, 7, 1)
    assert "2 links" in repr(model)


def test_leaves_by_name():
    """Leaves are read and replaced by name, units follow the joint, a wrong name is refused."""
    model = (
        Builder()
        .link("base", joint="planar", **BODY)
        .link("arm", "base", joint="prismatic", **BODY)
        .actuator("motor", "arm")
        .build()
    )
    assert labels(model, "dof") == ("base.x", "base.y", "base.yaw", "arm")
    assert np.allclose(with_leaf(model, "link.mass", jnp.ones(2) * 3).link.mass, 3)
    array = with_leaf(model.astype("float32"), "link.mass", np.ones(2)).link.mass
    assert isinstance(array, jax.Array) and array.dtype == "float32"
    assert with_leaf(model, "link.mass", np.ones((5, 2))).link.mass.shape == (5, 2)
    with pytest.raises(ModelError, match=r"link.mass has the shape \(2,\).*there \(3,\)"):
        with_leaf(model, "link.mass", np.ones(3))
    with pytest.raises(ModelError, match=r"there \(\)"):
        with_leaf(model, "link.mass", 1.0)
    assert [row_unit(model, "joint.damping", i) for i in (0, 2)] == ["N s/m", "N m s/rad"]
    assert row_unit(model, "actuator.gain", 0) == "N"
    assert row_unit(model, "joint.rest", 3) == "m"
    with pytest.raises(ModelError, match=r"'link.mas'.*Nearest: link.mass"):
        leaf(model, "link.mas")
    with pytest.raises(ModelError, match=r"'joint.dampin'.*joint.damping"):
        with_leaf(model, "joint.dampin", 0.0)


def test_units_of_planar_coordinates():
    """The slides of a planar joint and of a free one are metres, in the rest position too."""
    model = (
        Builder()
        .link("disc", joint="planar", **BODY)
        .link("stone", joint="free", **BODY)
        .link("ball", joint="spherical", **BODY)
        .build()
    )
    units = [row_unit(model, "joint.rest", i) for i in range(model.nq)]
    assert units == ["m", "m", "rad", "m", "m", "m", *["1"] * 8]


def test_initial_state():
    """Coordinates by label or as an array; wrong labels and lengths are refused."""
    simulator = Simulator(arm().build())
    state = simulator.initial_state(q={"elbow": 0.3}, qd=[1.0, 2.0])
    assert np.allclose(state.q, [0, 0.3])
    assert np.allclose(state.qd, [1, 2])
    with pytest.raises(ModelError, match=r"no coordinate named 'elbo'.*elbow"):
        simulator.initial_state(q={"elbo": 0.3})
    with pytest.raises(ModelError, match=r"q must have shape \(2,\)"):
        simulator.initial_state(q=[1.0])


def test_simulator_refuses():
    """Steps, sub-steps and controls that make no sense are refused with what would."""
    model = arm().actuator("motor", "elbow").build()
    with pytest.raises(ModelError, match="dt must be positive"):
        Simulator(model, 0.0)
    with pytest.raises(ModelError, match="substeps must be at least 1"):
        Simulator(model, substeps=0)
    simulator = Simulator(model)
    state = simulator.initial_state()
    with pytest.raises(ModelError, match="either controls"):
        simulator.rollout(state)
    with pytest.raises(ModelError, match=r"\[steps, 1\] \(motor\)"):
        simulator.rollout(state, np.zeros((3, 2)))


def test_fixed_only():
    """A mechanism without freedom can be built and stepped: nothing moves."""
    model = (
        Builder().link("base", joint="fixed", **BODY).link("post", "base", "fixed", **BODY).build()
    )
    simulator = Simulator(model)
    trajectory = simulator.rollout(simulator.initial_state(), steps=2)
    assert trajectory.q.shape == (3, 0)


def test_right_angles_are_exact():
    """A quaternion of pi / 2 has equal numbers, to the last digit; one close to it stays."""
    half = np.pi / 4
    near = np.array([np.cos(half + 1e-12), np.sin(half + 1e-12), 0, 0])
    for given, wanted in (
        ((np.cos(half), np.sin(half), 6e-17, 0), (np.sqrt(0.5), np.sqrt(0.5), 0, 0)),
        ((0.5, -0.5, 0.5, 0.5000000000000001), (0.5, -0.5, 0.5, 0.5)),
        ((0, -2.0, 1e-16, 0), (0, -1, 0, 0)),
        (near, near),
    ):
        b = Builder()
        b.link("a", "world", "revolute", axis=(0, 0, 1), rotation=given, mass=1.0, inertia=1.0)
        assert np.array_equal(b.build().joint.rotation[0], wanted)
