"""A folder to work in, and files that are right before they are made wrong."""

import numpy as np
import pytest
from harness import Clock, run
from right_files import FIT, MJCF, RUN_FILE, URDF

import quick_compilation  # noqa: F401
from graftsim import read_recording
from kept_compilations import kept_compilations


@pytest.fixture(scope="package", autouse=True)
def cache(tmp_path_factory):
    """Compiled programs are kept while these tests run, in a folder of theirs."""
    with kept_compilations(tmp_path_factory.mktemp("cache")):
        yield


@pytest.fixture(scope="session")
def right(tmp_path_factory):
    """Files that are as they should be: arm.urdf, arm.xml, log.csv, log.npz, run.toml; fit.json and
    robot.xml of a fit.
    """
    folder = tmp_path_factory.mktemp("right")
    (folder / "arm.urdf").write_text(URDF)
    (folder / "arm.xml").write_text(MJCF)
    (folder / "run.toml").write_text(RUN_FILE)
    (folder / "fit.json").write_text(FIT)
    (folder / "robot.xml").write_text(MJCF)
    motion = ["--q", "shoulder=1", "elbow=0.5", "--seconds", "1", "--dt", "0.01"]
    noise = ["--noise", "0.001", "--integrator", "implicit_damping"]
    assert (
        run("simulate", folder / "arm.urdf", *motion, *noise, "--out", folder / "log.csv")[0] == 0
    )
    channels = read_recording(folder / "log.csv").channels.values()
    arrays = {c.name: c.values[:, 0] for c in channels}
    np.savez(folder / "log.npz", time=next(iter(channels)).time, **arrays)
    return folder


@pytest.fixture
def place(tmp_path, right, monkeypatch):
    """A folder with copies of the right files, where commands run."""
    for path in right.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def clock():
    """Says when a test has looked long enough."""
    return Clock()
