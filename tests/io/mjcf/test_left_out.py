"""Without: what has no counterpart is refused with the word that goes on without it."""

import pytest

import graftsim as gs

FILE = """<mujoco><option {option}/>
<worldbody><site name="w" pos="0 0 1"/><body name="a"><joint name="j" {joint}/>
<geom name="g" size=".1" {geom}/><site name="s" pos="0 .1 0"/>
<body pos="0 0 .3"><joint name="k"/><geom size=".1"/></body></body></worldbody>
<tendon><spatial name="t" {tendon}><site site="w"/>{around}<site site="s"/></spatial></tendon>
<actuator>{actuator}</actuator>{rest}</mujoco>"""
MOTOR = '<motor name="m" joint="k"/>'
CASES = {
    "tendons": {
        "tendon": 'stiffness="3"',
        "around": '<geom geom="g"/>',
        "actuator": MOTOR + '<motor name="pull" tendon="t"/>',
    },
    "actuators": {"actuator": MOTOR + '<muscle name="pull" joint="j" lengthrange="0 1"/>'},
    "springs": {"joint": 'stiffness="1 2"', "actuator": MOTOR},
    "surfaces": {"geom": 'surfacevel="0 0 0 1 0 0"', "actuator": MOTOR},
}


def robot(tmp_path, **parts):
    path = tmp_path / "robot.xml"
    kinds = ("option", "joint", "geom", "tendon", "around", "actuator", "rest")
    path.write_text(FILE.format(**(dict.fromkeys(kinds, "") | parts)))
    return path


@pytest.mark.parametrize("word", CASES)
def test_refused_or_left_out(tmp_path, word):
    """Refused by name with the word; with it, what is left is there, and the rest is said."""
    path = robot(tmp_path, **CASES[word])
    with pytest.raises(gs.FileError, match=f"--without {word}") as caught:
        gs.load(path)
    assert str(path) in str(caught.value)
    model = gs.load(path, without=[word])
    assert model.actuator.names == ("m",)
    assert model.tree.dofs == ("j", "k")
    assert any("left out" in c for c in model.caveats)


def test_what_is_refused_of_a_tendon_is_named(tmp_path):
    """The shape that it wraps around; without the shape its path is straight, and read."""
    parts = CASES["tendons"]
    with pytest.raises(gs.FileError, match=r"tendon 't': a path that wraps around shapes \('g'\)"):
        gs.load(robot(tmp_path, **parts))
    model = gs.load(robot(tmp_path, **(parts | {"around": ""})))
    assert (model.tendon.names, model.actuator.names) == (("t",), ("m", "pull"))


def test_P8_an_idle_tendon(tmp_path):
    """Nothing pulls on it: a note that is no caveat."""
    model = gs.load(robot(tmp_path, actuator=MOTOR))
    assert any(n == "tendon t: left out: nothing pulls on it." for n in model.notes)
    assert not model.caveats


def test_a_limit_of_a_tendon_is_a_caveat(tmp_path):
    """As limits of joints: not enforced, and said."""
    rest = '<tendon><fixed name="f" range="0 1"><joint joint="j" coef="1"/></fixed></tendon>'
    model = gs.load(robot(tmp_path, rest=rest))
    assert any(c.startswith("tendon f: limits are stored") for c in model.caveats)
