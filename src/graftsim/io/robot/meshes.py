"""Mesh files: where they are, and the convex hull of what they hold."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np

from graftsim.errors import FileError


def candidates(filename: str, robot_file: Path, package_dirs: Iterable[str | Path]) -> list[Path]:
    """Places where a mesh named in a robot file may lie, the likeliest first.

    `package://name/rest` is looked for in each of `package_dirs` (the package itself, or a folder
    that holds it), then in the folders above the robot file; `file://` and plain paths as they are.
    """
    url = urlparse(filename)
    if url.scheme in ("package", "model"):
        rest = unquote(url.path).lstrip("/")
        folders = [*map(Path, package_dirs), *robot_file.absolute().parents]
        found = []
        for folder in folders:
            if folder.name == url.netloc:
                found.append(folder / rest)
            found.append(folder / url.netloc / rest)
        return found
    if url.scheme == "file":
        return [Path(unquote(url.netloc + url.path))]
    return [robot_file.absolute().parent / filename]


def load_hull(path: Path, scale: np.ndarray) -> np.ndarray:
    """Corners [n, 3] (m) of the convex hull of a mesh file, after scaling its axes by `scale` [3].

    Raises FileError: trimesh is not installed, the file cannot be read, or it is flat.
    """
    try:
        import trimesh
    except ImportError:
        raise FileError(
            f"{path}: reading meshes needs trimesh. Install it with: pip install 'graftsim[mesh]'"
        ) from None
    try:
        mesh = trimesh.load_mesh(path)
        points = np.asarray(mesh.vertices, float) * scale  # type: ignore[union-attr]
    except Exception as e:  # trimesh and its plug-ins raise nearly anything
        raise FileError(f"{path}: trimesh cannot read this mesh: {e}") from e
    return hull(points, str(path))


def hull(points: np.ndarray, what: str) -> np.ndarray:
    """Corners of the convex hull of points [n, 3]; raises FileError when they lie in a plane."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return points[ConvexHull(points).vertices]
    except (QhullError, ValueError, IndexError):
        raise FileError(
            f"{what}: its {len(points)} points span no volume, so it has no convex hull."
        ) from None
