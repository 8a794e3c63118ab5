"""Bags of ROS 1 and ROS 2, by rosbags; no ROS is needed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from graftsim.errors import LogError
from graftsim.io.logs.damage import begins_with, library, reading
from graftsim.io.logs.format import LogFormat
from graftsim.io.logs.tables import Table
from graftsim.io.logs.topics import Topic, topics_table

MCAP = b"\x89MCAP0\r\n"
_MAGIC = {b"#ROSBAG V2.0": ".bag", b"SQLite format 3\x00": ".db3", MCAP: ".mcap"}
REMEDY = (
    " If the recording was cut off, reindexing may mend it: rosbag reindex (.bag), ros2 bag "
    "reindex (a folder), mcap recover (.mcap)."
)

# Types without the state of a mechanism, that are long to decode.
_HEAVY = ("Image", "CompressedImage", "PointCloud2", "PointCloud", "LaserScan", "OccupancyGrid")


@final
class RosBag(LogFormat):
    """ROS 1 (.bag) and ROS 2 (.db3, .mcap, or the folder with metadata.yaml)."""

    name = "ROS bag"
    suffixes = (".bag", ".db3", ".mcap")

    def matches(self, path: Path) -> bool:
        """By the bytes that it begins with; a folder by its metadata.yaml."""
        if path.is_dir():
            return (path / "metadata.yaml").is_file()
        return _suffix_of(path) is not None and not is_foreign_mcap(path)

    def read(self, path: Path) -> Table:
        """Columns `topic.field[name]`, clocks `topic.header.stamp` and `topic.log_time`."""
        anyreader = library(path, self.name, "rosbags.highlevel", "ros")
        typesys = library(path, self.name, "rosbags.typesys", "ros")
        topics: dict[str, Topic] = {}
        skipped: dict[str, str] = {}
        store = typesys.get_typestore(typesys.Stores.LATEST)
        with (
            _named_right(path) as right,
            reading(path, self.name, remedy=REMEDY),
            anyreader.AnyReader([right], default_typestore=store) as reader,
        ):
            _messages(path, reader, topics, skipped)
        if not topics:
            listed = "; ".join(skipped.values()) or "it is empty"
            raise LogError(f"{path}: there is no topic to read: {listed}.")
        with reading(path, self.name):
            return topics_table(topics.values(), str(path), skipped.values())


def _messages(path: Path, reader: Any, topics: dict[str, Topic], skipped: dict[str, str]) -> None:
    """Decode what is worth it, topic by topic."""
    wanted = []
    for c in reader.connections:
        if c.msgtype.rpartition("/")[2] in _HEAVY:
            skipped[c.topic] = f"{c.topic} ({c.msgtype})"
        elif c.msgtype not in reader.typestore.fielddefs:
            skipped[c.topic] = (
                f"{c.topic} ({c.msgtype}: the bag does not define this type; convert it to MCAP "
                "where the type is installed, by ros2 bag convert)"
            )
        else:
            wanted.append(c)
    if not wanted:
        return
    for connection, logged, raw in reader.messages(connections=wanted):
        topic = topics.setdefault(connection.topic, Topic(connection.topic))
        with reading(path, RosBag.name, f"{connection.topic}, message {len(topic.logged)}"):
            topic.add(reader.deserialize(raw, connection.msgtype), logged)


def _suffix_of(path: Path) -> str | None:
    """The suffix that belongs to the first bytes of a file."""
    return next((suffix for magic, suffix in _MAGIC.items() if begins_with(path, magic)), None)


def is_foreign_mcap(path: Path) -> bool:
    """Whether a file is MCAP of another profile than ROS 2's."""
    if not begins_with(path, MCAP):
        return False
    with path.open("rb") as file:
        head = file.read(8 + 9 + 4 + 4)
    # Magic, opcode and length of the header record, then the length of the profile's name.
    return head[8:9] == b"\x01" and head[21:25] != b"ros2"


@contextmanager
def _named_right(path: Path) -> Iterator[Path]:
    """A path whose suffix is that of its content, which is what rosbags goes by."""
    suffix = None if path.is_dir() else _suffix_of(path)
    if suffix is None or path.suffix == suffix:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / f"log{suffix}"
        link.symlink_to(path.resolve())
        yield link
