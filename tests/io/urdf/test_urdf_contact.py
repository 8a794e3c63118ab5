"""Contact in URDF files: a ground, self-collision, Bullet's surfaces, and what is written."""

import numpy as np
import pytest
from urdf_texts import BODY, joint, link, refused, write

from graftsim.errors import FileError
from graftsim.io.load import load
from graftsim.io.write import write_mjcf, write_urdf
from graftsim.model import Builder
from graftsim.model.shapes import BOX, CYLINDER


def ball(name, extra="", body=BODY):
    shape = f'<collision name="{name}"><geometry><sphere radius="0.1"/></geometry></collision>'
    return link(name, body + shape + extra)


def contact(*lines):
    return "<contact>" + "".join(f"\n{x}" for x in lines) + "</contact>"


def pairs(model):
    return {"/".join(sorted(name.split("/"))) for name in model.pair.names}


def numbers(model, quantity="friction"):
    values = np.asarray(getattr(model.pair, quantity), float)
    return {
        "/".join(sorted(n.split("/"))): float(v)
        for n, v in zip(model.pair.names, values, strict=True)
    }


CHAIN = (
    *(ball("base"), joint("j", "base", "a"), ball("a")),
    *(joint("f", "a", "a2", "fixed", ""), ball("a2"), joint("k", "a2", "b"), ball("b")),
)


def test_ground(tmp_path):
    """Without one nothing touches; with one each shape may, at the given height."""
    path = write(tmp_path, *CHAIN)
    assert load(path).pair.names == ()
    model = load(path, ground=0.5)
    assert model.pair.names == tuple(f"ground/{x}" for x in ("base", "a", "a2", "b"))
    assert model.geom.kinds[-1] == "plane" and model.geom.link[-1] == -1
    np.testing.assert_array_equal(model.geom.position[-1], [0, 0, 0.5])
    np.testing.assert_array_equal(model.pair.friction, 1.0)
    refused(write(tmp_path, ball("ground")), "a shape named 'ground' itself", ground=0.0)
    refused(path, "ground=inf; a height in metres", ground=float("inf"))


def test_ground_under_a_fixed_base(tmp_path):
    """The base itself cannot move against it, nor is it touched by its own arm."""
    path = write(tmp_path, *CHAIN)
    model = load(path, ground=0.0, base="fixed")
    assert pairs(model) == {"a/ground", "a2/ground", "b/ground"}


def test_self_collision(tmp_path):
    """Not unless asked for; then all but parent and child, of a fixed base too."""
    path = write(tmp_path, *CHAIN)
    assert pairs(load(path, self_collision=True)) == {"b/base"}
    assert pairs(load(path, self_collision=True, base="fixed")) == {"b/base"}
    assert pairs(load(path, self_collision=False, base="fixed")) == set()


def test_world_and_loose_parts(tmp_path):
    """Shapes of the link 'world' are the surroundings; a ball on a table is no part of it."""
    wall = '<collision name="wall"><geometry><box size="1 1 1"/></geometry></collision>'
    path = write(tmp_path, link("world", wall), joint("j", "world", "a"), ball("a"))
    assert pairs(load(path)) == {"a/wall"}
    path = write(
        tmp_path,
        *(ball("table", body=""), joint("free", "table", "ball", "floating", ""), ball("ball")),
        *(joint("j", "table", "arm"), ball("arm")),
    )
    assert pairs(load(path)) == {"ball/table", "arm/ball"}


def test_surfaces(tmp_path):
    """Friction and restitution of Bullet's <contact>; what has other units is noted by line."""
    surface = contact(
        '<lateral_friction value="0.7"/>',
        '<restitution value="0.25"/>',
        '<stiffness value="1e5"/>',
        '<damping value="10"/>',
        '<rolling_friction value="0.1"/>',
        '<contact_cfm value="0"/>',
    )
    path = write(
        tmp_path,
        *(ball("base", surface), joint("j", "base", "a"), ball("a")),
        *(joint("k", "a", "b"), ball("b", contact('<lateral_friction value="0"/>'))),
    )
    model = load(path, ground=0.0, self_collision=True)
    assert numbers(model) == {"base/ground": 0.7, "a/ground": 1, "b/ground": 0, "b/base": 0.7}
    assert set(numbers(model, "restitution").values()) == {0.25, 0.0}
    for start, words in (
        ("<stiffness> in line 5", "pair.stiffness"),
        ("<damping> in line 6", "pair.dissipation"),
        ("<rolling_friction> in line 7", "sliding friction only"),
        ("<contact_cfm> in line 8", "pair.cfm"),
        ("<contact> in lines 2, 12", "Bullet multiplies"),
    ):
        assert any(n.startswith(start) and words in n for n in model.notes), (start, model.notes)


def test_wrong_surfaces(tmp_path):
    """File, line and what would do."""

    def read(*lines):
        return write(tmp_path, ball("base", contact(*lines)))

    refused(
        read('<lateral_friction value="-1"/>'), ":3:", "link 'base'", "friction must be zero or"
    )
    refused(read('<lateral_friction value="x"/>'), ":3:", 'value="x"', "a number")
    refused(read("<restitution/>"), ":3:", 'value="..."')
    refused(read('<lateral_fricton value="1"/>'), ":3:", "lateral_friction")
    refused(read('<restitution valeu="1"/>'), ":3:", "valeu", "value")
    path = write(tmp_path, link("base", BODY + contact('<restitution value="0.5"/>')))
    assert any("has no <collision>" in n for n in load(path).notes)


def test_kinds_without_collision_function(tmp_path, monkeypatch):
    """Named in a note."""
    none = {BOX, CYLINDER}
    monkeypatch.setattr(
        "graftsim.model.pairs.contacts", lambda a, b, *_: None if {a, b} == none else 1
    )
    can = '<collision name="can"><geometry><cylinder radius="1" length="1"/></geometry></collision>'
    box = '<collision name="box"><geometry><box size="1 1 1"/></geometry></collision>'
    path = write(
        tmp_path,
        *(link("base", BODY + can), joint("j", "base", "a"), link("a")),
        *(joint("k", "a", "b"), link("b", BODY + box)),
    )
    model = load(path, self_collision=True)
    assert model.pair.names == ()
    assert any("between box and cylinder" in n and "box/can" in n for n in model.notes)
    assert load(path).notes == load(path, ground=0.0).notes


def test_urdf_round_trip_of_surfaces(tmp_path):
    """Links state what gives every pair its own number back, and no more."""
    path = write(
        tmp_path,
        ball("base", contact('<lateral_friction value="0.7"/>')),
        *(joint("j", "base", "a"), ball("a", contact('<lateral_friction value="0.2"/>'))),
        *(joint("k", "a", "b"), ball("b", contact('<restitution value="0.3"/>'))),
    )
    options = {"ground": 0.25, "self_collision": True}
    model = load(path, **options)
    with pytest.raises(FileError) as caught:
        write_urdf(model, tmp_path / "r.urdf")
    for words in ("shape ground: a plane", "load(..., ground=0.25)", "self_collision=True"):
        assert words in str(caught.value)
    write_urdf(model, tmp_path / "r.urdf", lossy=True)
    assert (tmp_path / "r.urdf").read_text().count("<lateral_friction") == 2
    back = load(tmp_path / "r.urdf", **options)
    assert back.tree.types == model.tree.types, "the ground is no reason to hang it on the world"
    assert back.pair.names == model.pair.names
    for quantity in ("friction", "restitution", "stiffness"):
        np.testing.assert_allclose(
            getattr(back.pair, quantity), getattr(model.pair, quantity), rtol=1e-12
        )


def test_urdf_names_what_is_lost(tmp_path):
    """Pairs that no reading gives, numbers of pairs that no links have."""
    b = Builder("r")
    for k, name in enumerate("abc"):
        b.link(name, "abc"[k - 1] if k else "world", "free", mass=1.0, inertia=0.1)
        b.geom("sphere", 0.1, name, name=name)
    b.link("d", joint="free", mass=1.0, inertia=0.1).geom("sphere", 0.1, "d", name="d")
    b.exclude("a", "d").pair("a", "c", friction=0.9, stiffness=5.0, cfm=0.1)
    b.pair("b", "d", friction=0.3).pair("c", "d", friction=0.5)
    model = b.build()
    lost = write_urdf(model, tmp_path / "r.urdf", lossy=True)
    for words in (
        *("that a/c may touch", "that a/d may not touch", "pair.stiffness 5 of a/c"),
        *("pair.cfm 0.1 of a/c",),
    ):
        assert any(words in s for s in lost), (words, lost)
    odd = Builder("odd")
    for name in "abc":
        odd.link(name, joint="free", mass=1.0, inertia=0.1).geom("sphere", 0.1, name, name=name)
    odd.pair("a", "b", friction=0.1).pair("b", "c", friction=0.2).pair("a", "c", friction=0.3)
    lost = write_urdf(odd.build(), tmp_path / "r.urdf", lossy=True)
    assert any("pair.friction" in s and "one number for each link" in s for s in lost), lost


def test_both_formats_of_assets(assets_dir, tmp_path):
    """With a ground, pairs and friction survive MJCF, and URDF with the options of the first."""
    for path in sorted(assets_dir.glob("*/*.urdf")):
        for own in (False, True):
            model = load(path, ground=-0.5, self_collision=own)
            lost = write_mjcf(model, tmp_path / "r.xml")
            assert not any("pair" in s for s in lost)
            back = load(tmp_path / "r.xml")
            assert numbers(back) == numbers(model)
            write_urdf(model, tmp_path / "r.urdf", lossy=True)
            back = load(tmp_path / "r.urdf", ground=-0.5, self_collision=own)
            assert back.pair.names == model.pair.names
