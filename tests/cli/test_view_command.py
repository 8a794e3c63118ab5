"""`graftsim view` and `demo`: refused before anything is read, ended by Ctrl-C."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest

from graftsim.cli import main

pytest.importorskip("viser")
ROBOT = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
  <body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0"/>
    <geom type="capsule" size="0.05" fromto="0 0 0 0.5 0 0"/></body></worldbody></mujoco>"""


@pytest.fixture
def robot(tmp_path):
    """A pendulum over a floor."""
    path = tmp_path / "arm.xml"
    path.write_text(ROBOT)
    return str(path)


@pytest.fixture
def taken():
    """A port at which something listens."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield str(listening.getsockname()[1])


@pytest.mark.parametrize("command", [["view", "no such file"], ["demo"]])
def test_port_in_use_ends_with_what_to_do(command, taken, capsys):
    """Before a robot is read; on standard error, exit code 2."""
    assert main([*command, "--port", taken]) == 2
    said = capsys.readouterr().err
    assert f"127.0.0.1:{taken}" in said and "--port 8081" in said


def test_missing_viser_says_how_to_install(robot, monkeypatch, capsys):
    """Before anything else."""
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda *a: None)
    assert main(["view", robot]) == 2
    assert "pip install 'graftsim[report]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--port", "70000"], "--port"),
        (["--speed", "0"], "--speed"),
        (["--plot", "joint.qq"], "joint.qd"),
        (["--q", "hnge=1"], "hinge"),
    ],
)
def test_wrong_flags_are_named(robot, flags, said, capsys):
    """With what would be accepted; no server is left."""
    assert main(["view", robot, "--port", "0", "--contact", "none", *flags]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.long
def test_ctrl_c_ends_it_cleanly(robot):
    """Exit code 0, no traceback."""
    # What a shell starts in the background is deaf to Ctrl-C, and so are its children.
    hears = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
    hears += "from graftsim.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", hears, "view", robot, "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as served:
        try:
            line = served.stdout.readline()
            assert re.match(r"http://127\.0\.0\.1:\d+: ", line)
            served.send_signal(signal.SIGINT)
            _, said = served.communicate(timeout=60)
        finally:
            served.kill()
    assert served.returncode == 0 and "Traceback" not in said


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "mass"), [("trot", 14 + 4 * (1.1 + 1.5 + 0.35)), ("laikago", 25.567)]
)
def test_demo_trots(name, mass, request, monkeypatch):
    """A second of it: as high as its controller wants, forward, on feet that bear it."""
    from graftsim.cli import demo
    from graftsim.viewer.demos import DEMOS

    if name == "laikago":
        monkeypatch.setenv("GRAFTSIM_ASSETS", str(request.getfixturevalue("assets_dir")))
    scene = next(d for d in DEMOS if d.name == name).scene()
    found, forces = demo.recorded(scene, 1.0)
    pushed = np.mean([f[:, 1, 2].sum() for f in forces[10:]])
    assert pushed == pytest.approx(mass * 9.81, rel=0.15)
    x, y, z = found.simulated[-1, :3]
    assert 0.36 < z < 0.48 and 0.15 < x < 0.4 and abs(y) < 0.05
    assert len(found.time) == len(forces) and np.all(np.diff(found.time) > 0)


def test_demos_are_those_of_the_flags():
    """Names that flags take without importing the engine."""
    from graftsim.cli.demo_options import NAMES
    from graftsim.viewer import demos

    assert tuple(d.name for d in demos.DEMOS) == NAMES


@pytest.mark.parametrize("folder", ["", "nowhere"])
def test_laikago_without_its_file(cli, folder, monkeypatch):
    """Says where the file would lie, who has it, and what runs without."""
    monkeypatch.setenv("GRAFTSIM_ASSETS", folder)
    code, _, said = cli("demo", "laikago", "--port", "0")
    assert code != 0
    assert "GRAFTSIM_ASSETS" in said and "graftsim demo trot" in said
