"""Rare faults of logs: headers that say two things, two clocks, what torch did not write."""

import io
import pickle
import warnings
import zipfile

import h5py
import numpy as np
import pytest
from log_texts import refused, write

from graftsim.errors import LogError
from graftsim.io.logs.read import read_recordings
from graftsim.io.logs.tables import array_table


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("time,joint.q[a],joint.q[a] (deg)", "two columns for joint.q[a]"),
        ("time,link.force[a],link.force[a].x", "there both whole and in parts"),
        ("time,link.force[a].x,link.force[a].z", "parts of link.force[a] are not complete"),
        (
            "time,link.force[a].x (N),link.force[a].y,link.force[a].z (kN)",
            "state the unit of all parts or of none",
        ),
    ],
)
def test_headers_that_say_two_things(tmp_path, header, says):
    count = header.count(",") + 1
    rows = "\n".join(",".join(str(k + i) for i in range(count)) for k in range(5))
    assert says in refused(write(tmp_path, f"{header}\n{rows}\n"), None)


def test_a_clock_is_one_column(tmp_path):
    path = write(tmp_path, "t1,t2,a\n0,0,1\n1,1,2\n2,2,3\n")
    says = refused(path, {"joint.q[a]": "a", "time": ["t1", "t2"]})
    assert "a clock is one column, not 2" in says


def test_parts_of_a_mapping_over_several_logs(tmp_path):
    """Each log takes what it has columns for; what none has is refused, as it would be of one."""
    commands = write(tmp_path, "time,u\n0,1\n1,2\n2,3\n", "commands.csv")
    measured = write(tmp_path, "time,q\n0,4\n1,5\n2,6\n", "measured.csv")
    columns = {"control[a]": "u", "joint.q[a]": "q", "time": "time"}
    first, second = read_recordings([commands, measured], columns, parts=True)
    np.testing.assert_array_equal(first["control[a]"].values[:, 0], [1, 2, 3])
    np.testing.assert_array_equal(second["joint.q[a]"].values[:, 0], [4, 5, 6])
    assert list(first.channels) == ["control[a]"] and list(second.channels) == ["joint.q[a]"]
    with pytest.raises(LogError, match="no column 'w'"):
        read_recordings([commands, measured], columns | {"joint.qd[a]": "w"}, parts=True)


def test_no_log_is_named():
    with pytest.raises(LogError, match="no log was named"):
        read_recordings([])


def archive(path, content, **members):
    """A zip as torch.save leaves it, with another pickle or other members."""
    with zipfile.ZipFile(path, "w") as file:
        if content is not None:
            file.writestr("log/data.pkl", content)
        for name, data in members.items():
            file.writestr(f"log/data/{name}", data)
    return path


class Storage:
    """Stands for numbers in a pickle."""

    def __init__(self, *pid):
        self.pid = pid


def pickled(content):
    """A pickle whose storages are named, not held."""

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            return obj.pid if isinstance(obj, Storage) else None

    buffer = io.BytesIO()
    Pickler(buffer, protocol=2).dump(content)
    return buffer.getvalue()


def test_what_torch_did_not_write(tmp_path):
    """Each is refused by the file's name and what is wrong with it."""
    path = tmp_path / "log.pt"
    path.write_bytes(b"\x80\x02}q\x00.")
    assert "is no zip archive" in refused(path, None)
    assert "there is no data.pkl in it" in refused(archive(path, None, x=b"1"), None)
    lost = Storage("module", "f4", "0", "cpu", 3)
    assert "holds 'module', which is no storage" in refused(archive(path, pickled([lost])), None)
    nothing = archive(path, pickled({"name": "arm"}))
    assert "no tensor of one or two dimensions" in refused(nothing, None)


def test_files_without_an_array(tmp_path):
    """NumPy's and HDF5's, by name."""
    np.savez(tmp_path / "log.npz")
    assert "there is no array in it" in refused(tmp_path / "log.npz", None)
    with h5py.File(tmp_path / "log.h5", "w") as file:
        file.create_group("empty")
    assert "no array of numbers" in refused(tmp_path / "log.h5", None)


def test_lists_nested_without_end(tmp_path):
    deep = []
    for _ in range(200):
        deep = [deep]
    path = archive(tmp_path / "log.pt", pickled({"q": deep}))
    assert "is nested deeper than" in refused(path, None)


def test_arrays_with_columns_of_one_name():
    wide = np.zeros((3, 2))
    with pytest.raises(LogError, match="two columns of the same name"):
        array_table({"data": wide, "columns": np.array(["a", "a"])}, "here")
    with pytest.raises(LogError, match=r"two columns are named 'a\[0\]'"):
        array_table({"a": wide, "a[0]": np.zeros(3)}, "here")


def test_gravity_in_its_unit_raises_no_doubt(tmp_path):
    """9.8 is m/s^2 and not g."""
    name = "link.linear_acceleration[a]"
    parts = ",".join(f"{name}.{x}" for x in "xyz")
    rows = "\n".join(f"{0.1 * k},0,{0.01 * (k % 3)},9.8" for k in range(30))
    path = write(tmp_path, f"time,{parts}\n{rows}\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_recordings(path)[0][name].width == 3
