"""What checks say of real recordings: nothing but notes of clean ones, and faults put into them."""

import importlib
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import graftsim as gs
from graftsim.check import Robot
from graftsim.check.explained import explained
from graftsim.recordings.recording import Recording

# What looks wrong in a log is what the checks are tried on.
pytestmark = pytest.mark.filterwarnings("ignore::graftsim.errors.SuspiciousLogWarning")

ROOT = Path(__file__).parents[2]
SIMPLE = {"time": "time", "joint.q[j]": "pos", "joint.qd[j]": "vel", "joint.tau[j]": "tor"}


@pytest.fixture(scope="module")
def servos(data_dir, assets_dir):
    """Model and recordings of a Unitree robot by its name."""

    def load(name):
        model = gs.load(assets_dir / "unitree" / f"{name}.xml")
        joints = [model.tree.dofs[d] for d in model.actuator.dof]
        recordings = []
        for path in sorted((data_dir / "unitree_servo").glob(f"{name}_run*.npz")):
            d = np.load(path)
            arrays = {"time": d["time"]}
            for k, (joint, actuator) in enumerate(zip(joints, model.actuator.names, strict=True)):
                arrays[f"joint.q[{joint}]"] = d["joint_position"][:, k]
                arrays[f"joint.qd[{joint}]"] = d["joint_velocity"][:, k]
                arrays[f"control[{actuator}]"] = d["commanded_position"][:, k]
            recordings.append(gs.recording_from_arrays(arrays, name=path.stem))
        return model, recordings

    return load


@pytest.fixture(scope="module")
def double(data_dir):
    """The authors' model of the double pendulum, and the recordings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "experiments")
        module = importlib.import_module("dfki_double_pendulum")
    columns = {
        f"joint.{quantity}[{joint}]": f"{column}_meas{k}"
        for k, joint in ((1, "shoulder"), (2, "elbow"))
        for quantity, column in (("q", "pos"), ("qd", "vel"), ("tau", "tau"))
    }
    files = sorted((data_dir / "dfki_double_pendulum").glob("*.npz"))
    recordings = [gs.read_recording(f, columns) for f in files]
    return module.simulator(), recordings


@pytest.mark.parametrize("name", ["go2", "aliengo", "z1"])
def test_servo_logs_have_notes_alone(servos, name):
    """Clean logs of 7 to 12 servos: at most the steps of velocities and the spread of runs."""
    model, recordings = servos(name)
    findings = gs.check(gs.Simulator(model, 0.005, substeps=5), recordings)
    assert {(f.check, f.level) for f in findings} <= {("quantum", "note"), ("runs", "note")}


def test_spread_of_the_runs_of_go2(servos):
    """Six repetitions differ by some milliradians, as their description says."""
    findings = [f for f in gs.check(*servos("go2")) if f.check == "runs"]
    assert len(findings) == 12
    assert all(1e-3 < f.number < 1.1e-2 for f in findings)


def test_held_encoders_are_found_in_go2(servos):
    """With every fourth position held, each joint of it is named; commands are held by nature."""
    model, (run, *_) = servos("go2")
    held = [
        c.replace(values=np.repeat(c.values[::4], 4, axis=0))
        if c.name.startswith("joint.q[")
        else c
        for c in run.channels.values()
    ]
    findings = gs.check(model, Recording({c.name: c for c in held}, "held"))
    found = [f for f in findings if f.check == "repeats"]
    assert len(found) == 12
    assert all(f.number == pytest.approx(4, rel=0.1) for f in found)


def test_reversed_command_of_go2(servos):
    """A servo's command with the wrong sign is an error for its channel alone."""
    model, (run, *_) = servos("go2")
    name = f"control[{model.actuator.names[4]}]"
    wrong = run.with_channel(run[name].replace(values=-run[name].values))
    assert [f.channel for f in gs.check(model, wrong) if f.level == "error"] == [name]


def test_double_pendulum_has_no_warning(double):
    """Two motors with current noise, friction and stiction: nothing is called wrong."""
    findings = gs.check(*double)
    assert not [f for f in findings if f.level != "note"]


def test_faults_of_the_double_pendulum(double):
    """The elbow's torque reversed; its torque in other units."""
    simulator, recordings = double
    (run,) = [r for r in recordings if r.name.endswith("143704")]
    tau = run["joint.tau[elbow]"]

    def found(channel):
        return [
            (f.check, f.level, f.channel)
            for f in gs.check(simulator, run.with_channel(channel))
            if f.level != "note"
        ]

    assert found(tau.replace(values=-tau.values)) == [("sign", "error", tau.name)]
    assert found(tau.replace(values=8 * tau.values)) == [("effort", "warning", tau.name)]


@pytest.fixture(scope="module")
def arm(data_dir, tmp_path_factory):
    """Model of a Staubli TX40, its recording on the joints' side and on the motors' side."""
    folder = data_dir / "staubli_tx40"
    text = (folder / "tx40.urdf").read_text()
    # The last link of the file has no inertia about its axis.
    sizes = {"ixx": 1e-4, "ixy": 0, "ixz": 0, "iyy": 1e-4, "iyz": 0, "izz": 1e-4}
    body = " ".join(f'{k}="{x:g}"' for k, x in sizes.items())
    last = re.compile(r'(<link name="link_6">.*?<inertia )[^>]*/>', re.DOTALL)
    text = last.sub(rf"\1{body}/>", text)
    robot = tmp_path_factory.mktemp("arm") / "tx40.urdf"
    robot.write_text(text)
    model = gs.load(robot, base="fixed")
    d = np.load(folder / "train.npz")
    ratios = np.diag([32.0, 32, 45, -48, 45, 32])
    turned, pulled = ratios.copy(), ratios.copy()
    turned[5, 4] = pulled[4, 5] = 32  # the wrist is coupled
    zeros = np.array([0, -np.pi / 2, np.pi / 2, 0, 0, 0])
    q = d["motor_position"] @ np.linalg.inv(turned).T + zeros
    sides = (q, d["motor_current"] @ pulled.T), (d["motor_position"], d["motor_current"])
    recordings = []
    for positions, efforts in sides:
        arrays = {"time": d["time"][::5]}
        for k, joint in enumerate(model.tree.dofs):
            arrays[f"joint.q[{joint}]"] = positions[::5, k]
            arrays[f"joint.tau[{joint}]"] = efforts[::5, k]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.GraftsimWarning)
            recordings.append(gs.recording_from_arrays(arrays))
    return model, *recordings


def test_currents_of_an_arm_on_the_right_side_of_its_gears(arm):
    """On the joints' side nothing is wrong; on the motors' side every position is."""
    model, joints, motors = arm
    assert not [f for f in gs.check(model, joints) if f.level != "note"]
    errors = [f for f in gs.check(model, motors) if f.level == "error"]
    assert [f.channel for f in errors] == [f"joint.q[{joint}]" for joint in model.tree.dofs]
    assert all("motor's side of a gear" in f.what for f in errors)


def test_reversed_current_of_an_arm(arm):
    """Joints that carry weight tell the sign of their current."""
    model, joints, _ = arm
    for name in ("joint.tau[joint_1]", "joint.tau[joint_2]", "joint.tau[joint_3]"):
        wrong = joints.with_channel(joints[name].replace(values=-joints[name].values))
        assert [f.channel for f in gs.check(model, wrong) if f.level == "error"] == [name]


def test_torque_of_the_simple_pendulum(data_dir):
    """Its torque reads about 11 % high, says its description: so does the regression."""
    b = gs.Builder("pendulum")
    b.link(
        "rod", "world", joint_name="j", axis=(0, 1, 0), mass=0.6755, com=(0, 0, -0.5), inertia=1e-4
    )
    b.actuator("j", "j")
    robot = Robot(b.build())
    for name in ("ddp", "direct_collocation", "gravity_compensation"):
        path = data_dir / "dfki_simple_pendulum" / f"{name}.npz"
        titles = [str(c) for c in np.load(path)["columns"]]
        columns = {k: next(t for t in titles if v in t.lower()) for k, v in SIMPLE.items()}
        (found,) = explained(robot, gs.read_recording(path, columns))
        assert 0.95 < found.scale < 1.3 and found.correlation > 0.98
