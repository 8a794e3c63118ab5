"""An export from outside the package: one class."""

import json
from typing import ClassVar

import pytest

import graftsim as gs


class Table(gs.ExportFormat):
    """Armatures as a table: joint, value, least, greatest."""

    name: ClassVar[str] = "table"
    help: ClassVar[str] = "armatures as a table"
    target: ClassVar[str] = "armatures.csv"

    def write(self, fit, out, dt, logs):
        rows = [f"{joint},{x.value},{x.low},{x.high}" for joint, x in self.numbers(fit)]
        out.write_text("\n".join(rows) + "\n")
        return []

    def numbers(self, fit):
        return [(j, fit.known("joint.armature", i)) for i, j in enumerate(fit.model.tree.dofs)]


def test_it_is_written_where_it_says(tmp_path):
    """In the folder of the fit, under its own name, with the range of what the fit knows."""
    b = gs.Builder("arm")
    b.link("arm", joint_name="elbow", axis=(0, 1, 0), mass=1.0, inertia=0.1, armature=0.02)
    row = {"name": "joint.armature[*]", "value": 0.02, "std": 0.005, "status": "identified"}
    (tmp_path / "fit.json").write_text(json.dumps({"parameters": [row]}))
    gs.write_mjcf(b.build("float64"), tmp_path / "robot.xml")
    done = gs.export(tmp_path, Table())
    assert done.path == tmp_path / "armatures.csv"
    joint, *numbers = done.path.read_text().strip().split(",")
    assert joint == "elbow" and list(map(float, numbers)) == pytest.approx([0.02, 0.01, 0.03])
