"""Each format on a log made by its own library: the numbers, the clock, what is said of it."""

import os
import shutil
import sys
import warnings

import h5py
import numpy as np
import pytest
from log_texts import refused

import graftsim as gs
from graftsim.errors import GraftsimWarning, LogError
from graftsim.io.logs import matlab
from graftsim.io.logs.read import read_recording, read_recordings
from log_samples import (
    COUNT,
    DT,
    FILES,
    JOINTS,
    NS,
    QD,
    START,
    TIME,
    Q,
    flip,
    joint_states,
    nanoseconds,
    pace,
    write_hdf5,
    write_lerobot,
    write_matlab,
    write_matlab73,
    write_mcap_json,
    write_ros,
    write_torch,
    write_ulog,
)  # fmt: skip

JOINT_Q = [f"joint.q[{j}]" for j in JOINTS]


def same(made, names, values, atol=1e-6):
    """Each channel has one column of the values, at the times of the sample."""
    for k, name in enumerate(names):
        assert np.allclose(made[name].values[:, 0], values[:, k], atol=atol)
        assert np.allclose(np.diff(made[name].time), DT, atol=1e-9)


@pytest.fixture(scope="module")
def arm():
    """Two hinges called as in the samples, without motors."""
    builder = gs.Builder("arm")
    for name, parent in zip(JOINTS, ("world", "upper"), strict=True):
        link = "upper" if parent == "world" else "lower"
        builder.link(link, parent, joint_name=name, axis=(0, 1, 0), mass=1.0, inertia=0.1)
    return builder.build()


@pytest.mark.parametrize("kind", ["bag", "db3", "mcap"])
def test_bags_of_ros_by_joint_name(tmp_path, kind):
    """Joints change places from message to message, effort is empty, times are from 1970."""
    path = tmp_path / ("log.bag" if kind == "bag" else "log")
    write_ros(path, joint_states(nanoseconds(), order=flip), kind)
    made = read_recording(path)
    same(made, JOINT_Q, Q, atol=1e-15)
    same(made, [f"joint.qd[{j}]" for j in JOINTS], QD, atol=1e-15)
    assert len(made) == 4
    assert made.epoch == START and made.start == 0
    assert any("read as sensor_msgs/JointState: 4 channels" in note for note in made.notes)
    assert any("2023-11-14 22:13:20 UTC" in note for note in made.notes)


@pytest.mark.parametrize("kind", ["db3", "mcap"])
def test_one_file_of_a_bag(tmp_path, kind):
    """Without the folder and its metadata, under any name."""
    folder = write_ros(tmp_path / "log", joint_states(nanoseconds()), kind)
    file = next(folder.glob(f"*.{kind}"))
    same(read_recording(file), JOINT_Q, Q)
    other = tmp_path / "other.dat"
    shutil.copy(file, other)
    same(read_recording(other), JOINT_Q, Q)


def test_mcap_of_json(tmp_path):
    """Messages of JSON have the same columns as those of ROS."""
    path = write_mcap_json(tmp_path / "log.mcap", joint_states(nanoseconds(), order=flip))
    same(read_recording(path), JOINT_Q, Q, atol=1e-15)
    columns = {"signal[q]": ["/joint_states.position[elbow]", "/joint_states.position[shoulder]"]}
    made = read_recording(path, columns, time="log_time")
    assert np.allclose(made["signal[q]"].values, Q[:, ::-1])


def test_a_joint_that_some_messages_lack_has_a_clock_of_its_own(tmp_path):
    """Two drivers publish on one topic: the arm twice as often as its elbow."""
    messages = joint_states(nanoseconds(), order=lambda k: JOINTS if k % 2 else JOINTS[:1])
    made = read_recording(write_ros(tmp_path / "log", messages))
    assert len(made["joint.q[shoulder]"].time) == COUNT
    assert np.allclose(made["joint.q[elbow]"].time, TIME[1::2])
    assert np.allclose(made["joint.q[elbow]"].values[:, 0], Q[1::2, 1])


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_lerobot_data_sets(tmp_path, version, arm):
    """An episode is a recording; parts have names; degrees are seen; the clock is made up."""
    folder = write_lerobot(tmp_path / "set", version)
    runs = read_recordings(folder, robot=arm)
    assert [r.name for r in runs] == ["set#0", "set#1", "set#2"]
    for k, run in enumerate(runs):
        same(run, JOINT_Q, np.radians(np.degrees(Q) + k), atol=1e-6)
        same(run, [f"signal[desired.q:{j}]" for j in JOINTS], np.radians(np.degrees(Q) + k + 1))
        assert any("the clock of 100 Hz is made up" in note for note in run.notes)
        assert any("taken as degrees" in note for note in run.notes)
    assert np.array_equal(
        read_recording(f"{folder}#1", robot=arm)[JOINT_Q[0]].values, runs[1][JOINT_Q[0]].values
    )
    assert "holds 3 runs (0, 1, 2). Name one" in refused(folder, None)
    assert "no run '7'" in refused(f"{folder}#7", None)


def test_one_parquet_file_of_lerobot(tmp_path):
    """A file of version 2.1 is an episode; its data set above it names the parts."""
    folder = write_lerobot(tmp_path / "set", "v2.1", names={"motors": list(JOINTS)})
    file = folder / "data" / "chunk-000" / "episode_000002.parquet"
    made = read_recording(file, {"joint.q[a]": {"column": "action[elbow]", "unit": "deg"}})
    assert np.allclose(np.degrees(made["joint.q[a]"].values[:, 0]), np.degrees(Q[:, 1]) + 3)


def test_hdf5_of_aloha(tmp_path, arm):
    """No clock: it is asked for. Pictures are named as not read."""
    path = write_hdf5(tmp_path / "log.hdf5")
    assert "no column named time" in refused(path, None, robot=arm)
    made = read_recording(path, robot=arm, time=DT)
    same(made, JOINT_Q, Q)
    same(made, [f"signal[desired.q:{j}]" for j in JOINTS], Q + 0.1)
    assert any("observations/images/top" in note for note in made.notes)


def test_hdf5_of_robomimic(tmp_path, arm):
    """Demonstrations are runs, in the order of their numbers, at the rate of the environment."""
    runs = read_recordings(write_hdf5(tmp_path / "log.h5", "robomimic"), robot=arm)
    assert [r.name for r in runs] == ["log#demo_0", "log#demo_1", "log#demo_10"]
    assert runs[0][JOINT_Q[0]].interval == pytest.approx(0.05)
    assert np.allclose(runs[2][JOINT_Q[1]].values[:, 0], Q[:, 1] + 10)
    assert any("array 'actions' has 7 columns" in note for note in runs[0].notes)


def test_hdf5_of_droid(tmp_path, arm):
    """Its clock is deep in a folder of time stamps, in ms since 1970 by the size of the numbers."""
    made = read_recording(write_hdf5(tmp_path / "log.h5", "droid"), robot=arm)
    same(made, JOINT_Q, Q)
    assert made.epoch == START
    assert any("counts ms from 1970" in note for note in made[JOINT_Q[0]].notes)


@pytest.mark.parametrize("write", [write_matlab, write_matlab73])
def test_matlab(tmp_path, write, arm):
    """Structures by path; the clock beside an array is its clock; an array that lies is turned."""
    path = write(tmp_path / "log.mat")
    made = read_recording(path, robot=arm)
    same(made, JOINT_Q, Q, atol=1e-15)
    same(made, [f"joint.qd[{j}]" for j in JOINTS], QD, atol=1e-15)


def test_ulog(tmp_path):
    """Topics of PX4 with their own clocks, us since the start."""
    path = write_ulog(tmp_path / "log.ulg")
    made = read_recording(path, {"joint.q[elbow]": "arm_state.q[1]", "signal[q]": "arm_state.q"})
    same(made, ["joint.q[elbow]"], Q[:, 1:])
    assert made.start == 5.0
    assert made["signal[q]"].width == 2


def test_torch_files(tmp_path, arm):
    """Tensors without torch, as PACE keeps them."""
    made = read_recording(pace(tmp_path / "log.pt"), robot=arm)
    same(made, JOINT_Q, Q)
    same(made, [f"signal[desired.q:{j}]" for j in JOINTS], Q + 0.1)


def test_a_torch_file_runs_nothing(tmp_path):
    """An object that would be made by calling something is refused with its name."""

    class Bad:
        def __reduce__(self):
            return os.system, ("touch /tmp/should-not-be",)

    path = write_torch(tmp_path / "log.pt", {"time": TIME}, Bad())
    text = refused(path)
    assert f"{path}: holds an object of posix.system" in text or "nt.system" in text


def test_formats_are_known_by_content(tmp_path, arm):
    """A file under a name of another format, or none, is what its bytes say."""
    for suffix, write in FILES.items():
        path = write(tmp_path / f"log.{suffix}")
        made = {r.name: r for r in [_any(path, arm)]}
        for name in ("log.csv", "log.xyz", "log"):
            other = tmp_path / suffix / name
            other.parent.mkdir(exist_ok=True)
            shutil.copy(path, other)
            assert _any(other, arm).names == made["log"].names


def _any(path, arm):
    if path.name == "log.ulg" or path.parent.name == "ulg":
        return read_recording(path, {"signal[q]": "arm_state.q"})
    return read_recording(path, robot=arm, time=DT if "h5" in str(path) else None)


# --- clocks of messages


def stamped(tmp_path, stamps, logged=None, **options):
    path = tmp_path / "log.mcap"
    write_mcap_json(path, joint_states(stamps, logged))
    return read_recording(path, **options)


def test_stamps_that_were_not_filled(tmp_path):
    """A stamp of 0 is refused; the time of arrival takes its place if it is asked for."""
    stamps = nanoseconds()
    logged = stamps.copy()
    stamps[7] = 0
    with pytest.raises(LogError, match=r"header.stamp is 0 in message 7 .*\(1 of 200\).*log_time"):
        stamped(tmp_path, stamps, logged)
    same(stamped(tmp_path, stamps, logged, time="log_time"), JOINT_Q, Q)


def test_stamps_that_run_backwards(tmp_path):
    """Refused with what to do; sorting is one of the remedies."""
    stamps = nanoseconds()
    stamps[[50, 51]] = stamps[[51, 50]]
    with pytest.raises(LogError, match=r"runs backwards by 0.01 s at message 51 \(1 times"):
        stamped(tmp_path, stamps, nanoseconds())
    made = stamped(tmp_path, stamps, nanoseconds(), sort=True)
    assert np.allclose(np.diff(made[JOINT_Q[0]].time), DT)


def test_stamps_that_drift_and_senders_whose_clock_is_off(tmp_path):
    """1 % fast, and three seconds behind: warned of, with the numbers."""
    stamps = nanoseconds()
    drifting = stamps[0] + (1.01 * (stamps - stamps[0])).astype(np.int64)
    with pytest.warns(GraftsimWarning, match=r"drifts .* by 10 ms a second, 0.0199 s in all"):
        stamped(tmp_path, stamps, drifting)
    with pytest.warns(GraftsimWarning, match="header.stamp is 3 s behind the time of arrival"):
        stamped(tmp_path, stamps, stamps + 3 * NS)


def test_messages_that_arrive_in_bursts(tmp_path):
    """Every third with the one before: arrival is a poor clock, and stamps none the worse."""
    stamps = nanoseconds()
    logged = stamps.copy()
    logged[1::3] = logged[:-1:3][: len(logged[1::3])] + NS // 10_000
    with pytest.warns(GraftsimWarning, match=r"arrive in bursts: 67 of 199"):
        stamped(tmp_path, stamps, logged, time="log_time", columns={JOINT_Q[0]:
                "/joint_states.position[shoulder]"})  # fmt: skip
    same(stamped(tmp_path, stamps, logged), JOINT_Q, Q)


def test_messages_that_repeat_the_one_before(tmp_path):
    """A sensor of half the rate of its topic."""
    messages = [m for k, m in enumerate(joint_states(nanoseconds()))]
    held = [(t, at, messages[k // 2 * 2][2]) for k, (t, at, _) in enumerate(messages)]
    path = write_mcap_json(tmp_path / "log.mcap", held)
    with pytest.warns(GraftsimWarning, match="100 of 200 messages repeat the one before"):
        read_recording(path)


# --- damaged


@pytest.mark.parametrize("suffix", FILES)
@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "text", "zeros"])
def test_damaged_files(tmp_path, suffix, damage, arm):
    """A file that is not whole is refused with its name, or read as far as it goes."""
    path = FILES[suffix](tmp_path / f"log.{suffix}")
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    for trial in range(4 if damage in ("cut", "flipped") else 1):
        if damage == "cut":
            bad = data[: rng.integers(1, len(data))]
        elif damage == "flipped":
            array = bytearray(data)
            for at in rng.integers(0, len(array), 40):
                array[at] ^= 1 << int(rng.integers(8))
            bad = bytes(array)
        else:
            bad = {"empty": b"", "text": b"time,pos\n0,1\n1,2\n", "zeros": bytes(5000)}[damage]
        path.write_bytes(bad)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _any(path, arm)
        except LogError as error:
            assert str(path) in str(error), (suffix, damage, trial)
        else:
            assert damage in ("cut", "flipped"), f"{suffix}: {damage} was read"


def test_a_data_set_without_what_it_needs(tmp_path):
    """Folders that are none, an info.json that is none, no Parquet file, no fps."""
    folder = tmp_path / "set"
    folder.mkdir()
    said = refused(folder, None)
    assert "it is a folder, and no bag (metadata.yaml" in said and "meta/info.json" in said
    write_lerobot(folder := tmp_path / "other", "v3.0")
    info = folder / "meta" / "info.json"
    for text, says in (
        ('{"features": ', "cannot be read as LeRobot"),
        ('{"features": {}}', "'fps'"),
        ('{"features": {}, "fps": 0}', "a positive number of frames"),
    ):
        info.write_text(text)
        said = refused(folder, None)
        assert says in said and str(info) in said
    shutil.rmtree(folder / "data")
    info.write_text('{"features": {}, "fps": 10}')
    assert "no Parquet file below" in refused(folder, None)


def test_arrays_that_declare_too_much(tmp_path):
    """HDF5 and torch files whose headers declare a terabyte in a few bytes."""
    with h5py.File(tmp_path / "log.h5", "w") as file:
        file.create_dataset("q", shape=(10**12,), dtype="f8", chunks=(1000,))
    assert "array 'q': declares 7.45e+03 GiB" in refused(tmp_path / "log.h5", None)
    wide = np.broadcast_to(np.zeros(1), (10**6, 10**6))
    path = write_torch(tmp_path / "log.pt", {"time": TIME, "q": wide})
    assert path.stat().st_size < 10_000
    assert "declares more than its storage" in refused(path, None)


def test_a_library_that_is_not_there(tmp_path, monkeypatch):
    """Names the extra that brings it."""
    path = write_hdf5(tmp_path / "log.h5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert f"{path}: reading HDF5 needs h5py: pip install 'graftsim[hdf5]'" in refused(path, None)


@pytest.mark.parametrize(
    ("data", "logged"),
    [
        (b'{"header": {"stamp": {"sec": 1e300, "nsec": 0}}, "q": 1}', 5),
        (b'{"header": {"stamp": {"sec": 100000000000000000000000, "nsec": 0}}, "q": 1}', 5),
        (b'{"q": 1}', 2**64 - 1),
        (b"[" * 100_000, 5),
        (b'{"q": 1', 5),
        (b"\xff\xfe", 5),
        (b"[]", 5),
    ],
)
def test_messages_of_json_that_are_none(tmp_path, data, logged):
    """Times beyond all clocks, nests without an end, other bytes: refused with the file."""
    from mcap.writer import Writer

    path = tmp_path / "log.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start(profile="")
        channel = writer.register_channel("/t", "json", writer.register_schema("t", "", b""))
        writer.add_message(channel, log_time=logged, publish_time=0, data=data)
        writer.finish()
    assert str(path) in refused(path, {"signal[q]": "/t.q"})


@pytest.mark.parametrize(("at", "byte"), [(233, 255), (260, 1), (162, 255)])
def test_matlab_files_that_bring_their_reader_down(tmp_path, monkeypatch, at, byte):
    """SciPy 1.17 crashes on the first two and does not end on the third; this process goes on."""
    monkeypatch.setattr(matlab, "PATIENCE", 3.0)
    path = write_matlab(tmp_path / "log.mat")
    data = bytearray(path.read_bytes())
    data[at] = byte
    path.write_bytes(data)
    assert f"{path}: cannot be read as MATLAB" in refused(path, None)


def test_frames_that_a_data_set_lost(tmp_path, arm):
    """An episode whose frames do not follow each other has the clock of its time stamps."""
    import polars

    folder = write_lerobot(tmp_path / "set", episodes=2)
    file = next(folder.glob("data/*/*.parquet"))
    frame = polars.read_parquet(file)
    frame.filter(
        (polars.col("episode_index") == 0) | (polars.col("frame_index") != 50)
    ).write_parquet(file)
    whole, holed = read_recordings(folder, robot=arm)
    assert len(whole[JOINT_Q[0]].time) == COUNT
    assert len(holed[JOINT_Q[0]].time) == COUNT - 1
    assert np.allclose(np.delete(TIME, 50), holed[JOINT_Q[0]].time, atol=1e-6)


@pytest.mark.parametrize("kind", ["bag", "mcap"])
def test_bags_that_were_cut_off(tmp_path, kind):
    """As by a flat battery: refused, with the tool that mends them."""
    path = tmp_path / ("log.bag" if kind == "bag" else "log")
    path = write_ros(path, joint_states(nanoseconds()), kind)
    file = path if kind == "bag" else next(path.glob("*.mcap"))
    file.write_bytes(file.read_bytes()[:-200])
    said = refused(file, None)
    assert str(file) in said and "mcap recover" in said and "rosbag reindex" in said
