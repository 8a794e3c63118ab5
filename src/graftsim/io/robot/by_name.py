"""Robots by their names in the package `robot_descriptions`, from its cache, never by download.

Its modules fetch repositories when they are imported, so they are read as text instead: what
`URDF_PATH` or `MJCF_PATH` is joined from are names and constants.
"""

from __future__ import annotations

import ast
import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path

from graftsim.errors import FileError, suggest

PREFIX = "robot_descriptions:"
_PATHS = ("URDF_PATH", "MJCF_PATH", "XACRO_PATH")


def resolved(path: str | Path) -> Path:
    """The file of a robot "robot_descriptions:NAME"; any other path as it is.

    Raises FileError: the package is not installed, has no such robot, or has not fetched it.
    """
    text = str(path)
    if not text.startswith(PREFIX):
        return Path(path)
    name = text.removeprefix(PREFIX)
    package = _package(text)
    known = [p.stem for p in package.glob("*_description.py")]
    if name not in known:
        raise FileError(f"{text}: robot_descriptions has no '{name}'. {suggest(name, known)}")
    found = _assigned(package / f"{name}.py", _repositories(package))
    files = [Path(found[key]) for key in _PATHS if key in found]
    if not files:
        raise FileError(f"{text}: robot_descriptions does not say where its file is.")
    for file in files:
        if file.is_file():
            return file
    raise FileError(
        f"{text}: robot_descriptions has not fetched it: {files[0]} is not there. Fetch it with "
        f"python -c 'import robot_descriptions.{name}', or set ROBOT_DESCRIPTIONS_CACHE."
    )


def _package(text: str) -> Path:
    spec = importlib.util.find_spec("robot_descriptions")
    if spec is None or not spec.submodule_search_locations:
        raise FileError(
            f"{text}: the package is not installed. Install it with: pip install robot_descriptions"
        )
    return Path(next(iter(spec.submodule_search_locations)))


def _repositories(package: Path) -> dict[str, str]:
    """Folder in the cache by the name of a repository."""
    cache = Path(os.environ.get("ROBOT_DESCRIPTIONS_CACHE", "~/.cache/robot_descriptions"))
    found = {}
    tree = ast.parse((package / "_repositories.py").read_text(encoding="utf-8"))
    for table in (n for n in ast.walk(tree) if isinstance(n, ast.Dict)):
        for key, value in zip(table.keys, table.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(value, ast.Call):
                words = {k.arg: k.value for k in value.keywords}
                place = words.get("cache_path")
                if isinstance(place, ast.Constant):
                    found[str(key.value)] = str(cache.expanduser() / str(place.value))
    return found


def _assigned(module: Path, folders: Mapping[str, str]) -> dict[str, str]:
    """Texts that a module assigns to names, as far as they are joined from known ones."""
    known: dict[str, str] = {}
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            target, value = node.target.id, node.value
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            target, value = node.targets[0].id, node.value
        else:
            continue
        text = None if value is None else _text(value, known, folders)
        if text is not None:
            known[target] = text
    return known


def _text(node: ast.expr, known: Mapping[str, str], folders: Mapping[str, str]) -> str | None:
    """The text that an expression stands for; None if it is another kind of expression."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if not isinstance(node, ast.Call):
        return None
    parts = [_text(x, known, folders) for x in node.args]
    if any(p is None for p in parts) or not parts:
        return None
    called = node.func
    if isinstance(called, ast.Attribute) and called.attr == "join":
        return os.path.join(*(p for p in parts if p is not None))
    if isinstance(called, ast.Name) and "clone_to_cache" in called.id:
        return folders.get(parts[0] or "")
    return None
