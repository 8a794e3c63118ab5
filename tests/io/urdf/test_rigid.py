"""P8: impossible inertias matter only where what moves as one has such an inertia."""

import numpy as np
from urdf_texts import joint, link, refused, write

import graftsim as gs
from graftsim.dynamics import mass_matrix

BODY = (
    '<inertial><origin xyz="{c}"/><mass value="{m}"/>'
    '<inertia ixx="{x}" iyy="{y}" izz="{z}"/></inertial>'
)
WHOLE = BODY.format(c="0 0 .1", m=2, x=0.02, y=0.03, z=0.04)
DUMMY = BODY.format(c="0 0 0", m=0.001, x=1e-3, y=0, z=0)
FIXED = "fixed"


def arm(tmp_path, flange, upper=WHOLE):
    """world - j - arm = flange (0.5 along x, turned about z)."""
    at = '<origin xyz=".5 0 0" rpy="0 0 .3"/>'
    return write(
        tmp_path,
        *(link("world", ""), joint("j", "world", "arm"), link("arm", upper)),
        *(joint("f", "arm", "flange", FIXED, at), link("flange", flange)),
    )


def test_a_dummy_on_a_moving_link(tmp_path):
    """Opened with the sum of both: about z at the joint, m d^2 more than the arm alone."""
    model = gs.load(arm(tmp_path, DUMMY))
    np.testing.assert_allclose(mass_matrix(model, np.zeros(1)), [[0.04 + 0.001 * 0.25]], rtol=1e-12)
    assert any("flange (line 6)" in n and "counted to link arm" in n for n in model.notes)
    np.testing.assert_allclose(float(model.link.mass.sum()), 2.001)
    gs.write_mjcf(model, tmp_path / "arm.xml")
    again = gs.load(tmp_path / "arm.xml")
    np.testing.assert_allclose(mass_matrix(again, np.zeros(1)), [[0.04025]], rtol=1e-12)


def test_a_dummy_that_carries(tmp_path):
    """The carrier's own numbers are impossible, the sum is not."""
    model = gs.load(arm(tmp_path, WHOLE, upper=DUMMY))
    found = mass_matrix(model, np.zeros(1))
    np.testing.assert_allclose(found, [[0.04 + 2 * 0.5**2]], rtol=1e-12)


def test_a_sum_that_is_impossible(tmp_path):
    """Refused with the line of the inertia; repaired on demand."""
    wrong = BODY.format(c="0 0 0", m=1, x=1, y=0.1, z=0.1)
    path = arm(tmp_path, wrong)
    refused(path, ":6:", "link 'flange'", "triangle", "--repair-inertia")
    assert any("replaced" in n for n in gs.load(path, repair_inertia=True).notes)


def test_on_what_does_not_move(tmp_path):
    """A base that is fixed to the world may have any inertia, or none."""
    broken = BODY.format(c="0 0 0", m=5, x=1, y=0.1, z=-0.1)
    for base in (broken, '<inertial><mass value="5"/></inertial>'):
        path = write(tmp_path, link("base", base), joint("j", "base", "arm"), link("arm", WHOLE))
        model = gs.load(path, base="fixed")
        np.testing.assert_allclose(mass_matrix(model, np.zeros(1)), [[0.04]], rtol=1e-12)
        assert any("base (line 2)" in n and "does not move" in n for n in model.notes)
        refused(path, ":2:", "link 'base'", base="free")


def test_a_free_body_without_inertia(tmp_path):
    """Refused with what to do; a sphere as heavy as water when repaired."""
    path = write(tmp_path, link("ball", BODY.format(c="0 0 0", m=1, x=0, y=0, z=0)))
    refused(path, ":2:", "link 'ball'", "--repair-inertia", "--base fixed")
    radius = (3 / (4 * np.pi * 1000)) ** (1 / 3)
    inertia = gs.load(path, repair_inertia=True).link.inertia[0]
    np.testing.assert_allclose(inertia, [0.4 * radius**2] * 3 + [0] * 3, rtol=1e-12)


def test_P8_a_massless_link_in_between(tmp_path):
    """A universal joint: the mass matrix is that of the arm about both axes (closed form)."""
    path = write(
        tmp_path,
        *(link("world", ""), joint("a", "world", "cross", body='<axis xyz="1 0 0"/>')),
        *(link("cross", ""), joint("b", "cross", "arm"), link("arm", WHOLE)),
    )
    path.write_text(path.read_text().replace('<axis xyz="0 0 1"/>', '<axis xyz="0 1 0"/>'))
    model, b = gs.load(path), 0.4
    about = np.array([0.02, 0.03, 0.04]) + 2 * 0.01 * np.array([1, 1, 0])
    x = about[0] * np.cos(b) ** 2 + about[2] * np.sin(b) ** 2
    M = mass_matrix(model, np.array([0.7, b]))
    np.testing.assert_allclose(M, [[x, 0], [0, about[1]]], atol=1e-15)


def test_a_root_without_inertia_that_carries_legs(tmp_path):
    """What hangs on it by hinges resists its turning: it is read as it stands."""
    point = BODY.format(c="0 0 0", m=1, x=0, y=0, z=0)
    legs = (link("left", WHOLE), link("right", WHOLE))
    hinges = (
        joint("l", "trunk", "left", body='<origin xyz="0 1 0"/><axis xyz="1 0 0"/>'),
        joint("r", "trunk", "right", body='<origin xyz="1 0 0"/><axis xyz="0 1 0"/>'),
    )
    model = gs.load(write(tmp_path, link("trunk", point), *legs, *hinges))
    H = mass_matrix(model, np.array(model.tree.neutral))
    assert np.linalg.eigvalsh(H)[0] > 1e-4
