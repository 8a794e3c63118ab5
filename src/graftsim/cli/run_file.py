"""Run files: the options of a command and tables beside them in TOML, strictly read."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from graftsim.cli.options import parse
from graftsim.cli.small_files import read_small
from graftsim.errors import FileError, ProblemError, suggest

Options = TypeVar("Options", bound=msgspec.Struct)


def parse_with_file(
    kind: type[Options],
    command: str,
    args: Sequence[str],
    tables: Sequence[str],
    *,
    also: type[msgspec.Struct] | None = None,
) -> tuple[Options, dict[str, Any]]:
    """Options of a command on a robot and its logs, and the tables of its run file.

    also: options of another command, which may stand in the file and are left alone.

    Raises ProblemError: a run file that is wrong, no robot, no recording.
    """
    default, found = kind(), {}
    path = _run_file(args)
    if path is not None:
        default, found = read(path, kind, tables, also=also)
    options: Any = parse(kind, command, args, default)
    if not options.robot:
        raise ProblemError(
            f"Which robot? graftsim {command} ROBOT LOG..., or robot = '...' in --run FILE."
        )
    if not options.logs:
        raise ProblemError(
            f"Which recordings? graftsim {command} ROBOT LOG..., or logs = [...] in --run."
        )
    return options, found


def _run_file(args: Sequence[str]) -> str | None:
    for i, arg in enumerate(args):
        if arg == "--run" and i + 1 < len(args):
            return args[i + 1]
        if arg.startswith("--run="):
            return arg[len("--run=") :]
    return None


def read(
    path: str | Path,
    kind: type[Options],
    names: Sequence[str],
    *,
    also: type[msgspec.Struct] | None = None,
) -> tuple[Options, dict[str, Any]]:
    """A TOML run file, checked strictly: an unknown key or a wrong type is an error with its place.

    Keys are the names of the flags, without groups; `names` may be tables. Paths in it are relative
    to the file.
    """
    path = Path(path)
    try:
        content = tomllib.loads(read_small(path))
    except FileError as error:
        raise ProblemError(f"Run file {error}") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ProblemError(f"Run file {path}: {error}.") from error
    tables = {k: content.pop(k) for k in names if isinstance(content.get(k), dict)}
    groups, known = _groups(kind), _keys(kind)
    others = set(_keys(also)) - set(known) if also is not None else set()
    values: dict[str, dict[str, Any]] = {group: {} for group in ("", *groups)}
    for key, value in content.items():
        if key in others:
            continue
        if key not in known:
            raise ProblemError(f"Run file {path}: unknown key '{key}'. {suggest(key, known)}")
        group, form = known[key]
        try:
            values[group][key] = msgspec.convert(value, form)
        except msgspec.ValidationError as error:
            raise ProblemError(f"Run file {path}: {key} = {value!r}: {error}.") from error

    def near(name: str) -> str:
        return name if Path(name).is_absolute() else str(path.parent / name)

    top, data = values[""], values["data"]
    if "robot" in top:
        top["robot"] = near(top["robot"])
    for place, key in ((top, "logs"), (data, "heldout")):
        place[key] = tuple(near(x) for x in place.get(key, ()))
    nested = top | {group: values[group] for group in groups} | {"run": str(path)}
    return msgspec.convert(nested, kind), tables


def _groups(kind: type[msgspec.Struct]) -> dict[str, type[msgspec.Struct]]:
    """Fields of a struct of options that are groups of options themselves."""
    fields = msgspec.structs.fields(kind)
    return {
        f.name: f.type
        for f in fields
        if isinstance(f.type, type) and issubclass(f.type, msgspec.Struct)
    }


def _keys(kind: type[msgspec.Struct]) -> dict[str, tuple[str, Any]]:
    """Keys of a run file: the group of each ("" for none), and its type."""
    keys = {f.name: ("", f.type) for f in msgspec.structs.fields(kind)}
    for name, group in _groups(kind).items():
        del keys[name]
        keys |= {f.name: (name, f.type) for f in msgspec.structs.fields(group)}
    del keys["run"]
    return keys
