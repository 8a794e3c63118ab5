"""Pairs of MJCF files: those that MuJoCo's own collision detection finds, with its friction."""

import mujoco
import numpy as np
import pytest

from graftsim.errors import FileError
from graftsim.io.load import load
from graftsim.io.mjcf import contact
from graftsim.io.mjcf.contact import matched
from graftsim.io.write import write_mjcf
from graftsim.model import Builder, pairs
from graftsim.model.shapes import SPHERE


def put(tmp_path, body, *, contact="", option=""):
    path = tmp_path / "robot.xml"
    path.write_text(
        f"<mujoco>{option}<default><geom size='.1' mass='1'/></default><worldbody>{body}"
        f"</worldbody><contact>{contact}</contact></mujoco>"
    )
    return path


def found_by_mujoco(mj):
    """Geoms of all contacts when everything is within the margin, and the friction of each."""
    mj.geom_margin[:] = mj.pair_margin[:] = 100
    # Bounding volumes of bodies with several shapes know nothing of these margins.
    mj.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
    data = mujoco.MjData(mj)
    mujoco.mj_forward(mj, data)
    return {
        frozenset(map(int, c.geom)): float(c.friction[0]) if c.dim > 1 else 0.0
        for c in data.contact
    }


def assert_mujocos_pairs(path, model=None):
    """The pairs of the model are MuJoCo's, by name, and so is their friction."""
    mj = mujoco.MjModel.from_xml_path(str(path))
    names = [mj.geom(g).name for g in range(mj.ngeom)]
    theirs = {frozenset(names[g] for g in pair): mu for pair, mu in found_by_mujoco(mj).items()}
    model = load(path) if model is None else model
    ours = {
        frozenset(model.geom.names[g] for g in pair): float(mu)
        for pair, mu in zip(model.pair.geoms, model.pair.friction, strict=True)
    }
    assert ours == theirs
    assert len(ours) == len(model.pair.names)
    return ours


TREE = """
<geom name="floor" type="plane" size="1 1 1" friction=".2"/>
<body name="table"><geom name="table"/><body name="leg"><geom name="leg"/></body>
  <body name="a"><joint/><geom name="a"/>
    <body name="a2"><geom name="a2"/>
      <body name="b"><joint axis="1 0 0"/><joint axis="0 1 0"/><geom name="b"/><geom name="b2"/>
        <body name="c"><geom name="c"/>
          <body name="d"><joint/><geom name="d"/></body>
        </body>
      </body>
    </body>
  </body>
</body>
<body name="mocap" mocap="true"><geom name="mocap"/></body>
<body name="free"><freejoint/><geom name="free"/></body>
"""


@pytest.mark.parametrize(
    "option", ["", "<option><flag filterparent='disable'/></option>"], ids=["plain", "no filter"]
)
@pytest.mark.parametrize(
    "contact", ["", "<exclude body1='b' body2='free'/><exclude body1='d' body2='a2'/>"]
)
def test_bodies(tmp_path, contact, option):
    """Fixed bodies, bodies of several joints, parents and children, what is excluded."""
    ours = assert_mujocos_pairs(put(tmp_path, TREE, contact=contact, option=option))
    names = {"/".join(sorted(p)) for p in ours}
    assert "a/table" in names, "what is fixed to the world touches its children"
    assert ("a/b" in names) == bool(option), "two joints in one body are one step down the tree"
    assert ("b/free" in names) == (not contact)
    assert not {"leg/table", "a/a2", "b/b2", "floor/mocap"} & names


def test_masks(tmp_path):
    """contype of either against conaffinity of the other, high bits too."""
    masks = [(1, 0), (0, 1), (2, 2), (3, 0), (0, 6), (1 << 31, 4), (0, -1), (1 << 30, 0)]
    body = "".join(
        f"<body><freejoint/><geom name='g{k}' contype='{np.int32(np.uint32(a % 2**32))}' "
        f"conaffinity='{b}'/></body>"
        for k, (a, b) in enumerate(masks)
    )
    assert assert_mujocos_pairs(put(tmp_path, body))


def test_friction(tmp_path):
    """The larger, but for priority; condim 1 is frictionless; the file may override all."""
    surfaces = [
        "friction='.3'",
        "friction='.7' condim='1'",
        "friction='.4' priority='1'",
        "friction='.1' priority='1' condim='1'",
        "condim='6' friction='.05 .1 .2'",
        "condim='1'",
    ]
    body = "".join(
        f"<body><freejoint/><geom name='g{k}' {s}/></body>" for k, s in enumerate(surfaces)
    )
    path = put(tmp_path, body)
    ours = assert_mujocos_pairs(path)
    assert ours[frozenset(("g1", "g5"))] == 0 and ours[frozenset(("g0", "g2"))] == 0.4
    assert any("condim 4, 6" in n and "geom g4" in n for n in load(path).notes)
    option = "<option o_friction='.6 .6 0 0 0'><flag override='enable'/></option>"
    path = put(tmp_path, body, option=option)
    assert set(np.asarray(load(path).pair.friction).tolist()) == {0, 0.6}


def test_declared_pairs(tmp_path):
    """<pair> stands above masks, parents and exclusions, with its own friction."""
    body = (
        "<body name='a'><joint/><geom name='a' contype='0' conaffinity='0'/>"
        "<body name='b'><joint/><geom name='b'/><geom name='b2'/></body></body>"
        "<body name='c'><freejoint/><geom name='c'/></body>"
        "<geom name='w'/><geom name='w2'/>"
    )
    contact = (
        "<exclude body1='b' body2='c'/>"
        "<pair geom1='b' geom2='a' friction='.3 .3'/>"
        "<pair name='slick' geom1='b' geom2='c' condim='1'/>"
        "<pair geom1='w' geom2='c' friction='.2 .5'/>"
    )
    ours = assert_mujocos_pairs(put(tmp_path, body, contact=contact))
    assert ours[frozenset("ab")] == 0.3 and ours[frozenset("bc")] == 0
    assert frozenset(("b2", "c")) not in ours
    model = load(put(tmp_path, body, contact=contact))
    assert any(n.startswith("friction of pair w/c: the first of two") for n in model.notes)
    still = contact + "<pair geom1='w' geom2='w2'/><pair geom1='b' geom2='b2'/>"
    model = load(put(tmp_path, body, contact=still))
    assert "w/w2" not in model.pair.names and "b/b2" not in model.pair.names
    assert any(n.startswith("pairs w/w2, b/b2: not read") for n in model.notes)
    twice = contact + "<pair geom1='c' geom2='b' friction='.9 .9' condim='6'/>"
    model = load(put(tmp_path, body, contact=twice))
    assert model.pair.names.count("b/c") == 1
    for words in ("pair b/c: declared twice", "condim 4, 6"):
        assert any(words in n for n in model.notes), words
    with pytest.raises(FileError, match=r"adhesion of pair 'slick'"):
        load(put(tmp_path, body, contact=contact.replace("'slick'", "'slick' adhesion='1'")))


def test_switched_off(tmp_path):
    """Where the file has no contact, there are no pairs, but for a ground that is asked for."""
    path = put(tmp_path, TREE, option="<option><flag contact='disable'/></option>")
    model = load(path)
    assert model.pair.names == ()
    assert any("contact is switched off in the file" in n for n in model.notes)
    on = load(path, ground=-0.5)
    assert set(on.pair.names) == {f"ground/{x}" for x in ("a", "a2", "b", "b2", "c", "d", "free")}


def test_kinds_without_collision_function(tmp_path, monkeypatch):
    """They are named in a note; the rest is read."""
    kinds = ("box", "cylinder", "ellipsoid", "sphere")
    for module in (contact, pairs):
        monkeypatch.setattr(module, "contacts", lambda a, b, *_: 1 if SPHERE in (a, b) else None)
    body = "".join(
        f"<body><freejoint/><geom name='{k}' type='{k}' size='.1 .1 .1'/></body>" for k in kinds
    )
    model = load(put(tmp_path, body))
    assert set(model.pair.names) == {"sphere/box", "sphere/cylinder", "sphere/ellipsoid"}
    for words in ("between box and cylinder", "box/cylinder", "between cylinder and ellipsoid"):
        assert any(words in n and "pass through each other" in n for n in model.notes), words


def test_ground(tmp_path):
    """A plane of that name and height, that every shape may touch whatever its masks."""
    body = "<body name='a'><freejoint/><geom name='a' contype='2' conaffinity='4' friction='.3'/>"
    body += "<geom name='b' condim='1'/><geom contype='0' conaffinity='0'/></body>"
    path = put(tmp_path, body)
    model = load(path, ground=-0.25)
    assert model.pair.names == ("ground/a", "ground/b")
    np.testing.assert_array_equal(model.pair.friction, [0.3, 0.0])
    k = model.geom.names.index("ground")
    assert model.geom.link[k] == -1 and float(model.geom.position[k, 2]) == -0.25
    path = put(tmp_path, body + "<geom name='ground'/>")
    with pytest.raises(FileError, match="has a shape named 'ground' itself"):
        load(path, ground=0.0)
    with pytest.raises(FileError, match="ground=nan; a height in metres"):
        load(path, ground=float("nan"))


def test_self_collision(tmp_path):
    """Can be left out: then only different mechanisms and the world are touched."""
    model = load(put(tmp_path, TREE), self_collision=False)
    names = {"/".join(sorted(n.split("/"))) for n in model.pair.names}
    assert "a/free" in names and "a/floor" in names and "a/table" in names
    assert not {"a/d", "a/c", "a2/d", "b/d"} & names


def test_assets(assets_dir, tmp_path):
    """Also of the robots among the assets, with spheres for shapes, so that all kinds can touch."""
    for path in sorted([*assets_dir.glob("*/*.urdf"), *assets_dir.glob("*/*.xml")]):
        text = path.read_text()
        if path.suffix == ".urdf":
            start = text.index(">", text.index("<robot")) + 1
            keep = '<mujoco><compiler fusestatic="false" discardvisual="true"/></mujoco>'
            spec = mujoco.MjSpec.from_string(text[:start] + keep + text[start:])
        else:
            spec = mujoco.MjSpec.from_string(text)
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 1])
        for g in spec.geoms:
            if g.type != mujoco.mjtGeom.mjGEOM_PLANE:
                g.type, g.size = mujoco.mjtGeom.mjGEOM_SPHERE, [0.1, 0.1, 0.1]
        mj = spec.compile()
        mj.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        assert {frozenset(p) for p in matched(mujoco, mj)} == set(found_by_mujoco(mj)), path.name


def test_quadruped(assets_dir, tmp_path):
    """Four feet on a floor, and the written file has the same."""
    model = load(assets_dir / "quadruped" / "standing_quadruped.xml")
    assert model.pair.names == tuple(f"floor/{x}_foot" for x in ("FL", "FR", "RL", "RR"))
    np.testing.assert_array_equal(model.pair.friction, 0.8)
    write_mjcf(model, tmp_path / "r.xml")
    back = load(tmp_path / "r.xml")
    assert back.pair.names == model.pair.names
    np.testing.assert_array_equal(back.pair.friction, model.pair.friction)


def scene(**surface):
    b = Builder("scene")
    b.geom("plane", (), name="floor")
    for k, name in enumerate("abc"):
        b.link(name, "world" if k < 2 else "b", "free", mass=1.0, inertia=0.1)
        b.geom("sphere", 0.1, name, name=name, mask=(1, 1 if k else 0), friction=0.1 + k / 3)
    b.pair("floor", "a", **surface)
    return b


def test_written_pairs(tmp_path):
    """All pairs come back, and nothing else touches, in MuJoCo too; frictionless ones stay so."""
    model = scene(friction=0.0).pair("b", "c", friction=1 / 7).exclude("a", "c").build()
    assert len(model.pair.names) == 5
    path = tmp_path / "r.xml"
    assert write_mjcf(model, path) == []
    back = load(path)
    assert back.pair.names == model.pair.names
    np.testing.assert_array_equal(back.pair.friction, model.pair.friction)
    np.testing.assert_allclose(back.pair.stiffness, model.pair.stiffness, rtol=1e-12)
    assert_mujocos_pairs(path, model)
    none = Builder("none")
    for name, above in {"a": "world", "b": "a", "c": "b"}.items():
        none.link(name, above, mass=1.0, inertia=1.0).geom("sphere", 1.0, name)
    write_mjcf(none.build(), path)
    assert found_by_mujoco(mujoco.MjModel.from_xml_path(str(path))) == {}
    assert load(path).pair.names == () and len(load(path).geom.names) == 3


def test_written_pairs_and_what_is_lost(tmp_path):
    """Numbers that MuJoCo has no word for, and pairs whose shapes are not in the file."""
    b = scene(restitution=0.5, stiffness=7e5, dissipation=0.2, cfm=0.01, stribeck=0.3)
    b.geom("polygon", (), "c", name="edge", vertices=np.array([[0, 0], [1, 0], [0, 1]]))
    lost = write_mjcf(b.build(), tmp_path / "r.xml")
    for words in (
        *("pair.restitution 0.5 of floor/a", "pair.stiffness 700000 of floor/a"),
        *("pair.dissipation 0.2 of floor/a", "pair.cfm 0.01 of floor/a"),
        *("pair.stribeck 0.3 of floor/a", "shape edge: a polygon", "contact of floor/edge"),
    ):
        assert any(words in s for s in lost), (words, lost)
    assert "edge" not in load(tmp_path / "r.xml").geom.names
