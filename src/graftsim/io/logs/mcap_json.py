"""MCAP with JSON messages, as Foxglove and others write them, by the mcap library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import final

from graftsim.errors import LogError
from graftsim.io.logs.damage import library, reading
from graftsim.io.logs.format import LogFormat
from graftsim.io.logs.ros import REMEDY, is_foreign_mcap
from graftsim.io.logs.tables import Table
from graftsim.io.logs.topics import Topic, topics_table


@final
class McapJSON(LogFormat):
    """MCAP files of JSON messages; those of ROS 2 are bags."""

    name = "MCAP (JSON)"
    suffixes = (".mcap",)

    def matches(self, path: Path) -> bool:
        """By the profile in its header."""
        return is_foreign_mcap(path)

    def read(self, path: Path) -> Table:
        """Columns `topic.field[name]`, clocks `topic.header.stamp` and `topic.log_time`."""
        mcap = library(path, self.name, "mcap.reader", "ros")
        topics: dict[str, Topic] = {}
        skipped: dict[str, str] = {}
        with path.open("rb") as file, reading(path, self.name, remedy=REMEDY):
            reader = mcap.make_reader(file, validate_crcs=True)
            for _, channel, message in reader.iter_messages():
                if channel.message_encoding != "json":
                    skipped[channel.topic] = (
                        f"{channel.topic} (encoded as {channel.message_encoding or 'nothing'})"
                    )
                    continue
                topic = topics.setdefault(channel.topic, Topic(channel.topic))
                with reading(path, self.name, f"{channel.topic}, message {len(topic.logged)}"):
                    topic.add(json.loads(message.data), message.log_time)
        if not topics:
            listed = "; ".join(skipped.values()) or "it is empty"
            raise LogError(f"{path}: there is no topic of JSON messages to read: {listed}.")
        with reading(path, self.name):
            return topics_table(topics.values(), str(path), skipped.values())
