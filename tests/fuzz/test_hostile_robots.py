"""Robot files made to harm: read or refused with a clear error, within 10 s and 1 GB.

Each is read by a process of its own, whose memory is limited above what the imports take.
"""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
BODY = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
SECONDS = 10
LOADER = """
import resource, sys, time
import graftsim as gs
gs.Builder().link("a", mass=1.0, inertia=1.0).build()
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
import mujoco
began = time.process_time()
try:
    print("opened", gs.load(sys.argv[1]))
except gs.GraftsimError as error:
    print("refused", error)
seconds = time.process_time() - began
more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - used
print(f"{seconds:.1f} s, {more / 2**20:.0f} MiB")
assert seconds < 10, seconds
assert more < 2**30, more
"""


def read(path):
    """What became of a file: "opened ..." or "refused ..."."""
    done = subprocess.run(
        [sys.executable, "-c", LOADER, str(path)], capture_output=True, text=True, timeout=60
    )
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


def test_truncated_meshes(tmp_path):
    """Meshes that are cut, or say that they are larger than they are: noted without contact."""
    whole = b"solid" + b" " * 75 + (10**9).to_bytes(4, "little") + b"\1" * 500
    contents = {
        "a.stl": whole,
        "b.stl": whole[:60],
        "c.obj": b"v 1 2\nf 1 2 9",
        "d.dae": b"<COLLADA",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    shapes = "".join(MESH.format(n) for n in (*contents, "x" * 3000, "a\0b".replace("\0", "%00")))
    path = tmp_path / "meshes.urdf"
    path.write_text(urdf(f"<link name='a'>{shapes}</link>", ""))
    assert read(path).startswith("opened")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-7", "shift_jis", "latin-1", "cp037"])
def test_encodings(tmp_path, encoding):
    """Read where XML tells the encoding, and else refused."""
    path = Path(tmp_path / "robot.urdf")
    path.write_bytes(urdf("<link name='\u00e9\u0434'/>", "").encode(encoding, errors="replace"))
    assert read(path).startswith(("opened", "refused"))
