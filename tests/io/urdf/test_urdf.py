"""URDF files: the standard's meaning and exact numbers.

The rows F1 to F9 of the conformance table are named in the tests.
"""

import mujoco
import numpy as np
import pytest
from urdf_texts import BODY, joint, link, refused, write

from graftsim.errors import FileError
from graftsim.io.load import load
from robot_oracle import assert_same, mujoco_terms


def from_mujoco(path):
    """MuJoCo's own URDF import, with static bodies kept."""
    text = path.read_text()
    start = text.index(">", text.index("<robot")) + 1
    extension = '<mujoco><compiler fusestatic="false" discardvisual="true"/></mujoco>'
    return mujoco.MjSpec.from_string(text[:start] + extension + text[start:])


# F1 ---------------------------------------------------------------------------------------------


def test_F1_moving_link_without_inertial_is_refused(tmp_path):
    """The message has file, line, link, joint, and what to add; repair names what it did."""
    path = write(tmp_path, link("world", ""), joint("j", "world", "arm"), link("arm", ""))
    refused(path, f"{path}:4:", "link 'arm'", "joint 'j'", "<inertial>", "<mass>", "fixed")
    model = load(path, repair_inertia=True)
    assert float(model.link.mass[0]) == 1e-3
    assert any("link 'arm'" in n and "was given 0.001 kg" in n for n in model.notes)


def test_F1_massless_links_that_may_be(tmp_path):
    """A fixed link needs no mass; nor does a moving one whose mass is fixed to it."""
    path = write(
        tmp_path,
        *(link("world", ""), joint("j", "world", "flange", "continuous")),
        *(link("flange", ""), joint("f", "flange", "tool", "fixed", ""), link("tool")),
        *(joint("g", "tool", "tip", "fixed", ""), link("tip", "")),
    )
    model = load(path)
    np.testing.assert_array_equal(model.link.mass, [0, 2, 0])


def test_F1_massless_link_that_carries_a_moving_one(tmp_path):
    """It stays massless, which the dynamics can do, with a note."""
    path = write(
        tmp_path,
        *(link("world", ""), joint("x", "world", "slider", "prismatic"), link("slider", "")),
        *(joint("j", "slider", "arm"), link("arm")),
    )
    model = load(path)
    np.testing.assert_array_equal(model.link.mass, [0, 2])
    assert any(n.startswith("link slider (line 4)") and "carries mass" in n for n in model.notes)


# F2 ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mass", ["0", "-1.5"])
def test_F2_zero_and_negative_mass(tmp_path, mass):
    """Refused with the value and the line of <mass>; the repair says how."""
    body = BODY.replace('<mass value="2"/>', f'\n<mass value="{mass}"/>')
    path = write(tmp_path, link("world", ""), joint("j", "world", "arm"), link("arm", body))
    refused(path, ":5:", "'arm'", f"mass {float(mass):g}", "repair_inertia")
    model = load(path, repair_inertia=True)
    assert float(model.link.mass[0]) > 0
    assert any("'arm'" in n and "sphere" in n for n in model.notes)


def test_F2_triangle_inequality(tmp_path):
    """Refused with the values; the repair takes the nearest possible and says which."""
    body = BODY.replace("<inertia ", "\n<inertia ").replace('izz="0.04"', 'izz="0.08"')
    path = write(tmp_path, link("world", ""), joint("j", "world", "arm"), link("arm", body))
    refused(path, ":5:", "'arm'", "triangle inequality", "0.02", "0.08", "repair_inertia")
    model = load(path, repair_inertia=True)
    # On the border zz = xx + yy, the nearest point moves the three by the same amount.
    expected = np.array([0.03, 0.04, 0.07])
    np.testing.assert_allclose(model.link.inertia[0, :3], expected, rtol=1e-12)
    assert any("(0.03, 0.04, 0.07)" in n for n in model.notes)


def test_F2_negative_inertia_turned(tmp_path):
    """The repair keeps the principal axes."""
    body = (
        '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0.02"/>'
        "</inertial>"
    )
    path = write(tmp_path, link("world", ""), joint("j", "world", "arm"), link("arm", body))
    refused(path, "not positive", "-0.01")
    xx, yy, zz, xy, xz, yz = np.asarray(load(path, repair_inertia=True).link.inertia[0])
    principal = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    assert principal[0] >= 0 and principal[2] <= principal[0] + principal[1] + 1e-15
    np.testing.assert_allclose([xx, xz], [yy, yz], atol=1e-15)


# F3 ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "said"),
    {
        '<mimic joint="jj" multiplier="2"/>': "mimics 'jj'. Nearest: j",
        '<mimic joint="k"/>': "mimics itself",
        '<mimic joint="ball"/>': "'ball' is no hinge or slide but spherical",
        '<mimic joint="j" multiplier="x"/>': "multiplier",
    }.items(),
)
def test_F3_mimic_that_cannot_be_is_refused(tmp_path, body, said):
    """File, line, both joints and what is wrong."""
    path = write(
        tmp_path,
        *(link("world", ""), joint("j", "world", "a"), link("a")),
        joint("k", "a", "b", body="\n" + body),
        *(link("b"), joint("ball", "b", "c", "spherical"), link("c")),
    )
    refused(path, ":6:", said)


# F4 ---------------------------------------------------------------------------------------------


def test_F4_fixed_joints_are_kept_by_name(tmp_path):
    """A tool behind two fixed joints is a link of its own, where the file puts it."""
    from graftsim.dynamics import link_poses

    path = write(
        tmp_path,
        *(link("world", ""), joint("j", "world", "arm"), link("arm")),
        joint("f", "arm", "flange", "fixed", '<origin xyz="0 0 1" rpy="0 1.5707963267948966 0"/>'),
        *(link("flange", ""), joint("t", "flange", "tool", "fixed", '<origin xyz="0 0 0.5"/>')),
        link("tool", ""),
    )
    model = load(path)
    assert model.tree.links == ("arm", "flange", "tool")
    assert model.tree.types == ("revolute", "fixed", "fixed")
    assert model.nv == 1
    q = np.array([np.pi / 2])
    position = link_poses(model, q)[1][2]
    np.testing.assert_allclose(position, [0, 0.5, 1.0], atol=1e-12)


# F5 ---------------------------------------------------------------------------------------------


def test_F5_root_with_mass_floats_and_keeps_it(tmp_path):
    """The base kind is stated and can be chosen."""
    path = write(tmp_path, link("base"), joint("j", "base", "arm"), link("arm"))
    free = load(path)
    assert free.tree.types == ("free", "revolute") and free.tree.joints[0] == "root"
    assert float(free.link.mass[0]) == 2
    assert any("'base' floats" in n and "2 kg" in n and "base='fixed'" in n for n in free.notes)
    fixed = load(path, base="fixed")
    assert fixed.tree.types == ("fixed", "revolute") and fixed.nv == 1
    assert any("'base' is fixed" in n for n in fixed.notes)
    spec = from_mujoco(path)
    spec.worldbody.first_body().add_freejoint()
    assert_same(free, spec.compile())


def test_F5_root_without_mass(tmp_path):
    """Fixed under auto, refused when asked to float with nothing fixed to it."""
    path = write(tmp_path, link("base", ""), joint("j", "base", "arm"), link("arm"))
    model = load(path)
    assert model.tree.types == ("fixed", "revolute")
    assert any("base='free'" in n for n in model.notes)
    refused(path, ":2:", "link 'base'", "floating base", base="free")
    dummy = write(
        tmp_path, link("base", ""), joint("j", "base", "trunk", "fixed", ""), link("trunk")
    )
    assert load(dummy, base="free").tree.types == ("free", "fixed")


def test_F5_world_root(tmp_path):
    """A root called world is the world; it cannot float."""
    path = write(tmp_path, link("world", ""), joint("j", "world", "arm"), link("arm"))
    assert load(path).tree.parent == (-1,)
    refused(path, ":2:", "base='free'", base="free")
    with pytest.raises(FileError, match="'auto', 'fixed' or 'free'"):
        load(path, base="sliding")


# F6 ---------------------------------------------------------------------------------------------

MESH = '<geometry><mesh filename="{}"/></geometry>'


def test_F6_visual_mesh_is_skipped_with_a_note(tmp_path):
    """No file is looked for."""
    body = f"{BODY}<visual>{MESH.format('package://nowhere/a.dae')}</visual>"
    model = load(write(tmp_path, link("base", body)))
    assert any("<visual> in line 2" in n and "skipped" in n for n in model.notes)


def test_F6_collision_mesh_not_found_is_refused_with_the_path(tmp_path):
    """Where contact is asked for; the message has the line, the URL and the places tried."""
    body = f"{BODY}\n<collision>{MESH.format('package://robot/meshes/a.stl')}</collision>"
    path = write(tmp_path, link("base", body))
    tried = tmp_path / "robot" / "meshes" / "a.stl"
    parts = (":3:", "package://robot/meshes/a.stl", str(tried), "package_dirs", "--without meshes")
    refused(path, *parts, ground=0.0)
    refused(path, *parts, self_collision=True)


def test_F6_collision_mesh_becomes_its_hull(tmp_path):
    """Found in the package folder, in package_dirs and beside the file; scaled."""
    trimesh = pytest.importorskip("trimesh")
    package = tmp_path / "elsewhere" / "robot"
    (package / "meshes").mkdir(parents=True)
    trimesh.creation.box((2, 4, 6)).export(package / "meshes" / "a.stl")
    body = f"{BODY}<collision>{MESH.format('package://robot/meshes/a.stl')}</collision>"
    body = body.replace("/></geometry>", ' scale="0.1 0.1 0.1"/></geometry>')
    path = write(tmp_path, link("base", body))
    for folder in (package, package.parent):
        model = load(path, package_dirs=[folder])
        corners = np.asarray(model.geom.vertices[0])
        assert corners.shape == (8, 3)
        np.testing.assert_allclose(np.abs(corners), np.tile([0.1, 0.2, 0.3], (8, 1)), rtol=1e-6)
    inside = package / "urdf"
    inside.mkdir()
    assert load(write(inside, link("base", body))).geom.kinds == ("mesh",)
    near = f"{BODY}<collision>{MESH.format('../meshes/a.stl')}</collision>"
    assert load(write(inside, link("base", near))).geom.kinds == ("mesh",)


# F7 ---------------------------------------------------------------------------------------------


def test_F7_inertial_with_rotation_and_products(tmp_path):
    """Exact: equal to R I R^T and to MuJoCo's and Pinocchio's dynamics to 1e-12."""
    inertial = (
        '<inertial><origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"/><mass value="1.7"/>'
        '<inertia ixx="0.03" iyy="0.04" izz="0.05" ixy="0.003" ixz="-0.002" iyz="0.004"/>'
        "</inertial>"
    )
    origin = '<origin xyz=".1 .2 .3" rpy="1 2 3"/>'
    limit = '<limit lower="-4" upper="4" effort="9" velocity="9"/>'
    path = write(
        tmp_path,
        *(link("world", ""), joint("j", "world", "a", "revolute", f'<axis xyz="1 2 3"/>{limit}')),
        *(link("a", inertial), joint("k", "a", "b", "revolute", f"{origin}{limit}")),
        link("b", inertial),
    )
    model = load(path)

    def rotation(axis, angle):
        c, s = np.cos(angle), np.sin(angle)
        i, j = (axis + 1) % 3, (axis + 2) % 3
        R = np.eye(3)
        R[i, i] = R[j, j] = c
        R[i, j], R[j, i] = -s, s
        return R

    R = rotation(2, 0.6) @ rotation(1, -0.5) @ rotation(0, 0.4)
    I = R @ [[0.03, 0.003, -0.002], [0.003, 0.04, 0.004], [-0.002, 0.004, 0.05]] @ R.T
    six = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
    np.testing.assert_allclose(model.link.inertia[0], six, rtol=0, atol=1e-16)
    np.testing.assert_array_equal(model.link.com[0], [0.1, -0.2, 0.3])
    assert_same(model, from_mujoco(path).compile(), rtol=1e-11)
    pin = pytest.importorskip("pinocchio")
    from graftsim.dynamics import bias_forces, mass_matrix

    other = pin.buildModelFromXML(path.read_text())
    data = other.createData()
    q, qd = np.array([0.3, -1.1]), np.array([0.7, -0.4])
    M = pin.crba(other, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    np.testing.assert_allclose(mass_matrix(model, q), M, rtol=1e-12)
    np.testing.assert_allclose(
        bias_forces(model, q, qd), pin.nonLinearEffects(other, data, q, qd), rtol=1e-12
    )


# F8 ---------------------------------------------------------------------------------------------


def test_F8_axis(tmp_path):
    """No axis is x; a non-unit axis is normalised with a note; a zero one is refused."""
    path = write(
        tmp_path,
        *(link("world", ""), joint("none", "world", "a", body=""), link("a")),
        *(joint("long", "a", "b", body='<axis xyz="0 3 4"/>'), link("b")),
    )
    model = load(path)
    np.testing.assert_allclose(model.joint.axis, [[1, 0, 0], [0, 0.6, 0.8]])
    assert any("joint none" in n and "x (1 0 0)" in n for n in model.notes)
    assert any("'long' has length 5" in n and "line 5" in n for n in model.notes)
    zero = joint("z", "world", "a", body='<axis xyz="0 0 0"/>')
    refused(write(tmp_path, link("world", ""), zero, link("a")), ":3:", "'z'", "no direction")


def test_F8_joint_types(tmp_path):
    """Each type of the standard, and Bullet's spherical."""
    ours = {
        "revolute": "revolute",
        "continuous": "revolute",
        "prismatic": "prismatic",
        "planar": "planar",
        "floating": "free",
        "spherical": "spherical",
        "fixed": "fixed",
    }
    for kind, expected in ours.items():
        path = write(tmp_path, link("world", ""), joint("j", "world", "a", kind), link("a"))
        assert load(path).tree.types == (expected,)
    path = write(tmp_path, link("world", ""), joint("j", "world", "a", "revolut"), link("a"))
    refused(path, ":3:", "joint 'j'", "'revolut'", "Nearest: revolute")


def test_F8_planar_moves_normal_to_its_axis(tmp_path):
    """The plane is the one normal to the axis; the same inertia as MuJoCo's slide, slide, hinge."""
    from graftsim.dynamics import mass_matrix

    path = write(
        tmp_path,
        *(link("world", ""), joint("p", "world", "a", "planar", '<axis xyz="0 1 0"/>'), link("a")),
    )
    model = load(path)
    assert model.tree.dofs == ("p.x", "p.y", "p.yaw")
    M = np.asarray(mass_matrix(model, np.zeros(3)))
    np.testing.assert_allclose(np.diag(M), [2, 2, 0.03 + 2 * (0.1**2 + 0.2**2)], rtol=1e-12)
    other = from_mujoco(path).compile()
    assert other.nv == 3
    assert_same_spectrum(M, other)


def assert_same_spectrum(M, other):
    theirs = mujoco_terms(other, other.qpos0, np.zeros(other.nv))[0]
    np.testing.assert_allclose(np.linalg.eigvalsh(M), np.linalg.eigvalsh(theirs), rtol=1e-10)


def test_F8_limits_damping_friction_effort(tmp_path):
    """Where each number goes; limits are stored and a note says how to switch them on."""
    body = (
        '<axis xyz="0 1 0"/><dynamics damping="0.5" friction="0.25"/>'
        '<limit lower="-1" upper="2" effort="30" velocity="4"/>'
    )
    path = write(tmp_path, link("world", ""), joint("j", "world", "a", "revolute", body), link("a"))
    model = load(path)
    j, a = model.joint, model.actuator
    numbers = (j.damping, j.friction, j.lower, j.upper, j.limit_stiffness)
    assert [float(x[0]) for x in numbers] == [0.5, 0.25, -1, 2, 0]
    assert (a.names, a.kinds) == (("j",), ("torque",))
    assert (float(a.force_lower[0]), float(a.force_upper[0])) == (-30, 30)
    for words in ("velocity limit is not enforced", "joint.limit_stiffness", "friction_velocity"):
        assert any("joint j" in n and words in n for n in model.notes), words


def test_F8_limits_that_are_missing(tmp_path):
    """Without limit: unlimited, with a note. Lower alone makes upper 0. Reversed: unlimited."""

    def read(kind, limit):
        body = f'<axis xyz="0 1 0"/>{limit}'
        return write(tmp_path, link("world", ""), joint("j", "world", "a", kind, body), link("a"))

    model = load(read("revolute", ""))
    assert np.isinf(model.joint.upper[0]) and any("no <limit>" in n for n in model.notes)
    model = load(read("prismatic", '<limit lower="-3" effort="0" velocity="1"/>'))
    assert (float(model.joint.lower[0]), float(model.joint.upper[0])) == (-3, 0)
    assert any("upper limit not given" in n for n in model.notes)
    assert np.isinf(model.actuator.force_upper[0])
    model = load(read("continuous", '<limit lower="-1" upper="1" effort="2" velocity="1"/>'))
    assert np.isinf(model.joint.upper[0]) and float(model.actuator.force_upper[0]) == 2
    model = load(read("revolute", '<limit lower="1" upper="-1"/>'))
    assert np.isinf(model.joint.upper[0])
    assert any(n.startswith("line 3: joint 'j' has lower=1 above upper=-1") for n in model.notes)


def test_F8_shapes(tmp_path):
    """Full lengths become halves; capsules are read; frames of shapes are kept."""
    shapes = (
        '<box size="2 4 6"/>',
        '<sphere radius="0.5"/>',
        '<cylinder radius="0.1" length="3"/>',
        '<capsule radius="0.2" length="5"/>',
    )
    body = BODY + "".join(
        f'<collision name="c{k}"><origin xyz="{k} 0 0"/><geometry>{s}</geometry></collision>'
        for k, s in enumerate(shapes)
    )
    geom = load(write(tmp_path, link("base", body))).geom
    assert geom.kinds == ("box", "sphere", "cylinder", "capsule")
    assert geom.names == ("c0", "c1", "c2", "c3")
    np.testing.assert_array_equal(geom.size, [[1, 2, 3], [0.5, 0, 0], [0.1, 1.5, 0], [0.2, 2.5, 0]])
    np.testing.assert_array_equal(geom.position[:, 0], range(4))
    bad = BODY + '\n<collision><geometry><sphere radius="-1"/></geometry></collision>'
    refused(write(tmp_path, link("base", bad)), ":3:", "sphere", "positive")


# F9 ---------------------------------------------------------------------------------------------


def test_F9_urdf_and_mjcf_of_one_robot(tmp_path):
    """One mass matrix, one gravity torque, from both formats."""
    urdf = write(
        tmp_path,
        *(link("world", ""), joint("j", "world", "a", body='<axis xyz="0 1 0"/>'), link("a")),
        joint(
            "k", "a", "b", "prismatic", '<origin xyz="0 0 0.5" rpy="0 0.3 0"/><axis xyz="1 0 0"/>'
        ),
        link("b"),
    )
    inertial = '<inertial pos=".1 0 .2" mass="2" diaginertia=".02 .03 .04"/>'
    mjcf = tmp_path / "robot.xml"
    mjcf.write_text(
        '<mujoco><compiler angle="radian"/><worldbody>'
        f'<body name="a"><joint name="j" axis="0 1 0"/>{inertial}'
        '<body name="b" pos="0 0 .5" euler="0 .3 0"><joint name="k" type="slide" axis="1 0 0"/>'
        f"{inertial}</body></body></worldbody></mujoco>"
    )
    assert_same(load(urdf), load(mjcf), rtol=1e-12)


@pytest.mark.parametrize("n", ["02", "05"])
def test_F9_swimmer_assets(assets_dir, n):
    """The two files agree to the nothing that the URDF's sliders weigh."""
    from graftsim.dynamics import mass_matrix

    urdf = load(assets_dir / "swimmer" / f"swimmer{n}.urdf")
    mjcf = load(assets_dir / "swimmer" / f"swimmer{n}.xml")
    q = np.linspace(-1, 1, urdf.nq)
    M = np.asarray(mass_matrix(mjcf, q)) - np.diag(mjcf.joint.armature)
    np.testing.assert_allclose(mass_matrix(urdf, q), M, atol=3e-8)


def test_assets_against_mujoco(assets_dir):
    """Every asset has MuJoCo's dynamics, root mass included."""
    masses = {"laikago": 25.567, "a1": 12.458, "cube": 10.0}
    for path in sorted(assets_dir.glob("*/*.urdf")):
        model = load(path)
        spec = from_mujoco(path)
        if model.tree.types[0] == "free":
            spec.worldbody.first_body().add_freejoint()
            np.testing.assert_allclose(model.link.mass.sum(), masses[path.parent.name], rtol=1e-12)
        other = spec.compile()
        assert (
            model.tree.dofs[-1]
            == mujoco.mj_id2name(other, mujoco.mjtObj.mjOBJ_JOINT, other.njnt - 1)
            or model.nv == 6
        )
        assert_same(model, other, passive=False, states=1)
