"""Rare faults of URDF files: each refused, or passed over with a note, by file, line and name."""

import equinox as eqx
import numpy as np
import pytest
from urdf_texts import BODY, joint, link, refused, write

from graftsim.errors import FileError
from graftsim.io.load import load
from graftsim.io.robot.feasible_inertia import with_margin
from graftsim.io.write import write_mjcf, write_urdf
from graftsim.model import Builder
from graftsim.model.joints import Revolute

AXIS = '<axis xyz="0 0 1"/>'


def arm(tmp_path, body, kind="continuous"):
    """A world with one joint, whose body begins on line 4, and a link."""
    lines = link("world", ""), joint("j", "world", "a", kind, f"\n{body}"), link("a")
    return write(tmp_path, *lines)


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        (f'{AXIS}<dynamics stiffness="1" spring_stiffness="2"/>', ("both", "keep one")),
        (f'{AXIS}<limit effort="-3"/>', ('effort="-3"', "cannot be negative")),
        ('<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>', ("both rpy and quat_xyzw",)),
        ('<mimic joint="j"/>', ("mimics itself",)),
        ('<mimic joint="k"/>', ("mimics 'k'",)),
        ('<origin xyz="0 0 1"/>\n<origin xyz="0 0 2"/>', ("a second <origin> in <joint>",)),
    ],
)
def test_joints_that_are_refused(tmp_path, body, parts):
    refused(arm(tmp_path, body), *parts)


def test_a_planar_joint_has_no_single_spring_reference(tmp_path):
    path = arm(tmp_path, f'{AXIS}<dynamics spring_reference="0.2"/>', "planar")
    refused(path, ":4:", "of type planar cannot have a spring_reference")


def test_a_joint_without_an_end(tmp_path):
    lone = '<joint name="j" type="fixed"><child link="a"/></joint>'
    refused(write(tmp_path, link("world", ""), lone, link("a")), ":3:", "joint 'j' needs <parent")


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        ("fixed", '<limit lower="-1" upper="1"/>', "no meaning for a fixed joint"),
        ("continuous", f'{AXIS}<limit lower="-1" upper="1"/>', "no meaning for a continuous joint"),
        ("revolute", f'{AXIS}<limit effort="3"/>', "has neither lower nor upper"),
        ("revolute", f'{AXIS}<limit lower="1" upper="-1"/>', "lower=1 above upper=-1"),
        ("fixed", '<limit velocity="3"/>', "velocity limit is not enforced"),
        ("fixed", '<mimic joint="j"/>', None),
    ],
)
def test_what_has_no_meaning_is_a_note(tmp_path, kind, body, said):
    if said is None:
        # It mimics another joint, but cannot move.
        other = joint("k", "world", "b", "fixed", '<mimic joint="j"/>')
        path = write(tmp_path, link("world", ""), joint("j", "world", "a"), link("a"),
                     other, link("b"))  # fmt: skip
        said = "<mimic> of a fixed joint has no meaning"
    else:
        path = arm(tmp_path, body, kind)
    model = load(path)
    assert any(said in n for n in model.notes)
    assert not model.coupling.names
    assert not np.any(np.isfinite(model.joint.upper))


@pytest.mark.parametrize(
    ("inertial", "said", "mass"),
    [
        ('<inertia ixx="1" iyy="1" izz="1"/>', "an <inertial> without <mass>", 1e-3),
        ('<mass value="-2"/>', "had mass -2.0 kg, taken as none given", 1e-3),
        ('<mass value="2"/>', "link 'a'", 2.0),
    ],
)
def test_inertials_that_are_repaired(tmp_path, inertial, said, mass):
    """Refused as they are, with the remedy; repaired on request, with a note."""
    body = f"<inertial>{inertial}</inertial>"
    path = write(tmp_path, link("world", ""), joint("j", "world", "a"), link("a", body))
    refused(path, ":4:", "link 'a'", "repair_inertia=True")
    model = load(path, repair_inertia=True)
    assert float(model.link.mass[0]) == mass
    assert any(said in n for n in model.notes), model.notes


@pytest.mark.parametrize(
    "inertial",
    ['<mass value="inf"/>', '<mass value="1"/><inertia ixx="inf" iyy="1" izz="1"/>'],
)
def test_masses_and_inertias_that_are_no_number(tmp_path, inertial):
    """Not even repair makes a number of them."""
    body = f"<inertial>{inertial}</inertial>"
    path = write(tmp_path, link("world", ""), joint("j", "world", "a"), link("a", body))
    refused(path, ":4:", "finite", repair_inertia=True)


def test_a_world_that_should_float(tmp_path):
    path = write(tmp_path, link("world", ""), joint("j", "world", "a"), link("a"))
    refused(path, ":2:", "the root link is the world", base="free")


def test_orientation_as_a_quaternion(tmp_path):
    """x, y, z, w, as some programs write it: a quarter turn about z takes x to y."""
    origin = '<origin xyz="0 0 1" quat_xyzw="0 0 1 1"/>'
    model = load(arm(tmp_path, f"{origin}{AXIS}"))
    np.testing.assert_allclose(model.joint.rotation[0], [2**-0.5, 0, 0, 2**-0.5])


class Screw(Revolute):
    """A joint that no file format has."""

    name = "screw"


def test_a_joint_that_no_format_has(tmp_path):
    b = Builder("own")
    b.link("a", joint=Screw(), mass=1.0, inertia=0.1)
    for writer, name in ((write_urdf, "URDF"), (write_mjcf, "MJCF")):
        with pytest.raises(FileError, match=f"'a' is of type screw, which {name} cannot express"):
            writer(b.build(), tmp_path / "robot")


@pytest.mark.parametrize(
    ("geometry", "parts"),
    [
        ("", ("<collision> of link 'base' needs <geometry> with one of",)),
        ("<geometry/>", ("<collision> of link 'base' needs <geometry> with one of",)),
        ("<geometry><cone/></geometry>", ("a shape of kind <cone> is not represented", "sphere")),
        (
            '<geometry><mesh filename="tool.ply"/></geometry>',
            ("tool.ply: trimesh cannot read this mesh",),
        ),
        (
            '<geometry><mesh filename="file:///nowhere/tool.ply"/></geometry>',
            ("'file:///nowhere/tool.ply' is not found. Tried: /nowhere/tool.ply",),
        ),
        (
            '<geometry><mesh filename="flat.obj"/></geometry>',
            ("flat.obj: its 3 points span no volume",),
        ),
    ],
)
def test_collisions_that_are_refused(tmp_path, geometry, parts):
    """Where contact is asked for; without it, a shape that cannot be read is left out by name."""
    (tmp_path / "tool.ply").write_bytes(b"no mesh at all")
    (tmp_path / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    path = write(tmp_path, link("base", f"{BODY}\n<collision>{geometry}</collision>"))
    refused(path, *parts, self_collision=True)
    if "needs <geometry>" not in parts[0]:
        assert any("so the link is without that shape" in n for n in load(path).notes)


def test_a_shape_without_extent_is_left_out(tmp_path):
    body = f'{BODY}\n<collision><geometry><sphere radius="0"/></geometry></collision>'
    model = load(write(tmp_path, link("base", body)))
    assert model.geom.names == ()
    assert any("left out: it has no extent" in n for n in model.notes)


@pytest.mark.parametrize(("scale", "size"), [("2", (2, 2, 2)), ("1 2 3 9", (1, 2, 3))])
def test_scales_of_a_mesh(tmp_path, scale, size):
    """One number scales all axes; of more than three the first three count."""
    corners = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    faces = ["1 2 3", "2 3 4", "5 6 7", "6 7 8", "1 2 5", "3 4 7", "1 3 5", "2 4 6"]
    lines = ["v {} {} {}".format(*c) for c in corners] + [f"f {f}" for f in faces]
    (tmp_path / "box.obj").write_text("\n".join(lines))
    mesh = f'<mesh filename="box.obj" scale="{scale}"/>'
    body = f"{BODY}<collision><geometry>{mesh}</geometry></collision>"
    model = load(write(tmp_path, link("base", body)))
    np.testing.assert_allclose(np.max(model.geom.vertices[0], 0), size)


def lossy(builder, tmp_path):
    """What the writer of URDF says is lost."""
    return write_urdf(builder.build(), tmp_path / "r.urdf", lossy=True)


def test_what_urdf_loses(tmp_path):
    """Each loss is named; a fitted inertia that no body has is raised."""
    b = Builder("lossy")
    own = {"mass": 1.0, "com": (0.1, 0, 0)}
    b.link("s", joint="spherical", damping=(1, 2, 3), lower=-1.0, inertia=0.1, **own)
    b.link("bare", "s").link("tip", "bare", inertia=0.1, **own)
    b.link("sprung", "tip", stiffness=3.0, rest=0.4, inertia=0.1, **own)
    b.tendon("cord", {"sprung": 1.0}).actuator("pull", tendon="cord")
    lost = lossy(b, tmp_path)
    for said in (
        "joint s: spherical joints are an extension",
        "joint s: damping [1. 2. 3.] differs between its axes",
        "joint s: limits of its axes",
        "link bare: it moves without mass of its own",
        "joint sprung: rest position 0.4 of its spring",
        "actuator pull on tendon cord",
        "tendon cord",
        "joint sprung: that it has no actuator",
    ):
        assert any(said in s for s in lost), (said, lost)


def test_a_motor_of_a_follower_is_lost(tmp_path):
    """In URDF a joint that mimics another has no motor; one coupled twice does not mimic."""
    b = Builder("pair")
    for name in "abc":
        b.link(name, mass=1.0, com=(0.1, 0, 0), inertia=0.1).actuator(name, name)
    b.couple("one", "b", "a")
    assert any("b mimics another joint and has no motor" in s for s in lossy(b, tmp_path))
    b.couple("two", "b", "c")
    lost = lossy(b, tmp_path)
    assert any("its joint is coupled more than once" in s for s in lost), lost


def test_an_inertia_that_no_body_has_is_raised(tmp_path):
    """A fit of planar motion changes one axis alone: that one is kept."""
    b = Builder("planar")
    b.link("a", mass=1.0, inertia=(0.1, 0.1, 0.15))
    model = b.build()
    fitted = eqx.tree_at(lambda m: m.link.inertia, model, model.link.inertia.at[0, 2].set(0.3))
    lost = write_urdf(fitted, tmp_path / "r.urdf", lossy=True)
    assert any("belong to no body; the smaller two are raised to 0.15 and 0.15" in s for s in lost)
    np.testing.assert_allclose(load(tmp_path / "r.urdf").link.inertia[0, :3], [0.15, 0.15, 0.3])


def test_a_flat_body_keeps_the_margin_of_rounding():
    """A + B = C to the last digit is raised by a few units in it; a solid body is left alone."""
    flat = with_margin(np.array([0.1, 0.2, 0.3]))
    assert 0 < flat[0] + flat[1] - flat[2] < 1e-14
    np.testing.assert_allclose(flat, [0.1, 0.2, 0.3], rtol=1e-14)
    np.testing.assert_array_equal(with_margin(np.array([0.2, 0.2, 0.3])), [0.2, 0.2, 0.3])
