"""Logs that cannot be trusted (F10): each fault names file, row and column."""

import io
import zipfile

import numpy as np
import pytest
from log_texts import ANGLE, refused, table, write

from graftsim.errors import GraftsimWarning
from graftsim.io.logs.read import ColumnSpec, read_recording


def warned(path, columns=ANGLE, **options):
    with pytest.warns(GraftsimWarning) as caught:
        made = read_recording(path, columns, **options)
    text = str(caught[0].message)
    assert text in made.notes
    return text


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("", "the cell is empty"),
        ("nan", "the cell holds nan"),
        ("-inf", "the cell holds -inf"),
        ("fast", "'fast' is not a number"),
        ("1_0", "'1_0' is not a number"),
    ],
)
def test_missing_cells(tmp_path, cell, says):
    path = write(tmp_path, f"time,pos,vel\n0,1,2\n# note\n1,{cell},3\n2,3,4\n3,4,5\n")
    text = refused(path)
    assert f"{path}: row 4, column 'pos': {says}" in text
    assert "missing='gap'" in text
    made = read_recording(path, {**ANGLE, "joint.qd[a]": "vel"}, missing="gap")
    assert made["joint.q[a]"].time.tolist() == [0, 2, 3]
    assert made["joint.qd[a]"].time.tolist() == [0, 1, 2, 3]
    (note,) = made["joint.q[a]"].notes
    assert "1 samples left out: no number in column 'pos' (rows 4)" in note


def test_decimal_comma_and_too_few_samples(tmp_path):
    path = write(tmp_path, "time;pos\n0;1,5\n1;2\n2;3\n")
    assert "row 2, column 'pos': '1,5' has a decimal comma" in refused(path)
    path = write(tmp_path, "time,pos\n0,\n1,2\n")
    assert "1 usable samples for channel joint.q[a]" in refused(path, missing="gap")


def test_missing_time(tmp_path):
    path = write(tmp_path, "time,pos\n0,1\n,2\n2,3\n")
    assert f"{path}: row 3, column 'time': the cell is empty" in refused(path)
    assert read_recording(path, ANGLE, missing="gap")["joint.q[a]"].time.tolist() == [0, 2]


def test_duplicated_times(tmp_path):
    path = write(tmp_path, "time,pos\n0,1\n1,2\n1,4\n2,3\n")
    text = refused(path)
    assert f"{path}: row 4, column 'time': time 1 s is there twice (also row 3" in text
    first = read_recording(path, ANGLE, duplicates="keep_first")["joint.q[a]"]
    mean = read_recording(path, ANGLE, duplicates="average")["joint.q[a]"]
    assert first.values[:, 0].tolist() == [1, 2, 3]
    assert mean.values[:, 0].tolist() == [1, 3, 3]
    assert "1 duplicated time stamps averaged (first at row 4)" in mean.notes
    assert "use one of" in refused(path, duplicates="drop")


def test_unsorted_times(tmp_path):
    path = write(tmp_path, "time,pos\n0,1\n2,3\n1,2\n3,4\n")
    text = refused(path)
    assert f"{path}: row 4, column 'time': time goes back from 2 s to 1 s" in text
    assert "sort=True" in text
    made = read_recording(path, ANGLE, sort=True)["joint.q[a]"]
    assert made.values[:, 0].tolist() == [1, 2, 3, 4]
    assert made.notes == ("sorted by time: it went back 1 times, first at row 4",)


def test_gap_in_the_clock(tmp_path):
    path = write(tmp_path, "time,pos\n0,1\n1,2\n2,4\n9,3\n10,3\n11,5\n")
    text = warned(path)
    assert f"{path}: row 5, column 'time'" in text
    assert "2 s to 9 s (row 5)" in text


def test_stuck_sensor(tmp_path):
    path = write(tmp_path, "time,pos\n0,1\n1,1\n2,1\n")
    assert f"{path}: row 2, column 'pos': joint.q[a] keeps the value [1.0]" in warned(path)


def test_degrees_taken_for_rad(tmp_path):
    path = write(tmp_path, table(pos=lambda t: 80 * np.sin(3 * t)))
    text = warned(path)
    assert f"{path}: row " in text
    assert "column 'pos': joint.q[a] spans 160 rad" in text
    assert "unit='deg'" in text
    read_recording(path, {"joint.q[a]": ColumnSpec("pos", unit="deg")})
    read_recording(path, {"joint.q[a]": ColumnSpec("pos", unit="rad")})
    path = write(tmp_path, table(pos=lambda t: (300 * t) % 360))
    assert "jumps by about 360 2 times" in warned(path)


def test_wrapped_angle(tmp_path):
    path = write(tmp_path, table(pos=lambda t: (6 * t) % (2 * np.pi)))
    text = warned(path)
    assert f"{path}: row 107, column 'pos': joint.q[a] jumps by a full turn 2 times" in text
    made = read_recording(path, {"joint.q[a]": ColumnSpec("pos", unwrap=True)})
    assert np.allclose(made["joint.q[a]"].values[:, 0], 6 * made["joint.q[a]"].time)
    assert made["joint.q[a]"].notes == ("unwrapped",)


def test_milliseconds_taken_for_seconds(tmp_path):
    path = write(tmp_path, table(n=300, dt=2.0, pos=np.sin))
    text = warned(path)
    assert f"{path}: row 2, column 'time'" in text
    assert "unit='ms'" in text
    read_recording(path, ANGLE, time=ColumnSpec("time", unit="s"))


@pytest.mark.parametrize(
    ("factor", "says"),
    [
        (180 / np.pi, "57.3 times joint.qd[a]: q in degrees, qd in rad/s"),
        (np.pi / 180, "0.01745 times joint.qd[a]: q in rad, qd in degrees/s"),
        (-1.0, "-1 times joint.qd[a]: opposite signs"),
        (0.5, "0.5 times joint.qd[a]: a wrong unit or scale"),
    ],
)
def test_speed_that_is_not_the_rate_of_position(tmp_path, factor, says):
    noise = np.random.default_rng(0)
    content = table(
        pos=lambda t: factor * 0.3 * np.sin(3 * t) + factor * 1e-4 * noise.normal(size=t.shape),
        vel=lambda t: 0.9 * np.cos(3 * t),
    )
    path = write(tmp_path, content)
    text = warned(path, {**ANGLE, "joint.qd[a]": "vel"})
    assert f"{path}: row 2, columns 'pos', 'vel'" in text
    assert says.split(" times")[1] in text
    slope = float(text.split(" is ")[1].split(" times")[0])
    assert slope == pytest.approx(float(says.split(" times")[0]), rel=0.02)


def test_joint_that_moves_by_rounding_alone(tmp_path):
    """A simulated joint that rests on something is no suspicion, whatever its rounding says."""
    content = table(pos=lambda t: 0.1 + 1e-14 * np.sin(3 * t), vel=lambda t: 1e-15 * np.cos(3 * t))
    path = write(tmp_path, content)
    assert not read_recording(path, {**ANGLE, "joint.qd[a]": "vel"}).notes


def test_speed_of_another_joint(tmp_path):
    path = write(tmp_path, table(pos=lambda t: np.sin(3 * t), vel=lambda t: np.sin(11 * t)))
    text = warned(path, {**ANGLE, "joint.qd[a]": "vel"})
    assert "columns 'pos', 'vel'" in text
    assert "belong to the same joint?" in text


def test_one_column_for_two_joints(tmp_path):
    path = write(tmp_path, table(pos=np.sin))
    text = warned(path, {**ANGLE, "joint.q[b]": "pos"})
    assert f"{path}: row 2, column 'pos': feeds joint.q[a] and joint.q[b]" in text


def test_accelerometer_in_g_and_position_in_mm(tmp_path):
    level = {"x": lambda t: 0.01 * np.sin(t), "y": lambda t: 0 * t, "z": lambda t: 1 + 0 * t}
    path = write(tmp_path, table(**level))
    text = warned(path, {"link.linear_acceleration[imu]": ["x", "y", "z"]})
    assert "row 2, columns 'x', 'y', 'z'" in text
    assert "unit='g'" in text
    path = write(tmp_path, table(x=lambda t: 100 * t, y=np.sin, z=np.cos))
    text = warned(path, {"link.position[tip]": ["x", "y", "z"]})
    assert "row 301, column 'x'" in text
    assert "unit='mm'" in text


def test_mixed_rates_are_a_note(tmp_path):
    path = write(tmp_path, "time,pos,u\n0,1,2\n1,2,\n2,3,3\n3,4,\n4,5,6\n")
    made = read_recording(path, {**ANGLE, "control[m]": "u"}, missing="gap")
    assert "several rates: 1 Hz: joint.q[a]; 0.5 Hz: control[m]" in made.notes


def test_quaternions_and_headings(tmp_path):
    columns = {"link.pose[b]": {"columns": list("xyzabcd"), "unit": "mm"}}
    good = "time,x,y,z,a,b,c,d\n0,1,2,3,1,0,0,0\n1,1,2,4,0.7071,0.7071,0,0\n"
    made = read_recording(write(tmp_path, good), columns)
    pose = made["link.pose[b]"]
    assert np.allclose(pose.values[0], [0.001, 0.002, 0.003, 1, 0, 0, 0])
    assert np.allclose(np.linalg.norm(pose.values[:, 3:], axis=1), 1, atol=1e-15)
    assert pose.unit == "m, 1"
    assert "normalised" in pose.notes[0]
    path = write(tmp_path, good.replace("0.7071,0.7071", "0.9,0.9"))
    text = refused(path, columns)
    assert f"{path}: row 3, columns 'a', 'b', 'c', 'd': the quaternion" in text
    assert "norm 1.273" in text
    text = refused(path, {"link.heading[b]": ["x", "y", "z"]})
    assert f"{path}: row 2, columns 'x', 'y', 'z': the heading" in text


def damaged_archives(folder):
    """An archive with a byte turned, one cut short, one that declares far more than it holds."""
    good = folder / "good.npz"
    np.savez(good, time=np.arange(1000) * 0.01, pos=np.random.default_rng(0).normal(size=1000))
    data = good.read_bytes()
    middle = bytearray(data)
    middle[3 * len(data) // 4] ^= 0xFF
    yield "turned", bytes(middle), "array 'pos'"
    yield "cut", data[: len(data) // 2], ""
    yield "empty", b"", ""
    yield "text", b"time,pos\n0,1\n", ""
    huge = io.BytesIO()
    shape = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
    header = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + shape.ljust(117).encode() + b"\n"
    with zipfile.ZipFile(huge, "w") as archive:
        archive.writestr("pos.npy", header + bytes(80))
    yield "huge", huge.getvalue(), "array 'pos'"
    alone = io.BytesIO()
    np.save(alone, np.arange(10.0))
    yield "npy", alone.getvalue(), "single array (.npy)"


def test_damaged_archives(tmp_path):
    """Each is refused with its file, and with the array where one is to blame."""
    for name, data, says in damaged_archives(tmp_path):
        path = tmp_path / f"{name}.npz"
        path.write_bytes(data)
        text = refused(path)
        assert str(path) in text, name
        assert says in text, name


@pytest.mark.parametrize("row", [0, 1, 2])
def test_a_cell_longer_than_any_number(tmp_path, row):
    """More characters than a reader of CSV takes, in the header, the first row or a later one."""
    lines = [f"{i},1" for i in range(4)]
    lines[row] = f"{row},{'9' * 200_000}"
    text = refused(write(tmp_path, "\n".join(["time,pos", *lines][row == 0 :]) + "\n"))
    assert "row" in text
    assert "field larger than field limit" in text


@pytest.mark.parametrize("suffix", ["csv", "tsv", "txt"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "cp037"])
def test_texts_of_other_encodings(tmp_path, suffix, encoding):
    """A table in an encoding of other widths or letters is refused with its file."""
    path = tmp_path / f"log.{suffix}"
    path.write_bytes("time,pos\n0,1\n0.1,2\n0.2,3\n".encode(encoding))
    assert str(path) in refused(path)


@pytest.mark.parametrize(
    "content", [b"\0" * 100, b"time,pos\n\0,1\n", b"\xff\xfe\xfd", b",,,\n,,,\n"]
)
def test_bytes_that_are_no_table(tmp_path, content):
    """Zeros, half a table, marks of other encodings, nothing but commas."""
    path = tmp_path / "log.csv"
    path.write_bytes(content)
    assert str(path) in refused(path)


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_devices_and_folders(tmp_path, suffix):
    """A link to a device, or a folder, is no log; nothing is read of it."""
    device, folder = tmp_path / f"device.{suffix}", tmp_path / f"folder.{suffix}"
    device.symlink_to("/dev/zero")
    folder.mkdir()
    for path in (device, folder):
        assert f"{path}: there is no such file" in refused(path)
