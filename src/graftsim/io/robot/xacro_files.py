"""Xacro files, expanded by the `xacro` package of PyPI, which needs no ROS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graftsim.errors import FileError
from graftsim.io.robot.packages import package_folders
from graftsim.io.robot.xml_lines import Element, parse_bytes

PREFIX = "xacro:"


def is_xacro(root: Element) -> bool:
    """Whether a file is to be expanded: by its name, or since it has macros."""
    if root.path.suffix.lower() == ".xacro":
        return True
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if element.tag.startswith(PREFIX):
            return True
        waiting.extend(element.children)
    return False


def expanded(path: Path, package_dirs: Iterable[str | Path]) -> Element:
    """Root element of what a xacro file expands to; lines are those of the expanded text.

    `$(find name)` looks where `package://name` does. Raises FileError: xacro is not installed, or
    refuses the file (in its words).
    """
    try:
        import xacro
    except ImportError:
        raise FileError(
            f"{path}: xacro makes URDF from macros. Install what expands it, pip install "
            f"'graftsim[xacro]', or expand the file first: xacro {path.name} > robot.urdf"
        ) from None
    try:
        with _packages(path, list(package_dirs)):
            document: Any = xacro.process_file(str(path))
            text = document.toxml(encoding="utf-8")
    except Exception as e:  # it evaluates expressions: nearly anything can be raised
        said = " ".join(str(e).split()) or type(e).__name__
        raise FileError(f"{path}: xacro cannot expand this file: {said}") from e
    return parse_bytes(text, path.with_name(f"{path.name} (expanded)"))


@contextmanager
def _packages(path: Path, package_dirs: list[str | Path]) -> Iterator[None]:
    """xacro asks ROS where a package is; while this lasts it asks `package_folders`."""
    from xacro import substitution_args

    def find(name: str) -> str:
        for folder in package_folders(name, path, package_dirs):
            if folder.is_dir():
                return str(folder)
        raise FileError(f"package '{name}' is not found: give its folder with --package-dir")

    before = substitution_args._eval_find
    substitution_args._eval_find = find
    try:
        yield
    finally:
        substitution_args._eval_find = before
