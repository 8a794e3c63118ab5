"""A robot file and a recording of it on disk; compiled quickly, see `quick_compilation`."""

import pytest

import quick_compilation  # noqa: F401
from graftsim.cli import main
from kept_compilations import kept_compilations

LINK = """
  <link name="{name}"><inertial><origin xyz="0 0 -0.25"/><mass value="1.0"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.0002" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """
  <joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>
    <origin xyz="0 0 {z}"/><axis xyz="1 0 0"/><dynamics damping="{damping}"/></joint>"""


def urdf(damping=0.05):
    """A double pendulum: shoulder and elbow about x."""
    return (
        '<robot name="double">\n  <link name="base"/>'
        + LINK.format(name="upper")
        + LINK.format(name="lower")
        + JOINT.format(name="shoulder", parent="base", child="upper", z=0, damping=damping)
        + JOINT.format(name="elbow", parent="upper", child="lower", z=-0.5, damping=damping)
        + "\n</robot>\n"
    )


@pytest.fixture(scope="package", autouse=True)
def cache(tmp_path_factory):
    """Compiled programs are kept in a folder of the test run's, and only while these tests run."""
    with kept_compilations(tmp_path_factory.mktemp("cache")):
        yield


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """A folder with robot.urdf (damping 0.05) and two simulated recordings, a.csv and b.csv."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "robot.urdf").write_text(urdf())
    for name, q in (("a", 1.0), ("b", -0.7)):
        code = main(
            [
                "simulate",
                str(folder / "robot.urdf"),
                "--seconds",
                "2",
                "--dt",
                "0.01",
                "--integrator",
                "implicit_damping",
                "--q",
                f"shoulder={q}",
                "elbow=0.5",
                "--noise",
                "0.001",
                "--out",
                str(folder / f"{name}.csv"),
            ]
        )
        assert code == 0
    return folder


@pytest.fixture
def cli(capsys):
    """Run a command in this process; returns (exit code, standard output, standard error)."""

    def run(*args):
        capsys.readouterr()
        code = main([str(a) for a in args])
        out = capsys.readouterr()
        return code, out.out, out.err

    return run
