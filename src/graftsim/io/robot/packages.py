"""Where ROS packages lie: `package://name/...` of meshes and `$(find name)` of xacro files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path


def package_folders(name: str, file: Path, package_dirs: Iterable[str | Path]) -> Iterator[Path]:
    """Folders that may be the package of that name, the likeliest first.

    `package_dirs` (the package itself, or a folder that holds it), then the folders above the file,
    then where ROS has its packages (ROS_PACKAGE_PATH, AMENT_PREFIX_PATH).
    """
    for folder in (*map(Path, package_dirs), *file.absolute().parents, *_of_ros()):
        if folder.name == name:
            yield folder
        yield folder / name


def _of_ros() -> list[Path]:
    """Folders of packages by the variables of ROS 1 and ROS 2."""
    ros1 = os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)
    ros2 = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    return [*(Path(p) for p in ros1 if p), *(Path(p) / "share" for p in ros2 if p)]
