"""A robot format from outside the package: one class in a file of its own."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import graftsim as gs
from robot_oracle import assert_same


class Chain(gs.RobotFormat):
    """Rods in a row on hinges about y: `<chain><rod name length mass/>...</chain>`."""

    name = "Chain"
    root = "chain"
    suffix = ".chain"
    options = ("armature",)

    def read(self, root, options):
        builder, parent, above = gs.Builder(root.text("name")), "world", 0.0
        for rod in root.all("rod"):
            name, length, mass = rod.text("name"), rod.number("length"), rod.number("mass")
            if length <= 0:
                raise rod.error(f'rod "{name}" has length {length:g}; a positive one is expected.')
            builder.link(name, parent, origin=(0, 0, -above), axis=(0, 1, 0), mass=mass,
                         com=(0, 0, -length / 2), inertia=mass * length**2 / 12)  # fmt: skip
            parent, above = name, length
        return builder.build(armature=options.armature)

    def write(self, model):
        root = ET.Element("chain", name=model.name)
        lost = [f"joint {model.tree.dofs[i]}: damping {float(d):g}."
                for i, d in enumerate(model.joint.damping) if d]  # fmt: skip
        for i, name in enumerate(model.tree.links):
            length = -2 * float(model.link.com[i, 2])
            mass = repr(float(model.link.mass[i]))
            ET.SubElement(root, "rod", name=name, length=repr(length), mass=mass)
        return root, lost


FORMATS = (*gs.ROBOT_FORMATS, Chain())
TEXT = """<chain name="two">
  <rod name="upper" length="0.5" mass="2"/>
  <rod name="lower" length="0.25" mass="1"/>
</chain>"""


@pytest.fixture
def path(tmp_path):
    """A chain of two rods."""
    file = tmp_path / "two.chain"
    file.write_text(TEXT)
    return file


def test_its_robots_are_read_simulated_and_written(path, tmp_path):
    """Back and forth, in another format too, they are the same robot."""
    model = gs.load(path, formats=FORMATS)
    assert model.tree.links == ("upper", "lower") and model.nv == 2
    simulator = gs.Simulator(model, 0.01)
    end = simulator.rollout(simulator.initial_state({"upper": 0.5}), np.zeros((50, 0)))
    assert np.all(np.isfinite(end.q)) and float(end.q[-1, 0]) < 0.3, "it swings"
    assert gs.write_robot(model, tmp_path / "back.xml", Chain()) == []
    assert_same(gs.load(tmp_path / "back.xml", formats=FORMATS), model)
    gs.write_mjcf(model, tmp_path / "robot.xml")
    assert_same(gs.load(tmp_path / "robot.xml"), model)


def test_what_it_cannot_say_is_refused_or_listed(path, tmp_path):
    """As for the formats of the package."""
    model = gs.load(path, formats=FORMATS)
    damped = gs.model.with_leaf(model, "joint.damping", np.array([0.1, 0.0]))
    with pytest.raises(gs.FileError, match=r"Chain cannot express this model:\n  joint upper"):
        gs.write_robot(damped, tmp_path / "out.chain", Chain())
    lost = gs.write_robot(damped, tmp_path / "out.chain", Chain(), lossy=True)
    assert lost == ["joint upper: damping 0.1."]
    assert "damping 0.1" in (tmp_path / "out.chain").read_text()


def test_options_and_errors_name_it(path):
    """An option that it has not, a line with a wrong number, and its tag where it is not read."""
    with pytest.raises(gs.FileError, match=r"base cannot be given for a file in Chain.*armature"):
        gs.load(path, base="free", formats=FORMATS)
    with pytest.raises(gs.FileError, match="<chain>, not <robot> or <mujoco>"):
        gs.load(path)
    path.write_text(TEXT.replace("0.25", "-0.25"))
    with pytest.raises(gs.FileError, match=r"two.chain:3: rod \"lower\" has length -0.25"):
        gs.load(path, formats=FORMATS)
    path.write_text("<html/>")
    with pytest.raises(gs.FileError, match="not <robot> or <mujoco> or <chain>"):
        gs.load(path, formats=FORMATS)
