"""`--effort current` and domains that are shared, on the command line and in a run file."""

import json

import numpy as np
import pytest

import graftsim as gs
from graftsim.cli import setup
from graftsim.io.logs.write import write_csv

pytestmark = pytest.mark.filterwarnings("ignore::graftsim.errors.SuspiciousLogWarning")

ROBOT = """<mujoco model="rod"><worldbody><body name="rod">
<joint name="j" axis="0 1 0" damping="0.1"/>
<inertial pos="0 0 -0.3" mass="1" diaginertia="0.02 0.02 0.002"/></body></worldbody>
<actuator><motor name="m" joint="j"/></actuator></mujoco>
"""
CONSTANT, DT = 0.2, 0.005
QUICK = ["--horizon", "0.5", "--growth", "1.0", "--free", "joint.damping[*]", "--quiet"]


@pytest.fixture(scope="module")
def rod(tmp_path_factory):
    """robot.xml, and logs of a motor of 0.2 N m/A: amperes as commands, and as measured effort."""
    folder = tmp_path_factory.mktemp("rod")
    (folder / "robot.xml").write_text(ROBOT)
    simulator = gs.Simulator(
        gs.load(folder / "robot.xml"), DT, integrator=gs.ImplicitDamping(), substeps=5
    )
    n = 800
    t = DT * np.arange(n)

    def torque(t):
        return 1.5 * np.sin(3 * t) + 0.8 * np.sin(7 * t + 1)

    q = {
        shift: np.asarray(simulator.rollout(simulator.initial_state(), u[:, None]).q)[:n, 0]
        for shift, u in ((0.0, torque(t)), (0.5, torque(t + DT / 2)))
    }
    noise = 1e-3 * np.random.default_rng(0).standard_normal(n)
    for name, shift, channel in (("commands", 0.0, "control[m]"), ("efforts", 0.5, "joint.tau[j]")):
        channels = [
            gs.Channel("joint.q[j]", t, q[shift] + noise, "rad"),
            gs.Channel(channel, t, torque(t) / CONSTANT, "N m or N"),
        ]
        log = gs.Recording({c.name: c for c in channels}, name)
        write_csv(log, folder / f"{name}.csv")
    return folder


@pytest.mark.parametrize("log", ["commands", "efforts"])
def test_motor_constant_is_found(cli, rod, tmp_path, log):
    """The check names the option; with it the gain is the motor's constant, to three errors."""
    code, out, _ = cli("check", rod / "robot.xml", rod / f"{log}.csv", "--quiet")
    assert code == 0 and "--effort current" in out and "effort is 5" in out
    args = ("fit", rod / "robot.xml", rod / f"{log}.csv", *QUICK, "--effort", "current")
    code, _, err = cli(*args, "--out", tmp_path)
    assert code == 0, err
    facts = json.loads((tmp_path / "fit.json").read_text())
    rows = {r["name"]: r for r in facts["parameters"]}
    assert set(rows) == {"joint.damping[j]", "actuator.gain[m]"}
    gain, damping = rows["actuator.gain[m]"], rows["joint.damping[j]"]
    assert abs(gain["value"] - CONSTANT) < 3 * gain["std"] < 0.01
    assert abs(damping["value"] - 0.1) < 3 * damping["std"] < 0.02
    assert facts["forces"]["text"].startswith("Forces are known only up to a common factor")
    assert "effort" not in [f["check"] for f in facts["findings"]]


def test_scale_and_offset_of_a_measured_effort(cli, rod, tmp_path):
    """Beside commands an effort is a sensor, whose scale and offset are free."""
    log = gs.read_recording(rod / "commands.csv")
    command = log["control[m]"]
    effort = command.replace(name="joint.tau[j]", values=3 * CONSTANT * command.values + 0.4)
    torque = command.replace(values=CONSTANT * command.values)
    write_csv(log.with_channel(effort).with_channel(torque), tmp_path / "both.csv")
    args = ("fit", rod / "robot.xml", tmp_path / "both.csv", *QUICK, "--effort", "current")
    code, _, err = cli(*args, "--out", tmp_path / "out")
    assert code in (0, 1), err
    rows = {
        r["name"]: r["value"]
        for r in json.loads((tmp_path / "out" / "fit.json").read_text())["parameters"]
    }
    assert rows["sensor.scale[joint.tau:j]"] / rows["actuator.gain[m]"] == pytest.approx(
        3, rel=0.05
    )
    assert rows["sensor.offset[joint.tau:j]"] == pytest.approx(0.4, abs=0.05)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("shared", gs.Domain(lower=0.0, shared=True)),
        ("0:0.05,shared", gs.Domain(0.0, 0.05, shared=True)),
        ("shared, 0:0.05", gs.Domain(0.0, 0.05, shared=True)),
        ("free,shared", gs.Domain(shared=True)),
        ({"shared": True, "upper": 0.1}, gs.Domain(0.0, 0.1, shared=True)),
        ("0:0.05", gs.Domain(0.0, 0.05)),
    ],
)
def test_domains_that_are_shared(value, expected):
    """The word stands alone or beside a range, in a flag and in a run file."""
    assert setup.domain_from("sensor.delay[*]", value) == expected


def test_one_delay_for_two_sensors(cli, place, tmp_path):
    """The fit has one number for all that the selector names."""
    args = ("fit", place / "robot.urdf", place / "a.csv", "--horizon", "0.3", "--growth", "1.0")
    code, _, err = cli(
        *args, "--free", "sensor.delay[joint.q:*]=0:0.05,shared", "--iterations", "1", "--quiet",
        "--out", tmp_path,
    )  # fmt: skip
    assert code in (0, 1), err
    (row,) = json.loads((tmp_path / "fit.json").read_text())["parameters"]
    assert row["name"] == "sensor.delay[joint.q:*]"
