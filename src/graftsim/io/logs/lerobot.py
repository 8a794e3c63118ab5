"""LeRobot data sets, versions 2.0 to 3.0: Parquet files and meta/info.json, by polars.

One episode is one recording. `timestamp` is frame_index / fps there, whatever the robot did.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from graftsim.errors import LogError
from graftsim.io.logs.damage import library, reading
from graftsim.io.logs.format import LogFormat, only_run
from graftsim.io.logs.parquet import frame_table, list_widths
from graftsim.io.logs.tables import Table

_INFO = Path("meta") / "info.json"
MOST_INFO = 16 * 2**20


@final
class LeRobot(LogFormat):
    """A data set's folder, or one of the Parquet files below its folder `data`."""

    name = "LeRobot"
    suffixes = ()

    def matches(self, path: Path) -> bool:
        """By meta/info.json with features in it."""
        return _root_of(path) is not None

    def read(self, path: Path) -> Table:
        """The table of a data set of one episode."""
        return only_run(path, self.runs(path))

    def runs(self, path: Path) -> tuple[Table, ...]:
        """A table for each episode, called by its number."""
        root = _root_of(path)
        if root is None:
            raise LogError(f"{path}: there is no {_INFO} of a LeRobot data set above it.")
        info = _info(root / _INFO)
        files = [path] if path.is_file() else sorted((root / "data").glob("**/*.parquet"))
        if not files:
            raise LogError(f"{root}: there is no Parquet file below {root / 'data'}.")
        return tuple(table for file in files for table in _episodes(file, info))


def _root_of(path: Path) -> Path | None:
    """The folder of the data set that a folder or file is, or is part of."""
    if path.is_dir():
        roots = [path]
    elif path.suffix.lower() == ".parquet" and path.is_file():
        roots = [folder.parent for folder in path.resolve().parents if folder.name == "data"]
    else:
        return None
    return next((root for root in roots if _has_features(root / _INFO)), None)


def _has_features(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8") as file:
            return '"features"' in file.read(MOST_INFO)
    except (OSError, UnicodeDecodeError):
        return False


@dataclasses.dataclass(frozen=True)
class _Info:
    """What meta/info.json states: samples a second, version, names of the parts of arrays."""

    fps: float
    version: str
    labels: Mapping[str, tuple[str, ...]]


def _info(path: Path) -> _Info:
    with reading(path, LeRobot.name):
        if path.stat().st_size > MOST_INFO:
            raise LogError(f"{path}: has more than {MOST_INFO // 2**20} MiB.")
        content = json.loads(path.read_text(encoding="utf-8"))
        features = content["features"]
        labels = {name: _names(f.get("names")) for name, f in features.items()}
        fps = float(content["fps"])
    if not 0 < fps < 1e6:
        raise LogError(f"{path}: fps = {fps:g}; a positive number of frames a second is expected.")
    return _Info(fps, str(content.get("codebase_version", "?")), labels)


def _names(given: Any) -> tuple[str, ...]:
    """Names in their old and new forms: a list, lists in lists, or a dictionary of lists."""
    if isinstance(given, Mapping):
        return tuple(name for part in given.values() for name in _names(part))
    if isinstance(given, list):
        return tuple(
            name for part in given for name in ([part] if isinstance(part, str) else _names(part))
        )
    return ()


def _episodes(path: Path, info: _Info) -> list[Table]:
    """Tables of the episodes in a Parquet file."""
    polars = library(path, LeRobot.name, "polars", "parquet")
    with reading(path, LeRobot.name):
        schema = polars.read_parquet_schema(path)
        frame = polars.scan_parquet(path)
        widths = list_widths(path, frame, schema)
        even = _numbers(path, frame, schema, polars)
    labels = {name: names for name, names in info.labels.items() if names}
    note = (
        f"LeRobot {info.version}: timestamp is frame_index / fps, so the clock of {info.fps:g} Hz "
        "is made up, and what jitter or delay there was is lost"
    )
    tables = []
    for number, whole in even.items():
        own = frame
        if "episode_index" in schema:
            own = frame.filter(polars.col("episode_index") == number)
        with reading(path, LeRobot.name, f"episode {number}"):
            table = frame_table(path, own, schema, labels, widths)
        tables.append(
            dataclasses.replace(
                table,
                source=f"{path}#{number}" if len(even) > 1 else str(path),
                interval=1 / info.fps if whole else None,
                run=str(number),
                notes=(note,),
            )
        )
    return tables


def _numbers(path: Path, frame: Any, schema: Any, polars: Any) -> dict[int, bool]:
    """Episodes of a file, and whether the frames of each follow each other without a gap."""
    if "episode_index" not in schema:
        return {int(re.findall(r"\d+", f"0{path.stem}")[-1]): "frame_index" not in schema}
    if "frame_index" not in schema:
        column = frame.select("episode_index").collect()["episode_index"]
        return {int(n): True for n in column.unique().sort().drop_nulls().to_list()}
    index = polars.col("frame_index")
    gaps = (
        frame.group_by("episode_index")
        .agg((index.diff().drop_nulls() == 1).all().alias("even"))
        .sort("episode_index")
        .drop_nulls("episode_index")
        .collect()
    )
    return {int(n): bool(even) for n, even in gaps.select("episode_index", "even").iter_rows()}
