"""`graftsim import`."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from graftsim._version import __version__
from graftsim.cli.import_options import ImportOptions
from graftsim.cli.options import TouchOptions
from graftsim.cli.robot import load_model
from graftsim.cli.tables import terminal
from graftsim.errors import LogError, ProblemError
from graftsim.io.logs.columns import ColumnSpec
from graftsim.io.logs.formats import open_tables
from graftsim.io.logs.guess import LogGuess, guess_log, with_log
from graftsim.io.logs.names import RobotNames
from graftsim.io.logs.tables import folded
from graftsim.model.catalogue import labels, leaf
from graftsim.model.model import Model
from graftsim.recordings.channels import split_name
from graftsim.selectors import Selector

TRUSTED = 160
"""Characters of a comment on a line; longer ones stand above it."""


def run(options: ImportOptions) -> int:
    """Guess from the logs, write the run file, and say what to look at in it."""
    out = Path(options.out)
    if out.exists() and not options.force:
        raise ProblemError(f"{out} is there already; --force writes over it, --out another file.")
    paths = _paths(options.logs)
    model = None
    if options.robot:
        model = load_model(options.robot, options.base, options.repair_inertia, TouchOptions())
    names = RobotNames.of(model) if model else None
    table = open_tables(paths[0])[0]
    guess = guess_log(table, names)
    columns = dict.fromkeys(table.names)
    for path in paths[1:]:
        other = open_tables(path)[0]
        guess = with_log(guess, table, other, names)
        columns |= dict.fromkeys(other.names)
    lines = list(_lines(options, paths, guess, model, tuple(columns)))
    text = "\n".join(lines) + "\n"
    try:
        out.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:  # no such folder, or a name that no system has
        said = getattr(error, "strerror", None) or error
        raise ProblemError(f"{out}: cannot be written: {said}.") from error
    console = terminal()
    console.print(text, soft_wrap=True)
    for doubt in guess.doubts:
        console.print(f"warning: {doubt}", style="yellow", soft_wrap=True)
    if guess.fault:
        console.print(f"not readable yet: {guess.fault}", style="yellow", soft_wrap=True)
    robot = "" if options.robot else " ROBOT"
    console.print(f"{out}: look through it, then: graftsim fit{robot} --run {out}", soft_wrap=True)
    return 1 if guess.fault else 0


def _paths(given: tuple[str, ...]) -> list[str]:
    """Logs, patterns spelt out."""
    found: list[str] = []
    for path in given:
        there = os.path.exists(path) or os.path.exists(path.rpartition("#")[0])
        matches = [path] if there else sorted(glob.glob(path, recursive=True))
        if not matches:
            raise LogError(f"{path}: no file matches (looked from {Path.cwd()}).")
        found += matches
    if not found:
        raise ProblemError("Which recording? graftsim import LOG... [--robot ROBOT].")
    return list(dict.fromkeys(found))


def _lines(
    options: ImportOptions,
    paths: list[str],
    guess: LogGuess,
    model: Model | None,
    names: tuple[str, ...],
) -> Iterator[str]:
    """The run file, line by line."""
    folder = Path(options.out).absolute().parent

    def near(path: str) -> str:
        return _text(os.path.relpath(path, folder))

    yield f"# Written by graftsim import {__version__} from {paths[0]}."
    yield "# Every line is a guess, with its reason: correct what is wrong."
    yield f"robot = {near(options.robot)}" if options.robot else '# robot = "ROBOT.urdf"'
    yield f"logs = [{', '.join(map(near, paths))}]"
    if options.repair_inertia:
        yield "repair_inertia = true"
    if options.base != "auto":
        yield f"base = {_text(options.base)}"
    for name, (value, reason) in guess.repairs.items():
        yield from _assigned(name, _value(value), reason)
    for note in guess.notes:
        yield f"# {_one_line(note)}"
    yield from _doubts(guess)
    yield ""
    if guess.header:
        yield "# The columns are called as channels, so they need no mapping."
    else:
        yield "[columns]"
        yield from _columns(guess, names)
    yield from _start(guess.start, model)


def _doubts(guess: LogGuess) -> Iterator[str]:
    for doubt in guess.doubts:
        yield f"# WARNING: {_one_line(doubt)}"
    if guess.fault:
        yield f"# CANNOT BE READ YET: {_one_line(guess.fault)}"


def _columns(guess: LogGuess, names: tuple[str, ...]) -> Iterator[str]:
    if guess.clock is not None:
        yield from _assigned("time", _text(guess.clock[0]), guess.clock[1])
    elif guess.clocks:
        yield f"# clock: {_one_line(', '.join(guess.clocks))}"
    elif "time=0.01" in guess.fault:
        yield "# time = 0.01  # s between samples: no column is a clock"
    family = ""
    for each in guess.guesses:
        parsed = split_name(each.channel)
        quantity = parsed.quantity if parsed else ""
        if family and quantity != family:
            yield ""
        family = quantity
        yield from _assigned(_text(each.channel), _spec(each.spec), each.reason)
    taken = {column for each in guess.guesses for column in each.spec.columns}
    rest = [name for name in names if name not in taken and name not in guess.clocks]
    if rest:
        yield f"# not taken: {_one_line(', '.join(folded(rest)))}"


def _spec(spec: ColumnSpec) -> str:
    """A column specification in TOML, as short as it can be."""
    if isinstance(spec.unit, tuple):
        raise ProblemError(f"columns {spec.columns}: units of each cannot be written.")
    column = spec.columns[0] if len(spec.columns) == 1 else None
    where = _text(column) if column else f"[{', '.join(map(_text, spec.columns))}]"
    more = {"unit": spec.unit, "scale": spec.scale, "offset": spec.offset}
    plain: Mapping[str, Any] = {"unit": None, "scale": 1.0, "offset": 0.0}
    told = [f"{k} = {_value(v)}" for k, v in more.items() if v != plain[k]]
    if not told:
        return where
    return f"{{{'column' if column else 'columns'} = {where}, {', '.join(told)}}}"


def _start(start: Mapping[str, float], model: Model | None) -> Iterator[str]:
    """Parameters that the log states otherwise than the robot's file."""
    if model is None:
        return
    lines = []
    for name, value in start.items():
        selector = Selector.parse(name)
        row = labels(model, "actuator").index(selector.label)
        file = float(np.asarray(leaf(model, selector.name))[row])
        if not np.isclose(file, value):
            lines += list(_assigned(_text(name), repr(value), f"the log's; the file has {file:g}"))
    if lines:
        yield from ("", "[start]", *lines)


def _assigned(key: str, value: str, reason: str) -> Iterator[str]:
    reason = _one_line(reason)
    if len(key) + len(value) + len(reason) <= TRUSTED:
        yield f"{key} = {value}  # {reason}"
    else:
        yield f"# {reason}"
        yield f"{key} = {value}"


def _value(value: Any) -> str:
    return _text(value) if isinstance(value, str) else repr(value).lower()


def _text(text: str) -> str:
    """A basic string of TOML."""
    marks = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    plain = "".join(marks.get(c, c) for c in text)
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in plain) + '"'


def _one_line(text: str) -> str:
    """For a comment: what cannot be printed, ends of lines above all, would end it."""
    return "".join(c if c.isprintable() else " " for c in text)
