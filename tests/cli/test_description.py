"""What `graftsim inspect` shows: the tree, tables, and what was skipped."""

import json

import numpy as np

from graftsim.cli.description import describe
from graftsim.model import Builder
from graftsim.model.describe import describe_dict


def machine():
    b = Builder("machine", notes=["<gazebo> in line 3: skipped"])
    b.link("base", joint="free", joint_name="root", mass=2.5, inertia=1.0)
    b.link("arm", "base", axis=(0, 1, 0), mass=0.5, com=(0, 0, 0.25), inertia=0.01, upper=1.5)
    b.link("tool[x]", "arm", joint="fixed")
    b.frame("tip", "tool[x]", (0, 0, 0.1)).geom("sphere", 0.1, "arm", name="bob")
    b.actuator("motor", "arm", gear=3.0, force_range=(-2, 2), time_constant=0.01)
    return b.build()


def test_dictionary_is_plain_json():
    """Infinite limits are null; sizes have as many numbers as the shape."""
    d = json.loads(json.dumps(describe_dict(machine()), allow_nan=False))
    assert d["counts"] == {"links": 3, "moving_joints": 2, "nq": 8, "nv": 7, "nu": 1}
    assert d["total_mass"] == 3.0
    assert d["links"][1]["parent"] == "base" and d["links"][1]["com"] == [0, 0, 0.25]
    arm = d["joints"][6]
    assert (arm["dof"], arm["axis"], arm["lower"], arm["upper"]) == ("arm", [0, 1, 0], None, 1.5)
    assert d["actuators"][0]["time_constant"] == 0.01 and d["actuators"][0]["force_upper"] == 2
    assert d["shapes"][0]["size"] == [0.1] and d["frames"][0]["link"] == "tool[x]"
    assert d["notes"] == ["<gazebo> in line 3: skipped"]


def test_text_shows_all_parts():
    """Tree, masses, tables, notes; names with brackets are not taken for markup."""
    text = describe(machine())
    for words in (
        *("machine", "3 kg", "└── base", "free 'root'", "0.5 kg, com (0 0 0.25) m", "tool[x]"),
        *("massless", "root.rz", "arm", "1.5", "motor", "torque", "bob", "sphere", "tip"),
        "- <gazebo> in line 3: skipped",
    ):
        assert words in text, (words, text)
    assert "stiffness" not in text  # a column that says nothing is left out


def test_console_that_reads_no_markup():
    """Nothing of the styling shows as text."""
    import io

    from rich.console import Console

    from graftsim.cli.description import print_description

    for markup in (False, True):
        out = io.StringIO()
        print_description(machine(), Console(file=out, width=120, markup=markup))
        assert "[bold]" not in out.getvalue() and "[/]" not in out.getvalue()
        assert "tool[x]" in out.getvalue()


def test_assets(assets_dir):
    """Every asset can be described."""
    from graftsim.io.load import load

    for path in sorted([*assets_dir.glob("*/*.urdf"), *assets_dir.glob("*/*.xml")]):
        model = load(path)
        d = describe_dict(model)
        np.testing.assert_allclose(d["total_mass"], model.link.mass.sum())
        assert model.name in describe(model)


def balls(n):
    b = Builder("balls")
    for k in range(n):
        b.link(f"b{k}", joint="free", mass=1.0, inertia=0.1)
        b.geom("sphere", 0.1, f"b{k}", name=f"s{k}", restitution=0.25)
    return b.build()


def test_pairs():
    """Who may touch whom, with what numbers; a long table is cut, JSON is not."""
    d = json.loads(json.dumps(describe_dict(balls(3)), allow_nan=False))
    assert [p["name"] for p in d["pairs"]] == ["s0/s1", "s0/s2", "s1/s2"]
    assert d["pairs"][0]["shapes"] == ["s0", "s1"]
    assert d["pairs"][0]["friction"] == 1 and d["pairs"][0]["restitution"] == 0.25
    assert {"stribeck", "friction_velocity", "stiffness", "dissipation", "cfm"} <= set(
        d["pairs"][0]
    )
    text = describe(balls(3))
    for words in ("Pairs that may touch", "s1/s2", "restitution", "0.25", "stiffness (N/m^n)"):
        assert words in text, (words, text)
    assert "Pairs" not in describe(machine())
    text = describe(balls(8))
    assert "the first 8 of 28" in text and "s0/s1" in text and "s6/s7" not in text
    assert len(describe_dict(balls(8))["pairs"]) == 28


def test_lengths_through_space_and_sites():
    """Actuators of all kinds in one table, whatever comes first; a path as a sum of distances."""
    b = Builder("crane").link("boom", mass=1.0, inertia=1.0)
    b.frame("tip", "boom", (0, 0, 1)).frame("hook", "world").frame("eye", "boom", (0, 1, 0))
    b.tendon("rope", path=("hook", "tip", 2.0, "tip", "eye")).actuator("winch", tendon="rope")
    b.actuator("jet", site="tip", reference="hook", site_force=(0, 0.5, 0))
    text = describe(b.actuator("motor", "boom").build())
    for words in ("|hook - tip| + 0.5 |tip - eye|", "winch", "jet", "(0 0.5 0)", "motor", "boom"):
        assert words in text, words
