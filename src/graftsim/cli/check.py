"""`graftsim check`, and what it says before a fit."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from graftsim.check import Finding, Group, Level, Robot, check, grouped, not_made
from graftsim.cli import inputs
from graftsim.cli.check_options import CheckOptions
from graftsim.cli.tables import NAMED, table_of, terminal
from graftsim.compilation import cache_compilations
from graftsim.engine import Simulator
from graftsim.errors import ProblemError
from graftsim.recordings.recording import Recording
from graftsim.viewer.files import check_file, write_atomically

STYLES = {Level.ERROR: "bold red", Level.WARNING: "yellow", Level.NOTE: ""}


def run(options: CheckOptions, tables: Mapping[str, Any], args: Sequence[str]) -> int:
    """Print the findings; 1 when one of them is an error."""
    cache_compilations()
    console = terminal(stderr=True, quiet=options.quiet)
    if options.json:
        check_file(options.json)
    with inputs.shown_warnings(console):
        read = inputs.read(options, tables, console, checked=True)
    robot = robot_of(read.simulator, options.effort)
    every = [*read.recordings, *read.heldout]
    findings = check(robot, every)
    print_findings(findings, robot, every, terminal())
    if options.json:
        facts = {"findings": [f.as_json() for f in findings], "not made": _unmade(robot, every)}
        write_atomically(options.json, json.dumps(facts, indent=2) + "\n")
    sys.stdout.flush()
    return 1 if any(f.level == Level.ERROR for f in findings) else 0


def robot_of(simulator: Simulator, effort: str) -> Robot:
    """What recordings are checked beside."""
    return Robot(simulator.model, float(simulator.dt), simulator.substeps, effort)


def print_findings(
    findings: Sequence[Finding], robot: Robot, recordings: Sequence[Recording], console: Console
) -> None:
    """A table, errors first, and which checks could not be made."""
    rows = [
        (Text(g.worst.level, STYLES[g.worst.level]), g.worst.check, where(g), said(g))
        for g in grouped(findings)
    ]
    if rows:
        head = ("level", "check", "channel", "what, and what mends it")
        console.print(table_of("Recordings", head, rows))
    counts = [
        f"{n} {level}{'s' if n > 1 else ''}"
        for level in Level
        if (n := sum(f.level == level for f in findings))
    ]
    console.print(f"recordings: {', '.join(counts) or 'nothing found'}", soft_wrap=True)
    if unmade := _unmade(robot, recordings):
        console.print(
            f"not checked, for want of channels or of a fixed base: {', '.join(unmade)}",
            soft_wrap=True,
        )


def before_fit(findings: Sequence[Finding], console: Console, *, stop: bool) -> None:
    """A line for each finding; ProblemError where one of them makes a fit meaningless."""
    groups = grouped(findings)
    for g in groups:
        style = STYLES[g.worst.level]
        line = f"{g.worst.level}: {g.worst.check}: {where(g)}: {g.worst.what}. {g.remedy}"
        console.print(line, style=style, soft_wrap=True)
    errors = [g for g in groups if g.worst.level == Level.ERROR]
    if errors and stop:
        listed = "\n".join(f"  {where(g)}: {g.worst.what}.\n    {g.remedy}" for g in errors)
        raise ProblemError(
            f"the recordings cannot be fitted as they are:\n{listed}\n  "
            "--no-check fits them all the same."
        )


def where(group: Group) -> str:
    """Channels, a few by name, and recordings if it is not in all."""
    return _some(group.channels or group.recordings) or "all channels"


def said(group: Group) -> str:
    """The sentence, and the flags that mend it."""
    return f"{'the largest: ' if group.varied else ''}{group.worst.what}\n{group.remedy}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _unmade(robot: Robot, recordings: Sequence[Recording]) -> list[str]:
    return [c.name for c in not_made(robot, recordings)]
