"""What presets make of a table together, without what never says anything."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from graftsim.io.logs.columns import ColumnSpec
from graftsim.io.logs.names import RobotNames
from graftsim.io.logs.presets import Guess, Preset
from graftsim.io.logs.tables import Table
from graftsim.recordings.channels import split_name

_BESIDE = re.compile(r"\.(velocity|torque)$")
_MAY_BE_UNFILLED = ("joint.qd", "joint.tau", "signal")


@dataclass(frozen=True)
class Plan:
    """Columns of each channel, and what was assumed. start: parameters that the log states."""

    columns: Mapping[str, ColumnSpec]
    notes: tuple[str, ...] = ()
    guesses: tuple[Guess, ...] = ()
    start: Mapping[str, float] = dataclasses.field(default_factory=dict)


def recognised(table: Table, robot: RobotNames | None, presets: tuple[Preset, ...]) -> Plan:
    """What presets propose together; of two guesses for one channel the first counts."""
    chosen: dict[str, Guess] = {}
    notes: list[str] = []
    start: dict[str, float] = {}
    for preset in presets:
        proposal = preset.propose(table, robot)
        if proposal is None:
            continue
        new = {}
        for guess in proposal.guesses:
            if guess.channel in chosen or guess.channel in new:
                other = new.get(guess.channel) or chosen[guess.channel]
                notes.append(
                    f"{guess.channel} is taken from {other.spec.columns[0]!r}, not from "
                    f"{guess.spec.columns[0]!r}"
                )
            else:
                new[guess.channel] = guess
        chosen |= new
        if new:
            columns = dict.fromkeys(g.spec.columns[0].partition("[")[0] for g in new.values())
            notes.append(f"read as {preset.name}: {len(new)} channels ({some(tuple(columns), 8)})")
        notes += proposal.notes
        start = dict(proposal.start or {}) | start
    for channel, note in _silent(chosen, table).items():
        del chosen[channel]
        notes.append(note)
    notes = list(dict.fromkeys(notes))
    return Plan({c: g.spec for c, g in chosen.items()}, tuple(notes), tuple(chosen.values()), start)


def _silent(chosen: Mapping[str, Guess], table: Table) -> dict[str, str]:
    """Channels of a quantity that no driver fills, zero throughout for all joints; with a note."""
    families: dict[str, list[Guess]] = {}
    for guess in chosen.values():
        parsed = split_name(guess.channel)
        # What a servo can take beside its command, `control[NAME.velocity]`, says nothing if zero.
        beside = parsed and parsed.quantity == "control" and _BESIDE.search(parsed.label)
        if parsed and (beside or parsed.quantity in _MAY_BE_UNFILLED):
            kind = parsed.label.partition(":")[0] if parsed.quantity == "signal" else ""
            kind = beside[0] if beside else kind
            families.setdefault(f"{parsed.quantity} {kind}".strip(), []).append(guess)
    found = {}
    for guesses in families.values():
        columns = [column for guess in guesses for column in guess.spec.columns]
        cells = table.load(columns)
        if any(np.any(np.nan_to_num(cells[column].values)) for column in columns):
            continue
        names = tuple(dict.fromkeys(column.partition("[")[0] for column in columns))
        note = f"left out, since they are 0 throughout: {some(names, 4)}"
        found |= {guess.channel: note for guess in guesses}
    return found


def some(names: tuple[str, ...], most: int = 60) -> str:
    """Names for a message, many cut short."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
