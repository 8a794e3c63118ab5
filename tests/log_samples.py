"""A log of two joints in each format, made by the format's own library."""

import io
import json
import pickle
import sys
import types
import zipfile
from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace

import numpy as np

JOINTS = ("shoulder", "elbow")
DT, COUNT, START = 0.01, 200, 1_700_000_000
TIME = DT * np.arange(COUNT)
Q = np.stack([np.sin(3 * TIME), np.cos(2 * TIME)], axis=1)
QD = np.stack([3 * np.cos(3 * TIME), -2 * np.sin(2 * TIME)], axis=1)
NS = 10**9


def joint_states(times, logged=None, order=None, effort=False):
    """(stamp in ns, log time in ns, message as a dictionary) of JointState, joints in any order."""
    for k, t in enumerate(times):
        names = JOINTS if order is None else order(k)
        at = [JOINTS.index(n) for n in names]
        q, qd = Q[k % COUNT, at], QD[k % COUNT, at]
        message = {"name": list(names), "position": q, "velocity": qd}
        message["effort"] = q + 1 if effort else np.zeros(0)
        yield int(t), int(t if logged is None else logged[k]), message


def flip(k):
    """The joints in another order in every second message."""
    return JOINTS if k % 2 else JOINTS[::-1]


def nanoseconds(count=COUNT):
    return START * NS + np.arange(count) * int(DT * NS)


def write_ros(path, messages, kind="mcap", topic="/joint_states", version=9):
    """A bag of JointState messages: kind "bag" (ROS 1), "db3" or "mcap" (ROS 2)."""
    from rosbags.rosbag1 import Writer as Writer1
    from rosbags.rosbag2 import StoragePlugin, Writer as Writer2
    from rosbags.typesys import Stores, get_typestore

    first = kind == "bag"
    store = get_typestore(Stores.ROS1_NOETIC if first else Stores.ROS2_HUMBLE)
    plugin = StoragePlugin.MCAP if kind == "mcap" else StoragePlugin.SQLITE3
    writer = Writer1(path) if first else Writer2(path, version=version, storage_plugin=plugin)
    type_name = "sensor_msgs/msg/JointState"
    message, header, stamp = (
        store.types[n] for n in (type_name, "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
    )
    with writer:
        connection = writer.add_connection(topic, type_name, typestore=store)
        for k, (t, logged, fields) in enumerate(messages):
            more = {"seq": k} if first else {}
            head = header(stamp=stamp(sec=t // NS, nanosec=t % NS), frame_id="", **more)
            one = message(header=head, **fields)
            pack = store.serialize_ros1 if first else store.serialize_cdr
            writer.write(connection, logged, pack(one, type_name))
    return Path(path)


def write_mcap_json(path, messages, topic="/joint_states"):
    """MCAP with JSON messages."""
    from mcap.writer import Writer

    with open(path, "wb") as file:
        writer = Writer(file)
        writer.start(profile="")
        schema = writer.register_schema("joints", "jsonschema", b"{}")
        channel = writer.register_channel(topic, "json", schema)
        for t, logged, fields in messages:
            plain = {k: v if k == "name" else list(map(float, v)) for k, v in fields.items()}
            plain["header"] = {"stamp": {"sec": t // NS, "nsec": t % NS}}
            data = json.dumps(plain).encode()
            writer.add_message(channel, log_time=logged, publish_time=t, data=data)
        writer.finish()
    return Path(path)


def write_lerobot(folder, version="v3.0", episodes=3, names=None, degrees=True):
    """A data set of LeRobot: state and action of two joints in degrees."""
    import polars

    named = [f"{j}.pos" for j in JOINTS] if names is None else names
    vector = {"dtype": "float32", "shape": [2], "names": named}
    info = {
        "codebase_version": version,
        "fps": 100,
        "total_episodes": episodes,
        "features": {"observation.state": vector, "action": vector},
    }
    (folder / "meta").mkdir(parents=True)
    (folder / "meta" / "info.json").write_text(json.dumps(info))
    values = np.degrees(Q) if degrees else Q
    frames = [
        polars.DataFrame(
            {
                "observation.state": (values + e).tolist(),
                "action": (values + e + 1).tolist(),
                "timestamp": TIME,
                "frame_index": np.arange(COUNT),
                "episode_index": np.full(COUNT, e),
            },
            schema_overrides={
                "observation.state": polars.List(polars.Float32),
                "action": polars.Array(polars.Float32, 2),
                "timestamp": polars.Float32,
            },
        )
        for e in range(episodes)
    ]
    chunk = folder / "data" / "chunk-000"
    chunk.mkdir(parents=True)
    if version == "v3.0":
        polars.concat(frames).write_parquet(chunk / "file-000.parquet")
    else:
        for e, frame in enumerate(frames):
            frame.write_parquet(chunk / f"episode_{e:06d}.parquet")
    return folder


def write_hdf5(path, style="aloha"):
    """HDF5 as ALOHA, robomimic or DROID has it."""
    import h5py

    with h5py.File(path, "w") as file:
        if style == "aloha":
            file["observations/qpos"] = Q
            file["observations/qvel"] = QD
            file["observations/images/top"] = np.zeros((4, 4, 4, 3), np.uint8)
            file["action"] = Q + 0.1
        elif style == "robomimic":
            for k in (0, 1, 10):
                file[f"data/demo_{k}/obs/robot0_joint_pos"] = Q + k
                file[f"data/demo_{k}/actions"] = np.zeros((COUNT, 7))
            args = {"env_name": "Lift", "env_kwargs": {"control_freq": 20}}
            file["data"].attrs["env_args"] = json.dumps(args)
        else:
            file["observation/robot_state/joint_positions"] = Q
            file["action/joint_position"] = Q + 0.1
            stamps = np.round(1000 * (START + TIME)).astype(np.int64)
            file["observation/timestamp/control/step_start"] = stamps
    return Path(path)


def write_matlab(path):
    """A structure with its clock, saved by SciPy."""
    import scipy.io

    log = {"time": TIME, "q": Q, "qd": QD.T, "name": "arm"}
    scipy.io.savemat(path, {"log": log})
    return Path(path)


def write_matlab73(path):
    """The same in version 7.3, which is HDF5 after 512 bytes: columns of MATLAB are rows there."""
    import h5py

    with h5py.File(path, "w", userblock_size=512) as file:
        group = file.create_group("log")
        group.attrs["MATLAB_class"] = np.bytes_("struct")
        for name, array in (("time", TIME[None]), ("q", Q.T), ("qd", QD.T)):
            group[name] = array
            group[name].attrs["MATLAB_class"] = np.bytes_("double")
    head = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    with open(path, "r+b") as file:
        file.write(head)
    return Path(path)


def write_ulog(path):
    """A flight log with a topic of joint positions, by pyulog."""
    from pyulog import ULog

    log = ULog(None)
    log._file_version = 1
    fields = [("uint64_t", 0, "timestamp"), ("float", 2, "q"), ("float", 0, "gap")]
    log._message_formats["arm_state"] = SimpleNamespace(name="arm_state", fields=fields)
    flat = [("timestamp", "uint64_t"), ("q[0]", "float"), ("q[1]", "float"), ("gap", "float")]
    data = {
        "timestamp": (1e6 * TIME).astype(np.uint64) + 5_000_000,
        "q[0]": Q[:, 0].astype(np.float32),
        "q[1]": Q[:, 1].astype(np.float32),
        "gap": np.zeros(COUNT, np.float32),
    }
    columns = [ULog._FieldData(name, kind) for name, kind in flat]
    log._data_list = [
        SimpleNamespace(multi_id=0, msg_id=0, name="arm_state", field_data=columns, data=data)
    ]
    log.write_ulog(str(path))
    return Path(path)


class _Storage:
    """Stands for the numbers of a tensor while its pickle is written."""

    def __init__(self, array, key):
        self.array, self.key = array, key
        # An array that repeats one number has a storage of one number.
        self.numbers = array.ravel() if array.flags.c_contiguous else array[:1, :1].ravel()


def write_torch(path, tensors, extra=None):
    """What torch.save writes, byte by byte: an archive of a pickle and raw numbers.

    tensors: name -> array. extra: an object put beside them in the pickle.
    """
    names = {"f8": "DoubleStorage", "f4": "FloatStorage", "i8": "LongStorage"}
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    for name in names.values():
        kind = type(name, (), {"__module__": "torch"})
        setattr(torch, name, kind)

    def _rebuild_tensor_v2(*_):
        raise AssertionError("only named, never called")

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = (
        "torch._utils",
        ("_rebuild_tensor_v2"),
    )
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2

    class Tensor:
        def __init__(self, storage):
            self.storage = storage

        def __reduce__(self):
            array = self.storage.array
            strides = tuple(s // array.itemsize for s in array.strides)
            return _rebuild_tensor_v2, (
                self.storage, 0, array.shape, strides, False, OrderedDict(),
            )  # fmt: skip

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            if not isinstance(obj, _Storage):
                return None
            kind = getattr(torch, names[obj.array.dtype.str[1:]])
            return ("storage", kind, obj.key, "cpu", len(obj.numbers))

    storages = {n: _Storage(a, str(k)) for k, (n, a) in enumerate(tensors.items())}
    content = {name: Tensor(storage) for name, storage in storages.items()}
    if extra is not None:
        content["extra"] = extra
    before = {name: sys.modules.get(name) for name in ("torch", "torch._utils")}
    sys.modules |= {"torch": torch, "torch._utils": utils}
    try:
        buffer = io.BytesIO()
        Pickler(buffer, protocol=2).dump(content)
    finally:
        for name, module in before.items():
            sys.modules.pop(name)
            if module is not None:
                sys.modules[name] = module
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("log/data.pkl", buffer.getvalue())
        archive.writestr("log/byteorder", "little")
        for storage in storages.values():
            archive.writestr(f"log/data/{storage.key}", storage.numbers.tobytes())
        archive.writestr("log/version", "3\n")
    return Path(path)


def pace(path):
    """Recordings as PACE keeps them."""
    tensors = {"time": TIME, "dof_pos": Q.astype("f4"), "des_dof_pos": (Q + 0.1).astype("f4")}
    return write_torch(path, tensors)


FILES = {
    "bag": lambda p: write_ros(p, joint_states(nanoseconds(), order=flip), "bag"),
    "mcap": lambda p: write_mcap_json(p, joint_states(nanoseconds(), order=flip)),
    "h5": write_hdf5,
    "mat": write_matlab,
    "ulg": write_ulog,
    "pt": pace,
}
"""Formats of one file by suffix: how a log of each is written."""
