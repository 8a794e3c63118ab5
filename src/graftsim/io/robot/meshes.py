"""Mesh files: where they are, and the convex hull of what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np

from graftsim.errors import FileError
from graftsim.io.robot.packages import package_folders

# Bytes at the head of a COLLADA file in which its unit stands.
_HEAD = 64 * 1024
_UNIT = re.compile(rb"<unit\s[^>]*?meter\s*=\s*[\"']([^\"']+)[\"']")


def candidates(filename: str, robot_file: Path, package_dirs: Iterable[str | Path]) -> list[Path]:
    """Places where a mesh named in a robot file may lie, the likeliest first.

    `package://name/rest` is looked for in the folders of `package_folders`; `file://` and plain
    paths as they are.
    """
    url = urlparse(filename)
    if url.scheme in ("package", "model"):
        rest = unquote(url.path).lstrip("/")
        return [f / rest for f in package_folders(url.netloc, robot_file, package_dirs)]
    if url.scheme == "file":
        return [Path(unquote(url.netloc + url.path))]
    return [robot_file.absolute().parent / filename.replace("\\", "/")]


def load_hull(path: Path, scale: np.ndarray) -> np.ndarray:
    """Corners [n, 3] (m) of the convex hull of a mesh file, after scaling its axes by `scale` [3].

    A COLLADA file says in what unit it is. Raises FileError: trimesh is not installed, the file
    cannot be read, or it is flat.
    """
    try:
        import trimesh
    except ImportError:
        raise FileError(
            f"{path}: reading meshes needs trimesh. Install it with: pip install 'graftsim[mesh]'"
        ) from None
    try:
        mesh = trimesh.load_mesh(path)
        points = np.asarray(mesh.vertices, float) * scale * metres(path)  # type: ignore[union-attr]
    except ImportError as e:
        raise FileError(
            f"{path}: reading this mesh needs {e.name or e}. Install it with: "
            "pip install 'graftsim[mesh]'"
        ) from e
    except Exception as e:  # trimesh and its plug-ins raise nearly anything
        raise FileError(f"{path}: trimesh cannot read this mesh: {e}") from e
    return hull(points, str(path))


def metres(path: Path) -> float:
    """Length of the unit that a COLLADA file is in, which trimesh does not apply; else 1."""
    if path.suffix.lower() != ".dae":
        return 1.0
    with path.open("rb") as file:
        found = _UNIT.search(file.read(_HEAD))
    return float(found[1]) if found else 1.0


def hull(points: np.ndarray, what: str) -> np.ndarray:
    """Corners of the convex hull of points [n, 3]; raises FileError when they lie in a plane."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return points[ConvexHull(points).vertices]
    except (QhullError, ValueError, IndexError):
        raise FileError(
            f"{what}: its {len(points)} points span no volume, so it has no convex hull."
        ) from None
