"""Reading logs: mappings, units, formats; wrong use and its messages; real logs."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from log_texts import ANGLE, refused, table, write

from graftsim.errors import LogError
from graftsim.io.logs.read import (
    ColumnSpec,
    read_recording,
    read_recordings,
    recording_from_arrays,
    write_csv,
)
from graftsim.io.logs.tables import folded
from graftsim.recordings.recording import Channel, Recording

# --- mappings and formats


def test_mapping_units_scale_and_what_was_not_read(tmp_path):
    path = write(
        tmp_path, "# a robot\ntime_ms;pos;vel;junk\n0;0;1;x\n# half way\n10;90;2;y\n\n20;180;3;z\n"
    )
    made = read_recording(
        path,
        {"joint.q[a]": {"column": "pos", "unit": "deg"}, "joint.qd[a]": ColumnSpec("vel", scale=2)},
    )
    assert np.allclose(made["joint.q[a]"].time, [0, 0.01, 0.02])
    assert np.allclose(made["joint.q[a]"].values[:, 0], [0, np.pi / 2, np.pi])
    assert made["joint.q[a]"].unit == "rad"
    assert made["joint.qd[a]"].values[:, 0].tolist() == [2, 4, 6]
    assert made["joint.qd[a]"].unit == "rad/s or m/s"
    assert made["joint.q[a]"].column_names == ("pos",)
    assert made["joint.q[a]"].source == str(path)
    assert made.name == "log"
    assert "columns not read: junk" in made.notes


def test_names_in_the_header_need_no_mapping(tmp_path):
    header = "t,joint.q[a] (deg),link.position[tip].z (mm),link.position[tip].x (mm),"
    header += "link.position[tip].y (mm),other,joint.qq[a]"
    made = read_recording(write(tmp_path, f"{header}\n0,0,3,1,2,9,9\n1,180,3,1,4,9,9\n"))
    assert made.names == ("joint.q[a]", "link.position[tip]")
    assert np.allclose(made["link.position[tip]"].values[0], [0.001, 0.002, 0.003])
    assert np.allclose(made["joint.q[a]"].values[1], np.pi)
    assert "columns not read: other, joint.qq[a]" in made.notes
    assert any("'joint.qq[a]' looks like a channel" in note for note in made.notes)


def test_delimiters(tmp_path):
    for k, delimiter in enumerate(",;\t"):
        text = "time,pos (x),b\n0,1,2\n1,2,3\n".replace(",", delimiter)
        made = read_recording(write(tmp_path, text, f"{k}.csv"), {"joint.q[a]": "pos (x)"})
        assert made["joint.q[a]"].values[:, 0].tolist() == [1, 2]
    text = '"t","pos, filtered, in rad"\n0,1\n1,2\n'
    made = read_recording(write(tmp_path, text), {"joint.q[a]": "pos, filtered, in rad"})
    assert len(made["joint.q[a]"].time) == 2


def test_npz_in_its_shapes(tmp_path):
    time, q = np.arange(5) * 0.1, np.arange(10.0).reshape(5, 2)
    np.savez(tmp_path / "rows.npz", data=np.c_[time, q], columns=np.array(["time", "p", "r"]))
    np.savez(tmp_path / "named.npz", t=time, q=q, text=np.array("hello"))
    by_rows = read_recording(tmp_path / "rows.npz", {"joint.q[a]": "r"})
    by_name = read_recording(tmp_path / "named.npz", {"joint.q[a]": "q[1]", "control[u]": "q"})
    assert np.array_equal(by_rows["joint.q[a]"].values, by_name["joint.q[a]"].values)
    assert by_name["control[u]"].column_names == ("q[0]", "q[1]")
    assert any("text" in note for note in by_name.notes)


def test_parquet(tmp_path):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {"time": [0.0, 0.1, 0.2], "pos": [1, 2, None], "word": ["a", "b", "c"]}
    )
    path = tmp_path / "log.parquet"
    frame.write_parquet(path)
    text = refused(path)
    assert f"{path}: row 2 (counted from 0), column 'pos': the cell holds null" in text
    made = read_recording(path, ANGLE, missing="gap")
    assert made["joint.q[a]"].values[:, 0].tolist() == [1, 2]
    assert "column 'word': 'a' is not a number" in refused(path, {"joint.q[a]": "word"})
    stamps = polars.DataFrame({"pos": [1.0, 2.0]}).with_columns(
        time=polars.Series([1_000, 1_500]).cast(polars.Datetime("ms"))
    )
    stamps.write_parquet(path)
    assert read_recording(path, ANGLE)["joint.q[a]"].time.tolist() == [1.0, 1.5]


def test_parquet_columns_of_lists(tmp_path):
    """Expanded as 2-D arrays are if all are as long (L3); else named as not read."""
    polars = pytest.importorskip("polars")
    time, q = np.arange(60) / 30, np.stack([np.arange(60.0), -np.arange(60.0)], axis=1)
    columns = {
        "timestamp": time,
        "state": q.tolist(),
        "ragged": [[1.0] * (k % 3) for k in range(60)],
    }
    kinds = {"state": polars.Array(polars.Float32, 2), "ragged": polars.List(polars.Float64)}
    polars.DataFrame(columns, schema_overrides=kinds).write_parquet(tmp_path / "log.parquet")
    made = read_recording(
        tmp_path / "log.parquet",
        {"joint.q[a]": ColumnSpec("state[1]", unit="deg"), "signal[s]": "state"},
    )
    assert np.allclose(np.degrees(made["joint.q[a]"].values[:, 0]), q[:, 1])
    assert np.array_equal(made["signal[s]"].values, q)
    assert any("ragged (List(Float64))" in note for note in made.notes)


def test_arrays_with_their_own_clocks():
    arrays = {
        "t": np.arange(10) * 0.1,
        "q": np.sin(np.arange(10)),
        "s": np.arange(5) * 0.2,
        "u": np.arange(5),
    }
    made = recording_from_arrays(
        arrays, {"joint.q[a]": "q", "control[m]": {"column": "u", "time": "s", "unit": "mA"}}
    )
    assert made["control[m]"].time.tolist() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8])
    assert made["control[m]"].values[-1, 0] == pytest.approx(0.004)
    assert any("several rates: 10 Hz: joint.q[a]; 5 Hz: control[m]" in n for n in made.notes)
    with pytest.raises(LogError, match=r"different length \(u 5, t 10\)"):
        recording_from_arrays(arrays, {"control[m]": "u"})


def test_clocks(tmp_path):
    path = write(tmp_path, "stamp,pos\n0,1\n1,2\n")
    assert "no column named time, timestamp or t" in refused(path)
    assert read_recording(path, ANGLE, time="stamp").end == 1
    mapping = {**ANGLE, "time": {"column": "stamp", "unit": "ms"}}
    assert read_recording(path, mapping).end == 0.001
    made = read_recording(path, ANGLE, time=0.25)
    assert made["joint.q[a]"].time.tolist() == [0, 0.25]
    assert "no clock in the log: samples taken as 0.25 s apart" in made.notes
    assert "two clocks" in refused(path, mapping, time=0.25)
    assert "must be positive" in refused(path, time=0.0)
    assert "cannot be in 'deg'" in refused(
        path, {**ANGLE, "time": {"column": "stamp", "unit": "deg"}}
    )
    both = write(tmp_path, "t,timestamp,pos\n0,0,1\n1,1,2\n")
    assert "which column is the clock, t, timestamp?" in refused(both)


def test_several_logs(tmp_path):
    for k in (2, 1):
        write(tmp_path, table(joint_q=np.sin).replace("joint_q", "pos"), f"run{k}.csv")
    pattern = str(tmp_path / "run*.csv")
    made = read_recordings([pattern, tmp_path / "run1.csv"], ANGLE)
    assert [r.name for r in made] == ["run1", "run2"]
    assert read_recordings(str(tmp_path / "run1.csv"), ANGLE)[0].name == "run1"
    with pytest.raises(LogError, match=r"no\*\.csv: no file matches"):
        read_recordings([pattern, str(tmp_path / "no*.csv")], ANGLE)


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_csv_round_trip_is_exact(tmp_path_factory, data):
    time = sorted(data.draw(st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=8, unique=True)))
    n = len(time)
    control = data.draw(st.lists(NUMBERS, min_size=n, max_size=n))
    force = data.draw(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=n, max_size=n))
    channels = [
        Channel("control[a, b]", time, control, "N m"),
        Channel("link.force[tip]", time, force, "N", notes=("two\nlines",)),
    ]
    path = tmp_path_factory.mktemp("csv") / "log.csv"
    write_csv(Recording({c.name: c for c in channels}, "run"), path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a random clock has gaps
        made = read_recording(path)
    for channel in channels:
        assert np.array_equal(made[channel.name].time, channel.time)
        assert np.array_equal(made[channel.name].values, channel.values)
        assert made[channel.name].unit == channel.unit


def test_csv_needs_one_clock(tmp_path):
    channels = [Channel(f"control[{k}]", [0.0, 1.0 + k], [1.0, 2.0], "N") for k in range(2)]
    made = Recording({c.name: c for c in channels})
    with pytest.raises(LogError, match=r"control\[0\] and control\[1\] have different clocks"):
        write_csv(made, tmp_path / "x.csv")


def test_many_columns_of_an_array_are_folded_in_messages():
    """In a row, by their numbers; names stay as they are."""
    names = ["a[0]", "a[1]", "a[2]", "b[2]", "b[4]", "c[x]", "d", "a[3]", "e[0]", "f[1]"]
    assert folded(names) == [
        "a[0] to a[2]", "b[2]", "b[4]", "c[x]", "d", "a[3]", "e[0]", "f[1]",
    ]  # fmt: skip
    assert folded([]) == []


# --- wrong use


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"joint.q[a]": "posi"}, "no column 'posi'. Nearest: pos"),
        ({"joint.qdot[a]": "pos"}, "no recorded quantity 'joint.qdot'. Nearest:"),
        ({"elbow": "pos"}, "'elbow' is not a channel name"),
        ({"joint.q[*]": "pos"}, "not a channel name"),
        ({"joint.q[a]": {"column": "pos", "units": "deg"}}, "unknown key 'units'. Nearest: unit"),
        ({"joint.q[a]": {"unit": "deg"}}, "`column` is missing"),
        ({"joint.q[a]": {"column": "pos", "unit": "degre"}}, "unit 'degre' is not known"),
        ({"joint.q[a]": {"column": "pos", "unit": "N"}}, "cannot be in 'N', a unit of force"),
        ({"link.force[a]": ["pos", "vel"]}, "takes 3 columns (x y z), not 2"),
        ({"joint.tau[a]": {"column": "pos", "unwrap": True}}, "only angles can be unwrapped"),
        ({"control[a]": {"columns": ["pos", "vel"], "scale": [1, 2, 3]}}, "3 values of `scale`"),
        ({"joint.q[a]": 3}, "give the name of a column"),
        ({"joint.q[a]": []}, "give the name of a column"),
        ({"joint.q[a]": {"column": "pos", "scale": "2"}}, "scale='2' is not a number"),
        ({"joint.q[a]": {"column": "pos", "columns": ["pos"]}}, "not both"),
        ("pos", "maps channels to columns"),
        ({}, "no column was mapped"),
    ],
)
def test_wrong_mappings(tmp_path, columns, says):
    path = write(tmp_path, "time,pos,vel\n0,1,2\n1,2,3\n")
    text = refused(path, columns)
    assert says in text
    assert str(path) in text


def test_nothing_mapped_shows_what_to_write(tmp_path):
    text = refused(write(tmp_path, "time,pos,vel\n0,1,2\n1,2,3\n"), None)
    assert "Columns: time, pos, vel" in text
    assert "columns={'joint.q[elbow]': 'pos'}" in text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        ("time,pos\n", "no row after its header (row 1)"),
        ("# time,pos\n0,1\n1,2\n", "row 2 holds only numbers; a header"),
        ("time,pos,pos\n0,1,2\n", "row 1: two columns are named 'pos'"),
        ("time,pos\n0,1\n# x\n1,2,3\n", "row 4: 3 cells, but the header (row 1) names 2"),
    ],
)
def test_broken_files(tmp_path, content, says):
    path = write(tmp_path, content)
    text = refused(path)
    assert f"{path}:" in text
    assert says in text


def test_files_that_cannot_be_read(tmp_path):
    assert "no such file" in refused(tmp_path / "absent.csv")
    assert "cannot read '.xyz' files" in refused(write(tmp_path, "x", "log.xyz"))
    assert "cannot be read as .npz" in refused(write(tmp_path, "x", "log.npz"))
    (tmp_path / "bin.csv").write_bytes(b"time,pos\n\xff\xfe,1\n")
    assert "not UTF-8" in refused(tmp_path / "bin.csv")


# --- real logs

DATA = Path(os.environ.get("GRAFTSIM_DATA", "absent"))


@pytest.mark.skipif(not DATA.is_dir(), reason="GRAFTSIM_DATA names no folder of recordings")
def test_a_real_double_pendulum():
    columns = {
        "joint.q[shoulder]": "pos_meas1",
        "joint.q[elbow]": "pos_meas2",
        "joint.qd[elbow]": ColumnSpec("vel_meas2", unit="rad/s"),
        "joint.tau[elbow]": ColumnSpec("tau_meas2", unit="N m"),
    }
    runs = read_recordings(str(DATA / "dfki_double_pendulum" / "*.npz"), columns)
    assert len(runs) >= 7
    for run in runs:
        assert run["joint.q[elbow]"].interval == pytest.approx(0.002, rel=0.02)
        assert run["joint.tau[elbow]"].unit == "N m"


@pytest.mark.skipif(not DATA.is_dir(), reason="GRAFTSIM_DATA names no folder of recordings")
def test_a_real_clock_that_goes_back():
    files = sorted((DATA / "mcube_push").glob("*v100*.npz"))
    columns = {"signal[object]": {"columns": "object_pose", "time": "object_pose[0]"}}
    text = refused(files[0], columns)
    assert f"{files[0]}: row " in text
    assert "column 'object_pose[0]': time goes back" in text
    read_recording(files[0], columns, sort=True, duplicates="average")
