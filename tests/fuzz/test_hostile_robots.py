"""Robot files made to harm: read or refused with a clear error, within 10 s and 1 GB.

Each is read by a process of its own, whose memory is limited above what the imports take.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
BODY = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
SECONDS = 10
LOADER = """
import json, resource, sys, time
import graftsim as gs
gs.Builder().link("a", mass=1.0, inertia=1.0).build()
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
import mujoco
began = time.process_time()
try:
    print("opened", gs.load(sys.argv[1], **json.loads(sys.argv[2])))
except gs.GraftsimError as error:
    print("refused", error)
seconds = time.process_time() - began
more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - used
print(f"{seconds:.1f} s, {more / 2**20:.0f} MiB")
assert seconds < 10, seconds
assert more < 2**30, more
"""


def read(path, **options):
    """What became of a file: "opened ..." or "refused ..."."""
    command = [sys.executable, "-c", LOADER, str(path), json.dumps(options)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (done.stdout[-500:], done.stderr[-2000:])
    return done.stdout


def urdf(links, joints):
    return f"<robot name='r'>{links}{joints}</robot>"


def tree(count, kind, children=1):
    """Links each of which carries some others."""
    body = "" if kind == "fixed" else BODY
    links = "".join(f"<link name='l{i}'>{body}</link>" for i in range(count))
    joints = "".join(
        f"<joint name='j{i}' type='{kind}'><parent link='l{(i - 1) // children}'/>"
        f"<child link='l{i}'/></joint>"
        for i in range(1, count)
    )
    return urdf(links, joints)


def nested(tag, count, inside=""):
    return f"<{tag}>" * count + inside + f"</{tag}>" * count


BODIES = "<body><joint/><geom size='.1'/>"
LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
LAUGHS = f'<!DOCTYPE r [<!ENTITY l0 "ha">{LAUGHS}]>'
OUTSIDE = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
MANY = " ".join(f"a{i}='1'" for i in range(100_000))
MESH = "<collision><geometry><mesh filename='{}'/></geometry></collision>"
# Text, and a word of what is said of it.
HOSTILE = {
    "20,000 fixed links.urdf": (tree(20_000, "fixed"), "opened"),
    "a chain of 10,000.urdf": (tree(10_000, "continuous"), "opened"),
    "20,000 moving links.urdf": (tree(20_000, "continuous", 3), "opened"),
    "nested elements.urdf": (urdf(nested("link", 100_000), ""), "refused"),
    "nested unknown.urdf": (urdf("<link name='a'/>" + nested("x", 100_000), ""), "opened"),
    "entities.urdf": (LAUGHS + "<robot name='&l9;'><link name='a'/></robot>", "refused"),
    "outside.urdf": (OUTSIDE + "<robot name='&x;'><link name='a'/></robot>", ""),
    "a name of a megabyte.urdf": (urdf(f"<link name='{'x' * 10**6}'/>", ""), "opened"),
    "many attributes.urdf": (
        urdf(f"<link name='a' {MANY}/>", ""), "opened",
    ),
    "bodies 1,000 deep.xml": (
        f"<mujoco><worldbody>{BODIES * 1000}{'</body>' * 1000}</worldbody></mujoco>", "",
    ),
    "bodies 10,000 deep.xml": (
        f"<mujoco><worldbody>{BODIES * 10_000}{'</body>' * 10_000}</worldbody></mujoco>", "refused",
    ),
    "outside.xml": (
        OUTSIDE + "<mujoco model='&x;'><worldbody><body name='&x;'/></worldbody></mujoco>", "",
    ),
    "includes a device.xml": (
        "<mujoco><include file='/dev/zero'/><worldbody/></mujoco>", "refused",
    ),
    "entities.xml": (LAUGHS + "<mujoco model='&l9;'><worldbody/></mujoco>", "refused"),
    "includes itself.xml": ("<mujoco><include file='includes itself.xml'/></mujoco>", "refused"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_text(tmp_path, name):
    """Read, or refused by name."""
    text, word = HOSTILE[name]
    path = tmp_path / name
    path.write_text(text)
    said = read(path)
    assert said.startswith(word)
    assert "root:" not in said, "what an entity names outside must not be read"
    if said.startswith("refused"):
        assert str(path) in said or name in said


STL = b"solid" + b" " * 75 + (10**9).to_bytes(4, "little") + b"\1" * 500
NOT_A_NUMBER = b" " * 80 + (2).to_bytes(4, "little") + b"\xff" * 100
OBJ_OF_INDICES = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 99999999\n"
DAE = b"<COLLADA xmlns='x'><library_geometries><geometry><mesh><source><float_array count='10000"
MESHES = {
    "says a billion.stl": STL,
    "cut in its head.stl": STL[:60],
    "empty.stl": b"",
    "not a number.stl": NOT_A_NUMBER,
    "too few numbers.obj": b"v 1 2\nf 1 2 9",
    "indices beyond.obj": OBJ_OF_INDICES,
    "cut.dae": DAE,
    "laughs.dae": LAUGHS.encode() + b"<COLLADA>&l9;</COLLADA>",
}


def test_truncated_meshes(tmp_path):
    """Meshes that are cut, or say that they are larger than they are: noted without contact."""
    for name, content in MESHES.items():
        (tmp_path / name).write_bytes(content)
    more = ("x" * 3000, "a%00b", "../" * 200 + "etc/passwd")
    shapes = "".join(MESH.format(n) for n in (*MESHES, *more))
    path = tmp_path / "meshes.urdf"
    path.write_text(urdf(f"<link name='a'>{shapes}</link>", ""))
    assert read(path).startswith("opened")


@pytest.mark.parametrize("name", MESHES)
def test_truncated_meshes_where_they_matter(tmp_path, name):
    """With a ground each of them is refused by its name; in an MJCF it is, or only noted."""
    (tmp_path / name).write_bytes(MESHES[name])
    path = tmp_path / "mesh.urdf"
    path.write_text(urdf(f"<link name='a'>{MESH.format(name)}</link>", ""))
    said = read(path, ground=0.0)
    assert said.startswith("refused")
    assert name in said
    path = tmp_path / "mesh.xml"
    path.write_text(
        f"<mujoco><asset><mesh name='m' file='{name}'/></asset><worldbody><body><freejoint/>"
        "<geom type='mesh' mesh='m'/></body></worldbody></mujoco>"
    )
    said = read(path)
    assert said.startswith("refused")
    assert str(path) in said


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-7", "shift_jis", "latin-1", "cp037"])
@pytest.mark.parametrize("form", ["urdf", "xml"])
def test_encodings(tmp_path, encoding, form):
    """Read where XML tells the encoding, and else refused."""
    path = Path(tmp_path / f"robot.{form}")
    name = "\u00e9\u0434"
    body = f"<mujoco><worldbody><body name='{name}'/></worldbody></mujoco>"
    text = urdf(f"<link name='{name}'/>", "") if form == "urdf" else body
    path.write_bytes(text.encode(encoding, errors="replace"))
    assert read(path).startswith(("opened", "refused"))
