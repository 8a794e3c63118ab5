"""What a URDF reader must refuse, with file, line and remedy, and what it lists as skipped."""

import pytest
from urdf_texts import BODY, joint, link, refused, write

from graftsim.errors import FileError
from graftsim.io.load import load


def test_names_and_roots(tmp_path):
    """Repeated names, unknown links, two roots, two parents, loops: file, line, names."""
    w, a, b = link("world", ""), link("a"), link("b")
    j = joint("j", "world", "a")
    refused(write(tmp_path, w, a, j, a), ":5:", "link 'a' is declared twice", "line 3")
    refused(write(tmp_path, w, a, j, joint("j", "a", "b"), b), ":5:", "joint 'j'", "line 4")
    refused(
        write(tmp_path, w, link("arm"), joint("j", "world", "amr")), ":4:", "'amr'", "Nearest: arm"
    )
    refused(write(tmp_path, w, a, j, b), ":5:", "2 root links", "'world' (line 2)", "'b' (line 5)")
    refused(
        write(tmp_path, w, a, b, j, joint("k", "world", "b"), joint("l", "a", "b")),
        *(":7:", "'k' (line 6)", "'l'", "loop"),
    )
    refused(write(tmp_path, w, a, b, joint("k", "a", "b"), joint("l", "b", "a")), "loop", "'a'")
    refused(write(tmp_path), ":1:", "no <link>")
    refused(
        write(tmp_path, link("base"), joint("j", "base", "world"), link("world")), "reserved name"
    )


def test_misspelt_names(tmp_path):
    """An attribute or element that is nearly a known one is refused with the known one."""

    def with_body(body):
        return write(tmp_path, link("world", ""), joint("j", "world", "a", body=body), link("a"))

    refused(with_body('\n<dynamics dampng="1"/>'), ":4:", 'dampng="1"', "damping")
    refused(with_body('\n<dynamic damping="1"/>'), ":4:", "<dynamic>", "dynamics")
    refused(with_body('\n<axis xyx="1 0 0"/>'), ":4:", "xyx", "xyz")
    refused(write(tmp_path, link("base", "<inertail/>")), ":2:", "<inertail>", "inertial")


def test_numbers_that_are_none(tmp_path):
    """File, line, element, attribute, value, and what is expected."""

    def with_body(body):
        return write(tmp_path, link("world", ""), joint("j", "world", "a", body=body), link("a"))

    refused(with_body('\n<axis xyz="1 0"/>'), ":4:", '<axis> has xyz="1 0"', "3 numbers")
    refused(with_body('\n<axis xyz="1 O 0"/>'), ":4:", '"1 O 0"')
    refused(with_body('\n<dynamics damping="high"/>'), ":4:", 'damping="high"', "a number")
    refused(with_body('\n<dynamics damping="-1"/>'), ":4:", 'damping="-1"')
    refused(with_body('\n<dynamics damping="nan"/>'), ":4:", 'damping="nan"')
    refused(with_body('\n<origin xyz="0 inf 0"/>'), "origin", "finite")
    refused(with_body('\n<dynamics damping="${d}"/>'), ":4:", "xacro robot.urdf")
    moving = (link("world", ""), joint("j", "world", "a"), link("a", "\n<inertial/>"))
    refused(write(tmp_path, *moving), ":5:", "<mass", "--repair-inertia")
    refused(write(tmp_path, "<link/>"), ":2:", "name=")


def test_what_is_skipped_is_listed(tmp_path):
    """Known and unknown elements alike, with their lines."""
    path = write(
        tmp_path,
        link("base"),
        '<gazebo reference="base"/>',
        '<gazebo><plugin name="p"/></gazebo>',
        '<transmission name="t"/>',
        '<material name="blue"/>',
        '<zebra stripes="3"/>',
    )
    notes = load(path).notes
    assert any(n.startswith("<gazebo> in lines 3, 4: skipped") for n in notes)
    assert any(n.startswith("<transmission> in line 5") for n in notes)
    assert any(n.startswith("<material> in line 6") for n in notes)
    assert any(n.startswith("<zebra> in line 7: skipped: not an element") for n in notes)


def test_spring_and_order(tmp_path):
    """The extension for springs; links come depth first in the order of the joints."""
    path = write(
        tmp_path,
        *(link("b"), link("a"), link("c"), link("world", "")),
        *(joint("ja", "world", "a"), joint("jb", "world", "b")),
        joint("jc", "a", "c", body='<dynamics spring_stiffness="3" spring_reference="0.5"/>'),
    )
    model = load(path)
    assert model.tree.links == ("a", "c", "b")
    assert float(model.joint.stiffness[1]) == 3 and float(model.joint.rest[1]) == 0.5


def test_names_that_urdf_lets_repeat(tmp_path):
    """Shapes of two links with one name, and a joint that is called root already."""
    ball = '<collision name="c"><geometry><sphere radius="1"/></geometry></collision>'
    path = write(
        tmp_path,
        *(link("base", BODY + ball), joint("root", "base", "arm"), link("arm", BODY + ball)),
    )
    model = load(path)
    assert model.tree.joints == ("base/root", "root")
    assert model.geom.names == ("c", "arm/c1")


@pytest.mark.parametrize("encoding", ["gb2312", "unknown", "rot13", "hex", "utf-7", "idna"])
def test_encodings_that_cannot_be_read(tmp_path, encoding):
    """A file that says so is refused with what to do."""
    path = tmp_path / "robot.urdf"
    path.write_text(f"<?xml version='1.0' encoding='{encoding}'?><robot name='a'><link/></robot>")
    with pytest.raises(FileError, match=r"robot\.urdf:1: .*(UTF-8|encoding)"):
        load(path)


def test_what_is_no_regular_file():
    """A device is refused before it is read."""
    with pytest.raises(FileError, match="is no regular file"):
        load("/dev/zero")


@pytest.mark.parametrize("suffix", ["urdf", "xml"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "latin-1", "cp1252"])
def test_encodings_that_are_not_declared(tmp_path, suffix, encoding):
    """Bytes of another encoding are read where XML tells it by a mark, and else refused."""
    text = {"urdf": "<robot name='{}'><link name='a'/></robot>", "xml": "<mujoco model='{}'/>"}
    path = tmp_path / f"robot.{suffix}"
    path.write_bytes(text[suffix].format("\N{LATIN SMALL LETTER E WITH ACUTE}").encode(encoding))
    try:
        load(path)
    except FileError as error:
        assert str(path) in str(error)


@pytest.mark.slow
def test_many_links_take_seconds(tmp_path):
    """20,000 links fixed to one another: work grows with their number, not with its square."""
    import time

    count = 20_000
    links = "".join(f"<link name='l{i}'/>" for i in range(count))
    joints = "".join(
        f"<joint name='j{i}' type='fixed'><parent link='l{i - 1}'/><child link='l{i}'/></joint>"
        for i in range(1, count)
    )
    path = tmp_path / "chain.urdf"
    path.write_text(f"<robot name='chain'>{links}{joints}</robot>")
    began = time.process_time()
    model = load(path)
    assert time.process_time() - began < 20  # more than a minute when each looked at all others
    assert model.tree.nv == 0


def test_files_too_large_for_a_robot(tmp_path):
    """Said by size, without reading: a sparse file of many gigabytes."""
    path = tmp_path / "robot.urdf"
    with path.open("wb") as file:
        file.truncate(50 * 2**30)
    with pytest.raises(FileError, match=r"robot\.urdf: has 51200 MiB"):
        load(path)
